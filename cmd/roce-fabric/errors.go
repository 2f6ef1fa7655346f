package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
)

// Exit statuses, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiffers     = 3
	exitPartial     = 4
	exitInterrupted = 130
)

// statusError carries an exit status. If err is nil, nothing is printed, because the result
// already shows the problem.
type statusError struct {
	status int
	err    error
	hint   string
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// Hint returns the error's own hint, or that of the wrapped error.
func (e *statusError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return report.Advice(e.err)
}

func usage(format string, a ...any) error {
	return &statusError{status: exitUsage, err: fmt.Errorf(format, a...)}
}

// usageHint is like usage, with a hint.
func usageHint(hint, format string, a ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, a...), hint}
}

// interrupted returns the error of a run that was asked to stop. It repeats neither the printed
// result nor the cancelled context.
func interrupted(err error) error {
	var se *statusError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &se) && se.err == nil {
		err = errors.New("interrupted")
	} else {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return &statusError{status: exitInterrupted, err: err}
}

// wantsJSON looks for --output json or yaml in arguments that may not have been parsed completely.
func wantsJSON(args []string) bool {
	for i, s := range args {
		form, ok := strings.CutPrefix(s, "--output")
		if !ok {
			form, ok = strings.CutPrefix(s, "-o")
		}
		switch {
		case s == "--":
			return false
		case ok && form == "" && i+1 < len(args):
			form = args[i+1]
		}
		if form = strings.TrimPrefix(form, "="); ok && (form == "json" || form == "yaml") {
			return true
		}
	}
	return false
}

// unpermitted reports whether an error says that the intent, its approver or a signature forbids
// the run.
func unpermitted(err error) bool {
	e := (*fleet.Error)(nil)
	return errors.As(err, &e) && slices.Contains([]fleet.Kind{fleet.KindUntrusted, fleet.KindWindow, fleet.KindRefused}, e.Kind)
}
