package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
)

// portCheck checks one NIC.
type portCheck struct {
	*hostCheck
	name       string
	have, want *nic.Port
	// sw is the switch port at the other end, nil if the intent has none; far is its running
	// state.
	sw    *intent.Port
	end   intent.Endpoint
	far   checks.End
	speed units.Rate
}

func (p *portCheck) found(id string, s checks.Severity, field, fix, format string, args ...any) {
	p.about(field).add(id, s, p.name, p.want.From[field], fix, "%s (layer %s)", fmt.Sprintf(format, args...), nic.LayerOf(field))
}

// foundTowards adds a finding about both ends of a link. The text does not name the switch
// port, so that one cause on many NICs is one finding.
func (p *portCheck) foundTowards(id string, s checks.Severity, field, fix, format string, args ...any) {
	p.c.Add(checks.Finding{ID: id, Severity: s, Device: p.host.Name, Where: p.want.From[field], Fix: fix, Peers: []string{p.end.String()}, Roots: []string{field},
		What: fmt.Sprintf("%s (layer %s)", fmt.Sprintf(format, args...), nic.LayerOf(field))}, p.name)
}

// differs reports a change without further interpretation.
func (p *portCheck) differs(id string, s checks.Severity, ch nic.Change) {
	layer := ""
	if ch.Layer != "" {
		layer = fmt.Sprintf(" (layer %s)", ch.Layer)
	}
	p.about(ch.Field).add(id, s, p.name, ch.Reason, blockedOr(ch, applyHost), "%s is %s, the intent says %s%s", ch.Field, ch.Old, ch.New, layer)
}

// carrier reports a NIC without a carrier. It is an error if the intent has a link for the NIC.
func (p *portCheck) carrier() {
	severity, where := checks.Warning, p.want.From[nic.FieldPort]
	if n := p.host.NIC(p.name); n != nil && n.Link != nil {
		severity = checks.Error
	}
	f := checks.Finding{ID: "NIC-11", Severity: severity, Device: p.host.Name, Where: where, What: "the NIC has no carrier", Fix: checks.FixIn(Checks, "NIC-11")}
	switch {
	case !p.have.Carrier.Set:
		f.Severity, f.What, f.Fix = checks.Info, "the host does not show whether the NIC has a carrier", "check the interface on the host"
		f.Unchecked, f.Because = "whether NICs have a carrier", "the host does not show it"
	case p.have.Carrier.V:
		return
	}
	p.c.Add(f, p.name)
}

// compareSpeed compares the speed of the link with the intent's: headroom depends on it.
func (p *portCheck) compareSpeed() {
	if have := p.have.Speed; have.Set && p.speed > 0 && have.V != p.speed && p.have.Carrier.V {
		p.add("PRT-04", checks.Warning, p.name, p.want.From[nic.FieldPort], "repair the link, or correct its speed in the intent", "the link runs at %s, the intent says %s", have.V, p.speed)
	}
}

// pfc compares the paused priorities with the switch's if it was read, otherwise with the
// intent. changes are the changes of the port.
func (p *portCheck) pfc(changes []nic.Change) {
	if !p.have.PFC.Set || !p.want.PFC.Set {
		return
	}
	have, want := p.have.PFC.V, p.want.PFC.V
	fix := func(fix string) string {
		if i := slices.IndexFunc(changes, func(ch nic.Change) bool { return ch.Field == nic.FieldPFC }); i >= 0 {
			return blockedOr(changes[i], fix)
		}
		return fix
	}
	switch {
	case have == want: // if the switch differs, a check of the switch reports it
	case p.far.Shows(qos.KindPFC) && have != p.far.PFC:
		p.foundTowards("PFC-02", checks.Error, nic.FieldPFC, fix(applyHost), "the NIC pauses %s, the switch port pauses %s", have.Words(), p.far.PFC.Words())
	case p.far.Shows(qos.KindPFC):
		p.foundTowards("DRIFT", checks.Error, nic.FieldPFC, fix("apply the intent to both ends"), "the NIC and the switch port pause %s, the intent says %s", have.Words(), want.Words())
	default:
		p.found("PFC-02", checks.Error, nic.FieldPFC, fix(applyHost), "the NIC pauses %s, the intent says %s for both ends", have.Words(), want.Words())
	}
}

