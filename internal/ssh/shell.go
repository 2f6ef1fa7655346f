package ssh

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/driver/generic"
	"github.com/scrapli/scrapligo/driver/options"
	"github.com/scrapli/scrapligo/util"
)

// noTimeout leaves timeouts to the context. scrapligo would replace 0 with its own default.
const noTimeout = 24 * time.Hour

// shell is an interactive shell on a device. Its methods must not be called concurrently.
type shell struct {
	c      *Client
	driver *generic.Driver
	pty    *pty
	more   bell
	dead   error
}

// bell signals each piece of output that scrapligo has read. scrapligo's own functions poll for
// output every ReadDelay instead; see [shell.read].
type bell chan struct{}

// Write implements io.Writer, for options.WithChannelLog.
func (b bell) Write(p []byte) (int, error) {
	select {
	case b <- struct{}{}:
	default:
	}
	return len(p), nil
}

// shell opens a shell and waits for its first prompt, which prompt must match at the end of the
// output. The caller must call Close on the shell or on the Client.
func (c *Client) shell(ctx context.Context, prompt *regexp.Regexp) (*shell, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	s := &shell{c: c, pty: c.pty(ctx), more: make(bell, 1)}
	d, err := generic.NewDriver(c.addr,
		options.WithCustomTransport(s.pty),
		options.WithPromptPattern(prompt),
		options.WithTimeoutOps(noTimeout),
		// The transport itself waits for data.
		options.WithReadDelay(0), options.WithChannelLog(s.more),
		options.WithTermWidth(termWidth), options.WithTermHeight(termHeight))
	if err != nil {
		return nil, newError("shell", c.addr, errConfig, err)
	}
	s.driver = d
	if err := d.Open(); err != nil {
		return nil, s.failed(ctx, err)
	}
	if _, err := s.until(ctx, nil, func(out []byte) bool { return stopped(out, []*regexp.Regexp{prompt}) }); err != nil {
		err = s.failed(ctx, err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// read waits for the next output of the device.
func (s *shell) read(ctx context.Context) ([]byte, error) {
	for {
		b, err := s.driver.Channel.Read()
		if len(b) > 0 || err != nil {
			return b, err
		}
		select {
		case <-s.more:
		case <-s.pty.life.Done():
			return nil, util.ErrConnectionError
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// until appends the device's output to out until enough returns true.
func (s *shell) until(ctx context.Context, out []byte, enough func(out []byte) bool) ([]byte, error) {
	for {
		b, err := s.read(ctx)
		if err != nil {
			return out, err
		}
		if out = append(out, b...); enough(out) {
			return out, nil
		}
	}
}

func (s *shell) oneLine(line string) error {
	if strings.ContainsAny(line, "\r\n\x00") {
		return newError("shell", s.c.addr, errConfig, errors.New("more than one line"))
	}
	return nil
}

// do runs a scrapligo operation. If ctx ends or the output exceeds the limit, the shell is closed,
// because further output would belong to a command that nobody waits for.
func (s *shell) do(ctx context.Context, op func(context.Context) error) error {
	if s.dead != nil {
		return s.c.lost("shell", fmt.Errorf("shell is closed after: %w", s.dead))
	}
	ctx, cancel := s.c.deadline(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return contextError("shell", s.c.addr, ctx)
	}
	s.pty.allow(s.c.maxOutput)
	stop := context.AfterFunc(ctx, s.pty.end)
	err := op(ctx)
	stopped := stop()
	if err == nil && !stopped {
		// The answer arrived as the time ran out, but the shell has been closed.
		s.dead = ctx.Err()
	}
	if err != nil {
		s.dead = s.failed(ctx, err)
		return s.dead
	}
	return nil
}

// Close closes the shell.
func (s *shell) Close() error {
	if s.dead == nil {
		s.dead = errors.New("close")
	}
	// Close the transport first, so that scrapligo ends at once instead of waiting.
	s.pty.end()
	if err := s.driver.Close(); err != nil && !connectionEnded(err) {
		return newError("shell", s.c.addr, nil, err)
	}
	return nil
}

// failed returns the reason why the shell cannot continue.
func (s *shell) failed(ctx context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case s.pty.over.Load():
		return newError("shell", s.c.addr, ErrTooLarge, fmt.Errorf("more than %d bytes", s.c.maxOutput))
	case ctx.Err() != nil:
		return contextError("shell", s.c.addr, ctx)
	}
	if errors.Is(err, util.ErrConnectionError) {
		err = nil // scrapligo's own name, no more specific than ErrLost
	}
	return s.c.lost("shell", err)
}
