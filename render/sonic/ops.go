package sonic

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Op is one write: a whole row, one field of a row, or the removal of either. A whole row is always
// complete, because the switch replaces the node at a path.
type Op struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Field string `json:"field,omitempty"`
	Del   bool   `json:"del,omitempty"`
	Row   Row    `json:"row,omitempty"`
	Value string `json:"value,omitempty"`
	// Bounce is set if the op takes effect only after its port went down and up, and the config
	// updater does not do that.
	Bounce bool `json:"bounce,omitempty"`
	// Clears is set if the op writes a value that means "no value" before the field or row is
	// removed, because the daemons would otherwise keep the old value. Such ops come first.
	Clears bool `json:"clears,omitempty"`
	// overSSH is set if the config updater rejects the op.
	overSSH bool
	// impact is the impact of the op itself, apart from the meaning of the values it writes.
	impact qos.Impact
}

// String prints "TABLE|key field = value" for plans and errors.
func (o Op) String() string {
	s := o.Table + "|" + o.Key
	if o.Field != "" {
		s += " " + o.Field
	}
	switch {
	case o.Del:
		return "delete " + s
	case o.Field != "":
		return s + " = " + o.Value
	}
	return s + " = " + string(o.Row.JSON())
}

// apply applies the op to a configuration, as the switch does.
func (o Op) apply(c Config) {
	switch {
	case o.Del && o.Field == "":
		delete(c[o.Table], o.Key)
		if len(c[o.Table]) == 0 {
			delete(c, o.Table)
		}
	case o.Del:
		delete(c[o.Table][o.Key], o.Field)
	case o.Field != "":
		if c.Row(o.Table, o.Key) == nil {
			c.Put(o.Table, o.Key, Row{})
		}
		c[o.Table][o.Key][o.Field] = o.Value
	default:
		c.Put(o.Table, o.Key, maps.Clone(o.Row))
	}
}

// After returns the configuration after the ops. The result shares untouched parts with c, and rows
// with the ops, so none of them may be modified.
func (c Config) After(ops []Op) Config {
	out := maps.Clone(c)
	type place struct{ table, key string }
	tables, rows := map[string]bool{}, map[place]bool{} // the copies made so far
	for _, o := range ops {
		if !tables[o.Table] {
			tables[o.Table] = true
			if t := out[o.Table]; t != nil {
				out[o.Table] = maps.Clone(t)
			}
		}
		switch at := (place{o.Table, o.Key}); {
		case o.Field == "" && !o.Del:
			out.Put(o.Table, o.Key, o.Row)
			delete(rows, at)
			continue
		case o.Field != "" && !rows[at]:
			rows[at] = true
			if row := out.Row(o.Table, o.Key); row != nil {
				out[o.Table][o.Key] = maps.Clone(row)
			}
		}
		o.apply(out)
	}
	return out
}

// PortOf returns the port whose binding the op changes; "" for every other op. The config updater
// takes such a port down for the change (sonic-utilities:generic_config_updater/patch_sorter.py,
// RequiredValueIdentifier).
func (o Op) PortOf() string {
	switch o.Table {
	case TGroup, TBufferQueue, TQueue:
		port, _, _ := strings.Cut(o.Key, "|")
		return port
	case TIngressList, TEgressList:
		return o.Key
	case TCable:
		if o.Bounce {
			return o.Field
		}
	case TPortQoS:
		if o.Key != "global" {
			return o.Key
		}
	}
	return ""
}

// fieldTables lists the tables and rows whose fields have several owners. A change there is sent as
// a single field, so that recent writes of others to the row survive.
var fieldTables = []string{TPort, TCable, TWatchdog + "|GLOBAL"}

func byField(table, key string) bool {
	return slices.Contains(fieldTables, table) || slices.Contains(fieldTables, table+"|"+key)
}

// defaults gives the value that an absent field stands for (sonic-yang-models).
var defaults = map[string]string{
	TPort + " pfc_asym":        "off",
	TPort + " admin_status":    "down",
	TScheduler + " type":       "WRR",
	TScheduler + " weight":     "1",
	TScheduler + " meter_type": "bytes",
	TWRED + " ecn":             "ecn_none",
}

func effective(table, field, v string, ok bool) string {
	if !ok || v == Absent {
		v = defaults[table+" "+field]
	}
	switch field {
	case "pfc_enable", "pfcwd_sw_enable":
		ps := strings.Split(v, ",")
		slices.Sort(ps)
		return strings.Join(ps, ",")
	}
	return v
}

// differ reports whether a row of the device differs from what the target wants.
func differ(table string, have, want Row) bool {
	if slices.Contains(whole, table) {
		return !maps.Equal(have, want)
	}
	for f, w := range want {
		h, ok := have[f]
		if effective(table, f, h, ok) != effective(table, f, w, true) {
			return true
		}
	}
	return false
}

// merge applies the target's fields to the device's row and keeps all other fields.
func merge(have, want Row) Row {
	out := maps.Clone(have)
	if out == nil {
		out = Row{}
	}
	for f, v := range want {
		if v == Absent {
			delete(out, f)
		} else {
			out[f] = v
		}
	}
	return out
}

// ranged lists the tables whose keys may name several indexes at once.
var ranged = []string{TGroup, TBufferQueue, TQueue}

// delta returns the ops that turn running into target, in a fixed order, with at most one op per
// row or field. target follows the conventions of [Target].
func delta(running, target Config) []Op {
	var out []Op
	for _, table := range slices.Sorted(maps.Keys(target)) {
		if slices.Contains(ranged, table) {
			out = append(out, rangedDelta(table, running[table], target[table])...)
			continue
		}
		for _, key := range natural.Keys(target[table]) {
			out = append(out, rowDelta(table, key, running[table][key], target[table][key])...)
		}
	}
	return out
}

