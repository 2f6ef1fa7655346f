package nxos

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// dmeName returns the name of an interface in the native model: "eth1/1", "po10".
func dmeName(name string) string {
	return strings.NewReplacer("Ethernet", "eth", "port-channel", "po", "loopback", "lo", "Vlan", "vlan").Replace(name)
}

// system returns the native tree below /System, as far as it is simulated: ports with their flow
// control, policies with their classes and attachments, and queue counters (YangModels/yang,
// Cisco-NX-OS-device.yang 9.3(2); CiscoDevNet/terraform-provider-nxos definitions). Numbers and
// booleans are JSON numbers and booleans.
func (f *front) system() map[string]any {
	ports, box := f.views()
	var phys, aggr []any
	for _, v := range ports {
		switch v.Kind {
		case "Ethernet":
			if !strings.Contains(v.Name, ".") {
				phys = append(phys, f.dmePort(v))
			}
		case "port-channel":
			aggr = append(aggr, f.dmePort(v))
		}
	}
	override := "disabled"
	if box.OverrideOff {
		override = "off"
	}
	return map[string]any{
		"name": f.n.hostname(),
		"intf-items": prune(map[string]any{
			"phys-items": prune(map[string]any{"PhysIf-list": phys}),
			"aggr-items": prune(map[string]any{"AggrIf-list": aggr}),
		}),
		"ipqos-items": map[string]any{
			"dflt-items":                f.dmeTree(typeQoS, ports, box),
			"nw-items":                  f.dmeTree(typeNetwork, ports, box),
			"queuing-items":             f.dmeTree(typeQueuing, ports, box),
			"globalpriorflowctrl-items": map[string]any{"overrideInterface": override},
		},
	}
}

// prune removes empty lists and objects, which the native model does not show.
func prune(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case []any:
			if len(v) == 0 {
				delete(m, k)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(m, k)
			}
		}
	}
	return m
}

// fecMode maps FEC modes to the values of FECMode.
var fecMode = map[string]string{"rs": "rs-fec", "fc": "fc-fec", "none": "fec-off"}

// dmePort returns a port with its configuration and its state.
func (f *front) dmePort(v portView) map[string]any {
	layer := "Layer2"
	var flags []string
	if v.Routed {
		layer, flags = "Layer3", append(flags, "admin_layer")
	}
	if v.MTU != 1500 {
		flags = append(flags, "admin_mtu")
	}
	flags = append(flags, "admin_state")
	wd := "off"
	if v.portState.Watchdog {
		wd = "on"
	}
	p := map[string]any{"id": dmeName(v.Name), "adminSt": v.upDown(), "mtu": v.MTU, "layer": layer, "userCfgdFlags": strings.Join(flags, ","),
		"priorflowctrl-items":   map[string]any{"mode": v.PFC, "send_tlv": v.SendTLV},
		"priorflowctrlwd-items": map[string]any{"watchDogInterval": wd, "disableAction": v.DisableAction, "interfaceMutiplier": v.WatchdogMultiplier},
	}
	state := map[string]any{"operSt": v.link(), "operMtu": v.MTU}
	if v.Kind == "Ethernet" {
		state["operSpeed"], state["operFECMode"] = fmt.Sprintf("%dG", f.speed(v.portState)), fecMode[v.fec]
		p["FECMode"] = cmp.Or(fecMode[v.Wire.FEC], "auto")
		p["phys-items"] = state
	} else {
		p["aggrif-items"] = state
	}
	if v.Description != "" {
		p["descr"] = v.Description
	}
	return p
}

// dmeTree returns one of the three parallel trees of QoS.
func (f *front) dmeTree(typ string, ports []portView, box qosState) map[string]any {
	var policies []any
	for _, p := range f.n.policyMaps(typ) {
		var classes []any
		for _, c := range p.Classes {
			classes = append(classes, dmeClass(c))
		}
		policies = append(policies, prune(map[string]any{"name": p.Name, "matchType": "match-any", "cmap-items": prune(map[string]any{"MatchCMap-list": classes})}))
	}
	var maps []any
	for _, c := range f.n.classMaps(typ) {
		maps = append(maps, dmeClassMap(c))
	}
	return prune(map[string]any{
		"c-items":      prune(map[string]any{"name-items": prune(map[string]any{"CMapInst-list": maps})}),
		"p-items":      prune(map[string]any{"name-items": prune(map[string]any{"PMapInst-list": policies})}),
		"policy-items": f.dmeAttached(typ, ports, box),
	})
}

// dmeAttached returns the attachments of policies; egress queues carry the counters of their
// port.
func (f *front) dmeAttached(typ string, ports []portView, box qosState) map[string]any {
	// The network-qos policy is listed in the input direction.
	system := map[string]string{"in-items": box.QoSIn}
	switch typ {
	case typeNetwork:
		system["in-items"] = box.NetworkQoS
	case typeQueuing:
		system["in-items"], system["out-items"] = box.QueuingIn, box.QueuingOut
	}
	out := map[string]any{}
	for dir, name := range system {
		d := map[string]any{}
		if name != "" {
			d["sys-items"] = map[string]any{"pmap-items": map[string]any{"name": name, "stats": true}}
		}
		var list []any
		for _, v := range ports {
			if e := f.dmeInterface(typ, dir, v); e != nil {
				list = append(list, e)
			}
		}
		if len(list) > 0 {
			d["intf-items"] = map[string]any{"If-list": list}
		}
		out[dir] = d
	}
	return prune(out)
}

// dmeInterface returns one port in one direction; nil if there is nothing to show.
func (f *front) dmeInterface(typ, dir string, v portView) any {
	own := map[string]string{typeQoS + "in-items": v.portState.QoSIn, typeQueuing + "in-items": v.portState.QueuingIn, typeQueuing + "out-items": v.portState.QueuingOut}[typ+dir]
	e := map[string]any{"name": dmeName(v.Name)}
	if own != "" {
		e["pmap-items"] = map[string]any{"name": own, "stats": true}
	}
	if typ == typeQueuing && dir == "out-items" && v.Kind == "Ethernet" {
		e["queCmap-items"] = map[string]any{"QueuingStats-list": f.dmeCounters(v)}
	}
	if len(e) == 1 {
		return nil
	}
	return e
}

// dmeCounters returns the counters of a port's queues. The watchdog counters stay 0, as some
// releases do not fill them in (paregupt/nexus_traffic_monitor).
func (f *front) dmeCounters(v portView) []any {
	var out []any
	for _, c := range f.n.fixedClasses(typeQueuing, "output") {
		count := func(name string) uint64 { return f.world.Count(v.Name, c.Group, name) }
		rx, tx := uint64(0), uint64(0)
		for _, p := range v.groups[c.Group] {
			rx, tx = rx+f.world.Count(v.Name, p, cli.PFCRx), tx+f.world.Count(v.Name, p, cli.PFCTx)
		}
		out = append(out, map[string]any{"cmapName": c.Name, "statType": "queuing", "txPackets": count(cli.TxPkts), "txBytes": count(cli.TxOctets),
			"dropPackets": count(cli.DropPkts), "dropBytes": count(cli.DropOctets), "randEcnMarkedPackets": count(cli.ECNMarked), "randDropPackets": 0, "randDropBytes": 0,
			"currQueueDepth": 0, "maxQueueDepth": 0, "pfcRxPpp": rx, "pfcTxPpp": tx, "pfcwdShutdownCount": 0, "pfcwdRestoredCount": 0, "pfcwdFlushedPackets": 0})
	}
	return out
}
