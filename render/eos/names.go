package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// maxNames limits the number of ports that the headers of one text name by ranges.
const maxNames = 16 << 10

// kinds lists the interface types that people abbreviate.
var kinds = []string{"Ethernet", "Port-Channel"}

// expandHeaders expands interface headers as people type them, "interface Et1/1" and "interface
// Ethernet1-4,7", into one header per port. The ports share the lines. A switch prints neither
// form.
func expandHeaders(c *Config) {
	var out []*Line
	room := maxNames
	for i, l := range c.Lines {
		names := []string(nil)
		if headerOf(l.Text) == headSection && strings.HasPrefix(l.Text, sectionInterface) {
			names = namesOf(strings.TrimPrefix(canonical(l.Text), sectionInterface), room)
		}
		if len(names) == 0 {
			if out != nil {
				out = append(out, l)
			}
			continue
		}
		if out == nil {
			out = append(out, c.Lines[:i]...)
		}
		room -= len(names)
		for _, n := range names {
			out = append(out, &Line{Text: sectionInterface + n, No: l.No, Sub: l.Sub})
		}
	}
	if out != nil {
		c.Lines = out
	}
}

// namesOf returns the ports of a header that is not in the form that EOS prints. It returns nil
// for a header in that form, one that it cannot read, and one with more than most ports.
func namesOf(s string, most int) []string {
	at := strings.IndexAny(s, "0123456789")
	if at < 0 {
		return nil
	}
	kind := kindOf(s[:at])
	s = s[:at] + strings.ReplaceAll(s[at:], " ", "")
	if kind == "" {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(s[at:], ",") {
		if n := strings.IndexAny(part, "0123456789"); n > 0 && kindOf(part[:n]) == kind {
			part = part[n:] // "Et5/1, Et6/1"
		}
		from, to, ranged := strings.Cut(part, "-")
		a, ok := numbers(from)
		b := a
		if ranged && ok {
			b, ok = numbers(to)
		}
		if !ok || len(b) > len(a) {
			return nil
		}
		// "1/1-4" goes from 1/1 to 1/4; the ends of "1/1-4/1" must be equal in all but one
		// number.
		b = append(a[:len(a)-len(b):len(a)-len(b)], b...)
		vary := len(a) - 1
		for i := range a {
			if a[i] != b[i] {
				vary = i
			}
		}
		for ; a[vary] <= b[vary]; a[vary]++ {
			if len(out) >= most {
				return nil
			}
			name := kind
			for i, n := range a {
				if i > 0 {
					name += "/"
				}
				name += itoa(n)
			}
			out = append(out, name)
		}
		if a[vary]--; !slices.Equal(a, b) {
			return nil
		}
	}
	if len(out) == 1 && out[0] == s {
		return nil
	}
	return out
}

// kindOf returns the interface type that a word abbreviates; "" for none.
func kindOf(word string) string {
	word = strings.TrimSpace(word)
	for _, k := range kinds {
		if len(word) >= 2 && len(word) <= len(k) && strings.EqualFold(word, k[:len(word)]) {
			return k
		}
	}
	return ""
}

// numbers parses "1/2/3".
func numbers(s string) (out []int, ok bool) {
	for part := range strings.SplitSeq(s, "/") {
		n, ok := lines.Number(part, 9999)
		if !ok || len(out) == 3 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}
