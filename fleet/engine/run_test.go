package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// job returns a task with the plan {3,4} -> {3} for a box.
func job(name string, b *enginetest.Box) Task {
	t := Task{
		Device: Device{Name: name, Open: func(context.Context) (drivers.Driver, error) { return b, nil }},
		Plan: &DevicePlan{
			Name: name, Base: "{3,4}", Steps: []drivers.Step{{Via: "gnmi"}},
			Changes: []Group{{Change: qos.Change{Field: qos.KindPFC.Attr(), Impact: qos.ImpactPortFlap}}},
		},
		Want: enginetest.Holding(qos.Priorities(3)),
	}
	t.Steps = StepsDigest(t.Plan.Steps)
	return t
}

// nothing empties the plan of a task.
func (t *Task) nothing() { t.Plan.Steps, t.Plan.Changes = nil, nil }

// work judges the plans of tasks and carries them out in one wave.
func (r Run) work(ctx context.Context, tasks ...Task) ([]Outcome, error) {
	r.AppliedTimeout = cmp.Or(r.AppliedTimeout, 30*time.Second)
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name)
	}
	return r.runWaves(ctx, []rollout.Wave{{Devices: names}}, func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		i := slices.Index(names, device)
		judged := Outcome{Device: device, State: Skipped}
		if err := tasks[i].Plan.Error; err != nil {
			judged.State, judged.Error = Failed, err
		}
		return r.applyJudged(ctx, out, judged, func() (Task, error) { return tasks[i], nil })
	})
}

func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		box   enginetest.Box
		edit  func(*Task, *Run)
		state State
		mask  qos.PrioritySet
		calls []string
		err   error
	}{
		"as planned":        {state: Applied, mask: qos.Priorities(3), calls: []string{"apply", "confirm", "close"}},
		"apply fails":       {box: enginetest.Box{ApplyErr: boom}, state: Reverted, mask: qos.Priorities(3, 4), calls: []string{"apply", "revert", "close"}, err: boom},
		"yes, but nothing":  {box: enginetest.Box{Half: true}, state: Reverted, mask: qos.Priorities(3, 4), calls: []string{"apply", "revert", "close"}, err: drivers.ErrPartial},
		"takes a moment":    {box: enginetest.Box{Late: 1}, edit: func(_ *Task, o *Run) { o.AppliedTimeout = time.Minute }, state: Applied, mask: qos.Priorities(3), calls: []string{"apply", "confirm", "close"}},
		"not in force":      {box: enginetest.Box{InForce: []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "{3}", Have: "{}"}}}, state: Reverted, mask: qos.Priorities(3, 4), calls: []string{"apply", "revert", "close"}, err: drivers.ErrPartial},
		"shows nothing":     {box: enginetest.Box{Dark: [2]error{drivers.ErrUnsupported, drivers.ErrUnsupported}}, state: Applied, mask: qos.Priorities(3), calls: []string{"apply", "confirm", "close"}},
		"never had a state": {box: enginetest.Box{Dark: [2]error{drivers.ErrNoState, drivers.ErrNoState}}, state: Applied, mask: qos.Priorities(3), calls: []string{"apply", "confirm", "close"}},
		"lost its state":    {box: enginetest.Box{Dark: [2]error{nil, drivers.ErrNoState}}, state: Reverted, mask: qos.Priorities(3, 4), calls: []string{"apply", "revert", "close"}, err: drivers.ErrNoState},
		"revert fails too":  {box: enginetest.Box{ApplyErr: boom, RevertErr: errors.New("stuck")}, state: Partial, mask: qos.Priorities(3), calls: []string{"apply", "revert", "close"}, err: boom},
		"moved on":          {box: enginetest.Box{Mask: qos.Priorities(5)}, state: Refused, mask: qos.Priorities(5), calls: []string{"close"}, err: drivers.ErrStale},
		"too much":          {edit: func(_ *Task, o *Run) { o.Allow = qos.ImpactCounters }, state: Refused, mask: qos.Priorities(3, 4), calls: []string{"close"}},
		"no plan":           {edit: func(j *Task, _ *Run) { j.Plan.Error = &Error{Text: "unreachable"} }, state: Failed, mask: qos.Priorities(3, 4)},
		"cannot be opened": {edit: func(j *Task, _ *Run) {
			j.Open = func(context.Context) (drivers.Driver, error) { return nil, boom }
		}, state: Failed, mask: qos.Priorities(3, 4), err: boom},
		"nothing to change": {edit: func(j *Task, _ *Run) { j.nothing() }, state: Unchanged, mask: qos.Priorities(3, 4), calls: []string{"close"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.box
			if b.Mask == 0 {
				b.Mask = qos.Priorities(3, 4)
			}
			j, o := job("leaf1", &b), Run{Options: Options{Allow: qos.ImpactPortFlap, AppliedTimeout: 1}}
			if c.edit != nil {
				c.edit(&j, &o)
			}
			next := &enginetest.Box{Mask: qos.Priorities(3, 4)}
			outs, err := o.work(t.Context(), j, job("leaf2", next))
			if outs[0].State != c.state || b.Mask != c.mask || !slices.Equal(b.Calls, c.calls) {
				t.Errorf("state %s, mask %s, calls %v; want %s, %s, %v (%v)", outs[0].State, b.Mask, b.Calls, c.state, c.mask, c.calls, outs[0].Error)
			}
			if dark := c.state == Applied && c.box.Dark[1] != nil; dark != (len(outs[0].Left) > 0) {
				t.Errorf("left is %q", outs[0].Left)
			}
			bad := c.state != Applied && c.state != Unchanged
			if bad != (outs[0].Error != nil) || c.err != nil && !errors.Is(outs[0].Error, c.err) {
				t.Errorf("error %v, want %v", outs[0].Error, c.err)
			}
			want := Applied
			stops := bad && name != "no plan"
			if stops {
				want = Skipped
			}
			if outs[1].State != want || stops != errors.Is(err, errStopped) {
				t.Errorf("the next device is %s, want %s; error %v", outs[1].State, want, err)
			}
		})
	}
}

