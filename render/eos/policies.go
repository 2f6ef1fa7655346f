package eos

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// policyClaim returns the claim of a class map or a policy, by header.
func (a *accountant) policyClaim(head string) forms.Claim {
	c, ok := a.policies[head]
	switch {
	case ok:
		return c
	case strings.HasPrefix(head, policyHead):
		return forms.Inert(whyNoPolicy)
	case strings.HasPrefix(head, classHead):
		return forms.Inert("no policy that a port carries has the class")
	}
	_, rest, _ := strings.Cut(head, " type ")
	if kind, _, _ := strings.Cut(rest, " "); slices.Contains(otherPolicies, kind) {
		return forms.Sets(nil) // of no concern to an intent
	}
	return forms.Unknown(whyUnknown)
}

// otherPolicies lists policy types that do not apply QoS to transit traffic.
var otherPolicies = []string{"copp", "control-plane", "pbr", "pdp", "inspect"}

// readPolicies returns the claim of each policy and of the class maps that it uses, by header: it
// tells which interfaces use the policy, and whether it does anything beyond the maps of the switch.
func (a *accountant) readPolicies() map[string]forms.Claim {
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
	out := map[string]forms.Claim{}
	heads := slices.Sorted(maps.Keys(a.r.blocks))
	for _, head := range heads {
		name, is := strings.CutPrefix(head, policyHead)
		if !is {
			continue
		}
		c := a.policyUse(name, carriers[name])
		out[head] = c
		if carriers[name] == nil {
			continue
		}
		for _, class := range a.classesOf(a.r.blocks[head], heads) {
			if out[class].Fate != render.Unknown {
				out[class] = c
			}
		}
	}
	return out
}

// policyUse returns the claim of a policy that interfaces carry.
func (a *accountant) policyUse(name string, carriers []string) forms.Claim {
	if carriers == nil {
		return forms.Inert("no interface has the policy")
	}
	if k := a.r.policy(name, &a.globals); !k.whole || k.several || *k.maps != *a.globals.maps() || !a.byDSCP(carriers) {
		return forms.Unknown("it overrides the switch's maps on %s, which an intent cannot express: %s", natural.Fold(carriers), k.says)
	}
	return forms.Default("the DSCP map says the same")
}

// classesOf returns the headers of the class maps that a policy uses.
func (a *accountant) classesOf(policy []*Line, heads []string) (out []string) {
	for _, class := range policy {
		of, ok := strings.CutPrefix(canonical(class.Text), "class ")
		for _, h := range heads {
			if ok && strings.HasPrefix(h, classHead) && strings.HasSuffix(h, " "+of) {
				out = append(out, h)
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
