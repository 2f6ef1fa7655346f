package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// portState is the state of an interface that show commands print.
type portState struct {
	Name, Kind, Description string // Kind is the prefix of the name: "Ethernet", "port-channel", ...
	Address                 string // as configured; "" for none
	MTU                     int    // bytes
	Routed, Shutdown        bool
	Wire                    cli.Wire

	PFC                          string // "auto", "on" or "off"
	SendTLV                      bool
	Watchdog, DisableAction      bool
	WatchdogMultiplier           int    // 0 for the switch-wide value
	QoSIn, QueuingIn, QueuingOut string // policies on the port itself; "" for none
	Lines                        []string
}

// portStates returns the interfaces of the running configuration in printing order.
func (n *NXOS) portStates() []portState {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	var out []portState
	for _, t := range n.printer(n.running, false).things(n.running) {
		if t.sub != nil && interfaceModes[t.sub.Mode] {
			out = append(out, n.portState(t.sub))
		}
	}
	return out
}

func (n *NXOS) portState(b *cli.Block) portState {
	p := portState{Name: b.Name(), Description: strings.TrimPrefix(b.Get("description"), "description "), PFC: "auto", Lines: n.linesOf(b)}
	b = inForce(n.running, b)
	p.Kind = strings.TrimRight(p.Name, "0123456789/.")
	p.Address = strings.TrimPrefix(b.Get("ip address"), "ip address ")
	p.MTU = numberOf(b.Get("mtu"), "mtu ", defaultMTU)
	p.Routed = routed(n.running, b)
	p.Shutdown = b.Get("shutdown") == "shutdown"
	p.Wire = n.wireOf(b)
	if f := strings.Fields(b.Get(pfc + "mode")); len(f) > 2 {
		p.PFC, p.SendTLV = f[2], len(f) > 3
	}
	if f := strings.Fields(b.Get(pfc + "watch-dog-interval")); len(f) > 2 && f[2] == "on" {
		p.Watchdog, p.DisableAction = true, slices.Contains(f, "disable-action")
		if i := slices.Index(f, "interface-multiplier"); i >= 0 && i+1 < len(f) {
			p.WatchdogMultiplier = numberOf(f[i+1], "", "0")
		}
	}
	p.QoSIn, p.QueuingIn, p.QueuingOut = attachedName(b, attachments[0]), attachedName(b, attachments[1]), attachedName(b, attachments[2])
	return p
}

// wireOf returns the link settings of a port. Speeds are in Mb/s.
func (n *NXOS) wireOf(b *cli.Block) cli.Wire {
	fec := map[string]string{"off": "none", "fc-fec": "fc", "rs-fec": "rs", "rs-ieee": "rs", "rs-cons16": "rs", "kp-fec": "rs"}
	off := n.running.Get("feature lldp") == ""
	return cli.Wire{Speed: int64(numberOf(b.Get("speed"), "speed ", "0")) * 1_000_000, FEC: fec[strings.TrimPrefix(b.Get("fec"), "fec ")],
		Mute: off || b.Get("lldp transmit") == "no lldp transmit", Deaf: off || b.Get("lldp receive") == "no lldp receive"}
}

// Wire returns the link settings of a port.
func (n *NXOS) Wire(port string) cli.Wire {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	if b := n.running.Subs["interface "+port]; b != nil {
		return n.wireOf(inForce(n.running, b))
	}
	return cli.Wire{}
}

// numberOf returns the number after the words of a line, or def if the line is "".
func numberOf(line, words, def string) int {
	if line == "" {
		line, words = def, ""
	}
	n, err := strconv.Atoi(strings.TrimPrefix(line, words))
	if err != nil {
		return 0 // cannot happen: the grammar only accepts numbers
	}
	return n
}

// qosState holds the switch-wide QoS settings in force.
type qosState struct {
	// Policies in force under system qos; the name of the default policy if none is attached.
	// Type qos has no default.
	QoSIn, NetworkQoS, QueuingIn, QueuingOut string

	Watchdog                  bool
	WatchdogInterval          int // milliseconds
	ShutdownMultiplier        int
	AutoRestore, FixedRestore int // multipliers
	InternalMultiplier        int
	OverrideOff               bool // PFC is off on all ports
}