// change converts a difference to the finding that describes its effect.
func (p *portCheck) change(ch nic.Change) {
	if name, ok := nic.NVName(ch.Field); ok {
		p.firmware(name, ch)
		return
	}
	if _, ok := nic.DCQCNName(ch.Field); ok {
		p.differs("DRIFT", checks.Warning, ch)
		return
	}
	switch ch.Field {
	case nic.FieldPFC: // checked from both ends by pfc
	case nic.FieldRDMA:
		if p.have.RDMA != "" { // else NIC-13 reports it
			p.differs("DRIFT", checks.Error, ch)
		}
	case nic.FieldTrust:
		p.differs("NIC-01", checks.Error, ch)
	case nic.FieldDSCP:
		p.dscp(ch)
	case nic.FieldToS:
		p.tos(ch)
	case nic.FieldTrafficClass:
		if p.have.TrafficClass.V < 0 {
			p.found("NIC-06", checks.Warning, nic.FieldTrafficClass, blockedOr(ch, applyHost), "traffic_class is unset: queue pairs opened without RDMA-CM use priority 0 unless the application marks them")
			return
		}
		p.differs("NIC-03", checks.Error, ch)
	case nic.FieldLinkPause:
		pfc.LinkPause(&checks.Port{LinkPause: p.have.LinkPause.V, Lossless: p.want.PFC.V, ByIntent: true, Read: true,
			Found: func(f checks.Finding, _ ...qos.Attr) { p.differs("PFC-05", f.Severity, ch) }})
	case nic.FieldETS:
		p.pausedTogether(ch)
		p.differs("SCH-04", checks.Warning, ch)
	case nic.FieldCable:
		p.differs("BUF-13", checks.Warning, ch)
	case nic.FieldBuffers:
		if ch.Blocked != "" || !p.buffers(applyHost) {
			p.differs("BUF-13", checks.Warning, ch)
		}
	case nic.FieldWilling:
		p.willing(blockedOr(ch, applyHost))
	case nic.FieldStallPrevention:
		if ch.Blocked != "" || !p.stall(applyHost) {
			p.differs("NIC-07", checks.Warning, ch)
		}
	case nic.FieldECN:
		p.congestion(ch)
	case nic.FieldCNPDSCP:
		p.cnpDSCP(ch)
	case nic.FieldCNPPriority:
		p.cnpPriority(ch)
	case nic.FieldDCBX:
		if len(p.running.Agents) == 0 { // else DCB-02 reports two agents
			p.add("DCB-03", checks.Warning, p.name, ch.Reason, blockedOr(ch, "let the host own DCBX: "+applyHost), "DCBX belongs to the %s: PFC follows what it negotiates (layer %s)", ch.Old, ch.Layer)
		}
	case nic.FieldRoCEApp:
		p.differs("NIC-02", checks.Warning, ch)
	case nic.FieldRings, nic.FieldMaxReadRequest, nic.FieldRelaxedOrdering, nic.FieldVFs, nic.FieldSFs, nic.FieldVFTrust, nic.FieldVFTag, nic.FieldRepresentors:
		p.differs("DRIFT", checks.Warning, ch)
	case nic.FieldMTU:
		p.mtu(ch)
	default:
		p.differs("DRIFT", checks.Error, ch)
	}
}

func blockedOr(ch nic.Change, fix string) string {
	if ch.Blocked != "" {
		return ch.Blocked
	}
	if ch.How != "" {
		fix += " (" + ch.How + ")"
	}
	return fix
}

