package sonic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
)

// TChannel is the table of port channels. Its MTU applies to the member ports
// (sonic-swss:cfgmgr/teammgr.cpp).
const TChannel = "PORTCHANNEL"

// unread matches QoS tables. If the decoder does not read such a table, [Account] reports it as
// unknown.
var unread = lazyre.New(`^(BUFFER_\w+|QUEUE\w*|SCHEDULER\w*|WRED_\w+|PFC_\w+|\w+_TO_\w+_MAP|SWITCH_TRIMMING)$`)

// InAccount reports whether [Account] reports on the table or needs to read it.
func InAccount(table string) bool {
	return WantTable(table) || table == TChannel || unread.MatchString(table)
}

// Account says what each field of the QoS tables does, one line per field, sorted by table, key and
// field. cfg must contain the tables of [InAccount].
func Account(cfg Config) []render.Line { return newAccountant(cfg).lines() }

// newAccountant decodes a configuration and records who refers to which object.
func newAccountant(cfg Config) *accountant {
	a := &accountant{cfg: cfg, losses: map[string]loss{}, noted: map[[3]string]string{}, uses: map[string]*use{}, won: map[[3]string]*[16]string{}, reach: map[*qos.Maps]qos.PrioritySet{}, rows: map[string]map[string][]writtenRow{}}
	dev, unknown := Decode(cfg)
	a.dev = dev
	for _, u := range unknown {
		a.noted[[3]string{u.Table, u.Key, u.Field}] = u.Why
	}
	a.bindings()
	return a
}

// lines explains all rows.
func (a *accountant) lines() []render.Line {
	for _, t := range sorted(a.cfg, nil) {
		say, known := accounts[t.key]
		switch {
		case !known && !unread.MatchString(t.key), t.key == TMetadata, t.key == TSwitch, t.key == TMember:
			continue
		case !known:
			say = func(*accountant, string, string, string) render.Line {
				return unknownLine("this tool does not read the table")
			}
		}
		written := a.cfg.written(t.key)
		for _, key := range natural.Keys(written) {
			a.row(t.key, key, written[key], say)
		}
	}
	return a.out
}

// accountant holds the state that [Account] shares between lines.
type accountant struct {
	cfg   Config
	dev   *qos.Device
	noted map[[3]string]string // why the decoder did not understand a field, by table, key and field
	uses  map[string]*use      // by "TABLE|name"
	// won holds the key of the row that each index follows, by table, port and field. If two rows
	// name an index, the last one wins.
	won   map[[3]string]*[16]string
	reach map[*qos.Maps]qos.PrioritySet
	// rows holds the rows of a table by port, in the order in which the switch takes them.
	rows map[string]map[string][]writtenRow
	// losses holds the ports whose PFC has no headroom.
	losses map[string]loss
	out    []render.Line
}

// use lists the ports and indexes that refer to an object.
type use struct {
	ports   []string
	global  bool            // used by the global row, which classifies traffic that enters outside of a port
	indexes qos.PrioritySet // queues or priority groups
	above   bool            // used by queues above 7
	// reached holds the traffic classes that at least one of the ports uses, paused the priorities
	// that at least one of them pauses.
	reached, paused qos.PrioritySet
}

func (a *accountant) use(table, name string) *use {
	u := a.uses[table+"|"+name]
	if u == nil {
		u = &use{}
		a.uses[table+"|"+name] = u
	}
	return u
}

// unfollowed returns the line of an object that no queue from 0 to 7 follows.
func (u *use) unfollowed() render.Line {
	if u.above {
		return leftLine("it is of queues above 7, which this tool does not manage")
	}
	return inert("other rows take precedence over each one that names it")
}

// addPort adds a port to the users of an object.
func (u *use) addPort(port string) {
	if n := len(u.ports); n == 0 || u.ports[n-1] != port {
		u.ports = append(u.ports, port)
	}
}

// bindings records which ports and profiles refer to each object.
func (a *accountant) bindings() {
	for _, key := range natural.Keys(a.cfg[TPortQoS]) {
		p, row := a.dev.Ports[key], a.cfg[TPortQoS][key]
		for _, m := range mapTables {
			name := row[m.field]
			if name == "" || p == nil && (key != globalKey || m.table != TDSCPToTC) {
				continue
			}
			u := a.use(m.table, name)
			if p == nil {
				u.global = true
				continue
			}
			u.addPort(key)
			u.reached |= a.reached(p)
			u.paused |= p.PFC.V
		}
	}
	for table, fields := range map[string][]string{TQueue: {"scheduler", "wred_profile"}, TBufferQueue: {"profile"}, TGroup: {"profile"}} {
		a.indexed(table, fields)
	}
	for _, table := range []string{TIngressList, TEgressList} {
		for port, row := range a.cfg[table] {
			for _, name := range strings.Split(cmp.Or(row["profile_list"], row["profile_list@"]), ",") {
				a.use(TProfile, strings.TrimSpace(name)).addPort(port)
			}
		}
	}
	for name, row := range a.cfg[TProfile] {
		a.use(TPool, row["pool"]).addPort(name)
	}
	for _, u := range a.uses {
		if !slices.IsSortedFunc(u.ports, natural.Compare) {
			u.ports = slices.Compact(natural.Sorted(u.ports))
		}
	}
}

