package nxos

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

// path parses "System/intf-items/PhysIf-list[id=eth1/1]/mtu".
func path(text string) *gnmi.Path {
	p := &gnmi.Path{}
	for text != "" {
		name := text
		if i := strings.IndexAny(text, "/["); i >= 0 {
			name = text[:i]
		}
		text = text[len(name):]
		e := &gnmi.PathElem{Name: name}
		for strings.HasPrefix(text, "[") {
			key, rest, _ := strings.Cut(text[1:], "]")
			k, v, _ := strings.Cut(key, "=")
			if e.Key == nil {
				e.Key = map[string]string{}
			}
			e.Key[k], text = v, rest
		}
		text = strings.TrimPrefix(text, "/")
		p.Elem = append(p.Elem, e)
	}
	return p
}

func getRequest(paths ...string) *gnmi.GetRequest {
	r := &gnmi.GetRequest{Encoding: gnmi.Encoding_JSON}
	for _, p := range paths {
		r.Path = append(r.Path, path(p))
	}
	return r
}

// read returns the values of paths; nil for an empty value.
func read(t testing.TB, c gnmi.GNMIClient, ctx context.Context, paths ...string) []any {
	t.Helper()
	r, err := c.Get(ctx, getRequest(paths...))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.GetNotification()) != len(paths) {
		t.Fatalf("%d notifications for %d paths", len(r.GetNotification()), len(paths))
	}
	out := make([]any, len(paths))
	for i, n := range r.GetNotification() {
		if len(n.GetUpdate()) != 1 {
			t.Fatalf("%s: %d updates", paths[i], len(n.GetUpdate()))
		}
		if v := n.GetUpdate()[0].GetVal(); v.GetValue() != nil {
			if err := json.Unmarshal(v.GetJsonVal(), &out[i]); err != nil {
				t.Fatalf("%s: %v", paths[i], err)
			}
		}
	}
	return out
}

