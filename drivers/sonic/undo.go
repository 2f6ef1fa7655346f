package sonic

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// undo is the native part of a token: what stood where something was written.
type undo struct {
	// Rows are the rows that are written whole, as they were; nil for a row
	// that was not there.
	Rows map[string]map[string]native.Row `json:"rows,omitempty"`
	// Fields restore the single fields of rows that others write as well.
	Fields []op `json:"fields,omitempty"`
	// Groups are the BUFFER_PG rows, as they were, of the ports (Ports) whose
	// groups the switch derives anew; Profiles the derived profiles that there
	// were.
	Groups   map[string]native.Row `json:"groups,omitempty"`
	Ports    []string              `json:"ports,omitempty"`
	Profiles []string              `json:"profiles,omitempty"`

	Policy     drivers.Policy `json:"policy"`
	Checkpoint string         `json:"checkpoint,omitempty"`
	SSH        bool           `json:"ssh,omitempty"`
}

func remember(cfg native.Config, steps [][]op, st *drivers.Steps) undo {
	u := undo{Rows: map[string]map[string]native.Row{}, Groups: map[string]native.Row{}, Policy: st.Policy}
	fields := map[place]bool{}
	field := func(table, key, name string) {
		p := place{table, key, name}
		if fields[p] {
			return
		}
		fields[p] = true
		v, ok := cfg.Row(table, key)[name]
		u.Fields = append(u.Fields, op{Table: table, Key: key, Field: name, Value: v, Del: !ok})
	}
	ports := map[string]bool{}
	for i, ops := range steps {
		s := st.Items[i]
		u.SSH = u.SSH || s.Via == "ssh"
		// The updater itself may leave a port down when it fails half way.
		for _, p := range slices.Concat(s.Down, s.Up) {
			ports[p] = true
			field(native.TPort, p, "admin_status")
		}
		for _, o := range ops {
			if p := o.portOf(); p != "" {
				ports[p] = true
			}
			if o.Table == native.TCable && o.Field != "" {
				ports[o.Field] = true
			}
			if o.Field != "" {
				field(o.Table, o.Key, o.Field)
				continue
			}
			if u.Rows[o.Table] == nil {
				u.Rows[o.Table] = map[string]native.Row{}
			}
			u.Rows[o.Table][o.Key] = maps.Clone(cfg.Row(o.Table, o.Key))
		}
	}
	for key, row := range cfg[native.TGroup] {
		if port, _, _ := strings.Cut(key, "|"); ports[port] && native.Derived(row["profile"]) {
			u.Groups[key] = maps.Clone(row)
			delete(u.Rows[native.TGroup], key)
		}
	}
	u.Ports = natural.Keys(ports)
	for name := range cfg[native.TProfile] {
		if native.Derived(name) {
			u.Profiles = append(u.Profiles, name)
		}
	}
	slices.Sort(u.Profiles)
	return u
}

// restore returns the op that makes a row what it was, or none.
func restore(cfg native.Config, table, key string, was native.Row) []op {
	have := cfg.Row(table, key)
	switch {
	case (was == nil) == (have == nil) && maps.Equal(have, was):
		return nil
	case was == nil:
		return []op{{Table: table, Key: key, Del: true}}
	}
	return []op{{Table: table, Key: key, Row: was}}
}

// written returns what restores the rows and fields that were written.
func (u undo) written(cfg native.Config) []op {
	var out []op
	for _, tn := range slices.Sorted(maps.Keys(u.Rows)) {
		for _, key := range natural.Keys(u.Rows[tn]) {
			out = append(out, restore(cfg, tn, key, u.Rows[tn][key])...)
		}
	}
	for _, o := range u.Fields {
		row := cfg.Row(o.Table, o.Key)
		// A port that is gone since then stays gone, and a row that is removed
		// needs no fields.
		if v, ok := row[o.Field]; row == nil || ok != o.Del && v == o.Value {
			continue
		}
		if rows, ok := u.Rows[o.Table]; ok {
			if _, ok := rows[o.Key]; ok {
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

// derived returns what the switch did not derive again as it was.
func (u undo) derived(cfg native.Config) []op {
	var out []op
	for _, key := range natural.Keys(u.Groups) {
		out = append(out, restore(cfg, native.TGroup, key, u.Groups[key])...)
	}
	for _, key := range natural.Keys(cfg[native.TGroup]) {
		port, _, _ := strings.Cut(key, "|")
		if _, was := u.Groups[key]; !was && slices.Contains(u.Ports, port) && native.Derived(cfg.Row(native.TGroup, key)["profile"]) {
			out = append(out, op{Table: native.TGroup, Key: key, Del: true})
		}
	}
	return append(out, u.written(cfg)...)
}

// leftover returns the removal of derived profiles that were not there and
// that nothing uses any more.
func (u undo) leftover(cfg native.Config) []op {
	used := map[string]bool{}
	for _, row := range cfg[native.TGroup] {
		used[row["profile"]] = true
	}
	var out []op
	for _, name := range natural.Keys(cfg[native.TProfile]) {
		if native.Derived(name) && !used[name] && !slices.Contains(u.Profiles, name) {
			out = append(out, op{Table: native.TProfile, Key: name, Del: true})
		}
	}
	return out
}

// daemons reports whether the op is about what buffermgrd derives.
func (o op) daemons() bool {
	return o.Table == native.TProfile || o.Table == native.TGroup && (o.Del || native.Derived(o.Row["profile"]))
}
