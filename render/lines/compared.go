package lines

import "strings"

// Compared returns, as text, the sections and lines in which two configurations differ. A line
// that both have is included only in a section that differs, and only if the tool makes such
// lines: other lines are foreign and may hold a secret.
func Compared(before, after *Config) (was, is string) {
	a, b := before.leaves(), after.leaves()
	return before.textNotIn(b), after.textNotIn(a)
}

// leaf is a line with the headers of its section and block.
type leaf struct{ section, block, line string }

// visit calls f with each line and its place; a header comes before its lines.
func (c *Config) visit(f func(at leaf, l *Line)) {
	for _, l := range c.Lines {
		f(leaf{line: l.Text}, l)
		if c.g.Raw(l.Text) {
			continue
		}
		for _, in := range l.Sub {
			f(leaf{section: l.Text, line: in.Text}, in)
			for _, deep := range in.Sub {
				f(leaf{l.Text, in.Text, deep.Text}, deep)
			}
		}
	}
}

func (c *Config) leaves() map[leaf]bool {
	out := map[leaf]bool{}
	c.visit(func(at leaf, _ *Line) { out[at] = true })
	return out
}

// textNotIn returns the text of the sections and lines of c that are not among the lines in has.
func (c *Config) textNotIn(has map[leaf]bool) string {
	more := map[string]bool{} // sections in which has holds lines that c lacks
	mine := c.leaves()
	for at := range has {
		if !mine[at] {
			more[at.section] = true
		}
	}
	var all, section strings.Builder
	header := "" // of a block none of whose lines is written yet
	differs := false
	flush := func() {
		if differs {
			all.WriteString(section.String())
		}
		section.Reset()
	}
	indent := strings.Repeat(" ", c.g.Indent)
	c.visit(func(at leaf, l *Line) {
		differ := !has[at]
		switch {
		case at.section == "":
			flush()
			_, _, opens := c.g.Opens("", at.line)
			differs = differ || opens && more[at.line]
			section.WriteString(at.line + "\n")
			return
		case at.block == "":
			header = ""
			if len(l.Sub) > 0 && !differ {
				header = indent + at.line + "\n"
				return
			}
		}
		differs = differs || differ
		switch {
		case !differ && !c.made(at):
			return
		case at.block != "":
			section.WriteString(header + indent)
			header = ""
		}
		section.WriteString(indent + at.line + "\n")
	})
	flush()
	return all.String()
}

// made reports whether the tool makes such a line.
func (c *Config) made(at leaf) bool {
	place := c.g.placeOf(Setting{Section: at.section, Block: at.block})
	sets := c.g.Sets(place, at.line)
	for i, key := range sets.Keys {
		line := at.line
		if sets.Each != nil {
			line = sets.Each[i]
		}
		if _, ok := c.g.Known(Setting{Section: at.section, Block: at.block, Key: key, Line: line}); ok {
			return true
		}
	}
	return false
}
