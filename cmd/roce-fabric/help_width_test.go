package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpFitsATerminal walks the help of all commands. Only examples, which are copied, may be wider
// than a terminal.
func TestHelpFitsATerminal(t *testing.T) {
	root := silentApp().root()
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		seen++
		examples := false
		for l := range strings.Lines(out.String()) {
			l = strings.TrimSuffix(l, "\n")
			if l == strings.TrimSpace(l) && strings.HasSuffix(l, ":") {
				examples = strings.HasPrefix(l, "Example")
			}
			if n := utf8.RuneCountInString(l); n > helpWidth && !examples {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, l)
			}
		}
		for _, part := range []string{"Usage:", "Exit status:"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: the help lacks %s", c.CommandPath(), part)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 30 {
		t.Errorf("only %d commands", seen)
	}
}

// Wrapping changes no word of a help text, and keeps paragraphs and items apart.
func TestFitHelpKeepsTheWords(t *testing.T) {
	words := strings.Repeat("word ", 18)
	got := fitHelp(words + "\nlast\n\n  quick  " + words + "\n         of it\n  full   in addition\n\nFlags:\n" +
		"      --a-long-flag-with-a-type string   " + words + "\n  -f, --file string                      short\n\nExamples:\n  roce-fabric " + words + "\n")
	row := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	want := row(16) + "\n" + row(2) + " last\n\n  quick  " + row(14) + "\n         " + row(4) + " of it\n  full   in addition\n\nFlags:\n" +
		"      --a-long-flag-with-a-type string\n                          " + row(11) + "\n                          " + row(7) + "\n  -f, --file string       short\n\nExamples:\n  roce-fabric " + words + "\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
