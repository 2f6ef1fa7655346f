package intent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a maintenance window: a range of local times in a time zone during which runs may
// write to devices. When the clock is set forward, the skipped hour is missing from the window;
// when it is set back, the repeated hour counts twice.
type Window struct {
	Pos  Pos
	Days [7]bool // days on which it begins, indexed by [time.Weekday]
	// From and To are minutes after midnight. To is exclusive; if it is less than From, the
	// window ends on the next day.
	From, To int
	Zone     *time.Location
}

// Windows are the maintenance windows of a fabric; if empty, runs may always write.
type Windows []Window

// maxWindows bounds the number of windows, which the search for the next change iterates over.
const maxWindows = 64

// ahead is how far Opens and Closes search for a change. Every window opens at least once a week,
// unless the clock skips it on its only day.
const ahead = 15 * 24 * time.Hour

// String formats a window as "Mon, Tue 22:00-04:00 Europe/Berlin".
func (w Window) String() string {
	days := "every day"
	if w.Days != [7]bool{true, true, true, true, true, true, true} {
		var on []string
		for day, begins := range w.Days {
			if begins {
				on = append(on, time.Weekday(day).String()[:3])
			}
		}
		days = strings.Join(on, ", ")
	}
	return fmt.Sprintf("%s %02d:%02d-%02d:%02d %s", days, w.From/60, w.From%60, w.To/60, w.To%60, w.Zone)
}

// covers reports whether the window is open at time t.
func (w Window) covers(t time.Time) bool {
	t = t.In(w.Zone)
	day, minute := t.Weekday(), t.Hour()*60+t.Minute()
	if w.From < w.To {
		return w.Days[day] && w.From <= minute && minute < w.To
	}
	return w.Days[day] && minute >= w.From || w.Days[(day+6)%7] && minute < w.To
}

// change returns the next time at which the window may open or close: when the local clock
// reaches From or To, or when the clock is set.
func (w Window) change(t time.Time) time.Time {
	local := t.In(w.Zone)
	_, offset := local.Zone()
	year, month, day := local.Date()
	_, next := local.ZoneBounds()
	for _, minute := range []int{w.From, w.To} {
		at := time.Date(year, month, day, 0, minute, 0, 0, time.FixedZone("", offset))
		if !at.After(t) {
			at = at.Add(24 * time.Hour)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Open reports whether runs may write at time t.
func (ws Windows) Open(t time.Time) bool {
	return len(ws) == 0 || slices.ContainsFunc(ws, func(w Window) bool { return w.covers(t) })
}

// Opens returns when the next window opens, in that window's time zone; t itself if one is open,
// the zero time if none opens within the next 15 days.
func (ws Windows) Opens(t time.Time) time.Time { return ws.next(t, true) }

// Closes returns the next time at which no window is open, in the time zone of the window that
// closes; t itself if none is open now, the zero time if one stays open for more than 15 days.
func (ws Windows) Closes(t time.Time) time.Time { return ws.next(t, false) }

// next returns the first time from t on at which Open returns open.
func (ws Windows) next(t time.Time, open bool) time.Time {
	for end := t.Add(ahead); !t.After(end); {
		if ws.Open(t) == open {
			return t
		}
		var first time.Time
		for _, w := range ws {
			if at := w.change(t); first.IsZero() || at.Before(first) {
				first = at.In(w.Zone)
			}
		}
		if first.IsZero() {
			break
		}
		t = first
	}
	return time.Time{}
}

var weekdays = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

func (r *resolver) windows(raw *list[rawWindow]) {
	if len(raw.Items) > maxWindows {
		r.problems.addf(raw.Pos, "", "more than %d windows", maxWindows)
		return
	}
	for i := range raw.Items {
		r.out.Rollout.Windows = append(r.out.Rollout.Windows, r.window(&raw.Items[i]))
	}
}

func (r *resolver) window(raw *rawWindow) Window {
	w := Window{Pos: raw.Pos, From: minutes(raw.From.V), To: minutes(raw.To.V), Zone: time.UTC}
	if raw.From.Set && raw.To.Set && w.From == w.To {
		r.problems.addf(raw.Pos, `a whole day is from "00:00" to "24:00"`, "the window ends when it begins")
	}
	if raw.Days.Stated && len(raw.Days.Items) == 0 && !raw.Days.Bad {
		r.problems.addf(raw.Days.Pos, "leave days out for every day", "the window has no day")
	}
	for day := range w.Days {
		w.Days[day] = !raw.Days.Stated
	}
	for _, d := range raw.Days.Items {
		w.Days[weekdays[d.V]] = true
	}
	if raw.Timezone.Set {
		zone, err := time.LoadLocation(raw.Timezone.V)
		if err != nil || raw.Timezone.V == time.Local.String() {
			r.problems.addf(raw.Timezone.Pos, "write a name of the IANA database such as Europe/Berlin", "there is no time zone %q", raw.Timezone.V)
			return w
		}
		w.Zone = zone
	}
	return w
}

// minutes parses "22:00"; the decoder has already checked the form.
func minutes(clock string) int {
	h, m, _ := strings.Cut(clock, ":")
	hours, _ := strconv.Atoi(h)
	rest, _ := strconv.Atoi(m)
	return hours*60 + rest
}
