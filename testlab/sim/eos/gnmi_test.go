package eos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

// rpc is a gNMI client with the switch's credentials.
type rpc struct {
	t testing.TB
	gnmi.GNMIClient
	ctx context.Context
}

func dialGNMI(t testing.TB, e *EOS, password string) *rpc {
	t.Helper()
	c, ctx := clitest.GNMI(t, e, password)
	return &rpc{t, c, ctx}
}

func cliUpdate(lines string) *gnmi.Update {
	return &gnmi.Update{Path: &gnmi.Path{Origin: "cli"}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: lines}}}
}

func (r *rpc) set(lines ...string) error {
	req := &gnmi.SetRequest{}
	for _, l := range lines {
		req.Update = append(req.Update, cliUpdate(l))
	}
	_, err := r.Set(r.ctx, req)
	return err
}

// cli runs one show command.
func (r *rpc) cli(cmd string, enc gnmi.Encoding) (*gnmi.TypedValue, error) {
	resp, err := r.Get(r.ctx, &gnmi.GetRequest{Encoding: enc, Path: []*gnmi.Path{{Origin: "cli", Elem: []*gnmi.PathElem{{Name: cmd}}}}})
	if err != nil {
		return nil, err
	}
	return resp.GetNotification()[0].GetUpdate()[0].GetVal(), nil
}

func wantCode(t testing.TB, what string, err error, code codes.Code, words string) {
	t.Helper()
	if status.Code(err) != code || err != nil && !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, words)
	}
}

func TestCapabilities(t *testing.T) {
	e := start(t, Options{})
	r, err := dialGNMI(t, e, "admin").Capabilities(dialGNMI(t, e, "admin").ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, m := range r.GetSupportedModels() {
		models = append(models, m.GetName())
	}
	if want := []string{"openconfig-interfaces", "openconfig-lldp", "openconfig-qos", "arista-cli"}; !slices.Equal(models, want) {
		t.Errorf("models %v", models)
	}
	if want := []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_ASCII}; !slices.Equal(r.GetSupportedEncodings(), want) {
		t.Errorf("encodings %v", r.GetSupportedEncodings())
	}
	bad := dialGNMI(t, e, "wrong")
	_, err = bad.Capabilities(bad.ctx, &gnmi.CapabilityRequest{})
	wantCode(t, "wrong password", err, codes.Unauthenticated, "")
	_, err = bad.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	wantCode(t, "no account", err, codes.Unauthenticated, "")
	wantCode(t, "Set with a wrong password", bad.set("hostname x"), codes.Unauthenticated, "")
}

