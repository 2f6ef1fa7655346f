package paths

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/deadlock"
)

const (
	srcDeadlock = "Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them, HotNets 2016"
	srcTagger   = "Tagger: Practical PFC Deadlock Prevention in Data Center Networks, CoNEXT 2017"
)

var Checks = []checks.Check{
	{
		ID: "ECN-14", Title: "a class has ECN marking on only some hops of its paths",
		FoldedIn: []string{"ECN-01"},
		Rules:    checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "on the other hops nothing slows senders down before packets are paused or lost",
		Fix:    "give the class ECN on these ports",
		Fabric: unmarkedHops, Switch: checks.OnlyObserved(checks.EachClass(markedHops)), Outliers: otherMarking,
	},
	{
		ID: "ISL-01", Title: "lossless traffic of an island crosses a switch outside it",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "a PFC storm in the island can leave it",
		Fix:    "name the switch in the island, or route around it",
		Fabric: islandCrossings,
	},
	{
		ID: "ISL-02", Title: "two islands share a port in one lossless class",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "pauses of one stop the other",
		Fix:    "give each island its own class or its own switches",
		Fabric: islandSharings,
	},
	{
		ID: "PFC-07", Title: "a port on a lossless path does not pause",
		FoldedIn: []string{"PFC-01", "PFC-02", "PFC-04"},
		Rules:    checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "packets that every other hop protects are dropped there",
		Fix:    "make the class lossless on these ports, or lossy everywhere",
		Fabric: lossyHops, Switch: checks.OnlyObserved(checks.EachPort(pfc.UnpausedHop)),
	},
	{
		ID: "PFC-13", Title: "a class used only inside tunnels is lossless on ports without a tunnel",
		FoldedIn: []string{"PFC-01", "PFC-02"},
		Rules:    checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "it takes headroom and lets pauses spread further",
		Fix:     "make the class lossy on these ports",
		Sources: []string{"sonic-net/SONiC doc/qos/tunnel_dscp_remapping.md"},
		Fabric:  idleHops, Switch: checks.OnlyObserved(checks.EachPort(strayBounces)),
	},
	{
		ID: "TOP-01", Title: "lossless buffers can wait for each other in a cycle",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "once they are all full, no packet moves: a PFC deadlock",
		Fix:     "block traffic that came down from going up again, or change its class where it does",
		Sources: []string{srcDeadlock, srcTagger},
		Fabric:  cycles, Runs: true,
	},
	{
		ID: "TOP-02", Title: "after a single failure, lossless buffers can wait for each other in a cycle",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "a PFC deadlock is possible until the failure is repaired",
		Fix:     "keep routing valley-free under failures, or change the class of traffic that goes up again",
		Sources: []string{srcDeadlock},
		Fabric:  failureCycles, Runs: true,
	},
	{
		ID: "TOP-03", Title: "lossless traffic that came down goes up again",
		Rules: []checks.Rule{{Severity: checks.Error, When: "without a failure"}, {Severity: checks.Warning, When: "under a single failure"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "every deadlock in a Clos needs such down-up turns",
		Fix:     "block it by routing policy, or change the class of traffic that goes up again",
		Sources: []string{srcTagger, "RFC 7938, section 5.2"},
		Fabric:  upTurns, Runs: true,
	},
	{
		ID: "TOP-04", Title: "a lossless class may be flooded",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where MAC entries go first"}, {Severity: checks.Info, When: "where it is not known when they go"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "flooded packets make down-up turns, which can deadlock", Fix: "set the MAC ageing time of the switch at least as long as the ARP timeout of the VLAN",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.2"},
		Switch:  checks.OnlyObserved(floods),
	},
	{
		ID: "TOP-05", Title: "traffic in a tunnel keeps its lossless class",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "two congested hosts can close a cycle, as seen with dual ToRs",
		Fix:     "remap the class in the tunnel",
		Sources: []string{"sonic-net/SONiC doc/qos/tunnel_dscp_remapping.md"},
		Fabric:  keptClasses, Runs: true,
	},
	{
		ID: "TOP-06", Title: "a lossless link is longer than the platform's headroom",
		FoldedIn: []string{"BUF-01", "BUF-03", "BUF-04"},
		Rules:    checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsIntent,
		Why: "packets in flight are lost", Fix: "use a deep buffer, or make the link lossy",
		Absent: "BUF-01, BUF-03 and BUF-04 say so with the arithmetic",
	},
	{
		ID: "TOP-08", Title: "the role of a switch does not fit its place",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "the checks derive paths from roles, so up and down may be mixed up",
		Fix:    "correct the role or the links, or state routing.tiers",
		Fabric: disputedRoles,
	},
	{
		ID: "TOP-09", Title: "the intent states no links",
		// Made by Run.linked.
		Rules: checks.Always(checks.Info), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why: "the ends of cables cannot be compared, and paths and deadlocks cannot be checked",
		Fix: "state the links, or import them: 'roce-fabric import' takes them from LLDP",
	},
}

func holes(r *checks.Fabric, s checks.Severity, list []deadlock.Hole, what string) {
	for _, h := range list {
		r.Found(checks.Finding{Severity: s, Device: h.Switch, Where: h.From.String(), What: fmt.Sprintf(what, h.Class, words.Count(h.Others, "port"))}, h.Ports...)
	}
}

func unmarkedHops(r *checks.Fabric) {
	holes(r, checks.Warning, r.Paths.Treated.Unmarked, "class %s has no ECN marking here, and has it on %s of its paths")
}

// markedHops records whether a port marks a class.
func markedHops(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	e := q.Queues[k.Queue.V].ECN
	kept := k.ECN.Mode.V == intent.ECNKeep
	wanted := r.Device.Desired.Ports[p.Name].Queues[k.Queue.V].ECN.V.Enabled
	switch {
	case !e.Set || !kept && !wanted:
	default:
		r.Trait(k.Name, strconv.FormatBool(e.V.Enabled), p.Name, k.ECN.Mode.From.String(), qos.KindECN.At(k.Queue.V))
	}
}

func otherMarking(o *checks.Outlier) {
	what := "class %s has no ECN marking here, and has it on %d of %d ports"
	if o.Value == "true" {
		what = "class %s has ECN marking here, and none on %d of %d ports"
	}
	var fields []qos.Attr
	for n := range qos.NumPriorities {
		at := qos.KindECN.At(n)
		if slices.ContainsFunc(o.Ports, func(p string) bool { return o.Outcome.Differs(p, at) }) {
			fields = append(fields, at)
		}
	}
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf(what, o.Group, o.Share, o.Of)}, fields...)
}