func TestCapabilities(t *testing.T) {
	n := serve(t, Options{})
	c, ctx := clitest.GNMI(t, n, "admin")
	r, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range r.GetSupportedModels() {
		names = append(names, m.GetName())
	}
	if !slices.Contains(names, "Cisco-NX-OS-device") || !slices.Contains(names, "openconfig-qos") || !slices.Contains(r.GetSupportedEncodings(), gnmi.Encoding_JSON) {
		t.Errorf("models %v, encodings %v", names, r.GetSupportedEncodings())
	}
	c, ctx = clitest.GNMI(t, n, "wrong")
	if _, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestNativeTree(t *testing.T) {
	n := serve(t, Options{})
	write(t, n, losslessConfig)
	counts(n)
	c, ctx := clitest.GNMI(t, n, "admin")
	port := "System/intf-items/phys-items/PhysIf-list[id=eth1/1]"
	stats := "System/ipqos-items/queuing-items/policy-items/out-items/intf-items/If-list[name=eth1/1]/queCmap-items/QueuingStats-list[cmapName=c-out-8q-q3][statType=queuing]"
	for p, want := range map[string]any{
		port + "/mtu":                                    9216.0,
		port + "/adminSt":                                "up",
		port + "/phys-items/operSt":                      "up",
		port + "/priorflowctrl-items":                    map[string]any{"mode": "on", "send_tlv": false},
		port + "/priorflowctrlwd-items/watchDogInterval": "on",
		"System/intf-items/phys-items/PhysIf-list[id=eth1/4]/adminSt":                                                                "down",
		"System/intf-items/phys-items/PhysIf-list[id=eth1/3]/priorflowctrl-items/mode":                                               "auto",
		"System/ipqos-items/nw-items/policy-items/in-items/sys-items/pmap-items/name":                                                "NQ",
		"System/ipqos-items/nw-items/p-items/name-items/PMapInst-list[name=NQ]/cmap-items/MatchCMap-list[name=c-8q-nq3]/pause-items": map[string]any{"pfcCos3": true},
		"System/ipqos-items/dflt-items/policy-items/in-items/intf-items/If-list[name=eth1/1]/pmap-items/name":                        "IN",
		"System/ipqos-items/dflt-items/c-items/name-items/CMapInst-list[name=ROCE]/dscp-items/Dscp-list":                             []any{map[string]any{"val": "26"}},
		"System/ipqos-items/queuing-items/p-items/name-items/PMapInst-list[name=OUT]/cmap-items/MatchCMap-list[name=c-out-8q-q3]/RandDet-items": map[string]any{
			"minThreshold": 150.0, "minThresholdUnit": "kbytes", "maxThreshold": 3000.0, "maxThresholdUnit": "kbytes", "dropAvail": 7.0, "weight": 0.0, "ecn": true, "capAverage": false},
		"System/ipqos-items/queuing-items/c-items/name-items/CMapInst-list[name=c-out-8q-q3]/grp-items/QoSGrp-list[id=3]/id": 3.0,
		"Cisco-NX-OS-device:System/ipqos-items/globalpriorflowctrl-items/overrideInterface":                                  "disabled",
		stats + "/txPackets":            5000.0,
		stats + "/randEcnMarkedPackets": 41822.0,
		stats + "/pfcTxPpp":             98.0,
		// A missing path is empty, not an error.
		"System/intf-items/phys-items/PhysIf-list[id=eth9/9]":                                    nil,
		"System/intf-items/phys-items/PhysIf-list[id=eth1/1]/nonsense":                           nil,
		"System/ipqos-items/queuing-items/policy-items/in-items/intf-items/If-list[name=eth1/1]": nil,
	} {
		if d := cmp.Diff(want, read(t, c, ctx, p)[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", p, d)
		}
	}
	// Several paths; a single list entry comes in an array.
	got := read(t, c, ctx, port, "System/intf-items/phys-items/PhysIf-list")
	one, _ := got[0].([]any)
	all, _ := got[1].([]any)
	if len(one) != 1 || len(all) != 4 || cmp.Diff(one[0], all[0]) != "" {
		t.Errorf("one entry %v, all %d", got[0], len(all))
	}
	if flags := at1(one[0], "userCfgdFlags"); flags != "admin_layer,admin_mtu,admin_state" {
		t.Errorf("flags %v", flags)
	}
}

// at1 returns a member of an object.
func at1(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

func TestNativeRefusals(t *testing.T) {
	n := serve(t, Options{})
	c, ctx := clitest.GNMI(t, n, "admin")
	running := n.Running()
	_, err := c.Set(ctx, &gnmi.SetRequest{Update: []*gnmi.Update{{Path: path("System/name"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(`"x"`)}}}}})
	if status.Code(err) != codes.PermissionDenied || n.hostname() != "leaf1" {
		t.Errorf("Set: %v, running %s", err, cmp.Diff(running, n.Running()))
	}
	for what, r := range map[string]*gnmi.GetRequest{
		"no path":  {Encoding: gnmi.Encoding_JSON},
		"encoding": {Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{path("System")}},
		"origin":   {Encoding: gnmi.Encoding_JSON, Path: []*gnmi.Path{{Origin: "cli", Elem: []*gnmi.PathElem{{Name: "show version"}}}}},
		"root":     {Encoding: gnmi.Encoding_JSON, Path: []*gnmi.Path{{}}},
	} {
		if _, err := c.Get(ctx, r); err == nil {
			t.Errorf("%s was answered", what)
		}
	}
	// The same account can read this path.
	r := getRequest("System/name")
	r.Path[0].Origin = "device"
	if _, err := c.Get(ctx, r); err != nil {
		t.Error(err)
	}
}

// counts sets counters on a port, and LLDP neighbours.
func counts(n *NXOS) {
	for name, v := range map[string]uint64{cli.PFCRx: 120, cli.PFCTx: 98, cli.TxPkts: 5000, cli.TxOctets: 1 << 40, cli.DropPkts: 7, cli.ECNMarked: 41822, cli.WDStuck: 2, cli.WDRecovery: 1} {
		n.SetCounter("Ethernet1/1", 3, name, v)
	}
	n.SetCounter("Ethernet1/1", 4, cli.PFCRx, 5)
	n.SetNeighbor("Ethernet1/1", "spine1", "Ethernet1/7")
	n.SetNeighbor("Ethernet1/4", "spine2", "Ethernet1/8") // the port is shut down
	n.SetNeighbor("Ethernet1/2", "gone", "Ethernet1/9")
	n.SetNeighbor("Ethernet1/2", "", "")
}
