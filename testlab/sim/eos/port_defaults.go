package eos

import "github.com/roce-fabric/roce-fabric/testlab/sim/cli"

import "strconv"

// defaultsHead is the head of the block with defaults for ports that have no line of their own
// (aristanetworks/avd, eos_cli_config_gen interface-defaults.j2).
const defaultsHead = "interface defaults"

const portMode = "switchport default mode"

// portDefaults adds the block of port defaults and the default port mode.
func (g grammar) portDefaults() {
	at := []string{modeGlobal}
	g.Set(at, portMode+" <mode=access|routed>", setLine(portMode, rankPortMode, portMode+" access"))
	g.Neg(at, portMode+" [<mode=access|routed>]", cli.ClearKey[*exec](portMode))
	g.block(at, defaultsHead, modeDefaults, rankDefaults, "defaults")
	in := []string{modeDefaults}
	g.Set(in, "mtu <n=68-9214>", setLine("mtu", 10))
	g.Neg(in, "mtu [<n=68-9214>]", cli.ClearKey[*exec]("mtu"))
	g.block(in, "ethernet", modeEthernetDefaults, 20, "defaults-ethernet")
	in = []string{modeEthernetDefaults}
	g.Set(in, "shutdown", setLine("shutdown", 10))
	g.Neg(in, "shutdown", setNegated("shutdown", 10))
}

// defaultLine returns the line that applies to an interface by default, or "" if the default does
// not depend on other lines.
func (c *config) defaultLine(b *block, key string) string {
	if !interfaceModes[b.Mode] {
		return ""
	}
	defaults := c.root.Subs[defaultsHead]
	switch key {
	case "mtu":
		if defaults != nil && defaults.Get("mtu") != "" {
			return defaults.Get("mtu")
		}
		return "mtu " + strconv.Itoa(defaultL3MTU)
	case "shutdown":
		if b.Mode == modeEthernet && defaults != nil && defaults.Subs["ethernet"] != nil && defaults.Subs["ethernet"].Get("shutdown") == "shutdown" {
			return "shutdown"
		}
		return "no shutdown"
	case "switchport":
		if c.root.Get(portMode) == portMode+" routed" {
			return "no switchport"
		}
		return "switchport"
	}
	return ""
}

// lineFor returns the effective line of an interface: its own, or the default.
func (c *config) lineFor(b *block, key string) string {
	if l := b.Get(key); l != "" {
		return l
	}
	return c.defaultLine(b, key)
}
