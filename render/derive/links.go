package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Cable is a link known from a topology file, an inventory or an intent. Zero lengths and speeds
// are unknown.
type Cable struct {
	A, B   End
	Length units.Length
	Speed  units.Rate
	// Source is the place of the cable in an inventory; "" for other cables.
	Source string
	// LLDP is the device that sees the cable over LLDP; "" for other cables.
	LLDP string
	// Stated is the speed that the inventory states for the ports, Likely the speed that they
	// probably have. They count if no switch shows a speed.
	Stated, Likely units.Rate
}

// End is one end of a cable, with the names that the source uses.
type End struct {
	Device, Port string
	// Also is another name of the port; "" for none.
	Also string
}

// host is a host with its known NICs and those that links name.
type host struct {
	Host
	nics map[string]*NIC
}

func newHost(h Host) *host {
	out := &host{Host: h, nics: map[string]*NIC{}}
	for i := range h.NICs {
		out.nics[h.NICs[i].Name] = &h.NICs[i]
	}
	return out
}

// link is a cable. End a is a switch; between two switches, it is the one nearer to the hosts.
type link struct {
	a, b intent.Endpoint
	attrs
	recorded
}

// attrs holds the attributes that all links of an entry share.
type attrs struct {
	cable units.Length
	speed units.Rate
	// assumed names the values that no source states: "cable", "speed".
	assumed string
	// disputed says what was found instead of the recorded link.
	disputed string
}

// finder derives the links.
type finder struct {
	*deriver
	ends map[intent.Endpoint]*link
	// names maps LLDP names in lower case to switches; nil if two switches have the name.
	names   map[string]*box
	domains map[string]string // short host name -> full name that it stands for
	// guessed holds switches with ports that were identified only by their number.
	guessed map[string]bool
	// sightings lists the ports where LLDP sees something other than the known link.
	sightings []sighting
}

// sighting is a port where LLDP sees something other than the known link.
type sighting struct {
	at    intent.Endpoint
	link  *link
	found string          // as LLDP has it
	far   intent.Endpoint // the port of a switch that found is; zero if unknown
}

func (d *deriver) findLinks() {
	f := &finder{deriver: d, ends: map[intent.Endpoint]*link{}, names: map[string]*box{}, domains: map[string]string{}, guessed: map[string]bool{}}
	for _, s := range d.switches {
		f.addSwitchName(s.Name, s)
	}
	for _, s := range d.switches {
		if f.names[strings.ToLower(s.Running.Name)] == nil {
			f.addSwitchName(s.Running.Name, s)
		}
	}
	for _, c := range d.in.Cables {
		f.cable(c)
	}
	for _, n := range natural.Keys(f.guessed) {
		d.assume(n, "the topology numbers its interfaces: eth1 is taken for the first port, and so on")
	}
	for _, s := range d.switches {
		for _, p := range natural.Keys(s.Neighbors) {
			f.neighbors(s, p)
		}
	}
	f.reportSightings()
	for _, n := range natural.Keys(d.outside) {
		d.noteLeftOut(n, natural.Keys(d.outside[n]), "joined to a switch that is not among those read: no link is written")
	}
	d.roleOf()
	for _, l := range d.links {
		d.orient(l)
		d.compareRecord(l)
	}
	f.sumUp()
	ordered.Sort(d.links, func(x, y *link) int {
		return cmp.Or(natural.Compare(x.a.Device, y.a.Device), natural.Compare(x.a.Port, y.a.Port))
	})
}

// addSwitchName records a name of a switch, with and without its domain.
func (f *finder) addSwitchName(name string, s *box) {
	for _, n := range []string{name, short(name)} {
		key := strings.ToLower(n)
		if n == "" {
			continue
		}
		if have, taken := f.names[key]; taken && have != s {
			f.names[key] = nil
			continue
		}
		f.names[key] = s
	}
}

// switchOf returns the switch with a name; nil if there is none.
func (f *finder) switchOf(name string) *box {
	if s := f.byName[name]; s != nil {
		return s
	}
	if s := f.names[strings.ToLower(name)]; s != nil {
		return s
	}
	return f.names[strings.ToLower(short(name))]
}

// cable adds a link known from another source than LLDP on the switches.
func (f *finder) cable(c Cable) {
	a, b := f.endOf(c.A), f.endOf(c.B)
	for _, e := range []struct {
		given End
		at    *intent.Endpoint
	}{{c.A, a}, {c.B, b}} {
		if e.at == nil {
			if s := f.switchOf(e.given.Device); s != nil {
				if c.Source != "" {
					f.noPort(s, e.given.Port, c)
					return
				}
				f.noteLeftOut(s.Name, []string{e.given.Port}, "the topology names the port, and the switch has none of that name")
				return
			}
		}
	}
	if a == nil && b == nil {
		return
	}
	if a == nil {
		a = f.hostEnd(c.A.Device, c.A.Port, *b)
	}
	if b == nil {
		b = f.hostEnd(c.B.Device, c.B.Port, *a)
	}
	if a == nil || b == nil {
		return
	}
	l := &link{a: *a, b: *b, attrs: attrs{cable: c.Length, speed: c.Speed}}
	l.source, l.stated, l.likely = c.Source, c.Stated, c.Likely
	source := cmp.Or(c.Source, "the topology")
	if c.LLDP != "" {
		source = lldp
	}
	f.addLink(l, source)
}

