package cumulus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Unknown is a value in the configuration that the model cannot represent. It stays on the
// switch unchanged.
type Unknown struct {
	Path string // "qos roce"
	Why  string
	Text string // the value; "" for a branch
	// Open is set if it may change how the switch handles traffic that an intent covers.
	Open bool
}

// Where returns the path.
func (u Unknown) Where() string { return u.Path }

// global is the profile of all ports without a bound profile, and the only profile of
// switch-wide collections.
const global = "default-global"

// Families of profiles. Each is a collection below "qos", and is bound to a port below
// "interface PORT qos".
const (
	famMapping   = "mapping"
	famPFC       = "pfc"
	famECN       = "congestion-control"
	famScheduler = "egress-scheduler"
	famShaper    = "egress-shaper"
	famRemark    = "remark"
	famPause     = "link-pause"
)

// Decode returns the running state that a configuration means, and the values that the model
// cannot represent. It expands the preset into what it means on the release.
func Decode(c *Config) (*qos.Device, []Unknown) {
	v := newView(c)
	d := v.device()
	return d, v.unmodelled()
}

// view is a configuration being decoded.
type view struct {
	c      *Config
	qos    *Node
	ifs    *Node
	preset *Preset
	bonds  map[string]string // bond of each member
	ports  []string

	maps       map[string]*mapping
	schedulers map[string]*[qos.NumPriorities]share
	marking    map[string]*[qos.NumPriorities]qos.Opt[qos.ECN]
	shapers    map[string]*[qos.NumPriorities]rates
	pauses     map[string]*pauses
	queues     [qos.NumPriorities]int8
	shared     map[mapsKey]*qos.Maps
	rewrites   bool // whether any profile rewrites the DSCP
}

// mapsKey holds everything that determines the maps of a port.
type mapsKey struct {
	mapping, remark string
	paused          qos.PrioritySet
}

func newView(c *Config) *view {
	v := readingOf(c)
	v.bonds = map[string]string{}
	seen := map[string]bool{}
	for name, n := range v.ifs.subs() {
		if isPort(name) && !v.split(name) {
			seen[name] = true
		}
		for member := range n.At("bond", "member").subs() {
			v.bonds[member] = name
			if isPort(member) {
				seen[member] = true
			}
		}
	}
	for _, name := range c.Ports {
		seen[name] = true
	}
	v.ports = natural.Keys(seen)
	return v
}

// without returns a fresh view of the tree after something was removed from it that affects
// neither the list of ports nor the bonds.
func (v *view) without() *view {
	out := readingOf(v.c)
	out.bonds, out.ports = v.bonds, v.ports
	return out
}

func readingOf(c *Config) *view {
	v := &view{c: c, qos: c.Tree.At("qos"), ifs: c.Tree.At("interface"), preset: PresetOf(c),
		maps: map[string]*mapping{}, schedulers: map[string]*[qos.NumPriorities]share{}, marking: map[string]*[qos.NumPriorities]qos.Opt[qos.ECN]{},
		shapers: map[string]*[qos.NumPriorities]rates{}, pauses: map[string]*pauses{}, shared: map[mapsKey]*qos.Maps{}}
	v.queues = v.readQueues()
	for _, n := range v.qos.At(famRemark).subs() {
		switch n.At("rewrite").Word() {
		case "l3", "both":
			v.rewrites = true
		}
	}
	return v
}

// split reports whether an interface is a port that is broken out and carries no traffic itself.
func (v *view) split(name string) bool {
	b := v.ifs.At(name, "link", "breakout").Word()
	return b != "" && b != "1x" && b != "loopback" && b != "disabled"
}

// binds returns the interface to which the profiles of a port are bound. NVUE accepts those of a
// bond member only on the bond.
func (v *view) binds(port string) string {
	if bond := v.bonds[port]; bond != "" {
		return bond
	}
	return port
}

