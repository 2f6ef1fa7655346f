package main

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
	"github.com/roce-fabric/roce-fabric/validate"
)

// renderer is what can be said of a switch system without a device. A part
// that a system does not have is nil.
type renderer struct {
	// fit brings a compiled switch into the shape that the system has.
	fit func(*qos.Device)
	// native returns the name and the text of what the switch should hold.
	native func(*render.Device) (file string, text []byte)
	// running reads what a switch shows as its configuration, or saved of it.
	running func(text []byte) (*qos.Device, []drivers.Unknown, error)
	// marks are what such a text has and others have not, identify returns what
	// it says of the switch.
	marks    []mark
	identify func(text []byte) identity
	// refused returns what the system does not take.
	refused func(*render.Device) []validate.Finding
	// yang holds the rendered text against the models of an image.
	yang func(*yang.Models, *render.Device) []validate.Finding
}

// renderers lists the switch systems that can be rendered.
var renderers = map[string]renderer{
	"sonic": {fit: sonic.Fit, native: sonicNative, running: sonicRunning, marks: sonicMarks, identify: sonicIdentity, refused: sonicRefused, yang: sonicYANG},
	"eos":   {fit: eos.Fit, native: eosNative, running: eosRunning, marks: eosMarks, identify: eosIdentity, refused: eosRefused},
	"nxos":  {fit: nxos.Fit, native: nxosNative, running: nxosRunning, marks: nxosMarks, identify: nxosIdentity, refused: nxosRefused},
}

func fits() render.Fits {
	out := render.Fits{}
	for name, r := range renderers {
		out[name] = r.fit
	}
	return out
}

func sonicNative(d *render.Device) (string, []byte) {
	return "config_db.json", sonic.Document(d.Desired, d.Model).AppendJSON(nil)
}

func sonicRunning(text []byte) (*qos.Device, []drivers.Unknown, error) {
	cfg, err := sonic.Parse(text, sonic.WantTable)
	if err != nil {
		return nil, nil, err
	}
	cfg.PlainNames()
	d, unknown := sonic.Decode(cfg)
	return d, drivers.LeftAlone(unknown, func(u sonic.Unknown) (string, string) { return u.Why, u.Value }), nil
}

func eosRunning(text []byte) (*qos.Device, []drivers.Unknown, error) {
	cfg, err := eos.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	d, unknown := eos.Decode(cfg)
	return d, drivers.LeftAlone(unknown, func(u eos.Unknown) (string, string) { return u.Why, u.Text }), nil
}

func nxosRunning(text []byte) (*qos.Device, []drivers.Unknown, error) {
	cfg, err := nxos.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	m, _ := nxos.ModelOf(string(text))
	d, unknown := nxos.Decode(cfg, m)
	return d, drivers.LeftAlone(unknown, func(u nxos.Unknown) (string, string) { return u.Why, u.Text }), nil
}

func sonicRefused(d *render.Device) []validate.Finding {
	rel, ok := sonic.ReleaseOf(d.Switch.Release.V)
	if !ok {
		// What every release refuses is refused; the rest is for the plan,
		// which knows the release.
		rel = sonic.Newest()
	}
	var rs []validate.Refusal
	for _, r := range sonic.Refusals(d.Desired, rel) {
		rs = append(rs, validate.Refusal(r))
	}
	return validate.Refused(d.Switch, rs)
}

func eosNative(d *render.Device) (string, []byte) {
	kw, ok := eos.KeywordForModel(d.Switch.Model.V)
	if !ok {
		kw = eos.UCTxQueue
	}
	return "eos.cfg", eos.Encode(d.Desired, kw).Append(nil)
}

func eosRefused(d *render.Device) []validate.Finding {
	var rs []validate.Refusal
	for _, r := range eos.Refusals(d.Desired) {
		rs = append(rs, validate.Refusal(r))
	}
	return validate.Refused(d.Switch, rs)
}

// nxosNative writes for the 8-queue model, which all but the oldest boxes have;
// a plan asks the box.
func nxosNative(d *render.Device) (string, []byte) {
	return "nxos.cfg", nxos.Encode(d.Desired, nxos.EightQueue).Append(nil)
}

func nxosRefused(d *render.Device) []validate.Finding {
	var rs []validate.Refusal
	for _, r := range nxos.Refusals(d.Desired) {
		rs = append(rs, validate.Refusal(r))
	}
	return append(validate.Refused(d.Switch, rs), validate.Adapted(d.Switch, nxos.Warnings(d.Desired, nxos.EightQueue))...)
}

func sonicYANG(m *yang.Models, d *render.Device) []validate.Finding {
	var out []validate.Finding
	for _, v := range m.Check(sonic.Document(d.Desired, d.Model).Plain()) {
		out = append(out, validate.Finding{
			ID: "YANG", Severity: validate.Error, Device: d.Switch.Name, What: v.String(), Where: v.Where,
			Fix: "the image these models are from refuses the row; check release and model of the switch",
		})
	}
	return out
}
