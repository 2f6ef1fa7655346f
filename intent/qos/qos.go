// Package qos is the device-independent model of what a RoCE switch or host port does:
// classification, PFC, queues, ECN, buffers, watchdog, MTU.
//
// One type, [Device], describes both the desired and the running state of a device, on every
// operating system. A renderer encodes a desired Device into native configuration and decodes
// native configuration into a running one; [Diff] compares the two and knows nothing of any
// vendor.
//
// The model holds meaning, not names: a port's queue has an ECN curve, and only the renderer
// knows that the device keeps this curve in a profile called AZURE_LOSSLESS. Ports that share a
// map share one pointer to it.
//
// An [Opt] that is not set means "not managed" in a desired Device. In a running one it means "not
// configured", except at the places of [Device.NotKnown], whose values the source of the Device does
// not show. To remove something, set the value that says so (a zero [PrioritySet],
// Watchdog{Enabled: false}).
//
// Of this module, the package imports only internal/units and small helpers, and it does no I/O.
// Do not put vendor names, native spellings or platform defaults in it.
package qos

import (
	"cmp"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// NumPriorities is the number of 802.1p priorities. In this model it is also the number of
// traffic classes, unicast queues and priority groups of a port.
const NumPriorities = 8

// NumDSCP is the number of DSCP values.
const NumDSCP = 64

// Opt is an optional value. See the package comment for the meaning of an Opt that is not set.
type Opt[T any] struct {
	V   T
	Set bool
}

// Of returns a set Opt.
func Of[T any](v T) Opt[T] { return Opt[T]{V: v, Set: true} }

// Or returns the value if it is set, and otherwise def.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.V
	}
	return def
}

// PrioritySet is a set of 802.1p priorities, with bit n for priority n, like a PFC enable mask
// (0x08 is priority 3).
type PrioritySet uint8

// Priorities returns the set of the given priorities, each 0..7.
func Priorities(ps ...int) PrioritySet {
	var s PrioritySet
	for _, p := range ps {
		s |= 1 << p
	}
	return s
}

// Has reports whether priority p is in the set.
func (s PrioritySet) Has(p int) bool { return p >= 0 && p < NumPriorities && s&(1<<p) != 0 }

// List returns the priorities in ascending order.
func (s PrioritySet) List() []int {
	var l []int
	for p := range NumPriorities {
		if s.Has(p) {
			l = append(l, p)
		}
	}
	return l
}

// Len returns the number of priorities in the set.
func (s PrioritySet) Len() int { return bits.OnesCount8(uint8(s)) }

// String returns "{3,4}".
func (s PrioritySet) String() string { return "{" + s.Join(",") + "}" }

// Words returns the priorities for a sentence: "no priority", "priority 3", "priorities 3 and 4".
func (s PrioritySet) Words() string {
	l := s.List()
	switch n := len(l); n {
	case 0:
		return "no priority"
	case 1:
		return "priority " + s.Join("")
	default:
		last := Priorities(l[n-1])
		return "priorities " + (s &^ last).Join(", ") + " and " + last.Join("")
	}
}

// Join returns the priorities with sep between them: "3,4".
func (s PrioritySet) Join(sep string) string {
	var b strings.Builder
	for _, p := range s.List() {
		if b.Len() > 0 {
			b.WriteString(sep)
		}
		b.WriteByte(byte('0' + p))
	}
	return b.String()
}

