package intent

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// names expands the ranges in a device or port key. ok is false if the key is invalid.
func (r *resolver) names(key string, pos Pos, valid func(string) bool, what string) (names []string, ok bool) {
	names, ok = r.ranges(key, pos)
	if !ok {
		return nil, false
	}
	for _, n := range names {
		if !valid(n) {
			r.problems.addf(pos, "", "%q is not %s", brief(n), what)
			return nil, false
		}
	}
	return names, true
}

func (r *resolver) ranges(text string, pos Pos) ([]string, bool) {
	p, err := parsePattern(text)
	if err == nil && p.count > r.limits.ports {
		err = fmt.Errorf("%w: %s stands for more than %d names", errRange, brief(text), r.limits.ports)
	}
	if err != nil {
		r.problems.addf(pos, "a range looks like [1-32], [0-124:4] or [1,3,5-7]", "%s", err)
		return nil, false
	}
	if !r.spendNames(p.count, pos) {
		return nil, false
	}
	return p.expand(), true
}

// spendNames subtracts from the expansion budget that all ranges share. It returns false once the
// budget is exceeded.
func (r *resolver) spendNames(names int, pos Pos) bool {
	if r.expanded > r.limits.expand { // already reported
		return false
	}
	if r.expanded += names; r.expanded > r.limits.expand {
		r.problems.addf(pos, "", "the ranges stand for more than %d names together", r.limits.expand)
		r.incomplete = true
		return false
	}
	return true
}

// inStep expands a text whose ranges run in step with the ranges of its key. The result has n
// items; it is nil if the text is not stated or invalid. own requires a different value for each
// of several devices.
func (r *resolver) inStep(o opt[string], n int, what string, own bool) []string {
	if !o.Set {
		return nil
	}
	p, err := parsePattern(o.V)
	if err == nil && p.ranged && p.count != n {
		r.problems.addf(o.Pos, "", "%s stands for %d values, its key for %d names", what, p.count, n)
		return nil
	}
	if err != nil {
		r.problems.addf(o.Pos, "a range looks like [1-32], [0-124:4] or [1,3,5-7]", "%s", err)
		return nil
	}
	values := p.expand()
	if p.ranged || n == 1 {
		return values
	}
	if own {
		r.problems.addf(o.Pos, "give it a range of the same length: [1-"+fmt.Sprint(n)+"]", "%s is one value for %d names", what, n)
		return nil
	}
	return slices.Repeat(values, n)
}

// itemAt returns item i of a result of inStep as an option of its own.
func itemAt(values []string, i int, o opt[string]) opt[string] {
	if values == nil {
		return opt[string]{}
	}
	o.V = values[i]
	return o
}

// declare registers a device name; it returns false if the name is already taken.
func (r *resolver) declare(name string, pos Pos) bool {
	if first, taken := r.devices[name]; taken {
		r.problems.addf(pos, "", "device %q is already declared at %s", name, first)
		return false
	}
	if len(r.devices) >= r.limits.devices {
		r.problems.addf(pos, "", "more than %d devices", r.limits.devices)
		r.incomplete = true
		return false
	}
	r.devices[name] = pos
	return true
}

// eachEntry calls do for each entry of a section with the names that the entry's key expands to.
func eachEntry[T any](r *resolver, section *rawMap[T], valid func(string) bool, what string, do func(e *entry[T], names []string)) {
	r.incomplete = r.incomplete || section.Bad
	for _, e := range section.Entries {
		if names, ok := r.names(e.Key, e.Pos, valid, what); ok {
			do(e, names)
		} else {
			r.incomplete = true
		}
	}
}

func (r *resolver) allSwitches() {
	eachEntry(r, &r.raw.Switches, isDeviceName, nameWant, r.switches)
	ordered.Sort(r.out.Switches, func(a, b *Switch) int { return natural.Compare(a.Name, b.Name) })
}

