package sonic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// site is what a plan needs to know of the switch beyond its configuration.
type site struct {
	rel    native.Release
	chip   string
	ssh    bool
	policy drivers.Policy
}

// planner works out the ops of one device and where each can go.
type planner struct {
	site
	running, target native.Config
	after           native.Config
	changes         []qos.Change
	byPort          map[string][]int // port -> indexes of changes
	ops             []op
	overSSH         map[int]bool // indexes of ops that the config updater refuses
	notes           []string
}

// plan returns the steps from running to desired.
func plan(s site, running native.Config, desired *qos.Device) (*drivers.Steps, error) {
	have, _ := native.Decode(running)
	p := &planner{site: s, running: running, target: native.Target(desired), overSSH: map[int]bool{}}
	p.changes = qos.Diff(have, desired)
	out := &drivers.Steps{Policy: s.policy, Base: digest(running, p.target), Changes: p.changes}
	if len(p.changes) == 0 {
		return out, nil
	}
	p.byPort = map[string][]int{}
	for i, c := range p.changes {
		p.byPort[c.Port] = append(p.byPort[c.Port], i)
	}
	p.blockReadOnly()
	p.collect()
	p.route()
	p.judge()
	b := builder{site: s, running: running}
	for i, o := range p.ops {
		b.add(o, p.overSSH[i])
	}
	p.obsolete(&b)
	out.Items, out.Notes = b.steps(), p.notes
	out.Changes = p.changes
	return out, nil
}

// digest identifies the state that a plan starts from: every row that the
// target names, and every binding of its ports, with the rows of other owners
// left out.
func digest(running, target native.Config) string {
	sum := sha256.Sum256(managed(running, target).AppendJSON(nil))
	return hex.EncodeToString(sum[:])
}

// managed returns the part of a configuration that the target speaks of.
func managed(running, target native.Config) native.Config {
	out := native.Config{}
	for tn, t := range target {
		for key, want := range t {
			row := running.Row(tn, key)
			if row == nil || slices.Contains(ranged, tn) {
				continue
			}
			if byField(tn, key) {
				part := native.Row{}
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
			// What buffermgrd derives moves with its inputs, which are here.
			if target.Row(native.TPortQoS, port) != nil && !native.Derived(row["profile"]) {
				out.Put(tn, key, row)
			}
		}
	}
	return out
}

// blockReadOnly marks the changes that this tool never makes.
func (p *planner) blockReadOnly() {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Field == "speed" {
			c.Blocked = "this tool does not change the speed of a port: set it with 'config interface speed' or a breakout on the switch, or correct the link in the intent"
			delete(p.target.Row(native.TPort, c.Port), "speed")
		}
	}
}

// collect keeps the ops that some change needs. A difference in names alone
// is not worth a flapped port.
func (p *planner) collect() {
	all := delta(p.running, p.target)
	p.after = p.running.Clone()
	for _, o := range all {
		o.apply(p.after)
	}
	// A key that covers several indexes is taken apart and put together again
	// by ops that belong together: all of a port's ops in such a table go, or
	// none.
	together := func(o op) string {
		if slices.Contains(ranged, o.Table) {
			return o.Table + "|" + o.portOf()
		}
		return o.Table + "|" + o.Key + "|" + o.Field
	}
	keep := map[string]bool{}
	for _, o := range all {
		if p.carried(o) != nil {
			keep[together(o)] = true
		}
	}
	needed := map[string]bool{} // "TABLE|key" that a kept op refers to
	for _, o := range all {
		if keep[together(o)] {
			refs(o.Table, o.Row, func(t, n string) { needed[t+"|"+n] = true })
		}
	}
	for _, o := range all {
		if keep[together(o)] || needed[o.Table+"|"+o.Key] {
			p.ops = append(p.ops, o)
		}
	}
	p.restartWatchdogs()
}

// carried returns the indexes of the changes that an op carries out.
func (p *planner) carried(o op) []int {
	var out []int
	try := func(is []int) {
		for _, i := range is {
			if o.carries(p.changes[i], p.running, p.after) {
				out = append(out, i)
			}
		}
	}
	switch port := o.portOf(); {
	case port != "":
		try(p.byPort[port])
	case o.Table == native.TPort || o.Table == native.TWatchdog && o.Key != "GLOBAL":
		try(p.byPort[o.Key])
	case o.Table == native.TCable && o.Field != "":
		try(p.byPort[o.Field])
	default: // an object that any port may use
		for _, is := range p.byPort {
			try(is)
		}
	}
	return out
}

// restartWatchdogs removes and adds the watchdog row of a port whose action or
// queues change: the daemon ignores such a change of a row that it already has
// (sonic-swss:orchagent/pfcwdorch.cpp; sonic-swss issue 842).
func (p *planner) restartWatchdogs() {
	for _, key := range natural.Keys(p.running[native.TWatchdog]) {
		have, want := p.running.Row(native.TWatchdog, key), p.target.Row(native.TWatchdog, key)
		if key == "GLOBAL" || want == nil || p.byPort[key] == nil {
			continue
		}
		hq, wq := p.running.Row(native.TPortQoS, key), p.target.Row(native.TPortQoS, key)
		queues := wq != nil && effective(native.TPortQoS, "pfcwd_sw_enable", hq["pfcwd_sw_enable"], true) != effective(native.TPortQoS, "pfcwd_sw_enable", wq["pfcwd_sw_enable"], true)
		if !queues && have["action"] == want["action"] {
			continue
		}
		p.ops = slices.DeleteFunc(p.ops, func(o op) bool { return o.Table == native.TWatchdog && o.Key == key })
		p.ops = append(p.ops,
			op{Table: native.TWatchdog, Key: key, Del: true},
			op{Table: native.TWatchdog, Key: key, Row: merge(have, want)})
	}
}

