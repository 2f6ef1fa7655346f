package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/prove"
)

// ProvePlan writes the rounds of an acceptance: what they are, how long they take, what they need
// and what they do not show. With commands, it also writes the command lines of one flow of each
// stage; the plan must know its intent then.
func (t *Text) ProvePlan(p *prove.Plan, commands bool) {
	t.indented("", t.S.Bold(term.CleanLine(p.Fabric)+":"), term.CleanLine(p.Title()), 2)
	t.printf("\n")
	rows := [][]string{{"STAGE", "CLASS", "SIZE", "ROUNDS", "PAIRS", "LINKS"}}
	for _, s := range p.Stages {
		rows = append(rows, []string{s.Name(), classesOf(s), prove.Bytes(s.Size), share(s.Rounds, s.Of), share(s.Pairs, s.OfPairs), s.Times()})
	}
	t.table(rows)
	t.printf("\n")
	t.indented("", "", "LINKS is the largest load that is offered to a link, as a multiple of its speed. "+eachRound(p), 0)
	if slices.ContainsFunc(p.Stages, func(s prove.Stage) bool { return s.Background }) {
		t.indented("", "", "The lossy class, in brackets, disturbs the others: by the intent it carries no RDMA.", 0)
	}
	t.indented("", "", "hosts: "+term.CleanLine(natural.Fold(p.Hosts)), 2)
	for _, l := range p.Needs {
		t.indented("", "", "needs: "+l, 2)
	}
	for _, l := range p.Left {
		t.indented("", "", "left out: "+term.CleanLine(natural.Fold(l.NICs)+": "+l.Why), 2)
	}
	for _, l := range p.NotCovered {
		t.indented("", "", "not covered: "+term.CleanLine(l), 2)
	}
	if commands {
		t.proveCommands(p)
	}
}

// eachRound says how long the rounds take.
func eachRound(p *prove.Plan) string {
	var parts []string
	for _, s := range p.Stages {
		part := fmt.Sprintf("a round of %s about %s", s.Test, prove.Span(s.Seconds))
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ", ") + "."
	return strings.Replace("A"+text[1:], " about", " takes about", 1)
}

// classesOf names the classes of a stage, or counts them if the names are long.
func classesOf(s prove.Stage) string {
	l := slices.Clone(s.Classes)
	if s.Background {
		l[len(l)-1] = "(" + l[len(l)-1] + ")"
	}
	text := term.CleanLine(strings.Join(l, "+"))
	if most := len("rdma+(default)"); len(text) > most && len(l) > 1 {
		text = fmt.Sprintf("%d classes", len(l))
		if s.Background {
			text = fmt.Sprintf("%d+1 lossy", len(l)-1)
		}
	}
	return text
}

func share(n, of int) string {
	if n == of {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, of)
}

// proveCommands writes the first flow of each stage.
func (t *Text) proveCommands(p *prove.Plan) {
	t.printf("\nThe first flow of each stage:\n")
	for _, s := range p.Stages {
		for f := range p.Flows(s, 0) {
			server, client := p.Commands(f)
			t.printf("\n%s, %s, %s:\n  %s$ %s\n  %s$ %s\n", s.Name(), f.Class.Name, prove.Bytes(s.Size), f.To.Host, server, f.From.Host, client)
			break
		}
	}
}
