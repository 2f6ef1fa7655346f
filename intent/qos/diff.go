package qos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Impact is how disruptive a change is. Values are ordered: a larger one is more disruptive.
type Impact int

// Impacts.
const (
	ImpactNone     Impact = iota // no disruption
	ImpactCounters               // counters are reset or start counting
	ImpactPortFlap               // a link goes down and comes up
	ImpactLoss                   // packets of the class may be lost
	ImpactReload                 // services or the device restart
)

var impactNames = []string{"none", "counters", "port-flap", "traffic-loss", "reload"}

// String returns the name used in plans and flags.
func (i Impact) String() string {
	if i < 0 || int(i) >= len(impactNames) {
		return "impact(" + strconv.Itoa(int(i)) + ")"
	}
	return impactNames[i]
}

// MarshalText encodes the impact as its name.
func (i Impact) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText decodes the name of an impact.
func (i *Impact) UnmarshalText(b []byte) error {
	n := slices.Index(impactNames, string(b))
	if n < 0 {
		return fmt.Errorf("unknown impact %q; use one of %s", b, strings.Join(impactNames, ", "))
	}
	*i = Impact(n)
	return nil
}

// Change is one semantic difference between running and desired.
type Change struct {
	Port   string `json:"port,omitempty"` // "" for the whole device
	Field  Attr   `json:"field"`
	Old    string `json:"old"` // "-" if the device has no value
	New    string `json:"new"`
	Reason string `json:"reason,omitempty"` // intent file and line, or a rule
	Impact Impact `json:"impact"`
	// Blocked explains why this tool cannot make the change on this device, and what to do
	// instead.
	Blocked string `json:"blocked,omitempty"`
	// Open is set if a run does not make the change and continues without it.
	Open bool `json:"open,omitempty"`
	// Class is the class of the queue or priority group that Field belongs to; "" if the intent
	// has no class there.
	Class string `json:"class,omitempty"`
	// Unknown says why the running value is not known, so that whether it differs is open; "" if it
	// is known.
	Unknown string `json:"unknown,omitempty"`
	// Note says where a host stores the value and what activates it; "" for a switch.
	Note string `json:"note,omitempty"`
	// Requests is the impact of the native requests that make the change, independent of its
	// value; undoing the change has the same request impact. Undo is the impact of undoing the
	// change, as stored in the records of a run.
	Requests Impact `json:"-"`
	Undo     Impact `json:"undo,omitempty"`
}

// Takes raises the impact of the change to the impact of a request that makes it.
func (c *Change) Takes(request Impact) {
	c.Requests, c.Impact = max(c.Requests, request), max(c.Impact, request)
}

// Path returns the path of the value: "ports[Ethernet8].pfc".
func (c Change) Path() string { return Path(c.Port, c.Field.String()) }

// Path returns the path of a field of a port, or of the whole device if port is empty.
func Path(port, field string) string {
	if port == "" {
		return field
	}
	return "ports[" + port + "]." + field
}

// Title describes what changes for display: "rdma ECN", "MTU".
func (c Change) Title() string {
	if c.Class != "" {
		return c.Class + " " + c.Field.words()
	}
	return c.Field.Words()
}

// Place returns the place of the value that changes.
func (c Change) Place() Place { return Place{c.Port, c.Field} }

// Absent stands in a Change for a value that the device does not have, and NotKnown for one that its
// source does not show.
const (
	Absent   = "-"
	NotKnown = "not known"
)

