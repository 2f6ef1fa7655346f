package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// Importing is the phase in which an import reads the switches.
const Importing Phase = "import"

// ImportOptions are the options of [Import].
type ImportOptions struct {
	ReadOptions
	// AllPorts includes ports that have QoS settings but no known neighbour, even if other
	// ports have one.
	AllPorts bool
}

// Imported is the result of [Import].
type Imported struct {
	*derive.Result // nil if a switch could not be read
	// Differs lists, for each switch that was read, what a plan of the imported intent would
	// change, in natural order and without switches that need no change.
	Differs []Difference
	// Failed has an error for each switch that could not be read.
	Failed []*Error
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
}

// imported is a switch that was read, with the account of its configuration.
type imported struct {
	sw      derive.Switch
	account Account
	text    []byte // content of its files; nil if the switch itself was read
	plan    func(drivers.Desired, drivers.Policy) (*drivers.Steps, error)
	doubt   string
	differs []derive.Contradiction // contradictions to the inventory
	err     *Error
}

// Import reads switches or their saved configurations, and derives the intent that describes
// them. If a switch cannot be read, Import derives no intent and returns an error with the
// number of such switches.
func Import(ctx context.Context, s *Sources, a *Access, o ImportOptions) (*Imported, error) {
	if err := s.reachable(a); err != nil {
		return nil, err
	}
	out := &Imported{}
	var found []derive.Contradiction
	plans := map[string]func(drivers.Desired, drivers.Policy) (*drivers.Steps, error){}
	in := derive.Input{Name: s.name, Hosts: s.hosts, Cables: s.cables, ClassNames: s.classes, Lossy: s.lossy, AllPorts: o.AllPorts, Fits: systems.All.Fits()}
	if s.inventory != nil {
		in.Recorded, in.Unclear = s.inventory.Recorded, s.inventory.Unclear
	}
	if err := s.read(ctx, &Reader{Access: a, History: o.History, Progress: o.Progress}, o, func(r imported) {
		if r.err != nil {
			out.Failed = append(out.Failed, r.err)
			return
		}
		if r.doubt != "" {
			out.Doubts = append(out.Doubts, r.sw.Name+": "+r.doubt)
		}
		r.account.Device, r.account.System = r.sw.Name, r.sw.OS
		r.sw.Account, r.sw.File = r.account.Lines, r.account.File
		in.Switches = append(in.Switches, r.sw)
		found = append(found, r.differs...)
		if r.sw.Planned {
			return
		}
		plans[r.sw.Name] = r.plan
		out.Accounts = append(out.Accounts, r.account)
	}); err != nil {
		return out, err
	}
	if n := len(out.Failed); n > 0 {
		return out, fmt.Errorf("%s of %d could not be read; no intent is written", words.Plural(n, "switch", "switches"), len(s.list))
	}
	res, err := derive.Derive(in)
	if errors.Is(err, derive.ErrInput) {
		err = &OptionError{Err: err}
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
	for _, a := range out.Accounts {
		render.Settle(a.Lines, res.Desired[a.Device], changes[a.Device])
	}
	return out, nil
}

// read reads the switches in parallel and passes each to take, in order.
func (s *Sources) read(ctx context.Context, r *Reader, o ImportOptions, take func(imported)) error {
	defer o.Progress.phase(Importing, len(s.list))()
	return pool.Ordered(ctx, o.Workers, s.list, func(ctx context.Context, src *Source) imported {
		o.Progress.report(Event{Kind: DeviceBegins, Phase: Importing, Device: src.Name})
		got, err := src.read(ctx, r)
		got.sw.Name, got.err = src.Name, NewError(src.Name, OpRead, err)
		if err == nil {
			got.differs = src.compare(&got.sw)
		}
		return got
	}, func(got imported) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Progress.report(Event{Kind: DeviceEnds, Phase: Importing, Device: got.sw.Name, Error: got.err})
		take(got)
		return nil
	})
}

// read reads the configuration of a switch from its files or from the switch itself.
func (s *Source) read(ctx context.Context, r *Reader) (imported, error) {
	out := imported{sw: s.switchOf()}
	if s.planned {
		out.sw.Running, out.sw.Planned = s.plan(), true
		return out, nil
	}
	if s.File != "" {
		err := s.readFile(ctx, &out)
		return out, err
	}
	err := r.withSwitch(ctx, s.sw, func(ctx context.Context, drv drivers.Driver) error {
		c, err := configured(ctx, drv)
		if err != nil {
			return err
		}
		out.sw.Running, out.account.Lines, out.plan = c.running, c.account(), c.plan
		out.sw.Model = cmp.Or(out.sw.Model, c.facts.Model)
		// A release that the switch does not print is only derived by the driver; ignore it.
		if strings.Contains(c.facts.Version, c.facts.Release) {
			out.sw.Release = cmp.Or(out.sw.Release, c.facts.Release)
		}
		switch {
		case c.seen != nil:
			addNeighbors(&out.sw, c.seen)
		case c.unseen != nil:
			out.doubt = fmt.Sprintf("the state of its links and neighbours could not be read: %v", c.unseen)
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
