package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Refuses returns the lines of a running configuration that a box of the given model rejects, with
// the reason: "line 12: tx-queue 3: % Invalid input". An empty model means that of the zero
// Options.
func Refuses(model string, config []byte) []string {
	e, err := unserved(Options{Model: model, Running: config})
	if err != nil {
		return []string{err.Error()}
	}
	for i, line := range e.refused {
		if strings.HasSuffix(line, unavailable) && strings.Contains(line, "tx-queue") {
			e.refused[i] = line + otherQueues
		}
	}
	return e.refused
}

// otherQueues follows the refusal of a queue keyword.
const otherQueues = "; the model decides the keyword: state the model of the switch"

// Refused returns the lines of Options.Running that the box rejected at its start.
func (e *EOS) Refused() []string { return slices.Clone(e.refused) }

// take runs a configuration as a box loads a file: it skips each line that it rejects and, for a
// block header, all lines below it.
func (e *EOS) take(s *session, text string) {
	skip := -1 // indentation of a rejected header; -1 for none
	for i, l := range cli.SplitLines(strings.TrimPrefix(text, "\ufeff")) {
		l = strings.TrimSuffix(l, "\r")
		if s.heredoc == nil {
			mode, command, typed := cli.CutPrompt(l)
			if l = command; typed && (mode == "config" || strings.HasPrefix(mode, "config-s-") && strings.Count(mode, "-") == 2) {
				s.stack = nil
			}
		}
		t, indent := strings.TrimSpace(l), cli.Indented(l)
		if s.heredoc == nil {
			switch {
			case t == "", t == "!", cli.Talk(t):
				continue
			case skip >= 0 && indent > skip:
				continue
			}
			skip = -1
		}
		if out := s.run(l); failed(out) {
			e.refused = append(e.refused, fmt.Sprintf("line %d: %s: %s", i+1, cli.Clip(t), out))
			skip = indent
		}
	}
	if s.heredoc != nil {
		e.refused = append(e.refused, s.heredoc.head+": the text has no EOF")
		s.heredoc = nil
	}
}

// keywordOf returns the queue keyword used in a configuration, or "" if none is used or the model
// determines it. The 7260 has used both keywords, and which one other models use is not known.
func keywordOf(model, config string) string {
	m := strings.TrimPrefix(strings.ToUpper(model), "DCS-")
	known := isSand(model) || slices.ContainsFunc([]string{"7050", "7060", "7300", "7320", "7358", "7368", "7388"}, func(p string) bool { return strings.HasPrefix(m, p) })
	if known {
		return ""
	}
	for line := range strings.Lines(config) {
		for _, w := range strings.Fields(line) {
			switch w {
			case "tx-queue", "uc-tx-queue":
				return w
			}
		}
	}
	return ""
}
