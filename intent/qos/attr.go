package qos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Attr identifies one managed value of a device or of a port by its kind and, if a port has
// several of this kind, by index. The zero Attr identifies nothing.
type Attr struct {
	Kind Kind
	// Index is the number of the queue or group, or the [Table] of the maps. Last is the last
	// index of an Attr that covers a range, otherwise equal to Index.
	Index, Last int8
	// name is the attribute name for KindNIC.
	name unique.Handle[string]
}

// NIC returns the attribute with this name of a host or its NICs. Package nic defines the names.
func NIC(name string) Attr { return Attr{Kind: KindNIC, name: unique.Make(name)} }

// Kind is the kind of an [Attr]. Kinds are in the order of [Diff].
type Kind uint8

// Kinds of attributes.
const (
	_ Kind = iota

	KindGlobalMap // of the device, like KindMap of a port
	KindHeadroomModel
	KindWatchdogPoll

	KindPort // the port as a whole
	KindSpeed
	KindBreakout
	KindLAG
	KindFEC
	KindMTU
	KindAdminUp
	KindCable
	KindTrust
	KindMap
	KindPFC
	KindPFCAsymmetric
	KindLinkPause
	KindQueueBuffer
	KindECN
	KindScheduler
	KindGroupBuffer
	KindDerivedFrom
	KindHeadroom
	KindLossless
	KindIngressProfiles
	KindEgressProfiles
	KindWatchdog

	// The bindings are not values of a [Device]: they say that a port, a range of queues or a
	// range of groups gets native objects of its own with unchanged values.
	KindMapBinding
	KindQueueBinding
	KindGroupBinding

	// KindNIC covers all host attributes. It is not a value of a [Device] either.
	KindNIC

	NumKinds // number of kinds, including the zero Kind
)

// Table is one of the tables of [Maps]. It is the index of a KindMap.
type Table int8

// Tables, in the order of [Diff].
const (
	DSCPToTC Table = iota
	PCPToTC
	PFCToGroup
	PFCToQueue
	TCToDSCP
	TCToGroup
	TCToQueue

	NumTables // number of tables
)

var tableNames = [NumTables]string{"dscp_to_tc", "pcp_to_tc", "pfc_to_group", "pfc_to_queue", "tc_to_dscp", "tc_to_group", "tc_to_queue"}

var tableWords = [NumTables]string{
	"DSCP -> traffic class", "PCP -> traffic class", "PFC priority -> priority group", "PFC priority -> queue",
	"traffic class -> DSCP", "traffic class -> priority group", "traffic class -> queue",
}

// Table returns the entries of one table; the slice shares memory with m.
func (m *Maps) Table(t Table) []int8 {
	if t == DSCPToTC {
		return m.DSCPToTC[:]
	}
	return [NumTables]*[NumPriorities]int8{
		PCPToTC: &m.PCPToTC, PFCToGroup: &m.PFCToGroup, PFCToQueue: &m.PFCToQueue,
		TCToDSCP: &m.TCToDSCP, TCToGroup: &m.TCToGroup, TCToQueue: &m.TCToQueue,
	}[t][:]
}

// Owner is the part of a device that an attribute belongs to.
type Owner uint8

// Owners.
const (
	OfDevice Owner = iota + 1
	OfPort
	OfQueue
	OfGroup
	OfMaps
)

// count returns how many values of each attribute the owner has.
func (o Owner) count() int8 {
	switch o {
	case OfQueue, OfGroup:
		return NumPriorities
	case OfMaps:
		return int8(NumTables)
	}
	return 1
}

// Source is the part of the intent that states an attribute.
type Source uint8

