package sonic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// load applies a file like 'config load': fields are merged, null removes a row.
func load(t *rapid.T, cfg Config, text []byte) Config {
	if text == nil {
		return cfg
	}
	var file map[string]map[string]map[string]string
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	out := cfg.Clone()
	for table, rows := range file {
		for key, fields := range rows {
			if fields == nil {
				delete(out[table], key)
				continue
			}
			row := out.Row(table, key)
			if row == nil {
				row = Row{}
			}
			maps.Copy(row, fields)
			out.Put(table, key, row)
		}
		if len(out[table]) == 0 {
			delete(out, table)
		}
	}
	return out
}

// dangling lists references to objects that do not exist.
func dangling(cfg Config) (out []string) {
	for table, rows := range cfg {
		for key, row := range rows {
			refs(table, row, func(t, name string) {
				if cfg.Row(t, name) == nil {
					out = append(out, table+"|"+key+" -> "+t+"|"+name)
				}
			})
		}
	}
	slices.Sort(out)
	return out
}

// models validates a configuration, but only its references.
func models(c Config) (out []Fault) {
	for _, d := range dangling(c) {
		at, _, _ := strings.Cut(d, " -> ")
		table, key, _ := strings.Cut(at, "|")
		out = append(out, Fault{table, key, d})
	}
	return out
}

// TestLoadsKeepReferencesWhole: while a direct plan is carried out, no row ever names an object
// that does not exist. No port goes down, except to renew headroom that nothing else renews. At the
// end the switch holds the same configuration as after the same plan over gNMI.
func TestLoadsKeepReferencesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, desired := anyRunning(t), anyDesired(t)
		before := dangling(running)
		new := func(cfg Config, when string) {
			if now := slices.DeleteFunc(dangling(cfg), func(d string) bool { return slices.Contains(before, d) }); len(now) > 0 {
				t.Fatalf("%s: %v", when, now)
			}
		}
		site := Site{Release: releases[rapid.IntRange(0, len(releases)-1).Draw(t, "release")], Chip: "spc3", SSH: true, Direct: true, Check: models, Policy: Policy{PortGroup: 2}}
		cfg, plan := running, site.Plan(running, desired)
		if notes := strings.Join(plan.Notes, "\n"); strings.Contains(notes, "models of the switch's image") {
			t.Fatalf("the models are asked of a state that no load makes: %s", notes)
		}
		var all [][]Op
		bounces := map[string]bool{}
		for _, s := range plan.Steps {
			all = append(all, s.Ops)
			for _, o := range s.Ops {
				bounces[o.PortOf()] = bounces[o.PortOf()] || o.Bounce
			}
		}
		for _, s := range plan.Steps {
			if s.Via != "ssh" {
				t.Fatalf("%s goes over %s", s.What, s.Via)
			}
			for _, port := range s.Down {
				if !bounces[port] && cfg.After(slices.Concat(all...)).Up(port) {
					t.Fatalf("%s takes down %s", s.What, port)
				}
			}
			put, gone, fields := Loads(cfg, s.Ops)
			want := cfg.After(s.Ops)
			cfg = load(t, cfg, put.File)
			new(cfg, "after the rows of "+s.What)
			for _, f := range fields {
				cfg = cfg.Clone()
				for _, n := range f.Fields {
					delete(cfg[f.Table][f.Key], n)
				}
				new(cfg, "without fields of "+f.Table+"|"+f.Key)
			}
			cfg = load(t, cfg, gone.File)
			new(cfg, "after "+s.What)
			if !bytes.Equal(cfg.AppendJSON(nil), want.AppendJSON(nil)) {
				t.Fatalf("%s: loads make %s\nof %s", s.What, cfg.AppendJSON(nil), want.AppendJSON(nil))
			}
		}
		blocked := map[qos.Place]bool{}
		for _, c := range plan.Changes {
			blocked[c.Place()] = c.Blocked != ""
		}
		for _, c := range site.Plan(cfg, desired).Changes {
			if !blocked[c.Place()] && c.Field.Kind.Of() != qos.OfGroup {
				t.Fatalf("still to do: %+v", c)
			}
		}
	})
}

// A row that gives up an index is removed in a load before the row that takes the index: otherwise
// orchagent would unbind the new binding.
func TestAnIndexIsFreedFirst(t *testing.T) {
	cfg, d := shared()
	cfg[TQueue] = Table{"Ethernet0|3-4": {"scheduler": "scheduler.1"}, "Ethernet8|3": {"scheduler": "scheduler.1"}}
	steps := Site{Release: Newest(), SSH: true, Direct: true, Policy: Policy{PortGroup: 1}}.Plan(cfg, d).Steps
	at := func(del bool, key string) int {
		return slices.IndexFunc(steps, func(s Step) bool {
			return slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Table == TQueue && o.Del == del && strings.HasPrefix(o.Key, key) })
		})
	}
	if gone, comes := at(true, "Ethernet0|3-4"), at(false, "Ethernet0|3"); gone < 0 || comes <= gone {
		t.Errorf("freed in step %d, taken in step %d: %+v", gone, comes, steps)
	}
}

func TestParseDumps(t *testing.T) {
	got, err := ParseDumps([]byte(`{"PORT_TABLE:Ethernet0": {"expireat": 0, "ttl": -0.001, "type": "hash", "value": {"mtu": "9100", "NULL": "NULL"}},
 "KEY_SET": {"type": "set", "value": ["a", "b"], "ttl": -1}} {"X": {"value": {}, "type": "hash"}}
{}`))
	if err != nil || len(got) != 2 || got["PORT_TABLE:Ethernet0"]["mtu"] != "9100" || len(got["PORT_TABLE:Ethernet0"]) != 1 || got["X"] == nil {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{`{"a": {"value": {"f": {}}}}`, `{"a"`, `[]`, `{} x`, "Traceback"} {
		if got, err := ParseDumps([]byte(bad)); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

func FuzzParseDumps(f *testing.F) {
	f.Add([]byte(`{"a": {"type": "hash", "value": {"f": "v"}, "ttl": 1}}{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = ParseDumps(text)
	})
}
