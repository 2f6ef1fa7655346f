package sonic

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

const traditional = "DellEMC-Z9332f-O32"

func (b *box) shown(d *driver) (*qos.Device, *drivers.Observation) {
	b.t.Helper()
	snap, err := d.Read(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	o, err := d.Observe(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	running, _ := d.Decode(snap)
	o.Complete(running)

	// ObserveMemory gives the same values, without the links.
	memory, err := d.ObserveMemory(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	alone, _ := d.Decode(snap)
	memory.Complete(alone)
	for name, p := range running.Ports {
		if s := memory.Ports[name]; s != nil && (s.AdminUp.Set || s.Speed.Set) {
			b.t.Errorf("the link of %s is read: %+v", name, s)
		}
		alone.Ports[name].Neighbor = p.Neighbor
	}
	if diff := cmp.Diff(running, alone); diff != "" {
		b.t.Error(diff)
	}
	return running, o
}

// The traditional model looks up headroom in a file of the image.
func TestTheHeadroomTableOfTheSwitchIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: traditional, release: "202511", ssh: true})
		const file = "/usr/share/sonic/device/x86_64-dellemc_z9332f_d1508-r0/DellEMC-Z9332f-O32/pg_profile_lookup.ini"
		running, _ := b.shown(b.open())
		if got, want := len(running.Hardware.Rows), len(b.model.Headroom); got != want || got == 0 {
			t.Fatalf("%d rows, the image has %d", got, want)
		}

		b.WriteFile(file, []byte("# edited on the switch\n400000 40m 2540 2540 99999 -2 2540\n400000 60m broken\n"))
		running, _ = b.shown(b.open())
		want := []qos.HeadroomRow{{Speed: 400e9, Cable: 40, Headroom: qos.Headroom{Size: 2540, XON: 2540, XOFF: 99999, Threshold: -2, XONOffset: 2540}}}
		if diff := cmp.Diff(want, running.Hardware.Rows); diff != "" {
			t.Error(diff)
		}
		if running.Hardware.MaxHeadroom != nil || running.Hardware.Cell != 0 {
			t.Errorf("more than the switch shows: %+v", running.Hardware)
		}

		// In a static pool, a threshold is a number of bytes.
		pool := b.Config()["BUFFER_POOL"]["ingress_lossless_pool"]
		pool["mode"] = "static"
		b.SetRow("BUFFER_POOL", "ingress_lossless_pool", pool)
		if running, _ = b.shown(b.open()); !running.Hardware.Rows[0].Static {
			t.Error("the threshold is taken for an exponent")
		}

		// If the table cannot be read, the rows are unknown, and nothing fails.
		nothing := func(how string, d *driver) {
			t.Helper()
			if running, _ := b.shown(d); len(running.Hardware.Rows) != 0 {
				t.Errorf("%s: %d rows", how, len(running.Hardware.Rows))
			}
		}
		other := b.target
		other.SSH = nil
		nothing("without ssh", b.openAs(other))
		meta := b.Config()["DEVICE_METADATA"]["localhost"]
		for how, platform := range map[string]string{"no file": "x86_64-other-r0", "no platform": "", "a path": "../../../etc", "a line": "a\nreboot"} {
			meta["platform"] = platform
			b.SetRow("DEVICE_METADATA", "localhost", meta)
			nothing(how, b.open())
		}
	})
}

// The dynamic model computes headroom and pools, and the ASIC reports its limits.
func TestComputedBuffersAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: dynamic, release: "202511"})
		port := b.ports[0]
		b.SetRow("BUFFER_PG", port+"|3-4", map[string]string{"profile": "NULL"})
		b.SetDBRow("STATE_DB", "BUFFER_MAX_PARAM_TABLE", port, map[string]string{"max_headroom_size": "1232896"})
		b.SetDBRow("STATE_DB", "BUFFER_MAX_PARAM_TABLE", "global", map[string]string{"mmu_size": "67108864"})
		b.SetDBRow("STATE_DB", "ASIC_TABLE", "MELLANOX-SPECTRUM-3", map[string]string{"cell_size": "144"})
		b.SetDBRow("APPL_DB", "BUFFER_POOL_TABLE", "ingress_lossless_pool", map[string]string{"size": "12345678", "xoff": "4194304", "mode": "dynamic", "type": "ingress"})
		running, o := b.shown(b.open())

		appl := b.DB("APPL_DB")
		name := appl["BUFFER_PG_TABLE"][port+":3-4"]["profile"]
		profile := appl["BUFFER_PROFILE_TABLE"][name]
		g := running.Ports[port].Groups[4]
		if name == "" || !g.Lossless.V || !g.Headroom.Set || itoa(g.Headroom.V.XOFF) != profile["xoff"] || itoa(g.Headroom.V.Size) != profile["size"] || g.Headroom.V.XOFF == 0 || g.Buffer.Set {
			t.Errorf("group %+v, the switch has %s %v", g, name, profile)
		}
		if running.Ports[port].Groups[0].Lossless.V || running.Ports[b.ports[1]].Groups[2].Headroom.Set {
			t.Error("a group without headroom has some")
		}
		if p := running.Pools["ingress_lossless_pool"]; p != (qos.Pool{Size: 12345678, XOFF: 4194304}) {
			t.Errorf("pool %+v", p)
		}
		if p := running.Profiles[name]; p.Headroom != g.Headroom.V || p.Pool != "ingress_lossless_pool" {
			t.Errorf("profile %+v", p)
		}
		h := running.Hardware
		if h.Cell != 144 || h.Memory != 67108864 || h.MaxHeadroom[port] != 1232896 || len(h.Rows) != 0 {
			t.Errorf("%+v", h)
		}
		if len(o.Ports) != len(b.Config()["PORT"]) {
			t.Errorf("%d ports", len(o.Ports))
		}

		// Numbers that no ASIC has, and two ASICs.
		b.SetDBRow("STATE_DB", "BUFFER_MAX_PARAM_TABLE", port, map[string]string{"max_headroom_size": "-5"})
		b.SetDBRow("STATE_DB", "BUFFER_MAX_PARAM_TABLE", "global", map[string]string{"mmu_size": "99999999999999999999"})
		b.SetDBRow("STATE_DB", "ASIC_TABLE", "OTHER", map[string]string{"cell_size": "96"})
		if running, _ := b.shown(b.open()); running.Hardware.Cell != 0 || running.Hardware.Memory != 0 || running.Hardware.MaxHeadroom[port] != 0 {
			t.Errorf("%+v", running.Hardware)
		}
	})
}

func itoa(n int64) string { return fmt.Sprint(n) }
