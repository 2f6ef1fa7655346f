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

// ShellConfig says how to talk to a shell.
type ShellConfig struct {
	// Prompt matches the prompt at the end of the output, in multi-line mode:
	// `(?m)^leaf1[>#]\s?$`.
	Prompt *regexp.Regexp
	// MaxOutput bounds the output of one Send, in bytes; 0 is that of the
	// Client.
	MaxOutput int64
}

// Shell is an interactive shell on a device, for what has no other way than
// prompts: configuration sessions, commands that ask back. Its methods must
// not be called at the same time.
type Shell struct {
	c      *Client
	driver *generic.Driver
	pty    *Transport
	limit  int64
	dead   error
}

// Shell opens a shell and waits for its first prompt. Close must be called on
// it, or on the Client.
func (c *Client) Shell(ctx context.Context, cfg ShellConfig) (*Shell, error) {
	if cfg.Prompt == nil {
		return nil, newError("shell", c.addr, ErrConfig, errors.New("no prompt"))
	}
	if cfg.MaxOutput == 0 {
		cfg.MaxOutput = c.maxOutput
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	s := &Shell{c: c, pty: c.Transport(ctx), limit: cfg.MaxOutput}
	s.pty.allow(s.limit)
	d, err := generic.NewDriver(c.addr,
		options.WithCustomTransport(s.pty),
		options.WithPromptPattern(cfg.Prompt),
		options.WithTimeoutOps(noTimeout),
		options.WithTermWidth(termWidth), options.WithTermHeight(termHeight))
	if err != nil {
		return nil, newError("shell", c.addr, ErrConfig, err)
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

// Driver returns scrapligo's driver of the shell, for what Send does not do.
// Its operations know no context; they end when the Shell is closed.
func (s *Shell) Driver() *generic.Driver { return s.driver }

// Send sends one line and returns what the device prints until the next
// prompt, without the echo and the prompt. When ctx ends, or the output passes
// its limit, the shell is closed: what it would say next belongs to a command
// that nobody waits for.
func (s *Shell) Send(ctx context.Context, line string) (string, error) {
	if err := s.oneLine(line); err != nil {
		return "", err
	}
	var out []byte
	err := s.do(ctx, func(context.Context) (err error) {
		out, err = s.driver.Channel.SendInput(line)
		return err
	})
	return string(out), err
}

func (s *Shell) oneLine(line string) error {
	if strings.ContainsAny(line, "\r\n\x00") {
		return newError("shell", s.c.addr, ErrConfig, errors.New("more than one line"))
	}
	return nil
}

// do runs an operation of scrapligo's until ctx ends.
func (s *Shell) do(ctx context.Context, op func(context.Context) error) error {
	if s.dead != nil {
		return newError("shell", s.c.addr, ErrLost, fmt.Errorf("shell is closed after: %w", s.dead))
	}
	ctx, cancel := s.c.deadline(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return contextError("shell", s.c.addr, ctx)
	}
	s.pty.allow(s.limit)
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
func (s *Shell) Close() error {
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
func (s *Shell) failed(ctx context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case s.pty.over.Load():
		return newError("shell", s.c.addr, ErrTooLarge, fmt.Errorf("more than %d bytes", s.limit))
	case ctx.Err() != nil:
		return contextError("shell", s.c.addr, ctx)
	}
	if errors.Is(err, util.ErrConnectionError) {
		err = nil // a name of scrapligo's own, which says no more than ErrLost
	}
	return newError("shell", s.c.addr, ErrLost, err)
}
