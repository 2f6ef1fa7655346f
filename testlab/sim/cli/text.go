package cli

import (
	"slices"
	"strings"
)

// MaxLine bounds a line of configuration, in bytes.
const MaxLine = 8 << 10

// SplitLines cuts text into lines, whatever their ends.
func SplitLines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = slices.Delete(lines, n-1, n)
	}
	return lines
}

// Clip bounds what an error repeats.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// Printable drops what a terminal would not take; it is for strings.Map.
func Printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}
