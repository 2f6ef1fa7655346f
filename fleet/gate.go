package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks/counters"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Gate checks the devices of a wave and their neighbours before the wave is confirmed: links
// and neighbours must be back, and the counters must show no loss, storm or open loop that
// was not there before. A wave that does not pass is reverted.
type Gate struct {
	Mode   GateMode
	Fabric *Fabric
	Access *Access
	// Ask is called if a window has not enough data to call it a pass. An error stops the run
	// and reverts the wave. If nil, the run always stops.
	Ask func(ctx context.Context, why string) error
}

// gateRun is the state of a gate during a run.
type gateRun struct {
	opts *Gate
	Reader
	workers  int
	progress Progress
	base     *gate.Result
	// known lists the failures that the baseline shows.
	known []gate.Finding
	// passed is set if the last wave passed by itself. An inconclusive wave did not, even if
	// the operator accepted it.
	passed bool
	was    map[string]gateReading // the readings before the current wave
}

// newGated returns the gate of a run; nil if no wave has to pass one.
func (o RunOptions) newGated(waves []Wave) *gateRun {
	if o.Gate == nil || o.Gate.Mode == GateOff || !slices.ContainsFunc(waves, Wave.NeedsGate) {
		return nil
	}
	g := &gateRun{opts: o.Gate, workers: o.Workers, progress: o.Progress}
	g.Reader = Reader{Fabric: o.Gate.Fabric, Access: o.Gate.Access, Counters: true}
	return g
}

// gateWaves makes the waves of a run pass its gate, and returns the gate; nil for none.
func (r *run) gateWaves(waves []Wave) *gateRun {
	g := r.newGated(waves)
	if g != nil {
		r.Run.Gate = g
	}
	return g
}

// gateMode returns the mode of a run's gate.
func (o RunOptions) gateMode() GateMode {
	if o.Gate == nil {
		return GateOff
	}
	return o.Gate.Mode
}

func (g *gateRun) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * cmp.Or(g.Access.Scale, 1))
}

// holdTime returns how long it may take from the first write to a device until it is confirmed. A
// device's own rollback timer must be longer.
func (g *gateRun) holdTime(w Wave) time.Duration {
	if g == nil {
		return 0
	}
	return g.scaled(rollout.GateSettle+w.SoakTime(g.opts.Mode)+rollout.GateShort) + time.Duration(4*w.Seconds)*time.Second + 5*time.Minute
}

// surroundings returns the given devices and those that they have links to, except neighbours
// that cannot be read.
func (g *gateRun) surroundings(devices ...string) []string {
	f := g.Fabric.Fabric()
	in := map[string]bool{}
	for _, d := range devices {
		in[d] = true
	}
	out := maps.Clone(in)
	for _, l := range f.Links {
		if in[l.A.Device] {
			out[l.B.Device] = true
		}
		if in[l.B.Device] {
			out[l.A.Device] = true
		}
	}
	for name := range out {
		h := f.Host(name)
		if !in[name] && (g.Access.Local || h != nil && g.Access.Lacks(h) != "") {
			delete(out, name)
		}
	}
	return natural.Keys(out)
}

// gateReading is what the gate has read from a device.
type gateReading struct {
	first Reading // with Gate and Sample
	// up maps the ports whose link is up to the neighbours that they show.
	up map[string]string
}

// readDevices reads devices in parallel. The result lacks devices that cannot be read; the error is
// that of the first of them.
func (g *gateRun) readDevices(ctx context.Context, devices []string) (map[string]gateReading, error) {
	out := map[string]gateReading{}
	var bad error
	err := pool.Ordered(ctx, g.workers, devices, func(ctx context.Context, name string) gateReading {
		return g.readDevice(ctx, name)
	}, func(s gateReading) error {
		if s.first.Err == nil {
			if g.base == nil && g.opts.Mode == GateFull { // the baseline
				reduceBaseline(s.first.Gate, s.first.Sample)
			}
			out[s.first.Device] = s
		} else {
			bad = cmp.Or(bad, error(s.first.Err))
		}
		return context.Cause(ctx)
	})
	return out, cmp.Or(err, bad)
}

