// Package yamlfmt formats YAML documents in a single style: two spaces per level, one space after
// a colon, after a comma and before a comment, none inside braces, at most one empty line.
//
// It changes only blanks. Order, quotes, comments and line breaks stay as written, so that a diff
// of two formatted files shows what someone changed. It does not align columns, for the same
// reason: a longer name would change the lines around it.
package yamlfmt

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// step is the indentation per level.
const step = 2

// Format returns the formatted document. Errors have a position; those about the document come
// from [yaml.Parse]. It is also an error if the result would not parse to the same tree as data.
func Format(file string, data []byte) ([]byte, []*yaml.Error) {
	before, errs := yaml.Parse(file, data)
	if len(errs) > 0 {
		return nil, errs
	}
	f := &formatter{file: file, in: splitLines(string(data))}
	f.document()
	if f.err != nil {
		return nil, []*yaml.Error{f.err}
	}
	out := f.bytes()
	after, errs := yaml.Parse(file, out)
	at := before
	if len(errs) == 0 {
		at = differ(before, after)
	}
	if at == nil && squeeze(string(data)) != squeeze(string(out)) {
		at = before
	}
	if at != nil {
		return nil, []*yaml.Error{{File: file, Line: at.Line, Column: at.Column, Msg: "this part cannot be formatted without changing its meaning",
			Hint: "write it more simply: a key and its value on one line, text in quotes"}}
	}
	return out, nil
}

// breaks normalizes the line breaks of YAML 1.2, which include a lone carriage return.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func splitLines(text string) []string {
	return strings.Split(breaks.Replace(strings.TrimPrefix(text, "\ufeff")), "\n")
}

// differ returns the first node of a that differs from b, or nil.
func differ(a, b *yaml.Node) *yaml.Node {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Pairs) != len(b.Pairs) || len(a.Items) != len(b.Items) {
		return a
	}
	for i, p := range a.Pairs {
		if p.Key.Value != b.Pairs[i].Key.Value {
			return p.Key
		}
		if at := differ(p.Value, b.Pairs[i].Value); at != nil {
			return at
		}
	}
	for i, n := range a.Items {
		if at := differ(n, b.Items[i]); at != nil {
			return at
		}
	}
	return nil
}

// squeeze removes everything that formatting may change: blanks, line breaks, and commas, which
// may be dropped before a bracket.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\n', '\r', '\ufeff', ',':
			return -1
		}
		return r
	}, text)
}

// level is an open block map or list.
type level struct {
	col, target int // its column in the input and in the output
	list        bool
}

// comment is a comment on its own line that waits for the line after it.
type comment struct {
	col   int
	text  string
	blank bool // an empty line precedes it
}

// written is one line of the result.
type written struct{ text, comment string }

type formatter struct {
	file string
	in   []string
	at   int // index of the current input line
	out  []written
	open []level

	blank   bool // there was an empty line since the last written line
	waiting []comment
	// hungry is set if the value of the last entry may be on the following lines.
	hungry bool
	err    *yaml.Error
}