func lossyHops(r *checks.Fabric) {
	var list []deadlock.Hole
	for _, h := range r.Paths.Treated.Lossy {
		// If the other end of the link pauses, PFC-01 reports both ends.
		h.Ports = slices.DeleteFunc(slices.Clone(h.Ports), func(port string) bool {
			peer, _ := r.Intent.Switch(h.Switch).Port(port).Peer()
			p := checks.PortAt(r.Intent, peer)
			return p != nil && p.Settings.Lossless().Has(h.Priority)
		})
		if len(h.Ports) > 0 {
			list = append(list, h)
		}
	}
	holes(r, checks.Error, list, "class %s is lossy here, but lossless on %s of its paths")
}

func idleHops(r *checks.Fabric) {
	for _, h := range r.Paths.Treated.Idle {
		r.Found(checks.Finding{Severity: checks.Error, Device: h.Switch, Where: h.From.String(), What: fmt.Sprintf("class %s is used only inside tunnels, but is lossless here, where no tunnel passes", h.Class)}, h.Ports...)
	}
}

// bounces returns the priorities that tunnels remap traffic to.
func bounces(f *intent.Fabric) (set qos.PrioritySet) {
	for _, t := range f.Routing.Tunnels {
		for _, m := range t.Remap {
			set |= qos.Priorities(m.To.Priority.V)
		}
	}
	return set
}

// strayBounces finds a tunnel class that is paused at both ends of a link where the intent has
// it lossy. If the ends differ, PFC-01 and PFC-02 report it.
func strayBounces(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if extra := q.PFC.Or(0) &^ r.Lossless(p.Settings); extra != 0 && extra&^bounces(r.Device.Fabric) == 0 {
		r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("priorities %s are used only inside tunnels, but PFC is on for them here", extra)}, p.Name, qos.KindPFC.Attr())
	}
}

