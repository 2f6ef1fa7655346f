package validate

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Device compares what a switch runs with the intent: its configuration, and
// what its daemons made of it (nil where the switch does not show that).
func Device(sw *intent.Switch, running, desired *qos.Device, inForce []drivers.Mismatch) []Finding {
	var c collector
	drifted := map[string]bool{}
	for _, ch := range qos.Diff(running, desired) {
		drifted[ch.Port+" "+ch.Field] = true
		f := Finding{ID: "DRIFT", Severity: Error, Device: sw.Name, Where: render.Reason(sw, ch),
			What: fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New),
			Fix:  "apply the intent, or change it to what is wanted"}
		if ch.Field == qos.PortField {
			f.What, f.Fix = "the device has no such port", "correct the name in the intent, or break the port out on the device"
		}
		c.add(f, ch.Port)
	}
	for _, m := range inForce {
		// What is not even configured cannot be in force: one cause, one
		// finding, unless the driver knows what mends it.
		if m.Fix == "" && (drifted[m.Port+" "+m.Field] || drifted[m.Port+" "+wholeMap(m.Field)]) {
			continue
		}
		f := Finding{ID: "OPS-02", Severity: Error, Device: sw.Name, Where: render.Reason(sw, qos.Change{Port: m.Port, Field: m.Field}),
			What: fmt.Sprintf("%s is configured as %s and in force as %s", m.Field, m.Want, m.Have),
			Fix:  "the switch did not take up what it is configured with: look for the reason in its log, and write it again"}
		if m.Fix != "" {
			f.What, f.Fix = fmt.Sprintf("%s: %s is not in force: %s", m.Field, m.Want, m.Have), m.Fix
		}
		c.add(f, m.Port)
	}
	return c.list
}

// Refusal is a value that a device's system does not take, as its renderer
// found it. Port is empty for the whole device.
type Refusal struct{ Port, Field, Why string }

// Refused reports refusals, one finding for each cause.
func Refused(sw *intent.Switch, rs []Refusal) []Finding {
	var c collector
	for _, r := range rs {
		f := Finding{ID: "OPS-04", Severity: Error, Device: sw.Name, What: r.Why, Where: render.Reason(sw, qos.Change{Port: r.Port, Field: r.Field}), Fix: "change the value in the intent"}
		if r.Field == "watchdog" || r.Field == "watchdog_poll" {
			f.ID = "WD-04"
		}
		c.add(f, r.Port)
	}
	return c.list
}

// Adapted reports what a system can only do in another way than the intent
// says.
func Adapted(sw *intent.Switch, how []string) []Finding {
	var c collector
	for _, h := range how {
		c.add(Finding{ID: "OPS-04", Severity: Warning, Device: sw.Name, What: h, Where: sw.Pos.String(),
			Fix: "accept it, or change the classes"}, "")
	}
	return c.list
}

// wholeMap names the map that an entry belongs to, which is what a difference
// of configurations speaks of: maps.dscp_to_tc for maps.dscp_to_tc[26].
func wholeMap(field string) string {
	if i := strings.LastIndexByte(field, '['); i > 0 && strings.HasSuffix(field, "]") {
		return field[:i]
	}
	return field
}

// End is what one end of a link runs: the values that the other end must
// share.
type End struct {
	PFC   qos.PrioritySet
	MTU   int
	Known bool
}

// EndOf returns what a port runs.
func EndOf(d *qos.Device, port string) End {
	p := d.Ports[port]
	if p == nil {
		return End{}
	}
	return End{PFC: p.PFC.Or(0), MTU: p.MTU.Or(0), Known: true}
}

// Links compares the two ends of every link whose ends were both read. ends
// returns what an end runs.
func Links(f *intent.Fabric, ends func(intent.Endpoint) End) []Finding {
	var c collector
	for _, l := range f.Links {
		a, b := ends(l.A), ends(l.B)
		if !a.Known || !b.Known {
			continue
		}
		if a.PFC != b.PFC {
			c.add(linkFinding(l, "PFC-01", fmt.Sprintf("%s runs PFC on %s, %s on %s", l.A, a.PFC, l.B, b.PFC), "apply the intent to both ends"), l.A.Port)
		}
		if a.MTU != b.MTU {
			c.add(linkFinding(l, "MTU-01", fmt.Sprintf("%s runs an MTU of %d B, %s of %d B", l.A, a.MTU, l.B, b.MTU), "apply the intent to both ends"), l.A.Port)
		}
	}
	return c.list
}
