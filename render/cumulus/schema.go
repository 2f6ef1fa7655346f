package cumulus

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// place describes a place in NVUE's tree to this package: parser, decoder, account and editor read
// this table. What it does not list is of no concern to an intent, or unknown.
type place struct {
	sub map[string]*place
	// each describes every key of a collection. Its keys are numbers from 0 to most, which a text
	// may write as ranges, or any names if most is negative.
	each *place
	most int

	leaf  bool // has a value
	count bool // the value is a whole number
	state bool // the value is on or off, in the words of any release
	// known is set if this package reads the place.
	known bool
	// concerns is set if an account must list this place and those below it.
	concerns bool
	// left says why the model cannot represent this place and those below it, except known ones;
	// open is as in [Unknown].
	left string
	open bool
	// idle returns why a value here or below changes nothing; "" if it is the default.
	idle func(a *accountant, p Path) (render.Fate, string)
}

// named returns a collection with names as keys, numbered one with numbers up to most.
func named(each *place) *place              { return &place{each: each, most: -1} }
func numbered(most int, each *place) *place { return &place{each: each, most: most} }

// read marks a place as known.
func (p *place) read() *place { p.known = true; return p }

// idleIf adds a reason why values change nothing.
func (p *place) idleIf(idle func(a *accountant, p Path) string) *place {
	p.idle = func(a *accountant, at Path) (render.Fate, string) { return render.Inert, idle(a, at) }
	return p
}

// leftAs adds a reason why the model cannot represent a place.
func (p *place) leftAs(why string, open bool) *place {
	p.left, p.open = why, open
	return p
}

func word() *place    { return &place{leaf: true, known: true} }
func onOff() *place   { return &place{leaf: true, known: true, state: true} }
func integer() *place { return &place{leaf: true, known: true, count: true} }

// kept returns a value that stays as it is, keptInteger one that must be a whole number.
func kept(why string, open bool) *place { return &place{leaf: true, left: why, open: open} }
func keptInteger(why string, open bool) *place {
	return &place{leaf: true, count: true, left: why, open: open}
}

type keys = map[string]*place

const (
	byHand     = "headroom set by hand, which NVIDIA advises against; it stays as it is"
	ofPause    = "a setting of link pause; it stays as it is"
	ofRewrites = "rewriting of marks; it stays as it is"
	onPort     = "headroom of the port set by hand; it stays as it is"
	smaller    = "it makes the headroom that the switch computes smaller"
	trimming   = "packet trimming; it stays as it is"
	adaptive   = "adaptive routing; it stays as it is"
	tunnel     = "the marks of a tunnel, which only checks read; it stays as it is"
)

// root is NVUE's tree. ranged holds its collections whose keys may be ranges of numbers, and
// leafNames the names of its values.
var (
	root              *place
	ranged, leafNames = map[string]bool{"multicast-switch-priority": true}, map[string]bool{}
)

func init() {
	root = &place{sub: topPlaces()}
	var walk func(*place)
	walk = func(p *place) {
		for name, s := range p.sub {
			ranged[name] = ranged[name] || s.each != nil && s.most >= 0
			leafNames[name] = leafNames[name] || s.leaf
			walk(s)
		}
		if p.each != nil {
			walk(p.each)
		}
	}
	walk(root)
}

func topPlaces() keys {
	return keys{
		"qos":       qosPlaces(),
		"interface": named(&place{sub: keys{"qos": portPlaces(), "link": linkPlaces(), "packet-trim": {concerns: true, left: trimming}, "router": {sub: keys{"adaptive-routing": {concerns: true, left: adaptive}}}}}),
		"system": {sub: keys{"forwarding": {sub: keys{"packet-trim": {concerns: true, left: trimming, sub: keys{
			"switch-priority": {leaf: true}, "traffic-class": {leaf: true}, "remark": {sub: keys{"dscp": {leaf: true}, "pcp": {leaf: true}}},
		}}}}}},
		"router": {sub: keys{"adaptive-routing": {concerns: true, left: adaptive}}},
		"nve": {sub: keys{"vxlan": {sub: keys{
			"encapsulation": {sub: keys{"dscp": {concerns: true, sub: keys{"action": kept(tunnel, false), "value": kept(tunnel, false)}}}},
			"decapsulation": {sub: keys{"dscp": {concerns: true, sub: keys{"action": kept(tunnel, false)}}}},
		}}}},
		"acl": named(&place{sub: keys{"rule": named(&place{sub: keys{"action": {sub: keys{"set": named(&place{
			concerns: true, left: "an access list that sets marks; what it matches is not read", open: true,
		})}}}})}}),
	}
}

