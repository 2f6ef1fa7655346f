package show

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]Version{
		`{"header_str":"Cisco Nexus Operating System (NX-OS) Software\nTAC support: x","nxos_ver_str":"10.4(3)","chassis_id":"Nexus9000 C9332D-GX2B Chassis","proc_board_id":"FDO2"}`: {"Cisco Nexus Operating System (NX-OS) Software TAC support: x", "10.4(3)", "Nexus9000 C9332D-GX2B Chassis", "FDO2", true},
		`{"header_str":"Cisco Nexus Operating System (NX-OS) Software","sys_ver_str":"7.0(3)I2(1)","kickstart_ver_str":"1"}`:                                                          {"Cisco Nexus Operating System (NX-OS) Software", "7.0(3)I2(1)", "", "", true},
		`{"header_str":"NX-OS","nxos_ver_str":"10.4(3)","chassis_id":"Nexus9000 C9508 (8 Slot) Chassis","proc_board_id":"SAL1"}`:                                                      {"NX-OS", "10.4(3)", "Nexus9000 C9508 (8 Slot) Chassis", "", true},
		`{"header_str":"Some other system","kickstart_ver_str":"1.0"}`:                                                                                                                {"Some other system", "1.0", "", "", false},
		`{"chassis_id":["x"],"nxos_ver_str":{}}`: {},
	} {
		if got, err := ParseVersion([]byte(in)); err != nil || got != want {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "[]", "% Invalid command", `{"header_str":`} {
		if _, err := ParseVersion([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestParseInventory(t *testing.T) {
	for in, want := range map[string][2]string{
		`{"TABLE_inv":{"ROW_inv":[{"name":"\"Fan 1\"","productid":"FAN"},{"name":"\"Chassis\"","productid":"N9K-C9332D-GX2B","serialnum":"FDO1"}]}}`: {"N9K-C9332D-GX2B", "FDO1"},
		`{"TABLE_inv":{"ROW_inv":{"name":"Chassis","productid":"N9K-X"}}}`:                                                                           {"N9K-X", ""},
		`{"TABLE_inv":{"ROW_inv":"none"}}`: {},
		`no JSON`:                          {},
	} {
		if product, serial := ParseInventory([]byte(in)); [2]string{product, serial} != want {
			t.Errorf("%s: %q, %q", in, product, serial)
		}
	}
}

func TestBitmap(t *testing.T) {
	for _, c := range []struct {
		bitmap      string
		want        qos.PrioritySet
		same, known bool
	}{
		{"8", qos.Priorities(3), true, true},
		{"0x8", qos.Priorities(3), true, true},
		{"(18)", qos.Priorities(3, 4), true, true}, // hexadecimal
		{"24", qos.Priorities(3, 4), true, true},   // decimal
		{"24", qos.Priorities(2, 5), true, true},   // both bases are accepted
		{"10", qos.Priorities(3), false, true},
		{"0", qos.Priorities(3), false, true},
		{"80", qos.Priorities(7), true, true},
		{"", qos.Priorities(3), false, false},
		{"--x-", qos.Priorities(3), false, false},
		{"1000", qos.Priorities(3), false, false},
		{"-8", qos.Priorities(3), false, false},
	} {
		if same, known := (PFC{Bitmap: c.bitmap}).Shows(c.want); same != c.same || known != c.known {
			t.Errorf("%q for %s: %v %v", c.bitmap, c.want, same, known)
		}
	}
}

// The text has the form in the ciscoos receiver of opentelemetry-collector-contrib.
func TestPFCForms(t *testing.T) {
	text := `============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================
Ethernet1/1        On   On  (8)        0          22145
Ethernet1/2        Auto Off            0          0
Ethernet1/49/1     On   On  (--x-)     1          2
Br-Ethernet1/1     Auto Off            0          0
Ethernet1/3        On
port-channel10     Off  Off            0          0
`
	want := map[string]PFC{"Ethernet1/1": {"On", true, "8"}, "Ethernet1/2": {Mode: "Auto"}, "Ethernet1/49/1": {"On", true, "--x-"}, "port-channel10": {Mode: "Off"}}
	for _, end := range []string{"\n", "\r\n", "\r\r\n"} {
		if d := cmp.Diff(want, ParsePFCText(strings.ReplaceAll(text, "\n", end))); d != "" {
			t.Errorf("%q: %s", end, d)
		}
	}
	json := `{"TABLE_module":{"ROW_module":[{"TABLE_pfc_interface":{"ROW_pfc_interface":{"if_name_str":"Ethernet1/1","admin":"On","oper":"On","vl-bmp":8}}},
	 {"TABLE_pfc_interface":{"ROW_pfc_interface":[{"if_name_str":"Eth2/2","admin":"Auto","oper":"Off"},{"if_name_str":"Vethernet1"},7]}}]}}`
	got, err := ParsePFC([]byte(json))
	if d := cmp.Diff(map[string]PFC{"Ethernet1/1": {"On", true, "8"}, "Ethernet2/2": {Mode: "Auto"}}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func TestPorts(t *testing.T) {
	o := &drivers.Observation{}
	for _, read := range []struct {
		in   string
		into func([]byte, *drivers.Observation) error
	}{
		{`{"TABLE_interface":{"ROW_interface":[{"interface":"Ethernet1/1","state":"up","admin_state":"up","eth_mtu":"9216","eth_bw":400000000},{"interface":"Vlan1","svi_mtu":"1500"},
		  {"interface":"Ethernet1/2","state":"down","admin_state":"down","eth_mtu":"-","eth_bw":"18446744073709551615"}]}}`, Interfaces},
		{`{"TABLE_nbor":{"ROW_nbor":{"l_port_id":"Eth1/1","chassis_id":"02de.0000.0001","port_id":"eth0"}}}`, Neighbors},
		{`{"TABLE_nbor_detail":{"ROW_nbor_detail":[{"l_port_id":"Eth1/1","sys_name":"gpu1","chassis_id":"02de.0000.0001","port_id":"eth0"},{"l_port_id":"mgmt0","sys_name":"x"}]}}`, Neighbors},
		{`{"TABLE_x":{"ROW_x":{"if_name_str":"Ethernet1/1","tx_uc_ecn_pkt_qos_3":"7","tx_uc_ecn_pkt_qos_0":0,"tx_uc_ecn_pkt_qos_1":"-"}}}`, Tabular},
	} {
		if err := read.into([]byte(read.in), o); err != nil {
			t.Error(err)
		}
	}
	up, down := &drivers.PortState{AdminUp: qos.Of(true), OperUp: qos.Of(true), MTU: qos.Of(9216), Neighbors: []qos.Neighbor{{Device: "gpu1", Port: "eth0"}}}, &drivers.PortState{AdminUp: qos.Of(false), OperUp: qos.Of(false)}
	up.Speed.V, up.Speed.Set = 400_000_000_000, true
	up.Counters = drivers.PortCounters{drivers.QueueMarked.Of(3): 7, drivers.QueueMarked.Of(0): 0}
	if d := cmp.Diff(map[string]*drivers.PortState{"Ethernet1/1": up, "Ethernet1/2": down}, o.Ports); d != "" {
		t.Error(d)
	}
}

// Groups above 7 are for the switch's own traffic and for mirroring.
func TestCounters(t *testing.T) {
	o := &drivers.Observation{}
	group := func(name, value string) string {
		return fmt.Sprintf(`{"eq-qosgrp":%q,"TABLE_qosgrp_egress_stats_entry":{"ROW_qosgrp_egress_stats_entry":[{"eq-stat-type":"Tx","eq-stat-units":"Pkts","eq-uc-stat-value":%q},{"eq-stat-type":"New","eq-stat-units":"Pkts","eq-uc-stat-value":"1"}]}}`, name, value)
	}
	in := `{"TABLE_module":{"ROW_module":{"TABLE_queuing_interface":{"ROW_queuing_interface":[{"dir":"Egress","if_name_str":"Ethernet1/1","TABLE_qosgrp_egress_stats":{"ROW_qosgrp_egress_stats":[` +
		group("3", "5") + "," + group("8", "9") + "," + group("cpu", "9") + "," + group("4", "-1") + `]}},
		{"dir":"Ingress","if_name_str":"Ethernet1/1","TABLE_pfc_stats":{"ROW_pfc_stats":{"cos":"3","tx-pause-count":"11","rx-pause-count":12}}}]}}}}`
	if err := Queuing([]byte(in), o); err != nil {
		t.Fatal(err)
	}
	in = `{"TABLE_module":{"ROW_module":{"TABLE_queuing_interface":{"ROW_queuing_interface":{"if_name_str":"Ethernet1/1 Interface PFC watchdog: [Enabled]","TABLE_qosgrp_stats":{"ROW_qosgrp_stats":{"eq-qosgrp":"3 [Shutdown]","TABLE_qosgrp_stats_entry":{"ROW_qosgrp_stats_entry":[{"q-shutdown":"2"},{"q-restored":"1"}]}}}}}}}}`
	if err := Watchdog([]byte(in), o); err != nil {
		t.Fatal(err)
	}
	want := &drivers.PortState{Counters: drivers.PortCounters{drivers.QueuePackets.Of(3): 5, drivers.StormsDetected.Of(3): 2, drivers.StormsRestored.Of(3): 1,
		drivers.PFCTx.Of(3): 11, drivers.PFCRx.Of(3): 12}, Storms: map[int]drivers.Storm{3: drivers.StormStopped}}
	if d := cmp.Diff(map[string]*drivers.PortState{"Ethernet1/1": want}, o.Ports); d != "" {
		t.Error(d)
	}
}

// A state of a queue is shown by itself, or after its number.
func TestStorms(t *testing.T) {
	for in, want := range map[string]map[int]drivers.Storm{
		`"eq-qosgrp":"3 [Shutdown]"`:                                     {3: drivers.StormStopped},
		`"eq-qosgrp":"3","eq-qosgrp-state":"Shutdown"`:                   {3: drivers.StormStopped},
		`"eq-qosgrp":"3 [Wait-to-Shutdown]"`:                             {3: drivers.StormNear},
		`"eq-qosgrp":"3 [Active]"`:                                       nil,
		`"eq-qosgrp":"3 [a word of another release]"`:                    nil,
		`"eq-qosgrp":"9 [Shutdown]"`:                                     nil,
		`"eq-qosgrp":"3 [Shutdown]"}},"disable-action":"Yes","x":{"x":{`: {3: drivers.StormCounted},
		`"eq-qosgrp":"3 [Shutdown]"}},"disable-action":"No","x":{"x":{`:  {3: drivers.StormStopped},
	} {
		o := &drivers.Observation{}
		err := Watchdog([]byte(`{"TABLE_queuing_interface":{"ROW_queuing_interface":{"if_name_str":"Ethernet1/1","TABLE_qosgrp_stats":{"ROW_qosgrp_stats":{`+in+`}}}}}`), o)
		if err != nil || !maps.Equal(o.Port("Ethernet1/1").Storms, want) {
			t.Errorf("%s: %v, %v", in, o.Ports["Ethernet1/1"], err)
		}
	}
}

func FuzzReaders(f *testing.F) {
	f.Add([]byte(`{"TABLE_module":{"ROW_module":{"TABLE_queuing_interface":{"ROW_queuing_interface":[{"if_name_str":"Ethernet1/1","tx_uc_ecn_pkt_qos_3":1}]}}}}`))
	f.Add([]byte(`{"TABLE_interface":{"ROW_interface":{"interface":"Ethernet1/1","eth_mtu":"9216"}}}`))
	f.Add([]byte("Ethernet1/1        On   On  (8)        0          22145\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := &drivers.Observation{}
		for _, read := range []func([]byte, *drivers.Observation) error{Interfaces, Neighbors, Queuing, Watchdog, Tabular} {
			_ = read(b, o)
		}
		_, _ = ParseVersion(b)
		pfc, _ := ParsePFC(b)
		for name := range ParsePFCText(string(b)) {
			o.Port(name)
		}
		for name := range pfc {
			o.Port(name)
		}
		for name := range o.Ports {
			if long, ok := LongName(name); !ok || long != name {
				t.Errorf("port %q", name)
			}
		}
	})
}
