// Package input reads the files that the options of a call name, and returns an [OptionError]
// for an option or a file that is wrong.
package input

import (
	"context"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// OptionError is returned for a call with an invalid option or argument. Nothing was read
// from a device.
type OptionError struct {
	// Option names the option, such as "only" or "config leaf1=x.json"; "" for the intent.
	Option string
	Err    error
	Advice string // how to correct the call
}

func (e *OptionError) Error() string {
	if e.Option == "" {
		return e.Err.Error()
	}
	return e.Option + ": " + e.Err.Error()
}

func (e *OptionError) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *OptionError) Hint() string { return e.Advice }

// Wrong returns an [OptionError] with a formatted message.
func Wrong(option, advice, format string, a ...any) error {
	return &OptionError{Option: option, Err: fmt.Errorf(format, a...), Advice: advice}
}

// NotSelected returns the error for an Only that selects nothing.
func NotSelected(err error) error {
	if fault := (*intent.Error)(nil); errors.As(err, &fault) {
		return Wrong("only", fault.Hint, "%s", fault.Msg)
	}
	return &OptionError{Option: "only", Err: err}
}

// Intent reads an intent. Cancelling ctx also ends a read from a pipe or a terminal.
func Intent(ctx context.Context, path string, o intent.Options) (*intent.Fabric, error) {
	type loaded struct {
		f   *intent.Fabric
		err error
	}
	done := make(chan loaded, 1)
	go func() {
		f, err := intent.Load(path, o)
		done <- loaded{f, err}
	}()
	select {
	case l := <-done:
		if l.err != nil && !errors.As(l.err, new(intent.Errors)) {
			l.err = &OptionError{Err: l.err}
		}
		return l.f, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxConfig is the maximum size of a saved configuration in bytes. A config_db.json with
// 512 ports has about 2 MB.
const maxConfig = 64 << 20

// Config reads the saved configuration of a switch, without what a terminal or an editor
// adds to it; see [drivers.Systems.Plain].
func Config(path string) ([]byte, error) {
	text, err := boundedfile.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	return systems.All.Plain(text), nil
}

// Cables reads a file of links.
func Cables(path string) ([]topology.Cable, error) {
	text, err := boundedfile.Read(path, topology.MaxBytes)
	if err != nil {
		return nil, &OptionError{Option: "topology", Err: err}
	}
	cables, err := topology.ReadCables(path, text)
	if err != nil {
		return nil, &OptionError{Option: "topology", Err: err}
	}
	return cables, nil
}