func (r *resolver) switches(e *entry[rawSwitch], names []string) {
	v := &e.V
	base := r.base
	if l := r.roles[v.Role.V]; l != nil {
		base = l
	}
	l := r.derive(base, &v.Classes, &v.rawCommon)
	addresses := r.inStep(v.Address, len(names), "address", true)
	identities := r.identities(v.Identity, names)
	login := r.login(v.Access, len(names))
	ports := r.portEntries(e, l)
	globals := r.raw.rawGlobals
	for _, role := range r.raw.Roles.Entries {
		if role.Key == v.Role.V {
			globals.over(&role.V.rawGlobals)
		}
	}
	globals.over(&v.rawGlobals)
	r.checkForwarding(&v.rawGlobals)
	trimming, balancing := globals.trimming(), globals.loadBalancing()
	for i, name := range names {
		if !r.declare(name, e.Pos) {
			continue
		}
		s := &Switch{Name: name, Pos: e.Pos, OS: v.OS.V, Role: v.Role.V, Settings: l.settings,
			Model: from(v.Model, ""), Release: from(v.Release, ""), Dynamic: isWord(v.BufferModel, "dynamic"), Globals: wordOr(globals.Globals, GlobalsShared), Write: wordOr(globals.Write, WriteAuto), Trimming: trimming, LoadBalancing: balancing}
		s.Address = r.address(name, itemAt(addresses, i, v.Address), SystemOf(v.OS.V).Port, v.OS.Set)
		s.Identity = identities(i)
		s.Access = r.access(sshOf(s.Address), false, login, i, r.credentials().Switches)
		r.out.switches[name] = s
		r.out.Switches = append(r.out.Switches, s)
		if !r.addPorts(s, ports) {
			return
		}
	}
}

// address parses the address of a device and checks that no other device has it.
func (r *resolver) address(name string, o opt[string], defaultPort string, checked bool) Value[string] {
	if !o.Set || !checked {
		return Value[string]{From: byDefault}
	}
	addr, fault, hint := parseAddress(o.V, defaultPort)
	if fault != "" {
		r.problems.addf(o.Pos, hint, "address %q %s", brief(o.V), fault)
		return Value[string]{From: byDefault}
	}
	if first, taken := r.addresses[addr]; taken {
		r.problems.addf(o.Pos, "", "address %s of %q is already used by %q at %s", addr, name, first.name, first.pos)
	} else {
		r.addresses[addr] = owner{name, o.Pos}
	}
	return Value[string]{V: addr, From: Origin{Pos: o.Pos}}
}

// identities returns a function that gives the identity of device i, nil if none is stated. The
// function checks that no two devices have the same serial number or MAC address.
func (r *resolver) identities(raw *rawIdentity, names []string) func(i int) *Identity {
	if raw == nil {
		return func(int) *Identity { return nil }
	}
	n := len(names)
	serials, macs := r.inStep(raw.Serial, n, "serial", true), r.inStep(raw.MAC, n, "mac", true)
	models, hostnames := r.inStep(raw.Model, n, "model", false), r.inStep(raw.Hostname, n, "hostname", true)
	return func(i int) *Identity {
		out := &Identity{Serial: from(itemAt(serials, i, raw.Serial), ""), MAC: from(itemAt(macs, i, raw.MAC), ""),
			Model: from(itemAt(models, i, raw.Model), ""), Hostname: from(itemAt(hostnames, i, raw.Hostname), "")}
		if text := out.MAC.V; text != "" {
			mac, err := net.ParseMAC(text)
			if err != nil || len(mac) != 6 {
				r.problems.addf(raw.MAC.Pos, macHint, "%q is not a MAC address", brief(text))
			}
			out.MAC.V = mac.String()
		}
		r.ownIdentity("serial number", out.Serial, names[i])
		r.ownIdentity("MAC address", out.MAC, names[i])
		return out
	}
}

