package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// kinds lists the errors that are preserved across the connection, with their names in [Failure].
var kinds = []struct {
	name string
	err  error
}{
	{"no-port", local.ErrNoPort},
	{"permission", local.ErrPermission},
	{"unsupported", local.ErrUnsupported},
	{"ignored", local.ErrIgnored},
	{"carrier", local.ErrCarrier},
	{"partial", local.ErrPartial},
	{"no-cm", local.ErrNoCM},
	{"dcb-unsupported", dcb.ErrUnsupported},
	{"dcb-no-device", dcb.ErrNoDevice},
	{"dcb-permission", dcb.ErrPermission},
	{"dcb-refused", dcb.ErrRefused},
	{"dcb-differs", dcb.ErrDiffers},
	{"dcb-invalid", dcb.ErrInvalid},
	{"dcb-answer", dcb.ErrAnswer},
	{"card-port", nic.ErrCardPort},
	{"firmware-tool", mlxconfig.ErrNoTool},
	{"firmware-device", mlxconfig.ErrDevice},
	{"firmware-access", mlxconfig.ErrAccess},
	{"firmware-unsupported", mlxconfig.ErrUnsupported},
	{"firmware-output", mlxconfig.ErrOutput},
	{"firmware-stale", mlxconfig.ErrStale},
	{"firmware-rejected", mlxconfig.ErrRejected},
	{"firmware-partial", mlxconfig.ErrPartial},
	{"no-program", runner.ErrNotFound},
	{"program-output", runner.ErrOutput},
	{"unit-name", unit.ErrName},
	{"unit-damaged", unit.ErrDamaged},
	{"unit-program", unit.ErrProgram},
	{"no-systemd", unit.ErrNoSystemd},
	{"cancelled", context.Canceled},
	{"timeout", context.DeadlineExceeded},
	{"version", ErrVersion},
	{"request", ErrRequest},
}

// Failure is the encoded form of an error.
type Failure struct {
	// Kinds names the errors that the failure wraps, such as "carrier". Unknown names are ignored.
	Kinds []string `json:"kinds,omitempty"`
	Text  string   `json:"text"`
	Hint  string   `json:"hint,omitempty"`
}

// maxFailure limits the text of an error, in bytes: an undo may fail on many ports.
const maxFailure = 16 << 10

func failureOf(err error) *Failure {
	f := &Failure{Text: strings.ReplaceAll(err.Error(), "\n", "; "), Hint: hint.Of(err)}
	if len(f.Text) > maxFailure {
		f.Text = strings.ToValidUTF8(f.Text[:maxFailure], "") + "..."
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kinds = append(f.Kinds, k.name)
		}
	}
	return f
}

// Error is a failure on the other machine. It wraps the same errors as there, if they are listed in
// kinds.
type Error struct {
	Host string // "" if the host has no name
	Text string // one line, safe to print

	kinds []error
	hint  string
}

// Error returns the host and the text.
func (e *Error) Error() string {
	if e.Host == "" {
		return e.Text
	}
	return e.Host + ": " + e.Text
}

// Unwrap returns the errors that Error wraps.
func (e *Error) Unwrap() []error { return e.kinds }

// Hint returns advice on the failure; it may be empty.
func (e *Error) Hint() string { return e.hint }

func (f *Failure) err(host string) *Error {
	e := &Error{Host: host, Text: cmp.Or(f.Text, "the agent failed and does not say why"), hint: f.Hint}
	for _, k := range kinds {
		if slices.Contains(f.Kinds, k.name) {
			e.kinds = append(e.kinds, k.err)
		}
	}
	return e
}
