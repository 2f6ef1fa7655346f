// Package qos is the device-independent model of what a RoCE switch or host
// port does: classification, PFC, queues, ECN, buffers, watchdog, MTU.
//
// One type, [Device], says both what a device should hold (desired) and what
// it holds (running), on every operating system. A renderer encodes a desired
// Device into native configuration and decodes native configuration into a
// running one; [Diff] compares the two and knows nothing of any vendor.
//
// The model holds meaning, not names: a port's queue has an ECN curve, and
// whether the box keeps that curve in a profile called AZURE_LOSSLESS is the
// renderer's business. Ports that share a map share one pointer to it.
//
// An [Opt] that is not set means "not managed" in a desired Device and "not
// known" in a running one. It never means "absent": to want something gone,
// set the value that says so (a zero [PrioritySet], Watchdog{Enabled: false}).
//
// The package imports nothing of this module but internal/units, and does no
// I/O. Do not put vendor names, native spellings or defaults of a platform in
// it.
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

// NumPriorities is the number of 802.1p priorities, and here also of traffic
// classes, unicast queues and priority groups of a port.
const NumPriorities = 8

// NumDSCP is the number of code points.
const NumDSCP = 64

// Opt is a value that may be left alone.
type Opt[T any] struct {
	V   T
	Set bool
}

// Of returns a set Opt.
func Of[T any](v T) Opt[T] { return Opt[T]{V: v, Set: true} }

// Or returns the value, or def where none is set.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.V
	}
	return def
}

// PrioritySet is a set of 802.1p priorities, bit n for priority n: the form of
// a PFC enable mask (0x08 is priority 3).
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

// List returns the members in ascending order.
func (s PrioritySet) List() []int {
	var l []int
	for p := range NumPriorities {
		if s.Has(p) {
			l = append(l, p)
		}
	}
	return l
}

// Len returns how many members there are.
func (s PrioritySet) Len() int { return bits.OnesCount8(uint8(s)) }

// String prints "{3,4}".
func (s PrioritySet) String() string { return "{" + s.Join(",") + "}" }

// Join prints the members with sep between them: "3,4".
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

// Device is one switch, desired or running.
type Device struct {
	Name string
	// Platform is what the box is. It is read or declared, never compared.
	Platform Platform
	// OwnsGlobals says that what all ports share may be changed whoever else uses it.
	OwnsGlobals bool
	// Classes are the intent's traffic classes. Only a desired Device has
	// them; encoders take names of native objects from them.
	Classes []Class
	// Ports by native name. A port that a desired Device does not list is
	// left alone.
	Ports map[string]*Port
	// WatchdogPoll is the polling interval of a software PFC watchdog.
	WatchdogPoll Opt[time.Duration]
	// PollUsual says that nobody states WatchdogPoll: a system that chooses one by itself
	// may leave it out.
	PollUsual bool
	// GlobalMaps classify what enters outside a port with maps of its own
	// (CPU, tunnels, new ports).
	GlobalMaps Opt[*Maps]
	// Headroom holds the parameters of a headroom calculation on the box.
	HeadroomModel Opt[HeadroomModel]
	// Pools and Profiles are the buffer objects of the device by native name.
	// They belong to the platform's own template: compared by checks, never
	// planned.
	Pools    map[string]Pool
	Profiles map[string]BufferProfile
	// Shares are the parts of its packet memory that a running device gives to pools, by
	// native name, where it has no sizes of them. They are compared by checks, never planned.
	Shares map[string]Share
	// HeadroomLimits are what a running device states of the headroom that a lossless group
	// can have. They are compared by checks, never planned.
	HeadroomLimits []HeadroomLimit
	// Hardware is what a running device shows of its own limits. It is read, never
	// compared.
	Hardware Hardware
	// Tunnels that traffic is put in and taken out of, by native name. They are compared by
	// checks, never planned.
	Tunnels map[string]Tunnel
	// Bridges are the VLANs that a running device switches and routes, Overlays what
	// classifies besides its ports, by native name. They are looked at by checks, never
	// planned.
	Bridges  []Bridge
	Overlays map[string]Overlay
}

// Manages reports whether the Device lists a port; nil, which states nothing,
// takes every one.
func (d *Device) Manages(port string) bool { return d == nil || d.Ports[port] != nil }

// Raises reports whether the Device lists a port and leaves open whether it is up.
func (d *Device) Raises(port string) bool { p := d.Ports[port]; return p != nil && !p.AdminUp.Set }

// Copy returns a copy of which name, ports, pools and profiles may be changed.
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

