package eos

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// System describes Arista EOS.
var System = drivers.System{
	System: intent.EOS,
	Fit:    native.Fit,
	Encode: encode,
	Refused: func(d *render.Device) (refused []render.Refusal, adapted []string) {
		return native.Refusals(d.Desired), append(native.Warnings(d.Desired), lines.Unwritten(d.Switch, "EOS")...)
	},
	Clues: []drivers.Clue{
		drivers.Collected(`arista`),
		drivers.Line(3, `! device: .*EOS-`), drivers.Line(2, `! Command: show `), drivers.Line(3, `! boot system `), drivers.Line(3, `service routing protocols model `),
		drivers.Line(2, `transceiver qsfp default-mode `), drivers.Line(3, `daemon TerminAttr`), drivers.Line(2, `management api (gnmi|http-commands|netconf|models)`),
		drivers.Line(2, `vrf instance `), drivers.Line(2, `switchport default mode `), drivers.Line(2, `interface (defaults|Management\d)`), drivers.Line(2, `interface Ethernet\d+[ \t]*$`),
		drivers.Line(2, `qos profile \S`), drivers.Line(2, `qos map (dscp|cos|traffic-class) [\d ]+ to `), drivers.Line(2, `\s*(uc-|mc-)?tx-queue \d`), drivers.Line(2, `\s*service-profile \S`),
		drivers.Line(1, `\s*qos trust (dscp|cos)`), drivers.Line(2, `\s*priority-flow-control (on|off)[ \t]*$`), drivers.Line(2, `\s*priority-flow-control priority \d (no-)?drop`),
		drivers.Line(2, `priority-flow-control (pause watchdog|all off)`), drivers.Line(2, `\s*random-detect ecn (minimum-threshold|delay|count)`),
		drivers.Line(3, `\S+\(config(-s-[^)]*)?-if-(Et|Po|Ma|Vl|Lo|Vx)\d`), drivers.Line(1, `\s*dcbx mode (ieee|cee)`),
		drivers.Line(2, `policy-map type (quality-of-service|copp|pbr|pdp) `), drivers.Line(1, `class-map type qos match-any `), drivers.Line(1, `   \S`),
	},
	Identify:  identify,
	Defaults:  native.Defaults,
	Whole:     "the answer to 'show running-config'",
	Telemetry: subscriptions,
	Open:      Open,
	Saved:     saved,
}

func encode(d *render.Device) (string, []byte) {
	kw, _ := native.KeywordForModel(d.Switch.Model.V)
	return "eos.cfg", native.Encode(d.Desired, kw).Append(nil)
}

// secondLine is the second line of "show running-config".
var secondLine = lazyre.New(`(?m)^! device: (\S+) \(([^,)\s]{1,64}), EOS-([^)\s]{1,64})`)

func identify(text []byte) drivers.Identity {
	id := drivers.Identity{Hostname: drivers.HostnameIn(text)}
	if m := secondLine.FindSubmatch(drivers.Head(text)); m != nil {
		id.Model, id.Release = string(m[2]), string(m[3])
		if id.Hostname == "" {
			id.Hostname = string(m[1])
		}
	}
	return id
}
