package nxos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// nominal returns the speed of a port's transceiver in bits per second.
func (f *front) nominal(name string) int64 { return cmp.Or(f.o.Speeds[name], 400_000_000_000) }

// speed returns the speed of an Ethernet port in Gb/s.
func (f *front) speed(p portState) int64 {
	return cmp.Or(p.Wire.Speed, f.nominal(p.Name)) / 1_000_000_000
}

// linked reports whether a port has a link, provided that it is enabled.
func (f *front) linked(p portState) bool { return f.world.Link(p.Name, p.Wire, f.nominal(p.Name)) }

var portCommands = []showCommand{
	{"interface priority-flow-control", (*front).flowControl}, // without PORT
	{"interface PORT priority-flow-control", (*front).flowControl},
	{"interface", (*front).interfaces},
	{"interface PORT", (*front).interfaces},
}

// upDown returns the administrative state of a port.
func (v portView) upDown() string {
	if v.Shutdown {
		return "down"
	}
	return "up"
}

// link returns the link state of a port.
func (v portView) link() string {
	if v.noLink {
		return "down"
	}
	return v.upDown()
}

// flowcontrol returns the state of link-level flow control in a direction.
func (v portView) flowcontrol(dir string) string {
	if slices.Contains(v.Lines, "flowcontrol "+dir+" on") {
		return "on"
	}
	return "off"
}

// interfaces executes `show interface [PORT]`. The keys are those that napalm-automation/napalm
// nxos.py and ansible-collections/cisco.nxos read.
func (f *front) interfaces(args []string) (answer, bool) {
	all, _ := f.views()
	ports, ok := pick(all, args)
	var b strings.Builder
	var rows []map[string]any
	for i, v := range ports {
		if v.Kind == "Vlan" {
			line := "up"
			if v.Shutdown {
				line = "down"
			}
			rows = append(rows, map[string]any{"interface": v.Name, "svi_line_proto": line, "svi_admin_state": v.upDown(), "svi_mac": f.mac(i + 1), "svi_mtu": text(v.MTU), "svi_bw": "1000000"})
			fmt.Fprintf(&b, "%s is %s, line protocol is %s\n  MTU %d bytes, BW 1000000 Kbit\n\n", v.Name, v.upDown(), line, v.MTU)
			continue
		}
		row := map[string]any{"interface": v.Name, "state": v.link(), "admin_state": v.upDown(), "eth_hw_desc": v.Kind, "eth_hw_addr": f.mac(i + 1), "eth_bia_addr": f.mac(i + 1),
			"eth_mtu": text(v.MTU), "eth_bw": 0}
		reason := ""
		if v.Shutdown {
			row["state_rsn_desc"], reason = "Administratively down", " (Administratively down)"
		}
		if v.noLink {
			row["state_rsn_desc"], reason = "Link not connected", " (Link not connected)"
		}
		fmt.Fprintf(&b, "%s is %s%s\nadmin state is %s, Dedicated Interface\n", v.Name, v.link(), reason, v.upDown())
		if v.Kind == "Ethernet" {
			row["eth_hw_desc"], row["eth_bw"], row["eth_speed"], row["eth_duplex"] = "100/400/40000 Ethernet", f.speed(v.portState)*1_000_000, fmt.Sprintf("%d Gb/s", f.speed(v.portState)), "full"
			row["eth_mode"] = "access"
			if v.Routed {
				row["eth_mode"] = "routed"
			}
			row["eth_in_flowctrl"], row["eth_out_flowctrl"] = v.flowcontrol("receive"), v.flowcontrol("send")
			for key, name := range map[string]string{"eth_outbytes": cli.TxOctets, "eth_outpkts": cli.TxPkts, "eth_outucast": cli.TxPkts, "eth_outdiscard": cli.DropPkts} {
				row[key] = text(f.world.Sum(v.Name, name))
			}
			for _, key := range []string{"eth_inbytes", "eth_inpkts", "eth_inucast", "eth_inerr", "eth_outerr", "eth_indiscard", "eth_inpause", "eth_outpause"} {
				row[key] = "0"
			}
			if id := channelOf(v.portState); id != "" {
				row["eth_bundle"] = id
				fmt.Fprintf(&b, "  Belongs to Po%s\n", id)
			}
		}
		fmt.Fprintf(&b, "  Hardware: %s, address: %s (bia %s)\n", row["eth_hw_desc"], f.mac(i+1), f.mac(i+1))
		if v.Description != "" {
			row["desc"] = v.Description
			fmt.Fprintf(&b, "  Description: %s\n", v.Description)
		}
		fmt.Fprintf(&b, "  MTU %d bytes, BW %v Kbit , DLY 10 usec\n", v.MTU, row["eth_bw"])
		if v.Kind == "Ethernet" {
			fmt.Fprintf(&b, "  full-duplex, %d Gb/s\n  Input flow-control is %s, output flow-control is %s\n  TX\n    %v output packets  %v bytes\n    %v output discard\n",
				f.speed(v.portState), row["eth_in_flowctrl"], row["eth_out_flowctrl"], row["eth_outpkts"], row["eth_outbytes"], row["eth_outdiscard"])
		}
		b.WriteString("\n")
		rows = append(rows, row)
	}
	value := map[string]any{}
	table(value, "interface", rows)
	return answer{text: b.String(), value: value}, ok
}

// flowControl executes `show interface [PORT] priority-flow-control`. The text is in the form
// that the ciscoos receiver of open-telemetry/opentelemetry-collector-contrib reads.
func (f *front) flowControl(args []string) (answer, bool) {
	ports, box, ok := f.chosen(args)
	rule := strings.Repeat("=", 60) + "\n"
	var b strings.Builder
	b.WriteString(rule + "Port               Mode Oper(VL bmap)  RxPPP      TxPPP      \n" + rule)
	var rows []map[string]any
	for _, v := range ports {
		rx, tx := f.world.Sum(v.Name, cli.PFCRx), f.world.Sum(v.Name, cli.PFCTx)
		mode := strings.ToUpper(v.PFC[:1]) + v.PFC[1:]
		row := map[string]any{"if_name_str": v.Name, "admin": mode, "oper": "Off", "rx-stats": text(rx), "tx-stats": text(tx)}
		oper := "Off"
		if v.pfcOper(box) {
			row["oper"], row["vl-bmp"] = "On", f.bitmap(v)
			oper = "On  (" + f.bitmap(v) + ")"
		}
		rows = append(rows, row)
		fmt.Fprintf(&b, "%-18s %-4s %-14s %-10d %-10d\n", v.Name, mode, oper, rx, tx)
	}
	return answer{text: b.String(), value: module("pfc_interface", rows)}, ok
}
