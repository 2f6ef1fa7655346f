package watch_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/watchtest"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// site simulates the watched devices; their answers are set by the test.
type site struct {
	clock *watchtest.Clock

	mu       sync.Mutex
	wrong    map[string][]checks.Finding
	down     map[string]error
	hold     map[string]chan struct{} // reads that block until the channel is closed
	counts   map[string]uint64        // drops of a lossless queue, per device
	paused   uint64                   // how often each device with counts paused a lossy priority
	poll     time.Duration
	takes    time.Duration              // duration of each read
	at       map[string][]time.Duration // times of each device's reads
	now      map[string]bool            // devices being read
	most, in int
	entered  chan struct{} // receives each read, if not nil
}

func newSite() *site {
	return &site{wrong: map[string][]checks.Finding{}, down: map[string]error{}, hold: map[string]chan struct{}{}, counts: map[string]uint64{},
		at: map[string][]time.Duration{}, now: map[string]bool{}}
}

func (f *site) set(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

func (f *site) times(device string) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.at[device])
}

func (f *site) read(t *testing.T) func(context.Context, watch.Device, fleet.Ends) fleet.Reading {
	return func(ctx context.Context, d watch.Device, _ fleet.Ends) (r fleet.Reading) {
		f.mu.Lock()
		if f.now[d.Name] {
			t.Errorf("%s is read twice at one time", d.Name)
		}
		f.now[d.Name] = true
		f.in++
		f.most = max(f.most, f.in)
		f.at[d.Name] = append(f.at[d.Name], f.clock.Since())
		hold := f.hold[d.Name]
		f.mu.Unlock()
		if f.entered != nil {
			f.entered <- struct{}{}
		}
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
			}
		}
		f.clock.Pass(f.takes)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now[d.Name] = false
		f.in--
		if ctx.Err() != nil {
			return fleet.Reading{Device: d.Name, Where: d.Where, Err: fleet.NewError(d.Name, fleet.OpRead, ctx.Err())}
		}
		if err := f.down[d.Name]; err != nil {
			return fleet.Reading{Device: d.Name, Where: d.Where, Err: &fleet.Error{Device: d.Name, Text: err.Error(), Hint: "plug it in"}}
		}
		r.Findings = f.wrong[d.Name]
		if n, ok := f.counts[d.Name]; ok {
			r.Gate = gate.Device{Name: d.Name, Ports: map[string]gate.Port{"Ethernet0": {Classes: []gate.Class{{Name: "rdma", Priority: 3, Queue: 3, Group: 3}}}}}
			r.Sample = &gate.Sample{Device: d.Name, Counters: &drivers.Counters{
				Taken: f.clock.Now(), Ports: map[string]drivers.PortCounters{"Ethernet0": {drivers.QueueDrops.Of(3): n, drivers.PFCTx.Of(4): f.paused}},
				Poll: map[drivers.Metric]time.Duration{drivers.QueueDrops: f.poll},
			}}
		}
		return r
	}
}

func devices(switches, hosts int) (out []watch.Device) {
	for i := range switches {
		out = append(out, watch.Device{Name: fmt.Sprintf("leaf%d", i+1), Where: fmt.Sprintf("fabric.yaml:%d:3", i+1)})
	}
	for i := range hosts {
		out = append(out, watch.Device{Name: fmt.Sprintf("gpu%d", i+1), Host: true})
	}
	return out
}

// pod returns a fabric whose switches are not read by the test; more is appended to its intent.
func pod(t *testing.T, more string) *intent.Fabric {
	t.Helper()
	text, err := examples.Intent("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: bytes.NewReader(append(text, more...))})
	if err != nil {
		t.Fatal(err)
	}
	f.Name = "pod1"
	return f
}

// watching starts a watch of the site, with an interval of a minute unless cfg sets another.
func (f *site) watching(t *testing.T, cfg watch.Config) *trial {
	t.Helper()
	if cfg.Fabric == nil {
		cfg.Fabric = pod(t, "")
	}
	cfg.Read = f.read(t)
	cfg.Interval, cfg.Parallel = cmp.Or(cfg.Interval, time.Minute), cmp.Or(cfg.Parallel, 8)
	c := watchtest.NewClock()
	f.clock = c
	return try(t, c, cfg)
}

// lines formats the changes of a round.
func lines(r *watch.Round) string {
	var b strings.Builder
	for _, e := range r.Events() {
		switch e.Type {
		case watch.Turned:
			fmt.Fprintf(&b, "%d verdict %s, was %q\n", e.Round, e.Verdict, e.Previous)
		default:
			fmt.Fprintf(&b, "%d %s %s %s %s: %s\n", e.Round, e.Type, e.Severity, e.ID, strings.Join(e.Places, ", "), e.What)
		}
	}
	return b.String()
}

func wantLines(t *testing.T, r *watch.Round, want string) {
	t.Helper()
	if got := lines(r); got != want {
		t.Errorf("round %d says\n%swant\n%s", r.N, got, want)
	}
}

func drift(device string, ports ...string) checks.Finding {
	return checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: device, Ports: ports, What: "pfc is {3,4}, the intent says {3}"}
}

