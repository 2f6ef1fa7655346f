package localtest

import (
	"fmt"
	"maps"
)

// Keep returns a function that restores the machine's current state: its files, the state of its
// drivers, and the RDMA stack. It works only for a host made with [InMemory].
func (h *Host) Keep() (back func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	files := h.tree.(*memory).keep()
	ports := map[string]*port{}
	for name, p := range h.ports {
		ports[name] = p.copy()
	}
	stack := copies(h.stack)
	cm, cc, stale, pairs := nested(h.cm), nested(h.cc), maps.Clone(h.stale), h.pairs
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		files()
		h.ports = map[string]*port{}
		for name, p := range ports {
			h.ports[name] = p.copy()
		}
		h.stack = copies(stack)
		h.cm, h.cc, h.stale, h.pairs = nested(cm), nested(cc), maps.Clone(stale), pairs
	}
}

// SetCM changes an RDMA-CM default of an RDMA device, "default_roce_tos" or "default_roce_mode",
// without recording a write. It returns an error if the host has no such device.
func (h *Host) SetCM(device, file, value string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cm[device] == nil {
		return fmt.Errorf("the host has no RDMA device %s", device)
	}
	h.cm[device][file] = value
	return nil
}

// copy copies a port with the state of its driver.
func (p *port) copy() *port {
	c := *p
	c.state, c.stats = *p.clone(), maps.Clone(p.stats)
	return &c
}

func copies(m map[string]*stacked) map[string]*stacked {
	out := make(map[string]*stacked, len(m))
	for name, s := range m {
		out[name] = s.copy()
	}
	return out
}

func nested[V any](m map[string]map[string]V) map[string]map[string]V {
	out := make(map[string]map[string]V, len(m))
	for k, v := range m {
		out[k] = maps.Clone(v)
	}
	return out
}

// keep returns a function that restores the files.
func (m *memory) keep() (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	root := m.root.copy(nil)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.root = root.copy(nil)
	}
}

// copy copies a node and everything below it; the root is its own parent.
func (n *node) copy(parent *node) *node {
	c := &node{parent: parent, target: n.target, content: n.content}
	if parent == nil {
		c.parent = c
	}
	if n.children != nil {
		c.children = make(map[string]*node, len(n.children))
		for name, child := range n.children {
			c.children[name] = child.copy(c)
		}
	}
	return c
}
