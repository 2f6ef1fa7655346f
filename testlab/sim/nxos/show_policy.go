package nxos

import (
	"fmt"
	"strings"
)

// networkPolicy returns the output of `show policy-map system type network-qos`: the policy in
// force.
func (f *front) networkPolicy() string {
	var b strings.Builder
	b.WriteString("\n\n  Type network-qos policy-maps\n  ==============================\n")
	name := f.n.qosState().NetworkQoS
	p, ok := f.n.policy(typeNetwork, name)
	if !ok {
		return b.String()
	}
	fmt.Fprintf(&b, "  policy-map type network-qos %s\n", p.Name)
	for _, c := range p.Classes {
		fmt.Fprintf(&b, "    class type network-qos %s\n", c.Name)
		for _, l := range c.Lines {
			fmt.Fprintf(&b, "      %s\n", l)
		}
	}
	return b.String()
}

// networkClasses returns the output of `show class-map type network-qos`: the system-defined
// classes of the switch's class model, and configured ones.
func (f *front) networkClasses() string {
	var b strings.Builder
	b.WriteString("\n\n  Type network-qos class-maps\n  ==============================\n")
	for _, c := range f.n.classMaps(typeNetwork) {
		fmt.Fprintf(&b, "    class-map type network-qos %s %s\n", c.Match, c.Name)
		for _, l := range c.Lines {
			fmt.Fprintf(&b, "      %s\n", l)
		}
		b.WriteString("\n")
	}
	return b.String()
}
