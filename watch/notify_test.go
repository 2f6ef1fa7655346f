package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
)

// line simulates the change notifications of a test's switches.
type line struct {
	t  *testing.T
	up chan string
	// fail, if it returns an error, ends a subscription before it is established.
	fail func(device string) error

	mu      sync.Mutex
	changed map[string]func()
	tries   map[string][]time.Duration
	now     map[string]bool
}

// half puts each read in the middle of its slot.
func half() float64 { return 0.5 }

func newLine(t *testing.T) *line {
	return &line{t: t, up: make(chan string, 100), changed: map[string]func(){}, tries: map[string][]time.Duration{}, now: map[string]bool{}}
}

func (l *line) notify(f *site) func(context.Context, watch.Device, func(), func()) error {
	return func(ctx context.Context, d watch.Device, ready, changed func()) error {
		l.mu.Lock()
		if l.now[d.Name] || d.Host {
			l.t.Errorf("a second subscription to %s, or one to a host", d.Name)
		}
		l.now[d.Name], l.changed[d.Name] = true, changed
		l.tries[d.Name] = append(l.tries[d.Name], f.clock.Since())
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.now[d.Name] = false
		}()
		if l.fail != nil {
			if err := l.fail(d.Name); err != nil {
				return err
			}
		}
		ready()
		l.up <- d.Name
		<-ctx.Done()
		return ctx.Err()
	}
}

// say sends the given number of change notifications of a device.
func (l *line) say(device string, times int) {
	l.mu.Lock()
	changed := l.changed[device]
	l.mu.Unlock()
	for range times {
		changed()
	}
}

func (l *line) held(n int) {
	for range n {
		<-l.up
	}
}

// A switch is read two seconds after its change notification, once however many there are, and
// the result is delivered at once. The rounds keep their schedule.
func TestChangeIsReadBeforeItsTurn(t *testing.T) {
	f, l := newSite(), newLine(t)
	w := f.watching(t, watch.Config{Devices: devices(3, 1), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half})
	wantLines(t, w.to(1, 0), "1 verdict ok, was \"\"\n")
	l.held(3)
	if n := w.Subscriptions(); n != 3 {
		t.Errorf("%d subscriptions", n)
	}
	f.set(func() { f.wrong["leaf2"] = []checks.Finding{drift("leaf2", "Ethernet0")} })
	begin := w.clock.Since()
	l.say("leaf2", 100)
	w.clock.Soon(w.Watcher, 2*time.Second)
	r := w.Last()
	wantLines(t, r, "1 appeared error DRIFT leaf2 Ethernet0: pfc is {3,4}, the intent says {3}\n1 verdict errors, was \"ok\"\n")
	if !slices.Equal(r.Update, []string{"leaf2"}) || r.Read != 4 || r.Took != 0 {
		t.Errorf("the update is %+v", r)
	}
	if at := f.times("leaf2"); len(at) != 2 || at[1] != begin+2*time.Second {
		t.Errorf("leaf2 is read at %v", at)
	}
	f.set(func() { f.wrong = map[string][]checks.Finding{} })
	l.say("leaf2", 1)
	w.clock.Soon(w.Watcher, 2*time.Second)
	wantLines(t, w.Last(), "1 cleared error DRIFT leaf2 Ethernet0: pfc is {3,4}, the intent says {3}\n1 verdict ok, was \"errors\"\n")
	wantLines(t, w.to(2, 0), "")
	if len(f.times("leaf1")) != 2 || len(f.times("leaf2")) != 4 || len(f.times("gpu1")) != 2 {
		t.Errorf("after two rounds: leaf1 is read at %v, leaf2 at %v, gpu1 at %v", f.times("leaf1"), f.times("leaf2"), f.times("gpu1"))
	}
	// Changes shown by updates are part of the next round's record.
	h := w.History()
	if len(h) != 2 || len(h[0].Changes) != 0 || len(h[1].Changes) != 2 {
		t.Fatalf("the history has %+v", h)
	}
	if c := h[1].Changes; c[0].Type != watch.Appeared || c[1].Type != watch.Cleared || c[0].ID != "DRIFT" || !slices.Equal(c[0].Places, []string{"leaf2 Ethernet0"}) {
		t.Errorf("the changes are %+v", c)
	}
}

