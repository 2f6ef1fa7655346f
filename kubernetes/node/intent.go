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

// Intent is the wanted state of a host by an intent, which also says what its rails are.
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

// Rails are the switches at the other ends of the NICs, by the number of the rail.
func (i *Intent) Rails() map[int]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.rails
}

// railsOf numbers the NICs of a host that have a link, from 1 in the order of their names, or as
// a selector says. A switch whose name is no value of a label has none.
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
