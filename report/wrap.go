package report

import (
	"strings"
	"unicode/utf8"
)

// textWidth is the line width of findings, which people read in terminals and paste into tickets
// and mails.
const textWidth = 80

// Fill wraps text between words at the width for terminals.
func Fill(text string) string { return strings.Join(wrap(text, textWidth-1, 0), "\n") }

// wrap breaks text between words, and long words after commas or bars, at width. Lines after the first
// are shorter by indent columns. Runs of white space become one space.
func wrap(text string, width, indent int) []string {
	var lines []string
	line, n := "", 0
	put := func(part string, space bool) {
		size := utf8.RuneCountInString(part)
		gap := 0
		if space && n > 0 {
			gap = 1
		}
		if n > 0 && n+gap+size > width {
			lines = append(lines, line)
			if len(lines) == 1 {
				width -= indent
			}
			line, n, gap = "", 0, 0
		}
		line, n = line+strings.Repeat(" ", gap)+part, n+gap+size
	}
	for _, word := range strings.Fields(text) {
		parts := []string{word}
		if utf8.RuneCountInString(word) > width/2 {
			if parts = strings.SplitAfter(word, ","); len(parts) == 1 {
				parts = strings.SplitAfter(word, "|")
			}
		}
		for i, p := range parts {
			put(p, i == 0)
		}
	}
	if n > 0 {
		lines = append(lines, line)
	}
	return lines
}

// Wrap breaks text between words at width.
func Wrap(text string, width int) []string { return wrap(text, width, 0) }
