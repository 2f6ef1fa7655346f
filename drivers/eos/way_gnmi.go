package eos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/openconfig"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// gnmiWay is the gNMI transport: show commands and configuration lines of CLI origin
// (aristanetworks/openmgmt, openconfig/featureprofiles cli_origin_test). The switch runs each Set
// in its own session and commits it as a whole; there is no timer, and exec mode commands cannot
// be sent.
type gnmiWay struct {
	cfg    gnmi.Config
	client *gnmi.Client
}

func (w *gnmiWay) name() string { return "gnmi" }
func (w *gnmiWay) Addr() string { return w.cfg.Address }
func (w *gnmiWay) timed() bool  { return false }

func (w *gnmiWay) undo(time.Duration) string {
	return "by this tool, line by line (gNMI has no commit timer; configure ssh for one); over gNMI alone a run of another machine does not see this one"
}

func (w *gnmiWay) open(ctx context.Context) (*gnmi.Client, error) {
	if w.client != nil {
		return w.client, nil
	}
	c, err := gnmi.Dial(ctx, w.cfg)
	if err != nil {
		return nil, err
	}
	w.client = c
	return c, nil
}

func (w *gnmiWay) get(ctx context.Context, cmd string, json bool) ([]byte, error) {
	c, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	out, err := c.GetCLI(ctx, cmd, json)
	if err != nil && !refused(err) {
		// Avoid the backoff of a broken connection in the next call.
		w.HangUp()
	}
	return out, err
}

func (w *gnmiWay) Show(ctx context.Context, cmd string) (string, error) {
	out, err := w.get(ctx, cmd, false)
	return string(out), err
}

func (w *gnmiWay) ShowAll(ctx context.Context, cmds ...string) ([]ssh.Shown, error) {
	out := make([]ssh.Shown, len(cmds))
	for i, cmd := range cmds {
		text, err := w.Show(ctx, cmd)
		if err != nil && !refused(err) {
			return nil, err
		}
		out[i] = ssh.Shown{Out: text, Err: err}
	}
	return out, nil
}

func (w *gnmiWay) showJSON(ctx context.Context, cmd string) ([]byte, error) {
	out, err := w.get(ctx, cmd, true)
	if rpc, ok := errors.AsType[*gnmi.RPCError](err); ok && rpc.Code == codes.Unimplemented {
		return nil, fmt.Errorf("%w: the gNMI server has no show commands: %w", drivers.ErrUnsupported, err)
	}
	return out, err
}

func (w *gnmiWay) write(ctx context.Context, _ string, typed []string, _ time.Duration, ready func(context.Context) error) (lines.Fate, error) {
	if err := ready(ctx); err != nil {
		return lines.Unsent, err
	}
	c, err := w.open(ctx)
	if err != nil {
		return lines.Unsent, err
	}
	err = c.SetCLI(ctx, strings.Join(typed, "\n")+"\n")
	switch {
	case err == nil:
		return lines.Answered, nil
	case errors.Is(err, gnmi.ErrConfig):
		return lines.Unsent, err
	case errors.Is(err, gnmi.ErrTimeout), errors.Is(err, gnmi.ErrUnreachable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		w.HangUp()
		return lines.Unanswered, err
	}
	return lines.Rejected, err
}

// discard does nothing: the switch itself ends the session of a Set.
func (w *gnmiWay) discard(context.Context, string) error { return nil }

func (w *gnmiWay) Do(_ context.Context, cmd string) error {
	return fmt.Errorf("%w: %q cannot be run over gNMI; configure ssh", drivers.ErrUnsupported, cmd)
}

func (w *gnmiWay) state(ctx context.Context, _ []show) (*drivers.Observation, error) {
	c, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	return openconfig.Observe(ctx, c)
}

func (w *gnmiWay) HangUp() { _ = w.Close() } // errors from closing a broken connection are irrelevant

func (w *gnmiWay) Close() error { return drivers.HangUp(&w.client) }
