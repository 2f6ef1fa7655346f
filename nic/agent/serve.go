package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/roce-fabric/roce-fabric/nic/local"
)

// errGone is the cause when work ends because the client left.
var errGone = fmt.Errorf("the other end of the connection is gone: %w", context.Canceled)

// Serve sends a hello on out, reads one request from in, has m carry it out and sends the answer.
// Work stops when in or ctx ends; an apply stops between two steps. A request that fails or cannot
// be decoded is answered; Serve returns an error only if it could not answer.
//
// A request without the firmware settings requires an m with a method SkipFirmware(), such as
// [Local].
//
// Serve is meant for a process that exits afterwards: one goroutine keeps reading in until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, m Machine) error {
	if err := send(out, hello{version}); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type first struct {
		line []byte
		err  error
	}
	got := make(chan first, 1)
	go func() {
		l := newLines(in)
		line, err := l.next(MaxRequest)
		got <- first{line, err}
		if err == nil {
			// Nothing else is expected; how the input ends does not matter.
			_, _ = io.Copy(io.Discard, l.r)
			cancel(errGone)
		}
	}()
	var f first
	select {
	case f = <-got:
	case <-ctx.Done():
		// A client that sends a request and leaves at once has still sent it: the work itself
		// notices that the client has left.
		select {
		case f = <-got:
		default:
			return fmt.Errorf("wait for a request: %w", context.Cause(ctx))
		}
	}
	switch {
	case errors.Is(f.err, errTooLong):
		f.err = fmt.Errorf("%w: %w", ErrRequest, f.err)
	case f.err != nil:
		return fmt.Errorf("read the request: %w", f.err)
	}
	var q *Request
	if f.err == nil {
		q, f.err = decodeRequest(f.line)
	}
	if f.err != nil {
		return respond(out, Response{Error: failureOf(f.err)})
	}
	r := q.carryOut(ctx, m, func(p progress) {
		if err := send(out, answer{Progress: &p}); err != nil {
			cancel(errGone)
		}
	})
	return respond(out, r)
}

// timeouts holds the deadline of each verb.
var timeouts = map[Verb]time.Duration{
	VerbRead: ReadTimeout, VerbCounters: PlanTimeout, VerbPlan: PlanTimeout,
	VerbBefore: ReadTimeout, VerbWatch: PlanTimeout, VerbApply: applyTimeout, VerbRevert: applyTimeout, VerbHold: holdTimeout,
	VerbResets: ReadTimeout, VerbReset: resetTimeout, VerbLoad: loadTimeout,
	VerbInstallUnit: unitTimeout, VerbRemoveUnit: unitTimeout,
}

func (q *Request) carryOut(ctx context.Context, m Machine, tell func(progress)) (r Response) {
	limit := timeouts[q.Verb]
	if q.TimeoutMS > 0 {
		limit = time.Duration(q.TimeoutMS) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if q.Select != nil {
		m.Select(q.Select)
	}
	var err error
	switch q.Verb {
	case VerbRead:
		if q.NoFirmware {
			s, ok := m.(interface{ SkipFirmware() })
			if !ok {
				err = fmt.Errorf("%w: this machine always reads the firmware", ErrRequest)
				break
			}
			s.SkipFirmware()
		}
		r.Host, err = m.Read(ctx, q.Names)
	case VerbCounters:
		r.Host, err = q.Running, m.Counters(ctx, q.Running)
	case VerbPlan:
		r.Steps, err = m.Plan(ctx, q.Running, q.Desired, q.options())
	case VerbBefore:
		r.Undo = &local.Undo{}
		*r.Undo, err = m.Before(ctx, q.Steps)
	case VerbApply:
		r.Undo = &local.Undo{}
		*r.Undo, err = m.Apply(ctx, q.Steps, func(i, n int, _ local.Step) { tell(progress{Step: i, Steps: n}) })
	case VerbWatch:
		r.Changes, err = m.Watch(ctx, q.Desired, q.Steps)
	case VerbRevert:
		err = m.Revert(ctx, *q.Undo)
	case VerbHold:
		var h local.Held
		if h, err = m.Hold(ctx, *q.Mark); h.End == nil {
			r.Mark, r.Note = h.Other, h.Note
			break
		}
		tell(progress{Steps: 1, Note: h.Note})
		<-ctx.Done()
		h.End()
	case VerbResets:
		r.Resets, err = m.Resets(ctx, q.Names, q.options())
	case VerbReset:
		err = m.Reset(ctx, *q.Reset, q.options())
	case VerbLoad:
		r.Loaded, err = m.Load(ctx, q.Loads)
	case VerbInstallUnit:
		r.Files, err = m.InstallUnit(ctx, q.Desired, q.Program)
	case VerbRemoveUnit:
		r.Files, err = m.RemoveUnit(ctx)
	}
	if err != nil {
		r.Error = failureOf(err)
	}
	return r
}

func (q *Request) options() local.Options {
	if q.Options == nil {
		return local.Options{}
	}
	return *q.Options
}

// respond sends the last line. If the response cannot be encoded or is too long, it sends that
// error instead.
func respond(out io.Writer, r Response) error {
	b, err := json.Marshal(answer{Response: &r})
	if err != nil || len(b) >= MaxAnswer {
		if err == nil {
			err = fmt.Errorf("the answer has %d bytes, more than %d", len(b), MaxAnswer)
		}
		if b, err = json.Marshal(answer{Response: &Response{Error: failureOf(err)}}); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
	}
	if _, err := out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("send the answer: %w", err)
	}
	return nil
}

func send(out io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(b, '\n'))
	return err
}
