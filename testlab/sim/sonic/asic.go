package sonic

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

const noOID = "oid:0x0"

// saiTypes gives the SAI object types for the high byte of an OID.
var saiTypes = map[string]int{"PORT": 0x1, "SWITCH": 0x21, "QUEUE": 0x15, "SCHEDULER": 0x16, "SCHEDULER_GROUP": 0x17, "WRED": 0x13,
	"QOS_MAP": 0x14, "BUFFER_POOL": 0x18, "BUFFER_PROFILE": 0x19, "INGRESS_PRIORITY_GROUP": 0x1a}

// oid returns the ID of an object. Clients learn IDs from the name maps and references; an object
// keeps its ID.
func oid(kind, name string) string {
	object := [2]string{kind, name}
	if id, ok := oids.Load(object); ok {
		return id.(string)
	}
	h := fnv.New64a()
	h.Write([]byte(kind + "\x00" + name))
	id := fmt.Sprintf("oid:0x%x%012x", saiTypes[kind], h.Sum64()&0xffffffffffff|1)
	oids.Store(object, id)
	return id
}

// oids caches IDs by kind and name, because several objects contain the same ID.
var oids sync.Map

// indexed returns the name of a queue or group of a port.
func indexed(port string, i int) string { return port + ":" + strconv.Itoa(i) }

func asicKey(kind, name string) string { return "SAI_OBJECT_TYPE_" + kind + ":" + oid(kind, name) }

const numQueues, numGroups = 8, 8

// asicDB returns what orchagent sent to SAI. The only table is ASIC_STATE.
func (s *Switch) asicDB(only string) tables {
	t := tables{}
	if !isRequested(only, "ASIC_STATE") {
		return t
	}
	set := func(kind, name string, r row) { t.set("ASIC_STATE", asicKey(kind, name), r) }
	sw := row{"SAI_SWITCH_ATTR_INIT_SWITCH": "true"}
	if m := s.cfg["PORT_QOS_MAP"]["global"]["dscp_to_tc_map"]; s.cfg["DSCP_TO_TC_MAP"][m] != nil {
		sw["SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP"] = oid("QOS_MAP", "DSCP_TO_TC_MAP|"+m)
	}
	set("SWITCH", "", sw)
	s.asicExtras(set)
	for _, table := range sortedKeys(saiMaps) {
		for name, r := range s.cfg[table] {
			set("QOS_MAP", table+"|"+name, saiMap(table, r, s.dice.Habit(table+"|"+name)))
		}
	}
	for name, r := range s.accepted("WRED_PROFILE") {
		set("WRED", name, saiWRED(r))
	}
	for name, r := range s.accepted("SCHEDULER") {
		set("SCHEDULER", name, saiScheduler(r))
	}
	pools, profiles := s.bufferObjects()
	for name, r := range pools {
		set("BUFFER_POOL", name, saiPool(r))
	}
	for name, r := range profiles {
		set("BUFFER_PROFILE", name, saiProfile(r, pools))
	}
	queueBuf, groupBuf := s.bindings("BUFFER_QUEUE_TABLE", profiles), s.bindings("BUFFER_PG_TABLE", profiles)
	queues := s.queueRows()
	for port, p := range s.orch["PORT"] {
		set("PORT", port, s.saiPort(port, p, profiles))
		for i := range numQueues {
			name := indexed(port, i)
			q := row{"SAI_QUEUE_ATTR_TYPE": "SAI_QUEUE_TYPE_UNICAST", "SAI_QUEUE_ATTR_INDEX": strconv.Itoa(i),
				"SAI_QUEUE_ATTR_WRED_PROFILE_ID": noOID, "SAI_QUEUE_ATTR_BUFFER_PROFILE_ID": ref("BUFFER_PROFILE", queueBuf[name])}
			if w := queues[name]["wred_profile"]; s.orch["WRED_PROFILE"][w] != nil {
				q["SAI_QUEUE_ATTR_WRED_PROFILE_ID"] = oid("WRED", w)
			}
			set("QUEUE", name, q)
			if sc := queues[name]["scheduler"]; s.orch["SCHEDULER"][sc] != nil {
				set("SCHEDULER_GROUP", name, row{"SAI_SCHEDULER_GROUP_ATTR_PORT_ID": oid("PORT", port),
					"SAI_SCHEDULER_GROUP_ATTR_SCHEDULER_PROFILE_ID": oid("SCHEDULER", sc)})
			}
		}
		for i := range numGroups {
			name := indexed(port, i)
			set("INGRESS_PRIORITY_GROUP", name, row{"SAI_INGRESS_PRIORITY_GROUP_ATTR_PORT": oid("PORT", port),
				"SAI_INGRESS_PRIORITY_GROUP_ATTR_INDEX": strconv.Itoa(i), "SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE": ref("BUFFER_PROFILE", groupBuf[name])})
		}
	}
	return t
}

