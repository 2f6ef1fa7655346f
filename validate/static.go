package validate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Static checks one compiled switch: what the intent and the catalogue decide
// without a device.
func Static(d *render.Device) []Finding {
	var c collector
	sw := d.Switch
	staticModel(&c, d)
	staticPoll(&c, d)
	for _, p := range sw.Ports {
		staticHeadroom(&c, d, p)
		staticECN(&c, d, p)
		staticClasses(&c, sw, p)
		staticWatchdog(&c, sw, p)
	}
	staticPool(&c, d)
	return c.list
}

// staticPool holds the headroom of all lossless groups against the pool that
// they share. Shipped templates share it up to sixfold, so only a ratio that
// the operator declares can be exceeded.
func staticPool(c *collector, d *render.Device) {
	ratio := d.Switch.Settings.Buffers.OverSubscription
	if ratio.V <= 0 || d.Model == nil || d.Desired.Platform.DynamicBuffers {
		return
	}
	pool, ok := d.Model.Pool(catalog.IngressPool)
	if !ok || pool.XOFF == 0 {
		return
	}
	var sum int64
	groups := 0
	for _, p := range d.Switch.Ports {
		row, ok := d.Model.HeadroomRow(p.Speed.V, render.CableRow(d.Model, false, p.Speed.V, p.Cable.V))
		if !ok {
			continue
		}
		n := len(p.Settings.Lossless().List())
		groups += n
		sum += int64(n) * row.XOFF
	}
	if have := float64(sum) / float64(pool.XOFF); have > ratio.V {
		c.add(Finding{ID: "BUF-05", Severity: Warning, Device: d.Switch.Name, Where: ratio.From.String(),
			What: fmt.Sprintf("the headroom of %d lossless groups is %d B, %.2f times the pool of %d B; declared is %.2f", groups, sum, have, pool.XOFF, ratio.V),
			Fix:  "declare the ratio that you accept, use fewer lossless ports or shorter cables"}, "")
	}
}

// staticModel says that nothing is known of a model, so that nobody takes the
// silence of the buffer checks for consent.
func staticModel(c *collector, d *render.Device) {
	name := d.Switch.Model.V
	switch {
	case d.Model != nil:
		return
	case !catalog.Covers(d.Switch.OS):
		c.add(Finding{ID: "CAT-01", Severity: Info, Device: d.Switch.Name, Where: d.Switch.Pos.String(),
			What: fmt.Sprintf("the catalogue has no models of %s: ports, buffers and headroom are not checked", d.Switch.OS),
			Fix:  "check the buffers of lossless ports on the switch itself"}, "")
		return
	}
	f := Finding{ID: "CAT-01", Severity: Info, Device: d.Switch.Name, Where: d.Switch.Pos.String(),
		What: "no model is stated: ports, buffers and headroom are not checked", Fix: "state the model, for SONiC the hwsku"}
	if name != "" {
		f.What, f.Where = fmt.Sprintf("model %s is not in the catalogue: ports, buffers and headroom are not checked", name), d.Switch.Model.From.String()
		f.Fix = "check the spelling against the hwsku that the switch shows"
		if near := catalog.Suggest(name); near != "" {
			f.Severity, f.Fix = Warning, fmt.Sprintf("did you mean %s?", near)
		}
	}
	c.add(f, "")
}

// staticPoll says where a system polls faster than the intent states, because
// its times cannot be had otherwise.
func staticPoll(c *collector, d *render.Device) {
	stated, w := d.Switch.Settings.Watchdog.Poll, d.Desired.WatchdogPoll
	if stated.IsDefault() || !w.Set || w.V == stated.V {
		return
	}
	c.add(Finding{ID: "WD-04", Severity: Warning, Device: d.Switch.Name, Where: stated.From.String(),
		What: fmt.Sprintf("the watchdog is polled every %s, not every %s: %s needs that for detect %s and restore %s", w.V, stated.V, d.Switch.OS, d.Switch.Settings.Watchdog.Detect.V, d.Switch.Settings.Watchdog.Restore.V),
		Fix:  "state that poll, or longer times"}, "")
}

