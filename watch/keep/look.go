package keep

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// repairTimeout limits all steps of one repair together; each step has its own timeout.
const repairTimeout = time.Hour

// open is a difference from the wanted state.
type open struct {
	change nic.Change
	since  time.Time
	// run is the run whose setting is left alone; "" if there is none.
	run string
	// reason is why the difference is not repaired.
	reason Reason
}

// check checks the host, reports what is new, and repairs differences.
func (k *Keeper) check(ctx context.Context, cause string) {
	start := k.cfg.Clock.Now()
	k.again = time.Time{}
	fresh := cause == causeStart // no earlier check used this wanted state
	if cause == causeReload || k.cfg.Source.Stamp() != k.stamp && !fresh {
		fresh = k.reload(ctx)
	}
	k.host = nil
	running, changes, err := k.read(ctx)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		k.updateDifferences(running, changes, fresh)
		if len(changes) == 0 {
			k.note("")
		}
		if k.cfg.Policy == Repair && len(changes) > 0 {
			k.repair(ctx, running)
		}
	}
	k.recordEnd(start, cause, err)
	if k.cfg.Looked != nil {
		k.cfg.Looked(k.State(), k.host)
	}
}

// reload loads the wanted state again, and keeps the old one if that fails.
func (k *Keeper) reload(ctx context.Context) (taken bool) {
	err := k.load(ctx)
	if ctx.Err() != nil {
		return false
	}
	if err == nil {
		// The new wanted state takes precedence over everything that runs have set so far.
		k.since = k.wanted.Written
		for _, l := range k.cfg.Machine.Left() {
			k.since = latest(k.since, l.At)
		}
		k.emit(Event{Type: Loaded, Text: "the wanted state is that of " + k.cfg.Source.String()})
		return true
	}
	k.stamp = k.cfg.Source.Stamp() // retry only after another change
	k.mu.Lock()
	k.state.LoadError = err.Error()
	k.mu.Unlock()
	k.emit(Event{Type: Failed, Text: "the wanted state stays as it was: " + err.Error()})
	return false
}

// read reads the host and returns its differences from the wanted state.
func (k *Keeper) read(ctx context.Context) (*nic.Host, []nic.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, agent.ReadTimeout)
	defer cancel()
	running, err := k.cfg.Machine.Read(ctx, natural.Keys(k.wanted.Host.Ports))
	if err != nil {
		return nil, nil, err
	}
	k.host = running
	changes := slices.DeleteFunc(nic.Diff(running, k.wanted.Host), func(c nic.Change) bool { return c.Layer == nic.LayerFirmware })
	return running, changes, nil
}

// updateDifferences compares the current differences with the known ones. It names no suspects for
// a fresh wanted state, nor for an interface created since the last check.
func (k *Keeper) updateDifferences(running *nic.Host, changes []nic.Change, fresh bool) {
	now := k.cfg.Clock.Now()
	events, created := k.created()
	still := map[setting]bool{}
	for _, c := range changes {
		s := settingOf(c)
		still[s] = true
		was := k.known[s]
		switch {
		case was != nil && was.change.Old == c.Old && was.change.New == c.New && was.change.Kind == c.Kind:
			was.change = c
			continue
		case was != nil:
			k.known[s] = &open{change: c, since: was.since, run: was.run}
		default:
			k.known[s] = &open{change: c, since: now}
		}
		e := Event{Type: TypeOf(c.Kind), Field: c.Field, Ports: []string{c.Port}, Old: c.Old, New: c.New, Kind: c.Kind, Blocked: c.Blocked}
		at, written := k.written[s]
		switch {
		case c.Kind != nic.KindDrift:
		case written && now.Sub(at.last) < stays:
			e.Type, e.Suspects = ChangedBack, running.Suspects(c.Port, c.Field)
			k.updateCounts(func(n *counts) { n.changedBack[s]++ })
		case !fresh && !created[c.Port]:
			e.Suspects = running.Suspects(c.Port, c.Field)
		}
		events = append(events, e)
	}
	for _, s := range ordered.Sorted(maps.Keys(k.known), setting.compare) {
		if still[s] {
			continue
		}
		old := k.known[s].change
		delete(k.known, s)
		// A setting that is missing or unreadable does not count as corrected.
		if old.Kind != nic.KindMissing && readable(running, s) {
			events = append(events, Event{Type: Cleared, Field: s.field, Ports: []string{s.port}, Old: old.Old})
		}
	}
	k.emit(events...)
}

// readable reports whether a setting was read from the host.
func readable(running *nic.Host, s setting) bool {
	field, _, _ := strings.Cut(s.field, "[")
	missing := running.Missing
	if p, u := running.Ports[s.port], running.Uppers[s.port]; p != nil {
		missing = p.Missing
	} else if u != nil {
		missing = u.Missing
	} else if s.port != "" {
		return false
	}
	_, bad := missing[field]
	return !bad
}

