package mlxconfig

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Limits for an answer. A card with many ports shows about a thousand settings.
const (
	maxDevices = 64
	maxParams  = 20_000
	maxLine    = 4096
	maxUnread  = 50
)

var (
	deviceLine = lazyre.New(`^Device #[0-9]+:\s*$`)
	headLine   = lazyre.New(`^(Device type|Device|PCI device):\s*(.*)$`)
	// A row begins with two optional marks, "*" and "RO", followed by at least five blanks; other
	// text begins further left.
	rowLine   = lazyre.New(`^\*? *(RO)? {5,}([A-Z].*)$`)
	paramName = lazyre.New(`^[A-Z][A-Z0-9_]{0,127}$`)
	// A value as wide as its column leaves no blank before the next value.
	glued = lazyre.New(`\)([^\s)])`)
)

// columns are the possible columns of a settings table.
var columns = []string{"Default", "Current", "Next", "New"}

// parseText parses the output of "-e query": for each device a head, the line "Configurations:"
// with the names of the columns, and a row for each setting. The tool, its libraries and the kernel
// may print other lines in between.
//
// It separates columns by blanks and not by position: they are 16, 20 or more characters wide,
// depending on the version, and a long value shifts the rest of its row.
func parseText(out []byte) []*Config {
	p := &textParser{}
	for line := range strings.Lines(string(out)) {
		switch {
		case len(line) <= maxLine:
			p.line(strings.TrimRight(term.Clean(line), " \t\r\n"))
		case p.cur != nil:
			p.cur.unread(line)
		}
	}
	return p.found
}

type textParser struct {
	found   []*Config
	cur     *Config
	columns []string
}

func (p *textParser) line(line string) {
	switch {
	case deviceLine.MatchString(line):
		p.cur, p.columns = nil, nil
		if len(p.found) < maxDevices {
			p.cur = &Config{Params: map[string]Param{}}
			p.found = append(p.found, p.cur)
		}
	case p.cur == nil:
	case strings.HasPrefix(line, "Configurations:"):
		p.columns = tableHead(strings.TrimPrefix(line, "Configurations:"))
		if p.columns == nil {
			p.cur.unread(line)
		}
	case p.columns != nil:
		if m := rowLine.FindStringSubmatch(line); m != nil {
			p.row(m[1] != "", m[2], line)
		}
	default:
		if m := headLine.FindStringSubmatch(line); m != nil {
			p.cur.head(m[1] == "Device type", m[2])
		}
	}
}

// head stores a value from the head of a device.
func (c *Config) head(isType bool, value string) {
	to := &c.Device
	if isType {
		to = &c.Type
	}
	if *to = word(value); *to == "N/A" {
		*to = ""
	}
}

// tableHead returns a table's columns; nil for an unknown head, or one without Next.
func tableHead(head string) []string {
	head = strings.NewReplacer("Next Boot", "Next", "Next boot", "Next").Replace(head)
	cols := strings.Fields(head)
	for i, c := range cols {
		if !slices.Contains(columns, c) || slices.Contains(cols[:i], c) {
			return nil
		}
	}
	if !slices.Contains(cols, "Next") {
		return nil
	}
	return cols
}

// row parses a setting, or records the line as unread.
func (p *textParser) row(readOnly bool, rest, line string) {
	name, rest, _ := strings.Cut(rest, " ")
	values := split(rest, len(p.columns))
	if values == nil || !paramName.MatchString(name) {
		p.cur.unread(line)
		return
	}
	param := Param{Name: name, ReadOnly: readOnly}
	to := map[string]*Value{"Default": &param.Default, "Current": &param.Current, "Next": &param.Next, "New": {}}
	for i, c := range p.columns {
		*to[c] = ParseValue(values[i])
	}
	p.cur.add(param)
}

// split splits a row into n values; nil if the row is ambiguous.
func split(rest string, n int) []string {
	if f := strings.Fields(rest); len(f) == n {
		return f
	}
	// Some values contain a blank and, in 4.21, some values have no blank between them.
	wide := strings.FieldsFunc(strings.ReplaceAll(rest, "  ", "\x00"), func(r rune) bool { return r == 0 })
	if len(wide) == n {
		return wide
	}
	if f := strings.Fields(glued.ReplaceAllString(rest, ") $1")); len(f) == n {
		return f
	}
	return nil
}

// add stores a setting. A setting listed twice with different values is removed.
func (c *Config) add(p Param) {
	if was, twice := c.Params[p.Name]; twice && was != p {
		delete(c.Params, p.Name)
		c.unread(p.Name + ": listed twice with different values")
		return
	}
	if len(c.Params) >= maxParams {
		c.Partial = true
		return
	}
	c.Params[p.Name] = p
}

func (c *Config) unread(line string) {
	c.Partial = true
	if len(c.Unread) < maxUnread {
		c.Unread = append(c.Unread, word(line))
	}
}
