// Package secret holds values that must not be printed, and finds them where
// the operator keeps them: the environment, a private file, the OS keyring.
//
// An intent names a secret by reference ("env:NAME", "file:PATH",
// "keyring:SERVICE/USER") and never holds the value; [Resolve] turns the
// reference into a [Secret] as late as possible. Do not convert a Secret to
// string other than by [Secret.Reveal], and only at the call that sends it.
//
// Two things in Go's own libraries go round any redaction: fmt prints an
// unexported field of a struct without asking it, and encoding/json does the
// same with map keys. Keep a Secret in an exported field or behind a pointer,
// and never use one as a key.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a Secret prints as, whatever it holds.
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

// Format writes [Redacted] for every verb and flag; %x and %q would otherwise
// print the value in another alphabet.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// LogValue returns [Redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText returns [Redacted].
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns [Redacted] as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalYAML returns [Redacted].
func (Secret) MarshalYAML() (any, error) { return Redacted, nil }
