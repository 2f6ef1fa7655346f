package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Failure describes a program that exited with an error.
type Failure struct {
	Command string // the program and its verb, without values
	Code    int
	Words   []string // the program's own messages, cleaned
	Kind    error    // the kind of error, or nil if not known
	Advice  string
}

// Error implements error.
func (f *Failure) Error() string {
	s := fmt.Sprintf("%s: exit status %d", f.Command, f.Code)
	if len(f.Words) > 0 {
		s += ": " + strings.Join(f.Words, "; ")
	}
	return s
}

// Unwrap returns Kind.
func (f *Failure) Unwrap() error { return f.Kind }

// Hint returns Advice.
func (f *Failure) Hint() string { return f.Advice }

// Says reports whether the program's messages contain one of the phrases, which must be in lower
// case.
func (f *Failure) Says(phrases ...string) bool {
	words := strings.ToLower(strings.Join(f.Words, "\n"))
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(words, p) })
}

// Lines returns the non-empty lines, standard output first, safe to print.
func (r Result) Lines() []string {
	var out []string
	for line := range strings.Lines(string(r.Stdout) + "\n" + string(r.Stderr)) {
		if line = term.Clip(line, 400); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// LastWords returns the last lines of Lines.
func (r Result) LastWords() []string {
	l := r.Lines()
	return l[max(0, len(l)-3):]
}
