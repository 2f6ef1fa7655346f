package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// texts adds configuration that has nothing to do with QoS, or only by name. It is recognized by
// its first words and kept as written.

func (g grammar) texts() {
	global := []string{modeGlobal}
	g.Set(global, "version <rest=text>", func(*exec) string { return "" }) // the switch prints its own version
	g.line(global, rankHostname, 1, "hostname <name=name>")
	g.Set(global, "switchname <name=name>", func(x *exec) string {
		line := "hostname " + x.Vals["name"]
		x.Put("hostname", cli.Value{Line: line, Plain: line, Rank: rankHostname})
		return ""
	})
	g.block(global, "vdc <name=name> id <n=1-8>", "vdc", rankVDC, "vdc")
	g.line([]string{"vdc"}, 10, 2, "limit-resource <what=name> minimum <n=0-100000> maximum <m=0-100000>")
	g.line([]string{"vdc"}, 20, 0, "allocate interface <rest=text>", "cpu-share <n=1-10>", "boot-order <n=1-4>")

	g.line(global, 1500, 0, "nv overlay evpn", "cfs <rest=text>", "cfs eth distribute")
	g.line(global, 1600, 2, "username <name=name> <rest=text>")
	g.line(global, 1600, 0, "ssh key <rest=text>", "no password strength-check", "role <rest=text>", "userpassphrase <rest=text>")
	g.flag(global, 1610, "ip domain-lookup")
	g.line(global, 1611, 2, "ip domain-name <rest=text>", "ip host <rest=text>")
	g.line(global, 1612, 0, "ip name-server <rest=text>", "ip domain-list <rest=text>")
	g.Set(global, "banner motd <rest=text>", bannerLine)
	g.Neg(global, "banner motd", cli.ClearKey[*exec]("banner motd"))
	g.line(global, 1800, 0, "radius-server <rest=text>", "tacacs-server <rest=text>", "aaa <rest=text>", "snmp-server <rest=text>", "rmon <rest=text>", "ntp <rest=text>",
		"callhome", "logging <rest=text>", "errdisable <rest=text>", "track <rest=text>", "key <rest=text>", "mac <rest=text>", "sflow <rest=text>", "poap <rest=text>", "crypto <rest=text>")
	g.line(global, 1810, 2, "clock <rest=text>")
	g.line(global, 1900, 0, "spanning-tree <rest=text>", "vtp <rest=text>", "udld <rest=text>", "vpc <rest=text>", "port-channel <rest=text>")
	g.block(global, "vpc domain <n=1-1000>", "text", 1950, "vpc-domain")
	g.Set(global, "system jumbomtu <n=1500-9216>", setJumbo)
	g.Neg(global, "system jumbomtu [<n=1500-9216>]", setJumbo)
	g.Set(global, "system default switchport", func(x *exec) string {
		x.Drop("system default switchport")
		removeObsoleteLines(x.Root)
		return ""
	})
	g.Neg(global, "system default switchport", func(x *exec) string {
		cli.Opposite[*exec]("system default switchport", 2001)(x)
		removeObsoleteLines(x.Root)
		return ""
	})
	g.line(global, 2002, 0, "system default switchport shutdown", "system nve <rest=text>", "system routing <rest=text>", "system mode <rest=text>", "system login <rest=text>")
	g.line(global, 2010, 0, "icam <rest=text>", "nxapi <rest=text>", "fabric forwarding <rest=text>")
	g.line(global, 2020, 0, "grpc port <n=1024-65535>", "grpc certificate <name=name>", "grpc client root certificate <name=name>", "grpc use-vrf default",
		"grpc gnmi max-concurrent-calls <n=1-16>", "grpc gnmi keepalive-timeout <n=600-86400>", "grpc gnmi subscription query-condition <rest=text>")
	g.flag(global, 2100, "lldp tlv-select dcbxp", "lldp tlv-select port-description", "lldp tlv-select system-name", "lldp tlv-select system-description", "lldp tlv-select system-capabilities", "lldp tlv-select management-address")
	g.line(global, 2101, 2, "lldp <what=holdtime|reinit|timer> <n=1-255>")

	for _, family := range []string{"ip", "ipv6", "mac"} {
		g.block(global, family+" access-list <name=name>", modeACL, rankACL, "acl")
		g.line(global, rankACL+20, 0, family+" prefix-list <rest=text>")
	}
	g.accessLists()
	g.line(global, rankCoPP, 2, "copp profile <p=strict|moderate|lenient|dense>")
	for _, m := range []string{"class-map", "policy-map"} {
		g.block(global, m+" type control-plane [match-any] <name=name>", "text", rankControl, "cmap")
	}
	g.block(global, "control-plane", "text", rankControl+1, "cp")
	g.block([]string{"text"}, "class <name=name>", "text", 50, "pmap-c")
	g.line([]string{"text"}, 10, 0, "match <rest=text>", "set <rest=text>", "police <rest=text>", "service-policy input <name=name>", "scale-factor <rest=text>")
	g.line([]string{"text"}, 20, 1, "role <rest=text>", "peer-keepalive <rest=text>", "delay <rest=text>", "peer-gateway", "peer-switch", "layer3 <rest=text>", "auto-recovery", "fast-convergence")
	g.line([]string{"text"}, 20, 2, "ip arp synchronize", "ipv6 nd synchronize")
	g.block(global, "telemetry", "telemetry", 5900, "telemetry")
	g.block([]string{"telemetry"}, "<kind=destination-group|sensor-group|subscription> <n=name>", "telemetry set", 10, "tm")
	g.line([]string{"telemetry", "telemetry set"}, 5, 0, "ip address <rest=text>", "path <rest=text>", "dst-grp <rest=text>", "snsr-grp <rest=text>", "data-source <rest=text>", "use-vrf <rest=text>")
}

