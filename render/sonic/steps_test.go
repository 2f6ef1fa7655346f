package sonic

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stepOps returns the ops of each step, as text.
func stepOps(steps []Step) [][]string {
	var out [][]string
	for _, step := range steps {
		var s []string
		for _, o := range step.Ops {
			s = append(s, o.String())
		}
		out = append(out, s)
	}
	return out
}

func TestStepsOrder(t *testing.T) {
	running := Config{TPort: {"Ethernet0": {"admin_status": "up"}, "Ethernet4": {"admin_status": "down"}, "Ethernet8": {"admin_status": "up"}}}
	queue := func(p string, q int) Op {
		return Op{Table: TQueue, Key: fmt.Sprintf("%s|%d", p, q), Row: Row{"scheduler": "s"}}
	}
	guard := Row{"action": "drop"}
	ops := []Op{
		queue("Ethernet0", 0), queue("Ethernet0", 1), queue("Ethernet4", 0), queue("Ethernet8", 0),
		{Table: TPort, Key: "Ethernet8", Field: "admin_status", Value: "down"},
		{Table: TScheduler, Key: "s", Row: Row{"type": "STRICT"}},
		{Table: TScheduler, Key: "roce.old", Del: true},
		{Table: TWatchdog, Key: "Ethernet0", Del: true},
		{Table: TWatchdog, Key: "Ethernet0", Row: guard},
		{Table: TWatchdog, Key: "Ethernet4", Row: guard},
	}
	steps := Site{Policy: Policy{PortGroup: 1}}.steps(running, ops)
	want := [][]string{
		{
			"PORT|Ethernet8 admin_status = down", `SCHEDULER|s = {"type":"STRICT"}`,
			`QUEUE|Ethernet4|0 = {"scheduler":"s"}`, `QUEUE|Ethernet8|0 = {"scheduler":"s"}`,
			"PORT|Ethernet0 admin_status = down", "delete PFC_WD|Ethernet0",
		},
		{`QUEUE|Ethernet0|0 = {"scheduler":"s"}`, `QUEUE|Ethernet0|1 = {"scheduler":"s"}`},
		{"PORT|Ethernet0 admin_status = up", `PFC_WD|Ethernet0 = {"action":"drop"}`, `PFC_WD|Ethernet4 = {"action":"drop"}`, "delete SCHEDULER|roce.old"},
	}
	if d := cmp.Diff(want, stepOps(steps)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Ethernet8", "Ethernet0"}, steps[0].Down); d != "" {
		t.Error(d)
	}
}

