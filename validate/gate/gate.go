// Package gate judges from counters whether a fabric is healthy: samples of counters go in, a
// verdict comes out. It is meant for the time after a change, and for checking a fabric under
// load.
//
// Only violated invariants fail a window: a lossless class that lost packets, a watchdog that
// acted, pause on a lossy priority, a broken congestion control loop. No limit on a rate is
// right everywhere, so rates only warn, preferably against a baseline of the same fabric. A
// counter that is missing makes the window inconclusive, and an inconclusive window does not
// pass.
//
// The package is purely functional: it reads nothing and waits for nothing. Do not teach it the
// names of operating systems, and do not compare the counters of two devices to the packet:
// they were not read at the same moment.
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

// The IDs of the gate's findings.
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
	// PauseBefore is the ID of the check for pause frames sent on a lossy priority before the
	// window.
	PauseBefore = "PFC-14"
)

// urgent holds the findings that mean that traffic has stopped, each in a few words.
var urgent = map[string]string{Storm: "PFC storm", Deadlock: "PFC deadlock", Watchdog: "PFC watchdog acted"}

// Urgent describes in a few words a finding that means that traffic has stopped; it returns ""
// for the ID of any other finding.
func Urgent(id string) string { return urgent[id] }

// Verdict is the outcome of a window.
type Verdict string

// The verdicts, worst first.
const (
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive" // something that decides was not counted
	Warn         Verdict = "warn"
	Pass         Verdict = "pass"
)

// verdicts lists the verdicts in order of precedence.
var verdicts = []Verdict{Fail, Inconclusive, Warn, Pass}

// Finding is one thing that the window shows.
type Finding struct {
	ID string
	// Means is the verdict that the finding leads to on its own.
	Means  Verdict
	Device string // "" for the whole fabric
	Port   string // "" for the whole device
	What   string
	Fix    string
	// Counter is the port's counter that shows the finding, Count its growth, and Span the time
	// in which it grew. All are zero if no counter of the port measures the finding.
	Counter drivers.CounterID
	Count   uint64
	Span    time.Duration
}

// Same reports whether two findings are about the same thing, regardless of the counts.
func (f Finding) Same(g Finding) bool {
	return f.ID == g.ID && f.Device == g.Device && f.Port == g.Port && f.Counter == g.Counter
}

// Worse reports whether the count is higher than in an earlier window, both in total and per
// second.
func (f Finding) Worse(before Finding) bool {
	rate := func(f Finding) float64 { return float64(f.Count) / max(f.Span, time.Millisecond).Seconds() }
	return f.Count > before.Count && rate(f) > rate(before)
}

// Class is a lossless class of a port.
type Class struct {
	Name                   string
	Priority, Queue, Group int
	// Marks is set if the intent configures ECN on the queue.
	Marks bool
	// Headroom is the xoff of its group, in bytes; 0 where it is not known.
	Headroom int64
	// Pause is how much of the shared buffer its group holds when it pauses, if it is alone, in
	// bytes; 0 where it is not known. PauseHow says what that rests on.
	Pause    int64
	PauseHow string
}

// Port describes a port to the gate.
type Port struct {
	Speed   units.Rate // 0 where it is not known
	Classes []Class    // the lossless ones; all other priorities are lossy
	// Watched is set if the intent turns the PFC watchdog on.
	Watched bool
	// Asymmetric is set if the port obeys pause on every priority.
	Asymmetric bool
	// ToHost is set if the other end is a host.
	ToHost bool
	Peer   intent.Endpoint // the other end; zero where there is none
	// RDMA holds lossy priorities of a NIC, or queues of a switch port, that the intent allows
	// RDMA to use.
	RDMA qos.PrioritySet
}

// lossless returns the lossless class of a priority; nil if the priority is lossy.
func (p *Port) lossless(priority int) *Class {
	for i := range p.Classes {
		if p.Classes[i].Priority == priority {
			return &p.Classes[i]
		}
	}
	return nil
}

// Device is a switch or a host that the gate judges.
type Device struct {
	Name  string
	Host  bool
	Ports map[string]Port
	Pools map[string]int64 // sizes in bytes by native name, where they are known
}

