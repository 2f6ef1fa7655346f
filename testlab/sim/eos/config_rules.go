package eos

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

const unavailable = "% Unavailable command (not supported on this hardware platform)"

// Modes with their own grammar.
const (
	modeGlobal           = "global"
	modeDefaults         = "interface defaults"
	modeEthernetDefaults = "interface defaults ethernet"
	modeEthernet         = "ethernet"
	modePortChannel      = "port-channel"
	modeLogical          = "logical" // Loopback, Management, Vlan, ...
	modeProfile          = "qos profile"
	modeTxQueue          = "tx-queue"
	modeMcQueue          = "mc-tx-queue"
	modeClassMap         = "class-map"
	modePolicyMap        = "policy-map"
	modeClass            = "policy-map class"
	modeMMU              = "mmu profile"
	modeACL              = "access-list"
)

var interfaceModes = map[string]bool{modeEthernet: true, modePortChannel: true, modeLogical: true}

// Ranks order the items of a block. At the root, the hundreds are the section; sections are
// separated by a line with "!".
const (
	rankAAARoot    = 1000
	rankUser       = 2000
	rankHWCounter  = 3000
	rankPortMode   = 3800
	rankDefaults   = 4450
	rankMMUProfile = 6500
	rankHostname   = 7000
	rankProfile    = 8000
	rankPlatform   = 9000
	rankInterface  = 15000 // plus a hundred per type
	rankACL        = 16000
	rankBanner     = 19450
	rankQoS        = 19500
	rankECNGlobal  = 20000
	rankClassMap   = 20500
	rankPolicyMap  = 20700
	rankPFC        = 21000
	rankMMUApply   = 22500
)

// Ranks in interfaces and qos profiles (aristanetworks/avd, ethernet-interfaces.j2 and
// qos-profiles.j2). In a profile, ranks from pfcFrom to pfcTo are printed after the queues.
const (
	rankServicePolicy  = 150
	rankServiceProfile = 160
	rankTrust          = 170
	rankShape          = 180
	pfcFrom, pfcTo     = 190, 219
	rankQueue          = 300
)

// commands returns the grammar of all modes. A command that a hardware family does not support is
// rejected when it is used.
var commands = sync.OnceValue(func() grammar {
	g := grammar{cli.NewGrammar[*exec](params)}
	g.qosGlobal()
	g.qosPort()
	g.queues()
	g.watchdog()
	g.buffers()
	g.policies()
	g.ports()
	g.portDefaults()
	g.texts()
	return g
})

// setLine sets the line under a key. If the line equals one of the defaults, it is omitted wherever
// defaults are not printed.
func setLine(key string, rank int, defaults ...string) action {
	return func(x *exec) string {
		v := value{Line: x.Line, Plain: x.Line, Rank: rank}
		if slices.Contains(defaults, x.Line) {
			v.Plain = ""
		}
		x.Put(key, v)
		return ""
	}
}

// setNegated stores "no ..." as a setting; "default ..." resets the key.
func setNegated(key string, rank int) action {
	return func(x *exec) string {
		if x.Verb == "default" {
			x.Drop(key)
			return ""
		}
		line := "no " + key
		x.Put(key, value{Line: line, Plain: line, Rank: rank})
		return ""
	}
}

