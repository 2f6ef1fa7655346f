package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// The headers of classification by policy (EOS User Manual, QoS; aristanetworks/avd,
// eos_cli_config_gen class-maps and policy-maps). Other types do not classify what
// passes through the switch.
const (
	policyHead = "policy-map type quality-of-service "
	classHead  = "class-map type qos "
	restClass  = "class-default" // what no other class matches
)

// policy is what an input policy does with packets by their DSCP.
type policy struct {
	// class and leaves are the traffic class that it puts a code point into and the DSCP
	// that it writes, Unmapped where it sets none.
	class, leaves [qos.NumDSCP]int8
	// whole says that it does nothing else.
	whole bool
	// says is what it does, for people.
	says string
	// maps are those of ports, made from those of the switch.
	maps *qos.Maps
	// several says that packets of one traffic class leave with several DSCPs.
	several bool
}

// policyBlocks are the policies and their classes by the header; what opens one again
// adds to it.
func policyBlocks(c *Config) map[string][]*Line {
	blocks := map[string][]*Line{}
	for _, l := range c.Lines {
		if t := canonical(l.Text); strings.HasPrefix(t, policyHead) || strings.HasPrefix(t, classHead) {
			blocks[t] = append(blocks[t], l.Sub...)
		}
	}
	return blocks
}

// policyOf returns the line of the input policy that an interface has, and where it stands.
func (r *reading) policyOf(s *section) (*section, *held) {
	for _, from := range []*section{s, r.profile(s.carries())} {
		if from != nil && from.value("", keyPolicy) != "" {
			return from, from.get("", keyPolicy)
		}
	}
	return nil, nil
}

// classify says what the input policy of an interface makes of packets, and reports what
// the model does not hold of it; p is nil for what is no port.
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

// policy reads a policy by its name; nil where there is none. The first class that matches
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
	open := false // a class before matches by something else than DSCP
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
				left[d] = false // it keeps its class
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

// readSets returns the traffic class and the DSCP that a class sets, -1 for none, and
// whether it does nothing else.
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
			if v, ok := dscpOf(n); ok {
				dscp = v
				continue
			}
		}
		plain = plain && text[0] == '!'
	}
	return tc, dscp, plain
}

// merge makes the maps of ports with the policy from those of the switch.
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

// matched returns the code points that a class map matches, and whether those are all
// that it matches.
func matched(body []*Line) (ids []int, all bool) {
	all = len(body) > 0
	for _, l := range body {
		list, ok := strings.CutPrefix(strings.Replace(canonical(l.Text), "match ip dscp", "match dscp", 1), "match dscp ")
		if !ok {
			all = all && l.Text[0] == '!'
			continue
		}
		some, ok := lines.Numbers(list, dscpOf)
		all = all && ok
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), all
}
