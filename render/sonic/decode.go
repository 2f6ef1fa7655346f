package sonic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Unknown is an entry of a table of this tool that the model cannot represent. It is left on the
// device as it is.
type Unknown struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Why   string `json:"why"`
	// Open is set if the entry may change what the switch does with traffic.
	Open bool `json:"open,omitempty"`
}

// Where prints "TABLE|key field".
func (u Unknown) Where() string {
	s := u.Table + "|" + u.Key
	if u.Field != "" {
		s += " " + u.Field
	}
	return s
}

// Tables lists the tables that Decode reads.
func Tables() []string {
	return append(slices.Clone(whole),
		TScheduler, TWRED, TPool, TProfile, TCable, TDefaultBuffer, TPattern, TPort,
		TIngressList, TEgressList, TBufferQueue, TGroup, TPortQoS, TQueue, TWatchdog, TMetadata, TSwitch, TMember, TTunnel, TVXLAN)
}

// WantTable reports whether Decode reads the table.
func WantTable(name string) bool { return slices.Contains(wanted, name) }

var wanted = Tables()

// Decode reads CONFIG_DB into a normalized running model. It returns all entries that the model
// cannot represent, sorted; none is dropped silently.
func Decode(cfg Config) (*qos.Device, []Unknown) {
	d := decoder{cfg: cfg, maps: map[mapNames]*qos.Maps{}, noted: map[[2]string]bool{}, dev: &qos.Device{Ports: make(map[string]*qos.Port, len(cfg[TPort]))}}
	d.metadata()
	d.buffers()
	for name, row := range cfg[TPort] {
		d.port(name, row)
	}
	d.portQoS()
	d.queues()
	d.groups()
	d.lists()
	d.cables()
	d.members()
	d.watchdogs()
	d.headroomModel()
	d.tunnels()
	qos.Normalize(d.dev)
	ordered.Sort(d.unknown, func(a, b Unknown) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), natural.Compare(a.Key, b.Key), natural.Compare(a.Field, b.Field), strings.Compare(a.Why, b.Why))
	})
	return d.dev, d.unknown
}

type mapNames [qos.NumTables]string

type decoder struct {
	cfg     Config
	dev     *qos.Device
	maps    map[mapNames]*qos.Maps
	noted   map[[2]string]bool // maps, by table and name, that already have a note
	unknown []Unknown
}

func (d *decoder) note(table, key, field, value, why string, a ...any) {
	d.unknown = append(d.unknown, Unknown{Table: table, Key: key, Field: field, Value: value, Why: fmt.Sprintf(why, a...)})
}

// open adds a note about an entry that may change what the switch does with traffic.
func (d *decoder) open(table, key, field, value, why string) {
	d.unknown = append(d.unknown, Unknown{table, key, field, value, why, true})
}

func (d *decoder) metadata() {
	row := d.cfg.Row(TMetadata, "localhost")
	d.dev.Name = row["hostname"]
	d.dev.Platform.OS = "sonic"
	d.dev.Platform.Model = row["hwsku"]
	d.dev.Platform.DynamicBuffers = row["buffer_model"] == "dynamic"
	d.dev.Platform.RoCEMode = roceMode(d.cfg)
	d.dev.HashSeed = hashSeed(row)
}

// hashSeed returns the seed that the switch gets for a type of device, unless its own is stated. Recent
// images also shift the hash of a LeafRouter. Types with other seeds on some images, and the parts of a
// chassis, are left out (sonic-buildimage:dockers/docker-orchagent/switch.json.j2).
func hashSeed(metadata Row) string {
	kind, seed := metadata["type"], metadata["ecmp_hash_seed"]
	if metadata["namespace_id"] != "" || metadata["switch_type"] == "dpu" {
		return ""
	}
	switch {
	case seed != "" && strings.Contains(kind, "LeafRouter"):
		return seed + " with the offset of a LeafRouter"
	case seed != "":
		return seed
	case strings.Contains(kind, "ToRRouter"):
		return "0"
	case strings.Contains(kind, "LeafRouter"):
		return "10 with the offset of a LeafRouter"
	case strings.Contains(kind, "SpineRouter"):
		return "25"
	}
	return ""
}

