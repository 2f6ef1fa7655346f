package known

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// onSwitch reports the fault if a switch has it.
func (f *Fault) onSwitch(r *checks.Switch) {
	sw := r.Device.Switch
	release := cmp.Or(r.Seen.Identity.Release, r.Config.Platform.Release, sw.Release.V)
	rng, ok := f.rangeOf(release)
	if !ok || sw.OS != f.Of {
		return
	}
	model := cmp.Or(r.Seen.Identity.Model, sw.Model.V)
	on := model
	if len(f.ASICs) > 0 {
		m, ok := catalog.ModelOf(sw.OS, model)
		if !ok || !slices.Contains(f.ASICs, m.ASICID) {
			return
		}
		on = m.ASIC().Name
	} else if len(f.Models) == 0 {
		on = ""
	}
	if !matches(f.Models, model) {
		return
	}
	ports, seen := f.seen(r)
	if !seen {
		return
	}
	found := f.finding(release, rng, on)
	if len(ports) == 0 {
		ports = []string{""}
	}
	for _, p := range ports {
		r.Found(found, p)
	}
}

// seen reports whether a switch meets all conditions, and on which ports; none stands for the
// switch itself.
func (f *Fault) seen(r *checks.Switch) (ports []string, ok bool) {
	for _, name := range f.When {
		c := conditionOf(switchConditions, name)
		if c.device != nil {
			if !c.device(r) {
				return nil, false
			}
			continue
		}
		on := map[string]bool{}
		for p, q := range r.Ports() {
			if c.port(r, p, q) {
				on[p.Name] = true
			}
		}
		if len(on) < max(1, c.least) {
			return nil, false
		}
		if ports == nil {
			ports = natural.Keys(on)
			continue
		}
		if ports = slices.DeleteFunc(ports, func(p string) bool { return !on[p] }); len(ports) == 0 {
			return nil, false
		}
	}
	return ports, true
}

// switchCondition is a condition of a switch, or of its ports.
type switchCondition struct {
	name, says string
	reads      checks.Reads
	least      int // ports that must meet it; 0 for one
	device     func(*checks.Switch) bool
	port       func(*checks.Switch, *intent.Port, *qos.Port) bool
}

func (c switchCondition) called() string { return c.name }

// Data by which conditions are seen.
const (
	configured = checks.ReadsIntent | checks.ReadsRunning
	operating  = checks.ReadsRunning | checks.ReadsApplied
)

type onPort = func(*checks.Switch, *intent.Port, *qos.Port) bool

var (
	paused  onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.PFC.Or(0) != 0 }
	watched onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.Watchdog.V.Enabled }
	marking onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool {
		return slices.ContainsFunc(q.Queues[:], func(k qos.Queue) bool { return k.ECN.V.Enabled })
	}
	aggregated onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.LAG.V != "" }
	shut       onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.AdminUp.Set && !q.AdminUp.V }
	down       onPort = func(r *checks.Switch, p *intent.Port, _ *qos.Port) bool {
		s := r.Seen.Ports[p.Name]
		return s != nil && s.OperUp.Set && !s.OperUp.V
	}
	secured onPort = func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.MACsec }
)

func both(a, b onPort) onPort {
	return func(r *checks.Switch, p *intent.Port, q *qos.Port) bool { return a(r, p, q) && b(r, p, q) }
}