func qosPlaces() *place {
	p := &place{concerns: true, sub: keys{
		"roce": (&place{sub: keys{"state": onOff(), "enable": onOff(), "mode": word(), "cable-length": integer()}}).read().idleIf(idlePreset),
		famMapping: named((&place{sub: keys{
			"trust": word(), "port-default-sp": kept("the priority of packets without a mark that counts", false),
			"dscp": mapPlaces(63), "pcp": mapPlaces(7),
		}}).read()).read(),
		famPFC: named((&place{sub: keys{
			"tx": onOff(), "rx": onOff(), "cable-length": integer(), "switch-priority": numbered(7, (&place{}).read()).read(),
			"xoff-threshold": kept(byHand, true), "xon-threshold": kept(byHand, true), "port-buffer": kept(byHand, true), "small-packet-probability": kept(smaller, true),
		}}).read()).idleIf(func(a *accountant, p Path) string {
			if a.v.pfc(p[2]).pausedBothWays() == 0 {
				return "the profile pauses no priority in both directions"
			}
			return ""
		}),
		famECN: queuePlaces(keys{
			"ecn": onOff(), "red": onOff(), "mode": word(), "probability": integer(), "min-threshold": integer(), "max-threshold": integer(),
			"min-threshold-percent": integer(), "max-threshold-percent": integer(),
		}).idleIf(idleCurve),
		famScheduler: queuePlaces(keys{"mode": word(), "bw-percent": integer()}).idleIf(func(a *accountant, p Path) string {
			if p[len(p)-1] == "bw-percent" && a.c.Tree.At(append(p[:5:5], "mode")...).Word() == "strict" {
				return "a strict queue has no share"
			}
			return ""
		}),
		famShaper: queuePlaces(keys{"min-rate": integer(), "max-rate": integer()}),
		"egress-queue-mapping": {sub: keys{global: (&place{sub: keys{
			"switch-priority": numbered(7, (&place{sub: keys{"traffic-class": integer()}}).read()).read(),
		}}).read()}},
		"pfc-watchdog": (&place{sub: keys{"polling-interval": integer(), "robustness": integer()}}).idleIf(func(*accountant, Path) string {
			return "no port has the watchdog on, or the line states the default"
		}),
		famRemark: named((&place{sub: keys{
			"switch-priority": numbered(7, (&place{sub: keys{"dscp": integer(), "pcp": keptInteger(ofRewrites, false)}}).read()), "rewrite": kept(ofRewrites, false),
		}}).read()).read().idleIf(func(a *accountant, _ Path) string {
			if !a.v.rewrites {
				return "no profile rewrites marks"
			}
			return ""
		}),
		famPause: named((&place{sub: keys{
			"tx": onOff(), "rx": onOff(), "xoff-threshold": kept(ofPause, false), "xon-threshold": kept(ofPause, false), "port-buffer": kept(ofPause, false), "cable-length": keptInteger(ofPause, false),
		}}).read()).read(),
		"traffic-pool":          named(&place{sub: keys{"memory-percent": integer(), "switch-priority": numbered(7, &place{})}}).leftAs("the priorities of a pool; it stays as it is", false),
		"advance-buffer-config": named(&place{sub: keys{}}).leftAs("buffers tuned by hand; they stay as they are", true),
	}}
	p.sub[famShaper].each.sub["mode"] = word()
	p.sub[famShaper].each.sub["port-max-rate"] = kept("a rate of the port as a whole", true)
	p.sub["traffic-pool"].idle = func(*accountant, Path) (render.Fate, string) {
		return render.Left, "a share of the packet memory; it stays as it is"
	}
	return p
}

// mapPlaces returns a map from code points to priorities.
func mapPlaces(most int) *place {
	return numbered(most, (&place{sub: keys{"switch-priority": integer()}}).read()).idleIf(func(a *accountant, p Path) string {
		m := a.v.mapping(p[2])
		if a.unread(m.trust, map[string]qos.Table{"dscp": qos.DSCPToTC, "pcp": qos.PCPToTC}[p[3]]) {
			return "the profile trusts another field, " + m.word
		}
		return ""
	})
}

