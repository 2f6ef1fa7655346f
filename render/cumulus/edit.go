package cumulus

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Setting sets or unsets one path.
type Setting struct {
	Path Path `json:"path"`
	// Set is the new content of the path: a value, an empty branch for the ID of a collection,
	// or a branch that is restored as a whole. nil unsets the path.
	Set *Node `json:"set,omitempty"`
	// Empty restricts an unset to a path with nothing below it.
	Empty bool `json:"empty,omitempty"`
}

// Edit is a list of settings. None of its paths is below another one.
type Edit []Setting

// MarshalJSON writes a node as NVUE does.
func (n *Node) MarshalJSON() ([]byte, error) { return bytes.TrimSpace(n.JSON()), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Node) UnmarshalJSON(b []byte) error {
	doc, err := readJSON(b)
	if err != nil {
		return err
	}
	return n.read(doc)
}

func (n *Node) read(doc *yaml.Node) error {
	*n = Node{Value: doc.Value}
	switch doc.Kind {
	case yaml.Text:
		n.Kind = Text
	case yaml.Int:
		n.Kind = Number
	case yaml.Bool:
		n.Kind = Bool
	case yaml.Map:
		for _, p := range doc.Pairs {
			sub := &Node{}
			if err := sub.read(p.Value); err != nil {
				return err
			}
			n.add(p.Key.Value, sub)
		}
	default:
		return errors.New("a list or nothing where NVUE has a value")
	}
	return nil
}

// Apply returns the configuration after an edit; have is not changed. A branch that an unset
// empties is removed as well, unless it is the ID of a collection.
func (e Edit) Apply(have *Config) *Config {
	out := *have
	out.sources = nil
	out.Tree = have.Tree.Clone()
	for _, s := range e {
		switch {
		case s.Set != nil:
			out.Tree.place(s)
		case !s.Empty || len(out.Tree.At(s.Path...).subs()) == 0:
			out.Tree.Remove(s.Path...)
			out.Tree.prune(s.Path)
		}
	}
	return &out
}

// place applies a setting that sets a value. The states of a link exclude each other.
func (n *Node) place(s Setting) {
	if isLinkState(s.Path) {
		if at := n.At(s.Path[:4]...); at != nil {
			at.Sub = nil
		}
	}
	n.Put(s.Set.Clone(), s.Path...)
}

// isLinkState reports whether a path leads to the state of a link, which has only one.
func isLinkState(path Path) bool {
	return len(path) == 5 && path[0] == "interface" && path[2] == "link" && path[3] == "state"
}

// prune removes the branches on a path that are empty and not IDs.
func (n *Node) prune(path Path) {
	for i := len(path) - 1; i > 0; i-- {
		at := n.At(path[:i]...)
		if at == nil {
			continue
		}
		if at.Kind != Branch || len(at.Sub) > 0 || isID(path[:i]) {
			return
		}
		n.Remove(path[:i]...)
	}
}

// collections holds the last key of collections whose IDs may have nothing below them.
var collections = map[string]bool{
	"interface": true, famMapping: true, famPFC: true, famECN: true, famScheduler: true, famShaper: true, famRemark: true, famPause: true,
	"dscp": true, "pcp": true, "switch-priority": true, "traffic-class": true, "traffic-pool": true, "member": true, "egress-queue-mapping": true,
}

// isID reports whether a path ends with the ID of a collection: an interface, a profile, a
// priority.
func isID(path Path) bool {
	if len(path) < 2 || !collections[path[len(path)-2]] {
		return false
	}
	// Below a port the families have no IDs.
	return !(path[0] == "interface" && len(path) == 5 && path[2] == "qos")
}

// Undo returns the settings that restore what have holds at the places of an edit. They leave
// later changes at other places alone.
func (e Edit) Undo(have *Config) Edit {
	var sets, unsets Edit
	done := map[string]bool{}
	add := func(to *Edit, s Setting) {
		if key := s.Path.String(); !done[key] {
			done[key] = true
			*to = append(*to, s)
		}
	}
	var empty Edit
	for _, s := range e {
		was := have.Tree.At(s.Path...)
		if was != nil {
			add(&sets, Setting{Path: s.Path, Set: was.Clone()})
			continue
		}
		if s.Set == nil {
			continue // nothing to restore
		}
		if state := have.Tree.At(s.Path[:len(s.Path)-1]...); isLinkState(s.Path) && state.Word() != "" {
			path := append(s.Path[:4:4], state.Word())
			add(&sets, Setting{Path: path, Set: state.At(state.Word()).Clone()})
			continue
		}
		// A profile that the edit creates is removed as a whole, an ID only if nothing is left
		// below it.
		at := s.Path
		for i := 2; i < len(s.Path); i++ {
			if have.Tree.At(s.Path[:i]...) != nil || !isID(s.Path[:i]) {
				continue
			}
			if i == 3 && s.Path[0] == "qos" && strings.HasPrefix(s.Path[2], Prefix) {
				at = s.Path[:i]
				break
			}
			add(&empty, Setting{Path: s.Path[:i], Empty: true})
		}
		add(&unsets, Setting{Path: at})
	}
	// Unset the deepest paths first, so that an ID is empty when its turn comes.
	ordered.Sort(empty, func(a, b Setting) int { return len(b.Path) - len(a.Path) })
	return slices.Concat(sets, unsets, empty)
}

