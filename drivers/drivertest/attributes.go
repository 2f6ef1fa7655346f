package drivertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// noWay occurs in the reason for blocking a change that a driver has no operation for.
const noWay = "cannot be changed on "

// Attributes changes every attribute of the model, one at a time, on a device that matches its
// desired state. Each change must either be applied and read back as desired, or be refused with
// a reason, or be listed in absent, the attributes that the system cannot change.
func Attributes(t *testing.T, f Fixture, absent ...qos.Attr) {
	b := &bench{T: t, Device: f.New(t, Options{})}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	b.ctx = ctx
	d := b.open()
	p := b.plan(d)
	if err := d.Confirm(ctx, b.mustApply(p)); err != nil {
		t.Fatalf("confirm: %v", err)
	}
	base := b.Desired.(*qos.Device)
	port := natural.Keys(base.Ports)[0]
	for _, attr := range everyAttribute() {
		running := b.plan(d)
		have, _ := d.(drivers.Decoder).Decode(running.snap)
		desired := another(t, have, base, port, attr)
		b.Desired = desired
		at := qos.Place{Port: port, Field: attr}
		switch attr.Kind {
		case qos.KindGlobalMap, qos.KindHeadroomModel, qos.KindWatchdogPoll:
			at.Port = ""
		case qos.KindPort:
			at.Port = otherPort(port)
		}
		was := map[qos.Place]bool{}
		for _, c := range running.steps.Changes {
			was[c.Place()] = true // blocked, or made by the apply
		}
		for _, c := range qos.Diff(have, desired) {
			if c.Place() != at && !was[c.Place()] && c.Field.Kind != with[attr.Kind] {
				t.Fatalf("%s: the desired state differs in %s as well: %s -> %s", attr, c.Path(), c.Old, c.New)
			}
		}
		p := b.plan(d)
		i := slices.IndexFunc(p.steps.Changes, func(c qos.Change) bool { return c.Place() == at })
		if i < 0 {
			t.Errorf("%s: the plan has no such change: %v", attr, p.steps.Changes)
			continue
		}
		c := p.steps.Changes[i]
		declared := slices.ContainsFunc(absent, func(a qos.Attr) bool { return a.Covers(attr) })
		switch {
		case strings.Contains(c.Blocked, noWay) != declared:
			t.Errorf("%s: declared absent: %t, and the change is blocked for %q", attr, declared, c.Blocked)
		case c.Blocked != "":
			for _, s := range p.steps.Items {
				if with[attr.Kind] != 0 {
					break
				}
				t.Errorf("%s: blocked for %q, and there is a step: %s", attr, c.Blocked, s.What)
			}
		default:
			tok := b.mustApply(p)
			b.settled(d, p.steps)
			b.revert(d, tok)
		}
	}
}

// with maps attributes to those that must change together with them, because the desired state
// would otherwise be contradictory.
var with = map[qos.Kind]qos.Kind{qos.KindCable: qos.KindDerivedFrom, qos.KindDerivedFrom: qos.KindCable, qos.KindLossless: qos.KindPFC}

// everyAttribute lists all attributes that a device can have; for queues and groups, only those
// of index 3.
func everyAttribute() []qos.Attr {
	const index = 3
	var out []qos.Attr
	for k := qos.KindGlobalMap; k < qos.KindMapBinding; k++ {
		switch k.Of() {
		case qos.OfQueue, qos.OfGroup:
			out = append(out, k.At(index))
		case qos.OfMaps:
			for t := range qos.NumTables {
				out = append(out, k.Table(t))
			}
		default:
			out = append(out, k.Attr())
		}
	}
	return out
}

func otherPort(port string) string { return port + "99" }

