package sonic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ptr[T any](v T) *T { return &v }

// testModel returns a small TH3-like switch with made-up figures.
func testModel(ports int) *catalog.Model {
	m := &catalog.Model{Name: "Test-SKU", Platform: "x86_64-test-r0", GCU: "th3",
		Pools: []catalog.Pool{{Name: "ingress_lossless_pool", Type: "ingress", Mode: "dynamic", Size: 66394076, XOFF: 27200352},
			{Name: "egress_lossless_pool", Type: "egress", Mode: "static", Size: 38462204}},
		Profiles: []catalog.Profile{{Name: "ingress_lossy_profile", Pool: "ingress_lossless_pool", StaticTh: ptr(int64(66394076))},
			{Name: "egress_lossless_profile", Pool: "egress_lossless_pool", StaticTh: ptr(int64(67117468))},
			{Name: "egress_lossy_profile", Pool: "egress_lossless_pool", Size: 1778, DynamicTh: ptr(int64(1))}},
		Bindings: catalog.Bindings{LossyGroup: "ingress_lossy_profile", LossyQueue: "egress_lossy_profile", LosslessQueue: "egress_lossless_profile"},
		Headroom: []catalog.HeadroomRow{{Speed: 400e9, Cable: 40, Size: 2540, XON: 2540, XOFF: 201930, Threshold: -2, XONOffset: ptr(int64(2540))},
			{Speed: 400e9, Cable: 5, Size: 2540, XON: 2540, XOFF: 180000, Threshold: -2}},
	}
	for i := range ports {
		lanes := make([]string, 8)
		for j := range lanes {
			lanes[j] = itoa(int64(i*8 + j + 1))
		}
		m.Ports = append(m.Ports, catalog.Port{Name: "Ethernet" + itoa(int64(8*i)), Alias: "etp" + itoa(int64(i+1)), Index: i + 1, Lanes: strings.Join(lanes, ","), Speed: 400e9})
	}
	return m
}

func start(t testing.TB, o Options) *Switch {
	t.Helper()
	if o.Model == nil && o.Config == nil {
		m := testModel(4)
		o.Model, o.HWSKU, o.Platform = m, m.Name, m.Platform
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

type client struct {
	t testing.TB
	gnmi.GNMIClient
	ctx context.Context
}

func dial(t testing.TB, s *Switch) *client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.CAPEM()) {
		t.Fatal("no CA")
	}
	conn, err := grpc.NewClient(s.GNMIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(func() { cancel(); _ = conn.Close() })
	return &client{t, gnmi.NewGNMIClient(conn), ctx}
}

// gpath returns a path of elements; P(...) returns one below CONFIG_DB/localhost.
func gpath(org string, names ...string) *gnmi.Path {
	p := &gnmi.Path{Origin: org}
	for _, n := range names {
		p.Elem = append(p.Elem, &gnmi.PathElem{Name: n})
	}
	return p
}

func P(names ...string) *gnmi.Path {
	return gpath("sonic-db", append([]string{"CONFIG_DB", "localhost"}, names...)...)
}

func jsonVal(v string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(v)}}
}

func upd(v string, names ...string) *gnmi.Update {
	return &gnmi.Update{Path: P(names...), Val: jsonVal(v)}
}

func (c *client) set(r *gnmi.SetRequest) error { _, err := c.Set(c.ctx, r); return err }

func (c *client) update(us ...*gnmi.Update) error { return c.set(&gnmi.SetRequest{Update: us}) }

// get returns the JSON of one path, or the error as "Code: text".
func (c *client) get(p *gnmi.Path) string {
	r, err := c.Get(c.ctx, &gnmi.GetRequest{Path: []*gnmi.Path{p}, Encoding: gnmi.Encoding_JSON_IETF})
	if err != nil {
		return errText(err)
	}
	if len(r.GetNotification()) == 0 {
		return "nothing"
	}
	return string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
}

func errText(err error) string {
	if err == nil {
		return "OK"
	}
	return status.Code(err).String() + ": " + status.Convert(err).Message()
}

