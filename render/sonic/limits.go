package sonic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// The ranges allowed by the YANG models (sonic-pfcwd.yang, sonic-port.yang, sonic-scheduler.yang,
// sonic-wred-profile.yang) and by orchagent, which reads thresholds as signed 32-bit numbers
// (sonic-swss:orchagent/qosorch.cpp).
const (
	minPoll                = 100 * time.Millisecond
	minDetect, maxDetect   = 100 * time.Millisecond, 5000 * time.Millisecond
	minRestore, maxRestore = 100 * time.Millisecond, 60000 * time.Millisecond
	minMTU, maxMTU         = 68, 9216
	maxWeight              = 100
	minRate                = units.Rate(8 * noCommitted)
)

// sharedLanes lists the platforms whose published layouts use a lane twice and whose config updater
// accepts that, with the first release that does; "" means every release (sonic-utilities
// generic_config_updater/gu_common.py, validate_lanes).
var sharedLanes = map[string]string{
	"x86_64-arista_7050cx3_32s": "", "x86_64-dellemc_s5232f_c3538-r0": "", "x86_64-arista_7050cx3_32c": "202505",
}

// TakesSharedLanes reports whether the config updater accepts two ports of a platform that share a
// lane.
func TakesSharedLanes(platform string, rel Release) bool {
	since, ok := sharedLanes[platform]
	if !ok || since == "" {
		return ok
	}
	first, ok := ReleaseOf(since)
	return ok && rel.Index >= first.Index
}

// actions are the watchdog actions of SONiC (sonic-pfcwd.yang, action).
var actions = []qos.WatchdogAction{qos.ActionDrop, qos.ActionForward, qos.ActionAlert}

// refusesForward reports whether orchagent refuses the watchdog action "forward" on switches of a
// model: on those of platform cisco-8000. The port then gets no watchdog.
// Sources: sonic-swss orchagent/pfcwdorch.cpp createEntry (pull request 1748); sonic-utilities pull
// request 1848.
func refusesForward(model string) bool {
	m, ok := catalog.Lookup(model)
	return ok && m.ASIC().Vendor == catalog.Cisco
}

const noForward = "orchagent refuses the action forward on switches with Cisco Silicon One, and the port gets no watchdog"

