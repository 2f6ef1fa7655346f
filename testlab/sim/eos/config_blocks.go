package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// buffers adds MMU profiles, which only Strata supports (aristanetworks/avd, platform-trident.j2).
func (g grammar) buffers() {
	at := []string{modeGlobal}
	mmu := "platform trident mmu queue profile <name=name>"
	g.Set(at, mmu, strataOnly(func(x *exec) string {
		x.Enter(cli.Frame{Mode: modeMMU, Places: []cli.Place{cli.At(x.Line, rankMMUProfile)}, Prompt: "mmu-queue-profile-" + x.Vals["name"]})
		return ""
	}))
	g.Neg(at, mmu, strataOnly(cli.DropBlock[*exec]))
	g.Set(at, mmu+" apply", strataOnly(setLine("mmu apply", rankMMUApply)))
	g.Neg(at, mmu+" apply", strataOnly(cli.ClearKey[*exec]("mmu apply")))
	g.Set(at, "platform trident mmu headroom-pool limit [cells] <n=1-100000000>", strataOnly(setLine("headroom pool", rankPlatform)))
	g.Neg(at, "platform trident mmu headroom-pool limit [<rest=text>]", strataOnly(cli.ClearKey[*exec]("headroom pool")))

	const size = " [<unit=bytes|cells>] <n=0-100000000>"
	in := []string{modeMMU}
	add := func(rank int, head, reserved, threshold string) {
		for i, cmd := range []struct{ word, value string }{{"reserved", reserved}, {"threshold", threshold}} {
			g.Set(in, head+" "+cmd.word+cmd.value, keyed(rank+i, cmd.word))
			g.Neg(in, head+" "+cmd.word+" [<rest=text>]", unkeyed(cmd.word))
		}
	}
	add(10, "ingress", size, " <n=fraction>")
	for i, word := range []string{"headroom", "resume"} {
		g.Set(in, "ingress "+word+size, keyed(12+i, word))
		g.Neg(in, "ingress "+word+" [<rest=text>]", unkeyed(word))
	}
	add(20, "ingress priority-group <q=0-7>", size, " <n=fraction>")
	for i, cast := range []string{"unicast", "multicast"} {
		head := "egress " + cast + " queue <q=0-7>"
		add(40+20*i, head, size, " <n=fraction>")
		g.Set(in, head+" drop-precedence <dp=1-2> drop-threshold <n=fraction>", keyed(42+20*i, "drop-threshold"))
		g.Neg(in, head+" drop-precedence <dp=1-2> drop-threshold [<rest=text>]", unkeyed("drop-threshold"))
	}
}

// keyed stores a line under its words up to and including last.
func keyed(rank int, last string) action {
	return func(x *exec) string {
		r := rank * 10
		if q := x.Vals["q"]; q != "" {
			r += int(q[0] - '0')
		}
		x.Put(upTo(x.Line, last), value{Line: x.Line, Plain: x.Line, Rank: r})
		return ""
	}
}

func unkeyed(last string) action {
	return func(x *exec) string { x.Drop(upTo(x.Line, last)); return "" }
}

func upTo(line, word string) string {
	head, _, _ := strings.Cut(line+" ", " "+word+" ")
	return head + " " + word
}

