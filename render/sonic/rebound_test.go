package sonic

import (
	"slices"
	"testing"
)

// TestRemovalRewritesOverlappingRows: a row that stays, but shares a group with a removed row, is
// removed and written again; otherwise orchagent ignores it.
func TestRemovalRewritesOverlappingRows(t *testing.T) {
	null := Row{"profile": "NULL"}
	running := Config{TPort: {"Ethernet0": {"admin_status": "up"}}, TGroup: {"Ethernet0|3": null, "Ethernet0|3-4": null, "Ethernet0|0": {"profile": "lossy"}}}
	for name, ops := range map[string][]Op{
		"it stays":               {{Table: TGroup, Key: "Ethernet0|3-4", Del: true}},
		"it is written as it is": {{Table: TGroup, Key: "Ethernet0|3-4", Del: true}, {Table: TGroup, Key: "Ethernet0|3", Row: null}},
	} {
		for _, direct := range []bool{true, false} {
			steps := Site{Release: Newest(), Direct: direct, SSH: direct, Policy: Policy{PortGroup: 1}}.steps(running, ops)
			var seen []string
			for _, s := range steps {
				for _, o := range s.Ops {
					if o.Table == TGroup {
						seen = append(seen, o.String())
					}
				}
			}
			put := slices.Index(seen, `BUFFER_PG|Ethernet0|3 = {"profile":"NULL"}`)
			if len(seen) != 3 || put != 2 || !slices.Contains(seen, "delete BUFFER_PG|Ethernet0|3") {
				t.Errorf("%s, direct %v: %q", name, direct, seen)
			}
		}
	}
}

// TestRangesThatBecomeTheSame: a row whose indexes all change to the same value is written in
// place, and two rows that agree about an index are left alone.
func TestRangesThatBecomeTheSame(t *testing.T) {
	have := Table{"Ethernet0|3-4": {"profile": "a"}}
	if ops := rangedDelta(TBufferQueue, have, Table{"Ethernet0|3": {"profile": "b"}, "Ethernet0|4": {"profile": "b"}}); len(ops) != 1 || ops[0].Key != "Ethernet0|3-4" || ops[0].Row["profile"] != "b" {
		t.Errorf("%v", ops)
	}
	if ops := rangedDelta(TBufferQueue, have, Table{"Ethernet0|3": {"profile": "b"}}); len(ops) != 3 || !ops[0].Del {
		t.Errorf("%v", ops)
	}
	have["Ethernet0|3"] = Row{"profile": "a"}
	if ops := rangedDelta(TBufferQueue, have, Table{"Ethernet0|3": {"profile": "a"}}); len(ops) > 0 {
		t.Errorf("%v", ops)
	}
}

// TestTwoRowsOfOneGroup: the later of two rows that name the same group fails a check.
func TestTwoRowsOfOneGroup(t *testing.T) {
	cfg := Config{
		TPort:    {"Ethernet0": {"lanes": "1"}, "Ethernet4": {"lanes": "2"}},
		TProfile: {"pg_lossless_100000_5m_profile": {"xoff": "1"}},
		TGroup: {
			"Ethernet0|3": {"profile": "pg_lossless_100000_5m_profile"}, "Ethernet0|3-4": {"profile": "pg_lossless_100000_5m_profile"},
			"Ethernet4|3": {"profile": "pg_lossless_100000_5m_profile"}, "Ethernet4|4": {"profile": "pg_lossless_100000_5m_profile"},
		},
	}
	var failing []string
	for _, l := range Account(cfg) {
		if l.Check == "BUF-18" {
			failing = append(failing, l.Where)
		}
	}
	if !slices.Equal(failing, []string{"BUFFER_PG|Ethernet0|3-4"}) {
		t.Errorf("%q", failing)
	}
}
