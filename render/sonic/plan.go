package sonic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Site holds what a plan needs to know about the switch besides its configuration.
type Site struct {
	Release Release
	Chip    string // the updater's name of the ASIC, "" if the updater does not know it
	Maker   string // vendor of the ASIC, as in the catalogue; "" if unknown
	SSH     bool
	// Direct is set if every row is loaded over SSH, bypassing the config updater: no port goes
	// down for a row. SSH is then true. Why gives the reason, and what has validated the rows.
	Direct bool
	Why    string
	// Check validates a configuration against the models of the switch's image; nil if they are not
	// known. It is called only if Direct is set: the config updater validates by itself.
	Check func(Config) []Fault
	// SSHDown is the reason that SSH is not used although it is configured, GNMIDown the same for
	// gNMI.
	SSHDown, GNMIDown error
	Policy            Policy
	// Headroom is the table in which buffermgrd looks up the headroom of lossless groups; nil if it
	// is not known. HeadroomOf names its source for messages.
	Headroom   []qos.HeadroomRow
	HeadroomOf string
	// Left maps each port that a run left down to that run; nil if this is not known.
	Left map[string]string
}

// Fault is an entry of a configuration that the models of an image do not allow.
type Fault struct {
	Table, Key string // Key "" means the whole table
	What       string
}

// Policy limits how much the steps may disturb at once.
type Policy struct {
	// PortGroup is the maximum number of ports that are down at the same time.
	PortGroup int `json:"port_group"`
	// Uplinks are never all down at the same time if there is more than one.
	Uplinks []string `json:"uplinks,omitempty"`
}

// Plan brings a switch to its desired state.
type Plan struct {
	Running *qos.Device // what the switch holds
	Base    string      // digest of the state that the plan starts from
	Changes []qos.Change
	Steps   []Step
	Notes   []string
	Unknown []Unknown
}

// planner works out the ops for one device and the transport for each.
type planner struct {
	Site
	running, target Config
	desired         *qos.Device
	after           Config // running after all ops of the target
	changes         []qos.Change
	byPort          map[string][]int // port -> indexes of changes
	ops             []Op
	notes           []string
	// concerns holds the maps whose change also affects ports outside of the intent.
	concerns map[string]bool
}

// Plan returns the steps from running to desired.
func (s Site) Plan(running Config, desired *qos.Device) *Plan {
	have, unknown := Decode(running)
	desired, ports := withLeft(desired, running, s.Left)
	out := &Plan{Running: have, Unknown: unknown}
	if desired.Empty() { // a switch without a port in the intent is not changed
		out.Base = Digest(running, desired)
		return out
	}
	p := &planner{Site: s, running: running}
	p.adopted(have, desired)
	out.Base = digest(running, p.target)
	if len(p.changes) > 0 {
		p.notes = append(p.notes, explainRaisedPorts(p.changes, ports, s.Left)...)
		p.index()
		p.blockReadOnly()
		p.blockUnderived()
		p.collect()
		p.route()
		p.blockLeftover()
		p.setImpacts()
		p.obsolete()
		out.Steps = s.steps(running, p.ops)
		p.notes = append(p.notes, p.unbound(out.Steps)...)
		p.notes = append(append(p.notes, s.noteLastUplink(running, out.Steps)...), s.noteDirectWrites(out.Steps)...)
	}
	out.Changes, out.Notes = p.changes, append(p.notes, s.remarks(running, desired)...)
	return out
}

// noteDirectWrites notes how rows bypass the config updater, and what that disturbs.
func (s Site) noteDirectWrites(steps []Step) (notes []string) {
	if !s.Direct || len(steps) == 0 {
		return nil
	}
	note := "rows go into CONFIG_DB over ssh with 'config load', " + s.Why
	if !slices.ContainsFunc(steps, Step.Flaps) {
		note += "; no port is shut"
	}
	if slices.ContainsFunc(steps, func(s Step) bool {
		return slices.ContainsFunc(s.Ops, func(o Op) bool { return buffers(o.Table) })
	}) {
		note += "; the switch may drop packets while its buffers change: what its ASIC does meanwhile is not documented"
	}
	return []string{note}
}

