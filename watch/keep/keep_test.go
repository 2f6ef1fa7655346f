package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// clock is a clock that stands still until the test advances it. One Keeper waits on it, with
// one timer at a time.
type clock struct {
	mu    sync.Mutex
	cond  *sync.Cond
	now   time.Time
	at    time.Time // when the timer fires; zero if none is set
	c     chan time.Time
	turns int // number of timers set so far
	ended bool
}

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newClock() *clock {
	c := &clock{now: epoch}
	c.cond = sync.NewCond(&c.mu)
	return c
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.c = c.now.Add(max(d, 0)), make(chan time.Time, 1)
	c.turns++
	c.cond.Broadcast()
	return c.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.at = time.Time{}
	}
}

// jump advances the clock without firing timers.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// after calls do, which must wake the Keeper's loop, and waits until the loop waits again.
func (c *clock) after(do func()) {
	c.mu.Lock()
	n := c.turns
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	for (c.turns == n || c.at.IsZero()) && !c.ended {
		c.cond.Wait()
	}
}

// pass advances the clock and runs all checks due in that time.
func (c *clock) pass(d time.Duration) {
	for end := c.Now().Add(d); ; {
		c.mu.Lock()
		if c.ended || c.at.After(end) {
			c.now = end
			c.mu.Unlock()
			return
		}
		c.now = c.at
		fire := c.c
		c.at = time.Time{}
		c.mu.Unlock()
		c.after(func() { fire <- c.Now() })
	}
}

// source is a wanted state that the test sets.
type source struct {
	mu     sync.Mutex
	wanted Wanted
	err    error
	n      int
}

func (s *source) Load(context.Context) (Wanted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted, s.err
}

func (s *source) Stamp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.n)
}

func (s *source) String() string { return "the test" }

func (s *source) set(h *nic.Host, written time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.err = Wanted{h, written}, err
	s.n++
}

const (
	ens0 = "ens1f0np0"
	ens1 = "ens2f0np0"
)

// rig is a Keeper of a simulated host.
type rig struct {
	*localtest.Host
	*Keeper
	clock  *clock
	source *source
	cancel func() // like a signal

	mu     sync.Mutex
	events []Event
}

func wanted() *nic.Host {
	h := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{}}
	for i, name := range []string{ens0, ens1} {
		h.Ports[name] = &nic.Port{
			Name: name, RDMA: fmt.Sprintf("mlx5_%d", i), DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), LinkPause: qos.Of(false),
			ToS: qos.Of(106), Mode: qos.Of(nic.ModeRoCEv2), MTU: qos.Of(9000),
			Wanted: qos.Of(mlxconfig.Settings{CCPriorities: qos.Priorities(3), CNPDSCP: 46, CNPPriority: 6, FirmwareLLDPOff: true}),
		}
	}
	return h
}

// newRig returns a Keeper that has not started, and a host in its wanted state except for the
// firmware.
func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	r := &rig{Host: localtest.InMemory(t.TempDir()), clock: newClock(), source: &source{}}
	if err := errors.Join(os.MkdirAll(r.Roots.Run, 0o755), os.MkdirAll(r.Roots.Etc, 0o755)); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{ens0, ens1} {
		r.Add(localtest.Port{Name: name, RDMA: fmt.Sprintf("mlx5_%d", i), PCI: fmt.Sprintf("0000:3%d:00.0", i), Driver: nic.DriverMLX5, OFED: true})
	}
	m := r.Machine()
	running, err := m.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(t.Context(), m.Plan(running, wanted(), allOptions), nil); err != nil {
		t.Fatal(err)
	}
	r.Writes()
	// The wanted state must be clearly older than the marks of runs, because the kernel's file
	// times lag by some milliseconds.
	r.source.set(wanted(), time.Now().Add(-time.Second), nil)
	cfg.Machine, cfg.Source, cfg.Clock = m, r.source, r.clock
	if cfg.Interval == 0 {
		cfg.Interval = time.Minute
	}
	cfg.Emit = func(e Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	r.Keeper = New(cfg)
	return r
}

