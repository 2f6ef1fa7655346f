package sonic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Effect says how the daemons of a switch react to a write that CONFIG_DB accepts.
type Effect string

// The effects.
const (
	// Applies: the write takes effect at once.
	Applies Effect = "applies"
	// Delayed: the write takes effect when the headroom of a port is next computed.
	Delayed Effect = "delayed"
	// Keeps: the daemons keep using the old value.
	Keeps Effect = "keeps"
	// Recreates: the write takes effect only if the row is removed and added again.
	Recreates Effect = "recreates"
	// Waits: the object is removed once no row names it any more.
	Waits Effect = "waits"
	// Unbinds: every index of the row loses its binding, even an index that another row names too.
	Unbinds Effect = "unbinds"
	// Crashes: a daemon exits, and the switch restarts its container.
	Crashes Effect = "crashes"
)

// Habit describes how the daemons react to writes to one row or field. It is taken from the sources
// of sonic-swss on the release branches: orchagent/qosorch.cpp, bufferorch.cpp, pfcwdorch.cpp,
// portsorch.cpp, cfgmgr/buffermgr.cpp, buffermgrdyn.cpp and portmgr.cpp.
type Habit struct {
	Table string
	Key   string // "" means every key that has no entry of its own
	Field string // "" means the row itself; "*" means every field that has no entry of its own
	// Set is the effect of writing the value, Unset the effect of removing it.
	Set, Unset Effect
	// None is a value that the daemons treat like no value; used if Unset is Keeps.
	None string
	// Since is the first release that the entry covers, Before the first later one that it does not
	// cover.
	Since, Before string
	// Model is the buffer model that the entry covers; "" means both.
	Model string
	Why   string
}

const traditional = "traditional"

// noMask is the value of None for a list of priorities, whose "no value" is "".
const noMask = "\x01"