// Device is a switch, desired or running.
type Device struct {
	Name string
	// Platform identifies the hardware and software. It is read or declared, never compared.
	Platform Platform
	// OwnsGlobals allows changes of switch-wide settings that ports outside the intent use.
	OwnsGlobals bool
	// Classes are the intent's traffic classes. Only a desired Device has them; encoders name
	// native objects after them.
	Classes []Class
	// Ports are keyed by native name. A port that a desired Device does not list is not changed.
	Ports map[string]*Port
	// NotKnown holds the places of values that a running device has and its source does not show, or
	// shows so that several are possible, each with the reason: "the number abc is not understood".
	// The value is not set there. Decoders state it; nil for none.
	NotKnown map[Place]string
	// WatchdogPoll is the polling interval of a software PFC watchdog.
	WatchdogPoll Opt[time.Duration]
	// PollUsual is set if nobody states WatchdogPoll: a system that chooses the interval by
	// itself may then leave it out.
	PollUsual bool
	// GlobalMaps classify traffic that does not enter through a port with its own maps (CPU,
	// tunnels, new ports).
	GlobalMaps Opt[*Maps]
	// HeadroomModel holds the parameters of the device's own headroom calculation.
	HeadroomModel Opt[HeadroomModel]
	// Pools and Profiles are the buffer objects of the device by native name. They belong to the
	// platform's template: checks compare them, but plans never change them.
	Pools    map[string]Pool
	Profiles map[string]BufferProfile
	// Shares are the percentages of packet memory that a running device assigns to pools, by
	// native name, if it does not show pool sizes. Only checks use them; plans never change them.
	Shares map[string]Share
	// HeadroomLimits are the limits that a running device configures for the headroom of a
	// lossless group. Only checks use them; plans never change them.
	HeadroomLimits []HeadroomLimit
	// Hardware holds the hardware limits that a running device shows. It is read, never compared.
	Hardware Hardware
	// Tunnels are the tunnels that the device starts or ends, by native name. Only checks use
	// them; plans never change them.
	Tunnels map[string]Tunnel
	// HashSeed identifies the seed of the hash by which the device chooses among equal paths, with
	// whatever else makes its hash differ from those of other switches of the system; "" if a
	// running device does not show it. Only checks use it; plans never change it.
	HashSeed string
	// Bridges are the VLANs that a running device both switches and routes. Overlays are its
	// other classifiers besides ports, by native name. Only checks use them; plans never change
	// them.
	Bridges  []Bridge
	Overlays map[string]Overlay
}

// MemoryShares returns the share of the packet memory that lossless pools have, and that of all
// pools, in percent. Shares that the device does not state count as 0.
func (d *Device) MemoryShares() (lossless, all int) {
	for _, s := range d.Shares {
		all += s.Percent
		if s.Lossless {
			lossless += s.Percent
		}
	}
	return lossless, all
}

// ShareAlpha returns the exponent of the dynamic threshold that lossless groups have by the shares of
// the packet memory.
func (d *Device) ShareAlpha() (n int64, ok bool) {
	for _, s := range d.Shares {
		if s.Lossless && s.Alpha.Set {
			return s.Alpha.V, true
		}
	}
	return 0, false
}

// Doubt records that the value at a place is not known, for a reason.
func (d *Device) Doubt(port string, a Attr, why string) {
	if d.NotKnown == nil {
		d.NotKnown = map[Place]string{}
	}
	d.NotKnown[Place{port, a}] = why
}

// dropKnown removes the places of NotKnown that have a value.
func (d *Device) dropKnown() {
	maps.DeleteFunc(d.NotKnown, func(at Place, _ string) bool { return d.Holds(at.Port, at.Field) })
}

// Manages reports whether the Device lists the port. A nil Device manages every port.
func (d *Device) Manages(port string) bool { return d == nil || d.Ports[port] != nil }

// Raises reports whether the Device lists the port but does not manage whether it is up.
func (d *Device) Raises(port string) bool { p := d.Ports[port]; return p != nil && !p.AdminUp.Set }

// Copy returns a copy whose name, ports, pools and profiles may be modified.
func (d *Device) Copy() *Device {
	out := *d
	out.Pools, out.Profiles = maps.Clone(d.Pools), maps.Clone(d.Profiles)
	out.Ports = make(map[string]*Port, len(d.Ports))
	ports := make([]Port, 0, len(d.Ports))
	for name, p := range d.Ports {
		ports = append(ports, *p)
		out.Ports[name] = &ports[len(ports)-1]
	}
	return &out
}