// profile returns the profile of a family that is in force on a port.
func (v *view) profile(port, family string) string {
	for _, name := range []string{port, v.binds(port)} {
		if p := v.ifs.At(name, "qos", family, "profile").Word(); p != "" {
			return p
		}
	}
	return global
}

func (v *view) device() *qos.Device {
	d := &qos.Device{Name: v.c.Hostname}
	d.Platform = qos.Platform{OS: "cumulus", Release: v.c.Release.String(), Model: v.c.Model}
	poll, _ := v.timers()
	d.WatchdogPoll = qos.Of(poll)
	d.Ports = v.normalizedPorts(v.ports)
	d.Shares = v.shares()
	d.Tunnels = v.tunnels()
	d.HashSeed = v.c.Tree.At("system", "forwarding", "hash-seed").Word() // without it, a random one
	return d
}

// tunnels reads how the VXLAN tunnels of the switch mark packets; nil if it has none. Older releases
// turn VXLAN on with "enable on", newer ones with "state enabled". What "derive" does depends on the
// switch priority (Cumulus Linux 5.17, Configure switchd).
func (v *view) tunnels() map[string]qos.Tunnel {
	vxlan := v.c.Tree.At("nve", "vxlan")
	if state := cmp.Or(vxlan.At("enable").Word(), vxlan.At("state").Word()); vxlan == nil || state == "off" || state == "disabled" {
		return nil
	}
	into, out := vxlan.At("encapsulation", "dscp"), vxlan.At("decapsulation", "dscp", "action")
	modes := map[string]qos.Opt[qos.DSCPMode]{"copy": qos.Of(qos.DSCPUniform), "set": qos.Of(qos.DSCPPipe), "preserve": qos.Of(qos.DSCPPipe)}
	t := qos.Tunnel{Kind: qos.TunnelVXLAN, Encap: modes[into.At("action").Word()], Decap: modes[out.Word()]}
	if n, ok := digits(into.At("value").Word()); ok && n < qos.NumDSCP && t.Encap.V == qos.DSCPPipe {
		t.OuterDSCP = qos.Of(n)
	}
	return map[string]qos.Tunnel{"nve vxlan": t}
}

// shares returns the configured shares of buffer memory by pool.
func (v *view) shares() map[string]qos.Share {
	var out map[string]qos.Share
	for name, n := range v.qos.At("traffic-pool").subs() {
		if percent, ok := digits(n.At("memory-percent").Word()); ok {
			if out == nil {
				out = map[string]qos.Share{}
			}
			share := qos.Share{Percent: percent, Lossless: name == poolLossless || name == poolRoCELossless}
			if n, ok := Alpha(v.qos.At("advance-buffer-config", global, "ingress-lossless-buffer", "shared-alpha").Word()); ok && share.Lossless {
				share.Alpha = qos.Of(n)
			}
			out[name] = share
		}
	}
	return out
}

// Alpha parses a dynamic threshold, "alpha_8" or "alpha_1_8", and returns its exponent (Cumulus
// Linux 5.17, Advanced Buffer Tuning). The smallest exponent stands for alpha_0, the largest for
// alpha_infinity.
func Alpha(word string) (exponent int64, ok bool) {
	const none, infinite, least = -8, 7, -7
	word, ok = strings.CutPrefix(strings.ToLower(word), "alpha_")
	switch {
	case !ok:
		return 0, false
	case word == "0":
		return none, true
	case word == "infinity":
		return infinite, true
	}
	part, below := strings.CutPrefix(word, "1_")
	for n := int64(0); n < infinite || below && n <= -least; n++ {
		if part != strconv.Itoa(1<<n) {
			continue
		}
		if below {
			n = -n
		}
		return n, true
	}
	return 0, false
}

// normalizedPorts returns ports in normalized form, for comparison.
func (v *view) normalizedPorts(names []string) map[string]*qos.Port {
	d := &qos.Device{Ports: make(map[string]*qos.Port, len(names))}
	poll, robustness := v.timers()
	for _, name := range names {
		d.Ports[name] = v.port(name, poll, robustness)
	}
	qos.Normalize(d)
	return d.Ports
}

