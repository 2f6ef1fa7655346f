package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// Fabric is an intent that was loaded and compiled, with the devices that a call
// is about.
type Fabric struct {
	*render.Compiler
	Switches []*intent.Switch
	Hosts    []*intent.Host

	part bool // of the devices, as Only says
}

// LoadOptions say how an intent is read, and which of its devices a call is about.
type LoadOptions struct {
	// Stdin is read where the path is "-", and Name stands for it in places of the
	// intent; "" is "<stdin>".
	Stdin io.Reader
	Name  string
	// Below is that of [intent.Options].
	Below string
	// Only names the devices that the call is about, of those that Take says: name,
	// ranges, glob, role:NAME or os:NAME; none is all of them.
	Only []string
	Take Take
	// Set are changes to read the intent with: those of [intent.Options].
	Set []string
}

// Take says which devices of an intent a call is about.
type Take int

// The devices that there are.
const (
	TakeSwitches Take = iota
	TakeHosts
	TakeAll
)

// Load reads an intent, a file or a folder, and compiles it. Faults of the text are
// [intent.Errors]; a path that cannot be read, and an Only that names nothing, is
// an [*OptionError].
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

// readIntent reads an intent. The end of ctx ends the wait for a pipe or a terminal.
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

// OptionError is the error of a call that asks for what cannot be: nothing was read
// from a device.
type OptionError struct {
	// Option is what it is about: "only", "config leaf1=x.json"; "" for the intent.
	Option string
	Err    error
	Advice string // what to do about it
}

func (e *OptionError) Error() string {
	if e.Option == "" {
		return e.Err.Error()
	}
	return e.Option + ": " + e.Err.Error()
}

func (e *OptionError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *OptionError) Hint() string { return e.Advice }

// notSelected is the error of an Only that names nothing.
func notSelected(err error) error {
	if fault := (*intent.Error)(nil); errors.As(err, &fault) {
		return Wrong("only", fault.Hint, "%s", fault.Msg)
	}
	return &OptionError{Option: "only", Err: err}
}

// Wrong makes an [OptionError].
func Wrong(option, advice, format string, a ...any) error {
	return &OptionError{Option: option, Err: fmt.Errorf(format, a...), Advice: advice}
}