// rowsOf returns the rows of a table that name a port, in the order in which the switch takes them.
func (a *accountant) rowsOf(table, port string) []writtenRow {
	by := a.rows[table]
	if by == nil {
		by = map[string][]writtenRow{}
		a.rows[table] = by
		for _, w := range a.cfg.inOrder(table) {
			for _, p := range w.ports {
				by[p] = append(by[p], w)
			}
		}
	}
	return by[port]
}

// followers returns the ports of a key without an index that take a field from its row. The others
// are set by the row later, or do not exist, as missing says.
func (a *accountant) followers(table, key, field string) (ports []string, later, missing string) {
	for _, port := range portsIn(key) {
		by := ""
		rows := a.rowsOf(table, port)
		for i := len(rows) - 1; i >= 0 && rows[i].key != key; i-- {
			if _, sets := rows[i].row[field]; sets || isMask(field) {
				by = rows[i].key
				break
			}
		}
		switch {
		case a.dev.Ports[port] == nil:
			missing = port
		case by != "":
			later = by
		default:
			ports = append(ports, port)
		}
	}
	return ports, later, missing
}

// isMask reports whether a field of PORT_QOS_MAP is a bit mask, which a row without it empties.
func isMask(field string) bool { return field == "pfc_enable" || field == "pfcwd_sw_enable" }

// doubled describes an overlap of a row of BUFFER_PG with an earlier row that names a priority
// group of the same port; "" if there is none.
func (a *accountant) doubled(table, key string) string {
	if table != TGroup {
		return ""
	}
	_, own, _ := strings.Cut(key, "|")
	for _, port := range portsIn(key) {
		for _, other := range a.rowsOf(table, port) {
			if other.key == key {
				break
			}
			if overlaps("|"+other.index, "|"+own) {
				return fmt.Sprintf("rows %s and %s name the same priority group: removing either row takes away its buffer", other.index, own)
			}
		}
	}
	return ""
}

// indexed records which key each queue or group of a table follows, and which ports use the objects
// that those keys name.
func (a *accountant) indexed(table string, fields []string) {
	rows := a.cfg.inOrder(table)
	for _, w := range rows {
		from, to, ok := Indexes(w.index)
		for _, port := range w.ports {
			if !ok || a.dev.Ports[port] == nil {
				continue
			}
			for _, f := range fields {
				if _, is := w.row[f]; !is {
					continue
				}
				at := [3]string{table, port, f}
				if a.won[at] == nil {
					a.won[at] = &[16]string{}
				}
				for i := from; i <= to; i++ {
					a.won[at][i] = w.key
				}
			}
		}
	}
	for _, w := range rows {
		for _, f := range fields {
			if name, is := w.row[f]; is {
				a.addUsers(table, f, name, w)
			}
		}
	}
}

// addUsers records the ports of a row as users of the object that a field names, with the queues or
// groups that follow the row. Queues above 7, and those that a later row sets, do not count.
func (a *accountant) addUsers(table, field, name string, w writtenRow) {
	_, to, ok := Indexes(w.index)
	if !ok {
		return
	}
	for _, port := range w.ports {
		if a.dev.Ports[port] == nil {
			continue
		}
		u := a.use(references[table+" "+field], name)
		u.above = u.above || to >= qos.NumPriorities
		if own := a.indexesOf(table, port, w.key, field); own != 0 {
			u.addPort(port)
			u.indexes |= own
			u.paused |= a.dev.Ports[port].PFC.V
		}
	}
}

// indexesOf returns the queues or groups of a port whose value for a field comes from this key.
func (a *accountant) indexesOf(table, port, key, field string) (s qos.PrioritySet) {
	_, idx, _ := strings.Cut(key, "|")
	won := a.won[[3]string{table, port, field}]
	from, to, ok := Indexes(idx)
	if won == nil || !ok {
		return 0
	}
	for i := from; i <= min(to, qos.NumPriorities-1); i++ {
		if won[i] == key {
			s |= qos.Priorities(i)
		}
	}
	return s
}

