package node

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/watch/keep"
)

// Intent is the wanted state of a host taken from an intent, together with the host's rails.
type Intent struct {
	keep.Intent

	mu    sync.Mutex
	rails map[int]string
}

// Load implements [keep.Source].
func (i *Intent) Load(ctx context.Context) (keep.Wanted, error) {
	w, err := i.Intent.Load(ctx)
	if err != nil {
		return w, err
	}
	f, err := fleet.Load(ctx, i.Path, fleet.LoadOptions{Take: fleet.TakeHosts})
	if err != nil {
		return w, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rails = railsOf(f.Fabric().Host(w.Host.Name))
	return w, nil
}

// Rails maps the number of each rail to the switch that the rail's NIC is connected to.
func (i *Intent) Rails() map[int]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.rails
}

// railsOf numbers the linked NICs of a host, from 1 in the order of their names, or as their
// selectors say. It leaves out switches whose name is not a valid label value.
func railsOf(h *intent.Host) map[int]string {
	out := map[int]string{}
	if h == nil {
		return out
	}
	byName, names := map[string]*intent.NIC{}, []string{}
	for _, n := range h.NICs {
		if n.Link != nil {
			byName[n.Name] = n
			names = append(names, n.Name)
		}
	}
	for i, name := range natural.Sorted(names) {
		n := byName[name]
		number := i + 1
		if n.Select.V.Rail > 0 {
			number = n.Select.V.Rail
		}
		if end, ok := nic.Peer(n); ok && len(validation.IsValidLabelValue(end.Device)) == 0 {
			out[number] = end.Device
		}
	}
	return out
}