func TestSet(t *testing.T) {
	e := start(t, Options{})
	c := dialGNMI(t, e, "admin")
	before := e.Startup()
	// The values of several updates form one text: the mode carries over from one to the next, and
	// a command that the current mode does not know is looked up in its parents.
	req := &gnmi.SetRequest{Update: []*gnmi.Update{
		cliUpdate("configure terminal\ninterface Ethernet1/1\n mtu 9214\n"), cliUpdate("description x\r\nqos map dscp 26 to traffic-class 4\nend\n")}}
	resp, err := c.Set(c.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(resp.GetResponse()); n != 2 || resp.GetResponse()[1].GetPath().GetOrigin() != "cli" || resp.GetResponse()[1].GetOp() != gnmi.UpdateResult_UPDATE {
		t.Errorf("answer %v", resp)
	}
	for _, l := range []string{"interface Ethernet1/1\n   description x\n   mtu 9214\n", "\nqos map dscp 26 to traffic-class 4\n"} {
		if !strings.Contains(e.Running(), l) {
			t.Errorf("running lacks %q:\n%s", l, e.Running())
		}
	}
	if e.Startup() != before {
		t.Error("a Set was saved without persistence")
	}
	if len(e.Sessions()) != 1 {
		t.Fatalf("sessions %v", e.Sessions())
	}
	for name, state := range e.Sessions() {
		if digits, ok := strings.CutPrefix(name, "session"); !ok || strings.Trim(digits, "0123456789") != "" || digits == "" || state != stateCompleted {
			t.Errorf("session %s is %s", name, state)
		}
	}

	// A rejected line reverts the lines before it.
	running := e.Running()
	wantCode(t, "bad line", c.set("interface Ethernet1/1\nmtu 1600", "priority-flow-control nonsense"), codes.InvalidArgument,
		"line 3: 'priority-flow-control nonsense': % Invalid input (at token 1: 'nonsense')")
	wantCode(t, "behind the end", c.set("hostname a\nend\nhostname b"), codes.InvalidArgument, "line 3: 'hostname b': % Invalid input")
	wantCode(t, "a commit of one's own", c.set("hostname a\ncommit"), codes.InvalidArgument, "line 2: 'commit': % Invalid input")
	if e.Running() != running || len(e.Sessions()) != 1 {
		t.Errorf("a refused Set left something: %s%v", cmp.Diff(running, e.Running()), e.Sessions())
	}
	if e.Writes() != 4 {
		t.Errorf("%d writes, want 4", e.Writes())
	}

	p := start(t, Options{Persist: true})
	if err := dialGNMI(t, p, "admin").set("interface Ethernet1/1\nmtu 9214"); err != nil || !strings.Contains(p.Startup(), "mtu 9214") {
		t.Errorf("persistence: %v", err)
	}
}

func TestSetRefused(t *testing.T) {
	e := start(t, Options{MaxSessions: 1})
	c := dialGNMI(t, e, "admin")
	running := e.Running()
	ascii := cliUpdate("hostname x").GetVal()
	oc := &gnmi.Update{Path: &gnmi.Path{Elem: []*gnmi.PathElem{{Name: "qos"}}}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte("{}")}}}
	for name, tc := range map[string]struct {
		req  *gnmi.SetRequest
		code codes.Code
	}{
		"replace":       {&gnmi.SetRequest{Replace: []*gnmi.Update{cliUpdate("hostname x")}}, codes.Unimplemented},
		"union_replace": {&gnmi.SetRequest{UnionReplace: []*gnmi.Update{cliUpdate("hostname x")}}, codes.Unimplemented},
		"delete":        {&gnmi.SetRequest{Delete: []*gnmi.Path{{Origin: "cli"}}}, codes.Unimplemented},
		"empty":         {&gnmi.SetRequest{}, codes.InvalidArgument},
		"mixed":         {&gnmi.SetRequest{Update: []*gnmi.Update{cliUpdate("hostname x"), oc}}, codes.InvalidArgument},
		"openconfig":    {&gnmi.SetRequest{Update: []*gnmi.Update{oc}}, codes.Unimplemented},
		"eos_native":    {&gnmi.SetRequest{Update: []*gnmi.Update{{Path: &gnmi.Path{Origin: "eos_native"}, Val: ascii}}}, codes.Unimplemented},
		"prefix":        {&gnmi.SetRequest{Prefix: &gnmi.Path{Origin: "cli"}, Update: []*gnmi.Update{{Path: &gnmi.Path{}, Val: ascii}}}, codes.InvalidArgument},
		"elements":      {&gnmi.SetRequest{Update: []*gnmi.Update{{Path: &gnmi.Path{Origin: "cli", Elem: []*gnmi.PathElem{{Name: "hostname x"}}}, Val: ascii}}}, codes.InvalidArgument},
		"no text":       {&gnmi.SetRequest{Update: []*gnmi.Update{{Path: &gnmi.Path{Origin: "cli"}, Val: oc.GetVal()}}}, codes.InvalidArgument},
	} {
		_, err := c.Set(c.ctx, tc.req)
		wantCode(t, name, err, tc.code, "")
	}
	shellOf(t, e).Do("configure session mine") // uses the only session
	wantCode(t, "no place for a session", c.set("hostname x"), codes.Aborted, "% Maximum number of pending sessions has been reached")
	if e.Running() != running {
		t.Error("a refused Set changed something")
	}
}

