// Package eos translates between [qos.Device] and the configuration text of Arista EOS switches:
// it reads running configuration, decodes its meaning, and computes the lines that change it to
// a desired state.
//
// The package does no I/O and knows no particular device: what a model refuses beyond [Refusals]
// is for the driver to find out. Do not compare configurations as text; [Decode] both and
// compare the results.
package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Types of package lines.
type (
	Config  = lines.Config
	Line    = lines.Line
	Edit    = lines.Edit
	Unknown = lines.Unknown
)

// Parse reads configuration: the output of "show running-config" (also with "all"), generated
// text, or a pasted session with prompts, with any indentation. It fails on text that cannot be
// configuration: NUL bytes, lines over 64 KB, more than 16 levels. Time and memory are linear in
// the size of the text.
func Parse(text []byte) (*Config, error) {
	p := parser{cfg: Lines.New()}
	if err := lines.Each(text, p.line); err != nil {
		return nil, err
	}
	expandHeaders(p.cfg)
	return p.cfg, nil
}

// frame is a line that other lines may stand below.
type frame struct {
	line          *Line
	indent, depth int
	// indented is set if a line below it is indented, left after an "exit". A line without
	// indentation then belongs to it only if it can belong nowhere else.
	indented, left bool
}

type parser struct {
	cfg   *Config
	stack []*frame
	// raw is the line whose text block is being read; nil outside a text block.
	raw *Line
	// section is the last interface or profile, queue the last queue; they take lines without
	// indentation. closed is set once a "!", or a prompt outside the section, has been read.
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
				t = "" // a show command
			}
		}
		if typed && (t == "" || t == "!" || t == "end") {
			p.closed = true
			return nil
		}
	}
	return p.add(&Line{Text: t, No: no}, indent)
}

// comment adds a comment at the level of its indentation; comments end no block.
func (p *parser) comment(l *Line, indent int) {
	for _, f := range slices.Backward(p.stack) {
		if f.indent < indent {
			f.line.Sub = append(f.line.Sub, l)
			return
		}
	}
	p.cfg.Lines = append(p.cfg.Lines, l)
}

// add places a line by its indentation or else by its first words.
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

// open reports whether a line without indentation may belong to f.
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
		p.queue = nil // same result as for text in which this line is not indented
	}
	return nil
}

// below reports whether a CLI mode is inside a section: "config-if-Et1/1",
// "config-s-pod1-if-Et1/1".
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

// isRaw reports whether a line begins a text block that ends with a line "EOF".
func isRaw(text string) bool {
	return strings.HasPrefix(text, "banner ") || text == "action bash" || text == "code" || strings.HasPrefix(text, "code unit ")
}

// gap returns the text that EOS prints between neighbours: "!" around sections and queues.
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

// apart reports whether EOS prints a "!" between two neighbours at the top level.
func apart(a, b *Line) bool {
	block := func(l *Line) bool { return len(l.Sub) > 0 || headerOf(l.Text) != headNone }
	return block(a) || block(b) || family(a.Text) != family(b.Text)
}

// family returns the first words that lines printed together have in common.
func family(text string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "no "), "default ")
	first, rest, _ := strings.Cut(rest, " ")
	if second, _, _ := strings.Cut(rest, " "); first == "qos" && second == "random-detect" {
		return "qos random-detect"
	}
	return first
}

// header is the kind of block that a line opens.
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

// queueKinds lists the words that name queues. Multicast queues are recognized and left alone.
var queueKinds = []string{string(TxQueue), string(UCTxQueue), multicastQueue}

const multicastQueue = "mc-tx-queue"

// isQueue reports whether a line opens a queue: "uc-tx-queue 3".
func isQueue(text string) bool {
	kind, n, ok := strings.Cut(text, " ")
	return ok && slices.Contains(queueKinds, kind) && len(n) == 1 && n[0] >= '0' && n[0] <= '7'
}
