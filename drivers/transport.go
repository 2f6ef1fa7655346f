package drivers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// TransportError gives an error of package gnmi or ssh the sentinel of this package
// that it stands for, if any.
func TransportError(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrAuth) || errors.Is(err, ErrIdentity) {
		return err
	}
	// A server that hangs up in the handshake says nothing about trust.
	if rpc, ok := errors.AsType[*gnmi.RPCError](err); ok && errors.Is(err, gnmi.ErrTLS) && (rpc.Msg == "EOF" || strings.HasSuffix(rpc.Msg, "connection reset by peer")) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	for _, m := range []struct{ is, out error }{
		{gnmi.ErrAuth, ErrAuth}, {gnmi.ErrTLS, ErrIdentity},
		{ssh.ErrAuth, ErrAuth}, {ssh.ErrHostKeyChanged, ErrIdentity}, {ssh.ErrHostKeyUnknown, ErrIdentity},
		{gnmi.ErrTooLarge, ErrTooLarge}, {ssh.ErrTooLarge, ErrTooLarge},
		{gnmi.ErrUnreachable, ErrUnreachable}, {gnmi.ErrTimeout, ErrUnreachable},
		{ssh.ErrUnreachable, ErrUnreachable}, {ssh.ErrTimeout, ErrUnreachable}, {ssh.ErrLost, ErrUnreachable},
	} {
		if errors.Is(err, m.is) && !errors.Is(err, m.out) {
			return fmt.Errorf("%w: %w", m.out, err)
		}
	}
	return err
}

// Silent reports whether a device did not answer at all: neither that it is busy, nor with
// a connection refused or reset, as one that restarts does.
func Silent(err error) bool { return errors.Is(err, gnmi.ErrTimeout) || errors.Is(err, ssh.ErrTimeout) }

// Poll calls done at once and then again after every pause until it says so, for at
// most limit and one more call, and for [ssh.DefaultSilence] at most while the device answers
// nothing. It returns whether done said so and, where it did not, its last error, with that
// of the context where that ended the wait.
func Poll(ctx context.Context, pause, limit time.Duration, done func() (bool, error)) (bool, error) {
	end := time.Now().Add(limit)
	var unanswered time.Time // since then; zero if the last call was answered
	for {
		began := time.Now()
		ok, err := done()
		switch {
		case ok:
			return true, nil
		case !Silent(err):
			unanswered = time.Time{}
		case unanswered.IsZero():
			unanswered = began
		}
		left := time.Until(end)
		if left <= 0 || !unanswered.IsZero() && time.Since(unanswered) >= ssh.DefaultSilence {
			return false, err
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return false, errors.Join(err, ctx.Err())
		}
	}
}

// HangUp closes a connection, if there is one; the next call makes a new one.
func HangUp[T any, C interface {
	*T
	io.Closer
}](conn *C) error {
	if *conn == nil {
		return nil
	}
	err := (*conn).Close()
	*conn = nil
	return err
}