// Refusals returns the values of a desired device that a switch of that release rejects or
// misreads, with ports in natural order.
func Refusals(d *qos.Device, rel Release) []render.Refusal {
	var out render.Refusals
	maxPoll := time.Duration(rel.MaxPollMS) * time.Millisecond
	poll := d.WatchdogPoll
	if poll.Set && (poll.V < minPoll || poll.V > maxPoll) {
		out.Add("", qos.KindWatchdogPoll.Attr(), "%s takes a polling interval of %s to %s, not %s", rel, minPoll, maxPoll, poll.V)
	}
	if h := d.HeadroomModel; h.Set && h.V.Mixed != "" {
		out.Add("", qos.KindHeadroomModel.Attr(), "this tool gives all lossless groups of a SONiC switch one alpha, and the intent has %s", h.V.Mixed)
	}
	for _, name := range natural.Keys(d.Ports) {
		p := d.Ports[name]
		if w := p.Watchdog; w.Set && w.V.Enabled {
			switch {
			case w.V.Detect < minDetect || w.V.Detect > maxDetect:
				out.Add(name, qos.KindWatchdog.Attr(), "SONiC takes a detection time of %s to %s, not %s", minDetect, maxDetect, w.V.Detect)
			case w.V.Restore < minRestore || w.V.Restore > maxRestore:
				out.Add(name, qos.KindWatchdog.Attr(), "SONiC takes a restoration time of %s to %s, not %s", minRestore, maxRestore, w.V.Restore)
			case !slices.Contains(actions, w.V.Action):
				out.Add(name, qos.KindWatchdog.Attr(), "the watchdog of SONiC can drop, forward or alert, not %s", w.V.Action)
			case w.V.Action == qos.ActionForward && refusesForward(d.Platform.Model):
				out.Add(name, qos.KindWatchdog.Attr(), noForward)
			case poll.Set && (w.V.Detect < poll.V || w.V.Restore < poll.V):
				out.Add(name, qos.KindWatchdog.Attr(), "detection and restoration time must not be below the polling interval of %s", poll.V)
			}
		}
		if p.MTU.Set && (p.MTU.V < minMTU || p.MTU.V > maxMTU) {
			out.Add(name, qos.KindMTU.Attr(), "SONiC takes an MTU of %d to %d, not %d", minMTU, maxMTU, p.MTU.V)
		}
		if p.Speed.Set && p.Speed.V.Mbps() > rel.MaxSpeedMbps {
			out.Add(name, qos.KindSpeed.Attr(), "%s takes a speed of at most %d Mb/s, not %d", rel, rel.MaxSpeedMbps, p.Speed.V.Mbps())
		}
		for q := range p.Queues {
			if s := p.Queues[q].Scheduler; s.Set && !s.V.Strict && (s.V.Weight < 1 || s.V.Weight > maxWeight) {
				out.Add(name, qos.KindScheduler.At(q), "SONiC takes a weight of 1 to %d, not %d", maxWeight, s.V.Weight)
			}
			if s := p.Queues[q].Scheduler; s.Set && s.V.MaxRate > 0 && (s.V.MaxRate < minRate || s.V.MinRate > s.V.MaxRate) {
				out.Add(name, qos.KindScheduler.At(q), "SONiC takes a maximum rate of at least %d bit/s that is not below the minimum, not %d with %d", int64(minRate), int64(s.V.MaxRate), int64(s.V.MinRate))
			}
			if why := refusedECN(p.Queues[q].ECN); why != "" {
				out.Add(name, qos.KindECN.At(q), "%s", why)
			}
		}
	}
	return out
}

// refusedECN says why SONiC cannot represent an ECN curve; "" if it can. SONiC thresholds are bytes
// (sonic-wred-profile.yang; SAI_WRED_ATTR_GREEN_MIN_THRESHOLD).
func refusedECN(e qos.Opt[qos.ECN]) string {
	switch {
	case !e.Set || !e.V.Enabled:
		return ""
	case e.V.Unit != qos.UnitBytes:
		return fmt.Sprintf("SONiC takes thresholds in bytes, not in %s", e.V.Unit)
	case e.V.Min < 0 || e.V.Max > math.MaxInt32 || e.V.Min > e.V.Max:
		return fmt.Sprintf("SONiC takes thresholds of at most %d B with min below max, not %d and %d", math.MaxInt32, e.V.Min, e.V.Max)
	case e.V.Probability < 0 || e.V.Probability > 100:
		return fmt.Sprintf("SONiC takes a probability of 0%% to 100%%, not %d%%", e.V.Probability)
	}
	return ""
}

// readOnly lists the attributes that this tool never writes, and what to do instead.
var readOnly = map[qos.Kind]string{
	qos.KindPort:  "the switch has no such port: correct the name in the intent, or break the port out on the switch first",
	qos.KindSpeed: "this tool does not change the speed of a port: set it with 'config interface speed' or a breakout on the switch, or correct the link in the intent",
	qos.KindLAG:   "this tool does not change port channels: set it with 'config portchannel member' on the switch, or correct the port in the intent",
}

