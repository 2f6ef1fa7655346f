package sonic

import (
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// A class with a maximum rate can be applied and removed on every release, although no YANG model
// accepts a peak rate without a committed rate above 0.
func TestMaximumRate(t *testing.T) {
	for _, rel := range native.Releases() {
		t.Run(rel, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: "ACS-MSN4700", release: rel, ssh: true, intent: []string{
					"cnp: {priority: 6, dscp: [48], strict: true}", "cnp: {priority: 6, dscp: [48], strict: true, maxRate: 10G}",
					"bandwidth: 40%}", "bandwidth: 40%, maxRate: 100G}",
				}})
				d := b.open()
				b.carryOut(d)
				if bad, err := d.Applied(t.Context(), b.desired); err != nil || len(bad) > 0 {
					t.Errorf("in force: %v %v", bad, err)
				}
				cfg, err := d.read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if row := cfg.Row(native.TScheduler, "roce.cnp.shaped"); row["pir"] != "1250000000" || row["cir"] != "1" || row["type"] != "STRICT" {
					t.Errorf("roce.cnp.shaped is %v", row)
				}
				b.desired = compile(t, fabric(b.model, rel))
				b.carryOut(d)
				if bad, err := d.Applied(t.Context(), b.desired); err != nil || len(bad) > 0 {
					t.Errorf("in force without rates: %v %v", bad, err)
				}
			})
		})
	}
}

// carryOut applies the intent and checks that nothing remains to be done.
func (b *box) carryOut(d *driver) {
	b.t.Helper()
	token, _ := b.apply(d)
	if err := d.Confirm(b.t.Context(), token); err != nil {
		b.t.Fatal(err)
	}
	if _, st := b.plan(d); len(st.Changes) > 0 {
		b.t.Fatalf("after the apply: %v", st.Changes)
	}
}

// A maximum rate is recognized as the desired one whoever wrote it, with any value that stands for
// no committed rate.
func TestMaximumRateOfOthers(t *testing.T) {
	m, _ := catalog.Lookup("ACS-MSN4700")
	desired := compile(t, fabric(m, "202511", "strict: true}", "strict: true, maxRate: 10G}"))
	for cir, want := range map[string]bool{"": true, "0": true, "1": true, "1000": false} {
		cfg := native.Encode(desired)
		row := cfg[native.TScheduler]["roce.cnp.shaped"]
		delete(row, "cir")
		if cir != "" {
			row["cir"] = cir
		}
		have, _ := native.Decode(cfg)
		same := true
		for _, c := range qos.Diff(have, desired) {
			same = same && c.Field != qos.KindScheduler.At(6)
		}
		if same != want {
			t.Errorf("with cir %q as wanted: %v", cir, same)
		}
	}
}
