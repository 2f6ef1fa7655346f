// Package gate says from what a fabric counted whether it is well: samples of
// counters go in, a verdict comes out. It is made for the time after a change,
// and for a look at a fabric under load.
//
// It fails on invariants alone: a lossless class that lost packets, a watchdog
// that acted, pause on a priority that nobody meant to pause, a loop of
// congestion control that is open. Rates have no limit that is right
// everywhere; they only warn, best against a baseline of the same fabric. What
// could not be measured is inconclusive, and an inconclusive window does not pass.
//
// Everything here is a function of values: nothing is read, nothing waits. Do
// not teach it the names of systems, and do not compare counters of two
// devices to the packet: they were not read at one moment.
package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// The ids of what the gate finds.
const (
	LosslessDrop      = "gate:lossless-drop"
	Watchdog          = "gate:watchdog"
	NICStall          = "gate:nic-stall"
	LinkPause         = "gate:link-pause"
	WrongPriority     = "gate:wrong-priority"
	PauseRatio        = "gate:pause-ratio"
	ECNBeforePFC      = "gate:ecn-before-pfc"
	CNPLoop           = "gate:cnp-loop"
	RDMAError         = "gate:rdma-error"
	HeadroomWatermark = "gate:headroom-watermark"
	CounterReset      = "gate:counter-reset"
	WindowTooShort    = "gate:window-too-short"
	NotCounted        = "gate:not-counted"
	NoTraffic         = "gate:no-traffic"
	PauseSource       = "gate:pause-source"
	Storm             = "gate:storm"
	Deadlock          = "gate:deadlock"
	EndsDisagree      = "gate:ends-disagree"
	RDMAElsewhere     = "gate:rdma-elsewhere"
	Errors            = "gate:errors"
	Straggler         = "gate:straggler"
	// PauseBefore is the check of the catalogue for pause on a lossy priority
	// that was sent before the window.
	PauseBefore = "PFC-14"
)

// urgent are the findings that mean that traffic stands still now, in a few words.
var urgent = map[string]string{Storm: "PFC storm", Deadlock: "PFC deadlock", Watchdog: "PFC watchdog acted"}

// Urgent says in a few words what a finding of that id means, if it is one that comes
// before all others: traffic stands still; "" for any other.
func Urgent(id string) string { return urgent[id] }

// Verdict is what becomes of a window.
type Verdict string

// The verdicts, worst first.
const (
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive" // something that counts was not seen
	Warn         Verdict = "warn"
	Pass         Verdict = "pass"
)

// verdicts are in the order in which one takes precedence.
var verdicts = []Verdict{Fail, Inconclusive, Warn, Pass}

// Finding is one thing that the window shows.
type Finding struct {
	ID string
	// Means is the verdict that the finding stands for by itself.
	Means  Verdict
	Device string // "" for the whole fabric
	Port   string // "" for the whole device
	What   string
	Fix    string
	// Counter is the counter of the port that shows it, Count how much that grew, and Span
	// in what time; zero where no counter of the port tells how much of it there was.
	Counter drivers.CounterID
	Count   uint64
	Span    time.Duration
}

// Same reports whether two findings are of one thing, whatever was counted.
func (f Finding) Same(g Finding) bool {
	return f.ID == g.ID && f.Device == g.Device && f.Port == g.Port && f.Counter == g.Counter
}

// Worse reports whether more was counted than in an earlier window, in number and by time.
func (f Finding) Worse(before Finding) bool {
	rate := func(f Finding) float64 { return float64(f.Count) / max(f.Span, time.Millisecond).Seconds() }
	return f.Count > before.Count && rate(f) > rate(before)
}

// Class is a lossless class of a port.
type Class struct {
	Name                   string
	Priority, Queue, Group int
	// Marks says that its queue has ECN by the intent.
	Marks bool
	// Headroom is the xoff of its group, in bytes; 0 where it is not known.
	Headroom int64
}

// Port is what the gate has to know of a port that it looks at.
type Port struct {
	Speed   units.Rate // 0 where it is not known
	Classes []Class    // the lossless ones; all other priorities are lossy
	// Watched says that the PFC watchdog is on by the intent.
	Watched bool
	// Asymmetric says that pause is obeyed on every priority.
	Asymmetric bool
	// ToHost says that a host is at the other end.
	ToHost bool
	Peer   intent.Endpoint // the other end; zero where there is none
	// RDMA are the priorities of a NIC, or the queues of a switch port, that RDMA may have
	// by the intent although they are lossy.
	RDMA qos.PrioritySet
}

// lossless returns the class that a priority belongs to.
func (p *Port) lossless(priority int) *Class {
	for i := range p.Classes {
		if p.Classes[i].Priority == priority {
			return &p.Classes[i]
		}
	}
	return nil
}

// Device is a switch or a host that the gate looks at.
type Device struct {
	Name  string
	Host  bool
	Ports map[string]Port
	Pools map[string]int64 // sizes in bytes by native name, where they are known
}

// Sample is what a device had counted at one moment.
type Sample struct {
	Device string
	*drivers.Counters
}

