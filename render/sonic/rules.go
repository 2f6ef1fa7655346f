package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// refusal says why the config updater would reject an op, and what to do instead.
type refusal struct{ why, instead string }

// refuse predicts the verdict of the updater's field operation validators on one op
// (sonic-utilities:generic_config_updater/field_operation_validators.py and
// gcu_field_operation_validators.conf.json). They judge the smallest difference between the old and
// the new configuration, so the verdict depends on the state before the op. nil means that the op
// passes.
//
// chip is the name that the updater gives the ASIC of this hwsku, "" if the updater does not know
// it: its rules then reject every field they guard.
func refuse(o Op, running Config, rel Release, chip string) *refusal {
	have := running.Row(o.Table, o.Key)
	switch o.Table {
	case TWRED:
		return refuseWRED(o, have, rel, chip)
	case TWatchdog:
		return refuseWatchdog(o, running, rel, chip)
	case TPortQoS:
		if v, ok := o.Row["pfc_enable"]; ok && v == "" && !rel.EmptyMask {
			return &refusal{fmt.Sprintf("the models of %s take no empty pfc_enable", rel), "use release 202505 or newer, or load it over SSH"}
		}
	case TTCToDSCP:
		if !rel.TCToDSCPModel {
			return &refusal{fmt.Sprintf("%s has no YANG model for %s, and the config updater refuses tables without one", rel, o.Table), "use release 202411 or newer, or load it over SSH"}
		}
	case TProfile:
		if rel.BufferProfileRows && o.Field == "" {
			return nil
		}
		fallthrough
	case TPool:
		return &refusal{o.Table + " cannot be changed by the config updater", "change the buffer template of the platform and run 'config qos reload', or reload a config_db.json that holds it"}
	}
	return nil
}

var greenFields = []string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}

