package nxos

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// defaults returns the lines that `show running-config all` adds, by key.
func (p *printer) defaults(b *cli.Block) map[string]thing {
	out := map[string]thing{}
	def := func(rank int, key, line string) { out[key] = thing{rank: rank, line: line} }
	switch b.Mode {
	case modeEthernet, modePortChannel:
		if bridgesByDefault(p.cfg) {
			def(rankSwitchport, "switchport", "switchport")
		} else {
			def(rankSwitchport, "switchport", "no switchport")
		}
		def(rankPFCMode, pfc+"mode", pfc+"mode auto")
		def(rankPFCWatchdog, pfc+"watch-dog-interval", pfc+"watch-dog-interval off")
		def(rankFlowControl, "flowcontrol receive", "flowcontrol receive off")
		def(rankFlowControl+1, "flowcontrol send", "flowcontrol send off")
		def(rankMTU, "mtu", "mtu "+defaultMTU)
		def(rankShutdown, "shutdown", "no shutdown")
	case modeSub, modeVlanIf, modeLogical:
		def(rankMTU, "mtu", "mtu "+defaultMTU)
		def(rankShutdown, "shutdown", "no shutdown")
	case modeSystemQoS:
		for _, a := range attachments {
			if name := p.n.defaultPolicy(a); name != "" {
				def(a.rank, a.key, a.key+" "+name)
			}
		}
	case "":
		def(rankPFC, pfc+"watch-dog-interval", pfc+"watch-dog-interval off")
		if !p.n.o.NoWatchdogTimers {
			for i, t := range timers {
				def(rankPFC+1+i, pfc+t.words, pfc+t.words+" "+t.def)
			}
		}
		def(2000, "system jumbomtu", "system jumbomtu "+defaultJumb)
	}
	return out
}

// defaultPolicy returns the policy in force if none is attached under system qos; "" if there is
// none.
func (n *NXOS) defaultPolicy(a attachment) string {
	switch {
	case a.typ == typeQoS:
		return ""
	case a.typ == typeNetwork && n.o.FourQueue:
		return "default-nq-policy"
	case a.typ == typeNetwork:
		return "default-8q-nq-policy"
	case a.dir == "input":
		return "default-in-policy"
	case n.o.FourQueue:
		return "default-out-policy"
	}
	return "default-8q-out-policy"
}

// systemPolicy returns a system-defined policy-map.
func (n *NXOS) systemPolicy(typ, name string) (policyMap, bool) {
	for _, a := range attachments {
		if a.typ != typ || name == "" || n.defaultPolicy(a) != name {
			continue
		}
		p := policyMap{Type: typ, Name: name, System: true}
		if typ == typeNetwork {
			last := n.fixedClasses(typ, "")
			c := last[len(last)-1]
			c.Lines = []string{"mtu " + defaultMTU}
			p.Classes = []policyClass{c}
			return p, true
		}
		p.Classes = n.fixedClasses(typ, a.dir)
		if a.dir == "input" {
			p.Classes = p.Classes[len(p.Classes)-1:]
			p.Classes[0].Lines = []string{"bandwidth percent 100"}
			return p, true
		}
		for i := range p.Classes {
			c := &p.Classes[i]
			switch {
			case i == 0:
				c.Lines = []string{"priority level 1"}
			case c.Group == 0:
				c.Lines = []string{"bandwidth remaining percent 100"}
			default:
				c.Lines = []string{"bandwidth remaining percent 0"}
			}
		}
		return p, true
	}
	return policyMap{}, false
}

// systemPolicies returns the system-defined policy-maps of a type.
func (n *NXOS) systemPolicies(typ string) []policyMap {
	var out []policyMap
	for _, a := range attachments {
		if p, ok := n.systemPolicy(typ, n.defaultPolicy(a)); ok && a.typ == typ {
			out = append(out, p)
		}
	}
	return out
}

// systemClasses returns the system-defined class-maps of a type.
func (n *NXOS) systemClasses(typ string) []classMap {
	var out []classMap
	add := func(dir string) {
		for _, c := range n.fixedClasses(typ, dir) {
			out = append(out, classMap{Type: typ, Match: "match-any", Name: c.Name, System: true, Lines: []string{"match qos-group " + strconv.Itoa(c.Group)}})
		}
	}
	switch typ {
	case typeQueuing:
		add("output")
		add("input")
	case typeNetwork:
		add("")
	}
	return out
}

// systemBlocks returns the system-defined class-maps and policy-maps, and system qos, as blocks
// of a configuration.
func (n *NXOS) systemBlocks() map[string]*cli.Block {
	root := &cli.Block{}
	for _, m := range mqcs {
		for _, c := range n.systemClasses(m.typ) {
			head := "class-map type " + m.typ + " " + c.Match + " " + c.Name
			fill(root.Open("class-map type "+m.typ+" "+c.Name, head, m.class, m.classRank), c.Lines)
		}
		for _, p := range n.systemPolicies(m.typ) {
			b := root.Open("policy-map type "+m.typ+" "+p.Name, "policy-map type "+m.typ+" "+p.Name, m.policy, m.policyRank)
			for _, c := range p.Classes {
				head := classHead(m.typ, c.Name)
				fill(b.Open(head, head, m.action, 10), c.Lines)
			}
		}
	}
	root.Open("system qos", "system qos", modeSystemQoS, rankSystemQoS)
	for _, s := range root.Subs {
		s.Seq -= 1000 // before user-defined ones
	}
	return root.Subs
}

func fill(b *cli.Block, lines []string) {
	for _, l := range lines {
		b.Put(l, cli.Value{Line: l, Plain: l})
	}
}

// linesOf returns the lines that a block prints below its header.
func (n *NXOS) linesOf(b *cli.Block) []string {
	p := n.printer(n.running, false)
	for _, t := range p.things(b) {
		p.thing(t, "")
	}
	return cli.SplitLines(strings.TrimSuffix(p.String(), "\n"))
}
