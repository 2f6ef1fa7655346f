package qos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Impact says what carrying out a change disturbs. Values are ordered: a
// larger one disturbs more.
type Impact int

// The impacts.
const (
	ImpactNone     Impact = iota // hitless
	ImpactCounters               // counters are reset or start to count
	ImpactPortFlap               // a link goes down and comes up
	ImpactLoss                   // packets of the class may be lost
	ImpactReload                 // services or the device restart
)

var impactNames = []string{"none", "counters", "port-flap", "traffic-loss", "reload"}

// String prints the name that plans and flags use.
func (i Impact) String() string {
	if i < 0 || int(i) >= len(impactNames) {
		return "impact(" + strconv.Itoa(int(i)) + ")"
	}
	return impactNames[i]
}

// MarshalText writes the name.
func (i Impact) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads the name.
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
	Field  string `json:"field"`          // "pfc", "queues[3].ecn"
	Old    string `json:"old"`            // "-" where the device holds nothing
	New    string `json:"new"`
	Reason string `json:"reason,omitempty"` // intent file and line, or a rule
	Impact Impact `json:"impact"`
	// Blocked says why the change cannot be made by this tool on this device,
	// and what to do instead.
	Blocked string `json:"blocked,omitempty"`
}

// Path names the value: "ports[Ethernet8].pfc".
func (c Change) Path() string {
	if c.Port == "" {
		return c.Field
	}
	return "ports[" + c.Port + "]." + c.Field
}

// PortField is the field of a Change that stands for a whole port.
const PortField = "port"

// Absent is how a Change prints a value that a device does not hold.
const Absent = "-"

// Diff returns what must change for running to become desired, ports in
// natural order and fields in the order in which a person reads a port: what
// enters, how it is classed, paused, queued, buffered, guarded. What desired
// leaves unset is not compared; a port that running does not have is a single
// change of [PortField]. Both devices must be normalised.
//
// The impact of a change is the least that it has on any system: ImpactLoss
// where it moves code points, priorities or queues of a class that is lossless
// before or after it, stops pausing one, takes the marking from its queue, or
// lowers the MTU of a port.
func Diff(running, desired *Device) []Change {
	d := differ{running: running, desired: desired, maps: map[[2]*Maps][]fieldDiff{}}
	d.diffMaps("global_maps.", running.GlobalMaps, desired.GlobalMaps, paused(running, desired))
	opt(&d, "headroom_model", running.HeadroomModel, desired.HeadroomModel, HeadroomModel.String)
	opt(&d, "watchdog_poll", running.WatchdogPoll, desired.WatchdogPoll, time.Duration.String)
	device := d.out
	d.out = nil

	type span struct {
		port     string
		from, to int // in d.out
	}
	var spans []span
	for name, want := range desired.Ports {
		from := len(d.out)
		d.name = name
		if have := running.Ports[name]; have != nil {
			d.port(have, want)
		} else {
			d.out = append(d.out, Change{Port: name, Field: PortField, Old: Absent, New: "present"})
		}
		if len(d.out) > from {
			spans = append(spans, span{name, from, len(d.out)})
		}
	}
	if len(spans) == 0 {
		return device
	}
	slices.SortFunc(spans, func(a, b span) int { return natural.Compare(a.port, b.port) })
	out := slices.Grow(device, len(d.out))
	for _, s := range spans {
		out = append(out, d.out[s.from:s.to]...)
	}
	return out
}

// DiffSaved is [Diff] for a configuration in a file. A file need not hold what a
// switch makes by itself and what is in force on it all the same: the lossless
// groups that it derives from speed and cable length (sonic-swss
// cfgmgr/buffermgr.cpp).
func DiffSaved(saved, desired *Device) []Change {
	return slices.DeleteFunc(Diff(saved, desired), func(ch Change) bool {
		have, want := saved.Ports[ch.Port], desired.Ports[ch.Port]
		if have == nil || want == nil {
			return false
		}
		for i, w := range want.Groups {
			if ch.Field == groupPrefix[i]+"lossless" || ch.Field == groupPrefix[i]+"derived_from" {
				// A row that binds the group to a profile of its own takes its place.
				return w.DerivedFrom.Set && !have.Groups[i].DerivedFrom.Set && !have.Groups[i].Headroom.Set && !have.Groups[i].Buffer.Set
			}
		}
		return false
	})
}

