package sonic

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Names that parts of SONiC hard-code: the templates, ecnconfig -q, the config updater up to
// 202411, and the Pfcwd telemetry path know only these (sonic-utilities:scripts/ecnconfig,
// sonic-gnmi:sonic_data_client/virtual_db.go).
const (
	mapName   = "AZURE"
	wredName  = "AZURE_LOSSLESS"
	cableName = "AZURE"
)

// schedulerPrefix starts the names of this tool's own schedulers. The template's scheduler.0 and
// scheduler.1 serve queues without a class.
const schedulerPrefix = "roce."

// Absent marks a field that must not exist, in the result of [Target]. It cannot occur in
// CONFIG_DB.
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
	TSwitch        = "SWITCH"
	TMember        = "PORTCHANNEL_MEMBER"
	TTunnel        = "TUNNEL"
	TVXLAN         = "VXLAN_TUNNEL"
)

// mapTable is a table of maps and the PORT_QOS_MAP field that binds one of its rows.
type mapTable struct{ table, field string }

// mapTables gives the SONiC table for each map of the model.
var mapTables = [qos.NumTables]mapTable{
	qos.DSCPToTC:   {TDSCPToTC, "dscp_to_tc_map"},
	qos.PCPToTC:    {TDot1pToTC, "dot1p_to_tc_map"},
	qos.TCToQueue:  {TTCToQueue, "tc_to_queue_map"},
	qos.TCToGroup:  {TTCToGroup, "tc_to_pg_map"},
	qos.PFCToQueue: {TPFCToQueue, "pfc_to_queue_map"},
	qos.PFCToGroup: {TPFCToGroup, "pfc_to_pg_map"},
	qos.TCToDSCP:   {TTCToDSCP, "tc_to_dscp_map"},
}

// whole lists the tables whose fields are map entries. A row there is written as a whole: entries
// that the target does not list are removed.
var whole = []string{TDSCPToTC, TDot1pToTC, TTCToQueue, TTCToGroup, TPFCToQueue, TPFCToGroup, TTCToDSCP}

// globalKey is the key of the PORT_QOS_MAP row for traffic that enters outside of a port.
const globalKey = "global"

// Encode returns the rows of this tool for a switch in state d.
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

// Target is like Encode, but also states what must not exist: a field with the value [Absent] is
// managed by this tool and must be removed, as must a row that is nil. Fields that are not
// mentioned belong to others.
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

// classed is an object of one class. The class is part of its name, so that a changed value stays
// in the same object and is changed in place, without rebinding (which takes the port down).
type classed[T comparable] struct {
	class int
	v     T
}

// name gives every distinct object of the device its native name. The value that most ports share
// gets the plain name; names of the others are made from their content.
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
	mapNames, taken := map[qos.Maps]string{}, map[string]bool{}
	for i, m := range byUse(maps, func(m qos.Maps) string { return mapText(&m) }) {
		mapNames[m] = mapName
		if i > 0 {
			mapNames[m] = variant(mapName, mapText(&m), taken)
		}
	}
	for m := range byPtr {
		e.maps[m] = mapNames[*m]
	}
	firstECN := math.MaxInt
	for k := range wred {
		firstECN = min(firstECN, e.rank(k.class))
	}
	if slices.ContainsFunc(e.d.Classes, func(c qos.Class) bool { return c.KeepsECN }) {
		// The curve that is kept may have the plain name, and must not change.
		firstECN = math.MaxInt
	}
	bases := e.bases("ROCE_", maxBase)
	for c := range bases {
		if e.rank(c) == firstECN {
			bases[c] = wredName
		}
	}
	nameAll(wred, func(k classed[qos.ECN]) string { return bases[k.class] }, e.wred, e.putWRED)
	plain := e.bases(schedulerPrefix, math.MaxInt)
	nameAll(sched, func(k classed[qos.Scheduler]) string {
		if k.v.MinRate > 0 || k.v.MaxRate > 0 {
			return plain[k.class] + shapedSuffix
		}
		return plain[k.class]
	}, e.sched, e.putScheduler)
}