// overridden describes a later row that sets a field of a queue or group of this row to another
// value; "" if there is none. A switch that runs may follow the earlier row until it starts again,
// if that was written last.
func (a *accountant) overridden(table, key, field string) string {
	_, idx, _ := strings.Cut(key, "|")
	from, to, ok := Indexes(idx)
	if !ok {
		return ""
	}
	v := plainNames(a.cfg.written(table)[key][field])
	for _, port := range portsIn(key) {
		won := a.won[[3]string{table, port, field}]
		if won == nil {
			continue
		}
		for i := from; i <= to; i++ {
			if by := won[i]; by != "" && by != key && plainNames(a.cfg.written(table)[by][field]) != v {
				return fmt.Sprintf("%s|%s also sets it for %s %d and wins: a switch that starts takes its rows in the order of their keys", table, by, map[bool]string{true: "priority group", false: "queue"}[table == TGroup], i)
			}
		}
	}
	return ""
}

// reached returns the traffic classes that the maps of a port use, including class 0.
func (a *accountant) reached(p *qos.Port) qos.PrioritySet {
	m := p.Maps.V
	s, ok := a.reach[m]
	if ok {
		return s
	}
	s = m.Classes()
	if g := a.dev.GlobalMaps.V; g != nil && m.DSCPToTC[0] == qos.Unmapped {
		s |= g.Classes() // the port has no DSCP map of its own, so the global one applies
	}
	a.reach[m] = s
	return s
}

// row adds the lines for one row.
func (a *accountant) row(table, key string, row Row, say func(a *accountant, key, field, value string) render.Line) {
	where := table + "|" + key
	for _, f := range natural.Keys(row) {
		var l render.Line
		if why := a.noted[[3]string{table, key, f}]; why != "" && f != "" && !a.willDerive(table, row[f]) {
			l = unknownLine(why)
		} else if l = say(a, key, f, plainNames(row[f])); l.Fate == "" {
			continue
		}
		if why := cmp.Or(a.overridden(table, key, f), a.doubled(table, key)); why != "" {
			l.Check, l.Why = "BUF-18", why
		}
		l.Where, l.Text = where, strings.TrimSuffix(f, "@")+": "+row[f]
		a.out = append(a.out, l)
	}
	if table == TDSCPToTC {
		if listed := len(row); a.noted[[3]string{table, key, ""}] != "" && listed > 0 {
			a.out = append(a.out, render.Line{Where: where, Text: fmt.Sprintf("%d code points are not listed", qos.NumDSCP-listed),
				Fate: render.Default, Why: "the switch puts what a map does not list into traffic class 0"})
		}
	}
}

func represented(ports []string, attrs ...qos.Attr) render.Line {
	return render.Line{Fate: render.Represented, Ports: ports, Attrs: attrs}
}

func inert(why string, args ...any) render.Line {
	return render.Line{Fate: render.Inert, Why: fmt.Sprintf(why, args...)}
}

func standard(why string) render.Line { return render.Line{Fate: render.Default, Why: why} }

func unknownLine(why string) render.Line { return render.Line{Fate: render.Unknown, Why: why} }

// leftLine returns the line for a field that stays as it is, with the reason.
func leftLine(why string) render.Line { return render.Line{Fate: render.Left, Why: why} }

// notCovered returns the line for a field that intents do not cover.
func notCovered() render.Line { return render.Line{Fate: render.Represented} }

func failing(l render.Line, check string, fails bool) render.Line {
	if fails {
		l.Check = check
	}
	return l
}

const (
	noField = "this tool does not know the field and leaves it"
	noPort  = "no such port"
)

// accounts maps each table to the function that explains one of its fields.
var accounts = func() map[string]func(a *accountant, key, field, value string) render.Line {
	out := map[string]func(a *accountant, key, field, value string) render.Line{
		TPort: (*accountant).port, TChannel: (*accountant).channel, TPortQoS: (*accountant).portQoS,
		TScheduler: (*accountant).scheduler, TWRED: (*accountant).wred, TQueue: (*accountant).queue,
		TGroup: (*accountant).group, TBufferQueue: (*accountant).bufferQueue, TProfile: (*accountant).profile, TPool: (*accountant).pool,
		TIngressList: profileList(TIngressList, qos.KindIngressProfiles), TEgressList: profileList(TEgressList, qos.KindEgressProfiles),
		TCable: (*accountant).cable, TWatchdog: (*accountant).watchdog,
		TDefaultBuffer: headroomInput("default_dynamic_th", "over_subscribe_ratio"), TPattern: headroomInput("mtu", "small_packet_percentage"),
		TMetadata: nil, TMember: nil, TSwitch: nil, TTunnel: tunnelField, TVXLAN: tunnelField,
		"SWITCH_TRIMMING": func(*accountant, string, string, string) render.Line {
			return leftLine("packet trimming; it stays as it is")
		},
	}
	for t, m := range mapTables {
		out[m.table] = func(a *accountant, name, from, to string) render.Line {
			return a.mapEntry(qos.Table(t), name, from, to)
		}
	}
	return out
}()

