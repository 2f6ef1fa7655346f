package drivers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Clue is a pattern that occurs in configurations of a system. Systems borrow syntax from each
// other, so no clue decides alone: weight 1 is for a common style, 3 for text that no other
// system is known to print.
type Clue struct {
	weight int
	text   *lazyre.Regexp
	json   bool // applies to JSON text; otherwise to lines
}

func newClue(weight int, pattern string, json bool) Clue {
	return Clue{weight, lazyre.Of(pattern), json}
}

// Line returns a Clue for lines that begin with the pattern.
func Line(weight int, pattern string) Clue { return newClue(weight, `(?m)^(?:`+pattern+`)`, false) }

// Object returns a Clue for JSON text with an object under one of the names.
func Object(weight int, names ...string) Clue {
	return newClue(weight, `"(?:`+strings.Join(names, "|")+`)"\s*:\s*\{`, true)
}

// Collected returns a Clue for the header of RANCID, a collector that logs in to each system in a
// specific way and names the system. It counts as much as two lines that only that system prints.
func Collected(by string) Clue {
	return Line(6, `[!#]RANCID-CONTENT-TYPE: `+by+`[ \t]*$`)
}

// strangers lists systems that this tool does not read; some of them share lines with supported
// systems.
var strangers = map[string][]Clue{
	"Juniper Junos": {
		Collected(`(juniper|junos)`),
		Line(3, `## Last (commit|changed)`), Line(3, `set (version|system|interfaces|class-of-service|protocols|chassis|routing-options) \S`),
		Line(3, `(system|interfaces|class-of-service|protocols|chassis|routing-options) \{`), Line(2, `\s+host-name \S+;`),
	},
	"Cisco IOS or IOS-XE": {
		Collected(`cisco`),
		Line(3, `Current configuration : \d+ bytes`), Line(3, `version \d+\.\d+[ \t]*$`), Line(3, `boot-start-marker`), Line(2, `Building configuration`),
		Line(2, `service timestamps `), Line(2, `license (udi|boot) `), Line(3, `interface (\w*Gigabit\w*|TwentyFiveGigE|FortyGigE|HundredGigE|FourHundredGigE)\d`),
		Line(3, `mls qos`),
	},
	"Cisco IOS XR":               {Collected(`cisco-xr`), Line(3, `!! IOS XR `), Line(3, `interface \w+GigE0/\d+/\d+/\d+`), Line(2, `interface MgmtEth`)},
	"Cumulus Linux without NVUE": {Line(3, `auto (swp\d|lo\b|eth0)`), Line(3, `iface `)},
	// Cumulus Linux 3 and 4 User Guide.
	"Cumulus Linux without NVUE ('net add' of NCLU)": {Line(3, `\s*(\S*[$#] ?)?(sudo )?net (add|del|commit)\b`)},
	"Cumulus Linux before NVUE ('cl set' of CUE)":    {Line(3, `\s*(\S*[$#] ?)?(sudo )?cl (set|unset) `)},
	"Cumulus Linux without NVUE (traffic.conf, qos_features.conf of its switchd)": {
		Line(3, `\s*#? ?traffic\.(packet_priority_(source|remark)_set|cos_\d|port_group)`), Line(3, `\s*(pfc|link_pause|ecn_red|default_ecn_red_conf|priority_group|remark|source)\.\S+\s*=`),
		Line(3, `\s*(ingress|egress)_service_pool\.`), Line(2, `\s*(default_)?egress_sched\.`), Line(2, `# .*/etc/(cumulus|mlx)/datapath`),
	},
	"FRRouting": {Line(3, `frr version `), Line(3, `frr defaults `), Line(1, `log syslog`)},
	// Dell SmartFabric OS10 User Guide, Quality of service and Data center bridging.
	"Dell OS10": {
		Line(3, `! Version 10\.\d`), Line(3, `interface (range )?(ethernet|mgmt)\d+/\d+/\d+`), Line(3, `interface breakout \d`), Line(3, `\s*qos-map (traffic-class|dscp-tc|queue) `),
		Line(3, `\s*(trust|trust-map) (dscp|dot1p)(-map)? `), Line(3, `\s*pfc-cos \d`), Line(2, `\s*flowcontrol receive (on|off)[ \t]*$`), Line(3, `\s*pfc-(shared-buffer-size|max-buffer-size)`),
		Line(3, `\s*service-policy (input|output) type (network-qos|queuing|qos) `), Line(3, `\s*ets mode on`), Line(3, `\s*match queue \d`), Line(3, `\s*wred (ecn|\S+[ \t]*$)`),
		Line(2, `dcbx enable`), Line(1, `\s*pause[ \t]*$`), Line(1, ` \S`),
	},
	// Dell Configuration Guide for OS9, Data Center Bridging.
	"Dell OS9": {
		Line(3, `! Version 9\.\d`), Line(3, `\s*dcb-map `), Line(3, `\s*priority-pgid `), Line(3, `\s*priority-group \d+ bandwidth `), Line(3, `interface (TenGigabitEthernet|fortyGigE|hundredGigE|twentyFiveGigE) \d+/\d+`),
		Line(2, `service-class (dynamic dot1p|dot1p-mapping)`),
	},
	// Ruijie Networks RGOS Configuration Guide: types and numbers of interfaces are apart.
	"Ruijie RGOS": {
		Line(3, `Current configuration: ?\d+ bytes`), Line(3, `version \S*RGOS`), Line(3, `interface (AggregatePort|TFGigabitEthernet|(Hundred|TwoHundred|FourHundred|Forty)GigabitEthernet) \d`),
		Line(2, `interface TenGigabitEthernet \d`), Line(1, `hostname (Ruijie|RG-)`), Line(2, `\s*priority-flow-control (enable|cos-value|deadlock cos-value)`), Line(2, `\s*(wrr|drr)-queue bandwidth `),
	},
	"NVIDIA Onyx": {
		Line(3, `##( Running database| Generated at| Hostname:)`), Line(3, `\s*roce( lossless| semi-lossless)?[ \t]*$`), Line(3, `\s*dcb priority-flow-control `),
		Line(3, `\s*traffic pool \S+ (type|map|memory)`), Line(3, `\s*interface (ethernet|mlag-port-channel) \d+(/\d+)? `),
	},
	"Huawei VRP": {Line(2, `\s*sysname \S`), Line(3, `!Software Version V\d`), Line(3, `interface \d+GE\d`), Line(3, `\s*dcb pfc `)},
	"H3C Comware": {
		Line(2, `\s*sysname \S`), Line(3, `\s*version 7\.\d\.\d+, `), Line(3, `interface (\w+GigE|HundredGigE|FourHundredGigE)\d/\d/\d`),
		Line(3, `\s*priority-flow-control (no-drop dot1p|deadlock)`),
	},
	"Nokia SR Linux":                                    {Line(3, `set / (system|interface|qos) `), Line(3, `\s*interface ethernet-\d+/\d+ \{`), newClue(3, `"srl_nokia-[a-z-]+:`, true)},
	"Arista EOS in JSON (its text is read)":             {newClue(3, `"cmds"\s*:\s*\{`, true)},
	"SONiC in a minigraph (its config_db.json is read)": {Line(3, `\s*<DeviceMiniGraph`), Line(1, `\s*<(PngDec|CpgDec|DpgDec)>`)},
	"OpenConfig": {newClue(2, `"openconfig-[a-z-]+:`, true)},
	// Dell Enterprise SONiC User Guide, Quality of service and RoCE.
	"the command line of Enterprise SONiC": {
		Line(3, `\s*qos (scheduler-policy|wred-policy) `), Line(3, `\s*qos map (dscp-tc|dot1p-tc|tc-queue|tc-pg|tc-dscp|tc-dot1p|pfc-priority-queue|pfc-priority-pg) `),
		Line(3, `\s*qos-map (dscp-tc|dot1p-tc|tc-queue|tc-pg|tc-dscp|tc-dot1p|pfc-priority-queue|pfc-priority-pg) `), Line(3, `\s*(interface|interface range) Eth ?\d+/\d+`),
		Line(3, `roce enable`), Line(3, `interface-naming standard`), Line(3, `\s*queue \d wred-policy `), Line(3, `\s*priority-flow-control (watchdog (on|off|action|polling)|asymmetric)`),
		Line(2, `\s*priority-flow-control priority \d[ \t]*$`), Line(2, `\s*(buffer init|buffer profile|scheduler-policy) `), Line(2, `interface PortChannel ?\d`), Line(2, `ip vrf mgmt`), Line(1, ` \S`),
	},
}

