package nxos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// prefix begins the names of class-maps and policy-maps that this package creates. It removes no
// others.
const prefix = "ROCE-FABRIC-"

// maxName is the maximum length of a class-map or policy-map name (batfish
// CiscoNxos_policy_map.g4; Cisco-NX-OS-device.yang).
const maxName = 40

// references holds the names of policies and class-maps that are in use.
type references struct{ policies, classes map[string]bool }

// namesIn collects the policies that are attached anywhere, and the class-maps that policies
// use.
func namesIn(c *Config) references {
	r := references{map[string]bool{}, map[string]bool{}}
	var walk func(ls []*Line, policy bool)
	walk = func(ls []*Line, policy bool) {
		for _, l := range ls {
			if rest, ok := cutWords(l.Text, "service-policy"); ok {
				for _, w := range strings.Fields(rest) {
					r.policies[w] = true
				}
			}
			if policy {
				if _, name, ok := classOf(l.Text); ok {
					r.classes[name] = true
				}
			}
			if len(l.Sub) > 0 {
				h, ok := headOf(l.Text)
				walk(l.Sub, policy || ok && h.at == inPolicy)
			}
		}
	}
	walk(c.Lines, false)
	return r
}

// unused returns the blocks of this package that nothing uses, policies first.
func unused(c *Config) []head {
	var policies, classMaps []head
	used := namesIn(c)
	for _, l := range c.Lines {
		h, ok := headOf(l.Text)
		if !ok || !strings.HasPrefix(h.name, prefix) {
			continue
		}
		switch h.at {
		case inPolicy:
			if !used.policies[h.name] {
				policies = append(policies, h)
			}
		case inClassMap:
			classMaps = append(classMaps, h)
		}
	}
	kept := Lines.New()
	for _, l := range c.Lines {
		if h, _ := headOf(l.Text); !slices.Contains(policies, h) {
			kept.Lines = append(kept.Lines, l)
		}
	}
	used = namesIn(kept)
	return append(policies, slices.DeleteFunc(classMaps, func(h head) bool { return used.classes[h.name] })...)
}

// mapName returns the class-map name for a class of the intent.
func mapName(class string) string {
	b := []byte(strings.ToUpper(class))
	for i, c := range b {
		if !lines.Alnum(c) && c != '_' && c != '-' {
			b[i] = '-'
		}
	}
	return prefix + string(b)
}