type differ struct {
	running, desired *Device

	out []Change
	// name is the port under comparison, "" for the device; prefix is what its
	// fields begin with: "queues[3].".
	name, prefix string
	// maps remembers the comparison of two shared maps: 64 ports that share
	// one are compared once.
	maps map[[2]*Maps][]fieldDiff
}

type fieldDiff struct {
	field, old, new string
	// classes are those that the difference moves traffic into or out of.
	classes PrioritySet
}

func (d *differ) add(field, was, want string, least Impact) {
	d.out = append(d.out, Change{Port: d.name, Field: d.prefix + field, Old: was, New: want, Impact: least})
}

func opt[T comparable](d *differ, field string, have, want Opt[T], text func(T) string) {
	optAtLeast(d, field, have, want, text, ImpactNone)
}

func optAtLeast[T comparable](d *differ, field string, have, want Opt[T], text func(T) string, least Impact) {
	if !want.Set || (have.Set && have.V == want.V) {
		return
	}
	was := Absent
	if have.Set {
		was = text(have.V)
	}
	d.add(field, was, text(want.V), least)
}

func (d *differ) port(have, want *Port) {
	opt(d, "speed", have.Speed, want.Speed, stringer)
	opt(d, "breakout", have.Breakout, want.Breakout, quote)
	opt(d, "lag", have.LAG, want.LAG, quote)
	opt(d, "fec", have.FEC, want.FEC, quote)
	optAtLeast(d, "mtu", have.MTU, want.MTU, strconv.Itoa, lossIf(want.MTU.V < have.MTU.Or(0)))
	opt(d, "admin_up", have.AdminUp, want.AdminUp, strconv.FormatBool)
	opt(d, "cable", have.Cable, want.Cable, stringer)
	lossless := have.PFC.Or(0) | want.PFC.Or(0) // before or after
	optAtLeast(d, "trust", have.Trust, want.Trust, func(t Trust) string { return string(t) }, lossIf(lossless != 0))
	d.diffMaps("maps.", have.Maps, want.Maps, lossless)
	optAtLeast(d, "pfc", have.PFC, want.PFC, stringer, lossIf(have.PFC.Or(0)&^want.PFC.Or(0) != 0))
	opt(d, "pfc_asymmetric", have.PFCAsymmetric, want.PFCAsymmetric, strconv.FormatBool)
	opt(d, "link_pause", have.LinkPause, want.LinkPause, strconv.FormatBool)
	for i := range want.Queues {
		h, w := &have.Queues[i], &want.Queues[i]
		if *h == *w || *w == (Queue{}) {
			continue
		}
		d.prefix = queuePrefix[i]
		opt(d, "buffer", h.Buffer, w.Buffer, quote)
		if !w.ECN.Set || !h.ECN.Set || !h.ECN.V.Same(w.ECN.V) {
			optAtLeast(d, "ecn", h.ECN, w.ECN, stringer, lossIf(unmarks(h.ECN.V, w.ECN.V) &&
				feeds(i, lossless, d.running.MapsOf(d.name), d.desired.MapsOf(d.name))))
		}
		opt(d, "scheduler", h.Scheduler, w.Scheduler, stringer)
	}
	for i := range want.Groups {
		h, w := &have.Groups[i], &want.Groups[i]
		if *h == *w || *w == (Group{}) {
			continue
		}
		d.prefix = groupPrefix[i]
		opt(d, "buffer", h.Buffer, w.Buffer, quote)
		opt(d, "derived_from", h.DerivedFrom, w.DerivedFrom, quote)
		opt(d, "headroom", h.Headroom, w.Headroom, stringer)
		opt(d, "lossless", h.Lossless, w.Lossless, strconv.FormatBool)
	}
	d.prefix = ""
	opt(d, "ingress_profiles", have.IngressProfiles, want.IngressProfiles, quote)
	opt(d, "egress_profiles", have.EgressProfiles, want.EgressProfiles, quote)
	opt(d, "watchdog", have.Watchdog, want.Watchdog, stringer)
}