func (v *view) port(name string, poll time.Duration, robustness int) *qos.Port {
	own := v.ifs.At(name)
	p := &qos.Port{LAG: qos.Of(v.bonds[name])}
	p.MTU = qos.Of(usualMTU)
	for _, on := range []string{v.binds(name), name} { // a member has the MTU of its bond
		if n, ok := digits(v.ifs.At(on, "link", "mtu").Word()); ok {
			p.MTU = qos.Of(n)
			break
		}
	}
	switch own.At("link", "state").Word() {
	case "up":
		p.AdminUp = qos.Of(true)
	case "down":
		p.AdminUp = qos.Of(false)
	}
	if r, err := units.ParseRate(own.At("link", "speed").Word()); err == nil {
		p.Speed = qos.Of(r)
	}
	if f := own.At("link", "fec").Word(); f != "" && f != "auto" {
		p.FEC = qos.Of(fec(f))
	}
	m := v.mapping(v.profile(name, famMapping))
	p.Trust = qos.Of(m.trust)
	pfc := v.pfc(v.profile(name, famPFC))
	p.Maps = qos.Of(v.mapsOf(name, m, pfc.priorities))
	p.PFC = qos.Of(pfc.pausedBothWays())
	p.Cable = pfc.cable
	for _, n := range pfc.priorities.List() {
		p.Groups[n].Lossless = qos.Of(p.PFC.V.Has(n) && v.losslessPool() != "")
	}
	p.LinkPause = qos.Of(v.linkPause(name))
	if onAt(own.At("qos", "pfc-watchdog"), true) {
		p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: p.PFC.V, Action: qos.ActionDrop, Detect: time.Duration(robustness) * poll, Restore: poll})
	} else {
		p.Watchdog = qos.Of(qos.Watchdog{})
	}
	ecn, shares, shaped := v.ecn(v.profile(name, famECN)), v.scheduler(v.profile(name, famScheduler)), v.shaper(v.profile(name, famShaper))
	for i := range p.Queues {
		q := &p.Queues[i]
		q.ECN = ecn[i]
		s := qos.Scheduler{Strict: shares[i].strict, MinRate: shaped[i].min, MaxRate: shaped[i].max, Other: shaped[i].other}
		if !s.Strict {
			s.Weight = shares[i].percent
		}
		q.Scheduler = qos.Of(s)
	}
	return p
}

// usualMTU is the default MTU of a port (Cumulus Linux 5.15, Switch Port Attributes).
const usualMTU = 9216

// fec returns the model's name of an FEC mode.
func fec(word string) string {
	switch word {
	case "off":
		return "none"
	case "baser":
		return "fc"
	}
	return word
}

// mapping is a decoded profile of trust and maps.
type mapping struct {
	name  string
	trust qos.Trust
	word  string // NVUE's word for the trust
	dscp  [qos.NumDSCP]int8
	pcp   [qos.NumPriorities]int8
}

// mapping reads a mapping profile. Code points that it does not list have NVUE's default: eight
// DSCPs per priority, and each PCP as the priority of the same number.
func (v *view) mapping(name string) *mapping {
	if m := v.maps[name]; m != nil {
		return m
	}
	m := &mapping{name: name, word: "l2", dscp: blocks(), pcp: identity()}
	v.maps[name] = m
	if v.preset != nil && name == global {
		m.word, m.dscp = "both", v.preset.dscp
	}
	n := v.qos.At(famMapping, name)
	if w := n.At("trust").Word(); w != "" {
		m.word = w
	}
	switch m.word {
	case "l3", "both": // the DSCP decides for IP packets
		m.trust = qos.TrustDSCP
	case "port":
		m.trust = qos.TrustNone
	default:
		m.trust = qos.TrustPCP
	}
	read := func(key string, to []int8) {
		for id, sub := range n.At(key).subs() {
			i, ok := digits(id)
			p, is := digits(sub.At("switch-priority").Word())
			if ok && is && i < len(to) && p < qos.NumPriorities {
				to[i] = int8(p)
			}
		}
	}
	read("dscp", m.dscp[:])
	read("pcp", m.pcp[:])
	return m
}

