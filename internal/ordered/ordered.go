// Package ordered provides a map that keeps the order in which its keys were added, and the stable
// sort that this program uses.
package ordered

import "iter"

// Map is a map that is ordered by the first use of its keys. The zero Map is empty and ready to
// use. A copy of a Map shares its values.
type Map[K comparable, V any] struct {
	keys   []K
	values map[K]*V
}

// At returns a pointer to the value of a key. For a new key it adds the zero value.
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

// All yields each key with its value.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range m.keys {
			if !yield(k, *m.values[k]) {
				return
			}
		}
	}
}

// Keys returns the keys, or nil for an empty map.
func (m *Map[K, V]) Keys() []K { return m.keys }

// Groups is a Map that collects a list of values for each key.
type Groups[K comparable, V any] struct{ Map[K, []V] }

// Add adds values to the list of a key.
func (g *Groups[K, V]) Add(k K, vs ...V) {
	at := g.At(k)
	*at = append(*at, vs...)
}