// Within returns the settings of an edit that would change what a switch holds now. They resume
// or revert an interrupted run.
func (e Edit) Within(now *Config) Edit {
	var out Edit
	after := *now
	after.Tree = now.Tree.Clone()
	for _, s := range e {
		have := after.Tree.At(s.Path...)
		switch {
		case s.Set != nil && s.held(have), s.Set == nil && have == nil, s.Empty && len(have.subs()) > 0:
			continue
		case s.Set != nil:
			after.Tree.place(s)
		default:
			after.Tree.Remove(s.Path...)
			after.Tree.prune(s.Path)
		}
		s.Empty = false
		out = append(out, s)
	}
	// Unsetting a path removes everything below it.
	return slices.DeleteFunc(out, func(s Setting) bool {
		return s.Set == nil && slices.ContainsFunc(out, func(above Setting) bool {
			return above.Set == nil && len(above.Path) < len(s.Path) && slices.Equal(above.Path, s.Path[:len(above.Path)])
		})
	})
}

// held reports whether a node is what a setting sets, possibly with ECN thresholds rounded by
// the switch.
func (s Setting) held(have *Node) bool {
	if have.Equal(s.Set) {
		return true
	}
	last := s.Path[len(s.Path)-1]
	written, err := strconv.ParseInt(s.Set.Word(), 10, 64)
	shown, also := strconv.ParseInt(have.Word(), 10, 64)
	return err == nil && also == nil && (last == "min-threshold" || last == "max-threshold") && within(written, shown)
}

// Body returns the tree that a PATCH of the whole revision sets; nil if the edit sets nothing. A
// single request must not both set and unset, so [Edit.Unsets] returns the rest.
func (e Edit) Body() *Node {
	var out *Node
	for _, s := range e {
		if s.Set == nil {
			continue
		}
		if out == nil {
			out = &Node{}
		}
		out.Put(s.Set.Clone(), s.Path...)
	}
	return out
}

// Unsets returns the paths that an edit unsets.
func (e Edit) Unsets() []Path {
	var out []Path
	for _, s := range e {
		if s.Set == nil {
			out = append(out, s.Path)
		}
	}
	return out
}

// Lines returns the commands of an edit, for people and for a shell, unsets first. Ports and
// numbers that get the same value share a command, as NVUE accepts lists of them.
func (e Edit) Lines() []string {
	type spot struct{ before, after string }
	groups := ordered.Groups[spot, string]{}
	add := func(verb string, path Path, leaf *Node) {
		i := 1
		if path[0] == "qos" {
			i = slices.IndexFunc(path, isNumber)
		}
		if i < 1 || i >= len(path) || path[0] == "qos" && !ranged[path[i-1]] || path[0] != "qos" && path[0] != "interface" {
			groups.Add(spot{command(verb, path, leaf), ""}, "")
			return
		}
		groups.Add(spot{command(verb, path[:i], nil), strings.TrimPrefix(command("", path[i+1:], leaf), "nv ")}, path[i])
	}
	for _, s := range e {
		if s.Set == nil {
			add("unset", s.Path, nil)
		}
	}
	for _, s := range e {
		if s.Set == nil {
			continue
		}
		s.Set.leaves(nil, func(path Path, leaf *Node) { add("set", slices.Concat(s.Path, path), leaf) })
		if len(s.Set.Sub) == 0 {
			add("set", s.Path, s.Set)
		}
	}
	var out []string
	for at, ids := range groups.All() {
		line := at.before
		switch {
		case ids[0] == "":
		case isNumber(ids[0]):
			line += " " + foldNumbers(ids) + at.after
		default:
			line += " " + foldPorts(ids) + at.after
		}
		out = append(out, line)
	}
	return out
}

func isNumber(s string) bool { _, ok := digits(s); return ok }

func foldNumbers(ids []string) string {
	var ns []int
	for _, id := range natural.Sorted(ids) {
		n, _ := digits(id) // the caller has checked it
		ns = append(ns, n)
	}
	return qos.FoldInts(ns)
}

// foldPorts returns a list of ports as NVUE accepts it: "swp1-4,swp6s0-1".
func foldPorts(names []string) string {
	var by ordered.Groups[string, int] // numbers after "swp" and after "swp6s"
	for _, name := range natural.Sorted(names) {
		stem := strings.TrimRight(name, "0123456789")
		n, ok := digits(name[len(stem):])
		if !isPort(name) || !ok {
			stem, n = name, -1
		}
		by.Add(stem, n)
	}
	var out []string
	for stem, ns := range by.All() {
		if ns[0] < 0 {
			out = append(out, shellWord(stem))
			continue
		}
		for part := range strings.SplitSeq(qos.FoldInts(ns), ",") {
			out = append(out, stem+part)
		}
	}
	return strings.Join(out, ",")
}

