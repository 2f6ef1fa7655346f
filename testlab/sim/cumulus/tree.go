package cumulus

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// tree is an object of NVUE's model. Collections are objects by key, never lists.
type tree = map[string]any

// clone returns a deep copy of a value.
func clone(v any) any {
	m, ok := v.(tree)
	if !ok {
		return v
	}
	out := make(tree, len(m))
	for k, v := range m {
		out[k] = clone(v)
	}
	return out
}

func cloned(t tree) tree { return clone(t).(tree) }

// at returns the value at a path.
func at(t tree, path ...string) (any, bool) {
	var v any = t
	for _, k := range path {
		m, ok := v.(tree)
		if !ok {
			return nil, false
		}
		if v, ok = m[k]; !ok {
			return nil, false
		}
	}
	return v, true
}

// object returns the object at a path, or nil if there is none.
func object(t tree, path ...string) tree {
	v, _ := at(t, path...)
	m, _ := v.(tree)
	return m
}

// text returns the value at a path as text, or "" if there is none.
func text(t tree, path ...string) string {
	v, _ := at(t, path...)
	return spell(v)
}

func spell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// number returns the number at a path.
func number(t tree, path ...string) (float64, bool) {
	n, err := strconv.ParseFloat(text(t, path...), 64)
	return n, err == nil
}

// under returns a tree with a value at a path.
func under(v any, path ...string) any {
	for i := len(path) - 1; i >= 0; i-- {
		v = tree{path[i]: v}
	}
	return v
}

// merge applies a patch to a tree: null removes, objects are merged, and other values replace. The
// states of a link are mutually exclusive.
func merge(into tree, patch tree) {
	for k, v := range patch {
		m, ok := v.(tree)
		switch {
		case v == nil:
			delete(into, k)
		case ok:
			have, is := into[k].(tree)
			if !is {
				have = tree{}
				into[k] = have
			}
			if k == "state" && (m["up"] != nil || m["down"] != nil) {
				clear(have)
			}
			merge(have, m)
		default:
			into[k] = v
		}
	}
}

// types sets the type that NVUE derives for the interfaces of a patch, unless they have a type.
func types(t, patch tree) {
	for name := range object(patch, "interface") {
		port := object(t, "interface", name)
		switch {
		case port == nil || port["type"] != nil:
		case isPort(name):
			port["type"] = "swp"
		case port["bond"] != nil && name == "peerlink":
			port["type"] = name
		case port["bond"] != nil:
			port["type"] = "bond"
		}
	}
}

// remove removes the value at a path. It returns false if there is none.
func remove(t tree, path []string) bool {
	if len(path) == 0 {
		clear(t)
		return true
	}
	in := object(t, path[:len(path)-1]...)
	if _, ok := in[path[len(path)-1]]; !ok {
		return false
	}
	delete(in, path[len(path)-1])
	return true
}

// items lists the collections whose members may be empty.
var items = []string{"interface", "mapping", "pfc", "congestion-control", "egress-scheduler", "egress-shaper", "remark", "link-pause", "traffic-pool",
	"egress-queue-mapping", "switch-priority", "traffic-class", "dscp", "pcp", "address", "vrf", "member", "domain"}

// prune removes the empty branches along a path, except members of a collection.
func prune(t tree, path []string) {
	for n := len(path) - 1; n > 0; n-- {
		m, ok := at(t, path[:n]...)
		if b, is := m.(tree); !ok || !is || len(b) > 0 || n > 1 && slices.Contains(items, path[n-2]) {
			return
		}
		remove(t, path[:n])
	}
}

// diff returns the difference of a from b: the values of a, and null for what only b has.
func diff(a, b tree) tree {
	out := tree{}
	for k, v := range a {
		w, there := b[k]
		m, ok := v.(tree)
		n, both := w.(tree)
		switch {
		case ok && both:
			if d := diff(m, n); len(d) > 0 {
				out[k] = d
			}
		case !there || !reflect.DeepEqual(v, w):
			out[k] = clone(v)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out[k] = nil
		}
	}
	return out
}

// same reports whether two trees are equal.
func same(a, b tree) bool { return len(diff(a, b)) == 0 }

// names expands a key such as "swp1-4,swp6s0-3", with ranges in the last number of a name.
func names(key string) (out []string) {
	for part := range strings.SplitSeq(key, ",") {
		from, to, ok := strings.Cut(part, "-")
		digits := len(from)
		for digits > 0 && from[digits-1] >= '0' && from[digits-1] <= '9' {
			digits--
		}
		low, err1 := strconv.Atoi(from[digits:])
		high, err2 := strconv.Atoi(strings.TrimPrefix(to, from[:digits]))
		if !ok || err1 != nil || err2 != nil || high < low || high-low > 4096 {
			out = append(out, part)
			continue
		}
		for n := low; n <= high; n++ {
			out = append(out, from[:digits]+strconv.Itoa(n))
		}
	}
	return out
}

// ranged reports whether the keys of a collection may be ranges.
func ranged(path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch last := path[len(path)-1]; last {
	case "interface":
		return len(path) == 1
	case "member":
		return len(path) == 4 && path[0] == "interface" && path[2] == "bond"
	case "switch-priority", "dscp", "pcp", "traffic-class":
		return path[0] == "qos"
	}
	return false
}

// expand replaces ranges by their items, as in the startup file.
func expand(v any, path ...string) any {
	m, ok := v.(tree)
	if !ok {
		return v
	}
	out := tree{}
	for _, k := range natural.Keys(m) {
		keys := []string{k}
		if ranged(path) {
			keys = names(k)
		}
		for _, each := range keys {
			w := expand(clone(m[k]), append(path[:len(path):len(path)], each)...)
			have, is := out[each].(tree)
			more, both := w.(tree)
			if is && both {
				merge(have, more)
			} else {
				out[each] = w
			}
		}
	}
	return out
}

// compress combines interfaces with equal settings into a range, as NVUE does unless it is asked
// to expand.
func compress(t tree) tree {
	ports := object(t, "interface")
	if len(ports) < 2 {
		return t
	}
	out := maps.Clone(t)
	shown := tree{}
	var run []string
	flush := func() {
		if len(run) > 1 {
			first := run[0]
			digits := len(first)
			for digits > 0 && first[digits-1] >= '0' && first[digits-1] <= '9' {
				digits--
			}
			shown[first+"-"+run[len(run)-1][digits:]] = ports[first]
		} else if len(run) == 1 {
			shown[run[0]] = ports[run[0]]
		}
		run = nil
	}
	for _, name := range natural.Keys(ports) {
		if len(run) > 0 {
			last, _ := ports[run[0]].(tree)
			this, _ := ports[name].(tree)
			next := names(run[len(run)-1] + "-" + name)
			if !same(last, this) || len(next) != 2 || next[1] != name {
				flush()
			}
		}
		run = append(run, name)
	}
	flush()
	out["interface"] = shown
	return out
}

// leaves calls f for each value of a tree and for each empty object.
func leaves(v any, path []string, f func(path []string, v any)) {
	m, ok := v.(tree)
	if !ok || len(m) == 0 {
		f(path, v)
		return
	}
	for _, k := range natural.Keys(m) {
		leaves(m[k], append(path[:len(path):len(path)], k), f)
	}
}
