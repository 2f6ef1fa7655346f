package sonic

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// carries reports whether the op may be what carries out the change: the join
// between what people read and what the device is sent. running and after are
// the configuration before and after all ops.
func (o op) carries(c qos.Change, running, after native.Config) bool {
	if p := o.portOf(); p != "" || o.Table == native.TPort {
		if p == "" {
			p = o.Key
		}
		return p == c.Port && o.carriesField(c.Field, running)
	}
	switch o.Table {
	case native.TCable:
		return (o.Field == c.Port || o.Field == "") && (c.Field == "cable" || strings.HasSuffix(c.Field, ".derived_from"))
	case native.TWatchdog:
		return o.Key == c.Port && c.Field == "watchdog" || o.Key == "GLOBAL" && c.Field == "watchdog_poll"
	case native.TDefaultBuffer, native.TPattern:
		return c.Field == "headroom_model"
	case native.TScheduler, native.TWRED:
		field, suffix := "scheduler", ".scheduler"
		if o.Table == native.TWRED {
			field, suffix = "wred_profile", ".ecn"
		}
		q, ok := queueOf(c.Field)
		if !ok || !strings.HasSuffix(c.Field, suffix) {
			return false
		}
		return bound(after, native.TQueue, c.Port, q, field) == o.Key || bound(running, native.TQueue, c.Port, q, field) == o.Key
	case native.TPortQoS: // the global row
		return strings.HasPrefix(c.Field, "global_maps.")
	}
	if f, ok := mapFields[o.Table]; ok {
		key := c.Port
		if strings.HasPrefix(c.Field, "global_maps.") {
			key = "global"
		} else if !strings.HasPrefix(c.Field, "maps.") {
			return false
		}
		_, name, _ := strings.Cut(c.Field, ".")
		return name == f.model && after.Row(native.TPortQoS, key)[f.native] == o.Key
	}
	return false
}

// mapFields join a map table to the model's field and to the PORT_QOS_MAP
// field that binds it.
var mapFields = map[string]struct{ model, native string }{
	native.TDSCPToTC:   {"dscp_to_tc", "dscp_to_tc_map"},
	native.TDot1pToTC:  {"pcp_to_tc", "dot1p_to_tc_map"},
	native.TTCToQueue:  {"tc_to_queue", "tc_to_queue_map"},
	native.TTCToGroup:  {"tc_to_group", "tc_to_pg_map"},
	native.TPFCToQueue: {"pfc_to_queue", "pfc_to_queue_map"},
	native.TPFCToGroup: {"pfc_to_group", "pfc_to_pg_map"},
	native.TTCToDSCP:   {"tc_to_dscp", "tc_to_dscp_map"},
}

// carriesField is carries for an op on one port's own rows. An op that leaves
// the field as it is does not carry the change: an object that the field names
// was changed in place.
func (o op) carriesField(field string, running native.Config) bool {
	moves := func(names ...string) bool {
		have := running.Row(o.Table, o.Key)
		for _, n := range names {
			if have[n] != o.Row[n] {
				return true
			}
		}
		return false
	}
	if strings.HasSuffix(field, binding) {
		return o.Table == native.TPortQoS && strings.HasPrefix(field, "maps") || o.Table == native.TGroup && o.covers(field, "groups") ||
			(o.Table == native.TQueue || o.Table == native.TBufferQueue) && o.covers(field, "queues")
	}
	switch o.Table {
	case native.TPort:
		native := map[string]string{"mtu": "mtu", "speed": "speed", "fec": "fec", "admin_up": "admin_status", "pfc_asymmetric": "pfc_asym"}[field]
		return native != "" && (o.Field == native || o.Field == "")
	case native.TPortQoS:
		switch field {
		case "pfc":
			return moves("pfc_enable")
		case "watchdog":
			return moves("pfcwd_sw_enable")
		case "trust":
			return moves("dscp_to_tc_map", "dot1p_to_tc_map")
		}
		if name, ok := strings.CutPrefix(field, "maps."); ok {
			for _, f := range mapFields {
				if f.model == name {
					return moves(f.native)
				}
			}
		}
		// The lossless groups of the traditional model follow pfc_enable.
		return strings.HasPrefix(field, "groups[") && moves("pfc_enable")
	case native.TQueue:
		i, _ := queueOf(field)
		_, idx, _ := strings.Cut(o.Key, "|")
		port := strings.TrimSuffix(o.Key, "|"+idx)
		name := map[bool]string{true: "scheduler", false: "wred_profile"}[strings.HasSuffix(field, ".scheduler")]
		return o.covers(field, "queues") && !strings.HasSuffix(field, ".buffer") && bound(running, native.TQueue, port, i, name) != o.Row[name]
	case native.TBufferQueue:
		return o.covers(field, "queues") && strings.HasSuffix(field, ".buffer")
	case native.TGroup:
		return o.covers(field, "groups")
	case native.TCable:
		return field == "cable" || strings.HasPrefix(field, "groups[")
	case native.TIngressList:
		return field == "ingress_profiles"
	case native.TEgressList:
		return field == "egress_profiles"
	}
	return false
}

func (o op) covers(field, kind string) bool {
	i, ok := queueOf(field)
	if !ok || !strings.HasPrefix(field, kind+"[") {
		return false
	}
	_, idx, _ := strings.Cut(o.Key, "|")
	from, to, ok := native.Indexes(idx)
	return ok && i >= from && i <= to
}

// queueOf returns n of "queues[n].x" or "groups[n].x".
func queueOf(field string) (int, bool) {
	_, rest, ok := strings.Cut(field, "[")
	n, _, ok2 := strings.Cut(rest, "]")
	i, err := strconv.Atoi(n)
	return i, ok && ok2 && err == nil
}

// bound returns the object that an index of a port refers to.
func bound(c native.Config, table, port string, i int, field string) string {
	if r := c.Row(table, port+"|"+strconv.Itoa(i)); r != nil {
		return r[field]
	}
	for from := range qos.NumPriorities {
		for to := from + 1; to < qos.NumPriorities; to++ {
			if i < from || i > to {
				continue
			}
			if r := c.Row(table, port+"|"+strconv.Itoa(from)+"-"+strconv.Itoa(to)); r != nil {
				return r[field]
			}
		}
	}
	return ""
}
