package intent

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// The functions below spell port names for the records of the systems.

var (
	ethernetName = lazyre.New(`^(?i)(?:ethernet|eth|et|e)([0-9]+(?:/[0-9]+){0,2})$`)
	panelName    = lazyre.New(`^(?i)swp([0-9]+)(?:s([0-7]))?$`)
	nodeName     = lazyre.New(`^eth([1-9][0-9]{0,3})$`)
)

// ethernet returns Ethernet1/1 for Et1/1 and the like.
func ethernet(name string) string {
	if m := ethernetName.FindStringSubmatch(name); m != nil {
		return "Ethernet" + m[1]
	}
	return ""
}

// withoutSlots restricts a spelling to names without a slash.
func withoutSlots(spell func(string) string) func(string) string {
	return func(name string) string {
		if strings.Contains(name, "/") {
			return ""
		}
		return spell(name)
	}
}

// frontPanel returns the name of a front panel port of Linux, such as swp1 or swp1s0, in lower
// case.
func frontPanel(name string) string {
	if panelName.MatchString(name) {
		return strings.ToLower(name)
	}
	return ""
}

// panelAlias converts Linux's front panel name of a port to SONiC's usual alias: swp1 is etp1, and
// swp1s1, its second part, is etp1b (sonic-buildimage device/mellanox, port_config.ini).
func panelAlias(name string) string {
	m := panelName.FindStringSubmatch(name)
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return "etp" + m[1]
	}
	return "etp" + m[1] + string('a'+m[2][0]-'0')
}

// beforeSlash locates the number before the first slash, or else the last digits.
func beforeSlash(name string) (from, to int) {
	if to = strings.IndexByte(name, '/'); to < 0 {
		to = len(name)
	}
	return len(strings.TrimRight(name[:to], "0123456789")), to
}

// nodePort returns a function that converts the interfaces of a containerlab node: eth1 is the
// first port; on systems with slots, eth1_1 is the first port of slot 1
// (containerlab.dev/manual/kinds).
func nodePort(port func(n int) string) func(iface string) string {
	return func(iface string) string {
		if m := nodeName.FindStringSubmatch(iface); m != nil {
			n, _ := strconv.Atoi(m[1]) // the expression limits it to four digits
			return port(n)
		}
		if rest, ok := strings.CutPrefix(iface, "eth"); ok && strings.Contains(rest, "_") {
			return "Ethernet" + strings.ReplaceAll(rest, "_", "/")
		}
		return iface
	}
}
