package eos

import (
	"context"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/showjson"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Counters reads what the ports count. EOS shows neither drops nor fills by
// priority group; its marked packets are all that leave with congestion
// experienced over SSH, and those marked here over gNMI (aristanetworks/yang
// pathreport.csv).
func (d *Driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	o, err := d.shown(ctx, countShows()...)
	if err != nil {
		return nil, err
	}
	return drivers.CountersOf(o, ports, lines.CounterAge), nil
}

// countShows are counterShows for counters whose growth is asked for: "show
// priority-flow-control counters watchdog" leaves out the queues that never were
// stuck (facebook/DNE-TaaC, health checks), which for this is a count of 0. It
// comes last, when the ports are known.
func countShows() []show {
	others := slices.DeleteFunc(slices.Clone(counterShows), func(s show) bool { return s.cmd == watchdogShow })
	return append(others, interfacesShow, show{watchdogShow, func(b []byte, o *drivers.Observation) error {
		if err := showjson.Watchdog(b, o); err != nil {
			return err
		}
		for _, p := range o.Ports {
			for i := range qos.NumPriorities {
				for _, m := range []drivers.Metric{drivers.StormsDetected, drivers.StormsRestored} {
					p.Counters.Put(m.Of(i), qos.Of(p.Counters[m.Of(i)]))
				}
			}
		}
		return nil
	}})
}

// Unsaved compares what runs with the startup configuration. "show
// running-config diffs" says nothing where they are the same; where there is a
// difference, or a way that does not show it, both are read and compared, as
// comments and the order of lines mean nothing.
func (d *Driver) Unsaved(ctx context.Context) ([]string, error) {
	text, err := d.Show(ctx, lines.Running+" diffs")
	if err == nil && strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if err != nil && !refused(err) {
		return nil, drivers.TransportError(err)
	}
	return d.Machine.Unsaved(ctx)
}
