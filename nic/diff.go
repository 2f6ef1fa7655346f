package nic

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Driver names that the model distinguishes, as in sysfs.
const (
	DriverMLX5 = "mlx5_core"
	DriverICE  = "ice"
	DriverBNXT = "bnxt_en"
	// DriverIonic has no DCB operations; its cards are configured with AMD's nicctl.
	DriverIonic = "ionic"
)

// Diff returns how running differs from desired: first what interferes with the settings, then the
// ports in natural order, each in the order in which its settings are written, then the boot unit.
// Values that desired leaves unset are not compared, and ports that it does not list are ignored.
//
// A value that could not be read is a Change of KindUnknown. A value that the driver does not have
// yields no Change, except for the settings that every driver with DCB has.
func Diff(running, desired *Host) []Change {
	var d differ
	if len(desired.Ports)+len(desired.Uppers) == 0 {
		return nil
	}
	for _, a := range slices.Compact(slices.Sorted(slices.Values(running.Agents))) {
		d.add(Change{Field: FieldAgents, Kind: KindConflict, Old: clean(a), New: qos.Absent,
			Blocked: "stop and disable " + clean(a) + ": it writes the same settings"})
	}
	for _, field := range []string{FieldAgents, FieldUppers} {
		if why, bad := running.Missing[field]; bad {
			d.add(Change{Field: field, Kind: KindUnknown, Old: qos.Absent, New: qos.Absent, Blocked: clean(why)})
		}
	}
	for _, name := range natural.Keys(desired.Ports) {
		d.port(name, running.Ports[name], desired.Ports[name], running.Unchosen[name])
	}
	for _, name := range natural.Keys(desired.Uppers) {
		// Devices are found through the NICs below them. If all of those are missing, only the NICs
		// are reported.
		if running.Uppers[name] != nil || desired.isAbove(name, running.Ports) {
			d.upper(name, running.Uppers[name], desired.Uppers[name])
		}
	}
	d.unit(running, desired.Unit)
	return d.out
}

// clean makes text from a host safe to print.
func clean(s string) string { return term.Clip(s, 200) }

type differ struct {
	out        []Change
	name       string
	have, want *Port
	// from and missing belong to the current port or device.
	from, missing map[string]string
}

func (d *differ) add(c Change) {
	c.Port, c.Layer = d.name, LayerOf(c.Field)
	c.Reason = cmp.Or(d.from[origin(c.Field)], d.from[FieldPort])
	d.out = append(d.out, c)
}

// origin returns the field whose line in the intent caused field: firmware settings come from the
// corresponding driver settings.
func origin(field string) string {
	name, ok := NVName(field)
	_, dcqcn := DCQCNName(field)
	switch {
	case dcqcn:
		return FieldDCQCN
	case !ok:
		return field
	case name == mlxconfig.RelaxedOrdering || name == mlxconfig.AdvancedPCI:
		return FieldRelaxedOrdering
	case strings.HasPrefix(name, "CNP_DSCP"):
		return FieldCNPDSCP
	case strings.HasPrefix(name, "CNP_"):
		return FieldCNPPriority
	}
	return FieldNV
}

func (d *differ) unit(running *Host, want UnitState) {
	if !want.Present {
		return
	}
	d.name, d.from = "", nil
	why, bad := running.Missing[FieldUnit]
	have := running.Unit
	switch {
	case bad:
		d.add(Change{Field: FieldUnit, Kind: KindUnknown, Old: qos.Absent, New: "installed", Blocked: clean(why)})
	case !have.Present:
		d.add(Change{Field: FieldUnit, Kind: KindNotPersistent, Old: qos.Absent, New: "installed"})
	case have.Masked != "":
		d.add(Change{Field: FieldUnit, Kind: KindNotPersistent, Old: "masked by " + clean(have.Masked), New: "installed", Blocked: "remove " + clean(have.Masked) + ", and install the unit again"})
	case have.Stale != "":
		d.add(Change{Field: FieldUnit, Kind: KindNotPersistent, Old: clean(have.Stale), New: "installed"})
	case want.Digest != "" && have.Digest != want.Digest:
		d.add(Change{Field: FieldUnit, Kind: KindNotPersistent, Old: "with other settings", New: "installed"})
	case have.Failed != "":
		d.add(Change{Field: FieldUnit, Kind: KindNotPersistent, Old: "failed: " + clean(have.Failed), New: "ran without an error", Blocked: "'journalctl -u " + unitPattern + "' shows why"})
	}
}