// String describes a setting for people.
func (s Setting) String() string {
	if s.Set == nil {
		return "unset " + s.Path.String()
	}
	return "set " + s.Path.String() + " " + s.Set.Word()
}

// Check returns an error unless this package could have written each path, and unless its port,
// if it has one, is managed. It guards against edits that were read from a file and may hold
// anything. If managed is nil, every interface is.
func (e Edit) Check(managed func(name string) bool) error {
	for i, s := range e {
		switch {
		case !written(s.Path):
			return fmt.Errorf("setting %d is not one that this tool writes: %s", i+1, s)
		case s.Path[0] == "interface" && managed != nil && !managed(s.Path[1]):
			return fmt.Errorf("setting %d: interface %s is not in the intent: %s", i+1, s.Path[1], s)
		}
	}
	return nil
}

// CheckUndo returns an error unless undo is at the places of the edit.
func (e Edit) CheckUndo(undo Edit) error {
	for i, u := range undo {
		if !slices.ContainsFunc(e, func(s Setting) bool {
			if isLinkState(u.Path) && isLinkState(s.Path) && u.Path[1] == s.Path[1] {
				return true
			}
			if len(u.Path) > len(s.Path) || !slices.Equal(u.Path, s.Path[:len(u.Path)]) {
				return false
			}
			// A path above a setting may be unset if it becomes empty or is a profile of ours.
			own := len(u.Path) == 3 && u.Path[0] == "qos" && strings.HasPrefix(u.Path[2], Prefix)
			return len(u.Path) == len(s.Path) || isID(u.Path) && u.Set == nil && (u.Empty || own)
		}) {
			return fmt.Errorf("setting %d of the undo record: the edit does not write it: %s", i+1, u)
		}
	}
	return nil
}

// written reports whether this package writes at a path, or removes an ID there that it may have
// created.
func written(p Path) bool {
	at := func(path ...string) bool { return len(p) >= len(path) && slices.Equal(p[:len(path)], path) }
	for _, key := range p {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > 126 || r == '\'' || r == '"' || r == '\\' }) {
			return false
		}
	}
	switch {
	case len(p) < 2:
		return false
	case p[0] == "qos":
		switch p[1] {
		case famMapping, famPFC, famECN, famScheduler, famShaper:
			return len(p) >= 3
		case "egress-queue-mapping":
			return len(p) >= 3 && p[2] == global
		case "pfc-watchdog":
			return len(p) == 3
		case "traffic-pool":
			return len(p) >= 3
		}
		return false
	case !at("interface"):
		return false
	case len(p) == 2:
		return true
	case p[2] == "link":
		return len(p) == 4 && p[3] == "mtu" || len(p) >= 4 && p[3] == "state"
	case p[2] == "qos" && len(p) > 3:
		switch p[3] {
		case famMapping, famPFC, famECN, famScheduler, famShaper, famPause:
			return len(p) == 5 && p[4] == "profile" || len(p) == 4 && p[3] == famPause
		case "pfc-watchdog":
			return true
		}
	}
	return false
}

// ImpactOf returns the impact of a change at a path. Changes of PFC, link pause and pools
// reprogram the buffers of the ASIC, which may briefly lose packets; other QoS changes do not
// disturb forwarding (Cumulus Linux 5.17, switchd and QoS). Whether ports flap is not
// documented.
func ImpactOf(p Path) qos.Impact {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(p, k) })
	}
	switch {
	case len(p) == 0:
		return qos.ImpactNone
	case has("pfc-watchdog"):
		return qos.ImpactNone
	case has(famPFC, famPause, "traffic-pool", "advance-buffer-config", "roce", "small-packet-probability", "headroom", "shared-headroom-pool"):
		return qos.ImpactLoss
	case isLinkState(p) || p[0] == "interface" && p[len(p)-1] == "state":
		return qos.ImpactPortFlap
	case p[0] == "interface" && p[len(p)-1] == "mtu": // the headroom depends on the MTU
		return qos.ImpactLoss
	}
	return qos.ImpactNone
}

// Impact returns the largest impact of the settings of an edit.
func (e Edit) Impact() qos.Impact {
	i := qos.ImpactNone
	for _, s := range e {
		i = max(i, ImpactOf(s.Path))
	}
	return i
}

// KindImpact returns the impact of a change of an attribute.
func KindImpact(k qos.Kind) qos.Impact {
	switch k {
	case qos.KindPFC, qos.KindCable, qos.KindLossless, qos.KindLinkPause, qos.KindMTU:
		return qos.ImpactLoss
	case qos.KindAdminUp:
		return qos.ImpactPortFlap
	}
	return qos.ImpactNone
}
