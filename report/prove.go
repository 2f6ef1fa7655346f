package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/prove"
	"github.com/roce-fabric/roce-fabric/validate/checks"
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

// Certificate writes what an acceptance showed: the verdict, each stage, what was slow or not
// measured and why, the findings meanwhile, and what was not tested.
func (t *Text) Certificate(c *prove.Certificate) {
	mark := t.S.Green
	if c.Verdict != prove.Passed {
		mark = t.S.Red
	}
	t.indented("", mark(term.CleanLine(c.Fabric)+":"), term.CleanLine(c.Headline()), 2)
	t.printf("%s\n\n", term.CleanLine(fmt.Sprintf("run %s, %s to %s, tool %s", c.Run, c.Started.Format(time.DateTime), c.Ended.Format(time.TimeOnly), c.Tool)))
	rows := [][]string{{"STAGE", "CLASS", "SIZE", "FLOWS", "WORST", "MEDIAN", "BAD"}}
	for _, r := range c.Results {
		rows = append(rows, []string{r.Stage.Name(), term.CleanLine(r.Label()), prove.Bytes(r.Stage.Size), fmt.Sprint(r.Flows), reached(r, worst(r)), reached(r, r.Median), fmt.Sprint(r.Below + r.Missing)})
	}
	t.table(rows)
	t.printf("\n")
	t.indented("", "", "BAD are flows that are too slow or have no result.", 0)
	for _, l := range failures(c) {
		t.indented("", "", term.CleanLine(l), 2)
	}
	for _, l := range found(c) {
		t.indented("", "", term.CleanLine(l), 2)
	}
	for _, l := range c.NotTested {
		t.indented("", "", "not tested: "+term.CleanLine(l), 2)
	}
}

// worst returns the lowest bandwidth, or the longest latency.
func worst(r prove.Result) float64 {
	if r.Stage.Test == "latency" {
		return r.Most
	}
	return r.Least
}

func reached(r prove.Result, v float64) string {
	switch {
	case r.Missing == r.Flows:
		return "-"
	case r.Stage.Test == "latency":
		return fmt.Sprintf("%.2fus", v)
	}
	return fmt.Sprintf("%.1fG", v)
}

// found describes the findings that count, those that say the same together.
func found(c *prove.Certificate) (out []string) {
	var alike ordered.Groups[[2]string, string]
	for _, f := range c.Findings {
		if f.Suppressed == nil && f.Severity != checks.Info {
			alike.Add([2]string{fmt.Sprintf("%s %s", f.Severity, f.ID), f.What}, cmp.Or(f.Place(), c.Fabric))
		}
	}
	for what, places := range alike.All() {
		out = append(out, fmt.Sprintf("%s %s: %s", what[0], natural.Fold(places), what[1]))
	}
	return out
}

// mostFailures is how many slow or missing flows of a stage the text lists.
const mostFailures = 5

// failures describes the flows that are slow or have no result.
func failures(c *prove.Certificate) (out []string) {
	for _, r := range c.Results {
		n := 0
		for _, m := range r.Measures {
			if !m.Slow && m.Error == "" {
				continue
			}
			if n++; n > mostFailures {
				continue
			}
			at := fmt.Sprintf("%s > %s (%s, %s): ", m.From, m.To, r.Stage.Name(), m.Class)
			switch {
			case m.Error != "":
				out = append(out, at+"no result: "+m.Error)
			case m.Latency > 0:
				out = append(out, at+fmt.Sprintf("%.2f us, more than the %.2f us of equal paths: %s", m.Latency, m.Ceiling, m.Cause))
			default:
				out = append(out, at+fmt.Sprintf("%.1f Gb/s of at least %.1f: %s", m.Gbps, m.Floor, m.Cause))
			}
		}
		if n > mostFailures {
			out = append(out, fmt.Sprintf("%s: and %d more, which -o json lists", r.Stage.Name(), n-mostFailures))
		}
	}
	return out
}

// CertificateMarkdown returns a certificate for a wiki or a ticket.
func CertificateMarkdown(c *prove.Signed) string {
	var b strings.Builder
	cell := func(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(term.CleanLine(s)) }
	fmt.Fprintf(&b, "# Acceptance of %s: %s\n\n%s\n\n", cell(c.Fabric), c.Verdict, cell(c.Headline()))
	fmt.Fprintf(&b, "| | |\n|---|---|\n| run | %s |\n| time | %s to %s |\n| hosts | %s |\n| NICs | %d |\n| intent | %s |\n| plan | %s |\n| tool | %s |\n| signed by | %s |\n| digest | %s |\n\n",
		cell(c.Run), c.Started.Format(time.RFC3339), c.Ended.Format(time.RFC3339), cell(natural.Fold(c.Hosts)), c.NICs, cell(c.Intent), cell(c.Plan), cell(c.Tool), cmp.Or(c.SignedBy, "nobody"), c.Digest)
	b.WriteString("## Results\n\n| stage | class | message | rounds | flows | worst | median | slow | missing |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range c.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s | %d | %d |\n", r.Stage.Name(), cell(r.Label()), prove.Bytes(r.Stage.Size), share(r.Stage.Rounds, r.Stage.Of), r.Flows, reached(r, worst(r)), reached(r, r.Median), r.Below, r.Missing)
	}
	list := func(title string, l []string) {
		if len(l) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		for _, s := range l {
			fmt.Fprintf(&b, "- %s\n", cell(s))
		}
	}
	list("Slow or missing", failures(c.Certificate))
	list("Findings of the switches and NICs meanwhile", found(c.Certificate))
	list("Not tested", c.NotTested)
	return b.String()
}

// Differences writes how the medians of two certificates differ.
func (t *Text) Differences(all []prove.Difference, alone []string) {
	rows := [][]string{{"STAGE", "BEFORE", "AFTER", "CHANGE"}}
	for _, d := range all {
		change := fmt.Sprintf("%+.1f%%", 100*d.Change)
		if d.Worse {
			change += " worse"
		}
		rows = append(rows, []string{term.CleanLine(d.Stage), fmt.Sprintf("%.2f", d.Before), fmt.Sprintf("%.2f", d.After), change})
	}
	t.table(rows)
	for _, l := range alone {
		t.indented("", "", "not compared: "+term.CleanLine(l), 2)
	}
}