// Impersonal returns a copy of d without its name and neighbors, on which no plan depends, so
// that devices with the same desired state compare equal.
func (d *Device) Impersonal() *Device {
	out := d.Copy()
	out.Name = ""
	for _, p := range out.Ports {
		p.Neighbor = Opt[Neighbor]{}
	}
	return out
}

// Equal reports whether two Devices are equal, comparing maps by content.
func (d *Device) Equal(other *Device) bool {
	a, b := *d, *other
	a.Ports, b.Ports = nil, nil
	return reflect.DeepEqual(a, b) && maps.EqualFunc(d.Ports, other.Ports, (*Port).equal)
}

func (p *Port) equal(other *Port) bool {
	a, b := *p, *other
	a.Maps.V, b.Maps.V, a.ByPolicy.V, b.ByPolicy.V = nil, nil, nil, nil
	same := func(a, b *Maps) bool { return a == b || a != nil && b != nil && *a == *b }
	return a == b && same(p.Maps.V, other.Maps.V) && same(p.ByPolicy.V, other.ByPolicy.V)
}

// Empty reports whether the Device lists no port.
func (d *Device) Empty() bool { return len(d.Ports) == 0 }

// Platform identifies a device.
type Platform struct {
	OS      string // "sonic", "eos", "nxos", "cumulus"
	Release string // as the OS prints it: "202511", "4.32.1F"
	Model   string // hwsku or model name
	ASIC    string // catalogue ID: "th3", "spc3"
	// DynamicBuffers is set if the device computes headroom by itself (SONiC's dynamic buffer
	// model).
	DynamicBuffers bool
	// RoCEMode is set if a single command configures the whole device for RoCE: the device
	// chooses the priority group of lossy traffic (normally [RoCEModeLossy]), there are no global
	// maps, and the built-in profiles cannot be changed.
	RoCEMode bool
}

// MostLossless returns how many lossless classes a port can have, where that is published; 0 if it is
// not. Devices in [Platform.RoCEMode] have two (Broadcom's HLD "RoCEv2 support"; Dell's Ansible modules).
func (p Platform) MostLossless() int {
	if p.RoCEMode {
		return 2
	}
	return 0
}

// RoCEModeLossy is the usual priority group of lossy traffic on a device in [Platform.RoCEMode].
const RoCEModeLossy = NumPriorities - 1

// Class is a traffic class of the intent.
type Class struct {
	Name     string
	Priority int  // 802.1p priority and traffic class, 0..7
	Queue    int  // egress queue, 0..7
	Group    int  // priority group, 0..7
	Lossless bool // PFC is on for Priority
	Strict   bool
	// KeepsECN is set if ports keep the marking curve that the switch has for the class.
	KeepsECN bool
}

// Trust is the field of a frame that selects its class.
type Trust string

// Trust modes. Not every platform has all of them.
const (
	TrustDSCP Trust = "dscp"
	TrustPCP  Trust = "pcp"
	TrustNone Trust = "none"
)

// Special map entries, which are not a class, queue or group.
const (
	// Unmapped marks a code point that a map does not list.
	Unmapped = -1
	// Unmanaged marks an entry of a desired map that is left unchanged.
	Unmanaged = -2
)

// Maps is one complete set of classification maps. Ports share it, so it must not be changed once
// a Device holds it.
type Maps struct {
	DSCPToTC   [NumDSCP]int8
	PCPToTC    [NumPriorities]int8
	TCToQueue  [NumPriorities]int8
	TCToGroup  [NumPriorities]int8 // ingress priority group that counts the frame
	PFCToQueue [NumPriorities]int8 // egress queue that a received pause stops
	PFCToGroup [NumPriorities]int8 // priority group whose filling sends the pause
	TCToDSCP   [NumPriorities]int8 // egress rewrite; Unmapped leaves the DSCP unchanged
}

