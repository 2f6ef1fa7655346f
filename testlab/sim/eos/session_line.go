package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// maxBanner is the maximum size of a banner in bytes.
const maxBanner = 64 << 10

// heredoc is a command whose value follows on separate lines, up to EOF.
type heredoc struct {
	head string
	text []string
	size int
}

// exec is a command being executed.
type exec struct {
	*cli.Match[*exec]
	cli.Exec
	e   *EOS
	s   *session
	cfg *config
}

// Command returns the command and its line.
func (x *exec) Command() (*cli.Exec, string) { return &x.Exec, x.Line }

func (s *session) exec() *exec {
	cfg := s.config()
	return &exec{e: s.e, s: s, cfg: cfg, Exec: cli.Exec{Root: cfg.root, Client: &s.stack, Stack: s.stack}}
}

// run executes one configuration line. The caller must hold Mu.
func (s *session) run(text string) string {
	if len(text) > cli.MaxLine {
		return "% Invalid input (line too long)"
	}
	if s.heredoc != nil {
		return s.banner(text)
	}
	w := cli.Tokenize(strings.TrimSpace(strings.Map(cli.Printable, text)))
	if len(w.Word) == 0 {
		return ""
	}
	if w.Word[0][0] == '!' {
		s.comment(w.Line)
		return ""
	}
	switch strings.ToLower(w.Line) {
	case "exit":
		if len(s.stack) > 0 {
			s.stack = s.stack[:len(s.stack)-1]
		}
		return ""
	case "end":
		s.stack = nil
		return ""
	}
	return s.command(w)
}

// command looks up a line in the current mode, then in its parents, and executes it.
func (s *session) command(w cli.Words) string {
	x := s.exec()
	first := 0
	switch v := strings.ToLower(w.Word[0]); v {
	case "no", "default":
		x.Verb, first = v, 1
	}
	if first == len(w.Word) {
		return "% Incomplete command"
	}
	m, depth, worst := commands().Find(s.stack, modeGlobal, w, first, x.Verb != "")
	switch {
	case m == nil:
		return refusalText(worst, w)
	case s.e.Refuses(w.Line):
		return unavailable
	}
	before := s.stack
	x.Match, x.Stack = m, s.stack[:depth:depth]
	s.stack = x.Stack
	out := m.Run(x)
	if failed(out) {
		s.stack = before
	}
	return out
}

// comment stores a "!! text" comment in the current block.
func (s *session) comment(line string) {
	if !strings.HasPrefix(line, "!! ") || len(s.stack) == 0 {
		return
	}
	for _, b := range s.exec().Blocks() {
		b.Put(line, value{Line: line, Plain: line, Rank: -1})
	}
}

// banner processes one line of a banner.
func (s *session) banner(text string) string {
	h := s.heredoc
	if strings.TrimSpace(text) == "EOF" {
		s.heredoc = nil
		lines := strings.Join(append(append([]string{h.head}, h.text...), "EOF"), "\n")
		s.config().root.Put(h.head, value{Line: lines, Plain: lines, Rank: rankBanner})
		return ""
	}
	if h.size += len(text) + 1; h.size > maxBanner {
		s.heredoc = nil
		return "% Error: banner too long"
	}
	h.text = append(h.text, strings.TrimRight(text, "\r"))
	return ""
}