// leastScore is the minimum score for recognizing a system. The score must also be at least twice
// that of any other system.
const leastScore = 2

// Rating says how much a text looks like the configuration of a system.
type Rating struct {
	System string
	Score  int
	Lines  []string // the first matching line of each clue
}

// String formats the rating for users.
func (r Rating) String() string {
	const most = 4
	s := r.System + " (score " + strconv.Itoa(r.Score)
	for i, l := range r.Lines[:min(len(r.Lines), most)] {
		s += map[bool]string{true: ": ", false: ", "}[i == 0] + strconv.Quote(l)
	}
	if len(r.Lines) > most {
		s += ", ..."
	}
	return s + ")"
}

// Rate returns the systems whose configuration the text may be, the most likely first, including
// systems that this tool does not read.
func (all Systems) Rate(text []byte) []Rating {
	text = Head(withoutRepeatedShapes(apart(text)))
	inJSON := bytes.HasPrefix(bytes.TrimLeft(text, "[ \t\r\n"), []byte("{"))
	var out []Rating
	rate := func(name string, clues []Clue) {
		r := Rating{System: name}
		for _, m := range clues {
			if !m.json && inJSON {
				continue
			}
			if at := m.text.FindIndex(text); at != nil {
				r.Score += m.weight
				if l := lineAt(text, at); !slices.Contains(r.Lines, l) {
					r.Lines = append(r.Lines, l)
				}
			}
		}
		if r.Score > 0 {
			out = append(out, r)
		}
	}
	for _, s := range all {
		rate(s.Name, s.Clues)
	}
	for name, clues := range strangers {
		rate(name, clues)
	}
	ordered.Sort(out, func(a, b Rating) int { return cmp.Or(b.Score-a.Score, strings.Compare(a.System, b.System)) })
	return out
}

