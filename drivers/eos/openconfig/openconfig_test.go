package openconfig

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

func path(t testing.TB, text string) *gpb.Path {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// values returns values from pairs of path and JSON.
func values(t testing.TB, pairs ...string) []gnmi.Value {
	t.Helper()
	var out []gnmi.Value
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, gnmi.Value{Path: path(t, pairs[i]), JSON: []byte(pairs[i+1])})
	}
	return out
}

// whole is the state of a port with one subtree per path, as from a server that splits by list
// entry.
var whole = []string{
	"interfaces/interface[name=Ethernet1/1]/state",
	`{"openconfig-interfaces:name":"Ethernet1/1","openconfig-interfaces:admin-status":"UP","openconfig-interfaces:oper-status":"LOWER_LAYER_DOWN",
	  "openconfig-interfaces:mtu":9214,"openconfig-interfaces:counters":{"in-octets":"18446744073709551615"},"arista-x:unknown":[{"a":null}]}`,
	"interfaces/interface[name=Ethernet1/1]/ethernet/state",
	`{"openconfig-if-ethernet:port-speed":"openconfig-if-ethernet:SPEED_400GB","openconfig-if-ethernet:negotiated-port-speed":"SPEED_UNKNOWN"}`,
	"interfaces/interface[name=Ethernet1/1]/ethernet/pfc",
	`{"arista-a:priorities":{"priority":[{"index":3,"state":{"index":3,"in-frames":"18446744073709551615","out-frames":"98"}},{"index":9,"state":{"index":9,"in-frames":"1"}}]},
	  "arista-a:watchdog":{"tx-queues":{"tx-queue":[
	    {"index":3,"queue-type":"UNICAST","state":{"stuck-count":"2","recovery-count":"1"}},
	    {"index":3,"queue-type":"MULTICAST","state":{"stuck-count":"7","recovery-count":"7"}}]}}}`,
	"lldp/interfaces/interface[name=Ethernet1/1]/neighbors",
	`{"openconfig-lldp:neighbor":[
	   {"id":"10","state":{"id":"10","chassis-id":"00:00:5e:00:53:01","port-id":"swp2"}},
	   {"id":"9","state":{"id":"9","system-name":"spine1\u001b[31m","port-id":"Ethernet5/1","port-description":"to leaf1"}}]}`,
	"qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues",
	`{"openconfig-qos:queue":[
	   {"name":"3","state":{"name":"3","transmit-pkts":"41822","transmit-octets":"5000","dropped-pkts":"4","dropped-octets":"512","ecn-marked-pkts":"17"}},
	   {"name":"AF4","state":{"name":"AF4","transmit-pkts":"5"}},
	   {"name":"NC7","state":{"name":"NC7","transmit-pkts":"6"}}]}`,
	"qos/queues/queue[name=AF4]/state", `{"openconfig-qos:name":"AF4","openconfig-qos:queue-id":6}`,
}

func observed() *drivers.Observation {
	p := &drivers.PortState{
		AdminUp: qos.Of(true), OperUp: qos.Of(false), MTU: qos.Of(9214), Speed: qos.Of(units.Rate(400e9)),
		Neighbors: []qos.Neighbor{{Device: "spine1", Port: "Ethernet5/1"}, {Device: "00:00:5e:00:53:01", Port: "swp2"}},
	}
	p.Counters = drivers.PortCounters{drivers.PFCRx.Of(3): 1<<64 - 1, drivers.PFCTx.Of(3): 98, drivers.StormsDetected.Of(3): 2, drivers.StormsRestored.Of(3): 1,
		drivers.QueuePackets.Of(3): 41822, drivers.QueueBytes.Of(3): 5000, drivers.QueueDrops.Of(3): 4, drivers.QueueMarked.Of(3): 17, drivers.QueuePackets.Of(6): 5}
	return &drivers.Observation{Ports: map[string]*drivers.PortState{"Ethernet1/1": p}}
}