// blockReadOnly blocks the changes that this tool never makes or that no switch of the release
// accepts, and removes them from the target: one bad value would make the switch reject the whole
// request.
func (p *planner) blockReadOnly() {
	blocked := map[qos.Place]string{}
	for _, r := range Refusals(p.desired, p.Release) {
		blocked[r.Place] = r.Why + "; change the value in the intent"
	}
	old := p.unwritable()
	chassis := p.running.Row(TMetadata, "localhost")["switch_type"] == "voq"
	for _, c := range p.changes {
		if why, ok := readOnly[c.Field.Kind]; ok {
			blocked[c.Place()] = why
		} else if c.Blocked != "" {
			blocked[c.Place()] = c.Blocked
		} else if chassis && c.Field.Kind.Of() == qos.OfQueue {
			// sonic-yang-models:sonic-queue.yang, switch_type voq
			blocked[c.Place()] = "the queues of a chassis have keys with host and ASIC, which this tool does not write"
		} else if why := cmp.Or(old[c.Port], old[""], p.inherits(c)); why != "" {
			blocked[c.Place()] = why
		}
	}
	if len(blocked) == 0 {
		return
	}
	allowed := p.desired.Keeping(nil, slices.Collect(maps.Keys(blocked)))
	p.target = Target(allowed)
	adopt(p.running, p.target, allowed, p.changes)
	for i := range p.changes {
		c := &p.changes[i]
		c.Blocked = blocked[c.Place()]
	}
}

// inherits explains that a port cannot do without classification because the switch has a map for
// all ports without one of their own (see mapNames.inherit); "" if the change asks for no such port.
func (p *planner) inherits(c qos.Change) string {
	t, table := c.Field.Table()
	want := p.desired.Ports[c.Port]
	if want == nil || want.Trust != qos.Of(qos.TrustNone) || c.Field.Kind != qos.KindTrust && (!table || t != qos.DSCPToTC) {
		return ""
	}
	name := p.running.Row(TPortQoS, globalKey)["dscp_to_tc_map"]
	if p.running.Row(TDSCPToTC, name) == nil || p.target.Row(TPortQoS, globalKey)["dscp_to_tc_map"] == Absent {
		return ""
	}
	return "PORT_QOS_MAP|global classifies every port that has no map of its own; remove that row, or state trust: dscp for the port"
}

// unwritable says, for each port with rows in an old form, why no row of the port can be changed:
// the YANG models reject them. Unless rows bypass the config updater, the same holds for "", which
// stands for every port: the updater rejects every change to a configuration that its models reject.
func (p *planner) unwritable() map[string]string {
	out := map[string]string{}
	add := func(port, why string) {
		out[port] = cmp.Or(out[port], why)
		if !p.Direct {
			out[""] = cmp.Or(out[""], why)
		}
	}
	for _, table := range listed {
		shared := p.running.sharedRows(table)
		for _, port := range natural.Keys(shared) {
			add(port, fmt.Sprintf("%s|%s names several ports in one row, which the YANG models of SONiC reject; give each port its own row on the switch", table, natural.FoldLists(shared[port])))
		}
		written := p.running[table+asWritten]
		for _, key := range natural.Keys(written) {
			if ports := portsIn(key); len(ports) == 1 && !maps.Equal(written[key], p.running.Row(table, key)) {
				add(ports[0], fmt.Sprintf("%s|%s refers to an object in brackets, which the YANG models of SONiC reject; write its name alone on the switch", table, key))
			}
		}
	}
	return out
}

// Fit removes settings from a compiled switch that SONiC lacks: CONFIG_DB has no IEEE 802.3x link
// pause (sonic-port.yang), which is off by default (SAI_PORT_ATTR_GLOBAL_FLOW_CONTROL_MODE,
// saiport.h).
func Fit(d *qos.Device) {
	d.Restrict(qos.KindGlobalMap, qos.KindHeadroomModel, qos.KindWatchdogPoll, qos.KindSpeed, qos.KindBreakout, qos.KindLAG, qos.KindFEC, qos.KindMTU,
		qos.KindAdminUp, qos.KindCable, qos.KindTrust, qos.KindMap, qos.KindPFC, qos.KindPFCAsymmetric, qos.KindQueueBuffer, qos.KindECN, qos.KindScheduler,
		qos.KindGroupBuffer, qos.KindDerivedFrom, qos.KindHeadroom, qos.KindLossless, qos.KindIngressProfiles, qos.KindEgressProfiles, qos.KindWatchdog)
}
