package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// Fabric is a loaded and compiled intent, with the devices selected for a call.
type Fabric struct {
	*render.Compiler
	Switches []*intent.Switch
	Hosts    []*intent.Host

	part bool // Only selects some of the devices
}

// LoadOptions say how to read an intent and which of its devices to select.
type LoadOptions struct {
	// Stdin is read if the path is "-". Name is the file name in positions of that intent;
	// "" is "<stdin>".
	Stdin io.Reader
	Name  string
	// Below is passed to [intent.Options].
	Below string
	// Only selects devices of the type Take, by name, ranges, glob, role:NAME or os:NAME;
	// empty selects all of them.
	Only []string
	Take Take
	// Set lists changes to apply to the intent, as in [intent.Options].
	Set []string
}

// Take is the type of devices to select from an intent.
type Take int

// The types of devices.
const (
	TakeSwitches Take = iota
	TakeHosts
	TakeAll
)

// Load reads an intent, a file or a folder, and compiles it. It returns [intent.Errors] for
// errors in the text, and an [*OptionError] for a path that cannot be read or an Only that
// selects nothing.
func Load(ctx context.Context, path string, o LoadOptions) (*Fabric, error) {
	f, err := readIntent(ctx, path, intent.Options{Stdin: o.Stdin, Name: o.Name, Below: o.Below, Set: o.Set})
	if err != nil {
		return nil, err
	}
	c, err := render.New(f, Systems.Fits())
	if err != nil {
		return nil, err
	}
	out := &Fabric{Compiler: c, part: len(o.Only) > 0}
	switch o.Take {
	case TakeSwitches:
		out.Switches, err = f.Select(o.Only)
	case TakeHosts:
		out.Hosts, err = f.SelectHosts(o.Only)
	default:
		out.Switches, out.Hosts, err = f.SelectDevices(o.Only)
	}
	if err != nil {
		return nil, notSelected(err)
	}
	return out, nil
}

// readIntent reads an intent. Cancelling ctx also ends a read from a pipe or a terminal.
func readIntent(ctx context.Context, path string, o intent.Options) (*intent.Fabric, error) {
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

// notSelected returns the error for an Only that selects nothing.
func notSelected(err error) error {
	if fault := (*intent.Error)(nil); errors.As(err, &fault) {
		return Wrong("only", fault.Hint, "%s", fault.Msg)
	}
	return &OptionError{Option: "only", Err: err}
}

// Wrong returns an [OptionError] with a formatted message.
func Wrong(option, advice, format string, a ...any) error {
	return &OptionError{Option: option, Err: fmt.Errorf(format, a...), Advice: advice}
}
