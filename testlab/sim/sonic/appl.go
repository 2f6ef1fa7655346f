package sonic

import (
	"math"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// isRequested reports whether a table was asked for; "" asks for all tables.
func isRequested(only, table string) bool { return only == "" || only == table }

// bufferTables are copied by buffermgrd from CONFIG_DB to APPL_DB.
var bufferTables = []string{"BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"}

func (s *Switch) applDB(only string) tables {
	t := tables{}
	if isRequested(only, "PORT_TABLE") {
		for p, r := range s.orch["PORT"] {
			c := copyRow(r)
			if c["admin_status"] == "" {
				c["admin_status"] = "down"
			}
			if c["mtu"] == "" {
				c["mtu"] = "9100"
			}
			c["oper_status"] = c["admin_status"]
			s.portExtras(p, c)
			t.set("PORT_TABLE", p, c)
		}
		// portsyncd reports its progress with rows of this table (sonic-swss
		// portsyncd/portsyncd.cpp).
		t.set("PORT_TABLE", "PortConfigDone", row{"count": strconv.Itoa(len(s.cfg["PORT"]))})
		t.set("PORT_TABLE", "PortInitDone", row{"lanes": "0"})
	}
	dynamic := s.dynamic()
	for _, table := range bufferTables {
		name := table + "_TABLE"
		if !isRequested(only, name) {
			continue
		}
		for k, r := range s.cfg[table] {
			if dynamic && table == "BUFFER_PG" && r["profile"] == "NULL" {
				port, _, _ := strings.Cut(k, "|")
				if prof, _ := s.computedProfile(port); prof != "" {
					t.set(name, strings.ReplaceAll(k, "|", ":"), row{"profile": prof})
				}
				continue
			}
			if dynamic && table == "BUFFER_POOL" && r["size"] == "" {
				r = copyRow(r)
				r["size"] = itoa(s.poolSize(k))
			}
			t.set(name, strings.ReplaceAll(k, "|", ":"), r)
		}
	}
	if dynamic && isRequested(only, "BUFFER_PROFILE_TABLE") {
		for n, r := range s.computedProfiles() {
			t.set("BUFFER_PROFILE_TABLE", n, r)
		}
	}
	return t
}

func (s *Switch) stateDB(only string) tables {
	t := tables{}
	if isRequested(only, "PORT_TABLE") {
		for p, r := range s.orch["PORT"] {
			state := r["admin_status"]
			if state == "" {
				state = "down"
			}
			now := row{"state": "ok", "netdev_oper_status": state, "admin_status": state, "speed": r["speed"], "fec": r["fec"]}
			if now["fec"] == "" || now["fec"] == "auto" {
				now["fec"] = "none"
			}
			// Some ASICs do not report it (sonic-swss orchagent/portsorch.cpp,
			// updateDbPortOperFec).
			if state != "up" || s.dice.Habit("no oper state").Bool() {
				now["speed"], now["fec"] = "N/A", "N/A"
			}
			t.set("PORT_TABLE", p, now)
		}
	}
	if s.dynamic() {
		if isRequested(only, "BUFFER_PROFILE_TABLE") {
			for n, r := range s.cfg["BUFFER_PROFILE"] {
				t.set("BUFFER_PROFILE_TABLE", n, r)
			}
			for n, r := range s.computedProfiles() {
				t.set("BUFFER_PROFILE_TABLE", n, r)
			}
		}
		if isRequested(only, "BUFFER_POOL_TABLE") {
			for n, r := range s.applDB("BUFFER_POOL_TABLE")["BUFFER_POOL_TABLE"] {
				t.set("BUFFER_POOL_TABLE", n, r)
			}
		}
	}
	if isRequested(only, "BUFFER_MAX_PARAM_TABLE") {
		for p := range s.cfg["PORT"] {
			most := row{"max_priority_groups": "8", "max_queues": "16"}
			if s.o.MaxHeadroom > 0 {
				most["max_headroom_size"] = itoa(s.o.MaxHeadroom)
			}
			t.set("BUFFER_MAX_PARAM_TABLE", p, most)
		}
		if chip := s.chip(); chip != nil && chip.BufferBytes > 0 {
			t.set("BUFFER_MAX_PARAM_TABLE", "global", row{"mmu_size": itoa(chip.BufferBytes)})
		}
	}
	if chip := s.chip(); s.dynamic() && chip != nil && chip.CellBytes > 0 && isRequested(only, "ASIC_TABLE") {
		t.set("ASIC_TABLE", asicName(chip), row{"cell_size": itoa(chip.CellBytes), "pipeline_latency": strconv.FormatFloat(chip.PipelineKiB, 'f', -1, 64)})
	}
	if s.rel >= r202505 && isRequested(only, "QUEUE_COUNTER_CAPABILITIES") {
		for _, n := range []string{"ECN_MARKED_PKT", "ECN_MARKED_BYTE", "WRED_DROPPED_PKT", "WRED_DROPPED_BYTE"} {
			t.set("QUEUE_COUNTER_CAPABILITIES", "WRED_ECN_QUEUE_"+n+"_COUNTER", row{"isSupported": "true"})
		}
	}
	return t
}

// computedProfiles returns the profiles of the dynamic model, which exist only in APPL_DB and
// STATE_DB.
func (s *Switch) computedProfiles() map[string]row {
	out := map[string]row{}
	for k, r := range s.cfg["BUFFER_PG"] {
		if r["profile"] != "NULL" {
			continue
		}
		port, _, _ := strings.Cut(k, "|")
		if n, prof := s.computedProfile(port); n != "" {
			out[n] = prof
		}
	}
	return out
}

// computedProfile returns the headroom profile of one port: computed by the switch's script for its
// chip, else the published row, else this simulator's own estimate of the bytes in flight. The name
// is "" for a port that is down, or has no cable length or 0m.
func (s *Switch) computedProfile(port string) (string, row) {
	p := s.cfg["PORT"][port]
	cable, ok := s.cable(port)
	if !ok || cable == "0m" || p["speed"] == "" || p["admin_status"] != "up" {
		return "", nil
	}
	th := "0"
	for _, r := range s.cfg["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] {
		th = r["default_dynamic_th"]
	}
	name := "pg_lossless_" + p["speed"] + "_" + cable
	if m := p["mtu"]; m != "" && m != "9100" {
		name += "_mtu" + m
	}
	name += "_profile"
	r := row{"pool": "ingress_lossless_pool", "dynamic_th": th}
	mbps, err1 := strconv.ParseFloat(p["speed"], 64)
	metres, err2 := strconv.ParseFloat(strings.TrimSuffix(cable, "m"), 64)
	mtu, err3 := strconv.ParseFloat(p["mtu"], 64)
	if err1 != nil || err2 != nil {
		return "", nil
	}
	if err3 != nil {
		mtu = 9100
	}
	if c, err := headroom.SONiCDyn(s.headroomInput(p, mbps, metres, mtu)); err == nil {
		r["xon"], r["xoff"], r["size"] = itoa(c.XON), itoa(c.XOFF), itoa(c.Size)
		return name, r
	}
	if h := s.headroom(p["speed"], cable); h != nil {
		r["xon"], r["xoff"], r["size"] = itoa(h.XON), itoa(h.XOFF), itoa(h.Size)
		return name, r
	}
	const cell = 144
	xoff := 2*metres*mbps*1e6/(8*198e6) + 2*mtu + 905*64*mbps/400000 + 1024
	round := func(v float64) int64 { return int64(math.Ceil(v/cell)) * cell }
	r["xon"], r["xoff"], r["size"] = itoa(round(19456)), itoa(round(xoff)), itoa(round(19456)+round(xoff))
	return name, r
}

// headroomInput returns the inputs that the script reads from the databases.
func (s *Switch) headroomInput(p row, mbps, metres, mtu float64) headroom.Input {
	number := func(v string, usual int) int {
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
		return usual
	}
	var pattern, buffers row
	for _, r := range s.cfg["LOSSLESS_TRAFFIC_PATTERN"] {
		pattern = r
	}
	for _, r := range s.cfg["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] {
		buffers = r
	}
	return headroom.Input{
		ASIC: s.chip(), Release: s.o.Release, Speed: units.Rate(mbps * 1e6), Cable: units.Length(metres), PortMTU: int(mtu),
		Lanes:       len(strings.Split(p["lanes"], ",")),
		LosslessMTU: number(pattern["mtu"], 1024), SmallPacketPercent: number(pattern["small_packet_percentage"], 50),
		SharedHeadroom: buffers["over_subscribe_ratio"] != "" && buffers["over_subscribe_ratio"] != "0" || s.cfg["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] != "",
	}
}

// asicName returns the name of a chip's row (sonic-buildimage platform/mellanox/asic_table.j2).
func asicName(chip *catalog.ASIC) string {
	switch n, spectrum := strings.CutPrefix(chip.ID, "spc"); {
	case n == "1":
		return "MELLANOX-SPECTRUM"
	case spectrum:
		return "MELLANOX-SPECTRUM-" + n
	}
	return "VS-ASIC"
}

// chip returns the chip of the switch; nil if it is not known.
func (s *Switch) chip() *catalog.ASIC {
	if s.o.Model == nil {
		return nil
	}
	return s.o.Model.ASIC()
}

// poolSize returns a placeholder for the pool size that the dynamic model computes; clients must
// not rely on its value.
func (s *Switch) poolSize(pool string) int64 {
	if s.o.Model != nil {
		for _, p := range s.o.Model.Pools {
			if p.Name == pool && p.Size > 0 {
				return p.Size
			}
		}
		if a := s.o.Model.ASIC(); a != nil && a.BufferBytes > 0 {
			return a.BufferBytes / 2
		}
	}
	return 20 << 20
}
