package yamlfmt

import (
	"math"
	"strings"
)

// value formats the value of one entry, starting after its key.
type value struct {
	*formatter
	base int    // indentation of the entry
	line string // output line so far
	pos  int    // position in the input line
}

// endLine writes the output line.
func (v *value) endLine(comment string) {
	v.out = append(v.out, written{trim(v.line), comment})
	v.line = ""
}

// rest returns the rest of the input line.
func (v *value) rest() string { return v.in[v.at][v.pos:] }

func (v *value) skip() {
	for s := v.rest(); v.pos < len(v.in[v.at]) && isBlank(s[0]); s = v.rest() {
		v.pos++
	}
}

// next moves to the next input line, if there is one.
func (v *value) next() bool {
	if v.at+1 >= len(v.in) {
		return false
	}
	v.at, v.pos = v.at+1, 0
	return true
}

// parent returns the column of the enclosing block. The value must be indented further than that.
func (v *value) parent() int {
	if n := len(v.open); n > 0 {
		return v.open[n-1].col
	}
	return -1
}

func (v *value) read() {
	v.skip()
	for s := v.rest(); s != "" && (s[0] == '&' || s[0] == '!'); s = v.rest() {
		word := s
		if i := strings.IndexAny(s, " \t"); i > 0 {
			word = s[:i]
		}
		v.line += word + " "
		v.pos += len(word)
		v.skip()
	}
	switch s := v.rest(); {
	case s == "" || s[0] == '#':
		v.hungry = true
		v.endEntry()
	case s[0] == '{' || s[0] == '[':
		v.flow()
		v.endEntry()
	case s[0] == '"' || s[0] == '\'':
		v.quoted()
		v.endEntry()
	case s[0] == '|' || s[0] == '>':
		v.block()
	case s[0] == '?' && (len(s) == 1 || isBlank(s[1])):
		v.fail(v.pos, "a key after a question mark")
	default:
		v.copyPlainText()
	}
}

// endEntry ends the entry: only a comment may follow.
func (v *value) endEntry() {
	v.skip()
	s := v.rest()
	if s != "" && s[0] != '#' {
		v.fail(v.pos, "text after a value")
		return
	}
	v.endLine(trim(s))
	v.at++
}

// quoted copies a quoted text, which may span several lines.
func (v *value) quoted() {
	quote := v.rest()[0]
	v.line += string(quote)
	v.pos++
	for {
		s := v.rest()
		if n := endQuote(s, quote); n >= 0 {
			v.line += s[:n]
			v.pos += n
			return
		}
		// Trailing blanks may be escaped, so the line is copied unchanged.
		v.out = append(v.out, written{text: v.line + s})
		if v.line = ""; !v.next() {
			v.fail(0, "unterminated quotes")
			return
		}
		if v.skip(); v.rest() != "" {
			v.line = spaces(v.base + step)
		}
	}
}

// cutComment splits a text from the comment after it.
func cutComment(s string) (text, comment string) {
	for i := 1; i < len(s); i++ {
		if s[i] == '#' && isBlank(s[i-1]) {
			return trim(s[:i]), trim(s[i:])
		}
	}
	return trim(s), ""
}

// copyPlainText copies an unquoted text, which may span several lines.
func (v *value) copyPlainText() {
	for {
		text, comment := cutComment(v.rest())
		v.line += text
		v.endLine(comment)
		next := v.at + 1
		for next < len(v.in) && strings.Trim(v.in[next], " \t") == "" {
			next++
		}
		if comment != "" || next >= len(v.in) || indentOf(v.in[next]) <= v.parent() || strings.TrimLeft(v.in[next], " \t")[0] == '#' ||
			indentOf(v.in[next]) == 0 && isDocumentMarker(v.in[next]) {
			v.at++
			return
		}
		for ; v.at+1 < next; v.at++ {
			v.out = append(v.out, written{})
		}
		v.at, v.pos = next, 0
		v.skip()
		v.line = spaces(v.base + step)
	}
}