// UnmappedMaps returns maps whose entries are all Unmapped.
func UnmappedMaps() *Maps {
	m := &Maps{}
	for t := range NumTables {
		m.fill(t, Unmapped)
	}
	return m
}

// Unmanage marks all entries of the tables as Unmanaged.
func (m *Maps) Unmanage(tables ...Table) {
	for _, t := range tables {
		m.fill(t, Unmanaged)
	}
}

// KeepUnmapped marks the code points and 802.1p priorities that have no entry as Unmanaged.
func (m *Maps) KeepUnmapped() {
	for _, t := range []Table{DSCPToTC, PCPToTC} {
		entries := m.Table(t)
		for i, tc := range entries {
			if tc == Unmapped {
				entries[i] = Unmanaged
			}
		}
	}
}

// Completed returns a copy of d for a system that writes whole tables: in each partly managed
// table, the Unmanaged entries are replaced by those of running.
func (d *Device) Completed(running *Device) *Device { return d.filled(running, partial) }

// Over returns a copy of d in which all Unmanaged map entries are replaced by those of running.
func (d *Device) Over(running *Device) *Device {
	return d.filled(running, func(entries []int8) bool { return slices.Contains(entries, Unmanaged) })
}

// filled returns a copy of d in which the Unmanaged entries of each table that which accepts are
// replaced by those of running.
func (d *Device) filled(running *Device, which func(entries []int8) bool) *Device {
	done := map[[2]*Maps]*Maps{}
	complete := func(want, have *Maps) *Maps {
		if want == nil || have == nil || !want.some(which) {
			return want
		}
		key := [2]*Maps{want, have}
		if done[key] == nil {
			m := *want
			for t := range NumTables {
				entries := m.Table(t)
				for i, some := 0, which(entries); some && i < len(entries); i++ {
					if entries[i] == Unmanaged {
						entries[i] = have.Table(t)[i]
					}
				}
			}
			done[key] = &m
		}
		return done[key]
	}
	out := *d
	if d.GlobalMaps.Set {
		out.GlobalMaps.V = complete(d.GlobalMaps.V, running.GlobalMaps.V)
	}
	out.Ports = make(map[string]*Port, len(d.Ports))
	for name, p := range d.Ports {
		out.Ports[name] = p
		if m := complete(p.Maps.V, running.MapsOf(name)); m != p.Maps.V {
			own := *p
			own.Maps.V = m
			out.Ports[name] = &own
		}
	}
	return &out
}

// partial reports whether a table has both managed and unmanaged entries.
func partial(entries []int8) bool {
	unmanaged := func(tc int8) bool { return tc == Unmanaged }
	return slices.ContainsFunc(entries, unmanaged) && slices.ContainsFunc(entries, func(tc int8) bool { return !unmanaged(tc) })
}

// some reports whether which accepts any of the tables.
func (m *Maps) some(which func(entries []int8) bool) bool {
	for t := range NumTables {
		if which(m.Table(t)) {
			return true
		}
	}
	return false
}

func (m *Maps) fill(t Table, v int8) {
	entries := m.Table(t)
	for i := range entries {
		entries[i] = v
	}
}

// MapsOf returns the maps that classify packets on a port: its own, or those of the device; nil
// if neither is known.
func (d *Device) MapsOf(port string) *Maps {
	if p := d.Ports[port]; p != nil && p.Maps.Set {
		return p.Maps.V
	}
	return d.GlobalMaps.V
}

// ClassifiedBy returns the maps that are effective on a port: those of its input policy if it has
// one, otherwise MapsOf.
func (d *Device) ClassifiedBy(port string) *Maps {
	if p := d.Ports[port]; p != nil && p.ByPolicy.Set {
		return p.ByPolicy.V
	}
	return d.MapsOf(port)
}

