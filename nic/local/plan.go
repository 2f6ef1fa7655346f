package local

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

// Options limit what a plan may do.
type Options struct {
	// CutOff also allows steps that briefly take a link down on the port that carries the machine's
	// only management path.
	CutOff bool
	// Peer is the address that the machine is managed from, as reported by SSH. If it is the zero
	// value, the default route is used instead.
	Peer netip.Addr
}

// Step changes one setting of one port.
type Step struct {
	Port string `json:"port"`
	// Field is a field of package nic. The DSCP map also covers the trust mode; [nic.FieldNV]
	// covers all firmware settings of the port.
	Field  string    `json:"field"`
	Layer  nic.Layer `json:"layer"`
	Driver string    `json:"driver,omitempty"`
	// What describes the step to the user: "set pfc of ens1f0np0 to 0x08 {3}".
	What    string       `json:"what"`
	Changes []nic.Change `json:"changes"`
	// Impact is what the step disturbs. With [qos.ImpactPortFlap] the link briefly goes down; Bond
	// is then the port's bond, and Others are the bond's other members.
	Impact qos.Impact `json:"impact"`
	Bond   string     `json:"bond,omitempty"`
	Others []string   `json:"others,omitempty"`
	// Blocked says why the step is not carried out; "" if it is.
	Blocked string `json:"blocked,omitempty"`
	Want    Value  `json:"want"`
}

// order is the order in which a port's fields are written: DCBX ownership first, settings that take
// the link down before those that mark traffic, and firmware, which nothing depends on, last. bnxt
// rejects PFC before ETS (Linux, bnxt_dcb.c). mlx5 rejects a cable length that does not fit the
// buffers of the lossless priorities (en_dcbnl.c).
var order = []string{
	nic.FieldDCBX, nic.FieldRings, nic.FieldLinkPause, nic.FieldETS, nic.FieldWilling, nic.FieldBuffers, nic.FieldCable, nic.FieldStallPrevention, nic.FieldMaxReadRequest, nic.FieldVFs, nic.FieldVFTrust, nic.FieldVFTag, nic.FieldSFs, nic.FieldPFC, nic.FieldDSCP, nic.FieldRoCEApp,
	nic.FieldECN, nic.FieldCNPDSCP, nic.FieldCNPPriority, nic.FieldDCQCN, nic.FieldMode, nic.FieldToS, nic.FieldTrafficClass, nic.FieldEgress, nic.FieldMTU, nic.FieldNV,
}

// orderOf returns the order for a driver; back selects the order of a revert. On ice, the first
// DSCP entry resets ETS, and so does removing the last one (ice_dcb_nl.c), so the DSCP map comes
// before ETS, in the revert too. ionic cannot schedule a priority without a DSCP.
func orderOf(driver string, back bool) []string {
	o := slices.Clone(order)
	if back {
		slices.Reverse(o)
	}
	if (driver == nic.DriverICE || driver == nic.DriverIonic) && !back {
		i := slices.Index(o, nic.FieldDSCP)
		o = slices.Delete(o, i, i+1)
		o = slices.Insert(o, slices.Index(o, nic.FieldETS), nic.FieldDSCP)
	}
	return o
}

// bounces reports whether changing a field takes the link of the driver's port down. A PFC mask
// does so on all known drivers. All drivers recreate their rings with the carrier off. ice closes
// and reopens the device for every DCB setting (mlx5 en_dcbnl.c and en_main.c, ice_dcb_nl.c). For
// link pause, ice restarts the link (ice_common.c, ice_set_fc), and so does bnxt if pause is
// autonegotiated (bnxt.c, bnxt_hwrm_set_pause).
func bounces(driver, field string) bool {
	switch field {
	case nic.FieldPFC, nic.FieldRings:
		return true
	case nic.FieldLinkPause:
		return driver == nic.DriverICE || driver == nic.DriverBNXT
	case nic.FieldETS, nic.FieldWilling, nic.FieldDSCP:
		return driver == nic.DriverICE
	}
	return false
}

// resets reports whether changing a field also resets ETS (ice_dcb_nl.c).
func resets(driver, field string) bool { return driver == nic.DriverICE && field == nic.FieldDSCP }

func hasStep(steps []Step, port, field string) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Port == port && s.Field == field })
}

