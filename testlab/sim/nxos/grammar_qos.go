package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// The three types of class-maps and policy-maps.
const (
	typeQoS     = "qos"
	typeQueuing = "queuing"
	typeNetwork = "network-qos"
)

// mqc describes a type of class-map and policy-map: its modes, ranks and prompts (see also
// batfish/batfish, CiscoNxos_policy_map.g4).
type mqc struct {
	typ                                      string
	class, policy, action                    string // modes
	classRank, policyRank                    int
	classPrompt, policyPrompt, actionPrompts string
}

var mqcs = []mqc{
	{typeQoS, modeClassQoS, modePolicyQoS, modeActionQoS, rankClassQoS, rankPolicyQoS, "cmap-qos", "pmap-qos", "pmap-c-qos"},
	{typeQueuing, modeClassQue, modePolicyQue, modeActionQue, rankClassQue, rankPolicyQue, "cmap-que", "pmap-que", "pmap-c-que"},
	{typeNetwork, modeClassNQ, modePolicyNQ, modeActionNQ, rankClassNQ, rankPolicyNQ, "cmap-nqos", "pmap-nqos", "pmap-nqos-c"},
}

func mqcOf(typ string) mqc {
	return mqcs[slices.IndexFunc(mqcs, func(m mqc) bool { return m.typ == typ })]
}

// classMaps adds class-maps. A missing match type means match-all; "no class-map" requires the
// match type.
func (g grammar) classMaps() {
	global := []string{modeGlobal}
	for _, m := range mqcs {
		head := "class-map type " + m.typ
		heads := []string{head}
		if m.typ == typeQoS {
			heads = append(heads, "class-map")
		}
		for _, h := range heads {
			g.Set(global, h+" [<match=match-any|match-all>] <name=qname>", func(x *exec) string { return x.openClassMap(m) })
			g.Neg(global, h+" <match=match-any|match-all> <name=qname>", func(x *exec) string { return x.dropClassMap(m) })
		}
		g.line([]string{m.class}, 1, 1, "description <rest=blurb>")
	}
	in := []string{modeClassQoS}
	for i, p := range []string{"cos <v=eights>", "dscp <v=dscps>", "precedence <v=eights>"} {
		word, _, _ := strings.Cut(p, " ")
		for _, not := range []string{"", "not "} {
			g.Set(in, "match "+not+p, matchSome("match "+not+word, 10+i))
			g.Neg(in, "match "+not+p, matchLess("match "+not+word, 10+i))
		}
	}
	g.line(in, 20, 0, "match access-group name <name=name>", "match protocol <p=arp|bridging|cdp|dhcp|isis>")
	// User-defined classes of the other types match a qos-group.
	g.line([]string{modeClassQue, modeClassNQ}, 10, 2, "match qos-group <n=0-7>")
}

func (x *exec) openClassMap(m mqc) string {
	name, match := x.Vals["name"], x.Vals["match"]
	if x.n.fixedClass(name) && !x.n.ownClass(m, name) {
		return x.invalid(-1)
	}
	key := "class-map type " + m.typ + " " + name
	if match == "" {
		match = "match-all"
		if old := x.Root.Subs[key]; old != nil {
			match = strings.Fields(old.Head)[3]
		}
	}
	head := "class-map type " + m.typ + " " + match + " " + name
	if old := x.Root.Subs[key]; old != nil && old.Head != head {
		if out := x.deny("class-map %s exists with another match type", name); out != "" {
			return out
		}
	}
	x.enter(cli.Frame{Mode: m.class, Places: []cli.Place{{Key: key, Head: head, Rank: m.classRank}}, Prompt: m.classPrompt})
	return ""
}

func (x *exec) dropClassMap(m mqc) string {
	name := x.Vals["name"]
	key := "class-map type " + m.typ + " " + name
	b := x.Root.Subs[key]
	switch {
	case x.n.fixedClass(name) && !x.n.ownClass(m, name):
		return x.invalid(-1)
	case b == nil, b.Head != "class-map type "+m.typ+" "+x.Vals["match"]+" "+name:
		if out := x.deny("class-map %s of this type does not exist", name); out != "" {
			return out
		}
	}
	for _, p := range policiesIn(x.Root, m.policy) {
		if p.Subs[classHead(m.typ, name)] != nil {
			if out := x.deny("class-map %s is in use by policy-map %s", name, p.Name()); out != "" {
				return out
			}
		}
	}
	delete(x.Root.Subs, key)
	return ""
}

// matchSome adds values to a match line of the class-map. In the native model each value is a
// separate object.
func matchSome(key string, rank int) action {
	return func(x *exec) string {
		for _, b := range x.Blocks() {
			x.matches(b, key, rank, joinLists(strings.TrimPrefix(b.Get(key), key+" "), x.Vals["v"], true))
		}
		return ""
	}
}

