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

// slot is a place where a row names an object: a field of PORT_QOS_MAP, or of a queue.
type slot struct {
	table, key, field string // key of a port, or of one queue of it
	port              string // "" for the global row
	has               string // object that it names now, "" if none
	differs           bool   // the desired behavior differs
	free              bool   // the intent does not set it, and no traffic uses it
}

// object returns the table of the objects that a slot names.
func (s *slot) object() string { return references[s.table+" "+s.field] }

// adopter expresses the desired state with the objects that the switch already has, under their own
// names. Slots that already behave as desired keep their object. An object whose users all want the
// same new value is edited in place. Only the remaining slots are bound to another object.
type adopter struct {
	running, target Config
	desired         *qos.Device
	differs         map[qos.Place]bool
	queues          map[string]*[qos.NumPriorities]Row
	shared          ordered.Groups[string, string] // objects that other ports use as well, by a description of these ports
	concerns        map[string]bool                // maps ("TABLE|name") whose change also affects ports outside of the intent
}

// adopt rewrites target, the desired rows of a device, to reuse the objects in running; changes
// lists the differences between the two. It returns notes on objects that other ports use as well,
// and the maps ("TABLE|name") whose change also affects those ports.
func adopt(running, target Config, desired *qos.Device, changes []qos.Change) (notes []string, concerns map[string]bool) {
	a := adopter{concerns: map[string]bool{}, running: running, target: target, desired: desired, differs: make(map[qos.Place]bool, len(changes)), queues: queueRows(running[TQueue])}
	for _, c := range changes {
		a.differs[c.Place()] = true
	}
	all, n, byTable := a.slots(), map[string]int{}, map[string][]slot{}
	for i := range all {
		n[all[i].object()]++
	}
	for i := range all {
		object := all[i].object()
		if byTable[object] == nil {
			byTable[object] = make([]slot, 0, n[object])
		}
		byTable[object] = append(byTable[object], all[i])
	}
	for _, table := range slices.Concat(whole, []string{TScheduler, TWRED}) {
		a.table(table, byTable[table])
	}
	return a.notes(), a.concerns
}

// notes describes the objects that other ports use as well.
func (a *adopter) notes() (notes []string) {
	for who, objects := range a.shared.All() {
		list := strings.Join(objects, ", ")
		switch {
		case a.desired.OwnsGlobals:
			notes = append(notes, fmt.Sprintf("the change of %s also concerns %s", list, who))
		case len(objects) == 1:
			notes = append(notes, fmt.Sprintf("%s stays as it is and another object is bound, because of %s; with globals: own in the intent it is changed in place", list, who))
		default:
			notes = append(notes, fmt.Sprintf("%s stay as they are and other objects are bound, because of %s; with globals: own in the intent they are changed in place", list, who))
		}
	}
	return notes
}

// slots returns the slots of all ports, and the global one, in a fixed order.
func (a *adopter) slots() (out []slot) {
	out = make([]slot, 0, len(a.running[TPort])*(len(mapTables)+2*qos.NumPriorities)+1)
	for _, key := range natural.Keys(a.running[TPort]) {
		out = a.portSlots(out, key)
	}
	global := slot{table: TPortQoS, key: globalKey, field: "dscp_to_tc_map", has: a.running.Row(TPortQoS, globalKey)["dscp_to_tc_map"]}
	global.differs = a.differs[qos.Place{Field: qos.KindGlobalMap.Table(qos.DSCPToTC)}]
	_, wanted := a.target.Row(TPortQoS, globalKey)["dscp_to_tc_map"]
	global.free = !wanted && len(a.portsUsingGlobalMap()) == 0
	return append(out, global)
}

