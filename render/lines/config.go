package lines

import (
	"fmt"
	"slices"
	"strings"
)

// Place is where a line stands, by numbers of the system's own.
type Place uint8

// Grammar is what the machine knows of a system. The functions keep nothing;
// one that may be nil says so.
type Grammar struct {
	// Top is the place of lines outside blocks.
	Top Place
	// Opens says which block a line opens below a section, which is the header
	// of a block at the top; "" for the top itself. Blocks of one identity are
	// one block.
	Opens func(section, line string) (id string, at Place, ok bool)
	// Sets says what a line sets at a place.
	Sets func(at Place, line string) Sets
	// Unset is what is typed to return a key to its default; held is its line.
	Unset func(at Place, key, held string) string

	// Ordered says that the system prints lines in an order of its own and
	// takes them in any: positions are not worth remembering.
	Ordered bool
	// Rank is that of a line in the printed order of a block; false for unknown.
	Rank func(at Place, line string) (rank int, ok bool)
	// Default reports whether a line says what holds without it; nil for never.
	Default func(at Place, line string) bool
	// After reports whether a comes behind b, which has the same rank; nil
	// keeps the order in which they come.
	After func(a, b string) bool
	// Join makes one line of those that say the same of list entries; nil for no lists.
	Join func(lines []string) []string

	// Lasting are the places of sections that are there even when empty: they are not
	// removed from a device, and from a text only when nothing stands in them.
	Lasting []Place
	// Fleeting are the places of blocks that go with their last line.
	Fleeting []Place
	// Named returns whether something in a configuration names a section.
	Named func(*Config) func(section string) bool

	// Phases returns the phase in which commands for a section, or for a key
	// of the top level, are typed on a device that holds a configuration; gone
	// says that the section is removed. No phase is above 15.
	Phases func(have *Config) func(section, key string, gone bool) int
	// Swap reports whether a line has to be taken away before the other of its
	// key is typed; nil for never.
	Swap func(at Place, key, was, is string) bool
	// Rations are the blocks that share something: one gives it up before another gets
	// it.
	Rations map[Place]Ration

	// Known reports whether the tool makes a setting, and its interface or "".
	Known func(Setting) (port string, ok bool)

	// Indent is the indentation of a level.
	Indent int
	// Raw reports whether a line begins a text that is kept as it is.
	Raw func(line string) bool
	// Gap is what is printed between neighbours; prev is nil before the first.
	Gap func(prev, next *Line, depth int) string
	// Complete reports whether a configuration is the whole answer of a device.
	Complete func(*Config) bool
}

// Ration orders blocks that share something.
type Ration struct {
	// Order sorts headers: the lowest gives up first, the highest gets first.
	Order func(header string) int
	// Frees reports whether a block only gives up, and need not wait.
	Frees func(was, is *Line) bool
}

// Sets is what a line sets.
type Sets struct {
	// Keys are the things that it sets: one or, of a list, one for each entry.
	// A line without keys is never touched.
	Keys []string
	// Each are the lines of the entries of a list alone; nil for other lines.
	Each []string
	// Unset says that the line says that nothing is configured.
	Unset bool
}

// Config is configuration text as an ordered tree of lines. What is not
// understood is kept and printed as it was.
type Config struct {
	Lines []*Line
	// Whole is what a parser saw of the end of the text.
	Whole bool
	g     *Grammar
}

// New returns a configuration without lines.
func (g *Grammar) New() *Config { return &Config{g: g} }

// Hostname is the name of the device; "" for none.
func (c *Config) Hostname() string {
	for _, l := range c.Lines {
		if name, ok := strings.CutPrefix(l.Text, "hostname "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (c *Config) clone() *Config { return &Config{Lines: clone(c.Lines), Whole: c.Whole, g: c.g} }

// Complete reports whether c is all of a device's answer, as far as the text tells.
func (c *Config) Complete() bool { return c.g.Complete(c) }

// String returns what Append appends.
func (c *Config) String() string { return string(c.Append(nil)) }

// Append appends the configuration in the system's own form.
func (c *Config) Append(b []byte) []byte { return c.g.append(b, c.Lines, 0) }

var indentation = strings.Repeat(" ", 4*MaxDepth)

func (g *Grammar) append(b []byte, ls []*Line, depth int) []byte {
	indent := indentation[:g.Indent*min(depth, MaxDepth)]
	var prev *Line
	for _, l := range ls {
		if gap := g.Gap(prev, l, depth); gap != "" {
			b = append(append(b, indent...), gap...)
		}
		b = append(append(append(b, indent...), l.Text...), '\n')
		if g.Raw(l.Text) {
			for _, s := range l.Sub {
				b = append(append(b, s.Text...), '\n')
			}
		} else {
			b = g.append(b, l.Sub, depth+1)
		}
		prev = l
	}
	return b
}

// PlaceOf says in which blocks the i-th of some [Edit.Commands] is typed, from
// 0: "qos profile ROCE-FABRIC, uc-tx-queue 3"; "" for the top level, and for a
// line that opens a section.
func (g *Grammar) PlaceOf(commands []string, i int) string {
	place := ""
	g.walk(commands, func(at int, open []string) {
		if at == i {
			place = strings.Join(open, ", ")
		}
	})
	return place
}

// Depths says in how many blocks each of some [Edit.Commands] is typed.
func (g *Grammar) Depths(commands []string) []int {
	out := make([]int, len(commands))
	g.walk(commands, func(i int, open []string) { out[i] = len(open) })
	return out
}

// walk tells of each command in which blocks it is typed.
func (g *Grammar) walk(commands []string, told func(i int, open []string)) {
	var open []string
	for i, l := range commands {
		told(i, open)
		section := ""
		if len(open) > 0 {
			section = open[0]
		}
		if _, _, ok := g.Opens(section, l); ok {
			open = append(open, l)
		} else if l == "exit" && len(open) > 0 {
			open = open[:len(open)-1]
		}
	}
}

func (g *Grammar) lasting(at Place) bool  { return slices.Contains(g.Lasting, at) }
func (g *Grammar) fleeting(at Place) bool { return slices.Contains(g.Fleeting, at) }

// Unknown is a line that the model has no place for, that says something which
// the device cannot do, or that is not known. It stays as it is.
type Unknown struct {
	Line    int    // in the text that was parsed, from 1; 0 for none
	Section string // the header of the block; "" for the top level
	Text    string
	Why     string
	// Open says that what the switch does with traffic may depend on it.
	Open bool
}

// Where names the place: "interface Ethernet1/1, line 812".
func (u Unknown) Where() string {
	switch {
	case u.Line == 0 && u.Section == "":
		return u.Text
	case u.Line == 0:
		return u.Section
	case u.Section == "":
		return fmt.Sprintf("line %d", u.Line)
	}
	return fmt.Sprintf("%s, line %d", u.Section, u.Line)
}
