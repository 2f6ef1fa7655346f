package eos

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// nominal returns the speed of a port's transceiver in bits per second.
func (f *front) nominal(name string) int64 { return cmp.Or(f.o.Speeds[name], 400_000_000_000) }

// speed returns the speed of an Ethernet port in bits per second.
func (f *front) speed(p portState) int64 { return cmp.Or(p.Wire.Speed, f.nominal(p.Name)) }

// mac returns the MAC address of the n-th interface; 0 is the system's.
func (f *front) mac(n int) string { return f.e.Chassis.MAC("02:1c", n) }

// version answers `show version`. The JSON keys are those read by amd/node-scraper and
// aristanetworks/openmgmt.
func (f *front) version([]string) (answer, bool) {
	model, maker, up := f.o.Model, "Arista", f.e.Uptime().Seconds()
	if f.faults.IsNoModel() {
		model, maker = "GN-64", "Generic Networks"
	}
	serial := f.e.Chassis.Serial()
	return answer{
		text: fmt.Sprintf("%s %s\nSerial number: %s\nHardware MAC address: %s\nSystem MAC address: %s\n\nSoftware image version: %s\nArchitecture: x86_64\n\nUptime: %d minutes",
			maker, model, serial, f.mac(0), f.mac(0), f.o.Version, int(up/60)),
		value: map[string]any{"modelName": model, "mfgName": maker, "version": f.o.Version, "serialNumber": serial,
			"systemMacAddress": f.mac(0), "hwMacAddress": f.mac(0), "uptime": up, "architecture": "x86_64",
			"bootupTimestamp": float64(time.Now().UnixMilli())/1000 - up},
		cut: f.faults.Cut,
	}, true
}

func (f *front) clock() string {
	return time.Now().UTC().Format("Mon Jan _2 15:04:05 2006") + "\nTimezone: UTC\nClock source: local"
}

// running returns the text of show running-config, truncated if that fault is on.
func (f *front) running(all bool) string { return f.faults.Cut(f.e.runningText(all, nil)) }

func runningConfig(all bool) func(*front, []string) (answer, bool) {
	return func(f *front, args []string) (answer, bool) {
		if len(args) == 0 {
			return answer{text: f.running(all)}, true
		}
		text := f.e.runningText(all, []string{"interfaces", args[0]})
		return answer{text: f.faults.Cut(text)}, text != ""
	}
}

// sessions answers `show configuration sessions [detail]`.
func (f *front) sessions([]string) (answer, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "Maximum number of pending sessions: %d\n\n  Name                 State\n", f.o.MaxSessions)
	b.WriteString("  -------------------- --------------------\n")
	states := f.e.Sessions()
	for _, name := range natural.Keys(states) {
		fmt.Fprintf(&b, "  %-20s %s\n", name, states[name])
	}
	return answer{text: b.String(), value: f.e.sessionsJSON()}, true
}

var portCommands = []showCommand{
	{"interfaces", false, (*front).interfaces},
	{"interfaces status", false, (*front).interfacesStatus},
	{"interfaces error-correction", false, (*front).errorCorrection},
	{"interfaces PORT", false, (*front).interfaces},
	{"interfaces PORT status", false, (*front).interfacesStatus},
	{"lldp neighbors", false, (*front).lldpNeighbors},
	{"lldp neighbors detail", false, (*front).lldpDetail},
}

// portStates returns the interfaces with the state of their links.
func (f *front) portStates() []portState {
	ports := f.e.portStates()
	for i := range ports {
		ports[i].NoLink = !ports[i].Shutdown && !f.world.Link(ports[i].Name, ports[i].Wire, f.nominal(ports[i].Name))
	}
	return ports
}