// start runs the Keeper until its first check is over, and returns a function that ends it.
func (r *rig) start(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	var wg sync.WaitGroup
	r.clock.after(func() {
		wg.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
			r.clock.mu.Lock()
			defer r.clock.mu.Unlock()
			r.clock.ended = true
			r.clock.cond.Broadcast()
		})
	})
	end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(end)
	return end
}

// happened returns the events since the last call, one line each.
func (r *rig) happened() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		out = append(out, string(e.Type)+": "+e.String())
	}
	r.events = nil
	return out
}

func (r *rig) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := r.happened(); !slices.Equal(got, lines) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// wake reports a changed device and advances the clock until it has been checked.
func (r *rig) wake(name string) {
	r.clock.after(func() { r.Wake(name) })
	r.clock.pass(spacing)
}

func (r *rig) noPFC(name string) { r.Corrupt(name, func(s *dcb.State) { s.PFC.Enabled = 0 }) }

const (
	isNoPFC  = "pfc of ens1f0np0 is 0x00 {}, wanted 0x08 {3}"
	setPFC   = "repaired: pfc of ens1f0np0 was 0x00 {} and is set to 0x08 {3}"
	pfcFlips = "pfc of ens1f0np0 was set to 0x08 {3}, and something else has set it to 0x00 {} since: no other writer was found in its files and processes"
)

// A change that the kernel notifies is reported within seconds, any other change after the
// interval. The host is not written to and its firmware is not read.
func TestReport(t *testing.T) {
	r := newRig(t, Config{Policy: Report, Allow: qos.ImpactReload})
	r.Programs["mlxconfig"] = func(context.Context, []string) (runner.Result, error) {
		t.Error("mlxconfig is run")
		return runner.Result{}, nil
	}
	if r.Alive() || r.Ready() {
		t.Error("it is alive before it begins")
	}
	end := r.start(t)
	r.want(t)
	if !r.Alive() || !r.Ready() {
		t.Error("it is not ready")
	}
	r.noPFC(ens0)
	begin := r.clock.Now()
	r.wake(ens0)
	r.want(t, "differs: "+isNoPFC+": no other writer was found in its files and processes")
	if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Reason != WhyPolicy || s.Differences[0].Since.Sub(begin) > spacing {
		t.Errorf("%+v", s.Differences)
	}
	r.clock.pass(time.Hour)
	r.want(t)
	r.Corrupt(ens0, withPFC)
	r.SetMTU(ens0, 1500)
	r.SetMTU(ens1, 1500)
	r.clock.pass(time.Minute)
	r.want(t, "differs: mtu of ens1f0np0,ens2f0np0 is 1500, wanted 9000: no other writer was found in its files and processes", "cleared: pfc of ens1f0np0 is as wanted")
	if w := r.Writes(); len(w) > 0 {
		t.Errorf("written: %v", w)
	}
	stuck := false
	r.OnRead("sys/kernel/hostname", func() {
		r.clock.jump(longest + time.Second)
		stuck = !r.Alive()
	})
	r.clock.pass(time.Minute)
	if !stuck || !r.Alive() {
		t.Errorf("stuck: %v; alive later: %v", stuck, r.Alive())
	}
	end()
	if r.Alive() || r.Ready() {
		t.Error("it is alive after its end")
	}
}

// A NIC chosen by a selector is called by its name in the wanted state, and wakes the Keeper
// under the name of its interface.
func TestSelected(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactReload})
	h := wanted()
	h.Ports["rail1"] = h.Ports[ens0]
	h.Ports["rail1"].Name, h.Ports["rail1"].Select = "rail1", qos.Of(intent.Selector{PCI: "0000:30:00.0"})
	delete(h.Ports, ens0)
	r.source.set(h, time.Now(), nil)
	r.start(t)
	r.want(t)
	r.noPFC(ens0)
	r.wake(ens0)
	r.want(t, strings.ReplaceAll("differs: "+isNoPFC+": no other writer was found in its files and processes", ens0, "rail1"), strings.ReplaceAll(setPFC, ens0, "rail1"))
	if got := r.Host.State(ens0).PFC.Enabled; got != qos.Priorities(3) {
		t.Errorf("PFC is %s", got)
	}
}