// roceMode reports whether 'roce enable' or 'buffer init lossless' of Enterprise SONiC is active.
// Each of them sets its own field (Broadcom's HLD "RoCEv2 support", 2.2.8).
func roceMode(c Config) bool {
	row := c.Row(TSwitch, "switch")
	return row["roce_enable"] == "true" || row["buffer_mode_lossless"] == "true"
}

// number parses a field as a decimal number of at most 63 bits.
func (d *decoder) number(table, key, field string, row Row) (int64, bool) {
	v, ok := row[field]
	if !ok {
		return 0, false
	}
	// The switch skips leading blanks, which some templates have (stoi).
	n, err := strconv.ParseInt(strings.TrimLeft(v, " "), 10, 64)
	if err != nil {
		d.note(table, key, field, v, "not a number")
		return 0, false
	}
	return n, true
}

// unclear records that the value of an attribute is not known, because a field holds something else
// than this tool understands.
func (d *decoder) unclear(port string, a qos.Attr, table, key, field string, row Row) {
	d.dev.Doubt(port, a, fmt.Sprintf("%s|%s has %s: %q, which this tool does not understand", table, key, field, row[field]))
}

// unreadable returns the first of the fields that holds something else than a number; "" if none does.
func unreadable(row Row, fields ...string) string {
	for _, f := range fields {
		if v, ok := row[f]; ok {
			if _, err := strconv.ParseInt(strings.TrimLeft(v, " "), 10, 64); err != nil {
				return f
			}
		}
	}
	return ""
}

func (d *decoder) buffers() {
	d.dev.Pools = make(map[string]qos.Pool, len(d.cfg[TPool]))
	for name, row := range d.cfg[TPool] {
		pool := qos.Pool{Static: row["mode"] == "static", Egress: row["type"] == "egress"}
		pool.Size, _ = d.number(TPool, name, "size", row)
		pool.XOFF, _ = d.number(TPool, name, "xoff", row)
		d.dev.Pools[name] = pool
	}
	d.dev.Profiles = make(map[string]qos.BufferProfile, len(d.cfg[TProfile]))
	for name, row := range d.cfg[TProfile] {
		p := qos.BufferProfile{Pool: row["pool"]}
		p.Size, _ = d.number(TProfile, name, "size", row)
		p.XON, _ = d.number(TProfile, name, "xon", row)
		p.XOFF, _ = d.number(TProfile, name, "xoff", row)
		p.XONOffset, _ = d.number(TProfile, name, "xon_offset", row)
		if _, ok := row["static_th"]; ok {
			p.Threshold, _ = d.number(TProfile, name, "static_th", row)
			p.Static = true
		} else {
			p.Threshold, _ = d.number(TProfile, name, "dynamic_th", row)
		}
		d.dev.Profiles[name] = p
	}
}

// usualMTU is the MTU in bytes of a port whose row states none (sonic-swss:cfgmgr/portmgr.cpp,
// portDefaultConfig).
const usualMTU = 9100