// Plan returns the steps from a running host, as returned by Read, to a desired one, in the order
// in which they are carried out: port by port in natural order, so that only one link is down at a
// time. Differences that the machine cannot resolve itself, such as a conflict with a daemon, a
// pending reset or an unreadable value, have no step; [nic.Diff] reports them. A step that the
// options do not allow is included and Blocked.
//
// If a bond or VLAN is desired, the MTU steps come last, in the order that the kernel accepts.
func (m *Machine) Plan(running, desired *nic.Host, o Options) []Step {
	byPort := map[string][]nic.Change{}
	for _, c := range nic.Diff(running, desired) {
		if c.Port != "" && c.Writable() {
			byPort[c.Port] = append(byPort[c.Port], c)
		}
	}
	if len(byPort) == 0 {
		return nil
	}
	path := m.management(o.Peer)
	shared := map[string]bool{}
	var out []Step
	for _, name := range natural.Keys(byPort) {
		have, want := running.Ports[name], desired.Ports[name]
		if u := desired.Uppers[name]; u != nil {
			out = append(out, upperSteps(u, byPort[name])...)
		}
		if have == nil || want == nil {
			continue
		}
		for _, field := range orderOf(have.Driver, false) {
			changes := slices.DeleteFunc(slices.Clone(byPort[name]), func(c nic.Change) bool { return stepField(have.Driver, c.Field) != field })
			value, ok := wantedValue(field, have, want, changes)
			again := field == nic.FieldETS && resets(have.Driver, nic.FieldDSCP) && hasStep(out, name, nic.FieldDSCP)
			if len(changes) == 0 && !again || !ok {
				continue
			}
			// Members of a bond may share an RDMA device.
			if key := fmt.Sprint(have.RDMA, have.RDMAPort, field); nic.LayerOf(field) == nic.LayerRDMA {
				if shared[key] {
					continue
				}
				shared[key] = true
			}
			s := Step{Port: name, Field: field, Layer: nic.LayerOf(field), Driver: have.Driver, Changes: changes, Want: value, What: describeStep(portLabel(name, have), field, changes)}
			if len(changes) == 0 {
				s.What = "set ets of " + portLabel(name, have) + " again, because the DSCP map resets it"
			}
			for _, c := range changes {
				s.Impact = max(s.Impact, c.Impact)
			}
			m.setImpact(&s, cmp.Or(have.Name, name), path, o)
			out = append(out, s)
		}
	}
	return mtuOrder(out, desired)
}

