// Package runnertest is a runner.Runner that a test scripts: programs are
// functions, and what was run is remembered.
//
// Only tests and simulators use it.
package runnertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Program answers one run.
type Program func(ctx context.Context, args []string) (runner.Result, error)

// Fake is a Runner whose programs are functions. It is safe for concurrent use
// once Programs is filled.
type Fake struct {
	// Programs by name. A name that is not there is runner.ErrNotFound.
	Programs map[string]Program

	mu    sync.Mutex
	calls [][]string
}

var _ runner.Runner = (*Fake)(nil)

// Run implements runner.Runner. A context that has ended starts nothing.
func (f *Fake) Run(ctx context.Context, name string, args ...string) (runner.Result, error) {
	p, ok := f.Programs[name]
	if !ok {
		return runner.Result{}, fmt.Errorf("%s: %w", name, runner.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return runner.Result{}, fmt.Errorf("%s: %w", name, err)
	}
	f.mu.Lock()
	f.calls = append(f.calls, append([]string{name}, args...))
	f.mu.Unlock()
	return p(ctx, slices.Clone(args))
}

// Calls returns the command lines that were run so far, words parted by one
// space.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]string, len(f.calls))
	for i, c := range f.calls {
		out[i] = strings.Join(c, " ")
	}
	return out
}

// Prints is a Program that always prints the same and exits with code.
func Prints(stdout, stderr string, code int) Program {
	return func(context.Context, []string) (runner.Result, error) {
		return runner.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), Code: code}, nil
	}
}
