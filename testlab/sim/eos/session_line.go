package eos

import (
	"strings"
)

const (
	maxLine   = 8 << 10  // bytes of one line
	maxBanner = 64 << 10 // bytes of a banner
)

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
	*match
	e     *EOS
	s     *session
	cfg   *config
	stack []frame // of the mode that knows the command
	verb  string  // "", "no" or "default"
}

// run carries out one configuration line. The caller holds mu.
func (s *session) run(text string) string {
	if len(text) > maxLine {
		return "% Invalid input (line too long)"
	}
	if s.heredoc != nil {
		return s.banner(text)
	}
	w := tokenize(strings.TrimSpace(strings.Map(printable, text)))
	if len(w.word) == 0 {
		return ""
	}
	if w.word[0][0] == '!' {
		s.comment(w.line)
		return ""
	}
	switch strings.ToLower(w.line) {
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

// printable drops what a terminal would not take.
func printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// command looks a line up in the current mode, then in its parents.
func (s *session) command(w words) string {
	x := &exec{e: s.e, s: s, cfg: s.config()}
	first := 0
	switch v := strings.ToLower(w.word[0]); v {
	case "no", "default":
		x.verb, first = v, 1
	}
	if first == len(w.word) {
		return "% Incomplete command"
	}
	worst := misfit{at: -1}
	for depth := len(s.stack); depth >= 0; depth-- {
		t := commands()[s.modeAt(depth)]
		n := t.set
		if x.verb != "" {
			n = t.neg
		}
		m, f := n.parse(w, first)
		if m == nil {
			if f.at > worst.at {
				worst = f
			}
			continue
		}
		for _, re := range s.e.refuse {
			if re.MatchString(w.line) {
				return unavailable
			}
		}
		x.match, x.stack = m, s.stack[:depth:depth]
		before := s.stack
		s.stack = x.stack
		out := m.run(x)
		if strings.HasPrefix(out, "%") {
			s.stack = before
		}
		return out
	}
	return worst.say(w)
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
		b.put(line, value{line: line, plain: line, rank: -1})
	}
}

// banner takes one line of a banner.
func (s *session) banner(text string) string {
	h := s.heredoc
	if strings.TrimSpace(text) == "EOF" {
		s.heredoc = nil
		lines := strings.Join(append(append([]string{h.head}, h.text...), "EOF"), "\n")
		s.config().root.put(h.head, value{line: lines, plain: lines, rank: rankBanner})
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
				next = append(next, b.sub(f, h))
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
		b.put(key, v)
	}
}

// drop removes what is set under a key.
func (x *exec) drop(key string) {
	for _, b := range x.blocks() {
		delete(b.vals, key)
	}
}
