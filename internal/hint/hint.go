// Package hint attaches advice to errors.
package hint

import "errors"

// With attaches advice to an error without changing its text.
func With(err error, advice string) error { return &hinted{err, advice} }

type hinted struct {
	error
	advice string
}

// Unwrap returns the error without the advice.
func (h *hinted) Unwrap() error { return h.error }

// Hint returns the advice.
func (h *hinted) Hint() string { return h.advice }

// Of returns the advice attached to an error, or "".
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
