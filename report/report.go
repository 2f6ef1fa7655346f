// Package report writes results for people and for programs.
//
// The findings of check, validate and nic validate are a [Report], which [Write] writes in six
// forms with the same content. A [Console] is the output of a command: its result, messages,
// progress, warnings and errors. Neither checks nor communication with devices belong in this
// package.
//
// Text is for people and may change in any release. JSON is versioned ([Format]); within one
// version, fields are added but not changed. Both are written from the same values, so they
// cannot disagree. Text that comes from a device or a file is stripped of control characters
// before it reaches a terminal.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Format is the version of the JSON form.
const Format = 1

// WriteJSON writes v as an indented JSON document.
func WriteJSON(w io.Writer, v any) error {
	text, err := indented(v, "")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent(prefix, "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// WriteDocument writes a struct as one JSON document, with the format version before its fields.
func WriteDocument(w io.Writer, v any) error {
	var fields, out bytes.Buffer
	enc := json.NewEncoder(&fields)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := append(fmt.Appendf(nil, `{"format":%d,`, Format), fields.Bytes()[1:]...)
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}

// Text writes results for people.
type Text struct {
	W io.Writer
	S term.Styler
	// Steps also shows the native steps of a plan.
	Steps bool
	// Proof also shows what each check found in and between the waves of a plan.
	Proof bool
	// Width is the terminal's width in columns; 0 disables wrapping.
	Width int

	err    error
	fold   planFold
	undo   ordered.Groups[string, string] // device names by the way their changes are undone
	notes  ordered.Groups[string, string] // device names by a note of their plans
	resets resets
}

// Err returns the first write error.
func (t *Text) Err() error { return t.err }

func (t *Text) printf(format string, a ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.W, format, a...)
	}
}

func (t *Text) impact(i qos.Impact) string {
	switch {
	case i >= qos.ImpactLoss:
		return t.S.Red(i.String())
	case i >= qos.ImpactPortFlap:
		return t.S.Yellow(i.String())
	}
	return t.S.Dim(i.String())
}

// Outcomes writes the result of each device. Devices with the same result share a line.
func (t *Text) Outcomes(outs []fleet.Outcome) {
	var counts ordered.Map[fleet.State, int]
	var alike ordered.Groups[string, string]
	for _, o := range outs {
		*counts.At(o.State)++
		t.resets.add(o.Device, o.Resets)
		alike.Add(t.outcome(o), o.Device)
	}
	for text, names := range alike.All() {
		t.printf("%s  %s", t.S.Bold(spaced(natural.Fold(names))), text)
	}
	var parts []string
	for s, n := range counts.All() {
		parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(s), "-", " ")))
	}
	t.printf("%s%s\n", t.resets.table(), strings.Join(parts, ", "))
}

// outcome returns the text that follows the name of a device after a run.
func (t *Text) outcome(o fleet.Outcome) string {
	text := strings.ReplaceAll(string(o.State), "-", " ")
	switch o.State {
	case fleet.Applied, fleet.Unchanged, fleet.Restored, fleet.WasReset:
		text = t.S.Green(text)
	case fleet.Skipped:
		text = t.S.Dim(text)
	default:
		text = t.S.Red(text)
	}
	if o.Steps > 0 {
		text += ", " + words.Count(o.Steps, "request")
	}
	if o.Gate != "" {
		text += ", gate passed"
	}
	if o.Error != nil {
		text += ": " + term.CleanLine(o.Error.Text)
	}
	text += "\n"
	for _, l := range o.Left {
		text += fmt.Sprintf("  %s %s\n", t.S.Yellow("left:"), term.CleanLine(l))
	}
	return text
}
