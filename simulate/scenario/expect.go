package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Default returns what is simulated if nobody names a pattern: the worst incast, in which all other
// NICs send to one, and the patterns that the expectations of the intent name.
func Default(s intent.Simulation) ([]Pattern, error) {
	out := []Pattern{{Kind: "incast", To: 1}}
	for _, v := range []intent.Value[string]{s.NoPause, s.NoLoss} {
		if v.V == "" || v.V == intent.Always {
			continue
		}
		p, err := ParsePattern(v.V)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.From, err)
		}
		if p != out[len(out)-1] {
			out = append(out, p)
		}
	}
	return out, nil
}

// verdict is what one run says about an expectation.
type verdict struct {
	met  string // "yes", "no", "unknown", or "" if the run says nothing about it
	why  string
	sure bool // it does not depend on a memory that was assumed
}

// judge compares the runs with the expectations of the intent.
func (p *Prediction) judge(s intent.Simulation) {
	guessed := p.Guessed()
	atKnown := func(r *Run, happened func(Port) bool) bool {
		return slices.ContainsFunc(r.Ports, func(x Port) bool {
			device, _, _ := strings.Cut(x.Port, " ")
			return happened(x) && !slices.Contains(guessed, device)
		})
	}
	p.expect("noPause", s.NoPause.V, s.NoPause.From, func(r *Run) verdict {
		if !r.about(s.NoPause.V) {
			return verdict{}
		}
		sure := atKnown(r, func(x Port) bool { return x.Pauses > 0 })
		if r.Pause != nil {
			return verdict{"no", fmt.Sprintf("%s pauses its peer from %s on", r.Pause.Port, Span(r.Pause.At)), sure}
		}
		for _, x := range r.Seeds {
			if x.Pauses > 0 {
				return verdict{"no", fmt.Sprintf("%d pauses with seed %d", x.Pauses, x.Seed), sure}
			}
		}
		return r.ended()
	})
	p.expect("noLoss", s.NoLoss.V, s.NoLoss.From, func(r *Run) verdict {
		if !r.about(s.NoLoss.V) {
			return verdict{}
		}
		for _, x := range r.Seeds {
			if x.Lost > 0 {
				return verdict{"no", fmt.Sprintf("%d packets lost with seed %d", x.Lost, x.Seed), atKnown(r, func(x Port) bool { return x.Lost > 0 })}
			}
		}
		return r.ended()
	})
	if s.P99.V > 0 {
		p.expect("p99", s.P99.V.String(), s.P99.From, func(r *Run) verdict { return r.completed(s.P99.V) })
	}
}

// about reports whether a run is of the traffic that an expectation names.
func (r *Run) about(want string) bool { return want == intent.Always || want == r.asked }

// ended is the verdict about a run in which nothing contradicted the expectation.
func (r *Run) ended() verdict {
	if r.Stopped {
		return verdict{met: "unknown", why: "it was not simulated to its end"}
	}
	return verdict{met: "yes"}
}

// completed is the verdict about the completion times of a run: nothing about a run without flows
// of limited size.
func (r *Run) completed(most time.Duration) verdict {
	if !r.limited {
		return verdict{}
	}
	unfinished := ""
	for _, x := range r.Seeds {
		switch {
		case x.Finished*100 < r.Flows*99:
			unfinished = fmt.Sprintf("%d of %d flows finished in %s", x.Finished, r.Flows, Span(r.Until))
			if !r.Stopped && r.Until >= float64(most.Microseconds()) {
				return verdict{met: "no", why: unfinished}
			}
		case x.P99 > float64(most)/1e3:
			return verdict{met: "no", why: "99 of 100 flows take " + Span(x.P99)}
		}
	}
	if unfinished != "" {
		return verdict{met: "unknown", why: unfinished}
	}
	return r.ended()
}

// expect judges an expectation by the verdicts about the runs. One "no" decides, then one "unknown".
// Neither "yes" nor "no" is said because of a memory that was assumed.
func (p *Prediction) expect(key, want string, from intent.Origin, judge func(*Run) verdict) {
	if want == "" {
		return
	}
	e := Expectation{Key: key, Want: want, Place: from.String(), Why: "nothing was simulated that shows it"}
	worst, assumed := 0, p.Guessed()
	for i := range p.Runs {
		r := &p.Runs[i]
		v := judge(r)
		if v.why != "" {
			v.why = fmt.Sprintf("%s in class %s: %s", r.Traffic, r.Class, v.why)
		}
		switch {
		case v.met == "yes" && p.Stopped:
			v.met, v.why = "unknown", "the simulation was interrupted"
		case (v.met == "yes" || v.met == "no") && !v.sure && len(assumed) > 0:
			if v.why == "" {
				v.why = "it is predicted"
			}
			v.met, v.why = "unknown", v.why+", but with an assumed size of memory or headroom of "+words.Some(assumed, 4)
		}
		if rank := slices.Index([]string{"", "yes", "unknown", "no"}, v.met); rank > worst {
			worst, e.Met, e.Why = rank, v.met, v.why
		}
	}
	e.Met = cmp.Or(e.Met, "unknown")
	p.Expectations = append(p.Expectations, e)
}

// Span formats a time in microseconds.
func Span(us float64) string {
	return strings.Replace(time.Duration(us*1000).Round(10*time.Nanosecond).String(), "µ", "u", 1)
}
