package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/buffers"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
	"github.com/roce-fabric/roce-fabric/validate/checks/ecn"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/checks/ports"
)

// Config is the saved configuration of a switch that is checked without an intent.
type Config struct {
	Name, File string
	Text       []byte // content of the file
	Running    *qos.Device
	Account    []render.Line // what is known about its lines
}

// Alone checks configurations without an intent, each by itself and then against each other.
// The place of a finding is "file:line", or "file TABLE|key" for configurations with rows.
// Findings are sorted.
//
// Without an intent, only a contradiction within the file is an error: PFC that pauses nothing,
// thresholds upside down. Anything that may be on purpose is a warning.
func Alone(cs []Config) []checks.Finding {
	var out []checks.Finding
	for i := range cs {
		r := &soloRun{c: &cs[i], text: readText(cs[i].Text), seen: map[aloneCause]int{}, half: map[string]bool{}, unpaused: map[string]bool{}, lineSaid: map[aloneCause]bool{}}
		r.lines()
		r.everywhere = ^qos.PrioritySet(0)
		for _, q := range r.c.Running.Ports {
			if q.PFC.Or(0) != 0 {
				r.everywhere &= q.PFC.V
			}
		}
		for _, name := range natural.Keys(r.c.Running.Ports) {
			r.port(name, r.c.Running.Ports[name])
		}
		r.bundles()
		r.account()
		out = append(out, r.findings()...)
	}
	return checks.Sort(append(out, compareConfigs(cs)...))
}

// madeAlone lists the checks that [Alone] makes; a line of a configuration may fail other
// checks by itself.
var madeAlone = strings.Fields(`CFG-01 CLS-01 CLS-03 CLS-04 CLS-05 CLS-06 CLS-07 CLS-17 CLS-18 CLS-19 PFC-01 PFC-03 PFC-04 PFC-05 PFC-06 PFC-11 PFC-12
	PFC-15 BUF-08 ECN-01 ECN-02 ECN-03 ECN-08 ECN-09 ECN-10 SCH-02 SCH-03 SCH-07 MTU-02 WD-01 WD-03 WD-05 WD-06 PRT-02 UNKNOWN
	CLS-12 MTU-05 WD-04`)

// MadeAlone reports whether [Alone] makes a check.
func MadeAlone(id string) bool { return slices.Contains(madeAlone, id) }

// soloRun checks one configuration.
type soloRun struct {
	c    *Config
	text *configText
	list []aloneFinding
	seen map[aloneCause]int
	half map[string]bool // ports with half of a watchdog configuration, which get no WD-01
	// lineSaid holds the checks, blocks and reasons of lines that already have a finding.
	lineSaid map[aloneCause]bool
	// unpaused holds ports that have PFC lines but pause nothing.
	unpaused map[string]bool
	// everywhere holds the priorities that every port with PFC pauses.
	everywhere qos.PrioritySet
}

// aloneFinding is a finding, with the data to look up its place.
type aloneFinding struct {
	checks.Finding
	attr qos.Attr
	line int    // 0 to find the line by attr
	row  string // row of a configuration without lines
}

type aloneCause struct {
	id, what string
	line     int
}

// found adds a finding about an attribute of a port; port is "" for the switch.
func (r *soloRun) found(id string, s checks.Severity, port string, attr qos.Attr, what string, args ...any) {
	r.add(aloneFinding{Finding: checks.Finding{ID: id, Severity: s, What: fmt.Sprintf(what, args...)}, attr: attr}, port)
}

// foundAt adds a finding about a line.
func (r *soloRun) foundAt(id string, s checks.Severity, port string, line int, what string, args ...any) {
	r.add(aloneFinding{Finding: checks.Finding{ID: id, Severity: s, What: fmt.Sprintf(what, args...)}, line: line}, port)
}

func (r *soloRun) add(f aloneFinding, port string) {
	check := Lookup(f.ID)
	check.MayFind(f.Severity)
	key := aloneCause{f.ID, f.What, f.line}
	if port != "" && f.line > 0 {
		key.line = -1 // equal lines of several ports make one finding
	}
	i, ok := r.seen[key]
	if !ok {
		i = len(r.list)
		r.seen[key] = i
		f.Device, f.Fix = r.c.Name, cmp.Or(f.Fix, aloneFix(check))
		r.list = append(r.list, f)
	}
	if port != "" {
		r.list[i].Ports = append(r.list[i].Ports, port)
	}
}

