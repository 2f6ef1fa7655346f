package checks

import (
	"iter"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// LosslessPorts returns the ports whose headroom can be checked: those with a lossless class in
// the intent, a speed and a cable. It returns none for a saved configuration, because the
// checks of the intent cover it.
func LosslessPorts(r *Switch) []*intent.Port {
	if r.Source == Saved {
		return nil
	}
	var out []*intent.Port
	for p := range r.Ports() {
		if r.Lossless(p.Settings) != 0 && p.Cable.V != 0 && p.Speed.V != 0 {
			out = append(out, p)
		}
	}
	return out
}

// LosslessOf returns the named ports that are lossless in the intent.
func (r *Switch) LosslessOf(names []string) (out []*intent.Port) {
	named := make(map[string]bool, len(names))
	for _, n := range names {
		named[n] = true
	}
	for _, p := range r.Device.Switch.Ports {
		if named[p.Name] && r.Lossless(p.Settings) != 0 {
			out = append(out, p)
		}
	}
	return out
}

// RoleOf names the role of a switch. Switches of one role should be configured alike.
func RoleOf(sw *intent.Switch) string {
	if sw.Role == "" {
		return "the fabric"
	}
	return "role " + sw.Role
}

// Towards says whether a port leads to hosts or to switches.
func Towards(p *intent.Port) string {
	if p.Uplink() {
		return " towards switches"
	}
	return " towards hosts"
}

// Ports yields the ports that the intent manages and the switch has, in natural order: as
// intended, and as checked. It skips ports without any configuration, which only PRT-01
// reports.
func (r *Switch) Ports() iter.Seq2[*intent.Port, *qos.Port] {
	return func(yield func(*intent.Port, *qos.Port) bool) {
		for _, p := range r.Device.Switch.Ports {
			if q := r.Config.Ports[p.Name]; q != nil && !r.Bare[p.Name] && !yield(p, q) {
				return
			}
		}
	}
}

// OnlyIntended restricts a check to the configuration compiled from the intent.
func OnlyIntended(check func(*Switch)) func(*Switch) {
	return func(r *Switch) {
		if r.Source == Intended {
			check(r)
		}
	}
}

// OnlyObserved restricts a check to saved and running configurations.
func OnlyObserved(check func(*Switch)) func(*Switch) {
	return func(r *Switch) {
		if r.Source != Intended {
			check(r)
		}
	}
}

// EachPort runs a check on each of [Switch.Ports].
func EachPort(check func(*Switch, *intent.Port, *qos.Port)) func(*Switch) {
	return func(r *Switch) {
		for p, q := range r.Ports() {
			check(r, p, q)
		}
	}
}

// ClassCheck is a check of one class of one port.
type ClassCheck func(*Switch, *intent.Port, *qos.Port, *intent.Class)

// EachClass runs a check on each class of each port.
func EachClass(check ClassCheck) func(*Switch) {
	return EachPort(func(r *Switch, p *intent.Port, q *qos.Port) {
		for _, k := range p.Settings.Classes {
			check(r, p, q, k)
		}
	})
}

// EachLossless runs a check on each lossless class of each port.
func EachLossless(check ClassCheck) func(*Switch) {
	return EachClass(func(r *Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
		if k.Lossless.V {
			check(r, p, q, k)
		}
	})
}

// EachRDMA runs a check on each class that carries RDMA.
func EachRDMA(check ClassCheck) func(*Switch) {
	return EachClass(func(r *Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
		if k.RDMA() {
			check(r, p, q, k)
		}
	})
}
