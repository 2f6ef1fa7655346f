package eos

import (
	"cmp"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// place is the kind of block in which a statement may stand.
type place = lines.Place

const (
	inGlobal place = 1 << iota
	inProfile
	inInterface
	inQueue
	inDefaults         // "interface defaults"
	inEthernetDefaults // "ethernet" in "interface defaults"

	inPort = inProfile | inInterface
)

// statement is one row of the grammar.
type statement struct {
	in place
	// line is the pattern, see [compile]; its captures are numbered from 1.
	line string
	// key names the setting that the line changes; $1 is the first capture. Rows with the same
	// key set the same thing. It is "" for a line that is known only for its place in the order.
	key string
	// unset is the command that restores the default: $1 is the first capture of key, $line the
	// present line. The first row of a key gives it; "" means "no" and the key.
	unset string
	// usual is the line of this key that states the default; "show running-config all" prints it
	// if nothing is configured.
	usual string
	// why is set if the model cannot represent the line.
	why string
	// set applies the line to the state; nil for a line without effect here.
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

// grammar lists the statements of each place in the order in which EOS prints them. Sources: EOS
// User Manual, Quality of Service and PFC; aristanetworks/avd, eos_cli_config_gen schemas qos,
// qos_profiles, priority_flow_control and ethernet_interfaces and the molecule outputs; for the
// lines of "show running-config all" the switch configurations in batfish/batfish,
// arista_interface_show_run_all.
var grammar = []statement{
	{in: inGlobal, line: keyPortMode + " routed", key: keyPortMode,
		set: func(s *state, _ args) { s.global.ports.routed = true }},
	{in: inGlobal, line: keyPortMode + " access", key: keyPortMode,
		set: func(s *state, _ args) { s.global.ports.routed = false }},
	{in: inGlobal, line: sectionDefaults},
	{in: inGlobal, line: "hostname|ptp *"},
	{in: inGlobal, line: "qos profile <word>"},
	{in: inGlobal, line: "platform|sflow|snmp-server|spanning-tree|vlan *"},
	{in: inGlobal, line: "vrf instance *"},
	{in: inGlobal, line: "management api *"},
	{in: inGlobal, line: "management security"},
	{in: inGlobal, line: "aaa *"},
	{in: inGlobal, line: "interface *"},
	{in: inGlobal, line: "ip access-list|routing|prefix-list *"},
	{in: inGlobal, line: "mlag configuration"},
	{in: inGlobal, line: "ip route *"},
	{in: inGlobal, line: "ntp *"},
	{in: inGlobal, line: "qos rewrite dscp", key: "qos rewrite dscp",
		set: func(s *state, _ args) { s.global.rewrite = true }},
	{in: inGlobal, line: "qos map cos <list:7> to traffic-class <0-7> [drop-precedence <0-2>]", key: keyMapCOS + "$1",
		set: func(s *state, a args) { s.global.cos[a.id] = int8(a.num(2)) }},
	{in: inGlobal, line: "qos map dscp <list:63> to traffic-class <0-7> [drop-precedence <0-2>]", key: keyMapDSCP + "$1",
		set: func(s *state, a args) { s.global.dscp[a.id] = int8(a.num(2)) }},
	{in: inGlobal, line: "qos map traffic-class <list:7> to cos <0-7>", key: keyMapTC + "$1 to cos", unset: "no $line", why: whyRewrite},
	{in: inGlobal, line: "qos map traffic-class <list:7> to dscp <0-63>", key: keyMapTC + "$1 to dscp", unset: "no $line",
		set: func(s *state, a args) { s.global.toDSCP[a.id] = int8(a.num(2)) }},
	{in: inGlobal, line: "qos map traffic-class <list:7> to tx-queue <0-7>", key: keyMapTC + "$1 to tx-queue", unset: "no $line", set: setQueueMap},
	{in: inGlobal, line: "qos map traffic-class <list:7> to uc-tx-queue <0-7>", key: keyMapTC + "$1 to uc-tx-queue", unset: "no $line", set: setQueueMap},
	{in: inGlobal, line: "qos map traffic-class <list:7> to mc-tx-queue <0-63>", key: keyMapTC + "$1 to mc-tx-queue", unset: "no $line", why: whyMulticast},
	{in: inGlobal, line: "qos map traffic-class <list:7> to exp <0-7>", key: keyMapTC + "$1 to exp", unset: "no $line", why: whyRewrite},
	{in: inGlobal, line: "qos map exp <list:7> to traffic-class <0-7>", key: "qos map exp $1", why: "MPLS is not compared"},
	{in: inGlobal, line: "qos tx-queue|uc-tx-queue|traffic-class <0-7> name <word>", key: "qos $1 $2 name", unset: "no $line"},
	{in: inGlobal, line: "qos random-detect ecn global-buffer *", key: "qos random-detect ecn global-buffer", why: "marking by the shared buffer is not compared"},
	{in: inGlobal, line: "qos random-detect ecn allow non-ect [chip-based]", key: "qos random-detect ecn allow non-ect", why: whyNonECT},
	{in: inGlobal, line: "dcbx application *", key: "dcbx application", why: whyDCBX},
	{in: inGlobal, line: "class-map|policy-map *"},
	{in: inGlobal, line: keyAllOff, key: keyAllOff, set: func(s *state, _ args) { s.global.allOff = true }},
	{in: inGlobal, line: keyTimeout + " <seconds>", key: keyTimeout,
		set: func(s *state, a args) { s.global.timeout = a.seconds(1) }},
	{in: inGlobal, line: keyRecovery + " <seconds>", key: keyRecovery,
		set: func(s *state, a args) { s.global.recovery = a.seconds(1) }},
	{in: inGlobal, line: keyPoll + " <interval>", key: keyPoll,
		set: func(s *state, a args) { s.global.poll = a.seconds(1) }},
	{in: inGlobal, line: keyAction + " drop|errdisable|notify-only", key: keyAction,
		set: func(s *state, a args) { s.global.action = actions[a.word(1)] }},
	{in: inGlobal, line: keyOverride + " drop", key: keyOverride,
		set: func(s *state, _ args) { s.global.override = true }},
	{in: inGlobal, line: "route-map *"},
	{in: inGlobal, line: "router bgp *"},
	{in: inGlobal, line: "management ssh"},
	{in: inGlobal, line: "end"},

	{in: inDefaults, line: "mtu <68-65535>", key: keyMTU,
		set: func(s *state, a args) { s.global.ports.mtu = a.num(1) }},
	{in: inDefaults, line: "ethernet"},
	{in: inEthernetDefaults, line: keyShutdown, key: keyShutdown, unset: "default shutdown",
		set: func(s *state, _ args) { s.global.ports.shutdown = true }},
	{in: inEthernetDefaults, line: "no shutdown", key: keyShutdown,
		set: func(s *state, _ args) { s.global.ports.shutdown = false }},

	{in: inInterface, line: "description *"},
	{in: inInterface, line: keyShutdown, key: keyShutdown, unset: "default shutdown", usual: "no shutdown",
		set: func(s *state, _ args) { s.port.shutdown = qos.Of(true) }},
	{in: inInterface, line: "no shutdown", key: keyShutdown,
		set: func(s *state, _ args) { s.port.shutdown = qos.Of(false) }},
	{in: inInterface, line: "load-interval *"},
	{in: inInterface, line: "mtu <68-65535>", key: keyMTU, set: func(s *state, a args) { s.port.mtu = a.num(1) }},
	{in: inInterface, line: "logging event *"},
	{in: inInterface, line: "dcbx mode <word>", key: "dcbx mode", why: whyDCBX},
	{in: inInterface, line: "flowcontrol send on|off", key: keySend,
		set: func(s *state, a args) { s.port.send = a.word(1) == "on" }},
	{in: inInterface, line: "flowcontrol send desired", key: keySend, why: whyNegotiate},
	{in: inInterface, line: "flowcontrol receive on|off", key: keyReceive,
		set: func(s *state, a args) { s.port.receive = a.word(1) == "on" }},
	{in: inInterface, line: "flowcontrol receive desired", key: keyReceive, why: whyNegotiate},
	{in: inInterface, line: "speed *"},
	{in: inInterface, line: "l2 mtu <68-65535>", key: keyL2MTU,
		set: func(s *state, a args) { s.port.l2mtu = a.num(1) }},
	{in: inInterface, line: "l2 mru *"},
	{in: inInterface, line: "error-correction *"},
	{in: inInterface, line: "no switchport", key: keySwitchport, unset: "switchport", usual: "switchport",
		set: func(s *state, _ args) { s.port.routed = true }},
	{in: inInterface, line: "switchport", key: keySwitchport, set: func(s *state, _ args) { s.port.routed = false }},
	{in: inInterface, line: "switchport|vrf *"},
	{in: inInterface, line: "ip address *"},
	{in: inInterface, line: "ipv6 *"},
	{in: inInterface, line: "channel-group <1-999999> mode active|passive|on", key: "channel-group",
		set: func(s *state, a args) { s.port.lag = "Port-Channel" + a.word(1) }},
	{in: inInterface, line: "lldp|ptp *"},
	{in: inInterface, line: "random-detect ecn delay threshold <1-4294967295> <word>", key: "random-detect ecn delay threshold", why: whyDelay},
	{in: inPort, line: keyPolicy + " <word>", key: keyPolicy, unset: "no $line", why: whyPolicy},
	{in: inInterface, line: "service-profile <word>", key: keyProfile,
		set: func(s *state, a args) { s.port.profile = a.word(1) }},
	{in: inPort, line: "qos trust dscp|cos", key: keyTrust, unset: "default qos trust",
		set: func(s *state, a args) {
			s.port.trust = map[string]qos.Trust{"dscp": qos.TrustDSCP, "cos": qos.TrustPCP}[a.word(1)]
		}},
	{in: inPort, line: "no qos trust", key: keyTrust, set: func(s *state, _ args) { s.port.trust = qos.TrustNone }},
	{in: inPort, line: "qos cos <0-7>", key: "qos cos", usual: "qos cos 0", why: whyUntrusted},
	{in: inPort, line: "qos dscp <0-63>", key: "qos dscp", usual: "qos dscp 0", why: whyUntrusted},
	{in: inPort, line: "shape rate <1-4294967295> [kbps|percent|pps]", key: keyShape, why: whyShape},
	{in: inProfile, line: "tx-queue|uc-tx-queue|mc-tx-queue <0-7>"},
	{in: inPort, line: "priority-flow-control on", key: keyPFC, set: func(s *state, _ args) { s.port.pfc = true }},
	{in: inPort, line: keyNoDrop + "<0-7> no-drop", key: keyNoDrop + "$1",
		set: func(s *state, a args) { s.port.noDrop |= 1 << a.num(1) }},
	{in: inPort, line: keyNoDrop + "<0-7> drop", key: keyNoDrop + "$1",
		set: func(s *state, a args) { s.port.noDrop &^= 1 << a.num(1) }},
	{in: inPort, line: "no " + keyDog, key: keyDog, unset: "default " + keyDog, usual: keyDog,
		set: func(s *state, _ args) { s.port.unwatched = true }},
	{in: inPort, line: keyDog, key: keyDog, set: func(s *state, _ args) { s.port.unwatched = false }},
	{in: inPort, line: keyDogAction + " drop|notify-only", key: keyDogAction,
		set: func(s *state, a args) { s.port.action = actions[a.word(1)] }},
	{in: inPort, line: keyDogTimer + " timeout <seconds> polling-interval <interval> recovery-time <seconds> [forced]", key: keyDogTimer,
		set: func(s *state, a args) {
			s.port.timed, s.port.timeout, s.port.recovery = true, a.seconds(1), a.seconds(3)
		}},
	{in: inInterface, line: "tx-queue|uc-tx-queue|mc-tx-queue <0-7>"},
	{in: inInterface, line: "sflow|storm-control|spanning-tree *"},

	{in: inQueue, line: "no priority", key: keyPriority, unset: "default priority", usual: "priority strict",
		set: func(s *state, _ args) { s.queue.weighted = true }},
	{in: inQueue, line: "priority strict", key: keyPriority, set: func(s *state, _ args) { s.queue.weighted = false }},
	{in: inQueue, line: "bandwidth percent <1-100>", key: keyBandwidth,
		set: func(s *state, a args) { s.queue.percent = a.num(1) }},
	{in: inQueue, line: "bandwidth guaranteed <1-4294967295> [kbps]", key: keyGuaranteed,
		set: func(s *state, a args) { s.queue.minRate = kbps(a.num(1)) }},
	{in: inQueue, line: "bandwidth guaranteed <1-4294967295> pps", key: keyGuaranteed,
		set: func(s *state, a args) { s.queue.minOther = a.line }},
	{in: inQueue, line: "bandwidth guaranteed percent <1-100>", key: keyGuaranteed,
		set: func(s *state, a args) { s.queue.minOther = a.line }},
	{in: inQueue, line: "shape rate <1-4294967295> [kbps]", key: keyShape,
		set: func(s *state, a args) { s.queue.maxRate = kbps(a.num(1)) }},
	{in: inQueue, line: "shape rate <1-4294967295> percent|pps", key: keyShape,
		set: func(s *state, a args) { s.queue.maxOther = a.line }},
	{in: inQueue, line: "random-detect ecn count", key: "random-detect ecn count"},
	{in: inQueue, line: "random-detect ecn minimum-threshold <1-4294967295> <unit> maximum-threshold <1-4294967295> <unit> [max-mark-probability <1-100>] [weight <0-15>]", key: keyECN, unset: "no random-detect ecn minimum-threshold",
		set: setECN},
	{in: inQueue, line: "no random-detect ecn", key: keyECN},
	{in: inQueue, line: "random-detect drop minimum-threshold <1-4294967295> <unit> maximum-threshold <1-4294967295> <unit> drop-probability <1-100> [weight <0-15>]", key: keyDrop,
		set: func(s *state, a args) { s.queue.drop[len(s.queue.drop)-1] = a.line }},
	{in: inQueue, line: "random-detect drop drop-precedence <0-2> minimum-threshold <1-4294967295> <unit> maximum-threshold <1-4294967295> <unit> drop-probability <1-100> [weight <0-15>]", key: keyDrop + " drop-precedence $1",
		set: func(s *state, a args) { s.queue.drop[a.num(1)] = a.line }},
	{in: inQueue, line: "random-detect non-ect *", key: "random-detect non-ect", why: whyNonECT},
}

// state is what statements set. A statement uses only the part for its place.
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
