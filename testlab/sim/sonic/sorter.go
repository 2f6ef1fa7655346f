package sonic

import (
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// rowWrite writes one entry whole; a nil row removes it.
type rowWrite struct {
	table, key string
	r          row
}

// move is one change of the sorted patch: the updater writes it, then sleeps a second.
type move []rowWrite

// portTables hold entries that change only while their port is down (sonic-utilities
// generic_config_updater/patch_sorter.py, RequiredValueIdentifier).
var portTables = []string{"BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST", "PORT_QOS_MAP", "QUEUE"}

// tableOrder lists referenced tables before the tables that refer to them; tables not listed take
// the place of "".
var tableOrder = []string{"DEVICE_METADATA", "MACSEC_PROFILE", "PORT", "DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
	"MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "TC_TO_DSCP_MAP", "SCHEDULER", "WRED_PROFILE",
	"BUFFER_POOL", "BUFFER_PROFILE", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN",
	"", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP", "QUEUE", "PFC_WD"}

func rank(table string) int {
	if i := slices.Index(tableOrder, table); i >= 0 {
		return i
	}
	return slices.Index(tableOrder, "")
}

// sortMoves returns the order in which the updater gets from old to target, and how many seconds it
// takes to find it.
func sortMoves(old, target map[string]any) ([]move, float64) {
	var p sorting
	p.old, p.target = old, target
	names := map[string]bool{}
	for t := range old {
		names[t] = true
	}
	for t := range target {
		names[t] = true
	}
	tables := sortedKeys(names)
	ordered.Sort(tables, func(a, b string) int { return rank(a) - rank(b) })
	for _, t := range tables {
		p.table(t, false)
	}
	slices.Reverse(tables)
	for _, t := range tables {
		p.table(t, true)
	}
	moves := append(p.first, append(p.moves, p.last...)...)
	return moves, p.seconds()
}

type sorting struct {
	old, target        map[string]any
	first, moves, last []move
	weight             float64 // entries on ports that are up
	portSeconds        float64
}

func entryOf(doc map[string]any, table, key string) (any, bool) {
	t, _ := doc[table].(map[string]any)
	e, ok := t[key]
	return e, ok
}

func adminUp(doc map[string]any, port string) bool {
	e, _ := entryOf(doc, "PORT", port)
	m, _ := e.(map[string]any)
	return m["admin_status"] == "up"
}

// table plans the additions and changes, or the removals, of one table.
func (p *sorting) table(table string, removals bool) {
	from, _ := p.old[table].(map[string]any)
	to, _ := p.target[table].(map[string]any)
	var bulk move
	keys := to
	if removals {
		keys = from
	}
	planned := func(key string, _ any) bool {
		before, had := from[key]
		after, has := to[key]
		return removals != has && !(had && has && equal(before, after))
	}
	for _, key := range naturalOf(keys, planned) {
		before, had := from[key]
		after, has := to[key]
		w := rowWrite{table: table, key: key}
		if has {
			w.r = rowOf(after)
		}
		port, _, _ := strings.Cut(key, "|")
		switch {
		case table == "PORT" && has && had:
			p.port(key, before.(map[string]any), after, w)
		case slices.Contains(portTables, table) && adminUp(p.old, port) && adminUp(p.target, port):
			p.moves = append(p.moves, p.admin(port, "down"), move{w}, p.admin(port, "up"))
			// PORT_QOS_MAP entries have about twice as many fields to try.
			p.weight++
			if table == "PORT_QOS_MAP" {
				p.weight += 0.9
			}
		default:
			bulk = append(bulk, w)
		}
	}
	if len(bulk) > 0 {
		p.moves = append(p.moves, bulk)
	}
}

// port orders a change of a port so that dependent changes happen while the port is down.
func (p *sorting) port(key string, before map[string]any, after any, w rowWrite) {
	m, _ := after.(map[string]any)
	if !equal(before["lanes"], m["lanes"]) {
		p.portSeconds = max(p.portSeconds, 10)
	}
	if !equal(before["speed"], m["speed"]) {
		p.portSeconds = max(p.portSeconds, 15)
	}
	switch was, is := adminUp(p.old, key), adminUp(p.target, key); {
	case was && !is:
		p.first = append(p.first, move{w})
	case !was && is:
		p.last = append(p.last, move{w})
	default:
		p.moves = append(p.moves, move{w})
	}
}

// admin returns a write that sets only admin_status and keeps the rest of the row.
func (p *sorting) admin(port, state string) move {
	return move{{table: "PORT", key: port, r: row{adminOnly: state}}}
}

// adminOnly is not a CONFIG_DB field: it tells the writer to merge.
const adminOnly = "\x00admin"

// seconds returns the search time, measured on 32 ports: 2 s for 4 entries on ports that are up, 14
// s for 16 entries, 121 s for 64 entries, and more than linear beyond. Entries on ports that are
// down take no significant time.
func (p *sorting) seconds() float64 {
	n := p.weight
	switch {
	case n == 0:
		return p.portSeconds
	case n <= 16:
		return p.portSeconds + 2*math.Pow(n/4, math.Log(7)/math.Log(4))
	}
	return p.portSeconds + 14*math.Pow(n/16, math.Log(121.0/14)/math.Log(4))
}