// Options tune a judgement.
type Options struct {
	// Baseline is a window of the same fabric from before; nil where there is
	// none. Rates are compared with it.
	Baseline *Result
	// Traffic says that a window without packets of a lossless class is
	// inconclusive: nobody looks at an idle fabric to see whether it loses any.
	Traffic bool
	// AllHosts says that every host of the fabric is among the devices: only
	// then something can be said of congestion control as a whole.
	AllHosts bool
	// Tiers are the tiers of the switches, 0 for those next to hosts. With them the
	// sources of pauses are looked for.
	Tiers map[string]int
}

// Result is what a window shows.
type Result struct {
	Verdict  Verdict
	Findings []Finding // sorted
	// Ports is what each port counted in the window, by device and port in
	// natural order.
	Ports []PortWindow
	// Sources is where the pauses come from, by class, the one that stops most first.
	Sources []Source
	// Unmarked says by device why its ECN marks are not counted, where it can count them.
	Unmarked map[string]string
	// Unloaded are the lossless classes that carried too little for the window to prove
	// that they lose nothing.
	Unloaded []string
}

// PortWindow is what a port counted in a window.
type PortWindow struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	// Span is the time that Growth is of: steps in which counters went back do
	// not count.
	Span time.Duration `json:"span"`
	// Growth is how much each counter grew, and the highest value of peaks. One
	// that was not seen at both ends of a step is not there.
	Growth drivers.PortCounters `json:"growth"`
	// Steps is how many there were, Back in how many of them counters went back.
	Steps int `json:"steps"`
	Back  int `json:"back,omitempty"`

	first drivers.PortCounters
	begin time.Time // of the first reading
	// gaps are counters that decide something and were seen at some of the
	// readings only.
	gaps []drivers.CounterID
	port *Port
}

// end is the port that was counted.
func (p *PortWindow) end() intent.Endpoint { return intent.Endpoint{Device: p.Device, Port: p.Port} }

// Judge looks at the samples of devices. Their order does not matter; samples of
// other devices, and of ports that no device lists, are passed over.
func Judge(devices []Device, samples []Sample, o Options) *Result {
	j := &judge{o: o, at: map[intent.Endpoint]*PortWindow{}, base: map[intent.Endpoint]*PortWindow{}, apart: map[apart]bool{}}
	if o.Baseline != nil {
		for i := range o.Baseline.Ports {
			if b := &o.Baseline.Ports[i]; b.Span > 0 {
				j.base[b.end()] = b
			}
		}
	}
	byDevice := map[string][]Sample{}
	for _, s := range samples {
		byDevice[s.Device] = append(byDevice[s.Device], s)
	}
	devices = slices.Clone(devices)
	ordered.Sort(devices, func(a, b Device) int { return natural.Compare(a.Name, b.Name) })
	for i := range devices {
		j.windows = append(j.windows, windowOf(&devices[i], byDevice[devices[i].Name]))
	}
	for _, w := range j.windows {
		for _, p := range w.ports {
			j.at[p.end()] = p
		}
	}
	j.stragglers()
	for _, w := range j.windows {
		j.device(w)
	}
	j.sources()
	for _, p := range j.pauses {
		j.out = append(j.out, p.finding)
	}
	j.disagree()
	j.loop()
	j.elsewhere()
	j.idle()
	return j.result()
}

type judge struct {
	o       Options
	windows []*window
	at      map[intent.Endpoint]*PortWindow
	base    map[intent.Endpoint]*PortWindow // of the baseline
	apart   map[apart]bool                  // what [judge.stragglers] tells
	out     []Finding
	pauses  []longPause
	traced  []Source
	// unloaded are the classes of [Result.Unloaded].
	unloaded []string
}

func (j *judge) found(id string, means Verdict, device, port, what, fix string) {
	j.out = append(j.out, Finding{ID: id, Means: means, Device: device, Port: port, What: what, Fix: fix})
}

// failed adds a failure that a counter of a port shows.
func (j *judge) failed(id string, p *PortWindow, of drivers.CounterID, what, fix string) {
	j.out = append(j.out, Finding{ID: id, Means: Fail, Device: p.Device, Port: p.Port, What: what, Fix: fix, Counter: of, Count: p.Growth[of], Span: p.Span})
}

func (j *judge) result() *Result {
	r := &Result{Verdict: Pass, Findings: j.out, Sources: j.traced, Unmarked: map[string]string{}, Unloaded: j.unloaded}
	ordered.Sort(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(verdicts, a.Means), slices.Index(verdicts, b.Means)),
			ordered.First(urgent[a.ID] != "", urgent[b.ID] != ""),
			natural.Compare(a.Device, b.Device), cmp.Compare(a.ID, b.ID), natural.Compare(a.Port, b.Port), cmp.Compare(a.What, b.What))
	})
	if len(r.Findings) > 0 {
		r.Verdict = r.Findings[0].Means
	}
	for _, w := range j.windows {
		if why := w.off[drivers.QueueMarked]; why != "" {
			r.Unmarked[w.dev.Name] = why
		}
		for _, p := range w.ports {
			r.Ports = append(r.Ports, *p)
		}
	}
	return r
}
