package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

// statusError carries an exit status. A nil err prints nothing: the result
// has said it.
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

// Hint returns the advice of the error itself, or of what it wraps.
func (e *statusError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return adviceOf(e.err)
}

func usage(format string, a ...any) error {
	return &statusError{status: exitUsage, err: fmt.Errorf(format, a...)}
}

// usageHint is usage with advice.
func usageHint(hint, format string, a ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, a...), hint}
}

// interrupted is the error of a run that was asked to stop. It adds no text
// about the result, which is already printed, or about the end of the context.
func interrupted(err error) error {
	var se *statusError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &se) && se.err == nil {
		err = errors.New("interrupted")
	} else {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return &statusError{status: exitInterrupted, err: err}
}

// wantsJSON looks for --output json in arguments that were not parsed to the
// end.
func wantsJSON(args []string) bool {
	for i, s := range args {
		switch s {
		case "--":
			return false
		case "--output=json", "-ojson", "-o=json":
			return true
		case "--output", "-o":
			return i+1 < len(args) && args[i+1] == "json"
		}
	}
	return false
}

// unpermitted reports whether an error is of a run that its intent, its approver
// or a signature forbids.
func unpermitted(err error) bool {
	e := (*fleet.Error)(nil)
	return errors.As(err, &e) && slices.Contains([]fleet.Kind{fleet.KindUntrusted, fleet.KindWindow, fleet.KindRefused}, e.Kind)
}

// adviceOf returns the advice of an error, or "". A [fleet.Error] has it in a field.
func adviceOf(err error) string {
	if advice := hint.Of(err); advice != "" {
		return advice
	}
	if e := (*fleet.Error)(nil); errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// printError states the fact, and hints apart from it.
func (a *app) printError(err error) {
	type item struct {
		fleet.Error
		Place string `json:"place,omitempty"`
		line  string // for people
	}
	var items []item
	var faults intent.Errors
	var fault *intent.Error
	switch {
	case errors.As(err, &faults):
	case errors.As(err, &fault):
		faults = intent.Errors{fault}
	default:
		it := item{line: err.Error()}
		if e := (*fleet.Error)(nil); errors.As(err, &e) {
			it.Error = *e
		}
		if it.Hint = adviceOf(err); it.Error.Error() != it.line {
			it.Text = it.line
		}
		items = []item{it}
	}
	for _, f := range faults {
		items = append(items, item{fleet.Error{Text: f.Msg, Hint: f.Hint}, f.Pos.String(), strings.TrimPrefix(f.Error(), ": ")})
	}
	if a.output == "json" {
		a.jsonLine("errors", items)
		return
	}
	st := a.styler(a.stderr)
	for _, it := range items {
		fmt.Fprintln(a.stderr, st.Red("error:"), term.Clean(it.line))
		a.printHint(it.Hint)
	}
}

// printHint prints advice once.
func (a *app) printHint(hint string) {
	if hint == "" || a.output == "json" || a.hinted[hint] {
		return
	}
	if a.hinted == nil {
		a.hinted = map[string]bool{}
	}
	a.hinted[hint] = true
	fmt.Fprintln(a.stderr, a.styler(a.stderr).Dim("hint: "), term.Clean(hint))
}

// jsonLine writes what a program should know on standard error, one document
// a line.
func (a *app) jsonLine(key string, v any) {
	enc := json.NewEncoder(a.stderr)
	enc.SetEscapeHTML(false)
	// Standard error that cannot be written leaves nobody to tell.
	_ = enc.Encode(map[string]any{"format": report.Format, key: v})
}
