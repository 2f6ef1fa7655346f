package sonic

import (
	"maps"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Booted returns the configuration of a switch after it has started from a saved one. In the
// traditional buffer model, buffermgrd adds the lossless groups that the file lacks, for ports with
// PFC, a speed and a cable length, if it has a profile for the two or can make one from the pool
// and a row of its table (sonic-swss cfgmgr/buffermgr.cpp, doSpeedUpdateTask). m holds the table
// that SONiC publishes for the switch; nil if it is not known. Groups that have a row keep it.
func Booted(saved Config, m *catalog.Model) Config {
	out := saved.migrated()
	if bufferModel(saved) == "dynamic" {
		return out
	}
	for _, table := range []string{TProfile, TGroup, TGroup + asWritten} {
		if t, ok := out[table]; ok {
			out[table] = maps.Clone(t)
		}
	}
	bound := map[string]bool{} // "Ethernet0|3"
	for key, row := range saved[TGroup] {
		port, index, _ := strings.Cut(key, "|")
		if name := row["profile"]; name == derivedProfile(saved, port) && saved.Row(TProfile, name) == nil {
			out.derive(saved.Row(TPort, port)["speed"], saved.cable(port), m)
		}
		from, to, ok := Indexes(index)
		for i := from; ok && i <= to; i++ {
			bound[port+"|"+strconv.Itoa(i)] = true
		}
	}
	upOnly := m != nil && m.ASIC() != nil && m.ASIC().PFCToGroupMap
	masks := saved.written(TPortQoS) // buffermgrd takes each key for the name of one port
	for _, port := range natural.Keys(masks) {
		row := saved.Row(TPort, port)
		if row["speed"] == "" || row["admin_status"] == "" || upOnly && row["admin_status"] != "up" {
			continue
		}
		for _, g := range strings.Split(masks[port]["pfc_enable"], ",") {
			if i, err := strconv.Atoi(g); err != nil || i < 0 || i > 7 || bound[port+"|"+g] {
				continue
			}
			if name := out.derive(row["speed"], saved.cable(port), m); name != "" {
				out.Put(TGroup, port+"|"+g, Row{"profile": name})
				if _, ok := out[TGroup+asWritten]; ok {
					out.Put(TGroup+asWritten, port+"|"+g, Row{"profile": name})
				}
			}
		}
	}
	return out
}

// migrated returns the configuration without references in brackets, which a switch rewrites when
// it starts.
func (c Config) migrated() Config {
	out := maps.Clone(c)
	for name, t := range c {
		if !strings.HasSuffix(name, asWritten) {
			continue
		}
		if plain, _ := withoutBrackets(t); hasListKey(plain) {
			out[name] = plain
		} else {
			delete(out, name)
		}
	}
	return out
}

// MayDerive reports whether a switch may hold lossless groups that [Booted] does not add: because
// saved is only part of a configuration, such as the output of render, or because the table that
// the switch derives them from is not known.
func MayDerive(saved Config, m *catalog.Model) bool {
	unknown := m == nil || len(m.Headroom) == 0
	return saved.Row(TMetadata, "localhost") == nil || unknown && saved.Row(TPool, catalog.IngressPool) != nil
}

// derive returns the name of the profile that buffermgrd gives lossless groups for a speed and a
// cable length, and adds the profile if it is missing; "" if the switch cannot derive one.
func (c Config) derive(speed, cable string, m *catalog.Model) string {
	name := derivedPrefix + speed + "_" + cable + "_profile"
	pool := c.Row(TPool, catalog.IngressPool)
	switch {
	case cable == "" || cable == "0m":
		return ""
	case c.Row(TProfile, name) != nil:
		return name
	case pool == nil || m == nil:
		return ""
	}
	threshold := "dynamic_th"
	if pool["mode"] == "static" {
		threshold = "static_th"
	}
	for _, r := range m.Headroom {
		if strconv.FormatInt(r.Speed.Mbps(), 10) != speed || r.Cable.String() != cable {
			continue
		}
		text := func(n int64) string { return strconv.FormatInt(n, 10) }
		row := Row{"pool": catalog.IngressPool, "xon": text(r.XON), "xoff": text(r.XOFF), "size": text(r.Size), threshold: text(r.Threshold)}
		if r.XONOffset != nil {
			row["xon_offset"] = text(*r.XONOffset)
		}
		c.Put(TProfile, name, row)
		return name
	}
	return ""
}
