package eos

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// place is the kind of block in which a line stands.
type place = lines.Place

const (
	inGlobal place = iota
	inProfile
	inInterface
	inQueue
	inDefaults         // "interface defaults"
	inEthernetDefaults // "ethernet" in "interface defaults"
	inClassMap
	inPolicy
	inClass
	inBuffers // a buffer profile
)

// form describes a kind of line.
type form = forms.Form

// row is a form and what its lines do to the state; set is nil for a line without effect there.
type row struct {
	forms.Form
	set func(*state, args)
}

// Keys that the renderer writes.
const (
	keyTrust      = "qos trust"
	keyProfile    = "service-profile"
	keyPFC        = "priority-flow-control"
	keyNoDrop     = "priority-flow-control priority "
	keyDog        = "priority-flow-control pause watchdog"
	keyDogAction  = "priority-flow-control pause watchdog port action"
	keyDogTimer   = "priority-flow-control pause watchdog port timer"
	keyAllOff     = "priority-flow-control all off"
	keyTimeout    = "priority-flow-control pause watchdog default timeout"
	keyRecovery   = "priority-flow-control pause watchdog default recovery-time"
	keyPoll       = "priority-flow-control pause watchdog default polling-interval"
	keyAction     = "priority-flow-control pause watchdog action"
	keyOverride   = "priority-flow-control pause watchdog override action"
	keyMTU        = "mtu"
	keyL2MTU      = "l2 mtu"
	keyShutdown   = "shutdown"
	keyChannel    = "channel-group"
	keySwitchport = "switchport"
	keyPortMode   = "switchport default mode"
	keyPriority   = "priority"
	keyBandwidth  = "bandwidth percent"
	keyGuaranteed = "bandwidth guaranteed"
	keyShape      = "shape rate"
	keyMarking    = "random-detect " // begins the keys of marking and of early drop
	keyECN        = "random-detect ecn"
	keyDrop       = "random-detect drop"
	keyPolicy     = "service-policy type qos input"
	keyReceive    = "flowcontrol receive"
	keySend       = "flowcontrol send"
	keyMap        = "qos map "
	keyMapDSCP    = "qos map dscp "
	keyMapCOS     = "qos map cos "
	keyMapTC      = "qos map traffic-class "
	keyName       = "qos tx-queue|uc-tx-queue|traffic-class <0-7> name"
	keyCount      = "random-detect ecn count"
	keyRewrite    = "qos rewrite dscp"
	keyListDSCP   = keyMapDSCP + "<list:63>"
	keyListCOS    = keyMapCOS + "<list:7>"
	keyToDSCP     = keyMapTC + "<list:7> to dscp"
	keyToQueue    = keyMapTC + "<list:7> to tx-queue"
	keyToUCQueue  = keyMapTC + "<list:7> to uc-tx-queue"
)

const (
	whyPolicy    = "part of what the policy does is not read, and it overrides the trust of the port"
	whyNoPolicy  = "there is no such policy"
	whyUntrusted = "the value for untrusted or unmarked frames is not compared"
	whyRewrite   = "what is written into leaving frames is not compared"
	whyMulticast = "multicast queues are not compared"
	whyShape     = "the shaping of a whole port is not compared"
	whyDCBX      = "DCBX is neither set nor compared"
	whyNegotiate = "whether link pause is on depends on the other end"
	whyNonECT    = "the treatment of packets without ECN is not compared"
	whyDelay     = "marking by delay is not compared"
)

