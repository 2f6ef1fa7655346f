package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Rollout writes what a plan does and how long it takes, then its waves, one per line, and with Proof
// what was proven about them. A plan with one wave and no impact prints nothing.
func (t *Text) Rollout(r *fleet.Rollout, sum PlanSummary) {
	t.fold.flush()
	if r != nil && len(r.Waves) == 0 && t.Proof && r.Open() {
		t.printf("%s", t.wrapNote(t.S.Yellow("inconclusive:")+" ", strings.TrimPrefix(leftOpen(r), "; ")))
	}
	if !t.wavesShown(r) {
		return
	}
	if i := r.Interim; i != nil {
		now, _ := Interim(i)
		t.printf("%s", t.wrapNote(t.S.Bold(fmt.Sprintf("run %d of %d:", i.Run, i.Runs))+" ", now))
	}
	width := t.Width
	if width == 0 {
		width = math.MaxInt
	}
	plain := func(s string) string { return s }
	head := sum.verdict(qos.Impact.String, plain, plain) + "; " + rolloutHead(r)
	for i, l := range wrap(head, width, 2) {
		t.printf("%s%s\n", strings.Repeat("  ", min(i, 1)), t.S.Bold(l))
	}
	for i, n := 0, 0; i < len(r.Waves); i += n {
		w := r.Waves[i]
		if n = likeFirst(r.Waves[i:]); n >= mostAlike && !t.Proof {
			t.printf("%s", t.wrapNote(fmt.Sprintf("  waves %d-%d: ", i+1, i+n), wavesLine(r.Waves[i:i+n])))
			continue
		}
		n = 1
		t.printf("%s", t.wrapNote(fmt.Sprintf("  wave %d: ", i+1), waveLine(w)))
		if t.Proof {
			for _, l := range w.Proof {
				t.printf("%s", t.wrapNote("     "+t.S.Dim("proof:")+" ", proof(l)))
			}
		}
	}
	if t.Proof && r.Unproven == "" && r.Links > 0 {
		t.printf("%s", t.wrapNote("  "+t.S.Dim("proof:")+" ", "each priority's PFC is only added to links or only removed, so no state in between can deadlock unless the first or the last one can"))
	}
}

// wavesShown reports whether the waves of a plan are worth showing.
func (t *Text) wavesShown(r *fleet.Rollout) bool {
	return r != nil && len(r.Waves) > 0 && (len(r.Waves) > 1 || r.Impact() > 0 || r.Interim != nil || t.Proof)
}

// Between writes, below the changes, what is worse in between, notes about the waves and the
// devices, and what earlier runs showed.
func (t *Text) Between(r *fleet.Rollout) {
	t.fold.flush()
	if t.wavesShown(r) {
		for _, s := range foldedFaults(r.Waves) {
			t.printf("%s", t.wrapNote(t.S.Red("between:")+" ", s))
		}
		for _, note := range append(movesUnsafe(r), parallelSaving(r), r.Unproven) {
			if note != "" {
				t.printf("%s", t.wrapNote(t.S.Yellow("note:")+" ", note))
			}
		}
	}
	for note, devices := range t.notes.All() {
		t.printf("%s", t.wrapNote(t.S.Yellow("note")+" for "+spaced(natural.Fold(devices))+": ", note))
	}
	if r != nil {
		t.earlierRuns(r.Seen)
	}
}

// movesUnsafe says why no order of the waves is safe for traffic that changes its priority.
func movesUnsafe(r *fleet.Rollout) (out []string) {
	for _, m := range r.Moves {
		out = append(out, fmt.Sprintf("RDMA with DSCP %d moves from priority %d to %d, and no order is safe: until both ends of a link have changed, each pauses a queue that the other does not use, even if both priorities are lossless. Stop RDMA for the rollout; or add a second lossless class with priority %d and a DSCP of its own, let jobs use that one, and then remove the first", m.DSCP, m.From, m.To, m.To))
	}
	return out
}

// foldedFaults returns one line per kind of fault that exists only in between, for all waves.
func foldedFaults(waves []fleet.Wave) (out []string) {
	type kind struct{ class, what string }
	type fault struct {
		checks, ports []string
		more          bool
		from, until   int
		seconds       float64
	}
	var all ordered.Map[kind, fault]
	for i, w := range waves {
		for _, f := range w.Worse {
			a := all.At(kind{f.Class, cmp.Or(faultWords[f.Check], "a check fails")})
			if a.from == 0 {
				a.from = i + 1
			}
			a.checks, a.ports, a.more = append(a.checks, f.Check), append(a.ports, f.Ports...), a.more || f.Count > len(f.Ports)
			a.until, a.seconds = max(a.until, f.Until), max(a.seconds, f.Seconds)
		}
	}
	for k, f := range all.All() {
		ports := slices.Compact(natural.Sorted(f.ports))
		least := ""
		if f.more {
			least = "at least "
		}
		out = append(out, fmt.Sprintf("%s at %s%s, from wave %d until wave %d, at most about %s each (%s): %s", strings.TrimSpace(k.class+" "+k.what), least, words.Count(len(ports), "port"),
			f.from, max(f.until, f.from), about(f.seconds), strings.Join(slices.Compact(natural.Sorted(f.checks)), ", "), shortPlace(spaced(natural.Fold(ports)))))
	}
	return out
}