// remarks notes the assumptions of the plan, and where the intent and the switch disagree about the
// switch itself.
func (s Site) remarks(running Config, desired *qos.Device) (notes []string) {
	if s.GNMIDown != nil {
		notes = append(notes, fmt.Sprintf("gNMI does not serve the databases of this switch, so everything goes over ssh (%v)", s.GNMIDown))
	}
	if s.SSHDown != nil {
		notes = append(notes, fmt.Sprintf("ssh is configured and does not answer, so the plan does without it (%v)", s.SSHDown))
	}
	if _, known := LookupRelease(s.Release.Name); !known {
		notes = append(notes, "the release of this switch is not known; the plan allows only what every release allows (state it in the intent: release: 202511)")
	}
	notes = append(notes, s.noteShutPorts(running, desired)...)
	if desired.WatchdogPoll.Set && running.Row(TWatchdog, "GLOBAL") == nil {
		notes = append(notes, "PFC_WD|GLOBAL stays after a rollback, with the interval that the switch has without it: up to 202605 orchagent crashes when the row is removed")
	}
	have := running.Row(TMetadata, "localhost")
	if m := desired.Platform.Model; m != "" && have["hwsku"] != "" && !strings.EqualFold(m, have["hwsku"]) {
		notes = append(notes, fmt.Sprintf("the intent says model %s, the switch says %s", m, have["hwsku"]))
	}
	expected := map[bool]string{true: "dynamic", false: "traditional"}[desired.Platform.DynamicBuffers]
	if model := have["buffer_model"]; model != "" && (model == "dynamic") != desired.Platform.DynamicBuffers {
		notes = append(notes, fmt.Sprintf("the intent expects the %s buffer model, the switch runs %s; state bufferModel in the intent", expected, model))
	}
	return notes
}

func (p *planner) index() {
	p.byPort = map[string][]int{}
	for i, c := range p.changes {
		p.byPort[c.Port] = append(p.byPort[c.Port], i)
	}
}

// Digest identifies the state that a plan starts from: every row that desired sets, and every
// binding of its ports. Rows of other owners are left out.
func Digest(running Config, desired *qos.Device) string {
	have, _ := Decode(running)
	p := planner{running: running}
	p.adopted(have, desired)
	return digest(running, p.target)
}

// adopted works out the target rows, reusing objects of the switch as far as possible, and the
// changes that they make. Switch-wide changes that the ports of the intent do not need are left
// out.
func (p *planner) adopted(have, desired *qos.Device) {
	desired = desired.Completed(have)
	if plain := unclassified(have, desired); plain != desired && len(qos.Diff(have, plain)) == 0 {
		desired = plain
	}
	p.target = Target(desired)
	left, changes, notes := scope(p.running, p.target, desired, qos.Diff(have, desired))
	p.desired, p.changes = desired.Keeping(have, left), changes
	more, concerns := adopt(p.running, p.target, p.desired, changes)
	p.notes, p.concerns = append(notes, more...), concerns
}

func digest(running, target Config) string {
	sum := sha256.Sum256(managed(running, target).AppendJSON(make([]byte, 0, 64<<10)))
	return hex.EncodeToString(sum[:])
}

// managed returns the part of a configuration that the target covers.
func managed(running, target Config) Config {
	out := Config{}
	for tn, t := range target {
		for key, want := range t {
			row := running.Row(tn, key)
			if row == nil || slices.Contains(ranged, tn) {
				continue
			}
			if byField(tn, key) {
				part := Row{}
				for f := range want {
					if v, ok := row[f]; ok {
						part[f] = v
					}
				}
				row = part
			}
			out.Put(tn, key, row)
		}
	}
	for _, tn := range ranged {
		for key, row := range running[tn] {
			port, _, _ := strings.Cut(key, "|")
			// Rows that buffermgrd derives change with their inputs, which are covered.
			if target.Row(TPortQoS, port) != nil && !Derived(row["profile"]) {
				out.Put(tn, key, row)
			}
		}
	}
	// The admin state decides how the rows of a port are written, and a port that someone shut in
	// the meantime must not be brought up.
	for port := range target[TPortQoS] {
		if row := running.Row(TPort, port); row != nil {
			part := out.Row(TPort, port)
			if part == nil {
				part = Row{}
				out.Put(TPort, port, part)
			}
			part["admin_status"] = row["admin_status"]
		}
	}
	return out
}

