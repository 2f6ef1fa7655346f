package main

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// longestRun limits the virtual time of a command at normal speed, slowestRun that of a command
// with a device that sends one byte per second, which still counts as alive.
const longestRun, slowestRun = 15 * time.Minute, 45 * time.Minute

// judge compares the report of a session with the devices, and records each false claim.
func (s *session) judge() {
	if s.took > longestRun && !s.has(slowBytes) || s.took > slowestRun {
		s.bad("it took %s", s.took)
	}
	s.tally.longest[s.Command] = max(s.tally.longest[s.Command], s.took)
	switch {
	case s.rep.status == exitUsage:
		s.bad("status %d\n%s", s.rep.status, s.rep.text)
	case s.reads():
		s.judgeReading()
	default:
		s.judgeWriting()
	}
}

func (s *session) bad(format string, a ...any) {
	s.fail("%s%s: %s", s.operator, s.deed, fmt.Sprintf(format, a...))
}

// is returns the name of a device's state after the session.
func (s *session) is(i int) string { return s.name(i, s.end[i]) }

func (s *session) isOneOf(i int, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s.fits(i, s.end[i], name) })
}

// judgeReading checks a command that only reads: it changes nothing, works at any time, and a
// plan is empty exactly for devices that match the intent.
func (s *session) judgeReading() {
	for i, name := range s.way.names {
		// A device may carry out late what a killed run had sent.
		if s.end[i].state != s.start[i].state && !s.killed && s.Rival == "" && !s.has(restart, savedRestart) {
			s.bad("%s was changed\n%s", name, diffOf(s.start[i].state, s.end[i].state))
		}
	}
	works := []int{exitOK, exitDiffers}
	if s.has(ctrlC) {
		works = append(works, exitInterrupted)
	}
	if len(s.Strikes) > 0 || s.Rival != "" {
		works = append(works, exitFailed)
	}
	if !slices.Contains(works, s.rep.status) {
		s.bad("status %d\n%s", s.rep.status, s.rep.text)
	}
	if s.Command != "plan" || s.Rival != "" || s.rep.status == exitFailed {
		return
	}
	same, saved := true, true
	for i := range s.boxes {
		same, saved = same && (s.isOneOf(i, "after") || s.tainted[i]), saved && !s.end[i].unsaved
	}
	switch {
	case s.rep.status == exitOK && !same:
		s.bad("the plan is empty, and the devices are %s, %s", s.is(0), s.is(1))
		for i, name := range s.way.names {
			if !s.isOneOf(i, "after") {
				s.bad("%s\n%s", name, diffOf(s.after[i][0].meaning, s.end[i].meaning))
			}
		}
	case s.rep.status == exitDiffers && same && saved && s.tainted == [2]bool{}:
		s.bad("the plan is not empty\n%s", s.rep.text)
	}
}

// judgeWriting checks a command that writes.
func (s *session) judgeWriting() {
	done, failed, part := false, false, false
	for i, name := range s.way.names {
		state := s.rep.devices[name]
		s.judgeDevice(i, state)
		switch state {
		case "applied", "restored":
			done = true
		case "unsaved", "partial", "left-out":
			part, failed = true, true
		case "unchanged", "":
		default:
			failed = true
		}
	}
	want := exitOK
	switch {
	case part, failed && done:
		want = exitPartial
	case failed:
		want = exitFailed
	}
	struck := func(f fault) bool {
		return slices.ContainsFunc(s.Strikes, func(k strike) bool { return k.Fault == f && s.fired[slices.Index(s.Strikes, k)] })
	}
	interrupted := struck(ctrlC) && s.rep.status == exitInterrupted
	// A run whose end could not be recorded counts as failed.
	unrecorded := (struck(diskFull) || struck(partition)) && want == exitOK && slices.Contains([]int{exitPartial, exitFailed}, s.rep.status)
	if len(s.rep.devices) > 0 && s.rep.status != want && !interrupted && !unrecorded {
		s.bad("the status is %d, want %d", s.rep.status, want)
	}
	whole := []string{"after"}
	if s.Command == "rollback" {
		whole = []string{"before", "factory"}
	}
	for i, name := range s.way.names {
		rest := s.Command == "rollback" && s.separate
		if s.rep.status == exitOK && !s.isOneOf(i, whole...) && !s.tainted[i] && !rest {
			s.bad("status 0, and %s is %s", name, s.is(i))
		}
	}
}