// queuePlaces returns a family of profiles with settings for each queue.
func queuePlaces(settings keys) *place {
	return named((&place{sub: keys{"traffic-class": numbered(7, (&place{sub: settings}).read())}}).read()).read()
}

func portPlaces() *place {
	p := &place{concerns: true, sub: keys{
		"egress-queue-mapping": {sub: keys{"profile": {leaf: true}}},
		"pfc-watchdog":         (&place{sub: keys{"state": onOff(), "enable": onOff()}}).read(),
		"headroom":             kept(onPort, true), "shared-headroom-pool": kept(onPort, true), "small-packet-probability": kept(smaller, true),
	}}
	for _, f := range families {
		p.sub[f] = (&place{sub: keys{"profile": word()}}).read()
	}
	return p
}

func linkPlaces() *place {
	mtu := word()
	mtu.concerns = true
	return &place{sub: keys{"mtu": mtu, "state": {leaf: true}, "speed": {leaf: true}, "fec": {leaf: true}, "auto-negotiate": {leaf: true}}}
}

func idlePreset(a *accountant, p Path) string {
	switch {
	case a.v.preset == nil:
		return "the preset is off"
	case p[len(p)-1] == "cable-length" && !a.v.preset.lossless():
		return "the mode of the preset pauses nothing"
	}
	return ""
}

func idleCurve(a *accountant, p Path) string {
	last := p[len(p)-1]
	percent := strings.HasSuffix(last, "-percent")
	if !percent && !strings.HasSuffix(last, "-threshold") && last != "probability" {
		return ""
	}
	tc := a.c.Tree.At(p[:5]...)
	switch {
	case last != "probability" && percent != (tc.At("mode").Word() == "relative"):
		return "the thresholds of the queue are in the other unit"
	case !onOr(tc.At("ecn"), true) && !onOr(tc.At("red"), false):
		return "the queue neither marks nor drops at random"
	}
	return ""
}

// found is what the table says about a path.
type found struct {
	*place        // nil for a path that the table does not list
	numbers  bool // the keys of collections are in their ranges
	concerns bool
	left     string
	open     bool
	idle     func(a *accountant, p Path) (render.Fate, string)
}

// lookup finds a path in the table.
func lookup(path Path) found {
	f := found{place: root, numbers: true}
	for _, key := range path {
		at := f.place
		next := at.sub[key]
		if next == nil && at.each != nil {
			next = at.each
			if n, ok := digits(key); at.most >= 0 && (!ok || n > at.most) {
				f.numbers = false
			}
		}
		if next == nil {
			f.place = nil
			return f
		}
		f.place = next
		f.concerns = f.concerns || next.concerns
		if next.left != "" || next.known {
			f.left, f.open = next.left, next.open
		}
		if next.idle != nil {
			f.idle = next.idle
		}
	}
	return f
}

// reads reports whether this package reads the value at a path.
func reads(path Path) bool {
	f := lookup(path)
	return f.place != nil && f.numbers && f.known
}

// concerns reports whether an account must list values at a path.
func concerns(path Path) bool {
	return len(path) > 0 && lookup(path).concerns && (path[0] != "interface" || len(path) > 3)
}

// noPlace returns why the model cannot represent a value; "" if it can, or if the value is of no
// concern to an intent. open is as in [Unknown].
func noPlace(at Path, leaf *Node) (why string, open bool) {
	f := lookup(at)
	if f.place != nil && f.count && leaf.Kind != Branch && !isCount(leaf.Value) {
		return "not a whole number, as NVUE requires here; read as if it were not set", true
	}
	if _, ok := isOn(leaf.Word()); f.place != nil && f.state && leaf.Kind != Branch && !ok {
		return "neither on nor off, as NVUE requires here; read as if it were not set", true
	}
	return f.left, f.open
}

func isCount(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// isLeaf reports whether a path leads to a value, so that the next word is not a key.
func isLeaf(path Path) bool {
	if f := lookup(path); f.place != nil {
		return f.leaf
	}
	last := path[len(path)-1]
	return !ranged[last] && (leafNames[last] || slices.Contains(otherLeaves, last))
}

// otherLeaves lists names of values outside the table.
var otherLeaves = []string{
	"description", "exclusive-headroom-per-pg", "extra-threshold", "hostname", "infinite", "link-utilization-threshold", "name", "oversubscription-ratio", "port-max-rate",
	"port-shared-buffer", "required-headroom-per-pg", "reserved", "service-pool", "service-port", "shared-alpha", "shared-bytes", "size", "type",
}
