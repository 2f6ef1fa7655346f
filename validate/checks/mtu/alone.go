package mtu

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// fullPayload is the largest payload of an RDMA packet, in bytes (Linux
// include/rdma/ib_addr.h).
const fullPayload = 4096

func mtuAlone(r *checks.File, name string, q *qos.Port) {
	if need := fullPayload + intent.RDMAOverhead; q.MTU.Set && q.MTU.V < need {
		r.Found(checks.Warning, name, qos.KindMTU.Attr(), "the MTU is %d B; an RDMA packet of %d B has %d B with its headers, and smaller ones cost throughput", q.MTU.V, fullPayload, need)
	}
}
