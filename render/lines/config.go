package lines

import (
	"fmt"
	"slices"
	"strings"
)

// Place is a kind of block in which a line stands; each system numbers its own.
type Place uint8

// Grammar describes the command language of a system. Its functions keep no state. A function
// may be nil only where its comment says so.
type Grammar struct {
	// Top is the place of lines outside blocks.
	Top Place
	// Opens tells which block a line opens in a section ("" for the top level): the identity of
	// the block and its place. Lines that yield the same identity open the same block.
	Opens func(section, line string) (id string, at Place, ok bool)
	// Sets returns what a line at a place sets.
	Sets func(at Place, line string) Sets
	// Unset returns the command that returns a key to its default; held is the present line of
	// the key.
	Unset func(at Place, key, held string) string

	// Ordered is set if the system prints lines in its own order and accepts them in any order,
	// so that positions need not be remembered.
	Ordered bool
	// Rank returns the rank of a line in the printed order of its block; ok is false if it is
	// not known.
	Rank func(at Place, line string) (rank int, ok bool)
	// Default reports whether a line only states the default; nil if no line does.
	Default func(at Place, line string) bool
	// After reports whether line a comes after line b of the same rank; nil keeps the order of
	// insertion.
	After func(a, b string) bool
	// Join merges lines that give list entries the same value into one line; nil if the system
	// has no such lists.
	Join func(lines []string) []string

	// Lasting lists the places of sections that exist even when empty. They are never removed
	// from a device, and from a text only if no lines are left in them.
	Lasting []Place
	// Fleeting lists the places of blocks that disappear with their last line.
	Fleeting []Place
	// Named returns a function that reports whether the configuration refers to a section.
	Named func(*Config) func(section string) bool

	// Phases returns a function that gives the phase in which the commands for a section, or for
	// a key of the top level, are typed on a device that holds have. gone is set if the section
	// is removed. No phase is above 15.
	Phases func(have *Config) func(section, key string, gone bool) int
	// Swap reports whether the old line of a key (was) must be removed before the new one (is)
	// is typed; nil if it never must.
	Swap func(at Place, key, was, is string) bool
	// Rations holds the places of blocks that share a limited amount: one block must give up its
	// share before another can take it.
	Rations map[Place]Ration

	// Known reports whether the tool makes a setting, and the interface that it belongs to, or
	// "".
	Known func(Setting) (port string, ok bool)

	// Indent is the number of spaces per level of indentation.
	Indent int
	// Raw reports whether a line begins free text, which is kept as it is.
	Raw func(line string) bool
	// Gap returns the text printed between neighbouring lines; prev is nil before the first
	// line.
	Gap func(prev, next *Line, depth int) string
	// Leave returns the lines of the top level that would be read as lines of the block printed
	// before them. Outermost, the command that leaves all blocks, is printed before each.
	Leave     func(top []*Line) map[*Line]bool
	Outermost string
	// Complete reports whether a configuration is the complete output of a device.
	Complete func(*Config) bool
}

// Ration orders blocks that share a limited amount.
type Ration struct {
	// Order returns the sort key of a block header: the lowest block gives up first, the highest
	// takes first.
	Order func(header string) int
	// Frees reports whether the change of a block only gives up some of its share, so that it
	// need not wait for other blocks.
	Frees func(was, is *Line) bool
}

// Sets tells what a line sets.
type Sets struct {
	// Keys names the settings of the line: one, or one per entry if the line is a list. A line
	// without keys is never changed.
	Keys []string
	// Each holds, for a list, the line of each entry on its own; nil for other lines.
	Each []string
	// Unset is set if the line states that nothing is configured.
	Unset bool
}

// Config is a configuration text as an ordered tree of lines. Lines that are not understood are
// kept and printed unchanged.
type Config struct {
	Lines []*Line
	// Whole is set by the parser if it has seen the end of the configuration.
	Whole bool
	// Removed lists blocks that later lines of the text remove: they are not among Lines.
	Removed []Removed
	g       *Grammar
}

// Removed are lines that a later line of the text removes.
type Removed struct {
	In    *Line // the block that held them; nil for the top level
	Lines []*Line
	By    *Line
}

// New returns a configuration without lines.
func (g *Grammar) New() *Config { return &Config{g: g} }

// Hostname returns the name of the device; "" if there is none.
func (c *Config) Hostname() string {
	for _, l := range c.Lines {
		if name, ok := strings.CutPrefix(l.Text, "hostname "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (c *Config) clone() *Config { return &Config{Lines: clone(c.Lines), Whole: c.Whole, g: c.g} }

// Complete reports whether c is the complete output of a device, as far as the text shows.
func (c *Config) Complete() bool { return c.g.Complete(c) }

// String returns what Append appends.
func (c *Config) String() string { return string(c.Append(nil)) }

// Append appends the configuration as the system prints it.
func (c *Config) Append(b []byte) []byte { return c.g.append(b, c.Lines, 0) }

var indentation = strings.Repeat(" ", 4*MaxDepth)

func (g *Grammar) append(b []byte, ls []*Line, depth int) []byte {
	indent := indentation[:g.Indent*min(depth, MaxDepth)]
	var leave map[*Line]bool
	if depth == 0 && g.Leave != nil {
		leave = g.Leave(ls)
	}
	var prev *Line
	for _, l := range ls {
		if gap := g.Gap(prev, l, depth); gap != "" {
			b = append(append(b, indent...), gap...)
		}
		if leave[l] {
			b = append(append(b, g.Outermost...), '\n')
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

// PlaceOf returns the blocks in which command i (from 0) of [Edit.Commands] is typed: "qos
// profile ROCE-FABRIC, uc-tx-queue 3"; "" for the top level and for a line that opens a section.
func (g *Grammar) PlaceOf(commands []string, i int) string {
	place := ""
	g.walk(commands, func(at int, open []string) {
		if at == i {
			place = strings.Join(open, ", ")
		}
	})
	return place
}

// Depths returns, for each command of [Edit.Commands], the number of blocks in which it is
// typed.
func (g *Grammar) Depths(commands []string) []int {
	out := make([]int, len(commands))
	g.walk(commands, func(i int, open []string) { out[i] = len(open) })
	return out
}

// walk calls told with the index of each command and the blocks in which it is typed.
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

// Unknown is a line that the model cannot represent, that the device cannot carry out, or whose
// meaning is not known. The tool leaves it as it is.
type Unknown struct {
	Line    int    // in the parsed text, from 1; 0 for none
	Section string // header of its block; "" for the top level
	Text    string
	Why     string
	// Open is set if the handling of traffic may depend on the line.
	Open bool
}

// Where returns the place of the line for people: "interface Ethernet1/1, line 812".
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
