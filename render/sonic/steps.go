package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Step is one request: ops that are sent together.
type Step struct {
	Via  string // "gnmi", "ssh"
	What string // for people
	// Down are the ports that the step takes down, Up the ports that it brings up.
	Down, Up []string
	Ops      []Op
	// Impact is the largest impact of its ops.
	Impact qos.Impact
}

// maxRequest limits the JSON of one request, in bytes. The server's limit is gRPC's 4 MiB,
// including paths and framing.
const maxRequest = 3 << 20

// maxLoad limits the number of rows in one load, so that a bad row takes few others with it.
const maxLoad = 1024

// builder orders ops so that the switch accepts them: objects first, then bindings in groups of
// ports, then watchdogs and removals.
type builder struct {
	Site
	running Config
	// final holds the new admin state of each port whose state the ops change.
	final map[string]string
	// repaused holds the ports whose PFC changes. waiting is the subset whose new cable length is
	// written after the PFC change.
	repaused, waiting map[string]bool

	// rows holds the rows of queues and groups, by table and port.
	rows map[string]map[string]Table

	sshFirst, sshLast []Op
	early             []Op            // cable lengths that buffermgrd does not act on before PFC changes
	shut              []Op            // ports that are up and stay down afterwards
	freed             []Op            // removals of rows whose index another row takes over, on ports that do not flap
	first, last       []Op            // over gNMI, for no particular port
	looked            []Op            // ops that wait until PFC has changed on every port: see waits
	raise             []Op            // ports that are down and come up
	unbound           map[string][]Op // port -> removals of rows whose index another row takes over, if the port flaps
	bound             map[string][]Op // port -> rows that take the port down
	guard             map[string][]Op // port -> watchdog rows
	later             map[string][]Op // port -> ops that wait until its PFC has changed
	flap              []string        // ports of bound and unbound, in order
}

// steps arranges ops into steps.
func (s Site) steps(running Config, ops []Op) []Step {
	b := builder{Site: s, running: running, final: map[string]string{}, unbound: map[string][]Op{}, bound: map[string][]Op{}, guard: map[string][]Op{}, later: map[string][]Op{}, repaused: map[string]bool{}}
	for _, o := range ops {
		if o.Table == TPort && o.Field == "admin_status" {
			b.final[o.Key] = o.Value
		}
		if o.changesPFC(running) {
			b.repaused[o.Key] = true
		}
	}
	gone, ops := splitFirst(slices.Concat(ops, b.rewriteOverlapping(ops), b.supersededGroups(ops)))
	b.waiting = b.portsWithLateCable(ops)
	for _, o := range gone {
		if port := o.PortOf(); !b.Direct && b.flaps(port) {
			b.unbound[port] = append(b.unbound[port], o)
		} else {
			b.freed = append(b.freed, o)
		}
	}
	for _, o := range ops {
		b.add(o)
	}
	for port := range b.unbound {
		if b.bound[port] == nil {
			b.flap = append(b.flap, port)
		}
	}
	return b.build()
}

// covered returns the port and the indexes of a key of queues or groups.
func covered(key string) (port string, indexes []int) {
	port, index, _ := strings.Cut(key, "|")
	from, to, ok := Indexes(index)
	for i := from; ok && i <= to; i++ {
		indexes = append(indexes, i)
	}
	return port, indexes
}

func overlaps(a, b string) bool {
	p, x := covered(a)
	q, y := covered(b)
	return p == q && slices.ContainsFunc(x, func(i int) bool { return slices.Contains(y, i) })
}

