package sonic

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// carries reports whether the op can carry out the change. It links the changes that people read to
// the ops that the device is sent. running and after are the configurations before and after all
// ops.
func (o Op) carries(c qos.Change, running, after Config) bool {
	if p := o.PortOf(); p != "" || o.Table == TPort {
		if p == "" {
			p = o.Key
		}
		return p == c.Port && o.carriesField(c.Field, running)
	}
	kind := c.Field.Kind
	switch o.Table {
	case TCable:
		return (o.Field == c.Port || o.Field == "") && (kind == qos.KindCable || kind == qos.KindDerivedFrom)
	case TWatchdog:
		return o.Key == c.Port && kind == qos.KindWatchdog || o.Key == "GLOBAL" && kind == qos.KindWatchdogPoll
	case TDefaultBuffer, TPattern:
		return kind == qos.KindHeadroomModel
	case TScheduler, TWRED:
		field, q := queueFields[kind], int(c.Field.Index)
		return references[TQueue+" "+field] == o.Table && (bound(after, TQueue, c.Port, q, field) == o.Key || bound(running, TQueue, c.Port, q, field) == o.Key)
	case TPortQoS: // the global row
		return kind == qos.KindGlobalMap
	}
	table, ok := c.Field.Table()
	if !ok || mapTables[table].table != o.Table {
		return false
	}
	key := c.Port
	if kind == qos.KindGlobalMap {
		key = "global"
	}
	return after.Row(TPortQoS, key)[mapTables[table].field] == o.Key
}

// carriesField is carries for an op on a port's own rows. An op that leaves the field as it is does
// not carry the change: the object that the field names was changed in place.
func (o Op) carriesField(field qos.Attr, running Config) bool {
	moves := func(names ...string) bool {
		have := running.Row(o.Table, o.Key)
		for _, n := range names {
			if have[n] != o.Row[n] {
				return true
			}
		}
		return false
	}
	kind := field.Kind
	switch o.Table {
	case TPort:
		name := portAttributes[kind]
		return name != "" && (o.Field == name || o.Field == "")
	case TPortQoS:
		switch {
		case kind == qos.KindMapBinding:
			return true
		case kind == qos.KindMap:
			return moves(mapTables[field.Index].field)
		case kind == qos.KindPFC:
			return moves("pfc_enable")
		case kind == qos.KindWatchdog:
			return moves("pfcwd_sw_enable")
		case kind == qos.KindTrust:
			return moves("dscp_to_tc_map", "dot1p_to_tc_map")
		}
		// In the traditional model, lossless groups follow pfc_enable.
		return buffered(kind) && moves("pfc_enable")
	case TQueue:
		if name := queueFields[kind]; name != "" {
			return o.covers(field) && bound(running, TQueue, o.PortOf(), int(field.Index), name) != o.Row[name]
		}
		return kind == qos.KindQueueBinding && o.covers(field)
	case TBufferQueue:
		return (kind == qos.KindQueueBuffer || kind == qos.KindQueueBinding) && o.covers(field)
	case TGroup:
		return kind.Of() == qos.OfGroup && o.covers(field)
	case TCable:
		return kind == qos.KindCable || buffered(kind)
	case TIngressList:
		return kind == qos.KindIngressProfiles
	case TEgressList:
		return kind == qos.KindEgressProfiles
	}
	return false
}

// portAttributes gives the field of PORT that holds each attribute.
var portAttributes = map[qos.Kind]string{qos.KindMTU: "mtu", qos.KindSpeed: "speed", qos.KindFEC: "fec", qos.KindAdminUp: "admin_status", qos.KindPFCAsymmetric: "pfc_asym"}

// queueFields gives the field of QUEUE that holds each attribute.
var queueFields = map[qos.Kind]string{qos.KindScheduler: "scheduler", qos.KindECN: "wred_profile"}

// buffered reports whether an attribute belongs to a priority group. In the traditional model,
// buffermgrd derives these from PFC and cable length.
func buffered(kind qos.Kind) bool { return kind.Of() == qos.OfGroup && kind != qos.KindGroupBinding }

// covers reports whether the row of the op includes the queue or group of the attribute.
func (o Op) covers(field qos.Attr) bool {
	_, idx, _ := strings.Cut(o.Key, "|")
	from, to, ok := Indexes(idx)
	return ok && int(field.Index) >= from && int(field.Index) <= to
}

// bound returns the object that an index of a port refers to, "" if there is none. If several rows
// set the field for the index, the one that the switch takes last counts (see inOrder).
func bound(c Config, table, port string, i int, field string) string {
	last, name := "", ""
	for from := range i + 1 {
		for to := i; to < qos.NumPriorities; to++ {
			index := strconv.Itoa(from)
			if to > from {
				index += "-" + strconv.Itoa(to)
			}
			if v, is := c.Row(table, port+"|"+index)[field]; is && index > last {
				last, name = index, v
			}
		}
	}
	return name
}