// block copies a block scalar: | or >.
func (v *value) block() {
	s := v.rest()
	header, more := s, ""
	if i := strings.IndexAny(s, " \t"); i > 0 {
		header, more = s[:i], strings.TrimLeft(s[i:], " \t")
	}
	v.line += header
	v.endLine(trim(more))
	v.at++
	from, to := 0, v.base+step // indentation of the text in the input and in the output
	if i := strings.IndexAny(header, "123456789"); i > 0 {
		n := int(header[i] - '0')
		from, to = max(v.parent(), 0)+n, v.base+n
		if n := len(v.open); n > 0 {
			to = v.open[n-1].target + int(header[i]-'0')
		}
	}
	if from == 0 {
		from = v.textIndent()
	}
	end := v.at // index after the last line that is not empty
	for i := v.at; i < len(v.in); i++ {
		l := v.in[i]
		if strings.Trim(l, " ") == "" {
			continue
		}
		if indentOf(l) < from || indentOf(l) <= v.parent() {
			break
		}
		end = i + 1
	}
	if strings.Contains(header, "+") {
		for end < len(v.in) && strings.Trim(v.in[end], " ") == "" && end+1 < len(v.in) {
			end++
		}
	}
	for ; v.at < end; v.at++ {
		l := v.in[v.at]
		if len(l) > from {
			v.out = append(v.out, written{text: spaces(to) + l[from:]})
		} else {
			v.out = append(v.out, written{})
		}
	}
}

// textIndent returns the indentation of the first line that is not empty.
func (v *value) textIndent() int {
	for _, l := range v.in[v.at:] {
		if strings.Trim(l, " ") == "" {
			continue
		}
		if indentOf(l) > v.parent() {
			return indentOf(l)
		}
		break
	}
	return math.MaxInt
}

// flow formats a value in { } or [ ]. It keeps line breaks, and indents each line by the number of
// open brackets.
func (v *value) flow() {
	depth := 0
	last := byte(0) // end of the output line: 0 if empty, a mark, '"' for a quoted key, or 'x' for other text
	for first := true; first || depth > 0; first = false {
		v.skip()
		s := v.rest()
		if s == "" || s[0] == '#' {
			if s != "" || strings.TrimSpace(v.line) != "" {
				if last == 0 {
					v.line = spaces(v.base + depth*step)
				}
				v.endFlowLine(trim(s), last)
			}
			if last = 0; !v.next() {
				v.fail(0, "unclosed bracket")
				return
			}
			v.flowGap()
			continue
		}
		closes := s[0] == '}' || s[0] == ']'
		if closes {
			depth--
		}
		switch {
		case last == 0 && !first:
			v.line = spaces(v.base + depth*step)
		case closes && last == ',':
			if v.line = strings.TrimSuffix(trim(v.line), ","); trim(v.line) == "" {
				v.line = spaces(v.base + depth*step)
			}
		case last == ',' || last == ':' || last == 'x' && s[0] != ',' && s[0] != ':' && !closes:
			v.line += " "
		}
		switch c := s[0]; {
		case c == '{' || c == '[':
			depth++
			v.mark(c, &last)
		case closes:
			v.mark(c, &last)
			last = 'x'
		case c == ',', c == ':' && (last == 'x' || last == '"') && colon(s, last):
			v.mark(c, &last)
		case c == '"' || c == '\'':
			v.base += depth * step
			v.quoted()
			v.base -= depth * step
			if v.err != nil {
				return
			}
			last = '"'
		case c == '?' && (len(s) == 1 || isBlank(s[1])):
			v.fail(v.pos, "a key after a question mark")
			return
		default:
			n := plainInFlow(s)
			v.line += s[:n]
			v.pos += n
			last = 'x'
		}
		if last == '"' && !strings.HasPrefix(strings.TrimLeft(v.rest(), " \t"), ":") {
			last = 'x'
		}
	}
}

func (v *value) mark(c byte, last *byte) {
	v.line += string(c)
	v.pos++
	*last = c
}

// endFlowLine writes a line inside brackets.
func (v *value) endFlowLine(comment string, last byte) {
	if last == 0 { // only a comment
		v.out = append(v.out, written{text: v.line + comment})
		v.line = ""
		return
	}
	v.endLine(comment)
}

// flowGap writes one empty line in place of one or more.
func (v *value) flowGap() {
	empty := false
	for strings.Trim(v.in[v.at], " \t") == "" && v.at+1 < len(v.in) {
		v.at++
		empty = true
	}
	if empty {
		v.out = append(v.out, written{})
	}
}

// colon reports whether a colon inside brackets separates a key from its value.
func colon(s string, last byte) bool {
	return last == '"' || len(s) == 1 || isBlank(s[1]) || strings.IndexByte(",[]{}", s[1]) >= 0
}

// plainInFlow returns the length of the unquoted text at the start of s, inside brackets.
func plainInFlow(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.IndexByte(",[]{}", s[i]) >= 0,
			s[i] == ':' && i > 0 && colon(s[i:], 'x'),
			s[i] == '#' && i > 0 && isBlank(s[i-1]):
			return len(trim(s[:i]))
		}
	}
	return len(trim(s))
}
