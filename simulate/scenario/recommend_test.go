package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

func recommend(t *testing.T, example string, o Options, set ...string) *Recommendations {
	t.Helper()
	r, err := Recommend(context.Background(), compiled(t, example, nil, set...), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The recommended curve, set in the intent, neither pauses nor loses, and keeps what was said of the
// goodput without marking; the search took the earliest such curve.
func TestRecommendedCurve(t *testing.T) {
	o := Options{For: 4 * time.Millisecond, Seeds: 2, Traffic: []Pattern{{Kind: "incast", From: 3, To: 1}}}
	r := recommend(t, "quickstart", o)
	if len(r.Found) != 1 || len(r.Curves) != 1 || r.Found[0].Best < 0 {
		t.Fatalf("%+v", r)
	}
	a, c := r.Found[0], r.Curves[0]
	best := a.Trials[a.Best]
	if !best.Clean() || a.Without.Clean() || best.Goodput < 0.9*a.Without.Goodput || a.Kept != best.Goodput/a.Without.Goodput {
		t.Errorf("best %+v, without marking %+v, kept %v", best, a.Without, a.Kept)
	}
	for _, x := range a.Trials[:a.Best] {
		if x.Clean() && x.Goodput >= best.Goodput {
			t.Errorf("%+v is earlier than %+v and as good", x, best)
		}
	}
	if len(c.Switches) != 4 || c.Min != best.Min || c.Max != best.Max {
		t.Errorf("curve %+v of %+v", c, best)
	}
	ecn := fmt.Sprintf("classes.rdma.ecn={min: %s, max: %s, probability: %.0f%%}", units.Bytes(c.Min), units.Bytes(c.Max), 100*c.Probability)
	p := predict(t, compiled(t, "quickstart", nil, ecn), o)
	if x := p.Runs[0]; x.Pause != nil || x.Loss != nil || x.Mark == nil {
		t.Errorf("with %s: mark %+v, pause %+v, loss %+v", ecn, x.Mark, x.Pause, x.Loss)
	}
}

// Where no curve avoids pauses, the fan-in that is said to be possible is, and one more sender pauses.
func TestLargestFanIn(t *testing.T) {
	o := Options{For: 200 * time.Microsecond, Seeds: 1, Traffic: []Pattern{{Kind: "incast", From: 32, To: 1}}}
	r := recommend(t, "rail-512", o)
	a := r.Found[0]
	if a.Best >= 0 || len(r.Curves) > 0 || a.FanIn < 2 || a.FanIn > 31 {
		t.Fatalf("best %d, %d senders, curves %+v", a.Best, a.FanIn, r.Curves)
	}
	earliest := a.Trials[0]
	ecn := fmt.Sprintf("classes.%s.ecn={min: %s, max: %s, probability: %.0f%%}", a.Class, units.Bytes(earliest.Min), units.Bytes(earliest.Max), 100*earliest.Probability)
	for senders, pauses := range map[int]bool{a.FanIn: false, a.FanIn + 1: true} {
		o.Traffic[0].From = senders
		if p := predict(t, compiled(t, "rail-512", nil, ecn), o); (p.Runs[0].Pause != nil) != pauses {
			t.Errorf("%d senders: first pause %+v", senders, p.Runs[0].Pause)
		}
	}
}

// Switches whose ports have two speeds get a curve of the same drain time for each.
func TestCurvesOfSpeeds(t *testing.T) {
	slow := func(text string) string {
		return strings.Replace(text, "speed: 400G", "speed: 200G", 1)
	}
	r, err := Recommend(context.Background(), compiled(t, "quickstart", slow), Options{For: 300 * time.Microsecond, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	rates := map[bool]Curve{}
	for _, c := range r.Curves {
		if c.Switches[0] == "leaf1" {
			rates[len(c.Ports) > 0 && strings.HasPrefix(c.Ports[0], "Ethernet24")] = c
		}
	}
	if up, down := rates[true], rates[false]; len(rates) != 2 || up.Min != 2*down.Min || len(down.Ports) == 0 {
		t.Errorf("curves %+v", r.Curves)
	}
}

// A search takes one incast to one NIC.
func TestRecommendRefuses(t *testing.T) {
	c := compiled(t, "quickstart", nil)
	for _, traffic := range [][]Pattern{{{Kind: "pairs"}}, {{Kind: "incast", From: 2, To: 2}}, {{Kind: "incast", To: 1}, {Kind: "incast", From: 2, To: 1}}} {
		if _, err := Recommend(context.Background(), c, Options{For: time.Millisecond, Seeds: 1, Traffic: traffic}); err == nil {
			t.Errorf("%v is taken", traffic)
		}
	}
}

// An interrupted search says so and recommends nothing.
func TestInterruptedSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{For: 20 * time.Millisecond, Seeds: 1, Progress: func(part float64) {
		if part > 0.1 {
			cancel()
		}
	}}
	r, err := Recommend(ctx, compiled(t, "quickstart", nil), o)
	if err != nil || !r.Stopped || len(r.Found) > 0 || len(r.Curves) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
