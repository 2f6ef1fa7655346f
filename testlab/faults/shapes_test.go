package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestShapesThroughCheck checks every fabric without faults by its intent alone. Those in
// sound-check need a reset of cards, or rows of the lab that overlap, before they are as intended.
func TestShapesThroughCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/sound*/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d fabrics, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := counts(checkOf(t, string(text))); len(wrong) > 0 {
			t.Errorf("%s:\n%s", file, strings.Join(wrong, "\n"))
		}
	}
}

func checkOf(t *testing.T, text string) []checks.Finding {
	t.Helper()
	found, err := fleet.Check(t.Context(), load(t, text), fleet.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// slip is a mistake in the intent of a fabric without faults.
type slip struct {
	shape, old, new string
	// want are the findings above info, as "severity id place"; none for a change that is sound.
	want []string
}

var slips = []slip{
	{"head-node", "leaf2: {os: sonic,", "leaf2: {ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-07 leaf2 Ethernet8"}},
	{"head-node", "ports: {Ethernet16: {classes: {rdma: {lossless: false}}}}", "ports: {\"Ethernet[8,16]\": {classes: {rdma: {lossless: false}}}}", []string{"error PFC-07 leaf1 Ethernet8"}},
	{"head-node", "  gpu[1-4]: {address: \"192.0.2.[101-104]\", nics: {eth0: {rdma: mlx5_0}}}", "  gpu1: {address: \"192.0.2.101\", nics: {eth0: {}, eth1: {rdma: mlx5_0}}}\n  gpu[2-4]: {address: \"192.0.2.[102-104]\", nics: {eth0: {rdma: mlx5_0}}}", []string{"warning PFC-09 leaf1 Ethernet0"}},
	{"one-rail", "Ethernet32:", "\"Ethernet[24,32]\":", []string{"error PFC-07 rail1 Ethernet24"}},
	{"front-end-apart", "front: {classes: {rdma: {lossless: false}}}", "front: {}", []string{"error PFC-01 fspine1 Ethernet0,Ethernet8", "warning PFC-09 front1 Ethernet0,Ethernet8", "warning PFC-09 front2 Ethernet0,Ethernet8"}},
	{"front-end-apart", "rail[1-2]: {os: sonic,", "rail[1-2]: {ports: {Ethernet240: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-01 rail1 Ethernet240", "error PFC-01 rail2 Ethernet240"}},
	{"front-end-below-spines", "Ethernet[32,40]", "Ethernet[8,32,40]", []string{"error PFC-01 spine1 Ethernet8", "error PFC-01 spine2 Ethernet8"}},
	{"front-end-below-spines", "rail[1-2]: {os: sonic,", "rail[1-2]: {ports: {Ethernet16: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-07 rail1 Ethernet16", "error PFC-07 rail2 Ethernet16"}},
	{"storage-apart", "storage-spine: {classes: {rdma: {lossless: false}}}", "storage-spine: {classes: {rdma: {lossless: false}, storage: {lossless: false}}}", []string{"error PFC-01 sspine1 Ethernet0,Ethernet8"}},
	{"storage-apart", "storage-leaf: {classes: {rdma: {lossless: false}}}", "storage-leaf: {classes: {rdma: {lossless: false}, storage: {lossless: false}}}", []string{"error PFC-01 sleaf1 Ethernet240", "error PFC-01 sleaf2 Ethernet240", "error PFC-07 sleaf1 Ethernet0,Ethernet8", "error PFC-07 sleaf2 Ethernet0,Ethernet8"}},
	{"storage-beside-gpu", "spine[1-2]: {os: sonic,", "spine[1-2]: {ports: {Ethernet0: {classes: {storage: {lossless: false}}}}, os: sonic,", []string{"error PFC-01 spine1 Ethernet0", "error PFC-01 spine2 Ethernet0"}},
	{"storage-beside-gpu", "\"Ethernet[16,24]\": {classes: {rdma: {lossless: false}}}", "Ethernet16: {classes: {rdma: {lossless: false}}}, Ethernet24: {classes: {rdma: {lossless: false}, storage: {lossless: false}}}", []string{"error PFC-07 leaf1 Ethernet24", "error PFC-07 leaf2 Ethernet24"}},
	{"storage-at-one-leaf", "leaf3: {os: sonic,", "leaf3: {ports: {Ethernet8: {classes: {storage: {lossless: false}}}}, os: sonic,", []string{"error PFC-07 leaf3 Ethernet8"}},
	{"dual-tor-sonic", "leaf[1-2]: {os: sonic, role: agg,", "leaf[1-2]: {ports: {Ethernet0: {classes: {bounce4: {lossless: false}}}}, os: sonic, role: agg,", []string{"error PFC-01 leaf1 Ethernet0", "error PFC-01 leaf2 Ethernet0"}},
	{"dual-tor-sonic", ", {class: storage, as: bounce4}", "", []string{"error TOP-01 leaf1 Ethernet0", "error TOP-01 leaf1 Ethernet0", "error TOP-05 tor1", "error TOP-05 tor1", "error TOP-05 tor2", "error TOP-05 tor2"}},
	{"islands-apart", "gpu[1-2]\"], switches: [leaf1, leaf2, spine1]}\n  west: {hosts: [\"gpu[3-4]\"]", "gpu[1,3]\"], switches: [leaf1, leaf3, spine1, spine2, core1]}\n  west: {hosts: [\"gpu[2,4]\"]", []string{"error ISL-01 leaf2 Ethernet240", "error ISL-01 spine1 Ethernet8", "error PFC-07 core1 Ethernet0,Ethernet8", "error PFC-07 spine1 Ethernet248", "error PFC-07 spine2 Ethernet248"}},
	{"islands-apart", "switches: [leaf3, leaf4, spine2]", "switches: [leaf3, leaf4]", []string{"error ISL-01 spine2 Ethernet0,Ethernet8"}},
	{"bonds", "leaf[1-2]: {os: sonic,", "leaf[1-2]: {ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-07 leaf1 Ethernet8", "error PFC-07 leaf2 Ethernet8"}},
	{"bonds", ", bonds: {bond0: {members: [eth0, eth1]}}", "", []string{"warning PFC-09 leaf2 Ethernet0", "warning PFC-09 leaf2 Ethernet8"}},
	{"tor-agg-core", "core[1-2]: {os: sonic,", "core[1-2]: {ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-01 core1 Ethernet8", "error PFC-01 core2 Ethernet8"}},
	{"tor-fabric-spine", "links:", "routing: {exceptions: [{kind: up-again, switches: [role:tor]}]}\nlinks:", nil},
	{"leaf-agg-core-border", "\"192.0.2.[11-12]:8080\", model: DellEMC-Z9332f-O32}", "\"192.0.2.[11-12]:8080\", model: DellEMC-Z9332f-O32, ports: {Ethernet0: {classes: {rdma: {lossless: false}}}}}", []string{"error PFC-07 leaf1 Ethernet0", "error PFC-07 leaf2 Ethernet0"}},
	{"lossy-pod", "leaf[1-2]: {os: sonic,", "leaf[1-2]: {ports: {Ethernet248: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-01 leaf1 Ethernet248", "error PFC-01 leaf2 Ethernet248"}},
	{"lossy-everywhere", "mode: lossy, ", "", []string{"warning PFC-16 gpu1 eth0"}},
	{"mixed-head-node", "ports: {Ethernet2/1: {classes", "ports: {\"Ethernet[1,2]/1\": {classes", []string{"error PFC-07 leaf2 Ethernet1/1"}},
	{"cumulus-front-end", "swp3: {classes", "\"swp[2,3]\": {classes", []string{"error PFC-01 spine1 swp2"}},
	{"eos-storage", "\"Ethernet1/1\": {classes: {storage: {lossless: false}}}", "\"Ethernet1/1\": {classes: {storage: {lossless: false}, rdma: {lossless: false}}}", []string{"error PFC-07 leaf1 Ethernet1/1", "error PFC-07 leaf1 Ethernet1/1", "error PFC-07 leaf2 Ethernet1/1", "error PFC-07 leaf2 Ethernet1/1"}},
	{"breakout-mixed", "Ethernet1/4: {classes", "\"Ethernet1/[3,4]\": {classes", []string{"error PFC-07 leaf1 Ethernet1/3", "error PFC-07 leaf2 Ethernet1/3"}},
	{"mlag-peer-link", "Ethernet232: {classes", "\"Ethernet[8,232]\": {classes", []string{"error PFC-07 leaf1 Ethernet8", "error PFC-07 leaf2 Ethernet8"}},
	{"ring-of-rows", "row[1-4]: {os: sonic,", "row[1-4]: {ports: {Ethernet248: {classes: {rdma: {lossless: false}}}}, os: sonic,", []string{"error PFC-01 row1 Ethernet248", "error PFC-01 row2 Ethernet248", "error PFC-01 row3 Ethernet248", "error PFC-01 row4 Ethernet248"}},
}

// TestSlips puts one mistake into the intent of a fabric without faults. check must report it at its
// place, and nothing else above info.
func TestSlips(t *testing.T) {
	for i, s := range slips {
		t.Run(fmt.Sprintf("%d %s", i, s.shape), func(t *testing.T) {
			files, err := filepath.Glob("testdata/sound*/" + s.shape + ".yaml")
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), s.old) {
				t.Fatalf("there is no %q", s.old)
			}
			var got []string
			for _, f := range checkOf(t, strings.Replace(string(text), s.old, s.new, 1)) {
				if f.Severity != checks.Info && f.Suppressed == nil {
					got = append(got, fmt.Sprintf("%s %s %s", f.Severity, f.ID, f.Place()))
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, s.want) {
				t.Errorf("%s -> %s:\n%q\nwant %q", s.old, s.new, got, s.want)
			}
		})
	}
}