// Port is a port of a Device.
type Port struct {
	AdminUp  Opt[bool]
	Speed    Opt[units.Rate]
	FEC      Opt[string] // "rs", "fc", "none"
	MTU      Opt[int]    // bytes of the largest IP packet
	Breakout Opt[string] // "4x100G"; "" if the port is not broken out
	LAG      Opt[string] // the LAG that the port belongs to; "" for none
	Cable    Opt[units.Length]
	Neighbor Opt[Neighbor]
	// Inside is set for an internal port of a running device, which traffic passes in transit
	// through the device.
	Inside bool
	// MACsec is set for a port of a running device that MACsec encrypts. It is read, never compared.
	MACsec bool

	Trust Opt[Trust]
	Maps  Opt[*Maps]
	// ByPolicy are the effective maps if an input policy overrides Maps or the device's maps.
	// Only checks use them; plans never change them.
	ByPolicy      Opt[*Maps]
	PFC           Opt[PrioritySet]
	PFCAsymmetric Opt[bool]
	LinkPause     Opt[bool] // 802.3x pause in either direction
	Watchdog      Opt[Watchdog]
	Queues        [NumPriorities]Queue
	Groups        [NumPriorities]Group
	// IngressProfiles and EgressProfiles are the port's buffer profile lists, in native names and
	// order, if the platform has such lists.
	IngressProfiles Opt[string]
	EgressProfiles  Opt[string]
}

// Neighbor is the other end of a link, from the intent or from LLDP.
type Neighbor struct{ Device, Port string }

// Watchdog is the PFC watchdog of a port.
type Watchdog struct {
	Enabled    bool
	Priorities PrioritySet
	Action     WatchdogAction
	Detect     time.Duration
	Restore    time.Duration
}

// WatchdogAction is what the watchdog does with a queue during a pause storm.
type WatchdogAction string

// Watchdog actions.
const (
	ActionDrop       WatchdogAction = "drop"
	ActionForward    WatchdogAction = "forward"
	ActionAlert      WatchdogAction = "alert"
	ActionErrDisable WatchdogAction = "errdisable" // the port is shut down
)

// Queue is an egress queue.
type Queue struct {
	Scheduler Opt[Scheduler]
	ECN       Opt[ECN]
	Buffer    Opt[string] // native name of the buffer profile
}

// Scheduler is a queue's share of the link.
type Scheduler struct {
	Strict bool
	Weight int // share among the weighted queues; 0 if Strict
	// MinRate and MaxRate shape the queue; 0 means none.
	MinRate, MaxRate units.Rate
	// Other holds settings that the model has no field for, in native words, so that schedulers
	// that differ in these are not equal.
	Other string
}

// ThresholdUnit is the unit of the ECN thresholds of a queue. If the units differ, it holds both:
// "kbytes/mbytes" is a lower threshold in kbytes and an upper one in mbytes.
type ThresholdUnit string

// Units of ECN thresholds. The size of cells and segments depends on the ASIC, and platforms do
// not document whether a kbyte is 1000 or 1024 bytes.
const (
	UnitBytes        ThresholdUnit = ""
	UnitKBytes       ThresholdUnit = "kbytes"
	UnitMBytes       ThresholdUnit = "mbytes"
	UnitCells        ThresholdUnit = "cells"
	UnitPackets      ThresholdUnit = "packets"
	UnitSegments     ThresholdUnit = "segments"
	UnitPercent      ThresholdUnit = "percent"
	UnitMilliseconds ThresholdUnit = "milliseconds"
	UnitMicroseconds ThresholdUnit = "microseconds"
)

// Units returns the unit for a pair of thresholds.
func Units(lower, upper ThresholdUnit) ThresholdUnit {
	if lower == upper {
		return lower
	}
	return cmp.Or(lower, "bytes") + "/" + cmp.Or(upper, "bytes")
}