func (d *decoder) port(name string, row Row) {
	p := &qos.Port{
		AdminUp:       qos.Of(row["admin_status"] == "up"),
		PFCAsymmetric: qos.Of(row["pfc_asym"] == "on"),
		PFC:           qos.Of(qos.PrioritySet(0)),
		Watchdog:      qos.Of(qos.Watchdog{}),
		Trust:         qos.Of(qos.TrustNone),
	}
	switch n, ok := d.number(TPort, name, "mtu", row); {
	case ok:
		p.MTU = qos.Of(int(n))
	case row["mtu"] == "":
		p.MTU = qos.Of(usualMTU)
	default:
		d.unclear(name, qos.KindMTU.Attr(), TPort, name, "mtu", row)
	}
	switch n, ok := d.number(TPort, name, "speed", row); {
	case ok && n >= 0 && n < 1<<40:
		p.Speed = qos.Of(units.Rate(n * 1e6))
	case row["speed"] != "":
		d.unclear(name, qos.KindSpeed.Attr(), TPort, name, "speed", row)
	}
	if f, ok := row["fec"]; ok {
		p.FEC = qos.Of(f)
	}
	// sonic-swss:orchagent/port/portschema.h, PORT_ROLE_REC and PORT_ROLE_INB.
	if role := row["role"]; role == "Rec" || role == "Inb" {
		p.Inside = role == "Rec"
		d.note(TPort, name, "role", role, "a port inside of the switch: traffic that passes it takes its queues and groups, which are not checked")
	}
	p.MACsec = row["macsec"] != ""
	for q := range p.Queues {
		p.Queues[q].ECN = qos.Of(qos.ECN{})
		p.Groups[q].Lossless = qos.Of(false)
	}
	d.dev.Ports[name] = p
}

// priorities reads a list of priorities; clear is false if the field holds something else.
func (d *decoder) priorities(table, key, field string, row Row) (s qos.PrioritySet, clear bool) {
	v := row[field]
	if v == "" {
		return 0, true
	}
	for _, m := range strings.Split(v, ",") {
		n, err := strconv.Atoi(strings.TrimLeft(m, " ")) // "3, 4": stoi skips the blank
		if err != nil || n < 0 || n >= qos.NumPriorities {
			d.note(table, key, field, v, "not a list of priorities")
			return 0, false
		}
		s |= qos.Priorities(n)
	}
	return s, true
}

// inPortQoS reports whether the model represents a field of PORT_QOS_MAP.
func inPortQoS(field string) bool {
	return field == "pfc_enable" || field == "pfcwd_sw_enable" || slices.ContainsFunc(mapTables[:], func(m mapTable) bool { return m.field == field })
}

func (d *decoder) portQoS() {
	for _, w := range d.cfg.inOrder(TPortQoS) {
		for f, v := range w.row {
			if !inPortQoS(f) {
				d.open(TPortQoS, w.key, f, v, "this tool does not know the field and leaves it")
			}
		}
	}
	shared := d.cfg.sharedRows(TPortQoS)
	global := d.cfg.Row(TPortQoS, globalKey)["dscp_to_tc_map"]
	for key, row := range d.cfg[TPortQoS] {
		var names mapNames
		for t, m := range mapTables {
			names[t] = row[m.field]
		}
		if key == globalKey {
			// The switch honors no other map in the global row (sonic-swss:orchagent/qosorch.cpp).
			d.dev.GlobalMaps = qos.Of(d.lookupMaps(mapNames{qos.DSCPToTC: names[qos.DSCPToTC]}))
			continue
		}
		p := d.dev.Ports[key]
		if p == nil {
			d.note(TPortQoS, cmp.Or(shared[key], key), "", "", "no such port")
			continue
		}
		if len(row) > 0 && d.cfg.Row(TDSCPToTC, global) != nil {
			names.inherit(global)
		}
		p.Maps = qos.Of(d.lookupMaps(names))
		switch {
		case names[qos.DSCPToTC] != "":
			p.Trust.V = qos.TrustDSCP
		case names[qos.PCPToTC] != "":
			p.Trust.V = qos.TrustPCP
		}
		var clear bool
		if p.PFC.V, clear = d.priorities(TPortQoS, key, "pfc_enable", row); !clear {
			p.PFC.Set = false
			d.unclear(key, qos.KindPFC.Attr(), TPortQoS, key, "pfc_enable", row)
		}
		p.Watchdog.V.Priorities, _ = d.priorities(TPortQoS, key, "pfcwd_sw_enable", row)
		if _, own := row["pfcwd_sw_enable"]; !own && d.dev.Platform.RoCEMode {
			// It is not documented whether Enterprise SONiC has the field. Without it the watchdog
			// guards the priorities that the port pauses, as in releases before 202111.
			p.Watchdog.V.Priorities = p.PFC.V
		}
	}
}