// Attributes that a kind of line may change.
var (
	changesAdmin    = []qos.Kind{qos.KindAdminUp}
	changesLink     = []qos.Kind{qos.KindLinkPause}
	changesMTU      = []qos.Kind{qos.KindMTU}
	changesRouting  = []qos.Kind{qos.KindMTU, qos.KindTrust, qos.KindMap}
	changesTrust    = []qos.Kind{qos.KindTrust, qos.KindMap}
	changesPause    = []qos.Kind{qos.KindPFC, qos.KindWatchdog}
	changesWatchdog = []qos.Kind{qos.KindWatchdog}
	changesPolling  = []qos.Kind{qos.KindWatchdogPoll}
	changesQueue    = []qos.Kind{qos.KindScheduler}
	changesCurve    = []qos.Kind{qos.KindECN}
	changesMap      = []qos.Kind{qos.KindGlobalMap, qos.KindMap}
	changesAny      = slices.Concat(changesRouting, changesPause, changesQueue, changesCurve, []qos.Kind{qos.KindLAG})
)

// Patterns of arguments.
const (
	unitWords  = "bytes|kbytes|mbytes|segments|milliseconds|microseconds"
	thresholds = "minimum-threshold <1-4294967295> " + unitWords + " maximum-threshold <1-4294967295> " + unitWords
	rate       = "<1-4294967295> "
	interval   = "auto|<decimal>"
	queues     = "tx-queue|uc-tx-queue|mc-tx-queue <0-7>"
)

// rows lists the forms of each place in the order in which EOS prints them. Sources: EOS User
// Manual, Quality of Service and PFC; aristanetworks/avd, eos_cli_config_gen schemas qos,
// qos_profiles, priority_flow_control and ethernet_interfaces and the molecule outputs; for the
// lines of "show running-config all" the switch configurations in batfish/batfish,
// arista_interface_show_run_all.
var rows = slices.Concat(globalRows, defaultRows, portRows, queueRows, policyRows)

// grammar returns the table of the rows, built on first use: commands without an EOS switch never
// need it.
var grammar = sync.OnceValue(func() *forms.Table {
	list := make([]forms.Form, len(rows))
	for i, r := range rows {
		list[i] = r.Form
	}
	t := forms.NewTable(list)
	t.Strict, t.Plain = true, described
	return t
})

// in puts rows into modes.
func in(modes []place, list ...row) []row {
	for i := range list {
		list[i].In = modes
	}
	return list
}

// other returns the row of lines of another feature.
func other(key string) row { return row{Form: form{Key: key, Other: true}} }

// alone returns the row of a line of another feature that has no arguments.
func alone(key string) row { return row{Form: form{Key: key, Args: forms.Nothing, Other: true}} }

