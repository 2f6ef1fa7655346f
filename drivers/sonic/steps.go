package sonic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// batch is the native part of a step: ops that go out as one request.
type batch struct {
	Ops []op `json:"ops"`
}

// maxRequest bounds the JSON of one request. The server's limit is gRPC's
// 4 MiB, paths and framing included.
const maxRequest = 3 << 20

// builder puts ops in the order in which the switch can take them: objects,
// then bindings in groups of ports, then the watchdog and what is to go.
type builder struct {
	site
	running native.Config
	// final are the ports whose admin state the ops change, with the new one.
	final map[string]string

	sshFirst, sshLast []op
	first, last       []op            // gNMI, no port concerned
	raise             []op            // ports that are down and come up
	shut              []string        // ports that go down for good
	bound             map[string][]op // port -> rows that take it down
	guard             map[string][]op // port -> watchdog rows
	flap              []string        // ports of bound, in order
}

// buildSteps puts ops into steps; overSSH holds the indexes of those that gNMI
// does not take.
func buildSteps(s site, running native.Config, ops []op, overSSH map[int]bool) []drivers.Step {
	b := builder{site: s, running: running, final: map[string]string{}, bound: map[string][]op{}, guard: map[string][]op{}}
	for _, o := range ops {
		if o.Table == native.TPort && o.Field == "admin_status" {
			b.final[o.Key] = o.Value
		}
	}
	for i, o := range ops {
		b.add(o, overSSH[i])
	}
	return b.steps()
}

// flaps reports whether the port is up before and after the ops. One that is
// shut for good needs no flap: the updater takes it down first.
func (b *builder) flaps(port string) bool {
	end, changes := b.final[port]
	return up(b.running, port) && (!changes || end == "up")
}

// ways returns the uplinks that are up while ports flap: one that is shut is no
// way out.
func (b *builder) ways() []string {
	return slices.DeleteFunc(slices.Clone(b.policy.Uplinks), func(port string) bool {
		end, changes := b.final[port]
		return changes && end != "up" || !changes && !up(b.running, port)
	})
}

// sayLastWay notes the only uplink that is up, of several, where it goes down.
func (s site) sayLastWay(running native.Config, items []drivers.Step) []string {
	if len(s.policy.Uplinks) < 2 {
		return nil
	}
	ways := slices.DeleteFunc(slices.Clone(s.policy.Uplinks), func(p string) bool { return !up(running, p) })
	for _, it := range items {
		left := slices.DeleteFunc(slices.Clone(ways), func(p string) bool { return slices.Contains(it.Down, p) })
		if len(ways) == 1 && len(left) == 0 {
			return []string{ways[0] + " is the only uplink that is up, and goes down for its change"}
		}
		for _, p := range it.Up {
			if slices.Contains(s.policy.Uplinks, p) && !slices.Contains(left, p) {
				left = append(left, p)
			}
		}
		ways = left
	}
	return nil
}

// up reports whether the port is administratively up.
func up(c native.Config, port string) bool { return c.Row(native.TPort, port)["admin_status"] == "up" }

func (b *builder) add(o op, overSSH bool) {
	watchdog := o.Table == native.TWatchdog
	switch port := o.portOf(); {
	case overSSH && watchdog != o.Del:
		// The watchdog guards what is bound; an object goes when nothing is
		// bound to it, or the switch's configuration would not be valid.
		b.sshLast = append(b.sshLast, o)
	case overSSH:
		b.sshFirst = append(b.sshFirst, o)
	case watchdog && o.Key != "GLOBAL":
		b.guard[o.Key] = append(b.guard[o.Key], o)
	case watchdog:
		b.last = append(b.last, o)
	case port != "" && b.flaps(port):
		if b.bound[port] == nil {
			b.flap = append(b.flap, port)
		}
		b.bound[port] = append(b.bound[port], o)
	case o.Table == native.TPort && o.Field == "admin_status" && o.Value == "up":
		b.raise = append(b.raise, o)
	case o.Table == native.TPort && o.Field == "admin_status":
		if up(b.running, o.Key) {
			b.shut = append(b.shut, o.Key)
		}
		b.first = append(b.first, o)
	case o.Del && o.Field == "" && referenced(o.Table):
		// Something may refer to it until the last group is through.
		b.last = append(b.last, o)
	default:
		b.first = append(b.first, o)
	}
}

// request is one step in the making.
type request struct {
	ops      []op
	down, up []string
	what     []string
}

func (r *request) add(what string, ops ...op) {
	if len(ops) > 0 {
		r.ops = append(r.ops, ops...)
		r.what = append(r.what, fmt.Sprintf(what, len(ops)))
	}
}