// Sources.
const (
	_                    Source = iota
	SourceClasses               // all traffic classes
	SourceLossless              // the lossless traffic classes
	SourceQueueClass            // the class of the queue
	SourceQueueBandwidth        // the bandwidth of the queue's class
	SourceQueueECN              // the ECN settings of the queue's class
	SourcePort
	SourceSpeed
	SourceLAG
	SourceFEC
	SourceAdminUp
	SourceCable
	SourceMTU
	SourceTrust
	SourcePFCAsymmetric
	SourceWatchdog
	SourceWatchdogPoll
	SourceAlpha
	SourceModel // the switch model, whose template contains the value

	NumSources // number of sources, including the zero Source
)

// Traits are properties of attributes that code outside this package depends on.
type Traits uint8

// Traits. Each attribute states those it has, or 0.
const (
	LinkSetting   Traits = 1 << iota // it concerns the link, not how a port treats traffic
	UnderLoad                        // the effect of a change shows only under load
	MovesHeadroom                    // the headroom of the port derives from it
)

// entry describes an attribute.
type entry struct {
	name   string // in JSON; for a queue or group, the part after "queues[3]."
	words  string // for display; "" uses the name
	of     Owner
	source Source
	traits Traits
	// least returns the minimum impact of a difference on any system; nil for none.
	least func(d *differ, have, want *Port, i int) Impact
	// diff compares the attribute on the differ's current port or device; nil if [Diff] does not
	// compare it. i is 0 for maps.
	diff func(d *differ, i int)
	// keep copies the attribute's value from one holder to the other.
	keep func(to, from holder, a Attr)
	// holds reports whether a holder has a value of the attribute for queue, group or table i.
	holds func(h holder, i int) bool
}

// holder is a device and one of its ports; port is nil for the device itself.
type holder struct {
	dev  *Device
	port *Port
}

