package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// Recommendations writes which ECN curves a search found: the answer for each model and speed, what
// was tried, the lines of the intent, and what was assumed and left out.
func (t *Text) Recommendations(r *scenario.Recommendations) {
	for i := range r.Found {
		t.advice(r, &r.Found[i])
	}
	if r.Stopped {
		t.printf("Interrupted: what was not searched to its end is missing.\n\n")
	}
	if len(r.Curves) > 0 {
		t.printf("In the intent:\n\n%s\n", curvesOf(r))
	}
	t.assumptions(r.Running, r.Assumed, r.NotModelled)
}

func (t *Text) advice(r *scenario.Recommendations, a *scenario.Advice) {
	switches := natural.Fold(a.Switches)
	t.indented("", t.S.Bold(a.Class+":"), a.Class+": "+recommended(a)+assumedMemory(r.Guessed()), 2)
	t.indented("", "", fmt.Sprintf("%s to %s for %s, %s; %s at %s: %s", a.Traffic, a.To, r.For, words.Count(r.Seeds, "seed"), a.Model, a.Speed, switches), 2)
	rows := [][]string{{"", "MIN", "MAX", "MEAN QUEUE", "GOODPUT", "FIRST PAUSE", "PAUSES", "LOST"}}
	row := func(name string, x scenario.Trial) {
		low, high, first := "-", "-", "-"
		if x.Max > 0 {
			low, high = kilobytes(float64(x.Min)), kilobytes(float64(x.Max))
		}
		if x.Pauses > 0 {
			first = scenario.Span(x.Pause)
		}
		rows = append(rows, []string{name, low, high, kilobytes(x.Mean), fmt.Sprintf("%.1fG", x.Goodput), first, strconv.FormatInt(x.Pauses, 10), strconv.FormatInt(x.Lost, 10)})
	}
	row("now", a.Now)
	row("unmarked", a.Without)
	for i, x := range a.Trials {
		name := ""
		if i == a.Best {
			name = "best"
		}
		row(name, x)
	}
	t.table(rows)
	t.printf("\n")
}

// recommended says in one sentence what a search found.
func recommended(a *scenario.Advice) string {
	if a.Best < 0 {
		text := fmt.Sprintf("no curve avoids pauses and losses with the form of the present one (probability %.0f %%)", 100*a.Trials[0].Probability)
		if a.FanIn == 0 {
			return text + ", even with one sender"
		}
		return fmt.Sprintf("%s; the earliest holds %s", text, words.Count(a.FanIn, "sender"))
	}
	x := a.Trials[a.Best]
	now := "pauses"
	switch {
	case a.Now.Lost > 0:
		now = fmt.Sprintf("loses %s", words.Count(int(a.Now.Lost), "packet"))
	case a.Now.Pauses == 0:
		now = "does not pause either"
	}
	return fmt.Sprintf("ECN from %s to %s, %.0f %%: no pause, no loss, mean queue %s, %.1f %% of the goodput without marking; the present curve %s",
		kilobytes(float64(x.Min)), kilobytes(float64(x.Max)), 100*x.Probability, kilobytes(x.Mean), 100*a.Kept, now)
}

// curvesOf returns the curves as lines of an intent: at the class if all switches have the same one,
// else at the switches.
func curvesOf(r *scenario.Recommendations) string {
	var b strings.Builder
	traffic := make([]string, 0, len(r.Found))
	for _, a := range r.Found {
		traffic = append(traffic, a.Traffic)
	}
	fmt.Fprintf(&b, "# Found by roce-fabric simulate --recommend: %s for %s, %s.\n",
		strings.Join(slices.Compact(natural.Sorted(traffic)), ", "), r.For, words.Count(r.Seeds, "seed"))
	of := map[string]int{}
	for _, c := range r.Curves {
		of[c.Class]++
	}
	classes, at := "", map[string][2]string{} // by switch: lines of its classes, and of its ports
	for _, c := range r.Curves {
		line := fmt.Sprintf("%s: {ecn: {min: %s, max: %s, probability: %.0f%%}}\n", c.Class, units.Bytes(c.Min), units.Bytes(c.Max), 100*c.Probability)
		if of[c.Class] == 1 && len(c.Ports) == 0 {
			classes += "  " + line
			continue
		}
		for _, name := range c.Switches {
			lines := at[name]
			if len(c.Ports) == 0 {
				lines[0] += "      " + line
			}
			for port := range strings.SplitSeq(natural.Fold(c.Ports), ",") {
				if port != "" {
					lines[1] += fmt.Sprintf("      %q:\n        classes:\n          %s", port, line)
				}
			}
			at[name] = lines
		}
	}
	if classes != "" {
		fmt.Fprintf(&b, "classes:\n%s", classes)
	}
	return b.String() + switchLines(at)
}

// switchLines returns the lines of switches, those with the same lines together.
func switchLines(at map[string][2]string) string {
	if len(at) == 0 {
		return ""
	}
	alike := map[[2]string][]string{}
	for _, name := range natural.Keys(at) {
		alike[at[name]] = append(alike[at[name]], name)
	}
	var b strings.Builder
	b.WriteString("switches:\n")
	for _, name := range natural.Keys(at) {
		lines := at[name]
		if alike[lines][0] != name {
			continue
		}
		for key := range strings.SplitSeq(natural.Fold(alike[lines]), ",") {
			fmt.Fprintf(&b, "  %s:\n", key)
			for i, heading := range []string{"classes", "ports"} {
				if lines[i] != "" {
					fmt.Fprintf(&b, "    %s:\n%s", heading, lines[i])
				}
			}
		}
	}
	return b.String()
}
