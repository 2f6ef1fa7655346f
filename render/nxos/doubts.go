package nxos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Doubts says which lines of an edit a switch may refuse, which no public
// source rules out: an MTU of a switched port that is neither 1500 nor that of
// "system jumbomtu", and lines of a port that is a member of a port-channel.
func Doubts(e Edit, have *Config) []string {
	v := newView(have, EightQueue)
	jumbo, _, _ := last(v.global, "system jumbomtu")
	var switched, members []string
	for _, s := range e {
		h, _ := headOf(s.Section)
		own := v.ports[h.name]
		if h.at != inInterface || own == nil || s.Line == "" {
			continue
		}
		routed := slices.ContainsFunc(own.Sub, func(l *Line) bool { return l.Text == "no switchport" })
		mtu, _ := cutWords(s.Line, keyMTU)
		switch {
		case aggregate(own) != "":
			members = append(members, h.name)
		case s.Key == keyMTU && !routed && mtu != strconv.Itoa(defaultMTU) && mtu != cmp.Or(jumbo, strconv.Itoa(maxMTU)):
			switched = append(switched, h.name)
		}
	}
	var out []string
	for _, doubt := range []struct {
		ports []string
		why   string
	}{
		{switched, `a port without "no switchport" may take no MTU but 1500 and that of "system jumbomtu"`},
		{members, "a member of a port-channel may take its lines from the port-channel alone"},
	} {
		if ports := slices.Compact(natural.Sorted(doubt.ports)); len(ports) > 0 {
			out = append(out, fmt.Sprintf("%s: %s; a switch that refuses a line refuses the plan as a whole", natural.Fold(ports), doubt.why))
		}
	}
	return out
}