// attributes is the table of all attributes; everything that depends on the set of attributes is
// derived from it.
var attributes = [NumKinds]entry{
	KindGlobalMap:       mapsOf("global_maps", func(h holder) *Opt[*Maps] { return &h.dev.GlobalMaps }, func(h, w holder) PrioritySet { return paused(h.dev, w.dev) }),
	KindHeadroomModel:   of(OfDevice, "headroom_model", SourceAlpha, UnderLoad, func(h holder, _ int) *Opt[HeadroomModel] { return &h.dev.HeadroomModel }, stringer).withWords("headroom model"),
	KindWatchdogPoll:    of(OfDevice, "watchdog_poll", SourceWatchdogPoll, 0, func(h holder, _ int) *Opt[time.Duration] { return &h.dev.WatchdogPoll }, stringer).withWords("PFC watchdog poll interval"),
	KindPort:            {name: "port", of: OfPort, source: SourcePort},
	KindSpeed:           of(OfPort, "speed", SourceSpeed, LinkSetting|MovesHeadroom, func(h holder, _ int) *Opt[units.Rate] { return &h.port.Speed }, stringer),
	KindBreakout:        of(OfPort, "breakout", SourceModel, LinkSetting, func(h holder, _ int) *Opt[string] { return &h.port.Breakout }, quote),
	KindLAG:             of(OfPort, "lag", SourceLAG, LinkSetting, func(h holder, _ int) *Opt[string] { return &h.port.LAG }, quote).withWords("LAG"),
	KindFEC:             of(OfPort, "fec", SourceFEC, LinkSetting, func(h holder, _ int) *Opt[string] { return &h.port.FEC }, quote).withWords("FEC"),
	KindMTU:             of(OfPort, "mtu", SourceMTU, MovesHeadroom, func(h holder, _ int) *Opt[int] { return &h.port.MTU }, strconv.Itoa).atLeast(lossOfMTU).withWords("MTU"),
	KindAdminUp:         of(OfPort, "admin_up", SourceAdminUp, LinkSetting, func(h holder, _ int) *Opt[bool] { return &h.port.AdminUp }, strconv.FormatBool).withWords("admin up"),
	KindCable:           of(OfPort, "cable", SourceCable, LinkSetting|MovesHeadroom, func(h holder, _ int) *Opt[units.Length] { return &h.port.Cable }, stringer),
	KindTrust:           of(OfPort, "trust", SourceTrust, 0, func(h holder, _ int) *Opt[Trust] { return &h.port.Trust }, func(t Trust) string { return string(t) }).atLeast(lossOfTrust),
	KindMap:             mapsOf("maps", func(h holder) *Opt[*Maps] { return &h.port.Maps }, func(h, w holder) PrioritySet { return lossless(h.port, w.port) }),
	KindPFC:             of(OfPort, "pfc", SourceLossless, 0, func(h holder, _ int) *Opt[PrioritySet] { return &h.port.PFC }, stringer).atLeast(lossOfPFC).withWords("PFC priorities"),
	KindPFCAsymmetric:   of(OfPort, "pfc_asymmetric", SourcePFCAsymmetric, 0, func(h holder, _ int) *Opt[bool] { return &h.port.PFCAsymmetric }, strconv.FormatBool).withWords("asymmetric PFC"),
	KindLinkPause:       of(OfPort, "link_pause", SourceLossless, 0, func(h holder, _ int) *Opt[bool] { return &h.port.LinkPause }, strconv.FormatBool).withWords("link pause"),
	KindQueueBuffer:     of(OfQueue, "buffer", SourceQueueClass, UnderLoad, func(h holder, i int) *Opt[string] { return &h.port.Queues[i].Buffer }, quote).withWords("queue buffer"),
	KindECN:             of(OfQueue, "ecn", SourceQueueECN, UnderLoad, func(h holder, i int) *Opt[ECN] { return &h.port.Queues[i].ECN }, stringer, ECN.Same).atLeast(lossOfECN).withWords("ECN"),
	KindScheduler:       of(OfQueue, "scheduler", SourceQueueBandwidth, 0, func(h holder, i int) *Opt[Scheduler] { return &h.port.Queues[i].Scheduler }, stringer).withWords("bandwidth").comparedBy((*differ).scheduler),
	KindGroupBuffer:     of(OfGroup, "buffer", SourceLossless, UnderLoad|MovesHeadroom, func(h holder, i int) *Opt[string] { return &h.port.Groups[i].Buffer }, quote).withWords("ingress buffer"),
	KindDerivedFrom:     of(OfGroup, "derived_from", SourceCable, MovesHeadroom, func(h holder, i int) *Opt[string] { return &h.port.Groups[i].DerivedFrom }, quote).withWords("headroom for"),
	KindHeadroom:        of(OfGroup, "headroom", SourceLossless, UnderLoad, func(h holder, i int) *Opt[Headroom] { return &h.port.Groups[i].Headroom }, stringer),
	KindLossless:        of(OfGroup, "lossless", SourceLossless, MovesHeadroom, func(h holder, i int) *Opt[bool] { return &h.port.Groups[i].Lossless }, strconv.FormatBool),
	KindIngressProfiles: of(OfPort, "ingress_profiles", SourceModel, 0, func(h holder, _ int) *Opt[string] { return &h.port.IngressProfiles }, quote).withWords("ingress pools"),
	KindEgressProfiles:  of(OfPort, "egress_profiles", SourceModel, 0, func(h holder, _ int) *Opt[string] { return &h.port.EgressProfiles }, quote).withWords("egress pools"),
	KindWatchdog:        of(OfPort, "watchdog", SourceWatchdog, 0, func(h holder, _ int) *Opt[Watchdog] { return &h.port.Watchdog }, stringer).withWords("PFC watchdog"),
	KindMapBinding:      {name: "maps.binding", of: OfPort, source: SourceClasses, words: "own maps"},
	KindQueueBinding:    {name: "binding", of: OfQueue, source: SourceQueueClass, words: "queue rows"},
	KindGroupBinding:    {name: "binding", of: OfGroup, source: SourceLossless, words: "priority group rows"},
	KindNIC:             {name: "nic", of: OfPort, source: SourcePort},
}

func (e entry) atLeast(least func(d *differ, have, want *Port, i int) Impact) entry {
	e.least = least
	return e
}