// switchAlone returns ASIC_DB with only the switch object.
func switchAlone(t tables) tables {
	out := tables{}
	if r := t["ASIC_STATE"][asicKey("SWITCH", "")]; r != nil {
		out.set("ASIC_STATE", asicKey("SWITCH", ""), r)
	}
	return out
}

func ref(kind, name string) string {
	if name == "" {
		return noOID
	}
	return oid(kind, name)
}

// queueRows expands QUEUE to one row per "port:index"; if keys overlap, the later one in order
// wins.
func (s *Switch) queueRows() map[string]row {
	out := map[string]row{}
	for _, k := range naturalKeys(s.cfg["QUEUE"]) {
		port, r, _ := strings.Cut(k, "|")
		for _, i := range expand(r) {
			if !s.loose[spot{"QUEUE", port, i}] {
				out[indexed(port, i)] = s.cfg["QUEUE"][k]
			}
		}
	}
	return out
}

// bufferObjects returns the pools and profiles in hardware: the rows of APPL_DB, except for changes
// of create-only fields, which orchagent skips.
func (s *Switch) bufferObjects() (pools, profiles map[string]row) {
	pools, profiles = map[string]row{}, map[string]row{}
	for name, r := range s.applDB("BUFFER_POOL_TABLE")["BUFFER_POOL_TABLE"] {
		if a := s.orch["BUFFER_POOL"][name]; a != nil {
			r = copyRow(r)
			r["type"], r["mode"] = a["type"], a["mode"]
		}
		pools[name] = r
	}
	for name, r := range s.applDB("BUFFER_PROFILE_TABLE")["BUFFER_PROFILE_TABLE"] {
		if a := s.orch["BUFFER_PROFILE"][name]; a != nil {
			r = a
		}
		if pools[r["pool"]] != nil {
			profiles[name] = r
		}
	}
	return pools, profiles
}

// bindings maps "port:index" to its profile.
func (s *Switch) bindings(table string, profiles map[string]row) map[string]string {
	out := map[string]string{}
	rows := s.applDB(table)[table]
	for _, k := range naturalKeys(rows) {
		i := strings.LastIndexByte(k, ':')
		prof := rows[k]["profile"]
		if i < 0 || profiles[prof] == nil {
			continue
		}
		for _, n := range expand(k[i+1:]) {
			if !s.loose[spot{strings.TrimSuffix(table, "_TABLE"), k[:i], n}] {
				out[indexed(k[:i], n)] = prof
			}
		}
	}
	return out
}

