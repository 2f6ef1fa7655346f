package cumulus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// tops lists the top-level objects of the model (NVUE API, Supported Objects).
var tops = []string{"acl", "bridge", "evpn", "interface", "maintenance", "mlag", "nve", "platform", "qos", "router", "service", "system", "vrf"}

// rule defines what is allowed at a place. In sub, "*" stands for any key that satisfies key.
type rule struct {
	sub  map[string]rule
	key  func(string) bool
	open bool // names that are not in sub are allowed too
	leaf func(s *Switch, v string) bool
	// since and until are the first and last release with this place; 0 means no limit.
	since, until int
}

func words(w ...string) func(*Switch, string) bool {
	return func(_ *Switch, v string) bool { return slices.Contains(w, v) }
}

func between(low, high float64) func(*Switch, string) bool {
	return func(_ *Switch, v string) bool {
		n, err := strconv.ParseFloat(v, 64)
		return err == nil && n >= low && n <= high
	}
}

func anyName(s string) bool { return s != "" }

func upTo(most int) func(string) bool {
	return func(s string) bool { n, err := strconv.Atoi(s); return err == nil && n >= 0 && n <= most }
}

func oneOf(w ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(w, s) }
}

func leafOf(f func(*Switch, string) bool) rule { return rule{leaf: f} }

func each(key func(string) bool, r rule) rule { return rule{key: key, sub: map[string]rule{"*": r}} }

// onOff returns a check for a state keyword: 5.15 uses "enabled" and "disabled" where earlier
// releases use "on" and "off", or "enable" and "disable" (What's New in 5.15).
func onOff(old ...string) func(*Switch, string) bool {
	return func(s *Switch, v string) bool {
		if s.release >= renamed || s.o.AnyWords {
			if v == "enabled" || v == "disabled" {
				return true
			}
		}
		return (s.release < renamed || s.o.AnyWords) && slices.Contains(old, v)
	}
}

// The releases that changed the model, as 100 times the major number plus the minor.
const (
	renamed  = 515
	relative = 517
	batches  = 516 // set and unset of one object in the same patch
	// autoSaves is the first release that saves after each apply.
	autoSaves = 509
)

var (
	flag    = leafOf(words("enable", "disable"))
	byClass = func(r rule) rule { return each(upTo(7), r) }
	profile = rule{sub: map[string]rule{"profile": leafOf(func(_ *Switch, v string) bool { return v != "" })}}
	prioTo  = rule{key: upTo(63), sub: map[string]rule{"*": {sub: map[string]rule{"switch-priority": leafOf(between(0, 7))}}}}
)

// qosRules define what is allowed below qos (Quality of Service, and the command reference).
var qosRules = rule{sub: map[string]rule{
	"roce": {sub: map[string]rule{
		"enable": {leaf: words("on", "off"), until: renamed - 1}, "state": {leaf: words("enabled", "disabled"), since: renamed},
		"mode": leafOf(words("lossless", "lossy", "lossless-single-ipool", "lossy-multi-tc")), "cable-length": leafOf(between(1, 100000)),
	}},
	"mapping": each(anyName, rule{sub: map[string]rule{
		"trust": leafOf(words("l2", "l3", "both", "port")), "port-default-sp": leafOf(between(0, 7)), "dscp": prioTo, "pcp": prioTo,
	}}),
	"egress-queue-mapping": each(oneOf("default-global"), rule{sub: map[string]rule{
		"switch-priority": byClass(rule{sub: map[string]rule{"traffic-class": leafOf(between(0, 7))}}),
	}}),
	"pfc": each(anyName, rule{sub: map[string]rule{
		"switch-priority": byClass(rule{}), "tx": flag, "rx": flag, "cable-length": leafOf(between(1, 100000)),
		"xoff-threshold": leafOf(between(0, 1<<30)), "xon-threshold": leafOf(between(0, 1<<30)), "port-buffer": leafOf(between(0, 1<<30)),
	}}),
	"pfc-watchdog": {sub: map[string]rule{"polling-interval": leafOf(between(100, 5000)), "robustness": leafOf(between(1, 1000))}},
	"link-pause": each(anyName, rule{sub: map[string]rule{
		"tx": flag, "rx": flag, "cable-length": leafOf(between(1, 100000)), "xoff-threshold": leafOf(between(0, 1<<30)), "xon-threshold": leafOf(between(0, 1<<30)), "port-buffer": leafOf(between(0, 1<<30)),
	}}),
	"congestion-control": each(anyName, rule{sub: map[string]rule{"traffic-class": byClass(rule{sub: map[string]rule{
		"ecn": flag, "red": flag, "min-threshold": leafOf(between(0, 1<<32)), "max-threshold": leafOf(between(0, 1<<32)), "probability": leafOf(between(0, 100)),
		"mode": {leaf: words("absolute", "relative"), since: relative}, "min-threshold-percent": {leaf: between(0, 100), since: relative}, "max-threshold-percent": {leaf: between(0, 100), since: relative},
	}})}}),
	"egress-scheduler": each(anyName, rule{sub: map[string]rule{"traffic-class": byClass(rule{sub: map[string]rule{
		"mode": leafOf(words("dwrr", "strict")), "bw-percent": leafOf(between(0, 100)),
	}})}}),
	"egress-shaper": each(anyName, rule{open: true}),
	"remark":        each(anyName, rule{open: true}),
	"traffic-pool": each(oneOf("default-lossy", "default-lossless", "roce-lossy", "roce-lossless", "mc-lossy"), rule{sub: map[string]rule{
		"memory-percent": leafOf(between(0, 100)), "switch-priority": byClass(rule{}),
	}}),
	"advance-buffer-config": each(oneOf("default-global"), rule{open: true}),
	"buffer":                {open: true},
}}

