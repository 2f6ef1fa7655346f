package report

import (
	"cmp"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Round is a round of a watch, for the timeline of the HTML form.
type Round struct {
	Time             time.Time // end of the round
	Verdict          string    // the watch's verdict: "ok", "errors"
	Errors, Warnings int
	Devices, Read    int
	Changes          []Change // since the previous round
}

// Change is a cause that appeared or disappeared.
type Change struct {
	Gone     bool
	Severity checks.Severity
	ID       string
	Places   []string
	More     int // number of places not listed
	What     string
}

// Limits of the timeline: only the newest rounds and changes are kept, and only a few places per
// change.
const (
	maxRounds       = 10000
	maxChanges      = 500
	maxChangePlaces = 6
)

// pagePeriod is a series of consecutive rounds with the same result.
type pagePeriod struct {
	From     int64        `json:"f"` // Unix time in seconds
	To       int64        `json:"t"`
	Rounds   int          `json:"n"`
	Verdict  string       `json:"v"` // "" for a period without rounds
	Errors   int          `json:"e"`
	Warnings int          `json:"w"`
	Unread   int          `json:"u"`
	Changes  []pageChange `json:"c,omitempty"`
}

type pageChange struct {
	Time     int64           `json:"t"`
	Gone     bool            `json:"g,omitempty"`
	Severity checks.Severity `json:"s"`
	ID       string          `json:"c"`
	Places   []string        `json:"p,omitempty"`
	More     int             `json:"m,omitempty"` // number of places left out
	What     string          `json:"w"`
}

// history merges rounds into periods. A period lasts until the next one begins; if rounds are
// missing because no watch was running, a period without a verdict fills the gap.
func (b *pageBuilder) history(rounds []Round) {
	rounds = rounds[max(0, len(rounds)-maxRounds):]
	pause := usualPause(rounds)
	changes := 0
	for _, r := range rounds {
		changes += len(r.Changes)
	}
	for i, r := range rounds {
		p := pagePeriod{From: r.Time.Unix(), To: r.Time.Unix(), Rounds: 1, Verdict: clean(r.Verdict), Errors: r.Errors, Warnings: r.Warnings, Unread: r.Devices - r.Read}
		for _, c := range r.Changes {
			if changes--; changes >= maxChanges {
				continue // drops the oldest changes
			}
			out := pageChange{Time: p.From, Gone: c.Gone, Severity: c.Severity, ID: clean(c.ID), What: clean(c.What), More: c.More}
			named := min(len(c.Places), maxChangePlaces)
			out.More += len(c.Places) - named
			for _, at := range c.Places[:named] {
				out.Places = append(out.Places, clean(at))
			}
			p.Changes = append(p.Changes, out)
		}
		if n := len(b.out.Periods); n > 0 {
			last := &b.out.Periods[n-1]
			if since := r.Time.Sub(rounds[i-1].Time); pause > 0 && since > 3*pause {
				last.To += int64(pause / time.Second)
				b.out.Periods = append(b.out.Periods, pagePeriod{From: last.To, To: p.From})
			} else {
				last.To = p.From
				if last.Verdict == p.Verdict && last.Errors == p.Errors && last.Warnings == p.Warnings && last.Unread == p.Unread {
					last.Rounds++
					last.Changes = append(last.Changes, p.Changes...)
					continue
				}
			}
		}
		b.out.Periods = append(b.out.Periods, p)
	}
}

// usualPause returns the median time between rounds.
func usualPause(rounds []Round) time.Duration {
	var all []time.Duration
	for i := 1; i < len(rounds); i++ {
		all = append(all, rounds[i].Time.Sub(rounds[i-1].Time))
	}
	if len(all) == 0 {
		return 0
	}
	ordered.Sort(all, cmp.Compare)
	return all[len(all)/2]
}
