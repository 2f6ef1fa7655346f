// Package lazyre provides regular expressions for package variables. Each is compiled at its first
// use, so that a command does not pay for the expressions of other commands. An invalid one panics
// at that time; a test in internal/arch compiles all of them.
package lazyre

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled at its first use. It is safe for concurrent use.
type Regexp struct {
	text string
	once sync.Once
	made *regexp.Regexp
}

// New returns the regular expression for a pattern.
func New(text string) *Regexp { return &Regexp{text: text} }

// Of is [New] for a pattern that is assembled from parts. The test in internal/arch cannot check
// it, so the tests of the calling package must use it.
func Of(text string) *Regexp { return New(text) }

func (r *Regexp) re() *regexp.Regexp {
	r.once.Do(func() { r.made = regexp.MustCompile(r.text) })
	return r.made
}

// String returns the pattern.
func (r *Regexp) String() string { return r.text }

// The other methods work like those of [regexp.Regexp].

func (r *Regexp) MatchString(s string) bool            { return r.re().MatchString(s) }
func (r *Regexp) Match(b []byte) bool                  { return r.re().Match(b) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.re().FindStringSubmatch(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte       { return r.re().FindSubmatch(b) }
func (r *Regexp) FindIndex(b []byte) []int             { return r.re().FindIndex(b) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.re().FindAllStringSubmatch(s, n)
}
func (r *Regexp) ReplaceAllString(s, to string) string { return r.re().ReplaceAllString(s, to) }
func (r *Regexp) ReplaceAll(b, to []byte) []byte       { return r.re().ReplaceAll(b, to) }
func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.re().ReplaceAllStringFunc(s, f)
}
func (r *Regexp) ReplaceAllFunc(b []byte, f func([]byte) []byte) []byte {
	return r.re().ReplaceAllFunc(b, f)
}
