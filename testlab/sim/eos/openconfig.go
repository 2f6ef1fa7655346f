package eos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// container is an inner node of the state tree: its members by name without a prefix.
type container map[string]*member

// member is a leaf, a container or a list, together with the module that defines it.
type member struct {
	module string
	leaf   any // a string, bool, uint16 or uint64
	box    container
	list   []entry
	keys   []string // only for a list
}

// entry is an entry of a list. Its keys are also members.
type entry struct {
	keys map[string]string
	box  container
}

func leaf(module string, v any) *member { return &member{module: module, leaf: v} }

// value returns the member for JSON. JSON_IETF includes the module if it differs from the
// parent's, and quotes 64-bit numbers (RFC 7951).
func (m *member) value(ietf bool) any {
	switch {
	case m.box != nil:
		return m.box.object(m.module, ietf)
	case m.keys != nil:
		out := []any{}
		for _, e := range m.list {
			out = append(out, e.box.object(m.module, ietf))
		}
		return out
	}
	if n, ok := m.leaf.(uint64); ok && ietf {
		return strconv.FormatUint(n, 10)
	}
	return m.leaf
}

func (c container) object(module string, ietf bool) map[string]any {
	out := make(map[string]any, len(c))
	for name, m := range c {
		if ietf && m.module != module {
			name = m.module + ":" + name
		}
		out[name] = m.value(ietf)
	}
	return out
}

// hit is a node found by a path.
type hit struct {
	path []*gnmi.PathElem
	m    *member
	e    *entry // an entry, if m is a list
}

func (h hit) empty() bool {
	return h.e == nil && (h.m.box != nil && len(h.m.box) == 0 || h.m.keys != nil && len(h.m.list) == 0)
}

func (h hit) json(ietf bool) ([]byte, error) {
	var v any
	switch {
	case h.e != nil:
		v = h.e.box.object("", ietf)
	case h.m.box != nil:
		v = h.m.box.object("", ietf)
	default:
		v = h.m.value(ietf)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return b, nil
}

// walk follows a path. A key that is "*" or omitted matches every entry.
func walk(c container, path []*gnmi.PathElem) ([]hit, error) {
	el := path[0]
	m := c[el.GetName()]
	if m == nil {
		return nil, status.Errorf(codes.InvalidArgument, "no node %q in the supported models", cli.Clip(el.GetName()))
	}
	for k := range el.GetKey() {
		if !slices.Contains(m.keys, k) {
			return nil, status.Errorf(codes.InvalidArgument, "node %q has no key %q", el.GetName(), cli.Clip(k))
		}
	}
	if m.keys == nil {
		here := &gnmi.PathElem{Name: el.GetName()}
		if len(path) == 1 {
			return []hit{{[]*gnmi.PathElem{here}, m, nil}}, nil
		}
		return below(here, m.box, path[1:])
	}
	var hits []hit
	wild, matched := false, false
	var failure error
	for _, k := range m.keys {
		v, ok := el.GetKey()[k]
		wild = wild || !ok || v == "*"
	}
	for i, e := range m.list {
		if !e.matches(el.GetKey()) {
			continue
		}
		matched = true
		here := &gnmi.PathElem{Name: el.GetName(), Key: maps.Clone(e.keys)}
		if len(path) == 1 {
			hits = append(hits, hit{[]*gnmi.PathElem{here}, m, &m.list[i]})
			continue
		}
		hs, err := below(here, e.box, path[1:])
		if err != nil {
			failure = err
			continue
		}
		hits = append(hits, hs...)
	}
	// With wildcards, some entries may lack the node: only ports have an ethernet container.
	if failure != nil && (len(hits) == 0 || !wild) {
		return nil, failure
	}
	if !matched && !wild {
		return nil, status.Errorf(codes.NotFound, "no %s %s", el.GetName(), cli.Clip(fmt.Sprint(el.GetKey())))
	}
	return hits, nil
}

func (e entry) matches(keys map[string]string) bool {
	for k, v := range keys {
		if v != "*" && e.keys[k] != v {
			return false
		}
	}
	return true
}

func below(here *gnmi.PathElem, c container, rest []*gnmi.PathElem) ([]hit, error) {
	hits, err := walk(c, rest)
	for i := range hits {
		hits[i].path = append([]*gnmi.PathElem{here}, hits[i].path...)
	}
	return hits, err
}

// getOpenConfig answers one path of the state tree with one notification per node found. Empty
// nodes are omitted.
func getOpenConfig(r *gnmi.GetRequest, p *gnmi.Path, tree container) ([]*gnmi.Notification, error) {
	if t := r.GetType(); t != gnmi.GetRequest_ALL && t != gnmi.GetRequest_STATE {
		return nil, status.Errorf(codes.Unimplemented, "type %s is not supported", t)
	}
	ietf := r.GetEncoding() == gnmi.Encoding_JSON_IETF
	if !ietf && r.GetEncoding() != gnmi.Encoding_JSON {
		return nil, status.Errorf(codes.InvalidArgument, "encoding %s is not supported", r.GetEncoding())
	}
	var path []*gnmi.PathElem
	for _, el := range slices.Concat(r.GetPrefix().GetElem(), p.GetElem()) {
		// Clients may prefix a name with its module.
		_, name, spelt := strings.Cut(el.GetName(), ":")
		if !spelt {
			name = el.GetName()
		}
		path = append(path, &gnmi.PathElem{Name: name, Key: el.GetKey()})
	}
	if len(path) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the root cannot be read")
	}
	hits, err := walk(tree, path)
	if err != nil {
		return nil, err
	}
	skip := len(r.GetPrefix().GetElem())
	var out []*gnmi.Notification
	for _, h := range hits {
		if h.empty() {
			continue
		}
		b, err := h.json(ietf)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		v := &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: b}}
		if ietf {
			v = &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: b}}
		}
		prefix := r.GetPrefix()
		if skip > 0 {
			prefix = &gnmi.Path{Origin: prefix.GetOrigin(), Target: prefix.GetTarget(), Elem: h.path[:skip]}
		}
		out = append(out, notification(prefix, &gnmi.Path{Origin: p.GetOrigin(), Elem: h.path[skip:]}, v))
	}
	return out, nil
}