func (n *Node) subs() map[string]*Node {
	if n == nil {
		return nil
	}
	return n.Sub
}

// readQueues reads the switch-wide map of priorities to traffic classes.
func (v *view) readQueues() [qos.NumPriorities]int8 {
	m := identity()
	if v.preset != nil {
		m = v.preset.queues
	}
	for id, sub := range v.qos.At("egress-queue-mapping", global, "switch-priority").subs() {
		i, ok := digits(id)
		q, is := digits(sub.At("traffic-class").Word())
		if ok && is && i < len(m) && q < qos.NumPriorities {
			m[i] = int8(q)
		}
	}
	return m
}

// mapsOf returns the maps of a port. Ports with the same profiles share them.
func (v *view) mapsOf(port string, m *mapping, paused qos.PrioritySet) *qos.Maps {
	key := mapsKey{m.name, v.profile(port, famRemark), paused}
	if out := v.shared[key]; out != nil {
		return out
	}
	out := qos.UnmappedMaps()
	// A table that the port does not trust maps nothing.
	if m.trust == qos.TrustDSCP {
		out.DSCPToTC = m.dscp
	}
	if m.word == "both" || m.trust == qos.TrustPCP {
		out.PCPToTC = m.pcp
	}
	out.TCToQueue = v.queues
	out.PFCToQueue = v.queues // a received pause stops the queue of its priority
	if v.rewrites {
		for i := range out.TCToDSCP {
			if n, ok := digits(v.qos.At(famRemark, key.remark, "switch-priority", strconv.Itoa(i), "dscp").Word()); ok && n < qos.NumDSCP {
				out.TCToDSCP[i] = int8(n)
			}
		}
	}
	v.fold(out, paused)
	v.shared[key] = out
	return out
}

// fold maps code points to priority 0 if the preset treats their priority like 0: priorities
// other than those of RoCE and CNPs share a queue under the preset, so they are one class.
func (v *view) fold(m *qos.Maps, paused qos.PrioritySet) {
	if v.preset == nil || m.TCToQueue[0] != 0 || paused.Has(0) {
		return
	}
	stated := v.qos.At("egress-queue-mapping", global, "switch-priority")
	for _, t := range []qos.Table{qos.DSCPToTC, qos.PCPToTC} {
		entries := m.Table(t)
		if !slices.Contains(entries, 0) {
			continue
		}
		for i, p := range entries {
			if p > 0 && m.TCToQueue[p] == 0 && !paused.Has(int(p)) && m.TCToDSCP[p] == m.TCToDSCP[0] && stated.At(strconv.Itoa(int(p))) == nil {
				entries[i] = 0
			}
		}
	}
}

// pauses is a decoded PFC profile.
type pauses struct {
	priorities qos.PrioritySet
	tx, rx     bool
	cable      qos.Opt[units.Length]
}

// pausedBothWays returns the priorities that are paused in both directions.
func (p *pauses) pausedBothWays() qos.PrioritySet {
	if p.tx && p.rx {
		return p.priorities
	}
	return 0
}

func (v *view) pfc(name string) *pauses {
	if p := v.pauses[name]; p != nil {
		return p
	}
	n := v.qos.At(famPFC, name)
	p := &pauses{tx: onOr(n.At("tx"), true), rx: onOr(n.At("rx"), true)}
	v.pauses[name] = p
	cable := n.At("cable-length")
	if v.preset.lossless() && name == global {
		p.priorities = v.preset.pfc
		if cable == nil {
			cable = v.qos.At("roce", "cable-length")
		}
	}
	if own := n.At("switch-priority"); own != nil {
		p.priorities = 0
		for _, id := range append(own.Keys(), own.Value) {
			if i, ok := digits(id); ok && i < qos.NumPriorities {
				p.priorities |= qos.Priorities(i)
			}
		}
	}
	if m, ok := digits(cable.Word()); ok {
		p.cable = qos.Of(units.Length(m))
	}
	return p
}

