package sonic

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Names that parts of SONiC hard-code: the templates, ecnconfig -q, the
// updater of 202411 and before, and the Pfcwd telemetry path know these and no
// others (sonic-utilities:scripts/ecnconfig,
// sonic-gnmi:sonic_data_client/virtual_db.go).
const (
	MapName   = "AZURE"
	WREDName  = "AZURE_LOSSLESS"
	CableName = "AZURE"
)

// schedulerPrefix starts the names of this tool's own schedulers. The
// template's scheduler.0 and scheduler.1 serve queues that no class uses.
const schedulerPrefix = "roce."

// Absent is the value of a field that must not be there, in what [Target]
// returns. It cannot occur in CONFIG_DB.
const Absent = "\x00"

// The tables that this tool reads or writes.
const (
	TDSCPToTC      = "DSCP_TO_TC_MAP"
	TDot1pToTC     = "DOT1P_TO_TC_MAP"
	TTCToQueue     = "TC_TO_QUEUE_MAP"
	TTCToGroup     = "TC_TO_PRIORITY_GROUP_MAP"
	TPFCToQueue    = "MAP_PFC_PRIORITY_TO_QUEUE"
	TPFCToGroup    = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"
	TTCToDSCP      = "TC_TO_DSCP_MAP"
	TScheduler     = "SCHEDULER"
	TWRED          = "WRED_PROFILE"
	TPortQoS       = "PORT_QOS_MAP"
	TQueue         = "QUEUE"
	TPool          = "BUFFER_POOL"
	TProfile       = "BUFFER_PROFILE"
	TGroup         = "BUFFER_PG"
	TBufferQueue   = "BUFFER_QUEUE"
	TIngressList   = "BUFFER_PORT_INGRESS_PROFILE_LIST"
	TEgressList    = "BUFFER_PORT_EGRESS_PROFILE_LIST"
	TCable         = "CABLE_LENGTH"
	TDefaultBuffer = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
	TPattern       = "LOSSLESS_TRAFFIC_PATTERN"
	TWatchdog      = "PFC_WD"
	TPort          = "PORT"
	TMetadata      = "DEVICE_METADATA"
	TMember        = "PORTCHANNEL_MEMBER"
)

// globalKey is the key of PORT_QOS_MAP for what enters outside a port.
const globalKey = "global"

// Encode returns the CONFIG_DB rows that make a switch what d says: the rows
// this tool owns.
func Encode(d *qos.Device) Config {
	cfg := Target(d)
	for tn, t := range cfg {
		for k, r := range t {
			for f, v := range r {
				if v == Absent {
					delete(r, f)
				}
			}
			if len(r) == 0 {
				delete(t, k)
			}
		}
		if len(t) == 0 {
			delete(cfg, tn)
		}
	}
	return cfg
}

// Target is Encode with what must not be there: a field with the value
// [Absent] is one this tool manages and wants gone, a nil row a row it wants
// gone. Fields that are not mentioned belong to others.
func Target(d *qos.Device) Config {
	e := encoder{d: d, cfg: Config{}, maps: map[*qos.Maps]string{}, wred: map[classed[qos.ECN]]string{}, sched: map[classed[qos.Scheduler]]string{}}
	e.queueClass = make([]int, qos.NumPriorities)
	for q := range e.queueClass {
		e.queueClass[q] = slices.IndexFunc(d.Classes, func(c qos.Class) bool { return c.Queue == q })
	}
	e.name()
	for name, p := range d.Ports {
		e.port(name, p)
	}
	e.device()
	return e.cfg
}

type encoder struct {
	d          *qos.Device
	cfg        Config
	queueClass []int // queue -> index of its class, -1 for none
	maps       map[*qos.Maps]string
	wred       map[classed[qos.ECN]]string
	sched      map[classed[qos.Scheduler]]string
}

// classed is an object of one class; the class is part of its name, so that a
// changed value stays in the same object and is changed in place, without
// rebinding (which takes the port down).
type classed[T comparable] struct {
	class int
	v     T
}

