package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// policies holds the fate of each class map and policy map, by header.
type policies struct {
	fates map[string]struct {
		fate render.Fate
		why  string
	}
}

func (p *policies) fate(head string) (render.Fate, string) {
	f, ok := p.fates[head]
	switch {
	case ok:
		return f.fate, f.why
	case strings.HasPrefix(head, policyHead):
		return render.Inert, "there is no such policy"
	case strings.HasPrefix(head, classHead):
		return render.Inert, "no policy that a port carries has the class"
	}
	_, rest, _ := strings.Cut(head, " type ")
	if kind, _, _ := strings.Cut(rest, " "); slices.Contains(otherPolicies, kind) {
		return render.Represented, "" // of no concern to an intent
	}
	return render.Unknown, whyUnknown
}

// otherPolicies lists policy types that do not apply QoS to transit traffic.
var otherPolicies = []string{"copp", "control-plane", "pbr", "pdp", "inspect"}

// readPolicies determines which interfaces use each policy, and whether it does anything beyond
// the maps of the switch.
func (a *accountant) readPolicies() *policies {
	carriers := map[string][]string{}
	for _, s := range a.r.order {
		if s.at != inInterface {
			continue
		}
		if _, h := a.r.policyOf(s); h != nil {
			name := strings.TrimPrefix(h.text, keyPolicy+" ")
			carriers[name] = append(carriers[name], s.port())
		}
	}
	out := &policies{fates: map[string]struct {
		fate render.Fate
		why  string
	}{}}
	put := func(head string, fate render.Fate, why string) {
		if was, ok := out.fates[head]; !ok || was.fate != render.Unknown {
			out.fates[head] = struct {
				fate render.Fate
				why  string
			}{fate, why}
		}
	}
	for head, body := range a.r.blocks {
		name, is := strings.CutPrefix(head, policyHead)
		if !is {
			continue
		}
		if carriers[name] == nil {
			put(head, render.Inert, "no interface has the policy")
			continue
		}
		fate := render.Default
		why := "the DSCP map says the same"
		if k := a.r.policy(name, &a.globals); !k.whole || k.several || *k.maps != *a.globals.maps() || !a.byDSCP(carriers[name]) {
			fate = render.Unknown
			why = "it overrides the switch's maps on " + natural.Fold(carriers[name]) + ", which an intent cannot express: " + k.says
		}
		put(head, fate, why)
		for _, class := range body {
			if of, ok := strings.CutPrefix(canonical(class.Text), "class "); ok {
				for h := range a.r.blocks {
					if strings.HasPrefix(h, classHead) && strings.HasSuffix(h, " "+of) {
						put(h, fate, why)
					}
				}
			}
		}
	}
	return out
}

// byDSCP reports whether all ports trust DSCP.
func (a *accountant) byDSCP(ports []string) bool {
	return !slices.ContainsFunc(ports, func(name string) bool {
		p := a.whole.Ports[name]
		return p == nil || p.Trust.V != qos.TrustDSCP
	})
}

// dscpOf parses a code point by number or name: "26", "af31", "cs3", "ef".
func dscpOf(s string) (int, bool) {
	if n, ok := lines.Number(s, qos.NumDSCP-1); ok {
		return n, true
	}
	digit := func(i int) int {
		if i >= len(s) || s[i] < '0' || s[i] > '7' {
			return -1 << 10
		}
		return int(s[i] - '0')
	}
	n := -1
	switch {
	case s == "ef":
		n = 46
	case strings.HasPrefix(s, "cs") && len(s) == 3:
		n = 8 * digit(2)
	case strings.HasPrefix(s, "af") && len(s) == 4:
		n = 8*digit(2) + 2*digit(3)
	}
	return n, n >= 0 && n < qos.NumDSCP
}
