package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Endpoint is one end of a link.
type Endpoint struct{ Device, Port string }

// String returns "leaf1/Ethernet0".
func (e Endpoint) String() string { return e.Device + "/" + e.Port }

// speeds lists the Ethernet link rates in use today.
var speeds = []units.Rate{1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9}

// IsSpeed reports whether an intent accepts the rate as a link speed.
func IsSpeed(r units.Rate) bool { return slices.Contains(speeds, r) }

// maxCable is far longer than any cable that PFC works over; a longer one is a mistyped unit.
const maxCable units.Length = 100_000

func (r *resolver) checkSpeed(o opt[units.Rate]) {
	if !o.Set || IsSpeed(o.V) {
		return
	}
	known := strings.Join(each(speeds, units.Rate.String), ", ")
	r.problems.addf(o.Pos, "known: "+known, "speed: %s is not a link rate", o.V)
}

func (r *resolver) checkCable(o opt[units.Length]) {
	switch {
	case !o.Set:
	case o.V == 0:
		r.problems.addf(o.Pos, "headroom follows from the length; round it up to the next metre", "cable: %s would leave no headroom", o.V)
	case o.V > maxCable:
		r.problems.addf(o.Pos, "", "cable: %s is longer than %s", o.V, maxCable)
	}
}

// maxLinkFaults bounds how many different problems of one link entry are reported.
const maxLinkFaults = 20

// end is one side of a link entry with its ranges expanded.
type end struct {
	text    opt[string]
	devices []string
	ports   []string
	// odd holds the names in ports that are not valid for switch ports, only for NICs.
	odd map[string]bool

	switches []*Switch // by device; nil if the device is not a switch
	made     [][]*Port // by device; the ports if expect created them all at once, otherwise nil
}

// at returns endpoint i of the side; ports vary fastest.
func (e *end) at(i int) Endpoint {
	return Endpoint{e.devices[i/len(e.ports)], e.ports[i%len(e.ports)]}
}

func (e *end) switchAt(i int) *Switch { return e.switches[i/len(e.ports)] }

// portAt returns the port of endpoint i, or nil if expect did not create it.
func (e *end) portAt(i int) *Port {
	if made := e.made[i/len(e.ports)]; made != nil {
		return made[i%len(e.ports)]
	}
	return nil
}

func (e *end) len() int { return len(e.devices) * len(e.ports) }

func (r *resolver) allLinks() {
	for i := range r.raw.Links.Items {
		raw := &r.raw.Links.Items[i]
		r.checkSpeed(raw.Speed)
		r.checkCable(raw.Cable)
		if !raw.A.Set || !raw.B.Set || raw.Pattern.Stated && !raw.Pattern.Set {
			continue
		}
		a, okA := r.end(raw.A)
		b, okB := r.end(raw.B)
		if !okA || !okB {
			continue
		}
		r.expect(a)
		r.expect(b)
		j := &joiner{resolver: r, raw: raw, a: a, b: b, lines: map[LinkLine]*LinkLine{}}
		r.out.Links = slices.Grow(r.out.Links, min(max(a.len(), b.len()), r.limits.links))
		switch raw.Pattern.V {
		case "mesh":
			j.mesh()
		case "rail":
			j.rail()
		default:
			j.pairs()
		}
		j.report()
		if len(r.out.Links) > r.limits.links {
			r.problems.addf(raw.Pos, "", "more than %d links", r.limits.links)
			return
		}
	}
}

func (r *resolver) end(o opt[string]) (*end, bool) {
	device, port, _ := strings.Cut(o.V, "/") // ranges contain no slash
	e := &end{text: o}
	var ok bool
	if e.devices, ok = r.ranges(device, o.Pos); !ok {
		return nil, false
	}
	if e.ports, ok = r.ranges(port, o.Pos); !ok {
		return nil, false
	}
	for _, p := range e.ports {
		if !isPortName(p) {
			if e.odd == nil {
				e.odd = map[string]bool{}
			}
			e.odd[p] = true
		}
	}
	if n := e.len(); n > r.limits.links {
		r.problems.addf(o.Pos, "", "%s stands for %d ends, more than %d", brief(o.V), n, r.limits.links)
		return nil, false
	}
	return e, r.spendNames(e.len(), o.Pos)
}

// expect finds the switches of a side and creates their ports.
func (r *resolver) expect(e *end) {
	e.switches, e.made = make([]*Switch, len(e.devices)), make([][]*Port, len(e.devices))
	for i, name := range e.devices {
		e.switches[i] = r.out.switches[name]
		if e.switches[i] != nil && e.odd == nil {
			e.made[i] = r.newPorts(e.switches[i], e.ports, e.text.Pos)
		}
	}
}

