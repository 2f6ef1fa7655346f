package scenario

import (
	"fmt"
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

// judge compares the runs with the expectations of the intent.
func (p *Prediction) judge(s intent.Simulation) {
	p.expect("noPause", s.NoPause, func(r *Run) string {
		if r.Pause != nil {
			return fmt.Sprintf("%s pauses its peer from %s on", r.Pause.Port, Span(r.Pause.At))
		}
		for _, x := range r.Seeds {
			if x.Pauses > 0 {
				return fmt.Sprintf("%d pauses with seed %d", x.Pauses, x.Seed)
			}
		}
		return ""
	})
	p.expect("noLoss", s.NoLoss, func(r *Run) string {
		for _, x := range r.Seeds {
			if x.Lost > 0 {
				return fmt.Sprintf("%d packets lost with seed %d", x.Lost, x.Seed)
			}
		}
		return ""
	})
	if s.P99.V == 0 {
		return
	}
	e := Expectation{Key: "p99", Want: s.P99.V.String(), Place: s.P99.From.String(), Met: "unknown", Why: "no flow of limited size was simulated"}
	for i := range p.Runs {
		p.Runs[i].completion(&e, s.P99.V)
	}
	p.Expectations = append(p.Expectations, e)
}

// expect judges one expectation by the runs that it is about; find returns what contradicts it.
func (p *Prediction) expect(key string, v intent.Value[string], find func(*Run) string) {
	if v.V == "" {
		return
	}
	e := Expectation{Key: key, Want: v.V, Place: v.From.String(), Met: "unknown", Why: v.V + " was not simulated to its end"}
	for i := range p.Runs {
		r := &p.Runs[i]
		if v.V != intent.Always && v.V != r.asked {
			continue
		}
		if why := find(r); why != "" {
			e.Met, e.Why = "no", fmt.Sprintf("%s in class %s: %s", r.Traffic, r.Class, why)
			break
		}
		if !r.Stopped {
			e.Met, e.Why = "yes", ""
		}
	}
	if l := p.Guessed(); e.Met == "yes" && len(l) > 0 {
		e.Met, e.Why = "unknown", "it is predicted, but with an assumed size of memory or headroom of "+words.Some(l, 4)
	}
	p.Expectations = append(p.Expectations, e)
}

// completion judges the completion times of a run.
func (r *Run) completion(e *Expectation, most time.Duration) {
	for _, x := range r.Seeds {
		switch {
		case !r.limited || e.Met == "no":
		case x.Finished*100 < r.Flows*99:
			e.Met, e.Why = "no", fmt.Sprintf("%s in class %s: %d of %d flows finished in %s", r.Traffic, r.Class, x.Finished, r.Flows, Span(r.Until))
			if r.Stopped || r.Until < float64(most.Microseconds()) {
				e.Met = "unknown"
			}
		case x.P99 > float64(most)/1e3:
			e.Met, e.Why = "no", fmt.Sprintf("%s in class %s: 99 of 100 flows take %s", r.Traffic, r.Class, Span(x.P99))
		default:
			e.Met, e.Why = "yes", ""
		}
	}
}

// Span formats a time in microseconds.
func Span(us float64) string {
	return strings.Replace(time.Duration(us*1000).Round(10*time.Nanosecond).String(), "µ", "u", 1)
}