func staticWatchdog(c *collector, sw *intent.Switch, p *intent.Port) {
	w := p.Settings.Watchdog
	_, linked := p.Peer()
	if w.Enabled.V || p.Settings.Lossless() == 0 || !linked {
		return
	}
	f := Finding{ID: "WD-02", Severity: Warning, Device: sw.Name, Where: w.Enabled.From.String(),
		What: "the PFC watchdog is off on lossless ports towards switches", Fix: "switch pfc.watchdog on, so that a deadlock has a breaker"}
	if !p.Uplink() {
		f.ID, f.Severity = "WD-01", Error
		f.What, f.Fix = "the PFC watchdog is off on lossless ports towards hosts", "switch pfc.watchdog on: one bad NIC can pause the whole fabric"
	}
	c.add(f, p.Name)
}

func staticClasses(c *collector, sw *intent.Switch, p *intent.Port) {
	lossless := p.Settings.Lossless()
	if n := len(lossless.List()); n > 2 {
		c.add(Finding{ID: "PFC-06", Severity: Warning, Device: sw.Name,
			What: fmt.Sprintf("%d lossless classes: priorities %s", n, lossless),
			Fix:  "make all but two classes lossy, or accept a smaller shared buffer"}, p.Name)
	}
	for _, k := range p.Settings.Classes {
		if k.Lossless.V && k.Priority.V >= 6 {
			c.add(Finding{ID: "PFC-12", Severity: Warning, Device: sw.Name, Where: k.Lossless.From.String(),
				What: fmt.Sprintf("class %s makes priority %d lossless", k.Name, k.Priority.V),
				Fix:  "use priorities 1 to 5 for lossless classes"}, p.Name)
		}
	}
}

func staticHeadroom(c *collector, d *render.Device, p *intent.Port) {
	if p.Settings.Lossless() == 0 || p.Cable.V == 0 || p.Speed.V == 0 || d.Model == nil || d.Desired.Platform.DynamicBuffers {
		return
	}
	at := render.CableRow(d.Model, false, p.Speed.V, p.Cable.V)
	row, ok := d.Model.HeadroomRow(p.Speed.V, at)
	if !ok {
		known := d.Model.Cables(p.Speed.V)
		fix := fmt.Sprintf("%s has no rows for %s; state bufferModel: dynamic where the switch computes headroom, or add a row to its pg_profile_lookup.ini", d.Model.Name, p.Speed.V)
		if len(known) > 0 {
			fix = fmt.Sprintf("%s has rows for %s of %v; the longest cable it can carry lossless is %s", d.Model.Name, p.Speed.V, known, known[len(known)-1])
		}
		c.add(Finding{ID: "BUF-03", Severity: Error, Device: d.Switch.Name, Where: p.Cable.From.String(),
			What: fmt.Sprintf("no headroom row of %s for %s and %s", d.Model.Name, p.Speed.V, p.Cable.V), Fix: fix}, p.Name)
		return
	}
	mtu := p.Settings.MTU
	frame := mtu.RDMA.V + intent.RDMAOverhead
	floor := headroom.Floor(p.Speed.V, p.Cable.V, frame)
	if row.XOFF < floor {
		c.add(Finding{ID: "BUF-01", Severity: Error, Device: d.Switch.Name, Where: p.Cable.From.String(),
			What: fmt.Sprintf("xoff %d B of the %s row for %s is below the floor of %d B: the round trip in %s of cable and two frames of %d B", row.XOFF, d.Model.Name, at, floor, p.Cable.V, frame),
			Fix:  "use a shorter cable, or raise the row in pg_profile_lookup.ini"}, p.Name)
		return
	}
	ref, err := headroom.IEEE(headroom.Input{Speed: p.Speed.V, Cable: p.Cable.V, PortMTU: mtu.Fabric.V, LosslessMTU: frame, ASIC: d.Model.ASIC()})
	if err == nil && row.XOFF < ref.XOFF {
		c.add(Finding{ID: "BUF-01", Severity: Warning, Device: d.Switch.Name, Where: p.Cable.From.String(),
			What: fmt.Sprintf("xoff %d B of the %s row for %s is %d B below the %s model (%d B): it relies on a peer that stops faster than the standard asks", row.XOFF, d.Model.Name, at, ref.XOFF-row.XOFF, ref.Model, ref.XOFF),
			Fix:  "check the response time of the peer, or raise the row"}, p.Name)
	}
}

