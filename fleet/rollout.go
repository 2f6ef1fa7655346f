package fleet

import (
	"cmp"
	"fmt"
	"maps"
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

// Wave is devices that are changed side by side.
type Wave struct {
	Devices []string `json:"devices"`
	Canary  bool     `json:"canary,omitempty"`
	// Kind is the role of the switches, or "host"; several are joined by "+".
	Kind string `json:"kind"`
	// Down is how many ports go down, Cut the hosts that lose a link by that.
	Down int      `json:"down,omitempty"`
	Cut  []string `json:"cut,omitempty"`
	// Classes are those that change, by name.
	Classes []string   `json:"classes,omitempty"`
	Impact  qos.Impact `json:"impact"`
	// Thresholds says that ECN, headroom or buffers change, which shows under load alone.
	Thresholds bool `json:"thresholds,omitempty"`
	// Seconds is how long the slowest device of the wave has needed so far, or takes
	// as a rule.
	Seconds float64 `json:"seconds"`
	// Worse are the faults of a state in between that are there neither before the
	// rollout nor after it.
	Worse []order.Fault `json:"worse,omitempty"`
	// Proof is what each check saw while the devices of the wave change.
	Proof []order.Looked `json:"proof,omitempty"`
}

// brief is a wave with a few of its faults, and without its proof.
func (w Wave) brief() *Wave {
	const most = 8
	w.Proof, w.Worse = nil, slices.Clone(w.Worse)
	for i, f := range w.Worse {
		w.Worse[i].Ports = f.Ports[:min(len(f.Ports), most)]
	}
	return &w
}

// Rollout is the waves of a plan, and what is proven of them.
type Rollout struct {
	Waves []Wave `json:"waves"`
	// Links is how many links of the intent's were looked at, in States mixtures of
	// their ends.
	Links  int `json:"links"`
	OfAll  int `json:"of_links"`
	States int `json:"states"`
	// Inconclusive is what the plan leaves unchecked, and where.
	Inconclusive []validate.Open `json:"inconclusive,omitempty"`
	// Unproven says what could not be proven; "" for nothing.
	Unproven string `json:"unproven,omitempty"`
	// Seen is what earlier runs show of the kinds of switches that change.
	Seen []Seen `json:"seen,omitempty"`
	// Interim is set where a later run is needed, which this one prepares.
	Interim *Interim `json:"interim,omitempty"`
}

// Seen is what the newest run showed that changed switches of a kind.
type Seen struct {
	Kind    string    `json:"kind"` // "ACS-MSN4700, sonic 202511, over ssh"
	Run     string    `json:"run"`
	Begun   time.Time `json:"begun"`
	Applied []string  `json:"applied,omitempty"`
	// Seconds is how long the middle one of these took.
	Seconds float64 `json:"seconds,omitempty"`
	// Gate is the one that all of these passed; "" for none.
	Gate GateMode `json:"gate,omitempty"`
	// Failed are those that are not as they were to be, and Error why, of the first.
	Failed []string `json:"failed,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// Impact is the least that must be allowed: traffic may be lost where a state in
// between is worse.
func (r *Rollout) Impact() qos.Impact {
	if r != nil && slices.ContainsFunc(r.Waves, func(w Wave) bool { return len(w.Worse) > 0 }) {
		return qos.ImpactLoss
	}
	return qos.ImpactNone
}

// Open reports whether the plan leaves something unchecked or unproven.
func (r *Rollout) Open() bool { return r != nil && (len(r.Inconclusive) > 0 || r.Unproven != "") }

// maxWave bounds a wave: the sessions of its devices are open at once.
const maxWave = 64

// RolloutMaker gathers the plans of devices and puts them into waves.
type RolloutMaker struct {
	fabric  *intent.Fabric
	history *History
	took    map[string]float64 // by kind or system, seconds
	pool    order.Pool
	devices []*order.Device
	plans   map[string]*wavePlan
	lists   map[string][]string // those of plans, see once
	lacking []validate.Finding  // of what cannot be checked
	kinds   map[string]validate.DeviceKind
	seen    []Seen
	asked   map[string]bool // kinds that the history was asked about: to read it takes long
	cost    float64         // of the waves, see [order.Proof]
}

// wavePlan is what of the plan of a device is said of its wave.
type wavePlan struct {
	down       []string
	classes    []string
	impact     qos.Impact
	thresholds bool
}

// NewRollout begins a rollout. history tells how long devices have needed; nil is none.
func NewRollout(f *intent.Fabric, h *History) *RolloutMaker {
	return &RolloutMaker{fabric: f, history: h, took: h.seconds(f), asked: map[string]bool{}, plans: map[string]*wavePlan{}, lists: map[string][]string{}, kinds: map[string]validate.DeviceKind{}}
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
		unseen("states in between", "no plan could be made")
		return
	}
	if slices.ContainsFunc(d.Unknown, func(u drivers.Unknown) bool { return u.Open }) {
		unseen("some QoS settings", "this tool does not understand them")
	}
	if d.states == nil {
		unseen("states in between", "its settings could not be read")
	}
	dev := &order.Device{Name: d.Name, Host: d.OS == host.OS, Kind: "host", Rank: 100, Seconds: m.secondsOf(d), States: d.states}
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
		m.plans[d.Name] = &wavePlan{
			down: m.once(d.Down()), classes: m.once(slices.Compact(slices.Sorted(slices.Values(classes)))), impact: d.Impact(), thresholds: thresholds(d),
		}
	}
	m.devices = append(m.devices, dev)
}

// once returns the list that stands for all equal ones: most devices of a fabric are alike.
func (m *RolloutMaker) once(list []string) []string {
	key := strings.Join(list, "\x00")
	if one, ok := m.lists[key]; ok {
		return one
	}
	m.lists[key] = list
	return list
}

// rank has switches with hosts changed before those without: a fault that the gate
// finds in a leaf concerns fewer devices.
func rank(sw *intent.Switch) int {
	for _, p := range sw.Ports {
		if p.Link != nil && !p.Uplink() {
			return 0
		}
	}
	return 1
}

// Rollout puts what was added into waves.
func (m *RolloutMaker) Rollout() *Rollout {
	found := order.Find(m.devices, m.fabric.Links)
	w := &waver{m: m, kinds: map[string]int{}, canary: map[string]bool{}, near: m.neighbours(), groups: map[string][]int{}}
	for _, d := range m.devices {
		if m.plans[d.Name] != nil {
			w.kinds[d.Kind]++
		}
	}
	for _, name := range m.fabric.Rollout.Canary {
		w.canary[name] = true
	}
	for i, g := range m.fabric.Rollout.Groups {
		for _, name := range g {
			w.groups[name] = append(w.groups[name], i)
		}
	}
	for n, s := range found.Stages {
		w.stage(s, len(found.Worse[n]) > 0)
	}
	var stages []order.Stage
	for _, wave := range w.out {
		stages = append(stages, order.Stage{{Devices: wave.Devices}})
	}
	proof := order.Prove(m.devices, m.fabric.Links, stages)
	m.cost = proof.Cost
	byName := make(map[string]*order.Device, len(m.devices))
	for _, d := range m.devices {
		byName[d.Name] = d
	}
	for i := range w.out {
		m.describe(&w.out[i], byName)
		w.out[i].Worse, w.out[i].Proof = proof.Worse[i], proof.Looked[i]
	}
	if proof.Unproven == "" && m.swapsTrust() {
		proof.Unproven = "ports change the field that selects the class; which class packets get until both ends have changed is not known"
	}
	open := validate.Opened(validate.Accept(m.fabric, m.lacking, time.Now()), m.kinds)
	if proof.Unclassed > 0 {
		open = append(open, validate.Open{What: fmt.Sprintf("CLS-02 on %d of %s", proof.Unclassed, words.Count(proof.Links, "link")), Why: "the class of a DSCP is not known there", Checks: []string{"CLS-02"}})
	}
	return &Rollout{Waves: w.out, Links: proof.Links, OfAll: len(m.fabric.Links), States: proof.States, Unproven: proof.Unproven, Inconclusive: open, Seen: m.seen}
}

// swapsTrust reports whether DSCPs select the class on a port before the rollout or after
// it, and not both.
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

// neighbours are the switches that each device has links to.
func (m *RolloutMaker) neighbours() map[string][]string {
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
	return out
}

// describe says what happens in a wave.
func (m *RolloutMaker) describe(w *Wave, devices map[string]*order.Device) {
	cut := map[string]bool{}
	var classes, kinds []string
	for _, name := range w.Devices {
		p, d := m.plans[name], devices[name]
		w.Down += len(p.down)
		w.Impact, w.Thresholds = max(w.Impact, p.impact), w.Thresholds || p.thresholds
		w.Seconds = max(w.Seconds, d.Seconds)
		classes, kinds = append(classes, p.classes...), append(kinds, d.Kind)
		if sw := m.fabric.Switch(d.Name); sw != nil {
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

// The seconds that a device takes where no run has shown it: a SONiC switch restarts
// ports one group after another, the others commit at once. Estimates.
var usually = map[string]float64{host.OS: 30}

const usuallySwitch = 60

func (m *RolloutMaker) secondsOf(d *DevicePlan) float64 {
	return cmp.Or(m.took[d.kind()], d.Seconds, m.took[d.OS], usually[d.OS], usuallySwitch)
}

// seen tells of the newest run that changed switches of a kind; nil where none did.
func (h *History) seen(kind string) *Seen {
	if h == nil || kind == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range maxRuns / 10 {
		p := h.run(n)
		if p == nil {
			return nil
		}
		out := Seen{Kind: kind, Run: p.ID, Begun: p.Begun}
		var took []time.Duration
		for _, d := range p.Devices {
			switch {
			case d.kind != kind, !d.touched, d.State == "": // at work, or cut off, which is said elsewhere
			case d.State == Applied:
				if len(took) == 0 || out.Gate == d.gate {
					out.Gate = d.gate
				} else {
					out.Gate = ""
				}
				out.Applied, took = append(out.Applied, d.Name), append(took, d.took)
			default:
				out.Failed, out.Error = append(out.Failed, d.Name), cmp.Or(out.Error, d.cause)
			}
		}
		if len(out.Applied)+len(out.Failed) == 0 {
			continue
		}
		if len(took) > 0 {
			slices.Sort(took)
			out.Seconds = took[len(took)/2].Seconds()
		}
		return &out
	}
	return nil
}

// seconds returns how long the devices of each kind and of each system have needed, the
// middle one of the last runs.
func (h *History) seconds(f *intent.Fabric) map[string]float64 {
	out := map[string]float64{}
	if h == nil {
		return out
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string][]time.Duration{}
	for n := range maxRuns / 10 {
		p := h.run(n)
		if p == nil {
			break
		}
		for _, d := range p.Devices {
			system := host.OS
			if sw := f.Switch(d.Name); sw != nil {
				system = sw.OS
			}
			if d.State == Applied && d.touched && d.took > 0 {
				seen[system] = append(seen[system], d.took)
				if d.kind != "" {
					seen[d.kind] = append(seen[d.kind], d.took)
				}
			}
		}
	}
	for system, l := range seen {
		slices.Sort(l)
		out[system] = l[len(l)/2].Seconds()
	}
	return out
}

// waver fills waves.
type waver struct {
	m      *RolloutMaker
	kinds  map[string]int // how many devices of a kind change
	canary map[string]bool
	near   map[string][]string
	groups map[string][]int
	out    []Wave
}

// stage cuts the devices of a stage into waves. Those that suffer apart stay together
// where none of them takes ports down.
func (w *waver) stage(s order.Stage, suffers bool) {
	var names []string
	for _, move := range s {
		names = append(names, move.Devices...)
	}
	if suffers && len(names) <= maxWave && !slices.ContainsFunc(names, func(n string) bool { return len(w.m.plans[n].down) > 0 }) {
		w.out = append(w.out, Wave{Devices: natural.Sorted(names)})
		return
	}
	for _, move := range s {
		canaries := slices.DeleteFunc(slices.Clone(move.Devices), func(n string) bool { return !w.canary[n] })
		if len(w.canary) == 0 && len(move.Devices) > 1 {
			canaries = move.Devices[:1]
		}
		w.fill(canaries, true)
		w.fill(slices.DeleteFunc(slices.Clone(move.Devices), func(n string) bool { return slices.Contains(canaries, n) }), false)
	}
}

// fill puts each device into the first new wave that has room for it.
func (w *waver) fill(names []string, canary bool) {
	var open []*room
	for _, name := range names {
		i := slices.IndexFunc(open, func(r *room) bool { return w.fits(r, name) })
		if i < 0 {
			i = len(open)
			open = append(open, &room{kinds: map[string]int{}, near: map[string]int{}, groups: map[int]bool{}})
		}
		w.put(open[i], name)
	}
	for _, r := range open {
		w.out = append(w.out, Wave{Devices: r.names, Canary: canary})
	}
}

// room is a wave that is being filled.
type room struct {
	names  []string
	kinds  map[string]int
	near   map[string]int // how many switches of the wave a device has links to
	groups map[int]bool
}

func (w *waver) kind(name string) string {
	if sw := w.m.fabric.Switch(name); sw != nil {
		return sw.Role
	}
	return "host"
}

// fits reports whether a device has room in a wave: never two of a group, never all
// switches that a device has links to, and no more of a role than the intent allows.
func (w *waver) fits(r *room, name string) bool {
	k := w.kind(name)
	most := w.m.fabric.Rollout.MaxUnavailable.V.Of(w.kinds[k])
	if len(r.names) >= maxWave || r.kinds[k] >= most || slices.ContainsFunc(w.groups[name], func(g int) bool { return r.groups[g] }) {
		return false
	}
	if w.m.fabric.Switch(name) == nil {
		return true
	}
	for _, other := range w.attached(name) {
		if all := len(w.near[other]); all > 1 && r.near[other]+1 >= all {
			return false
		}
	}
	return true
}

// attached are the devices that have links to a switch.
func (w *waver) attached(name string) []string {
	var out []string
	for _, p := range w.m.fabric.Switch(name).Ports {
		if peer, ok := p.Peer(); ok {
			out = append(out, peer.Device)
		}
	}
	return slices.Compact(natural.Sorted(out))
}

func (w *waver) put(r *room, name string) {
	r.names = append(r.names, name)
	r.kinds[w.kind(name)]++
	for _, g := range w.groups[name] {
		r.groups[g] = true
	}
	if w.m.fabric.Switch(name) != nil {
		for _, other := range w.attached(name) {
			r.near[other]++
		}
	}
}
