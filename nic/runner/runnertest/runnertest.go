// Package runnertest provides a scripted runner.Runner for tests: programs are functions, and the
// commands are recorded.
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

// Program handles one run of a program.
type Program func(ctx context.Context, args []string) (runner.Result, error)

// Fake is a Runner whose programs are functions. It is safe for concurrent use once Programs is
// set.
type Fake struct {
	// Programs maps names to programs. Other names yield runner.ErrNotFound.
	Programs map[string]Program

	mu    sync.Mutex
	calls [][]string
}

var _ runner.Runner = (*Fake)(nil)

// Run implements runner.Runner. It starts nothing if the context has ended.
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

// Calls returns the command lines run so far, with their words separated by spaces.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]string, len(f.calls))
	for i, c := range f.calls {
		out[i] = strings.Join(c, " ")
	}
	return out
}

// Prints returns a Program that always prints the same output and exits with code.
func Prints(stdout, stderr string, code int) Program {
	return func(context.Context, []string) (runner.Result, error) {
		return runner.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), Code: code}, nil
	}
}
