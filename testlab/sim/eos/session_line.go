package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// maxBanner bounds a banner, in bytes.
const maxBanner = 64 << 10

// frame is one step from the global mode into a sub-mode.
type frame struct {
	mode   string
	heads  []string // the lines that open it; several for a range of interfaces
	rank   int
	prompt string
}

// heredoc is a command whose value follows on lines of its own, up to EOF.
type heredoc struct {
	head string
	text []string
	size int
}

// exec is one command that is being carried out.
type exec struct {
	*cli.Match[*exec]
	e     *EOS
	s     *session
	cfg   *config
	stack []frame // of the mode that knows the command
	verb  string  // "", "no" or "default"
}

// run carries out one configuration line. The caller holds mu.
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

// command looks a line up in the current mode, then in its parents.
func (s *session) command(w cli.Words) string {
	x := &exec{e: s.e, s: s, cfg: s.config()}
	first := 0
	switch v := strings.ToLower(w.Word[0]); v {
	case "no", "default":
		x.verb, first = v, 1
	}
	if first == len(w.Word) {
		return "% Incomplete command"
	}
	worst := cli.Misfit{At: -1}
	for depth := len(s.stack); depth >= 0; depth-- {
		t := commands().Modes[s.modeAt(depth)]
		n := t.Set
		if x.verb != "" {
			n = t.Neg
		}
		m, f := n.Parse(w, first)
		if m == nil {
			if f.At > worst.At {
				worst = f
			}
			continue
		}
		if s.e.Refuses(w.Line) {
			return unavailable
		}
		x.Match, x.stack = m, s.stack[:depth:depth]
		before := s.stack
		s.stack = x.stack
		out := m.Run(x)
		if strings.HasPrefix(out, "%") {
			s.stack = before
		}
		return out
	}
	return say(worst, w)
}

func (s *session) modeAt(depth int) string {
	if depth == 0 {
		return modeGlobal
	}
	return s.stack[depth-1].mode
}

// comment keeps a "!! text" of the block that it stands in.
func (s *session) comment(line string) {
	if !strings.HasPrefix(line, "!! ") || len(s.stack) == 0 {
		return
	}
	x := &exec{e: s.e, s: s, cfg: s.config(), stack: s.stack}
	for _, b := range x.blocks() {
		b.Put(line, value{Line: line, Plain: line, Rank: -1})
	}
}

// banner takes one line of a banner.
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

// blocks returns what the command is about: the block of its mode, or one per
// interface of a range.
func (x *exec) blocks() []*block {
	at := []*block{x.cfg.root}
	for _, f := range x.stack {
		var next []*block
		for _, b := range at {
			for _, h := range f.heads {
				next = append(next, b.Open(h, h, f.mode, f.rank))
			}
		}
		at = next
	}
	return at
}

// enter opens a sub-mode of the command's mode.
func (x *exec) enter(f frame) {
	x.s.stack = append(x.s.stack[:len(x.stack):len(x.stack)], f)
	x.stack = x.s.stack
	x.blocks()
}

// put sets a line in every block that the command is about.
func (x *exec) put(key string, v value) {
	for _, b := range x.blocks() {
		b.Put(key, v)
	}
}

// drop removes what is set under a key.
func (x *exec) drop(key string) {
	for _, b := range x.blocks() {
		delete(b.Vals, key)
	}
}
