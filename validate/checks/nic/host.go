package nic

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Check compares the NICs of a host with the intended settings, and with the switch ports at the
// other end of their links.
func Check(f *intent.Fabric, h *intent.Host, running, desired *nic.Host, ends func(intent.Endpoint) checks.End) []checks.Finding {
	var c checks.Collector
	v := hostCheck{c: &c, fabric: f, host: h, running: running, desired: desired, ends: ends}
	byPort := map[string][]nic.Change{}
	for _, ch := range nic.Diff(running, desired) {
		byPort[ch.Port] = append(byPort[ch.Port], ch)
	}
	v.agents()
	v.writers(byPort)
	v.unit(byPort[""])
	for _, name := range natural.Keys(desired.Ports) {
		v.port(name, byPort)
	}
	for _, name := range natural.Keys(desired.Uppers) {
		v.upper(name, byPort[name])
	}
	v.bonds()
	v.strangers()
	return c.List
}

type hostCheck struct {
	c                *checks.Collector
	fabric           *intent.Fabric
	host             *intent.Host
	running, desired *nic.Host
	ends             func(intent.Endpoint) checks.End
	roots            []string // of the next findings, see [checks.Finding.Roots]
}

func (v *hostCheck) add(id string, s checks.Severity, port, where, fix, format string, args ...any) {
	v.c.Add(checks.Finding{ID: id, Severity: s, Device: v.host.Name, Where: where, Fix: fix, Roots: v.roots, What: fmt.Sprintf(format, args...)}, port)
}

const applyHost = "apply the intent to the host"

// agents finds daemons that write DCB settings, and firmware agents that run at the same time.
func (v *hostCheck) agents() {
	if len(v.running.Agents) == 0 || len(v.desired.Ports) == 0 {
		return
	}
	agents := agentsOf(v.running)
	fix := "stop and disable " + agents + "; lldpd may run instead: it does not change DCB settings"
	two := false
	for _, name := range natural.Keys(v.desired.Ports) {
		if why := firmwareAgent(v.running.Ports[name]); why != "" {
			two = true
			v.add("DCB-02", checks.Error, name, v.host.Pos.String(), fix+"; turn the firmware's agents off", "%s is active on the host, and the firmware runs its own agent: %s (layer %s)", agents, why, nic.LayerFirmware)
		}
	}
	if !two {
		v.add("DCB-02", checks.Warning, "", v.host.Pos.String(), fix, "%s is active and writes the same DCB settings as this tool (layer %s)", agents, nic.LayerDriver)
	}
}

func agentsOf(h *nic.Host) string {
	return term.CleanLine(strings.Join(natural.Sorted(h.Agents), ", "))
}

// firmwareAgent says why a port's firmware is known to run LLDP or DCBX; "" if it is not.
func firmwareAgent(p *nic.Port) string {
	if p == nil {
		return ""
	}
	if p.DCBX.Set && p.DCBX.V == nic.OwnerFirmware {
		return "it owns DCBX"
	}
	cfg := p.Config()
	if cfg == nil || p.CardPort == 0 {
		return ""
	}
	for _, name := range []string{"LLDP_NB_DCBX", "LLDP_NB_RX_MODE", "LLDP_NB_TX_MODE"} {
		name = fmt.Sprintf("%s_P%d", name, p.CardPort)
		if cur := cfg.Params[name].Current; cur.Numbered && cur.Number != 0 {
			return fmt.Sprintf("%s is %s", name, term.CleanLine(cur.String()))
		}
	}
	return ""
}

