package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// Default waiting times of a Client.
const (
	// defaultStart is how long an agent may take to say hello.
	defaultStart = time.Minute
	// defaultGrace is how long a cancelled request may take to finish its step and answer: a step
	// has 30 seconds, and a link has a minute to come back. Slower steps, for example of firmware,
	// get longer; see [local.Step.Timeout].
	defaultGrace = 100 * time.Second
)

// endWait limits the wait for an agent to exit after its answer.
const endWait = 5 * time.Second

// Conn is a connection to one agent. Close may be called while other methods run, and ends them.
type Conn interface {
	io.Reader // its standard output
	io.Writer // its standard input
	// CloseWrite ends its standard input.
	CloseWrite() error
	// Wait waits for the agent to exit and returns what was wrong with it, or nil if it exited
	// normally. started says whether the agent has sent its hello.
	Wait(ctx context.Context, started bool) error
	Close() error
}

// Client is a [Machine] at the other end of a connection. Each call starts its own agent. Its
// methods may be called from several goroutines, like those of [local.Machine]. Only Dial is
// required.
type Client struct {
	// Name is the host's name in errors.
	Name string
	// Dial starts an agent; ctx limits only the start.
	Dial func(ctx context.Context) (Conn, error)
	// Peer is the address that the host is managed from, used for plans that do not give one.
	Peer netip.Addr
	// NoFirmware makes Read leave out the firmware settings.
	NoFirmware bool
	// Start and Grace replace defaultStart and the grace described at defaultGrace.
	Start, Grace time.Duration

	selectors map[string]intent.Selector
}

var _ Machine = (*Client)(nil)

// Select implements Machine.
func (c *Client) Select(selectors map[string]intent.Selector) { c.selectors = selectors }

// Read implements Machine.
func (c *Client) Read(ctx context.Context, names []string) (*nic.Host, error) {
	r, err := c.call(ctx, Request{Verb: VerbRead, Names: names, NoFirmware: c.NoFirmware}, nil, nil)
	if err != nil {
		return nil, err
	}
	if r.Host == nil {
		return nil, c.senseless("no host in the answer")
	}
	return r.Host, nil
}

// Counters implements Machine.
func (c *Client) Counters(ctx context.Context, h *nic.Host) error {
	// Reading counters needs only what identifies each port.
	bare := &nic.Host{Name: h.Name, Ports: make(map[string]*nic.Port, len(h.Ports))}
	for name, p := range h.Ports {
		bare.Ports[name] = &nic.Port{Name: p.Name, RDMA: p.RDMA, RDMAPort: p.RDMAPort, Driver: p.Driver}
	}
	r, err := c.call(ctx, Request{Verb: VerbCounters, Running: bare}, nil, nil)
	if err != nil {
		return err
	}
	if r.Host == nil {
		return c.senseless("no host in the answer")
	}
	for name, p := range h.Ports {
		got := r.Host.Ports[name]
		if got == nil {
			return c.senseless("no port %s in the answer", clip(name))
		}
		p.Counters = got.Counters
		delete(p.Missing, nic.FieldCounters)
		if why, ok := got.Missing[nic.FieldCounters]; ok {
			if p.Missing == nil {
				p.Missing = map[string]string{}
			}
			p.Missing[nic.FieldCounters] = why
		}
	}
	return nil
}

// Plan implements Machine.
func (c *Client) Plan(ctx context.Context, running, desired *nic.Host, o local.Options) ([]local.Step, error) {
	r, err := c.call(ctx, Request{Verb: VerbPlan, Running: running, Desired: desired, Options: c.options(o)}, nil, nil)
	if err != nil {
		return nil, err
	}
	return r.Steps, nil
}

func (c *Client) options(o local.Options) *local.Options {
	if !o.Peer.IsValid() {
		o.Peer = c.Peer
	}
	return &o
}

// Resets implements Machine.
func (c *Client) Resets(ctx context.Context, ports []string, o local.Options) ([]local.CardReset, error) {
	r, err := c.call(ctx, Request{Verb: VerbResets, Names: ports, Options: c.options(o)}, nil, nil)
	if err != nil {
		return nil, err
	}
	return r.Resets, nil
}

// Reset implements Machine.
func (c *Client) Reset(ctx context.Context, reset local.CardReset, o local.Options) error {
	_, err := c.call(ctx, Request{Verb: VerbReset, Reset: &reset, Options: c.options(o)}, nil, nil)
	return err
}

// Before implements Machine.
func (c *Client) Before(ctx context.Context, steps []local.Step) (local.Undo, error) {
	r, err := c.call(ctx, Request{Verb: VerbBefore, Steps: steps}, nil, nil)
	if err != nil {
		return local.Undo{}, err
	}
	if r.Undo == nil {
		return local.Undo{}, c.senseless("no undo in the answer")
	}
	return *r.Undo, nil
}