// A round that read a switch before a change ends with the result of the later read.
func TestRoundTakesTheNewerRead(t *testing.T) {
	f, l := newSite(), newLine(t)
	w := f.watching(t, watch.Config{Devices: devices(2, 0), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half})
	w.to(1, 0)
	l.held(2)
	for len(f.times("leaf1")) < 2 {
		w.clock.Step(w.Watcher)
	}
	f.set(func() { f.wrong["leaf1"] = []checks.Finding{drift("leaf1", "Ethernet0")} })
	l.say("leaf1", 1)
	w.clock.Soon(w.Watcher, 2*time.Second)
	if r := w.Last(); r.N != 1 || r.Verdict != watch.Errors {
		t.Errorf("the update is %+v", r)
	}
	r := w.to(2, 0)
	wantLines(t, r, "")
	if r.Update != nil || len(r.Findings) != 1 || r.Read != 2 {
		t.Errorf("round 2 is %+v", r)
	}
}

// A notification during a read of the switch waits for that read to end. A switch that cannot be
// read is left to the rounds.
func TestChangeDuringARead(t *testing.T) {
	f, l := newSite(), newLine(t)
	f.entered = make(chan struct{}, 100)
	w := f.watching(t, watch.Config{Devices: devices(1, 0), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half})
	w.to(1, 0)
	l.held(1)
	<-f.entered
	hold := make(chan struct{})
	f.set(func() { f.hold["leaf1"] = hold })
	l.say("leaf1", 1)
	go func() { // during the read
		<-f.entered
		l.say("leaf1", 5)
		f.set(func() { delete(f.hold, "leaf1") })
		close(hold)
	}()
	w.clock.Soon(w.Watcher, 2*time.Second)
	w.clock.Soon(w.Watcher, 2*time.Second)
	at := f.times("leaf1")
	if len(at) != 3 || at[2]-at[1] < 2*time.Second {
		t.Errorf("leaf1 is read at %v", at)
	}

	f.set(func() { f.down["leaf1"] = errors.New("gone") })
	w.to(2, 0)
	n := len(f.times("leaf1"))
	l.say("leaf1", 1)
	wantLines(t, w.to(3, 0), "")
	if got := len(f.times("leaf1")); got != n+1 {
		t.Errorf("a switch that is down is read %d times in a round", got-n)
	}
}

// A failed early read is not a finding; a failed read in the next round is.
func TestEarlyReadFails(t *testing.T) {
	f, l := newSite(), newLine(t)
	w := f.watching(t, watch.Config{Devices: devices(1, 0), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half})
	w.to(1, 0)
	l.held(1)
	f.set(func() { f.down["leaf1"] = errors.New("it restarts") })
	l.say("leaf1", 1)
	w.clock.Soon(w.Watcher, 2*time.Second)
	if r := w.Last(); r.Update != nil || len(f.times("leaf1")) != 2 {
		t.Errorf("after %d reads: %+v", len(f.times("leaf1")), r)
	}
	f.set(func() { delete(f.down, "leaf1") })
	wantLines(t, w.to(2, 0), "")
}

