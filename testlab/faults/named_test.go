package faults

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/validate"
)

// TestNamed asks a running lab for each fault that has a name, on a device of each system:
// validate finds it by one of the ids that it says, and once it is taken away the fabric is
// as it was.
func TestNamed(t *testing.T) {
	x := start(t, bases["mixed"], lab.Options{NIC: host.MLX5OFED})
	x.apply(t)
	sound := x.state()
	type at struct {
		fault  lab.Fault
		device string
	}
	var list []at
	for _, f := range lab.Faults() {
		for _, system := range f.On() {
			list = append(list, at{f, map[string]string{"sonic": "leaf1", "eos": "leaf2", "nxos": "leaf3", "linux": "gpu1"}[system]})
		}
	}
	if !*every && !sharedtest.Nightly() {
		seed := rand.Uint64()
		t.Logf("a sample of %d of %d faults, seed %d", 2*sample, len(list), seed)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:2*sample]
	}
	for _, c := range list {
		t.Run(c.fault.Name+" on "+c.device, func(t *testing.T) {
			reply, err := x.l.Do(t.Context(), lab.Request{Fault: c.fault.Name, Device: c.device})
			if err != nil {
				t.Fatal(err)
			}
			fs := x.validate(t, fleet.ValidateOptions{})
			found := slices.ContainsFunc(fs, func(f validate.Finding) bool {
				return slices.Contains(c.fault.Finds, f.ID) && f.Device == c.device && f.Severity != validate.Info
			})
			if !found && len(c.fault.Finds) > 0 {
				t.Errorf("%s: not found by %q:\n%q", reply.Changed[0], c.fault.Finds, counts(fs))
			}
			if len(c.fault.Finds) == 0 && len(counts(fs)) > 0 {
				t.Errorf("%s: found by %q", reply.Changed[0], counts(fs))
			}
			reply, err = x.l.Do(t.Context(), lab.Request{Clear: true})
			if err != nil || len(reply.Changed) != 1 || len(reply.Faults) > 0 {
				t.Fatalf("%+v, %v", reply, err)
			}
			if x.state() != sound {
				t.Error("the fault was not taken away")
			}
		})
	}
	if fs := counts(x.validate(t, fleet.ValidateOptions{})); len(fs) > 0 {
		t.Errorf("after all faults were taken away: %q", fs)
	}
}