// tunnelField explains a field of a tunnel.
func tunnelField(_ *accountant, _, field, _ string) render.Line {
	if strings.Contains(field, "dscp") || strings.Contains(field, "ecn") || strings.Contains(field, "_to_") || field == "qos-mode" {
		return unknownLine("an intent does not state the marks of tunnels; only checks read this field")
	}
	return render.Line{}
}

func (a *accountant) port(name, field, v string) render.Line {
	switch field {
	case "mtu":
		lag := a.dev.Ports[name].LAG.V
		if mtu := a.cfg.Row(TChannel, lag)["mtu"]; mtu != "" && mtu != v {
			return failing(inert("%s sets the MTU of its members: %s", lag, mtu), "CFG-02", true)
		}
		if v == strconv.Itoa(usualMTU) {
			return standard("a port without the field has that MTU")
		}
		return represented([]string{name}, qos.KindMTU.Attr())
	case "pfc_asym":
		if v != "on" {
			return standard("asymmetric PFC is off")
		}
		return represented([]string{name}, qos.KindPFCAsymmetric.Attr())
	}
	if inPortQoS(field) {
		return a.misplaced(name, field, v)
	}
	return render.Line{}
}

// misplaced explains a field of PORT_QOS_MAP in a row of PORT, where orchagent ignores it
// (sonic-swss:orchagent/port/porthlpr.cpp).
func (a *accountant) misplaced(port, field, v string) render.Line {
	l := inert("the switch reads %s from %s, not from %s", field, TPortQoS, TPort)
	if field == "pfc_enable" && v != a.cfg.Row(TPortQoS, port)[field] {
		l.Check, l.Sure = "PFC-15", true
		return l
	}
	return failing(l, "CFG-02", true)
}

// channel explains a field of a port channel. teammgrd gives the MTU of a port channel to its
// members, whatever their own rows say (sonic-swss:cfgmgr/teammgr.cpp).
func (a *accountant) channel(name, field, v string) render.Line {
	if field != "mtu" {
		return render.Line{}
	}
	members, same := 0, true
	for port, p := range a.dev.Ports {
		if p.LAG.V == name {
			members++
			same = same && cmp.Or(a.cfg.Row(TPort, port)["mtu"], strconv.Itoa(usualMTU)) == v
		}
	}
	switch {
	case members == 0:
		return inert("the port channel has no member")
	case same:
		return standard("its members have that MTU")
	}
	return unknownLine("the members run with it, and not with the MTU of their own rows")
}

func (a *accountant) portQoS(key, field, v string) render.Line {
	t := slices.IndexFunc(mapTables[:], func(m mapTable) bool { return m.field == field })
	if key == globalKey {
		return a.globalQoS(field, v)
	}
	ports, later, missing := a.followers(TPortQoS, key, field)
	switch {
	case missing != "":
		return a.noPort(TPortQoS, key, field, missing)
	case len(ports) == 0:
		l := failing(inert("%s also sets it and takes precedence", later), "CFG-02", true)
		if field == "pfc_enable" && v != "" {
			l.Check = "PFC-15"
		}
		return l
	case t >= 0 && v == "":
		return inert("it names no map")
	case t >= 0 && a.cfg.Row(mapTables[t].table, v) == nil:
		return unknownLine("there is no such map")
	case t >= 0:
		return represented(ports, qos.KindMap.Table(qos.Table(t)))
	case field == "pfc_enable" && v == "":
		return standard("PFC is off")
	case field == "pfc_enable":
		return a.failingForLoss(represented(ports, qos.KindPFC.Attr()), false, ports...)
	case field == "pfcwd_sw_enable":
		return a.watched(ports, v)
	}
	return unknownLine(noField)
}

// globalQoS explains a field of the global row.
func (a *accountant) globalQoS(field, v string) render.Line {
	switch {
	case field != "dscp_to_tc_map":
		return failing(inert("the switch reads only dscp_to_tc_map of the global row"), "CFG-02", true)
	case v == "":
		return inert("it names no map")
	case a.cfg.Row(TDSCPToTC, v) == nil:
		return unknownLine("there is no such map")
	}
	return represented(nil, qos.KindGlobalMap.Table(qos.DSCPToTC))
}