func (f *formatter) bytes() []byte {
	var b strings.Builder
	for _, l := range f.out {
		b.WriteString(l.text)
		if l.comment != "" {
			if l.text != "" {
				b.WriteByte(' ')
			}
			b.WriteString(l.comment)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func (f *formatter) fail(col int, msg string) {
	if f.err == nil {
		f.err = &yaml.Error{File: f.file, Line: min(f.at, len(f.in)-1) + 1, Column: col + 1, Msg: msg}
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func trim(s string) string { return strings.TrimRight(s, " \t") }

// indentOf returns the number of spaces at the start of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func spaces(n int) string { return strings.Repeat(" ", n) }

func (f *formatter) document() {
	for f.at < len(f.in) && f.err == nil {
		line := f.in[f.at]
		col := indentOf(line)
		text := trim(line[col:])
		switch bare := strings.TrimLeft(text, " \t"); {
		case bare == "":
			f.blank = true
			f.at++
		case bare[0] == '#':
			text = bare
			f.waiting = append(f.waiting, comment{col, text, f.blank})
			f.blank = false
			f.at++
		case col == 0 && (text[0] == '%' || isDocumentMarker(text)):
			f.writeWaitingComments(0, 0)
			f.open = nil
			f.emptyLine()
			f.out = append(f.out, written{text: text})
			f.at++
		default:
			f.entry(col)
		}
	}
	f.blank = false
	f.writeWaitingComments(0, 0)
}

// isDocumentMarker reports whether a line only marks the start or the end of a document.
func isDocumentMarker(text string) bool {
	rest, ok := strings.CutPrefix(text, "---")
	if !ok {
		rest, ok = strings.CutPrefix(text, "...")
	}
	rest = strings.TrimLeft(rest, " \t")
	return ok && (rest == "" || rest[0] == '#')
}

// emptyLine writes the empty line that precedes the current line.
func (f *formatter) emptyLine() {
	if f.blank && len(f.out) > 0 {
		f.out = append(f.out, written{})
	}
	f.blank = false
}

// writeWaitingComments writes the comments that wait for a line at a column. They are indented like
// that line, except at the end of a block, where each comment stays in the block in which it was
// written.
func (f *formatter) writeWaitingComments(col, target int) {
	late := f.blank
	for _, c := range f.waiting {
		at := target
		if n := len(f.open); n > 0 {
			switch top := f.open[n-1]; {
			case f.hungry && col <= top.col && c.col > top.col:
				at = top.target + step
			case col < top.col:
				for _, l := range f.open {
					if l.col > col && l.col <= c.col {
						at = l.target
					}
				}
			}
		}
		f.blank = c.blank
		f.emptyLine()
		f.out = append(f.out, written{text: spaces(at) + c.text})
	}
	f.waiting, f.blank = nil, late
	f.emptyLine()
}

// close ends the blocks that do not contain a line at the given column.
func (f *formatter) close(col int, list bool) {
	for n := len(f.open); n > 0; n-- {
		if top := f.open[n-1]; top.col < col || top.col == col && (list || !top.list) {
			return
		}
		f.open = f.open[:n-1]
	}
}

// enter makes the block at a column the innermost one and returns its output indentation.
func (f *formatter) enter(col int, list bool) int {
	f.close(col, list)
	n := len(f.open)
	if n > 0 && f.open[n-1].col == col && f.open[n-1].list == list {
		return f.open[n-1].target
	}
	target := 0
	if n > 0 {
		target = f.open[n-1].target + step
	}
	f.open = append(f.open, level{col, target, list})
	return target
}

// entry formats one entry of a block, including its value unless the value is a block itself.
func (f *formatter) entry(col int) {
	line := f.in[f.at]
	before, cur := f.open, col
	f.open = append([]level(nil), before...)
	first, head := -1, ""
	begin := func(target int) {
		if first >= 0 {
			return
		}
		first = target
		after := f.open
		f.open = before
		f.writeWaitingComments(col, target)
		f.open = after
	}
	for dash(line[cur:]) {
		begin(f.enter(cur, true))
		head += "- "
		cur++
		for cur < len(line) && isBlank(line[cur]) {
			cur++
		}
	}
	base := 0
	if key, rest := splitKey(line[cur:]); rest > 0 {
		base = f.enter(cur, false)
		begin(base)
		head += key + ": "
		cur += rest
	} else {
		if first < 0 { // value of a key on an earlier line
			for n := len(f.open); n > 0 && f.open[n-1].col >= col; n-- {
				f.open = f.open[:n-1]
			}
		}
		if n := len(f.open); n > 0 {
			base = f.open[n-1].target
			if first < 0 {
				base += step
			} else {
				base = first + len(head)
			}
		}
		begin(base)
	}
	f.hungry = false
	v := &value{formatter: f, base: base, line: spaces(first) + head, pos: cur}
	v.read()
}

// dash reports whether s begins a list item.
func dash(s string) bool { return s != "" && s[0] == '-' && (len(s) == 1 || isBlank(s[1])) }

// splitKey returns the key at the start of s and the index after its colon, or 0 if there is no
// key.
func splitKey(s string) (key string, rest int) {
	if s == "" || strings.IndexByte("{[|>#", s[0]) >= 0 {
		return "", 0
	}
	from := 0
	if s[0] == '"' || s[0] == '\'' {
		if from = endQuote(s[1:], s[0]); from < 0 {
			return "", 0
		}
		from++
		if strings.TrimLeft(s[from:], " \t") == "" || strings.TrimLeft(s[from:], " \t")[0] != ':' {
			return "", 0
		}
	}
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == ':' && (i+1 == len(s) || isBlank(s[i+1])):
			return trim(s[:i]), i + 1
		case s[i] == '#' && i > 0 && isBlank(s[i-1]):
			return "", 0
		}
	}
	return "", 0
}

// endQuote returns the index after the closing quote, or -1 if the text continues on the next
// line.
func endQuote(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] != quote:
		case quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}