// chosen returns the interfaces named by a command's argument, or all without an argument. It
// returns false if the argument names an interface that does not exist.
func (f *front) chosen(args []string) ([]portState, bool) {
	ports := f.portStates()
	if len(args) == 0 {
		return ports, true
	}
	names, ok := parseInterfaces(args[0])
	if !ok {
		return nil, false
	}
	by := make(map[string]portState, len(ports))
	for _, p := range ports {
		by[p.Name] = p
	}
	var out []portState
	for _, n := range names {
		p, ok := by[n]
		if !ok {
			return nil, false
		}
		out = append(out, p)
	}
	return out, true
}

// ethernet returns those interfaces of chosen that count traffic classes and support LLDP.
func (f *front) ethernet(args []string) ([]portState, bool) {
	ports, ok := f.chosen(args)
	var out []portState
	for _, p := range ports {
		if p.Kind == "Ethernet" {
			out = append(out, p)
		}
	}
	return out, ok
}

func (p portState) status() string {
	if p.Shutdown {
		return "disabled"
	}
	if p.NoLink {
		return "notconnect"
	}
	return "connected"
}

func (p portState) line() string {
	if p.Shutdown || p.NoLink {
		return "down"
	}
	return "up"
}

// hardware returns the first word of the text for a port.
func (p portState) hardware() string {
	switch {
	case p.Shutdown:
		return "administratively down"
	case p.NoLink:
		return "down"
	}
	return "up"
}

// mtu returns the frame size that the box reports; on a bridged port this is the layer 2 MTU
// (aristanetworks/anta VerifyL2MTU).
func (p portState) mtu() int {
	if !p.Routed && p.L2MTU > 0 {
		return p.L2MTU
	}
	return p.MTU
}

// interfaces answers `show interfaces [PORT]`, with the keys read by aristanetworks/anta
// VerifyL3MTU and napalm-automation/napalm eos.py.
func (f *front) interfaces(args []string) (answer, bool) {
	ports, ok := f.chosen(args)
	var b strings.Builder
	m := map[string]any{}
	for i, p := range ports {
		model, hardware, speed := "bridged", "ethernet", f.speed(p)
		if p.Routed {
			model = "routed"
		}
		if p.Kind != "Ethernet" {
			hardware, speed = strings.ToLower(p.Kind), 0
		}
		m[p.Name] = map[string]any{"name": p.Name, "mtu": p.mtu(), "forwardingModel": model, "l3MtuConfigured": p.L3MTUConfigured, "l2Mru": 0,
			"lineProtocolStatus": p.line(), "interfaceStatus": p.status(), "bandwidth": speed, "description": p.Description,
			"hardware": hardware, "physicalAddress": f.mac(i + 1)}
		if p.Kind == "Ethernet" {
			count := func(name string) uint64 { return f.world.Count(p.Name, 0, name) }
			m[p.Name].(map[string]any)["interfaceCounters"] = map[string]any{"totalInErrors": count(sim.RxErrors), "totalOutErrors": count(sim.TxErrors),
				"inputErrorsDetail": map[string]any{"runtFrames": 0, "giantFrames": 0, "fcsErrors": 0, "alignmentErrors": 0, "symbolErrors": count(sim.SymbolErrors), "rxPause": 0}}
		}
		fmt.Fprintf(&b, "%s is %s, line protocol is %s (%s)\n  Hardware is %s, address is %s\n", p.Name, p.hardware(), p.line(), p.status(), hardware, f.mac(i+1))
		if p.Description != "" {
			fmt.Fprintf(&b, "  Description: %s\n", p.Description)
		}
		layer := "Ethernet"
		if p.Routed {
			layer = "IP"
		}
		fmt.Fprintf(&b, "  %s MTU %d bytes, BW %d kbit\n", layer, p.mtu(), speed/1000)
	}
	return answer{text: b.String(), value: map[string]any{"interfaces": m}}, ok
}

// errorCorrection answers `show interfaces error-correction`, with the keys read by a public
// controller for EOS 4.26.
func (f *front) errorCorrection(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	m := map[string]any{}
	for _, p := range ports {
		word := map[string]string{"rs": "reedSolomon", "fc": "fireCode", "none": "disabled"}[f.world.FEC(p.Name, p.Wire)]
		m[p.Name] = map[string]any{"errCorrEncodingStatus": word}
	}
	return answer{value: map[string]any{"interfaceErrCorrStatuses": m}}, ok
}

