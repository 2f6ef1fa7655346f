package drivers

import (
	"context"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Observer is a Driver that shows the state of its ports.
type Observer interface {
	// Observe reads the state of all ports. A value that the device does not
	// show is not set; an error means that the device could not be read.
	Observe(ctx context.Context) (*Observation, error)
}

// MemoryObserver is an Observer that can read the packet memory alone, with less.
type MemoryObserver interface {
	// ObserveMemory reads of what Observe does the limits of the device, the buffers in
	// force and the headroom of groups.
	ObserveMemory(ctx context.Context) (*Observation, error)
}

// Observation is what a device shows of its ports at one moment. A value that
// is not set is one the device does not show: it never stands for zero.
type Observation struct {
	Taken time.Time
	Ports map[string]*PortState // by the native, long name: "Ethernet1/1"
	// Hardware is what the device shows of its own limits, Pools and Profiles are the
	// buffers in force, by native name.
	Hardware qos.Hardware
	Pools    map[string]qos.Pool
	Profiles map[string]qos.BufferProfile
}

// Port returns the state of a port, which it adds where there is none.
func (o *Observation) Port(name string) *PortState {
	p := o.Ports[name]
	if p == nil {
		p = &PortState{}
		if o.Ports == nil {
			o.Ports = map[string]*PortState{}
		}
		o.Ports[name] = p
	}
	return p
}

// PortState is the state of one port.
type PortState struct {
	AdminUp, OperUp qos.Opt[bool]
	MTU             qos.Opt[int] // bytes, as the device counts them for the port's kind
	// Speed is the speed that the port runs at, where the device tells that from the
	// configured one; else the configured one.
	Speed qos.Opt[units.Rate]
	// FEC is the forward error correction that the port runs with, AdminFEC the
	// configured one: "rs", "fc", "none" or, configured only, "auto". A port that is down
	// runs with none that is known.
	FEC, AdminFEC qos.Opt[string]
	// Autoneg says that speed and FEC are negotiated.
	Autoneg   qos.Opt[bool]
	Neighbors []qos.Neighbor // by LLDP, in the device's words
	// Alias is the port's name in the device's own LLDP; "" where it is the same.
	Alias string
	// Groups are what priority groups have in force, of those with headroom.
	Groups map[int]qos.Headroom
	// Counters are those of its priorities and unicast egress queues.
	Counters PortCounters
}

// Complete gives a running device what its configuration does not say and its
// ports show: the speed where none is set, the neighbour where LLDP sees
// one and no other, and the limits and buffers that the configuration leaves to the
// device.
func (o *Observation) Complete(d *qos.Device) {
	d.Hardware = o.Hardware
	for name, p := range o.Pools {
		if have, ok := d.Pools[name]; !ok || have.Size == 0 {
			put(&d.Pools, name, p)
		}
	}
	for name, p := range o.Profiles {
		if _, ok := d.Profiles[name]; !ok {
			put(&d.Profiles, name, p)
		}
	}
	for name, p := range d.Ports {
		s := o.Ports[name]
		if s == nil {
			continue
		}
		if !p.Speed.Set {
			p.Speed = s.Speed
		}
		if len(s.Neighbors) == 1 {
			p.Neighbor = qos.Of(s.Neighbors[0])
		}
		for g, h := range s.Groups {
			if !p.Groups[g].Headroom.Set {
				p.Groups[g].Lossless, p.Groups[g].Headroom = qos.Of(true), qos.Of(h)
			}
		}
	}
}

func put[T any](m *map[string]T, name string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[name] = v
}

// FECOf reads what a system calls a forward error correction: RS-FEC (IEEE 802.3 clauses 91,
// 108, 134 and others), fire code (clause 74), none, or automatic. Any other word is not
// set. The words are those of SONiC (sonic-swss portschema.h), EOS (errCorrEncodingStatus)
// and of FECMode of NX-OS (CiscoDevNet/terraform-provider-nxos, physical_interface).
func FECOf(s string) qos.Opt[string] {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "rs", "rs-fec", "rs-ieee", "rs-cons16", "kp-fec", "reedsolomon", "cl91-rs-fec", "ieee-rs-fec", "cons16-rs-fec":
		return qos.Of("rs")
	case "fc", "fc-fec", "firecode", "cl74-fc-fec":
		return qos.Of("fc")
	case "none", "off", "fec-off", "disabled", "disable-fec":
		return qos.Of("none")
	case "auto", "auto-fec":
		return qos.Of("auto")
	}
	return qos.Opt[string]{}
}

// UpOf reads the state of a link: "up" or "down"; any other word is not set.
func UpOf(state string) qos.Opt[bool] {
	return qos.Opt[bool]{V: state == "up", Set: state == "up" || state == "down"}
}
