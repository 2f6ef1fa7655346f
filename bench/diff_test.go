package bench

import (
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// BenchmarkDiff compares the running and desired state of 1,000 switches of 64 ports, once
// without changes and once with five wrong values on every port. The floor walks the same two
// structs and counts the fields that differ. For comparison, ygot's Diff runs on a few switches
// only, because it takes much longer.
func BenchmarkDiff(b *testing.B) {
	c := load(b, save(b, ranges(model64, switches, ports)))
	var desired, running []*qos.Device
	for _, sw := range c.Fabric().Switches {
		desired = append(desired, c.Device(sw).Desired)
		running = append(running, c.Device(sw).Desired)
	}
	for _, state := range []struct {
		name    string
		changes int
		set     func(*qos.Port)
	}{
		{"equal", 0, nil},
		{"5-values", 5, func(p *qos.Port) {
			p.MTU = qos.Of(1500)
			p.PFC = qos.Of(qos.Priorities(3, 4))
			p.Watchdog = qos.Of(qos.Watchdog{})
			p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 1048576, Max: 2097152, Probability: 5})
			p.Cable = qos.Of(units.Length(40))
		}},
	} {
		b.Run(state.name, func(b *testing.B) {
			if state.set != nil {
				for _, d := range running {
					for _, p := range d.Ports {
						state.set(p)
					}
				}
			}
			// Build the trees only now, when the structs have their final values.
			var have, want []*ygotSwitch
			for i := range ygotSwitches {
				have, want = append(have, treeOf(running[i])), append(want, treeOf(desired[i]))
			}
			diff := func(n int) (found int) {
				for i := range n {
					found += len(qos.Diff(running[i], desired[i]))
				}
				return found
			}
			var r race
			var found, walked int
			notes := make([]*gnmi.Notification, ygotSwitches)
			for b.Loop() {
				r.run("diff", func() { found = diff(switches) })
				r.run("few", func() { diff(ygotSwitches) })
				r.run("ygot", func() {
					for i := range notes {
						var err error
						if notes[i], err = ygot.Diff(have[i], want[i]); err != nil {
							b.Fatal(err)
						}
					}
				})
				r.run("walk", func() {
					walked = 0
					for i := range desired {
						walked += walk(running[i], desired[i])
					}
				})
			}
			if want := state.changes * switches * ports; found != want || walked != want {
				b.Fatalf("Diff found %d changes and the walk %d, not %d", found, walked, want)
			}
			for i, n := range notes {
				if got, want := changes(n), state.changes*ports; got != want {
					b.Fatalf("ygot.Diff found %d changes on switch %d, not %d", got, i, want)
				}
			}
			report(b, map[string]float64{
				"x-walk":         r.ratio("diff", "walk"),
				"x-ygot.Diff":    r.ratio("few", "ygot"),
				"ns/switch":      float64(r.median("diff")) / switches,
				"walk-ns/switch": float64(r.median("walk")) / switches,
				"ygot-ns/switch": float64(r.median("ygot")) / ygotSwitches,
			})
		})
	}
}

// walk counts the values that differ, in the simplest possible way.
func walk(a, b *qos.Device) int {
	n := differs(a.WatchdogPoll, b.WatchdogPoll) + differs(a.HeadroomModel, b.HeadroomModel) + differsMaps(a.GlobalMaps, b.GlobalMaps)
	for name, w := range b.Ports {
		h := a.Ports[name]
		n += differs(h.AdminUp, w.AdminUp) + differs(h.Speed, w.Speed) + differs(h.FEC, w.FEC) + differs(h.MTU, w.MTU) +
			differs(h.Breakout, w.Breakout) + differs(h.LAG, w.LAG) + differs(h.Cable, w.Cable) + differs(h.Trust, w.Trust) +
			differsMaps(h.Maps, w.Maps) + differs(h.PFC, w.PFC) + differs(h.PFCAsymmetric, w.PFCAsymmetric) +
			differs(h.LinkPause, w.LinkPause) + differs(h.Watchdog, w.Watchdog) +
			differs(h.IngressProfiles, w.IngressProfiles) + differs(h.EgressProfiles, w.EgressProfiles)
		for i := range w.Queues {
			h, w := &h.Queues[i], &w.Queues[i]
			n += differs(h.Scheduler, w.Scheduler) + differs(h.ECN, w.ECN) + differs(h.Buffer, w.Buffer)
		}
		for i := range w.Groups {
			h, w := &h.Groups[i], &w.Groups[i]
			n += differs(h.Lossless, w.Lossless) + differs(h.Headroom, w.Headroom) + differs(h.Buffer, w.Buffer)
		}
	}
	return n
}

func differs[T comparable](have, want qos.Opt[T]) int {
	if want.Set && have != want {
		return 1
	}
	return 0
}

func differsMaps(have, want qos.Opt[*qos.Maps]) int {
	if want.Set && *have.V != *want.V {
		return 1
	}
	return 0
}
