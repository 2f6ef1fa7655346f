package sonic

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// tallied maps the driver's metrics to the counters of the simulated switch.
var tallied = map[drivers.Metric]string{
	drivers.PFCRx: sim.PFCRx, drivers.PFCTx: sim.PFCTx, drivers.LinkPauseRx: sim.LinkPauseRx, drivers.QueuePackets: sim.TxPkts, drivers.QueueBytes: sim.TxOctets,
	drivers.QueueDrops: sim.DropPkts, drivers.StormsDetected: sim.WDStuck, drivers.StormsRestored: sim.WDRecovery,
	drivers.GroupDrops: sim.GroupDrops, drivers.HeadroomPeak: sim.HeadroomPeak,
	drivers.FECCorrected: sim.FECCorrected, drivers.FECUncorrected: sim.FECUncorrected, drivers.SymbolErrors: sim.SymbolErrors, drivers.ErrorsRx: sim.RxErrors, drivers.ErrorsTx: sim.TxErrors,
}

// count sets a counter of a port.
func (b *box) count(port string, index int, m drivers.Metric, n uint64) bool {
	name, ok := tallied[m]
	if m == drivers.StormsDetected || m == drivers.StormsRestored {
		ok = b.Config()["PFC_WD"][port] != nil
	}
	if ok {
		b.Counters().Set(port, index, name, n)
	}
	return ok
}

func (b *box) read(ports ...string) *drivers.Counters {
	b.t.Helper()
	c, err := b.open().Counters(b.t.Context(), ports)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// The configuration says which counters the switch polls, and how often.
func TestCountersArePolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: dynamic, release: "202511"})
		port := b.ports[0]
		flex := func(group string, fields map[string]string) {
			b.SetDBRow("CONFIG_DB", "FLEX_COUNTER_TABLE", group, fields)
		}
		has := func(c *drivers.Counters, id drivers.CounterID) bool { _, ok := c.Ports[port][id]; return ok }

		c := b.read()
		for m, want := range map[drivers.Metric]time.Duration{
			drivers.PFCRx: time.Second, drivers.QueueDrops: 10 * time.Second, drivers.GroupDrops: 10 * time.Second,
			drivers.HeadroomPeak: time.Minute, drivers.StormsDetected: time.Second,
		} {
			if c.Poll[m] != want {
				t.Errorf("%s is renewed every %s, want %s", m, c.Poll[m], want)
			}
		}
		if len(c.Ports) != len(b.Config()["PORT"]) || !has(c, drivers.GroupDrops.Of(3)) {
			t.Errorf("%d ports", len(c.Ports))
		}
		// No release counts marks unless configured to.
		if has(c, drivers.QueueMarked.Of(3)) || has(c, drivers.PauseRxTime.Of(3)) {
			t.Errorf("counted: %v", c.Ports[port])
		}
		flex("WRED_ECN_QUEUE", map[string]string{"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "5000"})
		flex("QUEUE", map[string]string{"POLL_INTERVAL": "no number"})
		b.SetRow("PFC_WD", "GLOBAL", map[string]string{"POLL_INTERVAL": "300"})
		b.SetRow("PFC_WD", port, map[string]string{"action": "drop", "detection_time": "400", "restoration_time": "400"})
		b.Counters().Set(port, 3, sim.ECNMarked, 7)
		b.Counters().Set(port, 3, sim.PauseRxTime, 9)
		c = b.read(port)
		if c.Ports[port][drivers.QueueMarked.Of(3)] != 7 || c.Ports[port][drivers.PauseRxTime.Of(3)] != 9 || !has(c, drivers.StormsDetected.Of(3)) {
			t.Errorf("%v", c.Ports[port])
		}
		if c.Poll[drivers.QueueMarked] != 5*time.Second || c.Poll[drivers.QueueDrops] != 10*time.Second || c.Poll[drivers.StormsDetected] != 300*time.Millisecond {
			t.Errorf("%v", c.Poll)
		}

		// A watermark of one interval falls, that of all intervals stays.
		b.Counters().Set(port, 3, sim.HeadroomPeak, 9000)
		b.Counters().Set(port, 3, sim.HeadroomPeak, 20)
		if c = b.read(port); c.Ports[port][drivers.HeadroomPeak.Of(3)] != 20 || c.Ports[port][drivers.HeadroomPeakKept.Of(3)] != 9000 || c.Poll[drivers.HeadroomPeakKept] != time.Minute {
			t.Errorf("headroom was filled to: %v", c.Ports[port])
		}

		// Counters of a disabled group keep their last value in the database.
		flex("PG_DROP", map[string]string{"FLEX_COUNTER_STATUS": "disable"})
		flex("QUEUE", map[string]string{"FLEX_COUNTER_STATUS": "disable"})
		groups := b.DB("COUNTERS_DB")["COUNTERS_PG_NAME_MAP"][""]
		b.SetDBRow("COUNTERS_DB", "COUNTERS", groups[port+":3"], map[string]string{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "12"})
		c = b.read(port)
		if has(c, drivers.GroupDrops.Of(3)) || has(c, drivers.QueueDrops.Of(3)) || c.Poll[drivers.GroupDrops] != 0 || !has(c, drivers.HeadroomPeak.Of(3)) {
			t.Errorf("%v, renewed %v", c.Ports[port], c.Poll)
		}
		if c.Off[drivers.GroupDrops] != "FLEX_COUNTER_TABLE|PG_DROP is not enabled (sudo counterpoll pg-drop enable)" || c.Off[drivers.QueueDrops] == "" || c.Off[drivers.PFCRx] != "" || c.Off[drivers.StormsDetected] != "" {
			t.Errorf("off: %v", c.Off)
		}
		// A group without a row is not polled either.
		b.DelRow("FLEX_COUNTER_TABLE", "PFCWD")
		if c = b.read(port); c.Off[drivers.StormsDetected] == "" || has(c, drivers.StormsDetected.Of(3)) {
			t.Errorf("%v, off: %v", c.Ports[port], c.Off)
		}
		// A value that is not a number is unknown.
		b.SetDBRow("COUNTERS_DB", "COUNTERS", b.DB("COUNTERS_DB")["COUNTERS_PORT_NAME_MAP"][""][port], map[string]string{"SAI_PORT_STAT_PFC_3_RX_PKTS": "N/A", "SAI_PORT_STAT_PFC_4_RX_PKTS": "-1"})
		if c = b.read(port); has(c, drivers.PFCRx.Of(3)) || has(c, drivers.PFCRx.Of(4)) || !has(c, drivers.PFCRx.Of(5)) {
			t.Errorf("%v", c.Ports[port])
		}
		// A switch that polls nothing.
		other := newBox(t, boxOptions{model: dynamic, release: "202511"})
		for group := range other.Config()["FLEX_COUNTER_TABLE"] {
			other.DelRow("FLEX_COUNTER_TABLE", group)
		}
		if _, err := other.open().Counters(t.Context(), nil); !errors.Is(err, drivers.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
	})
}

