package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/report"
)

// knownFabric states everything that an intent can say about hosts, and what no switch can
// report.
const knownFabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma:    {priority: 3, dscp: [24, 26], hostDSCP: 26, lossless: true, alpha: -1, bandwidth: 60%}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
mtu: {host: 4200, rdma: 2048}
buffers: {minLosslessPacket: 512B, overSubscription: 2, fanIn: 3, fanOut: 4, pauseResponse: 2us, headroom: sonic-dyn}
switches:
  leaf1:
    {os: sonic, address: 192.0.2.11, model: ACS-MSN4700, identity: {serial: "12"}, ports: {Ethernet0: {fec: rs, admin: up}, Ethernet248: {cable: 3m, speed: 400G}}}
  leaf2: {os: sonic, address: 192.0.2.12, model: ACS-MSN4700}
hosts:
  gpu[1-2]:
    address: 198.51.100.[1-2]
    identity: {serial: "H[1-2]", mac: "52:54:00:00:00:1[1-2]", model: M, hostname: "h[1-2]"}
    pauseResponse: 8us
    access: {ssh: {address: "198.51.100.[1-2]:2222"}}
    nics:
      eth[0-1]:
        select: {vendor: nvidia, model: ConnectX-7, part: P, serial: S, pci: "0000:01:00.0", port: 1, rail: "[1-2]"}
        rdma: mlx5_[0-1]
        rings: {rx: 8192, tx: 4096}
        buffers: auto
        willing: off
        stallPrevention: auto
        dcqcn: {rp_ai_rate: 7, rp_gd: 11}
        dcbx: keep
        maxReadRequest: 4096
        relaxedOrdering: on
        vfs: {count: 4, trust: on, vlan: 100, pcp: 5, representors: off}
        sfs: {count: 8}
    bonds: {bond0: {members: [eth0]}}
    vlans: {bond0.100: {on: bond0, id: 100}}
  gpu3:
    address: 198.51.100.3:2200
    identity: {serial: "3", mac: "52:54:00:00:00:13", model: M, hostname: h3}
    pauseResponse: 905q
    access: {ssh: {address: "198.51.100.4:22", knownHosts: ~/others}}
    nics: {eth0: {select: {serial: "1"}, rdma: mlx5_0, rings: {rx: 1024, tx: 512}, buffers: auto, willing: off, stallPrevention: auto, dcqcn: {init_cr: 100}, dcbx: keep, maxReadRequest: 512, relaxedOrdering: on, vfs: {count: 2, trust: off, vlan: 7, pcp: 2, representors: on}, sfs: {count: 16}}}
    bonds: {bond0: {members: [eth0]}}
    vlans: {bond0.100: {on: bond0, id: 100}}
  gpu4: {address: 198.51.100.5, nics: {"eth[0-1]": {rdma: "mlx5_[0-1]", dpu: "gpu2/eth[0-1]"}}}
  gpu5: {address: 198.51.100.6, nics: {eth0: {rdma: none}}}
links:
  - {a: "leaf1/Ethernet[0,8,16]", b: "gpu[1-3]/eth0", cable: 3m, speed: 400G}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD}
  hosts:
    username: env:HOST_USER
    password: env:HOST_PASSWORD
    ssh: {username: root, password: env:ROOT_PASSWORD, key: ~/.ssh/id, agent: true, knownHosts: ~/known, jump: "root@198.51.100.9:22"}
