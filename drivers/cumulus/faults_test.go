package cumulus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
	simcumulus "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

// A warning is reported and answered with no, and the apply has no effect, unless warnings are
// accepted.
func TestWarningsAreShownAndAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{shell: true})
		b.EditFiles()
		was := b.Running()
		d := b.open()
		tok, err := b.try(d, drivers.ApplyOptions{})
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "this tool does not give by itself", "qos_features.conf", "no change is active")
		if h, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); !ok || !strings.Contains(h.Hint(), "--accept-warnings") {
			t.Errorf("no hint of how to accept it: %v", err)
		}
		if b.Running() != was || b.State() != "ays_fail" {
			t.Errorf("revision %s", b.State())
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		note := ""
		d = b.open()
		if tok, err = b.try(d, drivers.ApplyOptions{AcceptWarnings: true, Note: func(s string) { note += s }}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(note, "qos_features.conf") || !b.Waits() {
			t.Errorf("waits %v, note %q", b.Waits(), note)
		}
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Error(err)
		}
		b.settled(b.open())
	})
}

// If the switch accepts no timer over REST, the driver uses the command, which has one; without
// SSH, a note says that there is no timer.
func TestTimerRejectedByREST(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, shell := range []bool{true, false} {
			b := newBox(t, boxOptions{shell: shell})
			b.Faults().NoTimer(true)
			note := ""
			d := b.open()
			tok, err := b.try(d, drivers.ApplyOptions{Note: func(s string) { note += s }})
			if err != nil {
				t.Fatal(err)
			}
			if b.Waits() != shell || strings.Contains(note, "no timer") == shell {
				t.Errorf("with ssh %v: waits %v, note %q", shell, b.Waits(), note)
			}
			other := b.open() // another process, and a revision without a message
			if err := other.Confirm(t.Context(), tok); err != nil {
				t.Errorf("with ssh %v: %v", shell, err)
			}
			if b.Waits() || b.Startup() != b.Running() {
				t.Errorf("with ssh %v: not confirmed and saved", shell)
			}
			b.settled(other)
		}
	})
}

func TestRejectedMessageIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		b.Faults().NoMessage(true)
		was := b.Running()
		tok := b.apply(b.open())
		if !b.Waits() {
			t.Error("the timer was left out as well")
		}
		if err := b.open().Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if b.Running() != was || b.Waits() {
			t.Error("not reverted by the timer's own way")
		}
	})
}

// A change that is not confirmed in time is reverted, and Confirm says so.
func TestNotConfirmedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		was := b.Running()
		d := b.open()
		tok := b.apply(d)
		b.Expire()
		says(t, d.Confirm(t.Context(), tok), drivers.ErrRejected, drivers.ErrPartial, "not confirmed in time")
		if b.Running() != was {
			t.Error("still in force")
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
	})
}

// Nothing is applied if someone else changes the same settings between the plan and the revision,
// or any setting between the revision and its apply: some switches may apply a revision as a
// whole.
func TestOthersWhoChangeSomethingMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simcumulus.Options{Whole: true}})
		d := b.open()
		tok, err := b.try(d, drivers.ApplyOptions{Progress: func(int, int, drivers.Step) { b.set("nv set interface swp1 link mtu 4000") }})
		says(t, err, drivers.ErrStale, drivers.ErrPartial, "someone else changed", "nothing was applied")
		if tok == nil || strings.Contains(b.Running(), native.Prefix) {
			t.Error("applied all the same")
		}
		if err := d.Revert(t.Context(), tok); err != nil || !strings.Contains(b.Running(), "4000") {
			t.Errorf("the other's change is gone, or %v", err)
		}

		d = b.open()
		s, st := b.plan(d)
		e, err := edit(st.Items, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := &work{record: record{Run: "rf-test", Edit: e, Undo: e.Undo(held(s))}}
		if err := d.stage(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		b.set("nv set vrf BLUE table auto")
		says(t, d.checkOwnChangesOnly(t.Context(), w), drivers.ErrStale, drivers.ErrPartial, "vrf")
	})
}

// A save that has no effect is detected, even if the switch reports success.
func TestSaveWithoutEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: "nv set system config auto-save state disabled"})
		d := b.open()
		tok := b.apply(d)
		b.Faults().PretendSave()
		says(t, d.Confirm(t.Context(), tok), drivers.ErrUnsaved, nil)
		if err := d.Confirm(t.Context(), tok); err != nil || b.Startup() != b.Running() {
			t.Errorf("the second time: %v", err)
		}
	})
}

// Keep confirms a change that an earlier run left to its timer but not one of other users, and
// saves unsaved settings of managed ports.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		keep := func(ended ...string) (bool, error) {
			d := b.open()
			s, _ := b.plan(d)
			d.Digest(s, b.desired)
			d.Inherit(ended)
			return d.Keep(t.Context())
		}
		if _, err := b.try(b.open(), drivers.ApplyOptions{ID: "one"}); err != nil {
			t.Fatal(err)
		}
		if kept, err := keep(); kept {
			t.Errorf("of a run that may be at work: %v, %v", kept, err)
		} else {
			says(t, err, drivers.ErrBusy, drivers.ErrPartial, "one")
		}
		if kept, err := keep("one"); !kept || err != nil || b.Waits() || b.Startup() != b.Running() {
			t.Errorf("of one that has ended: %v, %v", kept, err)
		}
		if kept, err := keep(); kept || err != nil {
			t.Errorf("nothing to do: %v, %v", kept, err)
		}
		was := b.Startup()
		b.set("nv set vrf BLUE table auto")
		if kept, err := keep(); kept || err != nil || b.Startup() != was {
			t.Errorf("what others have not saved: %v, %v", kept, err)
		}
		b.set("nv set interface swp1 link mtu 4000")
		if kept, err := keep(); !kept || err != nil || b.Startup() != b.Running() {
			t.Errorf("of a managed port: %v, %v", kept, err)
		}
	})
}

func TestUnsavedSettingsAreNamedWithoutValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		b.set("nv set interface swp1 link mtu 4000\nnv set qos pfc P switch-priority 3\nnv set system aaa user eve hashed-password s3cret")
		list, err := b.open().Unsaved(t.Context())
		if err != nil || strings.Join(list, ", ") != "interface swp1, qos pfc, system aaa" {
			t.Errorf("%q, %v", list, err)
		}
	})
}

func TestUnexpectedUndoRecordsAreRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.open()
		drivertest.Forged{
			Driver: d, Token: b.apply(d), Managed: b.desired.Manages, State: b.Running,
			Settings: []string{
				`{"path":["system","aaa","user","eve","hashed-password"],"set":"x"}`, `{"path":["interface","eth0","ip","address"]}`, `{"path":["interface","swp1","link","speed"],"set":"1G"}`,
				`{"path":["interface","swp1"],"set":{}}`, `{"path":["interface","swp9","link","mtu"],"set":9000}`, `{"path":["qos"]}`, `{"path":["qos","roce"]}`, `{"path":["interface","swp1","link","mtu?rev=x"],"set":1}`, `{"path":[]}`,
			},
			Key: "run", Names: []string{"", "theirs", "rf-x y", "rf-x;reboot"},
		}.Run(t)
	})
}

// A switch with the factory password forbids everything, and the hint says why.
func TestTheFactoryPassword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simcumulus.Options{Factory: true}})
		_, err := b.open().Probe(context.Background())
		says(t, err, drivers.ErrAuth, nil)
		if h, ok := errors.AsType[*hinted](err); !ok || !strings.Contains(h.Hint(), "factory password") {
			t.Errorf("%v", err)
		}
	})
}
