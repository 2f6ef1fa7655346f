package eos

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// printer writes configuration as EOS does: with three spaces per level and "!" lines between
// sections.
type printer struct {
	strings.Builder
	e   *EOS
	c   *config
	all bool // include every default
	// dice decides about lines without a meaning; nil for text that is compared.
	dice *sim.Dice
}

func (e *EOS) printer(c *config, all bool) *printer { return &printer{e: e, c: c, all: all} }

// document returns a complete configuration with header and end, as printed by command. The caller
// must hold Mu.
func (e *EOS) document(command string, c *config, all bool) string {
	p := e.printer(c, all)
	p.dice = e.Dice.Answer()
	p.WriteString("! Command: " + command + "\n! device: " + c.hostname() + " (" + e.o.Model + ", EOS-" + e.o.Version + ")\n!\n")
	if !e.Dice.Habit("no boot line").Bool() {
		p.WriteString("! boot system flash:/EOS64-" + e.o.Version + ".swi\n!\n")
	}
	p.root()
	p.WriteString("end\n")
	return p.String()
}

// body returns the part of a configuration that a diff compares.
func (e *EOS) body(c *config) string {
	p := e.printer(c, false)
	p.root()
	return p.String()
}

// thing is a line or a sub-block of a block.
type thing struct {
	rank, seq int
	line      string
	sub       *block
}

// root prints the sections of a configuration.
func (p *printer) root() {
	c := p.c
	things := p.things(c.root)
	for i, name := range qosMaps {
		m := p.e.qosMap(name)
		for j, l := range m.lines(c.maps[name], p.all, p.e.printsDefaults(), p.e.Dice.Habit("ranges").N(3)) {
			things = append(things, thing{rank: rankQoS + 1 + i, seq: j, line: l})
		}
	}
	sortThings(things)
	for i, t := range things {
		if i > 0 && (t.sub != nil || things[i-1].sub != nil || t.rank/100 != things[i-1].rank/100 || p.dice.N(8) == 1) {
			p.WriteString("!\n")
		}
		if t.sub != nil {
			p.block(t.sub, "")
		} else {
			p.WriteString(t.line + "\n")
		}
	}
	if len(things) > 0 {
		p.WriteString("!\n")
	}
}

// block prints a block with its head. In interfaces and profiles each queue is enclosed in "!"
// lines; elsewhere a "!" separates a block from what precedes it.
func (p *printer) block(b *block, indent string) {
	p.WriteString(indent + b.Head + "\n")
	indent += "   "
	queues := b.Mode == modeProfile || interfaceModes[b.Mode]
	things := p.things(b)
	sortThings(things)
	for i, t := range things {
		before := i > 0 && things[i-1].sub != nil
		switch {
		case t.sub != nil && (queues || i > 0 && b.Mode != modeDefaults), t.sub == nil && queues && before:
			p.WriteString(indent + "!\n")
		}
		if t.sub != nil {
			p.block(t.sub, indent)
		} else {
			p.WriteString(indent + t.line + "\n")
		}
	}
}

func sortThings(things []thing) {
	ordered.Sort(things, func(a, b thing) int {
		if c := cmp.Compare(a.rank, b.rank); c != 0 {
			return c
		}
		if a.sub != nil && b.sub != nil && named(a.sub.Mode) {
			return natural.Compare(a.sub.Head, b.sub.Head)
		}
		return cmp.Compare(a.seq, b.seq)
	})
}

// named reports whether the blocks of a mode are printed in order of their names. The others are
// printed in the order in which they were created, which matters for policies.
func named(mode string) bool {
	return mode != modeClass && mode != "bgp af" && mode != "router" && mode != "text"
}

// things returns the printable content of a block.
func (p *printer) things(b *block) []thing {
	var defaults map[string]thing
	if p.all {
		defaults = p.defaults(b)
	}
	var out []thing
	for key, v := range b.Vals {
		line := v.Plain
		if usual := p.c.defaultLine(b, key); usual != "" {
			line = v.Line
			if line == usual {
				line = ""
			}
		}
		if p.all || p.e.printsDefaults() {
			line = v.Line
		}
		if line != "" {
			rank := p.rank(b, v.Rank)
			if d, ok := defaults[key]; ok {
				rank = d.rank
			}
			out = append(out, thing{rank: rank, seq: v.Seq, line: line})
		}
		delete(defaults, key)
	}
	out = slices.AppendSeq(out, maps.Values(defaults))
	for _, s := range p.blocks(b) {
		if !isQueue(s.Mode) || p.all || len(p.things(s)) > 0 {
			out = append(out, thing{rank: p.rank(b, s.Rank), seq: s.Seq, sub: s})
		}
	}
	return out
}

