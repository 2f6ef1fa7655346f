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
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// GateMode says how much a wave must show before it is confirmed.
type GateMode string

// The modes. What each device made of its change is compared with the intent in all of
// them.
const (
	GateOff   GateMode = "off"
	GateQuick GateMode = "quick" // links and neighbours are back, and nothing is lost in a short window
	GateFull  GateMode = "full"  // as well: compared with a window from before, for minutes
)

// Gate looks at a wave and its surroundings before the wave is confirmed: links and
// neighbours must be back, and the counters must show no loss, storm or open loop that
// was not there before. A wave that does not pass is reverted.
type Gate struct {
	Mode   GateMode
	Fabric *Fabric
	Access *Access
	// Ask is asked where a window shows too little to call it a pass; an error stops
	// the run and reverts the wave. nil always stops.
	Ask func(ctx context.Context, why string) error
}

// The windows of the gate. The lengths are estimates: no public source has measured
// any.
const (
	gateBaseline = 5 * time.Minute
	gateSettle   = time.Minute
	gateSoak     = 5 * time.Minute
	gateLongSoak = 15 * time.Minute // where thresholds or headroom change: they show under load
	gateQuick    = 20 * time.Second
)

// gated is a gate during a run.
type gated struct {
	opts *Gate
	Reader
	workers  int
	progress Progress
	base     *gate.Result
	// known are failures that the baseline shows.
	known map[string]bool
}

// newGated returns nil where no wave is to pass a gate.
func (r *run) newGated(impact qos.Impact) *gated {
	if r.Gate == nil || r.Gate.Mode == GateOff || impact == qos.ImpactNone {
		return nil
	}
	g := &gated{opts: r.Gate, workers: r.Workers, progress: r.Progress, known: map[string]bool{}}
	g.Reader = Reader{Fabric: r.Gate.Fabric, Access: r.Gate.Access, Counters: true}
	return g
}

func (g *gated) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * cmp.Or(g.Access.Scale, 1))
}

// hold is how long the confirmation of a device may take from its first write: what
// reverts it by itself must wait longer.
func (g *gated) hold(w Wave) time.Duration {
	if g == nil {
		return 0
	}
	return g.scaled(gateSettle+g.soak(w)+gateQuick) + time.Duration(4*w.Seconds)*time.Second + 5*time.Minute
}

func (g *gated) soak(w Wave) time.Duration { return soak(w, g.opts.Mode) }

func soak(w Wave, mode GateMode) time.Duration {
	switch {
	case mode == GateQuick:
		return gateQuick
	case w.Thresholds:
		return gateLongSoak
	}
	return gateSoak
}

// GateTime is how long the gate of a rollout takes where all comes back at once.
func (r *Rollout) GateTime(mode GateMode) (sum time.Duration) {
	for _, w := range r.Waves {
		if mode != GateOff && w.Impact != qos.ImpactNone {
			sum += gateSettle + soak(w, mode)
		}
	}
	if sum > 0 && mode == GateFull {
		sum += gateBaseline
	}
	return sum
}

