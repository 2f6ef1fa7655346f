package eos

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// defaultHostname is the name of a box that was given none.
const defaultHostname = "localhost"

// config is one configuration: the running one, the startup one or that of a
// session. The caller of its methods holds the switch's mutex.
type config struct {
	root *block
	maps map[string]map[int]string // of qos maps: what is not as by default, or was said to be so
}

// block is the inside of one mode: what is set there and the blocks below.
type block struct {
	mode string
	head string // the line that opens it; "" at the root
	rank int    // place among the things of its parent
	seq  int    // and among equals
	vals map[string]*value
	subs map[string]*block // by head
	next int
	top  int // highest sequence number of an access list
}

// value is one thing that is set: a line, under a key that a later line with
// another value has as well.
type value struct {
	line  string // as it was said
	plain string // without what equals the default; "" where nothing is left
	rank  int
	seq   int
}

func newConfig() *config {
	return &config{root: &block{}, maps: map[string]map[int]string{}}
}

func (c *config) clone() *config {
	n := &config{root: c.root.clone(), maps: make(map[string]map[int]string, len(c.maps))}
	for k, m := range c.maps {
		n.maps[k] = maps.Clone(m)
	}
	return n
}

// clone copies a block. Values are never changed in place, so they are shared.
func (b *block) clone() *block {
	n := *b
	n.vals = maps.Clone(b.vals)
	if b.subs != nil {
		n.subs = make(map[string]*block, len(b.subs))
		for k, s := range b.subs {
			n.subs[k] = s.clone()
		}
	}
	return &n
}

// put sets a line. One that takes the place of another keeps its place.
func (b *block) put(key string, v value) {
	if b.vals == nil {
		b.vals = map[string]*value{}
	}
	if old := b.vals[key]; old != nil {
		v.seq = old.seq
	} else {
		b.next++
		v.seq = b.next
	}
	b.vals[key] = &v
}

// get returns the line under a key, "" without.
func (b *block) get(key string) string {
	if v := b.vals[key]; v != nil {
		return v.line
	}
	return ""
}

// sub returns the block that a line opens, a new one where there is none.
func (b *block) sub(f frame, head string) *block {
	if s := b.subs[head]; s != nil {
		return s
	}
	if b.subs == nil {
		b.subs = map[string]*block{}
	}
	b.next++
	s := &block{mode: f.mode, head: head, rank: f.rank, seq: b.next}
	b.subs[head] = s
	return s
}

// name is the last word of the head.
func (b *block) name() string { return b.head[strings.LastIndexByte(b.head, ' ')+1:] }

// removeLines removes what begins with the words.
func (b *block) removeLines(words string) {
	begins := func(line string) bool {
		return line == words || strings.HasPrefix(line, words) && line[len(words)] == ' '
	}
	maps.DeleteFunc(b.vals, func(_ string, v *value) bool { return begins(v.line) })
	maps.DeleteFunc(b.subs, func(head string, _ *block) bool { return begins(head) })
}

func (c *config) hostname() string {
	if l := c.root.get("hostname"); l != "" {
		return strings.TrimPrefix(l, "hostname ")
	}
	return defaultHostname
}

// down returns the interfaces that are shut down.
func (c *config) down() map[string]bool {
	var out map[string]bool
	for _, b := range c.root.subs {
		if b.vals["shutdown"] != nil && interfaceModes[b.mode] {
			if out == nil {
				out = map[string]bool{}
			}
			out[b.name()] = true
		}
	}
	return out
}

// Port defaults in bytes (aristanetworks/anta, tests of interface MTUs).
const (
	defaultL3MTU = 1500
	defaultL2MTU = 9214
)

func (b *block) port() portState {
	p := portState{Name: b.name(), Description: strings.TrimPrefix(b.get("description"), "description "), MTU: defaultL3MTU,
		Address: strings.TrimPrefix(b.get("ip address"), "ip address ")}
	p.Kind = strings.TrimRight(p.Name, "0123456789/.")
	p.Routed = b.mode == modeLogical || b.get("switchport") == "no switchport"
	p.Shutdown = b.get("shutdown") != ""
	mtu, ok := strings.CutPrefix(b.get("mtu"), "mtu ")
	p.L3MTUConfigured = ok
	if !p.Routed {
		p.MTU = defaultL2MTU
	} else if ok {
		p.MTU, _ = strconv.Atoi(mtu) // the grammar lets numbers pass only
	}
	if l2, ok := strings.CutPrefix(b.get("l2 mtu"), "l2 mtu "); ok {
		p.L2MTU, _ = strconv.Atoi(l2)
	}
	return p
}

// A qosMap is one kind of `qos map`: its name is the pattern of its lines.
type qosMap struct {
	from, to string
	size     int              // of what it maps from
	def      func(int) string // by default
}

// line prints one line of a map.
func (m qosMap) line(from, to string) string {
	return "qos map " + m.from + " " + from + " to " + m.to + " " + to
}

func identity(n int) string { return strconv.Itoa(n) }

// swapped is the default of the maps whose two lowest classes change places
// (EOS User Manual, QoS: default DSCP and CoS to traffic class maps).
func swapped(n int) string {
	if n < 2 {
		n = 1 - n
	}
	return strconv.Itoa(n)
}

func byDSCP(d int) string { return swapped(d / 8) }

// Names of maps, which are their places in config.maps.
const (
	mapCoS, mapDSCP, mapExp  = "cos", "dscp", "exp"
	mapTCtoCoS, mapTCtoDSCP  = "tc-cos", "tc-dscp"
	mapTCtoQueue, mapTCtoMcQ = "tc-queue", "tc-mc-queue"
)

// qosMaps are the maps in the order in which EOS prints them.
var qosMaps = []string{mapCoS, mapDSCP, mapTCtoCoS, mapTCtoDSCP, mapTCtoQueue, mapTCtoMcQ, mapExp}

func (e *EOS) qosMap(name string) qosMap {
	switch name {
	case mapCoS:
		return qosMap{"cos", "traffic-class", 8, swapped}
	case mapDSCP:
		return qosMap{"dscp", "traffic-class", 64, byDSCP}
	case mapExp:
		return qosMap{"exp", "traffic-class", 8, identity}
	case mapTCtoCoS:
		return qosMap{"traffic-class", "cos", 8, swapped}
	case mapTCtoDSCP:
		return qosMap{"traffic-class", "dscp", 8, nil}
	case mapTCtoMcQ:
		return qosMap{"traffic-class", "mc-tx-queue", 8, nil}
	}
	return qosMap{"traffic-class", e.o.QueueKeyword, 8, identity}
}

// mapLines prints a map, one line per target. Without all, what equals the
// default is left out; explicit keeps of that what was said.
func (m qosMap) lines(set map[int]string, all, explicit bool) []string {
	to := map[string][]bool{}
	for n := range m.size {
		v, said := set[n]
		def := ""
		if m.def != nil {
			def = m.def(n)
		}
		switch {
		case !said && (!all || def == ""):
			continue
		case !said:
			v = def
		case v == def && !all && !explicit:
			continue
		}
		if to[v] == nil {
			to[v] = make([]bool, m.size)
		}
		to[v][n] = true
	}
	var out []string
	for _, v := range slices.Sorted(maps.Keys(to)) {
		out = append(out, m.line(joinList(to[v]), v))
	}
	return out
}