// policies adds class maps, policy maps and access lists.
func (g grammar) policies() {
	at := []string{modeGlobal}
	g.block(at, "class-map type qos match-any <name=name>", modeClassMap, rankClassMap, "cmap-qos-")
	in := []string{modeClassMap}
	for _, p := range []string{"match dscp <d=dscpNames>", "match cos <c=eights>", "match vlan <v=word>",
		"match ip access-group <name=name>", "match ipv6 access-group <name=name>"} {
		g.line(in, 10, 0, p)
	}
	g.block(at, "policy-map type quality-of-service <name=name>", modePolicyMap, rankPolicyMap, "pmap-qos-")
	g.block([]string{modePolicyMap}, "class <name=name>", modeClass, 10, "pmap-c-")
	in = []string{modeClass}
	for _, p := range []string{"set traffic-class <t=0-7>", "set dscp <d=0-63>", "set cos <c=0-7>", "set drop-precedence <d=0-2>"} {
		g.line(in, 10, 2, p)
	}
	g.line(in, 20, 1, "police <rest=text>")

	// Policies for control-plane traffic and forwarding.
	g.block(at, "class-map type <type=copp|control-plane|pbr|pdp> match-any <name=name>", "class-map other", rankClassMap-1, "cmap-")
	g.line([]string{"class-map other"}, 10, 0, "match <rest=text>", "<seq=1-4294967295> match <rest=text>")
	g.block(at, "policy-map type <type=copp|control-plane|pbr|pdp> <name=name>", "policy-map other", rankPolicyMap-1, "pmap-")
	for _, class := range []string{"class <name=name>", "<seq=1-4294967295> class <name=name>"} {
		g.block([]string{"policy-map other"}, class, "policy-map other class", 10, "pmap-c-")
	}
	g.line([]string{"policy-map other class"}, 10, 1, "bandwidth <rest=text>", "shape <rest=text>", "police <rest=text>", "set <rest=text>", "drop")

	for _, family := range []string{"ip", "ipv6"} {
		g.block(at, family+" access-list [standard] <name=name>", modeACL, rankACL, "acl-")
	}
	in = []string{modeACL}
	entry := "<act=permit|deny|remark> <rest=text>"
	g.Set(in, "<seq=1-4294967295> "+entry, aclEntry)
	g.Set(in, entry, aclEntry)
	g.Neg(in, "<seq=1-4294967295>", func(x *exec) string {
		x.Drop("seq " + x.Vals["seq"])
		return ""
	})
	g.Neg(in, entry, func(x *exec) string {
		for _, b := range x.Blocks() {
			b.DropEntry(x.Line)
		}
		return ""
	})
	g.line(in, 0, 0, "counters per-entry")
	g.line(in, 0, 0, "statistics per-entry")
}

// aclEntry adds an entry at its sequence number, or at the end.
func aclEntry(x *exec) string {
	seq := x.Vals["seq"]
	for _, b := range x.Blocks() {
		if !b.PutEntry(seq, strings.TrimPrefix(x.Line, seq+" ")) {
			return "% Duplicate sequence number"
		}
	}
	return ""
}

