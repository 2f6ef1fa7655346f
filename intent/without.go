package intent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// withoutForms lists what Options.Without may name.
const withoutForms = "write a device (spine1, leaf*, role:spine), a cable (leaf1/Ethernet0, 'leaf1/Ethernet0 - gpu1/eth0', 'leaf1 - spine1'), or the cables of an entry (links[4])"

// without removes the devices and cables of Options.Without from the resolved fabric, with the
// switch ports at the ends of removed cables.
func (r *resolver) without(all []string) {
	if len(all) == 0 || r.incomplete || r.problems.count > 0 {
		return
	}
	devices, links := map[string]bool{}, map[*Link]bool{}
	for _, text := range all {
		r.leftOut(text, devices, links)
	}
	for _, l := range r.out.Links {
		if devices[l.A.Device] || devices[l.B.Device] {
			links[l] = true
		}
	}
	if !slices.ContainsFunc(r.out.Switches, func(s *Switch) bool { return !devices[s.Name] }) {
		r.problems.addf(Pos{File: "--without " + strings.Join(all, " --without ")}, "", "no switch is left")
		return
	}
	r.out.remove(devices, links)
}

// leftOut adds the devices or cables that one value of Options.Without names.
func (r *resolver) leftOut(text string, devices map[string]bool, links map[*Link]bool) {
	pos := Pos{File: "--without " + text}
	a, b, both := strings.Cut(text, " - ")
	switch {
	case strings.HasPrefix(text, "links["):
		r.entryLinks(text, pos, links)
		return
	case both:
		r.cablesBetween(strings.TrimSpace(a), strings.TrimSpace(b), pos, links)
		return
	case strings.Contains(text, "/"):
		r.cablesBetween(text, "", pos, links)
		return
	}
	chosen, err := r.out.choose([]string{text}, r.out.devices(), "switch or host")
	if e, ok := errors.AsType[*Error](err); ok && e.Hint == "" {
		e.Hint = withoutForms
	}
	if err != nil {
		r.selectionFault(pos, err)
	}
	maps.Copy(devices, chosen)
}

// entryLinks adds the cables of an entry of the intent's links.
func (r *resolver) entryLinks(text string, pos Pos, links map[*Link]bool) {
	number, closed := strings.CutSuffix(strings.TrimPrefix(text, "links["), "]")
	i, err := strconv.Atoi(number)
	entries := len(r.raw.Links.Items)
	if err != nil || !closed || i < 0 || i >= entries {
		r.problems.addf(pos, fmt.Sprintf("the entries are links[0] to links[%d]", entries-1), "the intent has no %s", text)
		return
	}
	for _, l := range r.out.Links {
		if l.Pos == r.raw.Links.Items[i].Pos {
			links[l] = true
		}
	}
}

// cablesBetween adds the cables with one end at a and the other at b, each a device or ports of
// one; b is "" for any.
func (r *resolver) cablesBetween(a, b string, pos Pos, links map[*Link]bool) {
	atA, okA := r.endsOf(a, pos)
	atB, okB := func(Endpoint) bool { return true }, true
	if b != "" {
		atB, okB = r.endsOf(b, pos)
	}
	if !okA || !okB {
		return
	}
	found := false
	for _, l := range r.out.Links {
		if atA(l.A) && atB(l.B) || atA(l.B) && atB(l.A) {
			links[l], found = true, true
		}
	}
	switch {
	case found:
	case b == "":
		device, port, _ := strings.Cut(a, "/")
		r.problems.addf(pos, didYouMean(port, r.cabledPorts(device)), "no cable ends at %s", brief(a))
	default:
		r.problems.addf(pos, "", "no cable joins %s and %s", brief(a), brief(b))
	}
}

