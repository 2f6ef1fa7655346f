// Package hint carries advice along with an error.
package hint

import "errors"

// With adds advice to an error, which prints as it did.
func With(err error, advice string) error { return &hinted{err, advice} }

type hinted struct {
	error
	advice string
}

// Unwrap returns the error.
func (h *hinted) Unwrap() error { return h.error }

// Hint returns the advice.
func (h *hinted) Hint() string { return h.advice }

// Of returns the advice that an error carries, or "".
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
