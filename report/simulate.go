package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// simulatedRows is how many ports and flows the text lists of a run.
const simulatedRows = 8

// Prediction writes what a simulation says: the answer of each run first, then its tables, the
// expectations of the intent, and what was assumed and left out.
func (t *Text) Prediction(p *scenario.Prediction) {
	for i := range p.Runs {
		t.run(p, &p.Runs[i])
	}
	for _, e := range p.Expectations {
		met := map[string]string{"yes": t.S.Green("met"), "no": t.S.Red("not met"), "unknown": t.S.Yellow("unknown")}[e.Met]
		t.printf("%s: %s (%s): %s\n", e.Key, e.Want, e.Place, met)
		if e.Why != "" {
			t.indented("  ", "", e.Why, 0)
		}
	}
	if len(p.Expectations) > 0 {
		t.printf("\n")
	}
	t.assumptions(p.Running, p.Assumed, p.NotModelled)
}

// assumptions writes what a simulation was of, what it assumed, and what it left out.
func (t *Text) assumptions(running []string, assumed []scenario.Assumption, left []string) {
	if len(running) > 0 {
		t.indented("", "", "QoS as it runs: "+natural.Fold(running)+". All else is as the intent says.", 2)
	}
	if len(assumed) > 0 {
		t.printf("Assumed, because neither the intent nor the catalogue says it:\n")
		for _, a := range assumed {
			t.indented("  ", "", natural.Fold(a.Devices)+": "+a.What, 4)
		}
	}
	t.indented("", "", "Not modelled: "+strings.Join(left, ", ")+".", 2)
}

func (t *Text) run(p *scenario.Prediction, r *scenario.Run) {
	first := r.Seeds[0]
	t.indented("", t.S.Bold(r.Class+":"), r.Class+": "+answer(r)+assumedMemory(p.Guessed()), 2)
	note := ""
	if r.Stopped {
		note = ", interrupted"
	}
	t.printf("%s for %s%s: %s, %d packet hops\n", r.Traffic, scenario.Span(r.Until), note, words.Count(r.Flows, "flow"), first.Hops)
	t.printf("goodput %.1f Gb/s in all, fairness %.3f (Jain)", first.Goodput, first.Fairness)
	if first.Finished > 0 {
		t.printf("; %d of %d flows finished, p50 %s, p99 %s", first.Finished, r.Flows, scenario.Span(first.P50), scenario.Span(first.P99))
	}
	t.printf("\n")
	if len(r.Seeds) > 1 {
		t.seeds(r)
	}
	t.ports(r)
	t.flows(r)
	t.printf("\n")
}

// assumedMemory names the switches whose memory is not known, on which the answer depends.
func assumedMemory(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return "; assuming the memory of " + natural.Fold(l)
}

// answer says in one line what happens first, and what is lost.
func answer(r *scenario.Run) string {
	first := r.Seeds[0]
	var parts []string
	say := func(m *scenario.Moment, verb, none string) {
		if m == nil {
			parts = append(parts, none)
			return
		}
		parts = append(parts, fmt.Sprintf("%s %s from %s", m.Port, verb, scenario.Span(m.At)))
	}
	say(r.Mark, "marks", "no mark")
	say(r.Pause, "pauses its peer", "no pause")
	if first.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%s lost", words.Count(int(first.Lost), "packet")))
	} else {
		parts = append(parts, "no loss")
	}
	text := strings.Join(parts, ", ")
	if r.Pause != nil && (r.Mark == nil || r.Pause.At < r.Mark.At) {
		text += "; it pauses before it marks"
	}
	if first.At != "" {
		text += fmt.Sprintf("; headroom used at most %.0f %% (%s)", 100*first.Headroom, first.At)
	}
	if d := r.Deadlock; d != nil {
		text += fmt.Sprintf("; deadlock since %s: %s", scenario.Span(d.Since), strings.Join(d.Ports, " > "))
	}
	return text
}

