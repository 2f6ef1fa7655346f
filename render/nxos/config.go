package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/cli"
)

// Config is configuration text as an ordered tree of lines. Nothing that is
// configuration is dropped: what this package does not understand is kept and
// printed as it was, comments included. Blocks of one name are one block.
type Config struct {
	Lines []*Line
	// whole says that the text ended where a line ends, and outside a banner.
	whole bool
}

// Line is one line and what stands indented below it: for a banner, the rest of
// its text.
type Line = cli.Line

// Parse reads configuration: the answers to "show running-config" (also with
// "all" or "ipqos"), checkpoint files, generated text, or a pasted session with
// its prompts, whatever the indentation. It fails on what cannot be
// configuration: NUL bytes, lines over 64 KB, more than 16 levels. Time and
// memory are linear in the size of text.
func Parse(text []byte) (*Config, error) {
	p := parser{cfg: &Config{whole: len(text) > 0 && text[len(text)-1] == '\n'}, blocks: map[blockKey]*Line{}}
	if err := cli.Each(text, p.line); err != nil {
		return nil, err
	}
	p.cfg.whole = p.cfg.whole && p.raw == nil && !p.paged
	return p.cfg, nil
}

// frame is a line that others may stand below.
type frame struct {
	line          *Line
	indent, depth int
	at            place // where lines below it stand
	// indented says that lines stand below it by indentation; one that does
	// not is then no part of it.
	indented bool
}

// blockKey is what a block is known by: below which line, and its identity.
type blockKey struct {
	above *Line
	id    string
}

type parser struct {
	cfg    *Config
	stack  []*frame
	blocks map[blockKey]*Line
	// raw is the banner that is being read, and delimiter what ends it.
	raw       *Line
	delimiter byte
	// section and class are where lines belong that nobody indented; a blank
	// line ends them.
	section, class *frame
	// paged says that a pager's prompt stands in the text.
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
	t, indent := strings.TrimSpace(s), cli.Width(s)
	if t == "" {
		p.section, p.class = nil, nil
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

// flat places a line that stands below nothing by indentation.
func (p *parser) flat(l *Line, indent int) error {
	mode, typed := "", false
	for m, rest, ok := cli.CutPrompt(l.Text); ok; m, rest, ok = cli.CutPrompt(l.Text) {
		mode, typed, l.Text = m, true, rest
		if m == "" || rest == "" {
			// A prompt alone, or a command that shows something.
			p.cfg.whole = p.cfg.whole || rest == ""
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

// below returns where a line that is indented below f stands: what belongs to
// a class is often pasted at the depth of the class itself.
func (p *parser) below(f *frame, text string) *frame {
	if p.class != nil && p.section == f && f.at == inPolicy && belongs(p.class.at, text) {
		return p.class
	}
	return f
}

func (p *parser) put(f *frame, l *Line, indent int) error {
	depth, above := 1, (*Line)(nil)
	into := &p.cfg.Lines
	if f != nil {
		depth, above, into = f.depth+1, f.line, &f.line.Sub
	}
	if depth > cli.MaxDepth {
		return fmt.Errorf("more than %d levels", cli.MaxDepth)
	}
	at, id := opens(f, l.Text)
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

// opens returns what stands below a line and what its block is known by; ""
// for a line that is no block of ours.
func opens(f *frame, text string) (place, string) {
	if f == nil {
		if h, ok := headOf(text); ok {
			return h.at, h.id()
		}
		return inOther, ""
	}
	if f.at == inPolicy {
		if typ, name, ok := classOf(text); ok {
			h, _ := headOf(f.line.Text)
			return classPlace(h.typ), typ + " " + name
		}
	}
	return inOther, ""
}

// bannerOf returns the delimiter of a banner that goes on in the next line:
// "banner motd #".
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

// Complete reports whether c is a whole running configuration, as far as the
// text tells: it has the version line, no "!Command:" head of a narrower show
// command, at least one interface, ends where a line ends or with a prompt,
// and no pager stands in it. NX-OS prints no "end": a text that was cut exactly
// between two lines is not seen.
func (c *Config) Complete() bool {
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
	return c.whole && version && port
}

// String returns what Append appends.
func (c *Config) String() string { return string(c.Append(nil)) }

// Append appends the configuration in NX-OS's own form: two spaces a level, a
// blank line around interfaces.
func (c *Config) Append(b []byte) []byte {
	var prev *Line
	for _, l := range c.Lines {
		if prev != nil && apart(prev, l) {
			b = append(b, '\n')
		}
		b = appendLine(b, l, 0)
		prev = l
	}
	return b
}

const indentation = "                                "

func appendLine(b []byte, l *Line, depth int) []byte {
	b = append(b, indentation[:2*min(depth, cli.MaxDepth)]...)
	b = append(append(b, l.Text...), '\n')
	_, raw := bannerOf(l.Text)
	for _, s := range l.Sub {
		if raw {
			b = append(append(b, s.Text...), '\n')
			continue
		}
		b = appendLine(b, s, depth+1)
	}
	return b
}

// apart reports whether a blank line stands between two neighbours: around an
// interface, and after a block that would otherwise take the next line in.
func apart(a, b *Line) bool {
	ha, blockA := headOf(a.Text)
	hb, blockB := headOf(b.Text)
	return blockA && (!blockB || ha.at == inInterface) || blockB && hb.at == inInterface
}

// clone returns a deep copy.
func (c *Config) clone() *Config { return &Config{Lines: cli.Clone(c.Lines), whole: c.whole} }
