package sonic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// shut takes a port down, as a run or a person does.
func (b *box) shut(port string) {
	row := maps.Clone(b.Config()["PORT"][port])
	row["admin_status"] = "down"
	b.SetRow("PORT", port, row)
}

// resumed returns a driver that knows which ports a run left down, and a log of the ports that it
// takes down and brings up.
func (b *box) resumed(run string, ports ...string) (*driver, *[]string) {
	d, log := b.open(), &[]string{}
	l := drivers.Leftover{Run: run, Down: map[string]string{}, Record: func(down, up []string) error {
		*log = append(*log, fmt.Sprintf("down %v up %v", down, up))
		return nil
	}}
	for _, p := range ports {
		l.Down[p] = run
	}
	d.Resume(l)
	return d, log
}

// A port that a run left down comes up before any other goes down, because it may be the other
// uplink; a port that was shut by hand stays down.
func TestPortsLeftDownComeUpFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		byHand, left := b.ports[0], b.ports[2]
		b.shut(byHand)
		b.shut(left)
		d, log := b.resumed("run1", left)
		snap, st := b.plan(d)
		if want := left + " was left down by run run1; it is brought up"; !slices.Contains(st.Notes, want) {
			t.Errorf("notes %q, want %q", st.Notes, want)
		}
		if want := byHand + " is administratively down and stays down: no run on record took it down; with admin: up in the intent it is brought up"; !slices.Contains(st.Notes, want) {
			t.Errorf("notes %q, want %q", st.Notes, want)
		}
		for _, c := range st.Changes {
			if c.Field.Kind == qos.KindAdminUp && (c.Port != left || c.Reason != "left down by run run1" || c.Blocked != "") {
				t.Errorf("change %+v", c)
			}
		}
		for i, s := range st.Items {
			if len(s.Down) > 0 && !slices.ContainsFunc(st.Items[:i], func(s drivers.Step) bool { return slices.Contains(s.Up, left) }) {
				t.Fatalf("step %d takes down %v, and %s is not up yet", i+1, s.Down, left)
			}
		}
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "run2"}); err != nil {
			t.Fatal(err)
		}
		if down := b.down(); !slices.Equal(down, []string{byHand}) {
			t.Errorf("down: %v, want %s", down, byHand)
		}
		if _, st := b.plan(d); len(st.Changes) > 0 {
			t.Errorf("the plan after it has %d changes: %+v", len(st.Changes), st.Changes[0])
		}
		if (*log)[0] != fmt.Sprintf("down [] up [%s]", left) {
			t.Errorf("record %q", *log)
		}
	})
}

// A load continues when the session of its run is cut off, and the next command waits for it.
func TestALoadOutlivesItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", direct: true})
		ctx, cut := context.WithCancel(t.Context())
		begun, goOn := make(chan struct{}), make(chan struct{})
		b.Faults().BeforeSet(sync.OnceFunc(func() { close(begun); <-goOn }))
		d := b.open()
		snap, st := b.plan(d)
		ended := make(chan error, 1)
		go func() {
			_, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: "run1"})
			ended <- err
		}()
		<-begun
		cut()
		if err := <-ended; err == nil {
			t.Error("an apply that was cut off says that it is through")
		}
		next := b.open()
		if _, err := next.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := next.settleLoads(t.Context(), 3*pause); err == nil {
			t.Error("a load is at work, and the switch is said to have settled")
		}
		close(goOn)
		if err := next.Settle(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An uplink that was shut by hand does not count: the remaining uplinks do not go down together,
// and the plan says when the last one goes down.
func TestShutUplinkIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		b.policy.Uplinks = b.ports[1:]
		b.policy.PortGroup = len(b.ports)
		b.shut(b.ports[1])
		_, st := b.plan(b.open())
		flapped := 0
		for i, s := range st.Items {
			if slices.Contains(s.Down, b.ports[2]) && slices.Contains(s.Down, b.ports[3]) {
				t.Errorf("step %d takes down %v", i+1, s.Down)
			}
			flapped += len(s.Down)
		}
		if flapped != 3 {
			t.Fatalf("%d ports go down, want 3", flapped)
		}
		b.shut(b.ports[2])
		_, st = b.plan(b.open())
		if want := b.ports[3] + " is the only uplink that is up, and goes down for its change"; !slices.Contains(st.Notes, want) {
			t.Errorf("notes %q, want %q", st.Notes, want)
		}
	})
}

// If nothing else differs on a switch, its port is still brought up.
func TestAPortLeftDownIsADifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		first := b.open()
		if tok, _ := b.apply(first); first.Confirm(t.Context(), tok) != nil {
			t.Fatal("not confirmed")
		}
		b.shut(b.ports[1])
		if _, st := b.plan(b.open()); len(st.Changes) > 0 {
			t.Fatalf("a port that was shut by hand is a difference: %+v", st.Changes)
		}
		d, _ := b.resumed("run1", b.ports[1])
		_, st := b.plan(d)
		if len(st.Changes) != 1 || st.Changes[0].Path() != "ports["+b.ports[1]+"].admin_up" || len(st.Blocked()) > 0 {
			t.Fatalf("changes %+v", st.Changes)
		}
		// A plan that was made without the record is rejected.
		if _, err := d.Keep(t.Context()); !errors.Is(err, drivers.ErrStale) {
			t.Errorf("keep: %v", err)
		}
		snap, stale := b.plan(b.open())
		stale.Items = st.Items[:0:0]
		stale.Items = append(stale.Items, drivers.Step{Via: "gnmi", Native: []byte(`{"ops":[{"table":"SCHEDULER","key":"x","row":{"type":"STRICT"}}]}`)})
		if _, err := d.Apply(t.Context(), snap, stale, drivers.ApplyOptions{ID: "run2"}); !errors.Is(err, drivers.ErrStale) || !strings.Contains(err.Error(), "left down by run run1") {
			t.Errorf("apply: %v", err)
		}
		snap, _ = b.plan(d)
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "run2"}); err != nil {
			t.Fatal(err)
		}
		if down := b.down(); len(down) > 0 {
			t.Errorf("down: %v", down)
		}
	})
}

