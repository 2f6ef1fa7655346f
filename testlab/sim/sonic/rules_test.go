package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// fullConfig returns a valid configuration that contains every table of interest.
func fullConfig() map[string]any {
	c := FactoryConfig(testModel(2))
	c["PFC_WD"] = map[string]map[string]string{"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"}}
	c["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = map[string]map[string]string{"AZURE": {"default_dynamic_th": "0"}}
	c["LOSSLESS_TRAFFIC_PATTERN"] = map[string]map[string]string{"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}}
	c["DOT1P_TO_TC_MAP"] = map[string]map[string]string{"X": {"0": "0"}}
	c["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = map[string]map[string]string{"AZURE": {"3": "3"}}
	c["BUFFER_PORT_EGRESS_PROFILE_LIST"] = map[string]map[string]string{"Ethernet0": {"profile_list": "egress_lossless_profile,egress_lossy_profile"}}
	b, _ := json.Marshal(c)
	var d map[string]any
	_ = json.Unmarshal(b, &d)
	return d
}

// rule is one edit of the full configuration; an empty field sets the entry. since is the first
// release that accepts it ("" for none, "all" for every release), or with a leading - the first
// that does not.
type rule struct{ table, key, field, value, since string }

var rules = []rule{
	{"DSCP_TO_TC_MAP", "AZURE", "63", "15", "all"}, {"DSCP_TO_TC_MAP", "AZURE", "64", "1", ""}, {"DSCP_TO_TC_MAP", "AZURE", "03", "1", ""},
	{"DSCP_TO_TC_MAP", "AZURE", "5", "16", ""}, {"DSCP_TO_TC_MAP", "a.b", "5", "1", ""}, {"DSCP_TO_TC_MAP", strings.Repeat("a", 33), "5", "1", ""},
	{"DOT1P_TO_TC_MAP", "X", "7", "0", "all"}, {"DOT1P_TO_TC_MAP", "X", "8", "0", ""},
	{"TC_TO_QUEUE_MAP", "AZURE", "0", "8", "202411"}, {"TC_TO_QUEUE_MAP", "AZURE", "16", "0", ""},
	{"TC_TO_PRIORITY_GROUP_MAP", "AZURE", "0", "8", ""}, {"MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "8", "0", ""},
	{"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "AZURE", "3", "8", ""},
	{"PORT_QOS_MAP", "Ethernet0", "pfc_enable", "", "202505"}, {"PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3, 4", ""}, {"PORT_QOS_MAP", "Ethernet0", "pfc_enable", "8", ""},
	{"PORT_QOS_MAP", "Ethernet0", "pfc_to_queue_map", "", ""}, {"PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "NOPE", ""},
	{"PORT_QOS_MAP", "Ethernet0", "mpls_tc_to_tc_map", "AZURE", ""}, {"PORT_QOS_MAP", "Global", "dscp_to_tc_map", "AZURE", ""}, {"PORT_QOS_MAP", "Ethernet999", "dscp_to_tc_map", "AZURE", ""},
	{"SCHEDULER", "scheduler.0", "weight", "0", ""}, {"SCHEDULER", "scheduler.0", "weight", "101", ""}, {"SCHEDULER", "scheduler.0", "type", "dwrr", ""},
	{"SCHEDULER", "scheduler.0", "priority", "9", "all"}, {"SCHEDULER", "scheduler.0", "pir", "5", ""}, {"SCHEDULER", "scheduler.0", "cbs", "5", ""},
	{"SCHEDULER", "s", "", `{"cir":"5","pir":"4"}`, ""}, {"SCHEDULER", "s", "", `{"cir":"5","pir":"5","cbs":"9","pbs":"9"}`, "all"}, {"SCHEDULER", "s", "", `{"cir":"5","pir":"5","cbs":"9","pbs":"8"}`, ""},
	{"SCHEDULER", "s", "", `{"cir":"5","pir":"5","pbs":"4294967296"}`, ""},
	{"WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "2097153", ""}, {"WRED_PROFILE", "AZURE_LOSSLESS", "red_drop_probability", "101", ""},
	{"WRED_PROFILE", "AZURE_LOSSLESS", "wred_green_enable", "True", ""}, {"WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_all_all", ""},
	{"WRED_PROFILE", "W", "", `{"green_max_threshold":"5"}`, ""}, {"WRED_PROFILE", "W", "", `{"green_min_threshold":"5"}`, "all"}, {"WRED_PROFILE", "W.1", "", `{}`, ""},
	{"QUEUE", "Ethernet0|3", "scheduler", "nope", ""}, {"QUEUE", "Ethernet0|0-2", "", `{"scheduler":"scheduler.0"}`, "all"}, {"QUEUE", "Ethernet0", "", `{}`, ""},
	{"QUEUE", "Ethernet0,Ethernet8|3", "", `{}`, ""}, {"QUEUE", "CPU|3", "", `{"scheduler":"scheduler.0"}`, "all"}, {"QUEUE", "Ethernet0|3", "weight", "1", ""},
	{"BUFFER_POOL", "ingress_lossless_pool", "type", "both", "202405"}, {"BUFFER_POOL", "ingress_lossless_pool", "mode", "x", ""}, {"BUFFER_POOL", "p", "", `{"type":"ingress"}`, ""},
	{"BUFFER_POOL", "p", "", `{"type":"ingress","mode":"static","percentage":"5"}`, ""},
	{"BUFFER_PROFILE", "egress_lossy_profile", "dynamic_th", "8", ""}, {"BUFFER_PROFILE", "egress_lossy_profile", "dynamic_th", "-8", "all"}, {"BUFFER_PROFILE", "egress_lossy_profile", "pool", "x", ""},
	{"BUFFER_PROFILE", "egress_lossy_profile", "packet_discard_action", "trim", "202505"}, {"BUFFER_PROFILE", "x", "", `{"pool":"ingress_lossless_pool"}`, ""},
	{"BUFFER_PG", "Ethernet0|3-4", "", `{"profile":"NULL"}`, "all"}, {"BUFFER_PG", "Ethernet0|3,4", "", `{"profile":"NULL"}`, ""}, {"BUFFER_PG", "Ethernet0|8", "", `{"profile":"NULL"}`, ""},
	{"BUFFER_QUEUE", "Ethernet0|15", "", `{"profile":"egress_lossy_profile"}`, "all"}, {"BUFFER_QUEUE", "Ethernet0|16", "", `{"profile":"egress_lossy_profile"}`, ""}, {"BUFFER_QUEUE", "Ethernet0|7", "", `{}`, ""},
	{"BUFFER_PORT_EGRESS_PROFILE_LIST", "Ethernet0", "profile_list", "egress_lossy_profile,nope", ""},
	{"CABLE_LENGTH", "AZURE", "Ethernet0", "40", ""}, {"CABLE_LENGTH", "AZURE", "Ethernet0", "0m", "all"}, {"CABLE_LENGTH", "AZURE", "Ethernet999", "5m", ""},
	{"DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", "max_headroom_size", "5", ""}, {"DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", "default_dynamic_th", "8", ""},
	{"LOSSLESS_TRAFFIC_PATTERN", "AZURE", "mtu", "9217", ""}, {"LOSSLESS_TRAFFIC_PATTERN", "AZURE", "", `{"mtu":"1024"}`, ""},
	{"PFC_WD", "GLOBAL", "POLL_INTERVAL", "300", ""}, {"PFC_WD", "Ethernet0", "detection_time", "100", ""}, {"PFC_WD", "Ethernet0", "action", "reset", ""},
	{"PFC_WD", "Ethernet0", "detection_time", "5001", ""}, {"PFC_WD", "Ethernet0", "POLL_INTERVAL", "200", ""}, {"PFC_WD", "GLOBAL", "action", "drop", ""},
	{"PFC_WD", "GLOBAL", "BIG_RED_SWITCH", "enable", ""}, {"PFC_WD", "Ethernet0", "pfc_stat_history", "enable", "202511"}, {"PFC_WD", "Ethernet8", "", `{"detection_time":"1500"}`, "all"},
	{"PORT", "Ethernet0", "speed", "1600000", "202511"}, {"PORT", "Ethernet0", "mtu", "9300", ""}, {"PORT", "Ethernet0", "mtu", "67", ""}, {"PORT", "Ethernet0", "fec", "kr", ""},
	{"PORT", "Ethernet0", "admin_status", "UP", ""}, {"PORT", "Ethernet0", "pfc_enable", "3", ""}, {"PORT", "Ethernet16", "", `{"speed":"100000"}`, ""},
	{"DEVICE_METADATA", "localhost", "buffer_model", "static", ""}, {"DEVICE_METADATA", "localhost", "made_up", "1", ""}, {"DEVICE_METADATA", "localhost", "type", "UpperSpineRouter", "202505"},
	{"FLEX_COUNTER_TABLE", "WRED_ECN_QUEUE", "", `{"FLEX_COUNTER_STATUS":"enable"}`, "all"}, {"FLEX_COUNTER_TABLE", "PORT", "POLL_INTERVAL", "99", ""}, {"FLEX_COUNTER_TABLE", "NOPE", "", `{"FLEX_COUNTER_STATUS":"enable"}`, ""},
	{"PFC_WD", "poll", "", "1500", "-202511"},
}

func (r rule) apply() map[string]any {
	d := fullConfig()
	if r.key == "poll" { // a poll interval above 1000 needs matching times
		d["PFC_WD"] = map[string]any{"GLOBAL": map[string]any{"POLL_INTERVAL": r.value}}
		return d
	}
	if r.table == "BUFFER_PG" && r.field == "" && r.key == "Ethernet0|3-4" {
		delete(d["BUFFER_PG"].(map[string]any), r.key)
	}
	t, ok := d[r.table].(map[string]any)
	if !ok {
		t = map[string]any{}
		d[r.table] = t
	}
	if r.field == "" {
		var e map[string]any
		_ = json.Unmarshal([]byte(r.value), &e)
		t[r.key] = e
		return d
	}
	e, ok := t[r.key].(map[string]any)
	if !ok {
		e = map[string]any{}
		t[r.key] = e
	}
	e[r.field] = r.value
	return d
}

func (r rule) accepted(rel int) bool {
	switch {
	case r.since == "all":
		return true
	case r.since == "":
		return false
	case r.since[0] == '-':
		i, _ := releaseIndex(r.since[1:])
		return rel < i
	}
	i, _ := releaseIndex(r.since)
	return rel >= i
}

func TestModelsPerRelease(t *testing.T) {
	for rel, name := range Releases {
		if err := validate(fullConfig(), rel); err != nil {
			t.Fatalf("%s: the base is refused: %v", name, err)
		}
		for _, r := range rules {
			err := validate(r.apply(), rel)
			if (err == nil) != r.accepted(rel) {
				t.Errorf("%s: %v: %v", name, r, err)
			}
		}
	}
}

// TestModelsAgreeWithYanglint compares every case with SONiC's own models, in make nightly with those
// of three releases.
func TestModelsAgreeWithYanglint(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	tool, yang := sharedTool(t)
	dir := t.TempDir()
	var files []string
	for i, r := range rules {
		b, _ := json.Marshal(r.apply())
		f := filepath.Join(dir, fmt.Sprintf("%03d.json", i))
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, name := range sharedtest.Sample([]string{"202311", "202505", "master"}, 1) {
		rel, _ := releaseIndex(name)
		out, err := exec.Command(tool, append([]string{"--json", "-y", filepath.Join(yang, name)}, files...)...).Output()
		if _, exit := err.(*exec.ExitError); err != nil && !exit {
			t.Fatal(err)
		}
		verdicts := yangVerdicts(t, out, files)
		for i, r := range rules {
			if ours := validate(r.apply(), rel) == nil; ours != verdicts[i] {
				t.Errorf("%s: %v: yanglint %v, simulator %v", name, r, verdicts[i], ours)
			}
		}
	}
}

func sharedTool(t *testing.T) (tool, yang string) {
	tool = sharedtest.Dir(t, "tools", "sonic-yang-check")
	if _, err := exec.LookPath("yanglint"); err != nil {
		t.Skip("skipped: yanglint is not installed (Debian package libyang2-tools)")
	}
	return tool, sharedtest.Dir(t, "data", "yang", "sonic")
}

func TestFieldOperationRules(t *testing.T) {
	watchdog := `{"Ethernet0":{"action":"drop","detection_time":"400","restoration_time":"400"}}`
	profile := "pg_lossless_400000_40m_profile"
	type want map[string]string // release -> "ok" or "no"; "*" for all others
	for _, tc := range []struct {
		name, asic string
		u          func() []patchOp
		want       want
	}{
		{"pool size", "th3", ops("replace", "/BUFFER_POOL/ingress_lossless_pool/size", "1"), want{"*": "ok", "202511": "no", "202605": "no", "master": "no"}},
		{"pool of an unknown chip", "", ops("replace", "/BUFFER_POOL/ingress_lossless_pool/size", "1"), want{"*": "no"}},
		{"egress pool size", "th3", ops("replace", "/BUFFER_POOL/egress_lossless_pool/size", "1"), want{"*": "no"}},
		{"generated profile threshold", "th3", ops("replace", "/BUFFER_PROFILE/"+profile+"/dynamic_th", "1"), want{"*": "ok"}},
		{"lossy profile threshold", "th3", ops("replace", "/BUFFER_PROFILE/egress_lossy_profile/dynamic_th", "2"), want{"*": "no", "202511": "ok", "202605": "ok", "master": "ok"}},
		{"xoff", "th3", ops("replace", "/BUFFER_PROFILE/"+profile+"/xoff", "9"), want{"*": "ok"}},
		{"xoff on td2", "td2", ops("replace", "/BUFFER_PROFILE/"+profile+"/xoff", "9"), want{"*": "no"}},
		{"profile size", "th3", ops("replace", "/BUFFER_PROFILE/"+profile+"/size", "9"), want{"*": "no"}},
		{"new profile", "th3", ops("add", "/BUFFER_PROFILE/mine", map[string]any{"pool": "egress_lossless_pool", "size": "0"}), want{"*": "no", "202511": "ok", "202605": "ok", "master": "ok"}},
		{"trim", "th5", ops("add", "/BUFFER_PROFILE/"+profile+"/packet_discard_action", "trim"), want{"202311": "yang", "202405": "yang", "202411": "yang", "202505": "no", "*": "ok"}},
		{"trim on th3", "th3", ops("add", "/BUFFER_PROFILE/"+profile+"/packet_discard_action", "trim"), want{"202311": "yang", "202405": "yang", "202411": "yang", "*": "no"}},
		{"wred green", "th3", ops("replace", "/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold", "5"), want{"*": "ok"}},
		{"wred yellow", "th3", ops("replace", "/WRED_PROFILE/AZURE_LOSSLESS/yellow_min_threshold", "5"), want{"*": "no", "202511": "ok", "202605": "ok", "master": "ok"}},
		{"new wred", "th3", ops("add", "/WRED_PROFILE/MINE", map[string]any{"ecn": "ecn_all"}), want{"*": "no", "202511": "ok", "202605": "ok", "master": "ok"}},
		{"wred on an unknown chip", "", ops("replace", "/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold", "5"), want{"*": "no", "202511": "ok", "202605": "ok", "master": "ok"}},
		{"first watchdog", "th3", ops("add", "/PFC_WD", decode(watchdog)), want{"*": "no"}},
		{"a map", "", ops("replace", "/DSCP_TO_TC_MAP/AZURE/26", "3"), want{"*": "ok"}},
		{"fec", "", ops("replace", "/PORT/Ethernet0/fec", "none"), want{"*": "ok"}},
		{"remark", "", ops("add", "/TC_TO_DSCP_MAP", decode(`{"X":{"1":"1"}}`)), want{"*": "ok", "202311": "no", "202405": "no"}},
	} {
		for _, rel := range Releases {
			w, ok := tc.want[rel]
			if !ok {
				w = tc.want["*"]
			}
			s := bare(t, Options{Release: rel, ASIC: tc.asic, Model: testModel(2)})
			got := "ok"
			if err := s.applyPatch(tc.u(), gcuOptions{}); err != nil {
				got = "no"
				if strings.Contains(err.msg, "Data Loading Failed") {
					got = "yang"
				}
			}
			if got != w {
				t.Errorf("%s on %s: %s, want %s", tc.name, rel, got, w)
			}
		}
	}
}

func ops(op, path string, v any) func() []patchOp {
	return func() []patchOp { return []patchOp{{op: op, path: path, value: v}} }
}

func decode(s string) any {
	var v any
	_ = json.Unmarshal([]byte(s), &v)
	return v
}

func bare(t testing.TB, o Options) *Switch {
	t.Helper()
	o.Plaintext, o.NoSSH = true, true
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestWatchdogRules(t *testing.T) {
	s := bare(t, Options{Model: testModel(2), ASIC: "th3"})
	apply := func(op, path string, v any) string {
		if err := s.applyPatch([]patchOp{{op: op, path: path, value: v}}, gcuOptions{}); err != nil {
			_, cause, _ := strings.Cut(err.msg, "\n")
			return cause
		}
		return "OK"
	}
	port := map[string]any{"action": "drop", "detection_time": "400", "restoration_time": "400"}
	s.SetRow("PFC_WD", "Ethernet0", rowOf(port))
	illegal := "- localhost: Modification of PFC_WD table is illegal- validating function generic_config_updater.field_operation_validators.rdma_config_update_validator returned False"
	like(t, apply("add", "/PFC_WD/GLOBAL", map[string]any{"POLL_INTERVAL": "200"}), illegal)
	s.SetRow("PFC_WD", "GLOBAL", nil)
	like(t, apply("add", "/PFC_WD/GLOBAL/POLL_INTERVAL", "200"), "OK")
	// A command that writes the database bypasses the models; orchagent rejects the row.
	if a := apply("add", "/PFC_WD/Ethernet8", map[string]any{"action": "errdisable", "detection_time": "400"}); !strings.Contains(a, "Invalid enumeration value \"errdisable\"") {
		t.Errorf("the updater says %q of errdisable", a)
	}
	s.SetRow("PFC_WD", "Ethernet8", row{"action": "errdisable", "detection_time": "400", "restoration_time": "400"})
	if s.orch["PFC_WD"]["Ethernet8"] != nil {
		t.Error("orchagent took the action errdisable")
	}
	s.SetRow("PFC_WD", "Ethernet8", nil)
	like(t, apply("add", "/PFC_WD/Ethernet8", port2(port)), "OK")
	like(t, apply("replace", "/PFC_WD/Ethernet8/action", "alert"), "OK")
	if a := s.DB("COUNTERS_DB")["COUNTERS"][oid("QUEUE", "Ethernet8:3")]["PFC_WD_ACTION"]; a != "drop" {
		t.Errorf("the action changed in place: %q", a)
	}
	like(t, apply("remove", "/PFC_WD/GLOBAL", nil), "- localhost: Operation: remove is illegal on field: /PFC_WD/GLOBAL")
	like(t, apply("remove", "/PFC_WD/Ethernet8", nil), "OK")
	// A row that is removed and added elsewhere with the same value becomes a move.
	if err := s.applyPatch([]patchOp{{op: "remove", path: "/PFC_WD/Ethernet0"}, {op: "add", path: "/PFC_WD/Ethernet8", value: port}}, gcuOptions{}); err == nil {
		t.Error("a rename passed")
	}
}

func port2(m map[string]any) map[string]any {
	return map[string]any{"action": m["action"], "detection_time": "500", "restoration_time": "500"}
}

func TestMissingTables(t *testing.T) {
	for rel, want := range map[string]bool{"202505": false, "202511": true} {
		s := bare(t, Options{Model: testModel(1), Release: rel})
		err := s.applyPatch([]patchOp{{op: "add", path: "/DOT1P_TO_TC_MAP/X", value: map[string]any{"1": "1"}}}, gcuOptions{})
		if (err == nil) != want {
			t.Errorf("%s: %v", rel, err)
		}
	}
}

// yangVerdicts parses the output of the tool: one JSON object per file.
func yangVerdicts(t *testing.T, out []byte, files []string) []bool {
	t.Helper()
	var l []bool
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var v struct{ Valid bool }
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		l = append(l, v.Valid)
	}
	if len(l) != len(files) {
		t.Fatalf("%d verdicts for %d files", len(l), len(files))
	}
	return l
}