// inherit adds the map of the switch, which applies if the port names no map to classify by
// (SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP, saiswitch.h).
func (n *mapNames) inherit(global string) {
	if n[qos.DSCPToTC] == "" && n[qos.PCPToTC] == "" {
		n[qos.DSCPToTC] = global
	}
}

func (d *decoder) lookupMaps(n mapNames) *qos.Maps {
	if m := d.maps[n]; m != nil {
		return m
	}
	m := qos.UnmappedMaps()
	for t, name := range n {
		limit := 15
		if t == int(qos.TCToDSCP) {
			limit = qos.NumDSCP - 1
		}
		d.readMap(mapTables[t].table, name, m.Table(qos.Table(t)), limit)
	}
	d.unlisted(n[qos.DSCPToTC], m.DSCPToTC[:])
	d.maps[n] = m
	return m
}

// unlisted puts the code points that a map does not list into traffic class 0, the default of SAI
// (saiqosmap.h, SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST). A map that lists nothing counts as no map.
func (d *decoder) unlisted(name string, table []int8) {
	listed := 0
	for _, tc := range table {
		if tc != qos.Unmapped {
			listed++
		}
	}
	if listed == 0 || listed == len(table) {
		return
	}
	for i, tc := range table {
		if tc == qos.Unmapped {
			table[i] = 0
		}
	}
	if d.first(TDSCPToTC, name) {
		d.note(TDSCPToTC, name, "", "", "it lists %d of %d code points; the others are taken to be in traffic class 0", listed, len(table))
	}
}

// first reports whether a map has no note yet. Many ports share a map, which needs one note.
func (d *decoder) first(table, name string) bool {
	key := [2]string{table, name}
	was := d.noted[key]
	d.noted[key] = true
	return !was
}

func (d *decoder) readMap(table, name string, into []int8, limit int) {
	row := d.cfg.Row(table, name)
	if row == nil && name != "" && d.first(table, name) {
		d.note(table, name, "", "", "there is no such map")
	}
	// Sorted, so that the same one of "3" and "03" wins every time.
	for _, from := range slices.Sorted(maps.Keys(row)) {
		to := row[from]
		k, err1 := strconv.Atoi(from)
		v, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil || err2 != nil || k < 0 || v < 0 || v > limit:
			d.note(table, name, from, to, "not a map entry")
		case k >= len(into):
			d.note(table, name, from, to, "this tool knows %d values here", len(into))
		default:
			into[k] = int8(v)
		}
	}
}

// portIndexes calls do for each index of each "port|a-b" key of a table, in the order in which the
// switch takes the rows.
func (d *decoder) portIndexes(table string, do func(w *writtenRow, p *qos.Port, i int)) {
	for _, w := range d.cfg.inOrder(table) {
		from, to, good := Indexes(w.index)
		for _, name := range w.ports {
			p := d.dev.Ports[name]
			if !good || p == nil {
				if name != "CPU" {
					d.open(table, w.key, "", "", "not a port and an index that this tool knows")
				}
				continue
			}
			for i := from; i <= to && i < qos.NumPriorities; i++ {
				do(&w, p, i)
			}
		}
	}
}