// bannerLine begins a banner, whose text is enclosed by two equal characters.
func bannerLine(x *exec) string {
	text := x.Vals["rest"]
	if x.loose {
		return "ERROR: banner cannot be configured in dual-stage mode"
	}
	end := strings.IndexByte(text[1:], text[0])
	if end >= 0 {
		line := "banner motd " + text[:end+2]
		x.Put("banner motd", cli.Value{Line: line, Plain: line, Rank: rankBanner})
		return ""
	}
	x.c.heredoc = &heredoc{head: "banner motd " + text, delim: text[0]}
	return ""
}

// featureNames lists the features that "feature NAME" accepts.
const featureNames = "bash-shell|bfd|bgp|container-tracker|dhcp|eigrp|evmed|fabric|fcoe|glbp|grpc|hsrp|icam|imp|interface-vlan|isis|lacp|ldap|lldp|macsec|" +
	"nat|netconf|netflow|ngmvpn|ngoam|nv|nxapi|nxsdk|openconfig|ospf|ospfv3|pbr|pim|pim6|port-security|private-vlan|privilege|ptp|restconf|rip|scheduler|" +
	"scp-server|sftp-server|sflow|signature-verification|sla|ssh|tacacs+|telemetry|telnet|tunnel|udld|vmtracker|vn-segment-vlan-based|vpc|vrrp|vrrpv3|vtp"

// features adds features and hardware settings.
func (g grammar) features() {
	global := []string{modeGlobal}
	g.Set(global, "feature <name="+featureNames+">", func(x *exec) string {
		x.Put(x.Line, cli.Value{Line: x.Line, Plain: x.Line, Rank: rankFeature})
		return ""
	})
	g.Neg(global, "feature <name="+featureNames+">", func(x *exec) string { x.Drop(x.Line); return "" })
	g.line(global, rankFeature, 0, "feature nv overlay", "feature sla <what=sender|responder>")

	g.Set(global, "hardware access-list tcam region <name=name> <n=0-8192>", func(x *exec) string {
		x.Put("tcam "+x.Vals["name"], cli.Value{Line: x.Line, Plain: x.Line, Rank: 2200})
		return ""
	})
	g.Set(global, "hardware access-list tcam region <name=name> <n=0-8192> double-wide", func(x *exec) string {
		x.Put("tcam "+x.Vals["name"], cli.Value{Line: x.Line, Plain: x.Line, Rank: 2200})
		return ""
	})
	g.Neg(global, "hardware access-list tcam region <name=name> [<rest=text>]", func(x *exec) string {
		x.Drop("tcam " + x.Vals["name"])
		return ""
	})
	g.line(global, 2201, 5, "hardware access-list tcam label <what=name> <n=0-64>")
	g.line(global, 2202, 0, "hardware profile <rest=text>", "hardware rate-limiter <rest=text>", "hardware forwarding <rest=text>")
	// Only the documented QoS commands of the hardware (9.3 command reference; YangModels/yang,
	// Cisco-NX-OS-device.yang, pltfm qos).
	g.line(global, 2203, 0, "hardware qos dynamic-buffer-sharing", "hardware qos pfc mc-drop", "hardware qos fc rate-shaper", "hardware qos ing-pg-no-min", "hardware qos ing-pg-share",
		"hardware qos include ipg", "hardware qos classify ns-only")
	g.line(global, 2203, 3, "hardware qos min-buffer qos-group <v=all|none|default>", "hardware qos ing-pg-hdrm-reserve percent <n=20-100>", "hardware qos etrap age-period <n=1-1000000> usec")
	g.line(global, 2203, 4, "hardware qos afd profile <p=mesh|burst|ultra-burst>")
}