// ownIdentity reports a serial number or MAC address that another device already has.
func (r *resolver) ownIdentity(what string, v Value[string], name string) {
	if v.V == "" {
		return
	}
	key := what + " " + strings.ToLower(v.V)
	if first, taken := r.units[key]; taken {
		r.problems.addf(v.From.Pos, "", "%s %s of %q is already used by %q at %s", what, v.V, name, first.name, first.pos)
		return
	}
	r.units[key] = owner{name, v.From.Pos}
}

// portEntry is an entry of a ports section, resolved once for all switches of a range.
type portEntry struct {
	names    []string
	pos      Pos
	line     *PortLine
	settings *Settings
}

func (r *resolver) portEntries(e *entry[rawSwitch], l *layer) []portEntry {
	var out []portEntry
	first := map[string]Pos{}
	total := 0
	for _, pe := range e.V.Ports.Entries {
		names, ok := r.names(pe.Key, pe.Pos, isPortName, "a port name")
		if total += len(names); !ok || total > r.limits.ports {
			continue
		}
		r.checkSpeed(pe.V.Speed)
		r.checkCable(pe.V.Cable)
		kept := names[:0]
		for _, n := range names {
			if pos, taken := first[n]; taken {
				r.problems.addf(pe.Pos, "remove it from one of the ranges", "port %q is already declared at %s", n, pos)
				continue
			}
			first[n] = pe.Pos
			kept = append(kept, n)
		}
		v := &pe.V
		out = append(out, portEntry{kept, pe.Pos, lineOf(v), r.derive(l, &v.Classes, &v.rawCommon).settings})
	}
	return out
}

func (r *resolver) addPorts(s *Switch, entries []portEntry) bool {
	for _, pe := range entries {
		made := r.newPorts(s, pe.names, pe.pos)
		for i, name := range pe.names {
			var p *Port
			if made != nil {
				p = made[i]
			} else if p = r.port(s, name, pe.pos); p == nil {
				return false
			}
			p.PortLine, p.Settings = pe.line, pe.settings
		}
	}
	return true
}

// next returns a pointer to the next free element of a slab, allocating 256 at a time.
func next[T any](slab *[]T) *T {
	if len(*slab) == 0 {
		*slab = make([]T, 256)
	}
	one := &(*slab)[0]
	*slab = (*slab)[1:]
	return one
}

// allHosts resolves the hosts section and sorts the hosts by name.
func (r *resolver) allHosts() {
	eachEntry(r, &r.raw.Hosts, isDeviceName, nameWant, r.hosts)
	ordered.Sort(r.out.Hosts, func(a, b *Host) int { return natural.Compare(a.Name, b.Name) })
}

func (r *resolver) hosts(e *entry[rawHost], names []string) {
	v := &e.V
	addresses := r.inStep(v.Address, len(names), "address", true)
	identities := r.identities(v.Identity, names)
	login := r.login(v.Access, len(names))
	nics, first := r.nics(&v.NICs)
	bonds := r.bonds(v, first)
	vlans := r.vlans(v, first)
	made := make([]*Host, len(names))
	for i, name := range names {
		if !r.declare(name, e.Pos) {
			continue
		}
		h := &Host{Name: name, Pos: e.Pos, PauseResponse: from(v.PauseResponse, Response{}), Bonds: bonds, VLANs: vlans}
		h.Address = r.address(name, itemAt(addresses, i, v.Address), "22", true)
		h.Identity = identities(i)
		h.Access = r.access(h.Address, true, login, i, r.credentials().Hosts)
		r.out.hosts[name] = h
		r.out.Hosts = append(r.out.Hosts, h)
		if r.ports += len(nics) + len(bonds) + len(vlans); r.ports > r.limits.ports {
			r.problems.addf(e.Pos, "", "more than %d ports and NICs", r.limits.ports)
			return
		}
		own := make([]NIC, len(nics))
		h.NICs = make([]*NIC, len(nics))
		for k := range nics {
			own[k] = NIC{Host: h, NICLine: &nics[k], DPU: Value[Endpoint]{From: byDefault}}
			h.NICs[k] = &own[k]
		}
		made[i] = h
	}
	r.dpus(made)
}

