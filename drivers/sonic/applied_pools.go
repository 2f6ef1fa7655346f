package sonic

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

const (
	oPool        = "SAI_OBJECT_TYPE_BUFFER_POOL"
	attrPool     = "SAI_BUFFER_PROFILE_ATTR_POOL_ID"
	attrPoolSize = "SAI_BUFFER_POOL_ATTR_SIZE"
	attrPoolXOFF = "SAI_BUFFER_POOL_ATTR_XOFF_SIZE"
)

// pool compares the pool of a buffer profile with the pool that the profile is configured to use,
// once for all ports. profile is the OID of the profile.
func (c *comparer) pool(kind qos.Kind, want native.Row, profile string) {
	name, oid := want["pool"], c.objects[oProfile][profile][attrPool]
	pool, have := c.buffers.pool(name), c.objects[oPool][oid]
	if pool == nil || have == nil || c.pools[[2]string{name, oid}] {
		return
	}
	c.pools[[2]string{name, oid}] = true
	for _, v := range []struct{ name, part, attr string }{{"size", "the size", attrPoolSize}, {"xoff", "the headroom", attrPoolXOFF}} {
		a, err1 := strconv.ParseInt(pool[v.name], 10, 64)
		b, err2 := strconv.ParseInt(have[v.attr], 10, 64)
		if err1 == nil && err2 == nil && !equalRoundedUp(a, b) {
			c.out = append(c.out, drivers.Mismatch{Field: kind.Attr(), Part: v.part + " of pool " + name, Want: pool[v.name] + " B", Have: have[v.attr] + " B", Slow: true})
		}
	}
}

// pool returns a pool as orchagent receives it; nil if that is not certain.
func (b *buffers) pool(name string) native.Row {
	if b.computedPools != nil {
		return b.computedPools[name]
	}
	return b.pools[name]
}

// matchesAPPLDB reports whether APPL_DB, which orchagent reads, has the profile that a group is
// configured with; the buffer manager copies it from CONFIG_DB (sonic-swss
// cfgmgr/buffermgr.cpp). If not, instead describes what APPL_DB has.
func (b *buffers) matchesAPPLDB(port string, g int) (instead string, ok bool) {
	at := port + ":" + strconv.Itoa(g)
	want, have := b.groups[at], b.appl[at]
	switch {
	case len(b.appl) == 0, want == "", want == computed, want[0] == '[', have == want:
		return "", true // not available, not certain, computed, or a reference of an old release
	case have == "":
		return "no profile", false
	}
	return have, have[0] == '['
}