func isQueue(mode string) bool { return mode == modeTxQueue || mode == modeMcQueue }

// printsDefaults reports whether configured lines that equal the default are printed.
func (e *EOS) printsDefaults() bool {
	return e.o.PrintDefaults || e.Dice.Habit("PrintDefaults").Bool()
}

// rank moves the PFC lines of a profile after its queues. The line that makes a queue count marked
// packets comes before the thresholds (aristanetworks/avd) or last (batfish/batfish,
// arista_interface_show_run_all).
func (p *printer) rank(b *block, rank int) int {
	switch {
	case b.Mode == modeProfile && pfcFrom <= rank && rank <= pfcTo && !p.e.o.PFCFirst && !p.e.Dice.Habit("PFCFirst").Bool():
		return rank + 400
	case isQueue(b.Mode) && rank == rankECNCount && p.e.Dice.Habit("count last").Bool():
		return rankWRED + 6
	}
	return rank
}

// blocks returns the sub-blocks of a block. If all is set, a port has all queues.
func (p *printer) blocks(b *block) map[string]*block {
	if !p.all || b.Mode != modeEthernet {
		return b.Subs
	}
	out := maps.Clone(b.Subs)
	if out == nil {
		out = map[string]*block{}
	}
	for q := range 8 {
		head := p.e.o.QueueKeyword + " " + strconv.Itoa(q)
		if out[head] == nil {
			out[head] = &block{Mode: modeTxQueue, Head: head, Rank: rankQueue + q}
		}
	}
	return out
}

// defaults returns the lines added by `show running-config all`, by key, in the order of captured
// configurations (batfish/batfish, arista_interface_show_run_all).
func (p *printer) defaults(b *block) map[string]thing {
	type def struct {
		rank      int
		key, line string
	}
	var defs []def
	switch b.Mode {
	case modeEthernet:
		defs = []def{
			{20, "shutdown", p.c.defaultLine(b, "shutdown")}, {40, "mtu", p.c.defaultLine(b, "mtu")}, {60, "dcbx mode", "no dcbx mode"},
			{70, "flowcontrol send", "no flowcontrol send"}, {71, "flowcontrol receive", "no flowcontrol receive"},
			{80, "l2 mtu", "no l2 mtu"}, {81, "l2 mru", "no l2 mru"}, {104, "switchport", p.c.defaultLine(b, "switchport")},
			{rankTrust, "qos trust", "default qos trust"}, {rankTrust + 1, "qos cos", "qos cos 0"}, {rankTrust + 2, "qos dscp", "qos dscp 0"},
			{rankShape, "shape rate", "no shape rate"}, {pfcFrom, "pfc", "no priority-flow-control"},
			{pfcFrom + 20, wd, wd}, {pfcFrom + 21, "wd action", "no " + wd + " port action"}, {pfcFrom + 22, "wd timer", "no " + wd + " port timer"},
		}
		for n := range 8 {
			s := strconv.Itoa(n)
			defs = append(defs, def{pfcFrom + 1 + n, "pfc " + s, "no priority-flow-control priority " + s})
		}
	case modeTxQueue, modeMcQueue:
		// Guaranteed bandwidth comes before the shape rate in a round-robin queue, and after it in
		// a strict one.
		guaranteed := rankQueueShape + 1
		if b.Get("priority") == "no priority" {
			guaranteed = rankBandwidth + 1
		}
		defs = []def{
			{rankPriority, "priority", "priority strict"}, {rankBandwidth, "bandwidth percent", "no bandwidth percent"},
			{guaranteed, "bandwidth guaranteed", "no bandwidth guaranteed"}, {rankQueueShape, "shape rate", "no shape rate"},
		}
		if b.Mode == modeTxQueue {
			defs = append(defs, def{rankECN, "ecn", "no random-detect ecn minimum-threshold"}, def{rankWRED, "drop", "no random-detect drop"},
				def{rankWRED + 5, "non-ect", "no random-detect non-ect"}, def{rankWRED + 6, "ecn count", "no random-detect ecn count"})
		}
	case "":
		defs = []def{{rankQoS, "qos rewrite dscp", "no qos rewrite dscp"}, {rankECNGlobal, "qos random-detect ecn allow non-ect", "no qos random-detect ecn allow non-ect"}}
		for i, w := range []string{"timeout", "recovery-time", "polling-interval"} {
			defs = append(defs, def{rankPFC + 1 + i, "wd " + w, "no " + wd + " default " + w})
		}
		defs = append(defs, def{rankPFC + 4, "wd action", "no " + wd + " action"}, def{rankPFC + 5, "wd override", "no " + wd + " override action drop"})
	}
	out := map[string]thing{}
	for _, d := range defs {
		out[d.key] = thing{rank: d.rank, line: d.line}
	}
	return out
}