// tos distinguishes a ToS with a wrong DSCP from one with the right DSCP but without an
// ECN-capable codepoint, on a card that is not known to set the ECN bits itself. If congestion
// control is off, ECN-11 reports it.
func (p *portCheck) tos(ch nic.Change) {
	have, want := p.have.ToS, p.want.ToS.V
	if !have.Set || have.V>>2 != want>>2 {
		p.differs("NIC-03", checks.Error, ch)
		return
	}
	bits := "Not-ECT"
	if have.V&3 == 3 {
		bits = "CE"
	}
	p.found("ECN-13", checks.Warning, nic.FieldToS, fmt.Sprintf("%s, to set ToS %d", applyHost, want), "ToS %d has the ECN bits of %s, and it is not known whether %s sets them itself", have.V, bits, cmp.Or(term.CleanLine(p.have.Driver), "the driver"))
}

// dscp reports a wrong DSCP map: an error if it moves RDMA or congestion notifications,
// otherwise a warning. A NIC that trusts PCP has an empty map, which NIC-01 reports.
func (p *portCheck) dscp(ch nic.Change) {
	m, want := p.have.DSCP.V, p.want.DSCP.V
	if p.have.Trust != p.want.Trust && !slices.ContainsFunc(m[:], func(v int8) bool { return v != qos.Unmapped }) {
		return
	}
	severity := checks.Warning
	for d := range m {
		if m[d] != want[d] && want[d] >= 0 && (p.want.PFC.V.Has(int(want[d])) || p.want.CNPPriority.Set && int(want[d]) == p.want.CNPPriority.V) {
			severity = checks.Error
		}
	}
	p.differs("NIC-02", severity, ch)
}

// congestion reports the two halves of congestion control separately if the NIC shows them: the
// notification point answers marked packets, the reaction point slows down.
func (p *portCheck) congestion(ch nic.Change) {
	if np, rp := p.have.NotificationPoint, p.have.ReactionPoint; np.Set && rp.Set && np.V != rp.V {
		p.add("ECN-11", checks.Error, p.name, ch.Reason, blockedOr(ch, applyHost), "the notification point is on for %s and the reaction point for %s, the intent says %s for both (layer %s)", np.V.Words(), rp.V.Words(), p.want.ECN.V.Words(), ch.Layer)
		return
	}
	p.differs("ECN-11", checks.Error, ch)
}

// cnpDSCP reports a wrong CNP DSCP: an error if the DSCP is not in the class of congestion
// notifications.
func (p *portCheck) cnpDSCP(ch nic.Change) {
	if have := p.have.CNPDSCP.V; have >= 0 && p.isCNP(uint64(have)) {
		p.differs("DRIFT", checks.Warning, ch)
		return
	}
	p.about(ch.Field).add("CLS-08", checks.Error, p.name, ch.Reason, blockedOr(ch, applyHost), "%s is %s, the intent says %s (layer %s)%s", ch.Field, ch.Old, ch.New, ch.Layer, byOperator(p.have.CNPDSCP.V))
	p.notifications(p.have.CNPDSCP.V, ch)
}

// notifications reports the class that the notifications of a NIC land in on each switch that
// classifies as intended: a lossless one pauses them, and another may not be served first.
func (p *portCheck) notifications(dscp int, ch nic.Change) {
	if p.sw == nil || dscp < 0 {
		return
	}
	i := slices.IndexFunc(p.sw.Settings.Classes, func(k *intent.Class) bool { return slices.Contains(k.DSCP.V, dscp) })
	if i < 0 {
		return
	}
	switch k := p.sw.Settings.Classes[i]; {
	case k.Lossless.V:
		p.about(ch.Field).add("CLS-10", checks.Error, p.name, ch.Reason, blockedOr(ch, applyHost), "the NIC sends congestion notifications with DSCP %d, which is in lossless class %s", dscp, k.Name)
		fallthrough
	case !k.Strict.V:
		p.about(ch.Field).add("CLS-09", checks.Error, p.name, ch.Reason, blockedOr(ch, applyHost), "the NIC sends congestion notifications with DSCP %d, which is in class %s and is not served first", dscp, k.Name)
	}
}