// name gives every distinct object of the device its native name. The value
// that most ports share gets the plain name, the others one made from their
// content.
func (e *encoder) name() {
	maps := map[qos.Maps]int{}
	byPtr := map[*qos.Maps]int{}
	wred := map[classed[qos.ECN]]int{}
	sched := map[classed[qos.Scheduler]]int{}
	for _, p := range e.d.Ports {
		if p.Maps.Set && p.Maps.V != nil {
			byPtr[p.Maps.V]++
		}
		for q := range p.Queues {
			c := e.queueClass[q]
			if ecn := p.Queues[q].ECN; ecn.Set && (ecn.V.Enabled || ecn.V.Other != "") {
				wred[classed[qos.ECN]{c, ecn.V}]++
			}
			if s := p.Queues[q].Scheduler; s.Set {
				sched[classed[qos.Scheduler]{c, s.V}]++
			}
		}
	}
	for m, n := range byPtr {
		maps[*m] += n
	}
	mapNames := map[qos.Maps]string{}
	for i, m := range byUse(maps, func(m qos.Maps) string { return mapText(&m) }) {
		mapNames[m] = variant(MapName, i, mapText(&m))
	}
	for m := range byPtr {
		e.maps[m] = mapNames[*m]
	}
	firstECN := math.MaxInt
	for k := range wred {
		firstECN = min(firstECN, e.rank(k.class))
	}
	perClass := map[int]int{}
	for _, k := range byUse(wred, func(k classed[qos.ECN]) string { return k.v.String() }) {
		base := WREDName
		if e.rank(k.class) != firstECN {
			base = clip("ROCE_" + e.className(k.class))
		}
		e.wred[k] = variant(base, perClass[k.class], k.v.String())
		perClass[k.class]++
		e.putWRED(e.wred[k], k.v)
	}
	clear(perClass)
	for _, k := range byUse(sched, func(k classed[qos.Scheduler]) string { return k.v.String() }) {
		e.sched[k] = variant(schedulerPrefix+e.className(k.class), perClass[k.class], k.v.String())
		perClass[k.class]++
		e.putScheduler(e.sched[k], k.v)
	}
}

// rank orders classes for the plain WRED name: lossless ones first, then by
// priority.
func (e *encoder) rank(class int) int {
	if class < 0 {
		return math.MaxInt - 1
	}
	c := e.d.Classes[class]
	if c.Lossless {
		return c.Priority
	}
	return qos.NumPriorities + c.Priority
}

func (e *encoder) className(class int) string {
	if class < 0 {
		return "other"
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, e.d.Classes[class].Name)
}

// maxName is the length of a map or WRED profile name
// (sonic-yang-models: pattern of the name leaves).
const maxName = 32

func clip(s string) string { return s[:min(len(s), maxName-9)] }

// variant returns base for the first of several values and base with a mark of
// the content for the others.
func variant(base string, i int, content string) string {
	if i == 0 {
		return base
	}
	h := fnv.New32a()
	h.Write([]byte(content))
	return base + "_" + strconv.FormatUint(uint64(h.Sum32()), 16)
}

// byUse sorts values by how many use them, most first, then by their text.
func byUse[T comparable](uses map[T]int, text func(T) string) []T {
	out := make([]T, 0, len(uses))
	for v := range uses {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b T) int {
		if d := uses[b] - uses[a]; d != 0 {
			return d
		}
		return strings.Compare(text(a), text(b))
	})
	return out
}

func mapText(m *qos.Maps) string {
	b := make([]byte, 0, qos.NumDSCP+6*qos.NumPriorities)
	for _, a := range [][]int8{m.DSCPToTC[:], m.PCPToTC[:], m.TCToQueue[:], m.TCToGroup[:], m.PFCToQueue[:], m.PFCToGroup[:], m.TCToDSCP[:]} {
		for _, v := range a {
			b = append(b, byte(v))
		}
	}
	return string(b)
}

func (e *encoder) putWRED(name string, c qos.ECN) {
	lo, hi, p := strconv.FormatInt(c.Min, 10), strconv.FormatInt(c.Max, 10), strconv.Itoa(c.Probability)
	row := Row{"ecn": "ecn_all"}
	for _, colour := range []string{"green", "yellow", "red"} {
		row["wred_"+colour+"_enable"] = "true"
		row[colour+"_min_threshold"] = lo
		row[colour+"_max_threshold"] = hi
		row[colour+"_drop_probability"] = p
	}
	e.cfg.Put(TWRED, name, row)
}

