package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Headers of classification by policy (EOS User Manual, QoS; aristanetworks/avd,
// eos_cli_config_gen class-maps and policy-maps). Other policy types do not classify transit
// traffic.
const (
	policyHead = "policy-map type quality-of-service "
	classHead  = "class-map type qos "
	restClass  = "class-default" // matches what no other class matches
)

// policy describes what an input policy does with packets of each DSCP.
type policy struct {
	// class and leaves are the traffic class and the DSCP that the policy sets for each code
	// point; Unmapped if it sets none.
	class, leaves [qos.NumDSCP]int8
	// whole is set if the policy does nothing else.
	whole bool
	// says describes the effect for people.
	says string
	// maps are the switch's maps as changed by the policy; they apply to its ports.
	maps *qos.Maps
	// several is set if packets of one traffic class leave with different DSCPs.
	several bool
}

// policyBlocks returns the lines of policies and class maps by header. Repeated headers add
// lines.
func policyBlocks(c *Config) map[string][]*Line {
	blocks := map[string][]*Line{}
	for _, l := range c.Lines {
		if t := canonical(l.Text); strings.HasPrefix(t, policyHead) || strings.HasPrefix(t, classHead) {
			blocks[t] = append(blocks[t], l.Sub...)
		}
	}
	return blocks
}

// policyOf returns the line that attaches an input policy to an interface, and the section that
// holds it: the interface or its profile.
func (r *reading) policyOf(s *section) (*section, *held) {
	for _, from := range []*section{s, r.profile(s.profileName())} {
		if from != nil && from.value("", keyPolicy) != "" {
			return from, from.get("", keyPolicy)
		}
	}
	return nil, nil
}

// classify applies the input policy of an interface to the maps of port p, and reports what the
// model cannot represent. p is nil if the interface is not a port.
func (r *reading) classify(s *section, p *qos.Port, all *globals) {
	at, h := r.policyOf(s)
	if h == nil {
		return
	}
	k := r.policy(strings.TrimPrefix(h.text, keyPolicy+" "), all)
	switch {
	case k == nil:
		r.report(at, h.line, whyNoPolicy)
		return
	case p == nil || p.Trust.V != qos.TrustDSCP || !k.whole || k.several:
		r.report(at, h.line, whyPolicy)
	}
	if p != nil && p.Trust.V == qos.TrustDSCP {
		p.ByPolicy = qos.Of(k.maps)
	}
}

// policy returns the policy with a name; nil if it does not exist. The first class that matches
// a packet counts.
func (r *reading) policy(name string, all *globals) *policy {
	if k, ok := r.policies[name]; ok {
		return k
	}
	var k *policy
	if body, ok := r.blocks[policyHead+name]; ok {
		k = readPolicy(body, r.blocks)
		k.merge(all.maps())
	}
	r.policies[name] = k
	return k
}

func readPolicy(body []*Line, blocks map[string][]*Line) *policy {
	k := &policy{whole: true}
	var left [qos.NumDSCP]bool
	for i := range left {
		k.class[i], k.leaves[i], left[i] = qos.Unmapped, qos.Unmapped, true
	}
	var says []string
	open := false // an earlier class matches something other than DSCP
	for _, l := range body {
		name, ok := strings.CutPrefix(canonical(l.Text), "class ")
		if !ok {
			k.whole = k.whole && l.Text[0] == '!'
			continue
		}
		tc, to, plain := readSets(l.Sub)
		ids, all := matched(blocks[classHead+"match-any "+name])
		if name == restClass && blocks[classHead+"match-any "+name] == nil {
			ids, all = nil, true
			for d := range left {
				ids = append(ids, d)
			}
		}
		if tc < 0 && to < 0 && plain && all {
			for _, d := range ids {
				left[d] = false // it keeps the class of the map
			}
			continue
		}
		what := "class " + name
		if all && len(ids) > 0 && name != restClass {
			what = "DSCP " + qos.FoldInts(ids)
		}
		if tc >= 0 {
			what += fmt.Sprintf(" to traffic class %d", tc)
		}
		says = append(says, what)
		k.whole = k.whole && plain && all
		if open = open || !all; open {
			continue
		}
		for _, d := range ids {
			if left[d] {
				k.class[d], k.leaves[d], left[d] = int8(tc), int8(to), false
			}
		}
	}
	k.says = strings.Join(says, ", ")
	return k
}

// readSets returns the traffic class and the DSCP that a class sets, -1 for none, and whether it
// does nothing else.
func readSets(body []*Line) (tc, dscp int, plain bool) {
	tc, dscp, plain = -1, -1, true
	for _, l := range body {
		text := canonical(l.Text)
		if n, ok := strings.CutPrefix(text, "set traffic-class "); ok {
			if v, ok := lines.Number(n, qos.NumPriorities-1); ok {
				tc = v
				continue
			}
		}
		if n, ok := strings.CutPrefix(text, "set dscp "); ok {
			if v, ok := lines.CodePoint(n); ok {
				dscp = v
				continue
			}
		}
		plain = plain && text[0] == '!'
	}
	return tc, dscp, plain
}

// merge computes the maps of ports with the policy from the maps of the switch.
func (k *policy) merge(m *qos.Maps) {
	for d, tc := range k.class {
		if tc >= 0 {
			m.DSCPToTC[d] = tc
		}
	}
	for tc := range m.TCToDSCP {
		to, kept, written := qos.Unmapped, false, false
		for d, in := range m.DSCPToTC {
			switch leaf := int(k.leaves[d]); {
			case int(in) != tc:
			case leaf < 0:
				kept = true
			default:
				k.several = k.several || written && leaf != to
				to, written = leaf, true
			}
		}
		if written && kept {
			k.several = true
		} else if written && !k.several {
			m.TCToDSCP[tc] = int8(to)
		}
	}
	k.maps = m
}

// matched returns the code points that a class map matches, and whether it matches nothing else.
func matched(body []*Line) (ids []int, all bool) {
	all = len(body) > 0
	for _, l := range body {
		list, ok := strings.CutPrefix(strings.Replace(canonical(l.Text), "match ip dscp", "match dscp", 1), "match dscp ")
		if !ok {
			all = all && l.Text[0] == '!'
			continue
		}
		some, ok := lines.Numbers(list, lines.CodePoint)
		all = all && ok
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), all
}