// unconfirmed is a device with an unconfirmed change of an earlier run.
type unconfirmed struct {
	*enginetest.Box
	kept bool
	err  error
}

func (u *unconfirmed) Keep(context.Context) (bool, error) {
	u.Calls = append(u.Calls, "keep")
	return u.kept, u.err
}

func TestApplyConfirmsAnUnconfirmedEarlierRun(t *testing.T) {
	for _, c := range []struct {
		u     unconfirmed
		state State
	}{
		{unconfirmed{kept: true}, Applied},
		{unconfirmed{}, Unchanged},
		{unconfirmed{err: errors.New("boom")}, Failed},
		{unconfirmed{err: fmt.Errorf("half confirmed: %w", drivers.ErrPartial)}, Partial},
		{unconfirmed{err: fmt.Errorf("confirmed: %w", drivers.ErrUnsaved)}, Unsaved},
	} {
		c.u.Box = &enginetest.Box{Mask: qos.Priorities(3, 4)}
		j := job("leaf1", c.u.Box)
		j.nothing()
		j.Open = func(context.Context) (drivers.Driver, error) { return &c.u, nil }
		next := job("leaf2", &enginetest.Box{})
		next.nothing()
		next.Plan.Base = "{}"
		outs, err := Run{}.work(t.Context(), j, next)
		if outs[0].State != c.state || !slices.Equal(c.u.Calls, []string{"keep", "close"}) {
			t.Errorf("%s, want %s; calls %v", outs[0].State, c.state, c.u.Calls)
		}
		// A device that could not be saved does not stop the run.
		stops := c.state == Failed || c.state == Partial
		if stops != errors.Is(err, errStopped) || stops != (outs[1].State == Skipped) {
			t.Errorf("after %s: %s, %v", c.state, outs[1].State, err)
		}
		// Keep is not called on a device that is about to change.
		c.u.Calls = nil
		_, _ = Run{Options: Options{Allow: qos.ImpactLoss}}.work(t.Context(), job("leaf1", c.u.Box))
		if slices.Contains(c.u.Calls, "keep") {
			t.Errorf("calls %v", c.u.Calls)
		}
	}
}

// unsavable is a device whose configuration cannot be saved.
type unsavable struct {
	*enginetest.Box
	err error
}

