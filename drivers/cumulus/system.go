package cumulus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
)

// System describes NVIDIA Cumulus Linux.
var System = drivers.System{
	System: intent.Cumulus,
	Fit:    native.Fit,
	Encode: func(d *render.Device) (string, []byte) {
		return "nvue.yaml", native.Encode(d.Desired, release(d)).Tree.YAML()
	},
	Refused: func(d *render.Device) (refused []render.Refusal, adapted []string) {
		adapted = append(native.Warnings(d.Desired), lines.Unwritten(d.Switch, "Cumulus Linux")...)
		if s := d.Switch.Settings; s.Buffers.Alpha.V != nil || slices.ContainsFunc(s.Classes, s.OwnAlpha) {
			adapted = append(adapted, "this tool does not set the alpha of buffers on Cumulus Linux: it stays as the switch has it")
		}
		return native.Refusals(d.Desired, release(d)), adapted
	},
	Clues: []drivers.Clue{
		drivers.Collected(`cumulus`),
		drivers.Line(3, `\s*nvue-api-version: `), drivers.Line(3, `\s*version: Cumulus Linux `), drivers.Line(3, `\s*(\S*[$#>] ?|- ["']?|.*\bssh\b.*["'])?(sudo )?(/usr/bin/)?nv (set|unset) `),
		drivers.Line(3, `\s*(- )?nvidia\.nvue\.[a-z]+:`), drivers.Line(3, `\s*nvue_switch_(interface_)?config:`), drivers.Line(3, `\s*url: .*nvue`), drivers.Line(3, `\s*(- )?(ansible\.builtin\.)?(shell|command|raw|cmd): ["']?(sudo )?nv (set|unset) `),
		drivers.Line(3, `- (header|set):[ \t]*$`), drivers.Line(1, `\s+swp\d[\ds,-]*:`), drivers.Line(2, `\s+(egress-queue-mapping|traffic-pool|congestion-control|pfc-watchdog):`),
		drivers.Line(1, `\s+roce:`),
		drivers.Object(2, `swp\d[\ds,-]*`), drivers.Object(2, "egress-queue-mapping", "traffic-pool", "congestion-control", "pfc-watchdog"), drivers.Object(1, "roce"),
	},
	Identify: identify,
	Whole:    "the answer to 'nv config show'",
	Shows:    lazyre.New(`^(?:sudo )?nv config show`), Configures: lazyre.New(`^(?:sudo )?(?:(?:nv|cl) (?:un)?set|net (?:add|del|commit)) ?`),
	Join:      mergeTexts,
	AsksFirst: true,
	Releases:  native.Releases(),
	Defaults:  native.Defaults,
	Telemetry: subscriptions,
	Open:      Open,
	Saved:     saved,
}

// release returns the release that the intent states, otherwise the newest.
func release(d *render.Device) native.Release {
	r, _ := native.ReleaseOf(d.Switch.Release.V)
	if r == (native.Release{}) {
		return native.Newest()
	}
	return r
}

var releaseForm = lazyre.New(`Cumulus Linux (5\.[0-9]{1,2}(?:\.[0-9]{1,3})?)`)

func identify(text []byte) drivers.Identity {
	var id drivers.Identity
	if cfg, err := native.Parse(drivers.Head(text)); err == nil {
		id.Hostname, id.Model = cfg.Hostname, cfg.Model
	}
	if m := releaseForm.FindSubmatch(drivers.Head(text)); m != nil {
		id.Release = string(m[1])
	}
	return id
}

// saved creates the driver for a saved configuration.
func saved(text []byte, t drivers.Target) (*drivers.Saved, error) {
	cfg, err := native.Parse(text)
	if err != nil {
		return nil, err
	}
	id := identify(text)
	f := drivers.Facts{OS: intent.Cumulus.Name, Release: cmp.Or(t.Release, id.Release, native.Newest().String()), Model: cmp.Or(id.Model, t.Model)}
	cfg.Release, _ = native.ReleaseOf(f.Release)
	return &drivers.Saved{SwitchDriver: newDriver(t), Facts: f, Snapshot: &drivers.Snapshot{Native: cfg}}, nil
}

// subscriptions lists the OpenConfig paths that Cumulus Linux serves over gNMI.
var subscriptions = telemetry.Source{Encoding: "json_ietf", Streams: func(d *render.Device) []telemetry.Stream {
	return []telemetry.Stream{{Name: "interfaces", Paths: telemetry.Each(telemetry.Ports(d), func(p string) string {
		return fmt.Sprintf("/interfaces/interface[name=%s]/state/counters", p)
	}), Comments: []string{"gNMI of Cumulus Linux serves Subscribe alone, on a port of its own ('nv set system gnmi-server')"}}}
}}

// mergeTexts merges the branches of later files in JSON into those of earlier ones. Files in YAML and
// commands follow one another.
func mergeTexts(files []string, texts [][]byte) ([]byte, error) {
	var out json.RawMessage
	for i, text := range texts {
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			if i == 0 {
				return nil, nil
			}
			return nil, fmt.Errorf("%s is not JSON, as %s is", files[i], files[0])
		}
		if i == 0 {
			out = text
		} else {
			out = drivers.MergeObjects(out, text, 3)
		}
	}
	return out, nil
}
