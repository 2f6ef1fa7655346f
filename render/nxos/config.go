// Package nxos translates between [qos.Device] and the configuration text of Cisco Nexus 9000
// switches: it reads running configuration, decodes its meaning, and computes the lines that
// change it to a desired state.
//
// QoS on NX-OS consists of three kinds of policy that only the qos-group number connects: input
// policies classify packets into groups, one network-qos policy sets the MTU and the pauses of
// each group for the whole switch, and queuing policies schedule and mark. In this package a
// traffic class, its group and its queue have the same number.
//
// The package does no I/O and knows no particular device: what a model or release refuses beyond
// [Refusals] is for the driver to find out. Do not compare configurations as text: NX-OS prints
// the same lines in a different order from release to release. [Decode] both and compare the
// results.
package nxos

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

// Parse reads configuration: the output of "show running-config" (also with "all" or "ipqos"),
// checkpoint files, generated text, or a pasted session with prompts, with any indentation. It
// fails on text that cannot be configuration: NUL bytes, lines over 64 KB, more than 16 levels.
// Time and memory are linear in the size of the text.
func Parse(text []byte) (*Config, error) {
	p := parser{cfg: Lines.New(), blocks: map[blockKey]*Line{}}
	p.cfg.Whole = len(text) > 0 && text[len(text)-1] == '\n'
	if err := lines.Each(text, p.line); err != nil {
		return nil, err
	}
	p.cfg.Whole = p.cfg.Whole && p.raw == nil && !p.paged
	return p.cfg, nil
}

// frame is a line that other lines may stand below.
type frame struct {
	line          *Line
	indent, depth int
	at            place // place of the lines below it
	// indented is set if only lines indented below it belong to it.
	indented bool
}

// blockKey identifies a block: the line it stands below, and its identity.
type blockKey struct {
	above *Line
	id    string
}

type parser struct {
	cfg    *Config
	stack  []*frame
	blocks map[blockKey]*Line
	// raw is the banner being read, and delimiter the character that ends it.
	raw       *Line
	delimiter byte
	// section and class take lines without indentation; a blank line ends both.
	section, class *frame
	// paged is set if the text contains a pager prompt.
	paged bool
}

func (p *parser) line(s string, no int) error {
	if p.raw != nil {
		p.raw.Sub = append(p.raw.Sub, &Line{Text: s, No: no})
		if strings.IndexByte(s, p.delimiter) >= 0 {
			p.raw = nil
		}
		return nil
	}
	t, indent := strings.TrimSpace(s), lines.Width(s)
	if t == "" {
		if p.section == nil || !p.section.indented {
			p.section, p.class = nil, nil
		}
		return nil
	}
	p.paged = p.paged || strings.HasPrefix(t, "--More--")
	if t[0] == '!' {
		p.comment(&Line{Text: t, No: no}, indent)
		return nil
	}
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	l := &Line{Text: t, No: no}
	if n := len(p.stack); n > 0 {
		p.stack[n-1].indented = true
		return p.put(p.below(p.stack[n-1], t), l, indent)
	}
	return p.flat(l, indent)
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

// flat places a line that is not indented below another line.
func (p *parser) flat(l *Line, indent int) error {
	mode, typed := "", false
	for m, rest, ok := lines.CutPrompt(l.Text); ok; m, rest, ok = lines.CutPrompt(l.Text) {
		mode, typed, l.Text = m, true, rest
		if m == "" || rest == "" {
			// A prompt alone, or a show command.
			p.cfg.Whole = p.cfg.Whole || rest == ""
			return nil
		}
	}
	if mode == "config" {
		p.section, p.class = nil, nil
	}
	switch {
	case l.Text == "end" || l.Text == "configure terminal":
		p.section, p.class = nil, nil
		return nil
	case l.Text == "exit":
		if p.class == nil {
			p.section = nil
		}
		p.class = nil
		return nil
	case l.Text[0] == '!':
		p.comment(l, indent)
		return nil
	}
	if _, ok := headOf(l.Text); ok {
		return p.put(nil, l, indent)
	}
	if f := p.class; f != nil && !f.indented && !p.section.indented && belongs(f.at, l.Text) {
		return p.put(f, l, indent)
	}
	if f := p.section; f != nil && !f.indented && (belongs(f.at, l.Text) || typed && f.at == inInterface && strings.HasPrefix(mode, "config-if")) {
		return p.put(f, l, indent)
	}
	p.section, p.class = nil, nil
	return p.put(nil, l, indent)
}

// below returns the frame of a line that is indented below f: lines of a class are often pasted
// at the indentation of the class itself.
func (p *parser) below(f *frame, text string) *frame {
	if p.class != nil && p.section == f && f.at == inPolicy && belongs(p.class.at, text) {
		return p.class
	}
	return f
}

func (p *parser) put(f *frame, l *Line, indent int) error {
	depth, above, section := 1, (*Line)(nil), ""
	into := &p.cfg.Lines
	if f != nil {
		depth, above, section, into = f.depth+1, f.line, f.line.Text, &f.line.Sub
	}
	if depth > lines.MaxDepth {
		return fmt.Errorf("more than %d levels", lines.MaxDepth)
	}
	id, at, ok := opens(section, l.Text)
	if !ok {
		id, at = "", inOther
	}
	same := p.blocks[blockKey{above, id}]
	switch {
	case id == "":
		*into = append(*into, l)
	case same != nil:
		l = same
	default:
		p.blocks[blockKey{above, id}] = l
		*into = append(*into, l)
	}
	own := &frame{line: l, indent: indent, depth: depth, at: at}
	p.stack = append(p.stack, own)
	switch {
	case f == nil && id != "":
		p.section, p.class = own, nil
	case id != "":
		p.section, p.class = f, own
	}
	if d, ok := bannerOf(l.Text); ok {
		p.raw, p.delimiter = l, d
	}
	return nil
}

// bannerOf returns the delimiter of a multi-line banner: "banner motd #".
func bannerOf(text string) (byte, bool) {
	rest, ok := strings.CutPrefix(text, "banner ")
	if !ok {
		return 0, false
	}
	_, rest, _ = strings.Cut(rest, " ")
	if rest == "" || strings.IndexByte(rest[1:], rest[0]) >= 0 {
		return 0, false
	}
	return rest[0], true
}

// complete reports whether c is a complete running configuration, as far as the text shows: it
// has the version line and at least one interface, no "!Command:" header of a narrower show
// command, no pager prompt, and it ends with a line end or a prompt. NX-OS prints no "end", so a
// text cut exactly between two lines is not detected.
func complete(c *Config) bool {
	version, port := false, false
	for _, l := range c.Lines {
		if cmd, ok := strings.CutPrefix(l.Text, "!Command:"); ok {
			cmd = strings.TrimSpace(cmd)
			if rest, ok := strings.CutPrefix(cmd, "show running-config"); ok && rest != "" && rest != " all" {
				return false
			}
		}
		version = version || strings.HasPrefix(l.Text, "version ")
		h, ok := headOf(l.Text)
		port = port || ok && h.at == inInterface
	}
	return c.Whole && version && port
}

// apart reports whether a blank line is printed between two neighbouring lines: around an
// interface, and after a block that would otherwise absorb the next line.
func apart(a, b *Line) bool {
	ha, blockA := headOf(a.Text)
	hb, blockB := headOf(b.Text)
	return blockA && (!blockB || ha.at == inInterface) || blockB && hb.at == inInterface
}
