package drivers

import (
	"context"
	"errors"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// Shell is a device's command line over SSH: one connection with one shell, opened on demand.
// Errors are those of package ssh; see [TransportError].
type Shell struct {
	cfg      ssh.Config
	platform *ssh.Platform
	client   *ssh.Client
	network  *ssh.Network
}

// NewShell creates a shell without I/O.
func NewShell(cfg ssh.Config, p *ssh.Platform) *Shell { return &Shell{cfg: cfg, platform: p} }

// Addr returns the device's host:port.
func (s *Shell) Addr() string { return s.cfg.Address }

// open returns the shell, and whether it was already open.
func (s *Shell) open(ctx context.Context) (*ssh.Network, bool, error) {
	if s.network != nil {
		return s.network, true, nil
	}
	s.HangUp()
	c, err := ssh.Dial(ctx, s.cfg)
	if err != nil {
		return nil, false, err
	}
	n, err := c.Network(ctx, s.platform, s.cfg.Password)
	if err != nil {
		return nil, false, errors.Join(err, c.Close())
	}
	s.client, s.network = c, n
	return n, false, nil
}

// Use runs op on the shell. It closes a shell whose output can no longer be interpreted.
func (s *Shell) Use(ctx context.Context, op func(context.Context, *ssh.Network) error) error {
	_, err := s.use(ctx, op)
	return err
}

func (s *Shell) use(ctx context.Context, op func(context.Context, *ssh.Network) error) (reused bool, err error) {
	n, reused, err := s.open(ctx)
	if err != nil {
		return reused, err
	}
	if err = op(ctx, n); err != nil && !RefusedLine(err) {
		s.HangUp()
	}
	return reused, err
}

// Show runs a command that prints something and changes nothing.
func (s *Shell) Show(ctx context.Context, cmd string) (string, error) {
	out, err := s.ShowAll(ctx, cmd)
	if err != nil {
		return "", err
	}
	return out[0].Out, out[0].Err
}

// ShowAll runs several show commands in one round trip.
func (s *Shell) ShowAll(ctx context.Context, cmds ...string) (out []ssh.Shown, err error) {
	// Retry once, because an idle connection may have been closed long ago.
	for range 2 {
		var reused bool
		reused, err = s.use(ctx, func(ctx context.Context, n *ssh.Network) (err error) {
			out, err = n.ShowAll(ctx, cmds)
			return err
		})
		if !reused || !errors.Is(err, ssh.ErrLost) {
			break
		}
	}
	return out, err
}

// Do runs an exec mode command that changes something.
func (s *Shell) Do(ctx context.Context, cmd string) error {
	return s.Use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Do(ctx, cmd)
		return err
	})
}

// HangUp closes the connection; the next call opens a new one.
func (s *Shell) HangUp() { _ = s.Close() } // errors from closing a broken connection are irrelevant

// Close closes the connection.
func (s *Shell) Close() error { return errors.Join(HangUp(&s.network), HangUp(&s.client)) }

// RefusedLine reports whether err means that the device refused a line.
func RefusedLine(err error) bool {
	_, ok := errors.AsType[*ssh.LineError](err)
	return ok
}