// lineAt returns the line that contains the start of a match; for JSON, which may be on a single
// line, the key.
func lineAt(text []byte, at []int) string {
	if text[at[0]] == '"' {
		key, _, _ := strings.Cut(string(text[at[0]+1:at[1]]), `"`)
		return key
	}
	to := len(text)
	if i := bytes.IndexByte(text[at[1]:], '\n'); i >= 0 {
		to = at[1] + i
	}
	return term.Clip(string(text[at[0]:to]), 60)
}

// Recognised returns the name of the system whose configuration a text looks like, given the
// result of [Systems.Rate]. The error says that this tool does not read the system, or wraps
// ErrUnclear.
func Recognised(by []Rating) (string, error) {
	switch {
	case len(by) == 0:
		return "", ErrUnclear
	case by[0].Score < leastScore:
		return "", fmt.Errorf("%w: it may be one of %s", ErrUnclear, by[0])
	case len(by) > 1 && by[0].Score < 2*by[1].Score:
		return "", fmt.Errorf("%w: it has lines of %s and of %s", ErrUnclear, by[0], by[1])
	case strangers[by[0].System] != nil:
		return "", fmt.Errorf("it looks like a configuration of %s, which this tool does not read", by[0].System)
	}
	return by[0].System, nil
}

// ErrUnclear means that a text may belong to several systems, or to none.
var ErrUnclear = errors.New("cannot tell which system it is from")

// typedPrompt matches the prompt of a configuration mode in front of a typed line.
var typedPrompt = lazyre.New(`(?m)^([A-Za-z0-9][\w.-]*\(conf[^)\s]*\)#)[ \t]*(\S)`)

// apart puts each prompt of a configuration mode on a line of its own.
func apart(text []byte) []byte {
	if !bytes.Contains(text, []byte("(conf")) {
		return text
	}
	return typedPrompt.ReplaceAll(text, []byte("$1\n$2"))
}

// withoutRepeatedShapes removes lines that differ from earlier ones only in digits, because the
// lines of one port are mostly like those of the others.
func withoutRepeatedShapes(text []byte) []byte {
	seen := map[string]bool{}
	var out, shape []byte
	for l := range bytes.Lines(text) {
		shape = shape[:0]
		for _, c := range l {
			if c < '0' || c > '9' {
				shape = append(shape, c)
			}
		}
		if !seen[string(shape)] {
			seen[string(shape)] = true
			out = append(out, l...)
		}
	}
	return out
}

// headBytes is the number of leading bytes in which the system is searched for.
const headBytes = 1 << 20

// Head returns the part of a text in which its system is searched for.
func Head(text []byte) []byte { return text[:min(len(text), headBytes)] }