// watched explains pfcwd_sw_enable of ports.
func (a *accountant) watched(ports []string, v string) render.Line {
	guarded := slices.DeleteFunc(slices.Clone(ports), func(port string) bool { return a.cfg.Row(TWatchdog, port) == nil })
	fails := func(l render.Line, of []string, fault func(p *qos.Port) bool) render.Line {
		return failing(l, "WD-03", slices.ContainsFunc(of, func(port string) bool { return fault(a.dev.Ports[port]) }))
	}
	switch {
	case v == "":
		return standard("the watchdog guards nothing")
	case len(guarded) > 0 && !slices.ContainsFunc(guarded, func(port string) bool { return !a.cfg.refusedAction(port) }):
		return inert(noForward) // the row of PFC_WD fails the check
	case len(guarded) == 0:
		return fails(inert("PFC_WD has no row of the port, so no watchdog runs on it"), ports, func(p *qos.Port) bool { return p.PFC.V != 0 })
	}
	return fails(represented(guarded, qos.KindWatchdog.Attr()), guarded, func(p *qos.Port) bool { return p.PFC.V&^p.Watchdog.V.Priorities != 0 })
}

func (a *accountant) mapEntry(t qos.Table, name, from, to string) render.Line {
	u := a.uses[mapTables[t].table+"|"+name]
	k, err := strconv.Atoi(from)
	v, err2 := strconv.Atoi(to)
	switch {
	case u == nil:
		return inert("no port names the map")
	case err != nil || err2 != nil || strconv.Itoa(k) != from:
		return unknownLine("not a map entry")
	case t == qos.TCToQueue || t == qos.TCToGroup || t == qos.TCToDSCP:
		if !u.reached.Has(k) {
			return inert("no code point reaches the traffic class")
		}
	case t == qos.PFCToQueue || t == qos.PFCToGroup:
		if !u.paused.Has(k) {
			return inert("no port that uses the map has PFC on the priority")
		}
	}
	attrs := []qos.Attr{qos.KindMap.Table(t)}
	if u.global {
		attrs = append(attrs, qos.KindGlobalMap.Table(t))
	}
	l := represented(a.portsUsingEntry(t, u, k), attrs...)
	l.Keys = []int{k}
	switch {
	case t == qos.TCToDSCP:
		// The map rewrites DSCP, but no port that uses it classifies traffic.
		l = failing(l, "CLS-17", !slices.ContainsFunc(u.ports, func(p string) bool { return a.dev.Ports[p].Trust.V != qos.TrustNone }))
	case t == qos.TCToGroup:
		l = failing(l, "CLS-06", u.paused.Has(k) && a.groupsDiffer(u, k, v))
	case t == qos.PFCToQueue:
		l = failing(l, "CLS-05", slices.ContainsFunc(u.ports, func(n string) bool {
			p := a.dev.Ports[n]
			q := int(p.Maps.V.TCToQueue[k])
			return p.PFC.V.Has(k) && q >= 0 && q != v
		}))
	}
	return l
}

// portsUsingEntry returns the ports on which traffic or a pause uses a map entry.
func (a *accountant) portsUsingEntry(t qos.Table, u *use, k int) []string {
	if t == qos.DSCPToTC || t == qos.PCPToTC || u.global {
		return u.ports
	}
	meets := func(name string) bool {
		p := a.dev.Ports[name]
		if t == qos.PFCToQueue || t == qos.PFCToGroup {
			return p.PFC.V.Has(k)
		}
		return a.reached(p).Has(k)
	}
	out := u.ports
	for i, name := range u.ports {
		if !meets(name) {
			out = slices.Clone(u.ports[:i])
			for _, later := range u.ports[i+1:] {
				if meets(later) {
					out = append(out, later)
				}
			}
			break
		}
	}
	return out
}

// isOnlyWeighted reports whether all weighted queues of the ports that use a scheduler use this one.
func (a *accountant) isOnlyWeighted(u *use) bool {
	return !slices.ContainsFunc(u.ports, func(name string) bool {
		for q, v := range a.dev.Ports[name].Queues {
			if v.Scheduler.Set && !v.Scheduler.V.Strict && !u.indexes.Has(q) {
				return true
			}
		}
		return false
	})
}

// groupsDiffer reports whether a port puts a paused class into a different priority group than the
// one that sends its pause frames. Without a map, group n sends the pause frames of priority n.
func (a *accountant) groupsDiffer(u *use, class, group int) bool {
	return slices.ContainsFunc(u.ports, func(n string) bool {
		p := a.dev.Ports[n]
		pauses := int(p.Maps.V.PFCToGroup[class])
		if pauses < 0 {
			pauses = class
		}
		return p.PFC.V.Has(class) && pauses != group
	})
}

// attrsAt returns the attributes of the given kinds for each queue or group of a set.
func attrsAt(s qos.PrioritySet, kinds ...qos.Kind) (out []qos.Attr) {
	for _, i := range s.List() {
		for _, k := range kinds {
			out = append(out, k.At(i))
		}
	}
	return out
}

