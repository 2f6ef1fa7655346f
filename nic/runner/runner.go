// Package runner runs programs of a host that no kernel interface can replace,
// such as mlxconfig, and returns their output.
//
// A program is started directly, never through a shell, with an empty standard
// input, an environment of two variables, a bound on its output and a
// deadline. Do not use it to read what the kernel offers by netlink, sysfs or
// configfs, and do not parse here: callers know what a program's words mean.
package runner

import (
	"context"
	"errors"
)

// Runner runs one program at a time or several; it is safe for concurrent use.
type Runner interface {
	// Run starts name with args and waits for its end. A non-zero exit is no
	// error: it is in Result.Code. ErrNotFound means that there is no such
	// program, and nothing was started. Every other error means that the
	// program may have done its work or a part of it: it was cut off, or its
	// end is not known. The Result holds what it had printed until then.
	Run(ctx context.Context, name string, args ...string) (Result, error)
}

// Result is what a program left behind.
type Result struct {
	Stdout, Stderr []byte
	// Code is the exit status, 0..255.
	Code int
}

// The errors of a Runner, wrapped; test with errors.Is. The end of a context is
// the third: context.Canceled or context.DeadlineExceeded.
var (
	// ErrNotFound: the program is not installed.
	ErrNotFound = errors.New("program not found")
	// ErrOutput: the program printed more than it may, and was stopped.
	ErrOutput = errors.New("too much output")
)
