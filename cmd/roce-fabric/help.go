package main

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/report"
)

const (
	helpWidth = 80
	// flagColumn is where the description of a flag begins.
	flagColumn = 26
)

// fitHelp wraps a help text at the width of a terminal: paragraphs, items of lists with their
// continuation lines, and flags. Examples stay as they are, because they are copied.
func fitHelp(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	examples := false
	for i := 0; i < len(lines); {
		l := lines[i]
		if strings.HasSuffix(l, ":") && l == strings.TrimSpace(l) {
			examples = strings.HasPrefix(l, "Example")
		}
		n := 1
		switch depth := indent(l); {
		case examples, strings.TrimSpace(l) == "":
			out = append(out, l)
		case depth > 0 && strings.HasPrefix(strings.TrimSpace(l), "-"):
			out = append(out, fitFlag(l)...)
		default:
			hang := hangOf(l)
			for i+n < len(lines) && lines[i+n] != "" && indent(lines[i+n]) == hang && (depth == 0 || hang > depth) && !strings.HasSuffix(lines[i+n-1], ":") {
				n++
			}
			out = append(out, fitItem(lines[i:i+n], hang)...)
		}
		i += n
	}
	return strings.Join(out, "\n")
}

func indent(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// hangOf returns the column of the text of an item: after its word and at least two spaces, or
// where the line begins.
func hangOf(l string) int {
	depth := indent(l)
	word, rest, found := strings.Cut(l[depth:], "  ")
	if depth == 0 || !found {
		return depth
	}
	return depth + len(word) + 2 + indent(rest)
}

// fitItem wraps the lines of a paragraph or an item.
func fitItem(lines []string, hang int) []string {
	first := lines[0][:min(hang, len(lines[0]))]
	text := lines[0][len(first):]
	for _, l := range lines[1:] {
		text += " " + strings.TrimSpace(l)
	}
	out := report.Wrap(text, helpWidth-hang)
	for i := range out {
		if i > 0 {
			first = strings.Repeat(" ", hang)
		}
		out[i] = first + out[i]
	}
	return out
}

// fitFlag wraps a flag and its description.
func fitFlag(l string) []string {
	depth := indent(l)
	name, text, _ := strings.Cut(l[depth:], "   ")
	name = l[:depth] + name
	lines := report.Wrap(strings.TrimSpace(text), helpWidth-flagColumn)
	if len(lines) == 0 {
		return []string{name}
	}
	for i, t := range lines {
		lines[i] = strings.Repeat(" ", flagColumn) + t
	}
	if len(name)+2 > flagColumn {
		return append([]string{name}, lines...)
	}
	lines[0] = name + lines[0][len(name):]
	return lines
}