// another returns a copy of desired in which the attribute has a value different from have.
func another(t *testing.T, have, desired *qos.Device, port string, attr qos.Attr) *qos.Device {
	out := *desired
	out.Ports = map[string]*qos.Port{}
	for n, p := range desired.Ports {
		own := *p
		out.Ports[n] = &own
	}
	is, p := have.Ports[port], out.Ports[port]
	q, g := &p.Queues[attr.Index], &p.Groups[attr.Index]
	switch attr.Kind {
	case qos.KindGlobalMap:
		out.GlobalMaps = otherMaps(have.GlobalMaps, out.GlobalMaps, attr)
	case qos.KindHeadroomModel:
		m := have.HeadroomModel.V
		m.LosslessMTU += 1000
		m.SmallPacketPercent = 40
		out.HeadroomModel = qos.Of(m)
	case qos.KindWatchdogPoll:
		out.WatchdogPoll = other(have.WatchdogPoll, 100*time.Millisecond, 200*time.Millisecond)
	case qos.KindPort:
		out.Ports[otherPort(port)] = &qos.Port{}
	case qos.KindSpeed:
		p.Speed = other(is.Speed, 25*units.Rate(1e9), 100*units.Rate(1e9))
	case qos.KindBreakout:
		p.Breakout = other(is.Breakout, "4x25G", "2x50G")
	case qos.KindLAG:
		p.LAG = other(is.LAG, "Lag7", "Lag8")
	case qos.KindFEC:
		p.FEC = other(is.FEC, "fc", "rs")
	case qos.KindMTU:
		p.MTU = other(is.MTU, 9000, 8000)
	case qos.KindAdminUp:
		p.AdminUp = qos.Of(!is.AdminUp.Or(true))
	case qos.KindCable, qos.KindDerivedFrom:
		p.Cable = other(is.Cable, units.Length(40), units.Length(5))
		for i := range p.Groups {
			if d := &p.Groups[i].DerivedFrom; d.Set || i == int(attr.Index) && attr.Kind == qos.KindDerivedFrom {
				*d = qos.Of(qos.LookupKey(is.Speed.V, p.Cable.V))
			}
		}
	case qos.KindTrust:
		p.Trust = other(is.Trust, qos.TrustPCP, qos.TrustDSCP)
	case qos.KindMap:
		p.Maps = otherMaps(is.Maps, p.Maps, attr)
	case qos.KindPFC:
		p.PFC = other(is.PFC, 0, qos.Priorities(3))
	case qos.KindPFCAsymmetric:
		p.PFCAsymmetric = qos.Of(!is.PFCAsymmetric.V)
	case qos.KindLinkPause:
		p.LinkPause = qos.Of(!is.LinkPause.V)
	case qos.KindQueueBuffer:
		q.Buffer = other(is.Queues[attr.Index].Buffer, "egress_lossy_profile", "egress_lossless_profile")
	case qos.KindECN:
		e := is.Queues[attr.Index].ECN.V
		e.Probability++
		q.ECN = qos.Of(e)
	case qos.KindScheduler:
		s := is.Queues[attr.Index].Scheduler.V
		s.Weight--
		q.Scheduler = qos.Of(s)
	case qos.KindGroupBuffer:
		g.Buffer = other(is.Groups[attr.Index].Buffer, "ingress_lossy_profile", "ingress_other_profile")
	case qos.KindHeadroom:
		h := is.Groups[attr.Index].Headroom.V
		h.XOFF += 4096
		g.Headroom = qos.Of(h)
	case qos.KindLossless:
		g.Lossless, p.PFC = qos.Of(!is.Groups[attr.Index].Lossless.V), other(is.PFC, 0, qos.Priorities(3))
		*g = qos.Group{Lossless: g.Lossless}
	case qos.KindIngressProfiles:
		p.IngressProfiles = qos.Of("ingress_lossy_profile")
	case qos.KindEgressProfiles:
		p.EgressProfiles = qos.Of("egress_lossy_profile")
	case qos.KindWatchdog:
		w := is.Watchdog.V
		w.Detect += 100 * time.Millisecond
		w.Restore += 100 * time.Millisecond
		p.Watchdog = qos.Of(w)
	default:
		t.Fatalf("%s: the test has no value for it", attr)
	}
	return &out
}

// other returns first, or second if have is first.
func other[T comparable](have qos.Opt[T], first, second T) qos.Opt[T] {
	if have == qos.Of(first) {
		return qos.Of(second)
	}
	return qos.Of(first)
}

// otherMaps returns want with one entry of one table changed: the entry of a code point that no
// class uses, of the lossless priority, or of traffic class 0, which is always in use.
func otherMaps(have, want qos.Opt[*qos.Maps], attr qos.Attr) qos.Opt[*qos.Maps] {
	key := 5
	switch t, _ := attr.Table(); t {
	case qos.PFCToQueue, qos.PFCToGroup:
		key = 3
	case qos.TCToQueue, qos.TCToGroup, qos.TCToDSCP:
		key = 0
	}
	m := qos.UnmappedMaps()
	for t := range qos.NumTables {
		m.Unmanage(t)
	}
	if want.V != nil {
		*m = *want.V
	}
	is := int8(qos.Unmapped)
	table, _ := attr.Table()
	if have.V != nil {
		is = have.V.Table(table)[key]
	}
	m.Table(table)[key] = (is + 2) % qos.NumPriorities
	return qos.Of(m)
}