func (a *accountant) scheduler(name, field, v string) render.Line {
	row, u := a.cfg.Row(TScheduler, name), a.uses[TScheduler+"|"+name]
	rated := row["cir"] != "" || row["pir"] != ""
	switch {
	case u == nil && slices.ContainsFunc(slices.Collect(a.shapers()), func(n string) bool { return n == name }):
		return unknownLine("it shapes a whole port, which no intent states")
	case u == nil:
		return inert("no queue names the scheduler")
	case len(u.ports) == 0:
		return u.unfollowed()
	case field == "weight" && row["type"] == "STRICT":
		return failing(inert("a strict queue has no weight"), "CFG-02", true)
	case field == "weight" && a.isOnlyWeighted(u):
		return inert("all weighted queues of its ports have that weight")
	case field == "weight" && v == "1":
		return standard("a weight is 1 where none is stated")
	case field == "meter_type" && !rated:
		return inert("the scheduler has no rate")
	case field == "meter_type" && v == "bytes":
		return standard("rates are in bytes")
	case field == "cir" && v == strconv.Itoa(noCommitted) && row["pir"] != "":
		return standard("it stands for no committed rate, which a peak rate must have beside it")
	case field == "cir" && v == "0", field == "pir" && v == "0":
		return standard("no rate")
	case field == "type" || field == "weight" || field == "cir" || field == "pir" || field == "meter_type":
		return represented(u.ports, attrsAt(u.indexes, qos.KindScheduler)...)
	case field == "cbs" || field == "pbs":
		return unknownLine("no intent states a burst size")
	}
	return unknownLine(noField)
}

// shapers returns the schedulers that shape whole ports (field scheduler of PORT_QOS_MAP).
func (a *accountant) shapers() func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, row := range a.cfg[TPortQoS] {
			if s := row["scheduler"]; s != "" && !yield(s) {
				return
			}
		}
	}
}

func (a *accountant) wred(name, field, v string) render.Line {
	row, u := a.cfg.Row(TWRED, name), a.uses[TWRED+"|"+name]
	own, colour := greenField(field)
	marks, drops := row["wred_green_enable"] == "true" && marksGreen(row["ecn"]), row["wred_green_enable"] == "true" && !marksGreen(row["ecn"])
	lossless := u != nil && u.indexes&u.paused != 0
	switch {
	case u == nil:
		return inert("no queue names the profile")
	case len(u.ports) == 0:
		return u.unfollowed()
	case !slices.Contains(wredFields, own):
		return unknownLine(noField)
	case colour != "":
		return inert("nothing colours packets %s", colour)
	case !marks && !drops && field == "wred_green_enable" && v != "false":
		return unknownLine("neither true nor false")
	case !marks && !drops:
		return failing(inert("wred_green_enable is not true, so the profile neither marks nor drops"), "ECN-09", lossless && marksGreen(row["ecn"]))
	case field == "green_drop_probability" && v == "100":
		return standard("the probability is 100 where none is stated")
	}
	l := represented(u.ports, attrsAt(u.indexes, qos.KindECN)...)
	l = failing(l, "ECN-08", drops && lossless && (field == "ecn" || field == "wred_green_enable"))
	if field == "green_max_threshold" || field == "green_min_threshold" {
		lo, err := strconv.ParseInt(row["green_min_threshold"], 10, 64)
		hi, err2 := strconv.ParseInt(row["green_max_threshold"], 10, 64)
		l = failing(l, "ECN-02", err == nil && err2 == nil && hi < lo)
	}
	return l
}

// wredFields are the ECN mode and the fields for green packets. Uncolored packets are green.
var wredFields = []string{"ecn", "wred_green_enable", "green_min_threshold", "green_max_threshold", "green_drop_probability"}

// greenField returns the field for green packets that corresponds to a field for yellow or red
// ones, and that color. For any other field it returns the field itself and "".
func greenField(field string) (own, colour string) {
	for _, c := range []string{"yellow", "red"} {
		rest, prefix := strings.CutPrefix(field, "wred_")
		if tail, ok := strings.CutPrefix(rest, c+"_"); ok {
			if prefix {
				return "wred_green_" + tail, c
			}
			return "green_" + tail, c
		}
	}
	return field, ""
}

// indexedRow explains a field of a "port|index" row. The line carries the attributes of the queues
// or groups that follow the row.
func (a *accountant) indexedRow(table, key, field, object string, kinds ...qos.Kind) render.Line {
	ports, own, later, missing := a.owners(table, key, field)
	_, idx, _ := strings.Cut(key, "|")
	_, _, ok := Indexes(idx)
	switch {
	case missing == "CPU":
		return notCovered()
	case strings.Count(key, "|") > 1:
		return unknownLine("a key of a chassis, with host and ASIC: this tool reads and writes those of single switches")
	case missing != "":
		return a.noPort(table, key, field, missing)
	case !ok:
		return unknownLine("not an index, or a range of them")
	case own == 0 && later != "":
		return inert("%s also sets it and takes precedence", later)
	case own == 0:
		return leftLine("this tool manages queues and groups 0 to 7")
	case object == "":
		return inert("it names no object")
	case object != "NULL" && a.cfg.Row(references[table+" "+field], object) == nil && !a.willDerive(table, object):
		return unknownLine("there is no " + references[table+" "+field] + "|" + object)
	}
	return represented(ports, attrsAt(own, kinds...)...)
}

