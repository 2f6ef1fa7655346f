package dme

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

const lossless = `policy-map type network-qos NQ
  class type network-qos c-8q-nq4
    mtu 9216
    pause pfc-cos 3
class-map type qos match-any ROCE
  match dscp 26
policy-map type qos IN
  class ROCE
    set qos-group 4
system qos
  service-policy type network-qos NQ
interface Ethernet1/1
  mtu 9216
  priority-flow-control mode on
  service-policy type qos input IN
interface Ethernet1/2
  shutdown
`

// TestSimulatedSwitch reads a simulated switch. It shows no LLDP data over gNMI, so the Neighbors
// of its ports are nil.
func TestSimulatedSwitch(t *testing.T) {
	s, err := simnxos.New(simnxos.Options{Interfaces: []string{"Ethernet1/1", "Ethernet1/2"}, Routed: true, Username: "admin", Password: "of-the-lab"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Configure(lossless); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"tx-pkts", "tx-octets", "drop-pkts", "drop-octets", "ecn-marked", "wd-stuck"} {
		s.SetCounter("Ethernet1/1", 4, name, uint64(100+i))
	}
	s.SetCounter("Ethernet1/1", 3, "pfc-rx", 120)
	s.SetCounter("Ethernet1/1", 3, "pfc-tx", 98)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := gnmi.Dial(t.Context(), gnmi.Config{Address: s.GNMIAddr(), Username: "admin", Password: "of-the-lab", TLS: gnmi.TLS{CAFile: ca}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Capabilities().HasModel(Model) {
		t.Errorf("models %v", c.Capabilities().Models)
	}
	got, err := Observe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := &drivers.Observation{Taken: got.Taken, Ports: map[string]*drivers.PortState{}}
	for name, up := range map[string]bool{"Ethernet1/1": true, "Ethernet1/2": false} {
		p := want.Port(name)
		p.AdminUp, p.OperUp, p.MTU = qos.Of(up), qos.Of(up), qos.Of(1500)
		p.Speed.V, p.Speed.Set = 400e9, true
		p.AdminFEC = qos.Of("auto")
		if up {
			p.FEC = qos.Of("rs") // no FEC is active on a link that is down
		}
		p.Counters = drivers.PortCounters{drivers.PFCRx.Of(3): 0, drivers.PFCTx.Of(3): 0}
		for i := range qos.NumPriorities {
			for _, m := range []drivers.Metric{drivers.QueuePackets, drivers.QueueBytes, drivers.QueueDrops, drivers.QueueMarked} {
				p.Counters[m.Of(i)] = 0
			}
		}
	}
	p := want.Ports["Ethernet1/1"]
	p.MTU = qos.Of(9216)
	maps.Copy(p.Counters, drivers.PortCounters{drivers.QueuePackets.Of(4): 100, drivers.QueueBytes.Of(4): 101, drivers.QueueDrops.Of(4): 102, drivers.QueueMarked.Of(4): 104,
		drivers.PFCRx.Of(3): 120, drivers.PFCTx.Of(3): 98})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// server responds in JSON, as NX-OS does.
type server struct {
	gpb.UnimplementedGNMIServer
	answer func(path string) (string, error) // "" stands for an empty value
}

func (s *server) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{SupportedEncodings: []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_PROTO}}, nil
}

func (s *server) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	resp := &gpb.GetResponse{}
	for _, p := range r.Path {
		var names []string
		for _, e := range p.Elem {
			names = append(names, e.Name)
		}
		text, err := s.answer(strings.Join(names, "/"))
		if err != nil {
			return nil, err
		}
		v := &gpb.TypedValue{}
		if text != "" {
			v.Value = &gpb.TypedValue_JsonVal{JsonVal: []byte(text)}
		}
		resp.Notification = append(resp.Notification, &gpb.Notification{Update: []*gpb.Update{{Path: p, Val: v}}})
	}
	return resp, nil
}

func dial(t *testing.T, answer func(string) (string, error)) *gnmi.Client {
	t.Helper()
	network := memnet.New(1)
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	gpb.RegisterGNMIServer(g, &server{answer: answer})
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	c, err := gnmi.Dial(t.Context(), gnmi.Config{Address: l.Addr().String(), TLS: gnmi.TLS{Plaintext: true}, Dial: network.Client(nil).Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestObserve(t *testing.T) {
	c := dial(t, func(p string) (string, error) {
		if i := slices.Index(whole, p); i >= 0 {
			return whole[i+1], nil
		}
		return "", nil
	})
	before := time.Now()
	got, err := Observe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Taken.Before(before) || got.Taken.After(time.Now()) {
		t.Errorf("taken at %v", got.Taken)
	}
	got.Taken = time.Time{}
	if diff := cmp.Diff(observed(), got); diff != "" {
		t.Error(diff)
	}

	c = dial(t, func(string) (string, error) { return "", nil })
	if got, err := Observe(t.Context(), c); err != nil || len(got.Ports) != 0 {
		t.Errorf("a device with nothing: %v %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code codes.Code
		all  bool // refuse every path, not only LLDP
		ok   bool
	}{
		{codes.NotFound, false, true}, {codes.InvalidArgument, false, true}, {codes.Unimplemented, false, true}, {codes.Internal, false, true}, {codes.Unknown, false, true},
		{codes.NotFound, true, false}, {codes.InvalidArgument, true, false},
		{codes.PermissionDenied, false, false}, {codes.Unauthenticated, false, false}, {codes.Unavailable, false, false}, {codes.ResourceExhausted, false, false},
	} {
		client := dial(t, func(p string) (string, error) {
			if c.all || p == lldpItems {
				return "", status.Error(c.code, "no")
			}
			if p == physItems {
				return whole[1], nil
			}
			return "", nil
		})
		got, err := Observe(t.Context(), client)
		var rpc *gnmi.RPCError
		switch {
		case c.ok && (err != nil || got.Ports["Ethernet1/1"] == nil || got.Ports["Ethernet1/1"].Neighbors != nil):
			t.Errorf("%v of LLDP: %v %v", c.code, got, err)
		case !c.ok && (!errors.As(err, &rpc) || rpc.Code != c.code):
			t.Errorf("%v, all %v: %v %v", c.code, c.all, got, err)
		}
	}
	client := dial(t, func(string) (string, error) { return "{", nil })
	if _, err := Observe(t.Context(), client); err == nil || !strings.Contains(err.Error(), client.Addr()) {
		t.Errorf("no JSON: %v", err)
	}
}
