package sonic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const origin = "sonic-db"

// elems returns the elements of the prefix followed by the elements of the path.
func elems(prefix, p *gnmi.Path) []*gnmi.PathElem {
	return slices.Concat(prefix.GetElem(), p.GetElem())
}

// names spells elements as the server does in a patch: predicates are appended unchanged.
func names(es []*gnmi.PathElem) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.GetName()
		for _, k := range sortedKeys(e.GetKey()) {
			out[i] += "[" + k + "=" + e.GetKey()[k] + "]"
		}
	}
	return out
}

// readNames spells elements for reading: only the predicate called key counts, as an additional
// element.
func readNames(es []*gnmi.PathElem) []string {
	var out []string
	for _, e := range es {
		out = append(out, e.GetName())
		if k, ok := e.GetKey()["key"]; ok {
			out = append(out, k)
		}
	}
	return out
}

// pathText prints a path as protobuf text, without that encoder's random spaces.
func pathText(org string, es []*gnmi.PathElem) string {
	var parts []string
	if org != "" {
		parts = append(parts, fmt.Sprintf("origin:%q", org))
	}
	for _, e := range es {
		t := fmt.Sprintf("name:%q", e.GetName())
		for _, k := range sortedKeys(e.GetKey()) {
			t += fmt.Sprintf(" key:{key:%q value:%q}", k, e.GetKey()[k])
		}
		parts = append(parts, "elem:{"+t+"}")
	}
	return strings.Join(parts, " ")
}

// commonOrigin returns the origin of all paths of a request.
func commonOrigin(prefix *gnmi.Path, paths []*gnmi.Path) (string, error) {
	org := prefix.GetOrigin()
	for i, p := range paths {
		o := p.GetOrigin()
		if o == "" {
			o = prefix.GetOrigin()
		}
		if i > 0 && o != org || prefix.GetOrigin() != "" && o != prefix.GetOrigin() {
			return "", status.Error(codes.Unimplemented, "Origin conflict in path")
		}
		org = o
	}
	return org, nil
}

// nested returns an error of the database client in the form in which the server reports it.
func nested(format string, args ...any) error {
	return status.Errorf(codes.NotFound, "rpc error: code = Unimplemented desc = "+format, args...)
}

// targetOf returns the database that every path of a request names.
func targetOf(prefix *gnmi.Path, paths []*gnmi.Path) (string, error) {
	db := ""
	for i, p := range paths {
		es := elems(prefix, p)
		if len(es) < 2 {
			return "", nested("Invalid elem length")
		}
		name := es[0].GetName()
		if _, ok := databases[name]; !ok {
			return "", nested("Invalid target: ns , container ")
		}
		if i > 0 && name != db {
			return "", nested("Target conflict in path")
		}
		db = name
	}
	return db, nil
}