// Impersonal returns the Device without what tells it from others that are to hold the
// same: its name and its neighbours, on which no plan depends. d is not changed.
func (d *Device) Impersonal() *Device {
	out := d.Copy()
	out.Name = ""
	for _, p := range out.Ports {
		p.Neighbor = Opt[Neighbor]{}
	}
	return out
}

// Equal reports whether two Devices say the same.
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
	OS      string // "sonic", "eos", "nxos"
	Release string // as the OS prints it: "202511", "4.32.1F"
	Model   string // hwsku or model name
	ASIC    string // catalogue id: "th3", "spc3"
	// DynamicBuffers says that the device computes its own headroom (SONiC's
	// dynamic buffer model).
	DynamicBuffers bool
	// RoCEMode says that one command has set the device up for RoCE as a whole: lossy
	// traffic has a priority group of the device's choice, as a rule [RoCEModeLossy], no
	// map is of the whole device, and the profiles that come with it cannot be changed.
	RoCEMode bool
}

// RoCEModeLossy is the usual priority group of lossy traffic in a [Platform.RoCEMode].
const RoCEModeLossy = NumPriorities - 1

// Class is a traffic class of the intent.
type Class struct {
	Name     string
	Priority int  // 802.1p priority and traffic class, 0..7
	Queue    int  // egress queue, 0..7
	Group    int  // priority group, 0..7
	Lossless bool // PFC is on for Priority
	Strict   bool
	// KeepsECN says that a port leaves the marking curve of the class as the
	// switch has it.
	KeepsECN bool
}

// Trust says which field of a frame selects its class.
type Trust string

// The trust modes. Not every platform has all of them.
const (
	TrustDSCP Trust = "dscp"
	TrustPCP  Trust = "pcp"
	TrustNone Trust = "none"
)

// The marks in a map that are no class, queue or group.
const (
	// Unmapped is a code point that a map does not list.
	Unmapped = -1
	// Unmanaged is, in a desired map, an entry that is left as it is.
	Unmanaged = -2
)

// Maps is one complete set of classification maps. It is shared between
// ports and must not be changed once a Device holds it.
type Maps struct {
	DSCPToTC   [NumDSCP]int8
	PCPToTC    [NumPriorities]int8
	TCToQueue  [NumPriorities]int8
	TCToGroup  [NumPriorities]int8 // which ingress priority group counts a frame
	PFCToQueue [NumPriorities]int8 // which egress queue a received pause stops
	PFCToGroup [NumPriorities]int8 // which priority group a sent pause stands for
	TCToDSCP   [NumPriorities]int8 // egress rewrite; Unmapped leaves DSCP alone
}

// UnmappedMaps returns maps that list nothing.
func UnmappedMaps() *Maps {
	m := &Maps{}
	for t := range NumTables {
		m.fill(t, Unmapped)
	}
	return m
}

// Unmanage makes tables unmanaged.
func (m *Maps) Unmanage(tables ...Table) {
	for _, t := range tables {
		m.fill(t, Unmanaged)
	}
}

// KeepUnmapped makes the code points and priorities unmanaged that no entry maps.
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

// Completed returns d with the entries of maps that it does not manage, of a table of
// which it manages others, as running has them: for a system that writes whole tables. d
// is not changed.
func (d *Device) Completed(running *Device) *Device { return d.filled(running, partial) }

// Over returns d with all entries of maps that it does not manage as running has them. d is
// not changed.
func (d *Device) Over(running *Device) *Device {
	return d.filled(running, func(entries []int8) bool { return slices.Contains(entries, Unmanaged) })
}

// filled returns d with the entries of maps that it does not manage, of the tables that
// which takes, as running has them.
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

// partial reports whether a table is managed in part.
func partial(entries []int8) bool {
	unmanaged := func(tc int8) bool { return tc == Unmanaged }
	return slices.ContainsFunc(entries, unmanaged) && slices.ContainsFunc(entries, func(tc int8) bool { return !unmanaged(tc) })
}

// some reports whether which takes one of the tables.
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

// MapsOf returns the maps that a port classifies with: its own, or those of
// the device; nil where neither is known.
func (d *Device) MapsOf(port string) *Maps {
	if p := d.Ports[port]; p != nil && p.Maps.Set {
		return p.Maps.V
	}
	return d.GlobalMaps.V
}

// ClassifiedBy returns the maps that count on a port in the end: MapsOf, or what a policy
// makes of them.
func (d *Device) ClassifiedBy(port string) *Maps {
	if p := d.Ports[port]; p != nil && p.ByPolicy.Set {
		return p.ByPolicy.V
	}
	return d.MapsOf(port)
}

