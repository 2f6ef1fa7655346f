package topology

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/clabfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Limits for foreign topologies.
const (
	// MaxBytes is the size of the largest file that ReadCables accepts.
	MaxBytes = 16 << 20
	// maxCables is the most cables that one file may hold.
	maxCables = clabfile.MaxLinks
	maxName   = 255 // bytes of a device or port name
)

// Cable is one link of a foreign topology.
type Cable struct {
	A, B End
	Line int // in the file, 0 if not known
	// Told is set if A's device reported the cable, as in LLDP: B's device may report the same
	// cable with other port names.
	Told bool
	// Unnamed is set if the file does not name A's device; the file's name is taken instead.
	Unnamed bool
}

// End is one end of a cable.
type End struct {
	Device, Port string
	// Also is another name for the port, such as LLDP's port description; "" for none.
	Also string
}

// ReadCables reads the links of a topology file. It recognises the format by content:
//
//   - a containerlab topology, in the short and the long form of links
//     (containerlab.dev/manual/topo-def-file),
//   - the JSON of `lldpctl -f json`, whose device is the file's name without
//     its extension,
//   - {"devices": {"leaf1": LLDP, ...}}, each LLDP as from lldpctl,
//   - {"neighbors": [{"device": "leaf1", "port": "Ethernet0",
//     "peer": "spine1", "peerPort": "Ethernet4"}, ...]}.
//
// name is the file's name. Links of containerlab with only one end, such as links to the bridge
// of its host, are ignored.
func ReadCables(name string, data []byte) ([]Cable, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, MaxBytes>>20)
	}
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && t[0] == '{' {
		return readLLDP(name, data)
	}
	return readClab(name, data)
}

var errMany = fmt.Errorf("more than %d cables", maxCables)

func readClab(name string, data []byte) ([]Cable, error) {
	t, err := clabfile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	var out []Cable
	for _, l := range t.Links {
		out = append(out, Cable{A: End{Device: l.A.Node, Port: l.A.Interface}, B: End{Device: l.B.Node, Port: l.B.Interface}, Line: l.Line})
	}
	return out, nil
}

