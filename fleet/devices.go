package fleet

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// Timeouts of one host. Reading a card with its tool takes 20 seconds, and a host may have
// eight cards. During a revert each port may wait a minute for its link, and writing
// firmware takes minutes.
const (
	hostPlanTimeout   = agent.ReadTimeout + agent.PlanTimeout
	hostRevertTimeout = 30 * time.Minute
)

// Devices returns the selected switches, then the selected hosts. open maps each setting
// that the intent leaves open on hosts to the hosts and ports concerned. [Access.Reachable]
// tells which hosts cannot be reached because the intent lacks an address or a user name.
func (f *Fabric) Devices(a *Access) (devices []Device, open map[string][]string) {
	devices, open = Switches(f.Compiler, f.Switches, a.Switch), map[string][]string{}
	for _, h := range f.Hosts {
		desired, problems := nic.Desired(f.Fabric(), h)
		for _, p := range problems {
			isOpen(open, h.Name, p)
		}
		devices = append(devices, f.host(a, h, desired))
	}
	for i := range devices {
		devices[i].Accepted = slices.Contains(a.AcceptIdentity, devices[i].Name)
	}
	return devices, open
}

// host returns a host as a device with the given desired state.
func (f *Fabric) host(a *Access, h *intent.Host, desired *nic.Host) Device {
	return Device{
		Name: h.Name, OS: host.OS, Timeout: hostPlanTimeout, Revert: hostRevertTimeout, Volatile: true,
		Open:    func(context.Context) (drivers.Driver, error) { return a.host(f.Fabric(), h, desired), nil },
		Desired: func() drivers.Desired { return desired },
		Hooks: engine.Hooks{
			Foresee: func(_ context.Context, _ drivers.Driver, snap *drivers.Snapshot, _ drivers.Desired, _ *drivers.Steps) ([]order.State, []string) {
				return rollout.HostStates(host.StateOf(snap).Running, desired), nil
			},
			Identify: identify(f.Fabric(), h.Name),
			Interim:  func(i *Interim) Device { return f.host(a, h, i.OfHost(desired)) },
		},
	}
}

// devicesOfRun returns the devices with their desired state after an interim run. For a nil Interim
// it returns them unchanged.
func devicesOfRun(i *Interim, devices []Device) []Device {
	if i == nil {
		return devices
	}
	out := slices.Clone(devices)
	for n, d := range out {
		if d.Hooks.Interim != nil {
			out[n] = d.Hooks.Interim(i)
			out[n].Accepted = d.Accepted
		}
	}
	return out
}

// isOpen adds to open a setting that the intent leaves open on a host.
func isOpen(open map[string][]string, host string, p nic.Problem) {
	what := fmt.Sprintf("%s (%s)", p.What, p.Where)
	open[what] = append(open[what], strings.TrimSpace(host+" "+p.Port))
}

// Switches returns the switches as devices. open creates the driver of a switch.
func Switches(c *render.Compiler, switches []*intent.Switch, open func(context.Context, *intent.Switch) (drivers.Driver, error)) []Device {
	var out []Device
	var bounds drivers.Policy // shared by consecutive switches with equal policies
	for _, sw := range switches {
		if p := systems.Policy(c.Fabric(), sw); !reflect.DeepEqual(p, bounds) {
			bounds = p
		}
		d := Device{
			Name: sw.Name, OS: sw.OS, Policy: bounds,
			Open:    func(ctx context.Context) (drivers.Driver, error) { return open(ctx, sw) },
			Desired: func() drivers.Desired { return c.Device(sw).Desired },
			Hooks: engine.Hooks{Explain: func(desired drivers.Desired, steps *drivers.Steps) {
				explainChanges(sw, desired.(*qos.Device), steps)
			},
				Foresee: func(ctx context.Context, drv drivers.Driver, _ *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) ([]order.State, []string) {
					if steps.Running == nil {
						return nil, nil
					}
					states := rollout.SwitchStates(steps.Running, desired.(*qos.Device), sw)
					return states, leftWrong(ctx, drv, c.Of(sw, desired.(*qos.Device)), steps)
				}, Identify: identify(c.Fabric(), sw.Name)},
		}
		d.Hooks.Lacking = func(desired drivers.Desired) []checks.Finding {
			return validate.Lacking(c.Of(sw, desired.(*qos.Device)))
		}
		d.Hooks.Interim = func(i *Interim) Device {
			out := d
			out.Desired = func() drivers.Desired { return i.OfSwitch(c.Device(sw).Desired) }
			return out
		}
		out = append(out, d)
	}
	return out
}

// identify returns the hook that compares the identity of a device with the intent.
func identify(f *intent.Fabric, device string) func(identity.Evidence) (string, bool) {
	return func(e identity.Evidence) (string, bool) {
		what, where := identity.Mistaken(f, device, e)
		if what != "" && where != "" {
			what += " (" + where + ")"
		}
		return what, identity.Proven(f, device, e)
	}
}