func TestGetCLI(t *testing.T) {
	e := start(t, Options{})
	c := dialGNMI(t, e, "admin")
	v, err := c.cli("show running-config", gnmi.Encoding_ASCII)
	if err != nil || v.GetAsciiVal() != e.Running() {
		t.Errorf("running-config: %v %s", err, cmp.Diff(e.Running(), v.GetAsciiVal()))
	}
	v, err = c.cli("show version", gnmi.Encoding_JSON)
	var version map[string]any
	if err != nil || json.Unmarshal(v.GetJsonVal(), &version) != nil || version["modelName"] != "DCS-7060DX5-64S" {
		t.Errorf("version: %v %v", err, v)
	}
	for _, tc := range []struct {
		cmd   string
		enc   gnmi.Encoding
		words string
	}{
		{"show running-config", gnmi.Encoding_JSON, "unconverted command"},
		{"show qos maps", gnmi.Encoding_JSON, "unconverted command"},
		{"show nonsense", gnmi.Encoding_ASCII, "% Invalid input (at token 1: 'nonsense')"},
		{"show version | json", gnmi.Encoding_ASCII, "% Invalid input"},
		{"configure", gnmi.Encoding_ASCII, "only show commands"},
		{"show version", gnmi.Encoding_JSON_IETF, "encoding"},
	} {
		_, err := c.cli(tc.cmd, tc.enc)
		wantCode(t, tc.cmd, err, codes.InvalidArgument, tc.words)
	}
	_, err = c.Get(c.ctx, &gnmi.GetRequest{Path: []*gnmi.Path{{Origin: "cli", Elem: []*gnmi.PathElem{{Name: "show version"}}}, {Elem: []*gnmi.PathElem{{Name: "lldp"}}}}})
	wantCode(t, "mixed origins", err, codes.InvalidArgument, "several origins")
	_, err = c.Get(c.ctx, &gnmi.GetRequest{Path: []*gnmi.Path{{Origin: "eos_native", Elem: []*gnmi.PathElem{{Name: "Sysdb"}}}}})
	wantCode(t, "eos_native", err, codes.Unimplemented, "")
	_, err = c.Get(c.ctx, &gnmi.GetRequest{})
	wantCode(t, "no path", err, codes.InvalidArgument, "")
}

// elems parses path elements of the form "name" and "name[key=value]".
func elems(path string) []*gnmi.PathElem {
	var out []*gnmi.PathElem
	for _, part := range strings.Split(path, " ") {
		name, rest, _ := strings.Cut(part, "[")
		el := &gnmi.PathElem{Name: name}
		for _, kv := range strings.Split(strings.TrimSuffix(rest, "]"), "][") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				if el.Key == nil {
					el.Key = map[string]string{}
				}
				el.Key[k] = v
			}
		}
		out = append(out, el)
	}
	return out
}

// state reads a path and returns one "path value" per notification.
func (r *rpc) state(path string, enc gnmi.Encoding) ([]string, error) {
	resp, err := r.Get(r.ctx, &gnmi.GetRequest{Type: gnmi.GetRequest_STATE, Encoding: enc, Path: []*gnmi.Path{{Elem: elems(path)}}})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			s := ""
			for _, el := range u.GetPath().GetElem() {
				s += "/" + el.GetName()
				for _, k := range []string{"name", "index", "queue-type", "interface-id", "id"} {
					if v, ok := el.GetKey()[k]; ok {
						s += fmt.Sprintf("[%s=%s]", k, v)
					}
				}
			}
			out = append(out, s+" "+string(u.GetVal().GetJsonIetfVal())+string(u.GetVal().GetJsonVal()))
		}
	}
	return out, nil
}

