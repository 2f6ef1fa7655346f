// Command benchreport writes the table of bench/README.md from the output of benchmarks. It
// judges only ratios, because times depend on the machine.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

func main() {
	readme := flag.String("readme", "../bench/README.md", "the `file` whose last section is the table")
	goals := flag.String("goals", "../bench/goals.txt", "the `file` with a goal a line: Start x-empty-go <= 6")
	flag.Parse()
	if err := run(*readme, *goals, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1)
	}
}

func run(readme, goalFile string, files []string) error {
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	head, old, ok := bytes.Cut(text, []byte(heading))
	if !ok {
		return fmt.Errorf("%s has no heading %q", readme, strings.TrimSpace(heading))
	}
	list, err := os.ReadFile(goalFile)
	if err != nil {
		return err
	}
	goals, err := parseGoals(string(list))
	if err != nil {
		return fmt.Errorf("%s: %w", goalFile, err)
	}
	var all results
	for _, name := range files {
		if err := all.add(name); err != nil {
			return err
		}
	}
	if len(all.rows) == 0 {
		return errors.New("no benchmark reports a custom unit in " + strings.Join(files, ", "))
	}
	table, err := all.table(goals, medians(string(old)))
	if err != nil {
		return err
	}
	return replace(readme, append(append(head, heading...), all.machine()+table...))
}

const heading = "\n## Numbers\n"

// replace writes a file atomically.
func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".benchreport-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// place identifies a benchmark and one of its units.
type place struct{ name, unit string }

// results holds the values of several runs, in their original order.
type results struct {
	rows   []place
	values map[place][]float64
	cpu    string
}

// ordinary lists the units that every benchmark has.
var ordinary = []string{"sec/op", "B/op", "allocs/op", "B/s"}

func (r *results) add(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(f, file)
}

func (r *results) read(from io.Reader, name string) error {
	if r.values == nil {
		r.values = map[place][]float64{}
	}
	in := benchfmt.NewReader(from, name)
	for in.Scan() {
		res, ok := in.Result().(*benchfmt.Result)
		if !ok {
			continue // a line of test output that looks like a benchmark
		}
		r.cpu = res.GetConfig("cpu")
		base, parts := res.Name.Parts()
		title := string(base)
		if of := path.Base(res.GetConfig("pkg")); of != "bench" && of != "." {
			title = of + "." + title
		}
		for _, p := range parts {
			if p[0] != '-' { // the number of processors
				title += string(p)
			}
		}
		for _, v := range res.Values {
			value, unit := v.Value, v.Unit
			if v.OrigUnit != "" {
				value, unit = v.OrigValue, v.OrigUnit
			}
			if slices.Contains(ordinary, v.Unit) {
				continue
			}
			at := place{title, unit}
			if r.values[at] == nil {
				r.rows = append(r.rows, at)
			}
			r.values[at] = append(r.values[at], value)
		}
	}
	return in.Err()
}

// goal is the target of a value.
type goal struct {
	least bool // the value is a minimum, otherwise a maximum
	value float64
}

func (g goal) String() string {
	if g.least {
		return "at least " + number(g.value)
	}
	return "at most " + number(g.value)
}

func (g goal) met(v float64) bool { return g.least && v >= g.value || !g.least && v <= g.value }

func parseGoals(text string) (map[place]goal, error) {
	out := map[place]goal{}
	for i, l := range strings.Split(text, "\n") {
		f := strings.Fields(l)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) != 4 || f[2] != "<=" && f[2] != ">=" {
			return nil, fmt.Errorf("line %d is not 'BENCHMARK UNIT <= NUMBER'", i+1)
		}
		v, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out[place{f[0], f[1]}] = goal{f[2] == ">=", v}
	}
	return out, nil
}

// medians reads the medians from the old table.
func medians(section string) map[place]float64 {
	out := map[place]float64{}
	for _, l := range strings.Split(section, "\n") {
		c := strings.Split(l, "|")
		if len(c) < 5 {
			continue
		}
		cell := func(i int) string { return strings.Trim(c[i], " `*") }
		if v, err := strconv.ParseFloat(cell(3), 64); err == nil {
			out[place{cell(1), cell(2)}] = v
		}
	}
	return out
}

// table returns the table, and a line for each ratio that got worse. A goal without a benchmark
// is an error, because it would otherwise count as met.
func (r *results) table(goals map[place]goal, before map[place]float64) (string, error) {
	var b strings.Builder
	b.WriteString("| benchmark | unit | median | lowest to highest | goal | before |\n|---|---|---|---|---|---|\n")
	var worse, missed []string
	for _, at := range r.rows {
		vs := slices.Sorted(slices.Values(r.values[at]))
		median := vs[len(vs)/2]
		g, stated := goals[at]
		delete(goals, at)
		want, was := "", ""
		if stated {
			want = g.String()
			if !g.met(median) {
				missed = append(missed, fmt.Sprintf("`%s` %s is %s", at.name, at.unit, number(median)))
			}
		}
		if old, ok := before[at]; ok {
			was = number(old)
			ratio := median / old
			if stated && g.least {
				ratio = old / median
			}
			if (strings.HasPrefix(at.unit, "x-") || at.unit == "exponent") && ratio > 1.2 {
				worse = append(worse, fmt.Sprintf("`%s` %s, from %s to %s", at.name, at.unit, was, number(median)))
			}
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s to %s | %s | %s |\n", at.name, at.unit, number(median), number(vs[0]), number(vs[len(vs)-1]), want, was)
	}
	for at := range goals {
		return "", fmt.Errorf("there is a goal for %s %s, and no such value", at.name, at.unit)
	}
	for _, l := range []struct {
		what string
		of   []string
	}{{"Missed goals", missed}, {"Worse than before by more than a fifth", worse}} {
		if len(l.of) > 0 {
			fmt.Fprintf(&b, "\n%s: %s.\n", l.what, strings.Join(l.of, "; "))
		}
	}
	return b.String(), nil
}

func (r *results) machine() string {
	most := 0
	for _, vs := range r.values {
		most = max(most, len(vs))
	}
	rev, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		rev = []byte("an unknown revision")
	}
	return fmt.Sprintf("\nWritten by `make bench-report` on %s: medians of %d, at %s, on %d cores of %s, %s/%s, %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), most, bytes.TrimSpace(rev), runtime.NumCPU(), r.cpu, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// number formats a value with three significant digits, or two if it is below 0.1.
func number(v float64) string {
	switch {
	case v > 0 && v < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