// interfacesStatus answers `show interfaces [PORT] status`, with the keys read by
// amd/node-scraper.
func (f *front) interfacesStatus(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %-20s %-12s %-8s %s\n", "Port", "Name", "Status", "Vlan", "Speed")
	m := map[string]any{}
	for _, p := range ports {
		vlan := map[string]any{"interfaceMode": "bridged", "interfaceForwardingModel": "bridged", "vlanId": 1}
		mode := "1"
		if p.Routed {
			vlan = map[string]any{"interfaceMode": "routed", "interfaceForwardingModel": "routed"}
			mode = "routed"
		}
		m[p.Name] = map[string]any{"linkStatus": p.status(), "description": p.Description, "bandwidth": f.speed(p), "duplex": "duplexFull",
			"vlanInformation": vlan, "interfaceType": fmt.Sprintf("%dGBASE-CR8", f.speed(p)/1_000_000_000), "lineProtocolStatus": p.line()}
		fmt.Fprintf(&b, "%-10s %-20s %-12s %-8s %dG\n", shortPort(p.Name), p.Description, p.status(), mode, f.speed(p)/1_000_000_000)
	}
	return answer{text: b.String(), value: map[string]any{"interfaceStatuses": m}}, ok
}

// shortPort returns a port's name as printed in tables: "Et1/1".
func shortPort(name string) string { return strings.Replace(name, "Ethernet", "Et", 1) }

// lldpNeighbors answers `show lldp neighbors`, with the keys read by amd/node-scraper.
func (f *front) lldpNeighbors([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	list := []any{}
	for _, p := range ports {
		if n, ok := f.world.Hears(p.Name, p.Wire); ok && p.line() == "up" {
			list = append(list, map[string]any{"port": p.Name, "neighborDevice": n.Device, "neighborPort": n.Port, "ttl": 120})
			fmt.Fprintf(&b, "%-13s %-24s %-20s %d\n", shortPort(p.Name), n.Device, n.Port, 120)
		}
	}
	head := fmt.Sprintf("Number of table inserts : %d\n\n%-13s %-24s %-20s %s\n", len(list), "Port", "Neighbor Device ID", "Neighbor Port ID", "TTL")
	return answer{text: head + b.String(), value: map[string]any{"lldpNeighbors": sim.Reorder(f.e.Dice.Answer(), list), "tablesInserts": len(list), "tablesAgeOuts": 0,
		"tablesDeletes": 0, "tablesDrops": 0, "tablesLastChangeTime": 0.0}}, true
}

// lldpDetail answers `show lldp neighbors detail`, with the keys read by aristanetworks/anta
// VerifyLLDPNeighbors. The interface ID contains quotes.
func (f *front) lldpDetail([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	m := map[string]any{}
	for _, p := range ports {
		infos := []any{}
		if n, ok := f.world.Hears(p.Name, p.Wire); ok && p.line() == "up" {
			infos = append(infos, map[string]any{"systemName": n.Device, "chassisIdType": "macAddress", "chassisId": "021c.0000.0001",
				"neighborInterfaceInfo": map[string]any{"interfaceIdType": "interfaceName", "interfaceId": `"` + n.Port + `"`, "interfaceId_v2": n.Port, "interfaceDescription": ""}})
		}
		m[p.Name] = map[string]any{"lldpNeighborInfo": infos}
		fmt.Fprintf(&b, "Interface %s detected %d LLDP neighbors:\n\n", p.Name, len(infos))
		if n, ok := f.world.Hears(p.Name, p.Wire); ok && p.line() == "up" {
			fmt.Fprintf(&b, "  - Port ID type: Interface name(5)\n    Port ID     : \"%s\"\n  - System Name: \"%s\"\n\n", n.Port, n.Device)
		}
	}
	return answer{text: b.String(), value: map[string]any{"lldpNeighbors": m}}, true
}