// seeds writes the mean and the range of what differs between seeds.
func (t *Text) seeds(r *scenario.Run) {
	of := func(get func(scenario.Seed) float64) string {
		l := make([]float64, len(r.Seeds))
		sum := 0.0
		for i, s := range r.Seeds {
			l[i] = get(s)
			sum += l[i]
		}
		return fmt.Sprintf("%.1f (%.1f to %.1f)", sum/float64(len(l)), slices.Min(l), slices.Max(l))
	}
	t.indented("", "", fmt.Sprintf("over %d seeds: goodput %s Gb/s, paused %s us, lost %s, headroom %s %%", len(r.Seeds),
		of(func(s scenario.Seed) float64 { return s.Goodput }), of(func(s scenario.Seed) float64 { return s.Paused }),
		of(func(s scenario.Seed) float64 { return float64(s.Lost) }), of(func(s scenario.Seed) float64 { return 100 * s.Headroom })), 2)
}

// ports lists the ports at which something happened: one queued more than a few packets, marked,
// paused, was paused, or lost.
func (t *Text) ports(r *scenario.Run) {
	const few = 20_000
	rows := [][]string{{"PORT", "QUEUE", "MEAN", "MARKS", "PAUSED", "TIMES", "HEADROOM", "LOST"}}
	more := 0
	for _, p := range r.Ports {
		switch {
		case p.Queue < few && p.Marks == 0 && p.Times == 0 && p.Pauses == 0 && p.Lost == 0:
			continue
		case len(rows) > simulatedRows:
			more++
			continue
		}
		used := "-"
		if p.Of > 0 {
			used = fmt.Sprintf("%.0f%%", 100*float64(p.Used)/float64(p.Of))
		}
		rows = append(rows, []string{p.Port, kilobytes(float64(p.Queue)), kilobytes(p.Mean), strconv.FormatInt(p.Marks, 10),
			fmt.Sprintf("%.0f%%", 100*p.Paused/max(r.Until, 1e-9)), strconv.FormatInt(p.Times, 10), used, strconv.FormatInt(p.Lost, 10)})
	}
	if len(rows) > 1 {
		t.table(rows)
	}
	if more > 0 {
		t.printf("  and %s, which -o json lists\n", words.Count(more, "port"))
	}
}

func (t *Text) flows(r *scenario.Run) {
	rows := [][]string{{"SLOWEST FLOW", "GOODPUT", "TOOK", "CNPS", "RESENT"}}
	for _, f := range r.Slowest[:min(len(r.Slowest), simulatedRows)] {
		took := "-"
		if f.Took > 0 {
			took = scenario.Span(f.Took)
		}
		rows = append(rows, []string{f.Flow, fmt.Sprintf("%.2fG", f.Goodput), took, strconv.FormatInt(f.CNPs, 10), kilobytes(float64(f.Resent))})
	}
	t.table(rows)
}

func (t *Text) table(rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush() // a strings.Builder does not fail
	for line := range strings.Lines(b.String()) {
		t.printf("  %s\n", strings.TrimRight(line, " \n"))
	}
}

func kilobytes(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n >= 10e6:
		return fmt.Sprintf("%.1fMB", n/1e6)
	}
	return fmt.Sprintf("%.1fKB", n/1e3)
}

// QueueSeries returns the queues over time as CSV: one row a sample and queue.
func QueueSeries(p *scenario.Prediction) []byte {
	var b bytes.Buffer // which does not fail
	out := csv.NewWriter(&b)
	_ = out.Write([]string{"traffic", "class", "port", "time_us", "queue_bytes"})
	for _, r := range p.Runs {
		for i, port := range r.Queues.Ports {
			for j, n := range r.Queues.Queues[i] {
				_ = out.Write([]string{r.Traffic, r.Class, port, strconv.FormatFloat(float64(j+1)*r.Queues.Every, 'f', -1, 64), strconv.Itoa(int(n))})
			}
		}
	}
	out.Flush()
	return b.Bytes()
}

// Share shows on a terminal how much of some work is done, with the time left. show is called with
// that part, 0 to 1, by one goroutine at a time; end must be called once.
func (c *Console) Share(label string) (show func(part float64), end func()) {
	const percent = 100
	p := term.NewProgress(c.Err, term.ProgressOptions{
		Label: label, Total: percent,
		Animate: c.Output != "json" && term.Animate(c.Getenv, terminal(c.Err)),
		Width:   func() int { return term.Width(term.File(c.Err)) },
	})
	done := 0
	return func(part float64) {
		for ; done < int(part*percent) && done < percent; done++ {
			p.Start()
			p.Finish("", "", nil)
		}
	}, p.Close
}
