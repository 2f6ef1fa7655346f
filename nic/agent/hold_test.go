package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/nic/agent"
)

// Locally and remotely, a mark is seen by every other Hold, and disappears with the connection.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		if err := os.MkdirAll(h.Roots.Run, 0o755); err != nil {
			t.Fatal(err)
		}
		here, there := agent.Local(h.Machine()), clientOf(agent.Local(h.Machine()))
		k := mark.New("r1")
		for _, two := range [][2]agent.Machine{{here, there}, {there, here}, {there, there}} {
			ctx, cancel := context.WithCancel(t.Context())
			first, err := two[0].Hold(ctx, k)
			cancel() // the mark outlasts the call
			if err != nil || first.End == nil || first.Note != "" {
				t.Fatalf("%+v, %v", first, err)
			}
			if second, err := two[1].Hold(t.Context(), mark.New("r2")); err != nil || second.End != nil || second.Other == nil || *second.Other != k {
				t.Errorf("%+v, %v", second, err)
			}
			first.End()
			first.End()
			if _, err := os.Lstat(filepath.Join(h.Roots.Run, mark.Name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after its end: %v", err)
			}
		}
		var conn agent.Conn
		cut := clientOf(here)
		dial := cut.Dial
		cut.Dial = func(ctx context.Context) (_ agent.Conn, err error) {
			conn, err = dial(ctx)
			return conn, err
		}
		if lost, err := cut.Hold(t.Context(), k); err != nil || lost.End == nil {
			t.Fatalf("%+v, %v", lost, err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := there.Hold(t.Context(), k)
		if err != nil || again.End == nil {
			t.Fatalf("after a lost connection: %+v, %v", again, err)
		}
		again.End()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cut.Dial = func(ctx context.Context) (agent.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		if _, err := cut.Hold(ctx, k); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no answer: %v", err)
		}
	})
}
