package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// slow is in the middle of its one step when it is told to stop, and takes a
// while to its end.
type slow struct {
	agent.Machine
	begun func()
	takes time.Duration
}

func (s slow) finish(ctx context.Context) error {
	s.begun()
	<-ctx.Done()
	<-time.After(s.takes)
	return fmt.Errorf("%w: %w", local.ErrPartial, context.Cause(ctx))
}

func (s slow) Apply(ctx context.Context, steps []local.Step, _ func(int, int, local.Step)) (local.Undo, error) {
	return local.Undo{Steps: []local.UndoStep{{Port: steps[0].Port, Field: steps[0].Field}}}, s.finish(ctx)
}

func (s slow) Revert(ctx context.Context, _ local.Undo) error { return s.finish(ctx) }

// TestGrace gives up work in a step: the client waits as long as that may take,
// so that no second agent works beside the first. The clock is the test's.
func TestGrace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		field  string
		driver string
		takes  time.Duration
		waits  bool
	}{
		{"firmware", nic.FieldNV, nic.DriverMLX5, 14 * time.Minute, true},
		{"firmware that hangs", nic.FieldNV, nic.DriverMLX5, time.Hour, false},
		{"nicctl", nic.FieldPFC, nic.DriverIonic, 5 * time.Minute, true},
		{"a driver", nic.FieldPFC, nic.DriverMLX5, 90 * time.Second, true},
		{"a driver that hangs", nic.FieldPFC, nic.DriverMLX5, 3 * time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := clientOf(slow{begun: cancel, takes: tt.takes})
				steps := []local.Step{{Port: ens, Field: tt.field, Driver: tt.driver}}
				u, err := c.Apply(ctx, steps, nil)
				if !errors.Is(err, context.Canceled) || errors.Is(err, local.ErrPartial) != tt.waits || (len(u.Steps) == 1) != tt.waits {
					t.Errorf("apply: undo of %d steps, %v", len(u.Steps), err)
				}
				time.Sleep(tt.takes) // of the test's clock: the agent ends
				synctest.Wait()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := clientOf(slow{begun: cancel, takes: 14 * time.Minute})
		err := c.Revert(ctx, local.Undo{Steps: []local.UndoStep{{Port: ens, Field: nic.FieldNV}}})
		if !errors.Is(err, local.ErrPartial) {
			t.Errorf("revert: %v", err)
		}
	})
}