// Split returns the units of the lower and the upper threshold.
func (u ThresholdUnit) Split() (lower, upper ThresholdUnit) {
	a, b, two := strings.Cut(string(u), "/")
	if !two {
		return u, u
	}
	of := func(s string) ThresholdUnit {
		if s == "bytes" {
			return UnitBytes
		}
		return ThresholdUnit(s)
	}
	return of(a), of(b)
}

// Bytes converts n units to bytes, counting a kbyte as 1000 and as 1024 bytes; ok is false if the
// unit has no fixed size.
func (u ThresholdUnit) Bytes(n int64) (decimal, binary int64, ok bool) {
	const most = 1 << 40 // far above any threshold, and cannot overflow
	if n < 0 || n > most {
		return 0, 0, false
	}
	switch u {
	case UnitBytes:
		return n, n, true
	case UnitKBytes:
		return n * 1000, n << 10, true
	case UnitMBytes:
		return n * 1000 * 1000, n << 20, true
	}
	return 0, 0, false
}

// ECN is the marking curve of a queue: packets are not marked below Min, marked with Probability
// at Max, and always marked above Max.
type ECN struct {
	Enabled     bool
	Min, Max    int64
	Unit        ThresholdUnit
	Probability int // percent, 0..100
	Weight      int // averaging weight; 0 uses the instantaneous queue length
	// Drops is set if WRED drops packets at random instead of marking them.
	Drops bool
	// Other holds settings that the model has no field for, in native words (such as a curve that
	// differs between colors).
	Other string
}

// Order compares Min with Max as [cmp.Compare] does. ok is false if their units are not
// comparable, or if the result depends on whether a kbyte is 1000 or 1024 bytes.
func (e ECN) Order() (n int, ok bool) {
	lower, upper := e.Unit.Split()
	if lower == upper {
		return cmp.Compare(e.Min, e.Max), true
	}
	if a, b := lower.microseconds(), upper.microseconds(); a > 0 && b > 0 {
		return cmp.Compare(e.Min*a, e.Max*b), true
	}
	lo, loBinary, ok := lower.Bytes(e.Min)
	hi, hiBinary, also := upper.Bytes(e.Max)
	n = cmp.Compare(lo, hiBinary)
	return n, ok && also && n == cmp.Compare(loBinary, hi)
}

// microseconds returns the length of a unit of time in microseconds; 0 for other units.
func (u ThresholdUnit) microseconds() int64 {
	switch u {
	case UnitMicroseconds:
		return 1
	case UnitMilliseconds:
		return 1000
	}
	return 0
}

// InBytes returns the curve with the thresholds in time replaced by the bytes that a port of this speed
// sends in that time. ok is false if it has some and the speed is not known.
func (e ECN) InBytes(speed units.Rate) (out ECN, ok bool) {
	lower, upper := e.Unit.Split()
	for _, t := range []struct {
		n    *int64
		unit *ThresholdUnit
	}{{&e.Min, &lower}, {&e.Max, &upper}} {
		if us := t.unit.microseconds(); us > 0 {
			const longest = 1_000_000 // microseconds, far above any queue
			*t.n, *t.unit = min(*t.n*us, longest)*int64(speed)/8e6, UnitBytes
			if speed <= 0 {
				return e, false
			}
		}
	}
	e.Unit = Units(lower, upper)
	return e, true
}

// Ends formats Min and Max with their units.
func (e ECN) Ends() (lo, hi string) {
	text := func(n int64, unit ThresholdUnit) string {
		if unit == UnitBytes {
			return units.Bytes(n).String()
		}
		return strconv.FormatInt(n, 10) + " " + string(unit)
	}
	lower, upper := e.Unit.Split()
	return text(e.Min, lower), text(e.Max, upper)
}

