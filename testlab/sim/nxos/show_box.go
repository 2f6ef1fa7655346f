package nxos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// mac returns the MAC address of the n-th interface; 0 is the address of the system.
func (f *front) mac(n int) string {
	s := f.n.Chassis.Number()
	return fmt.Sprintf("02de.%02x%02x.%02x%02x", byte(s>>16), byte(s>>8), byte(s), byte(n))
}

// version executes `show version`. The keys are those in responses of real switches
// (ansible-collections/cisco.nxos, napalm-automation/napalm nxos.py).
func (f *front) version([]string) (answer, bool) {
	system, chassis, key := "Cisco Nexus Operating System (NX-OS) Software", "Nexus9000 "+strings.TrimPrefix(f.o.Model, "N9K-")+" Chassis", "nxos"
	if f.faults.IsNoModel() {
		system, chassis, key = "Generic Network Operating System", "Generic GN-64 Chassis", "system"
	}
	serial := f.n.Chassis.Serial()
	up := f.n.Uptime()
	days, hours, mins, secs := int(up.Hours())/24, int(up.Hours())%24, int(up.Minutes())%60, int(up.Seconds())%60
	image := "bootflash:///nxos64-cs." + strings.NewReplacer("(", ".", ")", "").Replace(f.o.Version) + ".bin"
	name := f.n.hostname()
	return answer{
		text: fmt.Sprintf(`%s
TAC support: http://www.cisco.com/tac

Software
  BIOS: version 01.11
 %s: version %s
  %s image file is: %s

Hardware
  cisco %s
  Intel(R) Xeon(R) CPU D-1633N @ 2.50GHz with 32827628 kB of memory.
  Processor Board ID %s

  Device name: %s
  bootflash:  115805708 kB

Kernel uptime is %d day(s), %d hour(s), %d minute(s), %d second(s)

Last reset
  Reason: Unknown
  System version: %s
  Service:
`, system, strings.ToUpper(key), f.o.Version, strings.ToUpper(key), image, chassis, serial, name, days, hours, mins, secs, f.o.Version),
		value: map[string]any{"header_str": system + "\n", "bios_ver_str": "01.11", key + "_ver_str": f.o.Version, key + "_file_name": image,
			"chassis_id": chassis, "cpu_name": "Intel(R) Xeon(R) CPU D-1633N @ 2.50GHz", "memory": 32827628, "mem_type": "kB",
			"proc_board_id": serial, "host_name": name, "bootflash_size": 115805708, "kern_uptm_days": days, "kern_uptm_hrs": hours,
			"kern_uptm_mins": mins, "kern_uptm_secs": secs, "rr_reason": "Unknown", "rr_sys_ver": f.o.Version, "rr_service": "",
			"plugins": "Core Plugin, Ethernet Plugin", "manufacturer": "Cisco Systems, Inc."},
		cut: f.faults.Cut,
	}, true
}

// inventory executes `show inventory`, which lists the chassis.
func (f *front) inventory([]string) (answer, bool) {
	model, desc := f.o.Model, "Nexus9000 "+strings.TrimPrefix(f.o.Model, "N9K-")+" Chassis"
	if f.faults.IsNoModel() {
		model, desc = "GN-64", "Generic GN-64 Chassis"
	}
	serial := f.n.Chassis.Serial()
	v := map[string]any{}
	table(v, "inv", []map[string]any{{"name": "Chassis", "desc": desc, "productid": model, "vendorid": "V00", "serialnum": serial}})
	return answer{text: fmt.Sprintf("NAME: \"Chassis\",  DESCR: \"%s\"\nPID: %-20s ,  VID: V00 ,  SN: %s\n", desc, model, serial), value: v}, true
}

func (f *front) clock() string {
	return time.Now().UTC().Format("15:04:05.000 UTC Mon Jan 02 2006") + "\nTime source is NTP\n"
}

// running returns a function for "show running-config" followed by words. A fault may cut its
// output short.
func running(words ...string) func(*front, []string) (answer, bool) {
	all := slices.Contains(words, "all")
	section := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "all" })
	return textOnly(func(f *front, _ []string) string { return f.faults.Cut(f.n.runningText(all, section)) })
}

// runningInterface executes "show running-config interface PORT".
func (f *front) runningInterface(args []string) (answer, bool) {
	text := f.n.runningText(false, []string{"interface", args[0]})
	return answer{text: f.faults.Cut(text)}, text != ""
}

// file executes "show file bootflash:NAME".
func (f *front) file(args []string) (answer, bool) {
	name, ok := strings.CutPrefix(args[0], "bootflash:")
	if !ok {
		return answer{}, false
	}
	text, there := f.world.File(strings.TrimLeft(name, "/"))
	if !there {
		return answer{text: "ERROR: " + args[0] + ": No such file or directory"}, true
	}
	return answer{text: text}, true
}

