// Package ordered has a map that keeps the order in which its keys came, for what
// is gathered by a key and then told in the order of the first of each, and the sort
// of what has no order of its own.
package ordered

import "iter"

// Map is a map in the order of its keys' first use. The zero Map is empty and
// ready; a copy shares its values.
type Map[K comparable, V any] struct {
	keys   []K
	values map[K]*V
}

// At returns where the value of a key is, which is the zero value for a new one.
func (m *Map[K, V]) At(k K) *V {
	v := m.values[k]
	if v == nil {
		if m.values == nil {
			m.values = map[K]*V{}
		}
		v = new(V)
		m.values[k] = v
		m.keys = append(m.keys, k)
	}
	return v
}

// All yields the keys, each with its value.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range m.keys {
			if !yield(k, *m.values[k]) {
				return
			}
		}
	}
}

// Keys returns the keys; nil for none.
func (m *Map[K, V]) Keys() []K { return m.keys }

// Groups gathers values by key: its values are lists.
type Groups[K comparable, V any] struct{ Map[K, []V] }

// Add adds values to the list of a key.
func (g *Groups[K, V]) Add(k K, vs ...V) {
	at := g.At(k)
	*at = append(*at, vs...)
}