// collect keeps the ops that a change needs: a port must not flap only for a different name.
func (p *planner) collect() {
	p.Release.clearBeforeRemoval(p.running, p.target)
	all := delta(p.running, p.target)
	p.after = p.running.After(all)
	keep := map[string]bool{}
	for _, o := range all {
		if len(p.carried(o)) > 0 {
			keep[o.groupKey()] = true
		}
	}
	// Changing an object in place affects every port that uses it. A port that wants the old value
	// must be bound to another object, though nothing differs on it yet.
	for range 3 {
		p.choose(all, keep)
		ports := map[string]bool{}
		for _, c := range p.remaining() {
			// Do not rely on a flap by some op to have groups derived; bounce takes care of that.
			if c.Port != "" && !p.derives(c.Field) {
				ports[c.Port] = true
			}
		}
		before := len(keep)
		for _, o := range all {
			if port := o.PortOf(); port != "" && ports[port] && !keep[o.groupKey()] {
				keep[o.groupKey()] = true
			}
		}
		if len(keep) == before {
			break
		}
		p.index()
	}
	p.ops = restartWatchdogs(p.ops, p.running)
	p.bounce()
}

// bounce makes ports go down and up if buffermgrd would otherwise keep their headroom: it looks a
// port up again when PFC, speed or admin state change, but only newer releases do so when the cable
// length changes. Ports with missing groups are bounced only if the switch is known to have
// headroom for them, and if no op binds the groups (see regroup).
func (p *planner) bounce() {
	settled := map[string]bool{}
	cable := map[string]int{}
	for i, o := range p.ops {
		if p.rederives(o) || o.Table == TGroup && o.Row["profile"] == derivedProfile(p.after, o.PortOf()) {
			settled[o.PortOf()] = true
		}
		if o.Table == TCable && o.Field != "" {
			cable[o.Field] = i
		}
	}
	for _, c := range p.changes {
		if !p.lacksHeadroom(c) || c.Blocked != "" || settled[c.Port] || !p.running.Up(c.Port) {
			continue
		}
		if known, _ := p.headroom(c.Port); !known && (c.Field.Kind != qos.KindDerivedFrom || c.Old == qos.Absent) {
			continue
		}
		i, changes := cable[c.Port]
		switch length, stated := p.after.Row(TCable, cableName)[c.Port]; {
		case changes && p.Release.CableRederives:
			continue
		case changes:
			p.ops[i].Bounce = true
		case stated:
			p.ops = append(p.ops, Op{Table: TCable, Key: cableName, Field: c.Port, Value: length, Bounce: true})
		}
		settled[c.Port] = true
	}
}

// rederives reports whether buffermgrd looks up the headroom of the op's port again, because its PFC
// changes or because the config updater takes it down for the op.
func (p *planner) rederives(o Op) bool {
	return o.PortOf() != "" && (!p.Direct || o.changesPFC(p.running))
}

// changesPFC reports whether an op changes the PFC priorities of a port.
func (o Op) changesPFC(running Config) bool {
	return o.Table == TPortQoS && o.PortOf() != "" && running.Row(TPortQoS, o.Key)["pfc_enable"] != o.Row["pfc_enable"]
}

// regroup adds ops that write groups back if a removal takes them away, or if an interrupted run
// did. It does so only on ports that buffermgrd does not look up again. When a row is removed,
// orchagent unbinds all of its groups, even if another row names them too (sonic-swss
// orchagent/bufferorch.cpp).
func (p *planner) regroup() {
	anew, lost := map[string]bool{}, map[string]string{} // port -> profile
	for _, o := range p.ops {
		switch profile := p.running.Row(TGroup, o.Key)["profile"]; {
		case p.rederives(o):
			anew[o.PortOf()] = true
		case o.Table == TCable && p.Release.CableRederives:
			anew[o.Field] = true
			for port := range o.Row {
				anew[port] = true
			}
		case o.Table == TGroup && o.Del && Derived(profile):
			lost[o.PortOf()] = profile
		}
	}
	for _, c := range p.changes {
		if c.Field.Kind == qos.KindDerivedFrom && c.Old == qos.Absent && lost[c.Port] == "" && !p.desired.Platform.DynamicBuffers {
			// A profile that the switch has never made cannot be bound.
			if profile := derivedProfile(p.after, c.Port); p.running.Row(TProfile, profile) != nil {
				lost[c.Port] = profile
			}
		}
	}
	for _, port := range natural.Keys(lost) {
		if anew[port] {
			continue
		}
		for _, indexes := range pausing(p.after.Row(TPortQoS, port)["pfc_enable"]) {
			p.ops = append(p.ops, Op{Table: TGroup, Key: port + "|" + indexes, Row: Row{"profile": lost[port]}})
		}
	}
}