func (s *Switch) saiPort(port string, p row, profiles map[string]row) row {
	mtu, err := strconv.Atoi(p["mtu"])
	if err != nil {
		mtu = 9100
	}
	r := row{"SAI_PORT_ATTR_ADMIN_STATE": strconv.FormatBool(p["admin_status"] == "up"), "SAI_PORT_ATTR_SPEED": p["speed"],
		"SAI_PORT_ATTR_MTU": strconv.Itoa(mtu + 22)}
	q := s.cfg["PORT_QOS_MAP"][port]
	mask := 0
	for _, n := range strings.Split(q["pfc_enable"], ",") {
		if i, err := strconv.Atoi(n); err == nil && i >= 0 && i < 8 {
			mask |= 1 << i
		}
	}
	if p["pfc_asym"] == "on" {
		r["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_MODE"] = "SAI_PORT_PRIORITY_FLOW_CONTROL_MODE_SEPARATE"
		r["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_TX"], r["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_RX"] = strconv.Itoa(mask), "255"
	} else if q != nil {
		r["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"] = strconv.Itoa(mask)
		if p["pfc_asym"] == "off" {
			r["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL_MODE"] = "SAI_PORT_PRIORITY_FLOW_CONTROL_MODE_COMBINED"
		}
	}
	for field, attr := range portAttrs {
		if table := portMaps[field]; s.cfg[table][q[field]] != nil {
			r["SAI_PORT_ATTR_"+attr] = oid("QOS_MAP", table+"|"+q[field])
		}
	}
	if s.orch["SCHEDULER"][q["scheduler"]] != nil {
		r["SAI_PORT_ATTR_QOS_SCHEDULER_PROFILE_ID"] = oid("SCHEDULER", q["scheduler"])
	}
	for _, dir := range []string{"INGRESS", "EGRESS"} {
		var ids []string
		for _, n := range strings.Split(s.cfg["BUFFER_PORT_"+dir+"_PROFILE_LIST"][port]["profile_list"], ",") {
			if profiles[n] != nil {
				ids = append(ids, oid("BUFFER_PROFILE", n))
			}
		}
		if len(ids) > 0 {
			r["SAI_PORT_ATTR_QOS_"+dir+"_BUFFER_PROFILE_LIST"] = fmt.Sprintf("%d:%s", len(ids), strings.Join(ids, ","))
		}
	}
	return r
}

