package nxos

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// System describes Cisco NX-OS.
var System = drivers.System{
	System: intent.NXOS,
	Fit:    native.Fit,
	// Encode assumes the 8-queue model, which all but the oldest switches have; a plan reads the
	// model from the switch.
	Encode: func(d *render.Device) (string, []byte) {
		return "nxos.cfg", native.Encode(d.Desired, native.EightQueue).Append(nil)
	},
	Refused: func(d *render.Device) (refused []render.Refusal, adapted []string) {
		return native.Refusals(d.Desired), append(native.Warnings(d.Desired, native.EightQueue), lines.Unwritten(d.Switch, "NX-OS")...)
	},
	Clues: []drivers.Clue{
		drivers.Collected(`cisco-nx`), drivers.Line(3, `! Cisco Nexus Operating System`), // Oxidized puts "show version" first
		drivers.Line(3, `version \d+\.\d+\(`), drivers.Line(2, `!Command: show `), drivers.Line(3, `!(Running configuration last done|No configuration change since)`),
		drivers.Line(3, `vdc \S+ id \d`), drivers.Line(3, `boot nxos `), drivers.Line(2, `(no )?feature \S`), drivers.Line(2, `vrf context `), drivers.Line(2, `interface mgmt0`), drivers.Line(2, `copp profile `),
		drivers.Line(2, `hardware access-list tcam `), drivers.Line(2, `system (jumbomtu|default switchport)`),
		drivers.Line(2, `\s*system qos[ \t]*$`), drivers.Line(2, `\s*(class|policy)-map type (queuing|network-qos) `), drivers.Line(3, `\s*class type (queuing|network-qos) `),
		drivers.Line(1, `\s*(class|policy)-map type qos `), drivers.Line(2, `\s*set qos-group \d`), drivers.Line(3, `\s*service-policy type (queuing|network-qos) `),
		drivers.Line(2, `\s*priority-flow-control mode `), drivers.Line(2, `\s*priority-flow-control watch-dog`), drivers.Line(2, `\s*random-detect (minimum-threshold|threshold) `),
		drivers.Line(3, `\S+\(config-(sys-qos|[cp]map-(qos|que|nqos)|pmap-c-(qos|que)|pmap-nqos-c)\)#`), drivers.Line(2, `interface breakout module \d`),
		drivers.Line(1, `  \S`),
	},
	Identify:  identify,
	Defaults:  native.Defaults,
	Whole:     "the answer to 'show running-config'",
	NeedsSSH:  true,
	Telemetry: subscriptions,
	Open:      Open,
	Saved:     saved,
}

// version matches the first line of a configuration after the comments.
var version = lazyre.New(`(?m)^[ \t]*version ([0-9]+\.[0-9]+\([^)\s]{1,16}\)\S{0,16})`)

func identify(text []byte) drivers.Identity {
	id := drivers.Identity{Hostname: drivers.HostnameIn(text)}
	if m := version.FindSubmatch(drivers.Head(text)); m != nil {
		id.Release = string(m[1])
	}
	return id
}
