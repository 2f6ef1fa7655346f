package sonic

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Observe reads the links and the LLDP neighbors. Counters are not set.
//
// The tables of APPL_DB are described in sonic-swss doc/swss-schema.md (PORT_TABLE) and
// sonic-dbsyncd lldp_syncd (LLDP_ENTRY_TABLE, absent if the lldp container does not run or has no
// neighbors). PORT_TABLE of STATE_DB has the speed and FEC that a port runs with, "N/A" if the ASIC
// does not report them; both are stale while the port is down (sonic-utilities scripts/intfutil).
func (d *driver) Observe(ctx context.Context) (*drivers.Observation, error) {
	return d.observe(ctx, true)
}

// ObserveMemory reads the limits of the chip and the buffers in force.
func (d *driver) ObserveMemory(ctx context.Context) (*drivers.Observation, error) {
	return d.observe(ctx, false)
}

// observe reads the packet memory, with or without the links.
func (d *driver) observe(ctx context.Context, links bool) (*drivers.Observation, error) {
	if _, err := d.Probe(ctx); err != nil {
		return nil, err
	}
	inAppl, inState := []string(nil), []string{"BUFFER_MAX_PARAM_TABLE", "ASIC_TABLE"}
	if d.computes() {
		inAppl = append(inAppl, applBuffers...)
	}
	if links {
		inAppl, inState = append(inAppl, "PORT_TABLE", "LLDP_ENTRY_TABLE"), append(inState, "PORT_TABLE")
	}
	var appl []native.Table
	var err error
	if len(inAppl) > 0 {
		if appl, err = d.tables(ctx, "APPL_DB", inAppl...); err != nil {
			return nil, err
		}
	}
	state, err := d.tables(ctx, "STATE_DB", inState...)
	if err != nil {
		return nil, err
	}
	o := &drivers.Observation{Taken: time.Now()}
	limits(&o.Hardware, state[0], state[1])
	if links {
		ports, seen := appl[len(appl)-2], appl[len(appl)-1]
		if ports == nil {
			return nil, fmt.Errorf("%w: APPL_DB has no PORT_TABLE", drivers.ErrNoState)
		}
		showLinks(o, ports, seen, state[2])
	}
	if d.computes() {
		inForce(o, appl[0], appl[1], appl[2])
		return o, nil
	}
	if o.Hardware.Rows, err = d.lookupTable(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// showLinks adds the ports and their neighbors; runs holds the operating values of the ports.
func showLinks(o *drivers.Observation, ports, seen, runs native.Table) {
	const mostMbps = 1 << 30 // far above any link rate
	o.Ports = make(map[string]*drivers.PortState, len(ports))
	for name, row := range ports {
		// Skip PortConfigDone, which has a count, and PortInitDone, which has a lane 0 (sonic-swss
		// portsyncd/portsyncd.cpp).
		if row["speed"] == "" && (row["lanes"] == "" || row["lanes"] == "0") {
			continue
		}
		p := o.Port(name)
		p.AdminUp, p.OperUp = drivers.UpOf(row["admin_status"]), drivers.UpOf(row["oper_status"])
		if n, err := strconv.Atoi(row["mtu"]); err == nil && n > 0 && n < 1<<16 {
			p.MTU = qos.Of(n)
		}
		p.AdminFEC = drivers.FECOf(row["fec"])
		if on := row["autoneg"]; on != "" {
			p.Autoneg = qos.Of(on == "on")
		}
		speed := row["speed"]
		if now := runs[name]; p.OperUp.V {
			if s := now["speed"]; s != "" && s != "N/A" {
				speed = s
			}
			p.FEC = drivers.FECOf(now["fec"])
		}
		if n, err := strconv.ParseInt(speed, 10, 64); err == nil && n > 0 && n < mostMbps {
			p.Speed = qos.Of(units.Rate(n * 1e6))
		}
		// lldpmgrd makes a port announce its alias (sonic-buildimage dockers/docker-lldp/lldpmgrd).
		if a := row["alias"]; a != name {
			p.Alias = a
		}
	}
	for name, row := range seen {
		p := o.Ports[name]
		if p == nil {
			continue // management port
		}
		n := qos.Neighbor{Device: cmp.Or(row["lldp_rem_sys_name"], row["lldp_rem_chassis_id"]), Port: cmp.Or(row["lldp_rem_port_id"], row["lldp_rem_port_desc"])}
		if n != (qos.Neighbor{}) {
			p.Neighbors = []qos.Neighbor{n}
		}
	}
}