// created returns the interfaces created since the last check. They have their driver's
// defaults, so nobody changed their settings back.
func (k *Keeper) created() (events []Event, created map[string]bool) {
	created = map[string]bool{}
	for _, port := range k.wanted.Host.Devices() {
		now := k.cfg.Machine.Index(port)
		before, known := k.index[port]
		if now == "" && known { // gone: another interface may reuse its index
			k.index[port] = ""
		}
		if now == "" || known && now == before {
			continue
		}
		if k.index[port] = now; !known && k.known[setting{port, nic.FieldPort}] == nil {
			continue // the first check
		}
		created[port] = true
		maps.DeleteFunc(k.written, func(s setting, _ pace) bool { return s.port == port })
		events = append(events, Event{Type: Created, Ports: []string{port}})
	}
	return events, created
}

// leftTo returns the run that wrote the settings of a step after the wanted state was written,
// if they still have its values: that run may have applied a newer intent. It returns nil if
// there is none.
func (k *Keeper) leftTo(ctx context.Context, s local.Step) *mark.Mark {
	for _, l := range k.cfg.Machine.Left() {
		if l.Port == s.Port && l.Field == s.Field && l.Run.Run != mark.Agent && l.At.After(k.since) && k.cfg.Machine.Holds(ctx, l) {
			return &l.Run
		}
	}
	return nil
}