// comparedBy replaces the comparison of the attribute. compare receives the usual comparison as
// usual.
func (e entry) comparedBy(compare func(d *differ, i int, usual func(*differ, int))) entry {
	usual := e.diff
	e.diff = func(d *differ, i int) { compare(d, i, usual) }
	return e
}

func (e entry) withWords(words string) entry {
	e.words = words
	return e
}

// of returns the entry of an attribute. at returns the value's location, for queue or group i if
// the attribute belongs to one. text formats the value. same reports whether two unequal values
// are equivalent; without it, only equal values are.
func of[T comparable](owner Owner, name string, source Source, traits Traits, at func(h holder, i int) *Opt[T], text func(T) string, same ...func(a, b T) bool) entry {
	return entry{name: name, of: owner, source: source, traits: traits,
		diff: func(d *differ, i int) {
			want := at(holder{d.desired, d.want}, i)
			if !want.Set {
				return
			}
			if have := at(holder{d.running, d.have}, i); *have != *want {
				compare(d, i, have, want, text, same...)
			}
		},
		keep:  func(to, from holder, a Attr) { *at(to, int(a.Index)) = *at(from, int(a.Index)) },
		holds: func(h holder, i int) bool { return at(h, i).Set },
	}
}

// compare adds a change unless the running value is equivalent to the wanted one.
func compare[T comparable](d *differ, i int, have, want *Opt[T], text func(T) string, same ...func(a, b T) bool) {
	if have.Set && len(same) > 0 && same[0](have.V, want.V) {
		return
	}
	was, least := Absent, ImpactNone
	why := ""
	switch {
	case have.Set:
		was = text(have.V)
	case d.running.NotKnown != nil:
		if why = d.running.NotKnown[Place{d.name, d.kind.At(i)}]; why != "" {
			was = NotKnown
		}
	}
	if d.entry.least != nil {
		least = d.entry.least(d, d.have, d.want, i)
	}
	d.add(d.kind.At(i), was, text(want.V), least)
	d.out[len(d.out)-1].Unknown = why
}

// mapsOf returns the entry of a set of maps. lossless returns the priorities that are lossless on
// the ports that use the maps.
func mapsOf(name string, at func(holder) *Opt[*Maps], lossless func(have, want holder) PrioritySet) entry {
	return entry{name: name, of: OfMaps, source: SourceClasses,
		diff: func(d *differ, _ int) {
			h, w := holder{d.running, d.have}, holder{d.desired, d.want}
			if want := at(w); want.Set && want.V != nil {
				d.maps(*at(h), want.V, lossless(h, w))
			}
		},
		keep: func(to, from holder, a Attr) {
			m := at(to)
			switch {
			case a.Last > a.Index: // all tables
				*m = *at(from)
			case m.V != nil:
				own := *m.V
				own.Unmanage(Table(a.Index))
				*m = Of(&own)
			}
		},
		holds: func(h holder, i int) bool {
			m := at(h)
			return m.Set && m.V != nil && slices.ContainsFunc(m.V.Table(Table(i)), func(to int8) bool { return to != Unmanaged })
		},
	}
}

// walk is the order in which [Diff] compares the attributes of a device and of a port.
// Consecutive kinds with the same owner are compared together, queue by queue and group by group.
var walk = func() (out struct{ device, port [][]Kind }) {
	for k := range NumKinds {
		if attributes[k].diff == nil {
			continue
		}
		runs := &out.port
		if k < KindPort {
			runs = &out.device
		}
		if n := len(*runs); n > 0 && attributes[(*runs)[n-1][0]].of == attributes[k].of {
			(*runs)[n-1] = append((*runs)[n-1], k)
		} else {
			*runs = append(*runs, []Kind{k})
		}
	}
	return out
}()

// Of returns the owner of the attributes of the kind.
func (k Kind) Of() Owner { return attributes[k].of }

// Has reports whether the attributes of the kind have all of the traits.
func (k Kind) Has(t Traits) bool { return attributes[k].traits&t == t }

