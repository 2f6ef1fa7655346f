package operator_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// The switches of a lab log the connections to their servers. A client's activity on a
// connection lies between Begin and Used; the time when the switch notices the end of a
// connection means nothing, because the client may already be using the next one.

// of returns a switch of the lab.
func (b *bench) of(device string) *sonic.Switch { return b.lab.Switches[device].(*sonic.Switch) }

// reads returns the reads of a switch that nobody writes to: each uses one connection to its
// gNMI server.
func (b *bench) reads(device string) []sim.Session {
	gnmi, _ := b.of(device).Sessions()
	return gnmi
}

// sets and commands return the connections on which a switch was written to, over gNMI and over
// SSH: one writer uses both at the same time.
func (b *bench) sets(device string) []sim.Session {
	gnmi, _ := b.of(device).Sessions()
	return slices.DeleteFunc(gnmi, func(s sim.Session) bool { return s.Wrote.IsZero() })
}

func (b *bench) commands(device string) []sim.Session {
	_, ssh := b.of(device).Sessions()
	return slices.DeleteFunc(ssh, func(s sim.Session) bool { return s.Wrote.IsZero() })
}

func (b *bench) writes(device string) []sim.Session {
	return slices.Concat(b.sets(device), b.commands(device))
}

// apart checks that no switch was used on two connections of the same kind at once.
func (b *bench) apart(who string, kinds ...func(device string) []sim.Session) {
	b.Helper()
	n := 0
	for device := range b.lab.Switches {
		for _, of := range kinds {
			var last sim.Session
			for _, s := range of(device) {
				n++
				if s.Begin.Before(last.Used) {
					b.Errorf("%s had two %s at once: %+v and %+v", device, who, last, s)
				}
				if s.Used.After(last.Used) {
					last = s
				}
			}
		}
	}
	if n == 0 {
		b.Errorf("no device had %s", who)
	}
}

// oneWriter checks that no switch had two writers at once, although one writer was lost at the
// given time and another one took over.
func (b *bench) oneWriter(lost time.Time) {
	b.Helper()
	b.apart("writers", b.sets, b.commands)
	for device := range b.lab.Switches {
		all := b.writes(device)
		for _, before := range all {
			for _, after := range all {
				if before.Begin.Before(lost) && after.Begin.After(lost) && before.Used.After(after.Begin) {
					b.Errorf("%s had two writers at once: %+v and %+v", device, before, after)
				}
			}
		}
	}
}

// atOnce returns the largest number of devices that were read at the same time.
func (b *bench) atOnce() (most int) {
	type edge struct {
		at   time.Time
		open int
	}
	var all []edge
	for device := range b.lab.Switches {
		for _, s := range b.reads(device) {
			all = append(all, edge{s.Begin, 1}, edge{s.Used, -1})
		}
	}
	slices.SortFunc(all, func(a, b edge) int { return a.at.Compare(b.at) })
	open := 0
	for _, e := range all {
		open += e.open
		most = max(most, open)
	}
	return most
}

// readSince waits until each device has been read the given number of times since a time.
func (b *bench) readSince(f *v1alpha1.Fabric, since time.Time, times int) {
	b.Helper()
	b.until(f, fmt.Sprintf("each device is read %d times", times), func() bool {
		for device := range b.lab.Switches {
			n := 0
			for _, s := range b.reads(device) {
				if s.Begin.After(since) && !s.End.IsZero() {
					n++
				}
			}
			if n < times {
				return false
			}
		}
		return true
	})
}
