package keep

import (
	"net/http"

	"github.com/roce-fabric/roce-fabric/watch/serve"
)

// index is the text of the start page.
const index = `roce-fabric nic agent

/metrics     Prometheus metrics
/healthz     200 while the agent is running
/readyz      200 while the host can be read
/state.json  what is wanted, and what differs
`

// Handler serves metrics, health and the state, like package serve does for a watch.
func (k *Keeper) Handler(version string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", serve.Index(index))
	mux.Handle("GET /metrics", k.metrics(version))
	serve.Probes(mux, k.Alive, "the agent is stuck\n", k.Ready, "the host has not been read\n")
	mux.Handle("GET /state.json", serve.JSON(func() any { return k.State() }))
	return serve.Bounded(mux)
}
