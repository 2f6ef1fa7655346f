package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// refusal is why the generic config updater would refuse an op, and what to do
// about it.
type refusal struct{ why, instead string }

// refuse predicts the verdict of the updater's field operation validators on
// one op (sonic-utilities:generic_config_updater/field_operation_validators.py
// and gcu_field_operation_validators.conf.json). They judge the smallest
// difference between the old and the new configuration, so the state that the
// op meets matters. ok is true where the op passes.
//
// chip is the name that the updater gives the ASIC of this hwsku, "" where it
// does not know it: its rules then refuse every field they guard.
func refuse(o op, running native.Config, rel native.Release, chip string) (refusal, bool) {
	have := running.Row(o.Table, o.Key)
	switch o.Table {
	case native.TWRED:
		return refuseWRED(o, have, rel, chip)
	case native.TWatchdog:
		return refuseWatchdog(o, running, rel, chip)
	case native.TTCToDSCP:
		if !rel.TCToDSCPModel {
			return refusal{fmt.Sprintf("%s has no YANG model for %s, and the config updater refuses tables without one", rel, o.Table), "use release 202411 or newer, or load it over SSH"}, false
		}
	case native.TProfile:
		if rel.BufferProfileRows && o.Field == "" {
			return refusal{}, true
		}
		fallthrough
	case native.TPool:
		return refusal{o.Table + " cannot be changed by the config updater", "change the buffer template of the platform and run 'config qos reload', or reload a config_db.json that holds it"}, false
	}
	return refusal{}, true
}

var greenFields = []string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}

func refuseWRED(o op, have native.Row, rel native.Release, chip string) (refusal, bool) {
	if rel.WRED == native.WREDFree {
		return refusal{}, true
	}
	const instead = "configure ssh for this switch, so that it goes in by 'config load', or upgrade to release 202511"
	guard := fmt.Sprintf("the config updater of %s lets gNMI replace only the green thresholds and probability", rel)
	if rel.WRED == native.WREDAzureGreen {
		guard += " of " + native.WREDName
	}
	switch {
	case have == nil:
		return refusal{guard + ", not create " + o.Table + "|" + o.Key, instead}, false
	case o.Del:
		return refusal{guard + ", not delete " + o.Table + "|" + o.Key, instead}, false
	case rel.WRED == native.WREDAzureGreen && o.Key != native.WREDName:
		return refusal{guard, instead}, false
	case chip == "":
		return refusal{guard + ", and only on an ASIC that it knows; it does not know this model", instead}, false
	}
	for _, f := range slices.Sorted(maps.Keys(o.Row)) {
		if have[f] != o.Row[f] && (!slices.Contains(greenFields, f) || have[f] == "") {
			return refusal{guard + ", not " + f, instead}, false
		}
	}
	for _, f := range slices.Sorted(maps.Keys(have)) {
		if _, ok := o.Row[f]; !ok {
			return refusal{guard + ", not remove " + f, instead}, false
		}
	}
	return refusal{}, true
}

// watchdogFields are the fields that the validator lets through.
var watchdogFields = []string{"action", "detection_time", "restoration_time"}

