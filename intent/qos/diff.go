package qos

import (
	"cmp"
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

// Absent is how a Change prints a value that a device does not hold.
const Absent = "-"

// Diff returns what must change for running to become desired, ports in
// natural order and fields in a fixed order. What desired leaves unset is not
// compared. Both devices must be normalised.
func Diff(running, desired *Device) []Change {
	d := differ{maps: map[[2]*Maps][]fieldDiff{}}
	opt(&d, "", "watchdog_poll", running.WatchdogPoll, desired.WatchdogPoll, time.Duration.String)
	opt(&d, "", "headroom_model", running.HeadroomModel, desired.HeadroomModel, HeadroomModel.String)
	d.diffMaps("", "global_maps.", running.GlobalMaps, desired.GlobalMaps)
	var none Port
	for name, want := range desired.Ports {
		have := running.Ports[name]
		if have == nil {
			have = &none
		}
		d.port(name, have, want)
	}
	slices.SortStableFunc(d.out, func(a, b Change) int {
		return cmp.Or(natural.Compare(a.Port, b.Port), cmp.Compare(rank(a.Field), rank(b.Field)), natural.Compare(a.Field, b.Field))
	})
	return d.out
}

type differ struct {
	out []Change
	// maps remembers the comparison of two shared maps: 64 ports that share
	// one are compared once.
	maps map[[2]*Maps][]fieldDiff
}

type fieldDiff struct{ field, old, new string }

func (d *differ) add(port, field, was, want string) {
	d.out = append(d.out, Change{Port: port, Field: field, Old: was, New: want})
}

func opt[T comparable](d *differ, port, field string, have, want Opt[T], text func(T) string) {
	if !want.Set || (have.Set && have.V == want.V) {
		return
	}
	was := Absent
	if have.Set {
		was = text(have.V)
	}
	d.add(port, field, was, text(want.V))
}

func (d *differ) port(name string, have, want *Port) {
	opt(d, name, "admin_up", have.AdminUp, want.AdminUp, strconv.FormatBool)
	opt(d, name, "speed", have.Speed, want.Speed, stringer)
	opt(d, name, "fec", have.FEC, want.FEC, quote)
	opt(d, name, "mtu", have.MTU, want.MTU, strconv.Itoa)
	opt(d, name, "breakout", have.Breakout, want.Breakout, quote)
	opt(d, name, "lag", have.LAG, want.LAG, quote)
	opt(d, name, "cable", have.Cable, want.Cable, stringer)
	opt(d, name, "trust", have.Trust, want.Trust, func(t Trust) string { return string(t) })
	d.diffMaps(name, "maps.", have.Maps, want.Maps)
	opt(d, name, "pfc", have.PFC, want.PFC, stringer)
	opt(d, name, "pfc_asymmetric", have.PFCAsymmetric, want.PFCAsymmetric, strconv.FormatBool)
	opt(d, name, "link_pause", have.LinkPause, want.LinkPause, strconv.FormatBool)
	opt(d, name, "watchdog", have.Watchdog, want.Watchdog, stringer)
	opt(d, name, "ingress_profiles", have.IngressProfiles, want.IngressProfiles, quote)
	opt(d, name, "egress_profiles", have.EgressProfiles, want.EgressProfiles, quote)
	for i := range want.Queues {
		h, w := &have.Queues[i], &want.Queues[i]
		if *h == *w || *w == (Queue{}) {
			continue
		}
		f := "queues[" + string(rune('0'+i)) + "]."
		opt(d, name, f+"scheduler", h.Scheduler, w.Scheduler, stringer)
		opt(d, name, f+"ecn", h.ECN, w.ECN, stringer)
		opt(d, name, f+"buffer", h.Buffer, w.Buffer, quote)
	}
	for i := range want.Groups {
		h, w := &have.Groups[i], &want.Groups[i]
		if *h == *w || *w == (Group{}) {
			continue
		}
		f := "groups[" + string(rune('0'+i)) + "]."
		opt(d, name, f+"lossless", h.Lossless, w.Lossless, strconv.FormatBool)
		opt(d, name, f+"headroom", h.Headroom, w.Headroom, stringer)
		opt(d, name, f+"buffer", h.Buffer, w.Buffer, quote)
	}
}

func stringer[T fmt.Stringer](v T) string { return v.String() }

func quote(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

func (d *differ) diffMaps(port, prefix string, have, want Opt[*Maps]) {
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
	for _, f := range fs {
		d.add(port, prefix+f.field, f.old, f.new)
	}
}

var noMaps = UnmappedMaps()

func compareMaps(h, w *Maps) []fieldDiff {
	var out []fieldDiff
	cmpMap := func(field string, a, b []int8) {
		if slices.Equal(a, b) {
			return
		}
		var differ []int
		for i := range b {
			if a[i] != b[i] {
				differ = append(differ, i)
			}
		}
		out = append(out, fieldDiff{field, foldMap(a, differ), foldMap(b, differ)})
	}
	cmpMap("dscp_to_tc", h.DSCPToTC[:], w.DSCPToTC[:])
	if w.PCPManaged {
		cmpMap("pcp_to_tc", h.PCPToTC[:], w.PCPToTC[:])
	}
	cmpMap("tc_to_queue", h.TCToQueue[:], w.TCToQueue[:])
	cmpMap("tc_to_group", h.TCToGroup[:], w.TCToGroup[:])
	cmpMap("pfc_to_queue", h.PFCToQueue[:], w.PFCToQueue[:])
	if w.PFCGManaged {
		cmpMap("pfc_to_group", h.PFCToGroup[:], w.PFCToGroup[:])
	}
	cmpMap("tc_to_dscp", h.TCToDSCP[:], w.TCToDSCP[:])
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
		if m[k] == Unmapped {
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

// fieldOrder is the order in which a person reads a port: what enters, how it
// is classed, paused, queued, buffered, guarded.
var fieldOrder = []string{"speed", "breakout", "lag", "fec", "mtu", "admin_up", "cable", "trust", "maps.", "pfc", "pfc_asymmetric", "link_pause", "queues[", "groups[", "ingress_profiles", "egress_profiles", "watchdog"}

func rank(field string) int {
	for i, p := range fieldOrder {
		if field == p || (strings.HasSuffix(p, ".") || strings.HasSuffix(p, "[")) && strings.HasPrefix(field, p) {
			return i
		}
	}
	return len(fieldOrder)
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
			if q.ECN.Set && !q.ECN.V.Enabled && q.ECN.V.Other == "" {
				q.ECN.V = ECN{}
			}
			if q.Scheduler.Set && q.Scheduler.V.Strict {
				q.Scheduler.V.Weight = 0
			}
		}
	}
}