// The result has the pools of the switch, with the highest fill level of each.
func TestPoolsAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511"})
		pools := b.DB("COUNTERS_DB")["COUNTERS_BUFFER_POOL_NAME_MAP"][""]
		if len(pools) == 0 {
			t.Fatal("the box has no pools")
		}
		for name, oid := range pools {
			b.SetDBRow("COUNTERS_DB", "COUNTERS", oid, map[string]string{"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": "4096"})
			if c := b.read(); c.Pools[name] != 4096 {
				t.Errorf("%v", c.Pools)
			}
		}
	})
}

// Rows are named if they are few; rows that the buffer manager derives are left out. Without SSH
// the result is unknown.
func TestUnsavedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		d := b.open()
		if _, err := d.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := func(want ...string) {
			t.Helper()
			got, err := d.Unsaved(t.Context())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		check()
		b.SetRow("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", map[string]string{"pool": "ingress_lossless_pool", "size": "1", "xoff": "2"})
		b.SetRow("BUFFER_PG", b.ports[0]+"|3", map[string]string{"profile": "pg_lossless_400000_40m_profile"})
		b.SetRow("VLAN", "Vlan10", map[string]string{"vlanid": "10"}) // not one of our tables
		check()
		b.SetRow("SCHEDULER", "new", map[string]string{"type": "STRICT"})
		b.DelRow("QUEUE", b.ports[0]+"|3")
		check("QUEUE|"+b.ports[0]+"|3", "SCHEDULER|new")
		for i := range 7 {
			b.DelRow("QUEUE", fmt.Sprintf("%s|%d", b.ports[0], i))
		}
		check("QUEUE (7 rows)", "SCHEDULER|new")

		without := newBox(t, boxOptions{model: known, release: "202511"})
		if _, err := without.open().Unsaved(t.Context()); !errors.Is(err, drivers.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
	})
}

// A read-only driver reads the configuration once, and all that it shows belongs to that moment; a
// driver that plans reads it again.
func TestTheConfigurationIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", alone: true})
		for reads, want := range map[bool]int{true: 1, false: 3} {
			var log strings.Builder
			target, at := b.target, *b.target.SSH
			at.Log = trace.New(slog.NewTextHandler(&log, nil))
			target.SSH, target.Reads = &at, reads
			d := b.openAs(target)
			if _, err := d.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			row := fmt.Sprint("reads-", reads)
			b.SetRow("SCHEDULER", row, map[string]string{"type": "STRICT"})
			if _, err := d.Applied(t.Context(), b.desired); err != nil {
				t.Error(err)
			}
			unsaved, err := d.Unsaved(t.Context())
			if err != nil || slices.Contains(unsaved, "SCHEDULER|"+row) == reads {
				t.Errorf("only reads %v: not saved: %q, %v", reads, unsaved, err)
			}
			if n := strings.Count(log.String(), "sonic-cfggen") + strings.Count(log.String(), "&& sonic-db-dump -n CONFIG_DB"); n != want {
				t.Errorf("only reads %v: the configuration was read %d times, not %d\n%s", reads, n, want, &log)
			}
		}
	})
}

// The counters of ports alone equal those in the full set, over either transport.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []boxOptions{{model: dynamic, release: "202511"}, {model: dynamic, release: "202511", ssh: true, alone: true}} {
			b := newBox(t, o)
			port := b.ports[0]
			b.count(port, 4, drivers.PFCTx, 77)
			b.count(port, 3, drivers.QueuePackets, 5)
			c, err := b.open().Pauses(t.Context(), []string{port, "Ethernet9999"})
			if err != nil {
				t.Fatal(err)
			}
			if _, queue := c.Ports[port][drivers.QueuePackets.Of(3)]; len(c.Ports) != 1 || c.Ports[port][drivers.PFCTx.Of(4)] != 77 || queue {
				t.Errorf("%+v", c.Ports)
			}
			if _, err := b.open().Pauses(t.Context(), []string{"Ethernet9999"}); !errors.Is(err, drivers.ErrUnsupported) {
				t.Errorf("of no port: %v", err)
			}
		}
	})
}
