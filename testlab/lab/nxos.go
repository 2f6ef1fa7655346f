package lab

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// The model and release of an NX-OS switch if the intent does not state them.
const (
	defaultNXOSModel   = "N9K-C9332D-GX2B"
	defaultNXOSRelease = "10.4(3)"
)

// nxosPorts is the minimum number of front ports of a switch.
const nxosPorts = 32

func init() { simulators[intent.NXOS.Name] = startNXOS }

// startNXOS starts a switch whose ports are routed, as in a leaf-spine fabric, and otherwise not
// configured.
func startNXOS(sw *intent.Switch, s shared, o Options) (Switch, error) {
	opts := nxos.Options{
		Hostname: sw.Name, Model: cmp.Or(sw.Model.V, defaultNXOSModel), Version: cmp.Or(sw.Release.V, defaultNXOSRelease),
		Username: "admin", Password: s.password, TLS: s.tls, HostKey: s.hostKey, Listen: o.Listen, TimeScale: o.TimeScale, Routed: true,
		Shuffle: seedOf(o.Shuffle, sw.Name), Running: o.Running[sw.Name],
	}
	ports := map[string]bool{}
	for i := range nxosPorts {
		ports[fmt.Sprintf("Ethernet1/%d", i+1)] = true
	}
	for _, p := range sw.Ports {
		ports[p.Name] = true
	}
	opts.Interfaces, opts.Speeds = natural.Keys(ports), speedsOf(sw)
	return started(nxos.New(opts))
}