func keptClasses(r *checks.Fabric) {
	for _, k := range r.Paths.Treated.Kept {
		if !r.Added(k.Switch) {
			continue
		}
		fix := r.Check.Fix
		if class := r.Intent.Settings.Class(k.Class); class != nil && !paused(r.Intent, class.Priority.V) {
			fix = checks.ApplyIntent
		}
		r.Found(checks.Finding{Severity: checks.Error, Device: k.Switch, Where: k.Pos.String(), What: fmt.Sprintf("class %s keeps its priority in the tunnel to %s", k.Class, k.To), Fix: fix})
	}
}

// paused reports whether the intent has a priority lossless on any port.
func paused(f *intent.Fabric, priority int) bool {
	return slices.ContainsFunc(f.Switches, func(s *intent.Switch) bool {
		return slices.ContainsFunc(s.Ports, func(p *intent.Port) bool { return p.Settings.Lossless().Has(priority) })
	})
}

func cycles(r *checks.Fabric) {
	for _, c := range r.Paths.Search.Cycles {
		cycle(r, checks.Error, "", c)
	}
}

func failureCycles(r *checks.Fabric) {
	for _, g := range r.Paths.Search.Failures {
		cycle(r, checks.Warning, "without "+g.What+": ", g.Cycle)
	}
}

// cycle adds a finding for a cycle, unless none of its switches was checked.
func cycle(r *checks.Fabric, s checks.Severity, without string, c deadlock.Cycle) {
	if !slices.ContainsFunc(c.Hops, func(h deadlock.Hop) bool { return r.Added(h.Switch) }) {
		return
	}
	var ports []intent.Endpoint
	for _, h := range c.Hops {
		ports = append(ports, intent.Endpoint{Device: h.Switch, Port: h.In}, intent.Endpoint{Device: h.Switch, Port: h.Out})
	}
	h := c.Hops[0]
	fix := r.FixOf(ports...)
	if fix == r.Check.Fix {
		fix = lossyOnHosts(r, c)
	}
	r.Found(checks.Finding{Severity: s, Device: h.Switch, Where: h.Link.String(), What: without + circle(c), Fix: fix}, h.In)
}

// circle describes a cycle hop by hop.
func circle(c deadlock.Cycle) string {
	of := ""
	if k := c.Class(); k != "" {
		of = " of class " + k
	}
	return fmt.Sprintf("%s%s wait in a cycle of %d: %s", words.Count(c.Buffers, "buffer"), of, len(c.Hops), c)
}

// lossyOnHosts returns the fix for a cycle in a class that traffic is remapped to and that
// hosts also send, so that remapping does not break the cycle. It returns "" for other cycles.
func lossyOnHosts(r *checks.Fabric, c deadlock.Cycle) string {
	f := r.Intent
	var to []*intent.Class
	for _, t := range f.Routing.Tunnels {
		for _, m := range t.Remap {
			to = append(to, m.To)
		}
	}
	for _, e := range f.Routing.Exceptions {
		for _, m := range e.Remap {
			to = append(to, m.To)
		}
	}
	for _, k := range to {
		around := slices.ContainsFunc(c.Hops, func(h deadlock.Hop) bool { return slices.Contains(strings.Split(h.Class, ", "), k.Name) })
		if !around {
			continue
		}
		var ports []intent.Endpoint
		for _, s := range f.Switches {
			for _, p := range s.Ports {
				if p.Link != nil && !p.Uplink() && r.Paths.Graph.Pauses(p).Has(k.Priority.V) {
					ports = append(ports, intent.Endpoint{Device: s.Name, Port: p.Name})
				}
			}
		}
		if len(ports) == 0 {
			continue
		}
		if fix := r.FixOf(ports...); fix != r.Check.Fix {
			return fix
		}
		return fmt.Sprintf("traffic is remapped to class %s, which hosts send too: make it lossy on host ports, such as %s %s", k.Name, ports[0].Device, ports[0].Port)
	}
	return ""
}

