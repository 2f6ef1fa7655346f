package nicctltest

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

const rule = "-------------------------------------------------------------------------------------"

func (h *Host) show(subject string, flags map[string]string) (runner.Result, error) {
	if bad := wrongFlag(flags); bad != "" {
		return refuses("%s", bad)
	}
	print, ok := map[string]func(*strings.Builder, *Card){"port": showPorts, "qos": h.showQoS, "dcqcn": showDCQCN}[subject]
	if !ok {
		return refuses("unknown command %q", "show "+subject)
	}
	var b strings.Builder
	for _, c := range h.cards {
		print(&b, c)
	}
	text := b.String()
	if h.faults.Garble != nil {
		text = h.faults.Garble(subject, text)
	}
	return runner.Result{Stdout: []byte(text)}, nil
}

// words prints a boolean as the tool does.
func words(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

func showPorts(b *strings.Builder, c *Card) {
	fmt.Fprintf(b, "%s\n\nNIC  : %s (%s)\n", rule, c.ID, c.PCI)
	for i, p := range c.Ports {
		row := func(key, value string) { fmt.Fprintf(b, "    %-41s: %s\n", key, value) }
		fmt.Fprintf(b, "\nPort : %s (eth1/%d)\n  Spec:\n", p.ID, i+1)
		row("Ifindex", "0x11010000")
		row("Type", "ETH")
		row("speed", "400G")
		row("Admin state", "UP")
		row("FEC type", "RS")
		row("Pause type", p.Pause.Type)
		row("MTU", "9216")
		row("TX pause", words(p.Pause.TX))
		row("RX pause", words(p.Pause.RX))
		row("Auto negotiation", "disabled")
		b.WriteString("  Status:\n")
		row("Physical port", fmt.Sprint(i+1))
		row("Operational status", "UP")
		row("Auto negotiation", "disabled")
		row("MAC address", p.MAC)
		row("Transceiver type", "QSFP_CMIS")
	}
}

func (h *Host) showQoS(b *strings.Builder, c *Card) {
	fmt.Fprintf(b, "NIC  : %s  (%s)\n", c.ID, c.PCI)
	for _, p := range c.Ports {
		row := func(key, value string) { fmt.Fprintf(b, "    %-26s: %s\n", key, value) }
		fmt.Fprintf(b, "\nPort : %s\n\n  Classification type         : %s\n\n", p.ID, strings.ToUpper(string(h.trust)))
		if h.trust == qos.TrustDSCP {
			showMap(b, p)
		}
		listed := p.PFC.Join(",")
		if p.PFCListed != "" {
			listed = p.PFCListed
		}
		b.WriteString("\n\n  PFC :\n")
		row("PFC priority bitmap", fmt.Sprintf("0x%x", uint8(p.PFC)))
		row("PFC no-drop priorities", listed)
		line := "    --------------------------------------------\n"
		b.WriteString("\n  Scheduling :\n" + line + "    Priority  Scheduling  Bandwidth Rate-limit\n              Type        (in %age) (in Gbps)\n" + line)
		for prio, s := range p.Schedule {
			rate := "N/A"
			if s.Gbps > 0 {
				rate = fmt.Sprint(s.Gbps)
			}
			switch {
			case !s.Shown:
			case s.Strict:
				fmt.Fprintf(b, "    %-9d strict      N/A       %s\n", prio, rate)
			default:
				fmt.Fprintf(b, "    %-9d DWRR        %-9d %s\n", prio, s.Percent, rate)
			}
		}
	}
	b.WriteString("\n")
}

func showMap(b *strings.Builder, p *Port) {
	b.WriteString("  DSCP-to-priority :\n")
	var masks [qos.NumPriorities]uint64
	var lists [qos.NumPriorities][]int
	for d, prio := range p.DSCP {
		if prio >= 0 {
			masks[prio] |= 1 << d
			lists[prio] = append(lists[prio], d)
		}
	}
	for prio, m := range masks {
		if m != 0 {
			fmt.Fprintf(b, "    %-26s: 0x%016x ==> priority : %d\n", "DSCP bitmap", m, prio)
		}
	}
	for prio, l := range lists {
		if len(l) > 0 {
			fmt.Fprintf(b, "    %-26s: %s ==> priority : %d\n", "DSCP", strings.ReplaceAll(qos.FoldInts(l), ",", ", "), prio)
		}
	}
}

func showDCQCN(b *strings.Builder, c *Card) {
	fmt.Fprintf(b, "NIC : %s (%s)\n%s\n\n", c.ID, c.PCI, rule)
	for _, d := range c.Devices {
		row := func(key, value string) { fmt.Fprintf(b, "  %-41s: %s\n", key, value) }
		fmt.Fprintf(b, "Lif id                                     : 43000070-0100-0000-4242-049081325d88\nROCE device                                : %s\n", d.Name)
		row("DCQCN profile id", "1")
		if d.Enabled {
			row("Status", "Enabled")
			row("Rate increase in AI phase", "160")
			row("Token bucket size", "800000")
			row("DSCP value used for CNP", fmt.Sprint(d.CNPDSCP))
		} else {
			row("Status", "Disabled")
		}
		b.WriteString(strings.Repeat("*", 90) + "\n")
	}
}