func (g grammar) routing() {
	global := []string{modeGlobal}
	g.block(global, "vlan <ids=word>", "vlan", 5000, "vlan")
	g.block(global, "vlan configuration <ids=word>", "vlan-config", 5001, "vlan-config")
	g.line([]string{"vlan-config"}, 10, 3, "service-policy type qos input <name=qname>")
	g.line([]string{"vlan"}, 10, 1, "name <rest=text>", "state <s=active|suspend>", "vn-segment <n=1-16777215>")
	g.block(global, "route-map <name=name> <act=permit|deny> <n=0-65535>", "route-map", 5100, "route-map")
	g.line([]string{"route-map"}, 10, 0, "match <rest=text>", "set <rest=text>", "continue <rest=text>", "description <rest=text>")
	g.block(global, "vrf context <name=name>", "vrf", 5200, "vrf")
	vrf := []string{"vrf"}
	g.line(vrf, 10, 1, "description <rest=text>", "rd <rest=text>", "vni <rest=text>")
	g.line(vrf, 20, 0, "ip route <rest=text>", "ipv6 route <rest=text>", "ip name-server <rest=text>", "ip domain-name <rest=text>", "ip pim <rest=text>")
	g.block(vrf, "address-family <af=ipv4|ipv6> unicast", "vrf af", 30, "vrf-af-ipv4")
	g.line([]string{"vrf af"}, 10, 0, "route-target <rest=text>")
	g.line(global, 5300, 0, "ip route <rest=text>", "ipv6 route <rest=text>", "ip pim <rest=text>", "ip igmp <rest=text>", "ip arp <rest=text>", "ip load-sharing <rest=text>", "ip tcp <rest=text>",
		"ip dhcp <rest=text>", "ip community-list <rest=text>", "ip as-path <rest=text>", "ip ftp <rest=text>", "ip tftp <rest=text>", "ip ssh <rest=text>", "ip source-route")

	g.block(global, "line <which=console|vty>", "line", 7000, "console")
	g.line([]string{"line"}, 10, 1, "exec-timeout <n=0-525600>", "session-limit <n=1-64>", "terminal <rest=text>", "speed <rest=text>", "access-class <rest=text>", "logout-warning <rest=text>")
	g.line(global, 7100, 2, "boot <rest=text>", "cli alias <rest=text>", "cli var <rest=text>")
	g.line(global, 7110, 0, "xml <rest=text>", "terminal <rest=text>", "scheduler <rest=text>", "monitor <rest=text>", "event <rest=text>")

	g.block(global, "router bgp <as=word>", "bgp", 7200, "router")
	for _, p := range []string{"ospf <name=name>", "ospfv3 <name=name>", "isis <name=name>", "eigrp <name=name>"} {
		g.block(global, "router "+p, "bgp", 7200, "router")
	}
	nested := []string{"bgp", "bgp vrf", "bgp neighbor", "bgp af"}
	g.flag(nested, 10, "shutdown", "log-neighbor-changes", "bestpath as-path multipath-relax", "passive-interface default")
	g.line(nested, 11, 1, "router-id <id=ipv4>", "cluster-id <rest=text>", "reconnect-interval <rest=text>", "remote-as <rest=text>", "description <rest=text>",
		"update-source <rest=text>", "password <rest=text>", "ebgp-multihop <rest=text>", "log-adjacency-changes", "local-as <rest=text>", "is-type <rest=text>", "net <rest=text>", "bfd", "bfd <rest=text>")
	g.line(nested, 12, 0, "timers <rest=text>", "bestpath <rest=text>", "graceful-restart <rest=text>", "graceful-restart-helper", "network <rest=text>", "redistribute <rest=text>", "maximum-paths <rest=text>",
		"aggregate-address <rest=text>", "neighbor-down fib-accelerate", "send-community", "send-community <rest=text>", "next-hop-self", "route-map <rest=text>", "route-reflector-client", "soft-reconfiguration <rest=text>",
		"allowas-in", "allowas-in <rest=text>", "disable-peer-as-check", "prefix-list <rest=text>", "maximum-prefix <rest=text>", "default-originate", "advertise <rest=text>", "area <rest=text>", "auto-cost <rest=text>", "max-metric <rest=text>", "nexthop <rest=text>", "inherit <rest=text>", "capability <rest=text>", "dynamic-capability", "default-information <rest=text>", "retain <rest=text>")
	g.block([]string{"bgp", "bgp vrf", "bgp neighbor"}, "address-family <a=ipv4|ipv6|l2vpn> <s=unicast|multicast|evpn>", "bgp af", 20, "router-af")
	g.block([]string{"bgp"}, "template peer <name=name>", "bgp neighbor", 30, "router-ptmp")
	g.block([]string{"bgp"}, "vrf <name=name>", "bgp vrf", 50, "router-vrf")
	g.block([]string{"bgp", "bgp vrf"}, "neighbor <who=word>", "bgp neighbor", 40, "router-neighbor")
}
