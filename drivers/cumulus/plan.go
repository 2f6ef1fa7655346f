package cumulus

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// cannot is the reason for blocking a change that no setting of this tool makes.
const cannot = "cannot be changed on Cumulus Linux by this tool; set it on the switch, or remove it from the intent"

// draft is a plan in preparation.
type draft struct {
	lines.Draft
	cfg  *native.Config
	edit native.Edit
	// kept lists the shared settings that stay unchanged for the sake of other ports.
	kept   native.Shared
	others []string
}

// Plan creates one revision that makes the change.
func (d *Driver) Plan(f drivers.Facts, s *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	cfg := held(s)
	have, unknown := native.Decode(cfg)
	out := &drivers.Steps{Device: d.t.Name, Policy: policy, Base: native.Digest(cfg, desired), Unknown: leftAlone(unknown), Running: have}
	p := &draft{cfg: cfg, Draft: lines.Draft{Facts: f, Have: have, Desired: desired, Changes: qos.Diff(have, desired)}}
	if len(p.Changes) > 0 {
		p.Desired = native.Rounded(have, desired)
		p.scope()
		p.Changes = qos.Diff(have, p.Desired)
	}
	p.NoteModel()
	if _, known := native.ReleaseOf(f.Release); !known {
		p.Note("release %s is not one that this tool knows the words of: it knows %s to %s, and takes the nearest", f.Release, native.Releases()[0], native.Newest())
	}
	if len(p.Changes) > 0 {
		if err := p.steps(out); err != nil {
			return nil, err
		}
	}
	out.Changes, out.Notes = p.Changes, p.Notes
	return out, nil
}

// steps creates the step of a plan, and blocks the changes that cannot be made.
func (p *draft) steps(out *drivers.Steps) error {
	p.block()
	var after *qos.Device
	p.Changes, after = drivers.BlockUnmade(p.Have, p.Desired, p.Changes, cannot, func(allowed *qos.Device) *qos.Device {
		p.edit = native.ChangeWithin(p.cfg, allowed, p.kept)
		d, _ := native.Decode(p.edit.Apply(p.cfg))
		return d
	})
	p.Changes = drivers.WithOthers(p.Changes, p.Have, after, "comes with the profile")
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Blocked == "" {
			c.Takes(native.KindImpact(c.Field.Kind))
		}
	}
	if p.edit = p.edit.Within(p.cfg); len(p.edit) == 0 {
		return nil
	}
	p.tell()
	raw, err := json.Marshal(step{Edit: p.edit})
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	typed := p.edit.Lines()
	item := drivers.Step{Via: via, What: fmt.Sprintf("apply a revision: %s: %s", words.Count(len(typed), "command"), strings.Join(about(p.edit), ", ")), Impact: p.edit.Impact(), Lines: typed, Native: raw}
	item.SetMoves(p.Changes)
	out.Items = []drivers.Step{item}
	return nil
}

// scope finds the shared settings that cannot change because ports outside the intent are up and
// use them, and removes from desired the shared settings that the ports of the intent do not
// need.
func (p *draft) scope() {
	if p.Desired.Empty() {
		less := *p.Desired
		less.WatchdogPoll = qos.Opt[time.Duration]{}
		p.Desired = &less
		return
	}
	after := func(kept native.Shared) *qos.Device {
		d, _ := native.Decode(native.ChangeWithin(p.cfg, p.Desired, kept).Apply(p.cfg))
		return d
	}
	if p.others = qos.Others(p.Have, after(0), p.Desired); len(p.others) == 0 {
		return
	}
	every := native.Shared(0)
	for _, part := range native.SharedParts {
		every |= part.Part
	}
	for _, part := range native.SharedParts {
		if len(qos.Others(p.Have, after(every&^part.Part), p.Desired)) > 0 {
			p.kept |= part.Part
		}
	}
}

// block marks changes that the switch, or this tool on the switch, does not support.
func (p *draft) block() {
	p.BlockPorts("bonds")
	for i := range p.Changes {
		c := &p.Changes[i]
		if port := p.Have.Ports[c.Port]; c.Field.Kind == qos.KindMTU && port != nil && port.LAG.V != "" {
			c.Blocked = fmt.Sprintf("a member has the MTU of its bond; set that of %s on the switch", port.LAG.V)
		}
		if port, want := p.Have.Ports[c.Port], p.Desired.Ports[c.Port]; c.Field.Kind == qos.KindPFC && port != nil && want != nil &&
			want.PFC.V == 0 && port.Watchdog.V.Enabled && (!want.Watchdog.Set || want.Watchdog.V.Enabled) {
			c.Blocked = "NVUE takes no PFC watchdog on a port without PFC; turn the watchdog off in the intent as well"
		}
	}
	for _, r := range native.Refusals(p.Desired, p.cfg.Release) {
		drivers.Block(p.Changes, r.Place, r.Why)
	}
	for _, part := range native.SharedParts {
		if p.kept&part.Part == 0 {
			continue
		}
		why := lines.NeedsShared(part.Name, lines.Few(p.others))
		for _, c := range p.Changes {
			if shares(part.Part, c.Field) {
				drivers.Block(p.Changes, c.Place(), why)
			}
		}
	}
}