func TestOpenConfig(t *testing.T) {
	e := start(t, Options{})
	configure(t, e, ecnConfig("uc-tx-queue"))
	countersOf(e)
	c := dialGNMI(t, e, "admin")
	port := "/interfaces/interface[name=Ethernet1/1]"
	for path, want := range map[string][]string{
		"interfaces interface[name=*] state mtu": {port + "/state/mtu 9214", "/interfaces/interface[name=Ethernet2/1]/state/mtu 1500",
			"/interfaces/interface[name=Ethernet3/1]/state/mtu 0", "/interfaces/interface[name=Ethernet4/1]/state/mtu 1500", "/interfaces/interface[name=Management1]/state/mtu 1500"},
		"interfaces interface[name=Ethernet2/1] state": {`/interfaces/interface[name=Ethernet2/1]/state {"openconfig-interfaces:admin-status":"DOWN","openconfig-interfaces:enabled":false,` +
			`"openconfig-interfaces:mtu":1500,"openconfig-interfaces:name":"Ethernet2/1","openconfig-interfaces:oper-status":"DOWN"}`},
		"interfaces interface[name=Ethernet1/1] state oper-status": {port + `/state/oper-status "UP"`},
		"interfaces interface[name=Ethernet1/1] ethernet pfc priorities priority[index=3] state in-frames": {
			port + `/ethernet/pfc/priorities/priority[index=3]/state/in-frames "120"`},
		"interfaces interface[name=Ethernet1/1] ethernet pfc watchdog tx-queues tx-queue[index=3][queue-type=UNICAST] state stuck-count": {
			port + `/ethernet/pfc/watchdog/tx-queues/tx-queue[index=3][queue-type=UNICAST]/state/stuck-count "2"`},
		"qos interfaces interface[interface-id=Ethernet1/1] output queues queue[name=3] state ecn-marked-pkts": {
			`/qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues/queue[name=3]/state/ecn-marked-pkts "41822"`},
		"qos interfaces interface output queues queue[name=3] state ecn-marked-pkts": { // only the port that counts
			`/qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues/queue[name=3]/state/ecn-marked-pkts "41822"`},
		"lldp interfaces interface[name=*] neighbors": {`/lldp/interfaces/interface[name=Ethernet1/1]/neighbors {"openconfig-lldp:neighbor":[{"id":"1","state":` +
			`{"id":"1","port-id":"Ethernet7/1","port-id-type":"INTERFACE_NAME","system-name":"spine1"}}]}`},
		"lldp interfaces interface[name=Ethernet4/1] neighbors": nil,
	} {
		got, err := c.state(path, gnmi.Encoding_JSON_IETF)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", path, err, d)
		}
	}
	pfc := "interfaces interface[name=*] ethernet pfc priorities priority[index=*] state"
	got, err := c.state(pfc, gnmi.Encoding_JSON)
	if err != nil || len(got) != 4*8 || got[3] != port+`/ethernet/pfc/priorities/priority[index=3]/state {"in-frames":120,"index":3,"out-frames":98}` {
		t.Errorf("%s: %v, %d answers: %v", pfc, err, len(got), got)
	}
	for path, code := range map[string]codes.Code{
		"interfaces interface[name=Ethernet9/1] state":           codes.NotFound,
		"interfaces interface[name=Management1] ethernet":        codes.InvalidArgument,
		"interfaces interface[name=*] nonsense":                  codes.InvalidArgument,
		"interfaces interface[index=1] state":                    codes.InvalidArgument,
		"system state":                                           codes.InvalidArgument,
		"interfaces interface[name=Ethernet1/1] state mtu below": codes.InvalidArgument,
	} {
		_, err := c.state(path, gnmi.Encoding_JSON_IETF)
		wantCode(t, path, err, code, "")
	}
	_, err = c.state("lldp", gnmi.Encoding_ASCII)
	wantCode(t, "ASCII", err, codes.InvalidArgument, "encoding")
}

// The product's own client works; it reads state with a prefix.
func TestProductGNMI(t *testing.T) {
	e := start(t, Options{})
	e.SetNeighbor("Ethernet2/1", "spine1", "Ethernet7/1")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, e.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(t.Context(), client.Config{Address: e.GNMIAddr(), Username: "admin", Password: secret.Secret("admin"), TLS: client.TLS{CAFile: ca}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Capabilities().HasModel("arista-cli") {
		t.Errorf("models %v", c.Capabilities().Models)
	}
	if err := c.SetCLI(t.Context(), "interface Ethernet1/1\nmtu 9214\n"); err != nil {
		t.Error(err)
	}
	if out, err := c.GetCLI(t.Context(), "show running-config", false); err != nil || string(out) != e.Running() || !strings.Contains(string(out), "mtu 9214") {
		t.Errorf("running-config: %v %q", err, out)
	}
	vs, err := c.GetTree(t.Context(), "openconfig", client.DataState,
		"/lldp/interfaces/interface[name=Ethernet2/1]/neighbors/neighbor[id=1]/state/system-name")
	if err != nil || len(vs) != 1 || string(vs[0].JSON) != `"spine1"` {
		t.Errorf("%v %s", err, vs)
	}
}
