package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// Options say what to simulate.
type Options struct {
	Traffic []Pattern
	Class   string // "" for each class that carries RDMA
	For     time.Duration
	Seeds   int // at least 1
	// Fail lists links that break, by one of their ends; Slow hosts that take packets at a part of
	// their speed, 0 to 1; Storm hosts that pause their link without end.
	Fail  []Failure
	Slow  map[string]float64
	Storm []string
	// Running are configurations of switches as they run, by name. They replace what the intent says.
	Running map[string]*qos.Device
	// Progress is called with the simulated part of the work, 0 to 1, by one goroutine at a time;
	// may be nil.
	Progress func(part float64)
}

// Failure is a link that breaks.
type Failure struct {
	Port string // "leaf1/Ethernet0"
	At   time.Duration
}

// NotModelled lists what a prediction leaves out.
var NotModelled = []string{
	"the latency of switches and cut-through", "the PFC watchdog", "egress limits of lossless queues", "what lossy queues take of the memory of lossless ones",
	"PCIe and the memory of hosts", "adaptive routing, and routing after a failure", "errors on links",
}

// UnknownError says that the intent has no device, class or port of a name.
type UnknownError struct {
	What, Name string
	Known      []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no %s %s", e.What, e.Name) }

// samples is how many samples of the queues a run takes.
const samples = 500

// Predict simulates a fabric: each pattern in each class, with each seed. If the context ends, the
// result covers what was simulated until then.
func Predict(ctx context.Context, c *render.Compiler, o Options) (*Prediction, error) {
	f, classes, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	out := &Prediction{Fabric: f.intent.Name, Running: natural.Keys(o.Running), For: Span(micros(simulate.TimeOf(o.For))), Seeds: o.Seeds, NotModelled: NotModelled}
	type job struct {
		Pattern
		class int
	}
	var jobs []job
	for _, p := range o.Traffic {
		for _, class := range classes {
			jobs = append(jobs, job{p, class})
			if p.File != nil && p.File.mixed() { // one run for all of its classes
				break
			}
		}
	}
	for i, j := range jobs {
		runs, err := f.simulate(ctx, j.Pattern, j.class, o, func(part float64) {
			if o.Progress != nil {
				o.Progress((float64(i) + part) / float64(len(jobs)))
			}
		})
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, runs...)
		if out.Stopped = runs[0].Stopped; out.Stopped {
			break
		}
	}
	out.Assumed = f.assumptions()
	out.judge(f.intent.Simulation)
	return out, nil
}

// prepare builds the network with what the options do to it, and chooses the classes.
func prepare(c *render.Compiler, o Options) (f *fabric, classes []int, err error) {
	if f, err = build(c, o.Running); err != nil {
		return nil, nil, err
	}
	if err = f.disturb(o); err != nil {
		return nil, nil, err
	}
	classes, err = f.chosen(o.Class)
	return f, classes, err
}

// chosen returns the indexes of the classes to simulate.
func (f *fabric) chosen(name string) (out []int, err error) {
	for i, k := range f.classes {
		if k.Name == name || name == "" && k.RDMA() {
			out = append(out, i)
		}
	}
	switch {
	case len(out) == 0 && name != "":
		return nil, &UnknownError{"class", name, f.Classes}
	case len(out) == 0:
		return nil, &UnknownError{"class that carries RDMA in", f.intent.Name, f.Classes}
	}
	return out, nil
}

// receiveBuffer is the level at which a slow NIC pauses its link, in bytes; cards differ.
const receiveBuffer = 256 << 10

// disturb adds the failures, slow hosts and storms of the options.
func (f *fabric) disturb(o Options) error {
	for _, x := range o.Fail {
		p, ok := f.ports[x.Port]
		if !ok {
			return &UnknownError{"link at", x.Port, sortedKeys(f.ports)}
		}
		f.Fail = append(f.Fail, simulate.Failure{Port: p, At: simulate.TimeOf(x.At)})
	}
	for _, name := range sortedKeys(o.Slow) {
		nodes, err := f.hostNodes(name)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			f.slow(n, o.Slow[name])
		}
	}
	for _, name := range o.Storm {
		nodes, err := f.hostNodes(name)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			f.Nodes[n].Storm = true
		}
	}
	return nil
}

func (f *fabric) slow(n int, part float64) {
	f.assume(fmt.Sprintf("a NIC that pauses with %d KiB in its receive buffer", receiveBuffer>>10), f.Nodes[n].Name)
	d := &f.Nodes[n]
	d.Slices = []simulate.SliceSize{{Shared: 1 << 40}}
	for _, at := range f.out[n] {
		p := &f.Ports[at]
		d.Drain = max(d.Drain, int64(float64(p.Rate)*part), 1)
		for c := range f.classes {
			p.Classes[c].Group = headroom.GroupSize{Fixed: receiveBuffer, Headroom: 8 * receiveBuffer, Resume: receiveBuffer / 8}
		}
	}
}

// hostNodes returns the NICs of a host, or the one that is named as HOST/NIC.
func (f *fabric) hostNodes(name string) (out []int, err error) {
	var known []string
	for _, n := range f.hosts {
		host, _, _ := strings.Cut(f.Nodes[n].Name, "/")
		if host == name || f.Nodes[n].Name == name {
			out = append(out, n)
		}
		if !slices.Contains(known, host) {
			known = append(known, host)
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"host", name, known}
	}
	return out, nil
}

// simulate predicts a pattern: one run in the class, or one for each class that a file names.
func (f *fabric) simulate(ctx context.Context, p Pattern, class int, o Options, progress func(float64)) (out []Run, err error) {
	classes := []int{class}
	if p.File != nil {
		if classes, err = f.classesOf(p.File, class); err != nil {
			return nil, err
		}
	}
	results, err := f.measure(ctx, p, class, o, 0, progress)
	if err != nil {
		return nil, err
	}
	for _, c := range classes {
		out = append(out, *f.summary(p, c, results))
	}
	return out, nil
}

// measure runs a pattern with each seed, as many at a time as there are processors. Rates, the mean
// of queues and pause times are measured from warm on.
func (f *fabric) measure(ctx context.Context, p Pattern, class int, o Options, warm simulate.Time, progress func(float64)) ([]*simulate.Result, error) {
	end := simulate.TimeOf(o.For)
	networks := make([]simulate.Network, o.Seeds)
	for i := range networks {
		if err := f.load(p, class, uint64(i+1)); err != nil {
			return nil, err
		}
		networks[i] = f.Network
	}
	results, errs := make([]*simulate.Result, o.Seeds), make([]error, o.Seeds)
	var mu sync.Mutex
	done := make([]float64, o.Seeds)
	report := func(i int, at simulate.Time) {
		mu.Lock()
		defer mu.Unlock()
		done[i] = float64(at) / float64(end)
		sum := 0.0
		for _, part := range done {
			sum += part
		}
		progress(sum / float64(o.Seeds))
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range networks {
		free <- struct{}{}
		wg.Go(func() {
			results[i], errs[i] = simulate.Run(ctx, &networks[i], simulate.Options{
				For: end, Seed: uint64(i + 1), Warm: warm, Every: max(end/samples, 1),
				Progress: func(at simulate.Time) { report(i, at) },
			})
			<-free
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return results, nil
}