func matchLess(key string, rank int) action {
	return func(x *exec) string {
		for _, b := range x.Blocks() {
			x.matches(b, key, rank, joinLists(strings.TrimPrefix(b.Get(key), key+" "), x.Vals["v"], false))
		}
		return ""
	}
}

func (x *exec) matches(b *cli.Block, key string, rank int, list string) {
	if list == "" {
		delete(b.Vals, key)
		return
	}
	b.Put(key, cli.Value{Line: key + " " + list, Plain: key + " " + list, Rank: rank})
}

// joinLists adds the numbers of other to a list, or removes them.
func joinLists(have, other string, add bool) string {
	var set [64]bool
	for i, l := range []string{have, other} {
		for _, f := range strings.Split(l, ",") {
			if n, ok := cli.Natural(f); ok && n < len(set) {
				set[n] = i == 0 || add
			}
		}
	}
	return cli.JoinNumbers(set[:], ",")
}

// classHead returns the header of a class in a policy-map. Type qos is not printed.
func classHead(typ, name string) string {
	if typ == typeQoS {
		return "class " + name
	}
	return "class type " + typ + " " + name
}

// policyMaps adds policy-maps and the actions of network-qos and qos classes.
func (g grammar) policyMaps() {
	global := []string{modeGlobal}
	for _, m := range mqcs {
		head := "policy-map type " + m.typ
		heads := []string{head}
		if m.typ == typeQoS {
			heads = append(heads, "policy-map")
		}
		for _, h := range heads {
			g.Set(global, h+" <name=qname>", func(x *exec) string {
				if _, ok := x.n.systemPolicy(m.typ, x.Vals["name"]); ok {
					return "ERROR: policy-map " + x.Vals["name"] + " is system-defined"
				}
				if out := x.locked(m.typ, x.Vals["name"]); out != "" {
					return out
				}
				x.enter(cli.Frame{Mode: m.policy, Places: []cli.Place{cli.At(head+" "+x.Vals["name"], m.policyRank)}, Prompt: m.policyPrompt})
				return ""
			})
			g.Neg(global, h+" <name=qname>", func(x *exec) string { return x.dropPolicy(m) })
		}
		in := []string{m.policy}
		g.line(in, 1, 1, "description <rest=blurb>")
		g.Set(in, "class type "+m.typ+" <name=qname> [insert-before <before=qname>]", func(x *exec) string { return x.openClass(m) })
		g.Neg(in, "class type "+m.typ+" <name=qname>", func(x *exec) string { return x.dropClass(m) })
		if m.typ == typeQoS {
			g.Set(in, "class <name=qname> [insert-before <before=qname>]", func(x *exec) string { return x.openClass(m) })
			g.Neg(in, "class <name=qname>", func(x *exec) string { return x.dropClass(m) })
		}
	}

	in := []string{modeActionQoS}
	g.Set(in, "set qos-group <n=0-7>", func(x *exec) string {
		if x.n.o.FourQueue && x.Vals["n"] > "3" {
			return x.invalid(-1)
		}
		return setLine("set qos-group", 20)(x)
	})
	g.Neg(in, "set qos-group [<n=0-7>]", cli.ClearKey[*exec]("set qos-group"))
	g.line(in, 10, 2, "set dscp <n=0-63>", "set precedence <n=0-7>", "set cos <n=0-7>")
	g.line(in, 30, 1, "police <rest=text>")

	in = []string{modeActionNQ}
	g.Set(in, "mtu <n=576-9216>", setLine("mtu", 10))
	g.Neg(in, "mtu [<n=576-9216>]", cli.ClearKey[*exec]("mtu"))
	g.Set(in, "pause pfc-cos <v=eights>", setLine("pause", 20))
	g.Neg(in, "pause pfc-cos <v=eights>", func(x *exec) string {
		for _, b := range x.Blocks() {
			have, ok := strings.CutPrefix(b.Get("pause"), "pause pfc-cos ")
			if ok {
				x.matches(b, "pause", 20, "")
				if left := joinLists(have, x.Vals["v"], false); left != "" {
					line := "pause pfc-cos " + left
					b.Put("pause", cli.Value{Line: line, Plain: line, Rank: 20})
				}
			}
		}
		return ""
	})
	g.Neg(in, "pause", cli.ClearKey[*exec]("pause"))
	// The syntax of the older model (microsoft/SDN, Nexus 3132); Nexus 9000 switches with eight
	// queues refuse it.
	g.Set(in, "pause no-drop", func(x *exec) string {
		if !x.n.o.FourQueue && !x.n.o.UserClasses {
			return x.invalid(-1)
		}
		return setLine("pause", 20)(x)
	})
	g.Neg(in, "pause no-drop", cli.ClearKey[*exec]("pause"))
}