// unitPattern matches all service instances of the boot unit in systemctl and journalctl.
const unitPattern = "roce-fabric-nic@*"

func (d *differ) port(name string, have, want *Port, unchosen string) {
	d.name, d.have, d.want, d.from = name, have, want, want.From
	if have != nil {
		d.missing = have.Missing
	} else {
		why := "the host has no interface of that name: correct it in the intent, or look for the card"
		if want.Select.Set {
			why = cmp.Or(clean(unchosen), "its selector ("+want.Select.V.String()+") was not evaluated")
		}
		d.add(Change{Field: FieldPort, Kind: KindMissing, Old: qos.Absent, New: "present", Blocked: why})
		return
	}
	// Settings that need the RDMA device are compared after the reboot that creates the device.
	waits := have.waitsForRDMA()
	if want.RDMA != "" && have.RDMA != want.RDMA && !waits {
		left := "correct the name of the RDMA device in the intent"
		if have.RDMA == "" {
			left = "the NIC has no RDMA device"
		}
		d.add(Change{Field: FieldRDMA, Kind: KindDrift, Old: cmp.Or(clean(have.RDMA), qos.Absent), New: want.RDMA, Blocked: left})
	}
	switch {
	case want.Owner != "":
		if have.PFC.Set { // the function controls the port's DCB settings
			d.add(Change{Field: FieldDCB, Kind: KindDrift, Old: "of this host", New: "of " + want.Owner, Blocked: "the card is in NIC mode, where its host owns the port: give the NIC the link and take dpu out of the intent, or set INTERNAL_CPU_OFFLOAD_ENGINE=ENABLED with mlxconfig and power-cycle the host"})
		}
	case have.VF:
		why := cmp.Or(clean(have.Missing[FieldDCB]), "a VF or a restricted function has no DCB settings")
		d.add(Change{Field: FieldDCB, Kind: KindUnknown, Old: qos.Absent, New: "settings of the physical function", Blocked: why + ": set the physical function; on a DPU its own system, which dpu of the NIC names"})
	default:
		d.dcb()
	}
	if (have.RDMA != "" || want.RDMA != "") && !waits {
		diffCMDefault(d, FieldMode, have.Mode, want.Mode, equal, clean)
		diffCMDefault(d, FieldToS, have.ToS, want.ToS, d.sameToS, tosText)
		diffField(d, FieldTrafficClass, have.TrafficClass, want.TrafficClass, sameDSCP, tosText, drift)
	}
	if !have.VF && !waits {
		diffField(d, FieldECN, have.ECN, want.ECN, includes, maskText, Change{Kind: KindDrift, Blocked: ecnLimit(have, want)})
		diffField(d, FieldCNPDSCP, have.CNPDSCP, want.CNPDSCP, equal, strconv.Itoa, drift)
		diffField(d, FieldCNPPriority, have.CNPPriority, want.CNPPriority, equal, strconv.Itoa, drift)
	}
	if !waits {
		d.dcqcn()
	}
	d.rings()
	d.stall()
	d.diffMaxReadRequest()
	d.diffRelaxedOrdering()
	diffField(d, FieldMTU, have.MTU, want.MTU, equal, strconv.Itoa, Change{Kind: KindDrift, Impact: qos.ImpactLoss})
	if !have.VF {
		d.functions()
		d.scalable()
		d.nv()
	}
}

