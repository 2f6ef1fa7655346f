// Package eos translates between [qos.Device] and the configuration text of
// Arista EOS switches: it reads running configuration, says what it means, and
// works out the lines that make it mean something else.
//
// It does no I/O, and it knows no device: what a box of some model refuses
// beyond [Refusals] is for the driver to find out. Do not compare
// configurations as text with it; [Decode] both and compare what they mean.
package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// The parts of the machine for configuration by lines.
type (
	Config  = lines.Config
	Line    = lines.Line
	Edit    = lines.Edit
	Unknown = lines.Unknown
)

// Parse reads configuration: the answer to "show running-config", also with
// "all", generated text, or a pasted session with its prompts, whatever the
// indentation. It fails on what cannot be configuration: NUL bytes, lines over
// 64 KB, more than 16 levels. Time and memory are linear in the size of text.
func Parse(text []byte) (*Config, error) {
	p := parser{cfg: Lines.New()}
	if err := lines.Each(text, p.line); err != nil {
		return nil, err
	}
	spell(p.cfg)
	return p.cfg, nil
}

// frame is a line that others may stand below.
type frame struct {
	line          *Line
	indent, depth int
	// indented says that a line stands below it by indentation, left that an
	// "exit" came. A line that is not indented is then no part of it unless it
	// can be nothing else.
	indented, left bool
}

type parser struct {
	cfg   *Config
	stack []*frame
	// raw is the line whose text block is being read; nil outside of one.
	raw *Line
	// section is the last interface or profile and queue the last queue: where
	// lines belong that nobody indented. closed says that a "!" came since.
	section, queue *frame
	closed         bool
}

func (p *parser) line(s string, no int) error {
	if p.raw != nil {
		p.raw.Sub = append(p.raw.Sub, &Line{Text: s, No: no})
		if strings.TrimSpace(s) == "EOF" {
			p.raw = nil
		}
		return nil
	}
	t, indent := strings.TrimSpace(s), lines.Width(s)
	if t == "" {
		return nil
	}
	if t == "!" {
		p.closed = true
		return nil
	}
	if t[0] == '!' {
		p.comment(&Line{Text: t, No: no}, indent)
		return nil
	}
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	if len(p.stack) == 0 {
		typed := false
		for mode, rest, ok := lines.CutPrompt(t); ok; mode, rest, ok = lines.CutPrompt(t) {
			t, typed = rest, true
			p.closed = p.closed || !below(mode)
			if mode == "" {
				t = "" // a command that shows something
			}
		}
		if typed && (t == "" || t == "!" || t == "end") {
			p.closed = true
			return nil
		}
	}
	return p.add(&Line{Text: t, No: no}, indent)
}

// comment keeps a comment where its indentation puts it; it ends nothing.
func (p *parser) comment(l *Line, indent int) {
	for _, f := range slices.Backward(p.stack) {
		if f.indent < indent {
			f.line.Sub = append(f.line.Sub, l)
			return
		}
	}
	p.cfg.Lines = append(p.cfg.Lines, l)
}

// add puts a line where its indentation says, or else its words.
func (p *parser) add(l *Line, indent int) error {
	for _, f := range []*frame{p.queue, p.section} {
		if f == nil {
			continue
		}
		if slices.Contains(p.stack, f) {
			f.indented = true
			break
		}
		if l.Text == "exit" && p.open(f) {
			f.left = true
			return nil
		}
		if p.takes(f, l.Text) {
			if f == p.section {
				p.queue = nil
			}
			return p.put(f, l, indent)
		}
		// f takes no more lines without indentation.
		if f == p.section {
			p.section = nil
		}
		p.queue = nil
	}
	if len(p.stack) == 0 {
		return p.put(nil, l, indent)
	}
	return p.put(p.stack[len(p.stack)-1], l, indent)
}

// open reports whether a line without indentation may be one of f.
func (p *parser) open(f *frame) bool { return !f.indented && !f.left && !p.closed }