// pausing returns the index ranges of the groups that buffermgrd makes from pfc_enable, with one
// row for adjacent priorities: "2,3,6" gives 2-3 and 6 (sonic-swss cfgmgr/buffermgr.cpp).
func pausing(enable string) (rows []string) {
	var on [8]bool
	for _, prio := range strings.Split(enable, ",") {
		if n, err := strconv.Atoi(prio); err == nil && n >= 0 && n < len(on) {
			on[n] = true
		}
	}
	for i := 0; i < len(on); i++ {
		from := i
		for i < len(on) && on[i] {
			i++
		}
		switch last := i - 1; {
		case last == from:
			rows = append(rows, strconv.Itoa(from))
		case last > from:
			rows = append(rows, fmt.Sprintf("%d-%d", from, last))
		}
	}
	return rows
}

// groupKey returns a label that is the same for ops that must be kept or dropped together:
// replacing a key that covers several indexes takes several ops.
func (o Op) groupKey() string {
	if slices.Contains(ranged, o.Table) {
		return o.Table + "|" + o.PortOf()
	}
	return o.Table + "|" + o.Key + "|" + o.Field
}

// choose selects the ops to keep, and the ops on the objects that they refer to.
func (p *planner) choose(all []Op, keep map[string]bool) {
	needed := map[string]bool{} // "TABLE|key"
	for _, o := range all {
		if keep[o.groupKey()] {
			refs(o.Table, o.Row, func(t, n string) { needed[t+"|"+n] = true })
		}
	}
	p.ops = p.ops[:0]
	for _, o := range all {
		if keep[o.groupKey()] || needed[o.Table+"|"+o.Key] {
			p.ops = append(p.ops, o)
		}
	}
	if p.Direct {
		p.regroup()
	}
}

// remaining returns the differences that are left after the ops. Differences that the switch
// derives or that are known to be blocked do not count.
func (p *planner) remaining() []qos.Change {
	anew := map[string]bool{} // ports whose groups buffermgrd will derive again
	for _, o := range p.ops {
		if p.desired.Platform.DynamicBuffers {
			continue
		}
		switch {
		case o.Table == TCable && o.Field != "":
			anew[o.Field] = true
		case o.Table == TCable:
			for port := range o.Row {
				anew[port] = true
			}
		case o.Table == TPort && o.Field == "admin_status":
			anew[o.Key] = o.Value == "up" || anew[o.Key]
		case p.rederives(o):
			anew[o.PortOf()] = true
		}
	}
	blocked := map[qos.Place]bool{}
	for _, c := range p.changes {
		if c.Blocked != "" {
			blocked[c.Place()] = true
		}
	}
	dev, _ := Decode(p.running.After(p.ops))
	return slices.DeleteFunc(qos.Diff(dev, p.desired), func(c qos.Change) bool {
		return blocked[c.Place()] || anew[c.Port] && p.derives(c.Field)
	})
}

// blockLeftover blocks the changes that no op makes, so that none is dropped silently.
func (p *planner) blockLeftover() {
	at := make(map[qos.Place]int, len(p.changes))
	for i, c := range p.changes {
		at[c.Place()] = i
	}
	for _, left := range p.remaining() {
		why := "cannot be changed on SONiC by this tool; set it on the switch, or remove it from the intent"
		if left.Field.Kind == qos.KindLossless && !p.desired.Platform.DynamicBuffers {
			why = "the switch derives the headroom of a lossless group from speed and cable length, and has none for this port: see its pg_profile_lookup.ini and syslog, then take the port down and up"
		}
		if left.Unknown != "" {
			why = left.Unknown + "; correct it on the switch"
		}
		if i, ok := at[left.Place()]; ok {
			p.changes[i].Blocked = why
			continue
		}
		left.Blocked = why
		p.changes = append(p.changes, left)
	}
	p.index()
}