// shapedSuffix ends the name of a scheduler with rates. orchagent keeps a rate in force when its
// field is removed (sonic-swss:orchagent/qosorch.cpp), so a queue without rates needs a different
// object. Class names contain no dot.
const shapedSuffix = ".shaped"

// nameAll names the values of each class and writes each under its name. If several values share a
// base name, the one that most queues use gets it; names of the others are made from their content.
func nameAll[T interface {
	comparable
	fmt.Stringer
}](uses map[classed[T]]int, base func(classed[T]) string, names map[classed[T]]string, put func(string, T)) {
	taken, seen := map[string]bool{}, map[string]bool{}
	for k := range uses {
		taken[base(k)] = true
	}
	// Two different values may have the same String.
	text := func(k classed[T]) string { return fmt.Sprintf("%s\x00%#v\x00%d", k.v, k.v, k.class) }
	for _, k := range byUse(uses, text) {
		name := base(k)
		if seen[name] {
			name = variant(name, k.v.String(), taken)
		}
		seen[name] = true
		names[k] = name
		put(name, k.v)
	}
}

// bases returns the base names for the objects of each class, and of queues without a class (-1):
// prefix and class name, cut to length. If classes would share a name, it goes to the one whose
// name needs no cutting, else to the first by rank; the others get a hash of their full name
// appended.
func (e *encoder) bases(prefix string, length int) map[int]string {
	order := []int{-1}
	for c := range e.d.Classes {
		order = append(order, c)
	}
	fits := func(c int) int {
		if len(prefix)+len(e.className(c)) <= length {
			return 0
		}
		return 1
	}
	ordered.Sort(order, func(a, b int) int { return cmp.Or(fits(a)-fits(b), e.rank(a)-e.rank(b)) })
	out, taken := map[int]string{}, map[string]bool{}
	var shared []int
	for _, c := range order {
		name := prefix + e.className(c)
		name = name[:min(len(name), length)]
		if taken[name] {
			shared = append(shared, c)
			continue
		}
		out[c], taken[name] = name, true
	}
	for _, c := range shared {
		name := prefix + e.className(c)
		out[c] = variant(name[:min(len(name), length-markLength)], name, taken)
	}
	return out
}

// rank orders classes for the plain WRED name: lossless first, then by priority.
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

// maxName is the maximum length of the name of a map or WRED profile (sonic-yang-models: pattern of
// the name leaves). markLength is the length of the hash in a variant's name, and maxBase the
// length that remains for the rest.
const (
	maxName    = 32
	markLength = len("_01234567")
	maxBase    = maxName - markLength
)