// nics resolves the NICs of one hosts entry, sorted by name. first maps each NIC name to the
// position of its declaration.
func (r *resolver) nics(raw *rawMap[rawNIC]) (out []NICLine, first map[string]Pos) {
	first = map[string]Pos{}
	rdma, chosen := map[string]owner{}, map[Selector]owner{}
	eachEntry(r, raw, nicName.MatchString, ifnameWant, func(e *entry[rawNIC], names []string) {
		noRDMA := Value[bool]{From: byDefault}
		if e.V.RDMA.Set && e.V.RDMA.V == NoDevice {
			noRDMA, e.V.RDMA = Value[bool]{V: true, From: Origin{Pos: e.V.RDMA.Pos}}, opt[string]{}
		}
		devices := r.inStep(e.V.RDMA, len(names), "rdma", true)
		selectors := r.selectors(e.V.Select, names)
		sides := r.sides(e.V.DPU, names)
		if e.V.DPU.Set {
			r.reportOwnerOnlySettings(&e.V)
		}
		for i, name := range names {
			if !r.interfaceOf(first, name, "NIC", e.Pos) {
				continue
			}
			n := NICLine{Name: name, Pos: e.Pos, RDMA: from(itemAt(devices, i, e.V.RDMA), ""), NoRDMA: noRDMA}
			n.Select.From = byDefault
			if selectors != nil {
				n.Select = r.selected(chosen, selectors[i], name, e.V.Select.Pos)
			}
			rings := cmp.Or(e.V.Rings, &rawRings{})
			n.RXRing, n.TXRing = from(rings.RX, 0), from(rings.TX, 0)
			n.Buffers, n.Willing, n.StallPrevention = unlessKeep(e.V.Buffers), unlessKeep(e.V.Willing), unlessKeep(e.V.StallPrevention)
			n.CardLine = e.V.rawCard.line()
			n.VFs = e.V.VFs.line()
			n.SFs = from(e.V.SFs.count(), 0)
			if sides != nil {
				n.side = sides[i]
			}
			if d := n.RDMA.V; d != "" {
				switch o, taken := rdma[d]; {
				case !rdmaName.MatchString(d):
					r.problems.addf(n.RDMA.From.Pos, "", "%q is not the name of an RDMA device", brief(d))
				case taken:
					r.problems.addf(n.RDMA.From.Pos, "", "RDMA device %q of NIC %q is already used by NIC %q at %s", d, name, o.name, o.pos)
				}
				rdma[d] = owner{name, n.RDMA.From.Pos}
			}
			out = append(out, n)
		}
	})
	ordered.Sort(out, func(a, b NICLine) int { return natural.Compare(a.Name, b.Name) })
	return out, first
}

// NoDevice is the word of the key rdma for a NIC that sends no RDMA.
const NoDevice = "none"

const ifnameWant = "an interface name of at most 15 characters"

