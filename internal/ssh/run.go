package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// Result is the outcome of a command.
type Result struct {
	Stdout, Stderr []byte
	// Status is the exit status, or 128 plus the signal number for a command that was killed by a
	// signal.
	Status int
}

// Run runs a command in its own channel, with stdin as its input, and waits for its end. A status
// other than 0 is not an error. Stdout and Stderr together hold at most [Config.MaxOutput] bytes:
// a command that prints more is ended, and the error wraps ErrTooLarge. When ctx ends, the channel
// is closed; the device decides whether the command ends with it. On an error, the Result holds
// what arrived until then.
func (c *Client) Run(ctx context.Context, cmd string, stdin []byte) (Result, error) {
	call := c.log.Begin("ssh run", func() string { return filled(cmd, string(stdin)) })
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	out := &output{left: c.maxOutput}
	var status int // written before session returns without an error
	err := c.session(ctx, "run", func(s *xssh.Session) error {
		// Close in a goroutine: closing waits for the connection, and the writer holds the lock.
		out.full = func() { c.start(func() { s.Close() }) }
		s.Stdout, s.Stderr = out.stream(&out.stdout), out.stream(&out.stderr)
		if len(stdin) > 0 {
			// Do not use s.Stdin, because a command that ends without reading all of its input is
			// not a failure.
			in, err := s.StdinPipe()
			if err != nil {
				return c.lost("run", err)
			}
			c.start(func() {
				if fence.Err(ctx) == nil { // otherwise the session ends and the command gets no input
					_, _ = in.Write(stdin)
					_ = in.Close()
				}
			})
		}
		if err := s.Start(cmd); err != nil {
			if connectionEnded(err) {
				return c.lost("run", err)
			}
			return newError("run", c.addr, errRefused, err)
		}
		err := s.Wait()
		if out.overflowed() {
			return newError("run", c.addr, ErrTooLarge, fmt.Errorf("more than %d bytes", c.maxOutput))
		}
		var exit *xssh.ExitError
		switch {
		case errors.As(err, &exit):
			status = exit.ExitStatus()
		case err != nil:
			return c.lost("run", err)
		}
		return nil
	})
	var r Result
	if err == nil {
		// The command has ended, so nothing writes to these buffers any more.
		r = Result{Stdout: out.stdout.Bytes(), Stderr: out.stderr.Bytes(), Status: status}
	} else {
		r = out.result()
	}
	call.End(func() string {
		return filled(fmt.Sprintf("exit status %d", r.Status), string(r.Stdout), string(r.Stderr))
	}, err)
	return r, err
}

// filled joins the non-empty texts for the log.
func filled(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n")
}

// output collects both streams of a command up to a common limit. The command may outlive the Run
// that waits for it, so access is locked and results are copied.
type output struct {
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	left           int64
	over           bool
	full           func() // called once, when the limit is exceeded
}

type stream struct {
	o *output
	b *bytes.Buffer
}

func (o *output) stream(b *bytes.Buffer) io.Writer { return stream{o, b} }

func (s stream) Write(p []byte) (int, error) {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	n := min(int64(len(p)), s.o.left)
	s.b.Write(p[:n])
	s.o.left -= n
	if n < int64(len(p)) {
		if !s.o.over {
			s.o.over = true
			s.o.full()
		}
		return int(n), ErrTooLarge
	}
	return len(p), nil
}

func (o *output) overflowed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

func (o *output) result() Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Result{Stdout: slices.Clone(o.stdout.Bytes()), Stderr: slices.Clone(o.stderr.Bytes())}
}
