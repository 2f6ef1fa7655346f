package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/sonic"
)

// identity is what a saved configuration says of its switch; "" for what it
// does not.
type identity struct{ hostname, model, release string }

// A mark is a line, or a part of one, that configurations of a system have.
// Systems borrow from each other, so that no mark decides by itself: a weight
// of 1 is a habit, 3 is what no other system is known to print.
type mark struct {
	weight int
	text   *regexp.Regexp
	json   bool // of JSON, else of lines
}

func line(weight int, pattern string) mark {
	return mark{weight, regexp.MustCompile(`(?m)^(?:` + pattern + `)`), false}
}

// collected is the header of a collector, RANCID, that logs in to each system in
// its own way and names it: it counts as much as two lines that only that system
// prints.
func collected(by string) mark {
	return line(6, `[!#]RANCID-CONTENT-TYPE: `+by+`[ \t]*$`)
}

// strangers are systems that this tool does not read, some of which share
// lines with those that it does.
var strangers = map[string][]mark{
	"Juniper Junos": {
		collected(`(juniper|junos)`),
		line(3, `## Last (commit|changed)`), line(3, `set (version|system|interfaces|class-of-service|protocols|chassis|routing-options) \S`),
		line(3, `(system|interfaces|class-of-service|protocols|chassis|routing-options) \{`), line(2, `\s+host-name \S+;`),
	},
	"Cisco IOS or IOS-XE": {
		collected(`cisco`),
		line(3, `Current configuration : \d+ bytes`), line(3, `version \d+\.\d+[ \t]*$`), line(3, `boot-start-marker`), line(2, `Building configuration`),
		line(2, `service timestamps `), line(2, `license (udi|boot) `), line(3, `interface (\w*Gigabit\w*|TwentyFiveGigE|FortyGigE|HundredGigE|FourHundredGigE)\d`),
		line(3, `mls qos`),
	},
	"Cisco IOS XR": {collected(`cisco-xr`), line(3, `!! IOS XR `), line(3, `interface \w+GigE0/\d+/\d+/\d+`), line(2, `interface MgmtEth`)},
	"Cumulus Linux": {
		collected(`cumulus`),
		line(3, `nv set `), line(3, `net add `), line(3, `- (header|set):[ \t]*$`), line(3, `auto (swp\d|lo\b|eth0)`), line(3, `iface `),
		line(2, `\s+nvue-api-version:`),
	},
	"FRRouting": {line(3, `frr version `), line(3, `frr defaults `), line(1, `log syslog`)},
	"Dell OS10": {
		line(3, `! Version 10\.\d`), line(3, `interface (ethernet|mgmt)\d+/\d+/\d+`), line(3, `interface breakout `), line(2, `qos-map traffic-class `),
		line(2, `trust (dscp|dot1p)-map `), line(2, `\s+pfc-cos \d`), line(2, `\s+flowcontrol receive (on|off)[ \t]*$`),
	},
	"the command line of Enterprise SONiC": {
		line(3, `qos (scheduler-policy|wred-policy) `), line(3, `qos map (dscp-tc|dot1p-tc|tc-queue|tc-pg|pfc-priority-queue|pfc-priority-pg) `),
		line(2, `interface Eth(ernet)? ?\d+/\d+/\d+`), line(2, `buffer init `),
	},
}

// The least that a text has to score to be of a system, which is also to be
// twice of what it scores for any other.
const leastScore = 2

// recognise returns the system whose configuration a text looks like. The error
// says why it is none that this tool reads, or wraps errUnclear.
func recognise(text []byte) (string, error) {
	type rated struct {
		name  string
		score int
	}
	text = head(distinct(text))
	inJSON := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	var all []rated
	rate := func(name string, marks []mark) {
		r := rated{name: name}
		for _, m := range marks {
			if (m.json || !inJSON) && m.text.Match(text) {
				r.score += m.weight
			}
		}
		all = append(all, r)
	}
	for name, r := range renderers {
		rate(name, r.marks)
	}
	for name, marks := range strangers {
		rate(name, marks)
	}
	slices.SortFunc(all, func(a, b rated) int { return cmp.Or(b.score-a.score, strings.Compare(a.name, b.name)) })
	switch first, second := all[0], all[1]; {
	case first.score < leastScore:
		return "", errUnclear
	case first.score < 2*second.score:
		return "", fmt.Errorf("%w: it has lines of %s and of %s", errUnclear, first.name, second.name)
	case strangers[first.name] != nil:
		return "", fmt.Errorf("it looks like a configuration of %s, which this tool does not read", first.name)
	default:
		return first.name, nil
	}
}

var errUnclear = errors.New("its text does not tell the system")

