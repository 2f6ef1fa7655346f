package nxos

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// printer writes configuration as NX-OS does: two spaces per level, no "exit", and empty lines
// between top-level sections and before each interface.
type printer struct {
	strings.Builder
	n    *NXOS
	cfg  *cli.Block
	all  bool // print all defaults
	keep func(b *cli.Block, key string, v *cli.Value) bool
	// dice decides on extra empty lines; nil for text that is compared.
	dice *sim.Dice
}

func (n *NXOS) printer(cfg *cli.Block, all bool) *printer { return &printer{n: n, cfg: cfg, all: all} }

// stamp is the time format of NX-OS.
const stamp = "Mon Jan _2 15:04:05 2006"

// header writes the header of a configuration.
func (p *printer) header(command string) {
	p.dice = p.n.Dice.Answer()
	p.WriteString("!Command: " + command + "\n")
	if !p.n.Dice.Habit("no last change").Bool() {
		p.WriteString("!Running configuration last done at: " + p.n.changed.UTC().Format(stamp) + "\n")
	}
	p.WriteString("!Time: " + time.Now().UTC().Format(stamp) + "\n\nversion " + p.n.o.Version)
	if !p.n.Dice.Habit("no BIOS").Bool() {
		p.WriteString(" Bios:version 01.11")
	}
	p.WriteString("\n")
}

// thing is a line or a sub-block of a block.
type thing struct {
	rank, seq int
	line      string
	sub       *cli.Block
}

// root writes the sections of a configuration.
func (p *printer) root() {
	section := rankHostname / 100
	for _, t := range p.things(p.cfg) {
		if s := t.rank / 100; s != section || t.rank >= rankInterface && t.rank < rankInterface+1000 || p.dice.N(8) == 1 {
			p.WriteString("\n")
			section = s
		}
		p.thing(t, "")
	}
}

func (p *printer) thing(t thing, indent string) {
	if t.sub != nil {
		p.block(t.sub, indent)
		return
	}
	p.WriteString(indent + t.line + "\n")
}

// block writes a block with its header.
func (p *printer) block(b *cli.Block, indent string) {
	p.WriteString(indent + b.Head + "\n")
	for _, t := range p.things(b) {
		p.thing(t, indent+"  ")
	}
	if b.Mode == modePolicyQoS && (p.n.o.EmptyClassDefault || p.n.Dice.Habit("EmptyClassDefault").Bool()) && b.Subs["class class-default"] == nil {
		p.WriteString(indent + "  class class-default\n")
	}
}

// things returns the lines and sub-blocks that a block prints, in order.
func (p *printer) things(b *cli.Block) []thing {
	var defaults map[string]thing
	if p.all {
		defaults = p.defaults(b)
	}
	old := p.n.o.OldOrder || p.n.Dice.Habit("OldOrder").Bool()
	var out []thing
	for key, v := range b.Vals {
		if p.keep == nil || p.keep(b, key, v) {
			out = append(out, thing{rank: v.Rank, seq: v.Seq, line: v.Line})
		}
		delete(defaults, key)
	}
	out = slices.AppendSeq(out, maps.Values(defaults))
	for _, s := range p.subs(b) {
		if s.Mode == modeSystemQoS && len(p.things(s)) == 0 {
			continue
		}
		rank := s.Rank
		if before := oldRank[rank]; before > 0 && old {
			rank = before
		}
		out = append(out, thing{rank: rank, seq: s.Seq, sub: s})
	}
	sortThings(out)
	if noOrder(b.Mode) {
		sim.Reorder(p.n.Dice.Habit(b.Head), out)
	}
	return out
}

// noOrder reports whether the order of a block's lines varies between releases: lines in classes
// of policies, and attachments under system qos.
func noOrder(mode string) bool {
	return mode == modeSystemQoS || slices.ContainsFunc(mqcs, func(m mqc) bool { return m.action == mode })
}

func sortThings(things []thing) {
	ordered.Sort(things, func(a, b thing) int {
		if c := cmp.Compare(a.rank, b.rank); c != 0 {
			return c
		}
		if a.sub != nil && b.sub != nil && interfaceModes[a.sub.Mode] {
			return natural.Compare(a.sub.Head, b.sub.Head)
		}
		return cmp.Compare(a.seq, b.seq)
	})
}

// subs returns the sub-blocks of a block; if all is set, the root includes system-defined ones.
func (p *printer) subs(b *cli.Block) map[string]*cli.Block {
	if !p.all || b != p.cfg {
		return b.Subs
	}
	out := p.n.systemBlocks()
	maps.Copy(out, b.Subs)
	return out
}

// runningText returns the output of `show running-config`, with all defaults if all is set. The
// section {"ipqos"} selects QoS, {"interface", NAME} those interfaces; the result is "" if no
// interface has that name.
func (n *NXOS) runningText(all bool, section []string) string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	command := strings.Join(append([]string{"show running-config"}, section...), " ")
	if all {
		command += " all"
	}
	p := n.printer(n.running, all)
	p.header(command)
	switch {
	case len(section) == 0:
		p.root()
		return p.String()
	case len(section) == 1 && section[0] == "ipqos":
		p.qos()
		return p.String()
	case len(section) < 2 || section[0] != "interface":
		return ""
	}
	names, ok := parseInterfaces(strings.Join(section[1:], ""))
	if !ok {
		return ""
	}
	found := false
	for _, name := range names {
		if b := n.running.Subs["interface "+name]; b != nil {
			p.WriteString("\n")
			p.block(b, "")
			found = true
		}
	}
	if !found {
		return ""
	}
	return p.String()
}

// qos writes the QoS part of a configuration: PFC, class-maps, policy-maps, system qos and the
// QoS lines of interfaces that have any.
func (p *printer) qos() {
	p.keep = func(_ *cli.Block, key string, _ *cli.Value) bool { return ofQoS(key) }
	var parts []thing
	for _, t := range p.things(p.cfg) {
		switch {
		case t.sub == nil && ofQoS(t.line), t.sub != nil && isMQC(t.sub.Mode):
			parts = append(parts, t)
		case t.sub != nil && interfaceModes[t.sub.Mode] && (t.sub.Says("priority-flow-control") || t.sub.Says("service-policy")):
			parts = append(parts, t)
		}
	}
	section := 0
	for _, t := range parts {
		if s := t.rank / 100; s != section || s >= rankInterface/100 {
			p.WriteString("\n")
			section = s
		}
		whole := p.keep
		if t.sub != nil && isMQC(t.sub.Mode) {
			p.keep = nil
		}
		p.thing(t, "")
		p.keep = whole
	}
}

func ofQoS(line string) bool {
	return strings.HasPrefix(line, "priority-flow-control") || strings.HasPrefix(line, "service-policy")
}

func isMQC(mode string) bool {
	return mode == modeSystemQoS || slices.ContainsFunc(mqcs, func(m mqc) bool { return m.class == mode || m.policy == mode })
}

// body returns a configuration without its header.
func (n *NXOS) body(cfg *cli.Block) string {
	p := n.printer(cfg, false)
	p.root()
	return p.String()
}
