package eos

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// defaultHostname is the name of a box without a configured hostname.
const defaultHostname = "localhost"

// config is one configuration: the running one, the startup one, or that of a session. The caller
// of its methods must hold the switch's mutex.
type config struct {
	root *block
	maps map[string]map[int]string // entries of the qos maps that were configured, even if equal to the default
}

func newConfig() *config {
	return &config{root: &block{}, maps: map[string]map[int]string{}}
}

func (c *config) clone() *config {
	n := &config{root: c.root.Clone(), maps: make(map[string]map[int]string, len(c.maps))}
	for k, m := range c.maps {
		n.maps[k] = maps.Clone(m)
	}
	return n
}

func (c *config) hostname() string {
	if l := c.root.Get("hostname"); l != "" {
		return strings.TrimPrefix(l, "hostname ")
	}
	return defaultHostname
}

// down returns the interfaces that are shut down.
func (c *config) down() map[string]bool {
	var out map[string]bool
	for _, b := range c.root.Subs {
		if interfaceModes[b.Mode] && c.lineFor(b, "shutdown") == "shutdown" {
			if out == nil {
				out = map[string]bool{}
			}
			out[b.Name()] = true
		}
	}
	return out
}

// Port defaults in bytes (aristanetworks/anta, tests of interface MTUs).
const (
	defaultL3MTU = 1500
	defaultL2MTU = 9214
)

func (c *config) portOf(b *block) portState {
	p := portState{Name: b.Name(), Description: strings.TrimPrefix(b.Get("description"), "description "),
		Address: strings.TrimPrefix(b.Get("ip address"), "ip address ")}
	p.Kind = strings.TrimRight(p.Name, "0123456789/.")
	p.Routed = b.Mode == modeLogical || c.lineFor(b, "switchport") == "no switchport"
	p.Shutdown = c.lineFor(b, "shutdown") == "shutdown"
	p.Wire = c.wireOf(b)
	p.L3MTUConfigured = b.Get("mtu") != ""
	p.MTU = defaultL2MTU
	if p.Routed {
		p.MTU, _ = strconv.Atoi(strings.TrimPrefix(c.lineFor(b, "mtu"), "mtu ")) // cannot fail: the grammar allows only numbers
	}
	if l2, ok := strings.CutPrefix(b.Get("l2 mtu"), "l2 mtu "); ok {
		p.L2MTU, _ = strconv.Atoi(l2)
	}
	return p
}

var forcedSpeed = lazyre.New(`\b([0-9]{1,4})g`)

// wireOf returns the settings of a port for its link, from lines such as "speed forced 200gfull"
// or "speed 200g-4".
func (c *config) wireOf(b *block) cli.Wire {
	w := cli.Wire{FEC: map[string]string{"error-correction encoding reed-solomon": "rs", "error-correction encoding fire-code": "fc", "no error-correction encoding": "none"}[b.Get("error-correction encoding")]}
	if m := forcedSpeed.FindStringSubmatch(b.Get("speed")); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64) // cannot fail: at most four digits
		w.Speed = n * 1_000_000_000
	}
	off := c.root.Get("lldp run") == "no lldp run"
	w.Mute, w.Deaf = off || b.Get("lldp transmit") == "no lldp transmit", off || b.Get("lldp receive") == "no lldp receive"
	return w
}

// Wire returns the settings of a port for its link.
func (e *EOS) Wire(port string) cli.Wire {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if b := e.running.root.Subs["interface "+port]; b != nil {
		return e.running.wireOf(b)
	}
	return cli.Wire{}
}

// qosMap is one kind of `qos map`: its name is the pattern of its lines.
type qosMap struct {
	from, to string
	size     int              // number of values that it maps
	def      func(int) string // default target of a value; nil if there is none
}

// line returns one line of a map.
func (m qosMap) line(from, to string) string {
	return "qos map " + m.from + " " + from + " to " + m.to + " " + to
}

func identity(n int) string { return strconv.Itoa(n) }

// swapped is the default of maps in which the two lowest classes are swapped (EOS User Manual,
// QoS: default DSCP and CoS to traffic class maps).
func swapped(n int) string {
	if n < 2 {
		n = 1 - n
	}
	return strconv.Itoa(n)
}

func byDSCP(d int) string { return swapped(d / 8) }

// Names of maps, which are the keys of config.maps.
const (
	mapCoS, mapDSCP, mapExp  = "cos", "dscp", "exp"
	mapTCtoCoS, mapTCtoDSCP  = "tc-cos", "tc-dscp"
	mapTCtoQueue, mapTCtoMcQ = "tc-queue", "tc-mc-queue"
)

// qosMaps lists the maps in the order in which EOS prints them.
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

// lines returns the lines of a map, one per target. Entries equal to the default are included only
// if all is set, or if they were configured and explicit is set. Values are separated by spaces.
// Styles 1 and 2 use ranges, separated by spaces or commas, which newer releases accept.
func (m qosMap) lines(set map[int]string, all, explicit bool, style int) []string {
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
		list := cli.JoinNumbers(to[v], " ")
		if style > 0 {
			list = cli.JoinRanges(to[v], []string{" ", ","}[style-1])
		}
		out = append(out, m.line(list, v))
	}
	return out
}