func (g grammar) qosGlobal() {
	at := []string{modeGlobal}
	for name, pattern := range map[string]string{
		mapDSCP:       "dscp <from=dscps> to traffic-class <to=0-7> [drop-precedence <dp=0-2>]",
		mapCoS:        "cos <from=eights> to traffic-class <to=0-7>",
		mapExp:        "exp <from=eights> to traffic-class <to=0-7>",
		mapTCtoCoS:    "traffic-class <from=eights> to cos <to=0-7>",
		mapTCtoDSCP:   "traffic-class <from=eights> to dscp <to=0-63>",
		mapTCtoMcQ:    "traffic-class <from=eights> to mc-tx-queue <to=0-3>",
		"tx-queue":    "traffic-class <from=eights> to tx-queue <to=0-7>",
		"uc-tx-queue": "traffic-class <from=eights> to uc-tx-queue <to=0-7>",
	} {
		g.Set(at, "qos map "+pattern, setMap(name))
		// The target may be omitted when a DSCP or CoS is reset. A traffic class has several maps,
		// so the word after "to" is required.
		head, tail, _ := strings.Cut(pattern, " to ")
		if to, rest, _ := strings.Cut(tail, " "); strings.HasPrefix(pattern, "traffic-class") {
			g.Neg(at, "qos map "+head+" to "+to+" ["+rest+"]", resetMap(name))
		} else {
			g.Neg(at, "qos map "+head+" [to "+tail+"]", resetMap(name))
		}
	}
	g.Set(at, "qos rewrite dscp", setLine("qos rewrite dscp", rankQoS))
	g.Neg(at, "qos rewrite dscp", cli.ClearKey[*exec]("qos rewrite dscp"))
	ecn := "qos random-detect ecn allow non-ect"
	g.Set(at, ecn+" [chip-based]", setLine(ecn, rankECNGlobal))
	g.Neg(at, ecn+" [chip-based]", cli.ClearKey[*exec](ecn))
	g.Neg(at, "qos random-detect ecn global-buffer", func(*exec) string { return "" })
	for _, kw := range []string{"tx-queue", "uc-tx-queue"} {
		g.Set(at, "qos "+kw+" <q=0-7> name <name=name>", ofKeyword(kw, keepNamed))
		g.Neg(at, "qos "+kw+" <q=0-7> name [<name=name>]", ofKeyword(kw, dropNamed))
	}
	g.Set(at, "qos traffic-class <q=0-7> name <name=name>", keepNamed)
	g.Neg(at, "qos traffic-class <q=0-7> name [<name=name>]", dropNamed)

	g.Set(at, "qos profile <name=name>", func(x *exec) string {
		x.Enter(cli.Frame{Mode: modeProfile, Places: []cli.Place{cli.At(x.Line, rankProfile)}, Prompt: "qos-profile-" + x.Vals["name"]})
		return ""
	})
	g.Neg(at, "qos profile <name=name>", func(x *exec) string {
		// Interfaces keep their service-profile line.
		delete(x.cfg.root.Subs, x.Line)
		return ""
	})
}

func keepNamed(x *exec) string {
	words := strings.Fields(x.Line)
	x.Put(strings.Join(words[:4], " "), value{Line: x.Line, Plain: x.Line, Rank: rankQoS + 9})
	return ""
}

func dropNamed(x *exec) string {
	x.Drop(strings.Join(strings.Fields(x.Line)[:4], " "))
	return ""
}

// ofKeyword allows a command only on boxes whose queues have the given keyword.
func ofKeyword(kw string, run action) action {
	return func(x *exec) string {
		if x.e.o.QueueKeyword != kw {
			return unavailable
		}
		return run(x)
	}
}

// mapFor returns the name of the map that a command refers to, or "" if the box has no such
// queues.
func (e *EOS) mapFor(name string) string {
	switch {
	case name == e.o.QueueKeyword:
		return mapTCtoQueue
	case name == "tx-queue", name == "uc-tx-queue", name == mapTCtoMcQ && e.o.QueueKeyword == "tx-queue":
		return ""
	}
	return name
}

func setMap(name string) action {
	return func(x *exec) string {
		key := x.e.mapFor(name)
		if key == "" {
			return unavailable
		}
		to := x.Vals["to"]
		if dp := x.Vals["dp"]; dp != "" {
			to += " drop-precedence " + dp
		}
		m := maps.Clone(x.cfg.maps[key])
		if m == nil {
			m = map[int]string{}
		}
		for _, n := range splitList(x.Vals["from"]) {
			m[n] = to
		}
		x.cfg.maps[key] = m
		return ""
	}
}