// takes reports whether a line that is not indented below f belongs to it.
func (p *parser) takes(f *frame, text string) bool {
	open := p.open(f)
	if text == "exit" {
		return false
	}
	if headerOf(f.line.Text) == headQueue {
		at := placesOf(text)
		return at == inQueue || at&inQueue != 0 && open
	}
	switch h := headerOf(text); {
	case h == headQueue:
		return true
	case h == headSection || text == "end" || text[0] == '!':
		return false
	}
	at := placesOf(text)
	return at&(inProfile|inInterface) != 0 && (at&inGlobal == 0 || open) || at == 0 && open
}

func (p *parser) put(f *frame, l *Line, indent int) error {
	depth := 1
	if f == nil {
		p.cfg.Lines = append(p.cfg.Lines, l)
	} else {
		f.line.Sub = append(f.line.Sub, l)
		depth = f.depth + 1
	}
	if depth > lines.MaxDepth {
		return fmt.Errorf("more than %d levels", lines.MaxDepth)
	}
	if isRaw(l.Text) {
		p.raw = l
		return nil
	}
	own := &frame{line: l, indent: indent, depth: depth}
	p.stack = append(p.stack, own)
	switch h := headerOf(l.Text); {
	case h == headSection && f == nil:
		p.section, p.queue, p.closed = own, nil, false
	case h == headQueue && (f == nil || f == p.section):
		p.queue, p.closed = own, false
	case h == headQueue:
		p.queue = nil // as in a text in which this one is not indented
	}
	return nil
}

// below reports whether a mode is one of a section, and not the top of the
// configuration: "config-if-Et1/1", "config-s-pod1-if-Et1/1".
func below(mode string) bool {
	rest, ok := strings.CutPrefix(mode, "config-")
	if !ok {
		return false
	}
	if session, ok := strings.CutPrefix(rest, "s-"); ok {
		return strings.Contains(session, "-")
	}
	return true
}

// isRaw reports whether a line begins text that ends with a line "EOF".
func isRaw(text string) bool {
	return strings.HasPrefix(text, "banner ") || text == "action bash" || text == "code" || strings.HasPrefix(text, "code unit ")
}

// gap is what EOS prints between neighbours: "!" around sections and queues.
func gap(prev, next *Line, depth int) string {
	queue := depth > 0 && headerOf(next.Text) == headQueue
	switch {
	case prev == nil && !queue, depth == 0 && !apart(prev, next):
		return ""
	case depth > 0 && !queue && len(next.Sub) == 0 && headerOf(prev.Text) != headQueue:
		return ""
	}
	return "!\n"
}

// apart reports whether EOS separates two neighbours at the top level.
func apart(a, b *Line) bool {
	block := func(l *Line) bool { return len(l.Sub) > 0 || headerOf(l.Text) != headNone }
	return block(a) || block(b) || family(a.Text) != family(b.Text)
}

// family is what lines that EOS prints together begin with.
func family(text string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "no "), "default ")
	first, rest, _ := strings.Cut(rest, " ")
	if second, _, _ := strings.Cut(rest, " "); first == "qos" && second == "random-detect" {
		return "qos random-detect"
	}
	return first
}

// header says which kind of block a line opens.
type header int

const (
	headNone header = iota
	headSection
	headQueue
)

func headerOf(text string) header {
	switch {
	case strings.HasPrefix(text, sectionInterface), strings.HasPrefix(text, sectionProfile):
		return headSection
	case isQueue(text):
		return headQueue
	}
	return headNone
}

// Prefixes of section headers.
const (
	sectionInterface = "interface "
	sectionProfile   = "qos profile "
	sectionDefaults  = "interface defaults" // the whole line
)

// queueKinds are the words that name queues; multicast queues are known and left alone.
var queueKinds = []string{string(TxQueue), string(UCTxQueue), multicastQueue}

const multicastQueue = "mc-tx-queue"

// isQueue reports whether a line opens a queue: "uc-tx-queue 3".
func isQueue(text string) bool {
	kind, n, ok := strings.Cut(text, " ")
	return ok && slices.Contains(queueKinds, kind) && len(n) == 1 && n[0] >= '0' && n[0] <= '7'
}
