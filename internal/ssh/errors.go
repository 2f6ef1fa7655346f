package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// The kinds of errors, for [errors.Is].
var (
	ErrUnreachable    = errors.New("device is unreachable")
	ErrHostKeyUnknown = errors.New("host key is not known")
	ErrHostKeyChanged = errors.New("host key has changed")
	ErrAuth           = errors.New("login refused")
	ErrTimeout        = errors.New("no answer in time")
	// errConfig reports that the Config is invalid; nothing was sent.
	errConfig = errors.New("SSH settings are wrong")
	// ErrLost reports that the connection or the channel ended before the operation did. It is not
	// known whether a command was executed.
	ErrLost = errors.New("connection lost")
	// ErrTooLarge reports that a command printed more than the limit.
	ErrTooLarge = errors.New("output too large")
	// errRefused reports that the device rejected a channel or a command.
	errRefused = errors.New("rejected by the device")
)

// Error is a failure on a connection. It wraps one of the sentinels, and the context's error if
// the caller ended the operation.
type Error struct {
	Op   string // "connect", "run", "shell"
	Addr string // address of the host that failed; the jump host's own if that failed
	Msg  string // what went wrong; safe to print

	kind  error
	cause error
	hint  string
}

// Error returns one line with the operation, address, kind and message.
func (e *Error) Error() string {
	s := e.Op + " " + e.Addr
	if e.kind != nil {
		s += ": " + e.kind.Error()
	}
	if m := term.CleanLine(e.Msg); m != "" {
		s += ": " + m
	}
	return s
}

// Unwrap returns the sentinel and the cause, if known.
func (e *Error) Unwrap() []error {
	var l []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			l = append(l, err)
		}
	}
	return l
}

// Hint returns advice about the failure; may be "".
func (e *Error) Hint() string { return e.hint }

func newError(op, addr string, kind, cause error) *Error {
	e := &Error{Op: op, Addr: addr, kind: kind, cause: cause}
	if cause != nil {
		e.Msg = cause.Error()
	}
	return e
}

// contextError returns the error of an operation whose context ended: either the deadline passed
// or the caller canceled.
func contextError(op, addr string, ctx context.Context) *Error {
	e := &Error{Op: op, Addr: addr, cause: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.kind = ErrTimeout
	} else {
		e.Msg = "cancelled"
	}
	return e
}

// connectionEnded reports whether err only means that the connection has ended.
func connectionEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
