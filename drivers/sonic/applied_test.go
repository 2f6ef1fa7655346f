package sonic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// An ASIC_DB without ports does not show what is in force, neither that it matches the intent nor
// that it differs.
func TestAppliedWithoutPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511"})
		d := b.open()
		b.Faults().BareASIC(true)
		if ms, err := d.Applied(t.Context(), b.desired); !errors.Is(err, drivers.ErrNoState) || ms != nil {
			t.Errorf("only the switch in ASIC_DB: %v, %v", ms, err)
		}
		b.Faults().NoASIC(true)
		if ms, err := d.Applied(t.Context(), b.desired); !errors.Is(err, drivers.ErrUnsupported) || ms != nil {
			t.Errorf("no ASIC_DB: %v, %v", ms, err)
		}
	})
}

// program changes an attribute in ASIC_DB, in all objects of a kind that have it; to maps the old
// value to the new one.
func (b *box) program(kind, attribute string, to func(was string) string) {
	b.t.Helper()
	found := false
	for key, row := range b.DB("ASIC_DB")["ASIC_STATE"] {
		for name, was := range row {
			if strings.HasPrefix(key, "SAI_OBJECT_TYPE_"+kind+":") && strings.HasSuffix(name, attribute) {
				now := maps.Clone(row)
				now[name] = to(was)
				b.SetDBRow("ASIC_DB", "ASIC_STATE", key, now)
				found = true
			}
		}
	}
	if !found {
		b.t.Fatalf("no %s has %s", kind, attribute)
	}
}

