package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	driver "github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	client "github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	results "github.com/roce-fabric/roce-fabric/report"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// BenchmarkMemory plans 100, 200 and 1,000 switches of 64 ports that all have to change, writes
// the text, the JSON and the plan file as `plan` does, and reports the largest live heap beyond
// the loaded intent. It measures memory, not time.
func BenchmarkMemory(b *testing.B) {
	m, ok := catalog.Lookup(model64)
	if !ok {
		b.Fatal("no model " + model64)
	}
	answer, err := json.Marshal(simsonic.FactoryConfig(m))
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{16, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			metrics := map[string]float64{}
			var p *peak
			for b.Loop() {
				for _, n := range []int{100, 200, 1000} {
					p = planPeak(b, n, workers, answer)
					metrics[fmt.Sprintf("MiB-%d", n)] = mib(p.alloc)
				}
			}
			metrics["x-1000/200"] = metrics["MiB-1000"] / metrics["MiB-200"]
			metrics["inuse-MiB-1000"] = mib(p.inuse)
			metrics["intent-KiB/switch"] = float64(p.intent) / 1024 / 1000
			report(b, metrics)
		})
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// live returns the bytes that are live after a garbage collection, and the size of the heap spans
// that hold them.
func live() (alloc, inuse uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapInuse
}

// peak measures the largest live heap beyond the intent, and the intent itself.
//
// It measures while all workers are paused, because the allocations of a running worker during a
// collection would count as live. It does so at the worst moment that the pool allows: one result
// is being written, as many results as there are workers wait behind it, and every worker holds
// its maximum.
type peak struct {
	alloc, inuse, intent uint64

	baseAlloc, baseInuse uint64
	workers, devices     int

	mu     sync.Mutex
	from   int           // workers are paused at this device and later ones
	resume chan struct{} // closed when from increases
	held   int
	closed int
}

func newPeak(workers, devices int) *peak {
	p := &peak{workers: workers, devices: devices}
	p.hold(0)
	return p
}

// hold releases the workers for the devices needed to emit the given one, and for as many devices
// after it as there are workers.
func (p *peak) hold(emit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resume != nil {
		close(p.resume)
	}
	p.from, p.resume = emit+1+p.workers, make(chan struct{})
}

// pass pauses a worker with device i until it is released.
func (p *peak) pass(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i >= p.from {
		resume := p.resume
		p.held++
		p.mu.Unlock()
		<-resume
		p.mu.Lock()
		p.held--
	}
}

// measure waits until all workers are paused, and measures. If that takes too long, it measures
// anyway, and the result may be below the peak.
func (p *peak) measure() {
	rest := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.closed >= min(p.from, p.devices) && p.held == max(0, min(p.workers, p.devices-p.from))
	}
	for end := time.Now().Add(10 * time.Second); !rest() && time.Now().Before(end); {
		runtime.Gosched()
	}
	alloc, inuse := live()
	p.alloc = max(p.alloc, alloc-min(alloc, p.baseAlloc))
	p.inuse = max(p.inuse, inuse-min(inuse, p.baseInuse))
}

// canned is a SONiC driver whose switch returns its factory configuration from memory. Everything
// that the tool derives from the response is created anew for each switch.
type canned struct {
	drivers.Driver
	answer []byte
	peak   *peak
	index  int
}

func (*canned) Probe(context.Context) (drivers.Facts, error) {
	return drivers.Facts{OS: "sonic", Release: "202511", Model: model64, ASIC: "th2", Caps: drivers.Caps{Writes: []string{"gnmi"}}}, nil
}

func (c *canned) Read(context.Context) (*drivers.Snapshot, error) {
	cfg, err := sonic.Parse(c.answer, sonic.WantTable)
	return &drivers.Snapshot{Native: cfg}, err
}

func (c *canned) Plan(f drivers.Facts, s *drivers.Snapshot, desired drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	steps, err := c.Driver.Plan(f, s, desired, policy)
	running, _ := c.Driver.(drivers.Decoder).Decode(s)
	c.peak.pass(c.index)
	runtime.KeepAlive(running)
	runtime.KeepAlive(s)
	runtime.KeepAlive(desired)
	return steps, err
}

func (c *canned) Close() error {
	c.peak.mu.Lock()
	c.peak.closed++
	c.peak.mu.Unlock()
	return c.Driver.Close()
}

func planPeak(b *testing.B, n, workers int, answer []byte) *peak {
	p := newPeak(workers, n)
	before, _ := live()
	c := load(b, save(b, ranges(model64, n, 64)))
	p.baseAlloc, p.baseInuse = live()
	p.intent = p.baseAlloc - before

	index := map[string]int{}
	for i, sw := range c.Fabric().Switches {
		index[sw.Name] = i
	}
	open := func(_ context.Context, sw *intent.Switch) (drivers.Driver, error) {
		d, err := driver.Open(drivers.Target{Name: sw.Name, OS: sw.OS, GNMI: client.Config{Address: "192.0.2.1:8080"}})
		return &canned{d, answer, p, index[sw.Name]}, err
	}
	emitted, every := 0, n/10
	devices := fleet.Switches(c, c.Fabric().Switches, open)
	plan, err := fleet.Prepare(b.Context(), devices, fleet.PlanOptions{Fabric: c.Fabric(), Workers: workers, Progress: func(e fleet.Event) {
		if e.Kind != fleet.DeviceEnds {
			return
		}
		if emitted%every == 0 {
			p.measure()
			p.hold(emitted + every)
		}
		emitted++
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer plan.Close()
	text := results.Text{W: io.Discard, Steps: true}
	list := results.NewJSONList(io.Discard, "devices")
	var sum results.PlanSummary
	for d, err := range plan.Devices() {
		if err != nil || d.Error != nil {
			b.Fatal(err, d.Error)
		}
		sum.Add(d)
		text.Plan(d)
		list.Add(d)
	}
	p.measure()
	if waves := plan.Rollout.Waves; len(waves) < 2 {
		b.Fatalf("all switches change in %d waves", len(waves))
	}
	if sum.Changed != n {
		b.Fatalf("%d switches have changes, not %d", sum.Changed, n)
	}
	runtime.KeepAlive(c)
	return p
}
