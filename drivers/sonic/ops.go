package sonic

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// op is one write: a whole row, one field of a row, or the removal of either.
// The switch replaces the node at a path, so a row is always sent complete.
type op struct {
	Table string     `json:"table"`
	Key   string     `json:"key"`
	Field string     `json:"field,omitempty"`
	Del   bool       `json:"del,omitempty"`
	Row   native.Row `json:"row,omitempty"`
	Value string     `json:"value,omitempty"`
}

// String prints "TABLE|key field = value" for plans and errors.
func (o op) String() string {
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

// apply carries the op out on a configuration, as the switch does.
func (o op) apply(c native.Config) {
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
			c.Put(o.Table, o.Key, native.Row{})
		}
		c[o.Table][o.Key][o.Field] = o.Value
	default:
		c.Put(o.Table, o.Key, maps.Clone(o.Row))
	}
}

// portOf returns the port whose binding the op changes: the updater takes such
// a port down for the change (sonic-utilities:generic_config_updater/
// patch_sorter.py, RequiredValueIdentifier). "" for every other op.
func (o op) portOf() string {
	switch o.Table {
	case native.TGroup, native.TBufferQueue, native.TQueue:
		port, _, _ := strings.Cut(o.Key, "|")
		return port
	case native.TIngressList, native.TEgressList:
		return o.Key
	case native.TPortQoS:
		if o.Key != "global" {
			return o.Key
		}
	}
	return ""
}

// fieldTables hold rows that this tool shares with others field by field: a
// change is sent as that one field, so that a neighbour's field written a
// moment ago survives.
var fieldTables = []string{native.TPort, native.TCable, native.TWatchdog + "|GLOBAL"}

func byField(table, key string) bool {
	return slices.Contains(fieldTables, table) || slices.Contains(fieldTables, table+"|"+key)
}

// defaults are the values that an absent field stands for
// (sonic-yang-models).
var defaults = map[string]string{
	native.TPort + " pfc_asym":        "off",
	native.TPort + " admin_status":    "down",
	native.TScheduler + " type":       "WRR",
	native.TScheduler + " weight":     "1",
	native.TScheduler + " meter_type": "bytes",
	native.TWRED + " ecn":             "ecn_none",
}

func effective(table, field, v string, ok bool) string {
	if !ok || v == native.Absent {
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

// whole are the tables whose fields are data: a map is all of its entries, so
// one that the target does not list has to go.
var whole = []string{native.TDSCPToTC, native.TDot1pToTC, native.TTCToQueue, native.TTCToGroup, native.TPFCToQueue, native.TPFCToGroup, native.TTCToDSCP}

// differ reports whether a row of the device lacks what the target wants.
func differ(table string, have, want native.Row) bool {
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

// merge returns the device's row with the target's fields laid over it: fields
// of others stay.
func merge(have, want native.Row) native.Row {
	out := maps.Clone(have)
	if out == nil {
		out = native.Row{}
	}
	for f, v := range want {
		if v == native.Absent {
			delete(out, f)
		} else {
			out[f] = v
		}
	}
	return out
}

// ranged are the tables whose keys may name several indexes at once.
var ranged = []string{native.TGroup, native.TBufferQueue, native.TQueue}

// delta returns the ops that turn running into target, each key at most once,
// in a fixed order. Target follows the conventions of [native.Target].
func delta(running, target native.Config) []op {
	var out []op
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

func rowDelta(table, key string, have, want native.Row) []op {
	if want == nil {
		if have == nil {
			return nil
		}
		return []op{{Table: table, Key: key, Del: true}}
	}
	if !differ(table, have, want) {
		return nil
	}
	if have != nil && byField(table, key) {
		var out []op
		for _, f := range natural.Keys(want) {
			h, ok := have[f]
			w := want[f]
			switch {
			case effective(table, f, h, ok) == effective(table, f, w, true):
			case w == native.Absent:
				out = append(out, op{Table: table, Key: key, Field: f, Del: true})
			default:
				out = append(out, op{Table: table, Key: key, Field: f, Value: w})
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
		return []op{{Table: table, Key: key, Del: true}}
	}
	return []op{{Table: table, Key: key, Row: row}}
}

// rangedDelta compares index by index: "3-4" and "3" with "4" mean the same.
// Where an index differs, the keys that cover it are taken apart.
func rangedDelta(table string, have, want native.Table) []op {
	type cover struct {
		key      string
		from, to int
	}
	covers := map[string][]cover{} // port -> keys of the device
	for key := range have {
		port, idx, _ := strings.Cut(key, "|")
		if from, to, ok := native.Indexes(idx); ok {
			covers[port] = append(covers[port], cover{key, from, to})
		}
	}
	at := func(port string, i int) (native.Row, []cover) {
		var cs []cover
		var row native.Row
		for _, c := range covers[port] {
			if i >= c.from && i <= c.to {
				cs = append(cs, c)
				row = have[c.key]
			}
		}
		return row, cs
	}
	var dels, puts []op
	gone := map[string]bool{} // keys taken apart
	kept := map[string]bool{} // keys written
	put := func(port string, i int, row native.Row) {
		key := port + "|" + strconv.Itoa(i)
		// buffermgrd writes its own rows anew when the port comes up, perhaps
		// with another profile.
		if !kept[key] && len(row) > 0 && !native.Derived(row["profile"]) {
			kept[key] = true
			puts = append(puts, op{Table: table, Key: key, Row: row})
		}
	}
	for _, key := range natural.Keys(want) {
		port, idx, _ := strings.Cut(key, "|")
		i, _ := strconv.Atoi(idx)
		row, cs := at(port, i)
		w := want[key]
		same := len(cs) <= 1 && !differ(table, row, w)
		if w == nil {
			same = !unwanted(table, row)
		}
		if same {
			continue
		}
		// A key of just this index is overwritten, any other one is taken
		// apart and its other indexes are written singly, as they were.
		for _, c := range cs {
			if gone[c.key] {
				continue
			}
			if c.from == c.to && w != nil {
				continue
			}
			gone[c.key] = true
			dels = append(dels, op{Table: table, Key: c.key, Del: true})
			for j := c.from; j <= c.to; j++ {
				other := port + "|" + strconv.Itoa(j)
				if _, managed := want[other]; !managed && j != i {
					put(port, j, maps.Clone(have[c.key]))
				}
			}
		}
		if w != nil {
			put(port, i, merge(row, w))
		}
	}
	// An index that was right inside a key that has been taken apart needs a
	// key of its own now.
	for _, key := range natural.Keys(want) {
		port, idx, _ := strings.Cut(key, "|")
		i, _ := strconv.Atoi(idx)
		row, cs := at(port, i)
		for _, c := range cs {
			if gone[c.key] && c.from != c.to && want[key] != nil && !kept[key] {
				put(port, i, merge(row, want[key]))
			} else if gone[c.key] && want[key] == nil && !unwanted(table, row) {
				put(port, i, maps.Clone(row))
			}
		}
	}
	return append(dels, puts...)
}

// unwanted reports whether a binding that the target wants gone is there: for
// a priority group that means headroom, a lossy profile may stay.
func unwanted(table string, row native.Row) bool {
	if row == nil {
		return false
	}
	if table == native.TGroup {
		return row["profile"] == "NULL" || native.Derived(row["profile"])
	}
	return true
}
