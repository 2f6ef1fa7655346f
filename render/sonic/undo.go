package sonic

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Undo is an undo record: the old values of everything that was written.
type Undo struct {
	// Rows holds the old contents of rows that are written whole; nil for a row that did not exist.
	Rows map[string]map[string]Row `json:"rows,omitempty"`
	// Fields restores single fields of rows that others write as well.
	Fields []Op `json:"fields,omitempty"`
	// Groups holds the old BUFFER_PG rows of Ports, the ports whose groups the switch derives
	// again. Profiles lists the derived profiles that existed before.
	Groups   map[string]Row `json:"groups,omitempty"`
	Ports    []string       `json:"ports,omitempty"`
	Profiles []string       `json:"profiles,omitempty"`
	// Flapped lists the ports that flap: up before the run and up after it.
	Flapped []string `json:"flapped,omitempty"`

	Policy     Policy `json:"policy"`
	Checkpoint string `json:"checkpoint,omitempty"`
	SSH        bool   `json:"ssh,omitempty"`
	// Stands says how to tell whether changes of the run are still present.
	Stands Trace `json:"stands,omitempty"`
	// Run is the ID of the run that made the record.
	Run string `json:"run,omitempty"`
}

// Trace says which changes a run leaves on a switch.
type Trace string

const (
	NoTrace      Trace = ""       // nothing differs, apart from what the switch itself changed
	TraceRows    Trace = "rows"   // rows or fields that the run wrote
	TraceDerived Trace = "groups" // only groups that the switch derives
)

// Remember returns the undo record of steps on a switch that holds cfg. The record also undoes the
// interrupted runs that the steps continue; continues holds their records, newest first.
func Remember(cfg Config, steps []Step, policy Policy, continues ...Undo) Undo {
	u := Undo{Rows: map[string]map[string]Row{}, Groups: map[string]Row{}, Policy: policy}
	fields := map[[3]string]bool{}
	field := func(table, key, name string) {
		at := [3]string{table, key, name}
		if fields[at] {
			return
		}
		fields[at] = true
		v, ok := cfg.Row(table, key)[name]
		u.Fields = append(u.Fields, Op{Table: table, Key: key, Field: name, Value: v, Del: !ok})
	}
	ports := map[string]bool{}
	end := cfg
	for _, s := range steps {
		end = end.After(s.Ops)
	}
	for _, s := range steps {
		u.SSH = u.SSH || s.Via == "ssh"
		// The updater may leave a port down if it fails half way.
		for _, p := range slices.Concat(s.Down, s.Up) {
			if cfg.Up(p) && end.Up(p) && !slices.Contains(u.Flapped, p) {
				u.Flapped = append(u.Flapped, p)
			}
			ports[p] = true
			field(TPort, p, "admin_status")
		}
		for _, o := range s.Ops {
			if p := o.PortOf(); p != "" {
				ports[p] = true
			}
			if o.Table == TCable {
				for _, p := range natural.Keys(o.Row) {
					ports[p] = true
				}
				if o.Field != "" {
					ports[o.Field] = true
				}
			}
			if o.Field != "" {
				field(o.Table, o.Key, o.Field)
				continue
			}
			if u.Rows[o.Table] == nil {
				u.Rows[o.Table] = map[string]Row{}
			}
			u.Rows[o.Table][o.Key] = maps.Clone(cfg.Row(o.Table, o.Key))
		}
	}
	for key, row := range cfg[TGroup] {
		if port, _, _ := strings.Cut(key, "|"); ports[port] && Derived(row["profile"]) {
			u.Groups[key] = maps.Clone(row)
			delete(u.Rows[TGroup], key)
		}
	}
	u.Ports = natural.Keys(ports)
	for name := range cfg[TProfile] {
		if Derived(name) {
			u.Profiles = append(u.Profiles, name)
		}
	}
	slices.Sort(u.Profiles)
	for _, run := range continues {
		u = u.after(run)
	}
	switch {
	case len(u.written(end)) > 0:
		u.Stands = TraceRows
	case len(u.Derived(end)) > 0:
		u.Stands = TraceDerived
	}
	return u
}

// Binds reports whether the record has rows that are bound to ports.
func (u Undo) Binds() bool {
	for table, rows := range u.Rows {
		for key := range rows {
			if (Op{Table: table, Key: key}).PortOf() != "" {
				return true
			}
		}
	}
	return false
}

