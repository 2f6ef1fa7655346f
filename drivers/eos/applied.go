package eos

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/showjson"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Observe reads the state of all ports. EOS does not show whether the watchdog has stopped a queue,
// only how often it found the queue stuck, and recovered (facebook/DNE-TaaC, health checks).
func (d *Driver) Observe(ctx context.Context) (*drivers.Observation, error) {
	o, err := d.shown(ctx, append([]show{interfacesShow, {"show interfaces error-correction", showjson.FEC}, {"show lldp neighbors", showjson.LLDPNeighbors}}, counterShows...)...)
	if err != nil {
		return nil, err
	}
	for _, p := range o.Ports {
		for q := range qos.NumPriorities {
			if n, counted := p.Counters[drivers.StormsRestored.Of(q)]; counted && p.Counters[drivers.StormsDetected.Of(q)] > n {
				p.PutStorm(q, drivers.StormCounted)
			}
		}
	}
	return o, nil
}

func (d *Driver) shown(ctx context.Context, commands ...show) (*drivers.Observation, error) {
	o, err := d.state(ctx, commands)
	return o, drivers.TransportError(err)
}

// show is a command and the decoder of its JSON output.
type show struct {
	cmd  string
	into func([]byte, *drivers.Observation) error
}

var interfacesShow = show{"show interfaces", showjson.Interfaces}

const watchdogShow = "show priority-flow-control counters watchdog"

// counterShows lists the commands that show counters.
var counterShows = []show{
	{"show interfaces priority-flow-control counters detail", showjson.PFCPriorities},
	{watchdogShow, showjson.Watchdog},
	{"show qos interfaces ecn counters queue", showjson.ECN},
	{"show interfaces counters queue detail", showjson.Queues},
}

// Applied compares the state that the switch shows of its ports and of PFC with desired. It
// ignores values that the switch does not show, or shows in an unknown form.
func (d *Driver) Applied(ctx context.Context, want drivers.Desired) ([]drivers.Mismatch, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	cfg, err := d.Config(ctx, lines.Running)
	if err != nil {
		return nil, err
	}
	o, err := d.shown(ctx, interfacesShow)
	if err != nil {
		return nil, err
	}
	var out []drivers.Mismatch
	note := func(port string, kind qos.Kind, want, have string) {
		out = append(out, drivers.Mismatch{Port: port, Field: kind.Attr(), Want: want, Have: have})
	}
	routed := routedPorts(cfg)
	for _, name := range natural.Keys(desired.Ports) {
		want, have := desired.Ports[name], o.Ports[name]
		if have == nil {
			continue
		}
		if want.AdminUp.Set && have.AdminUp.Set && want.AdminUp.V != have.AdminUp.V {
			note(name, qos.KindAdminUp, strconv.FormatBool(want.AdminUp.V), strconv.FormatBool(have.AdminUp.V))
		}
		// A switched port reports an MTU other than its forwarding limit (aristanetworks/anta,
		// VerifyL2MTU), and some releases report 0 for none.
		if want.MTU.Set && routed[name] && have.MTU.V > 0 && want.MTU.V != have.MTU.V {
			note(name, qos.KindMTU, strconv.Itoa(want.MTU.V), strconv.Itoa(have.MTU.V))
		}
	}
	text, err := d.Show(ctx, "show priority-flow-control")
	if err != nil && !refused(err) {
		return nil, drivers.TransportError(err)
	}
	return append(out, pfcMismatches(text, cfg, desired)...), nil
}

// routedPorts returns the ports with a line "no switchport", except members of a port channel: it
// is not documented which MTU these show.
func routedPorts(cfg *native.Config) map[string]bool {
	out := map[string]bool{}
	for _, l := range cfg.Lines {
		name, ok := strings.CutPrefix(l.Text, "interface ")
		if !ok {
			continue
		}
		routed := func(s *native.Line) bool { return s.Text == "no switchport" }
		member := func(s *native.Line) bool { return strings.HasPrefix(s.Text, "channel-group ") }
		if slices.ContainsFunc(l.Sub, routed) && !slices.ContainsFunc(l.Sub, member) {
			out[name] = true
		}
	}
	return out
}

// These lines of "show priority-flow-control" are interpreted (democratic-csi issue 241 has the
// output of a switch). The table in the output has no documented form and is ignored.
var (
	globalPFC     = lazyre.New(`(?m)^Global PFC\s*:\s*(Enabled|Disabled)\s*$`)
	shownTimeout  = lazyre.New(`(?m)^The PFC watchdog timeout is ([0-9.]{1,12}) second`)
	shownRecovery = lazyre.New(`(?m)^The PFC watchdog recovery-time is ([0-9.]{1,12}) second`)
)

// pfcMismatches compares the output of "show priority-flow-control" with the configuration. It is
// an additional check only: times that cannot be parsed are ignored.
func pfcMismatches(text string, cfg *native.Config, desired *qos.Device) []drivers.Mismatch {
	var out []drivers.Mismatch
	pfc := false
	for _, p := range desired.Ports {
		pfc = pfc || p.PFC.V != 0
	}
	switch m := globalPFC.FindStringSubmatch(text); {
	case !pfc:
	case m == nil:
		out = append(out, drivers.Mismatch{Field: qos.KindPFC.Attr(), Want: "enabled on the switch", Have: "the switch does not show whether PFC is on", Unsure: true})
	case m[1] == "Disabled":
		out = append(out, drivers.Mismatch{Field: qos.KindPFC.Attr(), Want: "enabled on the switch", Have: "Global PFC : Disabled"})
	}
	for _, c := range []struct {
		re   *lazyre.Regexp
		line string
	}{
		{shownTimeout, "priority-flow-control pause watchdog default timeout "},
		{shownRecovery, "priority-flow-control pause watchdog default recovery-time "},
	} {
		want, ok := number(cfg, c.line)
		m := c.re.FindStringSubmatch(text)
		if !ok || m == nil {
			continue
		}
		if have, err := strconv.ParseFloat(m[1], 64); err == nil && !shows(m[1], have, want) {
			part := strings.TrimSuffix(strings.TrimPrefix(c.line, "priority-flow-control pause "), " ")
			out = append(out, drivers.Mismatch{Field: qos.KindWatchdog.Attr(), Part: part, Want: spellSeconds(want), Have: spellSeconds(have)})
		}
	}
	return out
}

// shows reports whether a printed number represents a value. It is not documented how many
// decimals a release prints, or how it rounds.
func shows(printed string, have, want float64) bool {
	_, decimals, _ := strings.Cut(printed, ".")
	const less = 0.999 // tolerance for binary fractions
	return math.Abs(have-want) < less*math.Pow10(-len(decimals))
}

// number returns the numeric argument of a global line.
func number(cfg *native.Config, prefix string) (float64, bool) {
	for _, l := range cfg.Lines {
		if arg, ok := strings.CutPrefix(l.Text, prefix); ok {
			f, err := strconv.ParseFloat(arg, 64)
			return f, err == nil
		}
	}
	return 0, false
}

func spellSeconds(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) + "s" }
