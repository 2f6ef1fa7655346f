package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// netbox writes the export of a rail fabric of at least the given number of devices, in the
// form of NetBox 4: for every 24 servers with eight NICs there are eight leaves, each with a
// cable to each of eight spines.
func netbox(tb testing.TB, devices int) (dir string, cables int) {
	tb.Helper()
	const api = "https://netbox.example.net/api/dcim"
	var ds, is, cs strings.Builder
	device, port := 0, 0
	add := func(name, model, role, platform string) int {
		device++
		fmt.Fprintf(&ds, `,{"id":%d,"url":"%s/devices/%[1]d/","display_url":"%[2]s/devices/%[1]d/","display":%[3]q,"name":%[3]q,"device_type":{"id":1,"url":"%[2]s/device-types/1/","display":%[4]q,"manufacturer":{"id":1,"url":"%[2]s/manufacturers/1/","display":"Arista","name":"Arista","slug":"arista","description":""},"model":%[4]q,"slug":"x","description":""},"role":{"id":1,"url":"%[2]s/device-roles/1/","display":%[5]q,"name":%[5]q,"slug":%[5]q,"description":""},"tenant":null,"platform":{"id":1,"url":"%[2]s/platforms/1/","display":%[6]q,"name":%[6]q,"slug":%[6]q,"description":""},"serial":"","asset_tag":null,"site":{"id":1,"url":"%[2]s/sites/1/","display":"DC1","name":"DC1","slug":"dc1","description":""},"location":null,"rack":null,"position":null,"face":null,"parent_device":null,"status":{"value":"active","label":"Active"},"airflow":null,"primary_ip":{"id":%[1]d,"url":"%[2]s/ip-addresses/%[1]d/","display":"10.0.%[7]d.%[8]d/16","family":{"value":4,"label":"IPv4"},"address":"10.0.%[7]d.%[8]d/16","description":""},"cluster":null,"virtual_chassis":null,"vc_position":null,"description":"","comments":"","tags":[],"custom_fields":{}}`+"\n",
			device, api, name, model, role, platform, device/250, device%250+1)
		return device
	}
	iface := func(d int, dev, name string) string {
		port++
		fmt.Fprintf(&is, `,{"id":%d,"url":"%s/interfaces/%[1]d/","display_url":"%[2]s/interfaces/%[1]d/","display":%[3]q,"device":{"id":%[4]d,"url":"%[2]s/devices/%[4]d/","display":%[5]q,"name":%[5]q,"description":""},"vdcs":[],"module":null,"name":%[3]q,"label":"","type":{"value":"400gbase-x-osfp","label":"OSFP (400GE)"},"enabled":true,"parent":null,"bridge":null,"lag":null,"mtu":null,"mac_address":null,"speed":null,"duplex":null,"wwn":null,"mgmt_only":false,"description":"","mode":null,"rf_role":null,"mark_connected":false,"cable":{"id":%[1]d,"url":"%[2]s/cables/%[1]d/","display":"#%[1]d","label":"","description":""},"cable_end":"A","link_peers":[],"link_peers_type":null,"wireless_lans":[],"vrf":null,"l2vpn_termination":null,"connected_endpoints":null,"tags":[],"custom_fields":{},"count_ipaddresses":0,"_occupied":true}`+"\n",
			port, api, name, d, dev)
		return fmt.Sprintf(`{"object_type":"dcim.interface","object_id":%d,"object":{"id":%[1]d,"url":"%s/interfaces/%[1]d/","display":%[3]q,"device":{"id":%[4]d,"url":"%[2]s/devices/%[4]d/","display":%[5]q,"name":%[5]q,"description":""},"name":%[3]q,"description":"","cable":%[1]d,"_occupied":true}}`, port, api, name, d, dev)
	}
	cable := func(a, b string, length int) {
		cables++
		fmt.Fprintf(&cs, `,{"id":%d,"url":"%s/cables/%[1]d/","display":"#%[1]d","type":"dac-passive","a_terminations":[%[3]s],"b_terminations":[%[4]s],"status":{"value":"connected","label":"Connected"},"tenant":null,"label":"","color":"","length":%[5]d.0,"length_unit":{"value":"m","label":"Meters"},"description":"","tags":[],"custom_fields":{}}`+"\n", cables, api, a, b, length)
	}
	const rails = 8
	spines := [rails]int{}
	for i := range spines {
		spines[i] = add(fmt.Sprintf("spine%d", i+1), "DCS-7800", "spine", "eos")
	}
	for pod := 0; device < devices; pod++ {
		leaves := [rails]int{}
		name := func(i int) string { return fmt.Sprintf("leaf%d", pod*rails+i+1) }
		for i := range leaves {
			leaves[i] = add(name(i), "DCS-7060DX5-64S", "leaf", "eos")
			for s, spine := range spines {
				cable(iface(leaves[i], name(i), fmt.Sprintf("Ethernet%d/1", 33+s)), iface(spine, fmt.Sprintf("spine%d", s+1), fmt.Sprintf("Ethernet%d/%d/1", pod+1, i+1)), 30)
			}
		}
		for h := 0; h < 24 && device < devices; h++ {
			gpu := fmt.Sprintf("gpu%d", pod*24+h+1)
			d := add(gpu, "PowerEdge XE9680", "gpu-server", "ubuntu")
			for r := range rails {
				cable(iface(leaves[r], name(r), fmt.Sprintf("Ethernet%d/1", h+1)), iface(d, gpu, fmt.Sprintf("rail%d", r)), 3)
			}
		}
	}
	dir = tb.TempDir()
	for kind, of := range map[string]*strings.Builder{"devices": &ds, "interfaces": &is, "cables": &cs} {
		text := fmt.Sprintf(`{"count":%d,"next":null,"previous":null,"results":[%s]}`, strings.Count(of.String(), "\n"), of.String()[1:])
		if err := os.WriteFile(filepath.Join(dir, kind+".json"), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir, cables
}

// importedFrom imports an inventory without reading any switch.
func importedFrom(tb testing.TB, dir string) *Imported {
	tb.Helper()
	s, err := FindSources(tb.Context(), SourceOptions{Name: "big", Inventory: []string{dir}, Offline: true})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := Import(tb.Context(), s, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkInventory measures a whole import of an inventory, from files to a compiled intent.
func BenchmarkInventory(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, cables := netbox(b, n)
			var size int64
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, f := range files {
				if st, err := os.Stat(f); err == nil {
					size += st.Size()
				}
			}
			b.SetBytes(size)
			for b.Loop() {
				if r := importedFrom(b, dir); len(r.Fabric.Links) != cables {
					b.Fatalf("%d of %d cables", len(r.Fabric.Links), cables)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "us/device")
		})
	}
}

// Every cable of a generated inventory becomes a link, and the intent stays short.
func TestInventoryOfManyDevices(t *testing.T) {
	dir, cables := netbox(t, 200)
	r := importedFrom(t, dir)
	if len(r.Fabric.Links) != cables || r.Cables.Cables != cables || len(r.LeftOut) != 1 { // the spines' model
		t.Errorf("%d of %d cables; left out: %v", len(r.Fabric.Links), cables, r.LeftOut)
	}
	if n := strings.Count(string(r.Text), "\n"); n > 120 {
		t.Errorf("the intent has %d lines", n)
	}
}