// A row that shares an index with a new row is removed in an earlier request: together with the
// request that takes the port down, or after it if the switch may remove the row by itself. A new
// cable length is written after PFC has changed.
func TestRowsAreRemovedBeforeTheirReplacements(t *testing.T) {
	running := Config{
		TPort:    {"Ethernet0": {"admin_status": "up"}, "Ethernet4": {"admin_status": "up"}, "Ethernet8": {"admin_status": "down"}},
		TPortQoS: {"Ethernet0": {"pfc_enable": "3,4"}},
		TGroup:   {"Ethernet0|3-4": {"profile": "pg_lossless_100000_5m_profile"}},
		TQueue:   {"Ethernet4|3-4": {"scheduler": "a"}, "Ethernet8|3-4": {"scheduler": "a"}},
	}
	queue := Row{"scheduler": "b"}
	ops := []Op{
		{Table: TPortQoS, Key: "Ethernet0", Row: Row{"pfc_enable": "3"}}, {Table: TGroup, Key: "Ethernet0|3-4", Del: true},
		{Table: TCable, Key: cableName, Field: "Ethernet0", Value: "3m"},
		{Table: TQueue, Key: "Ethernet4|3", Row: queue}, {Table: TQueue, Key: "Ethernet4|3-4", Del: true},
		{Table: TPort, Key: "Ethernet4", Field: "admin_status", Value: "down"},
		{Table: TQueue, Key: "Ethernet8|3", Row: queue}, {Table: TQueue, Key: "Ethernet8|3-4", Del: true},
	}
	first := [][]string{
		{"PORT|Ethernet4 admin_status = down"},
		{"delete QUEUE|Ethernet4|3-4", "delete QUEUE|Ethernet8|3-4"},
		{`QUEUE|Ethernet4|3 = {"scheduler":"b"}`, `QUEUE|Ethernet8|3 = {"scheduler":"b"}`, "PORT|Ethernet0 admin_status = down"},
	}
	last := [][]string{
		{`PORT_QOS_MAP|Ethernet0 = {"pfc_enable":"3"}`},
		{"CABLE_LENGTH|AZURE Ethernet0 = 3m", "PORT|Ethernet0 admin_status = up"},
	}
	gone := "delete BUFFER_PG|Ethernet0|3-4"
	rel, _ := LookupRelease("202511")
	for _, maker := range []string{"broadcom", "nvidia", ""} {
		want := slices.Concat(first, last)
		if maker == "broadcom" {
			want[2] = append(slices.Clone(want[2]), gone)
		} else {
			want = slices.Concat(first, [][]string{{gone}}, last)
		}
		steps := Site{Release: rel, Maker: maker, Policy: Policy{PortGroup: 1}}.steps(running, ops)
		if d := cmp.Diff(want, stepOps(steps)); d != "" {
			t.Errorf("%q: %s", maker, d)
		}
		if d := cmp.Diff([]string{"Ethernet4"}, steps[0].Down); d != "" {
			t.Errorf("%q: %s", maker, d)
		}
	}
}

func TestWatchdogMovesAreSeparateSteps(t *testing.T) {
	row := Row{"action": "drop", "detection_time": "400", "restoration_time": "400"}
	running := Config{TWatchdog: {"Ethernet0": row, "GLOBAL": {"POLL_INTERVAL": "200"}}}
	steps := Site{}.steps(running, []Op{
		{Table: TWatchdog, Key: "Ethernet0", Del: true}, {Table: TWatchdog, Key: "Ethernet4", Row: row},
	})
	if len(steps) != 2 {
		t.Errorf("one request would be a move, which the updater refuses: %v", stepOps(steps))
	}
}

// A length that changes before the priority is removed would leave a lossless group behind.
func TestCablesWaitForPFC(t *testing.T) {
	lossless := Row{"profile": "pg_lossless_100000_40m_profile"}
	length := Op{Table: TCable, Key: "AZURE", Field: "Ethernet0", Value: "300m"}
	ops := []Op{length, {Table: TPortQoS, Key: "Ethernet0", Row: Row{"pfc_enable": "3"}}}
	for name, c := range map[string]struct {
		groups Table
		waits  bool
	}{
		"no group":      {nil, true},
		"a lossy group": {Table{"Ethernet0|4": {"profile": "ingress_lossy_profile"}}, true},
		"of another":    {Table{"Ethernet4|3-4": lossless}, true},
		"a range":       {Table{"Ethernet0|3-4": lossless}, false},
	} {
		running := Config{TPort: {"Ethernet0": {"admin_status": "up"}}, TPortQoS: {"Ethernet0": {"pfc_enable": "3,4"}}, TGroup: c.groups}
		for _, rel := range releases {
			steps := stepOps(Site{Release: rel}.steps(running, ops))
			in := func(o Op) int {
				return slices.IndexFunc(steps, func(step []string) bool { return slices.Contains(step, o.String()) })
			}
			// Some builds of 202505 act on the new length at once, others only when the port comes
			// up.
			waits, up := c.waits || rel.CableRederives || rel.CableMayRederive, admin("Ethernet0", "up")
			if (in(length) > in(ops[1])) != waits || !rel.CableRederives && waits && in(length) >= in(up) {
				t.Errorf("%s: %s: %v", rel, name, steps)
			}
		}
	}
}
