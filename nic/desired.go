package nic

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Problem describes something that the intent leaves open for a NIC, or asks for although the NIC
// cannot do it. The setting is left alone.
type Problem struct {
	Port  string `json:"port,omitempty"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
	Where string `json:"where,omitempty"` // file and line of the intent
}

// maxCable is the longest cable that mlx5 accepts, in whole metres from 1
// (drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c).
const maxCable units.Length = 999

// DefaultCNPDSCP is the DSCP that NVIDIA cards mark congestion notifications with by default
// (Mellanox/mstflint mlxconfig_host.db, CNP_DSCP).
const DefaultCNPDSCP = 48

// ectBit is the ECN codepoint ECT(0) in the two low bits of a ToS. RDMA ToS values usually include
// it; the cards read only the DSCP from them.
const ectBit = 2

// toSOf returns the ToS for a DSCP of 0..63, for example 106 for 26.
func toSOf(dscp int) int { return dscp<<2 | ectBit }

// settingsOf returns the settings that apply to a NIC: those of the switch port at the other end of
// its link, so that both ends agree, or else the fabric's.
func settingsOf(f *intent.Fabric, n *intent.NIC) *intent.Settings {
	if owner, ok := f.Owner(n); ok {
		n = owner
	}
	if p := SwitchPort(f, n); p != nil {
		return p.Settings
	}
	return f.Settings
}

// SwitchPort returns the switch port at the other end of a NIC's link, or nil if none is known.
func SwitchPort(f *intent.Fabric, n *intent.NIC) *intent.Port {
	e, ok := Peer(n)
	if !ok {
		return nil
	}
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// Peer returns the other end of a NIC's link; ok is false if the NIC has no link.
func Peer(n *intent.NIC) (e intent.Endpoint, ok bool) {
	switch {
	case n.Link == nil:
		return intent.Endpoint{}, false
	case n.Link.A == intent.Endpoint{Device: n.Host.Name, Port: n.Name}:
		return n.Link.B, true
	}
	return n.Link.A, true
}

// Desired returns the settings that a host's NICs should hold, for each NIC with an RDMA device, a
// link or a selector, and for the bonds and VLANs over them. The problems list what the intent
// leaves open.
func Desired(f *intent.Fabric, h *intent.Host) (*Host, []Problem) {
	out := &Host{Name: h.Name, Ports: map[string]*Port{}}
	var problems []Problem
	for _, n := range h.NICs {
		selects := n.Select.V != (intent.Selector{})
		owner, owned := f.Owner(n)
		if n.RDMA.V == "" && n.Link == nil && !selects && !owned {
			continue
		}
		b := builder{nic: n, settings: settingsOf(f, n), port: &Port{Name: n.Name, RDMA: n.RDMA.V, From: map[string]string{}}}
		b.build()
		if owned {
			b.dropPortSettings(owner)
		}
		if selects {
			b.port.Select = qos.Of(n.Select.V)
			b.from(n.Select.From, FieldPort)
		}
		out.Ports[n.Name] = b.port
		problems = append(problems, b.problems...)
	}
	problems = append(problems, out.uppers(f, h)...)
	out.Unit = UnitState{Present: len(out.Ports) > 0, Digest: Digest(out)}
	return out, problems
}

// Digest returns the SHA-256 of a desired host's settings in hex. The places in the intent are left
// out, so that adding a comment to the intent does not change the digest.
func Digest(desired *Host) string {
	bare := Host{Name: desired.Name, Ports: make(map[string]*Port, len(desired.Ports))}
	for name, p := range desired.Ports {
		bare.Ports[name] = new(*p)
		bare.Ports[name].From = nil
	}
	for name, u := range desired.Uppers {
		if bare.Uppers == nil {
			bare.Uppers = map[string]*Upper{}
		}
		bare.Uppers[name] = new(*u)
		bare.Uppers[name].From = nil
	}
	b, err := json.Marshal(bare)
	if err != nil {
		panic("nic: a host is always JSON: " + err.Error()) // there are only numbers and strings, no NaN
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

type builder struct {
	nic      *intent.NIC
	settings *intent.Settings
	port     *Port
	problems []Problem
}

func (b *builder) problem(from intent.Origin, hint, format string, args ...any) {
	b.problems = append(b.problems, Problem{Port: b.nic.Name, What: fmt.Sprintf(format, args...), Hint: hint, Where: from.String()})
}

// from records the place in the intent that fields come from.
func (b *builder) from(o intent.Origin, fields ...string) {
	for _, f := range fields {
		b.port.From[f] = o.String()
	}
}

func (b *builder) build() {
	s, p := b.settings, b.port
	here := intent.Origin{Pos: b.nic.Pos}
	b.from(here, FieldPort, FieldRDMA, FieldDCBX, FieldMode, FieldBuffers)
	p.DCBX = qos.Of(OwnerHost)
	p.MTU = qos.Of(s.MTU.Host.V)
	p.ActiveMTU = qos.Of(s.MTU.RDMA.V)
	p.Mode = qos.Of(ModeRoCEv2)
	b.from(s.MTU.Host.From, FieldMTU)
	b.from(s.MTU.RDMA.From, FieldActiveMTU)
	lossless := s.Lossless()
	p.PFC = qos.Of(lossless)
	rdma := rdmaClasses(s)
	b.from(here, FieldPFC)
	if len(rdma) > 0 {
		at := intent.Origin{Pos: rdma[0].Pos}
		b.from(at, FieldECN)
		p.RoCEApp = qos.Of(rdma[0].Priority.V)
		b.from(rdma[0].Priority.From, FieldRoCEApp)
		if lossless != 0 {
			b.from(rdma[0].Lossless.From, FieldPFC, FieldLinkPause)
		}
	}
	if s.LinkPauseOff() {
		p.LinkPause = qos.Of(false)
	}
	b.trust()
	b.cable()
	b.rings()
	b.functions(b.nic.VFs)
	b.scalable(b.nic.SFs)
	b.setNICOptions()
	b.card()
	if ets, ok := etsOf(s); ok {
		p.ETS = qos.Of(ets)
		b.from(intent.Origin{Pos: s.Classes[0].Pos}, FieldETS)
	}
	b.congestion(rdma)
	b.setDefaultToS(rdma)
}

// dropPortSettings removes the port settings of a NIC whose port belongs to another side of the
// card. In DPU mode the host's side cannot change any of them (mlx5/core/en_dcbnl.c,
// vport_group_manager).
func (b *builder) dropPortSettings(owner *intent.NIC) {
	p := b.port
	p.Owner = intent.Endpoint{Device: owner.Host.Name, Port: owner.Name}.String()
	b.from(b.nic.DPU.From, FieldDCB)
	p.DCBX, p.PFC, p.RoCEApp, p.LinkPause = qos.Opt[Owner]{}, qos.Opt[qos.PrioritySet]{}, qos.Opt[int]{}, qos.Opt[bool]{}
	p.Trust, p.DSCP, p.ETS = qos.Opt[qos.Trust]{}, qos.Opt[[qos.NumDSCP]int8]{}, qos.Opt[ETS]{}
	p.ECN, p.CNPDSCP, p.CNPPriority, p.Wanted = qos.Opt[qos.PrioritySet]{}, qos.Opt[int]{}, qos.Opt[int]{}, qos.Opt[mlxconfig.Settings]{}
	b.problems = nil // the owner reports the same problems
}

// trust sets how received frames are classified. A NIC has no PCP map. A NIC always trusts
// something: where the switch port trusts nothing, the NIC's setting is left alone.
func (b *builder) trust() {
	s, p := b.settings, b.port
	if s.Trust.V == qos.TrustNone {
		return
	}
	p.Trust = qos.Of(s.Trust.V)
	b.from(s.Trust.From, FieldTrust)
	if s.Trust.V != qos.TrustDSCP {
		return
	}
	var m [qos.NumDSCP]int8
	for d := range m {
		m[d] = qos.Unmanaged
	}
	for _, k := range s.Classes {
		for _, d := range k.DSCP.V {
			m[d] = int8(k.Priority.V)
		}
	}
	p.DSCP = qos.Of(m)
	if len(s.Classes) > 0 {
		b.from(intent.Origin{Pos: s.Classes[0].Pos}, FieldDSCP)
	}
}

// cable sets the cable length, rounded up to a whole metre.
func (b *builder) cable() {
	l := b.nic.Link
	if l == nil || b.settings.Lossless() == 0 || l.Cable.V <= 0 {
		return
	}
	b.from(l.Cable.From, FieldCable)
	m := units.Length(math.Ceil(float64(l.Cable.V)))
	if m > maxCable {
		b.problem(l.Cable.From, "size the receive buffers of the NIC by hand", "the driver accepts a cable of at most %s, this one has %s; the length is not set", maxCable, l.Cable.V)
		return
	}
	b.port.Cable = qos.Of(m)
}

func (b *builder) rings() {
	n := b.nic
	if n.RXRing.V == 0 && n.TXRing.V == 0 {
		return
	}
	b.port.Rings = qos.Of(Rings{RX: n.RXRing.V, TX: n.TXRing.V})
	at := n.RXRing.From
	if n.RXRing.V == 0 {
		at = n.TXRing.From
	}
	b.from(at, FieldRings)
}

// setNICOptions sets the options that the intent states for the NIC itself.
func (b *builder) setNICOptions() {
	n, p := b.nic, b.port
	if n.Willing.V {
		p.Willing = qos.Of(false)
		b.from(n.Willing.From, FieldWilling)
	}
	if n.StallPrevention.V {
		p.StallPrevention = qos.Of(StallAuto)
		b.from(n.StallPrevention.From, FieldStallPrevention)
	}
	switch {
	case !n.Buffers.V || b.settings.Lossless() == 0:
	case !p.Cable.Set || n.Link.Speed.V <= 0:
		b.problem(n.Buffers.From, "state the link of the NIC, with its speed and a cable of at most "+maxCable.String(), "buffers: auto needs the speed and cable length of the link; the buffers are not set")
	default:
		p.BufferSpeed = qos.Of(n.Link.Speed.V)
		b.from(n.Buffers.From, FieldBuffers)
	}
}

// rdmaClasses returns the classes that carry RDMA: those marked so in the intent, or else those
// that mark congestion (ECN).
func rdmaClasses(s *intent.Settings) []*intent.Class {
	other := func(k *intent.Class) bool { return !k.RDMA() }
	if l := slices.DeleteFunc(slices.Clone(s.Classes), other); len(l) > 0 {
		return l
	}
	return slices.DeleteFunc(slices.Clone(s.Classes), func(k *intent.Class) bool {
		// An ECN curve left to the switch may mark or drop, so it says nothing about RDMA.
		return k.ECN.Mode.V != intent.ECNFixed && k.ECN.Mode.V != intent.ECNAuto
	})
}

// CNPClass returns the class of congestion notifications: the one called "cnp", or else the only
// strict class. A class that carries RDMA does not count. If there is no such class, ok is false
// and several holds the strict classes, if any.
func CNPClass(s *intent.Settings) (class *intent.Class, several []*intent.Class, ok bool) {
	rdma := rdmaClasses(s)
	var strict []*intent.Class
	for _, k := range s.Classes {
		switch {
		case slices.Contains(rdma, k):
		case strings.EqualFold(k.Name, "cnp"):
			return k, nil, true
		case k.Strict.V:
			strict = append(strict, k)
		}
	}
	if len(strict) == 1 {
		return strict[0], nil, true
	}
	return nil, strict, false
}

// congestion sets the priorities that use congestion control.
func (b *builder) congestion(rdma []*intent.Class) {
	p := b.port
	var ecn qos.PrioritySet
	for _, k := range rdma {
		if k.ECN.Mode.V != intent.ECNOff {
			ecn |= qos.Priorities(k.Priority.V)
		}
	}
	if len(rdma) == 0 {
		return
	}
	want := mlxconfig.Settings{CCPriorities: ecn, FirmwareLLDPOff: !b.nic.KeepDCBX.V}
	b.from(intent.Origin{Pos: rdma[0].Pos}, FieldNV)
	if ecn != 0 {
		p.ECN = qos.Of(ecn)
		b.notifications(rdma, &want)
	}
	p.Wanted = qos.Of(want)
}

// notifications sets how congestion notifications are marked.
func (b *builder) notifications(rdma []*intent.Class, want *mlxconfig.Settings) {
	p := b.port
	cnp, several, ok := CNPClass(b.settings)
	switch {
	case ok:
		p.CNPPriority = qos.Of(cnp.Priority.V)
		want.CNPPriority = cnp.Priority.V
		b.from(cnp.Priority.From, FieldCNPPriority)
		if d, ok := cnpDSCP(cnp); ok {
			p.CNPDSCP = qos.Of(d)
			want.CNPDSCP = d
			b.from(dscpFrom(cnp), FieldCNPDSCP)
		}
	case len(several) > 0:
		b.problem(intent.Origin{Pos: several[0].Pos}, `name the class of congestion notifications "cnp"`, "classes %s are strict and lossy; it is not clear which one carries congestion notifications, so their marking is not set", namesOf(several))
	default:
		b.problem(intent.Origin{Pos: rdma[0].Pos}, fmt.Sprintf("add a class cnp: {priority: 6, dscp: [%d], strict: true}", DefaultCNPDSCP), "no class is strict and lossy, so the marking of congestion notifications is not set")
	}
}

// cnpDSCP returns the DSCP for congestion notifications: the stated one, or the cards' default if the
// class contains it, so that nothing is programmed without need, or else the lowest of the class.
func cnpDSCP(k *intent.Class) (int, bool) {
	switch l := k.DSCP.V; {
	case len(l) == 0:
		return 0, false
	case k.HostDSCP.IsDefault() && slices.Contains(l, DefaultCNPDSCP):
		return DefaultCNPDSCP, true
	default:
		return k.HostDSCP.V, true
	}
}

// dscpFrom returns where the intent states the DSCP with which hosts mark a class.
func dscpFrom(k *intent.Class) intent.Origin {
	if k.HostDSCP.IsDefault() {
		return k.DSCP.From
	}
	return k.HostDSCP.From
}

// DSCPOf returns the DSCP with which a NIC marks a class; -1 if the class has none there.
func DSCPOf(f *intent.Fabric, n *intent.NIC, class string) int {
	if k := settingsOf(f, n).Class(class); k != nil {
		return k.HostDSCP.V
	}
	return -1
}

// setDefaultToS marks the traffic that applications do not mark themselves with the DSCP of hosts in
// the first RDMA class.
func (b *builder) setDefaultToS(rdma []*intent.Class) {
	i := slices.IndexFunc(rdma, func(k *intent.Class) bool { return len(k.DSCP.V) > 0 })
	if i < 0 {
		return
	}
	k := rdma[i]
	tos := toSOf(k.HostDSCP.V)
	b.port.ToS, b.port.TrafficClass = qos.Of(tos), qos.Of(tos)
	b.from(dscpFrom(k), FieldToS, FieldTrafficClass)
	if len(rdma) > 1 {
		b.problem(k.DSCP.From, "let the applications of the other classes set their own traffic class", "RDMA that sets no traffic class is sent in class %s (DSCP %d), not in %s", k.Name, k.HostDSCP.V, namesOf(slices.Delete(slices.Clone(rdma), i, i+1)))
	}
}

func namesOf(classes []*intent.Class) string {
	var names []string
	for _, k := range classes {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// etsOf derives a NIC's ETS from the classes: each priority is in the traffic class of the same
// number, strict if its class is strict. The weighted classes share the link in the ratio that the
// switches use, in whole percent that add up to 100, as the drivers require. A traffic class
// without an intent class gets 0%.
func etsOf(s *intent.Settings) (ETS, bool) {
	if len(s.Classes) == 0 {
		return ETS{}, false
	}
	var e ETS
	for i := range e.TSA {
		e.TSA[i], e.PriorityToTC[i] = TSAETS, int8(i)
	}
	var weighted []*intent.Class
	for _, k := range s.Classes {
		if k.Strict.V {
			e.TSA[k.Priority.V] = TSAStrict
		} else {
			weighted = append(weighted, k)
		}
	}
	if len(weighted) == 0 {
		// Drivers reject a bandwidth sum of 0.
		for i := range e.TSA {
			e.TSA[i] = TSAStrict
		}
		return e, true
	}
	for i, v := range percents(weighted) {
		e.Bandwidth[weighted[i].Priority.V] = v
	}
	return e, true
}

// percents divides 100 in the ratio of the classes' bandwidths, with at least 1 for each. The
// largest remainders are rounded up.
func percents(classes []*intent.Class) []int {
	var sum float64
	for _, k := range classes {
		sum += float64(k.Bandwidth.V)
	}
	out := make([]int, len(classes))
	if sum <= 0 {
		for i := range out {
			out[i] = 100 / len(out)
		}
		out[0] += 100 % len(out)
		return out
	}
	type part struct {
		i    int
		rest float64
	}
	left := 100
	parts := make([]part, len(classes))
	for i, k := range classes {
		exact := float64(k.Bandwidth.V) / sum * 100
		out[i] = max(1, int(exact+1e-9)) // the 1e-9 keeps 60 % of 100 from becoming 59
		parts[i] = part{i, exact - float64(out[i])}
		left -= out[i]
	}
	ordered.Sort(parts, func(a, b part) int { return cmp.Compare(b.rest, a.rest) })
	for n := 0; left > 0; n, left = n+1, left-1 {
		out[parts[n%len(parts)].i]++
	}
	// Take the excess from raising shares below 1 % back from the largest share.
	for ; left < 0; left++ {
		out[slices.Index(out, slices.Max(out))]--
	}
	return out
}
