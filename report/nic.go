package report

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// NIC writes what differs on a host, port by port, and which of it has no
// step: it waits for a reset, is another's, or cannot be read. Steps that
// make none of the changes, and those that are blocked, follow.
func (t *Text) NIC(host string, changes []nic.Change, steps []local.Step) {
	if len(changes) == 0 {
		t.printf("%s  no changes\n", t.S.Bold(host))
		return
	}
	t.printf("%s  %s, %s", t.S.Bold(host), words.Count(len(changes), "difference"), words.Count(len(steps), "step"))
	if len(steps) > 0 {
		most := qos.ImpactNone
		for _, s := range steps {
			most = max(most, s.Impact)
		}
		t.printf(", impact %s", t.impact(most))
	}
	t.printf("\n")
	port := "\x00"
	for _, c := range changes {
		if c.Port != port {
			port = c.Port
			name := port
			if name == "" {
				name = "the host"
			}
			t.printf("  %s\n", t.S.Bold(name))
		}
		mark := t.S.Green("~")
		if !c.Writable() {
			mark = t.S.Yellow("!")
		}
		parts := []string{string(c.Kind)}
		if c.Layer != "" {
			parts = append(parts, string(c.Layer))
		}
		parts = append(parts, c.Impact.String())
		t.printf("    %s %s  %s -> %s  %s", mark, c.Field, term.CleanLine(c.Old), term.CleanLine(c.New), t.S.Dim(strings.Join(parts, ", ")))
		if c.Reason != "" {
			t.printf("  %s", t.S.Dim(term.CleanLine(c.Reason)))
		}
		t.printf("\n")
		if c.After != "" {
			t.printf("      %s\n", t.S.Dim("in force after: "+term.CleanLine(c.After)))
		}
		if c.Blocked != "" {
			t.printf("      %s\n", t.S.Dim(term.CleanLine(c.Blocked)))
		}
	}
	for _, s := range steps {
		if len(s.Changes) == 0 {
			t.printf("  %s %s  %s\n", t.S.Green("+"), term.CleanLine(s.What), t.S.Dim(s.Impact.String()))
		}
	}
	for _, s := range steps {
		if s.Blocked != "" {
			t.printf("  %s %s: %s\n", t.S.Red("blocked:"), term.CleanLine(s.What), term.CleanLine(s.Blocked))
		}
	}
}