func (x *exec) openClass(m mqc) string {
	name, before := x.Vals["name"], x.Vals["before"]
	rank := 10
	switch {
	case m.typ == typeQoS && name == "class-default":
		rank = 11 // class-default is always last
		if before != "" {
			return x.invalid(-1)
		}
	case m.typ == typeQoS:
		if x.Root.Subs["class-map type qos "+name] == nil {
			if out := x.deny("class-map %s does not exist", name); out != "" {
				return out
			}
		}
	case before != "":
		return x.invalid(-2)
	case !x.n.classFits(m.typ, name, x.Root):
		return x.invalid(-1)
	}
	head := classHead(m.typ, name)
	if before != "" {
		ref := classHead(m.typ, before)
		for _, b := range x.Blocks() {
			if b.Subs[ref] == nil || before == name {
				if out := x.deny("class %s is not in the policy-map", before); out != "" {
					return out
				}
			} else if b.Subs[ref].Rank == rank { // class-default is last anyway
				b.Open(head, head, m.action, rank)
				b.MoveBefore(head, ref)
			}
		}
	}
	if m.typ == typeQueuing {
		if out := x.mixed(name); out != "" {
			return out
		}
	}
	x.enter(cli.Frame{Mode: m.action, Places: []cli.Place{cli.At(head, rank)}, Prompt: m.actionPrompts})
	return ""
}

func (x *exec) dropClass(m mqc) string {
	head := classHead(m.typ, x.Vals["name"])
	for _, b := range x.Blocks() {
		if b.Subs[head] == nil {
			if out := x.deny("class %s is not in the policy-map", x.Vals["name"]); out != "" {
				return out
			}
		}
		delete(b.Subs, head)
	}
	return ""
}

func (x *exec) dropPolicy(m mqc) string {
	name := x.Vals["name"]
	key := "policy-map type " + m.typ + " " + name
	if x.Root.Subs[key] == nil {
		if out := x.deny("policy-map %s of this type does not exist", name); out != "" {
			return out
		}
	}
	if where := attachedTo(x.Root, m.typ, "", name); where != "" {
		if out := x.deny("policy-map %s is in use by %s", name, where); out != "" {
			return out
		}
	}
	delete(x.Root.Subs, key)
	return ""
}

// locked refuses to edit an attached network-qos policy on switches that do so.
func (x *exec) locked(typ, name string) string {
	if typ == typeNetwork && x.n.o.NQLocked && attachedTo(x.Root, typ, "", name) != "" {
		return x.deny("policy-map %s is attached and cannot be modified", name)
	}
	return ""
}

// fixedClasses returns the system-defined classes of a type, from the highest queue to the
// default class, with their qos-groups.
func (n *NXOS) fixedClasses(typ, dir string) []policyClass {
	stem, last := "c-8q-nq", "c-8q-nq-default"
	top := 7
	switch {
	case typ == typeQueuing && dir == "input":
		stem, last, top = "c-in-q", "c-in-q-default", 3
	case typ == typeQueuing && n.o.FourQueue:
		stem, last, top = "c-out-q", "c-out-q-default", 3
	case typ == typeQueuing:
		stem, last = "c-out-8q-q", "c-out-8q-q-default"
	case n.o.FourQueue:
		stem, last, top = "c-nq", "c-nq-default", 3
	}
	var out []policyClass
	for i := top; i > 0; i-- {
		out = append(out, policyClass{Name: stem + strconv.Itoa(i), Group: i})
	}
	return append(out, policyClass{Name: last, Group: 0})
}

// groupOf returns the qos-group of a system-defined class; -1 for any other class.
func (n *NXOS) groupOf(typ, dir, name string) int {
	for _, c := range n.fixedClasses(typ, dir) {
		if c.Name == name {
			return c.Group
		}
	}
	return -1
}

// fixedClass reports whether a name is reserved for the system in either class model.
func (n *NXOS) fixedClass(name string) bool {
	for _, p := range []string{"c-8q-nq", "c-nq", "c-out-", "c-in-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return name == "class-default"
}

// classFits reports whether a queuing or network-qos policy may have a class with that name.
// Network-qos policies may have user-defined classes and class-default (Azure/AzureLocal-
// Supportability, reference policy of Nexus 93180YC), queuing policies only those of the system.
func (n *NXOS) classFits(typ, name string, root *cli.Block) bool {
	if n.groupOf(typ, "output", name) >= 0 || n.groupOf(typ, "input", name) >= 0 {
		return true
	}
	defined := name == "class-default" || root.Subs["class-map type "+typ+" "+name] != nil
	return defined && (typ == typeNetwork || n.o.UserClasses)
}

// ownClass reports whether a class-map is one of the system's, which the older model prints.
func (n *NXOS) ownClass(m mqc, name string) bool {
	return n.o.FourQueue && m.typ == typeNetwork && n.groupOf(typeNetwork, "", name) >= 0
}
