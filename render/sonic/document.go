package sonic

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Document returns Encode(d) plus the rows that it refers to and that the platform's own template
// provides: ports with their lanes, buffer pools and profiles. If m is nil, because the catalogue
// lacks the model, the references dangle. A device without ports gets no such rows.
func Document(d *qos.Device, m *catalog.Model) Config {
	cfg := Encode(d)
	if m == nil || len(d.Ports) == 0 {
		return cfg
	}
	cages := make(map[string]bool, len(m.Ports)) // names of the ports of the default layout
	for i := range m.Ports {
		cages[m.Ports[i].Name] = true
	}
	for i := range m.Ports {
		place(cfg, cages, &m.Ports[i])
	}
	for _, p := range m.Pools {
		row := Row{"type": p.Type, "mode": p.Mode}
		// If the device computes its pools, a size here would override the result.
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

// place adds the lanes and the cage index to the row of a port of the default layout, or to the
// rows of the ports that it is broken out into. A child is named after its first lane: Ethernet0
// with eight lanes becomes Ethernet0 and Ethernet4 (sonic-utilities config/main.py, breakout;
// platform.json).
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

// portWord starts the name of every front panel port.
const portWord = "Ethernet"

// child is a port broken out of a port of the default layout; first is its first lane.
type child struct {
	first int
	row   Row
}

// childrenOf returns the ports of cfg that use lanes of p, sorted by lane.
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
			break // start of the next cage
		}
		if row := cfg.Row(TPort, name); row != nil {
			out = append(out, child{first, row})
		}
	}
	return out
}

// widthOf returns how many lanes a child has. Its lanes end before the next child, its first lane
// is a multiple of the width, and siblings of the same speed have the same width.
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

// owned reports whether this tool made the object of that name. Plain names such as AZURE are
// shared with the platform's template; objects with such names are never removed.
func owned(table, name string) bool {
	switch table {
	case TScheduler:
		return strings.HasPrefix(name, schedulerPrefix)
	case TWRED:
		return strings.HasPrefix(name, "ROCE_") || strings.HasPrefix(name, wredName+"_")
	}
	return strings.HasPrefix(name, mapName+"_")
}