func (e *encoder) putScheduler(name string, s qos.Scheduler) {
	row := Row{"type": "STRICT", "weight": Absent, "cir": Absent, "pir": Absent}
	if !s.Strict {
		row["type"] = "DWRR"
		row["weight"] = strconv.Itoa(s.Weight)
	}
	if s.MinRate > 0 || s.MaxRate > 0 {
		// A peak rate needs a committed one, in bytes per second.
		row["meter_type"] = "bytes"
		row["cir"] = strconv.FormatInt(int64(s.MinRate)/8, 10)
	}
	if s.MaxRate > 0 {
		row["pir"] = strconv.FormatInt(int64(s.MaxRate)/8, 10)
	}
	e.cfg.Put(TScheduler, name, row)
}

func (e *encoder) port(name string, p *qos.Port) {
	e.portRow(name, p)
	e.portQoS(name, p)
	for q := range p.Queues {
		e.queue(name, q, &p.Queues[q])
	}
	for g := range p.Groups {
		e.group(name, g, &p.Groups[g])
	}
	if p.IngressProfiles.Set {
		e.cfg.Put(TIngressList, name, Row{"profile_list": p.IngressProfiles.V})
	}
	if p.EgressProfiles.Set {
		e.cfg.Put(TEgressList, name, Row{"profile_list": p.EgressProfiles.V})
	}
	if p.Cable.Set {
		if e.cfg.Row(TCable, CableName) == nil {
			e.cfg.Put(TCable, CableName, Row{})
		}
		e.cfg[TCable][CableName][name] = cable(p.Cable.V)
	}
	if w := p.Watchdog; w.Set {
		var row Row
		if w.V.Enabled {
			row = Row{"action": string(w.V.Action), "detection_time": millis(w.V.Detect), "restoration_time": millis(w.V.Restore)}
		}
		e.cfg.Put(TWatchdog, name, row)
	}
}

