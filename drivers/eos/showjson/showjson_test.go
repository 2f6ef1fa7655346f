package showjson

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// The samples have the keys of the public sources with invented values.
const (
	interfaces = `{"interfaces":{
		"Ethernet5/1":{"name":"Ethernet5/1","mtu":9214,"forwardingModel":"routed","l3MtuConfigured":true,"lineProtocolStatus":"up","interfaceStatus":"connected","bandwidth":400000000000,"description":"to spine1"},
		"Ethernet6/1":{"mtu":9214,"forwardingModel":"bridged","lineProtocolStatus":"down","interfaceStatus":"disabled","bandwidth":0},
		"Ethernet7/1":{"mtu":"-","forwardingModel":"routed","lineProtocolStatus":"lowerLayerDown","interfaceStatus":"errdisabled","bandwidth":[1]},
		"Ethernet8/1":7,
		"Ethernet9/1":{"lineProtocolStatus":"unknown","interfaceStatus":"notconnect"}}}`
	lldp       = `{"tablesLastChangeTime":1.5,"lldpNeighbors":[{"port":"Ethernet5/1","neighborDevice":"spine1","neighborPort":"Ethernet1/1","ttl":120},{"port":"Et5/1","neighborDevice":"spine2","neighborPort":"swp1","ttl":120},{"port":7},9]}`
	lldpDetail = `{"lldpNeighbors":{"Ethernet5/1":{"lldpNeighborInfo":[
		{"systemName":"spine1","chassisId":"0000.5e00.5301","neighborInterfaceInfo":{"interfaceId":"\"Et1/1\"","interfaceId_v2":"Ethernet1/1","interfaceDescription":"x"}},
		{"chassisId":"0000.5e00.5302","neighborInterfaceInfo":{"interfaceId":"\"swp1\""}}]},
		"Ethernet6/1":{"lldpNeighborInfo":[]}}}`
	pfcPriorities = `{"interfaces":{"Ethernet5/1":{"priorities":{"3":{"rxFrames":18446744073709551615,"txFrames":98},"4":{"rxFrames":"-","txFrames":1.5},"8":{"rxFrames":1},"x":{}}}}}`
	watchdog      = `{"interfaces":{"Ethernet5/1":{"txQueues":{"3":{"stuckCount":2,"recoveryCount":1}}}}}`
	ecn           = `{"intfQueueCounters":{"Et5/1":{"queueCounters":{"0":"-","3":"41822","6":7}}}}`
	queueDetail   = `{"egressQueueCounters":{"interfaces":{"Ethernet5/1":{
		"ucastQueues":{"trafficClasses":{"TC3":{"dropPrecedences":{"DP0":{"droppedPackets":4,"droppedBytes":512,"enqueuedPackets":100,"enqueuedBytes":5000},"DP1-2":{"droppedPackets":3}}},"TC0-2":{"dropPrecedences":{"DP0":{"droppedPackets":9}}}}},
		"mcastQueues":{"trafficClasses":{"TC3":{"dropPrecedences":{"DP0":{"droppedPackets":70}}}}}}}}}`
	version     = `{"modelName":"DCS-7060DX5-64S-R","version":"4.32.1F","mfgName":"Arista","serialNumber":"ABC123","architecture":"x86_64","uptime":123456.75,"bootupTimestamp":1.7e9}`
	sessionsOld = `{"sessions":{"rf-1":{"state":"pendingCommitTimer","completedTime":0,"commitUser":"","commitBy":123756.5},"b":{"state":"pending","commitBy":0},"a":{"state":"pending"},"c":{"state":"completed"}}}`
	sessionsNew = `{"sessions":{"rf-1":{"state":"pending","completedTime":0,"commitUser":"","commitBy":0}},"commitTimerSessionName":"rf-1","commitTimerExpireTime":123756.5}`
)

