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

// Size of the terminal that a shell gets. Wide, because a line editor that
// wraps a long command does not echo what was sent.
const (
	termWidth  = 511
	termHeight = 255
	// termType is one for which bash does not switch to bracketed paste.
	termType = "vt100"
)

// pty is a shell as scrapligo wants it (options.WithCustomTransport).
type pty struct {
	c    *Client
	open context.Context // bounds Open

	life   context.Context // ends with the shell
	end    context.CancelFunc
	in     io.Writer
	chunks chan []byte
	rest   []byte
	left   atomic.Int64 // bytes that may still be read
	over   atomic.Bool  // more came
	opened atomic.Bool
}

var _ transport.Implementation = (*pty)(nil)

// pty returns a transport that opens a shell on the connection. ctx bounds the
// opening only. The shell may print [Config.MaxOutput] bytes until more is allowed.
func (c *Client) pty(ctx context.Context) *pty {
	t := &pty{c: c, open: ctx, chunks: make(chan []byte)}
	t.life, t.end = context.WithCancel(context.Background())
	t.allow(c.maxOutput)
	return t
}

// allow lets n more bytes be read.
func (t *pty) allow(n int64) { t.left.Store(n) }

// Open opens the shell. The connection exists already; of the arguments only
// the size of the terminal matters.
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

// pump hands over what the device prints until either side ends.
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

// Write sends bytes to the shell. A device that does not read cannot hold it
// past the end of the shell.
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
