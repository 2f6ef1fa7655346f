package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Lines that are unrelated to QoS are recognized by their first words and stored as entered.

func (g grammar) line(modes []string, rank, keyWords int, patterns ...string) {
	cli.AddLines(g.Grammar, modes, rank, keyWords, patterns...)
}

func (g grammar) flag(modes []string, rank int, patterns ...string) {
	cli.AddFlags(g.Grammar, modes, rank, patterns...)
}

// block adds a command that opens a block of a mode.
func (g grammar) block(modes []string, pattern, mode string, rank int, prompt string) {
	g.Set(modes, pattern, func(x *exec) string {
		f := cli.Frame{Mode: mode, Places: []cli.Place{cli.At(x.Line, rank)}, Prompt: prompt}
		if strings.HasSuffix(prompt, "-") {
			f.Prompt += x.Line[strings.LastIndexByte(x.Line, ' ')+1:]
		}
		x.Enter(f)
		return ""
	})
	g.Neg(modes, pattern, cli.DropBlock)
}

func (g grammar) texts() {
	at := []string{modeGlobal}
	g.flag(at, rankAAARoot, "aaa root")
	g.line(at, rankUser, 2, "username <name=name> <rest=text>")
	g.line(at, rankHWCounter, 0, "hardware counter feature <rest=text>")
	g.line(at, 3500, 1, "prompt <rest=text>", "terminal <rest=text>")
	g.line(at, 3600, 2, "alias <rest=text>")
	g.line(at, 4000, 3, "vlan internal order <rest=text>")
	g.line(at, 4400, 0, "agent <rest=text>", "boot <rest=text>", "load-interval <rest=text>", "transceiver <rest=text>", "hardware <what=speed-group|tcam|port|access-list> <rest=text>")
	g.line(at, 4500, 4, "service routing protocols model <rest=text>")
	g.line(at, 4600, 0, "service configuration <rest=text>", "service unsupported-transceiver <rest=text>")
	g.line(at, 5000, 0, "queue-monitor length [<rest=text>]")
	g.flag(at, 5001, "queue-monitor length")
	g.flag(at, 5500, "lldp run")
	g.line(at, 5501, 2, "lldp <what=timer|hold-time|holdtime|reinit|management-address|tlv> <rest=text>")
	g.line(at, 5600, 0, "dcbx application <rest=text>")
	g.flag(at, 6000, "logging on")
	g.line(at, 6001, 0, "logging <rest=text>")
	g.line(at, rankHostname, 1, "hostname <name=name>")
	g.line(at, rankHostname+1, 0, "ip name-server <rest=text>", "dns <rest=text>", "ip domain-list <rest=text>")
	g.line(at, rankHostname+2, 2, "ip domain-name <rest=text>", "ip host <rest=text>")
	g.line(at, 7500, 2, "ptp <rest=text>")
	g.line(at, rankPlatform, 0, "platform sand <rest=text>", "platform trident <what=forwarding-table|l3> <rest=text>")
	g.line(at, 9500, 2, "sflow <rest=text>")
	g.line(at, 10000, 0, "snmp-server <rest=text>")
	g.line(at, 10500, 2, "spanning-tree <rest=text>")
	g.line(at, 10600, 2, "clock <rest=text>", "tcam <rest=text>", "errdisable <rest=text>", "email <rest=text>")
	g.block(at, "vlan <id=word>", "vlan", 11000, "vlan-")
	g.block(at, "vrf instance <name=name>", "vrf", 11500, "vrf-")
	g.management()
	g.line(at, 14400, 0, "radius-server <rest=text>", "tacacs-server <rest=text>", "ip radius <rest=text>", "ip tacacs <rest=text>", "role <rest=text>")
	g.line(at, 14500, 0, "aaa <what=authentication|authorization|accounting> <rest=text>")
	g.line(at, 14600, 2, "enable <rest=text>")
	g.line(at, rankACL+100, 0, "mac address-table <rest=text>", "arp <ip=ipv4> <rest=text>")
	g.flag(at, 17000, "ip routing", "ip routing ipv6 interfaces", "ip routing vrf <name=name>", "ipv6 unicast-routing", "ipv6 unicast-routing vrf <name=name>")
	g.line(at, 17001, 0, "ip icmp <rest=text>", "ip hardware <rest=text>", "ip virtual-router mac-address <rest=text>", "ip load-sharing <rest=text>")
	g.line(at, 17500, 0, "ip prefix-list <name=name> seq <rest=text>", "ip community-list <rest=text>", "ip extcommunity-list <rest=text>", "ip as-path <rest=text>")
	g.block(at, "ip prefix-list <name=name>", "prefix-list", 17500, "ip-pfx")
	g.block(at, "ipv6 prefix-list <name=name>", "prefix-list", 17510, "ipv6-pfx")
	g.block(at, "mlag configuration", "mlag", 18000, "mlag")
	g.line(at, 18500, 0, "ip route <rest=text>", "ipv6 route <rest=text>")
	g.line(at, 19000, 0, "ntp <rest=text>")
	for _, which := range []string{"login", "motd"} {
		g.Set(at, "banner "+which, func(x *exec) string {
			x.s.heredoc = &heredoc{head: x.Line}
			return ""
		})
		g.Neg(at, "banner "+which, cli.ClearKey[*exec]("banner "+which))
	}
	g.line(at, 20900, 0, "monitor <rest=text>")
	g.block(at, "route-map <name=name> <act=permit|deny> <seq=1-65535>", "route-map", 21500, "route-map-")
	g.Set(at, "rollback clean-config", func(x *exec) string {
		if x.s.c == nil {
			return "% Unavailable command (not in a configuration session)"
		}
		*x.cfg = *x.e.clean()
		return ""
	})
	g.routing()
	g.daemons()
}