func (g *gateRun) readDevice(ctx context.Context, name string) gateReading {
	f := g.Fabric.Fabric()
	out := gateReading{first: Reading{Device: name}, up: map[string]string{}}
	if sw := f.Switch(name); sw != nil {
		out.first.Err = NewError(name, OpGate, g.withSwitch(ctx, sw, func(ctx context.Context, drv drivers.Driver) error {
			c, err := engine.ReadConfiguration(ctx, drv)
			if err != nil {
				return err
			}
			out.first.Gate = counters.GateSwitch(g.Fabric.Device(sw), c.Running)
			if c.Seen != nil {
				out.recordPorts(sw, c.Seen)
			}
			out.first.Sample, err = countPorts(ctx, drv, &out.first.Gate)
			return err
		}))
		return out
	}
	h := f.Host(name)
	desired, _ := nic.Desired(f, h)
	out.first.Err = NewError(name, OpGate, g.withHost(ctx, h, desired, func(ctx context.Context, drv *host.Driver) error {
		running, err := drv.Running(ctx)
		if err != nil {
			return err
		}
		for _, n := range h.NICs {
			if p := running.Ports[n.Name]; p != nil && p.Carrier.Or(false) {
				out.up[n.Name] = ""
			}
		}
		out.first.Gate, out.first.nics = counters.GateHost(f, h), countedBy(running)
		out.first.Host = out.first.nics // marks the device as a host
		out.first.Sample, err = countNICs(ctx, drv, out.first.nics)
		return err
	}))
	return out
}

// recordPorts records the ports of a switch whose link is up and that the intent does not shut
// down.
func (s *gateReading) recordPorts(sw *intent.Switch, o *drivers.Observation) {
	for _, p := range sw.Ports {
		st := o.Ports[p.Name]
		if st == nil || !st.OperUp.Or(false) || p.AdminUp.V != nil && !*p.AdminUp.V {
			continue
		}
		var near []string
		for _, n := range st.Neighbors {
			near = append(near, n.Device+" "+n.Port)
		}
		s.up[p.Name] = strings.Join(natural.Sorted(near), ", ")
	}
}

// Baseline measures the window before the first wave, in mode full.
func (g *gateRun) Baseline(ctx context.Context, waves []Wave) error {
	if g.opts.Mode != GateFull {
		return nil
	}
	var all []string
	for _, w := range waves {
		all = append(all, w.Devices...)
	}
	around := g.surroundings(all...)
	g.report(fmt.Sprintf("baseline: the counters of %s for %s", words.Count(len(around), "device"), spellDuration(g.scaled(rollout.GateBaseline))))
	was, err := g.readDevices(ctx, around)
	if err := cmp.Or(context.Cause(ctx), g.errIfNoneRead(was, err)); err != nil {
		return err
	}
	if err := sleep(ctx, g.scaled(rollout.GateBaseline)); err != nil {
		return err
	}
	now, err := g.readDevices(ctx, natural.Keys(was))
	if err := cmp.Or(context.Cause(ctx), g.errIfNoneRead(now, err)); err != nil {
		return err
	}
	g.base = g.judgeWindow(was, now)
	for _, f := range g.base.Findings {
		if f.Means == gate.Fail {
			g.known = append(g.known, f)
			g.report("failed before the change: " + findingText(f))
		}
	}
	return nil
}

// reduceBaseline reduces a baseline, because it covers all devices of the rollout.
func reduceBaseline(d gate.Device, s *gate.Sample) {
	if s != nil {
		gate.Lean(&d, s)
	}
}

// errIfNoneRead returns err if no device at all could be read.
func (g *gateRun) errIfNoneRead(was map[string]gateReading, err error) error {
	if len(was) == 0 {
		return err
	}
	return nil
}