var (
	queuePrefix = [NumPriorities]string{"queues[0].", "queues[1].", "queues[2].", "queues[3].", "queues[4].", "queues[5].", "queues[6].", "queues[7]."}
	groupPrefix = [NumPriorities]string{"groups[0].", "groups[1].", "groups[2].", "groups[3].", "groups[4].", "groups[5].", "groups[6].", "groups[7]."}
)

func stringer[T fmt.Stringer](v T) string { return v.String() }

func quote(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// diffMaps compares maps that classify for ports with those lossless priorities.
func (d *differ) diffMaps(prefix string, have, want Opt[*Maps], lossless PrioritySet) {
	if !want.Set || want.V == nil {
		return
	}
	h := have.V
	if !have.Set || h == nil {
		h = noMaps
	}
	if h == want.V {
		return
	}
	key := [2]*Maps{h, want.V}
	fs, ok := d.maps[key]
	if !ok {
		fs = compareMaps(h, want.V)
		d.maps[key] = fs
	}
	d.prefix = prefix
	for _, f := range fs {
		d.add(f.field, f.old, f.new, lossIf(f.classes&lossless != 0))
	}
	d.prefix = ""
}

var noMaps = UnmappedMaps()

func compareMaps(h, w *Maps) []fieldDiff {
	var out []fieldDiff
	cmpMap := func(field string, a, b []int8, classes func(key int, was, want int8) PrioritySet) {
		if slices.Equal(a, b) {
			return
		}
		var differ []int
		var moved PrioritySet
		for i := range b {
			if a[i] != b[i] && b[i] != Unmanaged {
				differ = append(differ, i)
				moved |= classes(i, a[i], b[i])
			}
		}
		if len(differ) > 0 {
			out = append(out, fieldDiff{field, foldMap(a, differ), foldMap(b, differ), moved})
		}
	}
	ends := func(_ int, was, want int8) (s PrioritySet) {
		for _, tc := range []int8{was, want} {
			if tc >= 0 && tc < NumPriorities {
				s |= Priorities(int(tc))
			}
		}
		return s
	}
	own := func(class int, _, _ int8) PrioritySet { return Priorities(class) }
	cmpMap("dscp_to_tc", h.DSCPToTC[:], w.DSCPToTC[:], ends)
	cmpMap("pcp_to_tc", h.PCPToTC[:], w.PCPToTC[:], ends)
	cmpMap("pfc_to_group", h.PFCToGroup[:], w.PFCToGroup[:], own)
	cmpMap("pfc_to_queue", h.PFCToQueue[:], w.PFCToQueue[:], own)
	cmpMap("tc_to_dscp", h.TCToDSCP[:], w.TCToDSCP[:], own)
	cmpMap("tc_to_group", h.TCToGroup[:], w.TCToGroup[:], own)
	cmpMap("tc_to_queue", h.TCToQueue[:], w.TCToQueue[:], own)
	return out
}

// foldMap prints the entries at the given keys: "0-2,5:1 26:3".
func foldMap(m []int8, keys []int) string {
	var b strings.Builder
	var done [NumDSCP]bool
	for _, k := range keys {
		if done[k] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		var same []int
		for _, j := range keys {
			if m[j] == m[k] {
				same = append(same, j)
				done[j] = true
			}
		}
		b.WriteString(FoldInts(same))
		b.WriteByte(':')
		if m[k] < 0 {
			b.WriteString(Absent)
		} else {
			b.WriteString(strconv.Itoa(int(m[k])))
		}
	}
	return b.String()
}

// FoldInts prints ascending numbers as "0-2,5".
func FoldInts(ns []int) string {
	var b strings.Builder
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ns[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(ns[j]))
		}
		i = j + 1
	}
	return b.String()
}

// String prints the parameters of the calculation.
func (h HeadroomModel) String() string {
	return fmt.Sprintf("lossless mtu %d small packets %d%% alpha 2^%d over-subscription %d", h.LosslessMTU, h.SmallPacketPercent, h.Alpha, h.OverSubscribe)
}

// Normalize brings what means the same into one form, in place: a queue that
// does not mark has no thresholds, a strict queue no weight, a watchdog that
// is off no timers.
func Normalize(d *Device) {
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