// Source returns the part of the intent that states the attributes of the kind.
func (k Kind) Source() Source { return attributes[k].source }

// Attr returns the attribute of a kind that has only one per device or port.
func (k Kind) Attr() Attr { return Attr{Kind: k} }

// At returns the attribute of queue or group i.
func (k Kind) At(i int) Attr { return k.Span(i, i) }

// Table returns the attribute for one table of the maps.
func (k Kind) Table(t Table) Attr { return k.At(int(t)) }

// Span returns the attribute that covers the queues or groups from first to last.
func (k Kind) Span(first, last int) Attr {
	return Attr{Kind: k, Index: int8(first), Last: int8(last)}
}

// All returns the attribute that covers all indexes of the kind.
func (k Kind) All() Attr { return Attr{Kind: k, Last: k.Of().count() - 1} }

// Table returns the table of the maps that the attribute stands for; ok is false if it is not a
// table.
func (a Attr) Table() (t Table, ok bool) { return Table(a.Index), a.Kind.Of() == OfMaps }

// Covers reports whether a equals b or covers a range that contains b.
func (a Attr) Covers(b Attr) bool { return a.Kind == b.Kind && a.Index <= b.Index && b.Last <= a.Last }

// String returns the attribute's name in JSON: "queues[3].ecn".
func (a Attr) String() string {
	if a.name != (unique.Handle[string]{}) {
		return a.name.Value()
	}
	if a.Index == a.Last && int(a.Index) < len(names[a.Kind]) {
		return names[a.Kind][a.Index]
	}
	return a.text()
}

// Words describes the attribute for display: "ECN of queue 3".
func (a Attr) Words() string {
	e := &attributes[a.Kind]
	switch e.of {
	case OfQueue:
		return a.words() + " of queue " + a.span()
	case OfGroup:
		return a.words() + " of priority group " + a.span()
	case OfMaps:
		if a.Index == a.Last {
			if a.Kind == KindGlobalMap {
				return tableWords[a.Index] + ", of the switch"
			}
			return tableWords[a.Index]
		}
	}
	return a.words()
}

// words is Words without the queue or group.
func (a Attr) words() string {
	if w := attributes[a.Kind].words; w != "" {
		return w
	}
	if a.Kind == KindNIC {
		return a.String()
	}
	return attributes[a.Kind].name
}

// ofNIC is the prefix of NIC setting names in JSON, because some have the same name as a switch
// setting.
const ofNIC = "nic."

// MarshalText encodes the attribute as its name.
func (a Attr) MarshalText() ([]byte, error) {
	switch {
	case a == (Attr{}):
		return nil, errors.New("a change without an attribute")
	case a.Kind == KindNIC:
		return []byte(ofNIC + a.String()), nil
	}
	return []byte(a.String()), nil
}

// UnmarshalText decodes the name of an attribute that a [Change] may have.
func (a *Attr) UnmarshalText(b []byte) error {
	if name, ok := strings.CutPrefix(string(b), ofNIC); ok && name != "" {
		*a = NIC(name)
		return nil
	}
	found, ok := named()[string(b)]
	if !ok {
		return fmt.Errorf("unknown change field %q", b)
	}
	*a = found
	return nil
}

func (a Attr) text() string {
	e := &attributes[a.Kind]
	switch e.of {
	case OfQueue:
		return "queues[" + a.span() + "]." + e.name
	case OfGroup:
		return "groups[" + a.span() + "]." + e.name
	case OfMaps:
		if a.Index == a.Last {
			return e.name + "." + tableNames[a.Index]
		}
	}
	return e.name
}

func (a Attr) span() string {
	if a.Index == a.Last {
		return strconv.Itoa(int(a.Index))
	}
	return strconv.Itoa(int(a.Index)) + "-" + strconv.Itoa(int(a.Last))
}

// names holds the texts of all attributes that identify a single value.
var names = func() (out [NumKinds][]string) {
	for k := range NumKinds {
		for i := range k.Of().count() {
			out[k] = append(out[k], k.At(int(i)).text())
		}
	}
	return out
}()

