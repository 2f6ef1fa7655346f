package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	results "github.com/roce-fabric/roce-fabric/report"
)

// BenchmarkImport imports saved configurations of 128 and of 1,024 ports, the larger with about
// 10,000 lines, and accounts for each line. The floor reads the same file line by line.
func BenchmarkImport(b *testing.B) {
	for system, config := range map[string]func(ports int) string{"eos": eosOf, "nxos": nxosOf, "sonic": sonicOf} {
		b.Run(system, func(b *testing.B) {
			dir := b.TempDir()
			var r race
			alloc := map[string]uint64{}
			for b.Loop() {
				for _, ports := range []int{128, 1024} {
					file := filepath.Join(dir, fmt.Sprint(ports))
					if err := os.WriteFile(file, []byte(config(ports)), 0o600); err != nil {
						b.Fatal(err)
					}
					way := fmt.Sprint("import ", ports)
					alloc[way] = allocated(func() { r.run(way, func() { importFile(b, system, file, ports) }) })
					alloc["read"] = allocated(func() { r.run("read", func() { readLines(b, file) }) })
				}
			}
			report(b, map[string]float64{
				"ms": r.median("import 1024").Seconds() * 1000, "x-read": r.ratio("import 1024", "read"),
				"x-1024/128": r.ratio("import 1024", "import 128"), "MiB": mib(alloc["import 1024"]), "x-read-alloc": float64(alloc["import 1024"]) / float64(alloc["read"]),
			})
		})
	}
}

// allocated returns the number of bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// importFile imports a file and prints how each line is treated.
func importFile(b *testing.B, system, file string, ports int) {
	s, err := fleet.FindSources(b.Context(), fleet.SourceOptions{Switches: []fleet.Source{{Name: "leaf1", File: file}}})
	if err != nil {
		b.Fatal(err)
	}
	r, err := fleet.Import(b.Context(), s, &fleet.Access{}, fleet.ImportOptions{})
	if err != nil {
		b.Fatal(err, r.Failed)
	}
	if n := len(r.Fabric.Switches[0].Ports); n != ports || r.Accounts[0].System != system {
		b.Fatalf("%s: %d of %d ports", r.Accounts[0].System, n, ports)
	}
	var out bytes.Buffer
	if err := results.WriteCoverage(&out, r); err != nil {
		b.Fatal(err)
	}
	_ = results.ImportText(r, "", false)
}

// readLines is the floor: it reads the file and splits it into lines.
func readLines(b *testing.B, file string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for range bytes.Lines(text) {
		n++
	}
	return n
}

func eosOf(ports int) string {
	var s strings.Builder
	s.WriteString("! Command: show running-config\n! device: leaf1 (DCS-7060DX5-64S, EOS-4.34.2F)\n!\nqos profile ROCE\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   !\n" +
		"   uc-tx-queue 3\n      no priority\n      bandwidth percent 60\n      random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 10\n!\n")
	for i := range ports {
		fmt.Fprintf(&s, "interface Ethernet%d/%d\n   description gpu%d\n   mtu 9214\n   no switchport\n   load-interval 30\n   ip address 10.%d.%d.1/31\n   service-profile ROCE\n   no lldp transmit\n   bfd echo\n!\n", i/8+1, i%8+1, i, i/250, i%250)
	}
	return s.String() + "end\n"
}

func nxosOf(ports int) string {
	var s strings.Builder
	s.WriteString("!Command: show running-config\nversion 10.4(3) Bios:version 01.09\nhostname leaf1\nclass-map type qos match-any ROCE\n  match dscp 26\npolicy-map type qos IN\n  class ROCE\n    set qos-group 3\n  class class-default\n    set qos-group 0\n" +
		"policy-map type network-qos NQ\n  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\n  class type network-qos c-8q-nq-default\n    mtu 9216\n" +
		"policy-map type queuing OUT\n  class type queuing c-out-8q-q3\n    bandwidth remaining percent 60\n    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n  class type queuing c-out-8q-q-default\n    bandwidth remaining percent 40\n" +
		"system qos\n  service-policy type queuing output OUT\n  service-policy type network-qos NQ\n")
	for i := range ports {
		fmt.Fprintf(&s, "interface Ethernet%d/%d\n  description gpu%d\n  no switchport\n  mtu 9216\n  priority-flow-control mode on\n  service-policy type qos input IN\n  ip address 10.%d.%d.1/31\n  load-interval counter 1 30\n  no shutdown\n\n", i/64+1, i%64+1, i, i/250, i%250)
	}
	return s.String()
}

func sonicOf(ports int) string {
	type rows = map[string]map[string]string
	same, dscp := map[string]string{}, map[string]string{}
	for i := range 64 {
		dscp[fmt.Sprint(i)] = "0"
	}
	for i := range 8 {
		same[fmt.Sprint(i)] = fmt.Sprint(i)
	}
	dscp["26"] = "3"
	doc := map[string]rows{
		"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "none"}}, "PORT": {}, "PORT_QOS_MAP": {}, "QUEUE": {},
		"DSCP_TO_TC_MAP": {"AZURE": dscp}, "TC_TO_QUEUE_MAP": {"AZURE": same}, "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": same}, "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": same},
		"SCHEDULER":    {"scheduler.0": {"type": "DWRR", "weight": "40"}, "scheduler.1": {"type": "DWRR", "weight": "60"}},
		"WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "150000", "green_max_threshold": "1500000", "green_drop_probability": "5"}},
	}
	for i := range ports {
		p := fmt.Sprintf("Ethernet%d", i*4)
		doc["PORT"][p] = map[string]string{"speed": "100000", "mtu": "9100", "admin_status": "up", "lanes": fmt.Sprint(i)}
		doc["PORT_QOS_MAP"][p] = map[string]string{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3"}
		doc["QUEUE"][p+"|0"] = map[string]string{"scheduler": "scheduler.0"}
		doc["QUEUE"][p+"|3"] = map[string]string{"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