// portQoS defines what is allowed below the qos of an interface.
var portQoS = rule{sub: map[string]rule{
	"mapping": profile, "pfc": profile, "congestion-control": profile, "egress-scheduler": profile, "egress-shaper": profile, "remark": profile, "link-pause": profile,
	"egress-queue-mapping": profile,
	"pfc-watchdog":         {sub: map[string]rule{"state": leafOf(onOff("enable", "disable"))}},
	"headroom":             {open: true}, "shared-headroom-pool": {open: true},
	"small-packet-probability": {leaf: between(1, 100), since: relative},
}}

// portLink defines what is allowed below the link of an interface.
var portLink = rule{sub: map[string]rule{
	"mtu":   leafOf(between(552, 9216)),
	"state": {key: oneOf("up", "down"), sub: map[string]rule{"*": {}}},
	"speed": leafOf(words("auto", "10M", "100M", "1G", "10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G", "1600G")),
	"fec":   leafOf(words("auto", "baser", "off", "rs", "driver-auto")), "auto-negotiate": leafOf(onOff("on", "off")),
	"breakout": {open: true}, "lanes": {open: true}, "duplex": {open: true}, "flap-protection": {open: true}, "dot1x": {open: true}, "fast-linkup": {open: true},
}}

// portRules define what is allowed below an interface, as far as the simulator checks it.
var portRules = map[string]rule{
	"qos": portQoS, "link": portLink,
	"bond":   {open: true, sub: map[string]rule{"member": each(anyName, rule{})}},
	"bridge": {open: true, sub: map[string]rule{"domain": each(anyName, rule{open: true})}},
	"ip":     {open: true, sub: map[string]rule{"address": each(anyName, rule{open: true})}},
}

// check returns the reason why a switch rejects a patch on arrival, or "" if it accepts the patch.
func (s *Switch) check(patch tree) string {
	for _, top := range natural.Keys(patch) {
		if !slices.Contains(tops, top) {
			return fmt.Sprintf("'%s' is not a known object", top)
		}
	}
	if v, ok := patch["qos"]; ok {
		if bad := s.fits(qosRules, v, "qos"); bad != "" {
			return bad
		}
	}
	ports := object(patch, "interface")
	for _, name := range natural.Keys(ports) {
		port, ok := ports[name].(tree)
		if !ok {
			continue
		}
		for _, key := range natural.Keys(portRules) {
			if v, ok := port[key]; ok {
				if bad := s.fits(portRules[key], v, "interface "+name+" "+key); bad != "" {
					return bad
				}
			}
		}
	}
	return ""
}

func (s *Switch) fits(r rule, v any, where string) string {
	m, branch := v.(tree)
	switch {
	case v == nil || r.open && r.sub == nil:
		return ""
	case r.leaf != nil:
		if branch || !r.leaf(s, spell(v)) {
			return fmt.Sprintf("%s: '%s' is not a valid value", where, spell(v))
		}
		return ""
	case !branch:
		return fmt.Sprintf("%s: '%s' is not of type 'object'", where, spell(v))
	}
	for _, k := range natural.Keys(m) {
		sub, ok := r.sub[k]
		if !ok && r.key != nil && r.key(k) {
			sub, ok = r.sub["*"], true
		}
		if !ok && r.open {
			continue
		}
		if !ok || sub.since > s.release || sub.until != 0 && s.release > sub.until {
			return fmt.Sprintf("%s: '%s' is not a valid key", where, k)
		}
		if bad := s.fits(sub, m[k], where+" "+k); bad != "" {
			return bad
		}
	}
	return ""
}

// issue is a problem reported by an apply.
type issue struct{ code, location, reason, severity string }