// ports adds the interfaces and their settings other than QoS.
func (g grammar) ports() {
	at := []string{modeGlobal}
	g.Set(at, "interface <name=interfaces>", enterInterface)
	g.Neg(at, "interface <name=interfaces>", dropInterface)

	all := []string{modeEthernet, modePortChannel, modeLogical}
	wired := []string{modeEthernet, modePortChannel}
	eth := []string{modeEthernet}
	g.line(all, 10, 1, "description <rest=text>")
	g.Set(all, "shutdown", setLine("shutdown", 20))
	g.Neg(all, "shutdown", setNegated("shutdown", 20))
	g.line(all, 30, 1, "load-interval <n=0-600>")
	// 9214 is the largest MTU of common hardware.
	g.Set(all, "mtu <n=68-9214>", setLine("mtu", 40))
	g.Neg(all, "mtu [<n=68-9214>]", cli.ClearKey[*exec]("mtu"))
	g.line(all, 50, 0, "logging event <rest=text>")
	g.Set(eth, "dcbx mode ieee", setLine("dcbx mode", 60))
	g.Neg(eth, "dcbx mode [ieee]", cli.ClearKey[*exec]("dcbx mode"))
	for i, dir := range []string{"send", "receive"} {
		g.Set(eth, "flowcontrol "+dir+" <v=desired|on|off>", setLine("flowcontrol "+dir, 70+i))
		g.Neg(eth, "flowcontrol "+dir+" [<v=desired|on|off>]", cli.ClearKey[*exec]("flowcontrol "+dir))
	}
	for i, what := range []string{"mtu", "mru"} {
		g.Set(wired, "l2 "+what+" <n=68-65535>", setLine("l2 "+what, 80+i))
		g.Neg(wired, "l2 "+what+" [<n=68-65535>]", cli.ClearKey[*exec]("l2 "+what))
	}
	g.line(eth, 90, 1, "speed <rest=text>")
	const fec = "error-correction encoding"
	g.Set(eth, fec+" <e=reed-solomon|fire-code>", setLine(fec, 91))
	g.Neg(eth, fec, setNegated(fec, 91))
	g.Neg(eth, fec+" <e=reed-solomon|fire-code>", cli.ClearKey[*exec](fec))
	g.line(all, 95, 2, "encapsulation <rest=text>")
	g.Set(wired, "switchport", setLine("switchport", 104))
	g.Neg(wired, "switchport", setNegated("switchport", 104))
	g.line(wired, 100, 2, "switchport access vlan <rest=text>", "switchport mode <rest=text>", "switchport vlan <rest=text>", "switchport phone <rest=text>", "poe <rest=text>")
	g.line(wired, 101, 3, "switchport trunk <what=native|allowed|group> <rest=text>")
	g.line(all, 105, 1, "vrf <name=name>")
	g.line(all, 110, 2, "ip address <rest=text>", "ip ospf <rest=text>", "ip helper-address <rest=text>", "ip access-group <rest=text>")
	g.line(all, 111, 2, "ip proxy-arp", "ip virtual-router address <rest=text>", "ip verify <rest=text>")
	g.line(all, 115, 0, "ipv6 enable", "ipv6 address <rest=text>", "ipv6 nd <rest=text>")
	g.line(eth, 120, 1, "channel-group <n=1-999999> mode <mode=on|active|passive>")
	g.line(wired, 121, 2, "lacp <rest=text>")
	g.line(wired, 122, 3, "port-channel lacp fallback <mode=individual|static>", "port-channel lacp fallback timeout <n=0-900>", "port-channel min-links <n=1-64>")
	g.flag(eth, 130, "lldp transmit", "lldp receive")
	g.flag([]string{modeLogical}, 131, "autostate")
	g.line(wired, 131, 1, "mlag <n=1-2000>")
	g.line(wired, 140, 2, "ptp <rest=text>")
	g.line(all, 141, 0, "bfd <rest=text>", "pim <rest=text>", "isis <rest=text>", "mac <what=access-group|timestamp> <rest=text>", "arp <what=aging|gratuitous|monitor> <rest=text>", "link-debounce <rest=text>", "vxlan <rest=text>")
	g.flag(wired, 400, "sflow enable", "snmp trap link-change")
	g.line(wired, 410, 2, "storm-control <rest=text>")
	g.line(wired, 420, 2, "spanning-tree <what=portfast|bpduguard|bpdufilter|cost|port-priority|guard|link-type> [<rest=text>]")
}

func enterInterface(x *exec) string {
	names := strings.Split(x.Vals["name"], ",")
	f := cli.Frame{Mode: interfaceMode(names[0]), Prompt: "if-" + shortName(names[0])}
	if len(names) > 1 {
		f.Prompt += "-" + strings.TrimPrefix(shortName(names[len(names)-1]), shortName(names[0])[:2])
	}
	rank := 0
	for i, t := range interfaceTypes {
		if strings.HasPrefix(names[0], t.name) {
			rank = rankInterface + 100*i
		}
	}
	out := ""
	for _, n := range names {
		if f.Mode == modeEthernet && x.s.boot == nil && !x.e.Ports[strings.SplitN(n, ".", 2)[0]] {
			out = "! Interface does not exist. The configuration will not take effect until the module is inserted."
		}
		f.Places = append(f.Places, cli.At("interface "+n, rank))
	}
	x.Enter(f)
	return out
}

// dropInterface removes interfaces that exist only by configuration, and resets those of the
// hardware. "no" is rejected for the latter; only "default" resets them.
func dropInterface(x *exec) string {
	names := strings.Split(x.Vals["name"], ",")
	hardware := func(n string) bool { return x.e.Ports[n] || strings.HasPrefix(n, "Management") }
	for _, n := range names {
		if x.Verb == "no" && hardware(n) {
			return "% Invalid input (at token 2: '" + n + "')"
		}
	}
	for _, n := range names {
		head := "interface " + n
		b := x.cfg.root.Subs[head]
		switch {
		case b == nil:
		case hardware(n):
			b.Vals, b.Subs = nil, nil
		default:
			delete(x.cfg.root.Subs, head)
		}
	}
	return ""
}
