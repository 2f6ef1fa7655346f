package fleet

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
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
	ws := f.Rollout.Windows
	if ws.Open(now) {
		return nil
	}
	next := ""
	if at := ws.Opens(now); !at.IsZero() {
		next = "; the next one opens " + moment(at, now)
	}
	return errorAs("", OpJudge, KindWindow, fmt.Errorf(format, ws[0].Pos, next))
}

// windowsOf returns the maintenance windows of an intent as text.
func windowsOf(f *intent.Fabric) (out []string) {
	for _, w := range f.Rollout.Windows {
		out = append(out, w.String())
	}
	return out
}

// WindowNow describes whether a maintenance window of the intent is open and until when,
// or when the next one opens. It returns "" for an intent without windows.
func WindowNow(f *intent.Fabric, now time.Time) string {
	ws := f.Rollout.Windows
	closes, opens := ws.Closes(now), ws.Opens(now)
	switch {
	case len(ws) == 0:
		return ""
	case !ws.Open(now) && opens.IsZero():
		return "closed"
	case !ws.Open(now):
		return "closed, opens " + moment(opens, now)
	case closes.IsZero():
		return "open"
	}
	return "open until " + moment(closes, now)
}

// moment formats a time with its zone and how far away it is.
func moment(at, now time.Time) string {
	away := max(at.Sub(now).Round(time.Minute), time.Minute)
	return fmt.Sprintf("%s (in %s)", at.Format("Mon 2006-01-02 15:04 MST"), drivers.Spell(away))
}

// inWindow calls InWindow, unless the run may write at any time.
func (r *run) inWindow() error {
	if r.OutsideWindow || r.Fabric == nil {
		return nil
	}
	return InWindow(r.Fabric, r.Now())
}

// stillInWindow returns an error if the window has closed, so that the run must not start
// another device.
func (r *run) stillInWindow() error {
	if r.OutsideWindow || r.Fabric == nil {
		return nil
	}
	return windowError(r.Fabric, r.Now(), "the maintenance window has closed (%s)%s")
}