// Same reports whether two curves mean the same. Thresholds in the same unit must be equal.
// Otherwise a kbyte matches both 1000 and 1024 bytes, because platforms do not say which one they
// mean.
func (e ECN) Same(o ECN) bool {
	if e.Unit == o.Unit {
		return e == o
	}
	lower, upper := e.Unit.Split()
	olower, oupper := o.Unit.Split()
	if !sameThreshold(e.Min, lower, o.Min, olower) || !sameThreshold(e.Max, upper, o.Max, oupper) {
		return false
	}
	o.Min, o.Max, o.Unit = e.Min, e.Max, e.Unit
	return e == o
}

func sameThreshold(a int64, au ThresholdUnit, b int64, bu ThresholdUnit) bool {
	if au == bu {
		return a == b
	}
	ad, ab, ok := au.Bytes(a)
	bd, bb, also := bu.Bytes(b)
	return ok && also && (ad == bd || ab == bb)
}

// Group is an ingress priority group.
type Group struct {
	// Lossless is set to true if the group has headroom.
	Lossless Opt[bool]
	// Headroom holds the values of the group's profile. A desired Device leaves it unset if the
	// device derives them.
	Headroom Opt[Headroom]
	// DerivedFrom is the speed and cable length that the device used to look up the headroom, in
	// the form of [LookupKey]; unset if it does not look it up.
	DerivedFrom Opt[string]
	// Buffer is the native name of the profile that the operator binds; unset if the device
	// generates the binding.
	Buffer Opt[string]
}

// LookupKey formats the key of a headroom lookup as in Group.DerivedFrom: "400G 40m".
func LookupKey(speed units.Rate, cable units.Length) string {
	return speed.String() + " " + cable.String()
}

// LookedUp returns the speed and cable length that the headroom of g was looked up with; ok is
// false if it was not looked up.
func (g Group) LookedUp() (speed units.Rate, cable units.Length, ok bool) {
	a, b, _ := strings.Cut(g.DerivedFrom.V, " ")
	speed, err1 := units.ParseRate(a)
	cable, err2 := units.ParseLength(b)
	return speed, cable, err1 == nil && err2 == nil
}

// Headroom holds the buffer settings of a priority group or profile, in bytes.
type Headroom struct {
	Size, XON, XOFF, XONOffset int64
	// Threshold is the exponent of the dynamic threshold (alpha = 2^n) or, with Static, a number
	// of bytes.
	Threshold int64
	Static    bool
}

// HeadroomLimit is the maximum headroom of a lossless group: a number of bytes, or of cells of
// the device's packet memory.
type HeadroomLimit struct {
	What  string // the configuration line
	N     int64
	Cells bool
}

// HeadroomModel holds the parameters of the device's own headroom calculation.
type HeadroomModel struct {
	LosslessMTU        int // bytes
	SmallPacketPercent int
	Alpha              int // exponent of the default dynamic threshold
	OverSubscribe      int // 0 if none is declared
	// Mixed names lossless classes that the intent gives other exponents than Alpha; "" if there is
	// none.
	Mixed string `json:",omitempty"`
}

// Pool is a buffer pool, in bytes; 0 if the device computes the size.
type Pool struct {
	Size int64
	// XOFF is the headroom pool that all lossless groups share; 0 for none.
	XOFF int64
	// Static is set if the pool's profiles have thresholds in bytes.
	Static bool
	// Egress is set if queues use the pool instead of priority groups. It is not set for SONiC's
	// type "both".
	Egress bool
}

// Share is a share of the packet memory.
type Share struct {
	Percent int
	// Lossless is set if lossless priority groups use the share.
	Lossless bool
	// Alpha is the exponent of the dynamic threshold that the configuration gives the groups.
	Alpha Opt[int64]
}

// Hardware holds the memory limits that a device shows, in bytes. Values that it does not show
// are zero or missing.
type Hardware struct {
	Cell   int64 // size of a packet memory cell
	Memory int64 // total packet memory
	// Rows are the rows of the device's headroom lookup table.
	Rows []HeadroomRow
	// MaxHeadroom is the maximum total headroom of all groups of a port, by port.
	MaxHeadroom map[string]int64
}