// upTurns adds a finding for each switch, with one text per cause: if an exception or the model
// allows turns on many switches, the text shows an example.
func upTurns(r *checks.Fabric) {
	type reason struct {
		declared intent.Pos
		fails    bool
	}
	var turns ordered.Groups[reason, deadlock.UpTurn]
	for _, t := range r.Paths.Search.Turns {
		if r.Added(t.Switch) && !remapped(r.Intent, t) {
			turns.Add(reason{t.Declared, t.Failure != ""}, t)
		}
	}
	for k, all := range turns.All() {
		t := all[0]
		f := checks.Finding{Severity: checks.Error}
		without := ""
		if k.fails {
			f.Severity, without = checks.Warning, "without "+t.Failure+": "
		}
		f.What = fmt.Sprintf("%straffic to %s comes down through %s and goes up again through %s", without, t.Destination, t.In, t.Out)
		if len(all) > 1 {
			f.What = fmt.Sprintf("traffic that came down goes up again on %d switches; on %s, %straffic to %s arrives through %s and leaves through %s", len(all), t.Switch, without, t.Destination, t.In, t.Out)
		}
		if k.declared.Line > 0 {
			f.Where = k.declared.String()
		}
		for _, t := range all {
			f.Device = t.Switch
			f.Fix = r.FixOf(intent.Endpoint{Device: t.Switch, Port: t.In}, intent.Endpoint{Device: t.Switch, Port: t.Out})
			r.Found(f, t.In)
		}
	}
}

// remapped reports whether the turned traffic has its own class, or is in a tunnel, which
// TOP-05 checks.
func remapped(f *intent.Fabric, t deadlock.UpTurn) bool {
	return slices.ContainsFunc(f.Routing.Tunnels, func(x *intent.Tunnel) bool { return x.From.Name == t.Switch }) ||
		slices.ContainsFunc(f.Routing.Exceptions, func(x *intent.Exception) bool { return x.Pos == t.Declared && len(x.Remap) > 0 })
}

func islandCrossings(r *checks.Fabric) {
	for _, c := range r.Paths.Islands.Crossings {
		r.Found(checks.Finding{Severity: checks.Error, Device: c.Switch, Where: c.Pos.String(), What: fmt.Sprintf("traffic of island %s (%s) enters this switch, which is not part of the island", c.Island, c.Classes)}, c.Ports...)
	}
}

func islandSharings(r *checks.Fabric) {
	for _, s := range r.Paths.Islands.Sharings {
		other := "island " + s.Other
		if s.Other == "" {
			other = "hosts in no island"
		}
		r.Found(checks.Finding{Severity: checks.Warning, Device: s.Switch, Where: s.Pos.String(), What: fmt.Sprintf("island %s and %s share the ports in class %s", s.Island, other, s.Classes)}, s.Ports...)
	}
}

func disputedRoles(r *checks.Fabric) {
	for _, d := range r.Paths.Graph.Disputes {
		sw := r.Paths.Graph.Switches[d.Switch].Switch
		r.Found(checks.Finding{Severity: checks.Warning, Device: sw.Name, Where: sw.Pos.String(), What: fmt.Sprintf("role %s means tier %d, but the switch is %s from hosts", d.Role, d.Declared, words.Count(d.Found, "hop"))})
	}
}

// floods finds VLANs with lossless ports in which packets to a host that has gone are flooded.
// It finds none on a switch that refreshes its neighbours before their MAC addresses age out,
// as SONiC does (sonic-buildimage files/scripts/arp_update).
func floods(r *checks.Switch) {
	for i := range r.Config.Bridges {
		b := &r.Config.Bridges[i]
		if !(b.MACAge.Set && b.ARPAge.Set) && len(r.LosslessOf(b.Ports)) > 0 {
			r.Found(checks.Finding{Severity: checks.Info, What: fmt.Sprintf("it is not known when MAC and ARP entries of %s age out: whether packets to a host that is gone are flooded is not checked", term.CleanLine(b.VLANs)),
				Fix: "compare both timers on the switch", Unchecked: "flooding in VLANs", Because: "it is not known when addresses age out"}, "")
		}
		if !b.Floods() {
			continue
		}
		arp := "never"
		if b.ARPAge.V > 0 {
			arp = fmt.Sprintf("after %.0f s", b.ARPAge.V.Seconds())
		}
		for _, p := range r.LosslessOf(b.Ports) {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("packets to a host that is gone are flooded in %s: its MAC address ages out after %.0f s, its ARP entry %s",
				term.CleanLine(b.VLANs), b.MACAge.V.Seconds(), arp)}, p.Name)
		}
	}
}
