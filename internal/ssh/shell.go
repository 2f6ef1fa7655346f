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

// noTimeout stands for "the context decides" in scrapligo, which would take 0
// for its own default.
const noTimeout = 24 * time.Hour

// shell is an interactive shell on a device. Its methods must not be called at the
// same time.
type shell struct {
	c      *Client
	driver *generic.Driver
	pty    *pty
	dead   error
}

// shell opens a shell and waits for its first prompt, which is what matches at the
// end of the output. Close must be called on it, or on the Client.
func (c *Client) shell(ctx context.Context, prompt *regexp.Regexp) (*shell, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	s := &shell{c: c, pty: c.pty(ctx)}
	d, err := generic.NewDriver(c.addr,
		options.WithCustomTransport(s.pty),
		options.WithPromptPattern(prompt),
		options.WithTimeoutOps(noTimeout),
		options.WithTermWidth(termWidth), options.WithTermHeight(termHeight))
	if err != nil {
		return nil, newError("shell", c.addr, errConfig, err)
	}
	s.driver = d
	if err := d.Open(); err != nil {
		return nil, s.failed(ctx, err)
	}
	if _, err := d.Channel.ReadUntilPrompt(ctx); err != nil {
		err = s.failed(ctx, err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *shell) oneLine(line string) error {
	if strings.ContainsAny(line, "\r\n\x00") {
		return newError("shell", s.c.addr, errConfig, errors.New("more than one line"))
	}
	return nil
}

// do runs an operation of scrapligo's. When ctx ends, or the output passes the
// limit, the shell is closed: what it would say next belongs to a command that
// nobody waits for.
func (s *shell) do(ctx context.Context, op func(context.Context) error) error {
	if s.dead != nil {
		return newError("shell", s.c.addr, ErrLost, fmt.Errorf("shell is closed after: %w", s.dead))
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
		// The answer came as the time ran out, and the shell is gone with it.
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
	// First the transport: scrapligo then ends at once instead of waiting.
	s.pty.end()
	if err := s.driver.Close(); err != nil && !gone(err) {
		return newError("shell", s.c.addr, nil, err)
	}
	return nil
}

// failed says why the shell does not go on.
func (s *shell) failed(ctx context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case s.pty.over.Load():
		return newError("shell", s.c.addr, errTooLarge, fmt.Errorf("more than %d bytes", s.c.maxOutput))
	case ctx.Err() != nil:
		return contextError("shell", s.c.addr, ctx)
	}
	if errors.Is(err, util.ErrConnectionError) {
		err = nil // a name of scrapligo's own, which says no more than ErrLost
	}
	return newError("shell", s.c.addr, ErrLost, err)
}