// aloneFixes replace the fixes of checks that tell the user to change the intent.
var aloneFixes = map[string]string{
	"MTU-02": "raise the MTU of the port to 9000 or more, as on every port of the path",
	"ECN-01": "give the queue WRED thresholds with ECN",
	"ECN-03": "lower the thresholds",
	"SCH-02": "give the queue a weight, or a limit to its rate",
	"SCH-03": "give the queue a larger weight",
	"PFC-01": "if the two are linked, pause the same priorities on both ends",
	"CLS-01": "if the two are in one fabric, give each DSCP one class everywhere",
	"WD-01":  "switch the PFC watchdog on at the port: one bad NIC can pause the whole fabric",
	"WD-03":  "watch all lossless priorities",
	"WD-05":  "shorten the detection time to at most 1s",
}

// aloneFix returns the fix of a check when there is no intent to apply.
func aloneFix(c *checks.Check) string {
	fix := cmp.Or(aloneFixes[c.ID], strings.TrimSuffix(c.Fix, ": "+checks.ApplyIntent))
	if strings.Contains(fix, checks.ApplyIntent) {
		return ""
	}
	return fix
}

// findings returns the findings, each with the place of its first port.
func (r *soloRun) findings() []checks.Finding {
	out := make([]checks.Finding, 0, len(r.list))
	for _, f := range r.list {
		port := ""
		if len(f.Ports) > 0 {
			port = f.Ports[0]
		}
		if f.Where = r.where(f.line, port, f.attr); r.text.rows && f.row != "" {
			f.Where = r.c.File + " " + term.CleanLine(f.row)
		}
		out = append(out, f.Finding)
	}
	return out
}

// port checks the configuration of a port.
func (r *soloRun) port(name string, q *qos.Port) {
	paused := q.PFC.Or(0)
	for n := range q.Queues {
		if e := q.Queues[n].ECN.V; upsideDown(e) {
			e.Other = ""
			r.found("ECN-02", checks.Error, name, qos.KindECN.At(n), "queue %d marks from %s: its min is above its max", n, e)
		}
	}
	r.groups(name, q, paused)
	r.watchdog(name, q, paused)
	if paused == 0 {
		return
	}
	if q.LinkPause.V {
		r.found("PFC-05", checks.Error, name, qos.KindLinkPause.Attr(), "IEEE 802.3x link pause is on together with PFC %s", paused)
	}
	if set := r.withGroup(name, q, paused); set.Len() > pfc.UsualClasses && (r.everywhere.Len() > pfc.UsualClasses || set.Len() > 2*pfc.UsualClasses) {
		r.found("PFC-06", checks.Warning, name, qos.KindPFC.Attr(), "%d lossless classes: priorities %s", set.Len(), set)
	}
	if high := paused & qos.Priorities(6, 7); high != 0 {
		r.found("PFC-12", checks.Warning, name, qos.KindPFC.Attr(), "priorities %s are lossless, and control traffic uses 6 and 7", high)
	}
	if q.Trust.V == qos.TrustPCP {
		r.found("CLS-04", checks.Warning, name, qos.KindTrust.Attr(), "lossless traffic is classified by PCP, which routed and untagged frames do not carry")
	}
	if need := fullPayload + intent.RDMAOverhead; q.MTU.Set && q.MTU.V < need {
		r.found("MTU-02", checks.Warning, name, qos.KindMTU.Attr(), "the MTU is %d B; an RDMA packet of %d B has %d B with its headers, and smaller ones cost throughput", q.MTU.V, fullPayload, need)
	}
	m := r.c.Running.ClassifiedBy(name)
	if m != nil && q.Trust.V != qos.TrustPCP {
		r.classification(name, m, paused)
	}
	var unmarked qos.PrioritySet
	for _, p := range paused.List() {
		n := queueOf(m, p)
		if e := q.Queues[n].ECN; e.Set && !r.curve(name, q, p, n) && !e.V.Enabled {
			unmarked |= qos.Priorities(p)
		}
		r.served(name, q, m, p, n)
	}
	if unmarked != 0 {
		r.found("ECN-01", checks.Warning, name, qos.KindECN.At(queueOf(m, unmarked.List()[0])), "lossless priorities %s are not marked: PFC is their only congestion control", unmarked)
	}
}

