// Package rollout divides the devices that change into waves and describes what holds between them: the
// order, the waves, what is worse in between, interim runs, maintenance windows, the times of the
// gate, and the reverse of a rollout. All functions are pure: they do no I/O and do not wait.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Wave is a set of devices that are changed together, before the gate checks them.
type Wave struct {
	Devices []string `json:"devices"`
	Canary  bool     `json:"canary,omitempty"`
	// Kind is the role of the switches, or "host"; several kinds are joined by "+".
	Kind string `json:"kind"`
	// Down is the number of ports that go down; Cut lists the hosts that lose a link by that.
	Down int      `json:"down,omitempty"`
	Cut  []string `json:"cut,omitempty"`
	// Classes names the classes that change.
	Classes []string   `json:"classes,omitempty"`
	Impact  qos.Impact `json:"impact"`
	// Thresholds is set if ECN, headroom or buffers change, whose effect shows only under load.
	Thresholds bool `json:"thresholds,omitempty"`
	// Seconds is how long it takes to change the devices of the wave: measured in earlier runs,
	// or estimated.
	Seconds float64 `json:"seconds"`
	// Gate is how long the gate of the wave takes if everything comes back at once, in seconds.
	Gate float64 `json:"gate_seconds"`
	// Worse lists the faults that begin in the wave and exist neither before nor after the
	// rollout.
	Worse []order.Fault `json:"worse,omitempty"`
	// Proof is what each check examined and found while the devices of the wave change.
	Proof []order.CheckSummary `json:"proof,omitempty"`
}

// Brief returns the wave without its proof, and with at most 8 ports per fault.
func (w Wave) Brief() *Wave {
	const most = 8
	w.Proof, w.Worse = nil, slices.Clone(w.Worse)
	for i, f := range w.Worse {
		w.Worse[i].Ports = f.Ports[:min(len(f.Ports), most)]
	}
	return &w
}

// Rollout is the sequence of waves of a plan, and what is proven about it.
type Rollout struct {
	Waves []Wave `json:"waves"`
	// Gate is the gate that each wave must pass; Windows are the maintenance windows.
	Gate    GateMode `json:"gate"`
	Windows []string `json:"windows,omitempty"`
	// WorseSeconds is how long the fabric is in a state that is worse than before and after
	// the rollout, gates included.
	WorseSeconds float64 `json:"worse_seconds"`
	// WorseLinks is on how many links a state in between is worse; at least so many if a fault has
	// more ports than it lists.
	WorseLinks int `json:"worse_links,omitempty"`
	// Moves says which RDMA traffic changes its priority, for which no order of the waves is safe.
	Moves []PriorityMove `json:"priority_moves,omitempty"`
	// Together is set if changing more devices in parallel would shorten WorseSeconds.
	Together *Together `json:"together,omitempty"`
	// Links is how many of the OfAll links of the intent were examined, and States in how many
	// combinations of states of their two ends.
	Links  int `json:"links"`
	OfAll  int `json:"of_links"`
	States int `json:"states"`
	// Inconclusive lists what could not be checked, and where.
	Inconclusive []checks.Open `json:"inconclusive,omitempty"`
	// Unproven explains what could not be proven; "" for nothing.
	Unproven string `json:"unproven,omitempty"`
	// Seen lists what earlier runs show about the kinds of switches that change.
	Seen []Seen `json:"seen,omitempty"`
	// Interim is set if this run prepares a later run that is needed too.
	Interim *Interim `json:"interim,omitempty"`
}

// Together is what a rollout would gain if the intent let more devices change in parallel.
type Together struct {
	Waves int     `json:"waves"`         // number of waves there would be
	Saves float64 `json:"saves_seconds"` // reduction of [Rollout.WorseSeconds]
}