func TestDecodeSubtrees(t *testing.T) {
	got, err := decode(values(t, whole...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(observed(), got); diff != "" {
		t.Error(diff)
	}
}

// Any partition of the same state gives the same observation.
func TestDecodeCuts(t *testing.T) {
	const e, w = "interfaces/interface[name=Ethernet1/1]/", "interfaces/interface[name=Ethernet1/1]/ethernet/pfc/watchdog/tx-queues/tx-queue"
	const n, q = "lldp/interfaces/interface[name=Ethernet1/1]/neighbors/neighbor", "qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues/queue"
	leaves := values(t,
		e+"state/oper-status", `"LOWER_LAYER_DOWN"`,
		"openconfig-interfaces:"+e+"state/admin-status", `"UP"`,
		e+"state/mtu", `9214`,
		e+"ethernet/state/port-speed", `"SPEED_400GB"`,
		e+"ethernet/pfc/priorities/priority[index=3]/state/in-frames", `"18446744073709551615"`,
		e+"ethernet/pfc/priorities/priority[index=3]/state/out-frames", `98`,
		w+"[index=3][queue-type=UNICAST]/state/stuck-count", `2`,
		w+"[index=3][queue-type=UNICAST]/state/recovery-count", `1`,
		w+"[index=3][queue-type=MULTICAST]/state/stuck-count", `7`,
		n+"[id=10]/state/chassis-id", `"00:00:5e:00:53:01"`,
		n+"[id=10]/state/port-id", `"swp2"`,
		n+"[id=9]/state", `{"system-name":"spine1","port-id":"Ethernet5/1"}`,
		q+"[name=3]/state/transmit-pkts", `41822`,
		q+"[name=3]/state/transmit-octets", `"5000"`,
		q+"[name=3]/state/dropped-pkts", `4`,
		q+"[name=3]/state/dropped-octets", `512`,
		q+"[name=3]/state/ecn-marked-pkts", `17`,
		q+"[name=AF4]/state/transmit-pkts", `5`,
		"qos/queues/queue[name=AF4]/state/queue-id", `6`,
	)
	lists := values(t, append([]string{
		"interfaces/interface[name=*]/state", `{"never":"this"}`, // belongs to no interface
		"interfaces/interface[name=*]", `[{"name":"Ethernet1/1","state":` + whole[1] + `},{"state":{"mtu":1}},7]`,
		"qos/interfaces", `{"openconfig-qos:interface":[{"interface-id":"Ethernet1/1","output":{"queues":` + whole[9] + `}}]}`,
		"lldp", `{"interfaces":{"interface":[{"name":"Ethernet1/1","neighbors":` + whole[7] + `}]}}`,
		"interfaces/interface[name=*]", `{"openconfig-interfaces:interface":[{"name":"Ethernet1/1","ethernet":{"state":` + whole[3] + `}}]}`,
	}, whole[4], whole[5], whole[10], whole[11])...)
	for name, vs := range map[string][]gnmi.Value{
		"leaves": leaves, "lists": lists, "twice": append(values(t, whole...), values(t, whole...)...),
		"root": values(t, "", `{"openconfig-interfaces:interfaces":{"interface":[{"name":"Ethernet1/1","state":`+whole[1]+`,"ethernet":{"state":`+whole[3]+`,"arista-b:pfc":`+whole[5]+`}}]},
			"openconfig-lldp:lldp":{"interfaces":{"interface":[{"name":"Ethernet1/1","neighbors":`+whole[7]+`}]}},
			"openconfig-qos:qos":{"interfaces":{"interface":[{"interface-id":"Ethernet1/1","output":{"queues":`+whole[9]+`}}]},"queues":{"queue":[{"name":"AF4","state":`+whole[11]+`}]}}}`),
	} {
		got, err := decode(vs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(observed(), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A value of the wrong form stays unset and does not affect the others.
func TestDecodeMisfits(t *testing.T) {
	const st = "interfaces/interface[name=e]/state"
	for _, tt := range []struct {
		name, path, json string
		want             drivers.PortState
	}{
		{"unknown status", st, `{"oper-status":"GREEN","admin-status":7,"mtu":1500}`, drivers.PortState{MTU: qos.Of(1500)}},
		{"no statement", st, `{"oper-status":"UNKNOWN","admin-status":"TESTING"}`, drivers.PortState{}},
		{"down", st, `{"oper-status":"DOWN","admin-status":"DOWN"}`, drivers.PortState{AdminUp: qos.Of(false), OperUp: qos.Of(false)}},
		{"MTU not set", st, `{"mtu":0}`, drivers.PortState{}},
		{"MTU too large", st, `{"mtu":65536,"oper-status":"UP"}`, drivers.PortState{OperUp: qos.Of(true)}},
		{"MTU negative", st, `{"mtu":-1}`, drivers.PortState{}},
		{"MTU fraction", st, `{"mtu":1.5}`, drivers.PortState{}},
		{"MTU of another type", st, `{"mtu":{"mtu":1500}}`, drivers.PortState{}},
		{"configured MTU", "interfaces/interface[name=e]/config", `{"mtu":9214}`, drivers.PortState{}},
		{"state is a list", st, `[1,2]`, drivers.PortState{}},
		{"negotiated speed", "interfaces/interface[name=e]/ethernet/state", `{"port-speed":"SPEED_400GB","negotiated-port-speed":"SPEED_2500MB"}`, drivers.PortState{Speed: qos.Of(units.Rate(25e8))}},
		{"counter too large", "interfaces/interface[name=e]/ethernet/pfc/priorities/priority[index=3]/state", `{"in-frames":"18446744073709551616"}`, drivers.PortState{}},
		{"priority 8", "interfaces/interface[name=e]/ethernet/pfc/priorities/priority[index=8]/state", `{"in-frames":"1"}`, drivers.PortState{}},
	} {
		got, err := decode(values(t, tt.path, tt.json))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if diff := cmp.Diff(&tt.want, got.Ports["e"]); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	for _, name := range []string{"", "a\nb", "\x1b[2J", strings.Repeat("x", 256)} {
		v := gnmi.Value{Path: path(t, "/interfaces/interface[name=e]/state"), JSON: []byte(`{"mtu":1500}`)}
		v.Path.Elem[1].Key["name"] = name
		if got, err := decode([]gnmi.Value{v}); err != nil || len(got.Ports) != 0 {
			t.Errorf("name %.20q: %d ports, %v", name, len(got.Ports), err)
		}
	}
	for _, bad := range []string{``, `{`, `{} {}`, `{}x`} {
		if _, err := decode(values(t, st, bad)); err == nil || !strings.Contains(err.Error(), "/interfaces/interface[name=e]/state: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDecodeBounds(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"interface":[{"name":"0"}`)
		for i := 1; i < n; i++ {
			b.WriteString(`,{"name":"` + strconv.Itoa(i) + `"}`)
		}
		return b.String() + `]}`
	}
	if o, err := decode(values(t, "interfaces", list(tree.MaxEntries))); err != nil || len(o.Ports) != tree.MaxEntries {
		t.Errorf("%d entries: %v", tree.MaxEntries, err)
	}
	if _, err := decode(values(t, "interfaces", list(tree.MaxEntries+1))); err == nil {
		t.Errorf("%d entries are taken", tree.MaxEntries+1)
	}
}

// If two names denote the same queue, always the same one is used.
func TestQueueWithTwoNames(t *testing.T) {
	for range 20 {
		got, err := decode(values(t, "qos/interfaces/interface[interface-id=e]/output/queues",
			`{"queue":[{"name":"uc3","state":{"transmit-pkts":"2"}},{"name":"3","state":{"transmit-pkts":"1"}}]}`))
		if err != nil || got.Ports["e"].Counters[drivers.QueuePackets.Of(3)] != 1 {
			t.Fatalf("%+v, %v", got.Ports["e"], err)
		}
	}
}

func TestQueueNumber(t *testing.T) {
	named := map[string]uint64{"rdma": 3, "5": 2, "big": 8}
	for name, want := range map[string]int{
		"0": 0, "7": 7, "UC3": 3, "uc-tx-queue 3": 3, "uc-tx-queue-3": 3, "tx-queue3": 3, "rdma": 3, "5": 2,
		"8": -1, "33": -1, "AF4": -1, "BE1": -1, "MC3": -1, "mc-tx-queue 3": -1, "big": -1, "": -1, "3 ": -1,
	} {
		n, ok := queueNumber(name, named)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q is queue %d, want %d", name, n, want)
		}
	}
}

// server responds to each path with values or a status.
type server struct {
	gpb.UnimplementedGNMIServer
	mu     sync.Mutex
	asked  []string
	answer func(path string) ([]gnmi.Value, error)
}

func (s *server) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{}, nil
}

func (s *server) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	if r.Type != gpb.GetRequest_STATE || r.Prefix.GetOrigin() != "openconfig" {
		return nil, status.Errorf(codes.Internal, "request %v", r)
	}
	resp := &gpb.GetResponse{}
	for _, p := range r.Path {
		text, err := ygot.PathToString(p)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.asked = append(s.asked, text)
		s.mu.Unlock()
		vs, err := s.answer(text)
		if err != nil {
			return nil, err
		}
		for _, v := range vs {
			resp.Notification = append(resp.Notification, &gpb.Notification{Update: []*gpb.Update{{
				Path: v.Path, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: v.JSON}},
			}}})
		}
	}
	return resp, nil
}

func newServer(t *testing.T, answer func(string) ([]gnmi.Value, error)) (*server, *gnmi.Client) {
	t.Helper()
	network := memnet.New(1)
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, g := &server{answer: answer}, grpc.NewServer()
	gpb.RegisterGNMIServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	c, err := gnmi.Dial(t.Context(), gnmi.Config{Address: l.Addr().String(), TLS: gnmi.TLS{Plaintext: true}, Dial: network.Client(nil).Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

func TestObserve(t *testing.T) {
	all := values(t, whole...)
	// byPath holds each value under the path that requests it.
	byPath := map[string][]gnmi.Value{}
	for i, p := range source.Paths {
		byPath[p] = all[i : i+1]
	}
	s, c := newServer(t, func(p string) ([]gnmi.Value, error) { return byPath[p], nil })
	got, err := Observe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Taken.IsZero() {
		t.Error("no time")
	}
	want := observed()
	want.Taken = got.Taken
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"/interfaces/interface[name=*]/state",
		"/interfaces/interface[name=*]/ethernet/state",
		"/interfaces/interface[name=*]/ethernet/pfc",
		"/lldp/interfaces/interface[name=*]/neighbors",
		"/qos/interfaces/interface[interface-id=*]/output/queues",
		"/qos/queues/queue[name=*]/state",
	}, s.asked); diff != "" {
		t.Error(diff)
	}
}

func TestObserveRefusals(t *testing.T) {
	state := values(t, "interfaces/interface[name=e]/state", `{"mtu":1500}`)
	for _, tt := range []struct {
		code codes.Code
		all  bool // refuse every path, not only the PFC and QoS paths
		ok   bool
	}{
		{codes.NotFound, false, true}, {codes.InvalidArgument, false, true}, {codes.Unimplemented, false, true},
		{codes.NotFound, true, false},
		{codes.Internal, false, false}, {codes.PermissionDenied, false, false}, {codes.Unavailable, false, false},
	} {
		t.Run(tt.code.String(), func(t *testing.T) {
			_, c := newServer(t, func(p string) ([]gnmi.Value, error) {
				if tt.all || strings.Contains(p, "pfc") || strings.HasPrefix(p, "/qos") {
					return nil, status.Error(tt.code, "no")
				}
				return state, nil
			})
			got, err := Observe(t.Context(), c)
			if !tt.ok {
				var e *gnmi.RPCError
				if !errors.As(err, &e) || e.Code != tt.code {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || got.Ports["e"] == nil || got.Ports["e"].MTU != qos.Of(1500) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	t.Run("no JSON", func(t *testing.T) {
		_, c := newServer(t, func(string) ([]gnmi.Value, error) { return values(t, "interfaces", `{`), nil })
		if _, err := Observe(t.Context(), c); err == nil || !strings.Contains(err.Error(), c.Addr()) {
			t.Errorf("error %v", err)
		}
	})
}
