package sonic

import (
	"math"
	"strings"
)

// addSystem adds the tables not related to QoS: ports, the device, counters, gNMI.
func addSystem(m map[string]*model, rel int) {
	m["PORT"] = &model{module: "sonic-port", keys: []leaf{{check: length(1, 128)}}, fields: portFields(rel), must: mustPort}
	m["DEVICE_METADATA"] = &model{module: "sonic-device_metadata", entries: map[string]map[string]leaf{"localhost": metadataFields(rel)}}
	if rel >= r202605 {
		m["DEVICE_METADATA"].entries["bmc"] = leaves(anyText, "bmc_if_name", "bmc_if_addr", "bmc_addr", "bmc_net_mask")
	}
	m["FLEX_COUNTER_TABLE"] = &model{module: "sonic-flex_counter", entries: flexEntries(rel)}

	path := func(ext string) check { return pattern(`(/[a-zA-Z0-9_-]+)*/([a-zA-Z0-9_-]+).` + ext) }
	auth := `password|jwt|cert`
	if rel >= r202511 {
		auth += `|none`
	}
	srv := map[string]leaf{"client_auth": {check: boolean}, "log_level": {check: integer(0, 100)}, "port": {check: uint16T}, "user_auth": {check: pattern(auth)}}
	if rel >= r202411 {
		srv["save_on_set"], srv["enable_crl"], srv["crl_expire_duration"] = leaf{check: boolean}, leaf{check: boolean}, leaf{check: uint32T}
	}
	if rel >= rMaster {
		srv["vrf"] = leaf{check: oneOf("default", "mgmt")}
	}
	m["GNMI"] = &model{module: "sonic-gnmi", entries: map[string]map[string]leaf{"gnmi": srv,
		"certs": {"ca_crt": {check: path("cer")}, "server_crt": {check: path("cer")}, "server_key": {check: path("key")}}}}
	m["GNMI_CLIENT_CERT"] = &model{module: "sonic-gnmi", keys: []leaf{{check: anyText}}, fields: map[string]leaf{"role": {check: anyText, list: true, mandatory: true}}}
}

func portFields(rel int) map[string]leaf {
	maxSpeed, roles, subports := uint64(800000), `Ext|Int|Inb|Rec`, uint64(8)
	if rel >= r202511 {
		maxSpeed = 1600000
	}
	if rel >= r202405 {
		roles += `|Dpc`
	}
	if rel == r202505 {
		subports = 12
	}
	ifTypes := oneOf(strings.Fields("CR CR2 CR4 CR8 SR SR2 SR4 SR8 LR LR4 LR8 KR KR4 KR8 CAUI GMII SFI XLAUI KR2 CAUI4 XAUI XFI XGMII none")...)
	f := map[string]leaf{
		"alias": {check: length(1, 128)}, "lanes": {check: length(1, 128), mandatory: true}, "description": {check: length(0, 255)},
		"speed": {check: integer(1, maxSpeed), mandatory: true}, "link_training": {check: onOff}, "autoneg": {check: onOff},
		"adv_speeds":          {check: either(integer(1, maxSpeed), oneOf("all")), list: true, text: true},
		"interface_type":      {check: ifTypes},
		"adv_interface_types": {check: either(ifTypes, oneOf("all")), list: true, text: true},
		"mtu":                 {check: integer(68, 9216)}, "subport": {check: integer(0, subports)}, "index": {check: uint16T},
		"asic_port_name": {check: anyText}, "role": {check: pattern(roles)}, "admin_status": {check: oneOf("up", "down")},
		"fec": {check: pattern(`rs|fc|none|auto`)}, "dom_polling": {check: oneOf("enabled", "disabled")}, "pfc_asym": {check: onOff},
		"tpid": {check: pattern(`0x8100|0x9100|0x9200|0x88a8|0x88A8`)}, "mux_cable": {check: boolean},
		"macsec": {refs: []string{"MACSEC_PROFILE"}}, "tx_power": {check: pattern(`[-+]?[0-9]+(\.[0-9])?`)}, "laser_freq": {check: integer(math.MinInt32, math.MaxInt32)},
	}
	if rel >= r202405 {
		f["core_id"], f["core_port_id"], f["num_voq"] = leaf{check: length(1, 16)}, leaf{check: length(1, 16)}, leaf{check: length(1, 16)}
		f["mode"] = leaf{check: pattern(`routed|access|trunk`)}
	}
	if rel >= r202411 {
		f["dhcp_rate_limit"] = leaf{check: uint32T}
	}
	if rel >= r202605 {
		f["fast_linkup"] = leaf{check: boolean}
	}
	return f
}

func mustPort(_ *yangCheck, _ string, e map[string]any) string {
	for _, f := range []string{"adv_speeds", "adv_interface_types"} {
		var vals []string
		switch v := e[f].(type) {
		case string:
			vals = strings.Split(v, ",")
		case []any:
			for _, x := range v {
				vals = append(vals, text(x))
			}
		}
		for _, v := range vals {
			if v == "all" && len(vals) > 1 {
				return "Must condition on " + f + " not satisfied."
			}
		}
	}
	return ""
}

