package identity

import (
	"fmt"
	"slices"
	"sync"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Names holds the ports of a switch, under the names that LLDP may report.
type Names struct {
	OS, Model string // of the switch
	Ports     []string
	All       bool     // ports has all ports of the switch
	Aliases   []string // aliases of ports as the switch shows them; "" for a port without one
	// byAlias is built on first use, because most neighbours report the name itself. Several
	// runs may share it.
	once    sync.Once
	byAlias map[string][]string
}

// Key returns a string that is equal for switches with the same names.
func (n *Names) Key() string {
	return fmt.Sprintf("%q %q %t %q %q", n.OS, n.Model, n.All, n.Ports, n.Aliases)
}

// portsOfAlias returns the ports with an alias: as the switch shows it, or for ports without one as
// the model has it.
func (n *Names) portsOfAlias(alias string) []string {
	n.once.Do(func() {
		n.byAlias = map[string][]string{}
		unnamed := map[string]bool{}
		for i, p := range n.Ports {
			if a := n.Aliases[i]; a != "" {
				n.byAlias[a] = append(n.byAlias[a], p)
			} else {
				unnamed[p] = true
			}
		}
		if m, ok := catalog.ModelOf(n.OS, n.Model); ok {
			for _, p := range m.Ports {
				if unnamed[p.Name] && p.Alias != "" {
					n.byAlias[p.Alias] = append(n.byAlias[p.Alias], p.Name)
				}
			}
		}
	})
	return n.byAlias[alias]
}

// NamesOtherPort says with which severity a name reported by LLDP means a different port of the
// switch; "" if it may mean port. The alias of one port may be the name of another, and a name
// that the switch does not have may mean any port, unless it has the form of port names.
func (n *Names) NamesOtherPort(port, given string) checks.Severity {
	if derive.SamePort(port, given) {
		return ""
	}
	called := n.portsOfAlias(given)
	switch {
	case slices.Contains(called, port):
		return ""
	case len(called) > 0, slices.ContainsFunc(n.Ports, func(p string) bool { return derive.SamePort(p, given) }):
		return checks.Error
	case n.All && derive.SameForm(port, given):
		return checks.Warning
	}
	return ""
}

// RunningNames returns the names of all ports that a switch shows or has configured.
func RunningNames(sw *intent.Switch, cfg *qos.Device, shown map[string]*drivers.PortState) *Names {
	all := make(map[string]bool, len(shown)+len(cfg.Ports))
	for p := range shown {
		all[p] = true
	}
	for p := range cfg.Ports {
		all[p] = true
	}
	return NamesOf(sw, all, shown)
}

// NamesOf returns the names of these ports; shown has the ports that the switch shows, with their
// aliases, and may be nil.
func NamesOf(sw *intent.Switch, ports map[string]bool, shown map[string]*drivers.PortState) *Names {
	n := &Names{OS: sw.OS, Model: sw.Model.V, Ports: natural.Keys(ports), All: len(shown) > 0}
	for _, p := range n.Ports {
		var alias string
		if s := shown[p]; s != nil {
			alias = s.Alias
		}
		n.Aliases = append(n.Aliases, alias)
	}
	return n
}
