package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	xssh "golang.org/x/crypto/ssh"
)

// Stream is a command that is talked to while it runs. Read, Write and Wait may
// be called at the same time.
type Stream struct {
	c    *Client
	life context.Context // ends with the command
	end  context.CancelFunc
	in   io.WriteCloser
	out  *io.PipeReader

	over   chan struct{} // closed once status and err stand
	status int
	err    error
}

// Stream starts a command in a channel of its own. ctx, or where it has no
// deadline the command timeout, bounds the start alone; Close must be called.
// The standard error of the command goes to stderr, which may be written to
// until the Client is closed. Output that is not read waits in the window of the
// channel, so that only the reader bounds the output as a whole.
func (c *Client) Stream(ctx context.Context, cmd string, stderr io.Writer) (_ *Stream, err error) {
	call := c.log.Begin("ssh start", func() string { return cmd })
	defer func() { call.End(nil, err) }()
	opening, cancel := c.deadline(ctx)
	defer cancel()
	s := &Stream{c: c, over: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(opening, s.end)
	var pw *io.PipeWriter
	s.out, pw = io.Pipe()
	// Both a Read and a pump that nobody reads from end with the command.
	context.AfterFunc(s.life, func() { pw.CloseWithError(c.lost("run", net.ErrClosed)) })
	started, status := make(chan io.WriteCloser, 1), make(chan int, 1)
	ok := c.start(func() {
		defer close(s.over)
		defer s.end()
		s.err = c.session(s.life, "run", func(x *xssh.Session) error {
			n, err := c.converse(x, cmd, stderr, pw, started)
			status <- n
			return err
		})
		if s.err == nil {
			s.status = <-status
		}
	})
	if !ok {
		s.end()
		return nil, c.lost("run", net.ErrClosed)
	}
	select {
	case s.in = <-started:
	case <-s.over:
		// The command may have been as quick as that.
		select {
		case s.in = <-started:
		default:
			err = s.err
		}
	}
	if !stop() {
		return nil, contextError("run", c.addr, opening)
	}
	return s, err
}

// converse carries a command from its start to its end.
func (c *Client) converse(x *xssh.Session, cmd string, stderr io.Writer, pw *io.PipeWriter, started chan<- io.WriteCloser) (int, error) {
	in, err := x.StdinPipe()
	if err != nil {
		return 0, c.lost("run", err)
	}
	out, err := x.StdoutPipe()
	if err != nil {
		return 0, c.lost("run", err)
	}
	x.Stderr = stderr
	if err := x.Start(cmd); err != nil {
		kind := errRefused
		if gone(err) {
			kind = ErrLost
		}
		return 0, newError("run", c.addr, kind, err)
	}
	started <- in
	// Where the reader left, the channel is closed, and Wait says so.
	_, _ = io.Copy(pw, out)
	_ = pw.Close()
	var exit *xssh.ExitError
	switch err := x.Wait(); {
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	case err != nil:
		return 0, c.lost("run", err)
	}
	return 0, nil
}

// Read reads standard output: io.EOF at its end, an [*Error] that wraps ErrLost
// once the Stream is closed.
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.out.Read(b)
	if n > 0 {
		s.c.log.Data("ssh read", b[:n])
	}
	return n, err
}

// Write writes to standard input. A device that does not read cannot hold it
// past Close.
func (s *Stream) Write(b []byte) (int, error) {
	s.c.log.Data("ssh write", b)
	b = slices.Clone(b) // it may be read after the return
	if err := s.unlessClosed(func() error { _, err := s.in.Write(b); return err }); err != nil {
		return 0, s.c.lost("run", err)
	}
	return len(b), nil
}

// CloseWrite ends standard input.
func (s *Stream) CloseWrite() error {
	if err := s.unlessClosed(s.in.Close); err != nil && !gone(err) {
		return s.c.lost("run", err)
	}
	return nil
}

// unlessClosed runs f, which a silent device can hold up, and returns without
// it once the Stream is closed.
func (s *Stream) unlessClosed(f func() error) error {
	done := make(chan error, 1)
	if s.life.Err() != nil || !s.c.start(func() { done <- f() }) {
		return net.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-s.life.Done():
		return net.ErrClosed
	}
}

// Wait waits for the end of the command or of ctx and returns the exit status,
// as in [Result]. Standard output has to be read for it to come.
func (s *Stream) Wait(ctx context.Context) (int, error) {
	select {
	case <-s.over:
		return s.status, s.err
	case <-ctx.Done():
		return 0, contextError("run", s.c.addr, ctx)
	}
}

// Close closes the channel, and ends every Read, Write and Wait. Whether the
// command ends with it is the device's choice: its standard input does.
func (s *Stream) Close() error {
	s.end()
	<-s.over
	return nil
}