var globalRows = in([]place{inGlobal},
	row{form{Key: keyPortMode, Args: "routed", Kinds: changesRouting}, func(s *state, _ args) { s.global.ports.routed = true }},
	row{form{Key: keyPortMode, Args: "access", Kinds: changesRouting}, func(s *state, _ args) { s.global.ports.routed = false }},
	alone(sectionDefaults),
	other("hostname|ptp"),
	row{Form: form{Key: "qos profile", Args: "<word>", Other: true}},
	other("platform|sflow|snmp-server|spanning-tree|vlan"),
	other("vrf instance"),
	other("management api"),
	alone("management security"),
	other("aaa"),
	other("interface"),
	other("ip access-list|routing|prefix-list"),
	alone("mlag configuration"),
	other("ip route"),
	other("ntp"),
	row{form{Key: keyRewrite, Args: forms.Nothing, Kinds: changesMap}, func(s *state, _ args) { s.global.rewrite = true }},
	row{form{Key: keyListCOS, Args: toClass, Kinds: changesMap}, func(s *state, a args) { s.global.cos[a.id] = int8(a.num(2)) }},
	row{form{Key: keyListDSCP, Args: toClass, Kinds: changesMap}, func(s *state, a args) { s.global.dscp[a.id] = int8(a.num(2)) }},
	row{Form: form{Key: keyMapTC + "<list:7> to cos", Args: "<0-7>", Unset: "no $line", Why: whyRewrite}},
	row{form{Key: keyToDSCP, Args: "<0-63>", Unset: "no $line", Kinds: changesMap}, func(s *state, a args) { s.global.toDSCP[a.id] = int8(a.num(2)) }},
	row{form{Key: keyToQueue, Args: "<0-7>", Unset: "no $line", Kinds: changesMap}, setQueueMap},
	row{form{Key: keyToUCQueue, Args: "<0-7>", Unset: "no $line", Kinds: changesMap}, setQueueMap},
	row{Form: form{Key: keyMapTC + "<list:7> to mc-tx-queue", Args: "<0-63>", Unset: "no $line", Why: whyMulticast}},
	row{Form: form{Key: keyMapTC + "<list:7> to exp", Args: "<0-7>", Unset: "no $line", Why: whyRewrite}},
	row{Form: form{Key: "qos map exp <list:7>", Args: "to traffic-class <0-7>", Why: "MPLS is not compared"}},
	row{Form: form{Key: keyName, Args: "<word>", Unset: "no $line"}},
	row{Form: form{Key: "qos random-detect ecn global-buffer", Why: "marking by the shared buffer is not compared"}},
	row{Form: form{Key: "qos random-detect ecn allow non-ect", Args: "[chip-based]", Why: whyNonECT}},
	row{Form: form{Key: "dcbx application", Why: whyDCBX}},
	other("class-map|policy-map"),
	row{form{Key: keyAllOff, Args: forms.Nothing, Kinds: changesPause}, func(s *state, _ args) { s.global.allOff = true }},
	row{form{Key: keyTimeout, Args: "<decimal>", Kinds: changesWatchdog}, func(s *state, a args) { s.global.timeout = a.seconds(1) }},
	row{form{Key: keyRecovery, Args: "<decimal>", Kinds: changesWatchdog}, func(s *state, a args) { s.global.recovery = a.seconds(1) }},
	row{form{Key: keyPoll, Args: interval, Kinds: changesPolling}, func(s *state, a args) { s.global.poll = a.seconds(1) }},
	row{form{Key: keyAction, Args: "drop|errdisable|notify-only", Kinds: changesWatchdog}, func(s *state, a args) { s.global.action = actions[a.word(1)] }},
	row{form{Key: keyOverride, Args: "drop", Kinds: changesWatchdog}, func(s *state, _ args) { s.global.override = true }},
	other("route-map"),
	other("router bgp"),
	alone("management ssh"),
	alone("end"),
)

const toClass = "to traffic-class <0-7> [drop-precedence <0-2>]"

var defaultRows = slices.Concat(
	in([]place{inDefaults},
		row{form{Key: keyMTU, Args: "<68-65535>", Kinds: changesMTU}, func(s *state, a args) { s.global.ports.mtu = a.num(1) }},
		alone("ethernet"),
	),
	in([]place{inEthernetDefaults},
		row{form{Key: keyShutdown, Args: forms.Nothing, Unset: "default shutdown", Kinds: changesAdmin}, func(s *state, _ args) { s.global.ports.shutdown = true }},
		row{form{Key: keyShutdown, Args: forms.Nothing, No: true, Kinds: changesAdmin}, func(s *state, _ args) { s.global.ports.shutdown = false }},
	),
)

