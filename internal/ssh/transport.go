package ssh

import (
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/scrapli/scrapligo/transport"
	xssh "golang.org/x/crypto/ssh"
)

// Size of a shell's terminal. It is wide because a line editor that wraps a long command does not
// echo exactly what was sent.
const (
	termWidth  = 511
	termHeight = 255
	// termType is a terminal type for which bash does not enable bracketed paste.
	termType = "vt100"
)

// pty is a shell that implements scrapligo's transport (options.WithCustomTransport).
type pty struct {
	c    *Client
	open context.Context // limits Open

	life   context.Context // ends with the shell
	end    context.CancelFunc
	in     io.Writer
	chunks chan []byte
	rest   []byte
	left   atomic.Int64 // bytes that may still be read
	over   atomic.Bool  // the limit was exceeded
	opened atomic.Bool
}

var _ transport.Implementation = (*pty)(nil)

// pty returns a transport that opens a shell on the connection. ctx limits only the opening. The
// shell may print [Config.MaxOutput] bytes until allow is called.
func (c *Client) pty(ctx context.Context) *pty {
	t := &pty{c: c, open: ctx, chunks: make(chan []byte)}
	t.life, t.end = context.WithCancel(context.Background())
	t.allow(c.maxOutput)
	return t
}

// allow resets the limit to n more bytes.
func (t *pty) allow(n int64) { t.left.Store(n) }

// Open opens the shell. The connection already exists, so only the terminal size in the arguments
// is used.
func (t *pty) Open(a *transport.Args) error {
	ctx, cancel := t.c.deadline(t.open)
	defer cancel()
	stop := context.AfterFunc(ctx, t.end)
	opened, over := make(chan struct{}), make(chan error, 1)
	ok := t.c.start(func() {
		defer t.end()
		over <- t.c.session(t.life, "shell", func(s *xssh.Session) error {
			out, err := t.begin(s, a)
			if err != nil {
				return newError("shell", t.c.addr, errRefused, err)
			}
			close(opened)
			t.pump(out)
			return nil
		})
	})
	if !ok {
		t.end()
		return t.c.lost("shell", net.ErrClosed)
	}
	var err error
	select {
	case <-opened:
		t.opened.Store(true)
	case err = <-over:
	}
	if !stop() {
		return contextError("shell", t.c.addr, ctx)
	}
	return err
}

func (t *pty) begin(s *xssh.Session, a *transport.Args) (io.Reader, error) {
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.in, err = s.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.RequestPty(termType, a.TermHeight, a.TermWidth, xssh.TerminalModes{xssh.ECHO: 1}); err != nil {
		return nil, err
	}
	return out, s.Shell()
}

// pump passes on the device's output until either side ends.
func (t *pty) pump(out io.Reader) {
	defer t.end()
	for {
		b := make([]byte, 8<<10)
		n, err := out.Read(b)
		if n > 0 {
			if t.left.Add(-int64(n)) < 0 {
				t.over.Store(true)
				return
			}
			select {
			case t.chunks <- b[:n]:
			case <-t.life.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Close closes the shell. It does not wait for the device.
func (t *pty) Close() error { t.end(); return nil }

// IsAlive reports whether the shell is open.
func (t *pty) IsAlive() bool { return t.opened.Load() && t.life.Err() == nil }

// Read returns up to n bytes, or io.EOF once the shell is over.
func (t *pty) Read(n int) ([]byte, error) {
	if len(t.rest) == 0 {
		select {
		case t.rest = <-t.chunks:
		case <-t.life.Done():
			return nil, io.EOF
		}
	}
	k := min(n, len(t.rest))
	b := t.rest[:k:k]
	t.rest = t.rest[k:]
	return b, nil
}

// Write sends bytes to the shell. It returns at the latest when the shell ends, even if the device
// does not read.
func (t *pty) Write(b []byte) error {
	b = slices.Clone(b)
	done := make(chan error, 1)
	if !t.c.start(func() { _, err := t.in.Write(b); done <- err }) {
		return net.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-t.life.Done():
		return net.ErrClosed
	}
}