func (n *NXOS) qosState() qosState {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	root := n.running
	t := make([]int, len(timers))
	for i, w := range timers {
		t[i] = numberOf(root.Get(pfc+w.words), pfc+w.words+" ", w.def)
	}
	return qosState{
		QoSIn: n.inForce(attachments[0]), QueuingIn: n.inForce(attachments[1]), QueuingOut: n.inForce(attachments[2]), NetworkQoS: n.inForce(attachments[3]),
		Watchdog:         root.Get(pfc+"watch-dog-interval") != "",
		WatchdogInterval: t[0], ShutdownMultiplier: t[1], InternalMultiplier: t[2], AutoRestore: t[3], FixedRestore: t[4],
		OverrideOff: root.Get(pfc+"override-interface") != "",
	}
}

// inForce returns the policy of a kind that is in force under system qos. The caller holds mu.
func (n *NXOS) inForce(a attachment) string {
	if b := n.running.Subs["system qos"]; b != nil {
		if name := attachedName(b, a); name != "" {
			return name
		}
	}
	return n.defaultPolicy(a)
}

// policyMap is a configured policy-map or a system-defined one.
type policyMap struct {
	Type, Name, Description string
	System                  bool
	Classes                 []policyClass
}

// policyClass is a class of a policy-map.
type policyClass struct {
	Name  string
	Group int      // qos-group of a system-defined class; -1 for other classes
	Lines []string // actions
}

// classMap is a configured class-map or a system-defined one.
type classMap struct {
	Type, Match, Name string
	System            bool
	Lines             []string
}

// policyMaps returns the policy-maps of a type, system-defined ones first.
func (n *NXOS) policyMaps(typ string) []policyMap {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.policyMapsNow(typ)
}

func (n *NXOS) policyMapsNow(typ string) []policyMap {
	out := n.systemPolicies(typ)
	m := mqcOf(typ)
	for _, b := range policiesIn(n.running, m.policy) {
		p := policyMap{Type: typ, Name: b.Name(), Description: strings.TrimPrefix(b.Get("description"), "description ")}
		for _, t := range n.printer(n.running, false).things(b) {
			if t.sub == nil {
				continue
			}
			c := policyClass{Name: t.sub.Name(), Group: -1, Lines: n.linesOf(t.sub)}
			for _, dir := range []string{"output", "input"} {
				if typ != typeQoS && c.Group < 0 {
					c.Group = n.groupOf(typ, dir, c.Name)
				}
			}
			if own := n.running.Subs["class-map type "+typ+" "+c.Name]; own != nil && typ != typeQoS {
				c.Group = numberOf(own.Get("match qos-group"), "match qos-group ", "-1")
			}
			p.Classes = append(p.Classes, c)
		}
		out = append(out, p)
	}
	return out
}

// policiesIn returns the policy-maps of a mode in the order of their creation.
func policiesIn(root *cli.Block, mode string) []*cli.Block {
	var out []*cli.Block
	for _, b := range root.Subs {
		if b.Mode == mode {
			out = append(out, b)
		}
	}
	ordered.Sort(out, func(a, b *cli.Block) int { return a.Seq - b.Seq })
	return out
}

// policy returns the policy-map with a type and name.
func (n *NXOS) policy(typ, name string) (policyMap, bool) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.policyNow(typ, name)
}

func (n *NXOS) policyNow(typ, name string) (policyMap, bool) {
	all := n.policyMapsNow(typ)
	i := slices.IndexFunc(all, func(p policyMap) bool { return p.Name == name })
	if i < 0 {
		return policyMap{}, false
	}
	return all[i], true
}

// classMaps returns the class-maps of a type, system-defined ones first.
func (n *NXOS) classMaps(typ string) []classMap {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	out := n.systemClasses(typ)
	for _, b := range policiesIn(n.running, mqcOf(typ).class) {
		f := strings.Fields(b.Head)
		out = append(out, classMap{Type: typ, Match: f[3], Name: b.Name(), Lines: n.linesOf(b)})
	}
	return out
}

// lossless returns, by qos-group, the priorities that the network-qos policy in force pauses, in
// ascending order.
func (n *NXOS) lossless() map[int][]int {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	out := map[int][]int{}
	p, _ := n.policyNow(typeNetwork, n.inForce(attachments[3]))
	for _, c := range p.Classes {
		for _, l := range c.Lines {
			if list, ok := strings.CutPrefix(l, "pause pfc-cos "); ok && c.Group >= 0 {
				for _, s := range strings.Split(list, ",") {
					out[c.Group] = append(out[c.Group], numberOf(s, "", "0"))
				}
			}
		}
	}
	return out
}
