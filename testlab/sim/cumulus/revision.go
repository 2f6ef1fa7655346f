package cumulus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// revision is a configuration that is being edited or was applied.
type revision struct {
	id         string
	base, tree tree
	state      string
	progress   string
	issues     []issue
	message    string
	user       string
	auto       map[string]string // answers to prompts given in advance
	confirm    time.Duration
	answer     chan string
	applied    time.Time
}

// final reports whether the state does not change by itself.
func (r *revision) final() bool {
	switch r.state {
	case "pending", "inactive", "invalid", "applied", "applied_and_saved", "ays_fail", "confirm_fail", "apply_error", "apply_fail", "saved":
		return true
	}
	return false
}

// show returns a revision in the form of the REST API.
func (r *revision) show() tree {
	issues := tree{}
	for i, is := range r.issues {
		message := is.reason
		if is.location != "" {
			message = "Config invalid at " + is.location + ": " + is.reason + "\n"
		}
		one := tree{"code": is.code, "severity": is.severity, "message": message, "data": tree{}}
		if is.location != "" {
			one["data"] = tree{"location": is.location, "reason": is.reason + "\n"}
		}
		issues[strconv.Itoa(i)] = one
	}
	out := tree{"state": r.state, "transition": tree{"issue": issues, "progress": r.progress}}
	if r.message != "" {
		out["message"] = r.message
	}
	return out
}

// create creates a revision. The caller must hold mu.
func (s *Switch) create(user string) *revision {
	s.last++
	r := &revision{id: strconv.Itoa(s.last), base: cloned(s.applied), tree: cloned(s.applied), state: "pending", user: user, answer: make(chan string, 1)}
	s.revisions[r.id] = r
	return r
}

// start starts an apply, which continues in a goroutine. The caller must hold mu.
func (s *Switch) start(r *revision, release <-chan struct{}) {
	r.state, r.progress, r.issues = "apply", "", nil
	s.wg.Go(func() { s.apply(r, release) })
}

