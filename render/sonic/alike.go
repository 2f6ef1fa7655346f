package sonic

import (
	"hash/maphash"
	"maps"
)

// personal lists the fields that differ between otherwise identical switches. No plan depends on
// them.
var personal = map[string][]string{
	TMetadata: {"hostname", "mac", "bgp_asn", "bgp_router_id", "chassis_hostname", "rack_mgmt_map"},
	TPort:     {"description"},
	TTunnel:   {"src_ip", "dst_ip"},
	TVXLAN:    {"src_ip"},
}

// Impersonal returns the configuration without the fields that differ between identical switches.
// [Site.Plan] makes the same plan from both. Rows of other tables are shared with c.
func (c Config) Impersonal() Config {
	out := maps.Clone(c)
	for tn, fields := range personal {
		if c[tn] == nil {
			continue
		}
		out[tn] = make(Table, len(c[tn]))
		for key, row := range c[tn] {
			row = maps.Clone(row)
			for _, f := range fields {
				delete(row, f)
			}
			out[tn][key] = row
		}
	}
	return out
}

var seed = maphash.MakeSeed()

// Sum returns a hash of the configuration, valid within this process, and its size: the total
// length of all keys, fields and values in bytes.
func (c Config) Sum() (sum uint64, size int) {
	type field struct{ name, value string }
	type row struct {
		table, key string
		fields     uint64
	}
	for tn, t := range c {
		for key, r := range t {
			at := row{table: tn, key: key}
			for f, v := range r {
				at.fields += maphash.Comparable(seed, field{f, v})
				size += len(f) + len(v)
			}
			sum += maphash.Comparable(seed, at)
			size += len(key)
		}
	}
	return sum, size
}

// Equal reports whether two configurations have the same rows.
func (c Config) Equal(other Config) bool {
	return maps.EqualFunc(c, other, func(a, b Table) bool { return maps.EqualFunc(a, b, maps.Equal[Row, Row]) })
}
