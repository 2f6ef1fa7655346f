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

// TransportError wraps an error of package gnmi or ssh in the matching error of this package, if
// there is one.
func TransportError(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrAuth) || errors.Is(err, ErrIdentity) {
		return err
	}
	// A server that hangs up during the handshake is not an identity problem.
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

// Silent reports whether a device did not answer at all. A busy device, and one that refuses or
// resets the connection during a restart, does answer.
func Silent(err error) bool { return errors.Is(err, gnmi.ErrTimeout) || errors.Is(err, ssh.ErrTimeout) }

// Poll calls done at once and again after every pause until it returns true, for at most limit
// plus one call, or for at most [ssh.DefaultSilence] while the device does not answer. It returns
// whether done returned true and otherwise the last error of done, joined with the context's
// error if that ended the wait.
func Poll(ctx context.Context, pause, limit time.Duration, done func() (bool, error)) (bool, error) {
	end := time.Now().Add(limit)
	var unanswered time.Time // start of the first unanswered call; zero if the last call was answered
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

// HangUp closes a connection if there is one and sets it to nil.
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