// apply applies a revision. Only one apply runs at a time; others wait in state "apply".
func (s *Switch) apply(r *revision, release <-chan struct{}) {
	if release != nil {
		select {
		case <-release:
		case <-s.ctx.Done():
			return
		}
	}
	select {
	case s.turn <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	boot := s.boots()
	defer func() { <-s.turn }()
	s.faults.hook()
	if !s.step(r, boot, "checking") {
		return
	}
	s.mu.Lock()
	bad := s.invalid(expand(r.tree).(tree))
	s.mu.Unlock()
	if s.faults.take(&s.faults.reject) {
		bad = append(bad, issue{"config_invalid", "qos", "refused by the test", "error"})
	}
	if len(bad) > 0 {
		s.end(r, "invalid", "Invalid config", bad)
		return
	}
	if !s.step(r, boot, "verifying") || !s.confirmIfNeeded(r, boot) || !s.step(r, boot, "readying") {
		return
	}
	if s.faults.take(&s.faults.restart) {
		s.restart()
		return
	}
	if s.faults.take(&s.faults.pretend) {
		s.end(r, s.finalState(), "", nil)
		return
	}
	was := s.commit(r, boot)
	if was == nil || !s.step(r, boot, "reloading") {
		return
	}
	if s.faults.take(&s.faults.failApply) && !s.ignored(r, boot, was) {
		return
	}
	if r.confirm > 0 && !s.confirmed(r, boot, was) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot != boot {
		return
	}
	r.state, r.progress = s.finalState(), ""
	if r.state == "applied_and_saved" && !s.faults.take(&s.faults.pretendSave) {
		s.startup = cloned(s.applied)
	}
}

// step enters a state of an apply. It returns false if the switch was closed or restarted.
func (s *Switch) step(r *revision, boot int, state string) bool {
	s.mu.Lock()
	r.state = state
	gone := s.boot != boot
	s.mu.Unlock()
	if gone {
		return false
	}
	if s.o.TimeScale <= 0 {
		return s.ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(s.o.TimeScale * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *Switch) end(r *revision, state, progress string, issues []issue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.state, r.progress, r.issues = state, progress, issues
}

// finalState returns the final state of an apply: since 5.9 the configuration is saved, unless
// auto-save is off.
func (s *Switch) finalState() string {
	auto := object(s.applied, "system", "config", "auto-save")
	word := text(auto, "state") + text(auto, "enable")
	if s.release < autoSaves && !meansOn(word) || word != "" && !meansOn(word) {
		return "applied"
	}
	return "applied_and_saved"
}

// confirmIfNeeded asks the user for confirmation if there is a reason to. It returns false if the
// apply ends.
func (s *Switch) confirmIfNeeded(r *revision, boot int) bool {
	s.mu.Lock()
	question := s.faults.question()
	if s.edited && question == "" {
		question = "The following files have been changed since the last save, and they WILL be overwritten.\n- /etc/cumulus/datapath/qos/qos_features.conf"
	}
	s.mu.Unlock()
	if question == "" {
		return true
	}
	answer := r.auto["ays"]
	if answer == "" {
		s.end(r, "ays", "Are you sure?", []issue{{code: "warning", reason: question, severity: "warning"}})
		answer = s.answered(r, s.o.Patience)
	}
	switch answer {
	case "ays_yes":
		s.mu.Lock()
		s.edited = false
		s.mu.Unlock()
		return s.boots() == boot
	case "ays_no":
		s.end(r, "ays_fail", "Aborted apply after warnings", nil)
	default:
		s.end(r, "ays_fail", "Aborted apply after warnings", []issue{{code: "client_timeout", reason: "Timeout while waiting for client response", severity: "error"}})
	}
	return false
}

// answered waits for the answer to a prompt. It returns "" if none arrives in time.
func (s *Switch) answered(r *revision, limit time.Duration) string {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case a := <-r.answer:
		return a
	case <-t.C:
	case <-s.ctx.Done():
	}
	return ""
}

// commit activates a revision and returns the previous configuration, or nil if the switch was
// restarted.
func (s *Switch) commit(r *revision, boot int) tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot != boot {
		return nil
	}
	was := s.applied
	now := cloned(r.tree)
	if !s.o.Whole {
		now = cloned(s.applied)
		merge(now, diff(r.tree, r.base))
	}
	s.inForce(was, now)
	r.applied = time.Now()
	return was
}

// inForce makes now the applied configuration. The caller must hold mu.
func (s *Switch) inForce(was, now tree) {
	for name := range s.ports {
		if down(was, name) && !down(now, name) {
			s.flaps[name]++
		}
	}
	s.applied = now
}

// confirmed waits for the confirmation of an apply. It returns false if the switch rolled back.
func (s *Switch) confirmed(r *revision, boot int, was tree) bool {
	s.end(r, "confirm", "Waiting for confirmation", nil)
	answer := s.answered(r, time.Duration(float64(r.confirm)*s.o.Clock))
	if s.ctx.Err() != nil || s.boots() != boot {
		return false
	}
	if answer == "confirm_yes" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce(s.applied, was)
	r.state, r.progress = "confirm_fail", "Not confirmed, rolled back"
	return false
}

// ignored asks whether to ignore that services failed to reload. It returns false if the switch
// rolled back.
func (s *Switch) ignored(r *revision, boot int, was tree) bool {
	s.end(r, "ignore_fail", "Failure during apply. Ignore?", []issue{{code: "systemctl", reason: "Unable to reload-or-restart services (switchd)", severity: "error"}})
	answer := r.auto["ignore_fail"]
	if answer == "" {
		answer = s.answered(r, s.o.Patience)
	}
	if answer == "ignore_fail_yes" {
		return true
	}
	if s.boots() != boot {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce(s.applied, was)
	r.state, r.progress = "apply_fail", "Apply failed, rolled back"
	return false
}

// Unconfirmed applies another MTU of a port, as a colleague does who has yet to confirm it.
func (s *Switch) Unconfirmed(port string) {
	s.mu.Lock()
	if s.busy() == nil {
		r := s.create("colleague")
		r.confirm = 10 * time.Minute                                                         // unless the command says otherwise
		_ = s.typed(r.tree, []string{"nv", "set", "interface", port, "link", "mtu", "1500"}) // fails for no port of a switch
		s.start(r, nil)
	}
	s.mu.Unlock()
	_ = s.Wait(s.ctx) // an error only means that the switch is being closed
}

// Expire makes the confirmation timer of an apply fire now.
func (s *Switch) Expire() {
	s.mu.Lock()
	r := s.busy()
	if r != nil && r.state == "confirm" {
		s.reply(r, "confirm_no")
	}
	s.mu.Unlock()
	if r != nil {
		_ = s.awaitRevision(r) // an error only means that the switch is being closed
	}
}

// busy returns the revision whose apply is running or waiting; nil if there is none. The caller
// must hold mu.
func (s *Switch) busy() *revision {
	for _, r := range s.revisions {
		if !r.final() {
			return r
		}
	}
	return nil
}

func (s *Switch) boots() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot
}

// named returns the configuration of a revision. The caller must hold mu.
func (s *Switch) named(rev string, far map[string]cli.Wire) (tree, bool) {
	switch rev {
	case "applied":
		return s.applied, true
	case "startup":
		return s.startup, true
	case "empty":
		return tree{}, true
	case "", "operational":
		return s.operational(far, ""), true
	}
	r := s.revisions[rev]
	if r == nil {
		return nil, false
	}
	return r.tree, true
}

// Wait waits until no apply is running, except one that waits for an answer or its confirmation.
func (s *Switch) Wait(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		r := s.busy()
		idle := r == nil || r.state == "confirm" || r.state == "ays" || r.state == "ignore_fail"
		s.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("revision %s is still being applied: %w", r.id, ctx.Err())
		}
	}
}