// Apply implements Machine. When ctx ends, the client asks the agent to stop and returns the answer
// if it comes within the grace period; its Undo covers the changes made by then. report is called
// from another goroutine, one call at a time, and never after Apply has returned.
func (c *Client) Apply(ctx context.Context, steps []local.Step, report func(i, n int, s local.Step)) (local.Undo, error) {
	todo := slices.DeleteFunc(slices.Clone(steps), func(s local.Step) bool { return s.Blocked != "" })
	if report == nil {
		report = func(int, int, local.Step) {}
	}
	at := &running{moved: make(chan struct{}, 1)}
	if len(todo) > 0 {
		at.limit.Store(int64(todo[0].Timeout()))
	}
	tell := func(p progress) error {
		i, n := p.Step, p.Steps
		if i < 0 || i >= len(todo) || n != len(todo) {
			return fmt.Errorf("%w: step %d of %d, where %d were asked for", ErrAnswer, i, n, len(todo))
		}
		at.limit.Store(int64(todo[i].Timeout()))
		select {
		case at.moved <- struct{}{}:
		default:
		}
		report(i, n, todo[i])
		return nil
	}
	r, err := c.call(ctx, Request{Verb: VerbApply, Steps: steps}, tell, at)
	var u local.Undo
	if r != nil && r.Undo != nil {
		u = *r.Undo
	} else if err == nil {
		err = c.senseless("no undo in the answer")
	}
	return u, err
}

// Watch implements Machine.
func (c *Client) Watch(ctx context.Context, desired *nic.Host, steps []local.Step) ([]nic.Change, error) {
	r, err := c.call(ctx, Request{Verb: VerbWatch, Desired: desired, Steps: steps}, nil, nil)
	if err != nil {
		return nil, err
	}
	return r.Changes, nil
}

// Revert implements Machine.
func (c *Client) Revert(ctx context.Context, u local.Undo) error {
	_, err := c.call(ctx, Request{Verb: VerbRevert, Undo: &u}, nil, nil)
	return err
}

// Hold implements Machine.
func (c *Client) Hold(ctx context.Context, k mark.Mark) (local.Held, error) {
	long, end := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	marked, done := make(chan string, 1), make(chan outcome, 1)
	go func() {
		r, err := c.call(long, Request{Verb: VerbHold, Mark: &k}, func(p progress) error {
			select {
			case marked <- p.Note:
			default:
			}
			return nil
		}, nil)
		done <- outcome{r, err}
	}()
	endHold := sync.OnceFunc(func() {
		end()
		select {
		case <-done:
		case <-time.After(endWait): // closing the connection ends the hold
		}
	})
	select {
	case note := <-marked:
		return local.Held{Note: clip(note), End: endHold}, nil
	case o := <-done:
		end()
		if o.err != nil {
			return local.Held{}, o.err
		}
		r := o.response
		if r.Mark != nil {
			*r.Mark = r.Mark.Clean()
		}
		return local.Held{Other: r.Mark, Note: clip(r.Note)}, nil
	case <-ctx.Done():
		endHold()
		return local.Held{}, c.wrap(fmt.Errorf("%s: %w", VerbHold, ctx.Err()))
	}
}

// Load implements Machine. The programs end when ctx does, because the agent's input ends.
func (c *Client) Load(ctx context.Context, loads []local.Load) ([]local.Loaded, error) {
	r, err := c.call(ctx, Request{Verb: VerbLoad, Loads: loads}, nil, nil)
	if err != nil {
		return nil, err
	}
	if len(r.Loaded) != len(loads) {
		return nil, c.senseless("%d results of %d programs", len(r.Loaded), len(loads))
	}
	return r.Loaded, nil
}

// InstallUnit implements Machine.
func (c *Client) InstallUnit(ctx context.Context, desired *nic.Host, program string) ([]string, error) {
	return c.unit(ctx, Request{Verb: VerbInstallUnit, Desired: desired, Program: program})
}

// RemoveUnit implements Machine.
func (c *Client) RemoveUnit(ctx context.Context) ([]string, error) {
	return c.unit(ctx, Request{Verb: VerbRemoveUnit})
}

func (c *Client) unit(ctx context.Context, q Request) ([]string, error) {
	r, err := c.call(ctx, q, nil, nil)
	if r == nil {
		return nil, err
	}
	return r.Files, err
}

// wrap adds the host's name to an error.
func (c *Client) wrap(err error) error {
	if c.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}

func (c *Client) senseless(format string, args ...any) error {
	return c.wrap(fmt.Errorf("%w: %s", ErrAnswer, fmt.Sprintf(format, args...)))
}

// outcome is the result of an exchange.
type outcome struct {
	response *Response
	err      error
}

