package lab

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

// The model and release of a Cumulus Linux switch if the intent does not state them.
const (
	defaultCumulusModel   = "SN5600"
	defaultCumulusRelease = "5.15.0"
)

// newestCumulusRelease is the default release of a switch that starts with a configuration.
const newestCumulusRelease = "5.17.0"

// cumulusPorts is the minimum number of front ports of a switch.
const cumulusPorts = 64

func init() {
	simulators[intent.Cumulus.Name], refusals[intent.Cumulus.Name] = startCumulus, cumulus.Refuses
}

// startCumulus starts a switch with its ports in factory state.
func startCumulus(sw *intent.Switch, s shared, o Options) (Switch, error) {
	opts := cumulus.Options{
		Hostname: sw.Name, Model: cmp.Or(sw.Model.V, defaultCumulusModel), Version: release(sw.Release.V),
		Username: "admin", Password: s.password, TLS: s.tls, HostKey: s.hostKey, Listen: o.Listen, TimeScale: o.TimeScale,
		Shuffle: seedOf(o.Shuffle, sw.Name), Running: o.Running[sw.Name],
	}
	ports := map[string]bool{}
	for i := range cumulusPorts {
		ports[fmt.Sprintf("swp%d", i+1)] = true
	}
	for _, p := range sw.Ports {
		ports[p.Name] = true
	}
	if opts.Running != nil {
		// The keywords in the configuration depend on its release, which it need not state.
		opts.AnyWords, opts.Version = true, release(cmp.Or(sw.Release.V, newestCumulusRelease))
	}
	opts.Interfaces, opts.Speeds = natural.Keys(ports), speedsOf(sw)
	return started(cumulus.New(opts))
}

// release returns the stated release, or the default, with three numbers.
func release(stated string) string {
	switch v := cmp.Or(stated, defaultCumulusRelease); len(v) {
	case len("5.9"), len("5.15"):
		return v + ".0"
	default:
		return v
	}
}