// Seen summarizes the newest run that changed switches of a kind.
type Seen struct {
	Kind    string    `json:"kind"` // "ACS-MSN4700, sonic 202511, over ssh"
	Run     string    `json:"run"`
	Begun   time.Time `json:"begun"`
	Applied []string  `json:"applied,omitempty"`
	// Seconds is the median of how long the applied switches took.
	Seconds float64 `json:"seconds,omitempty"`
	// Gate is the gate that all applied switches passed; "" for none.
	Gate GateMode `json:"gate,omitempty"`
	// Failed lists the switches that are not as intended, and Error why the first of them is
	// not.
	Failed []string `json:"failed,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// Impact returns the minimum impact that must be allowed: traffic may be lost if an
// intermediate state is worse.
func (r *Rollout) Impact() qos.Impact {
	if r != nil && slices.ContainsFunc(r.Waves, func(w Wave) bool { return len(w.Worse) > 0 }) {
		return qos.ImpactLoss
	}
	return qos.ImpactNone
}

// Course returns the parts of a rollout that define what a run does. It drops the durations,
// which depend on the history of the fabric, and the statistics about the search.
func (r *Rollout) Course() Rollout {
	out := Rollout{Gate: r.Gate, Windows: r.Windows, Interim: r.Interim, Unproven: r.Unproven, Waves: slices.Clone(r.Waves)}
	for i := range out.Waves {
		w := &out.Waves[i]
		w.Seconds, w.Proof, w.Worse = 0, nil, slices.Clone(w.Worse)
		for j := range w.Worse {
			w.Worse[j].Seconds = 0
		}
	}
	return out
}

// Worse returns how long, with the given gate, the fabric is in a state that is worse than
// before and after: from the wave in which a fault begins to the wave in which it ends.
func (r *Rollout) Worse(mode GateMode) (sum time.Duration) {
	until := 0
	for n, w := range r.Waves {
		for _, f := range w.Worse {
			until = max(until, f.Until)
		}
		if until > n {
			sum += time.Duration(w.Seconds * float64(time.Second))
		}
		if until > n+1 {
			sum += w.GateTime(mode)
		}
	}
	return sum
}

// Open reports whether the plan leaves something unchecked or unproven.
func (r *Rollout) Open() bool { return r != nil && (len(r.Inconclusive) > 0 || r.Unproven != "") }

// Planned is what a [Maker] needs to know about the plan of one device.
type Planned struct {
	Device, OS string
	Host       bool
	// Failed is set if no plan could be made; all later fields are then ignored.
	Failed bool
	// Unclear is set if the device has QoS settings that this tool does not understand.
	Unclear bool
	// Lacking holds findings about what no check can judge on the device.
	Lacking []checks.Finding
	// States holds the settings that neighbours depend on, before and after; nil if unknown.
	States []order.State
	// Changes is set if the plan has steps; all later fields are otherwise ignored.
	Changes bool
	// Kind describes what switches have in common that make the same changes in the same way;
	// "" for a host.
	Kind string
	// Seconds is how long the steps usually take; 0 if unknown.
	Seconds float64
	Down    []string // the ports that go down
	Classes []string // the classes that change
	Impact  qos.Impact
	// Thresholds is set if settings change whose effect shows only under load.
	Thresholds bool
}

// MakerOptions are the options of [NewMaker].
type MakerOptions struct {
	Fabric *intent.Fabric
	// Gate is the gate that each wave must pass; "" is off.
	Gate GateMode
	// Writers is how many devices are changed at a time; 0 is one.
	Writers int
	// Took holds the measured seconds of a change, by kind or system of the device. They do not
	// affect the waves.
	Took map[string]float64
	// Seen returns what earlier runs show about a kind of switch, or nil; may be nil.
	Seen func(kind string) *Seen
}

// Maker collects the plans of devices and divides the devices into waves.
type Maker struct {
	MakerOptions
	pool    order.Pool
	devices []*order.Device
	plans   map[string]*wavePlan
	lists   map[string][]string // lists in plans, shared by shareList
	lacking []checks.Finding    // findings about what cannot be checked
	kinds   map[string]checks.DeviceKind
	seen    []Seen
	asked   map[string]bool // kinds already looked up in the history, because reading it is slow
	cost    order.Cost      // cost of the waves
	near    map[string][]string
}

// wavePlan holds the parts of a device's plan that describe its wave.
type wavePlan struct {
	down       []string
	classes    []string
	impact     qos.Impact
	thresholds bool
	// usual is the estimated time for the device in seconds, takes the time that earlier runs
	// took for similar devices. Orders are compared by usual.
	usual, takes float64
}

// NewMaker returns an empty Maker.
func NewMaker(o MakerOptions) *Maker {
	o.Gate, o.Writers = cmp.Or(o.Gate, GateOff), max(1, o.Writers)
	return &Maker{MakerOptions: o, asked: map[string]bool{}, plans: map[string]*wavePlan{}, lists: map[string][]string{}, kinds: map[string]checks.DeviceKind{}}
}

// Unread is the ID of the finding for a device that could not be read.
const Unread = "READ"

// Estimated seconds that a change of a device takes, used until a run has measured it. A
// SONiC switch restarts its ports one group after another; other systems commit at once.
const (
	usuallyHost   = 30
	usuallySwitch = 60
)

// Add adds the plan of a device.
func (m *Maker) Add(p Planned) {
	sw := m.Fabric.Switch(p.Device)
	m.kinds[p.Device] = checks.HostDevice
	if sw != nil {
		m.kinds[p.Device] = checks.SwitchDevice
	}
	m.lacking = append(m.lacking, p.Lacking...)
	unseen := func(what, because string) {
		m.lacking = append(m.lacking, checks.Finding{ID: Unread, Severity: checks.Info, Device: p.Device, Unchecked: what, Because: because})
	}
	if p.Failed {
		unseen("intermediate states", "no plan could be made")
		return
	}
	if p.Unclear {
		unseen("some QoS settings", "this tool does not understand them")
	}
	if p.States == nil {
		unseen("intermediate states", "its settings could not be read")
	}
	dev := &order.Device{Name: p.Device, Host: p.Host, Kind: "host", Rank: 100, States: p.States}
	if sw != nil {
		dev.Kind, dev.Rank = sw.Role, rank(sw)
	}
	if len(dev.States) == 0 {
		dev.States = []order.State{{}, {}}
	}
	for i, s := range dev.States {
		dev.States[i] = m.pool.State(s)
	}
	m.devices = append(m.devices, dev)
	if !p.Changes {
		dev.States = dev.States[:1]
		return
	}
	if !m.asked[p.Kind] && m.Seen != nil {
		m.asked[p.Kind] = true
		if s := m.Seen(p.Kind); s != nil {
			m.seen = append(m.seen, *s)
		}
	}
	usual := cmp.Or(p.Seconds, usuallySwitch)
	if p.Host {
		usual = cmp.Or(p.Seconds, usuallyHost)
	}
	m.plans[p.Device] = &wavePlan{
		down: m.shareList(p.Down), classes: m.shareList(slices.Compact(slices.Sorted(slices.Values(p.Classes)))), impact: p.Impact, thresholds: p.Thresholds,
		usual: usual, takes: cmp.Or(m.Took[p.Kind], p.Seconds, m.Took[p.OS], usual),
	}
}

// LeaveOut removes devices that will not be changed after all.
func (m *Maker) LeaveOut(names []string) {
	m.devices = slices.DeleteFunc(m.devices, func(d *order.Device) bool { return slices.Contains(names, d.Name) })
}

// planOf returns the plan of a device. It returns an assumed plan for a device that only an
// interim run changes, because that has no plan yet.
func (m *Maker) planOf(name string) *wavePlan {
	return cmp.Or(m.plans[name], &wavePlan{impact: qos.ImpactLoss, usual: usuallySwitch})
}

// shareList returns a shared copy of equal lists, to save memory: most devices of a fabric are
// alike.
func (m *Maker) shareList(list []string) []string {
	key := strings.Join(list, "\x00")
	if one, ok := m.lists[key]; ok {
		return one
	}
	m.lists[key] = list
	return list
}

// rank makes switches with hosts change before switches without: a fault that the gate finds
// on a leaf affects fewer devices.
func rank(sw *intent.Switch) int {
	for _, p := range sw.Ports {
		if p.Link != nil && !p.Uplink() {
			return 0
		}
	}
	return 1
}

// stageOf returns a wave as a stage for comparing orders: with the estimated times of the
// devices and the full gate.
func (m *Maker) stageOf(names []string) order.Stage {
	out := order.Stage{Devices: names}
	w := Wave{Kind: "wave"}
	for _, name := range names {
		p := m.planOf(name)
		w.Impact, w.Thresholds = max(w.Impact, p.impact), w.Thresholds || p.thresholds
		out.Writes = max(out.Writes, p.usual)
	}
	out.Gate = w.GateTime(GateFull).Seconds()
	return out
}

// findOrder finds the best order of devices, cut into waves.
func (m *Maker) findOrder(devices []*order.Device, together bool) (*order.Order, *waver) {
	w := m.waver(devices, together)
	return order.Find(devices, m.Fabric.Links, w.cut), w
}

// Rollout divides the added devices into waves.
func (m *Maker) Rollout() *Rollout {
	asked := m.Fabric.Rollout.Together
	found, w := m.findOrder(m.devices, asked)
	m.cost = found.Cost
	out, proof := m.rollout(found, w)
	if out.WorseSeconds > 0 && !asked {
		other, _ := m.rollout(m.findOrder(m.devices, true))
		if saves := out.WorseSeconds - other.WorseSeconds; saves > 0 {
			out.Together = &Together{len(other.Waves), saves}
		}
	}
	if proof.Unproven == "" && m.swapsTrust() {
		proof.Unproven = "ports change the field that selects the class; which class packets get until both ends have changed is not known"
	}
	open := checks.Opened(validate.Accept(m.Fabric, m.lacking, time.Now()), m.kinds)
	if proof.Unclassed > 0 {
		open = append(open, checks.Open{What: fmt.Sprintf("CLS-02 on %d of %s", proof.Unclassed, words.Count(proof.Links, "link")), Why: "the class of a DSCP is not known there", Checks: []string{"CLS-02"}})
	}
	out.Links, out.OfAll, out.States = proof.Links, len(m.Fabric.Links), proof.States
	out.Unproven, out.Inconclusive, out.Seen = proof.Unproven, open, m.seen
	if out.WorseSeconds > 0 {
		out.Moves = m.priorityMoves()
	}
	return out
}

// rollout describes the waves of an order, with the expected times of the run.
func (m *Maker) rollout(found *order.Order, w *waver) (*Rollout, order.Proof) {
	out := &Rollout{Waves: make([]Wave, len(found.Stages)), Gate: m.Gate, Windows: Windows(m.Fabric)}
	kinds := map[string]string{}
	for _, d := range m.devices {
		kinds[d.Name] = d.Kind
	}
	stages := slices.Clone(found.Stages)
	for i := range stages {
		wave := &out.Waves[i]
		wave.Devices = stages[i].Devices
		m.describeWave(wave, kinds)
		wave.Gate = wave.GateTime(m.Gate).Seconds()
		stages[i].Writes, stages[i].Gate = wave.Seconds, wave.Gate
	}
	w.canaries(out.Waves)
	proof := order.Prove(m.devices, m.Fabric.Links, stages)
	out.WorseSeconds = proof.Cost.Seconds
	for i := range out.Waves {
		out.Waves[i].Worse, out.Waves[i].Proof = proof.Worse[i], proof.Looked[i]
	}
	out.WorseLinks = m.worseLinks(out.Waves)
	return out, proof
}

// worseLinks counts the links at the ports of the faults.
func (m *Maker) worseLinks(waves []Wave) int {
	at := map[string]bool{}
	for _, w := range waves {
		for _, f := range w.Worse {
			for _, p := range f.Ports {
				at[p] = true
			}
		}
	}
	n := 0
	for _, l := range m.Fabric.Links {
		if at[l.A.String()] || at[l.B.String()] {
			n++
		}
	}
	return n
}

// swapsTrust reports whether on some port DSCPs select the class only before the rollout, or
// only after it.
func (m *Maker) swapsTrust() bool {
	for _, d := range m.devices {
		was, will := d.States[0], d.States[len(d.States)-1]
		for name, p := range was.Ports {
			if (p.Classes == nil) != (will.Ports[name].Classes == nil) {
				return true
			}
		}
	}
	return false
}

// neighbours returns the switches that each device has links to.
func (m *Maker) neighbours() map[string][]string {
	if m.near != nil {
		return m.near
	}
	out := map[string][]string{}
	for _, l := range m.Fabric.Links {
		for _, e := range [][2]intent.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if m.Fabric.Switch(e[1].Device) != nil {
				out[e[0].Device] = append(out[e[0].Device], e[1].Device)
			}
		}
	}
	for name, l := range out {
		out[name] = slices.Compact(natural.Sorted(l))
	}
	m.near = out
	return out
}

// describeWave fills in what happens in a wave.
func (m *Maker) describeWave(w *Wave, kindOf map[string]string) {
	cut := map[string]bool{}
	var classes, kinds []string
	busy := make([]float64, min(m.Writers, len(w.Devices)))
	for _, name := range w.Devices {
		p := m.plans[name]
		w.Down += len(p.down)
		w.Impact, w.Thresholds = max(w.Impact, p.impact), w.Thresholds || p.thresholds
		first := slices.Index(busy, slices.Min(busy)) // the writer that is free first
		busy[first] += p.takes
		w.Seconds = max(w.Seconds, busy[first])
		classes, kinds = append(classes, p.classes...), append(kinds, kindOf[name])
		if sw := m.Fabric.Switch(name); sw != nil {
			for _, name := range p.down {
				if port := sw.Port(name); port != nil && port.Link != nil && !port.Uplink() {
					peer, _ := port.Peer()
					cut[peer.Device] = true
				}
			}
		}
	}
	w.Classes = slices.Compact(slices.Sorted(slices.Values(classes)))
	w.Cut = natural.Sorted(slices.Collect(maps.Keys(cut)))
	for i, k := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		if i > 0 {
			w.Kind += "+"
		}
		w.Kind += k
	}
}
