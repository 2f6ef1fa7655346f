package sonic

import (
	"maps"
	"slices"
	"strings"
)

// rememberedTables are the tables whose applied state can differ from CONFIG_DB.
var rememberedTables = []string{"BUFFER_POOL", "BUFFER_PROFILE", "SCHEDULER", "WRED_PROFILE", "PFC_WD", "PORT"}

var (
	schedulerFields = []string{"type", "weight", "meter_type", "cir", "cbs", "pir", "pbs", "NULL"}
	wredFields      = append(wredFieldNames(), "NULL")
	pfcwdActions    = []string{"drop", "forward", "alert"}
	pfcwdFields     = []string{"action", "detection_time", "restoration_time", "pfc_stat_history", "POLL_INTERVAL", "NULL"}
)

func wredFieldNames() []string {
	l := []string{"ecn"}
	for _, c := range colours {
		l = append(l, "wred_"+c+"_enable", c+"_min_threshold", c+"_max_threshold", c+"_drop_probability")
	}
	return l
}

// orchApply simulates orchagent's reaction to a change of one CONFIG_DB row: it stores the accepted
// state (sonic-swss orchagent/qosorch.cpp, bufferorch.cpp, pfcwdorch.cpp). Rows of other tables
// apply as they are.
func (s *Switch) orchApply(table, key string, r row) {
	if s.fatal(table, key, r) {
		s.kill(Orchagent)
	}
	if !slices.Contains(rememberedTables, table) {
		return
	}
	have := s.orch[table][key]
	if r == nil {
		// An object in use stays until its last user releases it.
		if have != nil && !(table == "WRED_PROFILE" && s.queueUses("wred_profile", key)) && !(table == "SCHEDULER" && s.queueUses("scheduler", key)) {
			delete(s.orch[table], key)
		}
		return
	}
	keep := r
	switch table {
	case "SCHEDULER":
		if f := unknownField(r, schedulerFields); f != "" {
			s.logf("ERR orchagent: :- convertFieldValuesToAttributes: Unknown field:%s", f)
			return
		}
		keep = copyRow(have) // only the fields in the row are set
		maps.Copy(keep, r)
	case "WRED_PROFILE":
		if f := unknownField(r, wredFields); f != "" {
			s.logf("ERR orchagent: :- convertFieldValuesToAttributes: Unknown wred profile field:%s", f)
			return
		}
		keep = copyRow(have) // a removed field keeps its value
		maps.Copy(keep, r)
	case "PFC_WD":
		if f := unknownField(r, pfcwdFields); f != "" {
			s.logf("ERR orchagent: :- createEntry: Failed to parse PFC Watchdog %s configuration. Unknown attribute %s", key, f)
			return
		}
		if a, stated := r["action"]; stated && !slices.Contains(pfcwdActions, a) {
			s.logf("ERR orchagent: :- createEntry: Invalid PFC Watchdog action %s", a)
			return
		}
		if key != "GLOBAL" && have["action"] != "" && have["action"] != r["action"] {
			keep = copyRow(r) // a registered port keeps its first action
			keep["action"] = have["action"]
		}
	case "PORT":
		keep = copyRow(have) // portmgrd and orchagent act only on the fields that a row has
		maps.Copy(keep, r)
	case "BUFFER_POOL":
		if have != nil {
			keep = copyRow(r)
			keep["type"], keep["mode"] = have["type"], have["mode"]
		}
	case "BUFFER_PROFILE":
		if have != nil {
			keep = copyRow(r)
			keep["pool"] = have["pool"]
			for _, th := range [][2]string{{"dynamic_th", "static_th"}, {"static_th", "dynamic_th"}} {
				if have[th[0]] != "" && keep[th[0]] == "" {
					keep[th[0]] = have[th[0]]
					delete(keep, th[1])
				}
			}
		}
	}
	if s.orch[table] == nil {
		s.orch[table] = map[string]row{}
	}
	s.orch[table][key] = keep
}

// fatal reports whether the change of a row ends orchagent. When a watchdog row is removed,
// orchagent takes its key for the name of a port, and crashes if there is no such port (sonic-swss
// orchagent/pfcwdorch.cpp, fixed in pull 4760, which is in no release branch). A map without
// entries has the field NULL, which is not a number (qosorch.cpp; DOT1P_TO_TC_MAP is not affected).
func (s *Switch) fatal(table, key string, r row) bool {
	switch {
	case table == "PFC_WD" && r == nil:
		return s.rel < rMaster && s.cfg["PORT"][key] == nil
	case saiMaps[table] != [3]string{} && table != "DOT1P_TO_TC_MAP":
		_, placeholder := r["NULL"]
		return placeholder
	}
	return false
}

// bind simulates orchagent's reaction to a row that names queues or groups. Removing a row unbinds
// all of its indexes, including those that another row names, until a row that names them is
// written again (sonic-swss orchagent/bufferorch.cpp, qosorch.cpp). In the dynamic model,
// buffermgrd sends the rows of a port again when the port comes up.
func (s *Switch) bind(table, key string, old, r row) {
	if table == "PORT" && s.dynamic() && old["admin_status"] != "up" && r["admin_status"] == "up" {
		maps.DeleteFunc(s.loose, func(at spot, _ bool) bool { return at.port == key && at.table != "QUEUE" })
	}
	if !slices.Contains(rangedTables, table) {
		return
	}
	if r != nil && table != "QUEUE" && old["profile"] == r["profile"] {
		return // orchagent skips a row whose profile has not changed
	}
	port, indexes, _ := strings.Cut(key, "|")
	for _, i := range expand(indexes) {
		if at := (spot{table, port, i}); r == nil {
			s.loose[at] = true
		} else {
			delete(s.loose, at)
		}
	}
}

// spot is a queue or group, as a table names it.
type spot struct {
	table, port string
	index       int
}

var rangedTables = []string{"QUEUE", "BUFFER_QUEUE", "BUFFER_PG"}

func (s *Switch) queueUses(field, name string) bool {
	for _, r := range s.cfg["QUEUE"] {
		if r[field] == name {
			return true
		}
	}
	return false
}

func unknownField(r row, known []string) string {
	for _, f := range sortedKeys(r) {
		if !slices.Contains(known, f) {
			return f
		}
	}
	return ""
}

// accepted returns the objects of one table that orchagent holds; a deleted object without users is
// gone.
func (s *Switch) accepted(table string) map[string]row {
	out := map[string]row{}
	for k, r := range s.orch[table] {
		if s.cfg[table][k] != nil || table == "WRED_PROFILE" && s.queueUses("wred_profile", k) || table == "SCHEDULER" && s.queueUses("scheduler", k) {
			out[k] = r
		}
	}
	return out
}
