package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// asWritten ends the name of a pseudo table: "QUEUE as written" holds the rows of QUEUE as their
// author wrote them, if some of them have an old form. QUEUE then holds their current form.
const asWritten = " as written"

// listed are the tables whose keys may name several ports (sonic-swss:orchagent/qosorch.cpp and
// bufferorch.cpp, list_item_delimiter).
var listed = []string{TPortQoS, TQueue, TGroup, TBufferQueue, TIngressList, TEgressList}

// Modernize turns old forms of rows into the current ones, in place: references such as
// "[WRED_PROFILE|AZURE_LOSSLESS]" become names, and a row whose key names several ports
// ("Ethernet0,Ethernet4|3") becomes one row per port. Files and switches hold both forms: the
// templates of many platforms still have such keys, and a switch rewrites references only when it
// starts with the configuration of an older release (sonic-utilities:scripts/db_migrator.py,
// qos_db_fieldval_reference_remove). It returns an error if there would be too many rows.
func (c Config) Modernize() error {
	for _, name := range slices.Collect(maps.Keys(c)) {
		written := c[name]
		plain, changed := withoutBrackets(written)
		if slices.Contains(listed, name) && hasListKey(written) {
			var err error
			if plain, err = perPort(name, plain); err != nil {
				return err
			}
			changed = true
		}
		if changed {
			c[name], c[name+asWritten] = plain, written
		}
	}
	return nil
}

func hasListKey(t Table) bool {
	for key := range t {
		if len(portsIn(key)) > 1 {
			return true
		}
	}
	return false
}

// portsIn returns the ports that a key names.
func portsIn(key string) []string {
	ports, _, _ := strings.Cut(key, "|")
	return strings.Split(ports, ",")
}

// perPort returns a table with one row for each port that a key names. If several rows set a field
// of one port, the one that the switch takes last wins.
func perPort(name string, t Table) (Table, error) {
	const most = 1 << 20
	out := make(Table, len(t))
	for _, key := range slices.Sorted(maps.Keys(t)) {
		_, index, indexed := strings.Cut(key, "|")
		ports := portsIn(key)
		if len(ports)+len(out) > most {
			return nil, fmt.Errorf("%w: %s names too many ports", errFormat, name)
		}
		for _, port := range ports {
			if indexed {
				port += "|" + index
			}
			if was := out[port]; was != nil {
				out[port] = overridden(name, was, t[key])
			} else {
				out[port] = t[key]
			}
		}
	}
	return out, nil
}

// overridden returns what the switch does with two rows that name the same port and index. A field
// that the later row lacks keeps its value, except for the bit masks of PORT_QOS_MAP, which are
// then empty (sonic-swss:orchagent/qosorch.cpp, handlePortQosMapTable and handleQueueTable).
func overridden(table string, earlier, later Row) Row {
	out := maps.Clone(earlier)
	if table == TPortQoS {
		delete(out, "pfc_enable")
		delete(out, "pfcwd_sw_enable")
	}
	maps.Copy(out, later)
	return out
}

// withoutBrackets returns a table whose references are names, and whether that changed a row.
func withoutBrackets(t Table) (Table, bool) {
	var out Table
	for key, row := range t {
		var plain Row
		for field, v := range row {
			if name := plainNames(v); name != v {
				if plain == nil {
					plain = maps.Clone(row)
				}
				plain[field] = name
			}
		}
		if plain == nil {
			continue
		}
		if out == nil {
			out = maps.Clone(t)
		}
		out[key] = plain
	}
	if out == nil {
		return t, false
	}
	return out, true
}

// plainNames returns the names in a list of references in brackets; "[]" refers to nothing. Any
// other text is returned unchanged.
func plainNames(v string) string {
	if !strings.HasPrefix(v, "[") {
		return v
	}
	if v == "[]" {
		return ""
	}
	refs := strings.Split(v, ",")
	for i, ref := range refs {
		ref, open := strings.CutPrefix(ref, "[")
		ref, shut := strings.CutSuffix(ref, "]")
		table, name, ok := strings.Cut(ref, "|")
		if !open || !shut || !ok || !WantTable(table) {
			return v
		}
		refs[i] = name
	}
	return strings.Join(refs, ",")
}

// written returns the rows of a table as their author wrote them.
func (c Config) written(table string) Table {
	if t, ok := c[table+asWritten]; ok {
		return t
	}
	return c[table]
}

// writtenRow is a row whose key names one or more ports, as its author wrote it.
type writtenRow struct {
	key   string
	ports []string
	index string // queue or priority group, or a range of them; "" if the key names ports only
	row   Row    // with names in place of references in brackets
}

// inOrder returns the rows of a table in the order in which the switch takes them when it starts:
// by the bytes of their keys (sonic-swss:orchagent/orch.h, SyncMap). If two rows set the same queue
// or group, the later one wins.
func (c Config) inOrder(table string) []writtenRow {
	plain, _ := withoutBrackets(c.written(table))
	out := make([]writtenRow, 0, len(plain))
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		_, index, _ := strings.Cut(key, "|")
		out = append(out, writtenRow{key, portsIn(key), index, plain[key]})
	}
	return out
}

// sharedRows returns, for each port of a table, a key that names it together with other ports.
func (c Config) sharedRows(table string) map[string]string {
	out := map[string]string{}
	for key := range c[table+asWritten] {
		ports := portsIn(key)
		if len(ports) < 2 {
			continue
		}
		for _, port := range ports {
			if was, is := out[port]; !is || key < was {
				out[port] = key
			}
		}
	}
	return out
}