// fullPayload is the largest payload of an RDMA packet, in bytes (Linux
// include/rdma/ib_addr.h).
const fullPayload = 4096

// queueOf returns the queue of a lossless priority: the queue of its traffic class, or the
// queue that its pause stops if no DSCP is in that class.
func queueOf(m *qos.Maps, prio int) int {
	if m == nil {
		return prio
	}
	tables := [][qos.NumPriorities]int8{m.TCToQueue, m.PFCToQueue}
	if !reached(m, prio) {
		slices.Reverse(tables)
	}
	for _, t := range tables {
		if n := int(t[prio]); n >= 0 && n < qos.NumPriorities {
			return n
		}
	}
	return prio
}

// reached reports whether any DSCP is in a traffic class.
func reached(m *qos.Maps, tc int) bool {
	for d := range m.DSCPToTC {
		if tcOf(m, d) == tc {
			return true
		}
	}
	return false
}

// tcOf returns the traffic class of a DSCP. A DSCP that the map does not list is in traffic
// class 0.
func tcOf(m *qos.Maps, dscp int) int { return max(0, int(m.DSCPToTC[dscp])) }

// classification checks which packets are classified into the lossless priorities.
func (r *soloRun) classification(name string, m *qos.Maps, paused qos.PrioritySet) {
	for table, id := range map[[2]qos.Table]string{{qos.TCToQueue, qos.PFCToQueue}: "CLS-05", {qos.TCToGroup, qos.PFCToGroup}: "CLS-06"} {
		a, b := m.Table(table[0]), m.Table(table[1])
		for _, p := range paused.List() {
			if x, y := a[p], b[p]; x >= 0 && y >= 0 && x != y && reached(m, p) {
				what := map[string]string{"CLS-05": "queue", "CLS-06": "priority group"}[id]
				r.found(id, checks.Error, name, qos.KindMap.Table(table[0]), "traffic class %d uses %s %d, but pause of priority %d belongs to %s %d", p, what, x, p, what, y)
			}
		}
	}
	into := map[int][]int{}
	listed := false
	for d, tc := range m.DSCPToTC {
		listed = listed || tc >= 0
		into[tcOf(m, d)] = append(into[tcOf(m, d)], d)
	}
	if !listed {
		return // the switch does not show how it classifies
	}
	// On some systems the pause of a priority stops the queue of another class, and systems
	// without a trust mode classify by both fields.
	used := func(p int) bool {
		if to := m.PFCToQueue[p]; to >= 0 && len(reaching(m, int(to))) > 0 {
			return true
		}
		return len(into[p]) > 0 || !r.c.Running.Ports[name].Trust.Set && slices.Contains(m.PCPToTC[:], int8(p))
	}
	unused := checks.Error
	if slices.ContainsFunc(paused.List(), used) {
		unused = checks.Warning
	}
	for _, p := range paused.List() {
		ds := into[p]
		switch {
		case len(ds) == 0 && used(p):
		case len(ds) == 0:
			r.found("CLS-19", unused, name, class.DSCPField, "priority %d is lossless, and no DSCP reaches it", p)
		case slices.Contains(ds, 0):
			how := ""
			if m.DSCPToTC[0] < 0 {
				how = ", because the map does not list them"
			}
			r.found("CLS-03", checks.Warning, name, class.DSCPField, "DSCP %s are in lossless priority %d%s: DSCP 0 is what every host sends by default", qos.FoldInts(ds), p, how)
		case slices.Contains(ds, class.ControlDSCPs[0]), slices.Contains(ds, class.ControlDSCPs[1]):
			r.found("CLS-18", checks.Warning, name, class.DSCPField, "lossless priority %d has DSCP %s, and control protocols use %s", p, qos.FoldInts(ds), qos.FoldInts(class.ControlDSCPs))
		}
		if to := int(m.TCToDSCP[p]); to >= 0 && to < qos.NumDSCP && tcOf(m, to) != p {
			r.found("CLS-07", checks.Error, name, qos.KindMap.Table(qos.TCToDSCP), "packets of lossless priority %d leave with DSCP %d, which this switch has in traffic class %d", p, to, tcOf(m, to))
		}
	}
}