// after returns the record that undoes an earlier, interrupted run as well. The old values of the
// earlier run take precedence.
func (u Undo) after(run Undo) Undo {
	out := u
	out.SSH = u.SSH || run.SSH
	out.Rows = map[string]map[string]Row{}
	for _, rows := range []map[string]map[string]Row{u.Rows, run.Rows} {
		for table := range rows {
			if out.Rows[table] == nil {
				out.Rows[table] = map[string]Row{}
			}
			maps.Copy(out.Rows[table], rows[table])
		}
	}
	same := func(o Op) func(Op) bool {
		return func(x Op) bool { return x.Table == o.Table && x.Key == o.Key && x.Field == o.Field }
	}
	out.Fields = slices.Clone(run.Fields)
	for _, o := range run.Fields {
		if _, whole := run.Rows[o.Table][o.Key]; !whole {
			delete(out.Rows[o.Table], o.Key)
		}
	}
	for _, o := range u.Fields {
		if !slices.ContainsFunc(run.Fields, same(o)) {
			out.Fields = append(out.Fields, o)
		}
	}
	// For groups that the switch derives, use the records of the earlier run on its ports.
	out.Groups = maps.Clone(run.Groups)
	if out.Groups == nil {
		out.Groups = map[string]Row{}
	}
	for key, row := range u.Groups {
		if port, _, _ := strings.Cut(key, "|"); !slices.Contains(run.Ports, port) {
			out.Groups[key] = row
		}
	}
	for key := range out.Groups {
		delete(out.Rows[TGroup], key)
	}
	for key, row := range run.Rows[TGroup] {
		if _, derived := run.Groups[key]; !derived {
			out.Rows[TGroup][key] = row
		}
	}
	out.Ports, out.Flapped = both(u.Ports, run.Ports), both(u.Flapped, run.Flapped)
	out.Profiles = run.Profiles
	return out
}

// both returns the members of either list, in natural order.
func both(a, b []string) []string {
	all := map[string]bool{}
	for _, s := range slices.Concat(a, b) {
		all[s] = true
	}
	return natural.Keys(all)
}

// restore returns the ops that give a row its old contents: first one that clears the values that
// the daemons would keep, if needed, then one that writes or removes the row. A row that must not
// be removed keeps its new fields, set to the values that mean "no value".
func restore(cfg Config, table, key string, was Row) (ops []Op) {
	have := cfg.Row(table, key)
	if (was == nil) == (have == nil) && maps.Equal(have, was) {
		return nil
	}
	if table == TWatchdog && key != "GLOBAL" && cfg.Row(TPort, key) == nil {
		return nil // before master, removing the row of a port that no longer exists crashes orchagent
	}
	clear, keeps := withClearedFields(table, key, have, was, bufferModel(cfg))
	if mustNotBeRemoved(table, key) && have != nil {
		for _, f := range natural.Keys(clear) {
			if v, stood := was[f]; stood {
				clear[f] = v
			}
			if clear[f] != have[f] {
				ops = append(ops, Op{Table: table, Key: key, Field: f, Value: clear[f]})
			}
		}
		return ops
	}
	if keeps {
		ops = append(ops, Op{Table: table, Key: key, Row: clear, Clears: true})
	}
	if was == nil {
		return append(ops, Op{Table: table, Key: key, Del: true})
	}
	return append(ops, Op{Table: table, Key: key, Row: was})
}

// restoreField is restore for a field of a row that others write as well.
func restoreField(cfg Config, o Op) (ops []Op) {
	have := cfg.Row(o.Table, o.Key)
	if v, ok := have[o.Field]; have == nil || ok != o.Del && v == o.Value {
		return nil // a port that has been removed stays removed, and a removed row needs no fields
	}
	clear, keeps := withClearedFields(o.Table, o.Key, Row{o.Field: have[o.Field]}, nil, bufferModel(cfg))
	if o.Del && keeps {
		ops = append(ops, Op{Table: o.Table, Key: o.Key, Field: o.Field, Value: clear[o.Field], Clears: true})
	}
	if o.Del && mustNotBeRemoved(o.Table, o.Key) {
		return ops
	}
	return append(ops, o)
}

// Restored returns u for a switch on which a run left the given ports down: they come up. Every
// other port that the run flapped keeps its admin state: if it is down, someone else has shut it
// since.
func (u Undo) Restored(left map[string]string) Undo {
	var fields []Op
	for _, o := range u.Fields {
		_, ours := left[o.Key]
		switch {
		case o.Table != TPort || o.Field != "admin_status":
			fields = append(fields, o)
		case ours:
			fields = append(fields, admin(o.Key, "up"))
		case !slices.Contains(u.Flapped, o.Key):
			fields = append(fields, o)
		}
	}
	u.Fields = fields
	return u
}

