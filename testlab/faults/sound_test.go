package faults

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// sounds is the number of fabrics without faults that are built by default.
const sounds = 2

// TestFabricsWithoutFaults builds fabrics without faults in various shapes, models and systems.
// check, apply and validate must report nothing above info, and a second plan must be empty.
func TestFabricsWithoutFaults(t *testing.T) {
	files, err := filepath.Glob("testdata/sound/*.yaml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d fabrics, %v", len(files), err)
	}
	if !*allFaults && !sharedtest.Nightly() {
		seed := sharedtest.Seed(0)
		t.Logf("%d of %d fabrics, seed %d", sounds, len(files), seed)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		files = files[:sounds]
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f := load(t, string(text))
			found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if wrong := counts(found); len(wrong) > 0 {
				t.Fatalf("check:\n%s", strings.Join(wrong, "\n"))
			}
			x := start(t, string(text), lab.Options{})
			wrong := slices.Concat(x.tryApply(t), x.differs(t), counts(x.validate(t, fleet.ValidateOptions{})))
			if len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		})
	}
}

// TestShuffled reads five fabrics repeatedly, from devices that vary their answers as real devices
// of their kind do. The findings, including those for a fault, must be the same and in the same
// order.
func TestShuffled(t *testing.T) {
	runs := sharedtest.Sized(2, 20)
	for base, fault := range map[string]string{
		"sonic": "PORT_QOS_MAP|Ethernet0 pfc_enable=3,4; CABLE_LENGTH|AZURE Ethernet240=5m", "dynamic": "-BUFFER_PG|Ethernet240|3",
		"eos": "interface Ethernet33/1; mtu 1500", "nxos": "interface Ethernet1/29; mtu 1500", "mixed": "-PFC_WD|Ethernet0",
	} {
		t.Run(base, func(t *testing.T) {
			x := start(t, bases[base], lab.Options{})
			x.apply(t)
			if err := x.l.Inject("leaf1", fault); err != nil {
				t.Fatal(err)
			}
			var first []string
			for seed := range uint64(runs) {
				x.l.Shuffle(seed)
				var all []string
				for _, f := range x.validate(t, fleet.ValidateOptions{}) {
					all = append(all, said(f))
				}
				if seed == 0 {
					first = all
				} else if !slices.Equal(all, first) {
					t.Fatalf("seed %d:\n%s\nat first:\n%s", seed, strings.Join(all, "\n"), strings.Join(first, "\n"))
				}
			}
		})
	}
}
