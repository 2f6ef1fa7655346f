package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// watchedDay returns a day of rounds, one every five minutes, with errors in rounds 100 to 120
// and no watch running between rounds 200 and 240.
func watchedDay() []Round {
	var out []Round
	for n := range 288 {
		if n >= 200 && n < 240 {
			continue
		}
		r := Round{Time: time.Date(2026, 11, 21, 0, 5*n, 0, 0, time.UTC), Verdict: "ok", Devices: 8, Read: 8}
		if n >= 100 && n < 120 {
			r.Verdict, r.Errors, r.Warnings = "errors", 2, 1
		}
		if n == 100 || n == 120 {
			r.Changes = []Change{{Gone: n == 120, Severity: checks.Error, ID: "PFC-01", Places: []string{"leaf1 Ethernet240"}, What: "PFC is on for {3}, spine1 has {4}"}}
		}
		if n == 270 {
			r.Verdict, r.Read = "unreadable", 7
		}
		out = append(out, r)
	}
	return out
}

func TestTimeLine(t *testing.T) {
	b := pageBuilder{}
	b.history(watchedDay())
	var got []string
	for _, p := range b.out.Periods {
		got = append(got, fmt.Sprintf("%s %d rounds, %d minutes, %d errors, %d not read, %d changes", p.Verdict, p.Rounds, (p.To-p.From)/60, p.Errors, p.Unread, len(p.Changes)))
	}
	want := `ok 100 rounds, 500 minutes, 0 errors, 0 not read, 0 changes
errors 20 rounds, 100 minutes, 2 errors, 0 not read, 1 changes
ok 80 rounds, 400 minutes, 0 errors, 0 not read, 1 changes
 0 rounds, 200 minutes, 0 errors, 0 not read, 0 changes
ok 30 rounds, 150 minutes, 0 errors, 0 not read, 0 changes
unreadable 1 rounds, 5 minutes, 0 errors, 1 not read, 0 changes
ok 17 rounds, 80 minutes, 0 errors, 0 not read, 0 changes`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	for i, p := range b.out.Periods[1:] {
		if p.From != b.out.Periods[i].To {
			t.Errorf("period %d begins at %d, the one before ends at %d", i+1, p.From, b.out.Periods[i].To)
		}
	}
}

// However long the history is, only its newest rounds are kept.
func TestTimeLineIsBounded(t *testing.T) {
	var rounds []Round
	for n := range maxRounds + 50 {
		r := Round{Time: time.Unix(int64(60*n), 0), Verdict: []string{"ok", "errors"}[n%2], Changes: []Change{{ID: "X", What: fmt.Sprint(n), Places: make([]string, 100)}}}
		rounds = append(rounds, r)
	}
	b := pageBuilder{}
	b.history(rounds)
	changes, last := 0, pageChange{}
	for _, p := range b.out.Periods {
		changes += len(p.Changes)
		for _, c := range p.Changes {
			last = c
		}
	}
	if len(b.out.Periods) != maxRounds || changes != maxChanges || last.What != fmt.Sprint(maxRounds+49) || len(last.Places) != maxChangePlaces || last.More != 100-maxChangePlaces {
		t.Errorf("%d periods, %d changes, the last %+v", len(b.out.Periods), changes, last)
	}
}