// A cause is reported once when it appears and once when it clears, with the ports that gained
// or lost it.
func TestChangesAreSaidOnce(t *testing.T) {
	f := newSite()
	w := f.watching(t, watch.Config{Devices: devices(2, 0)})
	wantLines(t, w.to(1, 0), "1 verdict ok, was \"\"\n")
	f.set(func() {
		f.wrong["leaf1"] = []checks.Finding{drift("leaf1", "Ethernet0", "Ethernet8")}
		f.wrong["leaf2"] = []checks.Finding{drift("leaf2", "Ethernet0", "Ethernet8")}
	})
	wantLines(t, w.to(2, 0), "2 appeared error DRIFT leaf1,leaf2 Ethernet0,Ethernet8: pfc is {3,4}, the intent says {3}\n2 verdict errors, was \"ok\"\n")
	wantLines(t, w.to(3, 0), "")
	f.set(func() { f.wrong["leaf1"] = []checks.Finding{drift("leaf1", "Ethernet8", "Ethernet16")} })
	wantLines(t, w.to(4, 0), "4 cleared error DRIFT leaf1 Ethernet0: pfc is {3,4}, the intent says {3}\n4 appeared error DRIFT leaf1 Ethernet16: pfc is {3,4}, the intent says {3}\n")
	f.set(func() { f.wrong = map[string][]checks.Finding{} })
	r := w.to(5, 0)
	wantLines(t, r, "5 cleared error DRIFT leaf1 Ethernet8,Ethernet16, leaf2 Ethernet0,Ethernet8: pfc is {3,4}, the intent says {3}\n5 verdict ok, was \"errors\"\n")
	if len(r.Findings) != 0 {
		t.Errorf("findings that are cleared are in the round: %v", r.Findings)
	}
}

// The first round reads all devices at once; later rounds give each device a slot in the first
// four fifths of the interval.
func TestReadsAreSpread(t *testing.T) {
	const n = 10
	f := newSite()
	w := f.watching(t, watch.Config{Devices: devices(n, 0), Interval: 5 * time.Minute, Parallel: n})
	w.to(4, 0)
	for k := range n {
		at := f.times(fmt.Sprintf("leaf%d", k+1))
		if len(at) < 4 || at[0] != 0 {
			t.Fatalf("leaf%d was read at %v", k+1, at)
		}
		for round := 1; round < 4; round++ {
			slot := 240 * time.Second / n
			from := time.Duration(round)*5*time.Minute + time.Duration(k)*slot
			if at[round] < from || at[round] >= from+slot {
				t.Errorf("round %d reads leaf%d at %s, want within %s of %s", round+1, k+1, at[round], slot, from)
			}
		}
	}
}

// A device that is down is one finding, whatever its error text, and is retried less and less
// often; its known findings are kept, and the other devices are read.
func TestDeviceDown(t *testing.T) {
	f := newSite()
	f.wrong["leaf1"] = []checks.Finding{drift("leaf1", "Ethernet0")}
	w := f.watching(t, watch.Config{Devices: devices(2, 0)})
	w.to(1, 0)
	f.set(func() { f.down["leaf1"] = errors.New("unreachable") })
	r := w.to(2, 0)
	wantLines(t, r, "2 appeared error READ leaf1: unreachable\n")
	if len(r.Findings) != 2 || r.Read != 1 || !slices.Equal(r.Unread(), []string{"leaf1"}) {
		t.Errorf("round 2 has %v, %d read", r.Findings, r.Read)
	}
	all, _ := w.Devices()
	if all[0].Up || all[0].Failures != 1 || all[0].LastRead.IsZero() || !all[1].Up {
		t.Errorf("the devices are %+v", all)
	}
	f.set(func() { f.down["leaf1"] = errors.New("leaf1: no route from port 40222") })
	for n := 3; n <= 40; n++ {
		wantLines(t, w.to(n, 0), "")
	}
	var rounds []int
	for _, at := range f.times("leaf1") {
		rounds = append(rounds, int(at/time.Minute)+1)
	}
	if want := []int{1, 2, 3, 5, 9, 17, 33}; !slices.Equal(rounds, want) {
		t.Errorf("leaf1 is read in rounds %v, want %v", rounds, want)
	}
	if got := len(f.times("leaf2")); got < 40 {
		t.Errorf("leaf2 is read %d times in 40 rounds", got)
	}
	f.set(func() { f.down = map[string]error{}; f.wrong = map[string][]checks.Finding{} })
	for n := 41; n <= 48; n++ {
		wantLines(t, w.to(n, 0), "")
	}
	r = w.to(49, 0)
	if got := lines(r); !strings.Contains(got, "cleared error READ leaf1") || !strings.Contains(got, "cleared error DRIFT leaf1 Ethernet0") || !strings.Contains(got, "verdict ok") {
		t.Errorf("round 49 says\n%s", got)
	}
}

