package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	traffic, fail, slow, storm []string
	class, series              string
	span                       time.Duration
	seeds                      int
	recommend, running         bool
	state                      fleet.StoreOptions
}

// Limits of a simulation.
const (
	longestSimulation = time.Second
	mostSeeds         = 1000
)

func (a *app) simulateCommand() *cobra.Command {
	var o simulateFlags
	c := &cobra.Command{
		Use:  "simulate",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.noEach(cmd); err != nil {
				return err
			}
			if o.recommend {
				if !cmd.Flags().Changed("for") {
					o.span = 10 * time.Millisecond // congestion control has settled
				}
				return a.recommend(cmd.Context(), o)
			}
			return a.simulate(cmd.Context(), o)
		},
	}
	a.intentFlags(c, onlySwitches)
	a.deviceFlags(c)
	a.stateFlags(c, &o.state)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.StringArrayVar(&o.traffic, "traffic", nil, "who sends to whom: "+scenario.PatternForms+"; may be repeated")
	f.StringVar(&o.class, "class", "", "the class of the traffic; by default each class that carries RDMA")
	f.DurationVar(&o.span, "for", 2*time.Millisecond, "simulated time, at most 1s")
	f.IntVar(&o.seeds, "seeds", 1, "how often to repeat it with other paths and starts, 1 to 1000")
	f.StringArrayVar(&o.fail, "fail", nil, "DEVICE/PORT@TIME: a link that breaks, such as leaf1/Ethernet0@1ms; may be repeated")
	f.StringArrayVar(&o.slow, "slow", nil, "HOST=PERCENT: a host that takes packets at that part of its speed; may be repeated")
	f.StringArrayVar(&o.storm, "storm", nil, "a host that pauses its link without end; may be repeated")
	f.StringVar(&o.series, "series", "", "write the longest queues over time to this CSV file")
	f.BoolVar(&o.recommend, "recommend", false, "search the ECN curves that mark before a pause at this fan-in, with the shortest queue; by default for 10ms each")
	f.BoolVar(&o.running, "running", false, "read the switches, and simulate the QoS that they run instead of that of the intent")
	_ = c.MarkFlagFilename("series", "csv")
	a.changeFlags(c)
	return c
}

func (a *app) simulate(ctx context.Context, o simulateFlags) error {
	opt, err := o.options()
	if err != nil {
		return err
	}
	f, err := a.simulated(ctx, o, &opt)
	if err != nil {
		return err
	}
	if len(opt.Traffic) == 0 {
		if opt.Traffic, err = scenario.Default(f.Fabric().Simulation); err != nil {
			return usage("%w", err)
		}
	}
	show, end := a.Share("simulate")
	opt.Progress = show
	p, err := scenario.Predict(ctx, f.Compiler, opt)
	end()
	if err != nil {
		return unpredictable(err, f.Fabric().Name)
	}
	if o.series != "" {
		if err := atomicfile.WriteOutput(o.series, report.QueueSeries(p), 0o644); err != nil {
			return fmt.Errorf("--series: %w", err)
		}
	}
	if a.Output == "json" {
		err = report.WriteDocument(a.Out, p)
	} else {
		t := a.Text()
		t.Prediction(p)
		err = t.Err()
	}
	if err == nil && p.Failed() {
		return &statusError{status: exitDiffers}
	}
	return err
}

// simulated loads the fabric to simulate, and reads its switches if that is asked for.
func (a *app) simulated(ctx context.Context, o simulateFlags, opt *scenario.Options) (*fleet.Fabric, error) {
	switch {
	case !o.running && len(a.only) > 0:
		return nil, usage("--only selects the switches that --running reads, and needs it")
	case o.running && len(a.changes.Set) > 0:
		return nil, usageHint("leave out one of them", "--set changes the intent, and --running takes the QoS of the switches instead")
	}
	f, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil || !o.running {
		return f, err
	}
	at, err := a.access()
	if err != nil {
		return nil, err
	}
	if err := at.Permit(f.Switches, nil); err != nil {
		return nil, err
	}
	a.warnUnverified(f.Switches)
	past, end := a.historyOf(ctx, f.Fabric(), o.state)
	opt.Running, err = fleet.Running(ctx, f, at, fleet.ReadOptions{Workers: a.parallel, History: past, Progress: a.Progress(a.Steps())})
	return f, errors.Join(err, end())
}

