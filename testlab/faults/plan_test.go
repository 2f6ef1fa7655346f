package faults

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// A plan that leaves pools, thresholds or headroom at bad values reports them in its notes, with
// the findings that validate reports afterwards.
func TestPlanSaysWhatItLeaves(t *testing.T) {
	const mark = "left as it is: "
	// least is the minimum number of findings that plan notes must name, over all faults of a
	// fabric. On EOS and NX-OS a plan rewrites every memory setting that it reads.
	for base, least := range map[string]int{"sonic": 5, "dynamic": 5, "eos": 0, "nxos": 0} {
		x := start(t, bases[base], lab.Options{NIC: host.MLX5OFED})
		left := func(device string) (out []string, changes int) {
			devices, _ := x.f.Devices(x.at)
			devices = slices.DeleteFunc(devices, func(d fleet.Device) bool { return d.Name != device })
			err := fleet.Plan(t.Context(), devices, fleet.PlanOptions{Fabric: x.f.Fabric()}, func(d *fleet.DevicePlan) error {
				if d.Error != nil {
					return d.Error
				}
				for _, n := range d.Notes {
					if strings.HasPrefix(n, mark) {
						out = append(out, n)
					}
				}
				changes = len(d.Changes)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return out, changes
		}
		if out, n := left("leaf1"); out != nil || n == 0 {
			t.Errorf("%s, as delivered: %d changes, and %q", base, n, out)
		}
		x.apply(t)
		if out, n := left("leaf1"); out != nil || n > 0 {
			t.Errorf("%s, as intended: %d changes, and %q", base, n, out)
		}
		back := x.keep(t)
		named := 0
		for _, f := range tables[base] {
			if f.at != "leaf1" || !strings.HasPrefix(f.do, "BUFFER_") && !strings.HasPrefix(f.do, "DEFAULT_LOSSLESS") || f.open != "" {
				continue
			}
			if err := x.l.Inject(f.at, f.do); err != nil {
				t.Fatal(err)
			}
			notes, changes := left(f.at)
			for _, found := range x.validate(t, fleet.ValidateOptions{}) {
				written := found.Fix == "apply the intent"
				if found.Device != f.at || found.Severity == checks.Info || !slices.Contains([]string{"BUF-01", "BUF-04", "BUF-08", "BUF-09", "BUF-11"}, found.ID) || strings.Contains(found.What, " of 3 ports") {
					continue
				}
				said := slices.ContainsFunc(notes, func(n string) bool {
					return strings.Contains(n, found.What) && strings.Contains(n, string(found.Severity)+" "+found.ID)
				})
				if !written && changes == 0 && !said {
					t.Errorf("%s: %s: the plan has no change, and does not say %s, but %q", base, f.name, found.What, notes)
				}
				if said {
					named++
				}
			}
			back()
		}
		if named < least {
			t.Errorf("%s: %d findings are named", base, named)
		}
	}
}