// faultWords describes the faults that exist only in between, by check.
var faultWords = map[string]string{
	"PFC-01": "has PFC at one end of the link only", "PFC-02": "has PFC at one end of the link only",
	"CLS-02": "RDMA traffic enters in a lossy class", "MTU-03": "packets of hosts are too large",
}

// earlierRuns writes what earlier runs showed about the kinds of switches that change.
func (t *Text) earlierRuns(all []fleet.Seen) {
	for _, s := range all {
		what := fmt.Sprintf("run %s changed %s (%s)", s.Run, natural.Fold(slices.Concat(s.Applied, s.Failed)), s.Kind)
		switch {
		case len(s.Applied) == 0:
			what += " and failed: " + s.Error
		case len(s.Failed) > 0:
			what += fmt.Sprintf(" in about %s, and failed at %s: %s", about(s.Seconds), natural.Fold(s.Failed), s.Error)
		case s.Gate != "":
			what += fmt.Sprintf(" in about %s, and passed the gate (%s)", about(s.Seconds), s.Gate)
		default:
			what += fmt.Sprintf(" in about %s, and passed no gate", about(s.Seconds))
		}
		t.printf("%s", t.wrapNote(t.S.Dim("before:")+" ", term.CleanLine(what)))
	}
}

// rolloutHead returns the number of waves, their duration, and whether and for how long an
// intermediate state is worse.
func rolloutHead(r *fleet.Rollout) string {
	gate := r.GateTime(r.Gate)
	took := gate
	for _, w := range r.Waves {
		took += time.Duration(w.Seconds * float64(time.Second))
	}
	quick := took - gate + r.GateTime(fleet.GateQuick)
	head := fmt.Sprintf("%s, about %s", words.Count(len(r.Waves), "wave"), about(took.Seconds()))
	if gate > 0 {
		head += fmt.Sprintf(", of which %s are the gate", about(gate.Seconds()))
	}
	if gate > 0 && r.Gate == fleet.GateFull {
		head += fmt.Sprintf(" (%s with --gate quick)", about(quick.Seconds()))
	}
	head += ": "
	switch {
	case r.Impact() > 0:
		head += fmt.Sprintf("%s, for about %s", worse(r), about(r.Worse(r.Gate).Seconds()))
		if gate > 0 && r.Gate == fleet.GateFull {
			head += fmt.Sprintf(" (%s with --gate quick)", about(r.Worse(fleet.GateQuick).Seconds()))
		}
	case r.Links == 0:
		head += "no link between them was checked"
	default:
		looked := words.Count(r.Links, "link")
		if r.OfAll > r.Links {
			looked = fmt.Sprintf("%d of %s", r.Links, words.Count(r.OfAll, "link"))
		}
		head += fmt.Sprintf("no state in between is worse than before and after (%s checked)", looked)
	}
	return head + leftOpen(r)
}

// worse says on how many links a state in between is worse than before and after.
func worse(r *fleet.Rollout) string {
	least, unprotected := "", true
	for _, w := range r.Waves {
		for _, f := range w.Worse {
			if f.Count > len(f.Ports) {
				least = "at least "
			}
			unprotected = unprotected && f.Check != "MTU-03"
		}
	}
	links := "some links"
	if r.WorseLinks > 0 {
		links = least + words.Count(r.WorseLinks, "link")
	}
	if unprotected {
		return "RDMA is unprotected on " + links + " in between"
	}
	return links + " lose packets in between that they carry before and after"
}

// parallelSaving says how much time changing devices in parallel would save; "" if it saves none.
func parallelSaving(r *fleet.Rollout) string {
	if r.Together == nil {
		return ""
	}
	return fmt.Sprintf("changing devices in parallel, in %s, would shorten the time in which links are worse off by about %s; set 'rollout: {together: true}' in the intent", words.Count(r.Together.Waves, "wave"), about(r.Together.Saves))
}

// leftOpen returns, for the end of a headline, what was not checked or not proven.
func leftOpen(r *fleet.Rollout) (out string) {
	if text := checks.OpenText(r.Inconclusive); text != "" {
		out = "; " + text
	}
	if r.Unproven != "" {
		out += "; not all is proven"
	}
	return term.CleanLine(out)
}