// Written returns the ops that restore the written rows and fields. They also remove groups that
// buffermgrd has made since, on ports whose PFC changes: the ports are down for that change, and
// buffermgrd makes the old groups again.
func (u Undo) Written(cfg Config) []Op {
	out := u.written(cfg)
	ports := map[string]bool{}
	for _, o := range out {
		ports[o.PortOf()] = ports[o.PortOf()] || o.changesPFC(cfg)
	}
	return append(out, u.removeNewGroups(cfg, func(port string) bool { return ports[port] })...)
}

// Undone reports whether nothing that the run changed is left.
func (u Undo) Undone(cfg Config) bool {
	switch u.Stands {
	case TraceRows:
		return len(u.written(cfg)) == 0
	case TraceDerived:
		return len(u.Derived(cfg)) == 0
	}
	return false
}

func (u Undo) written(cfg Config) []Op {
	var out []Op
	for _, tn := range slices.Sorted(maps.Keys(u.Rows)) {
		for _, key := range natural.Keys(u.Rows[tn]) {
			was := u.Rows[tn][key]
			if tn == TCable && was == nil {
				out = append(out, u.uncabled(cfg, key)...)
				continue
			}
			out = append(out, restore(cfg, tn, key, was)...)
		}
	}
	for _, o := range u.Fields {
		if _, whole := u.Rows[o.Table][o.Key]; !whole {
			out = append(out, restoreField(cfg, o)...)
		}
	}
	return out
}

// removeNewGroups returns the removal of the groups that buffermgrd has made since, on the ports
// for which of is true.
func (u Undo) removeNewGroups(cfg Config, of func(port string) bool) (out []Op) {
	for _, key := range natural.Keys(cfg[TGroup]) {
		port, _, _ := strings.Cut(key, "|")
		if _, was := u.Groups[key]; !was && of(port) && Derived(cfg.Row(TGroup, key)["profile"]) {
			out = append(out, Op{Table: TGroup, Key: key, Del: true})
		}
	}
	return out
}

// uncabled returns the removal of a row of cable lengths that did not exist before: of the whole
// row, or only of the run's own ports if it holds others as well.
func (u Undo) uncabled(cfg Config, key string) []Op {
	row := cfg.Row(TCable, key)
	var own []Op
	for _, port := range natural.Keys(row) {
		if slices.Contains(u.Ports, port) {
			own = append(own, Op{Table: TCable, Key: key, Field: port, Del: true})
		}
	}
	if len(own) == len(row) {
		return restore(cfg, TCable, key, nil)
	}
	var ops []Op
	for _, o := range own {
		ops = append(ops, restoreField(cfg, o)...)
	}
	return ops
}

// Derived returns ops for everything that differs from the old state after the switch had time to
// derive its groups again.
func (u Undo) Derived(cfg Config) []Op {
	var out []Op
	for _, key := range natural.Keys(u.Groups) {
		out = append(out, restore(cfg, TGroup, key, u.Groups[key])...)
	}
	out = append(out, u.removeNewGroups(cfg, func(port string) bool { return slices.Contains(u.Ports, port) })...)
	return append(out, u.written(cfg)...)
}

// Leftover returns the removal of derived profiles that are new and unused.
func (u Undo) Leftover(cfg Config) []Op {
	used := map[string]bool{}
	for _, row := range cfg[TGroup] {
		used[row["profile"]] = true
	}
	var out []Op
	for _, name := range natural.Keys(cfg[TProfile]) {
		if Derived(name) && !used[name] && !slices.Contains(u.Profiles, name) {
			out = append(out, Op{Table: TProfile, Key: name, Del: true})
		}
	}
	return out
}

// Derives reports whether the op concerns rows that buffermgrd derives.
func (o Op) Derives() bool {
	return o.Table == TProfile || o.Table == TGroup && (o.Del || Derived(o.Row["profile"]))
}

// Carry arranges ops that are not part of a plan into steps. It also returns the ops that no
// transport accepts, and whether SSH is needed.
func (s Site) Carry(running Config, ops []Op) (steps []Step, refused []string, ssh bool) {
	s.Check = nil // the old state ran before, so it is not validated
	ops = restartWatchdogs(ops, running)
	var good []Op
	for i, v := range s.verdicts(ops, running) {
		o := ops[i]
		switch {
		case v == nil:
		case o.Clears && (!s.SSH || o.Table == TPortQoS):
			continue // the models reject the value, and until it is gone the updater rejects every other change, too
		case s.SSH:
			o.overSSH, ssh = true, true
		case o.Derives():
			// An unused profile that the switch would derive again makes no difference.
			continue
		default:
			refused = append(refused, o.String())
			continue
		}
		good = append(good, o)
	}
	return s.steps(running, good), refused, ssh || s.Direct && len(good) > 0
}
