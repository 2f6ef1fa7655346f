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
	// Observe reads the state of all ports. A value that the device does not show is not set; an
	// error means that the device could not be read.
	Observe(ctx context.Context) (*Observation, error)
}

// MemoryObserver is an Observer that can read only the packet memory, with fewer requests.
type MemoryObserver interface {
	// ObserveMemory reads a part of what Observe reads: the hardware limits, the active buffers
	// and the headroom of priority groups.
	ObserveMemory(ctx context.Context) (*Observation, error)
}

// Observation is the state that a device shows for its ports at one moment. A value that is not
// set is not shown by the device; it never means zero.
type Observation struct {
	Taken time.Time
	Ports map[string]*PortState // by full native name: "Ethernet1/1"
	// Hardware holds the hardware limits that the device shows. Pools and Profiles are the active
	// buffers, by native name.
	Hardware qos.Hardware
	Pools    map[string]qos.Pool
	Profiles map[string]qos.BufferProfile
}

// Port returns the state of a port, creating it if it does not exist.
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
	MTU             qos.Opt[int] // bytes, including the headers that the device counts for this kind of port
	// Speed is the operational speed if the device shows it separately, otherwise the configured
	// speed.
	Speed qos.Opt[units.Rate]
	// FEC is the active forward error correction, AdminFEC the configured one: "rs", "fc", "none"
	// or, only configured, "auto". FEC is not set for a port that is down.
	FEC, AdminFEC qos.Opt[string]
	// Autoneg is true if speed and FEC are negotiated.
	Autoneg   qos.Opt[bool]
	Neighbors []qos.Neighbor // from LLDP, in the device's words
	// Alias is the port's name in the device's LLDP messages; "" if it is the same.
	Alias string
	// Groups holds the active headroom of priority groups that have any.
	Groups map[int]qos.Headroom
	// Counters holds the counters of the port's priorities and unicast egress queues.
	Counters PortCounters
	// Storms holds the queues that the PFC watchdog finds stuck.
	Storms map[int]Storm
}

// PutStorm records that the PFC watchdog finds a queue stuck.
func (p *PortState) PutStorm(queue int, s Storm) { put(&p.Storms, queue, s) }

// Complete fills in values of a running device that its configuration lacks and its ports show:
// the speed if none is configured, the neighbor if LLDP sees exactly one, and the limits and
// buffers that the configuration leaves to the device.
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

func put[K comparable, T any](m *map[K]T, key K, v T) {
	if *m == nil {
		*m = map[K]T{}
	}
	(*m)[key] = v
}

// FECOf converts a system's name of a forward error correction: RS-FEC (IEEE 802.3 clauses 91,
// 108, 134 and others), fire code (clause 74), none, or automatic. The result is not set for
// other words. The words are those of SONiC (sonic-swss portschema.h), EOS
// (errCorrEncodingStatus) and of FECMode in NX-OS (CiscoDevNet/terraform-provider-nxos,
// physical_interface).
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

// UpOf converts a link state, "up" or "down"; the result is not set for other words.
func UpOf(state string) qos.Opt[bool] {
	return qos.Opt[bool]{V: state == "up", Set: state == "up" || state == "down"}
}
