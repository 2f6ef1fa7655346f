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
	for _, p := range m.Ports {
		row := cfg.Row(TPort, p.Name)
		if row == nil {
			continue
		}
		row["lanes"] = p.Lanes
		row["alias"] = p.Alias
		row["index"] = strconv.Itoa(p.Index)
		if row["speed"] == "" {
			row["speed"] = strconv.FormatInt(p.Speed.Mbps(), 10)
		}
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
