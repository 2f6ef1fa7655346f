package scenario

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// lands returns the traffic class and the queue of packets of a class by the maps of a switch for
// the DSCP with which hosts mark them there. Where the switch does not show its maps, it is as the intent says.
func lands(have *qos.Device, port string, k *intent.Class) (tc, queue int) {
	maps := have.ClassifiedBy(port)
	if maps == nil || k.HostDSCP.V < 0 || maps.DSCPToTC[k.HostDSCP.V] == qos.Unmanaged {
		return k.Priority.V, k.Queue.V
	}
	tc = max(0, int(maps.DSCPToTC[k.HostDSCP.V])) // what the map does not list is in traffic class 0
	if q := maps.TCToQueue[tc]; q >= 0 {
		return tc, int(q)
	}
	return tc, tc
}

// asRun returns whether a port of a running switch pauses for a class, and the curve of its queue.
// What the switch does not show is as the intent says.
func (f *fabric) asRun(d *render.Device, have *qos.Port, k *intent.Class, tc, queue int, lossless bool, curve qos.ECN) (bool, qos.ECN) {
	if have.PFC.Set {
		lossless = have.PFC.V.Has(tc)
	} else {
		f.assume("the priorities that the intent pauses, as the switch does not show them", d.Switch.Name)
	}
	e := have.Queues[queue].ECN
	switch {
	case !e.Set && k.ECN.Mode.V == intent.ECNKeep:
		f.assume("no marking of class "+k.Name+", whose curve the switch does not show", d.Switch.Name)
		return lossless, qos.ECN{}
	case !e.Set:
		f.assume("the ECN curve of the intent for class "+k.Name+", as the switch does not show one", d.Switch.Name)
		return lossless, curve
	case e.V.Enabled && e.V.Drops:
		f.assume("no marking of class "+k.Name+", whose curve drops packets; these losses are not simulated", d.Switch.Name)
		return lossless, qos.ECN{}
	}
	return lossless, e.V
}