// Diff returns the changes that turn running into desired. Ports are in natural order, and fields
// in the order in which a person reads a port: ingress, classification, PFC, queues, buffers,
// watchdog. Values that desired leaves unset are not compared; a port that running lacks is a
// single change of [KindPort]. Both devices must be normalized.
//
// A value in running.NotKnown makes a change that says so in Unknown: a plan writes it, a comparison
// counts it as neither equal nor different.
//
// The impact of a change is the minimum on any system. It is ImpactLoss if the change moves code
// points, priorities or queues of a class that is lossless before or after it, stops pausing such
// a class, stops ECN marking in its queue, or lowers the MTU of a port.
func Diff(running, desired *Device) []Change {
	if running.Platform.RoCEMode {
		desired = desired.inRoCEMode(running)
	}
	d := differ{running: running, desired: desired, compared: map[comparison][]tableDiff{}}
	d.walk(walk.device)
	device := d.out
	d.out = nil

	type span struct {
		port     string
		from, to int // indexes into d.out
	}
	var spans []span
	for name, want := range desired.Ports {
		from := len(d.out)
		d.name = name
		if have := running.Ports[name]; have != nil {
			d.have, d.want, d.shares = have, want, Opt[bool]{}
			d.walk(walk.port)
		} else {
			d.out = append(d.out, Change{Port: name, Field: KindPort.Attr(), Old: Absent, New: "present"})
		}
		if len(d.out) > from {
			spans = append(spans, span{name, from, len(d.out)})
		}
	}
	if len(spans) == 0 {
		return device
	}
	ordered.Sort(spans, func(a, b span) int { return natural.Compare(a.port, b.port) })
	out := slices.Grow(device, len(d.out))
	for _, s := range spans {
		out = append(out, d.out[s.from:s.to]...)
	}
	return out
}

// inRoCEMode returns a copy of d that expects the group chosen by a device in [Platform.RoCEMode]
// for lossy traffic: the group on running unless it is lossless there, otherwise [RoCEModeLossy].
func (d *Device) inRoCEMode(running *Device) *Device {
	type of struct {
		want, have     *Maps
		lossless, runs PrioritySet // priority groups
	}
	shared := map[of]*Maps{}
	out := *d
	out.GlobalMaps = Opt[*Maps]{}
	out.Ports = make(map[string]*Port, len(d.Ports))
	for name, want := range d.Ports {
		out.Ports[name] = want
		have := running.Ports[name]
		if have == nil || want.Groups[RoCEModeLossy].Lossless.V {
			continue
		}
		p := *want
		key := of{p.Maps.V, running.MapsOf(name), want.losslessGroups(), have.losslessGroups()}
		if b := p.Groups[0].Buffer; b.Set && !have.Groups[0].Buffer.Set {
			p.Groups[0].Buffer, p.Groups[RoCEModeLossy].Buffer = Opt[string]{}, b
		}
		if key.want != nil && shared[key] == nil {
			own := *key.want
			for tc, g := range own.TCToGroup {
				if g < 0 || g >= NumPriorities || key.lossless.Has(int(g)) {
					continue
				}
				own.TCToGroup[tc] = RoCEModeLossy
				if key.have == nil {
					continue
				}
				if h := key.have.TCToGroup[tc]; h >= 0 && h < NumPriorities && !key.runs.Has(int(h)) {
					own.TCToGroup[tc] = h
				}
			}
			shared[key] = &own
		}
		if key.want != nil {
			p.Maps.V = shared[key]
		}
		out.Ports[name] = &p
	}
	return &out
}

// losslessGroups returns the lossless priority groups of the port.
func (p *Port) losslessGroups() (s PrioritySet) {
	for g := range p.Groups {
		if p.Groups[g].Lossless.V {
			s |= Priorities(g)
		}
	}
	return s
}

// DiffSaved is [Diff] for a saved configuration, which may lack the lossless groups that the
// switch derives from speed and cable length (sonic-swss cfgmgr/buffermgr.cpp).
func DiffSaved(saved, desired *Device) []Change {
	return slices.DeleteFunc(Diff(saved, desired), func(ch Change) bool {
		have, want := saved.Ports[ch.Port], desired.Ports[ch.Port]
		if have == nil || want == nil {
			return false
		}
		if ch.Field.Kind != KindLossless && ch.Field.Kind != KindDerivedFrom {
			return false
		}
		// A row that binds the group to a profile replaces the derived group.
		h, w := &have.Groups[ch.Field.Index], &want.Groups[ch.Field.Index]
		return w.DerivedFrom.Set && !h.DerivedFrom.Set && !h.Headroom.Set && !h.Buffer.Set
	})
}

type differ struct {
	running, desired *Device

	out []Change
	// name is the port being compared, "" for the device; kind and entry are the attribute being
	// compared.
	name       string
	have, want *Port
	kind       Kind
	entry      *entry
	// compared caches comparisons of two shared maps: a map that 64 ports share is compared once.
	compared map[comparison][]tableDiff
	// shares caches the result of sameShares for the current port; unset before the first call.
	shares Opt[bool]
}

// comparison identifies a comparison of two maps on ports with these lossless priorities.
type comparison struct {
	have, want *Maps
	lossless   PrioritySet
	// others are traffic classes that receive traffic through other maps than these two.
	others PrioritySet
}