func (a *adopter) portSlots(out []slot, port string) []slot {
	want := a.desired.Ports[port]
	trust := a.differs[qos.Place{Port: port, Field: qos.KindTrust.Attr()}]
	for t, m := range mapTables {
		s := slot{table: TPortQoS, key: port, field: m.field, port: port, has: a.running.Row(TPortQoS, port)[m.field]}
		s.differs = a.differs[qos.Place{Port: port, Field: qos.KindMap.Table(qos.Table(t))}] || trust && (m.table == TDSCPToTC || m.table == TDot1pToTC)
		out = append(out, s)
	}
	sent := sentTo(want)
	for q := range qos.NumPriorities {
		for _, kind := range []qos.Kind{qos.KindECN, qos.KindScheduler} {
			field := queueFields[kind]
			s := slot{table: TQueue, key: port + "|" + strconv.Itoa(q), field: field, port: port}
			if rows := a.queues[port]; rows != nil {
				s.has = rows[q][field]
			}
			s.differs = a.differs[qos.Place{Port: port, Field: kind.At(q)}]
			_, wanted := a.target.Row(TQueue, s.key)[field]
			s.free = want != nil && !wanted && !sent.Has(q)
			out = append(out, s)
		}
	}
	return out
}

// sentTo returns the queues that the maps of a port send traffic to; all of them if unknown.
func sentTo(p *qos.Port) (s qos.PrioritySet) {
	if p == nil || p.Maps.V == nil {
		return 0xff
	}
	m := p.Maps.V
	send := func(tc int8) {
		if tc < 0 {
			tc = 0
		}
		if tc < qos.NumPriorities && m.TCToQueue[tc] >= 0 {
			s |= qos.Priorities(int(m.TCToQueue[tc]))
		} else {
			s = 0xff // the maps do not say where the switch sends it
		}
	}
	for _, tc := range slices.Concat(m.DSCPToTC[:], m.PCPToTC[:]) {
		send(tc)
	}
	return s
}

// queueRows returns the row that applies to each queue, by port. If several rows name a queue, they
// are merged and later ones win.
func queueRows(t Table) map[string]*[qos.NumPriorities]Row {
	out := map[string]*[qos.NumPriorities]Row{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		port, idx, _ := strings.Cut(key, "|")
		from, to, ok := Indexes(idx)
		if !ok {
			continue
		}
		if out[port] == nil {
			out[port] = &[qos.NumPriorities]Row{}
		}
		for i := from; i <= min(to, qos.NumPriorities-1); i++ {
			if was := out[port][i]; was != nil {
				out[port][i] = merge(was, t[key])
			} else {
				out[port][i] = t[key]
			}
		}
	}
	return out
}

// portsUsingGlobalMap returns the ports that are up, are not in the intent, and classify with
// the switch-wide map.
func (a *adopter) portsUsingGlobalMap() []string {
	return portsOutsideIntent(a.running, a.desired, func(port string) bool { return a.running.Row(TPortQoS, port)["dscp_to_tc_map"] == "" })
}

// portsOutsideIntent returns the ports that are up, are not in the intent, and for which uses is
// true.
func portsOutsideIntent(running Config, desired *qos.Device, uses func(port string) bool) []string {
	var out []string
	for port := range running[TPort] {
		if desired.Ports[port] == nil && running.Up(port) && uses(port) {
			out = append(out, port)
		}
	}
	return natural.Sorted(out)
}

// table decides which object each slot names, for the objects of one table.
func (a *adopter) table(table string, slots []slot) {
	users := map[string][]slot{} // by the object that they name now
	made := a.target[table]
	a.target[table] = Table{}
	var moved []slot
	for _, s := range slots {
		row := a.target.Row(s.table, s.key)
		_, wanted := row[s.field]
		switch {
		case wanted && !s.differs:
			a.keep(table, s, row)
		case wanted && (row[s.field] == Absent || made[row[s.field]] == nil):
		case wanted:
			moved = append(moved, s)
		}
		if s.has != "" {
			users[s.has] = append(users[s.has], s)
		}
	}
	edited, tried := map[string]string{}, map[string]bool{} // object -> the encoder's name for the object that it becomes
	for _, s := range moved {
		as := a.target.Row(s.table, s.key)[s.field]
		if s.has == "" || tried[s.has] {
			continue
		}
		tried[s.has] = true
		if a.mayEdit(table, s.has, users[s.has], made[as], made) {
			edited[s.has] = as
			a.target.Put(table, s.has, maps.Clone(made[as]))
		}
	}
	named := map[string]string{}
	for _, s := range moved {
		row := a.target.Row(s.table, s.key)
		as := row[s.field]
		if edited[s.has] != "" && s.has != "" {
			row[s.field] = s.has
			continue
		}
		if named[as] == "" {
			named[as] = a.other(table, as, made[as], users, edited)
			a.target.Put(table, named[as], maps.Clone(made[as]))
		}
		row[s.field] = named[as]
	}
	if len(a.target[table]) == 0 {
		delete(a.target, table)
	}
}