// endOf returns the endpoint on a switch; nil for a host or an unknown port.
func (f *finder) endOf(e End) *intent.Endpoint {
	s := f.switchOf(e.Device)
	if s == nil {
		return nil
	}
	for _, given := range []string{e.Port, e.Also} {
		if p := portOf(s, given); given != "" && p != "" {
			return &intent.Endpoint{Device: s.Name, Port: p}
		}
	}
	if p, guessed := numbered(s, e.Port); p != "" {
		if guessed {
			f.guessed[s.Name] = true
		}
		return &intent.Endpoint{Device: s.Name, Port: p}
	}
	return nil
}

// interfaceName matches containerlab's names for the interfaces of a node: eth1 is the first
// front port whatever its own name, eth1_1 a port of a module or a split port
// (containerlab.dev/manual/kinds/sonic-vs, ceos).
var interfaceName = lazyre.New(`^eth([1-9][0-9]{0,3})((_[0-9]{1,3}){0,2})$`)

// numbered returns the port that a containerlab interface name stands for. guessed is set if
// only the number identified it.
func numbered(s *box, given string) (port string, guessed bool) {
	m := interfaceName.FindStringSubmatch(given)
	if m == nil {
		return "", false
	}
	if m[2] != "" {
		return portOf(s, "Ethernet"+m[1]+strings.ReplaceAll(m[2], "_", "/")), false
	}
	left, _ := strconv.Atoi(m[1]) // at most four digits
	for _, n := range s.index().names {
		if strings.HasPrefix(n, "Ethernet") {
			if left--; left == 0 {
				return n, true
			}
		}
	}
	return "", false
}