// rewriteOverlapping returns ops that remove and write again each row that stays but shares an
// index with a removed row. The removal unbinds that index, and orchagent ignores a write that
// changes nothing (see Habits, Unbinds). Rows of buffermgrd are only removed if buffermgrd makes
// them again.
func (b *builder) rewriteOverlapping(ops []Op) (out []Op) {
	anew, gone := map[string]bool{}, []Op{}
	written, again := map[string]bool{}, map[string]bool{} // again: rows that an op writes without changing them
	for _, o := range ops {
		port := o.PortOf()
		if o.changesPFC(b.running) || port != "" && !b.Direct && b.flaps(port) {
			anew[port] = true
		}
		at := o.Table + "|" + o.Key
		again[at] = !o.Del && maps.Equal(o.Row, b.running.Row(o.Table, o.Key))
		written[at] = written[at] || !again[at]
		if o.Del && slices.Contains(ranged, o.Table) {
			gone = append(gone, o)
		}
	}
	for n := 0; n < len(gone); n++ { // gone grows with each row that is removed along with another
		o := gone[n]
		for _, key := range natural.Keys(b.ofPort(o.Table, o.PortOf())) {
			if written[o.Table+"|"+key] || !overlaps(key, o.Key) {
				continue
			}
			written[o.Table+"|"+key] = true
			row := b.running.Row(o.Table, key)
			del := Op{Table: o.Table, Key: key, Del: true}
			gone, out = append(gone, del), append(out, del)
			if !again[o.Table+"|"+key] && (!Derived(row["profile"]) || !anew[o.PortOf()]) {
				out = append(out, Op{Table: o.Table, Key: key, Row: row})
			}
		}
	}
	return out
}

// ofPort returns the rows of queues or groups of a port.
func (b *builder) ofPort(table, port string) Table {
	if b.rows == nil {
		b.rows = map[string]map[string]Table{}
	}
	if b.rows[table] == nil {
		b.rows[table] = map[string]Table{}
		for key, row := range b.running[table] {
			p, _, _ := strings.Cut(key, "|")
			if b.rows[table][p] == nil {
				b.rows[table][p] = Table{}
			}
			b.rows[table][p][key] = row
		}
	}
	return b.rows[table][port]
}

// supersededGroups returns the removal of the groups that buffermgrd supersedes with others when
// the PFC of a port changes, but does not delete. Removing them is safe only while the port is
// down.
func (b *builder) supersededGroups(ops []Op) (out []Op) {
	written := map[string]bool{}
	for _, o := range ops {
		written[o.Table+"|"+o.Key] = true
	}
	for _, o := range ops {
		if b.Direct || o.Del || o.Clears || !o.changesPFC(b.running) || !b.flaps(o.Key) {
			continue
		}
		made := pausing(o.Row["pfc_enable"])
		rows := b.ofPort(TGroup, o.Key)
		for _, key := range natural.Keys(rows) {
			_, index, _ := strings.Cut(key, "|")
			over := func(indexes string) bool { return overlaps(key, o.Key+"|"+indexes) }
			if Derived(rows[key]["profile"]) && !written[TGroup+"|"+key] && !slices.Contains(made, index) && slices.ContainsFunc(made, over) {
				out = append(out, Op{Table: TGroup, Key: key, Del: true})
			}
		}
	}
	return out
}