// distinct leaves out the lines that a text has already had: those of one port
// are mostly those of all.
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

func head(text []byte) []byte { return text[:min(len(text), headBytes)] }

// sonicMarks are tables of CONFIG_DB as JSON.
var sonicMarks = func() []mark {
	table := func(weight int, names ...string) mark {
		return mark{weight, regexp.MustCompile(`"(?:` + strings.Join(names, "|") + `)"\s*:\s*\{`), true}
	}
	return []mark{table(3, sonic.TMetadata), table(2, sonic.Tables()...), table(1, "INTERFACE", "LOOPBACK_INTERFACE", "VLAN", "FEATURE")}
}()

func sonicIdentity(text []byte) identity {
	var doc struct {
		Metadata map[string]struct {
			Hostname string `json:"hostname"`
			HWSKU    string `json:"hwsku"`
		} `json:"DEVICE_METADATA"`
	}
	// What cannot be read here, the decoder names.
	_ = json.Unmarshal(text, &doc)
	m := doc.Metadata["localhost"]
	return identity{hostname: m.Hostname, model: m.HWSKU}
}

var (
	// eosDevice is the second line of "show running-config".
	eosDevice = regexp.MustCompile(`(?m)^! device: (\S+) \(([^,)\s]{1,64}), EOS-([^)\s]{1,64})`)
	// nxosVersion is the first line of a configuration behind the comments.
	nxosVersion = regexp.MustCompile(`(?m)^version ([0-9]+\.[0-9]+\([^)\s]{1,16}\)\S{0,16})`)
	hostname    = regexp.MustCompile(`(?m)^hostname (\S{1,255})`)
)

var eosMarks = []mark{
	collected(`arista`),
	line(3, `! device: .*EOS-`), line(2, `! Command: show `), line(3, `! boot system `), line(3, `service routing protocols model `),
	line(2, `transceiver qsfp default-mode `), line(3, `daemon TerminAttr`), line(2, `management api (gnmi|http-commands|netconf|models)`),
	line(2, `vrf instance `), line(2, `switchport default mode `), line(2, `interface (defaults|Management\d)`), line(2, `interface Ethernet\d+[ \t]*$`),
	line(2, `qos profile \S`), line(2, `qos map (dscp|cos|traffic-class) [\d ]+ to `), line(2, `\s+(uc-|mc-)?tx-queue \d`), line(2, `\s+service-profile \S`),
	line(1, `\s+qos trust (dscp|cos)`), line(2, `\s+priority-flow-control (on|off)[ \t]*$`), line(2, `\s+priority-flow-control priority \d (no-)?drop`),
	line(2, `priority-flow-control (pause watchdog|all off)`), line(2, `\s+random-detect ecn (minimum-threshold|delay|count)`),
	line(2, `policy-map type (quality-of-service|copp|pbr|pdp) `), line(1, `class-map type qos match-any `), line(1, `   \S`),
}

func eosIdentity(text []byte) identity {
	id := identity{hostname: named(text)}
	if m := eosDevice.FindSubmatch(head(text)); m != nil {
		id.model, id.release = string(m[2]), string(m[3])
		if id.hostname == "" {
			id.hostname = string(m[1])
		}
	}
	return id
}

var nxosMarks = []mark{
	collected(`cisco-nx`), line(3, `! Cisco Nexus Operating System`), // Oxidized puts "show version" in front
	line(3, `version \d+\.\d+\(`), line(2, `!Command: show `), line(3, `!(Running configuration last done|No configuration change since)`),
	line(3, `vdc \S+ id \d`), line(3, `boot nxos `), line(2, `(no )?feature \S`), line(2, `vrf context `), line(2, `interface mgmt0`), line(2, `copp profile `),
	line(2, `hardware access-list tcam `), line(2, `system (jumbomtu|default switchport)`),
	line(2, `system qos[ \t]*$`), line(3, `(class|policy)-map type (queuing|network-qos) `), line(2, `\s+class type (queuing|network-qos) `),
	line(1, `(class|policy)-map type qos `), line(2, `\s+set qos-group \d`), line(2, `\s+service-policy type (queuing|network-qos) `),
	line(2, `\s+priority-flow-control mode `), line(2, `\s*priority-flow-control watch-dog`), line(2, `\s+random-detect (minimum-threshold|threshold) `),
	line(1, `  \S`),
}

func nxosIdentity(text []byte) identity {
	id := identity{hostname: named(text)}
	if m := nxosVersion.FindSubmatch(head(text)); m != nil {
		id.release = string(m[1])
	}
	return id
}

func named(text []byte) string {
	if m := hostname.FindSubmatch(head(text)); m != nil {
		return strings.Trim(string(m[1]), `"`)
	}
	return ""
}
