package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	xssh "golang.org/x/crypto/ssh"
)

// Stream is a running command with open input and output. Read, Write and Wait may be called
// concurrently.
type Stream struct {
	c    *Client
	life context.Context // ends with the command
	end  context.CancelFunc
	in   io.WriteCloser
	out  *io.PipeReader

	over   chan struct{} // closed once status and err are set
	status int
	err    error
}

// Stream starts a command in its own channel. ctx, or the command timeout if ctx has no deadline,
// limits only the start. The caller must call Close. The command's standard error is written to
// stderr, possibly until the Client is closed. Unread output stays in the channel's window, so
// only the reader limits the total output.
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
	// When the command ends, so do a pending Read and a pump without a reader.
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
		// The command may have started and ended already.
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

// converse runs a command from its start to its end.
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
		if connectionEnded(err) {
			kind = ErrLost
		}
		return 0, newError("run", c.addr, kind, err)
	}
	started <- in
	// If the reader has left, the channel is closed and Wait reports it.
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

// Read reads standard output. It returns io.EOF at the end, and an [*Error] that wraps ErrLost
// once the Stream is closed.
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.out.Read(b)
	if n > 0 {
		s.c.log.Data("ssh read", b[:n])
	}
	return n, err
}

// Write writes to standard input. It returns at the latest when the Stream is closed, even if the
// device does not read.
func (s *Stream) Write(b []byte) (int, error) {
	s.c.log.Data("ssh write", b)
	b = slices.Clone(b) // the write may outlive this call
	if err := s.unlessClosed(func() error { _, err := s.in.Write(b); return err }); err != nil {
		return 0, s.c.lost("run", err)
	}
	return len(b), nil
}

// CloseWrite closes standard input.
func (s *Stream) CloseWrite() error {
	if err := s.unlessClosed(s.in.Close); err != nil && !connectionEnded(err) {
		return s.c.lost("run", err)
	}
	return nil
}

// unlessClosed runs f, which a silent device can block, and returns early once the Stream is
// closed.
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

// Wait waits for the end of the command or of ctx and returns the exit status, as in [Result]. The
// command can only end if its standard output is read.
func (s *Stream) Wait(ctx context.Context) (int, error) {
	select {
	case <-s.over:
		return s.status, s.err
	case <-ctx.Done():
		return 0, contextError("run", s.c.addr, ctx)
	}
}

// Close closes the channel and ends every Read, Write and Wait. The command's standard input is
// closed; the device decides whether the command ends.
func (s *Stream) Close() error {
	s.end()
	<-s.over
	return nil
}