// leaveToRuns marks the differences that are left to runs, and returns the remaining steps.
func (k *Keeper) leaveToRuns(ctx context.Context, steps []local.Step) (todo []local.Step) {
	var left ordered.Map[string, int]
	for _, s := range steps {
		run := k.leftTo(ctx, s)
		for _, c := range s.Changes {
			o := k.known[settingOf(c)]
			switch {
			case o == nil:
			case run == nil:
				o.run = ""
			case o.run != run.String():
				o.run = run.String()
				*left.At(o.run)++
			}
		}
		if run == nil {
			todo = append(todo, s)
		}
	}
	for run, n := range left.All() {
		k.emit(Event{Type: Left, Text: words.Are(n, "difference") + " not repaired: " + run + " set this after the wanted state was written; to have it repaired, write the wanted state again ('nic unit install') or send SIGHUP"})
	}
	return todo
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// repair corrects those differences that may be corrected.
func (k *Keeper) repair(ctx context.Context, running *nic.Host) {
	ctx, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	steps := k.cfg.Machine.Plan(running, k.wanted.Host, local.Options{CutOff: k.cfg.CutOff})
	k.leaveToRuns(ctx, steps)
	todo := k.allowed(steps)
	if len(todo) == 0 {
		return
	}
	held, err := k.cfg.Machine.Hold(ctx, mark.New(mark.Agent))
	if err != nil {
		return // ctx has ended
	}
	if held.Other != nil {
		k.busy(todo, held.Other.String())
		return
	}
	if held.End != nil {
		defer held.End()
	}
	// A run may have ended or died between the check and taking the mark.
	if todo = k.leaveToRuns(ctx, todo); len(todo) == 0 {
		return
	}
	k.note(held.Note)
	now := k.cfg.Clock.Now()
	for _, s := range todo {
		for _, c := range s.Changes {
			at := settingOf(c)
			k.written[at] = k.written[at].afterRepair(now)
		}
	}
	_, err = k.cfg.Machine.Apply(ctx, todo, func(int, int, local.Step) { k.recordBeat(true, true) })
	if context.Cause(ctx) != nil && err != nil {
		k.emit(Event{Type: Failed, Text: "a repair was stopped: " + err.Error()})
		return
	}
	after, changes, rerr := k.read(ctx)
	if ctx.Err() != nil && err == nil {
		k.repaired(todo, nil, nil, nil) // each step has verified its own settings
		return
	}
	if rerr != nil {
		k.emit(Event{Type: Failed, Text: "cannot read back a repair: " + errors.Join(err, rerr).Error()})
		return
	}
	k.repaired(todo, after, changes, err)
	k.updateDifferences(after, changes, false)
	k.checkBy(now.Add(spacing)) // check whether the settings stay
}

// allowed returns the steps that may be carried out now, and records the reason for the others.
func (k *Keeper) allowed(steps []local.Step) (todo []local.Step) {
	now := k.cfg.Clock.Now()
	planned := map[setting]bool{}
	for _, s := range steps {
		why := Reason("")
		switch {
		case s.Blocked != "":
			why = WhyBlocked
		case s.Impact > k.cfg.Allow:
			why = WhyImpact
		}
		for _, c := range s.Changes {
			planned[settingOf(c)] = true
			o := k.known[settingOf(c)]
			next := k.written[settingOf(c)].next()
			switch {
			case o == nil:
			case o.run != "":
				why = cmp.Or(why, WhyRun)
			case next.After(now):
				why = cmp.Or(why, WhyRate)
				k.checkBy(next)
			}
		}
		for _, c := range s.Changes {
			if o := k.known[settingOf(c)]; o != nil {
				o.reason, o.change.Blocked, o.change.Impact = why, cmp.Or(o.change.Blocked, s.Blocked), max(o.change.Impact, s.Impact)
			}
		}
		// A step without a change belongs to an earlier step of the same port.
		if why == "" && (len(s.Changes) > 0 || slices.ContainsFunc(todo, func(t local.Step) bool { return t.Port == s.Port })) {
			todo = append(todo, s)
		}
	}
	for s, o := range k.known {
		if !planned[s] {
			o.reason = WhyBlocked
		}
	}
	return todo
}

// checkBy schedules the next check no later than at.
func (k *Keeper) checkBy(at time.Time) {
	if k.again.IsZero() || at.Before(k.again) {
		k.again = at
	}
}

// busy postpones a repair because another run is in progress.
func (k *Keeper) busy(todo []local.Step, run string) {
	for _, s := range todo {
		for _, c := range s.Changes {
			if o := k.known[settingOf(c)]; o != nil {
				o.reason = WhyBusy
			}
		}
	}
	k.updateCounts(func(n *counts) { n.busy++ })
	k.note("the repair waits for " + run)
	k.checkBy(k.cfg.Clock.Now().Add(busyWait))
}

// note reports a text unless it equals the last one.
func (k *Keeper) note(text string) {
	k.mu.Lock()
	same := text == k.state.Note
	k.state.Note = text
	k.mu.Unlock()
	if text != "" && !same {
		k.emit(Event{Type: Left, Text: text})
	}
}

// repaired reports which settings of the steps now have their wanted value. Each step has
// verified its own settings, so without an error a remaining difference was written by something
// else afterwards.
func (k *Keeper) repaired(todo []local.Step, after *nic.Host, changes []nic.Change, err error) {
	var events []Event
	for _, s := range todo {
		for _, c := range s.Changes {
			at, result := settingOf(c), done
			e := Event{Type: Repaired, Field: c.Field, Ports: []string{c.Port}, Old: c.Old, New: c.New}
			left := slices.IndexFunc(changes, func(l nic.Change) bool { return settingOf(l) == at })
			switch o := k.known[at]; {
			case left < 0 && (err == nil || readable(after, at)):
				delete(k.known, at)
			case left >= 0 && err == nil:
				e.Type, e.Old, e.Suspects = ChangedBack, changes[left].Old, after.Suspects(c.Port, c.Field)
				k.updateCounts(func(n *counts) { n.changedBack[at]++ })
				if o != nil {
					o.change, o.reason = changes[left], WhyRate
				}
			default:
				result, e.Type, e.Blocked = failed, NotRepaired, err.Error()
				if o != nil {
					o.reason = WhyError
				}
			}
			k.updateCounts(func(n *counts) { n.repairs[repairOf{at, result}]++ })
			events = append(events, e)
		}
	}
	k.emit(events...)
}

// recordEnd records the end of a check.
func (k *Keeper) recordEnd(start time.Time, cause string, err error) {
	now := k.cfg.Clock.Now()
	text := ""
	if err != nil {
		text = err.Error()
	}
	k.mu.Lock()
	again := k.state.Error == text
	k.count.looks[cause]++
	k.state.Took, k.state.Error = now.Sub(start), text
	if err != nil {
		k.count.lookFailures++
	} else {
		k.state.Looked = now
		k.state.Differences = k.differences()
		for _, d := range k.state.Differences {
			k.count.differed[setting{d.Port, d.Field}] = true
		}
	}
	k.mu.Unlock()
	if !again && err != nil {
		k.emit(Event{Type: Failed, Text: "the host cannot be read: " + text})
	}
}

// differences returns the known differences, in order.
func (k *Keeper) differences() []Difference {
	out := make([]Difference, 0, len(k.known))
	for _, o := range k.known {
		reason := o.reason
		switch {
		case o.change.Kind == nic.KindMissing:
			reason = WhyMissing
		case k.cfg.Policy == Report:
			reason = WhyPolicy
		case o.run != "":
			reason = WhyRun
		}
		out = append(out, Difference{Change: o.change, Since: o.since.UTC(), Reason: reason, Run: o.run})
	}
	ordered.Sort(out, func(a, b Difference) int { return settingOf(a.Change).compare(settingOf(b.Change)) })
	return out
}

func (k *Keeper) updateCounts(f func(*counts)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(&k.count)
}
