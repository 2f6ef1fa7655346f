package dme

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// at parses a path such as "System/intf-items/phys-items/PhysIf-list[id=eth1/1]/mtu".
func at(t testing.TB, text string) *gpb.Path {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// values returns values from pairs of path and JSON.
func values(t testing.TB, pairs ...string) []gnmi.Value {
	var out []gnmi.Value
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, gnmi.Value{Path: at(t, pairs[i]), JSON: []byte(pairs[i+1])})
	}
	return out
}

const (
	physItems = "System/intf-items/phys-items"
	lldpItems = "System/lldp-items/inst-items/if-items"
	outItems  = "System/ipqos-items/queuing-items/policy-items/out-items/intf-items"
	nwItems   = "System/ipqos-items/nw-items"
)

// whole is one switch, with a value for each requested path. Queue 4 carries priority 3.
var whole = []string{
	physItems, `{"PhysIf-list":[{"id":"eth1/1","adminSt":"up","mtu":9216,"layer":"Layer3","phys-items":{"operSt":"up","operSpeed":"400G"}},
		{"id":"eth1/2","adminSt":"down","mtu":1500,"phys-items":{"operSt":"down","operSpeed":"auto"}}]}`,
	"System/intf-items/aggr-items", `{"AggrIf-list":[{"id":"po10","adminSt":"up","mtu":9000,"aggrif-items":{"operSt":"down"}}]}`,
	lldpItems, `{"If-list":[{"id":"eth1/1","adj-items":{"AdjEp-list":[{"id":"1","sysName":"spine1","chassisIdV":"02de.0000.0001","portIdV":"Ethernet1/7","portDesc":"to leaf1"}]}},
		{"id":"eth1/2","adminRxSt":"enabled"}]}`,
	outItems, `{"If-list":[{"name":"eth1/1","queCmap-items":{"QueuingStats-list":[
		{"cmapName":"c-out-8q-q4","statType":"queuing","txPackets":5000,"txBytes":18446744073709551615,"dropPackets":7,"dropBytes":70,"randEcnMarkedPackets":41822,"pfcRxPpp":120,"pfcTxPpp":98,"pfcwdShutdownCount":9},
		{"cmapName":"c-out-8q-q-default","statType":"queuing","txPackets":1,"pfcRxPpp":0,"pfcTxPpp":0}]}}]}`,
	nwItems, `{"p-items":{"name-items":{"PMapInst-list":[{"name":"NQ","cmap-items":{"MatchCMap-list":[{"name":"c-8q-nq4","mtu-items":{"value":9216},"pause-items":{"pfcCos3":true,"pfcCos4":false}},{"name":"c-8q-nq-default"}]}},
		{"name":"OTHER","cmap-items":{"MatchCMap-list":[{"name":"c-8q-nq4","pause-items":{"pfcCos6":true}}]}}]}},
		"policy-items":{"in-items":{"sys-items":{"pmap-items":{"name":"NQ","stats":true}}}}}`,
}

// observed is the observation of whole.
func observed() *drivers.Observation {
	one := &drivers.PortState{AdminUp: qos.Of(true), OperUp: qos.Of(true), MTU: qos.Of(9216), Neighbors: []qos.Neighbor{{Device: "spine1", Port: "Ethernet1/7"}}}
	one.Speed.V, one.Speed.Set = 400e9, true
	one.Counters = drivers.PortCounters{drivers.QueuePackets.Of(4): 5000, drivers.QueueBytes.Of(4): 1<<64 - 1, drivers.QueueDrops.Of(4): 7, drivers.QueueMarked.Of(4): 41822,
		drivers.QueuePackets.Of(0): 1, drivers.PFCRx.Of(3): 120, drivers.PFCTx.Of(3): 98}
	return &drivers.Observation{Ports: map[string]*drivers.PortState{
		"Ethernet1/1":    one,
		"Ethernet1/2":    {AdminUp: qos.Of(false), OperUp: qos.Of(false), MTU: qos.Of(1500), Neighbors: []qos.Neighbor{}},
		"port-channel10": {AdminUp: qos.Of(true), OperUp: qos.Of(false), MTU: qos.Of(9000)},
	}}
}

