package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// fallback is the line of a port channel whose members become individual ports, with their own
// configuration, as long as the other end sends no LACP (EOS User Manual, Port Channels and LACP).
const fallback = "port-channel lacp fallback individual"

// claimFallback claims the QoS lines of port channels that members without these lines lose when
// they fall back to individual ports (aristanetworks/avd issue 3822).
func (a *accountant) claimFallback() {
	members := map[string][]*section{}
	for _, s := range a.r.order {
		if isEthernet(s.port()) {
			if lag, ok := strings.CutPrefix(s.value("", keyChannel), keyChannel+" "); ok {
				id, _, _ := strings.Cut(lag, " ")
				members["Port-Channel"+id] = append(members["Port-Channel"+id], s)
			}
		}
	}
	for _, name := range natural.Keys(members) {
		bundle := a.r.sections[sectionInterface+name]
		if bundle == nil || !bundle.says(fallback) {
			continue
		}
		for i := range bundle.held {
			h := &bundle.held[i]
			if h.inert || !roce(h.text) {
				continue
			}
			var without []string
			for _, m := range members[name] {
				if m.value(h.queue, h.spot.key) == "" {
					without = append(without, m.port())
				}
			}
			if len(without) > 0 {
				a.Say(h.line, forms.Unknown("").Failing("PRT-07"))
				a.NotUnderstood(h.line, natural.Fold(without)+" loses it as an individual port, without LACP; whether a member takes it from the port channel otherwise is not documented")
			}
		}
	}
}

// says reports whether a section has a line.
func (s *section) says(text string) bool {
	for _, n := range s.nodes {
		for _, l := range n.Sub {
			if canonical(l.Text) == text {
				return true
			}
		}
	}
	return false
}
