package intent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxItems is the number of names that one pattern may expand to.
const maxItems = 1_000_000

// errRange is wrapped by every range error.
var errRange = errors.New("bad range")

// Expand expands the ranges in a pattern: "leaf[1-3]" gives leaf1, leaf2, leaf3. A range contains
// numbers, spans and spans with a step, separated by commas: [1,3,5-7], [0-124:4]. A leading zero
// in the first number fixes the width: [01-32]. With several ranges, the last one varies fastest.
//
// Brackets without a comma or dash between numbers are plain text, so an IPv6 address like
// [2001:db8::1]:8080 is not expanded; [5] is a range of one. A pattern may expand to at most
// 1,000,000 names.
func Expand(pattern string) ([]string, error) {
	p, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	return p.expand(), nil
}

// pattern is text with ranges in it.
type pattern struct {
	parts  []part
	count  int
	ranged bool // has at least one range
}

// part is literal text or the spans of one range.
type part struct {
	text  string
	spans []span
	count int
}

type span struct{ lo, hi, step, width int }

func (s span) count() int { return (s.hi-s.lo)/s.step + 1 }

func parsePattern(s string) (pattern, error) {
	p := pattern{count: 1}
	rest := s
	for {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			break
		}
		j := strings.IndexByte(rest[i:], ']')
		if j < 0 {
			break
		}
		body := rest[i+1 : i+j]
		if !isRange(body) {
			p.literal(rest[:i+j+1])
			rest = rest[i+j+1:]
			continue
		}
		g, err := parseRange(body)
		if err != nil {
			return p, err
		}
		if p.count > maxItems/g.count {
			return p, fmt.Errorf("%w: %s stands for more than %d names", errRange, brief(s), maxItems)
		}
		p.literal(rest[:i])
		p.parts = append(p.parts, g)
		p.count *= g.count
		p.ranged = true
		rest = rest[i+j+1:]
	}
	p.literal(rest)
	return p, nil
}

func (p *pattern) literal(s string) {
	if s == "" {
		return
	}
	if n := len(p.parts); n > 0 && p.parts[n-1].spans == nil {
		p.parts[n-1].text += s
		return
	}
	p.parts = append(p.parts, part{text: s})
}

// isRange tells a range from other text in brackets: it contains only digits, or digits with a
// comma or a dash. An IPv6 address has colons but neither of these.
func isRange(body string) bool {
	if body == "" || strings.Trim(body, "0123456789,-:") != "" {
		return false
	}
	return strings.ContainsAny(body, ",-") || !strings.Contains(body, ":")
}

func parseRange(body string) (part, error) {
	var g part
	for item := range strings.SplitSeq(body, ",") {
		sp, err := parseSpan(item)
		if err != nil {
			return g, fmt.Errorf("%w: [%s]: %s", errRange, brief(body), err)
		}
		g.spans = append(g.spans, sp)
		g.count += sp.count()
		if g.count > maxItems {
			return g, fmt.Errorf("%w: [%s] stands for more than %d names", errRange, brief(body), maxItems)
		}
	}
	return g, nil
}

func parseSpan(item string) (span, error) {
	bounds, stepText, stepped := strings.Cut(item, ":")
	loText, hiText, spanned := strings.Cut(bounds, "-")
	if !spanned {
		hiText = loText
	}
	sp := span{step: 1}
	var err error
	if sp.lo, err = number(loText); err != nil {
		return sp, err
	}
	if sp.hi, err = number(hiText); err != nil {
		return sp, err
	}
	if stepped {
		if sp.step, err = number(stepText); err != nil {
			return sp, err
		}
	}
	switch {
	case stepped && !spanned:
		return sp, errors.New("a step needs a first and a last number")
	case sp.step == 0:
		return sp, errors.New("the step is 0")
	case sp.hi < sp.lo:
		return sp, errors.New("the last number is below the first")
	case (sp.hi-sp.lo)%sp.step != 0:
		return sp, fmt.Errorf("steps of %d reach %d and not %d", sp.step, sp.hi-(sp.hi-sp.lo)%sp.step, sp.hi)
	}
	if len(loText) > 1 && loText[0] == '0' {
		sp.width = len(loText)
	}
	if len(hiText) > 1 && hiText[0] == '0' && sp.width != len(hiText) {
		return sp, errors.New("the two numbers have different widths")
	}
	return sp, nil
}

func number(s string) (int, error) {
	if s == "" {
		return 0, errors.New("a number is missing")
	}
	if strings.Trim(s, "0123456789") != "" || len(s) > 9 {
		return 0, fmt.Errorf("%q is not a number of at most 9 digits", brief(s))
	}
	return strconv.Atoi(s)
}

func (p pattern) expand() []string {
	return p.appendTo(make([]string, 0, p.count), 0, nil)
}

// set returns the names of the pattern as a set.
func (p pattern) set() map[string]bool {
	out := make(map[string]bool, p.count)
	for _, n := range p.expand() {
		out[n] = true
	}
	return out
}

func (p pattern) appendTo(out []string, i int, prefix []byte) []string {
	if i == len(p.parts) {
		return append(out, string(prefix))
	}
	if p.parts[i].spans == nil {
		return p.appendTo(out, i+1, append(prefix, p.parts[i].text...))
	}
	for _, sp := range p.parts[i].spans {
		for v := sp.lo; v <= sp.hi; v += sp.step {
			out = p.appendTo(out, i+1, fmt.Appendf(prefix, "%0*d", sp.width, v))
		}
	}
	return out
}

// brief shortens text for an error message.
func brief(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}
