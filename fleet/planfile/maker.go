package planfile

import (
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
)

// NewMaker returns a maker of rollouts for devices of a fabric, with the times measured in
// earlier runs. past may be nil.
func NewMaker(f *intent.Fabric, past *engine.History, mode rollout.GateMode, writers int) *rollout.Maker {
	system := func(device string) string {
		if sw := f.Switch(device); sw != nil {
			return sw.OS
		}
		return host.OS
	}
	return rollout.NewMaker(rollout.MakerOptions{Fabric: f, Gate: mode, Writers: writers, Took: past.Seconds(system), Seen: past.Seen})
}