// carried returns the indexes of the changes that an op carries out.
func (p *planner) carried(o Op) []int {
	var out []int
	try := func(is []int) {
		for _, i := range is {
			if o.carries(p.changes[i], p.running, p.after) {
				out = append(out, i)
			}
		}
	}
	switch port := o.PortOf(); {
	case port != "":
		try(p.byPort[port])
	case o.Table == TPort || o.Table == TWatchdog && o.Key != "GLOBAL":
		try(p.byPort[o.Key])
	case o.Table == TCable && o.Field != "":
		try(p.byPort[o.Field])
	default: // an object that any port may use
		for _, is := range p.byPort {
			try(is)
		}
	}
	return out
}

// route decides whether each op goes over gNMI or SSH, and blocks the changes of ops that neither
// can carry out.
func (p *planner) route() {
	missing := map[string]refusal{} // "TABLE|key" of objects that will not exist
	for i, r := range p.verdicts(p.ops, p.running) {
		o := &p.ops[i]
		switch {
		case r == nil:
			continue
		case p.SSH && !p.Direct:
			o.overSSH = true
			continue
		}
		if p.running.Row(o.Table, o.Key) == nil {
			missing[o.Table+"|"+o.Key] = *r
		}
		p.block(*o, *r)
		o.Table = "" // marks it for removal below
	}
	dropped := func(o Op) bool { return o.Table == "" }
	p.ops = slices.DeleteFunc(p.ops, dropped)
	// The switch rejects the whole request if a binding names an object that does not exist and is
	// not created.
	made := map[string]bool{}
	for _, o := range p.ops {
		made[o.Table+"|"+o.Key] = true
	}
	for i, o := range p.ops {
		if o.Row == nil {
			continue
		}
		row, cut := maps.Clone(o.Row), false
		refs(o.Table, o.Row, func(t, n string) {
			r, gone := missing[t+"|"+n]
			if !gone {
				if p.running.Row(t, n) != nil || made[t+"|"+n] {
					return
				}
				r = refusal{"the switch has no " + t + "|" + n, "restore the platform's buffer template with 'config qos reload', then plan again"}
			}
			for f, v := range row {
				if references[o.Table+" "+f] != t || !slices.Contains(strings.Split(v, ","), n) {
					continue
				}
				p.blockField(o, f, r)
				cut = true
				if old, ok := p.running.Row(o.Table, o.Key)[f]; ok {
					row[f] = old
				} else {
					delete(row, f)
				}
			}
		})
		if !cut {
			continue
		}
		p.ops[i].Row = row
		if len(row) == 0 || maps.Equal(row, p.running.Row(o.Table, o.Key)) {
			p.ops[i].Table = ""
		}
	}
	p.ops = slices.DeleteFunc(p.ops, dropped)
}

// block marks as blocked the changes that an op would have carried out.
func (p *planner) block(o Op, r refusal) {
	for _, i := range p.carried(o) {
		if p.changes[i].Blocked == "" {
			p.changes[i].Blocked = r.why + "; " + r.instead
			if !p.Direct {
				p.changes[i].Blocked = "gNMI will be refused: " + p.changes[i].Blocked
			}
		}
	}
}

// blockField marks as blocked the change that a field of a binding would have carried out.
func (p *planner) blockField(o Op, field string, r refusal) {
	for _, i := range p.carried(o) {
		c := &p.changes[i]
		match := slices.Contains(boundBy[field], c.Field.Kind)
		if t, ok := c.Field.Table(); ok {
			match = mapTables[t].field == field
		}
		if match && c.Blocked == "" {
			c.Blocked = r.why + "; " + r.instead
		}
	}
}

// boundBy gives the attributes that depend on the object named by a field of a binding; mapTables
// does so for the maps.
var boundBy = map[string][]qos.Kind{
	"wred_profile": {qos.KindECN},
	"scheduler":    {qos.KindScheduler},
	"profile":      {qos.KindQueueBuffer, qos.KindGroupBuffer, qos.KindLossless},
	"profile_list": {qos.KindIngressProfiles, qos.KindEgressProfiles},
}