// replaced returns whole with other JSON under one path.
func replaced(path, json string) []string {
	out := append([]string(nil), whole...)
	for i := 0; i < len(out); i += 2 {
		if out[i] == path {
			out[i+1] = json
		}
	}
	return out
}

// TestForms decodes the same switch in the forms that releases may use.
func TestForms(t *testing.T) {
	backwards := []string{}
	for i := len(whole) - 2; i >= 0; i -= 2 {
		backwards = append(backwards, whole[i], whole[i+1])
	}
	text := strings.NewReplacer(`:9216,`, `:"9216",`, `5000,"txBytes":18446744073709551615`, `"5000","txBytes":"18446744073709551615"`, `true`, `"true"`, `41822`, `"41822"`, `"id":"1"`, `"id":1`)
	strs := []string{}
	for i := 0; i < len(whole); i += 2 {
		strs = append(strs, whole[i], text.Replace(whole[i+1]))
	}
	leaf := outItems + "/If-list[name=eth1/1]/queCmap-items/QueuingStats-list[cmapName=c-out-8q-q4][statType=queuing]/"
	zero := outItems + "/If-list[name=eth1/1]/queCmap-items/QueuingStats-list[cmapName=c-out-8q-q-default][statType=queuing]/"
	port := physItems + "/PhysIf-list[id=eth1/1]"
	pause := nwItems + "/p-items/name-items/PMapInst-list[name=NQ]/cmap-items/MatchCMap-list[name=c-8q-nq4]/pause-items/pfcCos3"
	neighbor := lldpItems + "/If-list[id=eth1/1]/adj-items/AdjEp-list[id=1]/"
	for name, pairs := range map[string][]string{
		"containers":         whole,
		"another order":      backwards,
		"strings for values": strs,
		"twice":              append(append([]string{}, whole...), whole...),
		"the module's name":  append([]string{"Cisco-NX-OS-device:" + physItems, whole[1]}, whole[2:]...),
		"from the top":       append([]string{"System", `{"intf-items":{"phys-items":` + whole[1] + `}}`}, whole[2:]...),
		"lists":              append(replaced(physItems, `{}`), physItems+"/PhysIf-list", whole[1][len(`{"PhysIf-list":`):len(whole[1])-1]),
		"entries in arrays of one": append(replaced(physItems, `{}`),
			port, `[{"id":"eth1/1","adminSt":"up","mtu":9216,"phys-items":[{"operSt":"up","operSpeed":"400G"}]}]`,
			physItems+"/PhysIf-list[id=eth1/2]", `{"adminSt":"down","mtu":1500,"phys-items":{"operSt":"down"}}`),
		"one entry without an array": append(replaced(lldpItems, `{"If-list":{"id":"eth1/1","adj-items":{"AdjEp-list":{"sysName":"spine1","portIdV":"Ethernet1/7"}}}}`),
			lldpItems, `[{"If-list":[{"id":"eth1/2"}]}]`),
		"leaves": append(append([]string{}, whole[:4]...),
			leaf+"txPackets", "5000", leaf+"txBytes", `"18446744073709551615"`, leaf+"dropPackets", "7", leaf+"dropBytes", "70", leaf+"randEcnMarkedPackets", "41822", leaf+"pfcRxPpp", "120", leaf+"pfcTxPpp", "98",
			zero+"txPackets", "1", neighbor+"sysName", `"spine1"`, neighbor+"portIdV", `"Ethernet1/7"`, lldpItems+"/If-list[id=eth1/2]/adminRxSt", `"enabled"`,
			nwItems+"/policy-items/in-items/sys-items/pmap-items/name", `"NQ"`, pause, "true"),
		"rows of other statistics": append(append([]string{}, whole...),
			outItems, `{"If-list":[{"name":"eth1/1","queCmap-items":{"QueuingStats-list":[{"cmapName":"c-out-8q-q4","statType":"bw","txPackets":1,"pfcRxPpp":1},{"cmapName":"c-out-8q-q4","statType":2,"dropBytes":3},{"cmapName":"c-out-8q-q-default","statType":"bw","dropBytes":3}]}}]}`),
		"rows of other statistics first": append([]string{
			outItems, `{"If-list":[{"name":"eth1/1","queCmap-items":{"QueuingStats-list":[{"cmapName":"c-out-8q-q4","statType":"bw","txPackets":1,"pfcRxPpp":1},{"cmapName":"c-out-8q-q4","statType":2,"dropBytes":3},{"cmapName":"c-out-8q-q-default","statType":"bw","dropBytes":3}]}}]}`}, whole...),
		"what is nothing of this": append(append([]string{}, whole...),
			physItems, `{"PhysIf-list":[{"id":"mgmt0","mtu":1500},{"id":"eth1/1","mtu":0},{"id":"eth1/1","mtu":70000,"adminSt":7,"phys-items":{"operSt":"unknown","operSpeed":"unknown"}},{"id":["eth1/1"],"mtu":1},7,null]}`,
			outItems, `{"If-list":[{"name":"eth1/1","queCmap-items":{"QueuingStats-list":[{"cmapName":"control","txPackets":1},{"cmapName":"c-8q-nq4","txPackets":1},{"cmapName":"c-out-8q-q8","txPackets":1},{"cmapName":"c-in-q1","txPackets":1},{"cmapName":"c-out-8q-q4","statType":"queuing","txPackets":-1,"txBytes":1e3,"dropPackets":"x","pfcRxPpp":null}]}},"x"]}`,
			"System/intf-items", "7", "System/new-items", `[{"PhysIf-list":[]}]`, "other", `{"System":{}}`, "", `"x"`, lldpItems, "null"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(values(t, pairs...))
			if diff := cmp.Diff(observed(), got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// The PFC frames of a queue are assigned to a priority only if the active policy pauses exactly
// one priority in it.
func TestPauses(t *testing.T) {
	policy := func(in, class, pause string) string {
		return fmt.Sprintf(`{"p-items":{"name-items":{"PMapInst-list":{"name":"NQ","cmap-items":{"MatchCMap-list":{"name":%q,"pause-items":{%s}}}}}},"policy-items":{"in-items":{"sys-items":{"pmap-items":{"name":%q}}}}}`, class, pause, in)
	}
	for name, c := range map[string]struct {
		nw   string
		want int // priority, or -1 for none
	}{
		"one":               {policy("NQ", "c-8q-nq4", `"pfcCos6":1`), 6},
		"of four queues":    {policy("NQ", "c-nq4", `"pfcCos4":"true"`), 4},
		"two":               {policy("NQ", "c-8q-nq4", `"pfcCos3":true,"pfcCos4":true`), -1},
		"none":              {policy("NQ", "c-8q-nq4", `"pfcCos3":false,"pfcCos4":"false"`), -1},
		"of another group":  {policy("NQ", "c-8q-nq3", `"pfcCos3":true`), -1},
		"of another policy": {policy("default-8q-nq-policy", "c-8q-nq4", `"pfcCos3":true`), -1},
		"nothing":           {`{}`, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(values(t, replaced(nwItems, c.nw)...))
			if err != nil {
				t.Fatal(err)
			}
			want := observed()
			p := want.Ports["Ethernet1/1"].Counters
			delete(p, drivers.PFCRx.Of(3))
			delete(p, drivers.PFCTx.Of(3))
			if c.want >= 0 {
				p[drivers.PFCRx.Of(c.want)], p[drivers.PFCTx.Of(c.want)] = 120, 98
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"eth1/1": "Ethernet1/1", "eth1/49/2": "Ethernet1/49/2", "eth101/1/3": "Ethernet101/1/3", "Ethernet1/1": "Ethernet1/1", "Eth1/1": "Ethernet1/1",
		"po10": "port-channel10", "port-channel10": "port-channel10",
		"eth1/1.100": "", "mgmt0": "", "vlan1": "", "lo0": "", "eth": "", "po": "", "ethernet1/1": "", "eth1/1\x1b": "", "": "",
	} {
		if got, ok := longName(in); got != want || ok != (want != "") {
			t.Errorf("%q is %q", in, got)
		}
	}
	for class, want := range map[string]int{
		"c-out-8q-q1": 1, "c-out-8q-q7": 7, "c-out-8q-q-default": 0, "c-out-q3": 3, "c-out-q-default": 0, "c-8q-nq3": 3, "c-8q-nq-default": 0, "c-nq1": 1, "c-nq-default": 0,
		"c-out-8q-q0": -1, "c-out-8q-q8": -1, "c-out-8q-q33": -1, "c-in-q1": -1, "c-out-8q-q": -1, "class-default": -1, "xc-out-q1": -1, "": -1,
	} {
		n, ok := groupOf(class)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q is group %d", class, n)
		}
	}
}

func TestBadValues(t *testing.T) {
	for name, json := range map[string]string{
		"no JSON":           `{"PhysIf-list":`,
		"more behind it":    `{} {}`,
		"nothing":           ``,
		"too many":          `{"PhysIf-list":[` + strings.Repeat("{},", tree.MaxEntries) + `{}]}`,
		"nested beyond use": strings.Repeat("[", 1<<20),
	} {
		if o, err := decode(values(t, physItems, json)); err == nil || !strings.HasPrefix(err.Error(), "/"+physItems+": ") || len(err.Error()) > 300 {
			t.Errorf("%s: %v %v", name, o, err)
		}
	}
	if _, err := decode(values(t, physItems, `{"PhysIf-list":[`+strings.Repeat("{},", tree.MaxEntries-1)+`{}]}`)); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", tree.MaxText)
	o, err := decode(values(t, lldpItems, `{"If-list":[{"id":"eth1/1","adj-items":{"AdjEp-list":[{"id":"1","sysName":"`+long+`x","portIdV":"`+long+`"},{"id":"2","sysName":"a\u001b[2Jb"}]}}]}`))
	if want := []qos.Neighbor{{Port: long}, {Device: term.CleanLine("a\x1b[2Jb")}}; err != nil || cmp.Diff(want, o.Ports["Ethernet1/1"].Neighbors) != "" {
		t.Errorf("%+v %v", o.Ports["Ethernet1/1"], err)
	}
}

// FuzzDecode checks that decoding any input terminates, returns no text that is unsafe to print,
// and gives the same result if a value is repeated.
func FuzzDecode(f *testing.F) {
	for i := 0; i < len(whole); i += 2 {
		f.Add(uint8(i/2), "eth1/1", []byte(whole[i+1]))
	}
	f.Add(uint8(200), "", []byte(`{"System":{"lldp-items":{"inst-items":{"if-items":{"If-list":{"id":"po1","adj-items":[{"AdjEp-list":[{"sysName":"\u202e"},{"id":1},{"id":"01"}]}]}}}}}}`))
	f.Add(uint8(1), "a\x1b", []byte(`[{"id":1}]`))
	f.Fuzz(func(t *testing.T, which uint8, key string, json []byte) {
		v := gnmi.Value{JSON: json}
		if int(which) < len(source.Paths) {
			v.Path = at(t, source.Paths[which])
			if len(key) > 3 {
				v.Path.Elem = append(v.Path.Elem, &gpb.PathElem{Name: "If-list", Key: map[string]string{"id": key, "name": key}})
			}
		}
		once, err := decode([]gnmi.Value{v})
		twice, err2 := decode([]gnmi.Value{v, v})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("once %v, twice %v", err, err2)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Error(diff)
		}
		for name, p := range once.Ports {
			for _, n := range p.Neighbors {
				name += n.Device + n.Port
			}
			if term.CleanLine(name) != name && !strings.Contains(name, "  ") {
				t.Errorf("text %q", name)
			}
		}
	})
}