// plausible reports whether a name can belong to a device or port.
func plausible(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// DifferenceKind says how a topology differs from the intent.
type DifferenceKind string

// The kinds of difference.
const (
	Absent  DifferenceKind = "absent"  // the intent has the link, the topology does not
	Unknown DifferenceKind = "unknown" // the topology has the link, the intent does not
	Moved   DifferenceKind = "moved"   // the port is linked to another port than in the intent
)

// Difference is one link that differs between the topology and the intent.
type Difference struct {
	Kind DifferenceKind
	A, B intent.Endpoint // from the intent for Absent, otherwise from the topology
	// Want is the end that the intent links A to, for Moved.
	Want intent.Endpoint
	Pos  intent.Pos // of the link in the intent
	Line int        // in the topology, 0 if not known
	// Count is the number of links that the difference stands for. It is set if port names
	// cannot be matched with the intent's, so that links can only be counted.
	Count int
}

// String states the difference as a fact.
func (d Difference) String() string {
	switch {
	case d.Kind == Moved:
		return fmt.Sprintf("%s is linked to %s, in the intent to %s", d.A, d.B, d.Want)
	case d.Count > 0 && d.Kind == Absent:
		return fmt.Sprintf("%d of the links between %s and %s %s not in the topology", d.Count, d.A.Device, d.B.Device, are(d.Count))
	case d.Count > 0:
		return fmt.Sprintf("%s between %s and %s %s not in the intent", words.Count(d.Count, "link"), d.A.Device, d.B.Device, are(d.Count))
	case d.Kind == Absent:
		return fmt.Sprintf("the link %s - %s is not in the topology", d.A, d.B)
	}
	return fmt.Sprintf("the link %s - %s is not in the intent", d.A, d.B)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Compare compares a topology with the links of an intent. It ignores devices that the intent
// does not know, unless they take the place of another device. A link of the intent is absent
// only if the topology has both its devices, and would have the cables of at least one of them.
//
// Port names need not match the intent's: LLDP gives the peer's port as an alias or free text.
// If the intent knows only one end of a cable, the other end is compared by its device alone.
// If it knows neither port, as with eth1 of a virtual switch, the cables between two devices
// are only counted.
func Compare(f *intent.Fabric, cables []Cable) []Difference {
	c := &comparison{f: f, seen: map[*intent.Link]bool{}, devices: map[string]bool{}, tell: map[string]bool{}, counted: map[devicePair]*tally{}}
	done := map[[2]intent.Endpoint]bool{}
	for _, cable := range cables {
		a, knownA := c.end(cable.A)
		b, knownB := c.end(cable.B)
		c.devices[a.Device], c.devices[b.Device] = true, true
		c.tell[a.Device] = true
		if !cable.Told {
			c.tell[b.Device] = true
		}
		reversed := b.Device < a.Device || a.Device == b.Device && b.Port < a.Port
		if reversed {
			a, b, knownA, knownB = b, a, knownB, knownA
		}
		if done[[2]intent.Endpoint{a, b}] { // LLDP sees a cable from both ends
			continue
		}
		done[[2]intent.Endpoint{a, b}] = true
		if !knownA && !knownB && c.f.Has(a.Device) && c.f.Has(b.Device) {
			c.count(devicePair{a.Device, b.Device}, cable, reversed)
			continue
		}
		c.cable(a, b, knownA, knownB, cable.Line)
	}
	c.absent()
	return c.out
}

// Stranger returns the device of an LLDP dump that does not name its device, as taken from the
// file's name, if the intent has no such device; ok is false otherwise.
func Stranger(f *intent.Fabric, cables []Cable) (device string, ok bool) {
	c := &comparison{f: f}
	for _, cable := range cables {
		if a, _ := c.end(cable.A); cable.Unnamed && !c.f.Has(a.Device) {
			return cable.A.Device, true
		}
	}
	return "", false
}

type devicePair struct{ a, b string }

// tally counts the cables between two devices whose ports are not known: the listed ones, and
// those that either device reports, which may be the same cables.
type tally struct {
	listed int
	told   [2]int
	line   int // of the first cable
}

func (t *tally) cables() int { return t.listed + max(t.told[0], t.told[1]) }

type comparison struct {
	f       *intent.Fabric
	out     []Difference
	seen    map[*intent.Link]bool
	devices map[string]bool // in the topology
	tell    map[string]bool // devices whose cables the topology would have
	counted map[devicePair]*tally
}

func (c *comparison) count(k devicePair, cable Cable, reversed bool) {
	t := c.counted[k]
	if t == nil {
		t = &tally{line: cable.Line}
		c.counted[k] = t
	}
	switch {
	case !cable.Told:
		t.listed++
	case reversed:
		t.told[1]++
	default:
		t.told[0]++
	}
}

// end converts an end to the intent's names; known is set if the intent has the port.
func (c *comparison) end(e End) (out intent.Endpoint, known bool) {
	out = intent.Endpoint{Device: e.Device, Port: e.Port}
	if !c.f.Has(out.Device) {
		// LLDP reports system names, which may include the domain.
		if short, _, ok := strings.Cut(e.Device, "."); ok && c.f.Has(short) {
			out.Device = short
		}
	}
	for _, p := range []string{e.Port, e.Also} {
		if _, known := c.at(intent.Endpoint{Device: out.Device, Port: p}); known {
			out.Port = p
			return out, true
		}
	}
	return out, false
}

// at returns the link of the intent at an end; known is set if the intent has the port.
func (c *comparison) at(e intent.Endpoint) (l *intent.Link, known bool) {
	if s := c.f.Switch(e.Device); s != nil {
		if p := s.Port(e.Port); p != nil {
			return p.Link, true
		}
	} else if h := c.f.Host(e.Device); h != nil {
		if n := h.NIC(e.Port); n != nil {
			return n.Link, true
		}
	}
	return nil, false
}

// cable compares one cable with the intent's links at its ends.
func (c *comparison) cable(a, b intent.Endpoint, knownA, knownB bool, line int) {
	moved, linked := false, false
	for _, e := range []struct {
		here, there intent.Endpoint
		named       bool // the intent knows the port at the other end
	}{{a, b, knownB}, {b, a, knownA}} {
		l, _ := c.at(e.here)
		if l == nil {
			continue
		}
		c.seen[l] = true
		want := l.A
		if want == e.here {
			want = l.B
		}
		if want == e.there || want.Device == e.there.Device && !e.named {
			linked = true
			continue
		}
		c.out = append(c.out, Difference{Kind: Moved, A: e.here, B: e.there, Want: want, Pos: l.Pos, Line: line})
		moved = true
	}
	if !moved && !linked && c.f.Has(a.Device) && c.f.Has(b.Device) {
		c.out = append(c.out, Difference{Kind: Unknown, A: a, B: b, Line: line})
	}
}

// absent finds links of the intent that have no cable.
func (c *comparison) absent() {
	var left ordered.Groups[devicePair, *intent.Link]
	for _, l := range c.f.Links {
		if c.seen[l] || !c.devices[l.A.Device] || !c.devices[l.B.Device] || !c.tell[l.A.Device] && !c.tell[l.B.Device] {
			continue
		}
		k := devicePair{min(l.A.Device, l.B.Device), max(l.A.Device, l.B.Device)}
		if c.counted[k] == nil {
			c.out = append(c.out, Difference{Kind: Absent, A: l.A, B: l.B, Pos: l.Pos})
			continue
		}
		left.Add(k, l)
	}
	for k, links := range left.All() {
		if n := len(links) - c.counted[k].cables(); n > 0 {
			l := links[0]
			c.out = append(c.out, Difference{Kind: Absent, A: l.A, B: l.B, Pos: l.Pos, Count: n})
		}
	}
	for _, k := range ordered.Sorted(maps.Keys(c.counted), func(x, y devicePair) int {
		return cmp.Or(natural.Compare(x.a, y.a), natural.Compare(x.b, y.b))
	}) {
		if n := c.counted[k].cables() - len(*left.At(k)); n > 0 {
			c.out = append(c.out, Difference{Kind: Unknown, A: intent.Endpoint{Device: k.a}, B: intent.Endpoint{Device: k.b}, Line: c.counted[k].line, Count: n})
		}
	}
}

// deviceOf returns the name of a file without folders and extension.
func deviceOf(name string) string {
	base := path.Base(strings.ReplaceAll(name, "\\", "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}
