package lab

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// defaultSONiCRelease is the release of a SONiC switch if the intent does not state one.
const defaultSONiCRelease = "202511"

func init() { simulators[intent.SONiC.Name] = startSONiC }

// startSONiC starts a switch in factory state.
func startSONiC(sw *intent.Switch, s shared, o Options) (Switch, error) {
	m, ok := catalog.Lookup(sw.Model.V)
	running := o.Running[sw.Name]
	if !ok && running == nil {
		return nil, fmt.Errorf("the lab needs a model of the catalogue, not %q", sw.Model.V)
	}
	opts := sonic.Options{Name: sw.Name, HWSKU: sw.Model.V}
	if ok {
		opts = sonic.ForModel(sw.Name, m)
	}
	if sw.Dynamic.V != nil {
		opts.Dynamic = *sw.Dynamic.V
	}
	opts.Release = cmp.Or(sw.Release.V, defaultSONiCRelease)
	opts.Models = sonic.Models(opts.Release)
	opts.Username, opts.Password = "admin", s.password
	opts.TLS, opts.HostKey, opts.Listen, opts.TimeScale = s.tls, s.hostKey, o.Listen, o.TimeScale
	opts.Shuffle = seedOf(o.Shuffle, sw.Name)
	if opts.Running = running; running != nil {
		return started(sonic.New(opts))
	}
	opts.Config = sonic.FactoryConfig(m, sonic.WithHostname(sw.Name), sonic.WithDynamicBuffers(opts.Dynamic))
	// Speed and breakout are set when a switch is installed, before its QoS.
	for _, p := range sw.Ports {
		row := opts.Config["PORT"][p.Name]
		if row == nil {
			return nil, fmt.Errorf("%s has no port %s; the lab does not simulate breakouts", m.Name, p.Name)
		}
		if p.Speed.V > 0 {
			row["speed"] = strconv.FormatInt(p.Speed.V.Mbps(), 10)
		}
	}
	return started(sonic.New(opts))
}
