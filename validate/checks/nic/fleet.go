package nic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Compare compares the NICs of hosts of a fabric that work together; f may be nil. managed selects
// the ports; nil selects all.
func Compare(f *intent.Fabric, running []*nic.Host, managed func(host, port string) bool) []checks.Finding {
	kinds := map[string][]member{}
	var all []member
	for _, h := range running {
		for _, name := range natural.Keys(h.Ports) {
			p := h.Ports[name]
			if p == nil || p.RDMA == "" || managed != nil && !managed(h.Name, name) {
				continue
			}
			m := member{term.CleanLine(h.Name), term.CleanLine(name), p}
			all = append(all, m)
			if p.Driver != "" && !p.VF {
				kind := p.Vendor + ":" + p.Device + " " + p.Driver
				kinds[kind] = append(kinds[kind], m)
			}
		}
	}
	var c checks.Collector
	for _, kind := range natural.Keys(kinds) {
		ms := kinds[kind]
		outliers(&c, ms, common{"NIC-08", "firmware", nic.LayerFirmware,
			func(p *nic.Port) (string, bool) { return p.Firmware, p.Firmware != "" },
			func(string) string { return "run the same firmware on these NICs" }})
		outliers(&c, ms, common{"NIC-08", "the driver version", nic.LayerDriver,
			func(p *nic.Port) (string, bool) { return p.DriverVersion, p.DriverVersion != "" },
			func(string) string { return "run the same kernel or driver package on these hosts" }})
		for _, param := range dcqcn(ms) {
			outliers(&c, ms, common{"ECN-12", "DCQCN parameter " + term.CleanLine(param), nic.LayerDriver,
				func(p *nic.Port) (string, bool) {
					v, ok := p.DCQCN[param]
					return strconv.FormatUint(v, 10), ok
				},
				func(usual string) string { return sameParameter(ms[0].p.Driver, term.CleanLine(param), usual) }})
		}
	}
	outliers(&c, all, common{"MTU-04", "the RDMA MTU", nic.LayerDriver,
		func(p *nic.Port) (string, bool) { return strconv.Itoa(p.ActiveMTU.V) + " B", p.ActiveMTU.Set },
		func(string) string {
			return "give all of them the MTU of mtu.host and mtu.rdma in the intent: apply it to these hosts"
		}})
	if f != nil {
		routes(&c, f, running)
	}
	return c.List
}

// sameParameter returns the fix for a congestion control parameter of a driver's cards.
func sameParameter(driver, param, usual string) string {
	usual = cmp.Or(usual, "one value")
	if !slices.Contains(intent.DCQCNNames(), param) && driver != nic.DriverIonic {
		return fmt.Sprintf("set %s to %s on all of them: this tool does not", param, usual)
	}
	if why := nic.DCQCNLimit(driver, param); why != "" {
		return fmt.Sprintf("set %s to %s on all of them: %s", param, usual, why)
	}
	return fmt.Sprintf("write dcqcn: {%s: %s} for these NICs into the intent, and apply it to their hosts", param, usual)
}

type member struct {
	host, port string
	p          *nic.Port
}

func dcqcn(ms []member) []string {
	names := map[string]bool{}
	for _, m := range ms {
		for name := range m.p.DCQCN {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// common is a property that NICs should have in common.
type common struct {
	id, name string
	layer    nic.Layer
	value    func(*nic.Port) (string, bool)
	fix      func(usual string) string // usual is "" if no value is the most frequent
}

// outliers reports the members whose value differs from the most frequent one, one finding for
// each host and value. If no value is the most frequent, one finding lists all.
func outliers(c *checks.Collector, ms []member, tr common) {
	var groups ordered.Groups[string, member]
	for _, m := range ms {
		if v, ok := tr.value(m.p); ok {
			groups.Add(v, m)
		}
	}
	usual, most, values, tie := "", 0, []string{}, false
	for v, group := range groups.All() {
		values = append(values, v)
		switch n := len(group); {
		case n > most:
			usual, most, tie = v, n, false
		case n == most:
			tie = true
		}
	}
	if len(values) < 2 {
		return
	}
	ordered.Sort(values, natural.Compare)
	if tie {
		reportTie(c, values, maps.Collect(groups.All()), tr)
		return
	}
	for _, m := range ms {
		if v, ok := tr.value(m.p); ok && v != usual {
			c.Add(checks.Finding{ID: tr.id, Severity: checks.Warning, Device: m.host, Fix: tr.fix(term.CleanLine(usual)),
				What: fmt.Sprintf("%s is %s, %d other NICs have %s (layer %s)", tr.name, term.CleanLine(v), most, term.CleanLine(usual), tr.layer)}, m.port)
		}
	}
}

// splitShown is the most values that split lists.
const splitShown = 4

// reportTie reports members without a most frequent value. The finding is on the host if they are
// all on one.
func reportTie(c *checks.Collector, values []string, groups map[string][]member, tr common) {
	var parts []string
	f := checks.Finding{ID: tr.id, Severity: checks.Warning, Device: groups[values[0]][0].host, Fix: tr.fix("")}
	for _, group := range groups {
		if slices.ContainsFunc(group, func(m member) bool { return m.host != f.Device }) {
			f.Device = ""
		}
	}
	for i, v := range values {
		if i == splitShown {
			parts = append(parts, words.Count(len(values)-i, "more value"))
			break
		}
		var names []string
		for _, m := range groups[v] {
			names = append(names, m.host+"/"+m.port)
		}
		parts = append(parts, fmt.Sprintf("%s on %s (%s)", term.CleanLine(v), words.Count(len(names), "NIC"), term.Clip(natural.Fold(natural.Sorted(names)), 80)))
	}
	f.What = fmt.Sprintf("%s differs: %s (layer %s)", tr.name, strings.Join(parts, ", "), tr.layer)
	c.Add(f, "")
}
