package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// attachment describes a kind of service-policy line. The key is the line without the policy
// name.
type attachment struct {
	key, typ, dir string
	rank          int // of the line in its block
}

// attachments lists the kinds with the ranks of their lines: qos, queuing, network-qos
// (microsoft/SDN, Nexus 3132-TOR1.cfg).
var attachments = []attachment{
	{"service-policy type qos input", typeQoS, "input", 400},
	{"service-policy type queuing input", typeQueuing, "input", 401},
	{"service-policy type queuing output", typeQueuing, "output", 402},
	{"service-policy type network-qos", typeNetwork, "", 403},
}

// systemQoS adds "system qos" and the service-policy lines there and on ports.
func (g grammar) systemQoS() {
	g.Set([]string{modeGlobal}, "system qos", func(x *exec) string {
		x.enter(cli.Frame{Mode: modeSystemQoS, Places: []cli.Place{cli.At("system qos", rankSystemQoS)}, Prompt: "sys-qos"})
		return ""
	})
	for _, a := range attachments {
		modes := []string{modeSystemQoS, modeEthernet, modePortChannel, modeProfile}
		tail := " [no-stats]"
		if a.typ == typeNetwork {
			modes, tail = modes[:1], ""
		}
		heads := []string{a.key}
		if a.typ == typeQoS {
			heads = append(heads, "service-policy input")
		}
		for _, h := range heads {
			g.Set(modes, h+" <name=qname>"+tail, func(x *exec) string { return x.attach(a) })
			g.Neg(modes, h+" <name=qname>"+tail, func(x *exec) string { return x.detach(a) })
		}
	}
}

// classElsewhere reports whether a queuing class does not exist in a direction.
func (n *NXOS) classElsewhere(dir, name string) bool {
	return n.groupOf(typeQueuing, dir, name) < 0 && !n.o.UserClasses
}

func (x *exec) attach(a attachment) string {
	name := x.Vals["name"]
	_, system := x.n.systemPolicy(a.typ, name)
	p := x.Root.Subs["policy-map type "+a.typ+" "+name]
	if p == nil && !system {
		if out := x.deny("policy-map %s of type %s does not exist", name, a.typ); out != "" {
			return out
		}
	}
	if !x.n.carved && a.typ == typeQoS && !x.loose {
		return moduleStatus + ` "TCAM region is not configured. Please configure TCAM region and retry"`
	}
	if a.typ == typeQueuing && p != nil {
		for _, s := range p.Subs {
			if x.n.classElsewhere(a.dir, s.Name()) {
				if out := x.deny("policy-map %s has class %s, which is none of %s", name, s.Name(), a.dir); out != "" {
					return out
				}
			}
		}
	}
	line := a.key + " " + name
	for _, b := range x.Blocks() {
		if have := attachedName(b, a); have != "" && have != name && a.typ != typeNetwork && !x.n.o.ReplacePolicy {
			if out := x.deny("policy-map %s is attached already", have); out != "" {
				return out
			}
		}
	}
	if system {
		x.Drop(a.key)
		return ""
	}
	if strings.HasSuffix(x.Line, " no-stats") {
		line += " no-stats"
	}
	x.Put(a.key, cli.Value{Line: line, Plain: line, Rank: a.rank})
	return ""
}

func (x *exec) detach(a attachment) string {
	for _, b := range x.Blocks() {
		if attachedName(b, a) != x.Vals["name"] {
			if out := x.deny("policy-map %s is not attached", x.Vals["name"]); out != "" {
				return out
			}
		}
	}
	x.Drop(a.key)
	return ""
}

// attachedName returns the policy that a block attaches; "" if none.
func attachedName(b *cli.Block, a attachment) string {
	name := strings.TrimPrefix(b.Get(a.key), a.key+" ")
	return strings.TrimSuffix(name, " no-stats")
}

// attachedTo returns the header of a block that attaches a policy, in direction dir or, if dir
// is "", in any direction; "" if none does.
func attachedTo(root *cli.Block, typ, dir, name string) string {
	for _, b := range root.Subs {
		if b.Mode != modeSystemQoS && b.Mode != modeProfile && !interfaceModes[b.Mode] {
			continue
		}
		for _, a := range attachments {
			if a.typ == typ && (dir == "" || a.dir == dir) && attachedName(b, a) == name {
				return b.Head
			}
		}
	}
	return ""
}

// Ranks of flow control lines on ports.
const (
	rankPFCMode     = 200
	rankPFCWatchdog = 201
	rankFlowControl = 230
)

// timer is a number of the PFC watchdog with its range and default.
type timer struct {
	words, span, def string
}

var timers = []timer{
	{"watch-dog interval", "100-1000", "100"},
	{"watch-dog shutdown-multiplier", "1-10", "1"},
	{"watch-dog internal-interface-multiplier", "0-10", "2"},
	{"auto-restore multiplier", "0-100", "10"},
	{"fixed-restore multiplier", "0-100", "0"},
}

const pfc = "priority-flow-control "

// flowControl adds PFC and its watchdog, switch-wide and on ports.
func (g grammar) flowControl() {
	global := []string{modeGlobal}
	g.Set(global, pfc+"watch-dog-interval <v=on|off>", setLine(pfc+"watch-dog-interval", rankPFC, pfc+"watch-dog-interval off"))
	g.Neg(global, pfc+"watch-dog-interval [<v=on|off>]", cli.ClearKey[*exec](pfc+"watch-dog-interval"))
	for i, t := range timers {
		key := pfc + t.words
		run := func(then action) action {
			return func(x *exec) string {
				if x.n.o.NoWatchdogTimers {
					first := 1
					if x.Verb != "" {
						first = 2
					}
					return x.invalid(first)
				}
				return then(x)
			}
		}
		g.Set(global, key+" <v="+t.span+">", run(setLine(key, rankPFC+1+i, key+" "+t.def)))
		g.Neg(global, key+" [<v="+t.span+">]", run(cli.ClearKey[*exec](key)))
	}
	g.Set(global, pfc+"override-interface mode off", setLine(pfc+"override-interface", rankPFC+9))
	g.Neg(global, pfc+"override-interface mode [off]", cli.ClearKey[*exec](pfc+"override-interface"))

	ports := []string{modeEthernet, modePortChannel, modeProfile}
	mode := setLine(pfc+"mode", rankPFCMode, pfc+"mode auto")
	g.Set(ports, pfc+"mode <v=auto|on|off>", mode)
	g.Set(ports, pfc+"mode on send-tlv", mode)
	g.Neg(ports, pfc+"mode [<v=auto|on|off> [send-tlv]]", cli.ClearKey[*exec](pfc+"mode"))
	wd := pfc + "watch-dog-interval"
	g.Set(ports, wd+" off", setLine(wd, rankPFCWatchdog, wd+" off"))
	g.Set(ports, wd+" on [interface-multiplier <n=0-40>] [disable-action]", setLine(wd, rankPFCWatchdog))
	g.Neg(ports, wd+" [<v=on|off> [<rest=text>]]", cli.ClearKey[*exec](wd))
	for i, dir := range []string{"receive", "send"} {
		key := "flowcontrol " + dir
		g.Set(ports, key+" <v=on|off>", setLine(key, rankFlowControl+i, key+" off"))
		g.Neg(ports, key+" [<v=on|off>]", cli.ClearKey[*exec](key))
	}
}