// checkpoints returns the output of `show checkpoint summary` (CiscoTestAutomation/genieparser
// nxos show_checkpoint.py).
func (f *front) checkpoints() string {
	var b strings.Builder
	for i, c := range f.n.checkpointSummary() {
		fmt.Fprintf(&b, "%d) %s:\nCreated by %s\nCreated at %s\nSize is %s bytes\nUser Checkpoint Summary\n%s\nDescription: None\n\n", i+1, c.Name, c.User,
			c.At.UTC().Format("Mon, 15:04:05 02 Jan 2006"), thousands(c.Size), strings.Repeat("-", 80))
	}
	return b.String()
}

// thousands formats a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return text(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// neighbor is a row of the LLDP commands.
type neighbor struct{ local, device, port string }

// neighbors returns the LLDP neighbours on ports that are up, if the feature is enabled.
func (f *front) neighbors() []neighbor {
	if !f.n.feature("lldp") {
		return nil
	}
	var out []neighbor
	for _, p := range f.n.portStates() {
		if n, ok := f.world.Hears(p.Name, p.Wire); ok && !p.Shutdown && f.linked(p) {
			out = append(out, neighbor{p.Name, n.Device, n.Port})
		}
	}
	ordered.Sort(out, func(a, b neighbor) int { return natural.Compare(a.local, b.local) })
	return out
}

// shortPort returns a port name as tables print it: "Eth1/1", "Po10".
func shortPort(name string) string {
	return strings.NewReplacer("Ethernet", "Eth", "port-channel", "Po").Replace(name)
}

const lldpHead = `Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other
Device ID            Local Intf      Hold-time  Capability  Port ID  
`

// noLLDP is the refusal if the feature is disabled; the real wording is not documented.
const noLLDP = "% Invalid command (feature lldp is not enabled)"

// lldpNeighbors executes `show lldp neighbors`. The keys are those that
// ansible-collections/cisco.nxos facts/legacy/base.py reads.
func (f *front) lldpNeighbors([]string) (answer, bool) {
	if !f.n.feature("lldp") {
		return answer{text: noLLDP}, true
	}
	var b strings.Builder
	b.WriteString(lldpHead)
	var rows []map[string]any
	for _, n := range f.neighbors() {
		rows = append(rows, map[string]any{"chassis_type": "4", "chassis_id": n.device, "l_port_id": shortPort(n.local), "hold_time": "120",
			"system_capability": "BR", "enabled_capability": "BR", "port_type": "5", "port_id": n.port, "mgmt_addr_type": "IPV4", "mgmt_addr": "192.0.2.1"})
		if len(n.device) > 20 { // a long name is printed on its own line
			fmt.Fprintf(&b, "%s\n%-21s", n.device, "")
		} else {
			fmt.Fprintf(&b, "%-21s", n.device)
		}
		fmt.Fprintf(&b, "%-16s%-11d%-12s%s\n", shortPort(n.local), 120, "BR", n.port)
	}
	fmt.Fprintf(&b, "Total entries displayed: %d\n", len(rows))
	v := map[string]any{"neigh_hdr": "neigh_hdr", "neigh_count": text(len(rows))}
	table(v, "nbor", rows)
	return answer{text: b.String(), value: v}, true
}

// lldpDetail executes `show lldp neighbors detail`. The text keys are those that
// napalm-automation/napalm nxos_ssh.py reads, the JSON keys those that netapp/harvest and
// opennetworkinglab/onos read.
func (f *front) lldpDetail([]string) (answer, bool) {
	if !f.n.feature("lldp") {
		return answer{text: noLLDP}, true
	}
	var b strings.Builder
	b.WriteString(lldpHead)
	var rows []map[string]any
	for _, n := range f.neighbors() {
		rows = append(rows, map[string]any{"chassis_type": "4", "chassis_id": "02de.0000.0001", "port_type": "5", "port_id": n.port, "l_port_id": shortPort(n.local),
			"port_desc": n.port, "sys_name": n.device, "sys_desc": "network switch", "ttl": "105", "system_capability": "B, R", "enabled_capability": "B, R",
			"mgmt_addr_type": "IPV4", "mgmt_addr": "192.0.2.1", "mgmt_addr_ipv6_type": "IPV6", "mgmt_addr_ipv6": "not advertised", "vlan_id": "not advertised"})
		fmt.Fprintf(&b, `
Chassis id: 02de.0000.0001
Port id: %s
Local Port id: %s
Port Description: %s
System Name: %s
System Description: network switch
Time remaining: 105 seconds
System Capabilities: B, R
Enabled Capabilities: B, R
Management Address: 192.0.2.1
Management Address IPV6: not advertised
Vlan ID: not advertised

`, n.port, shortPort(n.local), n.port, n.device)
	}
	fmt.Fprintf(&b, "Total entries displayed: %d\n", len(rows))
	v := map[string]any{"neigh_hdr": "neigh_hdr", "neigh_count": text(len(rows))}
	table(v, "nbor_detail", rows)
	return answer{text: b.String(), value: v}, true
}
