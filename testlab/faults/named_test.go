package faults

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestNamedFaults requests each named fault from a running lab, on one device per system. validate
// must report one of the ids listed for the fault, and after the fault is removed the fabric must
// be as before.
func TestNamedFaults(t *testing.T) {
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
			list = append(list, at{f, map[string]string{"sonic": "leaf1", "eos": "leaf2", "nxos": "leaf3", "cumulus": "leaf4", "linux": "gpu1"}[system]})
		}
	}
	if !*allFaults && !sharedtest.Nightly() {
		seed := sharedtest.Seed(0)
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
			found := slices.ContainsFunc(fs, func(f checks.Finding) bool {
				return slices.ContainsFunc(c.fault.Finds, f.About) && f.Device == c.device && f.Severity != checks.Info
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

// TestKinds applies an intent to hosts with each kind of card. A second plan must be empty. Faults
// in the driver, or in the card itself for AMD, must be found and removed.
func TestKinds(t *testing.T) {
	for _, kind := range host.Kinds() {
		t.Run(kind, func(t *testing.T) {
			text, _, _ := strings.Cut(clos("\n  leaf1: {os: sonic, role: leaf, address: \"192.0.2.11:8080\", model: DellEMC-Z9332f-O32, release: 202511}\n", "", "", ""), "links:")
			x := start(t, text, lab.Options{NIC: host.Kind(kind)})
			x.f.Switches = nil
			x.apply(t)
			if out := x.differs(t); len(out) > 0 {
				t.Errorf("the second plan has changes: %q", out)
			}
			sound := counts(x.validate(t, fleet.ValidateOptions{}))
			for fault, id := range map[string]string{"pfc-off": "PFC-02", "trust": "NIC-01", "tos": "NIC-03", "pfc-other": "PFC-02"} {
				if _, err := x.l.Do(t.Context(), lab.Request{Fault: fault, Device: "gpu1"}); err != nil {
					t.Fatal(err)
				}
				found := x.validate(t, fleet.ValidateOptions{})
				if !slices.ContainsFunc(found, func(f checks.Finding) bool { return f.ID == id && f.Device == "gpu1" && f.Severity == checks.Error }) {
					t.Errorf("%s: no %s in %q", fault, id, counts(found))
				}
				if _, err := x.l.Do(t.Context(), lab.Request{Clear: true}); err != nil {
					t.Fatal(err)
				}
				if now := counts(x.validate(t, fleet.ValidateOptions{})); !slices.Equal(now, sound) {
					t.Errorf("%s was taken away: %q, before %q", fault, now, sound)
				}
			}
		})
	}
}