func (d *decoder) queues() {
	scheds := map[string]qos.Scheduler{}
	curves := map[string]qos.ECN{}
	d.portIndexes(TQueue, func(w *writtenRow, p *qos.Port, i int) {
		for f, v := range w.row {
			switch f {
			case "scheduler":
				if v == "" {
					continue
				}
				row := d.cfg.Row(TScheduler, v)
				if f := unreadable(row, "weight", "cir", "pir"); f != "" {
					p.Queues[i].Scheduler = qos.Opt[qos.Scheduler]{}
					for _, port := range w.ports {
						d.unclear(port, qos.KindScheduler.At(i), TScheduler, v, f, row)
					}
					continue
				}
				s, ok := scheds[v]
				if !ok {
					s = d.scheduler(v)
					scheds[v] = s
				}
				p.Queues[i].Scheduler = qos.Of(s)
			case "wred_profile":
				if v == "" {
					p.Queues[i].ECN = qos.Of(qos.ECN{})
					continue
				}
				row := d.cfg.Row(TWRED, v)
				if f := unreadable(row, "green_min_threshold", "green_max_threshold", "green_drop_probability"); f != "" {
					p.Queues[i].ECN = qos.Opt[qos.ECN]{}
					for _, port := range w.ports {
						d.unclear(port, qos.KindECN.At(i), TWRED, v, f, row)
					}
					continue
				}
				c, ok := curves[v]
				if !ok {
					c = d.curve(v)
					curves[v] = c
				}
				p.Queues[i].ECN = qos.Of(c)
			default:
				d.open(TQueue, w.key, f, v, "this tool does not know the field and leaves it")
			}
		}
	})
	d.portIndexes(TBufferQueue, func(w *writtenRow, p *qos.Port, i int) {
		p.Queues[i].Buffer = qos.Of(w.row["profile"])
	})
}

func (d *decoder) scheduler(name string) qos.Scheduler {
	row := d.cfg.Row(TScheduler, name)
	s := qos.Scheduler{Weight: 1}
	if row == nil {
		s.Other = "no scheduler " + name
		return s
	}
	kind := row["type"]
	s.Strict = kind == "STRICT"
	if n, ok := d.number(TScheduler, name, "weight", row); ok {
		s.Weight = int(n)
	}
	rate := func(f string) units.Rate {
		n, _ := d.number(TScheduler, name, f, row)
		return units.Rate(min(max(n, 0), 1<<59) * 8)
	}
	s.MinRate, s.MaxRate = rate("cir"), rate("pir")
	if s.MinRate == noCommitted*8 && s.MaxRate > 0 {
		s.MinRate = 0
	}
	var other []string
	switch kind {
	case "STRICT", "DWRR":
	case "", "WRR":
		// WRR shares bandwidth by packets, not by bytes; it is also the default
		// (SAI_SCHEDULER_ATTR_SCHEDULING_TYPE).
		other = append(other, "WRR")
	default:
		other = append(other, "type="+kind) // orchagent rejects the scheduler
	}
	if row["meter_type"] == "packets" && (s.MinRate > 0 || s.MaxRate > 0) {
		other = append(other, "packets")
	}
	for _, f := range []string{"cbs", "pbs", "priority"} {
		if v, ok := row[f]; ok {
			other = append(other, f+"="+v)
		}
	}
	s.Other = strings.Join(other, " ")
	return s
}

func (d *decoder) curve(name string) qos.ECN {
	row := d.cfg.Row(TWRED, name)
	if row == nil {
		return qos.ECN{Other: "no profile " + name}
	}
	// Frames are green unless something colors them, and nothing in CONFIG_DB does. The settings
	// for yellow and red frames have no effect.
	var c qos.ECN
	c.Min, _ = d.number(TWRED, name, "green_min_threshold", row)
	c.Max, _ = d.number(TWRED, name, "green_max_threshold", row)
	probability, ok := d.number(TWRED, name, "green_drop_probability", row)
	if !ok {
		probability = 100
	}
	c.Probability = int(probability)
	on, marks := row["wred_green_enable"] == "true", marksGreen(row["ecn"])
	c.Enabled, c.Drops = on && marks, on && !marks
	switch {
	case on && !marks:
		c.Other = cmp.Or(row["ecn"], "ecn_none")
	case !on && marks:
		c.Other = "not enabled"
	case !on:
		return qos.ECN{} // the profile neither marks nor drops
	}
	return c
}

