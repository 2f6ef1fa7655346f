package sonic

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// A new cable length must take effect on the headroom. Older releases look it up only when the port
// goes down and up; the plan then says so, and flaps the port.
func TestANewCableReachesTheHeadroom(t *testing.T) {
	for release, flaps := range map[string]bool{"202311": true, "202411": true, "202505": true, "202511": false, "master": false} {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: td2, release: release, ssh: true})
				d := b.open()
				b.apply(d)
				was, before := b.state(), b.Flaps()
				port := b.ports[0]
				p := b.desired.Ports[port]
				speed := p.Speed.V.String()
				p.Cable = qos.Of(units.Length(300))
				p.Groups[3].DerivedFrom = qos.Of(speed + " 300m")
				_, st := b.plan(d)
				fields := map[string]qos.Impact{}
				for _, c := range st.Changes {
					fields[c.Port+" "+c.Field.String()] = c.Impact
				}
				// Rebuilding the buffer of a port that is down does no further harm.
				want := map[bool]qos.Impact{true: qos.ImpactPortFlap, false: qos.ImpactLoss}[flaps]
				if len(fields) != 2 || fields[port+" cable"] != want || flaps != (fields[port+" groups[3].derived_from"] == qos.ImpactPortFlap) {
					t.Errorf("planned %v", fields)
				}
				tok, _ := b.apply(d)
				group := b.config().Row(native.TGroup, port+"|3")
				if !strings.HasSuffix(group["profile"], "_300m_profile") {
					t.Errorf("the group holds %v", group)
				}
				if got := b.Flaps()[port] - before[port]; got != map[bool]int{true: 1, false: 0}[flaps] {
					t.Errorf("the port went down %d times", got)
				}
				if _, again := b.plan(d); len(again.Changes) > 0 {
					t.Errorf("still to do: %v", again.Changes)
				}
				if err := d.Revert(t.Context(), tok); err != nil || string(b.state()) != string(was) {
					t.Errorf("revert: %v", err)
				}
			})
		})
	}
}

// A length that was set earlier, without effect, is detected and put into effect.
func TestAStaleHeadroomIsFoundAndMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202411", ssh: true})
		d := b.open()
		b.apply(d)
		port := b.ports[0]
		cables := b.Config()["CABLE_LENGTH"]["AZURE"]
		stale := map[string]string{}
		for p, l := range cables {
			stale[p] = l
		}
		stale[port] = "40m"
		b.SetRow("CABLE_LENGTH", "AZURE", stale)
		b.SetRow("PORT", port, with(b.Config()["PORT"][port], "admin_status", "down"))
		b.SetRow("PORT", port, with(b.Config()["PORT"][port], "admin_status", "up"))
		b.SetRow("CABLE_LENGTH", "AZURE", cables)
		_, st := b.plan(d)
		if len(st.Changes) != 1 || st.Changes[0].Field != qos.KindDerivedFrom.At(3) || !strings.HasSuffix(st.Changes[0].Old, " 40m") || st.Impact() != qos.ImpactPortFlap {
			t.Fatalf("planned %v", st.Changes)
		}
		snap, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, again := b.plan(d); len(again.Changes) > 0 {
			t.Errorf("still to do: %v", again.Changes)
		}
	})
}

func with(row map[string]string, field, value string) map[string]string {
	out := map[string]string{}
	for f, v := range row {
		out[f] = v
	}
	out[field] = value
	return out
}
