package sonic

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Document returns Encode(d) together with the rows that it refers to and that
// the platform's own template provides: ports with their lanes, buffer pools
// and profiles. m is nil for a model that the catalogue does not have; the
// references then dangle. Without a port there is nothing to provide for.
func Document(d *qos.Device, m *catalog.Model) Config {
	cfg := Encode(d)
	if m == nil || len(d.Ports) == 0 {
		return cfg
	}
	cages := make(map[string]bool, len(m.Ports)) // names of the default layout
	for i := range m.Ports {
		cages[m.Ports[i].Name] = true
	}
	for i := range m.Ports {
		place(cfg, cages, &m.Ports[i])
	}
	for _, p := range m.Pools {
		row := Row{"type": p.Type, "mode": p.Mode}
		// Where the device computes its pools, a size here would override it.
		if p.Size > 0 && !(p.Computed && d.Platform.DynamicBuffers) {
			row["size"] = strconv.FormatInt(p.Size, 10)
		}
		if p.XOFF > 0 {
			row["xoff"] = strconv.FormatInt(p.XOFF, 10)
		}
		cfg.Put(TPool, p.Name, row)
	}
	for _, p := range m.Profiles {
		row := Row{"pool": p.Pool, "size": strconv.FormatInt(p.Size, 10)}
		for field, v := range map[string]*int64{
			"static_th": p.StaticTh, "dynamic_th": p.DynamicTh, "xoff": p.XOFF, "xon_offset": p.XONOffset,
		} {
			if v != nil {
				row[field] = strconv.FormatInt(*v, 10)
			}
		}
		cfg.Put(TProfile, p.Name, row)
	}
	return cfg
}

// place gives the rows of a port of the default layout, or those of the ports that it is
// broken out into, their lanes and the index of the cage. A child is named after its first
// lane: Ethernet0 of eight lanes becomes Ethernet0 and Ethernet4 (sonic-utilities
// config/main.py, breakout; platform.json).
func place(cfg Config, cages map[string]bool, p *catalog.Port) {
	lanes := strings.Split(p.Lanes, ",")
	children := childrenOf(cfg, cages, p, len(lanes))
	for i, c := range children {
		c.row["index"] = strconv.Itoa(p.Index)
		c.row["lanes"] = strings.Join(lanes[c.first:c.first+widthOf(children, i, len(lanes))], ",")
		if c.first > 0 || len(children) > 1 {
			continue // the aliases and default speeds of a breakout are the platform's choice
		}
		c.row["alias"] = p.Alias
		if c.row["speed"] == "" {
			c.row["speed"] = strconv.FormatInt(p.Speed.Mbps(), 10)
		}
	}
}

// portWord begins the name of every front panel port.
const portWord = "Ethernet"

// child is a port in the cage of a port of the default layout, from its lane first on.
type child struct {
	first int
	row   Row
}

// childrenOf returns the ports of cfg that have lanes of p, by lane.
func childrenOf(cfg Config, cages map[string]bool, p *catalog.Port, lanes int) (out []child) {
	if row := cfg.Row(TPort, p.Name); row != nil {
		out = append(out, child{0, row})
	}
	number, err := strconv.Atoi(strings.TrimPrefix(p.Name, portWord))
	if err != nil {
		return out
	}
	for first := 1; first < lanes; first++ {
		name := portWord + strconv.Itoa(number+first)
		if cages[name] {
			break // another cage begins
		}
		if row := cfg.Row(TPort, name); row != nil {
			out = append(out, child{first, row})
		}
	}
	return out
}

// widthOf returns how many lanes a child has: up to the next child at most, as many as its
// first lane is a multiple of, and as its siblings of the same speed.
func widthOf(children []child, i, lanes int) int {
	upTo := func(i int) int {
		end := lanes
		if i+1 < len(children) {
			end = children[i+1].first
		}
		width := end - children[i].first
		for children[i].first > 0 && children[i].first%width != 0 {
			width--
		}
		return width
	}
	width := upTo(i)
	for j, c := range children {
		if c.row["speed"] == children[i].row["speed"] {
			width = min(width, upTo(j))
		}
	}
	return width
}

// owned reports whether this tool made the object of that name. The plain
// names are shared with the platform's template, and stay.
func owned(table, name string) bool {
	switch table {
	case TScheduler:
		return strings.HasPrefix(name, schedulerPrefix)
	case TWRED:
		return strings.HasPrefix(name, "ROCE_") || strings.HasPrefix(name, wredName+"_")
	}
	return strings.HasPrefix(name, mapName+"_")
}
