// Package importer derives an intent from switches, from their saved configurations and from
// inventories, and says what it left alone. It opens no connection: the caller passes a
// function that reads a switch.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// Importing is the phase in which an import reads the switches.
const Importing engine.Phase = "import"

// Options are the options of [Import].
type Options struct {
	// AllPorts includes ports that have QoS settings but no known neighbour, even if other
	// ports have one.
	AllPorts bool
	// Read connects to a switch and calls read with its driver.
	Read func(ctx context.Context, sw *intent.Switch, read func(context.Context, drivers.Driver) error) error
	// Located is set if Read does not need the addresses and credentials of the intent.
	Located bool
	// Workers is how many switches are read at a time; 0 is one.
	Workers int
	// Progress is called with each event; may be nil.
	Progress engine.Progress
}

// Imported is the result of [Import].
type Imported struct {
	*derive.Result // nil if a switch could not be read
	// Differs lists, for each switch that was read, what a plan of the imported intent would
	// change, in natural order and without switches that need no change.
	Differs []Difference
	// Failed has an error for each switch that could not be read.
	Failed []*engine.Error
	// Doubts names what was not read, or may be from another operating system.
	Doubts []string
	// Accounts tells for each switch, in the order of the sources, what the import did with
	// the QoS lines of its configuration.
	Accounts []Account
}

// Difference lists what a plan of the intent would change on a switch.
type Difference struct {
	Device  string       `json:"device"`
	Changes []qos.Change `json:"changes"`
}

// Account tells what the import did with each line of the configuration of a switch.
type Account struct {
	Device string `json:"device"`
	System string `json:"system"`
	File   string `json:"file,omitempty"` // the first of its files; "" if the switch itself was read
	// Recognised explains how the system was recognised from the file; "" if the operator stated it.
	Recognised string        `json:"recognised,omitempty"`
	Lines      []render.Line `json:"lines,omitempty"`
	// Assumed lists the defaults of the system that decide values in the intent.
	Assumed []render.Assumed `json:"assumed,omitempty"`
}

// Switch is a switch that was read, with the account of its configuration.
type Switch struct {
	derive.Switch
	Account Account
	Text    []byte // content of its files; nil if the switch itself was read
	plan    func(drivers.Desired, drivers.Policy) (*drivers.Steps, error)
	Doubt   string
	differs []derive.Contradiction // contradictions to the inventory
	err     *engine.Error
}

// Import reads switches or their saved configurations, and derives the intent that describes
// them. If a switch cannot be read, Import derives no intent and returns an error with the
// number of such switches.
func Import(ctx context.Context, s *Sources, o Options) (*Imported, error) {
	if err := s.reachable(o.Located); err != nil {
		return nil, err
	}
	out := &Imported{}
	var found []derive.Contradiction
	plans := map[string]func(drivers.Desired, drivers.Policy) (*drivers.Steps, error){}
	in := derive.Input{Name: s.name, Hosts: s.hosts, Cables: s.cables, ClassNames: s.classes, Lossy: s.lossy, AllPorts: o.AllPorts, Fits: systems.All.Fits()}
	if s.inventory != nil {
		in.Recorded, in.Unclear = s.inventory.Recorded, s.inventory.Unclear
	}
	if err := s.read(ctx, o, func(r Switch) {
		if r.err != nil {
			out.Failed = append(out.Failed, r.err)
			return
		}
		if r.Doubt != "" {
			out.Doubts = append(out.Doubts, r.Switch.Name+": "+r.Doubt)
		}
		r.Account.Device, r.Account.System = r.Switch.Name, r.Switch.OS
		r.Switch.Account, r.Switch.File = r.Account.Lines, r.Account.File
		in.Switches = append(in.Switches, r.Switch)
		found = append(found, r.differs...)
		if r.Switch.Planned {
			return
		}
		plans[r.Switch.Name] = r.plan
		out.Accounts = append(out.Accounts, r.Account)
	}); err != nil {
		return out, err
	}
	if n := len(out.Failed); n > 0 {
		return out, fmt.Errorf("%s of %d could not be read; no intent is written", words.Plural(n, "switch", "switches"), len(s.list))
	}
	res, err := derive.Derive(in)
	if errors.Is(err, derive.ErrInput) {
		err = &input.OptionError{Err: err}
	}
	if err != nil {
		return out, err
	}
	if s.Known != nil {
		res.LeftOut = append(res.LeftOut, settingsNotImported(s.Known, res.Fabric)...)
	}
	res.Contradictions = append(found, res.Contradictions...)
	s.addInventoryNotes(res)
	out.Result = res
	changes := map[string][]qos.Change{}
	for _, name := range natural.Keys(plans) {
		steps, err := plans[name](res.Desired[name], systems.Policy(res.Fabric, res.Fabric.Switch(name)))
		if err != nil {
			return out, fmt.Errorf("%s: plan: %w", name, err)
		}
		if changes[name] = steps.Differences(); len(changes[name]) > 0 {
			out.Differs = append(out.Differs, Difference{name, changes[name]})
		}
	}
	out.settle(in.Switches, changes)
	return out, nil
}

