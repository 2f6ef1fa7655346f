package lab

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// The model and release of an EOS switch if the intent does not state them.
const (
	defaultEOSModel   = "DCS-7060DX5-64S"
	defaultEOSRelease = "4.34.2F"
)

func init() { simulators[intent.EOS.Name] = startEOS }

// startEOS starts a switch whose ports are routed, as in a leaf-spine fabric, and otherwise not
// configured.
func startEOS(sw *intent.Switch, s shared, o Options) (Switch, error) {
	opts := eos.Options{
		Hostname: sw.Name, Model: cmp.Or(sw.Model.V, defaultEOSModel), Version: cmp.Or(sw.Release.V, defaultEOSRelease),
		Username: "admin", Password: s.password, TLS: s.tls, HostKey: s.hostKey, Listen: o.Listen, TimeScale: o.TimeScale, Routed: true,
		Shuffle: seedOf(o.Shuffle, sw.Name), Running: o.Running[sw.Name],
	}
	for _, p := range sw.Ports {
		opts.Interfaces = append(opts.Interfaces, p.Name)
	}
	opts.Speeds = speedsOf(sw)
	return started(eos.New(opts))
}