// Events of other devices are ignored, and several events of a device cause one check.
func TestEventsAreGathered(t *testing.T) {
	r := newRig(t, Config{Interval: time.Hour})
	if err := r.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.Wake("veth0"); len(r.wakes) > 0 {
		t.Error("veth0 is none of the host's")
	}
	if r.Wake(""); len(r.wakes) != 1 {
		t.Error("what was lost may have been about any")
	}
	<-r.wakes
	r.start(t)
	r.clock.pass(10 * time.Minute)
	before := r.count.looks[causeEvent]
	for range 100 {
		r.clock.after(func() { r.Wake(ens0) })
		r.clock.pass(10 * time.Millisecond)
	}
	r.clock.pass(10 * time.Minute)
	if n := r.count.looks[causeEvent] - before; n != 1 {
		t.Errorf("%v looks", n)
	}
	// The next check for a change is not immediate.
	r.clock.after(func() { r.Wake(ens0) })
	r.clock.pass(settle)
	before = r.count.looks[causeEvent]
	r.clock.after(func() { r.Wake(ens0) })
	r.clock.pass(settle)
	if r.count.looks[causeEvent] != before {
		t.Error("two looks in a row")
	}
	r.clock.pass(spacing)
	if r.count.looks[causeEvent] != before+1 {
		t.Error("the change is not looked at")
	}
}

// A repair writes only what differs, and leaves the firmware alone.
func TestRepair(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	card := mlxconfigtest.New("mlxconfig", "0000:30:00.0") // factory settings, not the wanted ones
	r.SetCard(card)
	r.start(t)
	r.noPFC(ens0)
	r.SetCM("mlx5_1", "default_roce_tos", "0")
	r.wake(ens0)
	r.want(t, "differs: "+isNoPFC+": no other writer was found in its files and processes",
		"differs: tos of ens2f0np0 is 0 (DSCP 0), wanted 106 (DSCP 26): no other writer was found in its files and processes",
		setPFC, "repaired: tos of ens2f0np0 was 0 (DSCP 0) and is set to 106 (DSCP 26)")
	if w, calls := r.Writes(), card.Calls(); len(w) != 2 || len(calls) > 0 {
		t.Errorf("written: %v; the card: %v", w, calls)
	}
	if s := r.Keeper.State(); len(s.Differences) > 0 || r.Keeper.State().Note != "" {
		t.Errorf("%+v", s)
	}
	for _, l := range r.cfg.Machine.Left() {
		if l.Run.Run != mark.Agent {
			t.Errorf("the mark was of %v", l.Run)
		}
	}
	r.clock.pass(time.Hour)
	r.want(t)
	if w := r.Writes(); len(w) > 0 {
		t.Errorf("written: %v", w)
	}
}

// A repair with a larger impact than allowed is not made, and its reason is shown.
func TestImpact(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactCounters})
	r.start(t)
	r.noPFC(ens0)
	r.SetCM("mlx5_1", "default_roce_tos", "0")
	r.wake(ens0)
	if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Field != nic.FieldPFC || s.Differences[0].Reason != WhyImpact || s.Differences[0].Impact != qos.ImpactPortFlap {
		t.Errorf("%+v", s.Differences)
	}
	if w := r.Writes(); len(w) != 1 || r.Keeper.State().Host != "gpu1" {
		t.Errorf("written: %v", w)
	}
}