func refuseWRED(o Op, have Row, rel Release, chip string) *refusal {
	if rel.WRED == WREDFree {
		return nil
	}
	const instead = "configure ssh for this switch, so that it goes in by 'config load', or upgrade to release 202511"
	guard := fmt.Sprintf("the config updater of %s lets gNMI replace only the green thresholds and probability", rel)
	if rel.WRED == WREDAzureGreen {
		guard += " of " + wredName
	}
	switch {
	case have == nil:
		return &refusal{guard + ", not create " + o.Table + "|" + o.Key, instead}
	case o.Del:
		return &refusal{guard + ", not delete " + o.Table + "|" + o.Key, instead}
	case rel.WRED == WREDAzureGreen && o.Key != wredName:
		return &refusal{guard, instead}
	case chip == "":
		return &refusal{guard + ", and only on an ASIC that it knows; it does not know this model", instead}
	}
	for _, f := range slices.Sorted(maps.Keys(o.Row)) {
		if have[f] != o.Row[f] && (!slices.Contains(greenFields, f) || have[f] == "") {
			return &refusal{guard + ", not " + f, instead}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(have)) {
		if _, ok := o.Row[f]; !ok {
			return &refusal{guard + ", not remove " + f, instead}
		}
	}
	return nil
}

// watchdogFields are the fields that the validator accepts.
var watchdogFields = []string{"action", "detection_time", "restoration_time"}

func refuseWatchdog(o Op, running Config, rel Release, chip string) *refusal {
	const instead = "configure ssh for this switch, so that it goes in by 'config load', or run 'config pfcwd interval 200' on it once"
	switch {
	case chip == "":
		return &refusal{"the config updater guards PFC_WD by ASIC and does not know the ASIC of this model", "configure ssh for this switch, so that it goes in by 'config load'"}
	case o.Key == "GLOBAL" && o.Del && (o.Field != "" || len(running[TWatchdog]) > 1):
		// As the last row it is removed together with its table, which the updater accepts.
		return &refusal{"the config updater refuses to remove PFC_WD|GLOBAL", "leave it: without port rows it does nothing"}
	case o.Del && o.Field == "":
		return nil
	case len(running[TWatchdog]) == 0:
		return &refusal{"the config updater refuses the first row of PFC_WD", instead}
	case o.Key == "GLOBAL" && running.Row(o.Table, o.Key) == nil:
		// The validator compares the field name case-sensitively and never finds a match.
		return &refusal{"the config updater refuses the row PFC_WD|GLOBAL", instead}
	}
	have := running.Row(o.Table, o.Key)
	check := func(f string) *refusal {
		if o.Key == "GLOBAL" && f == "POLL_INTERVAL" || o.Key != "GLOBAL" && slices.Contains(watchdogFields, f) || f == "pfc_stat_history" && rel.Index >= historySince {
			return nil
		}
		return &refusal{"the config updater refuses the field " + f + " of PFC_WD", instead}
	}
	if o.Field != "" {
		return check(o.Field)
	}
	for _, f := range slices.Concat(natural.Keys(o.Row), natural.Keys(have)) {
		v, was := have[f]
		if w, stays := o.Row[f]; was == stays && v == w {
			continue
		}
		if r := check(f); r != nil {
			return r
		}
	}
	return nil
}

// historySince is the index of the first release whose rules list pfc_stat_history.
var historySince = func() int { r, _ := LookupRelease("202511"); return r.Index }()

// verdicts returns for each op why gNMI rejects it, or nil. The removal and re-addition of a
// watchdog row are judged as a pair: with only the removal the port would lose its watchdog.
func (s Site) verdicts(ops []Op, running Config) []*refusal {
	if s.Direct {
		return s.faults(ops, running)
	}
	out := make([]*refusal, len(ops))
	base := running
	removed := map[string]int{} // watchdog key -> index of its removal
	for i, o := range ops {
		if o.Table == TWatchdog && o.Del && o.Field == "" {
			removed[o.Key] = i
		}
	}
	if len(removed) > 0 {
		base = maps.Clone(running)
		base[TWatchdog] = maps.Clone(running[TWatchdog])
		for key := range removed {
			delete(base[TWatchdog], key)
		}
	}
	for i, o := range ops {
		cfg := running
		if o.Table == TWatchdog && !o.Del {
			cfg = base
		}
		r := refuse(o, cfg, s.Release, s.Chip)
		if r == nil {
			continue
		}
		out[i] = r
		if j, pair := removed[o.Key]; pair && o.Table == TWatchdog {
			out[j] = r
		}
	}
	return out
}

// faults returns for each op the first new fault that the models of the image find in its row, or
// nil. Faults that the running configuration already has do not count. A fault in a row that no op
// writes is reported for all ops.
func (s Site) faults(ops []Op, running Config) []*refusal {
	out := make([]*refusal, len(ops))
	if s.Check == nil || len(ops) == 0 {
		return out
	}
	known := map[Fault]bool{}
	for _, f := range s.Check(running) {
		known[f] = true
	}
	type place struct{ table, key string } // key "" means the table
	at := map[place][]int{}                // indexes of ops
	var all []int
	for i, o := range ops {
		at[place{o.Table, o.Key}] = append(at[place{o.Table, o.Key}], i)
		at[place{o.Table, ""}] = append(at[place{o.Table, ""}], i)
		all = append(all, i)
	}
	elsewhere := false
	for _, f := range s.Check(running.After(ops)) {
		if known[f] {
			continue
		}
		guilty := at[place{f.Table, f.Key}]
		if len(guilty) == 0 {
			if elsewhere {
				continue // all ops already have such a fault
			}
			guilty, elsewhere = all, true
		}
		r := &refusal{"the models of the switch's image do not allow it: " + f.What, "use another value in the intent, or set write: gnmi, so that the switch validates the change"}
		for _, i := range guilty {
			if out[i] == nil {
				out[i] = r
			}
		}
	}
	return out
}

// references maps "TABLE field" to the table whose rows the field refers to.
var references = func() map[string]string {
	out := map[string]string{
		TQueue + " scheduler":           TScheduler,
		TQueue + " wred_profile":        TWRED,
		TBufferQueue + " profile":       TProfile,
		TGroup + " profile":             TProfile,
		TIngressList + " profile_list":  TProfile,
		TEgressList + " profile_list":   TProfile,
		TIngressList + " profile_list@": TProfile,
		TEgressList + " profile_list@":  TProfile,
	}
	for _, m := range mapTables {
		out[TPortQoS+" "+m.field] = m.table
	}
	return out
}()

// referenced reports whether rows of other tables refer to rows of this one.
func referenced(table string) bool {
	for _, t := range references {
		if t == table {
			return true
		}
	}
	return false
}

// refs calls do for every object that a row refers to.
func refs(table string, row Row, do func(table, name string)) {
	for f, v := range row {
		t, ok := references[table+" "+f]
		if !ok || v == Absent {
			continue
		}
		for _, n := range strings.Split(v, ",") {
			if n != "" && n != "NULL" {
				do(t, n)
			}
		}
	}
}

// restartWatchdogs makes ops remove and re-add the watchdog row of a port whose action or queues
// they change: the daemon ignores such a change to an existing row
// (sonic-swss:orchagent/pfcwdorch.cpp; sonic-swss issue 842).
func restartWatchdogs(ops []Op, running Config) []Op {
	touched := map[string]bool{} // row keys, mostly ports
	for _, o := range ops {
		if o.Table == TWatchdog || o.Table == TPortQoS {
			touched[o.Key] = true
		}
	}
	then := running.After(ops)
	restart := map[string]bool{}
	queues := func(c Config, port string) string {
		v, ok := c.Row(TPortQoS, port)["pfcwd_sw_enable"]
		return effective(TPortQoS, "pfcwd_sw_enable", v, ok)
	}
	for port := range touched {
		have, want := running.Row(TWatchdog, port), then.Row(TWatchdog, port)
		if port != "GLOBAL" && have != nil && want != nil && (have["action"] != want["action"] || queues(running, port) != queues(then, port)) {
			restart[port] = true
		}
	}
	out := slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.Table == TWatchdog && restart[o.Key] })
	for _, port := range natural.Keys(restart) {
		out = append(out,
			Op{Table: TWatchdog, Key: port, Del: true},
			Op{Table: TWatchdog, Key: port, Row: then.Row(TWatchdog, port)})
	}
	return out
}