// endsOf returns a function that reports whether an endpoint is at a device, or at one of its
// ports, that text names. Names may hold ranges.
func (r *resolver) endsOf(text string, pos Pos) (func(Endpoint) bool, bool) {
	device, port, ported := strings.Cut(text, "/")
	names, ok := r.ranges(device, pos)
	if !ok {
		return nil, false
	}
	devices := map[string]bool{}
	for _, n := range names {
		if !r.out.Has(n) {
			r.problems.addf(pos, didYouMean(n, each(r.out.devices(), nameOf)), "no switch or host %q", brief(n))
			return nil, false
		}
		devices[n] = true
	}
	if !ported {
		return func(e Endpoint) bool { return devices[e.Device] }, true
	}
	names, ok = r.ranges(port, pos)
	if !ok {
		return nil, false
	}
	ports := map[string]bool{}
	for _, n := range names {
		ports[n] = true
	}
	return func(e Endpoint) bool { return devices[e.Device] && ports[e.Port] }, true
}

// cabledPorts returns the ports of a device that have a cable.
func (r *resolver) cabledPorts(device string) (out []string) {
	for _, l := range r.out.Links {
		for _, e := range []Endpoint{l.A, l.B} {
			if e.Device == device {
				out = append(out, e.Port)
			}
		}
	}
	return out
}

// remove removes devices and links, and everything that refers to them.
func (f *Fabric) remove(devices map[string]bool, links map[*Link]bool) {
	gone := func(s *Switch) bool { return devices[s.Name] }
	goneHost := func(h *Host) bool { return devices[h.Name] }
	for name := range devices {
		delete(f.switches, name)
		delete(f.hosts, name)
	}
	f.Switches = slices.DeleteFunc(f.Switches, gone)
	f.Hosts = slices.DeleteFunc(f.Hosts, goneHost)
	f.Links = slices.DeleteFunc(f.Links, func(l *Link) bool { return links[l] })
	f.atHosts = 0
	for _, s := range f.Switches {
		s.removePorts(links)
		for _, p := range s.Ports {
			if p.Link != nil && !p.Uplink() {
				f.atHosts |= p.Settings.Lossless()
			}
		}
	}
	for _, h := range f.Hosts {
		for _, n := range h.NICs {
			if links[n.Link] {
				n.Link = nil
			}
		}
	}
	f.Routing.Exceptions = slices.DeleteFunc(f.Routing.Exceptions, func(x *Exception) bool {
		x.Switches = slices.DeleteFunc(x.Switches, gone)
		return len(x.Switches) == 0
	})
	f.Routing.Tunnels = slices.DeleteFunc(f.Routing.Tunnels, func(t *Tunnel) bool { return gone(t.From) || gone(t.To) })
	if f.VXLAN != nil {
		f.VXLAN.Ends = slices.DeleteFunc(f.VXLAN.Ends, gone)
	}
	f.Islands = slices.DeleteFunc(f.Islands, func(is *Island) bool {
		is.Hosts, is.Switches = slices.DeleteFunc(is.Hosts, goneHost), slices.DeleteFunc(is.Switches, gone)
		return len(is.Hosts) == 0
	})
	goneName := func(name string) bool { return devices[name] }
	f.Rollout.Canary = slices.DeleteFunc(f.Rollout.Canary, goneName)
	for i := range f.Rollout.Groups {
		f.Rollout.Groups[i] = slices.DeleteFunc(f.Rollout.Groups[i], goneName)
	}
}

// removePorts removes the ports of the links.
func (s *Switch) removePorts(links map[*Link]bool) {
	n := len(s.Ports)
	s.Ports = slices.DeleteFunc(s.Ports, func(p *Port) bool { return links[p.Link] })
	if len(s.Ports) == n {
		return
	}
	s.names, s.index = nil, make(map[string]int32, len(s.Ports))
	for i, p := range s.Ports {
		s.index[p.Name] = int32(i)
	}
	s.carriers, s.leaf = [qos.NumPriorities]struct{ hosts, uplinks int }{}, false
	s.countCarriers()
}

// Each returns, for a pattern, the values of Options.Without that each remove one device or one
// cable: "link" stands for each cable, other patterns for devices as in [Fabric.SelectDevices].
func (f *Fabric) Each(pattern string) ([]string, error) {
	if pattern == "link" {
		return each(f.Links, func(l *Link) string { return l.A.String() + " - " + l.B.String() }), nil
	}
	switches, hosts, err := f.SelectDevices([]string{pattern})
	return append(each(switches, func(s *Switch) string { return s.Name }), each(hosts, func(h *Host) string { return h.Name })...), err
}