// shares reports whether a field is changed through this shared setting.
func shares(part native.Shared, field qos.Attr) bool {
	switch part {
	case native.SharedQueues:
		t, ok := field.Table()
		return ok && t == qos.TCToQueue
	case native.SharedWatchdog:
		return field.Kind == qos.KindWatchdog || field.Kind == qos.KindWatchdogPoll
	case native.SharedPools:
		return field.Kind == qos.KindLossless
	}
	return false
}

// tell notes the side effects of a plan.
func (p *draft) tell() {
	if p.edit.Impact() >= qos.ImpactLoss {
		p.Note("a change of PFC or of traffic pools reprograms the buffers of the ASIC, which may lose packets for a moment; NVIDIA does not say whether ports go down with it")
	}
	p.Notes = append(p.Notes, native.Warnings(p.Desired)...)
	var outside []string
	for name := range p.Have.Ports {
		if p.Desired.Ports[name] == nil {
			outside = append(outside, name)
		}
	}
	if wide := shared(p.edit); len(wide) > 0 && len(outside) > 0 {
		p.NoteWide("Cumulus Linux", wide, outside)
	}
}

// shared names the switch-wide settings in an edit.
func shared(e native.Edit) (out []string) {
	seen := map[string]bool{}
	for _, s := range e {
		name := ""
		switch {
		case s.Path[0] != "qos":
		case s.Path[1] == "egress-queue-mapping":
			name = "map of switch priorities to traffic classes"
		case s.Path[1] == "pfc-watchdog":
			name = "set of timers of the PFC watchdog"
		case s.Path[1] == "traffic-pool":
			name = "set of traffic pools"
		}
		if name != "" && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// about summarizes an edit.
func about(e native.Edit) (out []string) {
	ports, others := map[string]bool{}, map[string]bool{}
	for _, s := range e {
		if s.Path[0] == "interface" {
			ports[s.Path[1]] = true
		} else {
			others[strings.Join(s.Path[:2], " ")] = true
		}
	}
	out = natural.Keys(others)
	if len(ports) > 0 {
		out = append(out, words.Count(len(ports), "interface"))
	}
	return out
}

// step is the native part of a step.
type step struct {
	Edit native.Edit `json:"edit"`
}

// edit decodes the only step of a plan, which may come from a file.
func edit(items []drivers.Step, managed func(port string) bool) (native.Edit, error) {
	if len(items) != 1 {
		return nil, fmt.Errorf("the plan has %s; a plan for this switch has one", words.Count(len(items), "step"))
	}
	if items[0].Via != via {
		return nil, fmt.Errorf("step 1 of the plan: unknown transport %q", items[0].Via)
	}
	var s step
	err := json.Unmarshal(items[0].Native, &s)
	if err == nil {
		err = s.Edit.Check(managed)
	}
	if err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	return s.Edit, nil
}

// CheckSteps returns an error, with its position, for steps that this driver never creates.
func (d *Driver) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	if len(items) == 0 {
		return qos.ImpactNone, nil
	}
	e, err := edit(items, managed)
	return e.Impact(), err
}

// Differences returns the parts of the configuration that a plan changes, before and after, as
// YAML.
func (d *Driver) Differences(s *drivers.Snapshot, st *drivers.Steps) (before, after string, err error) {
	if len(st.Items) == 0 {
		return "", "", nil
	}
	e, err := edit(st.Items, nil)
	if err != nil {
		return "", "", err
	}
	cfg := held(s)
	e = e.Within(cfg)
	part := func(c *native.Config) string {
		out := &native.Node{}
		for _, s := range e {
			if n := c.Tree.At(s.Path...); n != nil {
				out.Put(n, s.Path...)
			}
		}
		if len(out.Sub) == 0 {
			return ""
		}
		return string(out.YAML())
	}
	return part(cfg), part(e.Apply(cfg)), nil
}
