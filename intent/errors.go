package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/words"
)

// maxErrors is how many faults one Load reports.
const maxErrors = 50

// Error is one fault of the intent.
type Error struct {
	Pos  Pos
	Msg  string // the fact, without place
	Hint string // what to do about it; "" where that is plain
}

// Error prints "fabric.yaml:14:9: unknown key \"clases\"". The hint stands
// apart.
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors are all faults that one Load found, sorted by place, without
// repetitions, at most 50.
type Errors []*Error

// Error prints one fault a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each *Error.
func (es Errors) Unwrap() []error {
	l := make([]error, len(es))
	for i, e := range es {
		l[i] = e
	}
	return l
}

// problems collects faults.
type problems struct {
	list  Errors
	seen  map[Error]bool
	order map[string]int // files in the order they were read
	more  int            // faults above the limit
	count int            // calls of add: tells whether a step found a fault
}

func (p *problems) addf(pos Pos, hint, format string, args ...any) {
	p.add(Error{Pos: pos, Hint: hint, Msg: fmt.Sprintf(format, args...)})
}

func (p *problems) add(e Error) {
	p.count++
	if p.seen[e] {
		return
	}
	if len(p.list) >= maxErrors {
		p.more++
		return
	}
	if p.seen == nil {
		p.seen = map[Error]bool{}
	}
	p.seen[e] = true
	p.list = append(p.list, &e)
}

// err returns the faults in order, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(p.order[a.Pos.File], p.order[b.Pos.File]),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Msg, b.Msg))
	})
	if p.more > 0 {
		last := p.list[len(p.list)-1]
		p.list = append(p.list, &Error{Pos: last.Pos, Msg: fmt.Sprintf("%d more errors are not shown", p.more)})
	}
	return p.list
}

// suggest returns the known word that was probably meant, or "".
func suggest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 1+len(word)/3
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		if d := words.Distance(word, k, least); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// didYouMean is suggest as a hint; without a suggestion it lists the known
// words where they are few.
func didYouMean(word string, known []string) string {
	if s := suggest(word, known); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	if len(known) == 0 || len(known) > 24 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}