var portAttrs = map[string]string{"dscp_to_tc_map": "QOS_DSCP_TO_TC_MAP", "dot1p_to_tc_map": "QOS_DOT1P_TO_TC_MAP", "tc_to_queue_map": "QOS_TC_TO_QUEUE_MAP",
	"tc_to_pg_map": "QOS_TC_TO_PRIORITY_GROUP_MAP", "pfc_to_queue_map": "QOS_PFC_PRIORITY_TO_QUEUE_MAP",
	"pfc_to_pg_map": "QOS_PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "tc_to_dscp_map": "QOS_TC_AND_COLOR_TO_DSCP_MAP"}

// saiMaps gives a table's SAI type and the member names of key and value.
var saiMaps = map[string][3]string{
	"DSCP_TO_TC_MAP": {"DSCP_TO_TC", "dscp", "tc"}, "DOT1P_TO_TC_MAP": {"DOT1P_TO_TC", "dot1p", "tc"},
	"TC_TO_QUEUE_MAP": {"TC_TO_QUEUE", "tc", "qidx"}, "TC_TO_PRIORITY_GROUP_MAP": {"TC_TO_PRIORITY_GROUP", "tc", "pg"},
	"MAP_PFC_PRIORITY_TO_QUEUE":          {"PFC_PRIORITY_TO_QUEUE", "prio", "qidx"},
	"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"PFC_PRIORITY_TO_PRIORITY_GROUP", "prio", "pg"},
	"TC_TO_DSCP_MAP":                     {"TC_AND_COLOR_TO_DSCP", "tc", "dscp"},
}

type saiMember struct {
	Color string `json:"color"`
	DSCP  int    `json:"dscp"`
	Dot1p int    `json:"dot1p"`
	FC    int    `json:"fc"`
	EXP   int    `json:"mpls_exp"`
	PG    int    `json:"pg"`
	Prio  int    `json:"prio"`
	Queue int    `json:"qidx"`
	TC    int    `json:"tc"`
}

func (m *saiMember) set(name string, v int) {
	*map[string]*int{"dscp": &m.DSCP, "dot1p": &m.Dot1p, "pg": &m.PG, "prio": &m.Prio, "qidx": &m.Queue, "tc": &m.TC}[name] = v
}

// saiMap returns a map as it was sent to SAI, in the arbitrary order in which Redis listed its
// fields.
func saiMap(table string, r row, dice *sim.Dice) row {
	type pair struct {
		Key   saiMember `json:"key"`
		Value saiMember `json:"value"`
	}
	def := saiMaps[table]
	list := struct {
		Count int    `json:"count"`
		List  []pair `json:"list"`
	}{List: []pair{}}
	for _, from := range naturalKeys(r) {
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(r[from])
		if err1 != nil || err2 != nil {
			continue
		}
		p := pair{Key: saiMember{Color: "SAI_PACKET_COLOR_GREEN"}, Value: saiMember{Color: "SAI_PACKET_COLOR_GREEN"}}
		p.Key.set(def[1], a)
		p.Value.set(def[2], b)
		list.List = append(list.List, p)
	}
	sim.Reorder(dice, list.List)
	list.Count = len(list.List)
	b, err := json.Marshal(list)
	if err != nil {
		return row{} // numbers and constants always marshal
	}
	return row{"SAI_QOS_MAP_ATTR_TYPE": "SAI_QOS_MAP_TYPE_" + def[0], "SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST": string(b)}
}

func saiWRED(r row) row {
	out := row{"SAI_WRED_ATTR_WEIGHT": "0"}
	for _, c := range colours {
		up := "SAI_WRED_ATTR_" + strings.ToUpper(c)
		enabled := r["wred_"+c+"_enable"]
		if enabled != "" {
			out[up+"_ENABLE"] = enabled
		}
		for f, a := range map[string]string{"_min_threshold": "_MIN_THRESHOLD", "_max_threshold": "_MAX_THRESHOLD", "_drop_probability": "_DROP_PROBABILITY"} {
			if v := r[c+f]; v != "" {
				out[up+a] = v
			}
		}
		if enabled == "true" && r[c+"_drop_probability"] == "" {
			out[up+"_DROP_PROBABILITY"] = "100"
		}
	}
	if e := r["ecn"]; e != "" {
		out["SAI_WRED_ATTR_ECN_MARK_MODE"] = "SAI_ECN_MARK_MODE_" + strings.ToUpper(strings.TrimPrefix(e, "ecn_"))
	}
	return out
}

func saiScheduler(r row) row {
	out := row{}
	for f, a := range map[string]string{"weight": "SCHEDULING_WEIGHT", "cir": "MIN_BANDWIDTH_RATE", "cbs": "MIN_BANDWIDTH_BURST_RATE", "pir": "MAX_BANDWIDTH_RATE", "pbs": "MAX_BANDWIDTH_BURST_RATE"} {
		if v := r[f]; v != "" {
			out["SAI_SCHEDULER_ATTR_"+a] = v
		}
	}
	if t := r["type"]; t != "" {
		out["SAI_SCHEDULER_ATTR_SCHEDULING_TYPE"] = "SAI_SCHEDULING_TYPE_" + t
	}
	if m := r["meter_type"]; m != "" {
		out["SAI_SCHEDULER_ATTR_METER_TYPE"] = "SAI_METER_TYPE_" + strings.ToUpper(m)
	}
	return out
}

func saiPool(r row) row {
	out := row{"SAI_BUFFER_POOL_ATTR_TYPE": "SAI_BUFFER_POOL_TYPE_" + strings.ToUpper(r["type"]),
		"SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE": "SAI_BUFFER_POOL_THRESHOLD_MODE_" + strings.ToUpper(r["mode"]), "SAI_BUFFER_POOL_ATTR_SIZE": r["size"]}
	if x := r["xoff"]; x != "" && x != "0" {
		out["SAI_BUFFER_POOL_ATTR_XOFF_SIZE"] = x
	}
	return out
}

func saiProfile(r row, pools map[string]row) row {
	out := row{"SAI_BUFFER_PROFILE_ATTR_POOL_ID": oid("BUFFER_POOL", r["pool"]), "SAI_BUFFER_PROFILE_ATTR_BUFFER_SIZE": r["size"]}
	for f, a := range map[string]string{"xon": "XON_TH", "xoff": "XOFF_TH", "xon_offset": "XON_OFFSET_TH", "dynamic_th": "SHARED_DYNAMIC_TH", "static_th": "SHARED_STATIC_TH"} {
		if v := r[f]; v != "" {
			out["SAI_BUFFER_PROFILE_ATTR_"+a] = v
		}
	}
	mode := "DYNAMIC"
	if r["static_th"] != "" || r["dynamic_th"] == "" && pools[r["pool"]]["mode"] == "static" {
		mode = "STATIC"
	}
	out["SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE"] = "SAI_BUFFER_PROFILE_THRESHOLD_MODE_" + mode
	return out
}
