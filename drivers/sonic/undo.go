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
	// Flapped are the ports that were up before the run and are up after it.
	Flapped []string `json:"flapped,omitempty"`

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
	end := after(cfg, slices.Concat(steps...))
	for i, ops := range steps {
		s := st.Items[i]
		u.SSH = u.SSH || s.Via == "ssh"
		// The updater itself may leave a port down when it fails half way.
		for _, p := range slices.Concat(s.Down, s.Up) {
			if up(cfg, p) && up(end, p) && !slices.Contains(u.Flapped, p) {
				u.Flapped = append(u.Flapped, p)
			}
			ports[p] = true
			field(native.TPort, p, "admin_status")
		}
		for _, o := range ops {
			if p := o.portOf(); p != "" {
				ports[p] = true
			}
			if o.Table == native.TCable {
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

// restored returns u for a switch on which the given ports are left down: they
// come up. Any other port that the run took down and brought up again stays as
// it is, for one that is down was shut by someone else since.
func (u undo) restored(left map[string]string) undo {
	var fields []op
	for _, o := range u.Fields {
		_, ours := left[o.Key]
		switch {
		case o.Table != native.TPort || o.Field != "admin_status":
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

// written returns what restores the rows and fields that were written.
func (u undo) written(cfg native.Config) []op {
	var out []op
	for _, tn := range slices.Sorted(maps.Keys(u.Rows)) {
		for _, key := range natural.Keys(u.Rows[tn]) {
			was := u.Rows[tn][key]
			if tn == native.TCable && was == nil {
				out = append(out, u.uncabled(cfg, key)...)
				continue
			}
			out = append(out, restore(cfg, tn, key, was)...)
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

// uncabled returns the removal of a row of cable lengths that was not there: of
// all of it, unless it holds ports that the run did not write.
func (u undo) uncabled(cfg native.Config, key string) []op {
	row := cfg.Row(native.TCable, key)
	var own []op
	for _, port := range natural.Keys(row) {
		if slices.Contains(u.Ports, port) {
			own = append(own, op{Table: native.TCable, Key: key, Field: port, Del: true})
		}
	}
	if len(own) == len(row) {
		return restore(cfg, native.TCable, key, nil)
	}
	return own
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