// about returns the host's check, for findings about a field.
func (p *portCheck) about(field string) *hostCheck {
	v := *p.hostCheck
	v.roots = []string{field}
	return &v
}

// pausedTogether finds lossy priorities that the NIC sends in the traffic class of a lossless one: the
// pause of that priority stops the whole traffic class.
func (p *portCheck) pausedTogether(ch nic.Change) {
	have, want := p.have.ETS, p.want.ETS
	if !have.Set || !want.Set || !p.have.PFC.Set {
		return
	}
	paused := p.want.PFC.V & p.have.PFC.V
	for prio := range qos.NumPriorities {
		for _, l := range paused.List() {
			if !paused.Has(prio) && have.V.PriorityToTC[prio] == have.V.PriorityToTC[l] && want.V.PriorityToTC[prio] != want.V.PriorityToTC[l] {
				p.about(ch.Field).add("CLS-05", checks.Error, p.name, ch.Reason, blockedOr(ch, applyHost), "priority %d shares traffic class %d with lossless priority %d: pause of that priority stops it (layer %s)", prio, have.V.PriorityToTC[prio], l, ch.Layer)
			}
		}
	}
}

// isCNP reports whether a DSCP is in the class of congestion notifications.
func (p *portCheck) isCNP(dscp uint64) bool {
	return dscp < qos.NumDSCP && p.want.DSCP.Set && p.want.CNPPriority.Set && int(p.want.DSCP.V[dscp]) == p.want.CNPPriority.V
}

// cnpPriority reports a wrong priority in the VLAN tag of congestion notifications.
func (p *portCheck) cnpPriority(ch nic.Change) {
	severity, why := p.tagCounts()
	p.add("NIC-09", severity, p.name, ch.Reason, blockedOr(ch, applyHost), "%s is %s, the intent says %s%s (layer %s)", ch.Field, ch.Old, ch.New, why, ch.Layer)
}

// tagCounts returns the severity of a wrong priority in a VLAN tag: it decides the class of a
// packet if an end of the link trusts PCP, and has no effect if both ends trust DSCP.
func (p *portCheck) tagCounts() (s checks.Severity, why string) {
	trusts := []qos.Trust{p.have.Trust.V, p.far.Trust}
	if trusts[1] == "" && p.sw != nil {
		trusts[1] = p.sw.Settings.Trust.V
	}
	switch {
	case slices.Contains(trusts, qos.TrustPCP):
		return checks.Error, ""
	case trusts[0] == qos.TrustDSCP && trusts[1] == qos.TrustDSCP:
		return checks.Info, "; both ends classify by DSCP, so that it has no effect"
	}
	return checks.Warning, ""
}

// firmware reports a firmware setting that is not programmed or waits for a reset.
func (p *portCheck) firmware(name string, ch nic.Change) {
	state, fix := "not programmed", "program it: "+applyHost
	inForce := p.have.Config().Params[name].Current
	if ch.Kind == nic.KindResetPending {
		state, fix = "reset pending", "reset the card ('roce-fabric nic reset')"
	}
	if ch.After != "" {
		fix += "; " + ch.After
	}
	if ch.Blocked != "" {
		fix = ch.Blocked
	}
	what := fmt.Sprintf("%s is %s at the next boot", name, ch.Old)
	if ch.Kind == nic.KindResetPending {
		what = fmt.Sprintf("%s is %s in force and %s at the next boot", name, ch.Old, ch.New)
	} else if inForce.Known() {
		what += fmt.Sprintf(" and %s in force", term.CleanLine(inForce.String()))
	}
	id, severity, by := "DRIFT", checks.Warning, ""
	wrongNow := inForce.Numbered && !inForce.Same(mlxconfig.ParseValue(ch.New))
	base := strings.TrimSuffix(name, fmt.Sprintf("_P%d", p.have.CardPort))
	switch {
	case base == "ROCE_CC_PRIO_MASK":
		// The driver's value is more reliable than the mask in the firmware.
		id = "ECN-11"
		need := uint64(p.want.Wanted.V.CCPriorities)
		if inForce.Numbered && inForce.Number&need != need && !p.have.ECN.Set {
			severity = checks.Error
		}
	case base == "CNP_DSCP" && wrongNow && !p.have.CNPDSCP.Set && !p.isCNP(inForce.Number):
		id, severity, by = "CLS-08", checks.Error, byOperator(int(inForce.Number))
	case base == "CNP_802P_PRIO" && wrongNow && !p.have.CNPPriority.Set:
		id = "NIC-09"
		severity, _ = p.tagCounts()
	case strings.HasPrefix(base, "LLDP_NB_") && len(p.running.Agents) > 0:
		return // DCB-02 reports it
	}
	p.add(id, severity, p.name, ch.Reason, fix, "%s, the intent says %s (layer %s, %s)%s", what, ch.New, ch.Layer, state, by)
}