// upperSteps returns the steps of a bond or VLAN.
func upperSteps(u *nic.Upper, changes []nic.Change) (out []Step) {
	for _, c := range changes {
		s := Step{Port: u.Name, Field: c.Field, Layer: c.Layer, Changes: []nic.Change{c}, What: describeStep(u.Name, c.Field, []nic.Change{c}), Impact: c.Impact}
		switch c.Field {
		case nic.FieldMTU:
			s.Want.Number = &u.MTU.V
		case nic.FieldEgress:
			s.Want.PCPs = &u.Egress.V
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// mtuOrder moves the MTU steps to the end if there are devices over ports: first the MTUs that are
// lowered, from the top device down, then those that are raised, from the bottom up. A VLAN's MTU
// cannot exceed that of its device, and a bond sets the MTU of its members.
func mtuOrder(steps []Step, desired *nic.Host) []Step {
	if len(desired.Uppers) == 0 {
		return steps
	}
	var others, lowered, raised []Step
	for _, s := range steps {
		switch {
		case s.Field != nic.FieldMTU:
			others = append(others, s)
		case lowers(s.Changes[0]):
			lowered = append(lowered, s)
		default:
			raised = append(raised, s)
		}
	}
	height := func(s Step) int {
		u := desired.Uppers[s.Port]
		switch {
		case u == nil:
			return 0
		case u.Kind == nic.UpperVLAN:
			return 2
		}
		return 1
	}
	ordered.Sort(lowered, func(a, b Step) int { return height(b) - height(a) })
	ordered.Sort(raised, func(a, b Step) int { return height(a) - height(b) })
	return slices.Concat(others, lowered, raised)
}

// lowers reports whether an MTU change lowers the MTU.
func lowers(c nic.Change) bool {
	from, _ := decimal(c.Old)
	to, _ := decimal(c.New)
	return to < from
}

// portLabel returns the name of a port for the user, with its interface if that has a different
// name.
func portLabel(name string, p *nic.Port) string {
	if p.Name == name || p.Name == "" {
		return name
	}
	return name + " (" + p.Name + ")"
}

// setImpact sets the impact of a step on an interface, and blocks the step if it is not allowed.
func (m *Machine) setImpact(s *Step, ifname string, path management, o Options) {
	if bounces(s.Driver, s.Field) {
		s.Impact = max(s.Impact, qos.ImpactPortFlap)
	}
	if s.Impact < qos.ImpactPortFlap || !bounces(s.Driver, s.Field) {
		return
	}
	if s.Bond = m.master(ifname); s.Bond != "" {
		s.Others = slices.DeleteFunc(m.lower(s.Bond), func(n string) bool { return n == ifname })
		s.What += " (a member of " + s.Bond
		if len(s.Others) > 0 {
			s.What += " with " + strings.Join(s.Others, ", ")
		}
		s.What += ")"
	}
	if cut := path.cutBy(ifname); cut != "" && !o.CutOff {
		s.Blocked = "it takes the link down for a moment, and " + cut
	}
}

// stepField returns the field of the step that makes a change.
func stepField(driver, field string) string {
	if whole, _, part := strings.Cut(field, "["); part {
		return whole
	}
	if field == nic.FieldTrust {
		return nic.FieldDSCP
	}
	if driver == nic.DriverIonic {
		return onIonic(field)
	}
	return field
}

func describeStep(port, field string, changes []nic.Change) string {
	var parts []string
	for _, c := range changes {
		if name, nv := nic.NVName(c.Field); nv {
			parts = append(parts, name+"="+c.New)
			continue
		}
		part := c.Field + " of " + port + " to " + c.New
		if c.How != "" {
			part += " (" + c.How + ")"
		}
		parts = append(parts, part)
	}
	if field == nic.FieldNV {
		return "store in the firmware of " + port + " for the next boot " + strings.Join(parts, ", ")
	}
	return "set " + strings.Join(parts, " and ")
}

// wantedValue returns the value that a step sets; ok is false if there is none.
func wantedValue(field string, have, want *nic.Port, changes []nic.Change) (v Value, ok bool) {
	numbers := map[string]qos.Opt[int]{
		nic.FieldRoCEApp: want.RoCEApp, nic.FieldCNPDSCP: want.CNPDSCP, nic.FieldCNPPriority: want.CNPPriority,
		nic.FieldVFs: want.VFs, nic.FieldSFs: want.SFs, nic.FieldToS: want.ToS, nic.FieldTrafficClass: want.TrafficClass, nic.FieldMTU: want.MTU,
		nic.FieldMaxReadRequest: want.MaxReadRequest,
	}
	if o, ok := numbers[field]; ok {
		return Value{Number: &o.V}, o.Set
	}
	if isAMD(have.Driver, field) {
		return wantedIonic(field, have, want)
	}
	switch field {
	case nic.FieldVFTag:
		return Value{VFTag: &VFTag{All: &want.VFTag.V}}, want.VFTag.Set
	case nic.FieldVFTrust:
		on := want.VFTrust.V == "on"
		return Value{VFTrust: &VFTrust{All: &on}}, want.VFTrust.Set
	case nic.FieldRings:
		return Value{Rings: new(want.Rings.V.For(have))}, want.Rings.Set
	case nic.FieldDCBX:
		v.DCBX = new(dcb.DCBXHost)
		firmware := want.DCBX.V == nic.OwnerFirmware
		if firmware {
			*v.DCBX = 0
		}
		if have.Driver == nic.DriverICE {
			v.Agent = &firmware
		}
		return v, want.DCBX.Set
	case nic.FieldLinkPause:
		return Value{Pause: &Pause{RX: want.LinkPause.V, TX: want.LinkPause.V}}, want.LinkPause.Set
	case nic.FieldETS:
		ets := want.ETSFor(have)
		return Value{ETS: &ets.V}, ets.Set
	case nic.FieldCable:
		return Value{Number: new(int(want.Cable.V))}, want.Cable.Set
	case nic.FieldBuffers:
		b, why := want.BuffersFor(have)
		b.Total = 0
		return Value{Buffers: &b}, want.BufferSpeed.Set && why == ""
	case nic.FieldWilling:
		return Value{Willing: &want.Willing.V}, want.Willing.Set
	case nic.FieldStallPrevention:
		return Value{Mode: want.StallPrevention.V}, want.StallPrevention.Set
	case nic.FieldPFC:
		return Value{PFC: &want.PFC.V}, want.PFC.Set
	case nic.FieldDSCP:
		return wantedDSCP(want)
	case nic.FieldECN:
		return Value{ECN: &ECN{NP: want.ECN.V, RP: want.ECN.V}}, want.ECN.Set
	case nic.FieldDCQCN:
		v.DCQCN = map[string]uint64{}
		for _, c := range changes {
			if name, ok := nic.DCQCNName(c.Field); ok {
				v.DCQCN[name] = want.DCQCN[name]
			}
		}
		return v, true
	case nic.FieldMode:
		return Value{Mode: want.Mode.V}, want.Mode.Set
	case nic.FieldNV:
		v.NV = map[string]string{}
		for _, c := range changes {
			if name, nv := nic.NVName(c.Field); nv {
				v.NV[name] = c.New
			}
		}
		return v, true
	}
	return v, false
}

// wantedDSCP returns the DSCP map that also results in the wanted trust mode: a port trusts DSCP
// while its map lists any DSCP, and PCP otherwise (mlx5 en_dcbnl.c).
func wantedDSCP(want *nic.Port) (Value, bool) {
	if want.Trust.Set && want.Trust.V == qos.TrustPCP {
		var none [qos.NumDSCP]int8
		for d := range none {
			none[d] = qos.Unmapped
		}
		return Value{DSCP: &none}, true
	}
	return Value{DSCP: &want.DSCP.V}, want.DSCP.Set
}
