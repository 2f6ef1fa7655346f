package report

import (
	"fmt"
	"io"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Form is an output form of a report.
type Form string

// The forms.
const (
	FormText     Form = "text"
	FormJSON     Form = "json"
	FormJUnit    Form = "junit"
	FormSARIF    Form = "sarif"
	FormMarkdown Form = "markdown"
	FormHTML     Form = "html"
)

// Forms lists all forms.
var Forms = []Form{FormText, FormJSON, FormJUnit, FormSARIF, FormMarkdown, FormHTML}

// Options say how a report is written; the zero value means no colours and unchanged paths.
type Options struct {
	// S colours text.
	S term.Styler
	// Root is the repository's top folder, which SARIF paths are relative to; Dir is the folder
	// that file names in findings are relative to. Both are absolute, or both empty.
	Root, Dir string
}

// Write writes the report in one form.
func Write(w io.Writer, form Form, r Report, o Options) error {
	switch form {
	case FormText:
		return writeText(w, r, o)
	case FormJSON:
		return writeJSON(w, r)
	case FormJUnit:
		return writeJUnit(w, r)
	case FormSARIF:
		return writeSARIF(w, r, o)
	case FormMarkdown:
		return writeMarkdown(w, r)
	case FormHTML:
		return writeHTML(w, r, portCounters(r.Counted)...)
	}
	return fmt.Errorf("a report has no form %q", form)
}
