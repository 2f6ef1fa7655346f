package local

import (
	"fmt"
	"slices"
	"sync"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic"
)

// choice is which interfaces stand for the names of NICs that have a selector.
type choice struct {
	mu        sync.Mutex
	selectors map[string]intent.Selector
	chosen    map[string]string // by the name of the NIC
	why       map[string]string // of those for which none is chosen
}

// Select has names of NICs stand for the interfaces that selectors choose, in all calls from
// here. Each call chooses anew, so that an interface may be renamed between two of them.
func (m *Machine) Select(selectors map[string]intent.Selector) {
	m.choice.mu.Lock()
	defer m.choice.mu.Unlock()
	m.choice.selectors, m.choice.chosen, m.choice.why = selectors, nil, nil
}

// Chosen returns the name of the NIC that an interface, or the RDMA device of one, is
// chosen for; ok is false for none.
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

// Interface returns the interface that a NIC is: the one that its selector chooses, "" where
// it chooses none, or that of its name.
func (m *Machine) Interface(name string) string {
	ifname, err := m.ifname(name)
	if err != nil {
		return ""
	}
	return ifname
}

// choose looks for the interfaces of all selectors.
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
		c.why[name] = m.why(err)
	}
}

// ifname returns the interface that a name stands for.
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

// unchosen says of NICs why no interface is chosen for them.
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

// named puts the names of NICs for those of the interfaces that are chosen for them.
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

// rdmaDrivers are those of cards that can have an RDMA device.
var rdmaDrivers = []string{nic.DriverMLX5, nic.DriverBNXT, nic.DriverICE, nic.DriverIonic}

// cardsOf are the interfaces among which selectors choose: physical functions that have, or
// by their driver can have, an RDMA device. numbers has their part and serial numbers read.
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
			case !gone(err): // else the card has none
				c.Hidden = m.why(err)
			}
		}
		out = append(out, c)
	}
	return out, nil
}
