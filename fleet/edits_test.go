package fleet_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// edit is a change of an intent that operators often make. It replaces matches of the regular
// expression old by new.
type edit struct {
	name, old, new string
	// worse is set if every order has a worse intermediate state.
	worse bool
}

// editsOf returns the edits of an example. rdma is the name of its RDMA class, last the
// bandwidth of its default class.
func editsOf(rdma, last string) []edit {
	return []edit{
		{"add a class", `(default: .*bandwidth: )` + last, `bulk: {priority: 1, dscp: [10], bandwidth: 5%}` + "\n  ${1}" + less5(last), false},
		{"move a DSCP", `dscp: \[26\]`, `dscp: [30]`, false},
		{"change a PFC priority", `(` + rdma + `:\s+\{?priority:) 3`, `$1 5`, true},
		{"raise the MTU", `fabric: 9..., host: 9000`, `fabric: 9210, host: 9100`, false},
		{"lower the MTU", `fabric: 9..., host: 9000`, `fabric: 6000, host: 5000`, false},
		{"new ECN curve", `ecn: (\{.*?\}|auto)`, `ecn: {min: 200KB, max: 2MB, probability: 20%}`, false},
		{"alpha", `mtu:`, "buffers: {alpha: -2}\nglobals: own\nmtu:", false},
		{"watchdog", `restore: (400ms|1s)`, `restore: 800ms`, false},
		{"swap trust", `mtu:`, "trust: pcp\nmtu:", false},
	}
}

func less5(percent string) string {
	var n int
	_, err := fmt.Sscanf(percent, "%d%%", &n)
	must(err)
	return fmt.Sprintf("%d%%", n-5)
}

// load loads an intent from text.
func load(t *testing.T, text string) *fleet.Fabric {
	t.Helper()
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: strings.NewReader(text), Name: "fabric.yaml", Take: fleet.TakeAll})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The order for ten common edits of each example matches the golden file in testdata, and has a
// worse intermediate state only for the edits marked worse. The example "mixed" has SONiC, EOS and NX-OS;
// the others run in make nightly and with -update.
func TestOrderOfEdits(t *testing.T) {
	if testing.Short() {
		t.Skip("eighty applies")
	}
	for _, e := range []struct {
		name  string
		edits []edit
	}{
		{"quickstart", editsOf("rdma", "40%")},
		{"mixed", editsOf("rdma", "40%")},
		{"eos-clos", editsOf("rdma", "40%")},
		{"nxos-clos", editsOf("gpu", "20%")},
	} {
		if e.name != "mixed" && !*update && !sharedtest.Nightly() {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				text, err := examples.Intent(e.name)
				if err != nil {
					t.Fatal(err)
				}
				base := load(t, string(text))
				_, at := startLab(t, base.Fabric(), lab.Options{})
				var out bytes.Buffer
				written := func(name string, worse bool, plan *fleet.PlanFile) {
					if got := plan.Rollout.Impact() == qos.ImpactLoss; got != worse {
						t.Errorf("%s: worse in between: %v", name, got)
					}
					var sum report.PlanSummary
					for d, err := range plan.Devices() {
						if err != nil || d.Error != nil {
							t.Fatal(name, err, d.Error)
						}
						sum.Add(d)
					}
					fmt.Fprintf(&out, "# %s\n", name)
					text := report.Text{W: &out}
					text.Rollout(plan.Rollout, sum)
					text.Between(plan.Rollout)
					if len(plan.Rollout.Waves) == 0 {
						fmt.Fprintln(&out, "no changes")
					}
				}
				apply := func(devices []fleet.Device, plan *fleet.PlanFile) {
					o := fleet.ApplyOptions{RunOptions: fleet.RunOptions{Fabric: base.Fabric(), Store: store.Dir(t.TempDir()), Writers: 8}, Allow: qos.ImpactLoss}
					if res, err := fleet.Apply(t.Context(), devices, plan, o); err != nil || res.Failed() {
						t.Fatal(err, res)
					}
				}
				devices, _ := base.Devices(at)
				old := slices.DeleteFunc(slices.Clone(devices), func(d fleet.Device) bool { return strings.HasSuffix(d.Name, "leaf2") })
				apply(old, prepare(t, base, old, fleet.GateOff))
				written("add a leaf", false, prepare(t, base, devices, fleet.GateFull))
				apply(devices, prepare(t, base, devices, fleet.GateOff))
				for _, edit := range e.edits {
					edited := regexp.MustCompile(edit.old).ReplaceAllString(string(text), edit.new)
					if edited == string(text) {
						t.Fatalf("%s: nothing to edit", edit.name)
					}
					f := load(t, edited)
					devices, _ := f.Devices(at)
					written(edit.name, edit.worse, prepare(t, f, devices, fleet.GateFull))
				}
				golden := filepath.Join("testdata", "edits", e.name+".txt")
				if *update {
					must(os.MkdirAll(filepath.Dir(golden), 0o755))
					must(os.WriteFile(golden, out.Bytes(), 0o644))
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				have := strings.Split(out.String(), "\n")
				for i, line := range strings.Split(string(want), "\n") {
					if i >= len(have) || have[i] != line {
						t.Fatalf("%s:%d: %q is not in what was found, from %q; -update writes that", golden, i+1, line, have[min(i, len(have)):min(i+2, len(have))])
					}
				}
			})
		})
	}
}

func prepare(t *testing.T, f *fleet.Fabric, devices []fleet.Device, gate fleet.GateMode) *fleet.PlanFile {
	t.Helper()
	plan, err := fleet.Prepare(t.Context(), devices, fleet.PlanOptions{Fabric: f.Fabric(), Workers: 8, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plan.Close(); err != nil {
			t.Error(err)
		}
	})
	return plan
}