// curve checks the marking of a lossless queue, and reports whether it found a fault.
func (r *soloRun) curve(name string, q *qos.Port, prio, n int) bool {
	e := q.Queues[n].ECN.V
	at := qos.KindECN.At(n)
	k := &intent.Class{Name: fmt.Sprint(prio)}
	g := q.Groups[prio].Headroom
	lo, _ := e.Unit.Split()
	switch {
	case e.Drops, !e.Enabled && dropsAtRandom.MatchString(e.Other):
		r.found("ECN-08", checks.Error, name, at, "WRED on queue %d of lossless priority %d drops packets and marks none", n, prio)
	case ecn.Inert(nil, k, e, qos.ECN{}) != nil:
		r.found("ECN-09", checks.Error, name, at, "queue %d of lossless priority %d has the curve %s", n, prio, e)
	case !upsideDown(e) && ecn.OddCurve(nil, k, e, qos.ECN{}) != nil:
		r.found("ECN-02", checks.Error, name, at, "queue %d of lossless priority %d has min = max with a probability of %d %%", n, prio, e.Probability)
	case ecn.Averaged(nil, k, e, qos.ECN{}) != nil:
		r.found("ECN-10", checks.Warning, name, at, "queue %d of lossless priority %d marks by an average of weight %d", n, prio, e.Weight)
	case e.Enabled && g.Set && g.V.Static && lo == qos.UnitBytes && g.V.Threshold > 0 && e.Min > g.V.Threshold:
		r.found("ECN-03", checks.Warning, name, at, "queue %d marks from %s, and priority group %d pauses at %d B: one sender is paused before it is marked", n, e, prio, g.V.Threshold)
	default:
		return false
	}
	return true
}

// upsideDown reports whether a curve has its min above its max.
func upsideDown(e qos.ECN) bool {
	order, known := e.Order()
	return (e.Enabled || e.Drops) && e.Max != 0 && known && order > 0
}

// leastShare is the share of a link, in percent, below which a lossless queue starves.
const leastShare = 5

// manyDSCPs is the most DSCPs that control traffic and notifications may have: CS6, CS7 and all
// DSCPs of the same precedence.
const manyDSCPs = 16

// served checks the share of the link that a lossless queue gets.
func (r *soloRun) served(name string, q *qos.Port, m *qos.Maps, prio, n int) {
	s := q.Queues[n].Scheduler
	if !s.Set || s.V.Strict || s.V.Other != "" {
		return
	}
	sum := 0
	for i := range q.Queues {
		o := q.Queues[i].Scheduler.V
		sum += o.Weight
		// On systems with lines, a strict queue below a queue with a weight is not served
		// before it.
		if ds := reaching(m, i); (i > n || i < n && r.text.rows) && o.Strict && o.MaxRate == 0 && (slices.Contains(ds, 0) || len(ds) > manyDSCPs) {
			r.found("SCH-02", checks.Warning, name, qos.KindScheduler.At(i), "strict queue %d has no rate limit, takes DSCP %s and is served before queue %d of lossless priority %d", i, qos.FoldInts(ds), n, prio)
		}
	}
	switch {
	case sum == 0:
	case s.V.Weight == 0:
		r.found("SCH-07", checks.Warning, name, qos.KindScheduler.At(n), "queue %d of lossless priority %d has no share of the link, and others have", n, prio)
	case s.V.Weight*100 < leastShare*sum:
		r.found("SCH-03", checks.Warning, name, qos.KindScheduler.At(n), "queue %d of lossless priority %d has %d of %d parts of the link", n, prio, s.V.Weight, sum)
	}
}

// reaching returns the DSCPs in a queue.
func reaching(m *qos.Maps, queue int) (out []int) {
	if m == nil {
		return nil
	}
	for d := range m.DSCPToTC {
		if tc := tcOf(m, d); tc < qos.NumPriorities && (int(m.TCToQueue[tc]) == queue || m.TCToQueue[tc] < 0 && tc == queue) {
			out = append(out, d)
		}
	}
	return out
}

// groupOr returns the priority group of a priority; without a map it has the priority's number.
func groupOr(m *qos.Maps, prio int) int {
	if g := pfc.Group(m, prio); g >= 0 {
		return g
	}
	return prio
}