// The window of drain times outside which a threshold was probably copied from
// another speed.
const (
	minDrain    = 2 * time.Microsecond
	maxMinDrain = 100 * time.Microsecond
	maxMaxDrain = 300 * time.Microsecond
)

func staticECN(c *collector, d *render.Device, p *intent.Port) {
	for _, k := range p.Settings.Classes {
		e := render.ECN(p, k, d.Model).Curve
		if !e.Enabled {
			if k.Lossless.V {
				c.add(Finding{ID: "ECN-01", Severity: Error, Device: d.Switch.Name, Where: k.ECN.Mode.From.String(),
					What: fmt.Sprintf("lossless class %s has no ECN", k.Name), Fix: "give the class 'ecn: auto' or thresholds"}, p.Name)
			}
			continue
		}
		if p.Speed.V == 0 {
			continue
		}
		lo, hi := headroom.Drain(e.Min, p.Speed.V), headroom.Drain(e.Max, p.Speed.V)
		if lo < minDrain || lo > maxMinDrain || hi > maxMaxDrain {
			c.add(Finding{ID: "ECN-06", Severity: Warning, Device: d.Switch.Name, Where: k.ECN.Mode.From.String(),
				What: fmt.Sprintf("class %s marks from %s to %s, a queue of %s to %s at %s; usual is %s to %s for the first and at most %s for the second", k.Name, units.Bytes(e.Min), units.Bytes(e.Max), lo, hi, p.Speed.V, minDrain, maxMinDrain, maxMaxDrain),
				Fix:  "scale the thresholds with the speed, or write 'ecn: auto'"}, p.Name)
		}
	}
}

// StaticLinks compares the settings of the two ends of each link.
func StaticLinks(f *intent.Fabric) []Finding {
	var c collector
	for _, l := range f.Links {
		a, b := end(f, l.A), end(f, l.B)
		if a == nil || b == nil {
			continue
		}
		if x, y := a.Settings.Lossless(), b.Settings.Lossless(); x != y {
			c.add(linkFinding(l, "PFC-01", fmt.Sprintf("%s pauses %s, %s pauses %s", l.A, x, l.B, y), "make the same classes lossless on both ends"), l.A.Port)
		}
		if x, y := a.Settings.MTU.Fabric.V, b.Settings.MTU.Fabric.V; x != y {
			c.add(linkFinding(l, "MTU-01", fmt.Sprintf("%s carries packets of %d B, %s of %d B", l.A, x, l.B, y), "set one mtu.fabric for both ends"), l.A.Port)
		}
		if dscp, x, y := classDiffers(a.Settings, b.Settings); dscp >= 0 {
			c.add(linkFinding(l, "CLS-01", fmt.Sprintf("DSCP %d has priority %d on %s and %d on %s", dscp, x, l.A, y, l.B), "give the classes the same DSCPs on both ends"), l.A.Port)
		}
	}
	return c.list
}

func linkFinding(l *intent.Link, id, what, fix string) Finding {
	return Finding{ID: id, Severity: Error, Device: l.A.Device, What: what, Fix: fix, Where: l.Pos.String()}
}

func end(f *intent.Fabric, e intent.Endpoint) *intent.Port {
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// classDiffers returns the first DSCP that two settings put into different
// priorities, or -1.
func classDiffers(a, b *intent.Settings) (dscp, x, y int) {
	if a == b {
		return -1, 0, 0
	}
	pa, pb := priorities(a), priorities(b)
	for d := range pa {
		if pa[d] != pb[d] {
			return d, pa[d], pb[d]
		}
	}
	return -1, 0, 0
}

func priorities(s *intent.Settings) (out [64]int) {
	for _, k := range s.Classes {
		for _, d := range k.DSCP.V {
			out[d] = k.Priority.V
		}
	}
	return out
}
