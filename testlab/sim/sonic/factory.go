package sonic

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// FactoryOption changes the result of FactoryConfig.
type FactoryOption func(*factory)

type factory struct {
	hostname, cable, hwsku, platform string
	dynamic                          bool
	groupMap                         bool
}

// WithHostname sets the switch's name.
func WithHostname(name string) FactoryOption { return func(f *factory) { f.hostname = name } }

// WithDynamicBuffers selects the dynamic buffer model; by default the model's chip decides.
func WithDynamicBuffers(on bool) FactoryOption { return func(f *factory) { f.dynamic = on } }

func factoryOf(o Options) []FactoryOption {
	return []FactoryOption{WithHostname(o.Name), func(f *factory) {
		f.dynamic = f.dynamic && o.Model != nil || o.Dynamic
		if strings.HasPrefix(o.ASIC, "spc") {
			f.groupMap = true
		}
		if o.HWSKU != "" {
			f.hwsku = o.HWSKU
		}
		if o.Platform != "" {
			f.platform = o.Platform
		}
	}}
}

// ForModel returns the options for an untouched switch of a catalogue model.
func ForModel(name string, m *catalog.Model) Options {
	o := Options{Name: name, HWSKU: m.Name, Platform: m.Platform, ASIC: m.GCU, Model: m, Headroom: m.Headroom}
	if a := m.ASIC(); a != nil {
		o.Dynamic = a.DynamicBuffers
	}
	return o
}

// FactoryConfig returns the CONFIG_DB of an untouched switch of that model, as rendered by the
// image's templates (sonic-buildimage files/build_templates qos_config.j2, buffers_config.j2,
// init_cfg.json.j2). If the model is nil, or has no ports, the result has no ports either.
func FactoryConfig(m *catalog.Model, opts ...FactoryOption) map[string]map[string]map[string]string {
	f := factory{hostname: "sonic", cable: "40m"}
	if m != nil {
		f.hwsku, f.platform = m.Name, m.Platform
		if a := m.ASIC(); a != nil {
			f.dynamic, f.groupMap = a.DynamicBuffers, a.PFCToGroupMap
		}
	}
	for _, o := range opts {
		o(&f)
	}
	c := tables{}
	meta := row{"hostname": f.hostname, "hwsku": f.hwsku, "platform": f.platform, "mac": f.mac(), "type": "LeafRouter",
		"buffer_model": "traditional", "default_pfcwd_status": "disable", "synchronous_mode": "enable"}
	if f.dynamic {
		meta["buffer_model"] = "dynamic"
	}
	for k, v := range meta {
		if v == "" {
			delete(meta, k)
		}
	}
	c.set("DEVICE_METADATA", "localhost", meta)
	for _, g := range []string{"PORT", "QUEUE", "PFCWD", "PG_DROP", "PG_WATERMARK", "QUEUE_WATERMARK", "BUFFER_POOL_WATERMARK", "PORT_BUFFER_DROP"} {
		c.set("FLEX_COUNTER_TABLE", g, row{"FLEX_COUNTER_STATUS": "enable"})
	}
	var ports []string
	if m != nil {
		for _, p := range m.Ports {
			ports = append(ports, p.Name)
			r := row{"alias": p.Alias, "lanes": p.Lanes, "index": strconv.Itoa(p.Index), "mtu": "9100", "admin_status": "up"}
			if p.Speed > 0 {
				r["speed"] = itoa(p.Speed.Mbps())
			}
			if p.Speed.Gbps() >= 100 {
				r["fec"] = "rs"
			}
			c.set("PORT", p.Name, r)
		}
	}
	f.qos(c, ports, m)
	return c.deep()
}

// qosTables are the tables that `config qos clear` deletes (sonic-utilities config/main.py).
var qosTables = []string{"PORT_QOS_MAP", "QUEUE", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_QUEUE_MAP", "DSCP_TO_TC_MAP",
	"MPLS_TC_TO_TC_MAP", "SCHEDULER", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "WRED_PROFILE", "CABLE_LENGTH", "BUFFER_PG", "BUFFER_QUEUE",
	"BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PROFILE", "BUFFER_POOL",
	"DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN"}

