package fleet

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
)

// Device is a device of a fabric, a switch or a host.
type Device struct {
	Name, OS string
	// Open makes its driver. It is called more than once, also side by side with
	// those of other devices.
	Open func(context.Context) (drivers.Driver, error)
	// Desired works out what the device should hold.
	Desired func() drivers.Desired
	// Policy bounds what may be disturbed at once.
	Policy drivers.Policy
	// Timeout bounds a plan of the device, Revert a revert, also after Ctrl-C; 0 is
	// two and 15 minutes.
	Timeout, Revert time.Duration
	// Volatile says that the device keeps no change pending and saves nothing, so
	// that a run leaves it alone where its plan is empty.
	Volatile bool

	// explain adds to the steps what the device does not know: lines of the intent,
	// notes. nil adds nothing.
	explain func(drivers.Desired, *drivers.Steps)
	// foresee returns what neighbours see of the device before a plan and after it, nil
	// where that is not known, and notes of what the plan leaves wrong.
	foresee func(context.Context, drivers.Driver, *drivers.Snapshot, drivers.Desired, *drivers.Steps) ([]order.State, []string)
	// lacking are findings that say what no check can judge of the device; nil for none.
	lacking func(drivers.Desired) []validate.Finding
	// fabric is the intent that the device is of; nil believes any device. isRight says that the
	// operator accepts the device that answers, whatever it shows of itself.
	fabric  *intent.Fabric
	isRight bool
	// interim is the device as an interim run is to leave it; nil where that is the same.
	interim func(*Interim) Device
}

// revertTime is the context of a revert, which does not end with the run, but when a lock of
// the run is lost.
func (d Device) revertTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return fence.Outlive(ctx, cmp.Or(d.Revert, 15*time.Minute))
}

// The bounds of one host. A card takes its tool 20 seconds to read, and a host may
// have eight; in a revert each port may wait a minute for its link, and firmware
// takes minutes to write.
const (
	hostPlanTimeout   = agent.ReadTimeout + agent.PlanTimeout
	hostRevertTimeout = 30 * time.Minute
)

// Devices returns the switches of a call and then its hosts. open is what the intent
// leaves open on hosts, each with its places. [Access.Reaches] tells which hosts fail
// for want of an address.
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
		devices[i].isRight = slices.Contains(a.AcceptIdentity, devices[i].Name)
	}
	return devices, open
}

// host returns a host as a device, and what it should hold.
func (f *Fabric) host(a *Access, h *intent.Host, desired *nic.Host) Device {
	return Device{
		Name: h.Name, OS: host.OS, Timeout: hostPlanTimeout, Revert: hostRevertTimeout, Volatile: true, fabric: f.Fabric(),
		Open:    func(context.Context) (drivers.Driver, error) { return a.host(f.Fabric(), h, desired), nil },
		Desired: func() drivers.Desired { return desired },
		foresee: func(_ context.Context, _ drivers.Driver, snap *drivers.Snapshot, _ drivers.Desired, _ *drivers.Steps) ([]order.State, []string) {
			return hostStates(host.StateOf(snap).Running, desired), nil
		},
		interim: func(i *Interim) Device { return f.host(a, h, i.ofHost(desired)) },
	}
}

// isOpen adds a setting that the intent leaves open on a host.
func isOpen(open map[string][]string, host string, p nic.Problem) {
	what := fmt.Sprintf("%s (%s)", p.What, p.Where)
	open[what] = append(open[what], strings.TrimSpace(host+" "+p.Port))
}

// Switches returns the switches as devices. open makes a driver for a switch.
func Switches(c *render.Compiler, switches []*intent.Switch, open func(context.Context, *intent.Switch) (drivers.Driver, error)) []Device {
	var out []Device
	var bounds drivers.Policy // kept once for neighbours in the list that have the same
	for _, sw := range switches {
		if p := policy(c.Fabric(), sw); !reflect.DeepEqual(p, bounds) {
			bounds = p
		}
		d := Device{
			Name: sw.Name, OS: sw.OS, Policy: bounds, fabric: c.Fabric(),
			Open:    func(ctx context.Context) (drivers.Driver, error) { return open(ctx, sw) },
			Desired: func() drivers.Desired { return c.Device(sw).Desired },
			explain: func(desired drivers.Desired, steps *drivers.Steps) {
				explain(sw, desired.(*qos.Device), steps)
			},
			foresee: func(ctx context.Context, drv drivers.Driver, _ *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) ([]order.State, []string) {
				if steps.Running == nil {
					return nil, nil
				}
				states := switchStates(steps.Running, desired.(*qos.Device), sw)
				return states, leftWrong(ctx, drv, c.Of(sw, desired.(*qos.Device)), steps)
			},
		}
		d.lacking = func(desired drivers.Desired) []validate.Finding {
			return validate.Lacking(c.Of(sw, desired.(*qos.Device)))
		}
		d.interim = func(i *Interim) Device {
			out := d
			out.Desired = func() drivers.Desired { return i.ofSwitch(c.Device(sw).Desired) }
			return out
		}
		out = append(out, d)
	}
	return out
}

// policy returns the bounds for one switch: the intent's, with the ports
// towards other switches as uplinks.
func policy(f *intent.Fabric, sw *intent.Switch) drivers.Policy {
	p := drivers.Policy{PortGroup: f.Rollout.PortGroup.V}
	for _, port := range sw.Ports {
		if port.Uplink() {
			p.Uplinks = append(p.Uplinks, port.Name)
		}
	}
	return p
}