// A device in backoff is read at least every half hour, however long the interval.
func TestBackoffIsBounded(t *testing.T) {
	f := newSite()
	f.down["leaf1"] = errors.New("unreachable")
	w := f.watching(t, watch.Config{Devices: devices(2, 0), Interval: 10 * time.Minute})
	w.to(30, 0)
	at := f.times("leaf1")
	for i := 1; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap > 30*time.Minute+8*time.Minute {
			t.Errorf("leaf1 is left alone for %s", gap)
		}
	}
	if len(at) > 13 {
		t.Errorf("a device that is down is read %d times in 30 rounds", len(at))
	}
}

// The watch does not wait for a device that hangs, does not read it again meanwhile, and reports
// it once it is overdue.
func TestDeviceHangs(t *testing.T) {
	f := newSite()
	w := f.watching(t, watch.Config{Devices: devices(3, 0)})
	w.to(1, 0)
	hold := make(chan struct{})
	f.set(func() {
		f.hold["leaf2"] = hold
		f.entered = make(chan struct{}, 100)
	})
	wantLines(t, w.to(2, 1), "")
	for range 3 {
		<-f.entered // also wait for leaf2 before the clock advances
	}
	r := w.to(3, 1)
	if got := lines(r); !strings.HasPrefix(got, "3 appeared error READ leaf2: it was not read in the ") || !strings.Contains(got, `verdict unreadable, was "ok"`) {
		t.Errorf("round 3 says\n%s", got)
	}
	events := r.Events()
	line, err := json.Marshal(events[len(events)-1])
	if err != nil || !strings.Contains(string(line), `"unread":1`) {
		t.Errorf("the event of the verdict is %s, %v", line, err)
	}
	wantLines(t, w.to(4, 1), "")
	if n := len(f.times("leaf2")); n != 2 {
		t.Errorf("leaf2 is read %d times", n)
	}
	if n := len(f.times("leaf3")); n != 4 {
		t.Errorf("leaf3 is read %d times in 4 rounds", n)
	}
	f.set(func() { delete(f.hold, "leaf2") })
	close(hold)
	if got := lines(w.to(5, 0)); !strings.HasPrefix(got, "5 cleared error READ leaf2: ") {
		t.Errorf("round 5 says\n%s", got)
	}
}

// No more devices than allowed are read at the same time.
func TestParallel(t *testing.T) {
	f := newSite()
	hold := make(chan struct{})
	f.entered = make(chan struct{}, 6)
	for i := range 6 {
		f.hold[fmt.Sprintf("leaf%d", i+1)] = hold
	}
	w := f.watching(t, watch.Config{Devices: devices(6, 0), Parallel: 2, Rounds: 1})
	w.clock.Parked()
	<-f.entered
	<-f.entered
	if _, n := w.Devices(); n != 2 {
		t.Errorf("%d reads are in flight", n)
	}
	close(hold)
	w.to(1, 0)
	if f.most != 2 {
		t.Errorf("%d devices are read at the same time", f.most)
	}
}

// If the interval is too short for all devices, each device is still read eventually.
func TestTooManyDevices(t *testing.T) {
	const n = 6
	f := newSite()
	f.takes = 20 * time.Second
	w := f.watching(t, watch.Config{Devices: devices(n, 0), Parallel: 1})
	w.to(20, 0)
	for i := range n {
		if got := len(f.times(fmt.Sprintf("leaf%d", i+1))); got < 7 {
			t.Errorf("leaf%d is read %d times in 20 rounds", i+1, got)
		}
	}
}

