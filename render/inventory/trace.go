package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// swap is the port at the other end of a cable.
type swap struct {
	far   *port
	cable *cable
}

// links finds the connected ports by following the cables, and for the remaining ports from the
// connections that the inventory itself found.
func (b *builder) links() {
	for _, c := range b.cables {
		if b.pair(c); c.dead != "" {
			b.unclear(c)
		}
	}
	for _, c := range b.cables {
		for _, side := range c.ports {
			for _, p := range side {
				if p != nil && p.kind == kindInterface {
					b.follow(p)
				}
			}
		}
	}
	// Ports that are parts of a port that a cable names.
	for _, p := range b.ports {
		if _, ok := b.swapped[p]; ok && p.kind == kindInterface {
			b.follow(p)
		}
	}
	for _, p := range b.ports {
		if p.kind != kindInterface || b.linked[p] || len(p.connected) != 1 {
			continue
		}
		if far := b.portOf(p.connected[0]); far != nil && far.kind == kindInterface && !b.linked[far] {
			b.join(p, far, 0, p.place.String())
		}
	}
}

// pair determines which ends of a cable belong together.
func (b *builder) pair(c *cable) {
	x, y := c.ports[0], c.ports[1]
	if !b.ends(c) {
		return
	}
	join := func(p, q *port) {
		for _, end := range [][2]*port{{p, q}, {q, p}} {
			if have, ok := b.swapped[end[0]]; ok && have.far != end[1] {
				b.leave(end[0].device.imported, end[0].name, fmt.Sprintf("two cables at one port: %s connects it to %s %s, %s to %s %s; the first is used",
					have.cable.place, have.far.device.name, have.far.name, c.place, end[1].device.name, end[1].name))
				return
			}
		}
		b.swapped[p], b.swapped[q] = swap{q, c}, swap{p, c}
	}
	switch {
	case len(x) == 1 && len(y) == 1:
		join(x[0], y[0])
	case len(x) == len(y):
		if strings.Contains(c.profile, "shuffle") {
			c.dead = "a shuffled cable: the files do not say which ports it connects"
			return
		}
		if c.profile == "" {
			x, y = inOrder(x), inOrder(y)
			b.assume(c.name(), fmt.Sprintf("its %s and %s are joined in the order of their names", words.Count(len(x), "port"), words.Count(len(y), "port")))
		}
		for i := range x {
			join(x[i], y[i])
		}
	case len(x) == 1 || len(y) == 1:
		if len(y) == 1 {
			x, y = y, x
		}
		parts := b.partsOf(x[0], len(y))
		if parts == nil || strings.Contains(c.profile, "shuffle") {
			c.dead = fmt.Sprintf("a breakout of %s into %d: the inventory has no %d interfaces for its parts", x[0].name, len(y), len(y))
			return
		}
		if c.profile == "" {
			y = inOrder(y)
			b.assume(c.name(), fmt.Sprintf("the parts of %s and the ports at the other end are joined in the order of their names", x[0].name))
		}
		for i := range parts {
			join(parts[i], y[i])
		}
	default:
		c.dead = fmt.Sprintf("it joins %d ports with %d", len(x), len(y))
	}
}

// unclear records the devices at the ends of a cable that is not followed.
func (b *builder) unclear(c *cable) {
	for _, p := range c.ports[0] {
		for _, q := range c.ports[1] {
			if p != nil && q != nil {
				b.out.Unclear[derive.Pair(p.device.imported, q.device.imported)] = true
			}
		}
	}
}

// ends reports whether a cable has known ports at both ends. If not, it records the reason in
// c.dead.
func (b *builder) ends(c *cable) bool {
	for i, side := range c.ports {
		refs := [][]ref{c.a, c.b}[i]
		if len(side) == 0 {
			c.dead = "it has no end"
			return false
		}
		for j, p := range side {
			if p != nil {
				continue
			}
			switch r := refs[j]; {
			case r.Kind == kindOther || r.Kind == kindCircuit || r.Kind == "":
				c.dead = "its other end is no interface of a device"
			case r.Device == nil:
				c.dead = fmt.Sprintf("its other end is %s %s, which no file has: export /api/dcim/%s/ as well", strings.TrimSuffix(r.Kind, "s"), cmp.Or(r.Name, r.ID), r.Kind)
			default:
				c.dead = "its other end is at " + cmp.Or(r.Device.title(), r.Device.ID) + ", which is not among the devices"
			}
			return false
		}
	}
	return true
}

// name returns the description of a cable in a note.
func (c *cable) name() string { return "the cable at " + c.place.String() }

func inOrder(ports []*port) []*port {
	out := slices.Clone(ports)
	ordered.Sort(out, func(p, q *port) int {
		return cmp.Or(natural.Compare(p.device.name, q.device.name), natural.Compare(p.name, q.name))
	})
	return out
}

// partsOf returns the n interfaces that a port is split into: those that have it as parent, or
// those whose names start with its own.
func (b *builder) partsOf(p *port, n int) []*port {
	if p.kind != kindInterface {
		return nil
	}
	if kids := b.children[p.id]; p.id != "" && len(kids) == n {
		return inOrder(kids)
	}
	var parts []*port
	for i := range n + 1 {
		if q := b.portByName[portName{p.device, kindInterface + p.name + "/" + itoa(i)}]; q != nil {
			parts = append(parts, q)
		}
	}
	if len(parts) == n {
		return parts
	}
	return nil
}

