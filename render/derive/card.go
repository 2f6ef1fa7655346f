package derive

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// cardOf is what is stated of a card.
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

// sfsOf is what is stated of scalable functions.
func sfsOf(count int) *node { return mapping().when(count != 0, "count", number(count)) }

// vfsOf is what is stated of virtual functions.
func vfsOf(v intent.VFs) *node {
	n := mapping().when(v.Count.V != 0, "count", number(v.Count.V))
	return n.when(v.Trust.V != "", "trust", bare(v.Trust.V)).when(v.Representors.V != "", "representors", bare(v.Representors.V))
}