func (u *unsavable) Confirm(context.Context, *drivers.Token) error { return u.err }

// A device that cannot save at all is as intended but unsaved, from the first run on. A device
// whose save fails is reverted.
func TestUnsavableFromTheFirstRun(t *testing.T) {
	cannot := fmt.Errorf("%w: %w", drivers.ErrUnsaved, drivers.ErrNoSave)
	for _, c := range []struct {
		err   error
		state State
	}{{cannot, Unsaved}, {drivers.ErrUnsaved, Reverted}} {
		u := &unsavable{Box: &enginetest.Box{Mask: qos.Priorities(3, 4)}, err: c.err}
		j := job("leaf1", u.Box)
		j.Open = func(context.Context) (drivers.Driver, error) { return u, nil }
		outs, err := Run{Options: Options{Allow: qos.ImpactLoss, AppliedTimeout: 1}}.work(t.Context(), j, job("leaf2", &enginetest.Box{Mask: qos.Priorities(3, 4)}))
		if outs[0].State != c.state || outs[0].Error == nil || outs[0].Error.Kind != KindUnsaved {
			t.Errorf("%v: %+v", c.err, outs[0])
		}
		if stops := c.state == Reverted; stops != errors.Is(err, errStopped) || stops != (outs[1].State == Skipped) {
			t.Errorf("%v: the next device is %s; %v", c.err, outs[1].State, err)
		}
	}
}

// Nothing is confirmed or saved on a switch without a port in the intent, because that would be
// a change.
func TestNoConfirmOrSaveWithoutPorts(t *testing.T) {
	u := &unconfirmed{Box: &enginetest.Box{Mask: qos.Priorities(3, 4)}, kept: true}
	j := job("leaf1", u.Box)
	j.Open = func(context.Context) (drivers.Driver, error) { return u, nil }
	j.nothing()
	j.Want = &qos.Device{}
	outs, err := Run{}.work(t.Context(), j)
	if err != nil || outs[0].State != Unchanged || slices.Contains(u.Calls, "keep") {
		t.Errorf("%v %+v, called %v", err, outs, u.Calls)
	}
}

// goesOn is a device that processes writes asynchronously and takes ports down for steps.
type goesOn struct {
	*enginetest.Box
	left drivers.Leftover
}

func (g *goesOn) Settle(context.Context) error {
	g.Calls = append(g.Calls, "settle")
	return nil
}
func (g *goesOn) Resume(l drivers.Leftover) { g.left = l }

// A driver is told what earlier runs left on its device, the device has processed all earlier
// writes before anything is written, and ports that go down in this run are recorded.
func TestDriverReceivesLeftoversOfEarlierRuns(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "run1", true, entry{}, append(wrote("leaf1", ""), ports("leaf1", "down", "Ethernet0", "Ethernet99"))...)
	run := func(id string, g *goesOn, edit func(*Task)) State {
		t.Helper()
		j, err := begin(store.Dir(dir), id, entry{})
		if err != nil {
			t.Fatal(err)
		}
		jb := job("leaf1", g.Box)
		jb.Open = func(context.Context) (drivers.Driver, error) { return g, nil }
		edit(&jb)
		outs, _ := Run{id: id, Options: Options{Allow: qos.ImpactReload}, journal: j}.work(t.Context(), jb)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return outs[0].State
	}
	g := &goesOn{Box: &enginetest.Box{Mask: qos.Priorities(5)}}
	if s := run("run2", g, func(*Task) {}); s != Refused || g.left.Run != "run1" || !maps.Equal(g.left.Down, map[string]string{"Ethernet0": "run1"}) {
		t.Errorf("%s, told %+v", s, g.left)
	}
	g = &goesOn{Box: &enginetest.Box{Mask: qos.Priorities(3, 4)}}
	g.During = func() {
		if err := g.left.Record([]string{"Ethernet0"}, nil); err != nil {
			t.Error(err)
		}
		if h, _, err := OpenHistory(store.Dir(dir)); err != nil || !h.left("leaf1").Busy {
			t.Errorf("the run is not at work: %v", err)
		}
	}
	if s := run("run3", g, func(*Task) {}); s != Applied || !slices.Equal(g.Calls, []string{"settle", "apply", "confirm", "close"}) {
		t.Errorf("%s, calls %v", s, g.Calls)
	}
	// Nothing was left, and nothing is sent to a device with an empty plan.
	g = &goesOn{Box: &enginetest.Box{Mask: qos.Priorities(3, 4)}}
	if s := run("run4", g, func(j *Task) { j.nothing() }); s != Unchanged || g.left.Run != "" || len(g.left.Down) > 0 || !slices.Equal(g.Calls, []string{"close"}) {
		t.Errorf("%s, told %+v, calls %v", s, g.left, g.Calls)
	}
	p, _ := readPast(store.Dir(dir), store.ID{Number: 3, Run: "run3"})
	if d, _ := p.device("leaf1"); !slices.Equal(d.down, []string{"Ethernet0"}) {
		t.Errorf("on record: %+v", d)
	}
}

