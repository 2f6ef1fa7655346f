package derive

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// cardOf returns the settings of a card.
func cardOf(c intent.CardLine) *node {
	params := mapping()
	for _, name := range natural.Keys(c.DCQCN.V) {
		params.put(name, number(c.DCQCN.V[name]))
	}
	n := mapping()
	n.putIf("dcqcn", params)
	n.when(c.KeepDCBX.V, "dcbx", bare("keep")).when(c.MaxReadRequest.V != 0, "maxReadRequest", number(c.MaxReadRequest.V))
	return n.when(c.RelaxedOrdering.V, "relaxedOrdering", bare("on"))
}

// sfsOf returns the settings of scalable functions (SFs).
func sfsOf(count int) *node { return mapping().when(count != 0, "count", number(count)) }

// vfsOf returns the settings of virtual functions (VFs).
func vfsOf(v intent.VFs) *node {
	n := mapping().when(v.Count.V != 0, "count", number(v.Count.V))
	if v.VLAN.V != nil {
		n.put("vlan", number(*v.VLAN.V))
	}
	if v.PCP.V != nil {
		n.put("pcp", number(*v.PCP.V))
	}
	return n.when(v.Trust.V != "", "trust", bare(v.Trust.V)).when(v.Representors.V != "", "representors", bare(v.Representors.V))
}