// clean returns an empty configuration with only the box's ports.
func (e *EOS) clean() *config {
	c := newConfig()
	x := cli.Exec{Root: c.root}
	for head, b := range e.running.root.Subs {
		if e.Ports[b.Name()] || strings.HasPrefix(head, "interface Management") {
			x.Stack = []cli.Frame{{Mode: b.Mode, Places: []cli.Place{cli.At(head, b.Rank)}}}
			x.Blocks()
		}
	}
	return c
}

func (g grammar) routing() {
	at := []string{modeGlobal}
	g.block(at, "router bgp <as=word>", "bgp", 22000, "router-bgp")
	for _, p := range []string{"ospf <id=1-65535> [vrf <name=name>]", "ospf3 <id=1-65535>", "isis <name=name>", "general", "bfd", "multicast", "l2-vpn", "traffic-engineering", "path-selection"} {
		g.block(at, "router "+p, "router", 22001, "router-"+strings.Fields(p)[0])
	}
	bgp := []string{"bgp", "bgp vrf", "bgp af", "router"}
	g.flag(bgp, 10, "bgp default ipv4-unicast", "bgp default ipv4-unicast transport ipv6", "bgp log-neighbor-changes", "shutdown", "auto-cost", "log-adjacency-changes")
	g.line(bgp, 10, 1, "router-id <id=ipv4>", "maximum-paths <rest=text>", "rd <rest=text>", "net <rest=text>", "is-type <rest=text>", "max-lsa <rest=text>")
	g.line(bgp, 10, 0, "neighbor <rest=text>", "bgp <rest=text>", "network <rest=text>", "redistribute <rest=text>", "aggregate-address <rest=text>",
		"distance <rest=text>", "timers <rest=text>", "graceful-restart [<rest=text>]", "graceful-restart-helper [<rest=text>]", "update <rest=text>",
		"route-target <rest=text>", "ecmp <rest=text>", "passive-interface <rest=text>", "area <rest=text>", "point-to-point <rest=text>",
		"summary-address <rest=text>", "advertise <rest=text>", "host-flap <rest=text>", "interval <rest=text>", "mpls <rest=text>", "segment-routing <rest=text>")
	g.block([]string{"bgp", "bgp vrf", "router"}, "address-family <af=text>", "bgp af", 20, "router-bgp-af")
	g.block([]string{"bgp", "router"}, "vrf <name=name>", "bgp vrf", 40, "router-bgp-vrf-")
	g.block([]string{"bgp"}, "vlan <id=word>", "macvrf", 30, "macvrf-")
	g.block([]string{"bgp"}, "vlan-aware-bundle <name=name>", "macvrf", 31, "macvrf-")
	g.line([]string{"macvrf"}, 10, 1, "rd <rest=text>", "vlan <rest=text>")
	g.line([]string{"macvrf"}, 10, 0, "route-target <rest=text>", "redistribute <rest=text>")
	maps := []string{"route-map"}
	g.line(maps, 10, 0, "match <rest=text>", "set <rest=text>", "continue [<rest=text>]", "sub-route-map <rest=text>")
	g.line(maps, 5, 1, "description <rest=text>")
	g.line([]string{"prefix-list"}, 10, 0, "seq <rest=text>", "permit <rest=text>", "deny <rest=text>")
}