// switchConditions are all conditions of switches.
var switchConditions = []switchCondition{
	{name: "managed", says: "the intent manages a port", reads: configured, port: func(*checks.Switch, *intent.Port, *qos.Port) bool { return true }},
	{name: "ports-twelve", says: "the intent manages 12 ports or more", reads: configured, device: func(r *checks.Switch) bool { return len(r.Device.Switch.Ports) >= 12 }},
	{name: "pfc", says: "PFC is on", reads: configured, port: paused},
	{name: "pfc-2-3", says: "PFC is on for priorities 2 and 3", reads: configured, port: func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool {
		return q.PFC.Or(0).Has(2) && q.PFC.Or(0).Has(3)
	}},
	{name: "pfc-breakout", says: "PFC is on at a port that is broken out", reads: checks.ReadsIntent, port: both(paused, brokenOut)},
	{name: "pfc-shut", says: "PFC is on at a port that is shut", reads: configured, port: both(paused, shut)},
	{name: "pfc-down", says: "PFC is on at a port that is down", reads: operating, port: both(paused, down)},
	{name: "down", says: "a port is down", reads: operating, port: down},
	{name: "watchdog", says: "the PFC watchdog is on", reads: configured, port: watched},
	{name: "watchdog-drops", says: "the action of the PFC watchdog is to drop", reads: configured, port: both(watched, func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool { return q.Watchdog.V.Action == qos.ActionDrop })},
	{name: "watchdogs-two", says: "the PFC watchdog is on at two ports or more", reads: configured, least: 2, port: watched},
	{name: "watchdog-below-poll", says: "the PFC watchdog detects in less than its polling interval", reads: configured, port: both(watched, func(r *checks.Switch, _ *intent.Port, q *qos.Port) bool {
		return q.Watchdog.V.Detect < r.Config.WatchdogPoll.V
	})},
	{name: "macsec", says: "MACsec encrypts a port", reads: checks.ReadsRunning, port: secured},
	{name: "pfc-macsec", says: "PFC is on there", reads: checks.ReadsRunning, port: both(secured, paused)},
	{name: "watchdog-macsec", says: "the PFC watchdog is on there", reads: checks.ReadsRunning, port: both(secured, watched)},
	{name: "ecn", says: "ECN marking is on", reads: configured, port: marking},
	{name: "ecn-lag", says: "ECN marking is on at a member of a port channel", reads: configured, port: both(marking, aggregated)},
	{name: "ecn-colors", says: "the marking curve differs between colors", reads: checks.ReadsRunning, port: func(_ *checks.Switch, _ *intent.Port, q *qos.Port) bool {
		return slices.ContainsFunc(q.Queues[:], func(k qos.Queue) bool { return k.ECN.V.Other != "" })
	}},
	{name: "static-buffers", says: "headroom is looked up in a table", reads: configured, device: func(r *checks.Switch) bool { return !r.Config.Platform.DynamicBuffers }},
	{name: "roce-mode", says: "one command configures the switch for RoCE", reads: checks.ReadsRunning, device: func(r *checks.Switch) bool { return r.Config.Platform.RoCEMode }},
	{name: "lag", says: "a port is a member of a bond", reads: configured, port: aggregated},
	{name: "lag-of-two-speeds", says: "members of one bond have different speeds", reads: configured, port: unlikeMembers},
	{name: "25g-without-fec", says: "a 25G port has no FEC", reads: configured, port: func(_ *checks.Switch, p *intent.Port, q *qos.Port) bool {
		return speed(p, q) == 25*gigabit && q.FEC.V == "none"
	}},
	{name: "400g-forced", says: "a 400G port does not negotiate", reads: operating, port: func(r *checks.Switch, p *intent.Port, q *qos.Port) bool {
		s := r.Seen.Ports[p.Name]
		return speed(p, q) == 400*gigabit && s != nil && s.Autoneg.Set && !s.Autoneg.V && p.Uplink()
	}},
	{name: "four-of-two-speeds", says: "a group of four neighbouring ports has two speeds", reads: configured, port: unlikeNeighbors},
	{name: "adaptive", says: "the intent lets the switch choose paths by load", reads: checks.ReadsIntent, device: func(r *checks.Switch) bool {
		b := r.Device.Switch.LoadBalancing
		return b != nil && b.Mode.V != intent.BalanceFlow
	}},
	{name: "tunnel", says: "the switch is the end of a tunnel", reads: checks.ReadsRunning, device: func(r *checks.Switch) bool { return len(r.Config.Tunnels) > 0 }},
	{name: "vxlan", says: "VXLAN is configured", reads: checks.ReadsRunning, device: func(r *checks.Switch) bool {
		for _, t := range r.Config.Tunnels {
			if t.Kind == qos.TunnelVXLAN {
				return true
			}
		}
		return false
	}},
}

const gigabit = units.Rate(1e9)

// speed returns the speed of a port: as configured, or as the intent states it.
func speed(p *intent.Port, q *qos.Port) units.Rate { return cmp.Or(q.Speed.V, p.Speed.V) }

func brokenOut(r *checks.Switch, p *intent.Port, q *qos.Port) bool {
	d := r.Device.Desired.Ports[p.Name]
	return q.Breakout.V != "" || d != nil && d.Breakout.V != ""
}

// unlikeMembers reports whether a port has a different speed than another member of its bond.
func unlikeMembers(r *checks.Switch, p *intent.Port, q *qos.Port) bool {
	if q.LAG.V == "" || speed(p, q) == 0 {
		return false
	}
	for other, o := range r.Ports() {
		if s := speed(other, o); o.LAG.V == q.LAG.V && s != 0 && s != speed(p, q) {
			return true
		}
	}
	return false
}

// unlikeNeighbors reports whether a port has a different speed than another port of its group of
// four, which ends at a multiple of four.
func unlikeNeighbors(r *checks.Switch, p *intent.Port, q *qos.Port) bool {
	group := groupOfFour(p.Name)
	for other, o := range r.Ports() {
		if s := speed(other, o); groupOfFour(other.Name) == group && s != 0 && speed(p, q) != 0 && s != speed(p, q) {
			return true
		}
	}
	return false
}

// groupOfFour returns the number of the group of four that the last number of a port's name is in.
func groupOfFour(name string) int {
	all := number.FindAllString(name, -1)
	if len(all) == 0 {
		return 0
	}
	n := 0
	for _, c := range all[len(all)-1] {
		n = 10*n + int(c-'0')
	}
	return (n + 3) / 4
}