// portRows lists the lines of interfaces and, in the groups that name both, of profiles.
var portRows = slices.Concat(
	in([]place{inInterface},
		other("description"),
		row{form{Key: keyShutdown, Args: forms.Nothing, Unset: "default shutdown", Absent: "no shutdown", Kinds: changesAdmin}, func(s *state, _ args) { s.port.shutdown = qos.Of(true) }},
		row{form{Key: keyShutdown, Args: forms.Nothing, No: true, Kinds: changesAdmin}, func(s *state, _ args) { s.port.shutdown = qos.Of(false) }},
		other("load-interval"),
		row{form{Key: keyMTU, Args: "<68-65535>", Kinds: changesMTU}, func(s *state, a args) { s.port.mtu = a.num(1) }},
		other("logging event"),
		row{Form: form{Key: "dcbx mode", Args: "<word>", Why: whyDCBX}},
		row{form{Key: keySend, Args: "on|off", Kinds: changesLink}, func(s *state, a args) { s.port.send = a.word(1) == "on" }},
		row{Form: form{Key: keySend, Args: "desired", Why: whyNegotiate, Open: true}},
		row{form{Key: keyReceive, Args: "on|off", Kinds: changesLink}, func(s *state, a args) { s.port.receive = a.word(1) == "on" }},
		row{Form: form{Key: keyReceive, Args: "desired", Why: whyNegotiate, Open: true}},
		other("speed"),
		row{form{Key: keyL2MTU, Args: "<68-65535>", Kinds: changesMTU}, func(s *state, a args) { s.port.l2mtu = a.num(1) }},
		other("l2 mru"),
		other("error-correction"),
		row{form{Key: keySwitchport, Args: forms.Nothing, No: true, Unset: "switchport", Absent: "switchport", Kinds: changesRouting}, func(s *state, _ args) { s.port.routed = true }},
		row{form{Key: keySwitchport, Args: forms.Nothing, Kinds: changesRouting}, func(s *state, _ args) { s.port.routed = false }},
		other("switchport|vrf"),
		other("ip address"),
		other("ipv6"),
		row{form{Key: keyChannel, Args: "<1-999999> mode active|passive|on", Kinds: changesAny}, func(s *state, a args) { s.port.lag = "Port-Channel" + a.word(1) }},
		other("lldp|ptp"),
		row{Form: form{Key: "random-detect ecn delay threshold", Args: rate + "<word>", Why: whyDelay}},
	),
	in(both,
		row{Form: form{Key: "service-policy type copp|control-plane|pbr|pdp|inspect", Other: true}},
		row{Form: form{Key: "service-policy input|output", Other: true}},
		other("traffic-policy"),
		row{Form: form{Key: keyPolicy, Args: "<word>", Unset: "no $line", Why: whyPolicy, Open: true, Kinds: changesMap}},
	),
	in([]place{inInterface},
		row{form{Key: keyProfile, Args: "<word>", Kinds: changesAny}, func(s *state, a args) { s.port.profile = a.word(1) }},
	),
	in(both,
		row{form{Key: keyTrust, Args: "dscp|cos", Unset: "default qos trust", Kinds: changesTrust}, func(s *state, a args) {
			s.port.trust = map[string]qos.Trust{"dscp": qos.TrustDSCP, "cos": qos.TrustPCP}[a.word(1)]
		}},
		row{form{Key: keyTrust, Args: forms.Nothing, No: true, Kinds: changesTrust}, func(s *state, _ args) { s.port.trust = qos.TrustNone }},
		row{Form: form{Key: "qos cos", Args: "<0-7>", Absent: "qos cos 0", Why: whyUntrusted}},
		row{Form: form{Key: "qos dscp", Args: "<0-63>", Absent: "qos dscp 0", Why: whyUntrusted}},
		row{Form: form{Key: keyShape, Args: rate + "[kbps|percent|pps]", Why: whyShape, Open: true}},
	),
	in([]place{inProfile}, row{Form: form{Key: queues, Args: forms.Nothing, Other: true}}),
	in(both,
		row{form{Key: keyPFC, Args: "on", Kinds: changesPause}, func(s *state, _ args) { s.port.pfc = true }},
		row{form{Key: keyNoDrop + "<0-7>", Args: "no-drop", Kinds: changesPause}, func(s *state, a args) { s.port.noDrop |= 1 << a.num(1) }},
		row{form{Key: keyNoDrop + "<0-7>", Args: "drop", Kinds: changesPause}, func(s *state, a args) { s.port.noDrop &^= 1 << a.num(1) }},
		row{form{Key: keyDog, Args: forms.Nothing, No: true, Unset: "default " + keyDog, Absent: keyDog, Kinds: changesWatchdog}, func(s *state, _ args) { s.port.unwatched = true }},
		row{form{Key: keyDog, Args: forms.Nothing, Kinds: changesWatchdog}, func(s *state, _ args) { s.port.unwatched = false }},
		row{form{Key: keyDogAction, Args: "drop|notify-only", Kinds: changesWatchdog}, func(s *state, a args) { s.port.action = actions[a.word(1)] }},
		row{form{Key: keyDogTimer, Args: "timeout <decimal> polling-interval " + interval + " recovery-time <decimal> [forced]", Kinds: changesWatchdog}, func(s *state, a args) {
			s.port.timed, s.port.timeout, s.port.recovery = true, a.seconds(1), a.seconds(3)
		}},
	),
	in([]place{inInterface},
		row{Form: form{Key: queues, Args: forms.Nothing, Other: true}},
		other("sflow|storm-control|spanning-tree"),
	),
)

