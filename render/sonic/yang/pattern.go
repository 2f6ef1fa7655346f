package yang

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxPattern limits the text of a pattern, in bytes.
const maxPattern = 16 << 10

type compiledPattern struct {
	re  *regexp.Regexp
	err error
}

// pattern compiles a YANG pattern, once for each text.
func (m *Models) pattern(text string) *compiledPattern {
	if p, ok := m.patterns.Load(text); ok {
		return p.(*compiledPattern)
	}
	p := &compiledPattern{}
	var t string
	if t, p.err = translate(text); p.err == nil {
		if p.re, p.err = regexp.Compile(`^(?:` + t + `)$`); p.err != nil {
			p.err = fmt.Errorf("no Go form: %w", p.err)
		}
	}
	m.patterns.Store(text, p)
	return p
}

// translate turns a YANG pattern (W3C XML Schema, RFC 7950 9.4.5) into Go's syntax. Where libyang
// is more lenient than XML Schema (escapes of plain characters, \w with an underscore), the result
// follows libyang, because the switch uses it.
func translate(p string) (string, error) {
	if len(p) > maxPattern {
		return "", errors.New("too long")
	}
	var b strings.Builder
	rs := []rune(p)
	class, start := false, 0 // inside brackets, and where they began
	for i := 0; i < len(rs); i++ {
		c := rs[i]
		switch {
		case c == '\\':
			n, out, err := escape(rs[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteString(out)
			i += n
		case class:
			switch {
			case c == ']' && i > start:
				class = false
				b.WriteRune(c)
			case c == ']':
				return "", errors.New("empty character class")
			case c == '[' && rs[i-1] == '-':
				return "", errors.New("character class subtraction")
			case c == '[':
				b.WriteString(`\[`)
			default:
				b.WriteRune(c)
			}
		case c == '[':
			class = true
			b.WriteRune(c)
			if i+1 < len(rs) && rs[i+1] == '^' {
				b.WriteRune('^')
				i++
			}
			start = i + 1
		case c == '^' || c == '$': // plain characters in XML Schema
			b.WriteString(`\` + string(c))
		case c == '(' && i+1 < len(rs) && rs[i+1] == '?':
			return "", errors.New("a group with flags")
		default:
			b.WriteRune(c)
		}
	}
	if class {
		return "", errors.New("character class without an end")
	}
	return b.String(), nil
}

// escape translates the part of an escape after the backslash; n is the number of runes used.
func escape(rs []rune) (n int, out string, err error) {
	if len(rs) == 0 {
		return 0, "", errors.New("a backslash at the end")
	}
	switch c := rs[0]; {
	case (c == 'p' || c == 'P') && (len(rs) < 4 || rs[1] != '{' || !slices.Contains(rs, '}') || strings.HasPrefix(string(rs[2:]), "Is")):
		return 0, "", errors.New("a named Unicode block")
	case strings.ContainsRune("dDsSwWnrtpP", c): // for p and P the category follows, as in Go
		return 1, `\` + string(c), nil
	case c < 0x80 && (c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z'):
		return 1, `\` + string(c), nil
	default:
		return 0, "", fmt.Errorf("the escape \\%c", c)
	}
}
