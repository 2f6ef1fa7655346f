package sonic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// asic holds the objects that orchagent sent to the ASIC: object type, then OID, then attributes.
// Maps and WRED profiles have no names there. They are found from the port or queue, via the OID,
// to the values (sonic-swss:orchagent/qosorch.cpp, bufferorch.cpp).
type asic map[string]map[string]native.Row

const (
	oSwitch    = "SAI_OBJECT_TYPE_SWITCH"
	oPort      = "SAI_OBJECT_TYPE_PORT"
	oQueue     = "SAI_OBJECT_TYPE_QUEUE"
	oWRED      = "SAI_OBJECT_TYPE_WRED"
	oMap       = "SAI_OBJECT_TYPE_QOS_MAP"
	oGroup     = "SAI_OBJECT_TYPE_INGRESS_PRIORITY_GROUP"
	oProfile   = "SAI_OBJECT_TYPE_BUFFER_PROFILE"
	oScheduler = "SAI_OBJECT_TYPE_SCHEDULER"
	oScheGroup = "SAI_OBJECT_TYPE_SCHEDULER_GROUP"
	nullOID    = "oid:0x0"
	asicState  = "ASIC_STATE"
	asicPrefix = asicState + ":"
)

// Applied compares ASIC_DB, which shows what was sent to the ASIC, with desired. CONFIG_DB proves
// little: a malformed or unresolved row stays there without effect.
func (d *driver) Applied(ctx context.Context, want drivers.Desired) ([]drivers.Mismatch, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	objects, err := d.readASIC(ctx)
	if err != nil {
		return nil, err
	}
	if objects == nil {
		return nil, fmt.Errorf("%w: no ASIC_DB to read", drivers.ErrUnsupported)
	}
	// orchagent creates the ports in the ASIC within its first second.
	if len(objects[oPort]) == 0 {
		return nil, fmt.Errorf("%w: ASIC_DB has no ports", drivers.ErrNoState)
	}
	// The queue and group maps exist only if their counters are on.
	tables := []string{"COUNTERS_PORT_NAME_MAP", queueNames, groupNames}
	hashes, err := d.hashes(ctx, "COUNTERS_DB", tables...)
	if err != nil {
		return nil, err
	}
	names := map[string]native.Row{}
	for i, t := range tables {
		names[t] = hashes[i]
	}
	if len(names["COUNTERS_PORT_NAME_MAP"]) == 0 {
		return nil, fmt.Errorf("%w: COUNTERS_PORT_NAME_MAP, which leads from a port to ASIC_DB, is empty", drivers.ErrNoState)
	}
	configured, err := d.readConfigured(ctx)
	if err != nil {
		return nil, err
	}
	c := comparer{objects: objects, names: names, members: map[mapOf]map[int]int{}, configured: configured, shares: sharesOf(objects), pools: map[[2]string]bool{}}
	for _, name := range natural.Keys(desired.Ports) {
		c.port(name, desired.Ports[name])
	}
	return c.out, nil
}

func (d *driver) readASIC(ctx context.Context) (asic, error) {
	t, err := d.table(ctx, "ASIC_DB", asicState)
	if err != nil || t == nil {
		return nil, err
	}
	out := asic{}
	for key, row := range t {
		kind, oid, ok := strings.Cut(strings.TrimPrefix(key, asicPrefix), ":")
		if !ok {
			continue
		}
		if out[kind] == nil {
			out[kind] = map[string]native.Row{}
		}
		out[kind][oid] = row
	}
	return out, nil
}

type comparer struct {
	objects asic
	names   map[string]native.Row
	// members caches the entries of maps, which ports share; nil if they cannot be parsed.
	members map[mapOf]map[int]int
	*configured
	shares map[share]bool     // schedulers that queues have
	pools  map[[2]string]bool // already compared, by name and object
	out    []drivers.Mismatch
}

// mapOf identifies a map, and the kinds of its keys and values.
type mapOf struct{ oid, from, to string }

func (c *comparer) note(port string, field qos.Attr, want, have string) {
	c.out = append(c.out, drivers.Mismatch{Port: port, Field: field, Want: want, Have: have})
}

// watchdog notes a port's watchdog if the counters that it depends on are not polled. No change of
// this tool causes that, so it is not a reason to revert one.
func (c *comparer) watchdog(port string, p *qos.Port) {
	if w := p.Watchdog.V; c.unpolled && w.Enabled {
		c.out = append(c.out, drivers.Mismatch{Port: port, Field: qos.KindWatchdog.Attr(), Want: w.String(), Slow: true,
			Have: flexTable + "|" + watchdogGroup + " is disabled, and no counter is polled", Fix: "sudo " + pollWatchdog})
	}
}

func (c *comparer) port(name string, p *qos.Port) {
	oid := c.names["COUNTERS_PORT_NAME_MAP"][name]
	row := c.objects[oPort][oid]
	if row == nil {
		c.note(name, qos.KindPort.Attr(), "a port of the ASIC", "none")
		return
	}
	c.watchdog(name, p)
	if p.PFC.Set {
		attr := "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"
		if p.PFCAsymmetric.Or(false) {
			attr += "_TX"
		}
		have, _ := strconv.Atoi(row[attr])
		if qos.PrioritySet(have) != p.PFC.V {
			c.note(name, qos.KindPFC.Attr(), p.PFC.V.String(), qos.PrioritySet(have).String())
		}
	}
	if p.MTU.Set {
		// The ASIC's MTU includes Ethernet header, VLAN tag and FCS
		// (sonic-swss:orchagent/portsorch.cpp).
		const overhead = 22
		if have, err := strconv.Atoi(row["SAI_PORT_ATTR_MTU"]); err == nil && have != p.MTU.V+overhead {
			c.note(name, qos.KindMTU.Attr(), strconv.Itoa(p.MTU.V), strconv.Itoa(have-overhead))
		}
	}
	if p.Maps.Set && p.Maps.V != nil {
		m := p.Maps.V
		dscp := row["SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP"]
		if !c.classify[name] {
			dscp = cmp.Or(bound(dscp), c.switchMap())
		}
		c.mapping(name, qos.DSCPToTC, dscp, "dscp", "tc", m)
		c.mapping(name, qos.TCToQueue, row["SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP"], "tc", "qidx", m)
		c.mapping(name, qos.TCToGroup, row["SAI_PORT_ATTR_QOS_TC_TO_PRIORITY_GROUP_MAP"], "tc", "pg", m)
		c.mapping(name, qos.PFCToQueue, row["SAI_PORT_ATTR_QOS_PFC_PRIORITY_TO_QUEUE_MAP"], "prio", "qidx", m)
	}
	c.queues(name, p)
	c.groups(name, p)
}

