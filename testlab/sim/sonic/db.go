package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// row is one Redis hash. Rows are never modified once stored, because databases, checkpoints and
// snapshots share them.
type row map[string]string

// tables is one database, table -> key -> row.
type tables map[string]map[string]row

func copyRow(m map[string]string) row {
	r := make(row, len(m))
	maps.Copy(r, m)
	return r
}

// clone copies the two outer levels and shares the rows.
func (t tables) clone() tables {
	c := make(tables, len(t))
	for k, v := range t {
		c[k] = maps.Clone(v)
	}
	return c
}

func (t tables) deep() map[string]map[string]map[string]string {
	c := make(map[string]map[string]map[string]string, len(t))
	for name, keys := range t {
		m := make(map[string]map[string]string, len(keys))
		for k, r := range keys {
			m[k] = maps.Clone(map[string]string(r))
		}
		c[name] = m
	}
	return c
}

func (t tables) set(table, key string, r row) {
	if t[table] == nil {
		t[table] = map[string]row{}
	}
	t[table][key] = r
}

func (t tables) del(table, key string) {
	delete(t[table], key)
	if len(t[table]) == 0 {
		delete(t, table)
	}
}

// json returns the database in the format of config_db.json.
func (t tables) json() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, t.encode(), "", "    "); err != nil {
		return nil // encode always writes valid JSON
	}
	return append(b.Bytes(), '\n')
}

// doc returns the JSON tree that the config reader makes of CONFIG_DB: `field@` becomes a list, the
// NULL placeholder is dropped. All trees share the entry of a row, which makes comparing trees
// fast, so nothing below the two outer levels may be modified. The caller holds mu.
func (s *Switch) doc(t tables) map[string]any {
	d := make(map[string]any, len(t))
	for table, keys := range t {
		m := make(map[string]any, len(keys))
		for k, r := range keys {
			m[k] = s.entryOf(r)
		}
		d[table] = m
	}
	return d
}

// shownRow is a row and its entry in the trees.
type shownRow struct {
	r     row
	entry map[string]any
}

// entryOf returns the entry of a row and caches it: switches have a few rows under many keys.
func (s *Switch) entryOf(r row) map[string]any {
	at := reflect.ValueOf(r).Pointer()
	if shown, ok := s.entries[at]; ok {
		return shown.entry
	}
	if s.entries == nil || len(s.entries) > maxShared {
		s.entries = map[uintptr]shownRow{}
	}
	shown := shownRow{r, r.doc()} // keeps the row, and thus its address, alive
	s.entries[at] = shown
	return shown.entry
}

// maxShared limits the caches of shared rows.
const maxShared = 8192

func (r row) doc() map[string]any {
	m := make(map[string]any, len(r))
	for f, v := range r {
		if name, ok := strings.CutSuffix(f, "@"); ok {
			l := []any{}
			if v != "" {
				for _, e := range strings.Split(v, ",") {
					l = append(l, e)
				}
			}
			m[name] = l
		} else if f != "NULL" {
			m[f] = v
		}
	}
	return m
}

// rowOf returns the hash that the config writer makes of an entry: an entry without fields gets the
// placeholder, a list becomes `field@`, a number becomes text.
func rowOf(entry any) row {
	m, _ := entry.(map[string]any)
	r := make(row, len(m))
	for f, v := range m {
		if l, ok := v.([]any); ok {
			parts := make([]string, len(l))
			for i, e := range l {
				parts[i] = text(e)
			}
			r[f+"@"] = strings.Join(parts, ",")
		} else {
			r[f] = text(v)
		}
	}
	if len(r) == 0 {
		r["NULL"] = "NULL"
	}
	return r
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "True"
		}
		return "False"
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}

// tablesOf turns a JSON tree into a database; anything that is not a table of entries is left out,
// as in sonic-cfggen.
func (s *Switch) tablesOf(d map[string]any) tables {
	t := make(tables, len(d))
	for table, v := range d {
		keys, ok := v.(map[string]any)
		if !ok {
			continue
		}
		for k, e := range keys {
			if _, ok := e.(map[string]any); ok {
				t.set(table, k, s.share(rowOf(e)))
			}
		}
	}
	return t
}

// internAll copies a configuration and stores equal rows once: the queues of a switch are a handful
// of rows under hundreds of keys.
func (s *Switch) internAll(src map[string]map[string]map[string]string) tables {
	t := make(tables, len(src))
	for table, keys := range src {
		if len(keys) == 0 {
			continue
		}
		m := make(map[string]row, len(keys))
		for k, r := range keys {
			if len(r) == 0 {
				r = map[string]string{"NULL": "NULL"}
			}
			m[k] = s.share(row(r))
		}
		t[table] = m
	}
	return t
}

// share returns the stored row equal to r, or stores a copy.
func (s *Switch) share(r row) row {
	var b []byte
	for _, f := range sortedKeys(r) {
		b = append(append(append(append(b, f...), 0), r[f]...), 0)
	}
	sig := string(b)
	if have, ok := s.intern[sig]; ok {
		return have
	}
	if len(s.intern) > maxShared { // does no harm: rows are only no longer shared
		s.intern = map[string]row{}
	}
	c := copyRow(r)
	s.intern[sig] = c
	return c
}

