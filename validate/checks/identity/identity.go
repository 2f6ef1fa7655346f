package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// mistakenIdentity reports a switch that is not the one in the intent.
func mistakenIdentity(r *checks.Switch) {
	if what, where := Mistaken(r.Device.Fabric, r.Device.Switch.Name, evidence(&r.Seen)); what != "" {
		r.Found(checks.Finding{Severity: checks.Error, What: what, Where: where}, "")
	}
}

// Checks are the checks of who answers at an address.
var Checks = []checks.Check{
	{
		ID: "TOP-11", Title: "the device at an address is not the one that the intent means",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsApplied,
		Why:   "it is compared with the intent of the wrong device, and would be changed to it",
		Fix:   "correct the address or the identity in the intent, or the hostname on the device; where the device was replaced, apply with --accept-identity",
		State: mistakenIdentity,
	},
}

// Evidence is what is known about the identity of a device. Unknown parts are left empty and
// prove nothing.
type Evidence struct {
	drivers.Identity // as the device shows it now
	// Recorded is the unit that an earlier run recorded for the device; Run is that run.
	Recorded drivers.Unit
	Run      string
	// Ports holds the LLDP neighbours of each port.
	Ports map[string]*drivers.PortState
}

// identity compares a device with the intent.
type identity struct {
	f      *intent.Fabric
	device string
	at     string // its address
	pos    intent.Pos
	model  intent.Value[string]
	os     string
	stated intent.Identity
	Evidence
}

func newIdentity(f *intent.Fabric, device string, e Evidence) identity {
	id := identity{f: f, device: device, Evidence: e}
	var stated *intent.Identity
	if sw := f.Switch(device); sw != nil {
		id.at, id.pos, id.model, id.os, stated = sw.Address.V, sw.Pos, sw.Model, sw.OS, sw.Identity
	} else if h := f.Host(device); h != nil {
		id.at, id.pos, stated = h.Address.V, h.Pos, h.Identity
	}
	if stated != nil {
		id.stated = *stated
	}
	id.at = cmp.Or(id.at, "the address of "+device)
	return id
}

// linksOf returns the other end of each link of a switch by port.
func linksOf(sw *intent.Switch) map[string]intent.Endpoint {
	out := map[string]intent.Endpoint{}
	for _, p := range sw.Ports {
		if peer, ok := p.Peer(); ok {
			out[p.Name] = peer
		}
	}
	return out
}

// Proven reports whether a device shows that it is the one in the intent, so that its
// neighbours need not be compared.
func Proven(f *intent.Fabric, device string, e Evidence) bool {
	id := newIdentity(f, device, e)
	shown := drivers.UnitOf(id.stated.Serial.V, id.stated.MAC.V)
	return strings.EqualFold(e.Hostname, cmp.Or(id.stated.Hostname.V, device)) || e.Unit.Same(shown) || e.Unit.Same(e.Recorded)
}

// Mistaken says how a device contradicts the intent, or the record of an earlier run, and gives
// the line of the intent; both are "" if nothing does.
func Mistaken(f *intent.Fabric, device string, e Evidence) (what, where string) {
	id := newIdentity(f, device, e)
	for _, contradicts := range []func() (string, string){id.contradictsStated, id.contradictsModel, id.namedAsAnother, id.contradictsRecord, id.seesNeighborsOfAnother} {
		if what, where = contradicts(); what != "" {
			return what, cmp.Or(where, id.pos.String())
		}
	}
	return "", ""
}

// contradictsStated compares the device with the identity stated in the intent.
func (id identity) contradictsStated() (what, where string) {
	s := id.stated
	for _, c := range []struct {
		name  string
		shown string
		want  intent.Value[string]
	}{
		{"serial number", id.Unit.Serial, s.Serial}, {"MAC address", id.Unit.MAC, s.MAC}, {"model", id.Model, s.Model}, {"hostname", id.Hostname, s.Hostname},
	} {
		// A driver that reads no model reports the intent's.
		own := c.name == "model" && strings.EqualFold(c.shown, id.model.V)
		if c.shown != "" && c.want.V != "" && !own && !strings.EqualFold(c.shown, c.want.V) {
			return fmt.Sprintf("the device at %s has the %s %s, the intent states %s for %s", id.at, c.name, term.CleanLine(c.shown), c.want.V, id.device), c.want.From.String()
		}
	}
	return "", ""
}

// contradictsModel compares the model with the intent's, if the catalogue has both: two names
// may mean the same switch, but two ASICs cannot.
func (id identity) contradictsModel() (what, where string) {
	want, ok := catalog.ModelOf(id.os, id.model.V)
	have, known := catalog.ModelOf(id.os, id.Model)
	if !ok || !known || want.ASIC() == nil || have.ASIC() == nil || want.ASIC().Name == have.ASIC().Name {
		return "", ""
	}
	return fmt.Sprintf("the device at %s is a %s (%s), the intent has a %s (%s) as %s", id.at, have.Name, have.ASIC().Name, want.Name, want.ASIC().Name, id.device), id.model.From.String()
}

