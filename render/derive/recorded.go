package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Contradiction is a conflict between an inventory and what was found.
type Contradiction struct {
	Where string `json:"where"` // "leaf1", "leaf1/Ethernet8"
	// Recorded is the inventory's statement, and Place its place in the inventory.
	Recorded string `json:"recorded"`
	Place    string `json:"place"`
	// Found is what Source shows instead.
	Found  string `json:"found"`
	Source string `json:"source"`
	// Intent is what the intent uses.
	Intent string `json:"intent"`
}

// String describes the conflict for people.
func (c Contradiction) String() string {
	return fmt.Sprintf("%s: %s says %s; %s says %s; the intent has %s", c.Where, c.Place, c.Recorded, c.Source, c.Found, c.Intent)
}

// Recorded counts the cables of an inventory by outcome.
type Recorded struct {
	Cables       int `json:"cables"`
	Confirmed    int `json:"confirmed"`    // LLDP sees the cable
	Contradicted int `json:"contradicted"` // something else was found there
	Unseen       int `json:"unseen"`       // LLDP is available and sees nothing there
	Unchecked    int `json:"unchecked"`    // no LLDP data there
}

// recorded holds the inventory's data about a link, and the outcome of checking it.
type recorded struct {
	source         string // "" for a link that is not in the inventory
	stated, likely units.Rate
	seen, wrong    bool
	told           bool // known only from LLDP
}

// confirm records that another source has the same link.
func (l *link) confirm(other *link, source string) {
	if source == lldp {
		l.seen = true
	}
	// Stated attributes take precedence; an inventory adds missing ones.
	if l.source == "" && other.source != "" {
		l.recorded = other.recorded
		l.cable = cmp.Or(l.cable, other.cable)
	}
}

func (d *deriver) contradict(c Contradiction) { d.contradictions = append(d.contradictions, c) }

// dispute records that a source shows something else at an end of a link in the inventory.
func (d *deriver) dispute(l *link, at intent.Endpoint, source, found, recorded string) {
	l.dispute(source, found)
	d.contradict(Contradiction{Where: at.String(), Recorded: recorded, Place: l.source, Found: found, Source: source, Intent: l.peer(at).String()})
}

// dispute marks a link as contradicted.
func (l *link) dispute(source, found string) {
	l.wrong = true
	if l.disputed == "" {
		l.disputed = source + " has " + found
	}
}

// peer returns the end of the link that is not at.
func (l *link) peer(at intent.Endpoint) intent.Endpoint {
	if l.b == at {
		return l.a
	}
	return l.b
}

// noPort records a port that is in the inventory but not on its switch.
func (f *finder) noPort(s *box, given string, c Cable) {
	f.cables.Cables++
	f.cables.Contradicted++
	source := cmp.Or(s.File, s.Name+" itself")
	if s.Planned {
		source = "the catalogue"
	}
	found := "no port of that name"
	if near := nearest(given, s.index().names); near != "" {
		found += " (near is " + near + "; ports in the file of --map says which is meant)"
	}
	f.contradict(Contradiction{Where: s.Name, Recorded: given, Place: c.Source, Found: found, Source: source, Intent: "no link there"})
}

// nearest returns the port whose name has the same numbers as given, or all but the first of
// them; "" if there is none.
func nearest(given string, names []string) string {
	of := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	want := of(given)
	for _, n := range names {
		if have := of(n); len(want) > 0 && (slices.Equal(have, want) || len(want) > 1 && slices.Equal(have, want[1:])) {
			return n
		}
	}
	return ""
}

// compareRecord compares the inventory's data about a link with its switches.
func (d *deriver) compareRecord(l *link) {
	if l.source == "" {
		return
	}
	for _, e := range []intent.Endpoint{l.a, l.b} {
		s, p := d.run(e)
		if p == nil || s.Planned {
			continue
		}
		source := cmp.Or(s.File, "the switch")
		have := p.Cable.Or(0)
		if have <= 0 {
			_, have = lookedUp(p)
		}
		if l.cable > 0 && have > 0 && s.cableRow(l.speed, l.cable) != have && l.cable != have {
			d.contradict(Contradiction{Where: e.String(), Recorded: "a cable of " + l.cable.String(), Place: l.source, Found: "one of " + have.String(), Source: source, Intent: l.cable.String()})
		}
		if is := speedAt(p); l.stated > 0 && is > 0 && is != l.stated {
			d.contradict(Contradiction{Where: e.String(), Recorded: "speed " + l.stated.String(), Place: l.source, Found: is.String(), Source: source, Intent: l.speed.String()})
		}
	}
}

