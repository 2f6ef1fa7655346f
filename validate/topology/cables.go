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

// The bounds of a foreign topology.
const (
	// MaxBytes is the size of the largest file that ReadCables takes.
	MaxBytes = 16 << 20
	// maxCables is how many cables one file may hold.
	maxCables = clabfile.MaxLinks
	maxName   = 255 // bytes of a device or port name
)

// Cable is one link of a foreign topology.
type Cable struct {
	A, B End
	Line int // in the file, 0 where that is not known
	// Told says that A's device tells of the cable, by LLDP: B's may tell of
	// the same one, with other names for its ports.
	Told bool
	// Unnamed says that the file does not name A's device: it is taken to be
	// named for it.
	Unnamed bool
}

// End is one end of a cable.
type End struct {
	Device, Port string
	// Also is another name for the port, such as the port description of
	// LLDP; "" for none.
	Also string
}

// ReadCables reads the links of a topology file. It knows, by what the file
// holds:
//
//   - a containerlab topology, in the short and the long form of links
//     (containerlab.dev/manual/topo-def-file),
//   - the JSON of `lldpctl -f json`, whose device is the file's name without
//     its extension,
//   - {"devices": {"leaf1": LLDP, ...}}, each LLDP as from lldpctl,
//   - {"neighbors": [{"device": "leaf1", "port": "Ethernet0",
//     "peer": "spine1", "peerPort": "Ethernet4"}, ...]}.
//
// name is that of the file. Links of containerlab with one end, such as those
// to the bridge of its host, are left out.
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

// plausible reports whether a name can be that of a device or port.
func plausible(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// DifferenceKind says how a topology differs from the intent.
type DifferenceKind string

// The kinds of difference.
const (
	Absent  DifferenceKind = "absent"  // the intent has the link, the topology does not
	Unknown DifferenceKind = "unknown" // the topology has it, the intent does not
	Moved   DifferenceKind = "moved"   // the port is linked with another one than in the intent
)

// Difference is one link that is not the same in both.
type Difference struct {
	Kind DifferenceKind
	A, B intent.Endpoint // of the intent for Absent, else of the topology
	// Want is what the intent links A with, for Moved.
	Want intent.Endpoint
	Pos  intent.Pos // of the link in the intent
	Line int        // of the topology, 0 where not known
	// Count is of how many links the difference is one: topologies whose port
	// names are not those of the intent can only be counted.
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

// Compare compares a topology with the links of an intent. Devices that the
// intent does not know are left out unless they stand where the intent has
// another; links of the intent count as absent where the topology knows both
// of their devices, and what it holds is reported by one of them.
//
// Names of ports need not be the intent's: LLDP gives the peer's port by an
// alias or a free text. A cable with one end that the intent knows is held
// against the device at the other end of that port's link. Where both names are
// unknown, such as eth1 of a virtual switch, cables are compared by number for
// each two devices.
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

// Stranger returns the device that an LLDP dump which names none was taken to be
// of, where the intent has no such device; ok is false where there is no such
// dump.
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

// tally counts the cables of two devices whose ports are not known: those of a
// list, and those that either device tells of, which may be the same.
type tally struct {
	listed int
	told   [2]int
	line   int // of the first
}

func (t *tally) cables() int { return t.listed + max(t.told[0], t.told[1]) }

type comparison struct {
	f       *intent.Fabric
	out     []Difference
	seen    map[*intent.Link]bool
	devices map[string]bool // in the topology
	tell    map[string]bool // whose cables the topology would hold
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

// end names an end as the intent does; known says that the intent has the
// port.
func (c *comparison) end(e End) (out intent.Endpoint, known bool) {
	out = intent.Endpoint{Device: e.Device, Port: e.Port}
	if !c.f.Has(out.Device) {
		// LLDP tells system names, which may carry the domain.
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

// at returns the link of the intent at an end; known says that the intent has the
// port.
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

// cable compares one cable with the links of the ends that the intent knows.
func (c *comparison) cable(a, b intent.Endpoint, knownA, knownB bool, line int) {
	moved, linked := false, false
	for _, e := range []struct {
		here, there intent.Endpoint
		named       bool // the intent knows the port there
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

// absent finds the links of the intent that no cable stands for.
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

// deviceOf is the name of a file without folders and extension.
func deviceOf(name string) string {
	base := path.Base(strings.ReplaceAll(name, "\\", "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}
