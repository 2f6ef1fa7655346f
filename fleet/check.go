package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/cabling"
	"github.com/roce-fabric/roce-fabric/validate/checks/operations"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// CheckOptions select additional checks of an intent.
type CheckOptions struct {
	// Configs lists saved configurations to compare with the intent. Switches at the other
	// ends of their links are assumed to match the intent.
	Configs []Saved
	// Topology is a file of links to compare with those of the intent; "" is none.
	Topology string
	// Models are YANG models to check the rendered configurations against.
	Models Models
}

// Saved is the file with the saved configuration of a switch.
type Saved struct{ Switch, File string }

// Check checks an intent without devices. If only some devices were selected, it leaves out
// findings that do not concern the selected switches.
func Check(ctx context.Context, f *Fabric, o CheckOptions) ([]checks.Finding, error) {
	found, err := checkCables(f.Fabric(), o.Topology)
	if err != nil {
		return nil, err
	}
	rendered := func(d *render.Device) []checks.Finding {
		values, adapted := systems.Of(d).Refused(d)
		return slices.Concat(operations.Refused(d.Switch, values), operations.Adapted(d.Switch, adapted), o.Models.Check(d))
	}
	if found, err = validate.Intent(ctx, f.Compiler, time.Now(), rendered, found...); err != nil {
		return nil, err
	}
	saved, err := checkConfigs(f, o.Configs)
	if err != nil {
		return nil, err
	}
	found = append(found, saved...)
	if f.part {
		found = validate.Concerns(found, func(name string) bool {
			return slices.ContainsFunc(f.Switches, func(sw *intent.Switch) bool { return sw.Name == name })
		})
	}
	return checks.Sort(found), nil
}

// checkCables compares the links of a topology file with those of the intent.
func checkCables(f *intent.Fabric, file string) ([]checks.Finding, error) {
	if file == "" {
		return nil, nil
	}
	cables, err := input.Cables(file)
	if err != nil {
		return nil, err
	}
	if device, ok := topology.Stranger(f, cables); ok {
		return nil, Wrong("topology", `name the file for the switch, leaf1.json, or write {"devices": {"leaf1": ...}} around what lldpctl answers`,
			"%s does not say which device it is of, and the intent has no device %q", file, device)
	}
	return cabling.Compare(f, file, cables), nil
}

// checkConfigs compares saved configurations with the intent.
func checkConfigs(f *Fabric, files []Saved) ([]checks.Finding, error) {
	if len(files) == 0 {
		return nil, nil
	}
	run := validate.NewRun(f.Fabric())
	seen, near := map[string]bool{}, map[string]bool{}
	for _, s := range files {
		sw := f.Fabric().Switch(s.Switch)
		switch {
		case sw == nil:
			return nil, Wrong("config "+s.Switch+"="+s.File, "", "the intent has no switch %q", s.Switch)
		case seen[s.Switch]:
			return nil, Wrong("config", "", "%s is named twice", s.Switch)
		}
		seen[s.Switch] = true
		text, err := input.Config(s.File)
		if err != nil {
			return nil, &OptionError{Option: "config", Err: err}
		}
		d := f.Device(sw)
		drv, err := systems.Saved(sw, text)
		if err != nil {
			return nil, &OptionError{Option: "config " + s.File, Err: err}
		}
		cfg, unknown := drv.Decode(drv.Snapshot)
		run.Add(validate.Switch(d, cfg, checks.Saved, &checks.State{Unknown: unknown, MayDerive: drv.MayDerive}))
		for _, p := range sw.Ports {
			if peer, linked := p.Peer(); linked {
				near[peer.Device] = true
			}
		}
	}
	for name := range near {
		if sw := f.Fabric().Switch(name); sw != nil && !seen[name] {
			run.Assume(f.Device(sw))
		}
	}
	return run.Findings(time.Now()), nil
}

// Models holds a check against YANG models for each system that has models, by the name of
// the system.
type Models map[string]func(*render.Device) []drivers.Violation

// LoadModels reads a folder of YANG models. The notes list what in it cannot be used.
func LoadModels(dir string) (m Models, notes []string, err error) {
	m = Models{}
	for _, s := range systems.All {
		if s.YANG == nil {
			continue
		}
		check, said, err := s.YANG(dir)
		if err != nil {
			return nil, nil, &OptionError{Option: "yang", Err: err}
		}
		notes, m[s.Name] = append(notes, said...), check
	}
	return m, notes, nil
}

// Check checks the desired configuration of a switch against the models of its system.
func (m Models) Check(d *render.Device) (out []checks.Finding) {
	check := m[d.Switch.OS]
	if check == nil {
		return nil
	}
	for _, v := range check(d) {
		out = append(out, checks.Finding{
			ID: "YANG", Severity: checks.Error, Device: d.Switch.Name, What: v.What, Where: v.Where,
			Fix: "an image with these YANG models rejects the row; check release and model of the switch",
		})
	}
	return out
}
