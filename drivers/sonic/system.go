package sonic

import (
	"encoding/json"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// System is SONiC.
var System = drivers.System{
	System: intent.SONiC,
	Fit:    native.Fit,
	Encode: func(d *render.Device) (string, []byte) {
		return "config_db.json", native.Document(d.Desired, d.Model).AppendJSON(nil)
	},
	Decode:   decode,
	Account:  account,
	Refused:  refused,
	Clues:    []drivers.Clue{drivers.Object(3, native.TMetadata), drivers.Object(2, native.Tables()...), drivers.Object(1, "INTERFACE", "LOOPBACK_INTERFACE", "VLAN", "FEATURE")},
	Identify: identify,
	YANG:     models,
	Open:     Open,
}

func decode(text []byte) (*qos.Device, []drivers.Unknown, error) {
	cfg, err := native.Parse(text, native.WantTable)
	if err != nil {
		return nil, nil, err
	}
	cfg.PlainNames()
	d, unknown := native.Decode(cfg)
	return d, leftAlone(unknown), nil
}

func account(text []byte) ([]render.Line, error) {
	cfg, err := native.Parse(text, native.InAccount)
	if err != nil {
		return nil, err
	}
	cfg.PlainNames()
	return native.Account(cfg), nil
}

func refused(d *render.Device) (values []render.Refusal, adapted []string) {
	rel, ok := native.ReleaseOf(d.Switch.Release.V)
	if !ok {
		// The intent does not state the release. Report only values that every
		// release refuses; the plan, which reads the release, refuses the rest.
		rel = native.Newest()
	}
	return native.Refusals(d.Desired, rel), nil
}

func identify(text []byte) drivers.Identity {
	var doc struct {
		Metadata map[string]struct {
			Hostname string `json:"hostname"`
			HWSKU    string `json:"hwsku"`
		} `json:"DEVICE_METADATA"`
	}
	// The decoder reports invalid JSON.
	_ = json.Unmarshal(text, &doc)
	m := doc.Metadata["localhost"]
	return drivers.Identity{Hostname: m.Hostname, Model: m.HWSKU}
}

// models reads the YANG models of an image.
func models(dir string) (check func(*render.Device) []drivers.Violation, notes []string, err error) {
	m, err := yang.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range m.Unevaluated(native.Tables()...) {
		notes = append(notes, fmt.Sprintf("a rule is not evaluated: %s", r))
	}
	for _, s := range m.Skipped() {
		notes = append(notes, fmt.Sprint(s))
	}
	return func(d *render.Device) (out []drivers.Violation) {
		for _, v := range m.Check(native.Document(d.Desired, d.Model).Plain()) {
			out = append(out, drivers.Violation{What: v.String(), Where: v.Where})
		}
		return out
	}, notes, nil
}
