package ports

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// membersAlone compares the members of each aggregate that carries lossless traffic.
func membersAlone(r *checks.File) {
	firsts := map[string]*qos.Port{}
	for _, name := range natural.Keys(r.Config.Ports) {
		q := r.Config.Ports[name]
		was := firsts[q.LAG.V]
		switch {
		case q.LAG.V == "":
		case was == nil:
			firsts[q.LAG.V] = q
		case was.PFC.Or(0)|q.PFC.Or(0) != 0:
			if fields := differing(was, q); len(fields) > 0 {
				r.Found(checks.Error, name, fields[0], "members of %s differ in %s", term.CleanLine(q.LAG.V), fieldNames(fields))
			}
		}
	}
}