func resetMap(name string) action {
	return func(x *exec) string {
		key := x.e.mapFor(name)
		if key == "" {
			return unavailable
		}
		m := maps.Clone(x.cfg.maps[key])
		for _, n := range splitList(x.Vals["from"]) {
			delete(m, n)
		}
		if len(m) == 0 {
			delete(x.cfg.maps, key)
			return ""
		}
		x.cfg.maps[key] = m
		return ""
	}
}

// qosPort adds the common settings of ports and qos profiles.
func (g grammar) qosPort() {
	marked := []string{modeEthernet, modePortChannel, modeProfile}
	g.Set(marked, "qos trust <mode=cos|dscp>", setLine("qos trust", rankTrust))
	g.Neg(marked, "qos trust [<mode=cos|dscp>]", setNegated("qos trust", rankTrust))
	g.Set(marked, "qos cos <n=0-7>", setLine("qos cos", rankTrust+1, "qos cos 0"))
	g.Neg(marked, "qos cos [<n=0-7>]", cli.ClearKey[*exec]("qos cos"))
	g.Set(marked, "qos dscp <n=0-63>", setLine("qos dscp", rankTrust+2, "qos dscp 0"))
	g.Neg(marked, "qos dscp [<n=0-63>]", cli.ClearKey[*exec]("qos dscp"))
	g.shape(marked, rankShape)
	g.Set(marked, "service-policy type <type=qos|pbr|pdp> input <name=name>", func(x *exec) string {
		x.Put("service-policy "+x.Vals["type"], value{Line: x.Line, Plain: x.Line, Rank: rankServicePolicy})
		return ""
	})
	g.Neg(marked, "service-policy type <type=qos|pbr|pdp> input [<name=name>]", func(x *exec) string {
		x.Drop("service-policy " + x.Vals["type"])
		return ""
	})
	carrying := []string{modeEthernet, modePortChannel}
	g.Set(carrying, "service-profile <name=name>", func(x *exec) string {
		x.Put("service-profile", value{Line: x.Line, Plain: x.Line, Rank: rankServiceProfile})
		if x.cfg.root.Subs["qos profile "+x.Vals["name"]] == nil {
			return "! QoS profile " + x.Vals["name"] + " is not configured"
		}
		return ""
	})
	g.Neg(carrying, "service-profile [<name=name>]", cli.ClearKey[*exec]("service-profile"))

	at := []string{modeEthernet, modeProfile}
	g.Set(at, "priority-flow-control on", setLine("pfc", pfcFrom))
	g.Neg(at, "priority-flow-control [on]", cli.ClearKey[*exec]("pfc"))
	g.Set(at, "priority-flow-control priority <n=0-7> <drop=no-drop|drop>", func(x *exec) string {
		for _, b := range x.Blocks() {
			v := value{Line: x.Line, Plain: x.Line, Rank: pfcFrom + 1 + int(x.Vals["n"][0]-'0')}
			// On a port with a profile, the line is not just the default, because it overrides the
			// profile.
			if x.Vals["drop"] == "drop" && b.Get("service-profile") == "" {
				v.Plain = ""
			}
			b.Put("pfc "+x.Vals["n"], v)
		}
		return ""
	})
	g.Neg(at, "priority-flow-control priority <n=0-7> [<drop=no-drop|drop>]", func(x *exec) string {
		x.Drop("pfc " + x.Vals["n"])
		return ""
	})
}

const maxRate = "1-1000000000"

func (g grammar) shape(modes []string, rank int) {
	g.Set(modes, "shape rate <n=1-100> percent", setLine("shape rate", rank))
	g.Set(modes, "shape rate <n="+maxRate+"> <unit=kbps|pps>", setLine("shape rate", rank))
	g.Neg(modes, "shape rate [<rest=text>]", cli.ClearKey[*exec]("shape rate"))
}