rollout: {portGroup: 8}
routing: {model: shortest}
vxlan: {ends: ["leaf[1-2]"]}
traffic: {storage: {dscp: [10], lossless: false}}
islands: {a: {hosts: [gpu1]}}
baseline: {nvidia: {firmware: {min: "28.40"}}}
suppress: [{check: ECN-06, reason: none}]
simulation: {noLoss: always}
`

// import -f keeps every host field of an intent, and names every other field that it cannot read
// from a switch. A new field of the intent fails this test until import supports it.
func TestImportTakesOverOrNames(t *testing.T) {
	known := compilerOf(t, "known.yaml", []byte(knownFabric))
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	leaf1 := known.Device(known.Fabric().Switch("leaf1"))
	_, native := fleet.SystemOf(leaf1).Encode(leaf1)
	status, stdout, stderr := runHere(t, "import", "-f", write("known.yaml", []byte(knownFabric)), "--only", "leaf1", "--config", "leaf1="+write("leaf1.json", native), "--output", "json")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var doc report.ImportDocument
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	made := compilerOf(t, "imported", []byte(doc.Intent)).Fabric()
	if id := made.Switch("leaf1").Identity; id == nil || id.Serial.V != "12" {
		t.Errorf("the identity of leaf1 is %+v", id)
	}
	if len(made.Hosts) != len(known.Fabric().Hosts) {
		t.Fatalf("%d hosts:\n%s", len(made.Hosts), doc.Intent)
	}
	for i, h := range known.Fabric().Hosts {
		if h.Name == "gpu4" { // a NIC connected to another side's port states little else
			for k, n := range h.NICs {
				if dpu := made.Hosts[i].NICs[k].DPU.V; dpu == (intent.Endpoint{}) || dpu != n.DPU.V {
					t.Errorf("dpu of %s was %s and is %s", n.Name, n.DPU.V, dpu)
				}
			}
			continue
		}
		if h.Name == "gpu5" { // a NIC without RDMA states little else
			if got := made.Hosts[i].NIC("eth0").NoRDMA; !got.V || got.V != h.NIC("eth0").NoRDMA.V {
				t.Errorf("rdma: none of %s is lost", h.Name)
			}
			continue
		}
		sameStated(t, h.Name, reflect.ValueOf(*h), reflect.ValueOf(*made.Hosts[i]))
	}

	var named strings.Builder
	for _, n := range doc.LeftOut {
		named.WriteString(n.Where + ": " + n.What + ",\n")
	}
	// elsewhere lists the fields that switches report, or that are not settings.
	for _, c := range []struct {
		of        any
		prefix    string
		elsewhere string
		names     map[string]string // keys that differ from their field's name
	}{
		{*known.Fabric(), "", "Name Files Hash Switches Hosts Links Settings", map[string]string{"Suppressions": "suppress", "Baselines": "baseline", "VXLAN": "vxlan"}},
		{known.Fabric().Settings.Buffers, "buffers.", "Alpha", nil},
		{*known.Fabric().Settings.Class("rdma"), "classes.rdma.", "Name Pos Priority Queue DSCP Rest PCP Lossless Mode Strict Bandwidth MaxRate ECN", nil},
		{known.Fabric().Settings.MTU, "mtu.", "Fabric", map[string]string{"RDMA": "rdma"}},
		{*known.Fabric().Switch("leaf1").Port("Ethernet0").PortLine, "", "Speed Cable LAG Breakout", map[string]string{"FEC": "fec", "AdminUp": "admin"}},
	} {
		v := reflect.ValueOf(c.of)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || strings.Contains(" "+c.elsewhere+" ", " "+f.Name+" ") {
				continue
			}
			key := c.names[f.Name]
			if key == "" {
				key = strings.ToLower(f.Name[:1]) + f.Name[1:]
			}
			if v.Field(i).IsZero() {
				t.Errorf("the test states no %s%s", c.prefix, key)
			}
			if !strings.Contains(named.String(), " "+c.prefix+key+",") {
				t.Errorf("%s%s is dropped in silence; left out:\n%s", c.prefix, key, named.String())
			}
		}
	}
	if !strings.Contains(named.String(), "leaf1: only the intent of -f sets admin, classes.rdma.alpha, fec, ports Ethernet248, ") {
		t.Errorf("left out:\n%s", named.String())
	}
}

// sameStated fails if a field is set in one intent and not in the other, or in neither, because
// the test could then not notice that it is dropped.
func sameStated(t *testing.T, at string, a, b reflect.Value) {
	t.Helper()
	if a.Kind() == reflect.Struct && a.FieldByName("From").IsValid() { // an intent.Value
		a, b = a.FieldByName("V"), b.FieldByName("V")
		if a.IsZero() || !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s was %v and is %v", at, a, b)
		}
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			switch {
			case !f.IsExported(), f.Type == reflect.TypeFor[intent.Pos](), f.Type == reflect.TypeFor[*intent.Link](), f.Type == reflect.TypeFor[*intent.Host]():
			case f.Type == reflect.TypeFor[intent.TLS](): // hosts have none
			case f.Type == reflect.TypeFor[intent.Value[intent.Endpoint]](): // tested with gpu4
			case f.Name == "NoRDMA": // tested with gpu5
			default:
				sameStated(t, at+"."+f.Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if a.Len() == 0 || a.Len() != b.Len() {
			t.Errorf("%s: there were %d and are %d", at, a.Len(), b.Len())
			return
		}
		for i := range a.Len() {
			sameStated(t, at, a.Index(i), b.Index(i))
		}
	case reflect.Pointer:
		sameStated(t, at, a.Elem(), b.Elem())
	default:
		if a.IsZero() || !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s was %v and is %v", at, a, b)
		}
	}
}
