package cumulus

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simcumulus "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

func TestEveryAttribute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drivertest.Attributes(t, drivertest.Fixture{New: func(t *testing.T, _ drivertest.Options) *drivertest.Device { return newBox(t, boxOptions{}).device() }},
			qos.KindMap.Table(qos.PCPToTC), qos.KindMap.Table(qos.PFCToGroup), qos.KindMap.Table(qos.PFCToQueue), qos.KindMap.Table(qos.TCToDSCP), qos.KindMap.Table(qos.TCToGroup),
			qos.KindGlobalMap.All(), qos.KindHeadroomModel.All(), qos.KindSpeed.All(), qos.KindBreakout.All(), qos.KindFEC.All(), qos.KindQueueBuffer.All(),
			qos.KindGroupBuffer.All(), qos.KindDerivedFrom.All(), qos.KindHeadroom.All(), qos.KindLossless.All(), qos.KindIngressProfiles.All(), qos.KindEgressProfiles.All())
	})
}

func TestStateOfPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, spelled := range []bool{false, true} {
			b := newBox(t, boxOptions{Options: simcumulus.Options{Spelled: spelled}})
			b.SetNeighbor("swp1", "gpu1", "eth0")
			b.Unplug("swp2", true)
			d := b.open()
			if err := d.Confirm(t.Context(), b.apply(d)); err != nil {
				t.Fatal(err)
			}
			o, err := d.Observe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, dark := o.Ports["swp1"], o.Ports["swp2"]
			if p.MTU.V != 9100 || p.Speed.V != 400e9 || !p.AdminUp.V || !p.OperUp.V || len(p.Neighbors) != 1 || p.Neighbors[0] != (qos.Neighbor{Device: "gpu1", Port: "eth0"}) {
				t.Errorf("spelled %v: swp1 %+v", spelled, p)
			}
			if !dark.AdminUp.V || dark.OperUp.V || !dark.OperUp.Set || o.Ports["eth0"] != nil {
				t.Errorf("swp2 %+v", dark)
			}
			if g := p.Groups[3]; g.Size < 20_000 || len(p.Groups) != 1 {
				t.Errorf("spelled %v: groups %+v", spelled, p.Groups)
			}
			list, err := d.Applied(t.Context(), b.desired)
			if err != nil || len(list) > 0 {
				t.Errorf("spelled %v: %v, %v", spelled, list, err)
			}
			b.set("nv set interface swp1 link mtu 4000\nnv set qos congestion-control default-global traffic-class 3 min-threshold 900000")
			list, err = d.Applied(t.Context(), b.desired)
			if err != nil {
				t.Fatal(err)
			}
			found := map[qos.Kind]int{}
			for _, m := range list {
				found[m.Field.Kind]++
				if m.Unsure != (m.Field.Kind == qos.KindECN) {
					t.Errorf("%+v", m)
				}
			}
			if found[qos.KindMTU] != 1 || found[qos.KindECN] == 0 || len(found) != 2 {
				t.Errorf("spelled %v: %+v", spelled, list)
			}
		}
	})
}

// The watchdog shows which queues it has stopped.
func TestStorms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.open()
		if err := d.Confirm(t.Context(), b.apply(d)); err != nil {
			t.Fatal(err)
		}
		b.Counters().Set("swp1", 3, sim.WDStuck, 2)
		for ended, want := range map[uint64]map[int]drivers.Storm{1: {3: drivers.StormStopped}, 2: nil} {
			b.Counters().Set("swp1", 3, sim.WDRecovery, ended)
			o, err := d.Observe(t.Context())
			if err != nil || !maps.Equal(o.Ports["swp1"].Storms, want) || len(o.States()) != len(want) {
				t.Errorf("%d ended: %v, %v", ended, o.States(), err)
			}
		}
	})
}

// Counters are an object keyed by number or a list, and contain numbers or text.
func TestFormsOfCounters(t *testing.T) {
	for _, text := range []string{
		`{"pfc-stats": {"3": {"rx-pause-frames": 5, "tx-pause-frames": "7"}}, "egress-queue-stats": {"3": {"tx-frames": 1, "tx-bytes": "2.00 KB", "tx-uc-buffer-discards": "0 Bytes"}}, "ingress-buffer-stats": {"9": {}}}`,
		`{"pfc-stats": [{"switch-priority": 3, "rx-pause-frames": 5, "tx-pause-frames": 7}], "egress-queue-stats": [{"traffic-class": "3", "tx-frames": 1, "tx-bytes": 2048, "tx-uc-buffer-discards": 0}]}`,
	} {
		var c counted
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		var p drivers.PortState
		c.into(&p)
		for id, want := range map[drivers.CounterID]uint64{drivers.PFCRx.Of(3): 5, drivers.PFCTx.Of(3): 7, drivers.QueuePackets.Of(3): 1, drivers.QueueBytes.Of(3): 2048, drivers.QueueDrops.Of(3): 0} {
			if got, ok := p.Counters[id]; !ok || got != want {
				t.Errorf("%s is %d (%v), want %d in %s", id, got, ok, want, text)
			}
		}
		if len(p.Counters) != 5 {
			t.Errorf("%v", p.Counters)
		}
	}
	var s shown
	for _, text := range []string{`"n/a"`, `null`, `{}`, `"-1"`, `"5 apples"`} {
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.set {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
}

// Probe finds the release in all of its places, and refuses another product.
func TestProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, release := range []string{"5.9.1", "5.11.0", "5.14.0", "5.17.0"} {
			b := newBox(t, boxOptions{Options: simcumulus.Options{Version: release, Model: "MSN4700"}})
			f, err := b.open().Probe(t.Context())
			if err != nil || f.Version != release || f.Model != "MSN4700" || f.OS != "cumulus" || f.ASIC == "" {
				t.Errorf("%+v, %v", f, err)
			}
		}
	})
}
