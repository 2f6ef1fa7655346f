package rollout

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
)

// Windows returns the maintenance windows of an intent as text.
func Windows(f *intent.Fabric) (out []string) {
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

// NextWindow returns when the next maintenance window of the intent opens; "" if none does.
func NextWindow(f *intent.Fabric, now time.Time) string {
	at := f.Rollout.Windows.Opens(now)
	if at.IsZero() {
		return ""
	}
	return moment(at, now)
}

// moment formats a time with its zone and how far away it is.
func moment(at, now time.Time) string {
	away := max(at.Sub(now).Round(time.Minute), time.Minute)
	return fmt.Sprintf("%s (in %s)", at.Format("Mon 2006-01-02 15:04 MST"), drivers.Spell(away))
}