// invalid returns the reasons why the apply of a configuration is rejected.
func (s *Switch) invalid(t tree) (out []issue) {
	bad := func(where, format string, args ...any) {
		out = append(out, issue{"config_invalid", where, fmt.Sprintf(format, args...), "error"})
	}
	qos := object(t, "qos")
	sum := 0.0
	pools := object(qos, "traffic-pool")
	for name := range pools {
		n, _ := number(pools, name, "memory-percent")
		sum += n
	}
	if sum > 100 {
		bad("qos.traffic-pool", "The total memory allocation across pools must not exceed 100%%")
	}
	if pools["roce-lossless"] != nil && pools["default-lossless"] != nil {
		bad("qos.traffic-pool", "Only one lossless traffic pool can be configured")
	}
	for _, name := range natural.Keys(object(qos, "egress-scheduler")) {
		sum := 0.0
		for _, tc := range object(qos, "egress-scheduler", name, "traffic-class") {
			m, _ := tc.(tree)
			n, _ := number(m, "bw-percent")
			sum += n
		}
		if sum > 100 {
			bad("qos.egress-scheduler."+name, "The sum of bw-percent exceeds 100")
		}
	}
	for _, name := range natural.Keys(object(qos, "congestion-control")) {
		for tc := range object(qos, "congestion-control", name, "traffic-class") {
			low, ok := number(qos, "congestion-control", name, "traffic-class", tc, "min-threshold")
			if high, both := number(qos, "congestion-control", name, "traffic-class", tc, "max-threshold"); ok && both && low > high {
				bad("qos.congestion-control."+name, "min-threshold is above max-threshold")
			}
		}
	}
	lossless := map[string]bool{}
	for name := range object(qos, "pfc") {
		for p := range object(qos, "pfc", name, "switch-priority") {
			lossless[p] = true
		}
	}
	if s.o.MaxLossless > 0 && len(lossless) > s.o.MaxLossless {
		bad("qos.pfc", "At most %d lossless switch priorities are supported", s.o.MaxLossless)
	}
	ports := object(t, "interface")
	for _, name := range natural.Keys(ports) {
		port, _ := ports[name].(tree)
		if isPort(name) && !s.has(name) {
			bad("interface."+name, "Interface %s does not exist", name)
			continue
		}
		bound := object(port, "qos")
		for _, kind := range []string{"mapping", "pfc", "congestion-control", "egress-scheduler", "egress-shaper", "remark", "link-pause"} {
			p := text(bound, kind, "profile")
			if p != "" && p != "default-global" && object(qos, kind)[p] == nil {
				bad("interface."+name+".qos."+kind, "Profile %s is not configured", p)
			}
		}
		pfc := s.pfcOf(t, name)
		if text(bound, "link-pause", "profile") != "" && len(pfc) > 0 {
			bad("interface."+name+".qos", "Link pause and PFC cannot be configured on the same interface")
		}
		if meansOn(text(bound, "pfc-watchdog", "state")) || bound["pfc-watchdog"] != nil && text(bound, "pfc-watchdog", "state") == "" {
			switch {
			case !isPort(name):
				bad("interface."+name+".qos.pfc-watchdog", "PFC watchdog is only supported on physical interfaces")
			case len(pfc) == 0 && text(bound, "link-pause", "profile") == "":
				bad("interface."+name+".qos.pfc-watchdog", "PFC watchdog needs PFC or link pause on the interface")
			}
		}
	}
	return out
}

// meansOn reports whether a keyword means on.
func meansOn(word string) bool { return word == "on" || word == "enable" || word == "enabled" }

func isPort(name string) bool { return strings.HasPrefix(name, "swp") }

// preset returns the mode of the RoCE preset, or "" if it is off.
func preset(t tree) string {
	roce, ok := object(t, "qos")["roce"].(tree)
	if !ok || roce["enable"] != nil && !meansOn(text(roce, "enable")) || roce["state"] != nil && !meansOn(text(roce, "state")) {
		return ""
	}
	if mode := text(roce, "mode"); mode != "" {
		return mode
	}
	return "lossless"
}

// profileOf returns the profile of a family that a port uses: its own, that of the bond of which
// it is a member, or the default.
func profileOf(t tree, port, family string) string {
	ports := object(t, "interface")
	name := text(ports, port, "qos", family, "profile")
	if bond := bondOf(t, port); name == "" && bond != "" {
		name = text(ports, bond, "qos", family, "profile")
	}
	return cmp.Or(name, "default-global")
}

// bondOf returns the bond of which a port is a member; "" if there is none.
func bondOf(t tree, port string) string {
	ports := object(t, "interface")
	for _, bond := range natural.Keys(ports) {
		if _, ok := at(ports, bond, "bond", "member", port); ok {
			return bond
		}
	}
	return ""
}

// pfcOf returns the priorities on which a port uses PFC: those of its profile or of the preset.
func (s *Switch) pfcOf(t tree, port string) []string {
	name := profileOf(t, port, "pfc")
	if p := object(t, "qos", "pfc", name); p != nil {
		return natural.Keys(object(p, "switch-priority"))
	}
	if mode := preset(t); mode == "lossless" || mode == "lossless-single-ipool" {
		return []string{"3"}
	}
	return nil
}
