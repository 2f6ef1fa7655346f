package cli

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// MaxLine is the maximum length of a configuration line in bytes.
const MaxLine = 8 << 10

// SplitLines splits text into lines, with any kind of line end.
func SplitLines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = slices.Delete(lines, n-1, n)
	}
	return lines
}

// typed matches the prompt of a configuration mode in front of a line.
var typed = lazyre.New(`^[A-Za-z0-9][\w.-]*\((config[^)\s]*)\)#[ \t]*`)

// CutPrompt cuts the prompt of a configuration mode off a line that was typed on a terminal.
func CutPrompt(line string) (mode, text string, ok bool) {
	m := typed.FindStringSubmatch(line)
	if m == nil {
		return "", line, false
	}
	return m[1], line[len(m[0]):], true
}

// talk matches what a pasted session has between its configuration lines.
var talk = lazyre.New(`^(conf(ig|igure)?( t| terminal| session( \S+)?)?|en(able)?|commit|wr(ite)?( mem(ory)?)?|copy run\S* start\S*|(do )?sh(ow)? .*|Enter configuration commands.*)$`)

// Talk reports whether a line of a pasted session is no configuration: a command that opens or
// ends the session or shows something, or an answer to it.
func Talk(line string) bool { return talk.MatchString(line) }

// Indented returns the number of blanks before a line, with tabs as a terminal shows them.
func Indented(line string) int {
	n := 0
	for _, c := range line {
		switch c {
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

// Clip shortens text that is repeated in an error.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// Printable replaces tabs with spaces and removes control characters. It is for use with
// strings.Map.
func Printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}
