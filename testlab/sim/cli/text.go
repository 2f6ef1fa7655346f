package cli

import (
	"slices"
	"strings"
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