func (g grammar) management() {
	at := []string{modeGlobal}
	for i, api := range []string{"http-commands", "gnmi", "models", "netconf", "restconf", "external-services", "gribi"} {
		mode := "api"
		if api == "gnmi" {
			mode = "gnmi"
		}
		g.block(at, "management api "+api, mode, 12500+100*i, "mgmt-api-"+api)
	}
	g.block(at, "management security", "security", 14000, "mgmt-security")
	for _, m := range []string{"ssh", "console", "telnet", "cvx", "defaults", "tech-support", "accounts", "cloudvision"} {
		g.block(at, "management "+m, "remote", 23000, "mgmt-"+m)
	}
	g.block(at, "queue-monitor streaming", "api", 12000, "qm-streaming")

	api := []string{"api", "gnmi"}
	g.flag([]string{"api", "api sub", "transport"}, 10, "shutdown")
	g.flag(api, 10, "protocol http", "protocol http localhost", "protocol https", "protocol unix-socket")
	remote := []string{"remote", "remote vrf"}
	g.flag(remote, 10, "shutdown")
	g.line(remote, 11, 1, "idle-timeout <rest=text>", "cipher <rest=text>", "key-exchange <rest=text>", "mac <rest=text>",
		"hostkey <rest=text>", "server-port <rest=text>", "session <rest=text>")
	g.line(remote, 11, 0, "connection <rest=text>", "authentication <rest=text>", "ip access-group <rest=text>", "ipv6 access-group <rest=text>", "qos dscp <n=0-63>")
	g.block([]string{"remote"}, "vrf <name=name>", "remote vrf", 40, "mgmt-vrf-")
	g.line(api, 11, 1, "port <n=1-65535>", "idle-timeout <rest=text>", "max-connections <rest=text>", "session <rest=text>")
	g.line(api, 11, 2, "protocol https <rest=text>", "log-level <rest=text>")
	g.line(api, 11, 0, "provider <rest=text>", "path <rest=text>", "authentication <rest=text>", "ip access-group <rest=text>", "ipv6 access-group <rest=text>", "cors <rest=text>", "qos dscp <n=0-63>")
	g.block([]string{"api", "gnmi"}, "vrf <name=name>", "api sub", 40, "mgmt-vrf-")
	g.block([]string{"api"}, "transport <rest=text>", "transport", 5, "mgmt-transport-")
	g.block([]string{"gnmi"}, "transport <kind=grpc|grpc-tunnel> <name=name>", "transport", 5, "gnmi-transport-")
	g.line([]string{"gnmi"}, 20, 0, "operation set persistence", "operation set namespace")
	in := []string{"transport"}
	g.line(in, 5, 2, "ssl profile <name=name>")
	g.line(in, 6, 1, "vrf <name=name>", "port <n=1-65535>")
	g.line(in, 7, 0, "ip access-group <rest=text>", "ipv6 access-group <rest=text>", "qos dscp <n=0-63>")
	g.line(in, 12, 0, "authorization requests", "accounting requests", "certificate username authentication")
	g.line(in, 12, 2, "notification timestamp <rest=text>")
	g.line(in, 12, 1, "target <rest=text>", "destination <rest=text>", "local <rest=text>")

	in = []string{"security"}
	g.block(in, "ssl profile <name=name>", "ssl", 10, "mgmt-sec-ssl-profile-")
	g.block(in, "password policy <name=name>", "ssl", 11, "mgmt-sec-password-")
	g.line(in, 5, 2, "password <rest=text>", "entropy <rest=text>", "signature-verification <rest=text>")
	g.line([]string{"ssl"}, 10, 0, "certificate <rest=text>", "trust <rest=text>", "tls <rest=text>", "cipher-list <rest=text>", "cipher <rest=text>", "chain <rest=text>", "crl <rest=text>", "fips <rest=text>", "minimum <rest=text>", "maximum <rest=text>")
}

func (g grammar) daemons() {
	at := []string{modeGlobal}
	for _, p := range []string{"daemon <name=name>", "event-handler <name=name>", "tap aggregation", "system control-plane", "system l1", "hardware tcam", "dhcp server", "peer-filter <name=name>", "ip nat pool <rest=text>", "monitor telemetry postcard policy", "stun", "cvx", "schedule <rest=text>", "traffic-policies"} {
		g.block(at, p, "text", 6100, strings.Fields(p)[0])
	}
	in := []string{"text"}
	g.flag(in, 10, "shutdown")
	g.line(in, 10, 1, "exec <rest=text>", "delay <rest=text>", "mode <rest=text>")
	g.line(in, 10, 0, "option <rest=text>", "trigger <rest=text>", "action <rest=text>", "ip access-group <rest=text>", "ipv6 access-group <rest=text>", "service-policy input <name=name>", "system profile <rest=text>", "profile <rest=text>", "feature <rest=text>", "match <rest=text>")
	g.line([]string{"vlan"}, 10, 1, "name <rest=text>", "state <what=active|suspend>")
	g.line([]string{"vlan"}, 11, 0, "trunk group <rest=text>")
	g.line([]string{"vrf"}, 10, 1, "description <rest=text>", "rd <rest=text>")
	g.line([]string{"mlag"}, 10, 1, "domain-id <rest=text>", "local-interface <rest=text>", "peer-address <rest=text>", "peer-link <rest=text>", "dual-primary <rest=text>")
	g.line([]string{"mlag"}, 11, 2, "reload-delay <rest=text>")
}