// recommend searches the ECN curves of the intent's classes.
func (a *app) recommend(ctx context.Context, o simulateFlags) error {
	opt, err := o.options()
	if err != nil {
		return err
	}
	if o.series != "" {
		return usage("--series and --recommend: a search has many runs, so choose one")
	}
	f, err := a.simulated(ctx, o, &opt)
	if err != nil {
		return err
	}
	show, end := a.Share("recommend")
	opt.Progress = show
	r, err := scenario.Recommend(ctx, f.Compiler, opt)
	end()
	if err != nil {
		return unpredictable(err, f.Fabric().Name)
	}
	if a.Output == "json" {
		return report.WriteDocument(a.Out, r)
	}
	t := a.Text()
	t.Recommendations(r)
	return t.Err()
}

// unpredictable says what the intent lacks for a simulation.
func unpredictable(err error, fabric string) error {
	if unknown := (*scenario.UnknownError)(nil); errors.As(err, &unknown) {
		return usageHint(suggestion(unknown.Name, unknown.Known, "it has "+fold(unknown.Known)), "%w in %s", err, fabric)
	}
	return usage("%w", err)
}

// options parses the flags.
func (o simulateFlags) options() (out scenario.Options, err error) {
	out = scenario.Options{Class: o.class, For: o.span, Seeds: o.seeds, Storm: o.storm}
	if o.span <= 0 || o.span > longestSimulation {
		return out, usage("--for %s: use a time above 0 and at most %s", o.span, longestSimulation)
	}
	if o.seeds < 1 || o.seeds > mostSeeds {
		return out, usage("--seeds %d: use 1 to %d", o.seeds, mostSeeds)
	}
	for _, text := range o.traffic {
		p, err := readPattern(text)
		if err != nil {
			return out, err
		}
		out.Traffic = append(out.Traffic, p)
	}
	if out.Fail, err = failures(o.fail); err != nil {
		return out, err
	}
	out.Slow, err = slowHosts(o.slow)
	return out, err
}

// largestFlowFile bounds the file of --traffic, in bytes.
const largestFlowFile = 32 << 20

// readPattern returns the pattern of a name, or the flows of a CSV file.
func readPattern(text string) (p scenario.Pattern, err error) {
	if !strings.HasSuffix(text, ".csv") {
		if p, err = scenario.ParsePattern(text); err != nil {
			return p, usageHint("write "+scenario.PatternForms, "--traffic: %w", err)
		}
		return p, nil
	}
	data, err := boundedfile.Read(text, largestFlowFile)
	if err != nil {
		return p, usage("--traffic: %w", err)
	}
	p.Kind, p.To = "file", 1
	if p.File, err = scenario.ParseFlows(text, data); err != nil {
		return p, usageHint("the columns are "+scenario.FlowColumns+", and only the first two are required", "--traffic: %w", err)
	}
	return p, nil
}

func failures(flags []string) (out []scenario.Failure, err error) {
	for _, text := range flags {
		port, at, ok := strings.Cut(text, "@")
		d, err := time.ParseDuration(at)
		if !ok || err != nil || d < 0 {
			return nil, usageHint("write --fail leaf1/Ethernet0@1ms", "--fail %q is not a port and a time", text)
		}
		out = append(out, scenario.Failure{Port: port, At: d})
	}
	return out, nil
}

func slowHosts(flags []string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, text := range flags {
		host, part, ok := strings.Cut(text, "=")
		percent, err := units.ParsePercent(part)
		if !ok || err != nil || percent <= 0 || percent > 100 {
			return nil, usageHint("write --slow gpu1=10%", "--slow %q is not a host and a part of its speed", text)
		}
		out[host] = float64(percent) / 100
	}
	return out, nil
}