func (b *builder) steps() []drivers.Step {
	var ports []flapper
	slices.SortFunc(b.flap, natural.Compare)
	for _, name := range b.flap {
		n := len(b.bound[name])
		if slices.ContainsFunc(b.bound[name], func(o op) bool { return o.Bounce }) {
			n++ // the updater would not flap the port for that one
		}
		ports = append(ports, flapper{name, n})
	}
	var reqs []*request
	head, tail := &request{down: b.shut}, &request{}
	grouped := map[string]bool{}
	for _, g := range schedule(ports, b.policy.PortGroup, b.ways()) {
		list := natural.Fold(g.ports)
		if g.direct {
			r := &request{down: g.ports, up: g.ports, what: []string{"rebind " + list + ", each port down for its row"}}
			for _, p := range g.ports {
				r.ops = append(r.ops, b.bound[p]...)
			}
			reqs = append(reqs, r)
			continue
		}
		down := &request{down: g.ports, what: []string{"take down " + list}}
		rows := &request{}
		up := &request{up: g.ports, what: []string{"bring up " + list}}
		for _, p := range g.ports {
			grouped[p] = true
			down.ops = append(down.ops, admin(p, "down"))
			rows.ops = append(rows.ops, b.bound[p]...)
			up.ops = append(up.ops, admin(p, "up"))
			for _, o := range b.guard[p] {
				if o.Del {
					down.ops = append(down.ops, o)
				} else {
					up.ops = append(up.ops, o)
				}
			}
		}
		rows.what = []string{fmt.Sprintf("bind %d rows of %s", len(rows.ops), list)}
		reqs = append(reqs, down, rows, up)
	}
	// What refers to other rows comes after them, for the case that the
	// request has to be split.
	slices.SortStableFunc(b.first, func(x, y op) int { return refers(x) - refers(y) })
	head.add("write %d objects", b.first...)
	for _, p := range natural.Keys(b.guard) {
		if grouped[p] {
			continue
		}
		for _, o := range b.guard[p] {
			if o.Del {
				head.add("stop %d watchdog", o)
			} else {
				tail.add("start %d watchdog", o)
			}
		}
	}
	if len(b.raise) > 0 {
		for _, o := range b.raise {
			head.up = append(head.up, o.Key)
		}
		head.ops = append(head.ops, b.raise...)
		head.what = append(head.what, "bring up "+natural.Fold(head.up))
	}
	tail.add("finish %d rows", b.last...)
	reqs = join(head, reqs, tail)

	var out []drivers.Step
	out = append(out, step("ssh", &request{ops: b.sshFirst, what: []string{fmt.Sprintf("load %d rows that gNMI refuses", len(b.sshFirst))}})...)
	for _, r := range reqs {
		out = append(out, step("gnmi", r)...)
	}
	return append(out, step("ssh", &request{ops: b.sshLast, what: []string{fmt.Sprintf("load %d rows that gNMI refuses", len(b.sshLast))}})...)
}

func refers(o op) (n int) {
	refs(o.Table, o.Row, func(string, string) { n = 1 })
	return n
}

func admin(port, status string) op {
	return op{Table: native.TPort, Key: port, Field: "admin_status", Value: status}
}

// join lets what comes first and last ride in the first and the last request:
// a Set is sorted by the switch, so that order inside one does not matter, but
// for the removal and the return of one row, which would cancel out.
func join(head *request, reqs []*request, tail *request) []*request {
	switch {
	case len(head.ops) == 0:
	case len(reqs) == 0 || len(head.up) > 0:
		// Ports that come up do so before others go down: they may be uplinks.
		reqs = slices.Insert(reqs, 0, head)
	default:
		r := reqs[0]
		r.ops = slices.Concat(head.ops, r.ops)
		r.down = slices.Concat(head.down, r.down)
		r.what = slices.Concat(head.what, r.what)
	}
	if len(tail.ops) == 0 {
		return reqs
	}
	if len(reqs) == 0 {
		return []*request{tail}
	}
	r := reqs[len(reqs)-1]
	gone := map[string]bool{}
	for _, o := range r.ops {
		if o.Del {
			gone[o.Table+"|"+o.Key] = true
			// The updater makes a "move" of the removal of one row and the
			// addition of an equal one, and its rules for the watchdog list no
			// moves (python-jsonpatch, DiffBuilder).
			gone[o.Table] = o.Table == native.TWatchdog || gone[o.Table]
		}
	}
	if slices.ContainsFunc(tail.ops, func(o op) bool { return gone[o.Table+"|"+o.Key] || gone[o.Table] && !o.Del }) {
		return append(reqs, tail)
	}
	r.ops = append(r.ops, tail.ops...)
	r.what = append(r.what, tail.what...)
	return reqs
}

// step makes a Step of a request, or several where it would be too large.
func step(via string, r *request) []drivers.Step {
	if len(r.ops) == 0 {
		return nil
	}
	var parts [][]op
	size := maxRequest
	for _, o := range r.ops {
		n := len(o.String()) + 64
		if size+n > maxRequest {
			parts = append(parts, nil)
			size = 0
		}
		size += n
		parts[len(parts)-1] = append(parts[len(parts)-1], o)
	}
	var out []drivers.Step
	for i, ops := range parts {
		raw, err := json.Marshal(batch{ops})
		if err != nil {
			panic("a batch of strings does not encode: " + err.Error()) // cannot happen: the types hold only text
		}
		s := drivers.Step{Via: via, Native: raw, What: whats(r.what)}
		if len(parts) > 1 {
			s.What += fmt.Sprintf(" (part %d of %d)", i+1, len(parts))
		}
		if i == 0 {
			s.Down = r.down
		}
		if i == len(parts)-1 {
			s.Up = r.up
		}
		out = append(out, s)
	}
	return out
}

// whats joins what a request does, each thing once.
func whats(ws []string) string {
	var out string
	seen := map[string]int{}
	var order []string
	for _, w := range ws {
		if seen[w] == 0 {
			order = append(order, w)
		}
		seen[w]++
	}
	for i, w := range order {
		if i > 0 {
			out += "; "
		}
		out += w
		if seen[w] > 1 {
			out += fmt.Sprintf(" (x%d)", seen[w])
		}
	}
	return out
}
