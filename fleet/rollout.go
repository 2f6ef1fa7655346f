package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
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

// brief returns the wave without its proof, and with at most 8 ports per fault.
func (w Wave) brief() *Wave {
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
	// Together is set if changing more devices in parallel would shorten WorseSeconds.
	Together *Together `json:"together,omitempty"`
	// Links is how many of the OfAll links of the intent were examined, and States in how many
	// combinations of states of their two ends.
	Links  int `json:"links"`
	OfAll  int `json:"of_links"`
	States int `json:"states"`
	// Inconclusive lists what could not be checked, and where.
	Inconclusive []validate.Open `json:"inconclusive,omitempty"`
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

// course returns the parts of a rollout that define what a run does. It drops the durations,
// which depend on the history of the fabric, and the statistics about the search.
func (r *Rollout) course() Rollout {
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

// differs returns an error that describes how the course of r differs from that of now, a
// rollout that was just computed; nil if they are equal.
func (r *Rollout) differs(now *Rollout) error {
	have, want := r.course(), now.course()
	if !equalJSON(have.Interim, want.Interim) {
		return errors.New("it is a different step of a change in several runs than the devices need now")
	}
	for i := range min(len(have.Waves), len(want.Waves)) {
		switch is, must := have.Waves[i], want.Waves[i]; {
		case !slices.Equal(is.Devices, must.Devices):
			return fmt.Errorf("its wave %d changes %s; by the intent it changes %s", i+1, natural.Fold(is.Devices), natural.Fold(must.Devices))
		case !equalJSON(is, must):
			return fmt.Errorf("its description of wave %d does not match the devices", i+1)
		}
	}
	if len(have.Waves) != len(want.Waves) {
		return fmt.Errorf("it has %s, but the devices need %d", words.Count(len(have.Waves), "wave"), len(want.Waves))
	}
	if !equalJSON(have, want) {
		return errors.New("what it lists as not proven or not checked does not match the devices")
	}
	return nil
}

// equalJSON reports whether two values encode to equivalent JSON.
func equalJSON(a, b any) bool {
	var said [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err != nil || dec.Decode(&said[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(said[0], said[1])
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

// RolloutMaker collects the plans of devices and divides the devices into waves.
type RolloutMaker struct {
	fabric  *intent.Fabric
	history *History
	gate    GateMode
	writers int
	took    map[string]float64 // measured seconds, by kind or system
	pool    order.Pool
	devices []*order.Device
	plans   map[string]*wavePlan
	lists   map[string][]string // lists in plans, shared by once
	lacking []validate.Finding  // findings about what cannot be checked
	kinds   map[string]validate.DeviceKind
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

// NewRollout returns an empty RolloutMaker. The history provides the measured times; it does
// not affect the waves.
func NewRollout(o PlanOptions) *RolloutMaker {
	return &RolloutMaker{fabric: o.Fabric, history: o.History, gate: cmp.Or(o.Gate, GateOff), writers: max(1, o.Workers), took: o.History.seconds(o.Fabric), asked: map[string]bool{}, plans: map[string]*wavePlan{}, lists: map[string][]string{}, kinds: map[string]validate.DeviceKind{}}
}

// Add adds the plan of a device.
func (m *RolloutMaker) Add(d *DevicePlan) {
	m.kinds[d.Name] = validate.HostDevice
	if m.fabric.Switch(d.Name) != nil {
		m.kinds[d.Name] = validate.SwitchDevice
	}
	m.lacking = append(m.lacking, d.lacking...)
	unseen := func(what, because string) {
		m.lacking = append(m.lacking, validate.Finding{ID: Unread, Severity: validate.Info, Device: d.Name, Unchecked: what, Because: because})
	}
	if d.Error != nil {
		unseen("intermediate states", "no plan could be made")
		return
	}
	if slices.ContainsFunc(d.Unknown, func(u drivers.Unknown) bool { return u.Open }) {
		unseen("some QoS settings", "this tool does not understand them")
	}
	if d.states == nil {
		unseen("intermediate states", "its settings could not be read")
	}
	dev := &order.Device{Name: d.Name, Host: d.OS == host.OS, Kind: "host", Rank: 100, States: d.states}
	if sw := m.fabric.Switch(d.Name); sw != nil {
		dev.Kind, dev.Rank = sw.Role, rank(sw)
	}
	if len(dev.States) == 0 {
		dev.States = []order.State{{}, {}}
	}
	for i, s := range dev.States {
		dev.States[i] = m.pool.State(s)
	}
	if len(d.Steps) == 0 {
		dev.States = dev.States[:1]
	} else {
		if kind := d.kind(); !m.asked[kind] {
			m.asked[kind] = true
			if s := m.history.seen(kind); s != nil {
				m.seen = append(m.seen, *s)
			}
		}
		var classes []string
		for _, g := range d.Changes {
			if g.Class != "" && !g.Open {
				classes = append(classes, g.Class)
			}
		}
		usual := cmp.Or(d.Seconds, usually[d.OS], usuallySwitch)
		m.plans[d.Name] = &wavePlan{
			down: m.shareList(d.Down()), classes: m.shareList(slices.Compact(slices.Sorted(slices.Values(classes)))), impact: d.Impact(), thresholds: changesThresholds(d),
			usual: usual, takes: cmp.Or(m.took[d.kind()], d.Seconds, m.took[d.OS], usual),
		}
	}
	m.devices = append(m.devices, dev)
}

// leaveOut removes devices that will not be changed after all.
func (m *RolloutMaker) leaveOut(names []string) {
	m.devices = slices.DeleteFunc(m.devices, func(d *order.Device) bool { return slices.Contains(names, d.Name) })
}

// planOf returns the plan of a device. It returns an assumed plan for a device that only an
// interim run changes, because that has no plan yet.
func (m *RolloutMaker) planOf(name string) *wavePlan {
	return cmp.Or(m.plans[name], &wavePlan{impact: qos.ImpactLoss, usual: usuallySwitch})
}

// shareList returns a shared copy of equal lists, to save memory: most devices of a fabric are
// alike.
func (m *RolloutMaker) shareList(list []string) []string {
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
func (m *RolloutMaker) stageOf(names []string) order.Stage {
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
func (m *RolloutMaker) findOrder(devices []*order.Device, together bool) (*order.Order, *waver) {
	w := m.waver(devices, together)
	return order.Find(devices, m.fabric.Links, w.cut), w
}

// Rollout divides the added devices into waves.
func (m *RolloutMaker) Rollout() *Rollout {
	asked := m.fabric.Rollout.Together
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
	open := validate.Opened(validate.Accept(m.fabric, m.lacking, time.Now()), m.kinds)
	if proof.Unclassed > 0 {
		open = append(open, validate.Open{What: fmt.Sprintf("CLS-02 on %d of %s", proof.Unclassed, words.Count(proof.Links, "link")), Why: "the class of a DSCP is not known there", Checks: []string{"CLS-02"}})
	}
	out.Links, out.OfAll, out.States = proof.Links, len(m.fabric.Links), proof.States
	out.Unproven, out.Inconclusive, out.Seen = proof.Unproven, open, m.seen
	return out
}

// rollout describes the waves of an order, with the expected times of the run.
func (m *RolloutMaker) rollout(found *order.Order, w *waver) (*Rollout, order.Proof) {
	out := &Rollout{Waves: make([]Wave, len(found.Stages)), Gate: m.gate, Windows: windowsOf(m.fabric)}
	kinds := map[string]string{}
	for _, d := range m.devices {
		kinds[d.Name] = d.Kind
	}
	stages := slices.Clone(found.Stages)
	for i := range stages {
		wave := &out.Waves[i]
		wave.Devices = stages[i].Devices
		m.describeWave(wave, kinds)
		wave.Gate = wave.GateTime(m.gate).Seconds()
		stages[i].Writes, stages[i].Gate = wave.Seconds, wave.Gate
	}
	w.canaries(out.Waves)
	proof := order.Prove(m.devices, m.fabric.Links, stages)
	out.WorseSeconds = proof.Cost.Seconds
	for i := range out.Waves {
		out.Waves[i].Worse, out.Waves[i].Proof = proof.Worse[i], proof.Looked[i]
	}
	return out, proof
}

// swapsTrust reports whether on some port DSCPs select the class only before the rollout, or
// only after it.
func (m *RolloutMaker) swapsTrust() bool {
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
func (m *RolloutMaker) neighbours() map[string][]string {
	if m.near != nil {
		return m.near
	}
	out := map[string][]string{}
	for _, l := range m.fabric.Links {
		for _, e := range [][2]intent.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if m.fabric.Switch(e[1].Device) != nil {
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
func (m *RolloutMaker) describeWave(w *Wave, kindOf map[string]string) {
	cut := map[string]bool{}
	var classes, kinds []string
	busy := make([]float64, min(m.writers, len(w.Devices)))
	for _, name := range w.Devices {
		p := m.plans[name]
		w.Down += len(p.down)
		w.Impact, w.Thresholds = max(w.Impact, p.impact), w.Thresholds || p.thresholds
		first := slices.Index(busy, slices.Min(busy)) // the writer that is free first
		busy[first] += p.takes
		w.Seconds = max(w.Seconds, busy[first])
		classes, kinds = append(classes, p.classes...), append(kinds, kindOf[name])
		if sw := m.fabric.Switch(name); sw != nil {
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