// splitFirst splits off the ops that come first: those that clear a value which the daemons
// would keep, and removals of rows that share an index with a row that is written. When a row is
// removed, orchagent unbinds its queues or groups, and it handles simultaneous writes in the
// order of the keys (sonic-swss orchagent/qosorch.cpp, orch.cpp).
func splitFirst(ops []Op) (first, rest []Op) {
	type spot struct {
		table, port string
		index       int
	}
	spots := func(o Op) (out []spot) {
		if !slices.Contains(ranged, o.Table) {
			return nil
		}
		port, indexes := covered(o.Key)
		for _, i := range indexes {
			out = append(out, spot{o.Table, port, i})
		}
		return out
	}
	written := map[spot]bool{}
	for _, o := range ops {
		if o.Del {
			continue
		}
		for _, s := range spots(o) {
			written[s] = true
		}
		if o.Table == TPortQoS {
			// buffermgrd writes these groups as soon as it sees the row.
			for _, indexes := range pausing(o.Row["pfc_enable"]) {
				for _, s := range spots(Op{Table: TGroup, Key: o.Key + "|" + indexes}) {
					written[s] = true
				}
			}
		}
	}
	for _, o := range ops {
		if o.Clears && !o.overSSH || o.Del && !o.overSSH && slices.ContainsFunc(spots(o), func(s spot) bool { return written[s] }) {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	return first, rest
}

// portsWithLateCable returns the ports whose new cable length must be written after their PFC
// has changed: buffermgrd makes groups for the paused priorities as soon as it sees a new
// length, and leaves them when a priority is removed (sonic-swss cfgmgr/buffermgr.cpp). Older
// releases do so only if there are no groups yet, and act on the new length only when the port
// comes up. On every release, any write to the row of a port has the same effect.
func (b *builder) portsWithLateCable(ops []Op) map[string]bool {
	if b.Release.CableRederives || b.Release.CableMayRederive {
		return b.repaused
	}
	out := map[string]bool{}
	less := map[string][]string{} // port -> "port|priority" of priorities that stop pausing
	for _, o := range ops {
		if !o.changesPFC(b.running) {
			continue
		}
		stays := strings.Split(o.Row["pfc_enable"], ",")
		for _, prio := range strings.Split(b.running.Row(TPortQoS, o.Key)["pfc_enable"], ",") {
			if prio != "" && !slices.Contains(stays, prio) {
				less[o.Key] = append(less[o.Key], o.Key+"|"+prio)
			}
		}
	}
	if len(less) == 0 {
		return out
	}
	made := map[string]bool{}
	for key, row := range b.running[TGroup] {
		port, idx, _ := strings.Cut(key, "|")
		from, to, ok := Indexes(idx)
		for i := from; ok && i <= to && Derived(row["profile"]); i++ {
			made[port+"|"+strconv.Itoa(i)] = true
		}
	}
	for port, groups := range less {
		out[port] = slices.ContainsFunc(groups, func(g string) bool { return !made[g] })
	}
	return out
}

// flaps reports whether the port is up before and after the ops. A port that stays down needs no
// flap: the updater takes it down first.
func (b *builder) flaps(port string) bool {
	end, changes := b.final[port]
	return b.running.Up(port) && (!changes || end == "up")
}

// shuts reports whether the port of an op goes down for the op.
func (s Site) shuts(o Op) bool { return o.Bounce || !s.Direct }

// ways returns the uplinks that are up while ports flap; an uplink that is down carries nothing.
func (b *builder) ways() []string {
	return slices.DeleteFunc(slices.Clone(b.Policy.Uplinks), func(port string) bool {
		end, changes := b.final[port]
		return changes && end != "up" || !changes && !b.running.Up(port)
	})
}

// noteLastUplink notes that the only uplink that is up goes down for its change.
func (s Site) noteLastUplink(running Config, items []Step) []string {
	if len(s.Policy.Uplinks) < 2 {
		return nil
	}
	ways := slices.DeleteFunc(slices.Clone(s.Policy.Uplinks), func(p string) bool { return !running.Up(p) })
	for _, it := range items {
		left := slices.DeleteFunc(slices.Clone(ways), func(p string) bool { return slices.Contains(it.Down, p) })
		if len(ways) == 1 && len(left) == 0 {
			return []string{ways[0] + " is the only uplink that is up, and goes down for its change"}
		}
		for _, p := range it.Up {
			if slices.Contains(s.Policy.Uplinks, p) && !slices.Contains(left, p) {
				left = append(left, p)
			}
		}
		ways = left
	}
	return nil
}

func (b *builder) add(o Op) {
	watchdog := o.Table == TWatchdog
	switch port := o.PortOf(); {
	case o.overSSH && watchdog != o.Del:
		// Watchdogs guard bound rows, so they start last. An object can only be removed once
		// nothing is bound to it, or the switch's configuration would be invalid.
		b.sshLast = append(b.sshLast, o)
	case o.overSSH:
		b.sshFirst = append(b.sshFirst, o)
	case watchdog && o.Key != "GLOBAL":
		b.guard[o.Key] = append(b.guard[o.Key], o)
	case watchdog:
		b.last = append(b.last, o)
	case port != "" && b.shuts(o) && b.flaps(port):
		if b.bound[port] == nil {
			b.flap = append(b.flap, port)
		}
		b.bound[port] = append(b.bound[port], o)
	case o.Table == TCable && b.Direct && !b.Release.CableRederives:
		b.early = append(b.early, o)
	case o.Table == TCable && b.waiting[o.Field]:
		b.later[o.Field] = append(b.later[o.Field], o)
	case o.Table == TCable && slices.ContainsFunc(natural.Keys(o.Row), func(port string) bool { return b.waiting[port] }):
		b.looked = append(b.looked, o)
	case o.Table == TPort && o.Field != "admin_status" && b.repaused[o.Key]:
		b.later[o.Key] = append(b.later[o.Key], o)
	case o.Table == TPort && o.Field == "admin_status" && o.Value == "up":
		b.raise = append(b.raise, o)
	case o.Table == TPort && o.Field == "admin_status" && b.running.Up(o.Key):
		b.shut = append(b.shut, o)
	case o.Del && o.Field == "" && referenced(o.Table):
		// Other rows may refer to it until the last group is done.
		b.last = append(b.last, o)
	default:
		b.first = append(b.first, o)
	}
}

// request is a step under construction.
type request struct {
	ops      []Op
	down, up []string
	what     []doing
}

// doing describes a part of a request: "write 3 objects", or the verb alone.
type doing struct {
	verb, noun string
	n          int
}

func (d doing) String() string {
	if d.noun == "" {
		return d.verb
	}
	return d.verb + " " + words.Count(d.n, d.noun)
}

func (r *request) add(verb, noun string, ops ...Op) {
	if len(ops) > 0 {
		r.ops = append(r.ops, ops...)
		r.what = append(r.what, doing{verb, noun, len(ops)})
	}
}

func (b *builder) build() []Step {
	head, tail, shut := &request{}, &request{}, &request{}
	reqs, grouped := b.flapping()
	if !b.Direct && slices.ContainsFunc(b.freed, func(o Op) bool { return b.running.Up(o.PortOf()) }) {
		// The updater would flap these ports for the rows, so take them down first.
		shut = newRequest("take down", "port", b.shut)
		shut.down = portsOf(b.shut)
	} else {
		b.first = slices.Concat(b.shut, b.first)
		head.down = portsOf(b.shut)
	}
	// Rows come after the rows that they refer to, in case the request is split.
	ordered.Sort(b.first, func(x, y Op) int { return refers(x) - refers(y) })
	head.add("write", "object", b.first...)
	for _, p := range natural.Keys(b.guard) {
		if grouped[p] {
			continue
		}
		for _, o := range b.guard[p] {
			if o.Del {
				head.add("stop", "watchdog", o)
			} else {
				tail.add("start", "watchdog", o)
			}
		}
	}
	var before []Op // waiting ops of ports that come up afterwards
	for _, p := range natural.Keys(b.later) {
		switch {
		case grouped[p]:
		case !b.Release.CableRederives && b.final[p] == "up" && !b.running.Up(p):
			before = append(before, b.later[p]...)
		default:
			b.looked = append(b.looked, b.later[p]...)
		}
	}
	if len(b.raise) > 0 {
		raise := head // the updater brings ports up after writing their rows
		if b.Direct || len(before) > 0 {
			raise = &request{}
			reqs = slices.Insert(reqs, 0, lateRequest(before), raise)
		}
		raise.up = portsOf(b.raise)
		raise.ops = append(raise.ops, b.raise...)
		raise.what = append(raise.what, doing{verb: "bring up " + natural.Fold(raise.up)})
	}
	tail.add("finish with", "row", b.last...)
	reqs = join(head, reqs, tail)
	reqs = append(reqs, lateRequest(b.looked))

	via := "gnmi"
	if b.Direct {
		via = "ssh"
	}
	clears, unbinds := partition(b.freed, func(o Op) bool { return o.Clears })
	free := newRequest("unbind", "row", unbinds)
	free.add("clear", "value", clears...)
	// A new cable length may create the groups that the next request removes.
	reqs = slices.Insert(reqs, 0, shut, newRequest("set", "cable length", b.early), free)
	out := step("ssh", newRequest("load past gNMI", "row", b.sshFirst))
	for _, r := range reqs {
		out = append(out, step(via, r)...)
	}
	return append(out, step("ssh", newRequest("load past gNMI", "row", b.sshLast))...)
}

// partition splits ops into those for which is returns true, and the others.
func partition(ops []Op, is func(Op) bool) (yes, no []Op) {
	for _, o := range ops {
		if is(o) {
			yes = append(yes, o)
		} else {
			no = append(no, o)
		}
	}
	return yes, no
}

func portsOf(ops []Op) (ports []string) {
	for _, o := range ops {
		ports = append(ports, o.Key)
	}
	return ports
}

// newRequest returns a request that does one thing.
func newRequest(verb, noun string, ops []Op) *request {
	r := &request{}
	r.add(verb, noun, ops...)
	return r
}

// lateRequest returns the request for the ops that waited until PFC had changed.
func lateRequest(ops []Op) *request {
	lengths, fields := partition(ops, func(o Op) bool { return o.Table == TCable })
	r := newRequest("set", "cable length", lengths)
	r.add("set", "port setting", fields...)
	return r
}

// flapping returns the requests that take ports down, bind their rows and bring them up again,
// group by group. It also returns the ports that stay down between requests, whose watchdogs stop
// and start within these requests.
func (b *builder) flapping() (reqs []*request, grouped map[string]bool) {
	var ports []flapper
	ordered.Sort(b.flap, natural.Compare)
	for _, name := range b.flap {
		n := len(b.bound[name]) + len(b.unbound[name])
		if slices.ContainsFunc(b.bound[name], func(o Op) bool { return o.Bounce }) {
			n++ // the updater would not flap the port for this op
		}
		if !b.Release.CableRederives && len(b.later[name]) > 0 {
			n++ // it is written before the port comes up
		}
		ports = append(ports, flapper{name, n})
	}
	grouped = map[string]bool{}
	for _, g := range schedule(ports, b.Policy.PortGroup, b.ways()) {
		list := natural.Fold(g.ports)
		if g.direct {
			r := &request{down: g.ports, up: g.ports, what: []doing{{verb: "rebind " + list + ", each port down for its row"}}}
			for _, p := range g.ports {
				r.ops = append(r.ops, b.bound[p]...)
			}
			reqs = append(reqs, r)
			continue
		}
		down := &request{down: g.ports, what: []doing{{verb: "take down " + list}}}
		free, rows, late := &request{}, &request{}, &request{}
		var later []Op
		up := &request{up: g.ports, what: []doing{{verb: "bring up " + list}}}
		for _, p := range g.ports {
			grouped[p] = true
			down.ops = append(down.ops, admin(p, "down"))
			for _, o := range b.unbound[p] {
				if b.vanishes(o) {
					free.ops = append(free.ops, o)
				} else {
					down.ops = append(down.ops, o)
				}
			}
			rows.ops = append(rows.ops, b.bound[p]...)
			later = append(later, b.later[p]...)
			up.ops = append(up.ops, admin(p, "up"))
			for _, o := range b.guard[p] {
				if o.Del {
					down.ops = append(down.ops, o)
				} else {
					up.ops = append(up.ops, o)
				}
			}
		}
		if len(free.ops) > 0 {
			free.what = []doing{{verb: "unbind " + words.Count(len(free.ops), "row") + " of " + list}}
		}
		rows.what = []doing{{verb: "bind " + words.Count(len(rows.ops), "row") + " of " + list}}
		if b.Release.CableRederives {
			up.ops = slices.Concat(later, up.ops)
		} else {
			late = lateRequest(later)
		}
		reqs = append(reqs, down, free, rows, late, up)
	}
	return reqs, grouped
}

// vanishes reports whether buffermgrd may remove a row by itself when its port goes down, as it
// does on NVIDIA and Barefoot chips (sonic-swss cfgmgr/buffermgr.cpp). The updater fails when it
// removes a row that no longer exists.
func (b *builder) vanishes(o Op) bool {
	return o.Table == TGroup && Derived(b.running.Row(o.Table, o.Key)["profile"]) && slices.Contains([]string{"", "nvidia", "barefoot"}, b.Maker)
}

func refers(o Op) (n int) {
	refs(o.Table, o.Row, func(string, string) { n = 1 })
	return n
}

func admin(port, status string) Op {
	return Op{Table: TPort, Key: port, Field: "admin_status", Value: status}
}

// join merges head into the first request and tail into the last one where possible. The switch
// sorts the writes of a Set itself, so order within a Set does not matter, except that the removal
// and re-addition of one row would cancel out.
func join(head *request, reqs []*request, tail *request) []*request {
	switch {
	case len(head.ops) == 0:
	case len(reqs) == 0 || len(head.up) > 0 || len(reqs[0].down) == 0:
		// Ports that come up do so before others go down, because they may be uplinks. If the
		// updater does not order the writes, they also come up after their rows are written.
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
			// The updater turns the removal of a row and the addition of an equal one into a
			// "move", and its rules for the watchdog list no moves (python-jsonpatch, DiffBuilder).
			gone[o.Table] = o.Table == TWatchdog || gone[o.Table]
		}
	}
	if slices.ContainsFunc(tail.ops, func(o Op) bool { return gone[o.Table+"|"+o.Key] || gone[o.Table] && !o.Del }) {
		return append(reqs, tail)
	}
	r.ops = append(r.ops, tail.ops...)
	r.what = append(r.what, tail.what...)
	return reqs
}

// step turns a request into a Step, or into several if it is too large.
func step(via string, r *request) []Step {
	if len(r.ops) == 0 {
		return nil
	}
	var parts [][]Op
	size := maxRequest
	for _, o := range r.ops {
		n := len(o.String()) + 64
		if size+n > maxRequest || via == "ssh" && len(parts[len(parts)-1]) == maxLoad {
			parts = append(parts, nil)
			size = 0
		}
		size += n
		parts[len(parts)-1] = append(parts[len(parts)-1], o)
	}
	var out []Step
	for i, ops := range parts {
		s := Step{Via: via, Ops: ops, What: describe(r.what)}
		if len(parts) > 1 {
			s.What += fmt.Sprintf(" (part %d of %d)", i+1, len(parts))
		}
		for _, o := range ops {
			s.Impact = max(s.Impact, o.impact)
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

// describe joins the descriptions of a request and lists each kind of action once.
func describe(ds []doing) string {
	var sum ordered.Map[doing, int]
	for _, d := range ds {
		*sum.At(doing{verb: d.verb, noun: d.noun}) += d.n
	}
	var parts []string
	for d, n := range sum.All() {
		d.n = n
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "; ")
}

// Objects splits the step into the new rows that become objects of orchagent even if nothing refers
// to them, and the rest.
func (s Step) Objects(cfg Config) (objects, rest Step) {
	objects, rest = Step{Via: s.Via, What: s.What}, s
	rest.Ops = nil
	for _, o := range s.Ops {
		to := &rest
		ofMaps := slices.ContainsFunc(mapTables[:], func(m mapTable) bool { return m.table == o.Table })
		if (ofMaps || o.Table == TScheduler || o.Table == TWRED) && !o.Del && o.Field == "" && cfg.Row(o.Table, o.Key) == nil {
			to = &objects
		}
		to.Ops = append(to.Ops, o)
	}
	return objects, rest
}

// Sets reports whether the step writes or removes this single field.
func (s Step) Sets(table, key, field string) bool {
	return slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Table == table && o.Key == key && o.Field == field })
}
