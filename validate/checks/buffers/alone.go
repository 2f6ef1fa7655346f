package buffers

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
)

// egressAlone compares the static threshold of each lossless queue with the size of the ingress
// pool.
func egressAlone(r *checks.File, name string, q *qos.Port) {
	m := r.Config.ClassifiedBy(name)
	pool := r.Config.Pools[catalog.IngressPool].Size
	model, _ := catalog.ModelOf(r.Config.Platform.OS, r.Config.Platform.Model)
	for _, p := range q.PFC.V.List() {
		n := class.QueueOf(m, p)
		b := q.Queues[n].Buffer
		if limit, sure, short := egressShort(r.Config, model, b.V, pool); b.Set && short {
			severity := checks.Warning
			if sure {
				severity = checks.Error
			}
			r.Found(severity, name, qos.KindQueueBuffer.At(n), "profile %s on queue %d of lossless priority %d is limited to %d B, the ingress pool has %d B", term.CleanLine(b.V), n, p, limit, pool)
		}
	}
}