// variant returns a free name, made of base and a hash of the content, and adds it to taken.
func variant(base, content string, taken map[string]bool) string {
	for n := 0; ; n++ {
		h := fnv.New32a()
		h.Write([]byte(content))
		if n > 0 {
			h.Write([]byte("\x00" + strconv.Itoa(n)))
		}
		name := base + "_" + strconv.FormatUint(uint64(h.Sum32()), 16)
		if !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// byUse sorts values by number of users, most first, then by their text.
func byUse[T comparable](uses map[T]int, text func(T) string) []T {
	return ordered.Sorted(maps.Keys(uses), func(a, b T) int {
		return cmp.Or(uses[b]-uses[a], strings.Compare(text(a), text(b)))
	})
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

// noCommitted is the committed rate, in bytes per second, that is written if one is required but
// none is wanted (sonic-net/sonic-mgmt#25642).
const noCommitted = 1

func (e *encoder) putScheduler(name string, s qos.Scheduler) {
	row := Row{"type": "STRICT", "weight": Absent, "cir": Absent, "pir": Absent}
	if !s.Strict {
		row["type"] = "DWRR"
		row["weight"] = strconv.Itoa(s.Weight)
	}
	if s.MinRate > 0 || s.MaxRate > 0 {
		// In bytes per second. No release up to 202605 accepts a peak rate without a committed rate
		// above 0 (sonic-yang-models:sonic-scheduler.yang).
		row["meter_type"] = "bytes"
		row["cir"] = strconv.FormatInt(max(noCommitted, int64(s.MinRate)/8), 10)
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
		if e.cfg.Row(TCable, cableName) == nil {
			e.cfg.Put(TCable, cableName, Row{})
		}
		e.cfg[TCable][cableName][name] = cable(p.Cable.V)
	}
	if w := p.Watchdog; w.Set {
		var row Row
		if w.V.Enabled {
			row = Row{"action": string(w.V.Action), "detection_time": millis(w.V.Detect), "restoration_time": millis(w.V.Restore)}
		}
		e.cfg.Put(TWatchdog, name, row)
	}
}

// cable prints whole meters, rounded up: the model has no fractions, and assuming a longer cable is
// safe.
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
		row["admin_status"] = map[bool]string{true: "up", false: "down"}[p.AdminUp.V]
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

func (e *encoder) portQoS(name string, p *qos.Port) {
	row := Row{}
	if p.Maps.Set && p.Maps.V != nil {
		e.bindMaps(row, e.maps[p.Maps.V], p.Maps.V)
	}
	if p.PFC.Set {
		row["pfc_enable"] = mask(p.PFC.V)
	}
	if p.Watchdog.Set {
		// Without this field the watchdog has no queues and does nothing
		// (sonic-swss:orchagent/pfcwdorch.cpp).
		row["pfcwd_sw_enable"] = mask(p.Watchdog.V.Priorities)
	}
	if len(row) > 0 {
		e.cfg.Put(TPortQoS, name, row)
	}
}

// mask prints "3,4". For an empty set the field is left out: releases before 202505 reject the
// empty string.
func mask(s qos.PrioritySet) string {
	if s == 0 {
		return Absent
	}
	return s.Join(",")
}

func (e *encoder) bindMaps(row Row, name string, m *qos.Maps) {
	for t, native := range mapTables {
		vals := m.Table(qos.Table(t))
		switch {
		case !slices.ContainsFunc(vals, func(v int8) bool { return v != qos.Unmanaged }):
			continue
		case !slices.ContainsFunc(vals, func(v int8) bool { return v >= 0 }):
			row[native.field] = Absent
			continue
		}
		row[native.field] = name
		if e.cfg.Row(native.table, name) == nil {
			e.cfg.Put(native.table, name, mapRow(vals))
		}
	}
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
		// In the traditional model, buffermgrd derives the row from pfc_enable, speed and cable;
		// the row must have only one writer (sonic-swss:cfgmgr/buffermgr.cpp).
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
		e.cfg.Put(TDefaultBuffer, mapName, row)
		e.cfg.Put(TPattern, mapName, Row{"mtu": strconv.Itoa(h.V.LosslessMTU), "small_packet_percentage": strconv.Itoa(h.V.SmallPacketPercent)})
	}
}

// globalName returns the name of the DSCP map for the global row, the only map that the switch
// honors there. It reuses an equal map or adds one. It returns false if m has no DSCP entries.
func (e *encoder) globalName(m *qos.Maps) (string, bool) {
	row := mapRow(m.DSCPToTC[:])
	if len(row) == 0 {
		return "", false
	}
	for _, n := range natural.Keys(e.cfg[TDSCPToTC]) {
		if maps.Equal(e.cfg[TDSCPToTC][n], row) {
			return n, true
		}
	}
	name := mapName
	if e.cfg.Row(TDSCPToTC, name) != nil {
		taken := map[string]bool{}
		for n := range e.cfg[TDSCPToTC] {
			taken[n] = true
		}
		name = variant(mapName, mapText(m), taken)
	}
	e.cfg.Put(TDSCPToTC, name, row)
	return name, true
}
