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
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Device is a device of a fabric, a switch or a host.
type Device struct {
	Name, OS string
	// Open creates the driver of the device. It is called more than once, and concurrently
	// with the Open of other devices.
	Open func(context.Context) (drivers.Driver, error)
	// Desired computes the desired state of the device.
	Desired func() drivers.Desired
	// Policy limits what may be disturbed at once.
	Policy drivers.Policy
	// Timeout is the timeout of a plan of the device (0: 2 minutes), Revert that of a revert,
	// also after Ctrl-C (0: 15 minutes).
	Timeout, Revert time.Duration
	// Volatile is set if the device has no pending changes and no saved configuration, so
	// that a run can skip the device if its plan is empty.
	Volatile bool

	// explain adds information to the steps that the driver does not have, such as lines of
	// the intent and notes; may be nil.
	explain func(drivers.Desired, *drivers.Steps)
	// foresee returns the settings that neighbours depend on, before and after a plan (nil if
	// unknown), and notes about what the plan leaves wrong.
	foresee func(context.Context, drivers.Driver, *drivers.Snapshot, drivers.Desired, *drivers.Steps) ([]order.State, []string)
	// lacking returns findings about what no check can judge on the device; may be nil.
	lacking func(drivers.Desired) []checks.Finding
	// fabric is the intent of the device; if nil, any device that answers is accepted. isRight
	// is set if the operator accepts the device that answers, whatever identity it shows.
	fabric  *intent.Fabric
	isRight bool
	// interim returns the device with the desired state of an interim run; nil if that is
	// the same.
	interim func(*Interim) Device
}

// revertTime returns the context of a revert. It does not end with the run, but it ends when
// a lock of the run is lost.
func (d Device) revertTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return fence.Outlive(ctx, cmp.Or(d.Revert, 15*time.Minute))
}

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
		devices[i].isRight = slices.Contains(a.AcceptIdentity, devices[i].Name)
	}
	return devices, open
}

// host returns a host as a device with the given desired state.
func (f *Fabric) host(a *Access, h *intent.Host, desired *nic.Host) Device {
	return Device{
		Name: h.Name, OS: host.OS, Timeout: hostPlanTimeout, Revert: hostRevertTimeout, Volatile: true, fabric: f.Fabric(),
		Open:    func(context.Context) (drivers.Driver, error) { return a.host(f.Fabric(), h, desired), nil },
		Desired: func() drivers.Desired { return desired },
		foresee: func(_ context.Context, _ drivers.Driver, snap *drivers.Snapshot, _ drivers.Desired, _ *drivers.Steps) ([]order.State, []string) {
			return rollout.HostStates(host.StateOf(snap).Running, desired), nil
		},
		interim: func(i *Interim) Device { return f.host(a, h, i.OfHost(desired)) },
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
		if d.interim != nil {
			out[n] = d.interim(i)
			out[n].isRight = d.isRight
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
			Name: sw.Name, OS: sw.OS, Policy: bounds, fabric: c.Fabric(),
			Open:    func(ctx context.Context) (drivers.Driver, error) { return open(ctx, sw) },
			Desired: func() drivers.Desired { return c.Device(sw).Desired },
			explain: func(desired drivers.Desired, steps *drivers.Steps) {
				explainChanges(sw, desired.(*qos.Device), steps)
			},
			foresee: func(ctx context.Context, drv drivers.Driver, _ *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) ([]order.State, []string) {
				if steps.Running == nil {
					return nil, nil
				}
				states := rollout.SwitchStates(steps.Running, desired.(*qos.Device), sw)
				return states, leftWrong(ctx, drv, c.Of(sw, desired.(*qos.Device)), steps)
			},
		}
		d.lacking = func(desired drivers.Desired) []checks.Finding {
			return validate.Lacking(c.Of(sw, desired.(*qos.Device)))
		}
		d.interim = func(i *Interim) Device {
			out := d
			out.Desired = func() drivers.Desired { return i.OfSwitch(c.Device(sw).Desired) }
			return out
		}
		out = append(out, d)
	}
	return out
}