// upper compares a bond or VLAN. The devices that it stands on are never changed.
func (d *differ) upper(name string, have, want *Upper) {
	d.name, d.from = name, want.From
	blocked := func(kind Kind, field, old, new string) {
		d.add(Change{Field: field, Kind: kind, Old: clean(old), New: new, Blocked: "this tool does not create or change bonds and VLANs: change the host's network configuration, or correct the intent"})
	}
	if have == nil || have.Kind != want.Kind {
		kind, old := KindMissing, qos.Absent
		if have != nil {
			kind, old = KindDrift, "a "+string(have.Kind)
		}
		blocked(kind, FieldPort, old, "a "+string(want.Kind))
		return
	}
	d.missing = have.Missing
	if !slices.Equal(have.On, want.On) {
		blocked(KindDrift, FieldOn, cmp.Or(strings.Join(have.On, ", "), qos.Absent), strings.Join(want.On, ", "))
	}
	if want.VLAN.Set && have.VLAN.Set && have.VLAN != want.VLAN {
		blocked(KindDrift, FieldVLAN, strconv.Itoa(have.VLAN.V), strconv.Itoa(want.VLAN.V))
	}
	diffField(d, FieldEgress, have.Egress, want.Egress, PCPs.Holds, func(m PCPs) string { return m.textOf(want.Egress.V) }, drift)
	diffField(d, FieldMTU, have.MTU, want.MTU, equal, strconv.Itoa, Change{Kind: KindDrift, Impact: qos.ImpactLoss})
}

// Holds reports whether the map equals want in all entries that want manages.
func (m PCPs) Holds(want PCPs) bool {
	return slices.EqualFunc(m[:], want[:], func(have, want int8) bool { return want == qos.Unmanaged || have == want })
}

// textOf prints the entries that the map want manages: "0:0 2:3 3:3".
func (m PCPs) textOf(want PCPs) string {
	var all [qos.NumDSCP]int8
	copy(all[:], m[:])
	return dscpText(all, func(i int) bool { return i < len(want) && want[i] != qos.Unmanaged })
}

var drift = Change{Kind: KindDrift}

// dcb compares the settings of the kernel's DCB interface and of the driver.
func (d *differ) dcb() {
	have, want := d.have, d.want
	// ice restarts the link when pause changes (ice_common.c, ice_set_fc), and so does bnxt if
	// pause is autonegotiated (bnxt.c, bnxt_hwrm_set_pause).
	pause := d.flaps(DriverICE, DriverBNXT)
	// ice closes and reopens the device when ETS, the DSCP map or, with it, the trust mode changes
	// (ice_dcb_nl.c).
	dcb := d.flaps(DriverICE)
	trust := Change{Kind: KindDrift, Impact: dcb, Blocked: dscpLimit(have, want)}
	if have.Driver == DriverIonic {
		trust.How = "nicctl sets it for all AMD cards of the host"
	}
	diffField(d, FieldDCBX, have.DCBX, want.DCBX, equal, func(o Owner) string { return clean(string(o)) }, agentChange(have))
	diffField(d, FieldLinkPause, have.LinkPause, want.LinkPause, equal, onOff, Change{Kind: KindDrift, Impact: pause})
	ets := Change{Kind: KindDrift, Impact: dcb, Blocked: etsLimit(have, want)}
	diffField(d, FieldETS, have.ETS, want.ETSFor(have), ETS.Holds, ETS.String, ets)
	diffField(d, FieldWilling, have.Willing, want.Willing, equal, onOff, Change{Kind: KindDrift, Impact: dcb})
	d.buffers()
	diffField(d, FieldCable, have.Cable, want.Cable, sameLength, units.Length.String, drift)
	diffField(d, FieldPFC, have.PFC, want.PFC, equal, maskText, Change{Kind: KindDrift, Impact: qos.ImpactPortFlap, Blocked: pfcLimit(have, want)})
	d.dscp(dcb)
	diffField(d, FieldTrust, have.Trust, want.Trust, equal, func(t qos.Trust) string { return clean(string(t)) }, trust)
	if have.Driver == DriverBNXT {
		diffField(d, FieldRoCEApp, have.RoCEApp, want.RoCEApp, equal, appText, drift)
	}
}

