package class

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// mapsAgree compares, for each priority that a port pauses, the map that its traffic uses with the
// map that its pause uses. Without an intent, priorities that no DSCP reaches do not count.
func mapsAgree(what string, first, second qos.Table) func(*checks.Port) {
	return func(p *checks.Port) {
		if !p.Read || p.Maps == nil || !p.ByIntent && p.Config.Trust.V == qos.TrustPCP {
			return
		}
		a, b := p.Maps.Table(first), p.Maps.Table(second)
		stoppedWith(p, what, first)
		for _, prio := range p.Config.PFC.Or(0).List() {
			if x, y := a[prio], b[prio]; x >= 0 && y >= 0 && x != y && (p.ByIntent || reached(p.Maps, prio)) {
				p.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("traffic class %d uses %s %d, but pause of priority %d belongs to %s %d", prio, what, x, prio, what, y), Fix: "map traffic class and PFC priority to one " + what + ": " + checks.ApplyIntent},
					qos.KindMap.Table(first), qos.KindMap.Table(second))
			}
		}
	}
}

// stoppedWith finds lossy traffic classes that the pause of a lossless priority stops, because the map
// puts them into its queue or group.
func stoppedWith(p *checks.Port, what string, table qos.Table) {
	m := p.Maps.Table(table)
	for tc := range m {
		if prio := sharesPause(p, m, tc); p.ByIntent && prio >= 0 {
			p.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("traffic class %d, which is lossy, uses %s %d of lossless priority %d: pause of that priority stops it", tc, what, m[tc], prio), Fix: "map the traffic class to a " + what + " of its own: " + checks.ApplyIntent},
				qos.KindMap.Table(table))
		}
	}
}

// sharesPause returns the lossless priority in whose queue or group the traffic of a lossy class is;
// -1 if there is none. m is the map of traffic classes.
func sharesPause(p *checks.Port, m []int8, tc int) int {
	if p.Lossless.Has(tc) || m[tc] < 0 || p.Config.PFC.Or(0).Has(tc) || !reached(p.Maps, tc) {
		return -1
	}
	for _, prio := range (p.Lossless & p.Config.PFC.Or(0)).List() {
		if m[prio] == m[tc] {
			return prio
		}
	}
	return -1
}