// settle completes the accounts by what the intent says.
func (r *Imported) settle(switches []derive.Switch, changes map[string][]qos.Change) {
	running := map[string]*qos.Device{}
	for i := range switches {
		running[switches[i].Name] = switches[i].Running
	}
	for i := range r.Accounts {
		a := &r.Accounts[i]
		render.Settle(a.Lines, r.Desired[a.Device], changes[a.Device])
		if system, ok := systems.All.Find(a.System); ok && running[a.Device] != nil {
			a.Assumed = render.Assume(a.Lines, running[a.Device], r.Desired[a.Device], system.Defaults)
		}
	}
}

// read reads the switches in parallel and passes each to take, in order.
func (s *Sources) read(ctx context.Context, o Options, take func(Switch)) error {
	defer o.Progress.Phase(Importing, len(s.list))()
	return pool.Ordered(ctx, o.Workers, s.list, func(ctx context.Context, src *Source) Switch {
		o.Progress.Report(engine.Event{Kind: engine.DeviceBegins, Phase: Importing, Device: src.Name})
		got, err := src.read(ctx, o)
		got.Switch.Name, got.err = src.Name, engine.NewError(src.Name, engine.OpRead, err)
		if err == nil {
			got.differs = src.compare(&got.Switch)
		}
		return got
	}, func(got Switch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Progress.Report(engine.Event{Kind: engine.DeviceEnds, Phase: Importing, Device: got.Switch.Name, Error: got.err})
		take(got)
		return nil
	})
}

// read reads the configuration of a switch from its files or from the switch itself.
func (s *Source) read(ctx context.Context, o Options) (Switch, error) {
	out := Switch{Switch: s.switchOf()}
	if s.planned {
		out.Switch.Running, out.Switch.Planned = s.plan(), true
		return out, nil
	}
	if s.File != "" {
		err := s.readFile(ctx, &out)
		return out, err
	}
	err := o.Read(ctx, s.sw, func(ctx context.Context, drv drivers.Driver) error {
		c, err := engine.ReadConfiguration(ctx, drv)
		if err != nil {
			return err
		}
		out.Switch.Running, out.Account.Lines, out.plan = c.Running, c.Account(), c.Plan
		out.Switch.Model = cmp.Or(out.Switch.Model, c.Facts.Model)
		// A release that the switch does not print is only derived by the driver; ignore it.
		if strings.Contains(c.Facts.Version, c.Facts.Release) {
			out.Switch.Release = cmp.Or(out.Switch.Release, c.Facts.Release)
		}
		switch {
		case c.Seen != nil:
			addNeighbors(&out.Switch, c.Seen)
		case c.Unseen != nil:
			out.Doubt = fmt.Sprintf("the state of its links and neighbours could not be read: %v", c.Unseen)
		}
		return nil
	})
	return out, err
}

// addNeighbors adds the neighbours and port aliases that the switch shows.
func addNeighbors(sw *derive.Switch, o *drivers.Observation) {
	sw.Neighbors, sw.Aliases = map[string][]qos.Neighbor{}, map[string]string{}
	for name, p := range o.Ports {
		if len(p.Neighbors) > 0 {
			sw.Neighbors[name] = p.Neighbors
		}
		if p.Alias != "" {
			sw.Aliases[name] = p.Alias
		}
	}
}