// judgeWindow judges the counters between two looks.
func (g *gateRun) judgeWindow(first, last map[string]gateReading) *gate.Result {
	var devices []gate.Device
	var samples []gate.Sample
	hosts := 0
	for _, name := range natural.Keys(first) {
		devices = append(devices, first[name].first.Gate)
		for _, look := range []map[string]gateReading{first, last} {
			if s := look[name].first.Sample; s != nil {
				samples = append(samples, *s)
			}
		}
		if last[name].first.Host != nil {
			hosts++
		}
	}
	for i := range samples {
		samples[i].Poll = maps.Clone(samples[i].Poll)
		for m, every := range samples[i].Poll {
			samples[i].Poll[m] = g.scaled(every)
		}
	}
	f := g.Fabric.Fabric()
	return gate.Judge(devices, samples, gate.Options{Baseline: g.base, AllHosts: hosts > 0 && hosts == len(f.Hosts), Tiers: validate.Tiers(f)})
}

// Passed returns the mode of the gate, or "" if the last wave did not pass by itself.
func (g *gateRun) Passed() GateMode {
	if !g.passed {
		return ""
	}
	return g.opts.Mode
}

// Before reads the links and neighbours that must be back after a wave.
func (g *gateRun) Before(ctx context.Context, w Wave) (gated bool, err error) {
	if g.was = nil; !w.NeedsGate() {
		return false, nil
	}
	was, err := g.readDevices(ctx, g.surroundings(w.Devices...))
	if err != nil && len(was) > 0 {
		g.report("not checked: " + engine.OneLine(err))
	}
	g.was = was
	return true, cmp.Or(context.Cause(ctx), g.errIfNoneRead(was, err))
}

// Check returns an error of the kind [KindGate] or [KindInconclusive] unless a wave may be
// confirmed. The changes of the wave are in force. The window of a device begins when its
// links and neighbours are back, or at once if no link went down.
func (g *gateRun) Check(ctx context.Context, w Wave) error {
	was := g.was
	settle, soak := g.scaled(rollout.GateSettle), g.scaled(w.SoakTime(g.opts.Mode))
	end := time.Now().Add(settle + soak)
	g.report(fmt.Sprintf("links, neighbours and counters of %s for %s", words.Count(len(was), "device"), spellDuration(settle+soak)))
	now, err := g.waitForLinks(ctx, was, settle)
	if err != nil {
		return err
	}
	if err := sleep(ctx, max(soak, time.Until(end))); err != nil {
		return err
	}
	// Compare once more: a link may go down again, and LLDP shows lost neighbours for a while.
	last, err := g.readDevices(ctx, natural.Keys(was))
	if err := cmp.Or(context.Cause(ctx), firstMissing(was, last, err)); err != nil {
		return err
	}
	if err := g.checkFindings(ctx, g.judgeWindow(now, last)); err != nil {
		return err
	}
	unread := slices.DeleteFunc(g.surroundings(w.Devices...), func(name string) bool { _, ok := was[name]; return ok })
	if len(unread) > 0 {
		g.report("not read, so not checked: " + natural.Fold(unread))
	}
	return nil
}

// waitForLinks waits until every link that was up before is up again with the same neighbours,
// for as long as a fabric may take to settle. It returns what each device showed when its own
// links were back.
func (g *gateRun) waitForLinks(ctx context.Context, was map[string]gateReading, settle time.Duration) (map[string]gateReading, error) {
	// The links of a switch come up one after another, and LLDP sends every 30 s.
	deadline := time.Now().Add(max(settle, time.Second) + g.scaled(time.Minute))
	out, left := map[string]gateReading{}, maps.Clone(was)
	for {
		now, err := g.readDevices(ctx, natural.Keys(left))
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for name, s := range now {
			if s.lostSince(left[name]) == "" {
				out[name] = s
				delete(left, name)
			}
		}
		missing := firstMissing(left, now, err)
		switch {
		case missing == nil:
			return out, nil
		case time.Now().After(deadline):
			return nil, missing
		}
		if err := sleep(ctx, min(max(settle/10, 20*time.Millisecond), 5*time.Second)); err != nil {
			return nil, err
		}
	}
}