// bonds resolves the bonds of one hosts entry, sorted by name, and adds their names to first, the
// positions of all interface declarations.
func (r *resolver) bonds(v *rawHost, first map[string]Pos) (out []Bond) {
	if len(v.Bonds.Entries) == 0 {
		return nil
	}
	nics, known := maps.Clone(first), natural.Keys(first)
	members := map[string]owner{}
	eachEntry(r, &v.Bonds, nicName.MatchString, ifnameWant, func(e *entry[rawBond], names []string) {
		l := &e.V.Members
		if l.Stated && !l.Bad && len(l.Items) == 0 {
			r.problems.addf(l.Pos, "", "bond %q has no members", e.Key)
		}
		steps := make([][]string, len(l.Items))
		for k, item := range l.Items {
			switch {
			case !item.Set:
			case len(names) == 1:
				steps[k], _ = r.ranges(item.V, item.Pos)
			default:
				steps[k] = r.inStep(item, len(names), "a member", true)
			}
		}
		for i, name := range names {
			if !r.interfaceOf(first, name, "bond", e.Pos) {
				continue
			}
			b := Bond{Name: name, Pos: e.Pos, Members: Value[[]string]{From: Origin{Pos: l.Pos}}}
			for k, item := range l.Items {
				of := steps[k]
				if len(names) > 1 && of != nil {
					of = of[i : i+1]
				}
				for _, m := range of {
					_, is := nics[m]
					switch o, taken := members[m]; {
					case !is && v.NICs.Bad: // already reported
					case !is:
						r.problems.addf(item.Pos, didYouMean(m, known), "bond %q has the member %q, which is not in nics of the host", name, m)
					case taken:
						r.problems.addf(item.Pos, "", "NIC %q of bond %q is a member of bond %q at %s", m, name, o.name, o.pos)
					default:
						members[m] = owner{name, item.Pos}
						b.Members.V = append(b.Members.V, m)
					}
				}
			}
			b.Members.V = natural.Sorted(b.Members.V)
			out = append(out, b)
		}
	})
	ordered.Sort(out, func(a, b Bond) int { return natural.Compare(a.Name, b.Name) })
	return out
}

// vlans resolves the VLANs of one hosts entry, sorted by name, and adds their names to first.
func (r *resolver) vlans(v *rawHost, first map[string]Pos) (out []VLAN) {
	if len(v.VLANs.Entries) == 0 {
		return nil
	}
	below, known := maps.Clone(first), natural.Keys(first)
	type tag struct {
		on string
		id int
	}
	tags := map[tag]owner{}
	eachEntry(r, &v.VLANs, nicName.MatchString, ifnameWant, func(e *entry[rawVLAN], names []string) {
		on := r.inStep(e.V.On, len(names), "on", true)
		for i, name := range names {
			if !r.interfaceOf(first, name, "VLAN", e.Pos) || on == nil || !e.V.ID.Set {
				continue
			}
			t := tag{on[i], e.V.ID.V}
			_, is := below[t.on]
			switch o, taken := tags[t]; {
			case !is && (v.NICs.Bad || v.Bonds.Bad): // already reported
			case !is:
				r.problems.addf(e.V.On.Pos, didYouMean(t.on, known), "VLAN %q is on %q, which is neither in nics nor in bonds of the host", name, t.on)
			case taken:
				r.problems.addf(e.V.ID.Pos, "", "VLAN %d on %s of %q is already used by %q at %s", t.id, t.on, name, o.name, o.pos)
			}
			tags[t] = owner{name, e.V.ID.Pos}
			out = append(out, VLAN{Name: name, Pos: e.Pos, On: from(itemAt(on, i, e.V.On), ""), ID: from(e.V.ID, 0)})
		}
	})
	ordered.Sort(out, func(a, b VLAN) int { return natural.Compare(a.Name, b.Name) })
	return out
}

// interfaceOf declares an interface of a host; it returns false if the name is already taken.
func (r *resolver) interfaceOf(first map[string]Pos, name, what string, pos Pos) bool {
	if at, taken := first[name]; taken {
		r.problems.addf(pos, "", "%s %q is already declared at %s", what, name, at)
		return false
	}
	first[name] = pos
	return true
}

// unlessKeep reports whether a setting whose default is keep should be changed.
func unlessKeep(v opt[string]) Value[bool] {
	s := from(v, "keep")
	return Value[bool]{V: s.V != "keep", From: s.From}
}

// sshOf returns the host of a management address with the SSH port.
func sshOf(address Value[string]) Value[string] {
	host, _, err := net.SplitHostPort(address.V)
	if err != nil { // no address is stated
		return Value[string]{From: byDefault}
	}
	return Value[string]{V: net.JoinHostPort(host, "22"), From: address.From}
}