// both holds the modes of lines that interfaces and profiles have.
var both = []place{inProfile, inInterface}

var queueRows = in([]place{inQueue},
	row{form{Key: keyPriority, Args: forms.Nothing, No: true, Unset: "default priority", Absent: "priority strict", Kinds: changesQueue}, func(s *state, _ args) { s.queue.weighted = true }},
	row{form{Key: keyPriority, Args: "strict", Kinds: changesQueue}, func(s *state, _ args) { s.queue.weighted = false }},
	row{form{Key: keyBandwidth, Args: "<1-100>", Kinds: changesQueue}, func(s *state, a args) { s.queue.percent = a.num(1) }},
	row{form{Key: keyGuaranteed, Args: rate + "[kbps]", Kinds: changesQueue}, func(s *state, a args) { s.queue.minRate = kbps(a.num(1)) }},
	row{form{Key: keyGuaranteed, Args: rate + "pps", Kinds: changesQueue}, func(s *state, a args) { s.queue.minOther = a.line }},
	row{form{Key: keyGuaranteed, Args: "percent <1-100>", Kinds: changesQueue}, func(s *state, a args) { s.queue.minOther = a.line }},
	row{form{Key: keyShape, Args: rate + "[kbps]", Kinds: changesQueue}, func(s *state, a args) { s.queue.maxRate = kbps(a.num(1)) }},
	row{form{Key: keyShape, Args: rate + "percent|pps", Kinds: changesQueue}, func(s *state, a args) { s.queue.maxOther = a.line }},
	row{Form: form{Key: keyCount, Args: forms.Nothing}},
	row{form{Key: keyECN, Args: thresholds + " [max-mark-probability <1-100>] [weight <0-15>]", Unset: "no random-detect ecn minimum-threshold", Kinds: changesCurve}, setECN},
	row{Form: form{Key: keyECN, Args: forms.Nothing, No: true}},
	row{form{Key: keyDrop, Args: drops, Kinds: changesCurve}, func(s *state, a args) { s.queue.drop[len(s.queue.drop)-1] = a.line }},
	row{form{Key: keyDrop + " drop-precedence <0-2>", Args: drops, Kinds: changesCurve}, func(s *state, a args) { s.queue.drop[a.num(1)] = a.line }},
	row{Form: form{Key: "random-detect non-ect", Why: whyNonECT}},
)

const drops = thresholds + " drop-probability <1-100> [weight <0-15>]"

// policyRows lists the lines of class maps, policies and buffer profiles, which are read as a
// whole.
var policyRows = slices.Concat(
	in([]place{inClassMap}, row{Form: form{Key: "match", Many: true, Kinds: changesMap}}),
	in([]place{inPolicy}, row{Form: form{Key: "class", Many: true, Kinds: changesMap}}),
	in([]place{inClass},
		row{Form: form{Key: "set|police|shape|bandwidth", Many: true, Kinds: changesMap}},
		row{Form: form{Key: "set|police|shape|bandwidth", No: true, Many: true}},
	),
	in([]place{inBuffers}, row{Form: form{Key: "ingress|egress", Many: true}}),
)

// state is what lines set. A line uses only the part for its place.
type state struct {
	global globals
	port   portState
	queue  queueState
}