// joiner creates the links of one entry. It merges problems that many of these links share into
// one error.
type joiner struct {
	*resolver
	raw    *rawLink
	a, b   *end
	draft  LinkLine // of the link being created
	lines  map[LinkLine]*LinkLine
	last   *LinkLine
	faults []*linkFault
}

type linkFault struct {
	pos          Pos
	format, hint string
	args         []any
	subject      string // the first port or device with this problem
	others       int
}

// fault records a problem of subject. Problems with the same position, format and arguments are
// merged.
func (j *joiner) fault(pos Pos, subject, hint, format string, args ...any) {
	for _, f := range j.faults {
		if f.pos == pos && f.format == format && slices.Equal(f.args, args) {
			if f.subject != subject {
				f.others++
			}
			return
		}
	}
	if len(j.faults) >= maxLinkFaults {
		return
	}
	j.faults = append(j.faults, &linkFault{pos: pos, subject: subject, hint: hint, format: format, args: args})
}

func (j *joiner) report() {
	for _, f := range j.faults {
		subject := fmt.Sprintf("%q", brief(f.subject))
		if f.others > 0 {
			subject += fmt.Sprintf(" (and %d more)", f.others)
		}
		j.problems.addf(f.pos, f.hint, f.format, append([]any{subject}, f.args...)...)
	}
}

func (j *joiner) pairs() {
	if j.a.len() != j.b.len() {
		j.problems.addf(j.raw.Pos, "pattern: mesh joins every device with every device, rail hosts with leaves", "a has %d ends and b has %d", j.a.len(), j.b.len())
		return
	}
	for i := range j.a.len() {
		j.link(i, i)
	}
}

// mesh links device i of a, at port j, to device j of b, at port i. With k times as many ports,
// each pair of devices gets k parallel links.
func (j *joiner) mesh() {
	na, nb := len(j.a.devices), len(j.b.devices)
	pa, pb := len(j.a.ports), len(j.b.ports)
	if pa%nb != 0 || pb%na != 0 || pa/nb != pb/na {
		j.problems.addf(j.raw.Pos, fmt.Sprintf("%d links between each two devices need %d ports at a and %d at b", max(pa/nb, 1), max(pa/nb, 1)*nb, max(pa/nb, 1)*na),
			"a mesh of %d devices with %d ports and %d devices with %d ports does not come out even", na, pa, nb, pb)
		return
	}
	k := pa / nb
	for x := range na {
		for y := range nb {
			for m := range k {
				j.link(x*pa+y*k+m, y*pb+x*k+m)
			}
		}
	}
}

// rail links NIC r of host h to port h of leaf r: a mesh of leaves and hosts with one link per
// pair.
func (j *joiner) rail() {
	hosts, nics := len(j.b.devices), len(j.b.ports)
	leaves, ports := len(j.a.devices), len(j.a.ports)
	for _, name := range j.b.devices {
		if j.out.switches[name] != nil {
			j.problems.addf(j.b.text.Pos, "a names the leaves, b the hosts", "a rail needs hosts at b, and %q is a switch", name)
			return
		}
	}
	if leaves != nics {
		j.problems.addf(j.raw.Pos, "a rail joins each NIC of a host with a different leaf", "a rail has %d leaves at a and %d NICs a host at b", leaves, nics)
		return
	}
	if ports != hosts {
		j.problems.addf(j.raw.Pos, "each leaf needs one port for each host", "a rail has %d ports a leaf at a and %d hosts at b", ports, hosts)
		return
	}
	j.mesh()
}

// link creates the link between endpoint ia of a and endpoint ib of b, and claims both endpoints.
func (j *joiner) link(ia, ib int) {
	if len(j.out.Links) > j.limits.links {
		return
	}
	a, b := j.a.at(ia), j.b.at(ib)
	if a.Device == b.Device {
		j.fault(j.raw.Pos, a.Device, "", "a link joins %s with itself")
		return
	}
	j.draft = LinkLine{Pos: j.raw.Pos, Cable: from(j.raw.Cable, 0), Speed: from(j.raw.Speed, 0)}
	l := next(&j.linkSlab)
	*l = Link{A: a, B: b, LinkLine: &j.draft}
	l.switches = j.a.switchAt(ia) != nil && j.b.switchAt(ib) != nil
	okA := j.claim(j.a, ia, l)
	okB := j.claim(j.b, ib, l)
	l.LinkLine = j.shared()
	if !okA || !okB {
		return
	}
	if l.Cable.IsDefault() && !j.raw.Cable.Stated {
		j.problems.addf(l.Pos, "headroom follows from it: cable: 5m", "the link has no cable")
	}
	if l.Speed.IsDefault() && !j.raw.Speed.Stated {
		j.problems.addf(l.Pos, "headroom and thresholds follow from it: speed: 400G", "the link has no speed")
	}
	j.out.Links = append(j.out.Links, l)
}

