// Package runner runs programs on a host that no kernel interface can replace, such as mlxconfig,
// and returns their output.
//
// A program is started directly, never through a shell, with empty standard input, an environment
// of two variables, limited output and a deadline. Do not use the package for what the kernel
// offers by netlink, sysfs or configfs, and do not parse output here: that is up to the callers.
package runner

import (
	"context"
	"errors"
)

// Runner runs programs, also several at a time; it is safe for concurrent use.
type Runner interface {
	// Run starts name with args and waits until it exits. A non-zero exit status is not an error;
	// it is in Result.Code. ErrNotFound means that the program does not exist and nothing was
	// started. Every other error means that the program may have done all or part of its work: it
	// was interrupted, or its end is not known. The Result holds the output until then.
	Run(ctx context.Context, name string, args ...string) (Result, error)
}

// Result is the result of a run.
type Result struct {
	Stdout, Stderr []byte
	// Code is the exit status, 0..255.
	Code int
}

// Errors of a Runner, wrapped; test with errors.Is. If the context ended, the error wraps
// context.Canceled or context.DeadlineExceeded.
var (
	// ErrNotFound: the program is not installed.
	ErrNotFound = errors.New("program not found")
	// ErrOutput: the program exceeded the output limit and was stopped.
	ErrOutput = errors.New("too much output")
)