// marksGreen reports whether an ECN mode marks green frames (sonic-swss:orchagent/qosorch.cpp,
// ecn_map).
func marksGreen(mode string) bool {
	return mode == "ecn_all" || mode == "ecn_green" || mode == "ecn_green_yellow" || mode == "ecn_green_red"
}

// Derived reports whether buffermgrd wrote the profile of that name
// (sonic-swss:cfgmgr/buffermgr.cpp).
func Derived(profile string) bool { return strings.HasPrefix(profile, derivedPrefix) }

const derivedPrefix = "pg_lossless_"

// derivedProfile returns the name of the profile that buffermgrd makes for a port.
func derivedProfile(c Config, port string) string {
	return derivedPrefix + c.Row(TPort, port)["speed"] + "_" + c.Row(TCable, cableName)[port] + "_profile"
}

func (d *decoder) groups() {
	d.portIndexes(TGroup, func(w *writtenRow, p *qos.Port, i int) {
		// The row replaces what an earlier row said of the group.
		g := &p.Groups[i]
		*g = qos.Group{}
		name := w.row["profile"]
		if name == "NULL" {
			if d.dev.Platform.DynamicBuffers {
				g.Lossless = qos.Of(true)
				return
			}
			const why = "means nothing in the traditional buffer model"
			d.note(TGroup, w.key, "profile", name, why)
			for _, port := range w.ports {
				for _, k := range []qos.Kind{qos.KindLossless, qos.KindGroupBuffer, qos.KindDerivedFrom, qos.KindHeadroom} {
					d.dev.Doubt(port, k.At(i), fmt.Sprintf("%s|%s has the profile NULL, which %s", TGroup, w.key, why))
				}
			}
			return
		}
		prof, ok := d.dev.Profiles[name]
		if !ok {
			d.note(TGroup, w.key, "profile", name, "no such profile")
		}
		g.Lossless = qos.Of(prof.XOFF > 0)
		if prof.XOFF > 0 {
			g.Headroom = qos.Of(prof.Headroom)
		}
		if from, ok := derivedFrom(name); ok {
			g.DerivedFrom = qos.Of(from)
		} else if !Derived(name) {
			g.Buffer = qos.Of(name)
		}
	})
}

// derivedFrom reads the speed and the cable length out of the name of a
// derived profile, "pg_lossless_400000_40m_profile".
func derivedFrom(profile string) (string, bool) {
	s, ok := strings.CutPrefix(profile, derivedPrefix)
	s, ok2 := strings.CutSuffix(s, "_profile")
	mbps, cable, ok3 := strings.Cut(s, "_")
	n, err := strconv.ParseInt(mbps, 10, 32)
	length, err2 := units.ParseLength(cable)
	if !ok || !ok2 || !ok3 || err != nil || err2 != nil || n <= 0 {
		return "", false
	}
	return qos.LookupKey(units.Rate(n*1e6), length), true
}

func (d *decoder) lists() {
	for table, set := range map[string]func(*qos.Port, string){
		TIngressList: func(p *qos.Port, v string) { p.IngressProfiles = qos.Of(v) },
		TEgressList:  func(p *qos.Port, v string) { p.EgressProfiles = qos.Of(v) },
	} {
		for name, row := range d.cfg[table] {
			p := d.dev.Ports[name]
			if p == nil {
				d.note(table, name, "", "", "no such port")
				continue
			}
			set(p, cmp.Or(row["profile_list"], row["profile_list@"]))
		}
	}
}

