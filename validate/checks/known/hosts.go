package known

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// CheckHost returns the faults of a host's software that its ports of the intent have.
func CheckHost(h *intent.Host, running, desired *nic.Host) []checks.Finding {
	var c checks.Collector
	for i := range Faults {
		f := &Faults[i]
		if f.Of != Host {
			continue
		}
		for _, name := range natural.Keys(desired.Ports) {
			p := running.Ports[name]
			if p == nil || !slices.Contains(f.Drivers, p.Driver) {
				continue
			}
			release := f.releaseOn(running, p)
			r, ok := f.rangeOf(release)
			if !ok || slices.ContainsFunc(f.When, func(w string) bool { return !conditionOf(portConditions, w).port(running, p) }) {
				continue
			}
			found := f.finding(term.CleanLine(release), r, "")
			found.Device, found.Where = h.Name, h.Pos.String()
			c.Add(found, name)
		}
	}
	return c.List
}

// releaseOn returns the release of the fault's software on a port; "" if it is not known. A driver
// of the kernel has no release of its own.
func (f *Fault) releaseOn(h *nic.Host, p *nic.Port) string {
	switch {
	case f.Part == Kernel:
		return h.Kernel
	case f.Part == Firmware:
		return p.Firmware
	case p.DriverVersion != h.Kernel:
		return p.DriverVersion
	}
	return ""
}

// portCondition is a condition of a port of a host.
type portCondition struct {
	name, says string
	port       func(*nic.Host, *nic.Port) bool
}

func (c portCondition) called() string { return c.name }

// portConditions are all conditions of ports of hosts.
var portConditions = []portCondition{
	{"pfc", "PFC is on", func(_ *nic.Host, p *nic.Port) bool { return p.PFC.Or(0) != 0 }},
	{"buffers", "receive buffers are set", func(_ *nic.Host, p *nic.Port) bool { return p.Buffers.Set }},
	{"trust-dscp", "the port trusts DSCP", func(_ *nic.Host, p *nic.Port) bool { return p.Trust.V == qos.TrustDSCP }},
	{"ecn", "congestion control is on", func(_ *nic.Host, p *nic.Port) bool { return p.ECN.Or(0) != 0 }},
	{"ecn-of-some", "congestion control is on for some priorities", func(_ *nic.Host, p *nic.Port) bool {
		n := p.ECN.Or(0).Len()
		return n > 0 && n < qos.NumPriorities
	}},
	{"ets", "traffic classes have shares of the link", func(_ *nic.Host, p *nic.Port) bool { return p.ETS.Set && slices.Contains(p.ETS.V.TSA[:], nic.TSAETS) }},
	{"bond", "the port is a member of a bond", func(h *nic.Host, p *nic.Port) bool {
		for _, u := range h.Uppers {
			if u.Kind == nic.UpperBond && slices.Contains(u.On, p.Name) {
				return true
			}
		}
		return false
	}},
	{"pairs-unread", "queue pairs could not be listed", func(_ *nic.Host, p *nic.Port) bool { return p.RDMA != "" && p.Missing[nic.FieldPairs] != "" }},
}
