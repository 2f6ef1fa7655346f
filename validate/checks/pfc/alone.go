package pfc

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// groupOr returns the priority group of a priority; without a map it has the priority's number.
func groupOr(m *qos.Maps, prio int) int {
	if g := group(m, prio); g >= 0 {
		return g
	}
	return prio
}

// notBoundLossy returns the priorities that a port pauses and whose groups are not bound to a lossy
// profile.
func notBoundLossy(r *checks.File, name string, q *qos.Port) qos.PrioritySet {
	set := q.PFC.Or(0)
	m := r.Config.ClassifiedBy(name)
	for _, p := range set.List() {
		if g := q.Groups[groupOr(m, p)]; g.Buffer.Set && g.Lossless.Set && !g.Lossless.V {
			set &^= qos.Priorities(p)
		}
	}
	return set
}

func pausedWithLossyProfile(r *checks.File, name string, q *qos.Port) {
	m, has := r.Config.ClassifiedBy(name), notBoundLossy(r, name, q)
	for _, p := range q.PFC.V.List() {
		if g := groupOr(m, p); !has.Has(p) {
			r.Found(checks.Error, name, qos.KindGroupBuffer.At(g), "PFC is on for priority %d, and priority group %d has the lossy profile %s", p, g, term.CleanLine(q.Groups[g].Buffer.V))
		}
	}
}

// eachStatedGroup runs a check on each lossless priority group that the configuration states.
func eachStatedGroup(check func(r *checks.File, name string, q *qos.Port, g int)) func(*checks.File) {
	return checks.InEachPort(func(r *checks.File, name string, q *qos.Port) {
		for g := range q.Groups {
			if q.Groups[g].Lossless.V && (q.Groups[g].Buffer.Set || q.Groups[g].DerivedFrom.Set) {
				check(r, name, q, g)
			}
		}
	})
}

func statedGroupWithoutPause(r *checks.File, name string, q *qos.Port, g int) {
	m := r.Config.ClassifiedBy(name)
	for _, p := range q.PFC.Or(0).List() {
		if groupOr(m, p) == g {
			return
		}
	}
	severity := checks.Error
	if r.Everywhere == ^qos.PrioritySet(0) {
		severity = checks.Warning // no port pauses: the file may be a part
	}
	r.Found(severity, name, qos.KindGroupBuffer.At(g), "priority group %d is lossless, but PFC is off for all its priorities", g)
}

func statedGroupWithoutXON(r *checks.File, name string, q *qos.Port, g int) {
	if h := q.Groups[g].Headroom; h.Set && h.V.XOFF > 0 && h.V.XON == 0 && h.V.XONOffset == 0 {
		r.Found(checks.Warning, name, qos.KindHeadroom.At(g), noXON, g)
	}
}

// pausedClasses counts the lossless classes of a port. Two more than usual may be on purpose
// between switches, so those that are not on every port count only if there are even more.
func pausedClasses(r *checks.File, name string, q *qos.Port) {
	if set := notBoundLossy(r, name, q); set.Len() > usualClasses && (r.Everywhere.Len() > usualClasses || set.Len() > 2*usualClasses) {
		r.Found(checks.Warning, name, qos.KindPFC.Attr(), "%d lossless classes: priorities %s", set.Len(), set)
	}
}

func pausedControl(r *checks.File, name string, q *qos.Port) {
	if high := q.PFC.V & qos.Priorities(6, 7) &^ dualToR(q.PFC.V, r.Everywhere); high != 0 {
		r.Found(checks.Warning, name, qos.KindPFC.Attr(), "priorities %s are lossless, and control traffic uses 6 and 7", high)
	}
}

// watchdogAlone finds the first fault of a watchdog, and reports it if it is the current check's.
// Half of a configuration in rows is WD-06.
func watchdogAlone(r *checks.File, name string, q *qos.Port) {
	w, at, paused := q.Watchdog.V, qos.KindWatchdog.Attr(), q.PFC.Or(0)
	found := func(id string, attr qos.Attr, what string, arg any) {
		if r.Check.ID == id {
			r.Found(checks.Warning, name, attr, what, arg)
		}
	}
	switch {
	case !q.Watchdog.Set || r.Rows && HalfWatchdog(w):
	case r.Rows && w.Enabled && paused&^w.Priorities == 0 && w.Priorities != paused:
		found("WD-03", at, "the watchdog watches priorities %s, which the port does not pause", w.Priorities&^paused)
	case paused == 0:
	case !w.Enabled:
		found("WD-01", qos.KindPFC.Attr(), "PFC %s has no watchdog", paused)
	case paused&^w.Priorities != 0:
		found("WD-03", at, "lossless priorities %s are not watched", paused&^w.Priorities)
	case w.Detect > longDetect:
		found("WD-05", at, "a PFC storm lasts %s before the watchdog acts", w.Detect)
	}
}

// HalfWatchdog reports whether a watchdog is on without priorities, or off with priorities.
func HalfWatchdog(w qos.Watchdog) bool { return w.Enabled == (w.Priorities == 0) }
