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

// Counters reads the port counters. EOS shows neither drops nor fill by priority group. The
// marked packets over SSH are all packets sent with a congestion-experienced mark; over gNMI,
// they are only the packets marked by this switch (aristanetworks/yang pathreport.csv).
func (d *Driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	o, err := d.shown(ctx, countShows()...)
	if err != nil {
		return nil, err
	}
	return drivers.CountersOf(o, ports, lines.CounterAge), nil
}

// countShows returns the commands of counterShows, changed so that missing watchdog counters read
// as 0: "show priority-flow-control counters watchdog" omits queues that were never stuck
// (facebook/DNE-TaaC, health checks). That command comes last, when the ports are known.
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

// Unsaved compares the running configuration with the startup configuration. The output of "show
// running-config diffs" is empty if they are equal; otherwise, and if the transport does not
// support the command, both are read and compared without comments and line order.
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