// cables reads the lengths of cables. buffermgrd takes them from the rows of all lists, and of two rows
// that name a port the one that was written last (sonic-swss:cfgmgr/buffermgr.cpp, doCableTask), which
// a reader cannot know.
func (d *decoder) cables() {
	lengths := map[string][]string{}
	for _, list := range slices.Sorted(maps.Keys(d.cfg[TCable])) {
		for port, v := range d.cfg[TCable][list] {
			if v == noCable {
				continue
			}
			p := d.dev.Ports[port]
			n, err := strconv.Atoi(strings.TrimSuffix(v, "m"))
			if p == nil || err != nil || n < 0 || !strings.HasSuffix(v, "m") {
				d.note(TCable, list, port, v, "not a port and its cable length")
				continue
			}
			if !slices.Contains(lengths[port], v) {
				lengths[port] = append(lengths[port], v)
			}
			p.Cable = qos.Of(units.Length(n))
		}
	}
	for port, of := range lengths {
		if len(of) > 1 {
			d.dev.Ports[port].Cable = qos.Opt[units.Length]{}
			d.dev.Doubt(port, qos.KindCable.Attr(), fmt.Sprintf("the rows of %s give the lengths %s, and the one that was written last is in force", TCable, strings.Join(of, " and ")))
		}
	}
}

// noCable is the text that buffermgrd takes for no length (sonic-swss:cfgmgr/buffermgr.cpp,
// doCableTask).
const noCable = "None"

// members records the port channel of each port, which is read but never written.
func (d *decoder) members() {
	for _, p := range d.dev.Ports {
		p.LAG = qos.Of("")
	}
	// Sorted, so that the same one of two port channels that claim a port wins every time.
	for _, key := range slices.Sorted(maps.Keys(d.cfg[TMember])) {
		lag, port, _ := strings.Cut(key, "|")
		if p := d.dev.Ports[port]; p != nil {
			p.LAG = qos.Of(lag)
		}
	}
}

func (d *decoder) watchdogs() {
	for key, row := range d.cfg[TWatchdog] {
		if key == "GLOBAL" {
			if n, ok := d.number(TWatchdog, key, "POLL_INTERVAL", row); ok {
				d.dev.WatchdogPoll = qos.Of(ms(n))
			} else if row["POLL_INTERVAL"] != "" {
				d.unclear("", qos.KindWatchdogPoll.Attr(), TWatchdog, key, "POLL_INTERVAL", row)
			}
			continue
		}
		p := d.dev.Ports[key]
		if p == nil {
			d.note(TWatchdog, key, "", "", "no such port")
			continue
		}
		if d.cfg.refusedAction(key) {
			d.note(TWatchdog, key, "", "", noForward)
			continue
		}
		if p.Watchdog.V.Priorities == 0 { // swss, orchagent/pfcwdorch.cpp: "No lossless TC found"
			d.note(TWatchdog, key, "", "", "pfcwd_sw_enable of the port names no priority, so the watchdog guards none")
		}
		det, _ := d.number(TWatchdog, key, "detection_time", row)
		res, _ := d.number(TWatchdog, key, "restoration_time", row)
		p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: p.Watchdog.V.Priorities, Action: qos.WatchdogAction(row["action"]), Detect: ms(det), Restore: ms(res)})
	}
}

// refusedAction reports whether orchagent refuses the row of a port in PFC_WD for its action.
func (c Config) refusedAction(port string) bool {
	return c.Row(TWatchdog, port)["action"] == string(qos.ActionForward) && refusesForward(c.Row(TMetadata, "localhost")["hwsku"])
}

// ms converts milliseconds, with a bound so that an absurd number cannot overflow.
func ms(n int64) time.Duration { return time.Duration(min(max(n, 0), 1<<40)) * time.Millisecond }

func (d *decoder) headroomModel() {
	def, pat := d.cfg.Row(TDefaultBuffer, mapName), d.cfg.Row(TPattern, mapName)
	if def == nil && pat == nil {
		return
	}
	number := func(table, field string, row Row) int {
		n, _ := d.number(table, mapName, field, row)
		return int(n)
	}
	d.dev.HeadroomModel = qos.Of(qos.HeadroomModel{
		Alpha:              number(TDefaultBuffer, "default_dynamic_th", def),
		OverSubscribe:      number(TDefaultBuffer, "over_subscribe_ratio", def),
		LosslessMTU:        number(TPattern, "mtu", pat),
		SmallPacketPercent: number(TPattern, "small_packet_percentage", pat),
	})
}