// mtu distinguishes packets that the switch drops from packets that are only smaller than they
// could be.
func (p *portCheck) mtu(ch nic.Change) {
	have := p.have.MTU.V
	limit, says := 0, ""
	switch {
	case p.far.Shows(qos.KindMTU) && p.far.MTU > 0:
		limit, says = p.far.MTU, "runs"
	case p.sw != nil && !p.far.Known:
		limit, says = p.sw.Settings.MTU.Fabric.V, "by the intent has"
	}
	switch {
	case limit > 0 && have > limit:
		fix := applyHost
		if p.want.MTU.Set && p.want.MTU.V > limit { // it would send larger ones
			fix = "apply the intent to the switch first, then to the host"
			if !p.far.Known || p.sw != nil && p.far.MTU >= p.sw.Settings.MTU.Fabric.V {
				fix = "raise mtu.fabric in the intent, or lower mtu.host"
			}
		}
		p.foundTowards("MTU-03", checks.Error, nic.FieldMTU, fix, "the NIC sends packets of up to %d B, the switch port %s %d B", have, says, limit)
	case p.lowRDMA(): // MTU-04 reports it
	default:
		p.differs("DRIFT", checks.Warning, ch)
	}
}

func (p *portCheck) lowRDMA() bool {
	return p.have.ActiveMTU.Set && p.want.ActiveMTU.Set && p.have.ActiveMTU.V < p.want.ActiveMTU.V
}

// unknown reports settings that could not be read, combining fields with the same reason:
// NIC-10 if the port is not proven lossless without them.
func (p *portCheck) unknown(changes []nic.Change) {
	var byReason ordered.Groups[string, nic.Change]
	for _, ch := range changes {
		byReason.Add(ch.Blocked, ch)
	}
	for _, alike := range byReason.All() {
		first := alike[0]
		var fields []string
		essential := false
		for _, ch := range alike {
			fields = append(fields, ch.Field)
			essential = essential || nic.Essential(ch.Field)
		}
		_, noDCB := p.have.Missing[nic.FieldDCB]
		what := strings.Join(fields, ", ")
		switch {
		case !essential:
			p.unread("READ", checks.Info, p.name, what, "", first)
		case first.Field == nic.FieldDCB:
			// No VF or SF shows these settings, even if its port is set correctly.
			p.unread(Unproven, checks.Warning, p.name, "pfc, trust, dscp, ets", "validate the machine that has the physical function, or the DPU itself; if neither is possible, accept this in the intent", first)
		case noDCB && p.have.Driver == nic.DriverIonic:
			p.unread(Unproven, checks.Error, p.name, what, "install AMD's nicctl on the host, and read it as root (--sudo)", first)
		case noDCB && slices.Contains(fields, nic.FieldPFC):
			p.unread(Unproven, checks.Error, p.name, what, "use a driver and a kernel with DCB operations (CONFIG_DCB); if the vendor's own tool sets the NIC, check it with that and accept this in the intent", first)
		default:
			p.unread(Unproven, checks.Error, p.name, what, "read the host as root (--sudo), with the driver and its tools installed", first)
		}
	}
}