// globals holds the switch-wide settings.
type globals struct {
	dscp     [qos.NumDSCP]int8
	cos      [qos.NumPriorities]int8
	toQueue  [qos.NumPriorities]int8
	toDSCP   [qos.NumPriorities]int8
	rewrite  bool
	allOff   bool
	override bool
	// Watchdog times; 0 turns it off, or, for poll, leaves it to the switch.
	timeout, recovery, poll time.Duration
	action                  qos.WatchdogAction
	ports                   portDefaults
}

// portDefaults holds the settings of ports without their own line (aristanetworks/avd,
// eos_cli_config_gen interface-defaults.j2 and switchport-default.j2).
type portDefaults struct {
	mtu      int  // of a routed port; 0 if not configured
	shutdown bool // of an Ethernet port
	routed   bool
}

// defaultGlobals returns the settings of an unconfigured switch. DSCPs 0-7 map to traffic class
// 1 and DSCPs 8-15 to class 0, and likewise CoS 0 and 1 (EOS User Manual, Quality of Service:
// default maps).
func defaultGlobals() globals {
	g := globals{action: qos.ActionErrDisable}
	swap := func(n int) int8 {
		if n < 2 {
			n = 1 - n
		}
		return int8(n)
	}
	for i := range g.dscp {
		g.dscp[i] = swap(i / 8)
	}
	for i := range g.cos {
		g.cos[i], g.toQueue[i], g.toDSCP[i] = swap(i), int8(i), qos.Unmapped
	}
	return g
}

// portState holds the settings from a profile and from an interface.
type portState struct {
	profile           string
	shutdown          qos.Opt[bool]
	routed            bool
	mtu, l2mtu        int // 0 if not configured
	lag               string
	send, receive     bool
	trust             qos.Trust // "" if not configured
	pfc               bool
	noDrop            qos.PrioritySet
	unwatched         bool
	action            qos.WatchdogAction // "" means the switch-wide action
	timed             bool
	timeout, recovery time.Duration
	queues            [qos.NumPriorities]queueState
}

// queueState holds the settings of a queue. drop has an element for each drop precedence, and
// the last one for lines without a precedence.
type queueState struct {
	weighted           bool
	percent            int
	minRate, maxRate   units.Rate
	minOther, maxOther string
	ecn                qos.ECN
	drop               [4]string
}

var actions = map[string]qos.WatchdogAction{
	"drop": qos.ActionDrop, "notify-only": qos.ActionAlert, "errdisable": qos.ActionErrDisable,
}

func kbps(n int) units.Rate { return units.Rate(n) * 1000 }

func setQueueMap(s *state, a args) { s.global.toQueue[a.id] = int8(a.num(2)) }

func setECN(s *state, a args) {
	unit := func(w string) qos.ThresholdUnit {
		if w == "bytes" {
			return qos.UnitBytes
		}
		return qos.ThresholdUnit(w)
	}
	s.queue.ecn = qos.ECN{
		Enabled: true,
		Min:     int64(a.num(1)), Max: int64(a.num(3)),
		Unit:        qos.Units(unit(a.word(2)), unit(a.word(4))),
		Probability: cmp.Or(a.num(5), 100),
		Weight:      a.num(6),
	}
}

// args holds the values of a line.
type args struct {
	line string
	w    []string
	id   int // the list entry concerned
}

// word returns value i, from 1; "" if its optional group is missing.
func (a args) word(i int) string { return a.w[i-1] }

// num returns value i as a number; 0 if it is missing.
func (a args) num(i int) int {
	n, _ := strconv.Atoi(a.word(i)) // digits, within the bounds of the pattern
	return n
}

// seconds returns value i as a duration; 0 for "auto".
func (a args) seconds(i int) time.Duration {
	f, _ := strconv.ParseFloat(a.word(i), 64) // digits and a decimal point
	return time.Duration(math.Round(f*1e6)) * time.Microsecond
}