// Sample holds the counters of a device at one moment.
type Sample struct {
	Device string
	*drivers.Counters
}

// Options tune the judgement.
type Options struct {
	// Baseline is an earlier window of the same fabric; rates are compared with it. It may be
	// nil.
	Baseline *Result
	// Traffic makes a window without packets of a lossless class inconclusive: an idle fabric
	// does not prove that it loses none.
	Traffic bool
	// AllHosts says that the devices include every host of the fabric. Congestion control as a
	// whole can be judged only then.
	AllHosts bool
	// Tiers are the tiers of the switches, 0 for those next to hosts. Sources of pauses are
	// traced only if it is set.
	Tiers map[string]int
}

// Result is the outcome of a window, with its findings and counts.
type Result struct {
	Verdict  Verdict
	Findings []Finding // sorted
	// Ports holds the counts of each port, by device and port in natural order.
	Ports []PortWindow
	// Sources are the sources of the pauses, by class, the one that stops most first.
	Sources []Source
	// Watermarks are those of the lossless groups of switches, the fullest headroom first.
	Watermarks []Watermark
	// Unmarked says, by device, why a switch that can count ECN marks does not.
	Unmarked map[string]string
	// Unloaded lists the lossless classes that carried too little traffic for the window to
	// prove that they lose nothing.
	Unloaded []string
}

// PortWindow holds the counts of a port in a window.
type PortWindow struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	// Span is the time that Growth covers, without the steps in which counters went backwards.
	Span time.Duration `json:"span"`
	// Growth is the growth of each counter, or the highest value of a peak. A counter that was
	// not read at both ends of any step is missing.
	Growth drivers.PortCounters `json:"growth"`
	// Steps is the number of steps between readings, Back the number of those in which counters
	// went backwards.
	Steps int `json:"steps"`
	Back  int `json:"back,omitempty"`

	first drivers.PortCounters
	begin time.Time // of the first reading
	// gaps are counters that decide something and are missing from some of the readings.
	gaps []drivers.CounterID
	port *Port
}

// end returns the port as an endpoint.
func (p *PortWindow) end() intent.Endpoint { return intent.Endpoint{Device: p.Device, Port: p.Port} }

// Judge judges the samples of devices. The order of the samples does not matter; samples of
// other devices, and ports that no device lists, are ignored.
func Judge(devices []Device, samples []Sample, o Options) *Result {
	j := &judge{o: o, at: map[intent.Endpoint]*PortWindow{}, base: map[intent.Endpoint]*PortWindow{}, apart: map[outlier]bool{}}
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
		j.judgeDevice(w)
	}
	j.sources()
	for _, p := range j.pauses {
		j.out = append(j.out, p.finding)
	}
	j.disagree()
	j.judgeCongestionControl()
	j.rdmaInWrongPriority()
	j.findUnloaded()
	return j.result()
}

type judge struct {
	o       Options
	windows []*window
	at      map[intent.Endpoint]*PortWindow
	base    map[intent.Endpoint]*PortWindow // of the baseline
	apart   map[outlier]bool                // stragglers that [judge.stragglers] reported
	out     []Finding
	pauses  []longPause
	traced  []Source
	// unloaded becomes [Result.Unloaded].
	unloaded []string
}

func (j *judge) addFinding(id string, means Verdict, device, port, what, fix string) {
	j.out = append(j.out, Finding{ID: id, Means: means, Device: device, Port: port, What: what, Fix: fix})
}

// addFailure adds a failure shown by a counter of a port.
func (j *judge) addFailure(id string, p *PortWindow, of drivers.CounterID, what, fix string) {
	j.out = append(j.out, Finding{ID: id, Means: Fail, Device: p.Device, Port: p.Port, What: what, Fix: fix, Counter: of, Count: p.Growth[of], Span: p.Span})
}

func (j *judge) result() *Result {
	r := &Result{Verdict: Pass, Findings: j.out, Sources: j.traced, Watermarks: j.watermarks(), Unmarked: map[string]string{}, Unloaded: j.unloaded}
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
