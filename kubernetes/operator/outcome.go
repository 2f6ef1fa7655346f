package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// maxOutcomes is the schema's limit for the list of devices.
const maxOutcomes = 100

// states returns the outcomes of a plan's devices, from the journals of its runs and from the
// last result, and the IDs of the runs. Devices that no run has reached are skipped.
func states(ctx context.Context, st store.Store, p *v1alpha1.FabricPlan, last *fleet.Result) (_ map[string]fleet.Outcome, runs []string, _ error) {
	ids, err := st.Journals(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if int64(id.Number) > p.Status.After {
			runs = append(runs, id.Run)
		}
	}
	out, planned := map[string]fleet.Outcome{}, map[string]bool{}
	for past, err := range fleet.Runs(st) { // newest first
		if past == nil {
			return nil, nil, err
		}
		if !slices.Contains(runs, past.ID) {
			break
		}
		if err != nil && !errors.Is(err, store.ErrCutOff) { // ErrCutOff: the run wrote nothing
			return nil, nil, err
		}
		for _, name := range past.Planned() {
			planned[name] = true
		}
		for _, d := range past.Devices {
			if _, ok := out[d.Name]; !ok {
				out[d.Name] = fleet.Outcome{Device: d.Name, State: d.State}
			}
		}
	}
	if last != nil {
		for _, o := range last.Outcomes {
			if _, ok := out[o.Device]; !ok || o.State != fleet.Skipped {
				out[o.Device] = o
			}
		}
	}
	for name := range planned {
		if _, ok := out[name]; !ok {
			out[name] = fleet.Outcome{Device: name, State: fleet.Skipped}
		}
	}
	return out, runs, nil
}

// outcome writes the result of a plan to its status.
func outcome(p *v1alpha1.FabricPlan, all map[string]fleet.Outcome, err error) {
	s := &p.Status
	s.States, s.Devices = map[string]int32{}, nil
	for _, name := range natural.Keys(all) {
		o := all[name]
		state := string(o.State)
		if state == "" {
			state = "cut-off"
		}
		s.States[state]++
		if o.State == fleet.Applied || o.State == fleet.Unchanged || len(s.Devices) == maxOutcomes {
			continue
		}
		out := v1alpha1.DeviceOutcome{Name: name, State: state}
		if o.Error != nil {
			out.Message = shorten(o.Error.Text)
		}
		s.Devices = append(s.Devices, out)
	}
	n := func(states ...fleet.State) (sum int32) {
		for _, state := range states {
			sum += s.States[string(state)]
		}
		return sum
	}
	good := n(fleet.Applied, fleet.Unchanged)
	bad := int32(len(all)) - good
	switch {
	case err == nil && bad == 0 && good > 0:
		s.Phase, s.Message = v1alpha1.Applied, "all devices are as intended"
	case n(fleet.Applied, fleet.Partial, fleet.Unsaved)+s.States["cut-off"] > 0:
		s.Phase, s.Message = v1alpha1.Partial, fmt.Sprintf("%d of %d devices are as intended", good, len(all))
	case n(fleet.Reverted) > 0:
		s.Phase, s.Message = v1alpha1.Reverted, "all devices are as they were before"
	case len(s.Runs) == 0 || n(fleet.Refused) > 0:
		s.Phase, s.Message = v1alpha1.Refused, "nothing was written"
	default:
		s.Phase, s.Message = v1alpha1.Failed, "nothing was written"
	}
	for _, o := range s.Devices {
		if o.Message != "" {
			s.Message += "; " + o.Name + ": " + o.Message
			break
		}
	}
	if err != nil {
		s.Message += "; " + err.Error()
	}
	s.Message = shorten(s.Message)
}