// Habits describes how the daemons react to writes to each row and field that this tool writes. The
// first matching entry applies.
var Habits = slices.Concat([]Habit{
	{Table: TPort, Field: "admin_status", Set: Applies, Unset: Keeps, None: "down", Why: "portmgrd acts on the fields that the row has"},
	{Table: TPort, Field: "mtu", Set: Applies, Unset: Keeps, None: "9100", Why: "portmgrd gives a port its default once, when the port is new"},
	{Table: TPort, Field: "pfc_asym", Set: Applies, Unset: Keeps, None: "off", Why: "orchagent acts on the fields that the row has"},
	{Table: TPort, Field: "fec", Set: Applies, Unset: Keeps, Why: "orchagent acts on the fields that the row has; what stands for none depends on the ASIC"},

	{Table: TScheduler, Set: Applies, Unset: Waits, Why: "orchagent removes it when no row names it"},
	{Table: TScheduler, Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent sets the fields that the row has"},
	{Table: TWRED, Set: Applies, Unset: Waits, Why: "orchagent removes it when no row names it"},
	{Table: TWRED, Field: "ecn", Set: Applies, Unset: Keeps, None: "ecn_none", Why: "orchagent sets the fields that the row has"},
	{Table: TWRED, Field: "wred_green_enable", Set: Applies, Unset: Keeps, None: "false", Why: "orchagent sets the fields that the row has"},
	{Table: TWRED, Field: "wred_yellow_enable", Set: Applies, Unset: Keeps, None: "false", Why: "orchagent sets the fields that the row has"},
	{Table: TWRED, Field: "wred_red_enable", Set: Applies, Unset: Keeps, None: "false", Why: "orchagent sets the fields that the row has"},
	{Table: TWRED, Field: "green_drop_probability", Set: Applies, Unset: Keeps, None: "100", Why: "orchagent gives a new profile this default, and sets the fields that the row has"},
	{Table: TWRED, Field: "yellow_drop_probability", Set: Applies, Unset: Keeps, None: "100", Why: "orchagent gives a new profile this default, and sets the fields that the row has"},
	{Table: TWRED, Field: "red_drop_probability", Set: Applies, Unset: Keeps, None: "100", Why: "orchagent gives a new profile this default, and sets the fields that the row has"},
	{Table: TWRED, Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent sets the fields that the row has; a threshold has no effect on a color that is not enabled"},

	{Table: TPortQoS, Key: globalKey, Set: Applies, Unset: Applies, Why: "orchagent unbinds the map of the switch with the row"},
	{Table: TPortQoS, Key: globalKey, Field: "dscp_to_tc_map", Set: Applies, Unset: Keeps, Why: "orchagent unbinds the map of the switch only with the row"},
	{Table: TPortQoS, Set: Applies, Unset: Applies, Why: "orchagent unbinds the maps and turns PFC off"},
	{Table: TPortQoS, Field: "pfc_enable", Set: Applies, Unset: Keeps, None: noMask, Model: traditional, Why: "orchagent turns PFC off, and buffermgrd gives the groups their buffers back when the port next comes up; before 202605 it does so after the removal of the row as well"},
	{Table: TPortQoS, Field: "*", Set: Applies, Unset: Applies, Why: "orchagent unbinds a map that the row no longer names, and takes an absent mask for 0"},

	{Table: TQueue, Set: Applies, Unset: Unbinds, Why: "orchagent takes scheduler and profile off every queue of the key"},
	{Table: TQueue, Field: "*", Set: Applies, Unset: Applies, Why: "orchagent takes off what the row no longer names"},
	{Table: TGroup, Set: Applies, Unset: Unbinds, Why: "orchagent takes the buffer off every group of the key, and skips a row with the profile that it already has"},
	{Table: TGroup, Field: "profile", Set: Applies, Unset: Keeps, Why: "orchagent drops a row without a profile"},
	{Table: TBufferQueue, Set: Applies, Unset: Unbinds, Why: "orchagent takes the buffer off every queue of the key, and skips a row with the profile that it already has"},
	{Table: TBufferQueue, Field: "profile", Set: Applies, Unset: Keeps, Why: "orchagent drops a row without a profile"},
	{Table: TIngressList, Set: Applies, Unset: Applies, Why: "orchagent empties the list of the port"},
	{Table: TIngressList, Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent drops a row without a list"},
	{Table: TEgressList, Set: Applies, Unset: Applies, Why: "orchagent empties the list of the port"},
	{Table: TEgressList, Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent drops a row without a list"},
	{Table: TProfile, Set: Applies, Unset: Waits, Why: "orchagent removes it when no row names it"},
	{Table: TProfile, Field: "pool", Set: Keeps, Unset: Keeps, Why: "orchagent sets it once, when the profile is new"},
	{Table: TProfile, Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent sets the fields that the row has, and never the kind of threshold"},

	{Table: TCable, Set: Delayed, Unset: Keeps, Why: "buffermgrd knows no removal"},
	{Table: TCable, Field: "*", Set: Applies, Unset: Keeps, None: "0m", Since: "202511", Model: traditional, Why: "buffermgrd keeps the length of a port that the row no longer names"},
	{Table: TCable, Field: "*", Set: Delayed, Unset: Keeps, None: "0m", Model: traditional, Why: "buffermgrd keeps the length of a port that the row no longer names, and looks the headroom up when the port changes or its PFC does"},
	{Table: TCable, Field: "*", Set: Applies, Unset: Keeps, Why: "buffermgrd keeps the length of a port that the row no longer names"},
	{Table: TDefaultBuffer, Set: Applies, Unset: Applies, Why: "buffermgrd drops the ratio; it keeps the threshold"},
	{Table: TDefaultBuffer, Field: "over_subscribe_ratio", Set: Applies, Unset: Applies, Why: "buffermgrd computes the pools anew"},
	{Table: TDefaultBuffer, Field: "default_dynamic_th", Set: Delayed, Unset: Keeps, Why: "buffermgrd uses it for the next profile that it makes"},
	{Table: TPattern, Set: Delayed, Unset: Delayed, Why: "no daemon listens; the script that computes headroom reads it"},
	{Table: TPattern, Field: "*", Set: Delayed, Unset: Delayed, Why: "no daemon listens; the script that computes headroom reads it"},

	{Table: TWatchdog, Key: "GLOBAL", Set: Applies, Unset: Crashes, Before: "master", Why: "orchagent takes the key of the removed row for a port, and reads the queues of a port that does not exist (mended in sonic-swss pull 4760)"},
	{Table: TWatchdog, Key: "GLOBAL", Set: Applies, Unset: Keeps, Why: "orchagent goes on with the interval that it has"},
	{Table: TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Set: Applies, Unset: Keeps, None: "100", Why: "orchagent starts with this interval, and goes on with the one that it has"},
	{Table: TWatchdog, Key: "GLOBAL", Field: "*", Set: Applies, Unset: Keeps, Why: "orchagent acts on the fields that the row has"},
	{Table: TWatchdog, Set: Applies, Unset: Applies, Why: "orchagent stops the watchdog of the port; before master it crashes where the port is gone"},
	{Table: TWatchdog, Field: "action", Set: Recreates, Unset: Recreates, Why: "orchagent keeps the action of a queue that it already guards"},
	{Table: TWatchdog, Field: "*", Set: Applies, Unset: Applies, Why: "orchagent writes the times anew, and takes an absent restoration time for none"},
}, mapHabits())

// mapHabits returns the entries for the maps. This tool never writes an empty map, because
// orchagent crashes on one (std::stoi of the placeholder NULL).
func mapHabits() (out []Habit) {
	for _, t := range whole {
		out = append(out,
			Habit{Table: t, Set: Applies, Unset: Waits, Why: "orchagent removes it when no row names it"},
			Habit{Table: t, Field: "*", Set: Applies, Unset: Applies, Why: "orchagent writes the whole list anew"})
	}
	return out
}

// habitOf returns the entry for a row, or for one of its fields.
func (r Release) habitOf(table, key, field, model string) (Habit, bool) {
	after := func(name string) bool { l, _ := LookupRelease(name); return r.Index >= l.Index }
	i := slices.IndexFunc(Habits, func(h Habit) bool {
		return h.Table == table && (h.Key == key || h.Key == "" && !ownKey(table, key)) &&
			(h.Field == field || h.Field == "*" && field != "") &&
			(h.Since == "" || after(h.Since)) && (h.Before == "" || !after(h.Before)) && (h.Model == "" || h.Model == model)
	})
	if i < 0 {
		return Habit{}, false
	}
	return Habits[i], true
}

// ownKey reports whether a key has its own entries in [Habits].
func ownKey(table, key string) bool {
	return table == TPortQoS && key == globalKey || table == TWatchdog && key == "GLOBAL"
}

// bufferModel returns the buffer model that a switch runs.
func bufferModel(c Config) string {
	if c.Row(TMetadata, "localhost")["buffer_model"] == "dynamic" {
		return "dynamic"
	}
	return traditional
}

// Consequence describes how the daemons react to one part of an op.
type Consequence struct {
	Habit
	Effect Effect
	Value  string // value written; "" if something is removed
	Gone   bool   // the field or row is removed
}

// Consequences returns how the daemons of a switch that holds running react to an op. It fails for
// a row or field that [Habits] does not list.
func (r Release) Consequences(o Op, running Config) (out []Consequence, err error) {
	have, model := running.Row(o.Table, o.Key), bufferModel(running)
	add := func(field, value string, gone bool) {
		h, ok := r.habitOf(o.Table, o.Key, field, model)
		if !ok {
			err = fmt.Errorf("%s: it is not known what the daemons do with %s|%s %s", o, o.Table, o.Key, field)
			return
		}
		c := Consequence{Habit: h, Effect: h.Set, Value: value, Gone: gone}
		if gone {
			c.Effect = h.Unset
		}
		out = append(out, c)
	}
	after := Config{o.Table: Table{}}
	if have != nil {
		after[o.Table][o.Key] = maps.Clone(have)
	}
	o.apply(after)
	now := after.Row(o.Table, o.Key)
	// Redis deletes a row when its last field is removed over SSH.
	if empty := len(now) == 0; empty || have == nil {
		add("", "", empty)
	}
	for _, f := range natural.Keys(now) {
		if v, was := have[f]; !was || v != now[f] {
			add(f, now[f], false)
		}
	}
	for _, f := range natural.Keys(have) {
		if _, stays := now[f]; !stays && len(now) > 0 {
			add(f, "", true)
		}
	}
	return out, err
}

// none returns the value that can be written instead of removing a field whose value the daemons
// would keep, and whether there is one.
func (h Habit) none() (string, bool) {
	switch h.None {
	case "":
		return "", false
	case noMask:
		return "", true
	}
	return h.None, true
}

// mustNotBeRemoved reports whether a row must not be removed once it exists, because that
// crashes a daemon of some release.
func mustNotBeRemoved(table, key string) bool {
	return slices.ContainsFunc(Habits, func(h Habit) bool {
		return h.Table == table && h.Key != "" && h.Key == key && h.Field == "" && h.Unset == Crashes
	})
}

// withClearedFields returns have for a revert to was. Fields that was lacks, and whose value the
// daemons would keep after removal, are set to the value that means "no value". It also reports
// whether the result differs from have.
func withClearedFields(table, key string, have, was Row, model string) (Row, bool) {
	out := maps.Clone(have)
	for f := range have {
		if _, stays := was[f]; stays {
			continue
		}
		if h, ok := Newest().habitOf(table, key, f, model); ok && h.Unset == Keeps {
			if none, ok := h.none(); ok {
				out[f] = none
			}
		}
	}
	return out, !maps.Equal(out, have)
}

// clearBeforeRemoval replaces removals in target by the value that means "no value", for each
// field whose value the daemons would keep after removal.
func (r Release) clearBeforeRemoval(running, target Config) {
	model := bufferModel(running)
	for tn, t := range target {
		for key, want := range t {
			have := running.Row(tn, key)
			for f, v := range want {
				if _, is := have[f]; v != Absent || !is {
					continue
				}
				h, _ := r.habitOf(tn, key, f, model)
				if none, ok := h.none(); ok && h.Unset == Keeps && (none != "" || r.EmptyMask) {
					want[f] = none
				}
			}
		}
	}
}

// CheckSteps returns an error if a step would crash a daemon of a switch that holds running, or if
// the reaction of the daemons to a step is not known.
func (r Release) CheckSteps(running Config, steps []Step) error {
	for _, s := range steps {
		for _, o := range s.Ops {
			all, err := r.Consequences(o, running)
			if err != nil {
				return err
			}
			for _, c := range all {
				if c.Effect == Crashes {
					return fmt.Errorf("%s: %s", o, c.Why)
				}
			}
		}
		running = running.After(s.Ops)
	}
	return nil
}