// Another program that keeps setting a value back is named after each repair that does not last,
// and the repairs become rare: within a day little more than one per hour.
func TestRivalIsRepairedAtABoundedRate(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	if err := errors.Join(os.MkdirAll(filepath.Join(r.Roots.Etc, "cron.d"), 0o755),
		os.WriteFile(filepath.Join(r.Roots.Etc, "cron.d", "roce"), []byte("* * * * * root cma_roce_tos -d mlx5_0 -t 0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	writes := 0
	begin := r.clock.Now()
	for r.clock.Now().Sub(begin) < 24*time.Hour {
		r.SetCM("mlx5_0", "default_roce_tos", "0")
		r.clock.pass(time.Minute) // no notification, because ToS is in configfs
		writes += len(r.Writes())
	}
	if writes < 20 || writes > 32 {
		t.Errorf("%d writes in a day", writes)
	}
	lines := r.happened()
	const back = "changed-back: tos of ens1f0np0 was set to 106 (DSCP 26), and something else has set it to 0 (DSCP 0) since: suspected: cma_roce_tos (/etc/cron.d/roce:1)"
	if n := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l != back })); n < 20 || n > 32 {
		t.Errorf("%d times it is said who: %s", n, strings.Join(lines, "\n"))
	}
	if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Reason != WhyRate {
		t.Errorf("%+v", s.Differences)
	}
	// Once a repair lasts, the waits start afresh.
	r.clock.pass(2 * stays)
	r.happened()
	r.SetCM("mlx5_0", "default_roce_tos", "0")
	r.clock.pass(time.Minute)
	if lines := r.happened(); len(lines) != 2 || !strings.HasPrefix(lines[0], "differs: ") || !strings.HasPrefix(lines[1], "repaired: ") {
		t.Errorf("%v", lines)
	}
}

// A program that changes a value before the repair is verified is noticed too.
func TestRivalAtOnce(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.start(t)
	r.noPFC(ens0)
	r.Rival(ens0, 2, func(s *dcb.State) { s.PFC.Enabled = 0 })
	r.wake(ens0)
	r.want(t, "differs: "+isNoPFC+": no other writer was found in its files and processes", "changed-back: "+pfcFlips)
}

// A failed repair is reported and retried less and less often.
func TestRepairFails(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.start(t)
	r.noPFC(ens0)
	r.SetFaults(localtest.Faults{Ignore: true})
	r.wake(ens0)
	lines := r.happened()
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "not-repaired: pfc of ens1f0np0 is not set to 0x08 {3}: pfc of ens1f0np0: accepted without effect") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Reason != WhyError {
		t.Errorf("%+v", s.Differences)
	}
	r.clock.pass(24 * time.Hour)
	if n := len(r.happened()); n < 20 || n > 32 {
		t.Errorf("%d tries in a day", n)
	}
	r.SetFaults(localtest.Faults{})
	r.clock.pass(time.Hour)
	r.want(t, setPFC)
}

// A run over SSH waits for the Keeper, which holds the mark while it writes.
func TestRunWaitsForTheKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
		held, err := r.Machine().Hold(t.Context(), mark.New(mark.Agent))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // longer than the wait for the mark of a run
		defer cancel()
		if got, err := r.Machine().Hold(ctx, mark.New("r7")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", got, err)
		}
		held.End()
		got, err := r.Machine().Hold(t.Context(), mark.New("r7"))
		if err != nil || got.End == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		got.End()
	})
}

// If the wanted state cannot be read, the Keeper does not start; later, it keeps the previous
// state.
func TestWantedState(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.source.set(nil, time.Now(), errors.New("line 3 is odd"))
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "line 3 is odd") {
		t.Errorf("%v", err)
	}
	r.source.set(wanted(), time.Now(), nil)
	r.start(t)
	r.source.set(nil, time.Now(), errors.New("line 3 is odd"))
	r.clock.pass(time.Hour)
	r.want(t, "failed: the wanted state stays as it was: line 3 is odd")
	if s := r.Keeper.State(); s.LoadError != "line 3 is odd" || !r.Ready() {
		t.Errorf("%+v", s)
	}
	h := wanted()
	delete(h.Ports, ens1)
	h.Ports[ens0].MTU = qos.Of(4200)
	r.source.set(h, time.Now(), nil)
	r.clock.after(r.Keeper.Reload)
	r.want(t, "loaded: the wanted state is that of the test", "differs: mtu of ens1f0np0 is 9000, wanted 4200",
		"repaired: mtu of ens1f0np0 was 9000 and is set to 4200")
	if s := r.Keeper.State(); s.LoadError != "" {
		t.Errorf("%+v", s)
	}
}