// qos renders the QoS and buffer templates for the ports.
func (f *factory) qos(c tables, ports []string, m *catalog.Model) {
	if len(ports) == 0 {
		return
	}
	dscp, identity := row{}, row{}
	for i := range 64 {
		dscp[strconv.Itoa(i)] = "1"
	}
	for d, tc := range map[string]string{"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"} {
		dscp[d] = tc
	}
	for i := range 8 {
		identity[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	c.set("DSCP_TO_TC_MAP", "AZURE", dscp)
	c.set("TC_TO_QUEUE_MAP", "AZURE", identity)
	c.set("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", identity)
	c.set("TC_TO_PRIORITY_GROUP_MAP", "AZURE", row{"0": "0", "1": "0", "2": "0", "3": "3", "4": "4", "5": "0", "6": "0", "7": "7"})
	if f.groupMap {
		c.set("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "AZURE", row{"3": "3", "4": "4"})
	}
	c.set("SCHEDULER", "scheduler.0", row{"type": "DWRR", "weight": "14"})
	c.set("SCHEDULER", "scheduler.1", row{"type": "DWRR", "weight": "15"})
	wred := row{"ecn": "ecn_all"}
	for _, col := range colours {
		wred["wred_"+col+"_enable"], wred[col+"_drop_probability"] = "true", "5"
		wred[col+"_min_threshold"], wred[col+"_max_threshold"] = "1048576", "2097152"
	}
	c.set("WRED_PROFILE", "AZURE_LOSSLESS", wred)
	bind := row{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
	if f.groupMap {
		bind["pfc_to_pg_map"] = "AZURE"
	}
	c.set("PORT_QOS_MAP", "global", row{"dscp_to_tc_map": "AZURE"})
	lossy, lossless := row{"scheduler": "scheduler.0"}, row{"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
	cables := row{}
	for _, p := range ports {
		cables[p] = f.cable
		c.set("PORT_QOS_MAP", p, bind)
		for i := range 7 {
			r := lossy
			if i == 3 || i == 4 {
				r = lossless
			}
			c.set("QUEUE", fmt.Sprintf("%s|%d", p, i), r)
		}
	}
	c.set("CABLE_LENGTH", "AZURE", cables)
	f.buffers(c, ports, m)
}

// buffers renders the model's own buffer template; a model whose template was not read has no
// buffer rows.
func (f *factory) buffers(c tables, ports []string, m *catalog.Model) {
	if f.dynamic {
		c.set("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", row{"default_dynamic_th": "0"})
		c.set("LOSSLESS_TRAFFIC_PATTERN", "AZURE", row{"mtu": "1024", "small_packet_percentage": "50"})
		for _, p := range ports {
			c.set("BUFFER_PG", p+"|3-4", row{"profile": "NULL"})
		}
	}
	if m == nil {
		return
	}
	for _, p := range m.Pools {
		r := row{"type": p.Type, "mode": p.Mode}
		if p.Size > 0 && !(f.dynamic && p.Computed) {
			r["size"] = itoa(p.Size)
		}
		if p.XOFF > 0 && !(f.dynamic && p.Computed) {
			r["xoff"] = itoa(p.XOFF)
		}
		c.set("BUFFER_POOL", p.Name, r)
	}
	for _, p := range m.Profiles {
		r := row{"pool": p.Pool, "size": itoa(p.Size)}
		if p.StaticTh != nil {
			r["static_th"] = itoa(*p.StaticTh)
		}
		if p.DynamicTh != nil {
			r["dynamic_th"] = itoa(*p.DynamicTh)
		}
		if p.XON != nil {
			r["xon"] = itoa(*p.XON)
		}
		if p.XOFF != nil {
			r["xoff"] = itoa(*p.XOFF)
		}
		if p.XONOffset != nil {
			r["xon_offset"] = itoa(*p.XONOffset)
		}
		c.set("BUFFER_PROFILE", p.Name, r)
	}
	b := m.Bindings
	for _, p := range ports {
		for key, prof := range map[string]string{"0-2": b.LossyQueue, "3-4": b.LosslessQueue, "5-6": b.LossyQueue} {
			if prof != "" {
				c.set("BUFFER_QUEUE", p+"|"+key, row{"profile": prof})
			}
		}
		if b.LossyGroup != "" {
			c.set("BUFFER_PG", p+"|0", row{"profile": b.LossyGroup})
		}
		if b.LosslessGroup != "" && !f.dynamic {
			c.set("BUFFER_PG", p+"|3-4", row{"profile": b.LosslessGroup})
		}
		if len(b.IngressList) > 0 {
			c.set("BUFFER_PORT_INGRESS_PROFILE_LIST", p, row{"profile_list": strings.Join(b.IngressList, ",")})
		}
		if len(b.EgressList) > 0 {
			c.set("BUFFER_PORT_EGRESS_PROFILE_LIST", p, row{"profile_list": strings.Join(b.EgressList, ",")})
		}
	}
}

// qosReload simulates `config qos reload`: all QoS settings are deleted and rendered again, so that
// the changes of any tool are lost. The caller holds mu.
func (s *Switch) qosReload() {
	s.qosClear()
	f := factory{cable: "40m"}
	if s.o.Model != nil {
		if a := s.o.Model.ASIC(); a != nil {
			f.groupMap = a.PFCToGroupMap
		}
	}
	for _, o := range factoryOf(s.o) {
		o(&f)
	}
	f.dynamic = s.dynamic()
	c := tables{}
	f.qos(c, naturalKeys(s.cfg["PORT"]), s.o.Model)
	for _, table := range tableOrder {
		for _, key := range naturalKeys(c[table]) {
			s.writeRow(table, key, c[table][key])
		}
	}
}

// qosClear simulates `config qos clear`.
func (s *Switch) qosClear() {
	for _, table := range qosTables {
		for _, key := range naturalKeys(s.cfg[table]) {
			s.writeRow(table, key, nil)
		}
	}
}

// mac returns the MAC address of the system, which differs between switches.
func (f *factory) mac() string {
	var c sim.Chassis
	c.Install(f.hostname)
	return c.MAC("52:54", 0)
}

// Install replaces the chassis by another one with the given name; "" is the original chassis. The
// configuration stays the same, with the MAC address of the new chassis.
func (s *Switch) Install(chassis string) {
	s.chassis.Install(cmp.Or(chassis, s.o.Name))
	if meta := s.Config()["DEVICE_METADATA"]["localhost"]; meta != nil && chassis != "" {
		meta = maps.Clone(meta)
		meta["mac"] = s.chassis.MAC("52:54", 0)
		s.SetRow("DEVICE_METADATA", "localhost", meta)
	}
}
