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

// slow is in the middle of a step when it is asked to stop, and takes a while to finish it.
type slow struct {
	agent.Machine
	begun func()
	takes time.Duration
	at    int
	// late makes it report the step only after it has been asked to stop.
	late bool
}

func (s slow) finish(ctx context.Context) error {
	s.begun()
	<-ctx.Done()
	<-time.After(s.takes)
	return fmt.Errorf("%w: %w", local.ErrPartial, context.Cause(ctx))
}

func (s slow) Apply(ctx context.Context, steps []local.Step, progress func(int, int, local.Step)) (local.Undo, error) {
	if s.late {
		progress(0, len(steps), steps[0])
		s.begun()
		<-ctx.Done()
	}
	progress(s.at, len(steps), steps[s.at])
	return local.Undo{Steps: []local.UndoStep{{Port: steps[0].Port, Field: steps[0].Field}}}, s.finish(ctx)
}

func (s slow) Revert(ctx context.Context, _ local.Undo) error { return s.finish(ctx) }

// TestGrace cancels work in the middle of a step: the client waits as long as the step may take, so
// that no second agent starts while the first still works. The test uses a fake clock.
func TestGrace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		driver string
		s      slow
		waits  bool
	}{
		{"firmware", []string{nic.FieldNV}, nic.DriverMLX5, slow{takes: 14 * time.Minute}, true},
		{"firmware that hangs", []string{nic.FieldNV}, nic.DriverMLX5, slow{takes: time.Hour}, false},
		{"nicctl", []string{nic.FieldPFC}, nic.DriverIonic, slow{takes: 5 * time.Minute}, true},
		{"a driver", []string{nic.FieldPFC}, nic.DriverMLX5, slow{takes: 90 * time.Second}, true},
		{"a driver that hangs", []string{nic.FieldPFC}, nic.DriverMLX5, slow{takes: 3 * time.Minute}, false},
		{"a driver that hangs before firmware", []string{nic.FieldPFC, nic.FieldNV}, nic.DriverMLX5, slow{takes: 3 * time.Minute}, false},
		{"firmware after a driver", []string{nic.FieldPFC, nic.FieldNV}, nic.DriverMLX5, slow{takes: 14 * time.Minute, at: 1}, true},
		{"firmware that was begun at once", []string{nic.FieldPFC, nic.FieldNV}, nic.DriverMLX5, slow{takes: 14 * time.Minute, at: 1, late: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tt.s.begun = cancel
				c := clientOf(tt.s)
				var steps []local.Step
				for _, f := range tt.fields {
					steps = append(steps, local.Step{Port: ens, Field: f, Driver: tt.driver})
				}
				start := time.Now()
				u, err := c.Apply(ctx, steps, nil)
				if !errors.Is(err, context.Canceled) || errors.Is(err, local.ErrPartial) != tt.waits || (len(u.Steps) == 1) != tt.waits {
					t.Errorf("apply: undo of %d steps, %v", len(u.Steps), err)
				}
				if waited := time.Since(start); !tt.waits && tt.fields[0] == nic.FieldPFC && waited > 2*time.Minute {
					t.Errorf("gave up after %s", waited)
				}
				time.Sleep(tt.s.takes) // on the fake clock: the agent ends
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
		// A step on AMD's card, whose tool is slow, gets longer; steps on other drivers do not.
		for driver, waits := range map[string]bool{nic.DriverIonic: true, nic.DriverMLX5: false} {
			ctx, cancel := context.WithCancel(t.Context())
			c := clientOf(slow{begun: cancel, takes: 4 * time.Minute})
			err := c.Revert(ctx, local.Undo{Steps: []local.UndoStep{{Port: ens, Field: nic.FieldPFC, Driver: driver}}})
			if errors.Is(err, local.ErrPartial) != waits {
				t.Errorf("revert on %s: %v", driver, err)
			}
			time.Sleep(4 * time.Minute)
			synctest.Wait()
		}
	})
}