// withGroup returns the priorities whose groups are not bound to a lossy profile.
func (r *soloRun) withGroup(name string, q *qos.Port, paused qos.PrioritySet) qos.PrioritySet {
	m := r.c.Running.ClassifiedBy(name)
	for _, p := range paused.List() {
		if g := q.Groups[groupOr(m, p)]; g.Buffer.Set && g.Lossless.Set && !g.Lossless.V {
			paused &^= qos.Priorities(p)
		}
	}
	return paused
}

// groups checks the priority groups that a configuration binds to a profile.
func (r *soloRun) groups(name string, q *qos.Port, paused qos.PrioritySet) {
	m := r.c.Running.ClassifiedBy(name)
	of := [qos.NumPriorities]bool{}
	has := r.withGroup(name, q, paused)
	for _, p := range paused.List() {
		g := groupOr(m, p)
		if of[g] = true; !has.Has(p) {
			r.found("PFC-03", checks.Error, name, qos.KindGroupBuffer.At(g), "PFC is on for priority %d, and priority group %d has the lossy profile %s", p, g, term.CleanLine(q.Groups[g].Buffer.V))
		}
	}
	for g := range q.Groups {
		h := q.Groups[g].Headroom
		stated := q.Groups[g].Buffer.Set || q.Groups[g].DerivedFrom.Set
		if !q.Groups[g].Lossless.V || !stated {
			continue
		}
		if !of[g] {
			r.found("PFC-04", checks.Error, name, qos.KindGroupBuffer.At(g), "priority group %d is lossless, but PFC is off for all its priorities", g)
		}
		if h.Set && h.V.XOFF > 0 && h.V.XON == 0 && h.V.XONOffset == 0 {
			r.found("PFC-11", checks.Warning, name, qos.KindHeadroom.At(g), "the profile of lossless priority group %d has neither xon nor an xon offset", g)
		}
	}
	for _, p := range paused.List() {
		n := queueOf(m, p)
		pool, b := r.c.Running.Pools[catalog.IngressPool].Size, q.Queues[n].Buffer
		model, _ := catalog.ModelOf(r.c.Running.Platform.OS, r.c.Running.Platform.Model)
		if limit, sure, short := buffers.EgressShort(r.c.Running, model, b.V, pool); b.Set && short {
			severity := checks.Warning
			if sure {
				severity = checks.Error
			}
			r.found("BUF-08", severity, name, qos.KindQueueBuffer.At(n), "profile %s on queue %d of lossless priority %d is limited to %d B, the ingress pool has %d B", term.CleanLine(b.V), n, p, limit, pool)
		}
	}
}

func (r *soloRun) watchdog(name string, q *qos.Port, paused qos.PrioritySet) {
	w, at := q.Watchdog.V, qos.KindWatchdog.Attr()
	switch {
	case !q.Watchdog.Set:
	case r.text.rows && w.Enabled && w.Priorities == 0:
		r.found("WD-06", checks.Warning, name, at, "the row of the watchdog guards no priority: pfcwd_sw_enable names none")
	case r.text.rows && !w.Enabled && w.Priorities != 0:
		r.found("WD-06", checks.Warning, name, qos.KindPFC.Attr(), "pfcwd_sw_enable names priorities %s, and the watchdog has no row for the port", w.Priorities)
	case paused == 0:
	case !w.Enabled:
		r.found("WD-01", checks.Warning, name, qos.KindPFC.Attr(), "PFC %s has no watchdog", paused)
	case paused&^w.Priorities != 0:
		r.found("WD-03", checks.Warning, name, at, "lossless priorities %s are not watched", paused&^w.Priorities)
	case w.Detect > pfc.LongDetect:
		r.found("WD-05", checks.Warning, name, at, "a PFC storm lasts %s before the watchdog acts", w.Detect)
	}
}

// bundles compares the members of each aggregate that carries lossless traffic.
func (r *soloRun) bundles() {
	firsts := map[string]*qos.Port{}
	for _, name := range natural.Keys(r.c.Running.Ports) {
		q := r.c.Running.Ports[name]
		was := firsts[q.LAG.V]
		switch {
		case q.LAG.V == "":
		case was == nil:
			firsts[q.LAG.V] = q
		case was.PFC.Or(0)|q.PFC.Or(0) != 0:
			if fields := ports.Differing(was, q); len(fields) > 0 {
				r.found("PRT-02", checks.Error, name, fields[0], "members of %s differ in %s", term.CleanLine(q.LAG.V), fieldNames(fields))
			}
		}
	}
}

