package nxos

import (
	"maps"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Ranks in interfaces, in the order of a Nexus 9000 (batfish/batfish, nxos_interface_show_all_2;
// Azure/AzureLocal-Supportability, show running-config of a port).
const (
	rankDescription = 10
	rankSwitchport  = 100
	rankSpanning    = 220
	rankMTU         = 300
	rankVRF         = 450 // a VRF line removes addresses, so it comes before them
	rankAddress     = 460
	rankShutdown    = 900
)

// ports adds interfaces and their lines other than QoS.
func (g grammar) ports() {
	global := []string{modeGlobal}
	g.Set(global, "interface <name=interfaces>", enterInterface)
	g.Neg(global, "interface <name=interfaces>", dropInterface)

	all := []string{modeEthernet, modePortChannel, modeSub, modeVlanIf, modeLogical, modeProfile}
	wired := []string{modeEthernet, modePortChannel, modeProfile}
	g.profiles()
	layer3 := []string{modeEthernet, modePortChannel, modeSub, modeVlanIf, modeLogical}
	g.line(all, rankDescription, 1, "description <rest=text>")
	g.flag(wired, 20, "cdp enable", "lldp transmit", "lldp receive")
	g.flag(wired, 25, "logging event port link-status", "logging event port trunk-status", "snmp trap link-status")

	g.Set(wired, "switchport", func(x *exec) string { return x.bridged(true) })
	g.Neg(wired, "switchport", func(x *exec) string { return x.bridged(x.Verb == "default") })
	g.line(wired, rankSwitchport+1, 2, "switchport mode <m=access|trunk|fex-fabric|dot1q-tunnel>", "switchport access vlan <v=1-4094>", "switchport monitor")
	g.line(wired, rankSwitchport+2, 3, "switchport trunk native vlan <v=1-4094>", "switchport trunk allowed vlan <rest=text>")
	g.line(wired, rankSpanning, 3, "spanning-tree port type <rest=text>")
	g.line(wired, rankSpanning+1, 2, "spanning-tree <what=bpduguard|bpdufilter|guard|cost|port-priority|link-type> <rest=text>")
	g.line([]string{modeEthernet}, 240, 1, "speed <s=auto|10000|25000|40000|50000|100000|200000|400000|800000>", "duplex <d=full|auto>", "fec <f=auto|off|fc-fec|rs-fec|rs-ieee|rs-cons16|kp-fec>", "beacon")
	g.flag([]string{modeEthernet}, 241, "negotiate auto")
	// A breakout takes ports by range; the switch has the ports that its configuration names.
	g.line([]string{modeGlobal}, rankInterface-10, 6, "interface breakout module <m=1-32> port <ports=name> map <map=10g-4x|25g-4x|50g-2x|50g-4x|100g-2x|100g-4x|100g-8x|200g-2x|200g-4x|400g-2x>")
	g.line(wired, 245, 1, "load-interval <rest=text>", "storm-control <rest=text>", "lacp <rest=text>", "vpc <rest=text>")
	g.Set(all, "mtu <n=576-9216>", setMTU)
	g.Neg(all, "mtu [<n=576-9216>]", cli.ClearKey[*exec]("mtu"))
	g.line([]string{modeEthernet}, 350, 1, "channel-group <n=1-4096>", "channel-group <n=1-4096> mode <m=on|active|passive>", "channel-group <n=1-4096> force mode <m=on|active|passive>")
	g.line(layer3, rankVRF, 2, "vrf member <name=name>")
	g.line(layer3, rankAddress, 2, "ip address <a=ipv4>", "ip address <a=ipv4> tag <t=0-4294967295>")
	g.line(layer3, rankAddress+1, 0, "ip address <a=ipv4> secondary", "ipv6 address <rest=text>")
	g.flag(layer3, rankAddress+2, "ip redirects", "ipv6 redirects", "ip unreachables")
	g.line(layer3, rankAddress+3, 0, "ip router <rest=text>", "ip ospf <rest=text>", "ip pim <rest=text>", "ip forward", "ip access-group <rest=text>", "ip unnumbered <rest=text>",
		"ip dhcp relay address <rest=text>", "ipv6 link-local <rest=text>", "ipv6 nd <rest=text>", "ip arp <rest=text>", "ip igmp <rest=text>", "ipv6 <what=router|ospfv3|pim|traffic-filter> <rest=text>",
		"isis <rest=text>", "bfd <rest=text>", "fabric forwarding mode anycast-gateway", "encapsulation dot1q <v=1-4094>", "delay <n=1-16777215>", "medium p2p")
	g.line([]string{modeLogical}, 500, 0, "source-interface <rest=text>", "host-reachability protocol bgp", "member vni <rest=text>", "ingress-replication protocol <p=bgp|static>", "mcast-group <rest=text>", "suppress-arp", "global ingress-replication protocol bgp", "tunnel <rest=text>")
	g.Set(all, "shutdown", func(x *exec) string {
		x.Put("shutdown", cli.Value{Line: "shutdown", Plain: "shutdown", Rank: rankShutdown})
		return ""
	})
	g.Neg(all, "shutdown", func(x *exec) string {
		if x.Verb == "default" {
			x.Drop("shutdown")
			return ""
		}
		for _, b := range x.Blocks() {
			if switched(x.Root, b) {
				delete(b.Vals, "shutdown") // as by default
				continue
			}
			b.Put("shutdown", cli.Value{Line: "no shutdown", Plain: "no shutdown", Rank: rankShutdown})
		}
		return ""
	})
}

// profiles adds port-profiles. The port's own settings win (Nexus 9000 NX-OS Interfaces
// Configuration Guide, Port Profiles).
func (g grammar) profiles() {
	global, in := []string{modeGlobal}, []string{modeProfile}
	g.block(global, "port-profile type <t=ethernet|port-channel|interface-vlan> <name=name>", modeProfile, rankProfile, "port-prof")
	g.line(in, 990, 0, "state enabled")
	g.line(in, 5, 1, "max-ports <n=1-16384>")
	wired := []string{modeEthernet, modePortChannel, modeProfile}
	g.Set(wired, "inherit port-profile <name=name>", func(x *exec) string {
		if profileOf(x.Root, x.Vals["name"]) == nil {
			if out := x.deny("port-profile %s does not exist", x.Vals["name"]); out != "" {
				return out
			}
		}
		return setLine(inheritKey, 5)(x)
	})
	g.Neg(wired, "inherit port-profile [<name=name>]", cli.ClearKey[*exec](inheritKey))
}

const inheritKey = "inherit port-profile"

// profileOf returns the port-profile with a name, of any type; nil if there is none.
func profileOf(root *cli.Block, name string) *cli.Block {
	for _, b := range root.Subs {
		if b.Mode == modeProfile && b.Name() == name {
			return b
		}
	}
	return nil
}

// inForce returns an interface with the lines of the enabled port-profile that it inherits.
func inForce(root, b *cli.Block) *cli.Block {
	for range 4 { // profiles inherit through up to four levels
		name := strings.TrimPrefix(b.Get(inheritKey), inheritKey+" ")
		if name == "" {
			return b
		}
		p := profileOf(root, name)
		if p == nil || p.Get("state enabled") == "" {
			return b
		}
		all := *b
		all.Vals = maps.Clone(p.Vals)
		for key, v := range b.Vals {
			if key != inheritKey {
				all.Vals[key] = v
			}
		}
		b = &all
	}
	return b
}

// bridged makes ports switched or routed. The line is printed only if it is not the default.
func (x *exec) bridged(on bool) string {
	line := "switchport"
	if !on {
		line = "no switchport"
	}
	for _, b := range x.Blocks() {
		if on == bridgesByDefault(x.Root) {
			delete(b.Vals, "switchport")
		} else {
			b.Put("switchport", cli.Value{Line: line, Plain: line, Rank: rankSwitchport})
		}
	}
	removeObsoleteLines(x.Root)
	return ""
}

// removeObsoleteLines removes port lines that have become defaults, and lines that a port loses
// when it becomes switched.
func removeObsoleteLines(root *cli.Block) {
	for _, b := range root.Subs {
		if b.Mode != modeEthernet && b.Mode != modePortChannel {
			continue
		}
		if l := b.Get("switchport"); l != "" && (l == "switchport") == bridgesByDefault(root) {
			delete(b.Vals, "switchport")
		}
		if routed(root, b) {
			continue
		}
		if mtu := strings.TrimPrefix(b.Get("mtu"), "mtu "); mtu != "" && mtu != jumbo(root) {
			delete(b.Vals, "mtu")
		}
		if switched(root, b) && b.Get("shutdown") == "no shutdown" {
			delete(b.Vals, "shutdown")
		}
	}
}

// jumbo returns the MTU that switched ports accept besides the default.
func jumbo(root *cli.Block) string {
	if l := root.Get("system jumbomtu"); l != "" {
		return strings.TrimPrefix(l, "system jumbomtu ")
	}
	return defaultJumb
}

// setJumbo refuses to change the jumbo MTU while a port uses it.
func setJumbo(x *exec) string {
	to := x.Vals["n"]
	if to == "" || x.Verb != "" {
		to = defaultJumb
	}
	for _, b := range x.Root.Subs {
		if (b.Mode == modeEthernet || b.Mode == modePortChannel) && !routed(x.Root, b) && b.Get("mtu") != "" && b.Get("mtu") != "mtu "+to {
			if out := x.deny("system jumbomtu is in use by %s", b.Name()); out != "" {
				return out
			}
		}
	}
	x.Drop("system jumbomtu")
	if to != defaultJumb {
		line := "system jumbomtu " + to
		x.Put("system jumbomtu", cli.Value{Line: line, Plain: line, Rank: 2000})
	}
	return ""
}

func bridgesByDefault(root *cli.Block) bool {
	return root.Get("system default switchport") != "no system default switchport"
}

// routed reports whether a port is routed.
func routed(root, b *cli.Block) bool {
	if b.Mode != modeEthernet && b.Mode != modePortChannel {
		return true
	}
	if l := inForce(root, b).Get("switchport"); l != "" {
		return l == "no switchport"
	}
	return !bridgesByDefault(root)
}

// switched reports whether a port is switched because that is the default. Such a port is up
// unless it is shut down.
func switched(root, b *cli.Block) bool {
	return !routed(root, b) && b.Get("switchport") == ""
}

// Port MTUs in bytes.
const (
	defaultMTU  = "1500"
	defaultJumb = "9216"
)

// setMTU refuses MTUs that a switched port does not accept: all except the default and the jumbo
// MTU of the switch.
func setMTU(x *exec) string {
	n := x.Vals["n"]
	for _, b := range x.Blocks() {
		if (b.Mode == modeEthernet || b.Mode == modePortChannel) && !routed(x.Root, b) && n != defaultMTU && n != jumbo(x.Root) {
			if out := x.deny("%s: MTU on L2 interfaces can only be set to default or system-jumboMTU", b.Name()); out != "" {
				return out
			}
		}
	}
	return setLine("mtu", rankMTU, "mtu "+defaultMTU)(x)
}

// enterInterface opens interfaces. Ports that the switch does not have cannot be created by
// configuration.
func enterInterface(x *exec) string {
	names := strings.Split(x.Vals["name"], ",")
	f := cli.Frame{Prompt: "if"}
	for _, name := range names {
		mode, p := interfacePlace(name)
		if mode == modeEthernet && !x.n.Ports[name] && x.c.root == nil {
			return x.invalid(-1)
		}
		if parent, _, sub := strings.Cut(name, "."); sub && strings.HasPrefix(name, "Ethernet") && !x.n.Ports[parent] && x.c.root == nil {
			return x.invalid(-1)
		}
		if f.Mode != "" && f.Mode != mode {
			return x.invalid(-1) // a range may contain only one type of interface
		}
		f.Mode = mode
		f.Places = append(f.Places, p)
	}
	switch {
	case len(names) > 1:
		f.Prompt = "if-range"
	case f.Mode == modeSub:
		f.Prompt = "subif"
	}
	x.enter(f)
	return ""
}

// dropInterface removes interfaces that exist by configuration, and resets hardware ports, for
// which only "default" is accepted.
func dropInterface(x *exec) string {
	names := strings.Split(x.Vals["name"], ",")
	hardware := func(name string) bool { return x.n.Ports[name] || name == "mgmt0" }
	for _, name := range names {
		if x.Verb == "no" && hardware(name) {
			return x.invalid(-1)
		}
	}
	for _, name := range names {
		b := x.Root.Subs["interface "+name]
		switch {
		case b == nil:
		case hardware(name) || x.Verb == "default":
			maps.DeleteFunc(b.Vals, func(string, *cli.Value) bool { return true })
			maps.DeleteFunc(b.Subs, func(string, *cli.Block) bool { return true })
		default:
			delete(x.Root.Subs, "interface "+name)
		}
	}
	return ""
}