// buffers reports whether the rows of a table bind buffers to a port.
func buffers(table string) bool {
	return table == TGroup || table == TBufferQueue || table == TIngressList || table == TEgressList
}

// setImpacts sets the impact of every op, and raises the impact of the changes that the op
// carries out.
func (p *planner) setImpacts() {
	for i := range p.ops {
		o := &p.ops[i]
		o.impact = p.impact(*o)
		for _, n := range p.carried(*o) {
			if c := &p.changes[n]; c.Blocked == "" {
				c.Takes(o.impact)
			}
		}
	}
}

// impact returns the impact of an op itself, apart from the meaning of the values it writes.
func (p *planner) impact(o Op) qos.Impact {
	switch port := o.PortOf(); {
	case p.Direct && !o.Bounce && (buffers(o.Table) || o.Del && o.Table == TQueue) && p.running.Up(port):
		return qos.ImpactLoss // what the ASIC does to packets during the change is not documented
	case p.concerns[o.Table+"|"+o.Key]:
		return qos.ImpactLoss // it is not known what traffic those ports carry
	case port != "" && !o.overSSH && p.shuts(o) && p.running.Up(port):
		return qos.ImpactPortFlap
	case o.Table == TCable && p.rebuilds(o):
		return qos.ImpactLoss
	case o.Table == TPort && (o.Field == "admin_status" || o.Field == "fec"):
		return qos.ImpactPortFlap
	}
	return qos.ImpactNone
}

// rebuilds reports whether the cable lengths that an op writes make buffermgrd rebuild the buffers
// of lossless groups in use.
func (p *planner) rebuilds(o Op) bool {
	ports := natural.Keys(o.Row)
	if o.Field != "" {
		ports = []string{o.Field}
	}
	have := p.running.Row(TCable, o.Key)
	return slices.ContainsFunc(ports, func(port string) bool {
		return p.running.Row(TPortQoS, port)["pfc_enable"] != "" && p.after.Row(TCable, o.Key)[port] != have[port]
	})
}

// obsolete adds the removal of objects of this tool that are no longer used. Schedulers and
// profiles of a class that the intent no longer has stay bound: nothing is mapped to its queue, and
// unbinding them would flap each port.
func (p *planner) obsolete() {
	left := p.running.After(p.ops)
	used := map[string]bool{}
	for _, tn := range []string{TPortQoS, TQueue} {
		for _, row := range left[tn] {
			refs(tn, row, func(t, n string) { used[t+"|"+n] = true })
		}
	}
	var dels []Op
	for _, tn := range append([]string{TScheduler, TWRED}, whole...) {
		for _, name := range natural.Keys(p.running[tn]) {
			if !used[tn+"|"+name] && owned(tn, name) {
				dels = append(dels, Op{Table: tn, Key: name, Del: true})
			}
		}
	}
	for i, r := range p.verdicts(dels, left) {
		if r != nil && (!p.SSH || p.Direct) {
			p.notes = append(p.notes, fmt.Sprintf("%s|%s is no longer used and stays: %s", dels[i].Table, dels[i].Key, r.why))
			continue
		}
		dels[i].overSSH = r != nil
		p.ops = append(p.ops, dels[i])
	}
	p.leftBound(left)
}

// leftBound notes the schedulers of classes that the intent no longer has.
func (p *planner) leftBound(after Config) {
	ports := map[string][]string{}
	for key, row := range after[TQueue] {
		name := row["scheduler"]
		port, _, _ := strings.Cut(key, "|")
		if owned(TScheduler, name) && p.target.Row(TScheduler, name) == nil && p.desired.Ports[port] != nil {
			ports[name] = append(ports[name], port)
		}
	}
	for _, name := range natural.Keys(ports) {
		p.notes = append(p.notes, fmt.Sprintf("SCHEDULER|%s stays bound to a queue of %s: no class of the intent uses it, nothing is mapped to that queue, and unbinding it would flap the ports", name, natural.Fold(slices.Compact(natural.Sorted(ports[name])))))
	}
}