func like(t testing.TB, got, want string) {
	t.Helper()
	if prefix, ok := strings.CutSuffix(want, "…"); ok && strings.HasPrefix(got, prefix) {
		return
	}
	if suffix, ok := strings.CutPrefix(want, "…"); ok && strings.HasSuffix(got, suffix) {
		return
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCapabilities(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	native := func() bool {
		r, err := c.Capabilities(c.ctx, &gnmi.CapabilityRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if r.GetGNMIVersion() != "0.7.0" || len(r.GetSupportedEncodings()) != 3 {
			t.Fatalf("got %v", r)
		}
		for _, m := range r.GetSupportedModels() {
			if m.GetName() == "sonic-db" {
				return m.GetVersion() == "0.1.0"
			}
		}
		return false
	}
	if !native() {
		t.Error("sonic-db is missing")
	}
	s.Faults().NoSonicDB(true)
	if native() {
		t.Error("sonic-db is there")
	}
}

func TestAuthentication(t *testing.T) {
	c := dial(t, start(t, Options{Username: "op", Password: "secret"}))
	try := func(kv ...string) codes.Code {
		_, err := c.Capabilities(metadata.AppendToOutgoingContext(c.ctx, kv...), &gnmi.CapabilityRequest{})
		return status.Code(err)
	}
	if got := try("username", "op", "password", "secret"); got != codes.OK {
		t.Error(got)
	}
	for _, kv := range [][]string{nil, {"username", "op"}, {"username", "op", "password", "no"}} {
		if got := try(kv...); got != codes.Unauthenticated {
			t.Errorf("%v: %v", kv, got)
		}
	}
}

func TestGetAnswers(t *testing.T) {
	s := start(t, Options{})
	s.SetRow("PORT", "Ethernet0", map[string]string{"lanes": "1", "speed": "400000", "adv_speeds@": "10,20"})
	s.SetRow("LOOPBACK_INTERFACE", "Loopback0", nil)
	s.SetRow("VLAN", `x/y`, map[string]string{"description": `a"b`})
	c := dial(t, s)
	none := `NotFound: No valid entry found for path origin:"sonic-db" elem:{name:"CONFIG_DB"} elem:{name:"localhost"} …`
	keyed := P("PORT")
	keyed.Elem[2].Key = map[string]string{"key": "Ethernet0", "other": "x"}
	for _, tc := range []struct {
		name string
		path *gnmi.Path
		want string
	}{
		{"short", gpath("sonic-db", "CONFIG_DB"), "NotFound: rpc error: code = Unimplemented desc = Invalid elem length"},
		{"unknown database", gpath("sonic-db", "X_DB", "localhost"), "NotFound: rpc error: code = Unimplemented desc = Invalid target: ns , container "},
		{"no origin", gpath("", "CONFIG_DB", "localhost"), `NotFound: Node CONFIG_DB not found in the given gnmi path elem:{name:"CONFIG_DB"} elem:{name:"localhost"}: `},
		{"absent table", P("NOPE"), "NotFound: Failed to find CONFIG_DB NOPE <nil> []"},
		{"table prefix", P("POR"), "nothing"},
		{"table", P("SCHEDULER"), `{"scheduler.0":{"type":"DWRR","weight":"14"},"scheduler.1":{"type":"DWRR","weight":"15"}}`},
		{"table of empty entries", P("LOOPBACK_INTERFACE"), `{"Loopback0":{}}`},
		{"empty entry", P("LOOPBACK_INTERFACE", "Loopback0"), none},
		{"absent entry", P("SCHEDULER", "x"), none},
		{"entry", P("PORT", "Ethernet0"), `{"adv_speeds":["10","20"],"lanes":"1","speed":"400000"}`},
		{"key predicate", keyed, `{"adv_speeds":["10","20"],"lanes":"1","speed":"400000"}`},
		{"list field", P("PORT", "Ethernet0", "adv_speeds"), `["10","20"]`},
		{"index", P("PORT", "Ethernet0", "adv_speeds", "1"), `"20"`},
		{"bad index", P("PORT", "Ethernet0", "adv_speeds", "9"), "NotFound: Invalid index 9 for [10 20]"},
		{"field", P("PORT", "Ethernet0", "speed"), `"400000"`},
		{"absent field", P("PORT", "Ethernet0", "fec"), none},
		{"wildcard", P("PORT", "*"), none},
		{"split key", P("QUEUE", "Ethernet0", "3"), none},
		{"slash and quote", P("VLAN", "x/y", "description"), `"a"b"`},
	} {
		t.Run(tc.name, func(t *testing.T) { like(t, c.get(tc.path), tc.want) })
	}
	for name, r := range map[string]struct {
		r    *gnmi.GetRequest
		want string
	}{
		"type":          {&gnmi.GetRequest{Type: gnmi.GetRequest_CONFIG}, "Unimplemented: unsupported request type: CONFIG"},
		"encoding":      {&gnmi.GetRequest{Encoding: gnmi.Encoding_ASCII}, "Unimplemented: unsupported encoding: ASCII"},
		"no path":       {&gnmi.GetRequest{}, "OK"},
		"two databases": {&gnmi.GetRequest{Path: []*gnmi.Path{P("PORT"), gpath("sonic-db", "APPL_DB", "localhost")}}, "NotFound: rpc error: code = Unimplemented desc = Target conflict in path"},
		"one fails":     {&gnmi.GetRequest{Path: []*gnmi.Path{P("PORT"), P("NOPE")}}, "NotFound: Failed to find CONFIG_DB NOPE <nil> []"},
		"proto":         {&gnmi.GetRequest{Path: []*gnmi.Path{P("SCHEDULER", "scheduler.0")}, Encoding: gnmi.Encoding_PROTO}, none},
		"two origins":   {&gnmi.GetRequest{Path: []*gnmi.Path{P("PORT"), gpath("", "CONFIG_DB", "localhost")}}, "Unimplemented: Origin conflict in path"},
		"bad table and prefix origin": {&gnmi.GetRequest{Prefix: &gnmi.Path{Origin: "sonic-db", Elem: P().Elem}, Path: []*gnmi.Path{gpath("", "NOPE")}},
			"NotFound: Failed to find CONFIG_DB NOPE <nil> []"},
	} {
		_, err := c.Get(c.ctx, r.r)
		t.Run(name, func(t *testing.T) { like(t, errText(err), r.want) })
	}
}

func TestSetAdmission(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	before := s.Config()
	one := func(u *gnmi.Update) *gnmi.SetRequest { return &gnmi.SetRequest{Update: []*gnmi.Update{u}} }
	rep := func(v string, names ...string) *gnmi.SetRequest {
		return &gnmi.SetRequest{Replace: []*gnmi.Update{upd(v, names...)}}
	}
	val := func(v *gnmi.TypedValue) *gnmi.SetRequest { return one(&gnmi.Update{Path: P("SCHEDULER", "s"), Val: v}) }
	for name, tc := range map[string]struct {
		r    *gnmi.SetRequest
		want string
	}{
		"empty":          {&gnmi.SetRequest{}, "Unimplemented: Translib write is disabled"},
		"origin":         {one(&gnmi.Update{Path: gpath("", "CONFIG_DB", "localhost", "PORT"), Val: jsonVal("{}")}), "Unimplemented: Translib write is disabled"},
		"short":          {one(&gnmi.Update{Path: gpath("sonic-db", "CONFIG_DB"), Val: jsonVal("{}")}), "NotFound: rpc error: code = Unimplemented desc = Invalid elem length"},
		"state":          {one(&gnmi.Update{Path: gpath("sonic-db", "STATE_DB", "localhost", "X", "y"), Val: jsonVal("{}")}), "Unknown: Set RPC does not support STATE_DB"},
		"table value":    {one(upd("[1,2]", "SCHEDULER")), "Unknown: Invalid table [1 2]"},
		"entry value":    {one(upd(`"x"`, "SCHEDULER", "s")), "Unknown: Invalid entry x"},
		"field value":    {one(upd("9000", "PORT", "Ethernet0", "mtu")), "Unknown: Invalid field 9000"},
		"not json":       {one(upd("abc", "SCHEDULER", "s")), "Unknown: Fail to parse abc"},
		"json value":     {val(&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("{}")}}), "Unknown: Fail to parse "},
		"string value":   {val(&gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: "x"}}), "Unknown: Fail to parse "},
		"no value":       {val(nil), `Unknown: Invalid update path:{origin:"sonic-db" elem:{name:"CONFIG_DB"}…`},
		"index":          {one(upd(`"x"`, "ACL_TABLE", "T", "ports", "-")), "Unknown: Invalid index -"},
		"too deep":       {one(upd(`"x"`, "SCHEDULER", "s", "type", "x", "y")), "Unknown: Invalid db table Path [SCHEDULER s type x y]"},
		"root update":    {one(upd("{}")), "Unknown: Invalid db table Path []"},
		"replace entry":  {rep("{}", "SCHEDULER", "absent"), "Unknown: Invalid entry map[scheduler.0:map[type:DWRR weight:14] scheduler.1:map[type:DWRR weight:15]]"},
		"replace field":  {rep(`"1"`, "SCHEDULER", "scheduler.0", "cir"), "Unknown: Invalid entry map[type:DWRR weight:14]"},
		"replace table":  {rep("{}", "DOT1P_TO_TC_MAP"), "Unknown: Invalid database DOT1P_TO_TC_MAP -> map[…"},
		"one bad of two": {&gnmi.SetRequest{Update: []*gnmi.Update{upd(`{"type":"STRICT"}`, "SCHEDULER", "good"), upd(`{"type":"NO"}`, "SCHEDULER", "bad")}}, "…failed due to: Data Loading Failed"},
	} {
		t.Run(name, func(t *testing.T) { like(t, errText(c.set(tc.r)), tc.want) })
	}
	s.Faults().ReadOnly(true)
	like(t, errText(c.set(rep("{}", "SCHEDULER"))), "Unimplemented: GNMI is in read-only mode")
	if !equalConfig(before, s.Config()) {
		t.Error("a refused Set changed the configuration")
	}
}