func (v *hostCheck) unit(changes []nic.Change) {
	for _, ch := range changes {
		switch {
		case ch.Kind == nic.KindUnknown:
			v.unread("READ", checks.Info, "", ch.Field, "", ch)
		case ch.Field == nic.FieldUnit && ch.Old == qos.Absent:
			v.add("NIC-05", checks.Warning, "", v.host.Pos.String(), "install the boot unit", "no boot unit is installed: the settings of the layers %s and %s are lost at a reboot", nic.LayerDriver, nic.LayerRDMA)
		case ch.Field == nic.FieldUnit && v.running.Unit.Masked != "":
			v.add("NIC-05", checks.Warning, "", v.host.Pos.String(), ch.Blocked, "the boot unit does not start for each device: %s: the settings of the layers %s and %s may be lost at a reboot", ch.Old, nic.LayerDriver, nic.LayerRDMA)
		case ch.Field == nic.FieldUnit && ch.Blocked != "": // the unit failed
			v.add("NIC-05", checks.Warning, "", v.host.Pos.String(), ch.Blocked, "the last run of the boot unit %s: the settings of the layers %s and %s may be lost at a reboot", ch.Old, nic.LayerDriver, nic.LayerRDMA)
		case ch.Field == nic.FieldUnit && v.running.Unit.Stale != "":
			v.add("NIC-05", checks.Warning, "", v.host.Pos.String(), "install the boot unit again", "the boot unit is incomplete: %s: the settings of the layers %s and %s may be lost at a reboot", ch.Old, nic.LayerDriver, nic.LayerRDMA)
		case ch.Field == nic.FieldUnit:
			v.add("NIC-05", checks.Warning, "", v.host.Pos.String(), "install the boot unit again", "the boot unit applies settings that differ from the intent: they return at a reboot, in the layers %s and %s", nic.LayerDriver, nic.LayerRDMA)
		}
	}
}

// Unproven is the check for settings that must be read to prove lossless RDMA.
const Unproven = "NIC-10"

// strangers finds RDMA ports in use that the intent does not list.
func (v *hostCheck) strangers() {
	for _, name := range natural.Keys(v.running.Ports) {
		p := v.running.Ports[name]
		if v.desired.Ports[name] != nil || p == nil || p.RDMA == "" || p.VF || !p.Carrier.Or(false) {
			continue
		}
		v.add("NIC-04", checks.Info, term.CleanLine(name), v.host.Pos.String(), "add it to the host's nics, if it belongs to the fabric", "RDMA device %s has a link but is not in the intent: it was not checked", term.CleanLine(p.RDMA))
	}
}

// unread adds a finding for settings that could not be read; the caller combines fields with
// the same reason.
func (v *hostCheck) unread(id string, s checks.Severity, port, fields, fix string, ch nic.Change) {
	v.c.Add(checks.Finding{ID: id, Severity: s, Device: v.host.Name, Where: ch.Reason, Fix: fix, Unchecked: fields, Because: "the host does not show it",
		What: fmt.Sprintf("could not be read: %s: %s", fields, ch.Blocked)}, port)
}

func (v *hostCheck) port(name string, byPort map[string][]nic.Change) {
	have, want, changes := v.running.Ports[name], v.desired.Ports[name], byPort[name]
	if have == nil {
		what, fix := v.lost(want)
		v.add("NIC-04", checks.Error, name, want.From[nic.FieldPort], fix, "%s", what)
		return
	}
	pv := v.check(name)
	pv.carrier()
	pv.compareSpeed()
	pv.fec()
	pv.pfc(changes)
	var unknown []nic.Change
	for _, ch := range changes {
		if ch.Kind == nic.KindUnknown {
			unknown = append(unknown, ch)
			continue
		}
		pv.change(ch)
	}
	pv.unknown(unknown)
	pv.relations()
	pv.checkReadiness()
	pv.vfs()
	pv.versions()
	pv.unseenCongestion()
}

// check returns the data for the checks of one port.
func (v *hostCheck) check(name string) *portCheck {
	pv := &portCheck{hostCheck: v, name: name, have: v.running.Ports[name], want: v.desired.Ports[name]}
	if n := v.host.NIC(name); n != nil {
		if sw := nic.SwitchPort(v.fabric, n); sw != nil {
			pv.end, _ = nic.Peer(n)
			pv.sw = sw
			pv.far = v.ends(pv.end)
		}
		if n.Link != nil {
			pv.speed = n.Link.Speed.V
		}
	}
	return pv
}