func refuseWatchdog(o op, running native.Config, rel native.Release, chip string) (refusal, bool) {
	const instead = "configure ssh for this switch, so that it goes in by 'config load', or run 'config pfcwd interval 200' on it once"
	switch {
	case chip == "":
		return refusal{"the config updater guards PFC_WD by ASIC and does not know the ASIC of this model", "configure ssh for this switch, so that it goes in by 'config load'"}, false
	case o.Key == "GLOBAL" && o.Del && (o.Field != "" || len(running[native.TWatchdog]) > 1):
		// As the last row it goes with its table, which passes.
		return refusal{"the config updater refuses to remove PFC_WD|GLOBAL", "leave it: without port rows it does nothing"}, false
	case o.Del && o.Field == "":
		return refusal{}, true
	case len(running[native.TWatchdog]) == 0:
		return refusal{"the config updater refuses the first row of PFC_WD", instead}, false
	case o.Key == "GLOBAL" && running.Row(o.Table, o.Key) == nil:
		// The field's name is compared with its case, and then never matches.
		return refusal{"the config updater refuses the row PFC_WD|GLOBAL", instead}, false
	}
	have := running.Row(o.Table, o.Key)
	check := func(f string) (refusal, bool) {
		if o.Key == "GLOBAL" && f == "POLL_INTERVAL" || o.Key != "GLOBAL" && slices.Contains(watchdogFields, f) || f == "pfc_stat_history" && rel.Index >= historySince {
			return refusal{}, true
		}
		return refusal{"the config updater refuses the field " + f + " of PFC_WD", instead}, false
	}
	if o.Field != "" {
		return check(o.Field)
	}
	for _, f := range slices.Sorted(maps.Keys(o.Row)) {
		if w, ok := have[f]; !ok || o.Row[f] != w {
			if r, ok := check(f); !ok {
				return r, false
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(have)) {
		if _, ok := o.Row[f]; !ok {
			if r, ok := check(f); !ok {
				return r, false
			}
		}
	}
	return refusal{}, true
}

// historySince is the first release whose rules list pfc_stat_history.
var historySince = func() int { r, _ := native.LookupRelease("202511"); return r.Index }()

// verdicts returns for each op nil, or why gNMI does not take it. A watchdog
// row that is removed to be added again is judged as a pair: without the
// second half the port would lose its watchdog.
func (s site) verdicts(ops []op, running native.Config) []*refusal {
	out := make([]*refusal, len(ops))
	base := running
	removed := map[string]int{} // watchdog key -> index of its removal
	for i, o := range ops {
		if o.Table == native.TWatchdog && o.Del && o.Field == "" {
			removed[o.Key] = i
		}
	}
	if len(removed) > 0 {
		base = maps.Clone(running)
		base[native.TWatchdog] = maps.Clone(running[native.TWatchdog])
		for key := range removed {
			delete(base[native.TWatchdog], key)
		}
	}
	for i, o := range ops {
		cfg := running
		if o.Table == native.TWatchdog && !o.Del {
			cfg = base
		}
		r, ok := refuse(o, cfg, s.rel, s.chip)
		if ok {
			continue
		}
		out[i] = &r
		if j, pair := removed[o.Key]; pair && o.Table == native.TWatchdog {
			out[j] = &r
		}
	}
	return out
}

// references maps a table and field to the table that its value names.
var references = map[string]string{
	native.TPortQoS + " dscp_to_tc_map":    native.TDSCPToTC,
	native.TPortQoS + " dot1p_to_tc_map":   native.TDot1pToTC,
	native.TPortQoS + " tc_to_queue_map":   native.TTCToQueue,
	native.TPortQoS + " tc_to_pg_map":      native.TTCToGroup,
	native.TPortQoS + " pfc_to_queue_map":  native.TPFCToQueue,
	native.TPortQoS + " pfc_to_pg_map":     native.TPFCToGroup,
	native.TPortQoS + " tc_to_dscp_map":    native.TTCToDSCP,
	native.TQueue + " scheduler":           native.TScheduler,
	native.TQueue + " wred_profile":        native.TWRED,
	native.TBufferQueue + " profile":       native.TProfile,
	native.TGroup + " profile":             native.TProfile,
	native.TIngressList + " profile_list":  native.TProfile,
	native.TEgressList + " profile_list":   native.TProfile,
	native.TIngressList + " profile_list@": native.TProfile,
	native.TEgressList + " profile_list@":  native.TProfile,
}

// referenced reports whether rows of other tables name the rows of this one.
func referenced(table string) bool {
	for _, t := range references {
		if t == table {
			return true
		}
	}
	return false
}

// refs calls do for every name that a row refers to.
func refs(table string, row native.Row, do func(table, name string)) {
	for f, v := range row {
		t, ok := references[table+" "+f]
		if !ok || v == native.Absent {
			continue
		}
		for _, n := range strings.Split(v, ",") {
			if n != "" && n != "NULL" {
				do(t, n)
			}
		}
	}
}