// judgeDevice compares the reported state of a device with the device.
func (s *session) judgeDevice(i int, state string) {
	name, is := s.way.names[i], s.is(i)
	if s.tainted[i] {
		return
	}
	same := s.end[i].state == s.start[i].state || s.killed && is != "neither"
	if s.Rival != "" && s.locked.IsZero() {
		same = true // the other run may have changed the device
	}
	var want []string
	switch state {
	case "applied", "unchanged":
		if s.halfDone[i] && s.Command != "rollback" {
			// The rollback may have left settings that the intent says nothing about, such as ECN
			// on a queue of no class. A plan in the end says whether the others are as intended.
			s.after[i] = append(s.after[i], s.end[i])
			return
		}
		want = []string{"after"}
		if s.Command == "rollback" {
			want = []string{"before", "factory", "after"}
		}
	case "restored":
		if want = []string{"before", "factory"}; s.separate {
			want = append(want, "after")
		}
	case "unsaved":
		// The run cannot notice a restart after the last data that it exchanged.
		if want = []string{"after"}; s.last[i] > 0 && s.count[i] == s.last[i] {
			return
		}
	case "reverted":
		if want = []string{"before"}; same {
			return
		}
		if s.halfDone[i] { // the revert of a run that finishes it goes back to before the first run
			want = append(want, "factory")
		}
	case "partial":
		return
	case "blocked", "refused", "failed", "skipped", "left-out", "":
		if !same {
			s.bad("%s is said to be %q, and was changed: it is %s\n%s", name, state, is, diffOf(s.start[i].state, s.end[i].state))
		}
		return
	default:
		s.bad("%s: unknown state %q", name, state)
		return
	}
	if !s.isOneOf(i, want...) {
		expect := s.before[i]
		if want[0] == "after" {
			expect = s.after[i][0].state
		}
		s.bad("%s is said to be %s, and is %s\n%s", name, state, is, diffOf(expect, s.end[i].state))
	}
	// What was unsaved before a run is unsaved again after its rollback.
	asBefore := state == "restored" && s.way.cannotSave() && s.story.Pair > 0
	if s.end[i].unsaved && !asBefore && slices.Contains([]string{"applied", "unchanged", "restored"}, state) {
		s.bad("%s is said to be %s, and is not saved", name, state)
	}
}

// one runs a deed and judges it.
func (w *world) one(d deed) []*session {
	ran := w.do(d)
	for _, b := range w.boxes {
		b.clear()
	}
	for _, s := range ran {
		w.tally.commands++
		w.follow(s)
		if s.rep == nil {
			w.killed = true
			for i := range w.boxes {
				w.halfDone[i] = w.halfDone[i] || s.Command == "rollback" && w.look(i).state != s.start[i].state
			}
			continue
		}
		s.judge()
		w.tally.states[s.fingerprint()] = true
		for i, name := range w.way.names {
			switch state := s.rep.devices[name]; {
			case state == "partial" && s.Command == "rollback":
				w.halfDone[i] = true
			case slices.Contains([]string{"applied", "unchanged", "unsaved", "restored", "reverted"}, state):
				w.halfDone[i] = false
			}
		}
	}
	return ran
}

// follow updates which runs a rollback must undo after a session.
func (w *world) follow(s *session) {
	if s.Command != "apply" && s.Command != "resume" {
		return
	}
	changed := s.rep == nil || slices.ContainsFunc(w.way.names[:], func(name string) bool { return s.rep.devices[name] != "unchanged" })
	w.separate = w.separate || w.complete && changed
	w.complete = w.complete || s.rep != nil && s.rep.status == exitOK
}

// fingerprint returns a hash of a command's result: devices, report and status.
func (s *session) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, s.way.name, s.Command, s.rep.status, s.rep.devices[s.way.names[0]], s.rep.devices[s.way.names[1]], s.killed, s.separate)
	for _, v := range s.end {
		fmt.Fprintln(h, v.meaning, v.unsaved)
	}
	return h.Sum64()
}

// play runs a story and judges it.
func (w *world) play() {
	for _, d := range w.story.Deeds {
		w.one(d)
	}
	w.end()
	for _, ended := range w.zombies {
		<-ended
	}
}

// end brings the devices to the final state of the story with commands that no fault strikes: as
// intended, or as before all runs that can be rolled back.
func (w *world) end() {
	last := w.story.Last
	chain := w.factory != w.before
	want := [2]string{w.before[0], w.before[1]}
	for range 8 {
		s := w.one(deed{Command: last})[0]
		none := last == "rollback" && strings.Contains(s.rep.text, "no run to roll back")
		if none && chain {
			want = w.factory
		}
		if none || s.rep.status == exitOK && !(last == "rollback" && (w.separate || chain)) {
			break
		}
		for _, b := range w.boxes {
			b.expire()
		}
		if s.rep.held() { // by a run that lost the answer to its request for the lock
			wait(store.TTL + time.Second)
		}
	}
	for i, name := range w.way.names {
		v := w.look(i)
		right, expect := v.state == want[i], want[i]
		if chain && w.way.cannotSave() { // a rollback of what someone else saved stays unsaved, and never ends
			right = right || v.state == w.factory[i]
		}
		if last == "apply" {
			right, expect = w.fits(i, v, "after"), w.after[i][0].state
		}
		if !right && !w.tainted[i] {
			w.fail("in the end, after %s, %s is %s\n%s", last, name, w.name(i, v), diffOf(expect, v.state))
		}
		if v.unsaved && !w.way.cannotSave() {
			w.fail("in the end, after %s, %s is not saved", last, name)
		}
	}
	if last == "apply" {
		// A second plan is empty.
		if s := w.one(deed{Command: "plan"})[0]; s.rep.status != exitOK && !w.way.cannotSave() {
			w.fail("the plan in the end has status %d\n%s", s.rep.status, s.rep.text)
		}
	}
}

// diffOf returns the lines that occur in only one of two texts.
func diffOf(want, have string) string {
	var b strings.Builder
	w, h := strings.Split(want, "\n"), strings.Split(have, "\n")
	for _, l := range w {
		if !slices.Contains(h, l) {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range h {
		if !slices.Contains(w, l) {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}