// follow traces an interface through patch panels to the interface at the other end.
func (b *builder) follow(from *port) {
	if b.linked[from] {
		return
	}
	if !b.isImported(from.device) {
		return
	}
	var stack []int // positions at the rear ports on the way
	var length units.Length
	known, source, cables := true, "", 0
	stop := func(why string) {
		if from.device.switchOS != "" && !from.mgmt {
			b.leave(from.device.imported, from.name, why)
			b.out.Unclear[from.device.imported+"/"+from.name] = true
		}
	}
	seen := map[*cable]bool{}
	for at := from; ; {
		s, ok := b.swapped[at]
		if !ok {
			for _, c := range b.cabled[at] {
				if c.dead != "" {
					stop(c.name() + ": " + c.dead)
					return
				}
			}
			if at == from {
				return
			}
			if far := b.traced(from); far != nil {
				b.join(from, far, 0, source)
				return
			}
			stop(fmt.Sprintf("%s leads to %s %s, where no further cable of the files is connected", source, at.device.name, at.name))
			return
		}
		if cables++; cables > maxHops || seen[s.cable] {
			stop(fmt.Sprintf("%s: the path is a loop, or has more than %d cables", source, maxHops))
			return
		}
		seen[s.cable] = true
		if source == "" {
			source = s.cable.place.String()
		}
		length += s.cable.length
		known = known && s.cable.length > 0
		at = s.far
		if at.kind == kindInterface {
			if !known {
				if length > 0 && cables > 1 {
					b.assume(from.device.imported+" "+from.name, "the length of its path is not known: a cable between patch panels states none")
				}
				length = 0
			}
			if cables > 1 {
				source += fmt.Sprintf(" and %s behind it", words.Count(cables-1, "cable"))
			}
			b.join(from, at, length, source)
			return
		}
		next, why := b.through(at, &stack)
		if next == nil {
			if far := b.traced(from); far != nil {
				b.join(from, far, 0, source)
				return
			}
			stop(fmt.Sprintf("%s ends at the patch panel %s, %s: %s", source, at.device.name, at.name, why))
			return
		}
		at = next
	}
}

// through returns the port on the other side of a patch panel.
func (b *builder) through(at *port, stack *[]int) (next *port, why string) {
	if at.kind == kindFront {
		if at.rear == "" {
			return nil, "export /api/dcim/front-ports/ and rear-ports/ as well"
		}
		if at.mapped > 1 {
			return nil, "a front port with several positions is not followed"
		}
		rear := b.portByID[kindRear+at.rear]
		if rear == nil {
			rear = b.portByName[portName{at.device, kindRear + at.rear}]
		}
		if rear == nil {
			return nil, "export /api/dcim/rear-ports/ as well"
		}
		*stack = append(*stack, at.position)
		return rear, ""
	}
	n := 1
	if l := len(*stack); l > 0 {
		n, *stack = (*stack)[l-1], (*stack)[:l-1]
	}
	front := b.fronts[rearPosition{at.id, n}]
	if front == nil || at.id == "" {
		front = b.fronts[rearPosition{at.name, n}]
		if front != nil && front.device != at.device {
			front = nil
		}
	}
	if front == nil {
		return nil, "export /api/dcim/front-ports/ as well"
	}
	return front, ""
}

// traced returns the far end that the inventory itself found.
func (b *builder) traced(from *port) *port {
	if len(from.connected) != 1 {
		return nil
	}
	if far := b.portOf(from.connected[0]); far != nil && far.kind == kindInterface {
		return far
	}
	return nil
}

// isImported reports whether a device is imported.
func (b *builder) isImported(d *device) bool {
	return d != nil && d.name != "" && (d.switchOS != "" || d.host)
}

// join records a link between two interfaces.
func (b *builder) join(p, q *port, length units.Length, source string) {
	if b.linked[p] || b.linked[q] || p == q {
		return
	}
	b.linked[p], b.linked[q] = true, true
	switch {
	case p.mgmt || q.mgmt || p.virtual || q.virtual || p.device == nil || q.device == nil || p.device == q.device:
		return
	case p.device.switchOS == "" && q.device.switchOS == "":
		return
	case !b.isImported(p.device) || !b.isImported(q.device):
		if p.device.switchOS == "" {
			p, q = q, p
		}
		if q.device.why != "" {
			b.leave(p.device.imported, p.name, "joined to a device that is not imported")
		}
		return
	}
	if p.device.switchOS == "" {
		p, q = q, p
	}
	c := derive.Cable{A: b.end(p), B: b.end(q), Source: source}
	if length <= maxLength {
		c.Length = length
	} else {
		b.leave(p.device.imported, p.name, fmt.Sprintf("%s: a cable of %s is longer than an intent can have", source, length))
	}
	c.Stated = lower(p.speed, q.speed)
	c.Likely = cmp.Or(c.Stated, lower(p.usual, q.usual))
	if p.speed == 0 || q.speed == 0 {
		c.Likely = lower(c.Likely, lower(p.usual, q.usual))
	}
	b.out.Cables = append(b.out.Cables, c)
}

// maxLength is the longest cable allowed in an intent, in meters.
const maxLength units.Length = 100_000

// lower returns the lower of two speeds, ignoring unknown ones (0).
func lower(a, b units.Rate) units.Rate {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// end returns an end of a link, and records that its port is in use.
func (b *builder) end(p *port) derive.End {
	name := p.name
	if p.device.switchOS != "" {
		name = b.mapping.port(p.device, name)
	}
	if b.used[p.device] == nil {
		b.used[p.device] = map[string]*port{}
	}
	b.used[p.device][name] = p
	e := derive.End{Device: p.device.imported, Port: name}
	if p.device.switchOS != "" {
		e.Also = aliasOf(intent.SystemOf(p.device.switchOS), name)
	}
	return e
}