// A broken subscription is not a finding and is retried less and less often; an unsupported one
// is not retried. No more subscriptions are started at once than devices may be read.
func TestSubscriptionBreaks(t *testing.T) {
	f, l := newSite(), newLine(t)
	l.fail = func(device string) error {
		if device == "leaf2" {
			return fmt.Errorf("leaf2: %w", drivers.ErrUnsupported)
		}
		return io.ErrUnexpectedEOF
	}
	w := f.watching(t, watch.Config{Devices: devices(2, 0), Notify: l.notify(f), Rand: half})
	for n := 1; n <= 240; n++ {
		if got := lines(w.to(n, 0)); n > 1 && got != "" {
			t.Fatalf("round %d says %s", n, got)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.tries["leaf2"]; len(got) != 1 {
		t.Errorf("the switch without subscriptions is asked at %v", got)
	}
	got := l.tries["leaf1"]
	for i := 1; i < len(got); i++ {
		if gap, least := got[i]-got[i-1], min(10*time.Second<<(i-1), 30*time.Minute)*3/4; gap < least {
			t.Errorf("try %d comes %s after the one before, want %s at least", i+1, gap, least)
		}
	}
	// 16 if each attempt ends before the clock advances
	if len(got) < 5 {
		t.Errorf("the broken subscription is tried at %v", got)
	}
	if w.Subscriptions() != 0 {
		t.Error("a subscription is said to hold")
	}
}

// An update keeps suppressed findings and findings about counters.
func TestUpdateKeepsWhatItDoesNotLookAt(t *testing.T) {
	f, l := newSite(), newLine(t)
	f.counts["leaf1"], f.counts["leaf2"], f.paused = 1, 0, 9
	host := checks.Finding{ID: "NIC-01", Severity: checks.Warning, Device: "gpu1", What: "x"}
	f.wrong["gpu1"] = []checks.Finding{host}
	w := f.watching(t, watch.Config{Devices: devices(2, 1), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half,
		Fabric: pod(t, "suppress: [{check: PFC-14, on: leaf2, reason: before the upgrade}]\n")})
	w.to(1, 0)
	l.held(2)
	f.set(func() { f.counts["leaf1"] = 8 })
	before := w.to(2, 0)
	if !strings.Contains(lines(before), "gate:lossless-drop leaf1") || !strings.Contains(lines(before), "PFC-14 leaf1") || before.Counts().Suppressed != 1 {
		t.Fatalf("round 2 says %s", lines(before))
	}
	l.say("leaf1", 1)
	w.clock.Soon(w.Watcher, 2*time.Second)
	r := w.Last()
	wantLines(t, r, "")
	if !slices.Equal(r.Update, []string{"leaf1"}) || len(r.Findings) != len(before.Findings) {
		t.Errorf("the update has %v, round 2 had %v", r.Findings, before.Findings)
	}
	l.say("leaf2", 1)
	w.clock.Soon(w.Watcher, 2*time.Second)
	r = w.Last()
	wantLines(t, r, "")
	if !slices.Equal(r.Update, []string{"leaf2"}) || r.Counts().Suppressed != 1 {
		t.Errorf("the update has %v, round 2 had %v", r.Findings, before.Findings)
	}
}

// Switches that change together are delivered as one update, even if one read takes longer; a
// read that hangs delays the others by ten seconds.
func TestChangesTogether(t *testing.T) {
	f, l := newSite(), newLine(t)
	w := f.watching(t, watch.Config{Devices: devices(3, 0), Interval: 10 * time.Minute, Notify: l.notify(f), Rand: half})
	w.to(1, 0)
	l.held(3)
	f.set(func() {
		for _, d := range []string{"leaf1", "leaf2"} {
			f.wrong[d] = []checks.Finding{drift(d, "Ethernet0")}
		}
	})
	l.say("leaf1", 1)
	w.clock.Pass(time.Second)
	l.say("leaf2", 1)
	for w.Last().Update == nil {
		w.clock.Soon(w.Watcher, 2*time.Second)
	}
	wantLines(t, w.Last(), "1 appeared error DRIFT leaf1,leaf2 Ethernet0: pfc is {3,4}, the intent says {3}\n1 verdict errors, was \"ok\"\n")
	if got := w.Last().Update; !slices.Equal(got, []string{"leaf1", "leaf2"}) {
		t.Errorf("the update is of %v", got)
	}

	f.set(func() {
		f.wrong = map[string][]checks.Finding{}
		f.hold["leaf1"] = make(chan struct{})
	})
	begin := w.clock.Since()
	l.say("leaf1", 1)
	l.say("leaf2", 1)
	w.clock.Near(2 * time.Second)
	for slices.Equal(w.Last().Update, []string{"leaf1", "leaf2"}) {
		w.clock.StepWith(w.Watcher, 1)
	}
	wantLines(t, w.Last(), "1 cleared error DRIFT leaf2 Ethernet0: pfc is {3,4}, the intent says {3}\n")
	if took := w.clock.Since() - begin; took != 12*time.Second {
		t.Errorf("leaf2 is reported after %s", took)
	}
}