func metadataFields(rel int) map[string]leaf {
	f := leaves(anyText, strings.Fields("asic_name cloudtype cluster downstream_subrole region resource_type sub_role timezone")...)
	add := func(c check, names ...string) {
		for _, n := range names {
			f[n] = leaf{check: c}
		}
	}
	since := func(r int, c check, names ...string) {
		if rel >= r {
			add(c, names...)
		}
	}
	enable := oneOf("enable", "disable")
	enabled := oneOf("enabled", "disabled")
	add(length(1, 63), "hostname", "peer_switch")
	add(length(1, 255), "hwsku", "platform", "timezone")
	add(length(0, 128), "rack_mgmt_map")
	add(pattern(`[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}`), "mac")
	add(boolean, "bgp_adv_lo_prefix_as_128", "create_only_config_db_buffers", "frr_mgmt_framework_config", "storage_device")
	add(uint32T, "bgp_asn", "deployment_id")
	add(uint8T, "max_cores")
	add(uint16T, "switch_id")
	add(enable, "default_pfcwd_status", "synchronous_mode", "yang_config_validation")
	add(oneOf("up", "down"), "default_bgp_status")
	add(enabled, "dhcp_server")
	add(pattern(`separated|unified|split|split-unified`), "docker_routing_config_mode")
	add(pattern(`dynamic|traditional`), "buffer_model")
	add(pattern(`DualToR|SmartSwitch|Supervisor|UpstreamLC|DownstreamLC`), "subtype")
	add(pattern(`chassis-packet|fabric|npu|voq|dpu|dummy-sup`), "switch_type")
	types := "ToRRouter|LeafRouter|SpineChassisFrontendRouter|ChassisBackendRouter|ASIC|MgmtToRRouter|SpineRouter|BackEndToRRouter|BackEndLeafRouter|EPMS|MgmtTsToR|BmcMgmtToRRouter|not-provisioned"
	if rel >= r202411 {
		types += "|SonicHost"
	}
	if rel >= r202505 {
		types += "|MgmtLeafRouter|MgmtSpineRouter|MgmtAccessRouter|LowerMgmtAggregator|UpperMgmtAggregator|UpperSpineRouter|FabricSpineRouter|SmartSwitchDPU"
	}
	if rel >= r202511 {
		types += "|BackEndSpineRouter|LowerSpineRouter|MiniTs|LeafTs|SpineTs|CoreTs|ConsoleServer|TerminalServer|FilterLeaf|MseeRouter|LowerRegionalHub|FabricRegionalHub|UpperRegionalHub"
	}
	if rel >= r202605 {
		types += "|NetworkBmc"
	}
	add(pattern(types), "type")
	if rel != r202405 {
		add(enabled, "suppress-fib-pending")
	}
	since(r202405, length(1, 16), "asic_id")
	since(r202405, anyText, "mgmt_type", "slice_type")
	since(r202405, length(1, 63), "chassis_hostname")
	since(r202405, pattern(`[0-9]{1,3}(\.[0-9]{1,3}){3}`), "bgp_router_id")
	since(r202411, enabled, "nexthop_group")
	since(r202505, anyText, "location_type")
	since(r202505, boolean, "ring_thread_enabled", "syslog_with_osversion")
	since(r202511, boolean, "orch_northbond_dash_zmq_enabled", "syslog_counter")
	since(r202511, pattern(`false|true|False|True`), "has_sonic_dhcpv4_relay")
	since(r202511, enabled, "zebra_nexthop")
	since(r202605, boolean, "use_template_render_for_restore")
	since(r202605, enable, "dpu_auto_recovery")
	lists := map[string]int{"supporting_bulk_counter_groups": r202405, "t2_group_asns": r202505, "anchor_route_source": r202505}
	for n, r := range lists {
		if rel >= r {
			f[n] = leaf{check: anyText, list: true}
		}
	}
	switch rel {
	case r202505:
		add(boolean, "orch_dash_zmq_enabled", "orch_route_zmq_enabled")
	case r202511:
		add(boolean, "orch_northbond_route_zmq_enabled")
	case r202605:
		add(boolean, "orch_northbond_route_zmq_enabled", "orch_southbound_zmq_enabled", "async_swss_rec", "route_state_async_publish")
	}
	return f
}

func flexEntries(rel int) map[string]map[string]leaf {
	status, delay := leaf{check: oneOf("enable", "disable")}, leaf{check: pattern(`false|true|False|True`)}
	poll, chunk := leaf{check: integer(100, math.MaxUint32)}, leaf{check: integer(1, math.MaxUint32)}
	out := map[string]map[string]leaf{}
	add := func(since int, polled, bulk bool, groups string) {
		if rel < since {
			return
		}
		for _, g := range strings.Fields(groups) {
			f := map[string]leaf{"FLEX_COUNTER_STATUS": status, "FLEX_COUNTER_DELAY_STATUS": delay}
			if polled {
				f["POLL_INTERVAL"] = poll
			}
			if bulk && rel >= r202411 {
				f["BULK_CHUNK_SIZE"], f["BULK_CHUNK_SIZE_PER_PREFIX"] = chunk, leaf{check: anyText}
			}
			out[g] = f
		}
	}
	add(r202311, false, false, "DEBUG_COUNTER PFCWD PORT_RATES RIF_RATES")
	add(r202311, true, false, "BUFFER_POOL_WATERMARK RIF ACL FLOW_CNT_TRAP FLOW_CNT_ROUTE TUNNEL WRED_ECN_QUEUE WRED_ECN_PORT")
	add(r202311, true, true, "PG_DROP PG_WATERMARK PORT PORT_BUFFER_DROP QUEUE QUEUE_WATERMARK")
	add(r202411, true, false, "ENI")
	add(r202505, true, false, "PORT_PHY_ATTR SRV6")
	add(r202511, true, false, "DASH_METER SWITCH")
	add(r202605, true, false, "HA_SET")
	if rel >= rMaster {
		out["ICMP_SESSION"] = map[string]leaf{"FLEX_COUNTER_STATUS": status, "POLL_INTERVAL": {check: integer(1000, 30000)}}
	}
	return out
}