// named maps names to the attributes that a change may have.
var named = sync.OnceValue(func() map[string]Attr {
	out := map[string]Attr{}
	for k := KindGlobalMap; k < KindNIC; k++ {
		for i := range int(k.Of().count()) {
			out[k.At(i).String()] = k.At(i)
		}
	}
	// Rows of bindings cover ranges, and more than eight queues.
	const rows = 16
	for _, k := range []Kind{KindQueueBinding, KindGroupBinding} {
		for i := range rows {
			for last := i; last < rows; last++ {
				out[k.Span(i, last).String()] = k.Span(i, last)
			}
		}
	}
	return out
})

// Place identifies a value of a device: an attribute of a port or of the device itself.
type Place struct {
	Port  string // "" for the device itself
	Field Attr
}

// Holds reports whether d has a value for an attribute, or for any index that it covers. port is
// empty for the device itself. For a table of maps, keys limits the question to these entries;
// without keys, any entry counts.
func (d *Device) Holds(port string, a Attr, keys ...int) bool {
	h := holder{dev: d, port: d.Ports[port]}
	e := &attributes[a.Kind]
	if e.holds == nil || port == "" != (a.Kind < KindPort) || port != "" && h.port == nil {
		return false
	}
	if t, ok := a.Table(); ok && len(keys) > 0 && e.holds(h, int(t)) {
		m := d.GlobalMaps.V
		if port != "" {
			m = h.port.Maps.V
		}
		return slices.ContainsFunc(keys, func(k int) bool { return k >= 0 && k < len(m.Table(t)) && m.Table(t)[k] != Unmanaged })
	}
	for i := a.Index; i <= a.Last; i++ {
		if e.holds(h, int(i)) {
			return true
		}
	}
	return false
}

// Restrict removes the values of all attributes but those of the given kinds. Each system lists what
// it supports, so that it leaves out a new attribute until its code knows it.
func (d *Device) Restrict(kinds ...Kind) {
	var dropped []Attr
	for k := range NumKinds {
		switch {
		case attributes[k].keep == nil || slices.Contains(kinds, k):
		case k.Of() == OfMaps:
			dropped = append(dropped, k.All())
		default:
			for i := range int(k.Of().count()) {
				dropped = append(dropped, k.At(i))
			}
		}
	}
	none := holder{dev: &Device{}, port: &Port{}}
	for _, a := range dropped {
		keep := attributes[a.Kind].keep
		if a.Kind < KindPort {
			keep(holder{dev: d}, none, a)
			continue
		}
		for _, p := range d.Ports {
			keep(holder{d, p}, none, a)
		}
	}
}

// Keeping returns a copy of d in which the values at the given places are replaced by those of
// have, or unmanaged if have is nil. Single tables of maps become unmanaged, and ports at a place
// of [KindPort] are removed.
func (d *Device) Keeping(have *Device, places []Place) *Device {
	if have == nil {
		have = &Device{}
	}
	out := *d
	out.Ports = maps.Clone(d.Ports)
	own := map[string]bool{} // ports that are already copied
	for _, at := range places {
		to, from := holder{dev: &out}, holder{dev: have, port: have.Ports[at.Port]}
		switch {
		case at.Field.Kind == KindPort:
			delete(out.Ports, at.Port)
			continue
		case attributes[at.Field.Kind].keep == nil:
			continue
		case at.Port != "":
			if to.port = out.Ports[at.Port]; to.port == nil {
				continue
			}
			if !own[at.Port] {
				port := *to.port
				to.port = &port
				out.Ports[at.Port], own[at.Port] = &port, true
			}
			if from.port == nil {
				from.port = &Port{}
			}
		}
		attributes[at.Field.Kind].keep(to, from, at.Field)
	}
	out.NotKnown = maps.Clone(d.NotKnown)
	out.dropKnown()
	return &out
}