// Interim describes a run that is one of several for a DSCP move: what this run does, and what
// the next one does.
func Interim(i *fleet.Interim) (now, next string) {
	var codes []string
	for _, dscp := range slices.Sorted(maps.Keys(i.Keeps)) {
		codes = append(codes, strconv.Itoa(dscp))
	}
	old := "DSCP " + strings.Join(codes, ", ")
	drop := fmt.Sprintf("all devices drop %s. Connections that are open now send it until they end, so wait for them", old)
	switch {
	case i.Moves:
		return fmt.Sprintf("hosts send the new DSCP; all devices still take %s as well", old), drop
	case i.Runs == 2:
		return fmt.Sprintf("RDMA traffic moves to another DSCP. All devices now take it as well as %s, which hosts still send", old), "hosts send the new DSCP, and then " + drop
	}
	return fmt.Sprintf("RDMA traffic moves to another DSCP. All devices now take it as well as %s, which hosts still send", old), "hosts send the new DSCP"
}

// about formats an estimated duration.
func about(seconds float64) string {
	switch {
	case seconds < 1:
		return "1 s"
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

// mostAlike is the length from which a series of similar waves shares a line.
// line.
const mostAlike = 4

// likeFirst counts the leading waves that differ only in their device names. A wave with worse
// intermediate states, or that cuts links, is always listed separately.
func likeFirst(waves []fleet.Wave) int {
	first := waves[0]
	n := slices.IndexFunc(waves, func(w fleet.Wave) bool {
		return len(w.Worse) > 0 || len(w.Cut) > 0 || len(w.Devices) != len(first.Devices) || waveText("", w) != waveText("", first)
	})
	switch n {
	case -1:
		return len(waves)
	case 0:
		return 1
	}
	return n
}

// wavesLine returns the headline of a series of similar waves.
func wavesLine(waves []fleet.Wave) string {
	var names []string
	for _, w := range waves {
		names = append(names, w.Devices...)
	}
	return waveText(fmt.Sprintf("%s; in each %s", spaced(natural.Fold(names)), words.Count(len(waves[0].Devices), "device")), waves[0])
}

// waveLine returns the headline of a wave.
func waveLine(w fleet.Wave) string { return waveText(spaced(natural.Fold(w.Devices)), w) }

func waveText(devices string, w fleet.Wave) string {
	parts := []string{devices}
	if w.Canary {
		parts[0] += " (canary)"
	}
	if w.Down > 0 {
		parts = append(parts, goDown(w.Down))
	}
	if n := len(w.Cut); n > 0 {
		loses := "lose"
		if n == 1 {
			loses = "loses"
		}
		parts = append(parts, spaced(natural.Fold(w.Cut))+" "+loses+" a link")
	}
	if len(w.Classes) > 0 {
		of := "classes "
		if len(w.Classes) == 1 {
			of = "class "
		}
		parts = append(parts, of+strings.Join(w.Classes, ", "))
	}
	takes := "about " + about(w.Seconds)
	if w.Gate > 0 {
		takes += ", gate " + about(w.Gate)
	}
	return strings.Join(append(parts, "impact "+w.Impact.String(), takes), "; ")
}

// proof describes what a check found in a wave.
func proof(l order.CheckSummary) string {
	faults := "no fault"
	switch {
	case l.Worse > 0:
		faults = fmt.Sprintf("%s only during the rollout, %d also before or after it", words.Count(l.Worse, "fault"), l.Known)
	case l.Known > 0:
		faults = fmt.Sprintf("no fault only during the rollout, %d also before or after it", l.Known)
	}
	if l.Unused > 0 {
		faults += fmt.Sprintf(", %d of a class that the link does not carry yet", l.Unused)
	}
	return fmt.Sprintf("%s %s on %s, in %s: %s", l.Check, asks[l.Check], words.Count(l.Links, "link"), words.Count(l.States, "state"), faults)
}

// asks describes what each check of the proof looks for.
var asks = map[string]string{
	"PFC-01": "(PFC at both ends)", "PFC-02": "(PFC at both ends)",
	"CLS-02": "(RDMA traffic in a lossless class)", "MTU-03": "(packets of hosts fit)",
}

// interimFaults returns one line per fault that exists from wave n on, but neither before nor after
// the rollout.
func interimFaults(n int, w fleet.Wave) (out []string) {
	for _, f := range w.Worse {
		const most = 4
		named := f.Ports[:min(len(f.Ports), most)]
		places := spaced(natural.Fold(named))
		if more := f.Count - len(named); more > 0 {
			places += fmt.Sprintf(" and %d more", more)
		}
		what := faultWords[f.Check]
		until := "for"
		if f.Until > n+1 {
			until = fmt.Sprintf("until wave %d,", f.Until)
		}
		out = append(out, fmt.Sprintf("%s at %s, %s about %s (%s)", strings.TrimSpace(f.Class+" "+cmp.Or(what, "a check fails")), places, until, about(f.Seconds), f.Check))
	}
	return out
}