// neighbors adds the link that LLDP sees on a port, preferring switches of the input.
func (f *finder) neighbors(s *box, name string) {
	at := intent.Endpoint{Device: s.Name, Port: name}
	if s.Running.Ports[name] == nil {
		return // a management port
	}
	if l := f.ends[at]; l != nil {
		f.contradicted(s, at, l)
		return
	}
	list := slices.Clone(s.Neighbors[name])
	ordered.Sort(list, func(a, b qos.Neighbor) int {
		return cmp.Compare(b2i(f.switchOf(a.Device) == nil), b2i(f.switchOf(b.Device) == nil))
	})
	for _, n := range list {
		t := f.switchOf(n.Device)
		if t == nil {
			continue
		}
		q := portOf(t, n.Port)
		if q == "" {
			q = f.reverseNeighborPort(t, s, name)
		}
		if q == "" {
			f.noteLeftOut(at.Device, []string{at.Port}, "LLDP sees %s %q there, and %s has no port of that name", t.Name, n.Port, t.Name)
			return
		}
		f.addLink(&link{a: at, b: intent.Endpoint{Device: t.Name, Port: q}}, lldp)
		return
	}
	for _, n := range list {
		if n.Device == "" {
			continue
		}
		if b := f.hostEnd(n.Device, n.Port, at); b != nil {
			f.addLink(&link{a: at, b: *b}, lldp)
		}
		return
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxBack limits the number of ports to search for the other end; no switch has more.
const maxBack = 4096

// reverseNeighborPort returns the port of t whose own LLDP sees port name of s; "" if there is none.
func (f *finder) reverseNeighborPort(t, s *box, name string) string {
	if len(t.Neighbors) > maxBack {
		return ""
	}
	for _, q := range natural.Keys(t.Neighbors) {
		for _, n := range t.Neighbors[q] {
			if f.switchOf(n.Device) == s && portOf(s, n.Port) == name && t.Running.Ports[q] != nil {
				return q
			}
		}
	}
	return ""
}

// hostEnd returns the endpoint on a NIC, which it adds to the hosts if necessary; nil if the
// port belongs to a switch.
func (f *finder) hostEnd(device, port string, at intent.Endpoint) *intent.Endpoint {
	if switchPort.MatchString(port) && f.hosts[device] == nil && f.hosts[short(device)] == nil {
		if f.outside[at.Device] == nil {
			f.outside[at.Device] = map[string]bool{}
		}
		f.outside[at.Device][at.Port] = true
		return nil
	}
	name := device
	if f.hosts[name] == nil {
		// Drop the domain unless it is needed to distinguish two hosts.
		s := cmp.Or(hex(device), fit(short(device), 63))
		if owner, taken := f.domains[s]; taken && owner != device || f.switchOf(s) != nil {
			s = fit(device, 63)
		}
		if !hostName.MatchString(s) {
			f.noteLeftOut(at.Device, []string{at.Port}, "the device at the other end has no name that an intent can have: %q", device)
			return nil
		}
		f.domains[s] = device
		name = s
	}
	h := f.hosts[name]
	if h == nil {
		h = newHost(Host{Name: name})
		f.hosts[name] = h
	}
	nic := port
	if !nicName.MatchString(nic) {
		nic = cmp.Or(hex(port), fit(port, 15), "nic"+strconv.Itoa(len(h.nics)))
		if h.nics[nic] == nil {
			f.assume(name, "the interface at %s is called %s: LLDP names it %q", at, nic, port)
		}
	}
	if h.nics[nic] == nil {
		h.nics[nic] = &NIC{Name: nic}
	}
	return &intent.Endpoint{Device: name, Port: nic}
}

// lldp is the source of links that switches see.
const lldp = "LLDP"

// addLink adds a link unless one of its ends already has another link.
func (f *finder) addLink(l *link, source string) {
	if f.byName[l.a.Device] == nil {
		l.a, l.b = l.b, l.a
	}
	a, b := l.a, l.b
	if f.byName[a.Device] == nil || a.Device == b.Device {
		return
	}
	for _, e := range []intent.Endpoint{a, b} {
		have := f.ends[e]
		switch {
		case have == nil:
			continue
		case (have.a == a || have.a == b) && (have.b == a || have.b == b):
			have.confirm(l, source)
		case have.source != "":
			f.dispute(have, e, source, fmt.Sprintf("a link of %s and %s", a, b), have.peer(e).String())
		case l.source != "":
			f.contradict(Contradiction{Where: e.String(), Recorded: fmt.Sprintf("%s and %s", a, b), Place: l.source, Found: fmt.Sprintf("%s and %s", have.a, have.b), Source: "a link that is stated", Intent: fmt.Sprintf("%s and %s", have.a, have.b)})
		default:
			f.noteLeftOut(e.Device, []string{e.Port}, "%s also links %s and %s; the link between %s and %s is used", source, a, b, have.a, have.b)
		}
		return
	}
	l.told = source == lldp
	f.ends[a], f.ends[b] = l, l
	f.links = append(f.links, l)
}

// contradicted reports a port where LLDP sees something other than the known link. Some names
// contradict nothing: a port name in a form that the switch does not use, a description or
// digits instead of a host's interface name, and a MAC address as the name of a device.
func (f *finder) contradicted(s *box, at intent.Endpoint, l *link) {
	peer := l.peer(at)
	var other string
	var far intent.Endpoint
	for _, n := range s.Neighbors[at.Port] {
		var fits bool
		var is intent.Endpoint
		t := f.switchOf(n.Device)
		if t == nil && IsMAC(n.Device) {
			t = f.byName[peer.Device]
		}
		if t != nil {
			q := portOf(t, n.Port)
			is = intent.Endpoint{Device: t.Name, Port: q}
			fits = t.Name == peer.Device && (q == peer.Port || q == "" && !SameForm(n.Port, peer.Port))
		} else if f.byName[peer.Device] == nil {
			fits = n.Device == "" || IsMAC(n.Device) ||
				(strings.EqualFold(n.Device, peer.Device) || strings.EqualFold(short(n.Device), short(peer.Device))) && f.sameNIC(peer, n.Port)
		} else {
			fits = n.Device == ""
		}
		if fits {
			l.seen = true
			return
		}
		if other == "" {
			other, far = n.Device+"/"+n.Port, is
		}
	}
	if other != "" {
		f.sightings = append(f.sightings, sighting{at, l, other, far})
	}
}

// reportSightings reports each cable that LLDP sees in another place once, though both of its ends
// may show it.
func (f *finder) reportSightings() {
	byEnd := map[intent.Endpoint]*sighting{}
	for i := range f.sightings {
		byEnd[f.sightings[i].at] = &f.sightings[i]
	}
	done := map[intent.Endpoint]bool{}
	for _, s := range f.sightings {
		source, recorded := lldp+" of "+s.at.Device, s.link.peer(s.at).String()
		end := byEnd[s.far]
		if end == nil || end.far != s.at || (end.link.source == "") != (s.link.source == "") {
			end = nil
		} else if done[end.at] {
			continue
		}
		done[s.at] = true
		switch {
		case s.link.source == "" && end != nil:
			f.noteLeftOut(s.at.Device, []string{s.at.Port}, "LLDP of both ends shows a cable to %s; the links between %s and %s and between %s and %s are used", end.at, s.link.a, s.link.b, end.link.a, end.link.b)
		case s.link.source == "":
			f.noteLeftOut(s.at.Device, []string{s.at.Port}, "LLDP shows %q there; the link between %s and %s is used", s.found, s.link.a, s.link.b)
		case end != nil:
			end.link.dispute(lldp+" of "+end.at.Device, end.found)
			recorded += fmt.Sprintf(", and %s for %s (%s)", end.link.peer(end.at), end.at, end.link.source)
			source += " and " + end.at.Device
			fallthrough
		default:
			f.dispute(s.link, s.at, source, s.found, recorded)
		}
	}
}

// sameNIC reports whether a port name announced by a host may stand for a NIC.
func (f *finder) sameNIC(nic intent.Endpoint, given string) bool {
	if given == nic.Port {
		return true
	}
	h := f.hosts[nic.Device]
	if h == nil || h.nics[nic.Port] == nil {
		return true
	}
	return h.nics[nic.Port].RDMA == given || !NamesInterface(given)
}