// shared returns a LinkLine equal to the draft, reusing the last one or an earlier one; lines
// differ if ports state settings that the entry does not.
func (j *joiner) shared() *LinkLine {
	if j.last != nil && *j.last == j.draft {
		return j.last
	}
	if j.last = j.lines[j.draft]; j.last == nil {
		line := j.draft
		j.last = &line
		j.lines[line] = j.last
	}
	return j.last
}

// claim assigns endpoint i of a side to a link.
func (j *joiner) claim(side *end, i int, l *Link) bool {
	e, pos := side.at(i), side.text.Pos
	if s := side.switchAt(i); s != nil {
		p := side.portAt(i)
		switch {
		case p != nil:
		case side.odd[e.Port]:
			j.fault(pos, e.Port, "", "%s is not a port name")
			return false
		default:
			if p = j.port(s, e.Port, pos); p == nil {
				return false
			}
		}
		if p.Link != nil {
			j.twice(pos, e, p.Link)
			return false
		}
		p.Link = l
		agree(j, &l.Speed, p.Speed, e, "speed")
		agree(j, &l.Cable, p.Cable, e, "cable")
		return true
	}
	h := j.out.hosts[e.Device]
	if h == nil {
		if !j.incomplete && j.devices[e.Device].Line == 0 {
			j.fault(pos, e.Device, j.nearDevice(e.Device), "no switch or host %s")
		}
		return false
	}
	n := h.NIC(e.Port)
	if n == nil {
		if !j.incomplete {
			known := each(h.NICs, func(n *NIC) string { return n.Name })
			j.fault(pos, e.Port, didYouMean(e.Port, known), "no NIC %s at host %q", e.Device)
		}
		return false
	}
	if n.Link != nil {
		j.twice(pos, e, n.Link)
		return false
	}
	n.Link = l
	return true
}

func (j *joiner) twice(pos Pos, e Endpoint, first *Link) {
	if first.Pos == j.raw.Pos {
		j.fault(pos, e.String(), "", "%s appears twice in this link")
		return
	}
	j.fault(pos, e.String(), "", "%s is already in the link at %s", first.Pos)
}

// nearDevice suggests a device name for the first problem of an entry only: with many devices the
// search is the slowest part of reporting an error.
func (j *joiner) nearDevice(name string) string {
	if len(j.faults) > 0 {
		return ""
	}
	return didYouMean(name, each(j.out.devices(), nameOf))
}

// agree merges the values that a link and the ports section state, and reports a conflict.
func agree[T comparable](j *joiner, link *Value[T], port Value[T], e Endpoint, what string) {
	switch {
	case port.IsDefault():
	case link.IsDefault():
		*link = port
	case link.V != port.V:
		j.fault(link.From.Pos, e.String(), "state it in one place", what+" of %s is %v here and %v at %s", link.V, port.V, port.From.Pos)
	}
}

// applyNoRDMA removes the classes for RDMA from the port of a NIC that sends none.
func (r *resolver) applyNoRDMA(p *Port) {
	if p.Uplink() {
		return
	}
	e, _ := p.Peer()
	if h := r.out.Host(e.Device); h != nil {
		if n := h.NIC(e.Port); n != nil && n.NoRDMA.V {
			p.Settings = r.withoutRDMA(p.Settings, n.NoRDMA.From.Pos)
		}
	}
}

// finishPorts copies the settings of the links to their ports, and adapts the settings of ports to
// their NIC and their speed.
func (r *resolver) finishPorts() {
	type pair struct {
		port *PortLine
		link *LinkLine
	}
	joined := map[pair]*PortLine{}
	var last pair
	var line *PortLine
	for _, s := range r.out.Switches {
		s.sortPorts()
		for _, p := range s.Ports {
			if p.Link != nil {
				if at := (pair{p.PortLine, p.Link.LinkLine}); at != last {
					if line = joined[at]; line == nil {
						own := *p.PortLine
						own.Speed, own.Cable = p.Link.Speed, p.Link.Cable
						line = &own
						joined[at] = line
					}
					last = at
				}
				p.PortLine = line
				r.applyNoRDMA(p)
				if !p.Uplink() {
					r.out.atHosts |= p.Settings.Lossless()
				}
			}
			r.applySpeed(p)
		}
		s.countCarriers()
	}
}

// Peer returns the other end of the NIC's link; ok is false if the NIC has no link.
func (n *NIC) Peer() (e Endpoint, ok bool) {
	switch {
	case n.Link == nil:
		return Endpoint{}, false
	case n.Link.A.Device == n.Host.Name:
		return n.Link.B, true
	}
	return n.Link.A, true
}