type tableDiff struct {
	table    Table
	old, new string
	// classes are the traffic classes whose traffic the difference moves.
	classes PrioritySet
}

func (d *differ) add(a Attr, was, want string, least Impact) {
	d.out = append(d.out, Change{Port: d.name, Field: a, Old: was, New: want, Impact: least})
}

// walk compares the attributes of the device or of the current port.
func (d *differ) walk(runs [][]Kind) {
	for _, kinds := range runs {
		switch attributes[kinds[0]].of {
		case OfQueue:
			for i := range d.want.Queues {
				if h, w := &d.have.Queues[i], &d.want.Queues[i]; *h != *w && *w != (Queue{}) {
					d.each(kinds, i)
				}
			}
		case OfGroup:
			for i := range d.want.Groups {
				if h, w := &d.have.Groups[i], &d.want.Groups[i]; *h != *w && *w != (Group{}) {
					d.each(kinds, i)
				}
			}
		default:
			d.each(kinds, 0)
		}
	}
}

func (d *differ) each(kinds []Kind, i int) {
	for _, k := range kinds {
		d.kind, d.entry = k, &attributes[k]
		d.entry.diff(d, i)
	}
}

func stringer[T fmt.Stringer](v T) string { return v.String() }

func quote(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// maps compares two maps on ports with these lossless priorities.
func (d *differ) maps(have Opt[*Maps], want *Maps, lossless PrioritySet) {
	h := have.V
	if !have.Set || h == nil {
		h = noMaps
	}
	if h == want {
		return
	}
	key := comparison{have: h, want: want, lossless: lossless}
	if g := d.running.GlobalMaps.V; g != nil && h.DSCPToTC == noMaps.DSCPToTC {
		key.others = g.Classes() // the port has no DSCP map of its own
	}
	tables, ok := d.compared[key]
	if !ok {
		tables = compareMaps(key)
		d.compared[key] = tables
	}
	for _, t := range tables {
		d.add(d.kind.Table(t.table), t.old, t.new, lossIf(t.classes&lossless != 0))
		d.out[len(d.out)-1].Unknown = d.running.NotKnown[Place{d.name, d.kind.Table(t.table)}]
	}
}

var noMaps = UnmappedMaps()

func compareMaps(of comparison) []tableDiff {
	var out []tableDiff
	reached := of.have.Classes() | of.want.Classes() | of.others
	for t := range NumTables {
		a, b := of.have.Table(t), of.want.Table(t)
		if slices.Equal(a, b) {
			continue
		}
		// Ignore entries that no packet and no pause frame uses.
		used := map[Table]PrioritySet{TCToQueue: reached, TCToGroup: reached, TCToDSCP: reached, PFCToQueue: of.lossless, PFCToGroup: of.lossless}
		met, some := used[t]
		var differ []int
		var moved PrioritySet
		for i := range b {
			if a[i] != b[i] && b[i] != Unmanaged && (!some || met.Has(i)) {
				differ = append(differ, i)
				moved |= classes(t, i, a[i], b[i])
			}
		}
		if len(differ) > 0 {
			out = append(out, tableDiff{t, foldMap(a, differ), foldMap(b, differ), moved})
		}
	}
	return out
}

// Classes returns the traffic classes that the maps assign to any packet, including 0 for packets
// that no map lists.
func (m *Maps) Classes() PrioritySet {
	s := Priorities(0)
	for _, t := range []Table{DSCPToTC, PCPToTC} {
		for _, tc := range m.Table(t) {
			if tc >= 0 && tc < NumPriorities {
				s |= Priorities(int(tc))
			}
		}
	}
	return s
}

// sameShares reports whether the two or more weighted queues in want get the same shares of the
// link as in have: 10, 10 and 20 equal 25, 25 and 50. If exact percentages are impossible, shares
// are compared to the nearest percent. If another weighted queue receives traffic, the weights
// themselves must be equal.
func (d *differ) sameShares() bool {
	var have, want [NumPriorities]int
	sumHave, sumWant, queues, equal := 0, 0, 0, true
	for i := range d.want.Queues {
		h, w := d.have.Queues[i].Scheduler, d.want.Queues[i].Scheduler
		switch {
		case w.Set != h.Set && w.Set, w.Set && w.V.Strict != h.V.Strict:
			return false
		case w.Set:
			have[i], want[i] = h.V.Weight, w.V.Weight
			sumHave, sumWant = sumHave+h.V.Weight, sumWant+w.V.Weight
			equal = equal && h.V.Weight == w.V.Weight
			if w.V.Weight > 0 {
				queues++
			}
		case h.V.Weight > 0 && d.sendsTo(i):
			sumHave = -1 << 20 // rules out a comparison by proportion
		}
	}
	if equal || sumHave <= 0 || sumWant <= 0 || queues < 2 {
		return equal
	}
	if sumWant == 100 && rounds(have, want, sumHave) {
		return true
	}
	near := 0
	if sumHave > 100 {
		near = sumHave * sumWant / 200
	}
	for i := range have {
		if off := have[i]*sumWant - want[i]*sumHave; max(off, -off) > near {
			return false
		}
	}
	return true
}

// rounds reports whether the wanted weights are the shares of the running weights rounded to
// whole percent: 33, 33 and 34 for 1, 1 and 1. The remainder goes to the largest fractions.
func rounds(have, want [NumPriorities]int, sumHave int) bool {
	least, most := sumHave, 0 // smallest fraction rounded up, and largest one rounded down
	for i := range have {
		fraction := have[i] * 100 % sumHave
		switch want[i] - have[i]*100/sumHave {
		case 0:
			most = max(most, fraction)
		case 1:
			least = min(least, fraction)
		default:
			return false
		}
	}
	return most <= least
}

// sendsTo reports whether the port sends any traffic to a queue.
func (d *differ) sendsTo(queue int) bool {
	m := d.running.MapsOf(d.name)
	if m == nil {
		return true
	}
	return feeds(queue, m.Classes(), m)
}

// scheduler compares the scheduler of a queue, ignoring weights that give the same shares.
func (d *differ) scheduler(i int, diff func(*differ, int)) {
	h, w := d.have.Queues[i].Scheduler, d.want.Queues[i].Scheduler
	h.V.Weight = w.V.Weight
	if h == w {
		if !d.shares.Set {
			d.shares = Of(d.sameShares())
		}
		if d.shares.V {
			return
		}
	}
	diff(d, i)
}

// classes returns the traffic classes that a changed map entry moves traffic into or out of.
func classes(t Table, key int, was, want int8) (s PrioritySet) {
	if t != DSCPToTC && t != PCPToTC {
		return Priorities(key)
	}
	for _, tc := range []int8{was, want} {
		if tc >= 0 && tc < NumPriorities {
			s |= Priorities(int(tc))
		}
	}
	return s
}

// foldMap formats the entries at the given keys: "0-2,5:1 26:3".
func foldMap(m []int8, keys []int) string {
	var byValue ordered.Groups[int8, int]
	for _, k := range keys {
		byValue.Add(m[k], k)
	}
	var parts []string
	for v, same := range byValue.All() {
		to := Absent
		if v >= 0 {
			to = strconv.Itoa(int(v))
		}
		parts = append(parts, FoldInts(same)+":"+to)
	}
	return strings.Join(parts, " ")
}

// FoldInts formats ascending numbers as "0-2,5".
func FoldInts(ns []int) string {
	var parts []string
	for len(ns) > 0 {
		n := 1
		for n < len(ns) && ns[n] == ns[n-1]+1 {
			n++
		}
		part := strconv.Itoa(ns[0])
		if n > 1 {
			part += "-" + strconv.Itoa(ns[n-1])
		}
		parts, ns = append(parts, part), ns[n:]
	}
	return strings.Join(parts, ",")
}

// String formats the parameters of the calculation.
func (h HeadroomModel) String() string {
	return fmt.Sprintf("lossless mtu %d small packets %d%% alpha 2^%d over-subscription %d", h.LosslessMTU, h.SmallPacketPercent, h.Alpha, h.OverSubscribe)
}

// Normalize converts equivalent settings to one form, in place: a queue that does not mark has no
// thresholds, a strict queue no weight, a disabled watchdog no timers. A value that is set is known.
func Normalize(d *Device) {
	d.dropKnown()
	for _, p := range d.Ports {
		if w := &p.Watchdog; w.Set && (!w.V.Enabled || w.V.Priorities == 0) {
			w.V = Watchdog{}
		}
		for i := range p.Queues {
			q := &p.Queues[i]
			if q.ECN.Set && !q.ECN.V.Enabled && !q.ECN.V.Drops && q.ECN.V.Other == "" {
				q.ECN.V = ECN{}
			}
			if q.Scheduler.Set && q.Scheduler.V.Strict {
				q.Scheduler.V.Weight = 0
			}
		}
	}
}

// Others returns the ports that are up, are not listed in desired, and would behave differently
// after the device changes from before to after, because they use device-wide settings. They are
// in natural order.
func Others(before, after, desired *Device) []string {
	if desired.OwnsGlobals {
		return nil
	}
	var out []string
	for name, have := range before.Ports {
		is := after.Ports[name]
		if is == nil || desired.Ports[name] != nil || !have.AdminUp.Or(true) {
			continue
		}
		if len(Diff(before.alone(name, have), after.alone(name, is))) > 0 {
			out = append(out, name)
		}
	}
	ordered.Sort(out, natural.Compare)
	return out
}

// AsRun returns a copy of d in the form of running: each scheduler, ECN curve and map that means
// the same on running is replaced by that of running. The result is what should be active on a
// device that matches d.
func (d *Device) AsRun(running *Device) *Device {
	changed := map[Place]bool{}
	for _, c := range Diff(running, d) {
		changed[c.Place()] = true
	}
	shared := map[[2]*Maps]*Maps{}
	out := *d
	out.Ports = make(map[string]*Port, len(d.Ports))
	for name, want := range d.Ports {
		have := running.Ports[name]
		if have == nil {
			out.Ports[name] = want
			continue
		}
		p := *want
		for i := range p.Queues {
			h, w := &have.Queues[i], &p.Queues[i]
			if w.Scheduler.Set && !changed[Place{name, KindScheduler.At(i)}] {
				w.Scheduler = h.Scheduler
			}
			if w.ECN.Set && !changed[Place{name, KindECN.At(i)}] {
				w.ECN = h.ECN
			}
		}
		if m := running.MapsOf(name); p.Maps.V != nil && m != nil {
			key := [2]*Maps{p.Maps.V, m}
			if shared[key] == nil {
				shared[key] = p.Maps.V.asRun(m, func(t Table) bool { return changed[Place{name, KindMap.Table(t)}] })
			}
			p.Maps.V = shared[key]
		}
		out.Ports[name] = &p
	}
	return &out
}

// AndPaused returns a copy of d whose ports also pause the priorities that they pause on running.
// It describes the PFC state expected from the configuration, not only from the intent.
func (d *Device) AndPaused(running *Device) *Device {
	out := *d
	out.Ports = maps.Clone(d.Ports)
	for name, p := range d.Ports {
		have := running.Ports[name]
		if have == nil || !p.PFC.Set || have.PFC.V&^p.PFC.V == 0 {
			continue
		}
		own := *p
		more := have.PFC.V &^ p.PFC.V
		own.PFC.V |= more
		if own.Maps.V != nil && have.Maps.V != nil {
			m := *own.Maps.V
			for _, n := range more.List() { // map the pause to the queue as on running
				m.PFCToQueue[n] = have.Maps.V.PFCToQueue[n]
			}
			own.Maps.V = &m
		}
		out.Ports[name] = &own
	}
	return &out
}

// asRun returns a copy of m in which the managed entries of each unchanged table are replaced by
// those of have.
func (m *Maps) asRun(have *Maps, changes func(Table) bool) *Maps {
	out := *m
	for t := range NumTables {
		entries := out.Table(t)
		for i, to := range entries {
			if to != Unmanaged && !changes(t) {
				entries[i] = have.Table(t)[i]
			}
		}
	}
	return &out
}

// alone returns a device with this port and the tables that classify its traffic.
func (d *Device) alone(name string, p *Port) *Device {
	own := *p
	m := d.MapsOf(name)
	if m != nil {
		used := *m
		switch p.Trust.V {
		case TrustDSCP:
			used.Unmanage(PCPToTC)
		case TrustPCP:
			used.Unmanage(DSCPToTC)
		case TrustNone:
			used.fill(DSCPToTC, Unmapped)
			used.fill(PCPToTC, Unmapped)
		}
		m = &used
	}
	own.Maps = Of(m)
	return &Device{Ports: map[string]*Port{name: &own}}
}
