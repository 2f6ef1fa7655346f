package nxos

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// into adds the JSON output of a command to an observation; a refused command and output that is
// not JSON add nothing.
func (d *Driver) into(ctx context.Context, cmd string, o *drivers.Observation, read func([]byte, *drivers.Observation) error) error {
	raw, err := d.Show(ctx, cmd+" | json")
	if err == nil && read([]byte(raw), o) != nil {
		return nil // such as "Structured output unsupported"
	}
	if err != nil && !drivers.RefusedLine(err) {
		return drivers.TransportError(fmt.Errorf("%s: %w", cmd, err))
	}
	return nil
}

// pfcCommand shows the PFC state of each port.
const pfcCommand = "show interface priority-flow-control"

// Applied compares the state that the switch shows of its ports and of operational PFC with
// desired. It ignores values that the switch does not show, or shows in an unknown form. Each
// unmet condition of operational PFC in the configuration is a mismatch with a fix, whatever the
// switch shows, because no public document says which of the conditions its output reflects. The
// same applies to each class of the network-qos policy whose MTU is below that of the port.
func (d *Driver) Applied(ctx context.Context, want drivers.Desired) ([]drivers.Mismatch, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	cfg, err := d.Config(ctx, lines.Running)
	if err != nil {
		return nil, err
	}
	m, _, err := d.classModel(ctx, cfg)
	if err != nil {
		return nil, err
	}
	o := &drivers.Observation{}
	if err := d.into(ctx, "show interface", o, show.Interfaces); err != nil {
		return nil, err
	}
	pfc, err := d.pfc(ctx)
	if err != nil {
		return nil, err
	}
	configured, _ := native.Decode(cfg, m)
	a := applier{observed: o, pfc: pfc, broken: map[string][]native.Condition{}}
	for _, c := range native.Conditions(cfg, desired, m) {
		a.broken[c.Port] = append(a.broken[c.Port], c)
	}
	for _, c := range native.Narrow(cfg, desired, m) {
		a.out = append(a.out, drivers.Mismatch{Port: c.Port, Field: qos.KindMTU.Attr(), Want: strconv.Itoa(desired.Ports[c.Port].MTU.V), Have: c.Broken, Fix: c.Fix})
	}
	for _, name := range natural.Keys(desired.Ports) {
		a.port(name, configured.Ports[name], desired.Ports[name])
	}
	return a.out, nil
}

// pfc reads the PFC state by port from JSON, or from the text output if that has more.
func (d *Driver) pfc(ctx context.Context) (map[string]show.PFC, error) {
	var out map[string]show.PFC
	raw, err := d.Show(ctx, pfcCommand+" | json")
	if err != nil && !drivers.RefusedLine(err) {
		return nil, drivers.TransportError(err)
	}
	whole := false
	if err == nil {
		if out, err = show.ParsePFC([]byte(raw)); err == nil {
			whole = len(out) > 0
		}
	}
	for _, p := range out {
		whole = whole && (!p.On || p.Bitmap != "")
	}
	if whole {
		return out, nil
	}
	text, err := d.Show(ctx, pfcCommand)
	if drivers.RefusedLine(err) {
		return out, nil
	}
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	if shown := show.ParsePFCText(text); len(shown) > 0 {
		return shown, nil
	}
	return out, nil
}

type applier struct {
	observed *drivers.Observation
	pfc      map[string]show.PFC
	broken   map[string][]native.Condition
	out      []drivers.Mismatch
}

// port compares one port; configured is nil if the switch has no such port.
func (a *applier) port(name string, configured, want *qos.Port) {
	have := a.observed.Ports[name]
	if have == nil {
		have = &drivers.PortState{}
	}
	note := func(field qos.Attr, want, have, fix string) {
		a.out = append(a.out, drivers.Mismatch{Port: name, Field: field, Want: want, Have: have, Fix: fix})
	}
	if want.AdminUp.Set && have.AdminUp.Set && want.AdminUp.V != have.AdminUp.V {
		note(qos.KindAdminUp.Attr(), strconv.FormatBool(want.AdminUp.V), strconv.FormatBool(have.AdminUp.V), "")
	}
	// A port with PFC needs the MTU of its network-qos class, so the interface may have a larger
	// MTU than desired.
	more := configured != nil && configured.MTU == want.MTU && have.MTU.V > want.MTU.V
	if want.MTU.Set && have.MTU.V > 0 && want.MTU.V != have.MTU.V && !more {
		note(qos.KindMTU.Attr(), strconv.Itoa(want.MTU.V), strconv.Itoa(have.MTU.V), "")
	}
	if !want.PFC.Set || want.PFC.V == 0 {
		return
	}
	down := have.OperUp.Set && !have.OperUp.V
	state, shown := a.pfc[name]
	same, known := state.Shows(want.PFC.V)
	broken := slices.DeleteFunc(slices.Clone(a.broken[name]), func(c native.Condition) bool {
		return c.Auto && state.On && (same || !known) // the peer has turned it on
	})
	for _, c := range broken {
		field := qos.KindPFC.Attr()
		if c.Maps {
			field = qos.KindMap.Table(qos.DSCPToTC)
		}
		note(field, fmt.Sprintf("priority %d paused", c.Priority), c.Broken, c.Fix)
	}
	switch {
	case len(broken) > 0 || down || configured == nil:
	case !shown:
		a.out = append(a.out, drivers.Mismatch{Port: name, Field: qos.KindPFC.Attr(), Want: want.PFC.V.String(), Have: "the switch does not show PFC of the port", Unsure: true})
	case !state.On:
		note(qos.KindPFC.Attr(), want.PFC.V.String(), "PFC is not in operation, its mode is "+state.Mode, "")
	case known && !same:
		a.out = append(a.out, drivers.Mismatch{Port: name, Field: qos.KindPFC.Attr(), Want: want.PFC.V.String(), Have: "PFC is in operation for the bitmap (" + state.Bitmap + ")", Unsure: true})
	}
}
