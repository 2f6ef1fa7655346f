package nxos

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// portView is an interface with the settings in force: its own, else those of its port-channel,
// else the switch-wide ones.
type portView struct {
	portState
	noLink bool // enabled, but without a link
	fec    string
	queues [cli.NumQueues]queueView
	system bool          // the queues are from the switch-wide policy
	paused []int         // priorities with working PFC
	shown  []int         // priorities in the bitmap
	groups map[int][]int // priorities of each group with working PFC
}

// queueView holds the settings of one queue in its queuing policy.
type queueView struct {
	share            string // percent of the bandwidth; "-" for none
	level            string // level of strict priority; "-" for none
	min, max, unit   string // shaper; "-" for none
	limit, limitKind string // "D" (dynamic) or "S" (static)
}

// views returns the interfaces in printing order.
func (f *front) views() ([]portView, qosState) {
	box, lossless := f.n.qosState(), f.n.lossless()
	qos, queuing := policiesByName(f.n.policyMaps(typeQoS)), policiesByName(f.n.policyMaps(typeQueuing))
	states := f.n.portStates()
	channels := map[string]portState{}
	for _, p := range states {
		if p.Kind == "port-channel" {
			channels[strings.TrimPrefix(p.Name, "port-channel")] = p
		}
	}
	var out []portView
	for _, p := range states {
		v := portView{portState: p, noLink: !p.Shutdown && !f.linked(p), fec: f.world.FEC(p.Name, p.Wire)}
		if c, ok := channels[channelOf(p)]; ok {
			v.inherit(c)
		}
		v.queues, v.system = f.queuesOf(queuing, v.QueuingOut, box.QueuingOut)
		in := v.QoSIn
		if in == "" {
			in = box.QoSIn
		}
		v.live(lossless, reachedGroups(qos[in]), box.OverrideOff)
		v.shown = v.paused
		if f.o.PolicyBitmap || f.n.Dice.Habit("PolicyBitmap").Bool() {
			v.shown = slices.Concat(slices.Collect(maps.Values(lossless))...)
		}
		out = append(out, v)
	}
	return out, box
}

func policiesByName(list []policyMap) map[string]policyMap {
	out := make(map[string]policyMap, len(list))
	for _, p := range list {
		out[p.Name] = p
	}
	return out
}

// channelOf returns the number of a member's port-channel; "" for other ports.
func channelOf(p portState) string {
	for _, l := range p.Lines {
		if rest, ok := strings.CutPrefix(l, "channel-group "); ok {
			id, _, _ := strings.Cut(rest, " ")
			return id
		}
	}
	return ""
}

// inherit copies settings of the port-channel for which the member has no line.
func (v *portView) inherit(c portState) {
	if v.PFC == "auto" {
		v.PFC = c.PFC
	}
	if !v.Watchdog {
		v.Watchdog, v.DisableAction, v.WatchdogMultiplier = c.Watchdog, c.DisableAction, c.WatchdogMultiplier
	}
	for _, p := range [][2]*string{{&v.QoSIn, &c.QoSIn}, {&v.QueuingIn, &c.QueuingIn}, {&v.QueuingOut, &c.QueuingOut}} {
		if *p[0] == "" {
			*p[0] = *p[1]
		}
	}
}

// reachedGroups returns the groups that an input policy classifies traffic into. Unmatched traffic
// goes to the group of class-default, or to group 0.
func reachedGroups(p policyMap) map[int]bool {
	out := map[int]bool{}
	rest := 0
	for _, c := range p.Classes {
		group := 0
		for _, l := range c.Lines {
			if n, ok := strings.CutPrefix(l, "set qos-group "); ok {
				group, _ = strconv.Atoi(n) // the grammar only accepts numbers
			}
		}
		if c.Name == "class-default" {
			rest = group
			continue
		}
		out[group] = true
	}
	out[rest] = true
	return out
}

// live determines the priorities with working PFC: the network-qos policy in force pauses them,
// the port classifies traffic into their group, and its PFC mode is on. The simulator negotiates
// with no peer, so mode auto means off.
func (v *portView) live(lossless map[int][]int, reached map[int]bool, override bool) {
	v.groups = map[int][]int{}
	if v.PFC != "on" || override || v.Shutdown {
		return
	}
	var on [cli.NumQueues]bool
	for group, priorities := range lossless {
		if !reached[group] {
			continue
		}
		v.groups[group] = priorities
		for _, p := range priorities {
			on[p] = true
		}
	}
	for p, live := range on {
		if live {
			v.paused = append(v.paused, p)
		}
	}
}

// bitmap returns the bitmap of lossless priorities as the switch prints it. No public document
// says whether it omits priorities for which the port classifies no traffic.
func (f *front) bitmap(v portView) string {
	n := 0
	for _, p := range v.shown {
		n |= 1 << p
	}
	if f.o.DecimalBitmap || f.n.Dice.Habit("DecimalBitmap").Bool() {
		return strconv.Itoa(n)
	}
	return strconv.FormatInt(int64(n), 16)
}

// pfcOper reports the operational state of PFC: it follows the mode, even without a lossless
// class (open-telemetry/opentelemetry-collector-contrib ciscoos receiver, interfaces scraper
// tests).
func (v portView) pfcOper(box qosState) bool { return v.PFC == "on" && !box.OverrideOff && !v.Shutdown }

// queuesOf returns the queues of a port with its own policy, or with the switch-wide one; system
// reports the latter.
func (f *front) queuesOf(policies map[string]policyMap, own, box string) (queues [cli.NumQueues]queueView, system bool) {
	p, ok := policies[own]
	if !ok {
		p, system = policies[box], true
	}
	for i := range queues {
		queues[i] = queueView{share: "0", level: "-", min: "-", max: "-", unit: "-", limit: "9", limitKind: "D"}
	}
	for _, c := range p.Classes {
		if c.Group >= 0 && c.Group < len(queues) {
			queues[c.Group].read(c.Lines)
		}
	}
	return queues, system
}

func (q *queueView) read(lines []string) {
	for _, l := range lines {
		w := strings.Fields(l)
		switch {
		case w[0] == "bandwidth":
			q.share = w[len(w)-1]
		case w[0] == "priority" && len(w) == 3:
			q.share, q.level = "-", w[2]
		case w[0] == "shape" && len(w) == 7:
			q.min, q.max, q.unit = w[2], w[5], w[6]
		case w[0] == "queue-limit" && w[1] == "dynamic":
			q.limit, q.limitKind = w[2], "D"
		case w[0] == "queue-limit":
			q.limit, q.limitKind = w[1], "S"
		}
	}
}

// chosen returns the Ethernet ports and port-channels that a command's argument names, or all of
// them without an argument; false if it names another interface.
func (f *front) chosen(args []string) ([]portView, qosState, bool) {
	all, box := f.views()
	var wired []portView
	for _, v := range all {
		if v.Kind == "Ethernet" || v.Kind == "port-channel" {
			wired = append(wired, v)
		}
	}
	out, ok := pick(wired, args)
	return out, box, ok
}

// pick returns the interfaces that an argument names.
func pick(all []portView, args []string) ([]portView, bool) {
	if len(args) == 0 {
		return all, true
	}
	names, ok := parseInterfaces(args[0])
	if !ok {
		return nil, false
	}
	by := make(map[string]portView, len(all))
	for _, v := range all {
		by[v.Name] = v
	}
	var out []portView
	for _, n := range names {
		v, ok := by[n]
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}
