package sonic

import (
	"slices"
	"testing"
)

// TestDaemonReactionsAreComplete: each table that this tool writes has an entry for its rows,
// entries name only known releases and buffer models, and each gives its reason.
func TestDaemonReactionsAreComplete(t *testing.T) {
	for i, h := range Habits {
		for _, name := range []string{h.Since, h.Before} {
			if _, ok := LookupRelease(name); name != "" && !ok {
				t.Errorf("entry %d, %s: no release %q", i, h.Table, name)
			}
		}
		if h.Set == "" || h.Unset == "" || h.Why == "" || !slices.Contains([]string{"", traditional}, h.Model) {
			t.Errorf("entry %d: %+v", i, h)
		}
		if h.None != "" && h.Unset != Keeps {
			t.Errorf("entry %d: a value for none of a field that goes: %+v", i, h)
		}
	}
	reads := []string{TMetadata, TSwitch, TMember, TPool, TTunnel, TVXLAN}
	for _, name := range Releases() {
		rel, _ := LookupRelease(name)
		for _, table := range Tables() {
			if _, ok := rel.habitOf(table, "x", "", traditional); ok == slices.Contains(reads, table) && table != TPort {
				t.Errorf("%s: entry for %s: %v", name, table, ok)
			}
		}
		for _, f := range portWrites {
			if _, ok := rel.habitOf(TPort, "Ethernet0", f, traditional); !ok {
				t.Errorf("no entry for PORT %s", f)
			}
		}
		if h, _ := rel.habitOf(TCable, cableName, "Ethernet0", traditional); (h.Set == Applies) != rel.CableRederives {
			t.Errorf("%s: CABLE_LENGTH %s, CableRederives %v", name, h.Set, rel.CableRederives)
		}
	}
}

// TestConsequences checks the effects of important ops, by release.
func TestConsequences(t *testing.T) {
	cfg := Config{
		TWatchdog: {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop"}},
		TPortQoS:  {"Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3"}},
		TWRED:     {"AZURE_LOSSLESS": {"ecn": "ecn_all"}},
	}
	for _, tc := range []struct {
		release string
		op      Op
		want    []Effect
	}{
		{"202311", Op{Table: TWatchdog, Key: "GLOBAL", Del: true}, []Effect{Crashes}},
		{"202605", Op{Table: TWatchdog, Key: "GLOBAL", Del: true}, []Effect{Crashes}},
		{"202605", Op{Table: TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Del: true}, []Effect{Crashes}}, // the last field of the row
		{"master", Op{Table: TWatchdog, Key: "GLOBAL", Del: true}, []Effect{Keeps}},
		{"202605", Op{Table: TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Value: "300"}, []Effect{Applies}},
		{"202605", Op{Table: TWatchdog, Key: "Ethernet0", Row: Row{"action": "forward"}}, []Effect{Recreates}},
		{"202511", Op{Table: TPortQoS, Key: "Ethernet0", Row: Row{"dscp_to_tc_map": "AZURE"}}, []Effect{Keeps}},
		{"202511", Op{Table: TWRED, Key: "AZURE_LOSSLESS", Row: Row{"wred_green_enable": "true"}}, []Effect{Applies, Keeps}},
	} {
		rel, _ := LookupRelease(tc.release)
		var got []Effect
		all, err := rel.Consequences(tc.op, cfg)
		for _, c := range all {
			got = append(got, c.Effect)
		}
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s %s: %v, %v, want %v", tc.release, tc.op, got, err, tc.want)
		}
		if fails := rel.CheckSteps(cfg, []Step{{Ops: []Op{tc.op}}}) != nil; fails != slices.Contains(tc.want, Crashes) {
			t.Errorf("%s %s: refused %v", tc.release, tc.op, fails)
		}
	}
	rel := Newest()
	if _, err := rel.Consequences(Op{Table: TPort, Key: "Ethernet0", Field: "lanes", Value: "1"}, cfg); err == nil {
		t.Error("a field without an entry")
	}
}

// TestFieldsThatTheDaemonsKeep: instead of removing a field, the value that means "no value" is
// written.
func TestFieldsThatTheDaemonsKeep(t *testing.T) {
	running := Config{TPort: {"Ethernet0": {"pfc_asym": "on"}, "Ethernet4": {}}, TPortQoS: {"Ethernet0": {"pfc_enable": "3"}}}
	for name, want := range map[string]string{"202411": Absent, "202511": ""} {
		target := Config{TPort: {"Ethernet0": {"pfc_asym": Absent}, "Ethernet4": {"pfc_asym": Absent}}, TPortQoS: {"Ethernet0": {"pfc_enable": Absent}}}
		rel, _ := LookupRelease(name)
		rel.clearBeforeRemoval(running, target)
		if got := target[TPortQoS]["Ethernet0"]["pfc_enable"]; got != want {
			t.Errorf("%s: pfc_enable %q, want %q", name, got, want)
		}
		if a, b := target[TPort]["Ethernet0"]["pfc_asym"], target[TPort]["Ethernet4"]["pfc_asym"]; a != "off" || b != Absent {
			t.Errorf("%s: pfc_asym %q, %q", name, a, b)
		}
	}
}

// TestUndoOfAPortThatIsGone: the watchdog row of a port that no longer exists stays, because its
// removal would crash orchagent.
func TestUndoOfAPortThatIsGone(t *testing.T) {
	u := Undo{Rows: map[string]map[string]Row{TWatchdog: {"Ethernet0": nil, "Ethernet4": nil}}}
	cfg := Config{TPort: {"Ethernet4": {}}, TWatchdog: {"Ethernet0": {"action": "drop"}, "Ethernet4": {"action": "drop"}}}
	if ops := u.Written(cfg); len(ops) != 1 || ops[0].Key != "Ethernet4" || !ops[0].Del {
		t.Errorf("%v", ops)
	}
}
