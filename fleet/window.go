package fleet

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
)

// InWindow returns an error of the kind KindWindow if the maintenance windows of the intent
// forbid writes now.
func InWindow(f *intent.Fabric, now time.Time) error {
	return windowError(f, now, "outside the maintenance windows (%s)%s; nothing was written")
}

// windowError returns an error if no maintenance window is open now. format has two verbs:
// the position of the windows in the intent, and when the next one opens.
func windowError(f *intent.Fabric, now time.Time, format string) error {
	if f.Rollout.Windows.Open(now) {
		return nil
	}
	next := rollout.NextWindow(f, now)
	if next != "" {
		next = "; the next one opens " + next
	}
	return engine.ErrorOf("", OpJudge, KindWindow, fmt.Errorf(format, f.Rollout.Windows[0].Pos, next))
}

// inWindow calls InWindow, unless the run may write at any time.
func (o RunOptions) inWindow() error {
	if o.OutsideWindow || o.Fabric == nil {
		return nil
	}
	return InWindow(o.Fabric, o.now())
}

// stillInWindow returns an error if the window has closed, so that the run must not start
// another device.
func (o RunOptions) stillInWindow() error {
	if o.OutsideWindow || o.Fabric == nil {
		return nil
	}
	return windowError(o.Fabric, o.now(), "the maintenance window has closed (%s)%s")
}

func (o RunOptions) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}