// flaps returns the impact of a setting that takes the link down with the given drivers.
func (d *differ) flaps(drivers ...string) qos.Impact {
	if slices.Contains(drivers, d.have.Driver) {
		return qos.ImpactPortFlap
	}
	return qos.ImpactNone
}

// diffCMDefault compares a default of the RDMA connection manager. Without the rdma_cm module no
// default exists; whatever sets it loads the module first.
func diffCMDefault[T any](d *differ, name string, have, want qos.Opt[T], same func(have, want T) bool, text func(T) string) {
	if want.Set && !have.Set && d.have.Missing[name] == NoCM {
		d.add(Change{Field: name, Kind: KindDrift, Old: "unset: " + NoCM, New: text(want.V), How: "modprobe rdma_cm, then its configfs"})
		return
	}
	diffField(d, name, have, want, same, text, drift)
}

// essential lists the fields that are reported as unknown even if the driver does not have them,
// because lossless operation depends on them.
var essential = map[string]bool{FieldPFC: true, FieldTrust: true, FieldDSCP: true, FieldETS: true, FieldToS: true, FieldMTU: true}

// Essential reports whether a port cannot be proven lossless while the field is unknown.
func Essential(field string) bool { return essential[field] || field == FieldDCB }

// unknown adds a change for a field that could not be read.
func (d *differ) unknown(name, want string) {
	why := clean(d.missing[name])
	switch {
	case why == NotInDriver && !essential[name] && name != FieldRings && name != FieldVFTrust && name != FieldVFTag && name != FieldSFs: // the last four are stated in the intent itself
		return
	case why == "":
		why = "not read"
	}
	d.add(Change{Field: name, Kind: KindUnknown, Old: qos.Absent, New: want, Blocked: why})
}

func diffField[T any](d *differ, name string, have, want qos.Opt[T], same func(have, want T) bool, text func(T) string, c Change) {
	switch {
	case !want.Set:
	case !have.Set:
		d.unknown(name, text(want.V))
	case !same(have.V, want.V):
		c.Field, c.Old, c.New = name, text(have.V), text(want.V)
		d.add(c)
	}
}

// managedDSCP prints the managed entries of a DSCP map.
func managedDSCP(m [qos.NumDSCP]int8) string {
	return dscpText(m, func(i int) bool { return m[i] != qos.Unmanaged })
}

func (d *differ) dscp(impact qos.Impact) {
	have, want := d.have.DSCP, d.want.DSCP
	if !want.Set {
		return
	}
	if !have.Set {
		d.unknown(FieldDSCP, managedDSCP(want.V))
		return
	}
	differs := func(i int) bool { return want.V[i] != qos.Unmanaged && have.V[i] != want.V[i] }
	if old := dscpText(have.V, differs); old != "" {
		d.add(Change{Field: FieldDSCP, Kind: KindDrift, Old: old, New: dscpText(want.V, differs), Impact: impact, Blocked: dscpLimit(d.have, d.want)})
	}
}

// dscpText prints the entries of a map that counts selects: "0-7:0 26:3", with [qos.Absent] for an
// entry without a priority.
func dscpText(m [qos.NumDSCP]int8, counts func(int) bool) string {
	var codes ordered.Groups[int8, int]
	for i, v := range m {
		if counts(i) {
			codes.Add(v, i)
		}
	}
	var parts []string
	for v, l := range codes.All() {
		to := qos.Absent
		if v >= 0 {
			to = strconv.Itoa(int(v))
		}
		parts = append(parts, qos.FoldInts(l)+":"+to)
	}
	return strings.Join(parts, " ")
}