// fieldNames lists the names of fields; all fields of queues share one name, as do those of
// groups.
func fieldNames(fields []qos.Attr) string {
	var said []string
	for _, f := range fields {
		if base := cmp.Or(ports.Several[f.Kind.Of()], f.String()); !slices.Contains(said, base) {
			said = append(said, base)
		}
	}
	return strings.Join(said, ", ")
}

// account adds findings for lines that fail a check by themselves, and counts the lines that
// are not understood.
func (r *soloRun) account() {
	unknown, at := 0, ""
	for i := range r.c.Account {
		l := &r.c.Account[i]
		id := l.Check
		if whole := halves[id]; whole != "" && l.Fate == render.Inert {
			id = whole
		} else if id == "" && halfOfWatchdog(l) {
			id = "WD-06"
		}
		check := Lookup(id)
		switch {
		case check != nil:
			r.fails(check, l)
		case l.Fate == render.Unknown:
			if unknown++; at == "" {
				at = strings.Trim(l.Place()+": "+l.Text, ": ")
			}
		}
	}
	if unknown > 0 {
		what := fmt.Sprintf("%d lines are not understood, the first is %s", unknown, term.CleanLine(at))
		if unknown == 1 {
			what = "1 line is not understood: " + term.CleanLine(at)
		}
		r.add(aloneFinding{Finding: checks.Finding{ID: "UNKNOWN", Severity: checks.Info, What: what, Unchecked: "some QoS lines", Because: "this tool does not understand them"}}, "")
	}
	r.list = slices.DeleteFunc(r.list, func(f aloneFinding) bool {
		if f.ID == "WD-01" {
			f.Ports = slices.DeleteFunc(f.Ports, func(p string) bool { return r.half[p] })
		}
		return f.ID == "WD-01" && len(f.Ports) == 0
	})
}

// halfOfWatchdog reports whether a line is half of a watchdog configuration and does nothing.
func halfOfWatchdog(l *render.Line) bool {
	return (l.Fate == render.Inert || l.Fate == render.Unknown) && watchdogLine.MatchString(l.Where+" "+l.Text) && halfOf.MatchString(l.Why)
}

// halves maps a check to the check that a line without effect fails: that only half of the
// setting is configured.
var halves = map[string]string{"PFC-03": "PFC-15", "PFC-04": "CFG-01", "PFC-07": "PFC-15", "WD-01": "WD-06", "WD-03": "WD-06"}

// fails adds a finding for a line that fails a check by itself, unless there is one already.
func (r *soloRun) fails(check *checks.Check, l *render.Line) {
	port := strings.TrimPrefix(l.Where, "interface ")
	if l.No == 0 {
		_, port, _ = strings.Cut(l.Where, "|")
		port, _, _ = strings.Cut(port, "|")
	}
	ports := l.Ports
	if r.c.Running.Ports[port] != nil {
		ports = []string{port}
	}
	said := slices.ContainsFunc(r.list, func(f aloneFinding) bool {
		if f.ID != check.ID {
			return false
		}
		return len(ports) > 0 && slices.Contains(f.Ports, ports[0]) || f.row == "" && (f.line == 0 || len(ports) == 0)
	})
	again := aloneCause{check.ID, l.Where + "\n" + l.Why, 0}
	if said || r.lineSaid[again] || (check.ID == "WD-06" || check.ID == "PFC-15") && len(ports) > 0 && r.unpaused[ports[0]] {
		return // a port that pauses nothing has nothing to watch
	}
	r.lineSaid[again] = true
	f := aloneFinding{line: l.No, row: cmp.Or(l.Where, l.Text), Finding: checks.Finding{ID: check.ID, Severity: check.Rules[len(check.Rules)-1].Severity, What: cmp.Or(l.Why, check.Title)}}
	if check.ID == "PFC-15" {
		f.Severity = checks.Error
	}
	if text := strings.Trim(l.Text, ": "); text != "" {
		f.What = term.CleanLine(text) + ": " + f.What
	}
	if len(ports) == 0 {
		if l.No == 0 {
			f.What = term.CleanLine(l.Where) + " " + f.What
		}
		ports = []string{""}
	}
	for _, p := range ports {
		r.half[p] = r.half[p] || check.ID == "WD-06"
		r.add(f, p)
	}
}