// namedAsAnother reports a device with the hostname of another device in the intent. Any other
// hostname may be right.
func (id identity) namedAsAnother() (what, where string) {
	if id.Hostname == "" || id.stated.Hostname.V != "" || strings.EqualFold(id.Hostname, id.device) {
		return "", ""
	}
	is := func(name string) bool { return strings.EqualFold(name, id.Hostname) }
	for _, sw := range id.f.Switches {
		if is(sw.Name) {
			return fmt.Sprintf("the device at %s calls itself %s, which the intent has at %s", id.at, sw.Name, cmp.Or(sw.Address.V, "no address")), ""
		}
	}
	for _, h := range id.f.Hosts {
		if is(h.Name) {
			return fmt.Sprintf("the device at %s calls itself %s, which is a host of the intent", id.at, h.Name), ""
		}
	}
	return "", ""
}

// contradictsRecord compares the device with the record of an earlier run.
func (id identity) contradictsRecord() (what, where string) {
	if !id.Unit.Other(id.Recorded) {
		return "", ""
	}
	now, then := id.Unit.Versus(id.Recorded)
	return fmt.Sprintf("the device at %s has the %s; run %s recorded %s for %s", id.at, now, term.CleanLine(id.Run), then, id.device), ""
}

// leastNeighbors is how many neighbours prove that a device is another one. Fewer may be
// wrongly connected cables.
const leastNeighbors = 2

// seesNeighborsOfAnother reports a switch that has the neighbours of another switch in the
// intent: at least leastNeighbors of them, more than half of those that the intent knows, and
// none of its own.
func (id identity) seesNeighborsOfAnother() (what, where string) {
	if id.os == "" || len(id.Ports) == 0 || Proven(id.f, id.device, id.Evidence) {
		return "", ""
	}
	own, seen := linksOf(id.f.Switch(id.device)), map[string]qos.Neighbor{}
	for name, s := range id.Ports {
		if len(s.Neighbors) != 1 {
			continue
		}
		n := s.Neighbors[0]
		if n.Device, _, _ = strings.Cut(n.Device, "."); !id.f.Has(n.Device) {
			continue
		}
		if seen[name] = n; id.mayBe(own[name], n) {
			return "", ""
		}
	}
	if len(seen) < leastNeighbors {
		return "", ""
	}
	for _, sw := range id.f.Switches {
		if sw.Name == id.device || sw.OS != id.os {
			continue
		}
		var same []string
		links := linksOf(sw)
		for name, n := range seen {
			if peer, ok := links[name]; ok && strings.EqualFold(peer.Device, n.Device) && id.isPort(peer, n.Port) {
				same = append(same, name)
			}
		}
		if len(same) >= leastNeighbors && 2*len(same) > len(seen) {
			return fmt.Sprintf("LLDP at %s shows the neighbours of %s on %s, and none of %s", id.at, sw.Name, natural.Fold(natural.Sorted(same)), id.device), ""
		}
	}
	return "", ""
}

// mayBe reports whether a neighbour may be the other end of a link.
func (id identity) mayBe(peer intent.Endpoint, n qos.Neighbor) bool {
	return peer.Device != "" && strings.EqualFold(peer.Device, n.Device) && (id.f.Switch(peer.Device) == nil || id.portsOf(peer.Device).NamesOtherPort(peer.Port, n.Port) == "")
}

// isPort reports whether a name reported by LLDP means a port.
func (id identity) isPort(e intent.Endpoint, given string) bool {
	return derive.SamePort(e.Port, given) || id.f.Switch(e.Device) != nil && slices.Contains(id.portsOf(e.Device).portsOfAlias(given), e.Port)
}

// portsOf returns the names of a switch's ports, from the intent and the catalogue.
func (id identity) portsOf(device string) *Names {
	sw := id.f.Switch(device)
	all := make(map[string]bool, len(sw.Ports))
	for _, p := range sw.Ports {
		all[p.Name] = true
	}
	return NamesOf(sw, all, nil)
}

// Answered records the devices that answered so far, to find a device that answers at two
// addresses.
type Answered struct{ by map[string]answered }

type answered struct {
	device string
	drivers.Identity
}

// Add records a device. If an earlier one is the same device, it says which; otherwise it
// returns "". Two devices with different hostnames are never the same: one has a copy of the
// other's configuration.
func (a *Answered) Add(f *intent.Fabric, device string, is drivers.Identity) (what string) {
	if a.by == nil {
		a.by = map[string]answered{}
	}
	for _, u := range []drivers.Unit{{Serial: strings.ToLower(is.Unit.Serial)}, {MAC: is.Unit.MAC}} {
		if !u.Known() {
			continue
		}
		was, ok := a.by[u.String()]
		if !ok {
			a.by[u.String()] = answered{device, is}
			continue
		}
		named := was.Hostname != "" && is.Hostname != "" && !strings.EqualFold(was.Hostname, is.Hostname)
		if was.device != device && !named && was.Unit.Same(is.Unit) {
			what = fmt.Sprintf("the device at %s also answers at the address of %s: both have the %s", newIdentity(f, device, Evidence{}).at, was.device, is.Unit)
		}
	}
	return what
}

// CheckHost reports a host that is not the one in the intent.
func CheckHost(f *intent.Fabric, h *intent.Host, e Evidence) []checks.Finding {
	what, where := Mistaken(f, h.Name, e)
	if what == "" {
		return nil
	}
	return []checks.Finding{{ID: "TOP-11", Severity: checks.Error, Device: h.Name, What: what, Where: where, Fix: checks.FixIn(Checks, "TOP-11")}}
}

// evidence returns what proves that the switch is the one in the intent.
func evidence(s *checks.State) Evidence {
	return Evidence{Identity: s.Identity, Recorded: s.Recorded, Run: s.RecordedBy, Ports: s.Ports}
}