func equal[T comparable](have, want T) bool { return have == want }

func sameDSCP(have, want int) bool { return have>>2 == want>>2 }

// sameToS compares the DSCP. Unless the card is known to set the ECN bits itself, it also compares
// whether both values mark packets as ECN-capable.
func (d *differ) sameToS(have, want int) bool {
	return sameDSCP(have, want) && (!d.want.ECN.Set || d.have.marksECN() || ecnCapable(have) == ecnCapable(want))
}

// ecnCapable reports whether a ToS has ECT(0) or ECT(1) (RFC 3168).
func ecnCapable(tos int) bool { return tos&3 == 1 || tos&3 == 2 }

// marksECN reports whether a running port is known to set the ECN bits itself. mlx5 reads only the
// DSCP from a ToS and sets the ECN bits when congestion control is on
// (drivers/infiniband/hw/mlx5/qp.c), which is known only if the port shows its congestion control
// settings.
func (p *Port) marksECN() bool {
	return p.Driver == DriverMLX5 && (p.ECN.Set || p.NV != nil)
}

// includes reports whether have contains want: congestion control on additional priorities does no
// harm.
func includes(have, want qos.PrioritySet) bool { return have&want == want }

// sameLength compares lengths in whole metres, the unit that drivers store.
func sameLength(have, want units.Length) bool {
	return math.Ceil(float64(have)) == math.Ceil(float64(want))
}

// Holds reports whether a running ETS matches want, in the traffic classes that the port has;
// shares are compared only for ETS classes.
func (e ETS) Holds(want ETS) bool {
	n := e.Classes
	if n <= 0 || n > qos.NumPriorities {
		n = qos.NumPriorities
	}
	for tc := range n {
		if e.TSA[tc] != want.TSA[tc] || want.TSA[tc] == TSAETS && e.Bandwidth[tc] != want.Bandwidth[tc] {
			return false
		}
	}
	return e.PriorityToTC == want.PriorityToTC
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// tosText prints "106 (DSCP 26)".
func tosText(t int) string {
	if t < 0 {
		return "unset"
	}
	return fmt.Sprintf("%d (DSCP %d)", t, t>>2)
}

// maskText prints "0x08 {3}".
func maskText(s qos.PrioritySet) string { return fmt.Sprintf("0x%02x %s", uint8(s), s) }

// String prints "{0} ets 40%, {3} ets 60%, {6} strict", listing the traffic classes before their
// mode. It adds the priority-to-class map unless priority n is in class n.
func (e ETS) String() string {
	var classes ordered.Map[string, qos.PrioritySet]
	identity := true
	var m [qos.NumDSCP]int8
	for tc := range qos.NumPriorities {
		what := clean(string(e.TSA[tc]))
		if e.TSA[tc] == TSAETS {
			what = fmt.Sprintf("ets %d%%", e.Bandwidth[tc])
		}
		*classes.At(what) |= qos.Priorities(tc)
		identity = identity && e.PriorityToTC[tc] == int8(tc)
		m[tc] = e.PriorityToTC[tc]
	}
	var parts []string
	for what, tcs := range classes.All() {
		parts = append(parts, tcs.String()+" "+what)
	}
	s := strings.Join(parts, ", ")
	if !identity {
		s += "; priorities in classes " + dscpText(m, func(i int) bool { return i < qos.NumPriorities })
	}
	return s
}

// String prints "priorities in buffers 0-2,4-7:0 3:1, sizes 130944 131072 0 0 0 0 0 0 B".
func (b Buffers) String() string {
	var m [qos.NumDSCP]int8
	copy(m[:], b.PriorityToBuffer[:])
	sizes := make([]string, len(b.Size))
	for i, n := range b.Size {
		sizes[i] = strconv.FormatInt(n, 10)
	}
	return "priorities in buffers " + dscpText(m, func(i int) bool { return i < qos.NumPriorities }) + ", sizes " + strings.Join(sizes, " ") + " B"
}