func equalConfig(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestSetOperations(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	row := func(table, key string) string {
		b, _ := json.Marshal(s.Config()[table][key])
		return string(b)
	}
	do := func(want string, r *gnmi.SetRequest) {
		t.Helper()
		like(t, errText(c.set(r)), want)
	}
	del := func(ps ...*gnmi.Path) *gnmi.SetRequest { return &gnmi.SetRequest{Delete: ps} }
	up := func(us ...*gnmi.Update) *gnmi.SetRequest { return &gnmi.SetRequest{Update: us} }

	do("OK", up(upd(`{"0":"1","4":"5"}`, "DOT1P_TO_TC_MAP", "X")))
	do("OK", up(upd(`{"1":"2"}`, "DOT1P_TO_TC_MAP", "X")))
	like(t, row("DOT1P_TO_TC_MAP", "X"), `{"1":"2"}`)
	do("OK", up(upd(`"6"`, "DOT1P_TO_TC_MAP", "X", "5")))
	like(t, row("DOT1P_TO_TC_MAP", "X"), `{"1":"2","5":"6"}`)
	do("OK", up(upd(`{"T3":{"1":"1"}}`, "DOT1P_TO_TC_MAP")))
	like(t, row("DOT1P_TO_TC_MAP", "X"), "null")
	do("OK", del(P("DOT1P_TO_TC_MAP", "T3", "1")))
	like(t, row("DOT1P_TO_TC_MAP", "T3"), `{"NULL":"NULL"}`)
	do("Unknown: Error: Failed to apply patch on the following scopes:", del(P("DOT1P_TO_TC_MAP", "T3")))
	do("OK", del(P("DOT1P_TO_TC_MAP")))
	do("OK", del(P("DOT1P_TO_TC_MAP"), P("NOPE", "x"), P()))
	do("…failed due to: Data Loading Failed", del(P("DSCP_TO_TC_MAP", "AZURE")))
	do("…failed due to: member 'nope' not found in {'scheduler.0': {'type': 'DWRR', 'weight': '14'}, 'scheduler.1': {'type': 'DWRR', 'weight': '15'}}",
		up(upd(`"15"`, "SCHEDULER", "nope", "weight")))
	do("Unknown: Error: Validate json patch: [{'op': 'add', 'path': '/SCHEDULER/s', 'value': {'type': 'X'}}] failed due to: Data Loading Failed", up(upd(`{"type":"X"}`, "SCHEDULER", "s")))
	do("OK", up(upd(`{}`, "SCHEDULER", "empty")))
	like(t, row("SCHEDULER", "empty"), `{"NULL":"NULL"}`)
	do("Unknown: Error: Failed to apply patch on the following scopes:", up(upd(`{"x":{"y":"1"}}`, "UNHEARD_OF")))
	do("…'SonicYangCfgDbGenerator' object has no attribute 'yang_data_file'", up(upd(`{}`, "BUFFER_QUEUE", "Ethernet0|7")))
	do("Unknown: apply-patch failed for localhost: Given patch will produce invalid config. Error: '1' lane is used multiple times…",
		up(upd(`"1"`, "PORT", "Ethernet8", "lanes")))
	do("OK", up(upd(`{"type":"STRICT"}`, "SCHEDULER", "SCHEDULER_LIST[name=s9]")))
	do("OK", &gnmi.SetRequest{Delete: []*gnmi.Path{P("SCHEDULER", "empty")}, Update: []*gnmi.Update{upd(`{"type":"STRICT"}`, "SCHEDULER", "empty")}})
	like(t, row("SCHEDULER", "empty"), `{"type":"STRICT"}`)
	do("OK", up(upd(`{"type":"L3","ports":["Ethernet0","Ethernet8"]}`, "ACL_TABLE", "T")))
	do("OK", up(upd(`"Ethernet16"`, "ACL_TABLE", "T", "ports", "2")))
	do("OK", del(P("ACL_TABLE", "T", "ports", "0")))
	like(t, row("ACL_TABLE", "T"), `{"ports@":"Ethernet8,Ethernet16","type":"L3"}`)
	do("OK", up(upd(`{"type":"L3"}`, "ACL_TABLE", "a~1b")))
	if s.Config()["ACL_TABLE"]["a/b"] == nil {
		t.Error("~1 is not a slash")
	}

	// A JSON number is written, reported as a failure and not saved.
	saved := string(s.Saved())
	do("Unknown: Error: Failed to apply patch on the following scopes:", up(upd(`{"type":"DWRR","weight":15}`, "SCHEDULER", "num")))
	like(t, row("SCHEDULER", "num"), `{"type":"DWRR","weight":"15"}`)
	if string(s.Saved()) != saved {
		t.Error("a failed Set was saved")
	}
	do("OK", up(upd(`"20"`, "SCHEDULER", "num", "weight")))
	if !strings.Contains(string(s.Saved()), `"weight": "20"`) {
		t.Error("a good Set was not saved")
	}
	s.SetRow("SCHEDULER", "unsaved", map[string]string{"type": "STRICT"})
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if cfg := s.Config()["SCHEDULER"]; cfg["unsaved"] != nil || cfg["num"]["weight"] != "20" {
		t.Errorf("after a restart: %v", cfg)
	}
}

func TestWholeConfig(t *testing.T) {
	for rel, want := range map[string]string{"202505": "OK", "202411": "Unknown: Invalid db table Path []"} {
		s := start(t, Options{Release: rel})
		c := dial(t, s)
		d := s.docNow()
		d["SCHEDULER"].(map[string]any)["new"] = map[string]any{"type": "STRICT"}
		b, _ := json.Marshal(d)
		like(t, errText(c.set(&gnmi.SetRequest{Replace: []*gnmi.Update{upd(string(b))}})), want)
		if got := s.Config()["SCHEDULER"]["new"] != nil; got != (want == "OK") {
			t.Errorf("%s: written %v", rel, got)
		}
		if want == "OK" {
			d["SCHEDULER"].(map[string]any)["new"] = map[string]any{"type": "X"}
			b, _ = json.Marshal(d)
			like(t, errText(c.set(&gnmi.SetRequest{Replace: []*gnmi.Update{upd(string(b))}})), "Unknown: Error: Given patch will produce invalid config. Error: Data Loading Failed")
		}
	}
}

func TestFlaps(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	s.SetRow("PORT", "Ethernet24", map[string]string{"lanes": "25,26,27,28,29,30,31,32", "speed": "400000", "admin_status": "down"})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(c.update(upd(`{"type":"DWRR","weight":"60"}`, "SCHEDULER", "scheduler.1")))
	ok(c.update(upd(`"1000"`, "WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold")))
	ok(c.update(upd(`{"dscp_to_tc_map":"AZURE"}`, "PORT_QOS_MAP", "global")))
	if f := s.Flaps(); len(f) != 0 {
		t.Fatalf("maps and profiles flapped %v", f)
	}
	ok(c.update(upd(`"scheduler.0"`, "QUEUE", "Ethernet0|3", "scheduler"), upd(`"scheduler.0"`, "QUEUE", "Ethernet0|4", "scheduler"),
		upd(`"3"`, "PORT_QOS_MAP", "Ethernet8", "pfc_enable"), upd(`"scheduler.0"`, "QUEUE", "Ethernet24|3", "scheduler")))
	if f := s.Flaps(); f["Ethernet0"] != 2 || f["Ethernet8"] != 1 || len(f) != 2 {
		t.Errorf("flaps %v", f)
	}
	if s.Config()["PORT"]["Ethernet0"]["admin_status"] != "up" || s.Config()["PORT"]["Ethernet24"]["admin_status"] != "down" {
		t.Error("admin status is not back")
	}
}

func TestSearchTimeGrows(t *testing.T) {
	old := tables(nil)
	s, err := New(Options{Model: testModel(32), Headroom: []catalog.HeadroomRow{}})
	if err != nil {
		t.Fatal(err)
	}
	old = s.cfg
	defer func() { _ = s.Close() }()
	search := func(queues, binds int, state string) (float64, int) {
		from, to := s.doc(old), s.doc(old)
		for p := range from["PORT"].(map[string]any) {
			port := maps.Clone(from["PORT"].(map[string]any)[p].(map[string]any))
			port["admin_status"] = state
			from["PORT"].(map[string]any)[p], to["PORT"].(map[string]any)[p] = port, port
		}
		for i, k := range naturalKeys(from["QUEUE"].(map[string]any)) {
			if i < queues {
				delete(to["QUEUE"].(map[string]any), k)
			}
		}
		for i, k := range naturalKeys(from["PORT_QOS_MAP"].(map[string]any)) {
			if i < binds {
				delete(to["PORT_QOS_MAP"].(map[string]any), k)
			}
		}
		moves, sec := sortMoves(from, to)
		return sec, len(moves)
	}
	for _, tc := range []struct {
		q, b    int
		lo, hi  float64
		changes int
	}{{4, 0, 1.9, 2.1, 12}, {16, 0, 13, 15, 48}, {64, 0, 119, 123, 192}, {0, 33, 90, 130, 97}, {224, 33, 600, 5000, 672 + 97}} {
		if sec, n := search(tc.q, tc.b, "up"); sec < tc.lo || sec > tc.hi || n != tc.changes {
			t.Errorf("%d queues, %d bindings: %.1f s, %d changes", tc.q, tc.b, sec, n)
		}
	}
	if sec, n := search(224, 33, "down"); sec != 0 || n != 2 {
		t.Errorf("ports down: %.1f s, %d changes", sec, n)
	}
}