// keep leaves a slot as it is. The plan then depends on the object that the slot names.
func (a *adopter) keep(table string, s slot, row Row) {
	row[s.field] = Absent
	if s.has == "" {
		return
	}
	row[s.field] = s.has
	if have := a.running.Row(table, s.has); have != nil {
		a.target.Put(table, s.has, maps.Clone(have))
	}
}

// mayEdit reports whether an object can be changed in place into the row that the encoder made: all
// of its users want that row, and the switch accepts the change in place.
func (a *adopter) mayEdit(table, name string, users []slot, want Row, made Table) bool {
	have := a.running.Row(table, name)
	if have == nil || !editable(table, have, want) || table == TScheduler && a.shapesPorts(name) {
		return false
	}
	var others []string
	for _, s := range users {
		as, wanted := a.target.Row(s.table, s.key)[s.field]
		switch {
		case s.free:
		case wanted && s.differs:
			// Users that move to another object do not count.
			if made[as] != nil && !maps.Equal(made[as], want) {
				return false
			}
		case wanted || s.port != "" && a.desired.Ports[s.port] != nil:
			return false
		case s.port == "":
			others = append(others, a.portsUsingGlobalMap()...)
		case a.running.Up(s.port):
			others = append(others, s.port)
		}
	}
	others = slices.Compact(natural.Sorted(others))
	if len(others) == 0 {
		return true
	}
	who := words.Count(len(others), "port") + " that the intent does not name: " + natural.Fold(others)
	a.shared.Add(who, table+"|"+name)
	if a.desired.OwnsGlobals {
		a.concerns[table+"|"+name] = slices.Contains(whole, table)
	}
	return a.desired.OwnsGlobals
}

// shapesPorts reports whether a port uses the scheduler to shape the whole port.
func (a *adopter) shapesPorts(name string) bool {
	for _, row := range a.running[TPortQoS] {
		if row["scheduler"] == name {
			return true
		}
	}
	return false
}

// editable reports whether a row behaves as wanted after it was changed in place, with the fields
// that it keeps from the old row.
func editable(table string, have, want Row) bool {
	if table != TScheduler {
		return true
	}
	for _, rate := range []string{"cir", "pir"} {
		// orchagent keeps a rate in force when its field is removed (see Habits), either by this
		// edit or by its undo.
		if _, was := have[rate]; was == (want[rate] == Absent || want[rate] == "") {
			return false
		}
	}
	decoded := func(r Row) qos.Scheduler {
		d := decoder{cfg: Config{table: {"": r}}}
		return d.scheduler("")
	}
	return decoded(merge(have, want)) == decoded(merge(nil, want))
}

// other returns the object to bind instead: a map on the switch with the same content, the
// encoder's own object if its name is free, or a new one. Each traffic class has its own scheduler
// and profile, so that each can change without the others.
func (a *adopter) other(table, as string, want Row, users map[string][]slot, edited map[string]string) string {
	names := []string{as}
	if slices.Contains(whole, table) {
		for _, n := range natural.Keys(a.target[table]) {
			if maps.Equal(a.target[table][n], want) {
				return n
			}
		}
		names = append(names, natural.Keys(a.running[table])...)
	}
	for _, n := range names {
		if a.running.Row(table, n) == nil {
			continue
		}
		if edited[n] == "" && !differ(table, a.running.Row(table, n), want) && editable(table, a.running.Row(table, n), want) {
			return n
		}
	}
	taken := map[string]bool{}
	for n := range a.target[table] {
		taken[n] = true
	}
	for n := range users {
		taken[n] = true
	}
	if taken[as] || a.running.Row(table, as) != nil && !editable(table, a.running.Row(table, as), want) {
		for n, have := range a.running[table] {
			// A run that was cut off may have created exactly this object without binding it yet.
			taken[n] = taken[n] || edited[n] != "" || differ(table, have, want) || !editable(table, have, want)
		}
		var text strings.Builder
		for _, f := range natural.Keys(want) {
			text.WriteString(f + "=" + want[f] + "\n")
		}
		return variant(as[:min(len(as), maxBase)], text.String(), taken)
	}
	return as
}