// route decides for each op whether gNMI takes it, and blocks what has no way
// in at all.
func (p *planner) route() {
	missing := map[string]refusal{} // "TABLE|key" that will not be there
	for i, o := range p.ops {
		r, ok := refuse(o, p.running, p.rel, p.chip)
		if ok {
			continue
		}
		if p.ssh {
			p.overSSH[i] = true
			continue
		}
		if p.running.Row(o.Table, o.Key) == nil {
			missing[o.Table+"|"+o.Key] = r
		}
		p.block(o, r)
		p.ops[i].Table = "" // dropped below
	}
	p.dropDead()
	// A binding to an object that is not there, and will not be, would be
	// refused with everything that goes with it.
	made := map[string]bool{}
	for _, o := range p.ops {
		made[o.Table+"|"+o.Key] = true
	}
	for i, o := range p.ops {
		if o.Row == nil {
			continue
		}
		row := maps.Clone(o.Row)
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
				if old, ok := p.running.Row(o.Table, o.Key)[f]; ok {
					row[f] = old
				} else {
					delete(row, f)
				}
			}
		})
		p.ops[i].Row = row
		if len(row) == 0 || maps.Equal(row, p.running.Row(o.Table, o.Key)) {
			p.ops[i].Table = ""
		}
	}
	p.dropDead()
}

// dropDead removes the ops whose table was cleared, and keeps overSSH in step.
func (p *planner) dropDead() {
	var ops []op
	ssh := map[int]bool{}
	for i, o := range p.ops {
		if o.Table == "" {
			continue
		}
		if p.overSSH[i] {
			ssh[len(ops)] = true
		}
		ops = append(ops, o)
	}
	p.ops, p.overSSH = ops, ssh
}

// block marks the changes that an op would have carried out.
func (p *planner) block(o op, r refusal) {
	for _, i := range p.carried(o) {
		if p.changes[i].Blocked == "" {
			p.changes[i].Blocked = "gNMI will be refused: " + r.why + "; " + r.instead
		}
	}
}

// blockField marks the change that one field of a binding would have carried
// out.
func (p *planner) blockField(o op, field string, r refusal) {
	suffix := map[string]string{"wred_profile": ".ecn", "scheduler": ".scheduler", "profile": ".buffer", "profile_list": "_profiles"}[field]
	for _, i := range p.carried(o) {
		c := &p.changes[i]
		match := strings.HasSuffix(c.Field, suffix) || suffix == ".buffer" && strings.HasSuffix(c.Field, ".lossless")
		if field, ok := strings.CutSuffix(field, "_map"); ok {
			match = strings.HasPrefix(c.Field, "maps."+strings.Replace(field, "_pg", "_group", 1))
		}
		if match && c.Blocked == "" {
			c.Blocked = r.why + "; " + r.instead
		}
	}
}

// up reports whether the port is up before the plan.
func (p *planner) up(port string) bool {
	return p.running.Row(native.TPort, port)["admin_status"] == "up"
}

// judge gives every change its impact.
func (p *planner) judge() {
	flaps := map[string]bool{}
	for i, o := range p.ops {
		if port := o.portOf(); port != "" && !p.overSSH[i] && p.up(port) {
			flaps[port] = true
		}
	}
	for i, o := range p.ops {
		for _, ci := range p.carried(o) {
			c := &p.changes[ci]
			if c.Blocked == "" {
				c.Impact = max(c.Impact, p.impact(o, *c, flaps, i))
			}
		}
	}
}

func (p *planner) impact(o op, c qos.Change, flaps map[string]bool, i int) qos.Impact {
	switch {
	case o.portOf() != "" && flaps[o.portOf()] && !p.overSSH[i]:
		return qos.ImpactPortFlap
	case c.Field == "mtu" && lowered(c):
		return qos.ImpactLoss
	case c.Field == "cable" && p.running.Row(native.TPortQoS, c.Port)["pfc_enable"] != "":
		// The buffer of a lossless group in use is built anew.
		return qos.ImpactLoss
	case c.Field == "admin_up" || c.Field == "fec":
		return qos.ImpactPortFlap
	}
	return qos.ImpactNone
}

// lowered reports whether a numeric change goes down.
func lowered(c qos.Change) bool {
	return len(c.New) < len(c.Old) || len(c.New) == len(c.Old) && c.New < c.Old
}

// obsolete adds the removal of objects of this tool that nothing refers to any
// more.
func (p *planner) obsolete(b *builder) {
	after := p.running.Clone()
	for _, o := range p.ops {
		o.apply(after)
	}
	used := map[string]bool{}
	for _, tn := range []string{native.TPortQoS, native.TQueue} {
		for _, row := range after[tn] {
			refs(tn, row, func(t, n string) { used[t+"|"+n] = true })
		}
	}
	for _, tn := range []string{native.TScheduler, native.TWRED, native.TDSCPToTC, native.TDot1pToTC, native.TTCToQueue, native.TTCToGroup, native.TPFCToQueue, native.TPFCToGroup} {
		for _, name := range natural.Keys(p.running[tn]) {
			if used[tn+"|"+name] || !native.Owned(tn, name) {
				continue
			}
			o := op{Table: tn, Key: name, Del: true}
			_, ok := refuse(o, p.running, p.rel, p.chip)
			if !ok && !p.ssh {
				p.notes = append(p.notes, fmt.Sprintf("%s|%s is not used any more and stays: the config updater of %s would refuse to remove it", tn, name, p.rel))
				continue
			}
			b.add(o, !ok)
		}
	}
}