// Port is one port.
type Port struct {
	AdminUp  Opt[bool]
	Speed    Opt[units.Rate]
	FEC      Opt[string] // "rs", "fc", "none"
	MTU      Opt[int]    // bytes of the largest IP packet
	Breakout Opt[string] // "4x100G"; "" where the port is whole
	LAG      Opt[string] // the aggregate it belongs to; "" for none
	Cable    Opt[units.Length]
	Neighbor Opt[Neighbor]
	// Inside says that a running port is inside of the device: traffic passes it on its
	// way through.
	Inside bool

	Trust Opt[Trust]
	Maps  Opt[*Maps]
	// ByPolicy are the maps that an input policy makes of Maps, or of those of the device.
	// It is compared by checks, never planned.
	ByPolicy      Opt[*Maps]
	PFC           Opt[PrioritySet]
	PFCAsymmetric Opt[bool]
	LinkPause     Opt[bool] // 802.3x pause in either direction
	Watchdog      Opt[Watchdog]
	Queues        [NumPriorities]Queue
	Groups        [NumPriorities]Group
	// PoolRefs are the port's buffer profile lists, ingress and egress, in
	// native names and order, where the platform has such lists.
	IngressProfiles Opt[string]
	EgressProfiles  Opt[string]
}

// Neighbor is the other end of a link, by intent or by LLDP.
type Neighbor struct{ Device, Port string }

// Watchdog is the PFC watchdog of a port.
type Watchdog struct {
	Enabled    bool
	Priorities PrioritySet
	Action     WatchdogAction
	Detect     time.Duration
	Restore    time.Duration
}

// WatchdogAction is what the watchdog does with a queue in a storm.
type WatchdogAction string

// The watchdog actions.
const (
	ActionDrop       WatchdogAction = "drop"
	ActionForward    WatchdogAction = "forward"
	ActionAlert      WatchdogAction = "alert"
	ActionErrDisable WatchdogAction = "errdisable" // the port goes down
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
	Weight int // ratio among the weighted queues; 0 for strict
	// MinRate and MaxRate shape the queue; 0 means none.
	MinRate, MaxRate units.Rate
	// Other holds what the model has no field for, in native words, so that
	// two schedulers that differ there are not equal.
	Other string
}

// ThresholdUnit is the unit of the ECN thresholds of a queue. Where the two
// have different ones it holds both, with a slash between them: "kbytes/mbytes"
// is a lower threshold in kbytes and an upper one in mbytes.
type ThresholdUnit string

// Units of an ECN threshold. The size of cells and segments depends on the
// ASIC, and whether a kbyte is 1000 or 1024 bytes is the platform's secret.
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

// Units returns the unit of a pair of thresholds.
func Units(lower, upper ThresholdUnit) ThresholdUnit {
	if lower == upper {
		return lower
	}
	return cmp.Or(lower, "bytes") + "/" + cmp.Or(upper, "bytes")
}

// Split returns the units of the lower and of the upper threshold.
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

// Bytes returns what n units are in bytes, with a kbyte of 1000 and of 1024
// bytes; ok is false for a unit that has no fixed size.
func (u ThresholdUnit) Bytes(n int64) (decimal, binary int64, ok bool) {
	const most = 1 << 40 // far above any threshold, far below an overflow
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

// ECN is the marking curve of a queue: no mark below Min, Probability at Max,
// every packet above it.
type ECN struct {
	Enabled     bool
	Min, Max    int64
	Unit        ThresholdUnit
	Probability int // percent, 0..100
	Weight      int // averaging; 0 is the instantaneous queue
	// Drops says that WRED drops at random where it does not mark.
	Drops bool
	// Other holds what the model has no field for, in native words (a curve
	// that differs between colours).
	Other string
}

// Order compares Min with Max as [cmp.Compare] does. ok is false for units that have no
// common measure, or where it depends on whether a kbyte is 1000 or 1024 bytes.
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

// microseconds returns how long a unit of time is; 0 for other units.
func (u ThresholdUnit) microseconds() int64 {
	switch u {
	case UnitMicroseconds:
		return 1
	case UnitMilliseconds:
		return 1000
	}
	return 0
}

// Ends prints Min and Max with their units.
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

// Same reports whether two curves mean the same. Thresholds of one unit are
// compared as they are; a kbyte is equal to both 1000 and 1024 bytes, because
// platforms do not say which they mean.
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
	// Lossless says that the group has headroom.
	Lossless Opt[bool]
	// Headroom is what the group's profile holds. Where the device derives it
	// by itself, a desired Device leaves it unset.
	Headroom Opt[Headroom]
	// DerivedFrom is the speed and cable length that the device looked the
	// headroom up with, as [LookupKey]; unset where it does not.
	DerivedFrom Opt[string]
	// Buffer is the native name of a profile that the operator binds; unset
	// where the device generates the binding.
	Buffer Opt[string]
}

