package validate

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// memo keeps what the checks of one switch, or of one fabric, have computed. Each package of checks
// keeps a struct of its own in it.
type memo struct{ kept map[any]any }

// keptIn returns the struct of type T in a memo; the first call for the type creates it.
func keptIn[T any](m *memo) *T {
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

// cached returns the value of a key; if there is none, it computes and adds it.
func cached[K comparable, V any](m *map[K]V, k K, compute func() V) V {
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

// lossless returns s.Lossless, cached.
func (r *deviceRun) lossless(s *intent.Settings) qos.PrioritySet {
	return cached(&keptIn[deviceMemo](&r.memo).lossless, s, s.Lossless)
}

// accountOf returns what is known about each line of the running configuration; nil if the driver
// does not say.
func (r *deviceRun) accountOf() []render.Line {
	m := keptIn[deviceMemo](&r.memo)
	if !m.counted && r.seen.Account != nil {
		m.lines, m.counted = r.seen.Account(), true
	}
	return m.lines
}