// speedWithGuess returns the speed of a link, including the inventory's guess if no switch with
// a known speed was read.
func (l *link) speedWithGuess(speed units.Rate, d *deriver) units.Rate {
	if l.likely == 0 {
		return speed
	}
	for _, e := range []intent.Endpoint{l.a, l.b} {
		if s, p := d.run(e); p != nil && !s.Planned && speedAt(p) > 0 {
			return speed
		}
	}
	if speed == 0 || l.stated > 0 {
		return l.likely
	}
	return min(speed, l.likely)
}

// Pair returns a key for two devices in either order.
func Pair(a, b string) string { return min(a, b) + " " + max(a, b) }

// sumUp counts the cables of the inventory and reports links that it lacks.
func (f *finder) sumUp() {
	if f.in.Recorded == nil {
		return
	}
	has := func(device string) string {
		if at, ok := f.in.Recorded[strings.ToLower(device)]; ok {
			return at
		}
		return f.in.Recorded[strings.ToLower(short(device))]
	}
	var strangers ordered.Groups[string, string]
	for _, l := range f.links {
		if l.source == "" {
			u := f.in.Unclear
			if u[Pair(l.a.Device, l.b.Device)] || u[l.a.String()] || u[l.b.String()] {
				continue // the inventory has a cable there, but not which port it uses
			}
			if at, there := has(l.a.Device), has(l.b.Device); l.told && at != "" && there != "" {
				f.contradict(Contradiction{Where: l.a.String(), Recorded: "no cable", Place: "the inventory", Found: l.b.String(), Source: lldp, Intent: l.b.String()})
				l.disputed = "the inventory has no cable there"
			} else if l.told && at != "" {
				strangers.Add(l.a.Device, l.b.Device)
			}
			continue
		}
		c := &f.cables
		c.Cables++
		heard := func(e intent.Endpoint) bool { s := f.byName[e.Device]; return s != nil && s.Neighbors != nil }
		switch {
		case l.wrong:
			c.Contradicted++
		case l.seen:
			c.Confirmed++
		case heard(l.a) || heard(l.b):
			c.Unseen++
		default:
			c.Unchecked++
		}
	}
	for s, devices := range strangers.All() {
		f.unrecorded = append(f.unrecorded, Note{s, "LLDP sees " + shown(slices.Compact(natural.Sorted(devices))) + ", which the inventory does not have"})
	}
}

// planned reports whether no switch was read.
func (d *deriver) planned() bool {
	return !slices.ContainsFunc(d.switches, func(s *box) bool { return !s.Planned })
}

// usualClasses sets the classes of a new fabric, as package starter writes them; an inventory
// does not state any.
func (d *deriver) usualClasses() {
	d.usual = true
	d.lossless = qos.Priorities(3)
	d.classes = []class{
		{name: "default", priority: 0, rest: true},
		{name: "rdma", priority: 3, dscp: []int{26}},
		{name: "cnp", priority: 6, dscp: []int{48}},
	}
	d.assume("classes", "those that init writes, as no switch was read")
}

// usualWish returns the settings of the classes from usualClasses.
func (d *deriver) usualWish() wish {
	w := wish{dog: defaultDog, trust: qos.TrustDSCP, mtu: intent.DefaultMTUFabric}
	for i := range w.tune {
		w.tune[i].queue = i
	}
	w.tune[0].share = 40
	w.tune[3].lossless, w.tune[3].share = true, 60
	w.tune[6].strict = true
	w.curve[3] = curve{on: true, auto: true, prob: int(intent.DefaultECNProbability)}
	return w
}