// willDerive reports whether a row of BUFFER_PG names a profile that the configuration lacks and
// that buffermgrd makes when the switch starts.
func (a *accountant) willDerive(table, profile string) bool {
	return table == TGroup && Derived(plainNames(profile)) && a.cfg.Row(TProfile, plainNames(profile)) == nil
}

// owners returns the ports of a key with an index that take a field from its row, and their queues
// or groups. The others take it from the row later, or do not exist, as missing says.
func (a *accountant) owners(table, key, field string) (ports []string, own qos.PrioritySet, later, missing string) {
	_, idx, _ := strings.Cut(key, "|")
	from, _, ok := Indexes(idx)
	for _, port := range portsIn(key) {
		won := a.won[[3]string{table, port, field}]
		switch of := a.indexesOf(table, port, key, field); {
		case a.dev.Ports[port] == nil:
			missing = port
		case of != 0:
			ports, own = append(ports, port), own|of
		case won != nil && ok && from < qos.NumPriorities && won[from] != key:
			later = won[from]
		}
	}
	return ports, own, later, missing
}

// noPort explains a field of a row whose key names a port that does not exist.
func (a *accountant) noPort(table, key, field, port string) render.Line {
	if a.cfg.Row(TChannel, port) == nil {
		return unknownLine(noPortOf(key, port))
	}
	return a.ofChannel(table, key, field, port)
}

// ofChannel explains a field of a row of a port channel. orchagent sets maps, PFC, queues and groups
// on ports and finds none of them on a port channel, which is none (sonic-swss:orchagent/qosorch.cpp,
// handlePortQosMapTable; orchagent/port.h, m_port_id).
func (a *accountant) ofChannel(table, key, field, channel string) render.Line {
	_, index, _ := strings.Cut(key, "|")
	from, _, _ := Indexes(index)
	var without []string
	for _, member := range natural.Keys(a.dev.Ports) {
		if a.dev.Ports[member].LAG.V != channel {
			continue
		}
		own := slices.ContainsFunc(a.rowsOf(table, member), func(w writtenRow) bool { _, sets := w.row[field]; return sets })
		if table != TPortQoS {
			won := a.won[[3]string{table, member, field}]
			own = won != nil && from < len(won) && won[from] != ""
		}
		if !own {
			without = append(without, member)
		}
	}
	l := inert("the switch applies it to ports, not to a port channel")
	if len(without) > 0 {
		l.Why += "; no row says it of the members " + natural.Fold(without)
	}
	return failing(l, "PRT-07", len(without) > 0)
}

// noPortOf says that a port which a key names does not exist.
func noPortOf(key, port string) string {
	if strings.Contains(key, ",") {
		return noPort + ": " + port
	}
	return noPort
}

func (a *accountant) queue(key, field, v string) render.Line {
	switch field {
	case "scheduler":
		return a.indexedRow(TQueue, key, field, v, qos.KindScheduler)
	case "wred_profile":
		return a.indexedRow(TQueue, key, field, v, qos.KindECN)
	}
	return unknownLine(noField)
}

func (a *accountant) bufferQueue(key, field, v string) render.Line {
	if field != "profile" {
		return unknownLine(noField)
	}
	return a.indexedRow(TBufferQueue, key, field, v, qos.KindQueueBuffer)
}

func (a *accountant) group(key, field, v string) render.Line {
	kinds := []qos.Kind{qos.KindGroupBuffer}
	xoff := a.dev.Profiles[v].XOFF
	switch {
	case field != "profile":
		return unknownLine(noField)
	case v == "NULL":
		kinds = []qos.Kind{qos.KindLossless}
	case Derived(v):
		kinds = []qos.Kind{qos.KindLossless, qos.KindDerivedFrom}
	case xoff > 0:
		kinds = append(kinds, qos.KindLossless)
	}
	l := a.indexedRow(TGroup, key, field, v, kinds...)
	if lossless := xoff > 0 || v == "NULL" && a.dev.Platform.DynamicBuffers; lossless && l.Fate == render.Represented {
		l = failing(l, "PFC-04", slices.ContainsFunc(l.Ports, func(port string) bool {
			return a.indexesOf(TGroup, port, key, field)&^groupsOf(a.dev.Ports[port]) != 0
		}))
		l.Sure = l.Check != "" && len(a.cfg[TPortQoS]) > 0
	}
	return l
}

