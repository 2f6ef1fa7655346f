package mlxconfig

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Bounds of an answer. A card of many ports shows about a thousand settings.
const (
	maxDevices = 64
	maxParams  = 20_000
	maxLine    = 4096
	maxUnread  = 50
)

var (
	deviceLine = lazyre.New(`^Device #[0-9]+:\s*$`)
	headLine   = lazyre.New(`^(Device type|Device|PCI device):\s*(.*)$`)
	// A row begins with two marks that may be blank, "*" and "RO", and at
	// least five blanks; prose begins further left.
	rowLine   = lazyre.New(`^\*? *(RO)? {5,}([A-Z].*)$`)
	paramName = lazyre.New(`^[A-Z][A-Z0-9_]{0,127}$`)
	// A value as wide as its column leaves no blank before the next one.
	glued = lazyre.New(`\)([^\s)])`)
)

// columns are those that a table of settings can have.
var columns = []string{"Default", "Current", "Next", "New"}

// parseText reads what "-e query" prints: for each device a head, the line
// "Configurations:" with the names of the columns, and a row for each setting.
// Between them the tool, its libraries and the kernel may say anything.
//
// Columns are told apart by blanks and not by their place: they are 16, 20 or
// more characters wide, by version, and a long value moves the rest of its row.
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

// head keeps what the head of a device says of it.
func (c *Config) head(isType bool, value string) {
	to := &c.Device
	if isType {
		to = &c.Type
	}
	if *to = word(value); *to == "N/A" {
		*to = ""
	}
}

// tableHead returns a table's columns; nil for an unknown head or one without Next.
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

// row reads a setting, or notes the line as unread.
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

// split cuts a row into n values; nil where that is not certain.
func split(rest string, n int) []string {
	if f := strings.Fields(rest); len(f) == n {
		return f
	}
	// Values with a blank inside, or, in 4.21, none between two.
	wide := strings.FieldsFunc(strings.ReplaceAll(rest, "  ", "\x00"), func(r rune) bool { return r == 0 })
	if len(wide) == n {
		return wide
	}
	if f := strings.Fields(glued.ReplaceAllString(rest, ") $1")); len(f) == n {
		return f
	}
	return nil
}

// add keeps a setting. One that comes twice with different values is none.
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