// surroundings are the devices of waves and those that they have links to, as far as
// they can be read.
func (g *gated) surroundings(devices ...string) []string {
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

// seen is what the gate reads of a device.
type seen struct {
	first Reading // with Gate and Sample
	// up are the ports whose link is up, with the neighbours that they show.
	up map[string]string
}

// look reads devices side by side. One that cannot be read is not among what it
// returns, and the error says so of the first.
func (g *gated) look(ctx context.Context, devices []string) (map[string]seen, error) {
	out := map[string]seen{}
	var bad error
	err := pool.Ordered(ctx, g.workers, devices, func(ctx context.Context, name string) seen {
		return g.read(ctx, name)
	}, func(s seen) error {
		if s.first.Err == nil {
			if g.base == nil && g.opts.Mode == GateFull { // the baseline
				lean(s.first.Gate, s.first.Sample)
			}
			out[s.first.Device] = s
		} else {
			bad = cmp.Or(bad, error(s.first.Err))
		}
		return ctx.Err()
	})
	return out, cmp.Or(err, bad)
}

func (g *gated) read(ctx context.Context, name string) seen {
	f := g.Fabric.Fabric()
	out := seen{first: Reading{Device: name}, up: map[string]string{}}
	if sw := f.Switch(name); sw != nil {
		out.first.Err = NewError(name, OpGate, g.on(ctx, sw, func(ctx context.Context, drv drivers.Driver) error {
			c, err := configured(ctx, drv)
			if err != nil {
				return err
			}
			out.first.Gate = validate.GateSwitch(g.Fabric.Device(sw), c.running)
			if c.seen != nil {
				out.ports(sw, c.seen)
			}
			out.first.Sample, err = countPorts(ctx, drv, &out.first.Gate)
			return err
		}))
		return out
	}
	h := f.Host(name)
	desired, _ := nic.Desired(f, h)
	out.first.Err = NewError(name, OpGate, g.onHost(ctx, h, desired, func(ctx context.Context, drv *host.Driver) error {
		running, err := drv.Running(ctx)
		if err != nil {
			return err
		}
		for _, n := range h.NICs {
			if p := running.Ports[n.Name]; p != nil && p.Carrier.Or(false) {
				out.up[n.Name] = ""
			}
		}
		out.first.Gate, out.first.nics = validate.GateHost(f, h), countedBy(running)
		out.first.Host = out.first.nics // which says that it is a host
		out.first.Sample, err = countNICs(ctx, drv, out.first.nics)
		return err
	}))
	return out
}

// ports takes in the links of a switch that the intent wants up.
func (s *seen) ports(sw *intent.Switch, o *drivers.Observation) {
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

// baseline takes the window from before the first wave.
func (g *gated) baseline(ctx context.Context, waves []Wave) error {
	if g == nil || g.opts.Mode != GateFull {
		return nil
	}
	var all []string
	for _, w := range waves {
		all = append(all, w.Devices...)
	}
	around := g.surroundings(all...)
	g.say(fmt.Sprintf("baseline: the counters of %s for %s", words.Count(len(around), "device"), spell(g.scaled(gateBaseline))))
	was, err := g.look(ctx, around)
	if err := cmp.Or(ctx.Err(), g.need(was, err)); err != nil {
		return err
	}
	if err := sleep(ctx, g.scaled(gateBaseline)); err != nil {
		return err
	}
	g.base, err = g.window(ctx, was)
	if err != nil {
		return err
	}
	for _, f := range g.base.Findings {
		if f.Means == gate.Fail {
			g.known[key(f)] = true
			g.say("failed before the change: " + text(f))
		}
	}
	return nil
}

// lean keeps a baseline small: it is of the whole rollout.
func lean(d gate.Device, s *gate.Sample) {
	if s != nil {
		gate.Lean(&d, s)
	}
}

// need is an error where nothing at all could be read.
func (g *gated) need(was map[string]seen, err error) error {
	if len(was) == 0 {
		return err
	}
	return nil
}

// window reads the counters again and judges what was counted since.
func (g *gated) window(ctx context.Context, was map[string]seen) (*gate.Result, error) {
	var devices []gate.Device
	var samples []gate.Sample
	hosts := 0
	for _, name := range natural.Keys(was) {
		devices = append(devices, was[name].first.Gate)
		if s := was[name].first.Sample; s != nil {
			samples = append(samples, *s)
		}
	}
	err := pool.Ordered(ctx, g.workers, natural.Keys(was), func(ctx context.Context, name string) Reading {
		return g.recount(ctx, was[name].first)
	}, func(r Reading) error {
		if r.Sample != nil {
			if g.base == nil {
				lean(was[r.Device].first.Gate, r.Sample)
			}
			samples = append(samples, *r.Sample)
			if r.Host != nil {
				hosts++
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for i := range samples {
		samples[i].Poll = maps.Clone(samples[i].Poll)
		for m, every := range samples[i].Poll {
			samples[i].Poll[m] = g.scaled(every)
		}
	}
	return gate.Judge(devices, samples, gate.Options{Baseline: g.base, AllHosts: hosts > 0 && hosts == len(g.Fabric.Fabric().Hosts)}), nil
}

// before reads what a wave must show again after it.
func (g *gated) before(ctx context.Context, w Wave) (map[string]seen, error) {
	if g == nil || w.Impact == qos.ImpactNone {
		return nil, nil
	}
	was, err := g.look(ctx, g.surroundings(w.Devices...))
	if err != nil && len(was) > 0 {
		g.say("not looked at: " + oneLine(err))
	}
	return was, cmp.Or(ctx.Err(), g.need(was, err))
}

// pass returns an error, which is [KindGate] or [KindInconclusive], unless a wave may
// be confirmed.
func (g *gated) pass(ctx context.Context, w Wave, was map[string]seen) error {
	if was == nil {
		return nil
	}
	settle, soak := g.scaled(gateSettle), g.scaled(g.soak(w))
	g.say(fmt.Sprintf("links and neighbours of %s, then counters for %s", words.Count(len(was), "device"), spell(soak)))
	now, err := g.back(ctx, was, settle)
	if err != nil {
		return err
	}
	if err := sleep(ctx, soak); err != nil {
		return err
	}
	res, err := g.window(ctx, now)
	if err != nil {
		return err
	}
	return g.verdict(ctx, res)
}

// back waits until every link of before is up again with its neighbours, for as long as
// a fabric may take to settle, and returns what is there then.
func (g *gated) back(ctx context.Context, was map[string]seen, settle time.Duration) (map[string]seen, error) {
	// The links of a switch come up one after another, and LLDP sends every 30 s.
	deadline := time.Now().Add(max(settle, time.Second) + g.scaled(time.Minute))
	for began := time.Now(); ; {
		now, err := g.look(ctx, natural.Keys(was))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		missing := missing(was, now, err)
		settled := time.Since(began) >= settle
		switch {
		case missing == "" && settled:
			return now, nil
		case missing != "" && time.Now().After(deadline):
			return nil, errorAs("", OpGate, KindGate, errors.New(missing))
		}
		if err := sleep(ctx, min(max(settle/10, 20*time.Millisecond), 5*time.Second)); err != nil {
			return nil, err
		}
	}
}

// missing says what of before is not there; "" for nothing.
func missing(was, now map[string]seen, unread error) string {
	for _, name := range natural.Keys(was) {
		is, ok := now[name]
		if !ok {
			return fmt.Sprintf("%s could be read before the change and cannot now: %v", name, unread)
		}
		for _, port := range natural.Keys(was[name].up) {
			near, up := is.up[port]
			switch wasNear := was[name].up[port]; {
			case !up:
				return fmt.Sprintf("the link of %s %s was up before the change and is down", name, port)
			case wasNear != "" && near != wasNear:
				return fmt.Sprintf("%s %s had neighbour %s before the change, and has %s", name, port, wasNear, cmp.Or(near, "none"))
			}
		}
	}
	return ""
}

// verdict judges a window. A failure that the baseline shows is not the wave's.
func (g *gated) verdict(ctx context.Context, res *gate.Result) error {
	var fails, open []gate.Finding
	for _, f := range res.Findings {
		switch {
		case f.Means == gate.Fail && !g.known[key(f)]:
			fails = append(fails, f)
		case f.Means == gate.Inconclusive && g.opts.Mode == GateFull:
			open = append(open, f)
		case f.Means == gate.Warn:
			g.say("warning: " + text(f))
		}
	}
	switch {
	case len(fails) > 0:
		return errorAs("", OpGate, KindGate, fmt.Errorf("%s%s", text(fails[0]), more(len(fails)-1)))
	case len(open) == 0:
		g.say("passed")
		return nil
	}
	why := text(open[0]) + more(len(open)-1)
	if g.opts.Ask != nil {
		return g.opts.Ask(ctx, why)
	}
	return errorAs("", OpGate, KindInconclusive, fmt.Errorf("not enough counters to call it a pass: %s", why))
}

func (g *gated) say(what string) {
	g.progress.report(Event{Kind: GateSays, Phase: Writing, Text: what})
}

// key tells findings apart, whatever they counted.
func key(f gate.Finding) string { return f.ID + " " + f.Device + " " + f.Port }

func text(f gate.Finding) string {
	return strings.Join(strings.Fields(f.Device+" "+f.Port+": "+f.What), " ") + " (" + f.ID + ")"
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

func spell(d time.Duration) string { return drivers.Spell(d.Round(time.Millisecond)) }

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// thresholds reports whether a plan changes what shows under load alone: ECN, alpha or
// headroom.
func thresholds(d *DevicePlan) bool {
	return slices.ContainsFunc(d.Changes, func(g Group) bool {
		switch g.Field.Kind {
		case qos.KindECN, qos.KindHeadroom, qos.KindHeadroomModel, qos.KindGroupBuffer, qos.KindQueueBuffer:
			return !g.Open
		}
		return false
	})
}
