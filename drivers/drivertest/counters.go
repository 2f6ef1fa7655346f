package drivertest

import (
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// counted lists the metrics that the cases try on a device.
var counted = []drivers.Metric{
	drivers.PFCRx, drivers.PFCTx, drivers.LinkPauseRx, drivers.QueuePackets, drivers.QueueBytes, drivers.QueueDrops, drivers.QueueMarked,
	drivers.StormsDetected, drivers.StormsRestored, drivers.GroupDrops, drivers.HeadroomPeak, drivers.PauseRxTime,
	drivers.FECCorrected, drivers.FECUncorrected, drivers.SymbolErrors, drivers.ErrorsRx, drivers.ErrorsTx,
}

// meter returns a driver of a device in its desired state, two of its ports, and their lossless
// priority, which is also the queue and the group.
func (b *bench) meter() (m drivers.Meter, port, other string, priority int) {
	b.Helper()
	p := b.fresh()
	tok := b.mustApply(p)
	if err := p.Confirm(b.ctx, tok); err != nil {
		b.Fatal(err)
	}
	m, ok := p.Driver.(drivers.Meter)
	if !ok {
		b.Fatal("the device counts, and its driver reads no counters")
	}
	names := natural.Keys(b.Desired.(*qos.Device).Ports)
	return m, names[0], names[1], b.Desired.(*qos.Device).Ports[names[0]].PFC.V.List()[0]
}

func (b *bench) counters(m drivers.Meter, ports ...string) *drivers.Counters {
	b.Helper()
	c, err := m.Counters(b.ctx, ports)
	if err != nil {
		b.Fatalf("counters: %v", err)
	}
	return c
}

// at returns the ID of a metric's counter.
func at(m drivers.Metric, priority int) drivers.CounterID {
	switch m {
	case drivers.LinkPauseRx, drivers.FECCorrected, drivers.FECUncorrected, drivers.SymbolErrors, drivers.ErrorsRx, drivers.ErrorsTx:
		return m.Of(0)
	}
	return m.Of(priority)
}

func counts(d *Device) bool { return d.Count != nil }

// counterCases lists the cases for [drivers.Meter] and [drivers.Saver].
var counterCases = []testCase{
	{name: "counters are what the device counts", needs: counts, run: func(b *bench) {
		m, port, other, prio := b.meter()
		began := time.Now()
		before := b.counters(m)
		seen := map[drivers.CounterID]uint64{}
		for i, metric := range counted {
			if n := uint64(1000 + i); b.Count(port, int(at(metric, prio).Index), metric, n) {
				seen[at(metric, prio)] = n
			}
		}
		after := b.counters(m)
		// A device that keeps its highest fill has it twice.
		if id := drivers.HeadroomPeakKept.Of(prio); after.Ports[port][id] > 0 {
			seen[id] = seen[drivers.HeadroomPeak.Of(prio)]
		}
		for id, n := range seen {
			if got, ok := after.Ports[port][id]; !ok || got != n {
				b.Errorf("%s is %d (%v), want %d", id, got, ok, n)
			}
			if was, ok := before.Ports[port][id]; !ok || was != 0 {
				b.Errorf("%s was %d (%v)", id, was, ok)
			}
			if after.Poll[id.Metric] < 0 || after.Poll[id.Metric] > time.Hour {
				b.Errorf("%s is renewed every %s", id, after.Poll[id.Metric])
			}
		}
		for _, id := range []drivers.CounterID{drivers.PFCRx.Of(prio), drivers.PFCTx.Of(prio), drivers.QueueDrops.Of(prio), drivers.QueuePackets.Of(prio)} {
			if _, ok := seen[id]; !ok {
				b.Errorf("the device does not count %s", id)
			}
		}
		// All other counters are unchanged.
		for id := range seen {
			delete(after.Ports[port], id)
			delete(before.Ports[port], id)
		}
		if d := cmp.Diff(before.Ports, after.Ports); d != "" {
			b.Errorf("counted as well:\n%s", d)
		}
		if after.Taken.Before(began) || after.Taken.After(time.Now()) || !after.Taken.After(before.Taken) {
			b.Errorf("taken at %s and %s, began at %s", before.Taken, after.Taken, began)
		}
		if some := b.counters(m, other); !slices.Equal(natural.Keys(some.Ports), []string{other}) {
			b.Errorf("of %s: %v", other, natural.Keys(some.Ports))
		}
	}},
	{name: "counters start again after a reset", needs: func(d *Device) bool { return counts(d) && d.ResetCounters != nil }, run: func(b *bench) {
		m, port, _, prio := b.meter()
		b.Count(port, prio, drivers.QueuePackets, 500)
		before := b.counters(m)
		b.ResetCounters()
		after := b.counters(m)
		if id := drivers.QueuePackets.Of(prio); before.Ports[port][id] != 500 || after.Ports[port][id] != 0 {
			b.Errorf("%d, then %d", before.Ports[port][id], after.Ports[port][id])
		}
	}},
	{name: "counters stand still while the device polls none", needs: func(d *Device) bool { return counts(d) && d.HoldCounters != nil }, run: func(b *bench) {
		m, port, _, prio := b.meter()
		b.Count(port, prio, drivers.QueuePackets, 500)
		b.HoldCounters(true)
		b.Count(port, prio, drivers.QueuePackets, 700)
		held := b.counters(m)
		b.HoldCounters(false)
		if id := drivers.QueuePackets.Of(prio); held.Ports[port][id] != 500 || b.counters(m).Ports[port][id] != 700 {
			b.Errorf("held at %d", held.Ports[port][id])
		}
	}},
	{name: "counters of a device that does not answer, or by half", needs: counts, run: func(b *bench) {
		m, _, _, _ := b.meter()
		if b.Faults.TruncateAnswers != nil {
			b.Faults.TruncateAnswers(true)
			// A truncated response may contain complete counters, but never wrong ones.
			if c, err := m.Counters(b.ctx, nil); err == nil {
				for port, p := range c.Ports {
					for id, n := range p {
						if n != 0 {
							b.Errorf("%s %s is %d", port, id, n)
						}
					}
				}
			}
			b.Faults.TruncateAnswers(false)
		}
		b.Faults.Unreachable(true)
		_, err := m.Counters(b.ctx, nil)
		b.is(err, drivers.ErrUnreachable)
	}},
	{name: "what is not saved is named", needs: func(d *Device) bool { return d.Startup != nil && d.ChangeManaged != nil }, run: func(b *bench) {
		p := b.fresh()
		s, ok := p.Driver.(drivers.Saver)
		if !ok {
			b.Skip("the driver does not read what is saved")
		}
		unsaved := func() []string {
			b.Helper()
			list, err := s.Unsaved(b.ctx)
			if errors.Is(err, drivers.ErrUnsupported) {
				b.Skipf("not in this way: %v", err)
			}
			if err != nil {
				b.Fatalf("unsaved: %v", err)
			}
			return list
		}
		if list := unsaved(); len(list) > 0 {
			b.Errorf("a device that just started has unsaved %q", list)
		}
		tok := b.mustApply(p)
		unsaved()
		if err := p.Confirm(b.ctx, tok); err != nil {
			b.Fatal(err)
		}
		list := unsaved()
		if same := string(b.State()) == string(b.Startup()); same != (len(list) == 0) {
			b.Errorf("all is saved: %v, and named is %q", same, list)
		}
		b.ChangeManaged()
		changed := unsaved()
		if len(changed) <= len(list) {
			b.Errorf("another change is not named: %q", changed)
		}
		if again := unsaved(); !slices.Equal(changed, again) {
			b.Errorf("%q, then %q", changed, again)
		}
		b.Faults.Unreachable(true)
		_, err := s.Unsaved(b.ctx)
		b.is(err, drivers.ErrUnreachable)
	}},
}