// A revert brings up ports that were left down, also by a run before the reverted one, and leaves
// down those that were shut by hand since.
func TestRevertBringsUpWhatWasLeftDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		before := b.state()
		b.shut(b.ports[0])
		d, _ := b.resumed("run1", b.ports[0])
		snap, st := b.plan(d)
		// The run ends before it does anything.
		ctx, cancel := context.WithCancel(t.Context())
		var tok *drivers.Token
		_, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: "run2", Token: func(t *drivers.Token) error { tok = t; return nil }, Progress: func(int, int, drivers.Step) { cancel() }})
		if err == nil || tok == nil {
			t.Fatalf("apply: %v, token %v", err, tok)
		}
		d, _ = b.resumed("run1", b.ports[0])
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if string(b.state()) != string(before) {
			t.Errorf("down after the revert: %v", b.down())
		}

		tok, _ = b.apply(b.open())
		b.shut(b.ports[1]) // by hand
		b.shut(b.ports[3])
		d, _ = b.resumed("run3", b.ports[3])
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if down := b.down(); !slices.Equal(down, []string{b.ports[1]}) {
			t.Errorf("down after the second revert: %v, want %s", down, b.ports[1])
		}
		// Without a record of earlier runs, every port gets the state in the token.
		if err := b.open().Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if down := b.down(); len(down) > 0 {
			t.Errorf("down after the third revert: %v", down)
		}
	})
}

// A switch whose configuration matches the intent but is not saved is saved. A change that another
// user made by hand is left for that user to save.
func TestKeepSavesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		b.apply(b.open())
		keep := func(d *driver, want bool) {
			t.Helper()
			saved := string(b.startup())
			snap, _ := b.plan(d)
			d.Digest(snap, b.desired)
			kept, err := d.Keep(t.Context())
			if err != nil || kept != want {
				t.Fatalf("kept %v, %v; want %v", kept, err, want)
			}
			if !want && string(b.startup()) != saved {
				t.Error("it was saved all the same")
			}
			if want && string(b.startup()) != string(b.state()) {
				t.Error("the startup file differs from what runs")
			}
		}
		keep(b.open(), true) // apply does not save what was written over SSH; Confirm does
		keep(b.open(), false)
		b.shut(b.ports[1])
		row := maps.Clone(b.Config()["PORT"][b.ports[0]])
		row["description"] = "to gpu1"
		b.SetRow("PORT", b.ports[0], row)
		row = maps.Clone(b.Config()["PORT"]["Ethernet28"]) // not in the intent
		row["mtu"] = "1500"
		b.SetRow("PORT", "Ethernet28", row)
		keep(b.open(), false)
		row = maps.Clone(b.Config()["PORT_QOS_MAP"][b.ports[0]])
		row["pfc_enable"] = "3,5"
		b.SetRow("PORT_QOS_MAP", b.ports[0], row)
		keep(b.open(), true)

		// A port that is up and saved as down would be down after a restart.
		d := b.open()
		if err := d.command(t.Context(), saveCommand); err != nil {
			t.Fatal(err)
		}
		row = maps.Clone(b.Config()["PORT"][b.ports[1]])
		row["admin_status"] = "up"
		b.SetRow("PORT", b.ports[1], row)
		keep(d, true)

		// gNMI cannot read the startup file, so only an interrupted run is a reason to save.
		b = newBox(t, boxOptions{model: known, release: "202511"})
		row = maps.Clone(b.Config()["SCHEDULER"]["scheduler.0"])
		row["weight"] = "33"
		b.SetRow("SCHEDULER", "scheduler.0", row)
		keep(b.open(), false)
		d, _ = b.resumed("run1")
		keep(d, true)
	})
}

// Settle returns once the requests of a client that is gone have been carried out.
func TestSettleWaitsForPendingWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511"})
		first, second := make(chan struct{}), make(chan struct{})
		queued := 0
		b.Faults().OnEvent(func(e simsonic.Event) {
			switch e {
			case simsonic.Queued: // one after the other: the second arrives while the first is being carried out
				if queued++; queued == 2 {
					close(second)
				}
			case simsonic.Writing:
				close(first)
				<-second
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			d := b.open()
			c, err := d.client(ctx)
			if err == nil {
				err = c.Set(ctx, setRequest([]native.Op{{Table: native.TPort, Key: b.ports[0], Field: "admin_status", Value: "down"}}, b.config()))
			}
			gone <- err
		}()
		<-first
		cancel()
		if err := <-gone; err == nil {
			t.Fatal("the client got its answer")
		}
		if err := b.open().Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if down := b.down(); !slices.Equal(down, b.ports[:1]) {
			t.Errorf("down: %v, want %v", down, b.ports[:1])
		}
	})
}

// The ports that a driver passes to a plan are a copy, because plans of many switches are compared
// while their drivers record ports that go down.
func TestPortsOfAPlanAreACopy(t *testing.T) {
	d := &driver{}
	d.Resume(drivers.Leftover{Down: map[string]string{"Ethernet0": "run1"}})
	planned := d.leftDown()
	if err := d.note([]string{"Ethernet4"}, []string{"Ethernet0"}); err != nil {
		t.Fatal(err)
	}
	if len(planned) != 1 || planned["Ethernet0"] != "run1" {
		t.Errorf("the plan has %v", planned)
	}
}
