package nxos

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// step is a line of a patch, with the headers that open its mode.
type step struct {
	path []string
	line string
}

// patch returns the lines that turn one configuration into another. Their order never removes an
// object in use: policies are detached first, then objects are removed, and then new ones are
// created in printing order.
func patch(from, to *cli.Block) []step {
	d := &differ{}
	d.detach(from, to)
	again := d.recreated(from, to)
	d.remove(from, to, nil, again)
	d.add(from, to, nil, again)
	return d.steps
}

type differ struct{ steps []step }

func (d *differ) step(path []string, line string) {
	d.steps = append(d.steps, step{path: slices.Clone(path), line: line})
}

// detach removes the service-policy lines that change.
func (d *differ) detach(from, to *cli.Block) {
	for _, k := range orderOf(from.Subs) {
		b := from.Subs[k]
		for _, a := range attachments {
			if v := b.Vals[a.key]; v != nil && valueOf(to.Subs[k], a.key) != v.Line {
				d.step([]string{b.Head}, negated(v.Line))
			}
		}
	}
}

func valueOf(b *cli.Block, key string) string {
	if b == nil {
		return ""
	}
	return b.Get(key)
}

// recreated returns the blocks that exist before and after but must be removed and created
// again: class-maps whose match type changes, classes that use such class-maps, and the classes
// of a qos policy from the first one that moves.
func (d *differ) recreated(from, to *cli.Block) map[*cli.Block]bool {
	again := map[*cli.Block]bool{}
	for k, b := range from.Subs {
		if o := to.Subs[k]; o != nil && o.Head != b.Head {
			again[b] = true
		}
	}
	for k, p := range from.Subs {
		if o := to.Subs[k]; o == nil || p.Mode != modePolicyQoS {
			continue
		}
		after := orderOf(to.Subs[k].Subs)
		// A removed class does not move the others.
		kept := slices.DeleteFunc(orderOf(p.Subs), func(c string) bool { return to.Subs[k].Subs[c] == nil })
		moved := false
		for i, c := range kept {
			b := p.Subs[c]
			moved = moved || i >= len(after) || after[i] != c
			cm := from.Subs["class-map type qos "+b.Name()]
			if moved || cm != nil && (again[cm] || to.Subs["class-map type qos "+b.Name()] == nil) {
				again[b] = true
			}
			moved = moved || again[b]
		}
	}
	return again
}

// remove removes everything in from that is not in to, policies before the class-maps that they
// use.
func (d *differ) remove(from, to *cli.Block, path []string, again map[*cli.Block]bool) {
	// Bandwidth shares are removed first, so that their sum stays within its limit.
	order := orderOf(from.Subs)
	for _, k := range slices.Backward(order) {
		b, o := from.Subs[k], to.Subs[k]
		if b.Mode == modeSystemQoS && o == nil {
			o = &cli.Block{} // stays, but empty
		}
		if o == nil || again[b] {
			continue
		}
		d.remove(b, o, append(path[:len(path):len(path)], b.Head), again)
	}
	for _, key := range valuesOf(from) {
		if isAttachment(key) && len(path) > 0 {
			continue // detached already
		}
		if line := from.Get(key); to.Get(key) != line {
			d.step(path, negated(line))
		}
	}
	for _, k := range slices.Backward(order) {
		b := from.Subs[k]
		gone := to.Subs[k] == nil && b.Mode != modeSystemQoS
		if gone || again[b] {
			d.step(path, "no "+b.Head)
		}
	}
}

func isAttachment(key string) bool {
	return slices.ContainsFunc(attachments, func(a attachment) bool { return a.key == key })
}

// add creates everything in to that is not in from.
func (d *differ) add(from, to *cli.Block, path []string, again map[*cli.Block]bool) {
	if from == nil {
		from = &cli.Block{}
	}
	for _, key := range valuesOf(to) {
		if line := to.Get(key); from.Get(key) != line {
			d.step(path, line)
		}
	}
	for _, k := range orderOf(to.Subs) {
		b, old := to.Subs[k], from.Subs[k]
		if old != nil && again[old] {
			old = nil
		}
		if old == nil && (b.Mode != modeSystemQoS || len(b.Vals) > 0) {
			d.step(path, b.Head)
		}
		d.add(old, b, append(path[:len(path):len(path)], b.Head), again)
	}
}

// orderOf returns the keys of blocks in printing order.
func orderOf(subs map[string]*cli.Block) []string {
	return ordered.Sorted(maps.Keys(subs), func(k, l string) int {
		a, b := subs[k], subs[l]
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Seq, b.Seq), cmp.Compare(k, l))
	})
}

// valuesOf returns the keys of a block's values in printing order.
func valuesOf(b *cli.Block) []string {
	return ordered.Sorted(maps.Keys(b.Vals), func(k, l string) int {
		v, w := b.Vals[k], b.Vals[l]
		return cmp.Or(cmp.Compare(v.Rank, w.Rank), cmp.Compare(v.Seq, w.Seq), cmp.Compare(k, l))
	})
}

// negated returns the line that undoes another one.
func negated(line string) string {
	if l, ok := strings.CutPrefix(line, "no "); ok {
		return "default " + l
	}
	if strings.HasPrefix(line, "banner motd") {
		return "no banner motd"
	}
	return "no " + line
}

// patchText writes steps with the given indentation per mode. It does not repeat a header that
// is still open from the previous step.
func patchText(steps []step, indent string) string {
	var b strings.Builder
	var path []string
	for _, s := range steps {
		for i, h := range s.path {
			if i >= len(path) || path[i] != h {
				path = path[:i]
				b.WriteString(strings.Repeat(indent, i) + h + "\n")
				path = append(path, h)
			}
		}
		path = path[:len(s.path)]
		b.WriteString(strings.Repeat(indent, len(s.path)) + s.line + "\n")
		path = append(path, s.line)
	}
	return b.String()
}

// same reports whether two configurations mean the same. The order of lines counts only for the
// classes of qos policies.
func same(a, b *cli.Block) bool {
	if a.Head != b.Head || len(a.Vals) != len(b.Vals) {
		return false
	}
	for k, v := range a.Vals {
		if b.Get(k) != v.Line {
			return false
		}
	}
	filled := func(subs map[string]*cli.Block) map[string]*cli.Block {
		out := maps.Clone(subs)
		maps.DeleteFunc(out, func(_ string, s *cli.Block) bool { return s.Mode == modeSystemQoS && len(s.Vals) == 0 })
		return out
	}
	x, y := filled(a.Subs), filled(b.Subs)
	if len(x) != len(y) {
		return false
	}
	for k, s := range x {
		if y[k] == nil || !same(s, y[k]) {
			return false
		}
	}
	if a.Mode != modePolicyQoS {
		return true
	}
	return slices.Equal(orderOf(a.Subs), orderOf(b.Subs))
}