// onOr reads an on/off value; usual is the default.
func onOr(n *Node, usual bool) bool {
	if on, ok := isOn(n.Word()); ok {
		return on
	}
	return usual
}

// losslessPool returns the name of the pool for lossless traffic; "" if there is none, so that
// pauses cannot prevent loss.
func (v *view) losslessPool() string {
	for _, name := range []string{poolRoCELossless, poolLossless} {
		n := v.qos.At("traffic-pool", name, "memory-percent")
		if percent, ok := digits(n.Word()); ok && percent > 0 {
			return name
		} else if n == nil && name == poolRoCELossless && v.preset.lossless() {
			return name
		}
	}
	if v.qos.At("advance-buffer-config", global, "ingress-lossless-buffer", "service-pool") != nil {
		return "ingress-lossless-buffer"
	}
	return ""
}

// Names of NVUE's pools (Cumulus Linux 5.17, Traffic Pools).
const (
	poolLossy        = "default-lossy"
	poolLossless     = "default-lossless"
	poolRoCELossless = "roce-lossless"
)

func (v *view) linkPause(port string) bool {
	name := v.profile(port, famPause)
	n := v.qos.At(famPause, name)
	if n == nil || name == global && n.At("rx") == nil && n.At("tx") == nil {
		return false
	}
	return onOr(n.At("rx"), true) || onOr(n.At("tx"), true)
}

// Default marking thresholds (Cumulus Linux 5.17, Congestion Control).
const (
	usualMin, usualMax = 150_000, 1_500_000
	usualProbability   = 100
)

// ecn reads an ECN profile. Classes listed in default-global replace the defaults as a whole;
// with the preset they are exceptions to it.
func (v *view) ecn(name string) *[qos.NumPriorities]qos.Opt[qos.ECN] {
	if e := v.marking[name]; e != nil {
		return e
	}
	out := new([qos.NumPriorities]qos.Opt[qos.ECN])
	v.marking[name] = out
	usual := qos.ECN{Enabled: true, Min: usualMin, Max: usualMax, Probability: usualProbability}
	own := v.qos.At(famECN, name, "traffic-class")
	for i := range out {
		out[i] = qos.Of(qos.ECN{})
		n := own.At(strconv.Itoa(i))
		switch {
		case n != nil:
			out[i].V = readECN(n, usual)
		case name != global:
		case v.preset != nil && !v.preset.Known:
			out[i] = qos.Opt[qos.ECN]{} // not documented
		case v.preset != nil && v.preset.ecn.Has(i), v.preset == nil && i == 0 && own == nil:
			out[i].V = usual
		}
	}
	return out
}

func readECN(n *Node, usual qos.ECN) qos.ECN {
	e := usual
	e.Enabled, e.Drops = onOr(n.At("ecn"), true), onOr(n.At("red"), false)
	if !e.Enabled && !e.Drops {
		return qos.ECN{}
	}
	read := func(key string, to *int64) {
		if v, err := strconv.ParseInt(n.At(key).Word(), 10, 64); err == nil && v >= 0 {
			*to = v
		}
	}
	suffix := ""
	if n.At("mode").Word() == "relative" {
		e.Unit, e.Min, e.Max, suffix = qos.UnitPercent, 0, 100, "-percent"
	}
	read("min-threshold"+suffix, &e.Min)
	read("max-threshold"+suffix, &e.Max)
	p := int64(e.Probability)
	read("probability", &p)
	e.Probability = int(min(p, 100))
	return e
}

// usualShare returns the default scheduler share of a queue.
func usualShare(queue int) share { return share{percent: 12 + queue%2} }