// writeRow stores one CONFIG_DB row, or removes it if r is nil, and lets the daemons react. The
// caller holds mu.
func (s *Switch) writeRow(table, key string, r row) {
	old := s.cfg[table][key]
	if r == nil && old == nil {
		return
	}
	s.derived = derived{}
	s.bind(table, key, old, r)
	if r != nil && len(r) == 0 {
		r = row{"NULL": "NULL"}
	}
	if r != nil && maps.Equal(old, r) {
		return
	}
	if r == nil {
		s.cfg.del(table, key)
	} else {
		s.cfg.set(table, key, s.share(r))
	}
	if table == "PORT" {
		s.noteAdmin(key, old["admin_status"] == "up", r["admin_status"] == "up")
	}
	s.orchApply(table, key, r)
	s.buffersReact(table, key, old, r)
	s.tell(table, key, r)
}

// noteAdmin counts flaps: up -> down -> up.
func (s *Switch) noteAdmin(port string, was, is bool) {
	switch {
	case was && !is:
		s.bouncing[port] = true
	case !was && is && s.bouncing[port]:
		delete(s.bouncing, port)
		s.flaps[port]++
	}
}

func (s *Switch) mergeRow(db, table, key string, fields map[string]string) {
	if db == "CONFIG_DB" {
		r := copyRow(s.cfg[table][key])
		delete(r, "NULL")
		maps.Copy(r, fields)
		s.writeRow(table, key, r)
		return
	}
	if s.overlay == nil {
		s.overlay = map[string]tables{}
	}
	if s.overlay[db] == nil {
		s.overlay[db] = tables{}
	}
	r := copyRow(s.overlay[db][table][key])
	maps.Copy(r, fields)
	s.overlay[db].set(table, key, r)
}

// databases maps a name to its number and separator (sonic-swss-common
// common/database_config.json).
var databases = map[string]struct {
	id  int
	sep string
}{
	"APPL_DB": {0, ":"}, "ASIC_DB": {1, ":"}, "COUNTERS_DB": {2, ":"}, "CONFIG_DB": {4, "|"}, "STATE_DB": {6, "|"},
}

// database returns one database, or only one of its tables if only is set; nil for an unknown name.
// The caller holds mu and must not modify rows.
func (s *Switch) database(name, only string) tables {
	var t tables
	switch name {
	case "CONFIG_DB":
		return s.cfg
	case "APPL_DB":
		if s.dead[Orchagent] {
			t = s.unread(only)
		} else {
			t = s.computed("APPL_DB", only, s.applDB)
		}
	case "STATE_DB":
		t = s.stateDB(only)
	case "ASIC_DB":
		if s.faults.on(&s.faults.noASIC) {
			return tables{}
		}
		if s.dead[Orchagent] {
			t = s.still["ASIC_DB"].table(only)
		} else if t = s.computed("ASIC_DB", only, s.asicDB); s.faults.on(&s.faults.bareASIC) {
			t = switchAlone(t)
		}
	case "COUNTERS_DB":
		t = s.countersDB(only)
	default:
		return nil
	}
	for table, keys := range s.overlay[name] {
		for k, r := range keys {
			merged := copyRow(t[table][k])
			maps.Copy(merged, r)
			t.set(table, k, merged)
		}
	}
	if name == "APPL_DB" && isRequested(only, "LLDP_ENTRY_TABLE") {
		s.managementNeighbor(t)
	}
	return t
}

// computed caches a database that follows from the configuration, because clients read it
// repeatedly between two changes. The caller may modify the returned copy, but not its rows.
func (s *Switch) computed(name, only string, compute func(only string) tables) tables {
	at := name + " " + only
	t, ok := s.derived.tables[at]
	if !ok {
		t = compute(only)
		put(&s.derived.tables, at, t)
	}
	return t.clone()
}

// derived holds what was computed since the last change.
type derived struct {
	tables map[string]tables // databases
	texts  map[string][]byte // what clients were sent of them
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// text returns the JSON of a database or of one of its tables. It keeps that of databases that follow
// from the configuration alone.
func (s *Switch) text(db, table string, write func() []byte) []byte {
	asic := db == "ASIC_DB" && !s.dead[Orchagent] && len(s.overlay[db]) == 0 && !s.faults.on(&s.faults.noASIC) && !s.faults.on(&s.faults.bareASIC)
	if db != "CONFIG_DB" && !asic {
		return write()
	}
	at := db + " " + table
	b, ok := s.derived.texts[at]
	if !ok {
		b = write()
		put(&s.derived.texts, at, b)
	}
	return b
}

func sortedKeys[V any, M ~map[string]V](m M) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// naturalKeys sorts Ethernet8 before Ethernet16.
func naturalKeys[V any, M ~map[string]V](m M) []string {
	return ordered.Sorted(maps.Keys(m), naturalCompare)
}

// naturalOf returns the sorted keys of the wanted entries. It sorts only those, which are usually
// few.
func naturalOf[V any, M ~map[string]V](m M, wanted func(k string, v V) bool) []string {
	var keys []string
	for k, v := range m {
		if wanted(k, v) {
			keys = append(keys, k)
		}
	}
	ordered.Sort(keys, naturalCompare)
	return keys
}

func naturalCompare(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