func rowDelta(table, key string, have, want Row) []Op {
	if want == nil {
		if have == nil {
			return nil
		}
		return []Op{{Table: table, Key: key, Del: true}}
	}
	if !differ(table, have, want) {
		return nil
	}
	if have != nil && byField(table, key) {
		var out []Op
		for _, f := range natural.Keys(want) {
			h, ok := have[f]
			w := want[f]
			switch {
			case effective(table, f, h, ok) == effective(table, f, w, true):
			case w == Absent:
				out = append(out, Op{Table: table, Key: key, Field: f, Del: true})
			default:
				out = append(out, Op{Table: table, Key: key, Field: f, Value: w})
			}
		}
		return out
	}
	row := merge(have, want)
	if slices.Contains(whole, table) {
		row = maps.Clone(want)
	}
	if len(row) == 0 {
		if have == nil {
			return nil
		}
		return []Op{{Table: table, Key: key, Del: true}}
	}
	return []Op{{Table: table, Key: key, Row: row}}
}

// cover is a key of one port and the indexes that it stands for.
type cover struct {
	key      string
	from, to int
}

// alone reports whether no other key names an index of the cover, and is is true for all of its
// indexes.
func (c cover) alone(at [][]int, is func(i int) bool) bool {
	for i := c.from; i <= c.to; i++ {
		if len(at[i]) > 1 || !is(i) {
			return false
		}
	}
	return true
}

// rangedDelta compares index by index: "3-4" means the same as "3" and "4". If an index is wrong,
// or two keys disagree about it, all keys that overlap it are split, and their contents are written
// under one key per index. A key whose indexes all get the same value is rewritten in place
// instead.
func rangedDelta(table string, have, want Table) []Op {
	covers := map[string][]cover{} // port -> its keys, sorted; in Decode a later key wins
	for _, key := range slices.Sorted(maps.Keys(have)) {
		port, idx, _ := strings.Cut(key, "|")
		if from, to, ok := Indexes(idx); ok {
			covers[port] = append(covers[port], cover{key, from, to})
		}
	}
	wanted := map[string][]int{} // port -> indexes that the target names
	for _, key := range slices.Sorted(maps.Keys(want)) {
		port, idx, _ := strings.Cut(key, "|")
		i, _ := strconv.Atoi(idx) // the encoder writes single indexes
		wanted[port] = append(wanted[port], i)
	}
	var dels, puts []Op
	for _, port := range natural.Keys(wanted) {
		d, p := portDelta(table, port, have, want, covers[port], wanted[port])
		dels, puts = append(dels, d...), append(puts, p...)
	}
	return append(dels, puts...)
}

func portDelta(table, port string, have, want Table, covers []cover, wanted []int) (dels, puts []Op) {
	const indexes = 16
	var row [indexes]Row  // the value of the port at each index
	var at [indexes][]int // the covers that include each index
	for n, c := range covers {
		for i := c.from; i <= c.to; i++ {
			row[i], at[i] = have[c.key], append(at[i], n)
		}
	}
	gone := make([]bool, len(covers))
	var write [indexes]bool
	// redo splits every key that covers an index, and the keys that overlap these.
	var redo func(i int)
	redo = func(i int) {
		write[i] = true
		for _, n := range at[i] {
			if gone[n] {
				continue
			}
			gone[n] = true
			for j := covers[n].from; j <= covers[n].to; j++ {
				redo(j)
			}
		}
	}
	key := func(i int) string { return port + "|" + strconv.Itoa(i) }
	for _, i := range wanted {
		w := want[key(i)]
		same := !differ(table, row[i], w)
		if w == nil {
			same = !unwanted(table, row[i])
		}
		if !same || differently(have, covers, at[i]) {
			redo(i)
		}
	}
	becomes := func(i int) Row {
		r := maps.Clone(row[i])
		if w, managed := want[key(i)]; w != nil {
			return merge(r, w)
		} else if managed && unwanted(table, r) {
			return nil
		}
		return r
	}
	written := map[string]bool{}
	for n, c := range covers {
		// A row whose indexes all get the same value is written in place, so that nothing is
		// unbound.
		if r := becomes(c.from); gone[n] && len(r) > 0 && !Derived(r["profile"]) && c.alone(at[:], func(i int) bool { return maps.Equal(becomes(i), r) }) {
			written[c.key] = true
			puts = append(puts, Op{Table: table, Key: c.key, Row: r})
			for i := c.from; i <= c.to; i++ {
				write[i] = false
			}
		}
	}
	for i := range indexes {
		if !write[i] {
			continue
		}
		// Skip derived rows: buffermgrd makes them again when the port comes up, perhaps with
		// another profile.
		if r := becomes(i); len(r) > 0 && !Derived(r["profile"]) {
			written[key(i)] = true
			puts = append(puts, Op{Table: table, Key: key(i), Row: r})
		}
	}
	for n, c := range covers {
		if gone[n] && !written[c.key] {
			dels = append(dels, Op{Table: table, Key: c.key, Del: true})
		}
	}
	return dels, puts
}

// differently reports whether the rows of the given covers differ.
func differently(have Table, covers []cover, some []int) bool {
	return slices.ContainsFunc(some, func(n int) bool { return !maps.Equal(have[covers[n].key], have[covers[some[0]].key]) })
}

// unwanted reports whether the device has a binding that the target wants removed. For a priority
// group only a binding with headroom counts; a lossy profile may stay.
func unwanted(table string, row Row) bool {
	if row == nil {
		return false
	}
	if table == TGroup {
		return row["profile"] == "NULL" || Derived(row["profile"])
	}
	return true
}