// The values in the ASIC are compared with the configuration. Values that cannot be found are
// reported as unknown, not as wrong.
func TestSchedulersAndBuffersInForce(t *testing.T) {
	always := func(v string) func(string) string { return func(string) string { return v } }
	plus := func(n int) func(string) string {
		return func(was string) string {
			v := 0
			fmt.Sscan(was, &v)
			return fmt.Sprint(v + n)
		}
	}
	for name, tt := range map[string]struct {
		model string
		edit  func(b *box)
		// want lists the fields of the first port and of the switch; "?" marks unsure ones.
		want []string
	}{
		"nothing": {td2, func(*box) {}, nil},
		"weights": {td2, func(b *box) { b.program("SCHEDULER", "_SCHEDULING_WEIGHT", always("7")) }, []string{"queues[0].scheduler", "queues[3].scheduler"}},
		"types": {td2, func(b *box) { b.program("SCHEDULER", "_SCHEDULING_TYPE", always("SAI_SCHEDULING_TYPE_STRICT")) },
			[]string{"queues[0].scheduler", "queues[3].scheduler"}},
		"no queue is bound to its scheduler": {td2, func(b *box) {
			var any string
			for key, row := range b.DB("ASIC_DB")["ASIC_STATE"] {
				if row["SAI_SCHEDULER_ATTR_SCHEDULING_TYPE"] == "SAI_SCHEDULING_TYPE_STRICT" {
					_, any, _ = strings.Cut(key, ":")
				}
			}
			b.program("SCHEDULER_GROUP", "_SCHEDULER_PROFILE_ID", always(any))
		}, []string{"queues[0].scheduler", "queues[3].scheduler"}},
		"a smaller xoff":                       {td2, func(b *box) { b.program("BUFFER_PROFILE", "_XOFF_TH", always("7")) }, []string{"groups[3].xoff"}},
		"no xoff":                              {td2, func(b *box) { b.program("BUFFER_PROFILE", "_XOFF_TH", always("0")) }, []string{"groups[3].xoff"}},
		"a larger xoff":                        {td2, func(b *box) { b.program("BUFFER_PROFILE", "_XOFF_TH", plus(5000)) }, []string{"groups[3].headroom"}},
		"an xoff that is rounded up to a cell": {td2, func(b *box) { b.program("BUFFER_PROFILE", "_XOFF_TH", plus(4095)) }, nil},
		"thresholds": {td2, func(b *box) {
			b.program("BUFFER_PROFILE", "_SHARED_DYNAMIC_TH", always("5"))
			b.program("BUFFER_PROFILE", "_SHARED_STATIC_TH", always("7"))
		}, []string{"groups[3].headroom", "queues[0].buffer", "queues[3].buffer", "queues[6].buffer"}},
		"computed headroom": {dynamic, func(b *box) {
			b.program("BUFFER_PROFILE", "_XOFF_TH", always("7"))
			b.program("BUFFER_PROFILE", "_SHARED_DYNAMIC_TH", always("5"))
		}, []string{"groups[3].headroom", "groups[3].xoff", "queues[0].buffer", "queues[3].buffer", "queues[6].buffer"}},
		"a port with the map of the switch": {td2, func(b *box) {
			row := maps.Clone(b.Config()["PORT_QOS_MAP"][b.ports[0]])
			b.SetRow("PORT_QOS_MAP", "global", map[string]string{"dscp_to_tc_map": row["dscp_to_tc_map"]})
			delete(row, "dscp_to_tc_map")
			b.SetRow("PORT_QOS_MAP", b.ports[0], row)
		}, nil},
		"a port without the map of its own, although the switch has it": {td2, func(b *box) {
			b.SetRow("PORT_QOS_MAP", "global", map[string]string{"dscp_to_tc_map": b.Config()["PORT_QOS_MAP"][b.ports[0]]["dscp_to_tc_map"]})
			b.program("PORT", "_QOS_DSCP_TO_TC_MAP", always("oid:0x0"))
		}, []string{"maps.dscp_to_tc"}},
		"a smaller pool": {td2, func(b *box) { b.program("BUFFER_POOL", "_ATTR_SIZE", always("7")) }, []string{"the size of pool egress_lossless_pool", "the size of pool egress_lossy_pool", "the size of pool ingress_lossless_pool"}},
		"no headroom pool": {td2, func(b *box) {
			b.SetRow("BUFFER_POOL", "ingress_lossless_pool", with(b.Config()["BUFFER_POOL"]["ingress_lossless_pool"], "xoff", "1622016"))
			b.program("BUFFER_POOL", "_XOFF_SIZE", always("0"))
		}, []string{"the headroom of pool ingress_lossless_pool"}},
		"a smaller computed pool": {dynamic, func(b *box) { b.program("BUFFER_POOL", "_ATTR_SIZE", always("7")) }, []string{"the size of pool egress_lossless_pool", "the size of pool egress_lossy_pool", "the size of pool ingress_lossless_pool"}},
		"a group that is not handed on": {td2, func(b *box) {
			b.SetDBRow("APPL_DB", "BUFFER_PG_TABLE", b.ports[0]+":3", map[string]string{"profile": ""})
		}, []string{"groups[3].profile"}},
		"a group that is handed on with another profile": {td2, func(b *box) {
			b.SetDBRow("APPL_DB", "BUFFER_PG_TABLE", b.ports[0]+":3", map[string]string{"profile": "ingress_lossy_profile"})
		}, []string{"groups[3].profile"}},
		"a group that is handed on as old releases do": {td2, func(b *box) {
			was := b.DB("APPL_DB")["BUFFER_PG_TABLE"][b.ports[0]+":3"]["profile"]
			b.SetDBRow("APPL_DB", "BUFFER_PG_TABLE", b.ports[0]+":3", map[string]string{"profile": "[BUFFER_PROFILE_TABLE:" + was + "]"})
		}, nil},
		"a port that is down": {td2, func(b *box) {
			b.program("BUFFER_PROFILE", "_XOFF_TH", always("7"))
			b.SetRow("PORT", b.ports[0], with(b.Config()["PORT"][b.ports[0]], "admin_status", "down"))
		}, nil},
		"a port that is down, without buffers": {td2, func(b *box) {
			b.program("BUFFER_PROFILE", "_XOFF_TH", always("0"))
			b.SetRow("PORT", b.ports[0], with(b.Config()["PORT"][b.ports[0]], "admin_status", "down"))
		}, nil},
		"a port that is down, without names": {td2, func(b *box) {
			b.SetRow("FLEX_COUNTER_TABLE", "PG_DROP", map[string]string{"FLEX_COUNTER_STATUS": "disable"})
			b.SetRow("FLEX_COUNTER_TABLE", "PG_WATERMARK", map[string]string{"FLEX_COUNTER_STATUS": "disable"})
			b.SetRow("PORT", b.ports[0], with(b.Config()["PORT"][b.ports[0]], "admin_status", "down"))
		}, nil},
		"names that are not there": {td2, func(b *box) {
			for _, group := range []string{"QUEUE", "PG_DROP", "PG_WATERMARK"} {
				b.SetRow("FLEX_COUNTER_TABLE", group, map[string]string{"FLEX_COUNTER_STATUS": "disable"})
			}
		}, []string{"?the setting of priority group 3", "?the setting of queues 0,3,6"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: tt.model, release: "202511", ssh: true})
				d := b.open()
				b.apply(d)
				tt.edit(b)
				bad, err := d.Applied(t.Context(), b.desired)
				if err != nil {
					t.Fatal(err)
				}
				fields := map[string]bool{}
				for _, m := range bad {
					// Buffers take minutes on some ASICs; an xoff of 0 means that there is no
					// buffer.
					if slow := strings.Contains(m.What(), "].") && m.Field.Kind != qos.KindScheduler && m.Have != "0 B" || m.Port == ""; m.Slow != slow {
						t.Errorf("%+v", m)
					}
					if m.Unsure {
						m.Part = "?" + m.What()
					}
					if m.Port == b.ports[0] || m.Port == "" {
						fields[m.What()] = true
					}
				}
				if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, tt.want) {
					t.Errorf("found %q, want %q: %v", got, tt.want, bad)
				}
			})
		})
	}
}