// firstMissing returns an error about the first link, neighbour or device that was there before
// and is not now; nil if nothing is missing. unread is the error of reading the devices.
func firstMissing(was, now map[string]gateReading, unread error) error {
	for _, name := range natural.Keys(was) {
		is, ok := now[name]
		lacks := is.lostSince(was[name])
		if !ok {
			lacks = fmt.Sprintf("%s could be read before the change and cannot now: %v", name, unread)
		}
		if lacks != "" {
			return engine.ErrorOf("", OpGate, KindGate, errors.New(lacks))
		}
	}
	return nil
}

// lostSince describes the first link or neighbour that a device showed before and does not show
// now; "" for none.
func (s gateReading) lostSince(was gateReading) string {
	name := was.first.Device
	for _, port := range natural.Keys(was.up) {
		near, up := s.up[port]
		switch wasNear := was.up[port]; {
		case !up:
			return fmt.Sprintf("the link of %s %s was up before the change and is down", name, port)
		case wasNear != "" && near != wasNear:
			return fmt.Sprintf("%s %s had neighbour %s before the change, and has %s", name, port, wasNear, cmp.Or(near, "none"))
		}
	}
	return ""
}

// causedByWave reports whether the wave caused a failure: the baseline does not show it, or shows
// less of it.
func (g *gateRun) causedByWave(f gate.Finding) bool {
	i := slices.IndexFunc(g.known, f.Same)
	return i < 0 || f.Worse(g.known[i])
}

// checkFindings returns an error unless the findings of a window let the wave pass. It ignores
// failures that the baseline shows too.
func (g *gateRun) checkFindings(ctx context.Context, res *gate.Result) error {
	var fails, open []gate.Finding
	for _, f := range res.Findings {
		switch {
		case f.Means == gate.Fail && g.causedByWave(f):
			fails = append(fails, f)
		case f.Means == gate.Inconclusive:
			open = append(open, f)
		case f.Means == gate.Warn:
			g.report("warning: " + findingText(f))
		}
	}
	passed := "passed"
	if len(res.Unloaded) > 0 {
		passed += ", but without load: losses may not show, as hosts received hardly any traffic of " + strings.Join(res.Unloaded, ", ")
	}
	g.passed = len(fails)+len(open) == 0 || len(fails) == 0 && g.opts.Mode == GateQuick
	switch {
	case len(fails) > 0:
		why := findingText(fails[0]) + andMore(len(fails)-1)
		if i := slices.IndexFunc(g.known, fails[0].Same); i >= 0 {
			why += fmt.Sprintf("; in the baseline it was %d in %s", g.known[i].Count, spellDuration(g.known[i].Span))
		}
		return engine.ErrorOf("", OpGate, KindGate, errors.New(why))
	case len(open) > 0 && g.opts.Mode == GateQuick:
		g.report(passed + "; not all was counted: " + findingText(open[0]) + andMore(len(open)-1))
		return nil
	case len(open) == 0:
		g.report(passed)
		return nil
	}
	why := findingText(open[0]) + andMore(len(open)-1)
	if g.opts.Ask != nil {
		return g.opts.Ask(ctx, why)
	}
	return engine.ErrorOf("", OpGate, KindInconclusive, fmt.Errorf("not enough counters to call it a pass: %s", why))
}

func (g *gateRun) report(what string) {
	g.progress.Report(Event{Kind: GateSays, Phase: Writing, Text: what})
}

func findingText(f gate.Finding) string {
	return strings.Join(strings.Fields(f.Device+" "+f.Port+": "+f.What), " ") + " (" + f.ID + ")"
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

func spellDuration(d time.Duration) string { return drivers.Spell(d.Round(time.Millisecond)) }

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