// bound returns the identifier of an object, "" if there is none.
func bound(oid string) string {
	if oid == nullOID {
		return ""
	}
	return oid
}

// switchMap returns the map of DSCPs of the row PORT_QOS_MAP|global, which ports without one of
// their own have (sonic-swss:orchagent/qosorch.cpp, handleGlobalQosMap).
func (c *comparer) switchMap() string {
	for _, row := range c.objects[oSwitch] {
		return bound(row["SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP"])
	}
	return ""
}

// mapping compares one map of a port entry by entry.
func (c *comparer) mapping(port string, table qos.Table, oid, from, to string, maps *qos.Maps) {
	field, want := qos.KindMap.Table(table), maps.Table(table)
	if len(mapEntries(want)) == 0 {
		return
	}
	obj := c.objects[oMap][oid]
	if bound(oid) == "" || obj == nil {
		c.note(port, field, "a map", "none")
		return
	}
	id := mapOf{oid, from, to}
	have, known := c.members[id]
	if !known {
		have = mapMembers(obj["SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST"], from, to)
		c.members[id] = have
	}
	if have == nil {
		c.note(port, field, "a map", "one that cannot be read")
		return
	}
	var bad []int
	for k, v := range mapEntries(want) {
		// A code point that the map does not list is in traffic class 0.
		if h, ok := have[k]; h != v || !ok && from != "dscp" {
			bad = append(bad, k)
		}
	}
	if len(bad) > 0 {
		k := slices.Min(bad)
		got := "nothing"
		if h, ok := have[k]; ok {
			got = strconv.Itoa(h)
		}
		c.out = append(c.out, drivers.Mismatch{Port: port, Field: field, Part: fmt.Sprintf("%s[%d]", field, k), Want: strconv.Itoa(int(want[k])), Have: got})
	}
}

// mapMembers parses the entries of a map in SAI's format; nil if they cannot be parsed.
func mapMembers(text, from, to string) map[int]int {
	var list struct {
		List []struct {
			Key   mapValue `json:"key"`
			Value mapValue `json:"value"`
		} `json:"list"`
	}
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	have := make(map[int]int, len(list.List))
	for _, e := range list.List {
		k, v := e.Key.of(from), e.Value.of(to)
		if k != nil && v != nil {
			have[*k] = *v
		}
	}
	return have
}

// mapValue is one side of a map entry, with the fields that this tool compares.
type mapValue struct {
	DSCP  *int `json:"dscp"`
	TC    *int `json:"tc"`
	Queue *int `json:"qidx"`
	Group *int `json:"pg"`
	Prio  *int `json:"prio"`
}

func (v *mapValue) of(part string) *int {
	switch part {
	case "dscp":
		return v.DSCP
	case "tc":
		return v.TC
	case "qidx":
		return v.Queue
	case "pg":
		return v.Group
	case "prio":
		return v.Prio
	}
	return nil
}

func mapEntries(vals []int8) map[int]int {
	out := map[int]int{}
	for k, v := range vals {
		if v >= 0 {
			out[k] = int(v)
		}
	}
	return out
}

func (c *comparer) ecn(port string, q int, queue native.Row, want qos.ECN) {
	field := qos.KindECN.At(q)
	oid := queue["SAI_QUEUE_ATTR_WRED_PROFILE_ID"]
	wred := c.objects[oWRED][oid]
	if oid == "" || oid == nullOID || wred == nil {
		if want.Enabled {
			c.note(port, field, want.String(), "off")
		}
		return
	}
	have := qos.ECN{
		Enabled: wred["SAI_WRED_ATTR_GREEN_ENABLE"] == "true" && wred["SAI_WRED_ATTR_ECN_MARK_MODE"] == "SAI_ECN_MARK_MODE_ALL",
	}
	have.Min, _ = strconv.ParseInt(wred["SAI_WRED_ATTR_GREEN_MIN_THRESHOLD"], 10, 64)
	have.Max, _ = strconv.ParseInt(wred["SAI_WRED_ATTR_GREEN_MAX_THRESHOLD"], 10, 64)
	have.Probability, _ = strconv.Atoi(wred["SAI_WRED_ATTR_GREEN_DROP_PROBABILITY"])
	if want.Enabled == have.Enabled && (!want.Enabled || equalRoundedUp(want.Min, have.Min) && equalRoundedUp(want.Max, have.Max) && want.Probability == have.Probability) {
		return
	}
	c.note(port, field, want.String(), have.String())
}

// equalRoundedUp reports whether a threshold matches, given that the ASIC rounds it up to its
// cell size (sonic-mgmt:tests/generic_config_updater/test_ecn_config_update.py).
func equalRoundedUp(want, have int64) bool {
	const cell = 4096
	return have >= want && have-want < cell
}