// cable prints whole metres, rounded up: the model knows no fractions, and a
// longer cable is the safe side.
func cable(l units.Length) string { return strconv.Itoa(int(math.Ceil(float64(l)))) + "m" }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (e *encoder) portRow(name string, p *qos.Port) {
	row := Row{}
	if p.MTU.Set {
		row["mtu"] = strconv.Itoa(p.MTU.V)
	}
	if p.Speed.Set {
		row["speed"] = strconv.FormatInt(p.Speed.V.Mbps(), 10)
	}
	if p.FEC.Set {
		row["fec"] = p.FEC.V
	}
	if p.AdminUp.Set {
		row["admin_status"] = upDown(p.AdminUp.V)
	}
	if p.PFCAsymmetric.Set {
		row["pfc_asym"] = Absent
		if p.PFCAsymmetric.V {
			row["pfc_asym"] = "on"
		}
	}
	if len(row) > 0 {
		e.cfg.Put(TPort, name, row)
	}
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func (e *encoder) portQoS(name string, p *qos.Port) {
	row := Row{}
	if p.Maps.Set && p.Maps.V != nil {
		n := e.maps[p.Maps.V]
		e.bindMaps(row, n, p.Maps.V)
	}
	if p.PFC.Set {
		row["pfc_enable"] = mask(p.PFC.V)
	}
	if p.Watchdog.Set {
		// Without this the watchdog has no queues and does nothing
		// (sonic-swss:orchagent/pfcwdorch.cpp).
		row["pfcwd_sw_enable"] = mask(p.Watchdog.V.Priorities)
	}
	if len(row) > 0 {
		e.cfg.Put(TPortQoS, name, row)
	}
}

// mask prints "3,4". An empty set is no field: releases before 202505 refuse
// the empty text.
func mask(s qos.PrioritySet) string {
	if s == 0 {
		return Absent
	}
	return s.Join(",")
}

func (e *encoder) bindMaps(row Row, name string, m *qos.Maps) {
	bind := func(field, table string, vals []int8) {
		switch {
		case !slices.ContainsFunc(vals, func(v int8) bool { return v != qos.Unmanaged }):
			return
		case !slices.ContainsFunc(vals, func(v int8) bool { return v >= 0 }):
			row[field] = Absent
			return
		}
		row[field] = name
		if e.cfg.Row(table, name) == nil {
			e.cfg.Put(table, name, mapRow(vals))
		}
	}
	bind("dscp_to_tc_map", TDSCPToTC, m.DSCPToTC[:])
	bind("dot1p_to_tc_map", TDot1pToTC, m.PCPToTC[:])
	bind("tc_to_queue_map", TTCToQueue, m.TCToQueue[:])
	bind("tc_to_pg_map", TTCToGroup, m.TCToGroup[:])
	bind("pfc_to_queue_map", TPFCToQueue, m.PFCToQueue[:])
	bind("pfc_to_pg_map", TPFCToGroup, m.PFCToGroup[:])
	bind("tc_to_dscp_map", TTCToDSCP, m.TCToDSCP[:])
}

func mapRow(vals []int8) Row {
	r := make(Row, len(vals))
	for k, v := range vals {
		if v >= 0 {
			r[strconv.Itoa(k)] = strconv.Itoa(int(v))
		}
	}
	return r
}

func (e *encoder) queue(port string, q int, v *qos.Queue) {
	key := port + "|" + strconv.Itoa(q)
	row := Row{}
	if v.Scheduler.Set {
		row["scheduler"] = e.sched[classed[qos.Scheduler]{e.queueClass[q], v.Scheduler.V}]
	}
	if v.ECN.Set {
		row["wred_profile"] = Absent
		if n, ok := e.wred[classed[qos.ECN]{e.queueClass[q], v.ECN.V}]; ok {
			row["wred_profile"] = n
		}
	}
	if len(row) > 0 {
		e.cfg.Put(TQueue, key, row)
	}
	if v.Buffer.Set {
		e.cfg.Put(TBufferQueue, key, Row{"profile": v.Buffer.V})
	}
}

func (e *encoder) group(port string, g int, v *qos.Group) {
	key := port + "|" + strconv.Itoa(g)
	switch {
	case v.Lossless.Or(false):
		// The traditional model derives the row from pfc_enable, speed and
		// cable; writing it would make two writers
		// (sonic-swss:cfgmgr/buffermgr.cpp).
		if e.d.Platform.DynamicBuffers {
			e.cfg.Put(TGroup, key, Row{"profile": "NULL"})
		}
	case v.Buffer.Set:
		e.cfg.Put(TGroup, key, Row{"profile": v.Buffer.V})
	case v.Lossless.Set:
		e.cfg.Put(TGroup, key, nil)
	}
}

func (e *encoder) device() {
	d := e.d
	if d.GlobalMaps.Set && d.GlobalMaps.V != nil {
		name, ok := e.globalName(d.GlobalMaps.V)
		row := Row{"dscp_to_tc_map": Absent}
		if ok {
			row["dscp_to_tc_map"] = name
		}
		e.cfg.Put(TPortQoS, globalKey, row)
	}
	if d.WatchdogPoll.Set {
		e.cfg.Put(TWatchdog, "GLOBAL", Row{"POLL_INTERVAL": millis(d.WatchdogPoll.V)})
	}
	if h := d.HeadroomModel; h.Set {
		row := Row{"default_dynamic_th": strconv.Itoa(h.V.Alpha)}
		if h.V.OverSubscribe > 0 {
			row["over_subscribe_ratio"] = strconv.Itoa(h.V.OverSubscribe)
		}
		e.cfg.Put(TDefaultBuffer, MapName, row)
		e.cfg.Put(TPattern, MapName, Row{"mtu": strconv.Itoa(h.V.LosslessMTU), "small_packet_percentage": strconv.Itoa(h.V.SmallPacketPercent)})
	}
}

// globalName finds, or makes, the DSCP map of the global row: the switch honours
// no other map there.
func (e *encoder) globalName(m *qos.Maps) (string, bool) {
	row := mapRow(m.DSCPToTC[:])
	if len(row) == 0 {
		return "", false
	}
	for _, n := range natural.Keys(e.cfg[TDSCPToTC]) {
		if sameRow(e.cfg[TDSCPToTC][n], row) {
			return n, true
		}
	}
	name := MapName
	if e.cfg.Row(TDSCPToTC, name) != nil {
		name = variant(MapName, 1, mapText(m))
	}
	e.cfg.Put(TDSCPToTC, name, row)
	return name, true
}

func sameRow(a, b Row) bool {
	if len(a) != len(b) {
		return false
	}
	for f, v := range a {
		if b[f] != v {
			return false
		}
	}
	return true
}