// Ctrl-C reverts the device being changed, with a timeout of its own, and leaves the other
// devices alone.
func TestInterruptLeavesAKnownState(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := &enginetest.Box{Mask: qos.Priorities(3, 4), During: cancel, ApplyErr: errors.New("boom")}
	rest := &enginetest.Box{Mask: qos.Priorities(3, 4)}
	outs, err := Run{Options: Options{Allow: qos.ImpactReload}}.work(ctx, job("leaf1", b), job("leaf2", rest))
	if outs[0].State != Reverted || b.Mask != qos.Priorities(3, 4) {
		t.Errorf("leaf1 is %s and holds %s: %v", outs[0].State, b.Mask, outs[0].Error)
	}
	if want := "boom; context canceled"; outs[0].Error.Text != want {
		t.Errorf("error %q, want %q", outs[0].Error, want)
	}
	if outs[1].State != Skipped || rest.Calls != nil || !errors.Is(err, errStopped) {
		t.Errorf("leaf2 is %s after %v; error %v", outs[1].State, rest.Calls, err)
	}
}

func TestJournalHoldsTheUndoRecordBeforeTheWrite(t *testing.T) {
	dir := t.TempDir()
	j, err := begin(store.Dir(dir), "run1", entry{Fabric: "f", Intent: "hash"})
	if err != nil {
		t.Fatal(err)
	}
	b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
	b.During = func() {
		text, err := os.ReadFile(j.Path())
		if err != nil || !strings.Contains(string(text), `"event":"undo","undo":{"device":"leaf1","native":8}`) {
			t.Errorf("at the time of the write the journal holds %s (%v)", text, err)
		}
	}
	if _, err := (Run{Options: Options{Allow: qos.ImpactReload}, journal: j}).work(t.Context(), job("leaf1", b)); err != nil {
		t.Fatal(err)
	}
	// There is one writer: no other run begins until this one ends.
	if _, err := begin(store.Dir(dir), "run2", entry{}); !errors.Is(err, store.ErrHeld) || !strings.Contains(err.Error(), "run run1, process ") {
		t.Errorf("a second run begins: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(j.Path())
	var events []string
	for line := range strings.Lines(string(text)) {
		var r entry
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		events = append(events, r.Event)
	}
	if !slices.Equal(events, []string{"begin", "start", "undo", "applied"}) {
		t.Errorf("events %v", events)
	}
	j, err = begin(store.Dir(dir), "run2", entry{})
	if err != nil {
		t.Fatal(err)
	}
	// A driver is told which runs have ended; the current run is not among them.
	if _, err := (Run{Options: Options{Allow: qos.ImpactReload}, journal: j}).work(t.Context(), job("leaf1", b)); !slices.Equal(b.Ended, []string{"run1"}) {
		t.Errorf("runs that have ended: %q (%v)", b.Ended, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// A step that cannot be recorded is not carried out.
func TestNoWriteWithoutAJournal(t *testing.T) {
	j, err := begin(store.Dir(t.TempDir()), "run1", entry{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.log.Close(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
	outs, err := Run{Options: Options{Allow: qos.ImpactReload}, journal: j}.work(t.Context(), job("leaf1", b))
	if err == nil || outs[0].State != Failed || slices.Contains(b.Calls, "apply") {
		t.Errorf("%v after %v, error %v", outs, b.Calls, err)
	}
}

// A run whose lock is broken stops, and its error says who broke the lock.
func TestABrokenLockEndsARun(t *testing.T) {
	dir := t.TempDir()
	j, err := begin(store.Dir(dir), "run1", entry{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	b, rest := &enginetest.Box{Mask: qos.Priorities(3, 4)}, &enginetest.Box{Mask: qos.Priorities(3, 4)}
	b.During = func() {
		s := store.Dir(dir)
		held, err := s.Holder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Break(t.Context(), *held, store.Owner{User: "bob", Host: "host2", Process: 7}); err != nil {
			t.Error(err)
		}
	}
	outs, err := Run{Options: Options{Allow: qos.ImpactReload}, journal: j}.work(t.Context(), job("leaf1", b), job("leaf2", rest))
	if !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "broken by process 7 of bob on host2") || len(outs) != 2 || outs[1].State != Skipped || rest.Calls != nil {
		t.Errorf("%v, %v, %v", outs, rest.Calls, err)
	}
}

// deviceLocks holds the locks of devices. Calling the function in held loses a lock. The lock
// of leaf3 is never free.
type deviceLocks struct {
	mu   sync.Mutex
	held map[string]context.CancelCauseFunc
	log  []string
}

type deviceLock struct {
	store.Lock
	all    *deviceLocks
	device string
}

func (d *deviceLocks) take(_ context.Context, device string) (store.Lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if device == "leaf3" {
		return nil, store.ErrHeld
	}
	d.log = append(d.log, "lock "+device)
	return &deviceLock{all: d, device: device}, nil
}

func (l *deviceLock) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	lock, lose := context.WithCancelCause(context.Background())
	ctx, cancel := fence.With(ctx, lock)
	l.all.held[l.device] = func(why error) { lose(why); <-ctx.Done() }
	return ctx, cancel
}

func (l *deviceLock) Release() error {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	delete(l.all.held, l.device)
	l.all.log = append(l.all.log, "release "+l.device)
	return nil
}

// A device is written to under its own lock, which is held until the device is confirmed.
// Nothing is written without the lock, and after it is lost not even a revert is.
func TestDeviceLock(t *testing.T) {
	j, err := begin(store.Dir(t.TempDir()), "run1", entry{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	locks := &deviceLocks{held: map[string]context.CancelCauseFunc{}}
	under := Run{Options: Options{DeviceLock: locks.take, Allow: qos.ImpactReload}, journal: j}
	boxes := map[string]*enginetest.Box{}
	var tasks []Task
	for _, name := range []string{"leaf1", "leaf2", "leaf3", "leaf4"} {
		b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
		b.During = func() {
			if locks.held[name] == nil {
				t.Errorf("%s is written to without its lock", name)
			}
			if name == "leaf2" {
				locks.held[name](store.ErrLost)
			}
		}
		boxes[name], tasks = b, append(tasks, job(name, b))
	}
	outs, err := under.work(t.Context(), tasks[0])
	if err != nil || outs[0].State != Applied || strings.Join(locks.log, ", ") != "lock leaf1, release leaf1" || !slices.Contains(boxes["leaf1"].Calls, "confirm") {
		t.Errorf("%+v, %v, %v, %v", outs, err, locks.log, boxes["leaf1"].Calls)
	}
	outs, err = under.work(t.Context(), tasks[1])
	if err == nil || outs[0].State != Partial || !errors.Is(outs[0].Error, store.ErrLost) || len(locks.held) > 0 || slices.Contains(boxes["leaf2"].Calls, "revert") {
		t.Errorf("%+v, %v, %v, %v", outs, err, locks.held, boxes["leaf2"].Calls)
	}
	outs, err = under.work(t.Context(), tasks[2:]...)
	if !errors.Is(err, store.ErrHeld) || outs[0].State != Failed || outs[1].State != Skipped || len(boxes["leaf3"].Calls)+len(boxes["leaf4"].Calls) > 0 {
		t.Errorf("%+v, %v, %v", outs, err, boxes["leaf3"].Calls)
	}
}
