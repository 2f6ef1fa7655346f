package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

// The writer exists for speed; it must print the same text as encoding/json.
func TestAppendJSONEqualsEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"Ethernet0|3", "a\u2028b", "\xff", "</script>&", "q\"\\", "\b\f\x00\x1f\x7f"}))
	rapid.Check(t, func(t *rapid.T) {
		cfg, plain := Config{}, map[string]map[string]map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			table, key := text.Draw(t, "table"), text.Draw(t, "key")
			row, p := Row{}, map[string]any{}
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				f, v := strings.TrimRight(text.Draw(t, "field"), "@"), text.Draw(t, "value")
				row[f], p[f] = v, v
			}
			if rapid.Bool().Draw(t, "list") {
				row["members@"], p["members"] = "a,b", []string{"a", "b"}
				delete(row, "members")
			}
			cfg.Put(table, key, row)
			if plain[table] == nil {
				plain[table] = map[string]map[string]any{}
			}
			plain[table][key] = p
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", indent)
		if err := enc.Encode(plain); err != nil {
			t.Fatal(err)
		}
		if got := string(cfg.AppendJSON(nil)); got != want.String() {
			t.Fatalf("wrote\n%s\nwant\n%s", got, want.String())
		}
	})
}

func TestParseIsTheInverseOfTheWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Encode(device(t))
		got, err := Parse(cfg.AppendJSON(nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(cfg, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestParseRefusesWhatIsNotCONFIGDB(t *testing.T) {
	for in, want := range map[string]string{
		``:                                          "unexpected EOF",
		`[]`:                                        "found [] where an object belongs",
		`{"PORT":{"Ethernet0":{"mtu"`:               "PORT|Ethernet0",
		`{"PORT":{"Ethernet0":"up"}}`:               "PORT|Ethernet0: found \"up\" where an object belongs",
		`{"PORT":{"Ethernet0":{"mtu":nil}}}`:        "PORT|Ethernet0",
		`{"PORT":{"Ethernet0":{"lanes":[1]}}}`:      "PORT|Ethernet0 lanes: list member 1 is not text",
		`{"PORT":{}} trailing`:                      "text after the end",
		`{"PORT":{"Ethernet0":{"alias":"a"b"}}}`:    "PORT|Ethernet0",
		strings.Repeat(`{"a":`, 20000) + `{}`:       "a|a",
		`{"PORT":{"Ethernet0":{"mtu":{"deep":1}}}}`: "value is neither",
	} {
		_, err := Parse([]byte(in), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q) = %v, want %q", in, err, want)
		}
	}
}

// A null is stored the way the switch stores it, and reported if the field is a number.
func TestNullIsStoredAsOnTheSwitch(t *testing.T) {
	cfg, err := Parse([]byte(`{"PORT":{"Ethernet0":{"mtu":null,"speed":"400000","lag":true}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := cfg.Row(TPort, "Ethernet0"); r["mtu"] != "None" || r["lag"] != "True" {
		t.Errorf("%v", r)
	}
	if _, unknown := Decode(cfg); len(unknown) != 1 || unknown[0].Why != "not a number" {
		t.Errorf("%v", unknown)
	}
}

// device draws a model that SONiC can represent completely.
func device(t *rapid.T) *qos.Device {
	d := &qos.Device{Name: "leaf1", Platform: qos.Platform{OS: "sonic", DynamicBuffers: rapid.Bool().Draw(t, "dynamic")}, Ports: map[string]*qos.Port{}}
	for p := range qos.NumPriorities {
		if rapid.Bool().Draw(t, "class") {
			d.Classes = append(d.Classes, qos.Class{Name: fmt.Sprintf("c%d", p), Priority: p, Queue: p, Lossless: p == 3 || p == 4})
		}
	}
	var sets []*qos.Maps
	for range rapid.IntRange(1, 3).Draw(t, "map sets") {
		sets = append(sets, drawMaps(t))
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "ports") {
		d.Ports[fmt.Sprintf("Ethernet%d", i*8)] = drawPort(t, d, rapid.SampledFrom(sets).Draw(t, "maps"))
	}
	d.WatchdogPoll = qos.Of(time.Duration(rapid.IntRange(100, 1000).Draw(t, "poll")) * time.Millisecond)
	if rapid.Bool().Draw(t, "global") {
		g := qos.UnmappedMaps()
		g.DSCPToTC = sets[0].DSCPToTC
		d.GlobalMaps = qos.Of(g)
	}
	qos.Normalize(d)
	return d
}

func drawMaps(t *rapid.T) *qos.Maps {
	m := qos.UnmappedMaps()
	tc := rapid.Int8Range(0, 7)
	groups := rapid.Bool().Draw(t, "pfc_to_pg")
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = tc.Draw(t, "tc")
	}
	for i := range qos.NumPriorities {
		m.TCToQueue[i], m.TCToGroup[i], m.PFCToQueue[i] = tc.Draw(t, "q"), tc.Draw(t, "pg"), tc.Draw(t, "pq")
		if groups {
			m.PFCToGroup[i] = tc.Draw(t, "ppg")
		}
	}
	return m
}

func drawPort(t *rapid.T, d *qos.Device, m *qos.Maps) *qos.Port {
	p := &qos.Port{
		AdminUp: qos.Of(rapid.Bool().Draw(t, "up")), Speed: qos.Of(units.Rate(400e9)), MTU: qos.Of(rapid.IntRange(68, 9216).Draw(t, "mtu")),
		FEC: qos.Of("rs"), Cable: qos.Of(units.Length(rapid.IntRange(1, 300).Draw(t, "cable"))), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(m),
		PFC: qos.Of(qos.PrioritySet(rapid.Uint8().Draw(t, "pfc"))), PFCAsymmetric: qos.Of(rapid.Bool().Draw(t, "asym")),
	}
	if rapid.Bool().Draw(t, "watchdog") {
		ms := func(lo, hi int) time.Duration {
			return time.Duration(rapid.IntRange(lo, hi).Draw(t, "ms")) * time.Millisecond
		}
		p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: qos.ActionDrop, Detect: ms(100, 5000), Restore: ms(100, 60000)})
	} else {
		p.Watchdog = qos.Of(qos.Watchdog{})
	}
	for i := range qos.NumPriorities {
		q := &p.Queues[i]
		q.ECN = qos.Of(qos.ECN{})
		if rapid.Bool().Draw(t, "ecn") {
			lo := rapid.Int64Range(1, 1<<20).Draw(t, "min")
			q.ECN = qos.Of(qos.ECN{Enabled: true, Min: lo, Max: lo + rapid.Int64Range(0, 1<<20).Draw(t, "more"), Probability: rapid.IntRange(0, 100).Draw(t, "p")})
		}
		s := qos.Scheduler{Strict: rapid.Bool().Draw(t, "strict")}
		if !s.Strict {
			s.Weight = rapid.IntRange(1, 100).Draw(t, "weight")
		}
		if rapid.Bool().Draw(t, "shaped") {
			s.MaxRate = units.Rate(rapid.IntRange(1, 400).Draw(t, "rate") * 1e9)
		}
		q.Scheduler = qos.Of(s)
		p.Groups[i].Lossless = qos.Of(d.Platform.DynamicBuffers && rapid.Bool().Draw(t, "lossless"))
	}
	return p
}

// Decoding an encoded device returns the same device, for any combination of settings.
func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := device(t)
		cfg := Encode(want)
		// The platform's template sets these fields.
		model := map[bool]string{true: "dynamic", false: "traditional"}[want.Platform.DynamicBuffers]
		cfg.Put(TMetadata, "localhost", Row{"buffer_model": model, "hostname": "leaf1"})
		got, unknown := Decode(cfg)
		if len(unknown) > 0 {
			t.Fatalf("not understood: %v", unknown)
		}
		if left := qos.Diff(got, want); len(left) > 0 {
			t.Fatalf("%d values differ after a round trip, first %s: %s, not %s", len(left), left[0].Path(), left[0].Old, left[0].New)
		}
		for name, p := range want.Ports {
			g := got.Ports[name]
			// Diff ignores values that desired leaves open; these must be equal as well.
			if !reflect.DeepEqual(*g.Maps.V, *p.Maps.V) || g.PFC != p.PFC || g.Watchdog != p.Watchdog {
				t.Fatalf("%s differs", name)
			}
		}
	})
}

func TestEncodingIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := device(t)
		a := Encode(d).AppendJSON(nil)
		for range 3 {
			if b := Encode(d).AppendJSON(nil); !bytes.Equal(a, b) {
				t.Fatal("two encodings of one device differ")
			}
		}
	})
}

func TestDecodeReportsWhatItCannotPlace(t *testing.T) {
	cfg := Config{
		TPort:        {"Ethernet0": {"mtu": "big", "speed": "400000"}},
		TPortQoS:     {"Ethernet0": {"mpls_tc_to_tc_map": "X", "pfc_enable": "3,9"}, "Ethernet99": {}},
		TQueue:       {"Ethernet0|x": {}, "Ethernet0|3": {"colour": "red"}},
		TDSCPToTC:    {},
		TCable:       {cableName: {"Ethernet0": "40"}},
		TGroup:       {"Ethernet0|3": {"profile": "gone"}},
		TWatchdog:    {"Ethernet7": {"action": "drop"}, "Ethernet0": {"action": "drop"}},
		TIngressList: {"Ethernet9": {"profile_list": "a"}},
	}
	_, unknown := Decode(cfg)
	var got []string
	for _, u := range unknown {
		got = append(got, u.Where()+": "+u.Why)
	}
	want := []string{
		"BUFFER_PG|Ethernet0|3 profile: no such profile",
		"BUFFER_PORT_INGRESS_PROFILE_LIST|Ethernet9: no such port",
		"CABLE_LENGTH|AZURE Ethernet0: not a port and its cable length",
		"PFC_WD|Ethernet0: pfcwd_sw_enable of the port names no priority, so the watchdog guards none",
		"PFC_WD|Ethernet7: no such port",
		"PORT|Ethernet0 mtu: not a number",
		"PORT_QOS_MAP|Ethernet0 mpls_tc_to_tc_map: this tool does not know the field and leaves it",
		"PORT_QOS_MAP|Ethernet0 pfc_enable: not a list of priorities",
		"PORT_QOS_MAP|Ethernet99: no such port",
		"QUEUE|Ethernet0|3 colour: this tool does not know the field and leaves it",
		"QUEUE|Ethernet0|x: not a port and an index that this tool knows",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A worked example: names, ranges and defaults are decoded as the switch interprets them.
func TestDecodeInterpretsLikeTheSwitch(t *testing.T) {
	cfg := Config{
		TMetadata:  {"localhost": {"buffer_model": "traditional"}},
		TPort:      {"Ethernet0": {"speed": "100000", "admin_status": "up"}},
		TScheduler: {"s": {}, "u": {"type": "SP", "weight": "5"}, "p": {"type": "DWRR", "weight": "5", "meter_type": "packets", "pir": "100", "cir": "100"}},
		TWRED: {
			"inert": {"green_min_threshold": "1", "green_max_threshold": "2", "ecn": "ecn_all"},
			"mixed": {"green_min_threshold": "1", "green_max_threshold": "2", "wred_green_enable": "true", "ecn": "ecn_all", "yellow_min_threshold": "9", "yellow_max_threshold": "9"},
		},
		TQueue:   {"Ethernet0|0-2": {"scheduler": "s"}, "Ethernet0|3": {"wred_profile": "inert"}, "Ethernet0|4": {"wred_profile": "mixed", "scheduler": "p"}, "Ethernet0|5": {"scheduler": "u"}},
		TProfile: {"pg_lossless_100000_5m_profile": {"xoff": "1000", "size": "5", "dynamic_th": "-3"}},
		TGroup:   {"Ethernet0|3-4": {"profile": "pg_lossless_100000_5m_profile"}},
		TPortQoS: {"Ethernet0": {"pfc_enable": "4,3"}},
		TMember:  {"PortChannel7|Ethernet0": {}},
	}
	d, unknown := Decode(cfg)
	p := d.Ports["Ethernet0"]
	for what, c := range map[string]struct{ got, want any }{
		"unknown":          {len(unknown), 0},
		"default type":     {p.Queues[2].Scheduler.V.String(), "weight 1 (WRR)"},
		"unknown type":     {p.Queues[5].Scheduler.V.String(), "weight 5 (type=SP)"},
		"packet meter":     {p.Queues[4].Scheduler.V.String(), "weight 5 min 0.0008M max 0.0008M (packets)"},
		"not enabled":      {p.Queues[3].ECN.V.Enabled, false},
		"inert is not off": {p.Queues[3].ECN.V == qos.ECN{}, false},
		"one colour":       {p.Queues[4].ECN.V.String(), "1B..2B 100%"},
		"no profile":       {p.Queues[5].ECN.V, qos.ECN{}},
		"range":            {p.Groups[4].Lossless, qos.Of(true)},
		"derived":          {p.Groups[4].Buffer.Set, false},
		"pfc":              {p.PFC.V.String(), "{3,4}"},
		"trust":            {p.Trust.V, qos.TrustNone},
		"lag":              {p.LAG.V, "PortChannel7"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// A code point that a map does not list is in traffic class 0, whether a port or the global row
// uses the map. A map that lists nothing, or does not exist, counts as no map.
func TestDSCPMapsThatListSomeCodePoints(t *testing.T) {
	cfg := Config{
		TPort:     {"Ethernet0": {}, "Ethernet4": {}, "Ethernet8": {}, "Ethernet12": {}, "Ethernet16": {}},
		TDSCPToTC: {"AZURE": {"26": "3", "48": "6"}, "AZURE_UPLINK": {"3": "3"}, "EMPTY": {}},
		TPortQoS: {
			"global":    {"dscp_to_tc_map": "AZURE"},
			"Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3"}, "Ethernet4": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
			"Ethernet8": {"dscp_to_tc_map": "AZURE_UPLINK"}, "Ethernet12": {"dscp_to_tc_map": "EMPTY"}, "Ethernet16": {"dscp_to_tc_map": "GONE"},
		},
	}
	d, unknown := Decode(cfg)
	want := func(tcs map[int]int8) (table [qos.NumDSCP]int8) {
		for code, tc := range tcs {
			table[code] = tc
		}
		return table
	}
	none := qos.UnmappedMaps().DSCPToTC
	azure := want(map[int]int8{26: 3, 48: 6})
	for name, table := range map[string][qos.NumDSCP]int8{
		"Ethernet0": azure, "Ethernet4": azure, "Ethernet8": want(map[int]int8{3: 3}), "Ethernet12": none, "Ethernet16": none,
	} {
		if got := d.Ports[name].Maps.V.DSCPToTC; got != table {
			t.Errorf("%s: %v", name, got)
		}
	}
	if d.GlobalMaps.V.DSCPToTC != azure {
		t.Errorf("global: %v", d.GlobalMaps.V.DSCPToTC)
	}
	var said []string
	for _, u := range unknown {
		said = append(said, u.Where()+": "+u.Why)
	}
	const others = "; the others are taken to be in traffic class 0"
	if !slices.Equal(said, []string{"DSCP_TO_TC_MAP|AZURE: it lists 2 of 64 code points" + others, "DSCP_TO_TC_MAP|AZURE_UPLINK: it lists 1 of 64 code points" + others, "DSCP_TO_TC_MAP|GONE: there is no such map", "TC_TO_QUEUE_MAP|AZURE: there is no such map"}) {
		t.Errorf("said %q", said)
	}
}

// A configuration saved by an old release means the same as after an upgrade to the next release.
func TestReferencesOfOldReleases(t *testing.T) {
	const config = `{"PORT": {"Ethernet0": {}}, "DSCP_TO_TC_MAP": {"AZURE": {"3": "3"}}, "TC_TO_QUEUE_MAP": {"AZURE": {"3": "3"}},
		"WRED_PROFILE": {"W": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1", "green_max_threshold": "2"}},
		"SCHEDULER": {"scheduler.1": {"type": "DWRR", "weight": "15"}}, "BUFFER_POOL": {"egress": {}}, "BUFFER_PROFILE": {"a": {"pool": "(BUFFER_POOL|)egress"}, "b": {}},
		"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "(DSCP_TO_TC_MAP|)AZURE", "tc_to_queue_map": "(TC_TO_QUEUE_MAP|)AZURE", "pfc_enable": "3"}},
		"QUEUE": {"Ethernet0|3": {"scheduler": "(SCHEDULER|)scheduler.1", "wred_profile": "(WRED_PROFILE|)W"}},
		"BUFFER_PORT_EGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "(BUFFER_PROFILE|)a,(BUFFER_PROFILE|)b"}}}`
	name := regexp.MustCompile(`\((\w+)\|\)([\w.]+)`)
	var read []*qos.Device
	for _, form := range []string{"$2", "[$1|$2]"} {
		cfg, err := Parse([]byte(name.ReplaceAllString(config, form)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.Modernize(); err != nil {
			t.Fatal(err)
		}
		d, unknown := Decode(cfg)
		if len(unknown) != 1 { // the map lists only some code points
			t.Errorf("%s: %v", form, unknown)
		}
		read = append(read, d)
	}
	if d := cmp.Diff(read[0], read[1]); d != "" {
		t.Error(d)
	}
	if got := plainNames("[]"); got != "" { // sonic-utilities:scripts/ecnconfig wrote it for "off" until 2023
		t.Errorf("[] became %q", got)
	}
	for _, v := range []string{"", "[", "[x]", "[x|y]", "[PORT", "PORT|y]", "[PORT|y],z"} {
		if got := plainNames(v); got != v {
			t.Errorf("%q became %q", v, got)
		}
	}
}

// Frames are green unless something colors them: a profile that marks green frames marks, whatever
// it does with other colors.
func TestECNOfOneColour(t *testing.T) {
	for mode, c := range map[string]struct {
		marks, drops bool
		other        string
	}{
		"ecn_all": {true, false, ""}, "ecn_green": {true, false, ""}, "ecn_green_yellow": {true, false, ""},
		"ecn_green_red": {true, false, ""}, "ecn_yellow": {false, true, "ecn_yellow"}, "ecn_red": {false, true, "ecn_red"},
		"ecn_yellow_red": {false, true, "ecn_yellow_red"}, "ecn_none": {false, true, "ecn_none"}, "": {false, true, "ecn_none"},
	} {
		row := Row{}
		for _, colour := range []string{"green", "yellow", "red"} {
			row["wred_"+colour+"_enable"], row[colour+"_min_threshold"], row[colour+"_max_threshold"], row[colour+"_drop_probability"] = "true", "1000", "2000", "5"
		}
		if mode != "" {
			row["ecn"] = mode
		}
		d, _ := Decode(Config{TPort: {"Ethernet0": {}}, TWRED: {"W": row}, TQueue: {"Ethernet0|3": {"wred_profile": "W"}}})
		if e := d.Ports["Ethernet0"].Queues[3].ECN.V; e != (qos.ECN{Enabled: c.marks, Drops: c.drops, Min: 1000, Max: 2000, Probability: 5, Other: c.other}) {
			t.Errorf("%q: %+v", mode, e)
		}
	}
}

// If a class keeps the ECN curve of the switch, no other class gets the profile that may hold it.
func TestACurveThatIsKeptIsNotEdited(t *testing.T) {
	d := &qos.Device{
		Classes: []qos.Class{{Name: "rdma", Priority: 3, Queue: 3, Lossless: true, KeepsECN: true}, {Name: "bulk", Priority: 1, Queue: 1}},
		Ports:   map[string]*qos.Port{"Ethernet0": {}},
	}
	d.Ports["Ethernet0"].Queues[1].ECN = qos.Of(qos.ECN{Enabled: true, Min: 5, Max: 6})
	cfg := Target(d)
	if cfg.Row(TWRED, wredName) != nil || cfg.Row(TQueue, "Ethernet0|1")["wred_profile"] != "ROCE_bulk" || cfg.Row(TQueue, "Ethernet0|3") != nil {
		t.Errorf("%v %v", cfg[TWRED], cfg[TQueue])
	}
}

func TestReleaseOf(t *testing.T) {
	for in, want := range map[string]string{
		"SONiC.202405.123-0a1b2c": "202405", "20240532.15": "202405", "SONiC.master.900-abc": "master", "202511": "202511",
		"version_202411_03": "202411", "20250510.02": "202505", "202608": "202605", "20220500.1": "", "4.2.1-Enterprise": "", "": "",
	} {
		if r, ok := ReleaseOf(in); r.Name != want || ok != (want != "") {
			t.Errorf("ReleaseOf(%q) = %q, %v; want %q", in, r.Name, ok, want)
		}
	}
	if s := Strictest(); s.BufferProfileRows || s.WRED != WREDAzureGreen || s.MaxPollMS != 1000 {
		t.Errorf("the strictest release allows something: %+v", s)
	}
}

// A value that changes stays in the object of its class, so that it is changed in place and no port
// is rebound.
func TestNamesDoNotMove(t *testing.T) {
	d := &qos.Device{Classes: []qos.Class{{Name: "rdma", Priority: 3, Queue: 3, Lossless: true}, {Name: "bulk", Priority: 1, Queue: 1}}, Ports: map[string]*qos.Port{}}
	for i := range 3 {
		p := &qos.Port{}
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 60}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 1, Max: 2})}
		p.Queues[1] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 40}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 5, Max: 6})}
		d.Ports[fmt.Sprint("Ethernet", i)] = p
	}
	before := Encode(d)
	for _, p := range d.Ports {
		p.Queues[3].Scheduler.V.Weight = 61
		p.Queues[3].ECN.V.Max = 9
	}
	after := Encode(d)
	if !reflect.DeepEqual(before[TQueue], after[TQueue]) {
		t.Errorf("bindings moved: %v, were %v", after[TQueue], before[TQueue])
	}
	if n := slices.Sorted(maps.Keys(after[TWRED])); !slices.Equal(n, []string{"AZURE_LOSSLESS", "ROCE_bulk"}) {
		t.Errorf("profiles %v", n)
	}
	// One port that differs gets its own object; the others stay.
	d.Ports["Ethernet1"].Queues[3].ECN.V.Max = 99
	odd := Encode(d)
	if odd[TQueue]["Ethernet0|3"]["wred_profile"] != wredName || odd[TQueue]["Ethernet1|3"]["wred_profile"] == wredName || len(odd[TWRED]) != 3 {
		t.Errorf("queues %v, profiles %v", odd[TQueue], slices.Sorted(maps.Keys(odd[TWRED])))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"PORT":{"Ethernet0":{"mtu":"9100"}},"QUEUE":{"Ethernet0|0-2":{"scheduler":"s"}},"PFC_WD":{"GLOBAL":{"POLL_INTERVAL":"200"}}}`))
	f.Add([]byte(`{"BUFFER_PG":{"Ethernet0|3-4":{"profile":"NULL"}},"CABLE_LENGTH":{"AZURE":{"Ethernet0":"-1m"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse(data, nil)
		if err != nil {
			return
		}
		d, _ := Decode(cfg)
		// A decoded device can always be written again.
		Encode(d)
		if again, err := Parse(cfg.AppendJSON(nil), nil); err != nil {
			t.Fatalf("what was written cannot be read: %v in %q", err, again)
		}
	})
}

// TestDecodeIsRepeatable: the same one of two contradicting entries wins every time, so that two
// plans of one state are equal.
func TestDecodeIsRepeatable(t *testing.T) {
	cfg := Config{}
	cfg.Put(TPort, "Ethernet0", Row{})
	cfg.Put(TDSCPToTC, "AZURE", Row{"3": "3", "03": "1", "003": "2"})
	cfg.Put(TPortQoS, "Ethernet0", Row{"dscp_to_tc_map": "AZURE"})
	for _, lag := range []string{"PortChannel1", "PortChannel2", "PortChannel3"} {
		cfg.Put(TMember, lag+"|Ethernet0", Row{})
	}
	for range 20 {
		dev, _ := Decode(cfg)
		p := dev.Ports["Ethernet0"]
		if tc := p.Maps.V.DSCPToTC[3]; tc != 3 || p.LAG.V != "PortChannel3" {
			t.Fatalf("traffic class %d, port channel %s; want 3, PortChannel3", tc, p.LAG.V)
		}
	}
}
