package checks

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Memo keeps what the checks of one switch, or of one fabric, have computed. Each package of checks
// keeps a struct of its own in it.
type Memo struct{ kept map[any]any }

// Kept returns the struct of type T in a memo; the first call for the type creates it.
func Kept[T any](m *Memo) *T {
	kind := any((*T)(nil))
	if one, ok := m.kept[kind]; ok {
		return one.(*T)
	}
	if m.kept == nil {
		m.kept = map[any]any{}
	}
	one := new(T)
	m.kept[kind] = one
	return one
}

// Cached returns the value of a key; if there is none, it computes and adds it.
func Cached[K comparable, V any](m *map[K]V, k K, compute func() V) V {
	if v, ok := (*m)[k]; ok {
		return v
	}
	if *m == nil {
		*m = map[K]V{}
	}
	v := compute()
	(*m)[k] = v
	return v
}

// deviceMemo is what the view of a switch keeps for all checks.
type deviceMemo struct {
	lossless map[*intent.Settings]qos.PrioritySet
	lines    []render.Line
	counted  bool // lines are set
}

// Lossless returns s.Lossless, cached.
func (r *Switch) Lossless(s *intent.Settings) qos.PrioritySet {
	return Cached(&Kept[deviceMemo](&r.Memo).lossless, s, s.Lossless)
}

// Lines returns what is known about each line of the running configuration; nil if the driver
// does not say.
func (r *Switch) Lines() []render.Line {
	m := Kept[deviceMemo](&r.Memo)
	if !m.counted && r.Seen.Account != nil {
		m.lines, m.counted = r.Seen.Account(), true
	}
	return m.lines
}
