// Package secret holds values that must not be printed, and reads them from where the operator
// keeps them: the environment, a private file or the OS keyring.
//
// An intent names a secret by reference ("env:NAME", "file:PATH", "keyring:SERVICE/USER") and
// never contains the value; [Resolve] turns the reference into a [Secret] as late as possible.
// Convert a Secret to a string only with [Secret.Reveal], and only in the call that sends it.
//
// Two parts of Go's standard library bypass any redaction: fmt prints unexported struct fields
// without calling their methods, and encoding/json does the same with map keys. Keep a Secret in
// an exported field or behind a pointer, and never use one as a map key.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what every Secret prints as.
const Redacted = "***"

// Secret is a password, token or passphrase that redacts itself wherever it
// is printed, logged or marshalled.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String returns [Redacted].
func (Secret) String() string { return Redacted }

// GoString returns [Redacted].
func (Secret) GoString() string { return Redacted }

// Format writes [Redacted] for every verb and flag; %x and %q would otherwise print an encoded
// form of the value.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// LogValue returns [Redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText returns [Redacted].
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns [Redacted] as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalYAML returns [Redacted].
func (Secret) MarshalYAML() (any, error) { return Redacted, nil }