// LookupKey is how a Group says what its headroom was looked up with:
// "400G 40m".
func LookupKey(speed units.Rate, cable units.Length) string {
	return speed.String() + " " + cable.String()
}

// LookedUp returns the speed and the cable that the headroom of g was looked up with; ok is
// false where it was not.
func (g Group) LookedUp() (speed units.Rate, cable units.Length, ok bool) {
	a, b, _ := strings.Cut(g.DerivedFrom.V, " ")
	speed, err1 := units.ParseRate(a)
	cable, err2 := units.ParseLength(b)
	return speed, cable, err1 == nil && err2 == nil
}

// Headroom is the buffer of a lossless priority group, in bytes.
type Headroom struct {
	Size, XON, XOFF, XONOffset int64
	// Alpha is the exponent of the dynamic threshold (alpha = 2^n), or, with
	// Static, a number of bytes.
	Threshold int64
	Static    bool
}

// HeadroomLimit says that a lossless group has no more headroom than so much: a number of
// bytes, or of cells of the device's own packet memory.
type HeadroomLimit struct {
	What  string // the native line
	N     int64
	Cells bool
}

// HeadroomModel holds the parameters of a headroom calculation on the box.
type HeadroomModel struct {
	LosslessMTU        int // bytes
	SmallPacketPercent int
	Alpha              int // exponent of the default dynamic threshold
	OverSubscribe      int // 0: none declared
}

// Pool is a buffer pool, in bytes; 0 where the device computes it.
type Pool struct {
	Size int64
	// XOFF is the headroom that all lossless groups of the pool share; 0 for none.
	XOFF int64
	// Static says that its profiles have thresholds in bytes.
	Static bool
	// Egress says that queues take from it, and not priority groups. SONiC's type
	// "both" is neither.
	Egress bool
}

// Share is a part of the packet memory.
type Share struct {
	Percent int
	// Lossless says that lossless priority groups take from it.
	Lossless bool
}

// Hardware is what a device shows of the memory that it is built of, in bytes. What it
// does not show is zero, or not listed.
type Hardware struct {
	Cell   int64 // the unit of packet memory
	Memory int64 // for packets, in all
	// Rows are the headroom that the device looks up by speed and cable.
	Rows []HeadroomRow
	// MaxHeadroom is what all groups of a port may have together, by port.
	MaxHeadroom map[string]int64
}

// HeadroomRow is what lossless groups get at a speed over a cable.
type HeadroomRow struct {
	Speed units.Rate
	Cable units.Length
	Headroom
}

// DSCPMode says what DSCP a header gets at one end of a tunnel.
type DSCPMode string

// The modes of IETF RFC 2983. At the entry, uniform copies the inner DSCP to the outer
// header and pipe sets one of its own; at the exit, uniform copies the outer one to the
// inner header and pipe leaves that as it is.
const (
	DSCPUniform DSCPMode = "uniform"
	DSCPPipe    DSCPMode = "pipe"
)

// Tunnel is an encapsulation that a device ends. What the device does not show, and no
// source says, is not set.
type Tunnel struct {
	Kind string // "vxlan", "ip-in-ip"
	// Encap and Decap are what becomes of the DSCP at the entry and at the exit.
	Encap, Decap Opt[DSCPMode]
	// OuterDSCP is that of every outer header, where Encap is a pipe and the device
	// shows it.
	OuterDSCP Opt[int]
	// ECNEncap says that the outer header gets the ECN field of the inner one at the
	// entry, ECNDecap that a mark on the outer header is copied to the inner one at the
	// exit (IETF RFC 6040).
	ECNEncap, ECNDecap Opt[bool]
}

// BufferProfile is a named buffer profile.
type BufferProfile struct {
	Pool string
	Headroom
}

// String prints "strict" or "weight 60", and the rates where there are any.
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

// String prints "150KB..1500KB 10%" or "off".
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

// String prints "drop {3} detect 400ms restore 400ms" or "off".
func (w Watchdog) String() string {
	if !w.Enabled {
		return "off"
	}
	return string(w.Action) + " " + w.Priorities.String() + " detect " + w.Detect.String() + " restore " + w.Restore.String()
}

// String prints the four sizes and the threshold.
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
