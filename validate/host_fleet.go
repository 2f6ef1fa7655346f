package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Hosts compares the NICs of hosts that work together. Only those of one kind,
// of the same card and driver, are compared with each other, and only by what
// was read of both; managed says which ports count, nil for all.
func Hosts(running []*nic.Host, managed func(host, port string) bool) []Finding {
	kinds := map[string][]member{}
	var all []member
	for _, h := range running {
		for _, name := range natural.Keys(h.Ports) {
			p := h.Ports[name]
			if p == nil || p.RDMA == "" || managed != nil && !managed(h.Name, name) {
				continue
			}
			m := member{printable(h.Name), printable(name), p}
			all = append(all, m)
			if p.Driver != "" && !p.VF {
				kind := p.Vendor + ":" + p.Device + " " + p.Driver
				kinds[kind] = append(kinds[kind], m)
			}
		}
	}
	var c collector
	for _, kind := range natural.Keys(kinds) {
		ms := kinds[kind]
		outliers(&c, ms, "NIC-08", "firmware", func(p *nic.Port) (string, bool) { return p.Firmware, p.Firmware != "" },
			"run the same firmware on these NICs", nic.LayerFirmware)
		outliers(&c, ms, "NIC-08", "the driver version", func(p *nic.Port) (string, bool) { return p.DriverVersion, p.DriverVersion != "" },
			"run the same kernel or driver package on these hosts", nic.LayerDriver)
		for _, param := range dcqcn(ms) {
			outliers(&c, ms, "ECN-12", "DCQCN parameter "+printable(param), func(p *nic.Port) (string, bool) {
				v, ok := p.DCQCN[param]
				return strconv.FormatUint(v, 10), ok
			}, "give all NICs the same value", nic.LayerDriver)
		}
	}
	outliers(&c, all, "MTU-04", "the RDMA MTU", func(p *nic.Port) (string, bool) {
		return strconv.Itoa(p.ActiveMTU.V) + " B", p.ActiveMTU.Set
	}, "give all NICs the same MTU", nic.LayerDriver)
	return c.list
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

// outliers reports the members whose value is not that of most, one finding for
// each host and value. Of two values that are as frequent the larger is the
// rule, so that older firmware is what stands out.
func outliers(c *collector, ms []member, id, what string, value func(*nic.Port) (string, bool), fix string, layer nic.Layer) {
	count := map[string]int{}
	for _, m := range ms {
		if v, ok := value(m.p); ok {
			count[v]++
		}
	}
	if len(count) < 2 {
		return
	}
	usual := ""
	for _, v := range natural.Keys(count) {
		if count[v] >= count[usual] {
			usual = v
		}
	}
	for _, m := range ms {
		if v, ok := value(m.p); ok && v != usual {
			c.add(Finding{ID: id, Severity: Warning, Device: m.host, Fix: fix,
				What: fmt.Sprintf("%s is %s, that of %s is %s (layer %s)", what, printable(v), words.Count(count[usual], "other NIC"), printable(usual), layer)}, m.port)
		}
	}
}
