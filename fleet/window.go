package fleet

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
)

// InWindow returns an error of the kind KindWindow where the maintenance windows of
// the intent forbid writes now.
func InWindow(f *intent.Fabric, now time.Time) error {
	return windowError(f, now, "outside the maintenance windows (%s)%s; nothing was written")
}

// windowError is the error of a time at which no window is open. Its format has the
// place of the windows, and when the next one opens.
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

// windowsOf spells the windows of an intent.
func windowsOf(f *intent.Fabric) (out []string) {
	for _, w := range f.Rollout.Windows {
		out = append(out, w.String())
	}
	return out
}

// WindowNow says in a few words whether the maintenance windows of the intent are
// open, and until when, or when the next one opens; "" for an intent without windows.
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

// moment spells a time with its zone, and how far it is away.
func moment(at, now time.Time) string {
	away := max(at.Sub(now).Round(time.Minute), time.Minute)
	return fmt.Sprintf("%s (in %s)", at.Format("Mon 2006-01-02 15:04 MST"), drivers.Spell(away))
}

// inWindow is InWindow for a run, which may be allowed to write at any time.
func (r *run) inWindow() error {
	if r.OutsideWindow || r.Fabric == nil {
		return nil
	}
	return InWindow(r.Fabric, r.Now())
}

// stillInWindow says why no further device of a run is begun.
func (r *run) stillInWindow() error {
	if r.OutsideWindow || r.Fabric == nil {
		return nil
	}
	return windowError(r.Fabric, r.Now(), "the maintenance window has closed (%s)%s")
}
