package drivers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Clue is a line, or a part of one, that configurations of a system have.
// Systems borrow from each other, so that no clue decides by itself: a weight
// of 1 is a habit, 3 is what no other system is known to print.
type Clue struct {
	weight int
	text   func() *regexp.Regexp
	json   bool // of JSON, else of lines
}

func newClue(weight int, pattern string, json bool) Clue {
	return Clue{weight, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }), json}
}

// Line is a Clue of a text of lines: the pattern of the beginning of one.
func Line(weight int, pattern string) Clue { return newClue(weight, `(?m)^(?:`+pattern+`)`, false) }

// Object is a Clue of a text in JSON: an object under one of those names.
func Object(weight int, names ...string) Clue {
	return newClue(weight, `"(?:`+strings.Join(names, "|")+`)"\s*:\s*\{`, true)
}

// Collected is the header of a collector, RANCID, that logs in to each system in
// its own way and names it: it counts as much as two lines that only that system
// prints.
func Collected(by string) Clue {
	return Line(6, `[!#]RANCID-CONTENT-TYPE: `+by+`[ \t]*$`)
}

// strangers are systems that this tool does not read; some share lines with others.
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
	"Cisco IOS XR": {Collected(`cisco-xr`), Line(3, `!! IOS XR `), Line(3, `interface \w+GigE0/\d+/\d+/\d+`), Line(2, `interface MgmtEth`)},
	"Cumulus Linux": {
		Collected(`cumulus`),
		Line(3, `nv set `), Line(3, `net add `), Line(3, `- (header|set):[ \t]*$`), Line(3, `auto (swp\d|lo\b|eth0)`), Line(3, `iface `),
		Line(2, `\s+nvue-api-version:`),
	},
	"FRRouting": {Line(3, `frr version `), Line(3, `frr defaults `), Line(1, `log syslog`)},
	"Dell OS10": {
		Line(3, `! Version 10\.\d`), Line(3, `interface (ethernet|mgmt)\d+/\d+/\d+`), Line(3, `interface breakout `), Line(2, `qos-map traffic-class `),
		Line(2, `trust (dscp|dot1p)-map `), Line(2, `\s+pfc-cos \d`), Line(2, `\s+flowcontrol receive (on|off)[ \t]*$`),
	},
	"the command line of Enterprise SONiC": {
		Line(3, `qos (scheduler-policy|wred-policy) `), Line(3, `qos map (dscp-tc|dot1p-tc|tc-queue|tc-pg|pfc-priority-queue|pfc-priority-pg) `),
		Line(2, `interface Eth(ernet)? ?\d+/\d+/\d+`), Line(2, `buffer init `),
	},
}

// The least that a text has to score to be of a system, which is also to be
// twice of what it scores for any other.
const leastScore = 2

// Recognise returns the name of the system whose configuration a text looks like.
// The error says why it is none that this tool reads, or wraps ErrUnclear.
func (all Systems) Recognise(text []byte) (string, error) {
	type rated struct {
		name  string
		score int
	}
	text = Head(distinct(text))
	inJSON := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	var ratings []rated
	rate := func(name string, clues []Clue) {
		r := rated{name: name}
		for _, m := range clues {
			if (m.json || !inJSON) && m.text().Match(text) {
				r.score += m.weight
			}
		}
		ratings = append(ratings, r)
	}
	for _, s := range all {
		rate(s.Name, s.Clues)
	}
	for name, clues := range strangers {
		rate(name, clues)
	}
	slices.SortFunc(ratings, func(a, b rated) int { return cmp.Or(b.score-a.score, strings.Compare(a.name, b.name)) })
	switch first, second := ratings[0], ratings[1]; {
	case first.score < leastScore:
		return "", ErrUnclear
	case first.score < 2*second.score:
		return "", fmt.Errorf("%w: it has lines of %s and of %s", ErrUnclear, first.name, second.name)
	case strangers[first.name] != nil:
		return "", fmt.Errorf("it looks like a configuration of %s, which this tool does not read", first.name)
	default:
		return first.name, nil
	}
}

// ErrUnclear says that a text could be of several systems, or of none.
var ErrUnclear = errors.New("its text does not show the system")

// distinct leaves out repeated lines: those of one port are mostly those of all.
func distinct(text []byte) []byte {
	seen := map[string]bool{}
	var out []byte
	for l := range bytes.Lines(text) {
		if !seen[string(l)] {
			seen[string(l)] = true
			out = append(out, l...)
		}
	}
	return out
}

// headBytes is how far into a text its system is looked for.
const headBytes = 1 << 20

// Head is the part of a text that its system is looked for in.
func Head(text []byte) []byte { return text[:min(len(text), headBytes)] }
