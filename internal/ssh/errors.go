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
	ErrHostKeyChanged = errors.New("host key is not the known one")
	ErrAuth           = errors.New("login refused")
	ErrTimeout        = errors.New("no answer in time")
	// errConfig says that the Config cannot work; nothing was sent.
	errConfig = errors.New("SSH settings are wrong")
	// ErrLost says that the connection or the channel ended before the work
	// on it did. Whether a command was carried out is not known.
	ErrLost = errors.New("connection lost")
	// ErrTooLarge says that a command printed more than it may.
	ErrTooLarge = errors.New("output too large")
	// errRefused says that the device does not grant a channel or a command.
	errRefused = errors.New("device refuses")
)

// Error is what failed on a connection. It wraps one of the sentinels, and the
// context's error where the caller ended the work.
type Error struct {
	Op   string // "connect", "run", "shell"
	Addr string // of the host that the failure is about; a jump host's own
	Msg  string // safe to print

	kind  error
	cause error
	hint  string
}

// Error returns one line: operation, address, kind and text.
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

// Unwrap returns the sentinel and the cause, as far as they are known.
func (e *Error) Unwrap() []error {
	var l []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			l = append(l, err)
		}
	}
	return l
}

// Hint returns advice on the failure; it may be empty.
func (e *Error) Hint() string { return e.hint }

func newError(op, addr string, kind, cause error) *Error {
	e := &Error{Op: op, Addr: addr, kind: kind, cause: cause}
	if cause != nil {
		e.Msg = cause.Error()
	}
	return e
}

// contextError says why the work ended with its context: the deadline passed,
// or the caller cancelled.
func contextError(op, addr string, ctx context.Context) *Error {
	e := &Error{Op: op, Addr: addr, cause: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.kind = ErrTimeout
	} else {
		e.Msg = "cancelled"
	}
	return e
}

// gone reports whether err only says that the connection is over.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
