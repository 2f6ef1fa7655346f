package eos

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Modules of the state tree. It is not documented which of Arista's modules defines the PFC
// counters; clients do not need it.
const (
	ocInterfaces = "openconfig-interfaces"
	ocEthernet   = "openconfig-if-ethernet"
	ocQoS        = "openconfig-qos"
	ocLLDP       = "openconfig-lldp"
	aristaQoS    = "arista-qos-augments"
)

// tree returns the state that OpenConfig paths read (aristanetworks/yang EOS-4.36.1F
// pathreport.csv).
func (f *front) tree() container {
	ports := f.portStates()
	return container{
		"interfaces": f.ocInterfaces(ports),
		"qos": {module: ocQoS, box: container{
			"interfaces": {module: ocQoS, box: container{"interface": f.ocQueues(ports)}}}},
		"lldp": {module: ocLLDP, box: container{
			"interfaces": {module: ocLLDP, box: container{"interface": f.ocNeighbors(ports)}}}},
	}
}

// listOf returns an empty list.
func listOf(module string, keys ...string) *member { return &member{module: module, keys: keys} }

// add adds an entry to a list. Its keys are strings in paths, and leaves in the entry.
func (m *member) add(box container, values ...any) {
	e := entry{keys: map[string]string{}, box: box}
	for i, k := range m.keys {
		box[k] = leaf(m.module, values[i])
		switch v := values[i].(type) {
		case string:
			e.keys[k] = v
		case uint16:
			e.keys[k] = strconv.Itoa(int(v))
		}
	}
	m.list = append(m.list, e)
}

func (f *front) ocInterfaces(ports []portState) *member {
	list := listOf(ocInterfaces, "name")
	for _, p := range ports {
		admin, oper := "UP", "UP"
		if p.Shutdown {
			admin = "DOWN"
		}
		if p.line() == "down" {
			oper = "DOWN"
		}
		// Only the layer 3 MTU is modeled. If unset, it is 0 on a bridged port.
		mtu := uint16(0)
		if p.Routed {
			mtu = uint16(min(p.MTU, 1<<16-1))
		}
		state := container{"name": leaf(ocInterfaces, p.Name), "admin-status": leaf(ocInterfaces, admin),
			"oper-status": leaf(ocInterfaces, oper), "enabled": leaf(ocInterfaces, !p.Shutdown), "mtu": leaf(ocInterfaces, mtu)}
		if p.Description != "" {
			state["description"] = leaf(ocInterfaces, p.Description)
		}
		box := container{"state": {module: ocInterfaces, box: state}}
		if p.Kind == "Ethernet" {
			box["ethernet"] = &member{module: ocEthernet, box: container{"pfc": f.ocPFC(p.Name)}}
		}
		list.add(box, p.Name)
	}
	return &member{module: ocInterfaces, box: container{"interface": list}}
}

// ocPFC returns the frames of each priority and the watchdog counters of each queue.
func (f *front) ocPFC(port string) *member {
	priorities, queues := listOf(aristaQoS, "index"), listOf(aristaQoS, "index", "queue-type")
	count := func(i uint16, name string) *member { return leaf(aristaQoS, f.world.Count(port, int(i), name)) }
	for i := range uint16(cli.NumQueues) {
		priorities.add(container{"state": {module: aristaQoS, box: container{"index": leaf(aristaQoS, i),
			"in-frames": count(i, cli.PFCRx), "out-frames": count(i, cli.PFCTx)}}}, i)
		queues.add(container{"state": {module: aristaQoS, box: container{"index": leaf(aristaQoS, i), "queue-type": leaf(aristaQoS, "UNICAST"),
			"stuck-count": count(i, cli.WDStuck), "recovery-count": count(i, cli.WDRecovery)}}}, i, "UNICAST")
	}
	return &member{module: aristaQoS, box: container{
		"priorities": {module: aristaQoS, box: container{"priority": priorities}},
		"watchdog": {module: aristaQoS, box: container{
			"tx-queues": {module: aristaQoS, box: container{"tx-queue": queues}}}},
	}}
}

// ocQueues returns the counters of each queue, including marked packets where they are counted.
func (f *front) ocQueues(ports []portState) *member {
	list := listOf(ocQoS, "interface-id")
	counted := f.e.ecnCounted()
	for _, p := range ports {
		if p.Kind != "Ethernet" {
			continue
		}
		queues := listOf(ocQoS, "name")
		for i := range cli.NumQueues {
			count := func(module, name string) *member { return leaf(module, f.world.Count(p.Name, i, name)) }
			name := strconv.Itoa(i)
			state := container{"name": leaf(ocQoS, name), "transmit-pkts": count(ocQoS, cli.TxPkts), "transmit-octets": count(ocQoS, cli.TxOctets),
				"dropped-pkts": count(ocQoS, cli.DropPkts), "dropped-octets": count(ocQoS, cli.DropOctets)}
			if counted[p.Name][i] {
				state["ecn-marked-pkts"] = count(aristaQoS, cli.ECNMarked)
			}
			queues.add(container{"state": {module: ocQoS, box: state}}, name)
		}
		list.add(container{"output": {module: ocQoS, box: container{
			"queues": {module: ocQoS, box: container{"queue": queues}}}}}, p.Name)
	}
	return list
}

func (f *front) ocNeighbors(ports []portState) *member {
	list := listOf(ocLLDP, "name")
	for _, p := range ports {
		if p.Kind != "Ethernet" {
			continue
		}
		neighbors := container{}
		if n, ok := f.world.Hears(p.Name, p.Wire); ok && p.line() == "up" {
			l := listOf(ocLLDP, "id")
			l.add(container{"state": {module: ocLLDP, box: container{"id": leaf(ocLLDP, "1"), "system-name": leaf(ocLLDP, n.Device),
				"port-id": leaf(ocLLDP, n.Port), "port-id-type": leaf(ocLLDP, "INTERFACE_NAME")}}}, "1")
			neighbors["neighbor"] = l
		}
		list.add(container{"neighbors": {module: ocLLDP, box: neighbors},
			"state": {module: ocLLDP, box: container{"name": leaf(ocLLDP, p.Name), "enabled": leaf(ocLLDP, !p.Shutdown)}}}, p.Name)
	}
	return list
}
