package eos

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// States of a configuration session (napalm-automation/napalm eos.py reads "pending" and
// "pendingCommitTimer").
const (
	statePending   = "pending"
	stateTimer     = "pendingCommitTimer"
	stateCompleted = "completed"
	stateAborted   = "aborted"
	stateLost      = "lost" // lost in a restart; never listed
)

// keepCompleted is the number of completed sessions that are listed.
const keepCompleted = 1

// candidate is a configuration session of the box. Any number of terminals may enter it.
type candidate struct {
	name, user  string
	cfg         *config // nil once it is no longer pending
	state       string
	serial      int // order of completion
	completedAt float64
}

// commitTimer is the timer of a commit that waits for confirmation. A box has at most one.
type commitTimer struct {
	c      *candidate
	before *config // the configuration to roll back to
	expire time.Time
}

// session is a client's access to the configuration: a configuration session or a terminal, with
// the current mode.
type session struct {
	e    *EOS
	c    *candidate // nil for a terminal, whose lines take effect at once
	boot *config    // the startup configuration while the box boots
	user string

	stack   []cli.Frame
	heredoc *heredoc // a banner being entered
}

var sessionName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$`)

// openSession enters the pending configuration session of the given name, or opens a new one with
// a copy of the running configuration. The error is the box's answer.
func (e *EOS) openSession(name, user string) (*session, error) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if !sessionName.MatchString(name) {
		return nil, errors.New("% Invalid input (at token 2: '" + cli.Clip(name) + "')")
	}
	c := e.sessions[name]
	switch {
	case c != nil && c.state != statePending:
		return nil, fmt.Errorf("%% Error: session %s is already %s", name, c.state)
	case c == nil:
		n := 0
		for _, o := range e.sessions {
			if o.state == statePending {
				n++
			}
		}
		if n >= e.o.MaxSessions {
			return nil, errors.New("% Maximum number of pending sessions has been reached")
		}
		c = &candidate{name: name, user: user, cfg: e.running.clone(), state: statePending}
		e.sessions[name] = c
	}
	return &session{e: e, c: c, user: user}, nil
}

// openTerminal opens a plain "configure terminal".
func (e *EOS) openTerminal(user string) *session { return &session{e: e, user: user} }

// line executes one configuration line and returns the box's answer, or "". A rejected line
// changes neither the configuration nor the mode, and does not end the session.
func (s *session) line(text string) string {
	s.e.Mu.Lock()
	defer s.e.Mu.Unlock()
	if s.c != nil && s.c.state != statePending {
		return "% Error: session " + s.c.name + " is no longer pending"
	}
	if s.c != nil {
		return s.run(text)
	}
	before := s.e.running.down()
	out := s.run(text)
	s.e.CountFlaps(before)
	return out
}

// config returns the configuration that the session changes. The caller must hold Mu.
func (s *session) config() *config {
	switch {
	case s.boot != nil:
		return s.boot
	case s.c != nil:
		return s.c.cfg
	}
	return s.e.running
}

// exit leaves the current mode. It returns true if the client was at the top level and thus leaves
// the configuration; a session stays pending.
func (s *session) exit() (left bool) {
	s.e.Mu.Lock()
	defer s.e.Mu.Unlock()
	s.heredoc = nil
	if len(s.stack) == 0 {
		return true
	}
	s.stack = s.stack[:len(s.stack)-1]
	return false
}

// prompt returns the part of the prompt after the host name: "(config)", or
// "(config-s-rf-abc-if-Et1/1)" with the first six characters of the session's name.
func (s *session) prompt() string {
	s.e.Mu.Lock()
	defer s.e.Mu.Unlock()
	p := "(config"
	if s.c != nil {
		n := s.c.name
		p += "-s-" + n[:min(6, len(n))]
	}
	if n := len(s.stack); n > 0 {
		p += "-" + s.stack[n-1].Prompt
	}
	return p + ")"
}

// diffs returns the output of `show session-config diffs`: a unified diff against the running
// configuration, or "" without differences or for a terminal.
func (s *session) diffs() string {
	s.e.Mu.Lock()
	defer s.e.Mu.Unlock()
	return s.e.sessionDiffs(s.c)
}

func (e *EOS) sessionDiffs(c *candidate) string {
	if c == nil || c.cfg == nil {
		return ""
	}
	session := "session:/" + c.name + "-session-config"
	d := diff.Diff("system:/running-config", []byte(e.body(e.running)), session, []byte(e.body(c.cfg)))
	// Drop the first line, which repeats the command.
	_, d2, _ := strings.Cut(string(d), "\n")
	return d2
}

// unsaved returns the output of `show running-config diffs`: what a restart would change.
func (e *EOS) unsaved() string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	d := diff.Diff("flash:/startup-config", []byte(e.body(e.startup)), "system:/running-config", []byte(e.body(e.running)))
	// Drop the first line, which repeats the command.
	_, d2, _ := strings.Cut(string(d), "\n")
	return d2
}

// text returns the output of `show session-config`.
func (s *session) text() string {
	s.e.Mu.Lock()
	defer s.e.Mu.Unlock()
	if s.c != nil && s.c.cfg == nil {
		return ""
	}
	return s.e.document("show session-config", s.config(), false)
}

// namedSession returns the output of `show session-config named NAME` or, with diffs, its diffs.
// It returns false if there is no pending session of that name.
func (e *EOS) namedSession(name string, diffs bool) (string, bool) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	c := e.sessions[name]
	switch {
	case c == nil || c.cfg == nil:
		return "", false
	case diffs:
		return e.sessionDiffs(c), true
	}
	return e.document("show session-config named "+name, c.cfg, false), true
}

// commit makes the configuration of a session the running one. With a timer, the commit is rolled
// back when the timer fires, unless a second commit without a timer confirms it; a second commit
// with a timer restarts the timer. The result is "" or the box's answer.
func (e *EOS) commit(name string, timer time.Duration) string {
	if !e.Work() {
		return "% Error: the switch is going down"
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	c := e.sessions[name]
	if e.Timer != nil && e.Timer.c == c {
		if timer > 0 {
			e.startTimer(c, e.Timer.before, timer)
			return ""
		}
		e.StopTimer()
		e.complete(c)
		return ""
	}
	e.Wrote()
	switch {
	case c == nil:
		return "% Error: session " + cli.Clip(name) + " does not exist"
	case c.state != statePending:
		return "% Cannot commit session " + name + ": it is already " + c.state
	case e.Timer != nil:
		return "% Cannot commit session " + name + ": the commit timer of session " + e.Timer.c.name + " is running"
	}
	before := e.running
	e.replace(c.cfg)
	c.cfg = nil
	if timer > 0 {
		c.state = stateTimer
		e.startTimer(c, before, timer)
		return ""
	}
	e.complete(c)
	return ""
}

// complete marks a session as completed and forgets the oldest completed ones. The caller must
// hold Mu.
func (e *EOS) complete(c *candidate) {
	e.serial++
	c.state, c.serial, c.completedAt = stateCompleted, e.serial, time.Since(e.Booted).Seconds()
	for name, o := range e.sessions {
		if o.state == stateCompleted && o.serial <= e.serial-keepCompleted {
			delete(e.sessions, name)
		}
	}
}

// startTimer starts or restarts the commit timer of c.
func (e *EOS) startTimer(c *candidate, before *config, d time.Duration) {
	e.StartTimer(&commitTimer{c: c, before: before, expire: time.Now().Add(d)}, d, e.rollBack)
}

// Unconfirmed commits another MTU for a port with a timer, as a colleague does who has yet to confirm.
func (e *EOS) Unconfirmed(port string) {
	const name = "colleague"
	s, err := e.openSession(name, "colleague")
	if err != nil {
		return // the session of an earlier call is open
	}
	for _, line := range []string{"interface " + port, "mtu 1500"} {
		s.line(line)
	}
	e.commit(name, 10*time.Minute)
}

// rollBack reverts the commit that waits for confirmation. The caller must hold Mu.
func (e *EOS) rollBack() {
	t := e.Timer
	e.StopTimer()
	t.c.state = stateAborted
	delete(e.sessions, t.c.name)
	e.replace(t.before)
}

// abort discards a pending session, or rolls back a commit whose timer is running. The result is
// "" or the box's answer.
func (e *EOS) abort(name string) string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	c := e.sessions[name]
	switch {
	case c == nil:
		return "% Error: session " + cli.Clip(name) + " does not exist"
	case c.state == stateTimer:
		e.rollBack()
		return ""
	case c.state != statePending:
		return "% Error: session " + name + " is already " + c.state
	}
	c.state, c.cfg = stateAborted, nil
	delete(e.sessions, name)
	return ""
}

// sessionsJSON returns the value of `show configuration sessions | json`. Times are in seconds of
// uptime (napalm-automation/napalm eos.py).
func (e *EOS) sessionsJSON() any {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	sessions := map[string]any{}
	for name, c := range e.sessions {
		m := map[string]any{"state": c.state, "completedTime": c.completedAt, "commitUser": "", "commitBy": 0.0, "description": "", "instances": map[string]any{}}
		switch {
		case c.state == stateCompleted:
			m["commitUser"] = c.user
		case c.state == stateTimer && e.o.OldSessionJSON:
			m["commitBy"], m["commitUser"] = e.Timer.expire.Sub(e.Booted).Seconds(), c.user
		case c.state == stateTimer:
			// Newer releases show the timer only outside the list of sessions.
			m["state"], m["commitUser"] = stateCompleted, c.user
		}
		sessions[name] = m
	}
	out := map[string]any{"sessions": sessions, "maxSavedSessions": keepCompleted, "maxOpenSessions": e.o.MaxSessions,
		"mergeOnCommit": false, "saveToStartupConfigOnCommit": false}
	if e.Timer != nil && !e.o.OldSessionJSON {
		out["commitTimerSessionName"] = e.Timer.c.name
		out["commitTimerExpireTime"] = e.Timer.expire.Sub(e.Booted).Seconds()
	}
	return out
}
