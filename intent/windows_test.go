package intent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const dayMinutes = 24 * 60

// zones covers all kinds of clock changes: by an hour and by half an hour, at midnight, in both
// hemispheres, four times a year around Ramadan, and none.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "Africa/Cairo", "Pacific/Auckland"}

// shown reports whether a window is open, comparing the local time as text: "Mon 22:15".
func shown(w Window, t time.Time) bool {
	day, clock, _ := strings.Cut(t.In(w.Zone).Format("Mon 15:04"), " ")
	year, month, date := t.In(w.Zone).Date()
	before := time.Date(year, month, date-1, 12, 0, 0, 0, w.Zone).Format("Mon") // noon, because some days have no midnight
	from, to := fmt.Sprintf("%02d:%02d", w.From/60, w.From%60), fmt.Sprintf("%02d:%02d", w.To/60, w.To%60)
	on := func(day string) bool { return w.Days[weekdays[strings.ToLower(day)]] }
	if from < to {
		return on(day) && clock >= from && clock < to
	}
	return on(day) && clock >= from || on(before) && clock < to
}

// Opens and Closes agree with a minute-by-minute search.
func TestWindowsWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ws Windows
		for range rapid.IntRange(1, 3).Draw(t, "windows") {
			w := Window{From: rapid.IntRange(0, dayMinutes-1).Draw(t, "from"), To: rapid.IntRange(0, dayMinutes).Draw(t, "to")}
			if w.From == w.To {
				t.Skip("not a window")
			}
			days := rapid.IntRange(1, 127).Draw(t, "days")
			for d := range w.Days {
				w.Days[d] = days>>d&1 == 1
			}
			zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
			if err != nil {
				t.Fatal(err)
			}
			w.Zone = zone
			ws = append(ws, w)
		}
		start := time.Unix(rapid.Int64Range(1_735_689_600, 1_893_456_000).Draw(t, "start"), 0) // 2025 to 2029
		if rapid.Bool().Draw(t, "set") {
			// Start close to a clock change.
			if _, next := start.In(ws[0].Zone).ZoneBounds(); !next.IsZero() {
				start = next.Add(time.Duration(rapid.IntRange(-2*dayMinutes, dayMinutes).Draw(t, "before")) * time.Minute)
			}
		}
		open := func(at time.Time) bool {
			for _, w := range ws {
				if shown(w, at) {
					return true
				}
			}
			return false
		}
		want := map[bool]time.Time{}
		for i := range int(ahead / time.Minute) {
			at := start
			if i > 0 {
				at = start.Truncate(time.Minute).Add(time.Duration(i) * time.Minute)
			}
			now := open(at)
			if i < 3*dayMinutes && ws.Open(at) != now {
				t.Fatalf("at %s open is %v", at.In(ws[0].Zone), !now)
			}
			if want[now].IsZero() {
				want[now] = at
			}
			if len(want) == 2 && i > 3*dayMinutes {
				break
			}
		}
		if got := ws.Opens(start); !got.Equal(want[true]) {
			t.Fatalf("from %s opens %s, want %s", start, got, want[true])
		}
		if got := ws.Closes(start); !got.Equal(want[false]) {
			t.Fatalf("from %s closes %s, want %s", start, got, want[false])
		}
	})
}

// Opens and Closes at times that are easy to verify with a calendar.
func TestWindows(t *testing.T) {
	t.Parallel()
	const berlin = "rollout: {windows: [{days: [fri, sat], from: 22:00, to: 04:00, timezone: Europe/Berlin}]}\n"
	const early = "rollout: {windows: [{days: [sun], from: 02:15, to: 02:45, timezone: Europe/Berlin}]}\n"
	for _, c := range []struct{ name, in, now, opens, closes string }{
		{"none", "", "2026-11-24T12:00:00Z", "now", "never"},
		{"before", berlin, "2026-11-26T12:00:00Z", "Fri 2026-11-27 22:00 CET", "now"},
		{"begins", berlin, "2026-11-27T21:00:00Z", "now", "Sat 2026-11-28 04:00 CET"},
		{"a second before", berlin, "2026-11-27T20:59:59Z", "Fri 2026-11-27 22:00 CET", "now"},
		{"past midnight", berlin, "2026-11-29T02:59:59Z", "now", "Sun 2026-11-29 04:00 CET"},
		{"ends", berlin, "2026-11-29T03:00:00Z", "Fri 2026-12-04 22:00 CET", "now"},
		{"clock forward", berlin, "2026-03-28T21:00:00Z", "now", "Sun 2026-03-29 04:00 CEST"},
		{"skipped", early, "2026-03-28T12:00:00Z", "Sun 2026-04-05 02:15 CEST", "now"},
		{"clock back", early, "2026-10-25T00:30:00Z", "now", "Sun 2026-10-25 02:45 CEST"},
		{"clock back, again", early, "2026-10-25T00:45:00Z", "Sun 2026-10-25 02:15 CET", "now"},
		{"default", "rollout: {windows: [{from: 01:00, to: 02:00}]}\n", "2026-11-24T02:00:00Z", "Wed 2026-11-25 01:00 UTC", "now"},
		{"always", "rollout: {windows: [{from: 00:00, to: 24:00}]}\n", "2026-11-24T12:00:00Z", "now", "never"},
		{"one after another", "rollout: {windows: [{from: 00:00, to: 12:00}, {from: 12:00, to: 13:00, timezone: Etc/UTC}]}\n", "2026-11-24T11:00:00Z", "now", "Tue 2026-11-24 13:00 UTC"},
	} {
		ws := load(t, good+c.in).Rollout.Windows
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		text := func(at time.Time) string {
			switch {
			case at.IsZero():
				return "never"
			case at.Equal(now):
				return "now"
			}
			return at.Format("Mon 2006-01-02 15:04 MST")
		}
		if got := text(ws.Opens(now)); got != c.opens {
			t.Errorf("%s: opens %s, want %s", c.name, got, c.opens)
		}
		if got := text(ws.Closes(now)); got != c.closes {
			t.Errorf("%s: closes %s, want %s", c.name, got, c.closes)
		}
	}
}
