package fleet_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// everySystem is the intent of a fabric with a switch of each system.
const everySystem = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
credentials: {switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}}
switches:
  leaf1: {os: sonic, role: leaf, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32, release: 202511}
  leaf2: {os: eos, role: leaf, address: "192.0.2.12:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
  leaf3: {os: nxos, role: leaf, address: "192.0.2.13:50051", model: N9K-C9332D-GX2B, release: 10.4(3)}
  leaf4: {os: cumulus, role: leaf, address: "192.0.2.14:8765", model: SN5400, release: 5.15.0}
  spine1: {os: eos, role: spine, address: "192.0.2.21:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
links:
  - {a: leaf1/Ethernet240, b: spine1/Ethernet1/1, cable: 40m, speed: 400G}
  - {a: leaf2/Ethernet33/1, b: spine1/Ethernet2/1, cable: 40m, speed: 400G}
  - {a: leaf3/Ethernet1/29, b: spine1/Ethernet3/1, cable: 40m, speed: 400G}
  - {a: "leaf4/swp33", b: "spine1/Ethernet4/1", cable: 40m, speed: 400G}
`

// disturbed is a driver that calls a function after each Confirm or Revert, to simulate an
// event on the switch.
type disturbed struct {
	allOf
	afterConfirm, afterRevert func()
}

type allOf interface {
	drivers.Driver
	drivers.Decoder
	drivers.Keeper
	drivers.Starter
	drivers.Heir
}

func (d *disturbed) Confirm(ctx context.Context, t *drivers.Token) error {
	err := d.allOf.Confirm(ctx, t)
	if d.afterConfirm != nil {
		d.afterConfirm()
	}
	return err
}

func (d *disturbed) Revert(ctx context.Context, t *drivers.Token) error {
	err := d.allOf.Revert(ctx, t)
	if d.afterRevert != nil {
		d.afterRevert()
	}
	return err
}

// bench is a lab with the devices of an intent.
type bench struct {
	f       *fleet.Fabric
	l       *lab.Lab
	devices []fleet.Device
	o       fleet.RunOptions
	// afterConfirm and afterRevert hold the function to call for each switch, by its name.
	afterConfirm, afterRevert map[string]func()
}

func newBench(t *testing.T, text string) *bench {
	f := load(t, text)
	l, at := startLab(t, f.Fabric(), lab.Options{})
	b := &bench{f: f, l: l, afterConfirm: map[string]func(){}, afterRevert: map[string]func(){}}
	b.devices, _ = f.Devices(at)
	for i := range b.devices {
		d := &b.devices[i]
		open := d.Open
		d.Open = func(ctx context.Context) (drivers.Driver, error) {
			drv, err := open(ctx)
			if err != nil || b.afterConfirm[d.Name] == nil && b.afterRevert[d.Name] == nil {
				return drv, err
			}
			return &disturbed{drv.(allOf), b.afterConfirm[d.Name], b.afterRevert[d.Name]}, nil
		}
	}
	b.o = fleet.RunOptions{Fabric: f.Fabric(), Store: store.Dir(t.TempDir()), Workers: 5, Writers: 5}
	return b
}

// keep returns, for each switch, a function that restores its current state.
func (b *bench) keep() map[string]func() {
	out := map[string]func(){}
	for name, sw := range b.l.Switches {
		out[name] = sw.(interface{ Keep() func() }).Keep()
	}
	return out
}

func (b *bench) apply(t *testing.T) *fleet.Result {
	t.Helper()
	res, err := fleet.Apply(t.Context(), b.devices, prepare(t, b.f, b.devices, fleet.GateOff), fleet.ApplyOptions{RunOptions: b.o, Allow: qos.ImpactLoss})
	if res == nil {
		t.Fatal(err)
	}
	return res
}

func (b *bench) rollback(t *testing.T) *fleet.Result {
	t.Helper()
	u, err := fleet.Find(t.Context(), b.devices, fleet.FindOptions{Store: b.o.Store})
	if err != nil {
		t.Fatal(err)
	}
	res, err := fleet.Rollback(t.Context(), b.devices, u, fleet.RollbackOptions{RunOptions: b.o, Allow: qos.ImpactLoss})
	if res == nil {
		t.Fatal(err)
	}
	return res
}

// If a switch loses what was written after it was read back and before it was saved, its state
// is neither applied nor restored, on any system.
func TestLostBeforeTheSave(t *testing.T) {
	t.Parallel()
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, everySystem)
			if res := b.apply(t); res.Failed() {
				t.Fatalf("%+v", res.Outcomes)
			}
			b.afterRevert = b.keep()
			for _, out := range b.rollback(t).Outcomes {
				if out.State != fleet.Partial || out.Error == nil || !strings.Contains(out.Error.Text, "not the one from before the run") {
					t.Errorf("%s: %s, %v", out.Device, out.State, out.Error)
				}
			}
			clear(b.afterRevert)
			for _, out := range b.rollback(t).Outcomes {
				if out.State != fleet.Restored {
					t.Errorf("%s: %s, %v", out.Device, out.State, out.Error)
				}
			}
		})
	})
	t.Run("confirm", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, everySystem)
			b.afterConfirm = b.keep()
			states := map[fleet.State]int{}
			for _, out := range b.apply(t).Outcomes {
				states[out.State]++
				if out.State == fleet.Applied || out.State == fleet.Unchanged {
					t.Errorf("%s: %s, %v", out.Device, out.State, out.Error)
				}
			}
			if states[fleet.Reverted] == 0 {
				t.Errorf("%v", states)
			}
		})
	})
	t.Run("revert", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, everySystem)
			was := b.keep()
			if res := b.apply(t); res.Failed() {
				t.Fatalf("%+v", res.Outcomes)
			}
			b.afterRevert = b.keep()
			for _, back := range was {
				back()
			}
			// Both the confirmation and the revert are lost.
			b.afterConfirm = was
			for _, out := range b.apply(t).Outcomes {
				if out.State != fleet.Partial && out.State != fleet.Skipped || out.State == fleet.Partial && !strings.Contains(out.Error.Text, "and it was not reverted") {
					t.Errorf("%s: %s, %v", out.Device, out.State, out.Error)
				}
			}
		})
	})
}

// A SONiC switch restarts during each save of a rollback, with each way of writing. If the
// result is restored, the switch is really as it was before.
func TestRestartInASave(t *testing.T) {
	t.Parallel()
	for _, write := range []string{"direct", "gnmi"} {
		t.Run(write, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, strings.Replace(everySystem, "mtu:", "write: "+write+"\nmtu:", 1))
				b.devices = b.devices[:1]
				sw := b.l.Switches["leaf1"].(*sonic.Switch)
				before := configOf(sw)
				for at := 1; ; at++ {
					if res := b.apply(t); res.Failed() {
						t.Fatalf("%+v", res.Outcomes)
					}
					saves := 0
					sw.Faults().OnEvent(func(e sonic.Event) {
						if e != sonic.Saving {
							return
						}
						if saves++; saves == at {
							_ = sw.Restart()
						}
					})
					out := b.rollback(t).Outcomes[0]
					sw.Faults().Clear()
					is := maps.EqualFunc(configOf(sw), before, maps.Equal)
					if out.State == fleet.Restored && !is {
						t.Errorf("save %d: restored, and it is not", at)
					}
					if saves < at || write == "gnmi" && at == 2 { // gNMI takes many requests: two saves must do
						return
					}
					if out = b.rollback(t).Outcomes[0]; out.State != fleet.Restored {
						t.Fatalf("save %d, rolled back again: %s, %v", at, out.State, out.Error)
					}
				}
			})
		})
	}
}

// configOf returns the rows of the tables that a run writes, by "TABLE|KEY".
func configOf(sw *sonic.Switch) map[string]map[string]string {
	out := map[string]map[string]string{}
	for table, rows := range sw.Config() {
		if slices.Contains([]string{"PORT_QOS_MAP", "QUEUE", "PFC_WD", "BUFFER_PG", "WRED_PROFILE", "SCHEDULER"}, table) {
			for key, row := range rows {
				if key != "GLOBAL" {
					out[table+"|"+key] = row
				}
			}
		}
	}
	return out
}
