package local

import (
	"fmt"
	"slices"
	"sync"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic"
)

// choice records which interfaces the selectors chose for the names of NICs.
type choice struct {
	mu        sync.Mutex
	selectors map[string]intent.Selector
	chosen    map[string]string // interface, by the name of the NIC
	why       map[string]string // reason, for each NIC without an interface
}

// Select sets the selectors that choose interfaces for NIC names in all further calls. Each call
// chooses again, so that an interface may be renamed between two calls.
func (m *Machine) Select(selectors map[string]intent.Selector) {
	m.choice.mu.Lock()
	defer m.choice.mu.Unlock()
	m.choice.selectors, m.choice.chosen, m.choice.why = selectors, nil, nil
}

// Chosen returns the name of the NIC for which an interface, or its RDMA device, is chosen; ok is
// false if there is none.
func (m *Machine) Chosen(device string) (name string, ok bool) {
	m.choose()
	m.choice.mu.Lock()
	defer m.choice.mu.Unlock()
	for name, at := range m.choice.chosen {
		if at == device || m.ownRDMA(at) == device {
			return name, true
		}
	}
	return "", false
}

// Interface returns the interface of a NIC: the one that its selector chooses, "" if it chooses
// none, or without a selector the one of that name.
func (m *Machine) Interface(name string) string {
	ifname, err := m.ifname(name)
	if err != nil {
		return ""
	}
	return ifname
}

// choose finds the interfaces of all selectors.
func (m *Machine) choose() {
	m.choice.mu.Lock()
	defer m.choice.mu.Unlock()
	m.chooseLocked()
}

func (m *Machine) chooseLocked() {
	c := &m.choice
	if len(c.selectors) == 0 {
		return
	}
	var numbers bool
	for _, s := range c.selectors {
		numbers = numbers || s.Part != "" || s.Serial != ""
	}
	cards, err := m.cardsOf(numbers)
	if err == nil {
		c.chosen, c.why = nic.Choose(cards, c.selectors)
		return
	}
	c.chosen, c.why = map[string]string{}, map[string]string{}
	for name := range c.selectors {
		c.why[name] = m.explainError(err)
	}
}

// ifname returns the interface for the name of a NIC.
func (m *Machine) ifname(name string) (string, error) {
	c := &m.choice
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, selects := c.selectors[name]; !selects {
		return name, nil
	}
	if c.chosen == nil {
		m.chooseLocked()
	}
	if at, ok := c.chosen[name]; ok {
		return at, nil
	}
	return "", fmt.Errorf("%q: %w: %s", clip(name), ErrNoPort, c.why[name])
}

// unchosen says why no interface is chosen, for those of the NICs that have none.
func (c *choice) unchosen(names []string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out map[string]string
	for _, name := range names {
		if why, ok := c.why[name]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = why
		}
	}
	return out
}

// named replaces the names of chosen interfaces by the names of their NICs.
func (c *choice) named(interfaces []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.chosen) == 0 || interfaces == nil {
		return interfaces
	}
	out := slices.Clone(interfaces)
	for name, at := range c.chosen {
		if i := slices.Index(interfaces, at); i >= 0 {
			out[i] = name
		}
	}
	return out
}

// rdmaDrivers are the drivers of cards that can have an RDMA device.
var rdmaDrivers = []string{nic.DriverMLX5, nic.DriverBNXT, nic.DriverICE, nic.DriverIonic}

// cardsOf returns the interfaces that selectors choose from: physical functions that have an RDMA
// device or whose driver supports one. With numbers set, it also reads part and serial numbers.
func (m *Machine) cardsOf(numbers bool) ([]nic.Candidate, error) {
	names, err := m.list(m.sysNet())
	if err != nil {
		return nil, m.explained(err, "list network devices")
	}
	var out []nic.Candidate
	for _, name := range names {
		d, err := m.lookAt(name)
		if err != nil || d.pci == "" || d.virtual || m.represents(name) || d.rdma == "" && !slices.Contains(rdmaDrivers, d.driver) {
			continue
		}
		c := nic.Candidate{Name: d.name, PCI: d.pci, Vendor: d.vendor, Model: d.model}
		if n, err := m.number(m.sysNet(name, "dev_port")); err == nil && n < 1<<16 {
			c.DevPort = int(n)
		}
		if numbers {
			b, err := m.fs().ReadFile(m.sysNet(name, "device", "vpd"))
			switch {
			case err == nil:
				c.Part, c.Serial = parseVPD(b)
			case !isGone(err): // otherwise the card has none
				c.Hidden = m.explainError(err)
			}
		}
		out = append(out, c)
	}
	return out, nil
}