// call has one agent carry out one request. If the agent reports a failure, call returns both the
// Response and the error. at is nil except for an apply.
func (c *Client) call(ctx context.Context, q Request, tell func(progress) error, at *running) (*Response, error) {
	ctx, cancel := bounded(ctx, timeouts[q.Verb])
	defer cancel()
	deadline, _ := ctx.Deadline()
	q.Version, q.Select = version, c.selectors
	q.TimeoutMS = min(max(1, time.Until(deadline).Milliseconds()), maxTimeout.Milliseconds())
	line, err := json.Marshal(q)
	if err == nil && len(line) >= MaxRequest {
		err = fmt.Errorf("it has %d bytes, more than %d", len(line), MaxRequest)
	}
	if err != nil {
		return nil, c.wrap(fmt.Errorf("%w: %w", ErrRequest, err))
	}
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, c.wrap(fmt.Errorf("%w: %w", ErrStart, err))
	}
	started, done := make(chan struct{}), make(chan outcome, 1)
	go func() {
		r, err := exchange(ctx, conn, append(line, '\n'), started, tell)
		done <- outcome{r, err}
	}()
	o, waited := c.await(ctx, conn, q, at, started, done)
	if waited {
		o.err = failureReason(conn, closed(started), o)
	}
	if err := conn.Close(); err != nil && o.err == nil && o.response == nil {
		o.err = err
	}
	switch {
	case o.err != nil:
		return nil, c.wrap(o.err)
	case o.response.Error == nil:
		return o.response, nil
	}
	e := o.response.Error.err(c.Name)
	if err := ctx.Err(); err != nil && !errors.Is(e, err) {
		e.kinds = append(e.kinds, err)
	}
	return o.response, e
}

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// await waits for the exchange to end, and ends it if it takes too long; waited reports whether it
// ended by itself. When await returns, the exchange is over.
func (c *Client) await(ctx context.Context, conn Conn, q Request, at *running, started <-chan struct{}, done <-chan outcome) (o outcome, waited bool) {
	limit := cmp.Or(c.Start, defaultStart)
	start := time.NewTimer(limit)
	defer start.Stop()
	// giveUp ends the exchange; the response may still have arrived at the last moment.
	giveUp := func(why error) (outcome, bool) {
		_ = conn.Close()
		if o := <-done; o.response != nil {
			return o, false
		}
		return outcome{err: why}, false
	}
	greeted := started
	for {
		select {
		case o = <-done:
			return o, true
		case <-greeted:
			greeted = nil
			start.Stop()
		case <-start.C:
			if closed(started) {
				continue
			}
			return giveUp(fmt.Errorf("%w within %s", ErrStart, limit))
		case <-ctx.Done():
			if !closed(started) || !q.Verb.writes() {
				return giveUp(fmt.Errorf("%s: %w", q.Verb, ctx.Err()))
			}
			// The agent stops between two steps. If the request to stop does not reach it, its
			// answer cannot arrive either.
			_ = conn.CloseWrite()
			if o, ok := c.finish(q, at, done); ok {
				if o.err != nil {
					o.err = fmt.Errorf("%s: %w: it is not known which settings were written: %w", q.Verb, ctx.Err(), o.err)
				}
				return o, false
			}
			return giveUp(fmt.Errorf("%s: %w: the agent does not answer, and it is not known which settings were written", q.Verb, ctx.Err()))
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// exchange sends one request and reads its answers. It closes started when the hello arrives.
func exchange(ctx context.Context, conn Conn, request []byte, started chan<- struct{}, tell func(progress) error) (*Response, error) {
	l := newLines(conn)
	if err := greet(l); err != nil {
		return nil, err
	}
	close(started)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("before the request was sent: %w", err)
	}
	// An agent that rejects the request may not read all of it, and then says why.
	_, sendErr := conn.Write(request)
	last := -1
	for {
		line, err := l.next(MaxAnswer)
		if errors.Is(err, errTooLong) {
			return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		if err != nil {
			return nil, cmp.Or(sendErr, err)
		}
		a, err := decodeAnswer(line)
		switch {
		case err != nil:
			return nil, err
		case a.Response != nil:
			return a.Response, nil
		case tell == nil || a.Progress.Step <= last:
			return nil, fmt.Errorf("%w: progress out of place", ErrAnswer)
		}
		last = a.Progress.Step
		if err := tell(*a.Progress); err != nil {
			return nil, err
		}
	}
}

// greet reads up to the hello, skipping what a login shell prints.
func greet(l lines) error {
	for left := maxNoise; left > 0; {
		line, err := l.next(left)
		if errors.Is(err, errTooLong) {
			break
		}
		if err != nil {
			return err
		}
		left -= len(line)
		if !bytes.HasPrefix(line, []byte(helloPrefix)) {
			continue
		}
		var h hello
		// A hello of another version may have more fields.
		if err := json.Unmarshal(line, &h); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		if h.Version != version {
			return fmt.Errorf("%w: the agent speaks %d, this program %d", ErrVersion, h.Version, version)
		}
		return nil
	}
	return fmt.Errorf("%w: no hello in %d bytes", ErrAnswer, maxNoise)
}

// failureReason returns the reason why an agent gave no answer. If it did answer, ended gives it
// time to exit.
func failureReason(conn Conn, started bool, o outcome) error {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	for _, kind := range []error{ErrAnswer, ErrVersion, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(o.err, kind) {
			return o.err // the agent may still be running, so do not wait for it
		}
	}
	err := conn.Wait(ctx, started)
	if o.err == nil {
		return nil // how it exits after its answer does not matter
	}
	kind := ErrStart
	if started {
		kind = ErrEnded
	}
	if err == nil && errors.Is(o.err, io.EOF) {
		return kind
	}
	return fmt.Errorf("%w: %w", kind, cmp.Or(err, o.err))
}