// groupsOf returns the groups that make a port send pause frames.
func groupsOf(p *qos.Port) (s qos.PrioritySet) {
	for _, n := range p.PFC.V.List() {
		g := n
		if m := p.Maps.V; m != nil && m.PFCToGroup[n] >= 0 {
			g = int(m.PFCToGroup[n])
		}
		s |= qos.Priorities(g)
	}
	return s
}

// profileFields and poolFields are the fields that the switch reads
// (sonic-yang-models:sonic-buffer-profile.yang, sonic-buffer-pool.yang).
var (
	profileFields = []string{"pool", "size", "static_th", "dynamic_th", "xon", "xoff", "xon_offset", "headroom_type", "packet_discard_action"}
	poolFields    = []string{"type", "mode", "size", "xoff", "percentage"}
)

func (a *accountant) profile(name, field, _ string) render.Line {
	u := a.uses[TProfile+"|"+name]
	switch {
	case u == nil:
		return inert("nothing names the profile")
	case Derived(name):
		return standard("the switch writes the row itself, from speed and cable length")
	case field == "mode":
		return inert("the switch reads the mode of the pool, and ignores the field here") // sonic-swss:orchagent/bufferorch.cpp, processBufferProfile
	case !slices.Contains(profileFields, field):
		return unknownLine(noField)
	}
	return notCovered()
}

func (a *accountant) pool(name, field, _ string) render.Line {
	switch {
	case a.uses[TPool+"|"+name] == nil && name != "ingress_lossless_pool":
		return inert("no profile names the pool")
	case !slices.Contains(poolFields, field):
		return unknownLine(noField)
	}
	return notCovered()
}

func profileList(table string, kind qos.Kind) func(a *accountant, key, field, value string) render.Line {
	return func(a *accountant, key, field, _ string) render.Line {
		ports, later, missing := a.followers(table, key, field)
		switch {
		case field != "profile_list" && field != "profile_list@":
			return unknownLine(noField)
		case missing != "":
			return unknownLine(noPortOf(key, missing))
		case len(ports) == 0:
			return inert("%s also sets it and takes precedence", later)
		}
		return represented(ports, kind.Attr())
	}
}

func (a *accountant) cable(_, port, v string) render.Line {
	p := a.dev.Ports[port]
	switch {
	case p == nil:
		return unknownLine(noPort)
	case v == noCable:
		return inert("the switch takes it for no length")
	case a.dev.NotKnown[qos.Place{Port: port, Field: qos.KindCable.Attr()}] != "":
		return unknownLine("another list gives the port another length, and the one that was written last is in force")
	}
	// Without a cable length the switch creates no headroom (sonic-swss:cfgmgr/buffermgr.cpp).
	l := failing(represented([]string{port}, qos.KindCable.Attr()), "PFC-03", v == "0m" && p.PFC.V != 0 && !a.dev.Platform.DynamicBuffers)
	l.Sure = l.Check != ""
	return a.failingForLoss(l, true, port)
}

// headroomInput explains the inputs of the dynamic buffer model.
func headroomInput(fields ...string) func(a *accountant, key, field, value string) render.Line {
	return func(a *accountant, key, field, _ string) render.Line {
		switch {
		case !slices.Contains(fields, field):
			return unknownLine(noField)
		case !a.dev.Platform.DynamicBuffers:
			return inert("the traditional buffer model does not compute headroom")
		case key != mapName:
			return unknownLine("this tool reads the row " + mapName)
		}
		return represented(nil, qos.KindHeadroomModel.Attr())
	}
}

func (a *accountant) watchdog(key, field, _ string) render.Line {
	if key == "GLOBAL" {
		switch {
		case field != "POLL_INTERVAL":
			return unknownLine(noField)
		case len(a.cfg[TWatchdog]) == 1:
			return inert("no port has a watchdog")
		}
		return represented(nil, qos.KindWatchdogPoll.Attr())
	}
	p := a.dev.Ports[key]
	switch {
	case p == nil:
		return unknownLine(noPort)
	case !slices.Contains(watchdogFields, field):
		return unknownLine(noField)
	case a.cfg.refusedAction(key):
		return failing(inert(noForward), "WD-06", p.PFC.V != 0 && field == "action")
	case !p.Watchdog.V.Enabled: // swss, orchagent/pfcwdorch.cpp: "No lossless TC found"
		return failing(inert("pfcwd_sw_enable of the port names no priority, so the watchdog guards none"), "WD-03", p.PFC.V != 0)
	}
	w, poll := p.Watchdog.V, a.dev.WatchdogPoll.V
	l := represented([]string{key}, qos.KindWatchdog.Attr())
	return failing(l, "WD-04", field == "detection_time" && w.Detect < poll || field == "restoration_time" && w.Restore < poll)
}