// HeadroomRow is the headroom of a lossless group for a speed and cable length.
type HeadroomRow struct {
	Speed units.Rate
	Cable units.Length
	Headroom
}

// DSCPMode says how the DSCP is copied at one end of a tunnel.
type DSCPMode string

// Modes of IETF RFC 2983. At the entry, uniform copies the inner DSCP to the outer header, and
// pipe sets another DSCP there; at the exit, uniform copies the outer DSCP to the inner header,
// and pipe leaves the inner DSCP unchanged.
const (
	DSCPUniform DSCPMode = "uniform"
	DSCPPipe    DSCPMode = "pipe"
)

// Kinds of tunnels.
const (
	TunnelVXLAN = "vxlan"
	TunnelIP    = "ip-in-ip"
)

// Tunnel is an encapsulation that a device starts or ends. Values that neither the device shows
// nor documentation states are not set.
type Tunnel struct {
	Kind string // [TunnelVXLAN], [TunnelIP]
	// Encap and Decap are the DSCP modes at the entry and at the exit.
	Encap, Decap Opt[DSCPMode]
	// OuterDSCP is the DSCP of every outer header, if Encap is DSCPPipe and the device shows it.
	OuterDSCP Opt[int]
	// ECNEncap is true if the entry copies the inner ECN field to the outer header, ECNDecap if
	// the exit copies a congestion mark from the outer to the inner header (IETF RFC 6040).
	ECNEncap, ECNDecap Opt[bool]
}

// BufferProfile is a named buffer profile.
type BufferProfile struct {
	Pool string
	Headroom
}

// String returns "strict" or "weight 60", followed by the rates if there are any.
func (s Scheduler) String() string {
	t := "strict"
	if !s.Strict {
		t = "weight " + strconv.Itoa(s.Weight)
	}
	if s.MinRate > 0 {
		t += " min " + s.MinRate.String()
	}
	if s.MaxRate > 0 {
		t += " max " + s.MaxRate.String()
	}
	if s.Other != "" {
		t += " (" + s.Other + ")"
	}
	return t
}

// String returns "150KB..1500KB 10%" or "off".
func (e ECN) String() string {
	switch {
	case e.Drops && e.Max == 0 && e.Other != "":
		return "drops at random (" + e.Other + ")"
	case e.Drops:
		return "drops at random"
	case !e.Enabled && e.Other == "":
		return "off"
	case e.Enabled && e.Max == 0 && e.Other != "":
		return "on (" + e.Other + ")"
	case !e.Enabled && e.Min == 0 && e.Max == 0:
		return "not marking (" + e.Other + ")"
	}
	lo, hi := e.Ends()
	t := lo + ".." + hi + " " + strconv.Itoa(e.Probability) + "%"
	if !e.Enabled {
		t += " inert"
	}
	if e.Weight != 0 {
		t += " weight " + strconv.Itoa(e.Weight)
	}
	if e.Other != "" {
		t += " (" + e.Other + ")"
	}
	return t
}

// String returns "drop {3} detect 400ms restore 400ms" or "off".
func (w Watchdog) String() string {
	if !w.Enabled {
		return "off"
	}
	return string(w.Action) + " " + w.Priorities.String() + " detect " + w.Detect.String() + " restore " + w.Restore.String()
}

// String formats the sizes and the threshold.
func (h Headroom) String() string {
	t := "size " + units.Bytes(h.Size).String() + " xon " + units.Bytes(h.XON).String() + " xoff " + units.Bytes(h.XOFF).String()
	if h.XONOffset != 0 {
		t += " xon_offset " + units.Bytes(h.XONOffset).String()
	}
	if h.Static {
		return t + " static_th " + units.Bytes(h.Threshold).String()
	}
	return t + " dynamic_th " + strconv.FormatInt(h.Threshold, 10)
}