// A week with 10,000 events does not use more and more memory, and nothing is written without a
// difference.
func TestWeek(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss, Interval: 10 * time.Minute})
	r.start(t)
	events := sharedtest.Sized(1_000, 10_000)
	if testing.Short() {
		events = 100
	}
	random := rand.New(rand.NewPCG(1, 2))
	changes := []func(){
		func() { r.SetCM("mlx5_0", "default_roce_tos", "0") },
		func() { r.SetMTU(ens1, 1500) },
		func() { r.SetCM("mlx5_1", "default_roce_mode", "IB/RoCE v1") },
	}
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	var early uint64
	goroutines := runtime.NumGoroutine()
	made := 0
	for n := range events {
		r.clock.after(func() { r.Wake([]string{ens0, ens1}[n%2]) })
		change := n%100 == 50
		if change {
			changes[random.IntN(len(changes))]()
			made++
		}
		r.clock.pass(time.Duration(random.Int64N(2 * int64(7*24*time.Hour) / int64(events))))
		if n == events/10 {
			early = heap()
		}
		if w := len(r.Writes()); w > 0 && made == 0 || w > 1 {
			t.Fatalf("event %d: %d writes after %d changes", n, w, made)
		} else {
			made -= w
		}
		r.happened()
		r.cfg.Machine.Tools = &runnertest.Fake{Programs: r.Programs} // the fake records every command
	}
	r.clock.pass(time.Hour)
	if made -= len(r.Writes()); made != 0 || len(r.Keeper.State().Differences) > 0 {
		t.Errorf("%d changes were not repaired: %+v", made, r.Keeper.State().Differences)
	}
	late := heap()
	t.Logf("%d looks, %d KiB after a tenth, %d KiB at the end", int(r.count.looks[causeEvent]+r.count.looks[causePeriod]), early>>10, late>>10)
	if late > early+128<<10 {
		t.Errorf("the heap grows from %d to %d KiB", early>>10, late>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

var allOptions = local.Options{CutOff: true}

func withPFC(s *dcb.State) { s.PFC.Enabled = qos.Priorities(3) }

// An event's line says what is unknown, missing or blocked.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Type: Differs, Field: nic.FieldPFC, Ports: []string{"a0", "a1"}, Old: "-", New: "0x08 {3}", Kind: nic.KindUnknown, Blocked: "needs root"}, "pfc of a0,a1 is not known, wanted 0x08 {3}: needs root"},
		{Event{Type: Missing, Field: nic.FieldPort, Ports: []string{"a0"}, Old: "-", New: "present", Kind: nic.KindMissing}, "a0 is missing"},
		{Event{Type: Differs, Field: nic.FieldAgents, Old: "lldpad", New: "-", Kind: nic.KindConflict, Blocked: "stop it"}, "agents: lldpad is in the way: stop it"},
		{Event{Type: Failed, Text: "one\ntwo\x1b[2J"}, "one two"},
	} {
		if got := c.e.String(); !strings.HasPrefix(got, c.want) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A signal during a repair ends it between two steps; the completed steps are reported.
func TestEndOfARepair(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	end := r.start(t)
	r.SetCM("mlx5_0", "default_roce_tos", "0")
	r.SetCM("mlx5_1", "default_roce_tos", "0")
	r.clock.pass(30 * time.Second)
	r.happened()
	// The second read of the host follows the repair.
	r.OnRead("sys/kernel/hostname", func() { r.OnRead("sys/kernel/hostname", r.cancel) })
	r.clock.pass(time.Minute)
	end()
	if lines := r.happened(); len(lines) != 2 || !strings.HasPrefix(lines[1], "repaired: tos of ens1f0np0,ens2f0np0 was 0 (DSCP 0)") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if _, err := os.Lstat(filepath.Join(r.Roots.Run, mark.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mark is left: %v", err)
	}
}
