package sonic

import (
	"fmt"
	"math"
)

// The rules below are taken from sonic-buildimage src/sonic-yang-models/yang-models, for each
// branch.

var (
	boolean  = oneOf("true", "false")
	uint8T   = integer(0, math.MaxUint8)
	uint16T  = integer(0, math.MaxUint16)
	uint32T  = integer(0, math.MaxUint32)
	uint64T  = integer(0, math.MaxUint64)
	tcType   = integer(0, 15, "Invalid Traffic Class")
	dscpType = pattern(`6[0-3]|[1-5][0-9]?|[0-9]?`, "Invalid DSCP")
	prioType = pattern(`[0-7]?`, "Invalid PFC priority")
	onOff    = pattern(`on|off`)
)

func nameType(what string) check {
	return allOf(length(1, 32, "Invalid length for "+what+" name."), pattern(`[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})`))
}

func leaves(c check, names ...string) map[string]leaf {
	m := make(map[string]leaf, len(names))
	for _, n := range names {
		m[n] = leaf{check: c}
	}
	return m
}

// looseTables are assumed to have a model, the same in every branch; their contents are not checked
// in depth.
var looseTables = []string{
	"AAA", "ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE", "AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE",
	"BANNER_MESSAGE", "BGP_DEVICE_GLOBAL", "BGP_GLOBALS", "BGP_INTERNAL_NEIGHBOR", "BGP_MONITORS", "BGP_NEIGHBOR",
	"BGP_PEER_GROUP", "BGP_PEER_RANGE", "BREAKOUT_CFG", "CONSOLE_PORT", "CONSOLE_SWITCH", "COPP_GROUP", "COPP_TRAP",
	"CRM", "DEBUG_COUNTER", "DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA", "DHCP_RELAY", "DHCP_SERVER", "DNS_NAMESERVER",
	"FEATURE", "FIPS", "INTERFACE", "KDUMP", "LDAP", "LLDP", "LOGGER", "LOOPBACK_INTERFACE", "MACSEC_PROFILE",
	"MGMT_INTERFACE", "MGMT_PORT", "MGMT_VRF_CONFIG", "MIRROR_SESSION", "NEIGH", "NTP", "NTP_KEY", "NTP_SERVER",
	"NVGRE_TUNNEL", "PASSW_HARDENING", "PBH_HASH", "PBH_RULE", "PBH_TABLE", "POLICER", "PORTCHANNEL",
	"PORTCHANNEL_INTERFACE", "PORTCHANNEL_MEMBER", "RADIUS", "RADIUS_SERVER", "RESTAPI", "ROUTE_MAP",
	"SFLOW", "SFLOW_COLLECTOR", "SNMP", "SNMP_COMMUNITY", "SSH_SERVER", "STATIC_ROUTE", "SUPPRESS_ASIC_SDK_HEALTH_EVENT",
	"SYSLOG_CONFIG", "SYSLOG_SERVER", "SYSTEM_DEFAULTS", "SYSTEM_PORT", "TACPLUS", "TACPLUS_SERVER", "TELEMETRY",
	"VERSIONS", "VLAN", "VLAN_INTERFACE", "VLAN_MEMBER", "VNET", "VOQ_INBAND_INTERFACE", "VRF",
	"VXLAN_EVPN_NVO", "VXLAN_TUNNEL", "VXLAN_TUNNEL_MAP", "WARM_RESTART",
}

func buildModels(rel int) map[string]*model {
	m := map[string]*model{}
	for _, t := range looseTables {
		m[t] = &model{loose: true}
	}
	addMaps(m, rel)
	addScheduling(m, rel)
	addBuffers(m, rel)
	addSystem(m, rel)
	return m
}

