package sonic

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
)

// TestWaysAgree: over gNMI and over SSH alone a switch comes to hold the same, and a
// revert gives back what it held. Over SSH no port goes down.
func TestWaysAgree(t *testing.T) {
	for _, model := range []string{known, unknown, dynamic} {
		t.Run(model, func(t *testing.T) {
			var after []string
			for _, o := range []boxOptions{{ssh: true}, {alone: true}, {direct: true}} {
				o.model, o.release = model, "202511"
				b := newBox(t, o)
				was := string(b.state())
				d := b.open()
				if b.alone {
					if err := d.Notify(t.Context(), func() {}, func() {}); !errors.Is(err, drivers.ErrUnsupported) {
						t.Errorf("notify: %v", err)
					}
				}
				tok, st := b.apply(d)
				if err := d.Confirm(t.Context(), tok); err != nil {
					t.Fatal(err)
				}
				after = append(after, string(b.state()))
				if string(b.startup()) != after[len(after)-1] {
					t.Error("not all of it is saved")
				}
				if bad, err := d.Applied(t.Context(), b.desired); err != nil || len(bad) > 0 {
					t.Errorf("in force: %v %v", bad, err)
				}
				if b.alone && (len(b.Flaps()) > 0 || len(st.Items) > 3 || !strings.Contains(strings.Join(st.Notes, "\n"), "no port is shut")) {
					t.Errorf("%d steps, down were %v, notes %q", len(st.Items), b.Flaps(), st.Notes)
				}
				if err := b.open().Revert(t.Context(), tok); err != nil {
					t.Fatal(err)
				}
				if string(b.state()) != was {
					t.Error("the revert leaves another configuration")
				}
				if b.alone && len(b.Flaps()) > 0 {
					t.Errorf("the revert took down %v", b.Flaps())
				}
			}
			if after[0] != after[1] || after[0] != after[2] {
				t.Errorf("the ways differ:\n%s\n%s\n%s", after[0], after[1], after[2])
			}
		})
	}
}

// A switch whose gNMI server is off, or serves no databases, is read over SSH, and the
// plan says why; with write: gnmi, and where SSH is not configured, that is an error.
func TestWithoutGNMI(t *testing.T) {
	for name, edit := range map[string]func(b *box){
		"off":      func(b *box) { b.target.GNMI.Address = "127.0.0.1:1" },
		"no model": func(b *box) { b.Faults().NoSonicDB(true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
			edit(b)
			if _, st := b.plan(b.open()); len(st.Items) == 0 || st.Items[0].Via != "ssh" || !strings.Contains(strings.Join(st.Notes, "\n"), "everything goes over ssh") {
				t.Errorf("%+v", st)
			}
			for _, t2 := range []func(*drivers.Target){
				func(t *drivers.Target) { t.Write = intent.WriteGNMI },
				func(t *drivers.Target) { t.SSH = nil },
			} {
				target := b.target
				t2(&target)
				if _, err := b.openAs(target).Probe(context.Background()); err == nil {
					t.Error("no error without SSH")
				}
			}
		})
	}
	b := newBox(t, boxOptions{model: known, release: "202511"})
	b.target.Write = intent.WriteDirect
	if _, err := Open(b.target); err == nil || !strings.Contains(err.Error(), "needs ssh") {
		t.Errorf("direct without SSH: %v", err)
	}
}
