package intent

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// maxErrors bounds how many problems one Load reports.
const maxErrors = 50

// Error is one problem of the intent.
type Error struct {
	Pos  Pos
	Msg  string // the problem, without the position
	Hint string // how to fix it; "" if that is obvious
}

// Error returns "fabric.yaml:14:9: unknown key \"clases\"", without the hint.
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors holds the problems that one Load found, sorted by position, without duplicates, at most
// 50.
type Errors []*Error

// Error returns one problem per line.
func (es Errors) Error() string {
	return strings.Join(each(es, (*Error).Error), "\n")
}

// Unwrap lets errors.As find each *Error.
func (es Errors) Unwrap() []error {
	return each(es, func(e *Error) error { return e })
}

type problems struct {
	list  Errors
	seen  map[Error]bool
	order map[string]int // index of each file in reading order
	more  int            // problems beyond the limit
	count int            // calls of addf; shows whether a step found a problem
}

func (p *problems) addf(pos Pos, hint, format string, args ...any) {
	e := Error{Pos: pos, Hint: hint, Msg: fmt.Sprintf(format, args...)}
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

// ofDocument adds the YAML syntax errors of a file.
func (p *problems) ofDocument(errs []*yaml.Error) {
	for _, e := range errs {
		p.addf(Pos{File: e.File, Line: e.Line, Column: e.Column}, e.Hint, "%s", e.Msg)
	}
}

// compare orders positions by reading order of the files, then line and column.
func (p *problems) compare(a, b Pos) int {
	return cmp.Or(
		cmp.Compare(p.order[a.File], p.order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// err returns the problems in order, or nil if there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	ordered.Sort(p.list, func(a, b *Error) int {
		return cmp.Or(p.compare(a.Pos, b.Pos), cmp.Compare(a.Msg, b.Msg))
	})
	if p.more > 0 {
		last := p.list[len(p.list)-1]
		p.list = append(p.list, &Error{Pos: last.Pos, Msg: fmt.Sprintf("%d more errors are not shown", p.more)})
	}
	return p.list
}

// hintFor suggests the known word closest to word; "" if none is close.
func hintFor(word string, known []string) string {
	best := words.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// didYouMean is hintFor, but lists the known words if there is no suggestion and they are at most
// 24.
func didYouMean(word string, known []string) string {
	hint := hintFor(word, known)
	if hint == "" && len(known) > 0 && len(known) <= 24 {
		hint = "known: " + strings.Join(known, ", ")
	}
	return hint
}