func addMaps(m map[string]*model, rel int) {
	name := []leaf{{check: nameType("map")}}
	add := func(table, module string, from, to check) {
		m[table] = &model{module: module, keys: name, fieldKey: &leaf{check: from}, fieldValue: leaf{check: to}}
	}
	queue := pattern(`[0-9]?`, "Invalid queue index")
	if rel < r202411 {
		queue = pattern(`[0-7]?`, "Invalid queue index")
	}
	add("DSCP_TO_TC_MAP", "sonic-dscp-tc-map", dscpType, tcType)
	add("DOT1P_TO_TC_MAP", "sonic-dot1p-tc-map", pattern(`[0-7]?`, "Invalid DOT1P"), tcType)
	add("TC_TO_QUEUE_MAP", "sonic-tc-queue-map", tcType, queue)
	add("TC_TO_PRIORITY_GROUP_MAP", "sonic-tc-priority-group-map", tcType, pattern(`[0-7]?`, "Invalid Priority Group"))
	add("MAP_PFC_PRIORITY_TO_QUEUE", "sonic-pfc-priority-queue-map", prioType, pattern(`[0-7]?`, "Invalid queue index"))
	add("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "sonic-pfc-priority-priority-group-map", prioType, pattern(`[0-7]?`, "Invalid Priority Group"))
	if rel >= r202411 {
		add("TC_TO_DSCP_MAP", "sonic-tc-dscp-map", tcType, dscpType)
	}
	m["CABLE_LENGTH"] = &model{module: "sonic-cable-length", keys: []leaf{{check: nameType("cable length list")}},
		fieldKey: &leaf{refs: []string{"PORT"}}, fieldValue: leaf{check: pattern(`[0-9]+m`, "Invalid cable length.")}}
}

func addScheduling(m map[string]*model, rel int) {
	m["SCHEDULER"] = &model{module: "sonic-scheduler", keys: []leaf{{check: anyText}}, must: mustScheduler,
		musts: []string{"not(pir) or cir > 0", "not(pir) or pir >= cir", "not(cbs) or cir > 0", "not(pbs) or pir > 0", "not(pbs) or not(cbs) or pbs >= cbs"},
		fields: map[string]leaf{"type": {check: oneOf("DWRR", "WRR", "STRICT")}, "weight": {check: integer(1, 100)},
			"priority": {check: integer(0, 9)}, "meter_type": {check: oneOf("packets", "bytes")},
			"cir": {check: uint64T}, "pir": {check: uint64T}, "cbs": {check: uint32T}, "pbs": {check: uint32T}}}

	wred := map[string]leaf{"ecn": {check: oneOf("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all")}}
	var musts []string
	for _, c := range colours {
		musts = append(musts, fmt.Sprintf("not(%[1]s_max_threshold) or %[1]s_min_threshold <= %[1]s_max_threshold", c))
		wred["wred_"+c+"_enable"] = leaf{check: boolean}
		wred[c+"_min_threshold"], wred[c+"_max_threshold"] = leaf{check: uint64T}, leaf{check: uint64T}
		wred[c+"_drop_probability"] = leaf{check: integer(0, 100)}
	}
	m["WRED_PROFILE"] = &model{module: "sonic-wred-profile", keys: []leaf{{check: nameType("wred profile")}}, fields: wred, must: mustWRED, musts: musts}

	m["QUEUE"] = &model{module: "sonic-queue", keys: []leaf{{refs: []string{"PORT"}, literal: "CPU"}, {check: anyText}},
		fields: map[string]leaf{"scheduler": {refs: []string{"SCHEDULER"}}, "wred_profile": {refs: []string{"WRED_PROFILE"}}}}

	prios := `[0-7](,[0-7])*`
	if rel >= r202505 {
		prios = `(` + prios + `)?`
	}
	pqm := map[string]leaf{"pfc_enable": {check: pattern(prios)}, "pfcwd_sw_enable": {check: pattern(prios)}, "scheduler": {refs: []string{"SCHEDULER"}}}
	for field, table := range portMaps {
		if field != "tc_to_dscp_map" || rel >= r202411 {
			pqm[field] = leaf{refs: []string{table}}
		}
	}
	m["PORT_QOS_MAP"] = &model{module: "sonic-port-qos-map", keys: []leaf{{refs: []string{"PORT"}, literal: "global"}}, fields: pqm}

	poll := uint64(3000)
	wd := map[string]leaf{"action": {check: oneOf(pfcwdActions...)}, "detection_time": {check: integer(100, 5000)}, "restoration_time": {check: integer(100, 60000)}}
	if rel >= r202511 {
		poll = 1000
		wd["pfc_stat_history"] = leaf{check: pattern(`enable|disable`, "pfc_stat_history must be either enable or disable")}
	}
	wd["POLL_INTERVAL"] = leaf{check: integer(100, poll)}
	m["PFC_WD"] = &model{module: "sonic-pfcwd", keys: []leaf{{refs: []string{"PORT"}, literal: "GLOBAL"}}, fields: wd, must: mustPFCWD,
		musts: []string{
			"name != 'GLOBAL' or not(action or detection_time or restoration_time or pfc_stat_history)", "name = 'GLOBAL' or not(POLL_INTERVAL)",
			"name = 'GLOBAL' or not(detection_time) or not(../PFC_WD_LIST[name='GLOBAL']) or detection_time >= ../PFC_WD_LIST[name='GLOBAL']/POLL_INTERVAL",
			"name = 'GLOBAL' or not(restoration_time) or not(../PFC_WD_LIST[name='GLOBAL']) or restoration_time >= ../PFC_WD_LIST[name='GLOBAL']/POLL_INTERVAL",
		}}
}

var colours = []string{"green", "yellow", "red"}

// portMaps gives the map fields of PORT_QOS_MAP and the tables that they refer to.
var portMaps = map[string]string{
	"dscp_to_tc_map": "DSCP_TO_TC_MAP", "dot1p_to_tc_map": "DOT1P_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP",
	"tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP", "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
	"pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "tc_to_dscp_map": "TC_TO_DSCP_MAP",
}

func mustScheduler(_ *yangCheck, _ string, e map[string]any) string {
	cir, hasCIR := number(e, "cir")
	pir, hasPIR := number(e, "pir")
	cbs, hasCBS := number(e, "cbs")
	pbs, hasPBS := number(e, "pbs")
	switch {
	case hasPIR && (!hasCIR || cir == 0):
		return "pir can't be configured without cir."
	case hasPIR && pir < cir:
		return "pir must be greater than or equal to cir"
	case hasCBS && (!hasCIR || cir == 0):
		return "cbs can't be configured without cir."
	case hasPBS && (!hasPIR || pir == 0):
		return "pbs can't be configured without pir."
	case hasPBS && hasCBS && pbs < cbs:
		return "pbs must be greater than or equal to cbs"
	}
	return ""
}

func mustWRED(_ *yangCheck, _ string, e map[string]any) string {
	for _, c := range colours {
		hi, ok := number(e, c+"_max_threshold")
		if !ok {
			continue
		}
		if lo, ok := number(e, c+"_min_threshold"); !ok || hi < lo {
			return string(c[0]-'a'+'A') + c[1:] + " max threshold must be greater than or equal to min threshold"
		}
	}
	return ""
}

func mustPFCWD(c *yangCheck, key string, e map[string]any) string {
	if key == "GLOBAL" {
		for _, f := range []string{"action", "detection_time", "restoration_time", "pfc_stat_history"} {
			if _, ok := e[f]; ok {
				return fmt.Sprintf("Must condition \"../ifname != 'GLOBAL'\" not satisfied (%s).", f)
			}
		}
		return ""
	}
	if _, ok := e["POLL_INTERVAL"]; ok {
		return "Must condition \"../ifname = 'GLOBAL'\" not satisfied."
	}
	all, _ := c.doc["PFC_WD"].(map[string]any)
	global, ok := all["GLOBAL"].(map[string]any)
	if !ok {
		return ""
	}
	poll, hasPoll := number(global, "POLL_INTERVAL")
	for _, f := range []string{"detection_time", "restoration_time"} {
		if v, ok := number(e, f); ok && (!hasPoll || v < poll) {
			return f + " must be greater than or equal to POLL_INTERVAL"
		}
	}
	return ""
}

func addBuffers(m map[string]*model, rel int) {
	pool := map[string]leaf{"type": {check: oneOf("ingress", "egress"), mandatory: true}, "mode": {check: oneOf("static", "dynamic"), mandatory: true},
		"size": {check: uint64T}, "xoff": {check: uint64T}}
	if rel >= r202405 {
		pool["type"] = leaf{check: oneOf("ingress", "egress", "both"), mandatory: true}
		pool["percentage"] = leaf{check: uint8T}
	}
	m["BUFFER_POOL"] = &model{module: "sonic-buffer-pool", keys: []leaf{{check: anyText}}, fields: pool,
		musts: []string{"not(percentage) or not(size)", "not(percentage) or /sonic-simulated/DEVICE_METADATA/localhost/buffer_model = 'dynamic'"},
		must: func(c *yangCheck, _ string, e map[string]any) string {
			_, pct := e["percentage"]
			_, size := e["size"]
			switch {
			case pct && size:
				return "Percentage should not be configured along with size"
			case pct && c.metadata("buffer_model") != "dynamic":
				return "Percentage must be configured in dynamic buffer model"
			}
			return ""
		}}
	prof := map[string]leaf{"static_th": {check: uint64T}, "dynamic_th": {check: integer(-8, 7)}, "size": {check: uint64T, mandatory: true},
		"pool": {refs: []string{"BUFFER_POOL"}, mandatory: true}, "xon_offset": {check: uint64T}, "xon": {check: uint64T}, "xoff": {check: uint64T},
		"headroom_type": {check: oneOf("static", "dynamic")}}
	if rel >= r202505 {
		prof["packet_discard_action"] = leaf{check: oneOf("drop", "trim")}
	}
	m["BUFFER_PROFILE"] = &model{module: "sonic-buffer-profile", keys: []leaf{{check: anyText}}, fields: prof}
	port := leaf{refs: []string{"PORT"}}
	profile := []string{"BUFFER_PROFILE"}
	m["BUFFER_PG"] = &model{module: "sonic-buffer-pg", keys: []leaf{port, {check: pattern(`[0-7]((-)[0-7])?`, "Invalid Buffer PG number")}},
		fields: map[string]leaf{"profile": {refs: profile, literal: "NULL", def: "0"}}}
	m["BUFFER_QUEUE"] = &model{module: "sonic-buffer-queue", keys: []leaf{port, {check: pattern(`(1[0-5]|[0-9])((-)(1[0-5]|[0-9]))?`, "Invalid Q-index")}},
		fields: map[string]leaf{"profile": {refs: profile, def: "0"}}}
	for _, t := range []string{"INGRESS", "EGRESS"} {
		mod := map[string]string{"INGRESS": "sonic-buffer-port-ingress-profile-list", "EGRESS": "sonic-buffer-port-egress-profile-list"}[t]
		m["BUFFER_PORT_"+t+"_PROFILE_LIST"] = &model{module: mod, keys: []leaf{port},
			fields: map[string]leaf{"profile_list": {refs: profile, list: true, text: true}}}
	}
	m["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = &model{module: "sonic-default-lossless-buffer-parameter", keys: []leaf{{check: nameType("default lossless buffer parameter list")}},
		fields: map[string]leaf{"default_dynamic_th": {check: integer(-8, 7, "Invalid default dynamic_th which should be a number in the range [-8, 7]."), mandatory: true},
			"over_subscribe_ratio": {check: uint16T}}}
	m["LOSSLESS_TRAFFIC_PATTERN"] = &model{module: "sonic-lossless-traffic-pattern", keys: []leaf{{check: nameType("lossless traffic pattern list")}},
		fields: map[string]leaf{"mtu": {check: integer(1, 9216, "Invaild MTU which should be in [1, 9216]."), mandatory: true},
			"small_packet_percentage": {check: integer(0, 100, "Invalid small packets percentage which should be in [0, 100]."), mandatory: true}}}
}
