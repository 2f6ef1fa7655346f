// Package lines implements the editing of systems that are configured by command lines: a tree
// of lines, the settings that the lines make, edits that can be undone, and the commands to type
// for an edit.
//
// The package knows no commands. A system supplies a [Grammar], which tells what a line sets,
// which block it opens, how it is removed, and in which order commands are typed.
package lines

import (
	"fmt"
	"strings"
)

// Limits of a configuration text.
const (
	MaxLine  = 64 << 10 // bytes
	MaxDepth = 16       // levels
)

// Line is one line of a configuration and the lines indented below it.
type Line struct {
	// Text is the line without indentation, CR and trailing blanks. Lines of free text, such as
	// a banner, are in Sub of its first line and keep their blanks.
	Text string
	// No is the line number in the text, from 1; 0 for a line that the tool added.
	No  int
	Sub []*Line
	// Match holds what the parser found about the line; package forms reads and writes it.
	Match any
}

// clone returns a deep copy of lines.
func clone(ls []*Line) []*Line {
	if ls == nil {
		return nil
	}
	out := make([]*Line, len(ls))
	for i, l := range ls {
		out[i] = &Line{Text: l.Text, No: l.No, Sub: clone(l.Sub), Match: l.Match}
	}
	return out
}

// Each calls f with each line of text, without its line end, and with its number, from 1. It
// stops at the first error of f, at a NUL byte and at a line longer than [MaxLine]. The error
// names the line.
func Each(text []byte, f func(line string, no int) error) error {
	// The lines share the memory of one string.
	all := string(text)
	for no := 1; len(all) > 0; no++ {
		line, rest, _ := strings.Cut(all, "\n")
		all = rest
		if len(line) > MaxLine {
			return fmt.Errorf("line %d: longer than %d bytes", no, MaxLine)
		}
		if strings.IndexByte(line, 0) >= 0 {
			return fmt.Errorf("line %d: a NUL byte is not configuration", no)
		}
		if err := f(strings.TrimRight(line, "\r"), no); err != nil {
			return fmt.Errorf("line %d: %w", no, err)
		}
	}
	return nil
}

// Width returns the indentation of a line in columns; a tab advances to the next multiple of 8.
func Width(s string) int {
	n := 0
	for i := range len(s) {
		switch s[i] {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// CutPrompt cuts a CLI prompt off a line. The mode of "leaf1(config-if)# mtu 9216" is
// "config-if"; the mode of "leaf1# show version" is "".
func CutPrompt(s string) (mode, rest string, ok bool) {
	i := strings.IndexAny(s, "#> \t")
	if i <= 0 || i > 127 || s[i] == ' ' || s[i] == '\t' || !Alnum(s[0]) {
		return "", s, false
	}
	host := s[:i]
	for _, c := range []byte(host) {
		if !Alnum(c) && !strings.ContainsRune("._-@():/+,", rune(c)) {
			return "", s, false
		}
	}
	if j := strings.Index(host, "(config"); j > 0 && strings.HasSuffix(host, ")") {
		mode = host[j+1 : len(host)-1]
	}
	return mode, strings.TrimSpace(s[i+1:]), true
}

// FullInterface writes out the first word of "int eth1/1".
func FullInterface(line string) string {
	const whole = "interface"
	word, rest, ok := strings.Cut(line, " ")
	if !ok || len(word) < 3 || len(word) >= len(whole) || !strings.EqualFold(word, whole[:len(word)]) {
		return line
	}
	return whole + " " + strings.TrimLeft(rest, " ")
}

// Alnum reports whether c is an ASCII letter or digit.
func Alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