// In the first round, hosts are read after the switches that they are compared with.
func TestHostsWaitForSwitches(t *testing.T) {
	f := newSite()
	hold := make(chan struct{})
	f.hold["leaf2"] = hold
	w := f.watching(t, watch.Config{Devices: devices(2, 2), Rounds: 1})
	w.clock.Parked()
	if n := len(f.times("gpu1")) + len(f.times("gpu2")); n != 0 {
		t.Errorf("%d hosts are read before the switches are", n)
	}
	close(hold)
	if r := w.to(1, 0); r.Read != 4 {
		t.Errorf("%d devices are read", r.Read)
	}
}

// Counters are compared between rounds. A finding that differs only in its numbers is the same
// finding.
func TestCounters(t *testing.T) {
	f := newSite()
	f.counts["leaf1"] = 1000
	w := f.watching(t, watch.Config{Devices: devices(2, 0)})
	wantLines(t, w.to(1, 0), "1 verdict ok, was \"\"\n")
	wantLines(t, w.to(2, 0), "")
	f.set(func() { f.counts["leaf1"] += 7 })
	wantLines(t, w.to(3, 0), "3 appeared error gate:lossless-drop leaf1 Ethernet0: queue 3 of lossless class rdma dropped 7 packets\n3 verdict errors, was \"ok\"\n")
	f.set(func() { f.counts["leaf1"]++ })
	wantLines(t, w.to(4, 0), "")
	wantLines(t, w.to(5, 0), "5 cleared error gate:lossless-drop leaf1 Ethernet0: queue 3 of lossless class rdma dropped 1 packet\n5 verdict ok, was \"errors\"\n")
}

// If counters are updated less often than rounds happen, a finding is kept for a full window,
// and no window is reported as too short.
func TestSlowCounters(t *testing.T) {
	f := newSite()
	f.counts["leaf1"], f.poll = 0, time.Minute
	w := f.watching(t, watch.Config{Devices: devices(1, 0), Interval: 10 * time.Second})
	for n := 1; n <= 30; n++ {
		r := w.to(n, 0)
		if n > 1 {
			wantLines(t, r, "")
		}
	}
	f.set(func() { f.counts["leaf1"] = 5 })
	if got := lines(w.to(31, 0)); !strings.Contains(got, "appeared error gate:lossless-drop") {
		t.Errorf("round 31 says\n%s", got)
	}
	n := 32
	for ; lines(w.to(n, 0)) == "" && n < 70; n++ {
	}
	if n < 31+12 || n > 31+18 {
		t.Errorf("the loss is cleared in round %d, want after two minutes", n)
	}
}

// Ctrl-C cancels the reads without reporting them, and is not an error.
func TestStop(t *testing.T) {
	f := newSite()
	w := f.watching(t, watch.Config{Devices: devices(3, 0)})
	w.to(1, 0)
	if !w.Alive() {
		t.Error("the loop is not alive while it runs")
	}
	f.set(func() { f.hold["leaf2"] = make(chan struct{}) })
	w.to(2, 1)
	w.stop()
	if n := w.Last().N; n != 2 || w.Alive() {
		t.Errorf("after the end: %d rounds, alive %v", n, w.Alive())
	}
}

// A loop that hangs is not alive.
func TestLoopThatHangs(t *testing.T) {
	f := newSite()
	in, out := make(chan struct{}), make(chan struct{})
	w := f.watching(t, watch.Config{Devices: devices(1, 0), Rounds: 1, Round: func(*watch.Round) { close(in); <-out }})
	<-in
	if !w.Alive() {
		t.Error("the loop counts as dead at once")
	}
	w.clock.Pass(10 * time.Minute)
	if w.Alive() {
		t.Error("the loop counts as alive after 10 minutes")
	}
	close(out)
}

// The history holds one day of rounds.
func TestHistory(t *testing.T) {
	f := newSite()
	w := f.watching(t, watch.Config{Devices: devices(1, 0)})
	w.to(300, 0)
	h := w.History()
	if len(h) != 288 || h[287].Round-h[0].Round != 287 || h[0].Verdict != watch.OK || h[0].Devices != 1 {
		t.Errorf("the history has %d rounds, from %+v", len(h), h[0])
	}
}

func TestNoDevice(t *testing.T) {
	if err := watch.New(watch.Config{Fabric: &intent.Fabric{}, Interval: time.Minute, Parallel: 1}).Run(t.Context()); err == nil {
		t.Error("nothing is watched without an error")
	}
}