// common is a setting that all ports of the switch share.
type common struct {
	kind  qos.Kind
	rows  [][2]string
	users []string
	// need says why the ports of the intent need the change; "" if they do not.
	need string
}

// scope removes rows from target that ports outside of the intent share. A change that the ports of
// the intent need is blocked; any other is dropped. If the intent owns the globals, scope leaves
// everything as it is.
func scope(running, target Config, desired *qos.Device, all []qos.Change) (left []qos.Place, changes []qos.Change, notes []string) {
	changes = all
	if desired.OwnsGlobals {
		return nil, changes, nil
	}
	using := func(uses func(port string) bool) []string { return portsOutsideIntent(running, desired, uses) }
	computed := map[string]bool{}
	for key, row := range running[TGroup] {
		if port, _, _ := strings.Cut(key, "|"); row["profile"] == "NULL" {
			computed[port] = true
		}
	}
	for _, s := range []common{
		{qos.KindGlobalMap, [][2]string{{TPortQoS, globalKey}}, using(func(p string) bool { return running.Row(TPortQoS, p)["dscp_to_tc_map"] == "" }), ""},
		{qos.KindWatchdogPoll, [][2]string{{TWatchdog, "GLOBAL"}}, using(func(p string) bool { return running.Row(TWatchdog, p) != nil }), slowPoll(running, desired)},
		{qos.KindHeadroomModel, [][2]string{{TDefaultBuffer, mapName}, {TPattern, mapName}}, using(func(p string) bool { return computed[p] }), "the switch computes the headroom of all ports with it"},
	} {
		of := func(c qos.Change) bool { return c.Port == "" && c.Field.Kind == s.kind }
		at := slices.IndexFunc(changes, of)
		if at < 0 || len(s.users) == 0 {
			continue
		}
		for _, r := range s.rows {
			delete(target[r[0]], r[1])
		}
		who := fmt.Sprintf("%s that the intent does not name: %s", words.Count(len(s.users), "port"), natural.Fold(s.users))
		if s.need == "" {
			notes = append(notes, fmt.Sprintf("%s|%s stays as it is, because of %s; with globals: own in the intent it is changed", s.rows[0][0], s.rows[0][1], who))
			for _, c := range changes {
				if of(c) {
					left = append(left, c.Place())
				}
			}
			changes = slices.DeleteFunc(changes, of)
			continue
		}
		for i := range changes {
			if of(changes[i]) {
				changes[i].Blocked = s.need + ", and it also affects " + who + "; with globals: own in the intent it is changed nevertheless"
			}
		}
	}
	return left, changes, notes
}

// slowPoll explains that a watchdog of the intent has a time below the poll interval, which the
// switch rejects (sonic-yang-models:sonic-pfcwd.yang); "" if there is none.
func slowPoll(running Config, desired *qos.Device) string {
	n, err := strconv.ParseInt(running.Row(TWatchdog, "GLOBAL")["POLL_INTERVAL"], 10, 64)
	if err != nil {
		return ""
	}
	for _, port := range natural.Keys(desired.Ports) {
		if w := desired.Ports[port].Watchdog; w.Set && w.V.Enabled && min(w.V.Detect, w.V.Restore) < ms(n) {
			return fmt.Sprintf("the watchdog of %s has a time below the poll interval of %s", port, ms(n))
		}
	}
	return ""
}
