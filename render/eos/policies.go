package eos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// The headers of classification by policy (EOS User Manual, QoS; aristanetworks/avd,
// eos_cli_config_gen class-maps and policy-maps). Other types do not classify what
// passes through the switch.
const (
	policyHead = "policy-map type quality-of-service "
	classHead  = "class-map type qos "
)

// policies is what each class map and policy map comes to, by the header.
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
		return render.Represented, "" // which no intent speaks of
	}
	return render.Unknown, whyUnknown
}

// otherPolicies are the types of policies that are not about the traffic of ports, or
// not about its quality.
var otherPolicies = []string{"copp", "control-plane", "pbr", "pdp", "inspect"}

// readPolicies works out where policies are carried, and whether they say anything that
// the maps do not.
func (a *accountant) readPolicies(c *Config) *policies {
	blocks := map[string][]*Line{}
	for _, l := range c.Lines {
		if t := canonical(l.Text); strings.HasPrefix(t, policyHead) || strings.HasPrefix(t, classHead) {
			blocks[t] = append(blocks[t], l.Sub...)
		}
	}
	carriers := map[string][]string{}
	for _, s := range a.r.order {
		if s.at != inInterface {
			continue
		}
		line := s.value("", keyPolicy)
		if profile := a.r.profile(s.carries()); line == "" && profile != nil {
			line = profile.value("", keyPolicy)
		}
		if line != "" {
			name := strings.TrimPrefix(line, keyPolicy+" ")
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
	for head, body := range blocks {
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
		says, same := a.classified(body, blocks)
		if !same || !a.byDSCP(carriers[name]) {
			fate = render.Unknown
			why = "it classifies on " + natural.Fold(carriers[name]) + " in place of the maps of the switch, and is not compared: " + says
		}
		put(head, fate, why)
		for _, class := range body {
			if of, ok := strings.CutPrefix(canonical(class.Text), "class "); ok {
				for h := range blocks {
					if strings.HasPrefix(h, classHead) && strings.HasSuffix(h, " "+of) {
						put(h, fate, why)
					}
				}
			}
		}
	}
	return out
}

// byDSCP reports whether ports all trust DSCP.
func (a *accountant) byDSCP(ports []string) bool {
	return !slices.ContainsFunc(ports, func(name string) bool {
		p := a.whole.Ports[name]
		return p == nil || p.Trust.V != qos.TrustDSCP
	})
}

// classified says what a policy makes of code points, and whether the DSCP map of the
// switch does the same.
func (a *accountant) classified(body []*Line, blocks map[string][]*Line) (says string, same bool) {
	var parts []string
	same = true
	for _, class := range body {
		name, ok := strings.CutPrefix(canonical(class.Text), "class ")
		if !ok {
			same = same && class.Text[0] == '!'
			continue
		}
		tc, plain := -1, true
		for _, set := range class.Sub {
			n, ok := strings.CutPrefix(canonical(set.Text), "set traffic-class ")
			if v, err := strconv.Atoi(n); ok && err == nil {
				tc = v
			} else {
				plain = plain && set.Text[0] == '!'
			}
		}
		if tc < 0 && plain {
			continue
		}
		ids, all := matched(blocks[classHead+"match-any "+name])
		for _, d := range ids {
			plain = plain && int(a.globals.dscp[d]) == tc
		}
		same = same && plain && all
		switch {
		case tc < 0:
			parts = append(parts, "class "+name)
		case all && len(ids) > 0:
			parts = append(parts, fmt.Sprintf("DSCP %s to traffic class %d", qos.FoldInts(ids), tc))
		default:
			parts = append(parts, fmt.Sprintf("class %s to traffic class %d", name, tc))
		}
	}
	return strings.Join(parts, ", "), same
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

// dscpOf reads a code point by number or by name: "26", "af31", "cs3", "ef".
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