func (v *view) scheduler(name string) *[qos.NumPriorities]share {
	if s := v.schedulers[name]; s != nil {
		return s
	}
	out := new([qos.NumPriorities]share)
	v.schedulers[name] = out
	own := v.qos.At(famScheduler, name, "traffic-class")
	for i := range out {
		n := own.At(strconv.Itoa(i))
		switch {
		case n != nil:
			percent, ok := digits(n.At("bw-percent").Word())
			out[i] = share{strict: n.At("mode").Word() == "strict"}
			if ok && !out[i].strict {
				out[i].percent = min(percent, 100)
			}
		case name != global:
		case v.preset != nil:
			out[i] = v.preset.shares[i]
		case own == nil:
			out[i] = usualShare(i)
		}
	}
	return out
}

// rates holds the shaper settings of a queue.
type rates struct {
	min, max units.Rate
	other    string
}

// noRate is the maximum rate that stands for no shaping.
const noRate = 2147483647

func (v *view) shaper(name string) *[qos.NumPriorities]rates {
	if s := v.shapers[name]; s != nil {
		return s
	}
	out := new([qos.NumPriorities]rates)
	v.shapers[name] = out
	n := v.qos.At(famShaper, name)
	packets := n.At("mode").Word() == "pps"
	for i := range out {
		tc := n.At("traffic-class", strconv.Itoa(i))
		read := func(key string) int64 {
			kbps, err := strconv.ParseInt(tc.At(key).Word(), 10, 64)
			if err != nil || kbps < 0 || kbps >= noRate {
				return 0
			}
			return kbps
		}
		low, high := read("min-rate"), read("max-rate")
		if packets && low+high > 0 {
			out[i].other = fmt.Sprintf("shaped to %d-%d packets a second", low, high)
			continue
		}
		out[i] = rates{min: units.Rate(low * 1000), max: units.Rate(high * 1000)}
	}
	return out
}

// Default watchdog timers (Cumulus Linux 5.17, PFC Watchdog).
const (
	usualPoll       = 100 * time.Millisecond
	usualRobustness = 3
)

func (v *view) timers() (poll time.Duration, robustness int) {
	poll, robustness = usualPoll, usualRobustness
	n := v.qos.At("pfc-watchdog")
	if ms, ok := digits(n.At("polling-interval").Word()); ok && ms > 0 {
		poll = time.Duration(ms) * time.Millisecond
	}
	if r, ok := digits(n.At("robustness").Word()); ok && r > 0 {
		robustness = r
	}
	return poll, robustness
}

// unmodelled returns the values that the model cannot represent, in natural order.
func (v *view) unmodelled() []Unknown {
	var out []Unknown
	if p := v.preset; p != nil {
		u := Unknown{Path: "qos roce", Text: p.Mode, Why: "the RoCE preset, read as NVIDIA documents it; the switch chooses its own thresholds and pools on each ASIC"}
		if !p.Known {
			u.Why, u.Open = "an undocumented mode of the RoCE preset; its settings are not known", true
		} else if p.Mode == LossyMultiTC {
			u.Why, u.Open = u.Why+". Which queues mark in this mode is taken from an example that also shows another mode", true
		}
		out = append(out, u)
	}
	v.c.Tree.leaves(nil, func(at Path, leaf *Node) {
		if why, open := noPlace(at, leaf); why != "" {
			out = append(out, Unknown{Path: at.String(), Why: why, Text: leaf.Word(), Open: open})
		}
	})
	for _, port := range v.ports {
		if p := v.pfc(v.profile(port, famPFC)); p.priorities != 0 && p.tx != p.rx {
			out = append(out, Unknown{Path: "interface " + port + " qos pfc", Why: "PFC in one direction alone; no priority counts as lossless", Open: true})
		}
	}
	ordered.Sort(out, func(a, b Unknown) int { return natural.Compare(a.Path, b.Path) })
	return out
}