func TestDecoders(t *testing.T) {
	up := drivers.PortState{AdminUp: qos.Of(true), OperUp: qos.Of(true), MTU: qos.Of(9214), Speed: qos.Of(units.Rate(400e9))}
	twoNeighbors := drivers.PortState{Neighbors: []qos.Neighbor{{Device: "spine1", Port: "Ethernet1/1"}, {Device: "spine2", Port: "swp1"}}}
	detail := drivers.PortState{Neighbors: []qos.Neighbor{{Device: "spine1", Port: "Ethernet1/1"}, {Device: "0000.5e00.5302", Port: "swp1"}}}
	prio := drivers.PortState{Counters: drivers.PortCounters{drivers.PFCRx.Of(3): 1<<64 - 1, drivers.PFCTx.Of(3): 98}}
	wd := drivers.PortState{Counters: drivers.PortCounters{drivers.StormsDetected.Of(3): 2, drivers.StormsRestored.Of(3): 1}}
	marks := drivers.PortState{Counters: drivers.PortCounters{drivers.QueueMarked.Of(3): 41822, drivers.QueueMarked.Of(6): 7}}
	queue := drivers.PortState{Counters: drivers.PortCounters{drivers.QueuePackets.Of(3): 100, drivers.QueueBytes.Of(3): 5000, drivers.QueueDrops.Of(3): 7}}
	type ports map[string]*drivers.PortState
	for _, tt := range []struct {
		name, in string
		decode   func([]byte, *drivers.Observation) error
		want     ports
	}{
		{"interfaces", interfaces, Interfaces, ports{
			"Ethernet5/1": &up,
			"Ethernet6/1": {AdminUp: qos.Of(false), OperUp: qos.Of(false)},
			"Ethernet9/1": {AdminUp: qos.Of(true)},
			"Ethernet7/1": {AdminUp: qos.Of(true), OperUp: qos.Of(false)},
			"Ethernet8/1": {},
		}},
		{"LLDP", lldp, LLDPNeighbors, ports{"Ethernet5/1": &twoNeighbors}},
		{"LLDP detail", lldpDetail, LLDPNeighbors, ports{"Ethernet5/1": &detail}},
		{"priorities", pfcPriorities, PFCPriorities, ports{"Ethernet5/1": &prio}},
		{"watchdog", watchdog, Watchdog, ports{"Ethernet5/1": &wd}},
		{"no watchdog", `{"interfaces":{}}`, Watchdog, nil},
		{"ECN", ecn, ECN, ports{"Ethernet5/1": &marks}},
		{"queues", queueDetail, Queues, ports{"Ethernet5/1": &queue}},
		{"nothing of it", `{"other":1}`, Interfaces, nil},
		{"another type", `{"interfaces":[1]}`, Interfaces, nil},
		{"LLDP of another type", `{"lldpNeighbors":7}`, LLDPNeighbors, nil},
		{"names", `{"intfQueueCounters":{"":{},"a\nb":{},"\u202e":{},"Po1":{},"Ma0":{},"Etx":{},"Ethernet":{}}}`, ECN, ports{"Port-Channel1": {}, "Management0": {}, "Etx": {}, "Ethernet": {}}},
	} {
		var o drivers.Observation
		if err := tt.decode([]byte(tt.in), &o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(map[string]*drivers.PortState(tt.want), o.Ports); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// Several commands fill one observation, and none unsets values of another.
func TestDecodersTogether(t *testing.T) {
	var o drivers.Observation
	for _, d := range []struct {
		in     string
		decode func([]byte, *drivers.Observation) error
	}{{interfaces, Interfaces}, {lldp, LLDPNeighbors}, {pfcPriorities, PFCPriorities}, {watchdog, Watchdog}, {ecn, ECN}, {queueDetail, Queues},
		{`{"intfQueueCounters":{"Ethernet5/1":{"queueCounters":{"3":"-"}}}}`, ECN}, {`{"interfaces":{"Ethernet5/1":{}}}`, Interfaces}} {
		if err := d.decode([]byte(d.in), &o); err != nil {
			t.Fatal(err)
		}
	}
	p := o.Ports["Ethernet5/1"]
	want := drivers.PortCounters{drivers.QueuePackets.Of(3): 100, drivers.QueueBytes.Of(3): 5000, drivers.QueueDrops.Of(3): 7, drivers.QueueMarked.Of(3): 41822,
		drivers.StormsDetected.Of(3): 2, drivers.StormsRestored.Of(3): 1, drivers.PFCRx.Of(3): 1<<64 - 1, drivers.PFCTx.Of(3): 98, drivers.QueueMarked.Of(6): 7}
	if !maps.Equal(p.Counters, want) || len(p.Neighbors) != 2 || p.MTU != qos.Of(9214) {
		t.Errorf("port %+v", p)
	}
}

func TestVersion(t *testing.T) {
	got, err := ParseVersion([]byte(version))
	want := Version{Model: "DCS-7060DX5-64S-R", Release: "4.32.1F", Manufacturer: "Arista", Serial: "ABC123", Uptime: qos.Of(123456750 * time.Millisecond)}
	if got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, in := range []string{`-1`, `0`, `1e300`, `"5"`, `null`, `{}`} {
		if got, err := ParseVersion([]byte(`{"version":"4.32.1F","uptime":` + in + `}`)); err != nil || got != (Version{Release: "4.32.1F"}) {
			t.Errorf("uptime %s: %+v, %v", in, got, err)
		}
	}
	if got, err := ParseVersion([]byte(`{"modelName":"a\u001b[2Jb","version":"` + strings.Repeat("x", 256) + `"}`)); err != nil || got != (Version{Model: "ab"}) {
		t.Errorf("hostile text: %+v, %v", got, err)
	}
}

func TestSessions(t *testing.T) {
	expires := qos.Of(123756500 * time.Millisecond)
	for _, tt := range []struct {
		name, in string
		want     Sessions
		pending  []string
	}{
		{"up to 4.32", sessionsOld, Sessions{map[string]string{"rf-1": "pendingCommitTimer", "a": "pending", "b": "pending", "c": "completed"}, map[string]string{}, "rf-1", expires}, []string{"a", "b"}},
		{"later", sessionsNew, Sessions{map[string]string{"rf-1": "pending"}, map[string]string{}, "rf-1", expires}, []string{"rf-1"}},
		{"none", `{"sessions":{}}`, Sessions{States: map[string]string{}, Users: map[string]string{}}, nil},
		{"time of no timer", `{"commitTimerSessionName":"","commitTimerExpireTime":5}`, Sessions{States: map[string]string{}, Users: map[string]string{}}, nil},
		{"both forms", `{"sessions":{"a":{"state":"pendingCommitTimer","commitBy":1}},"commitTimerSessionName":"b","commitTimerExpireTime":2}`,
			Sessions{map[string]string{"a": "pendingCommitTimer"}, map[string]string{}, "b", qos.Of(2 * time.Second)}, nil},
		{"name with a line end", `{"sessions":{"a\nreload":{"state":"pending"}}}`, Sessions{States: map[string]string{"a reload": "pending"}, Users: map[string]string{}}, []string{"a reload"}},
	} {
		got, err := ParseSessions([]byte(tt.in))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
		if diff := cmp.Diff(tt.pending, got.Pending()); diff != "" {
			t.Errorf("%s: pending:\n%s", tt.name, diff)
		}
	}
}

// decoders holds all decoders in a common form.
var decoders = map[string]func([]byte, *drivers.Observation) error{
	"interfaces": Interfaces, "lldp": LLDPNeighbors, "priorities": PFCPriorities, "watchdog": Watchdog, "ecn": ECN, "queues": Queues, "fec": FEC,
	"version":  func(b []byte, _ *drivers.Observation) error { _, err := ParseVersion(b); return err },
	"sessions": func(b []byte, _ *drivers.Observation) error { _, err := ParseSessions(b); return err },
}

// The keys are those used by public controllers and napalm's test data.
func TestFECAndErrors(t *testing.T) {
	var o drivers.Observation
	for _, in := range []struct {
		into func([]byte, *drivers.Observation) error
		text string
	}{
		{Interfaces, `{"interfaces":{"Ethernet1":{"lineProtocolStatus":"up","interfaceCounters":{"totalInErrors":7,"totalOutErrors":0,"inputErrorsDetail":{"runtFrames":0,"fcsErrors":4,"symbolErrors":3,"rxPause":9}}},
			"Ethernet2":{"lineProtocolStatus":"down","interfaceCounters":{"totalInErrors":"-"}},"Ethernet3":{"lineProtocolStatus":"up"},"Ethernet4":{"lineProtocolStatus":"up"}}}`},
		{FEC, `{"interfaceErrCorrStatuses":{"Ethernet1":{"errCorrEncodingStatus":"reedSolomon"},"Ethernet2":{"errCorrEncodingStatus":"reedSolomon"},"Ethernet3":{"errCorrEncodingStatus":"disabled"},"Ethernet4":{"errCorrEncodingStatus":"new"}}}`},
	} {
		if err := in.into([]byte(in.text), &o); err != nil {
			t.Fatal(err)
		}
	}
	for port, want := range map[string]qos.Opt[string]{"Ethernet1": qos.Of("rs"), "Ethernet2": {}, "Ethernet3": qos.Of("none"), "Ethernet4": {}} {
		if got := o.Ports[port].FEC; got != want {
			t.Errorf("%s: %v, want %v", port, got, want)
		}
	}
	want := drivers.PortCounters{drivers.ErrorsRx.Of(0): 7, drivers.ErrorsTx.Of(0): 0, drivers.SymbolErrors.Of(0): 3}
	if d := cmp.Diff(want, o.Ports["Ethernet1"].Counters); d != "" || o.Ports["Ethernet2"].Counters != nil {
		t.Errorf("%s, %v", d, o.Ports["Ethernet2"].Counters)
	}
}

func TestNoOutput(t *testing.T) {
	big := `{"x":"` + strings.Repeat("x", tree.MaxInput) + `"}`
	for name, d := range decoders {
		for _, in := range []string{"", " ", "% Invalid input (at token 1: 'x')", "[]", "null", `"text"`, `{"interfaces":{}`, `{} {}`, big} {
			if err := d([]byte(in), &drivers.Observation{}); err == nil || errors.Is(err, ErrRefused) || len(err.Error()) > 300 {
				t.Errorf("%s of %.30q: %v", name, in, err)
			}
		}
		err := d([]byte(`{"errors":["Unavailable command (not supported on this hardware platform)"]}`), &drivers.Observation{})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not supported on this hardware") {
			t.Errorf("%s of a refusal: %v", name, err)
		}
		if err := d([]byte(" \n{}\n"), &drivers.Observation{}); err != nil {
			t.Errorf("%s of an empty object: %v", name, err)
		}
	}
}

func TestBounds(t *testing.T) {
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":{}`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for key, d := range map[string]func([]byte, *drivers.Observation) error{"interfaces": Interfaces, "intfQueueCounters": ECN} {
		var o drivers.Observation
		if err := d([]byte(`{"`+key+`":`+object(maxPorts)+`}`), &o); err != nil || len(o.Ports) != maxPorts {
			t.Errorf("%s: %d ports, %v", key, len(o.Ports), err)
		}
		if err := d([]byte(`{"`+key+`":`+object(maxPorts+1)+`}`), &o); err == nil {
			t.Errorf("%s: too many ports are taken", key)
		}
	}
	if _, err := ParseSessions([]byte(`{"sessions":` + object(maxSessions+1) + `}`)); err == nil {
		t.Error("too many sessions are taken")
	}
	one := `{"port":"Et1","neighborDevice":"d","neighborPort":"p"}`
	many := func(n int) []byte {
		return []byte(`{"lldpNeighbors":[` + strings.Repeat(one+",", n-1) + one + `]}`)
	}
	if err := LLDPNeighbors(many(maxNeighbors), &drivers.Observation{}); err != nil {
		t.Error(err)
	}
	if err := LLDPNeighbors(many(maxNeighbors+1), &drivers.Observation{}); err == nil {
		t.Error("too many neighbors are taken")
	}
}

func TestLongName(t *testing.T) {
	for in, want := range map[string]string{
		"Et1": "Ethernet1", "Et5/1": "Ethernet5/1", "Ethernet5/1": "Ethernet5/1", "Po100": "Port-Channel100", "Ma1": "Management1",
		"Vl10": "Vlan10", "Lo0": "Loopback0", "Et": "Et", "Eth1": "Eth1", "swp1": "swp1", "": "",
	} {
		if got := longName(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
