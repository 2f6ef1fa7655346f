package eos

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/showjson"
)

// Session names have at most maxName characters, including their random suffix.
const (
	maxName     = 30
	randomBytes = 3
	randomEnd   = 1 + 2*randomBytes // "-5f3a01"
)

// sessionName derives a session name from a run ID. The random suffix makes it unique, because
// the name of a committed session cannot be used again.
func sessionName(id string) string {
	return drivers.RunName(id, maxName-randomEnd) + "-" + random(randomBytes)
}

// undoName returns the name of a session that reverts an apply. It contains the time and a hash
// of the run, so that later runs know which run left the session open.
func undoName(session string) string {
	return drivers.Mark + time.Now().UTC().Format(undoTime) + undoOf(runOf(session)) + random(2)
}

// random returns the given number of random bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// undoTime is the time layout that [drivers.RunTime] parses.
const undoTime = "20060102-150405"

// undoOf returns the part after the time in the names of sessions that revert a run.
func undoOf(run string) string {
	h := sha256.Sum256([]byte(run))
	return "-" + hex.EncodeToString(h[:3]) + "-"
}

// runOf returns the part of a session name that derives from the run ID.
func runOf(session string) string { return session[:max(0, len(session)-randomEnd)] }

// sessions holds the open configuration sessions, and the session whose commit timer is running.
// A switch has at most one timer.
type sessions struct {
	pending []session
	timer   *session
	left    time.Duration // time left on the timer
}

type session struct {
	name, user string
	// ours is set if a run of this tool created the session. fresh is set if that run, or the
	// revert, began age ago and may still be in progress.
	ours, fresh bool
	age         time.Duration
}

// atWork is how long an unknown run is assumed to be in progress after its start: it may change
// many devices before this one. Only its journal, on its own machine, shows whether it has ended.
const atWork = 12 * time.Hour

// session interprets a session name. A session whose timer is running was committed minutes ago,
// however long ago its run began.
func (d *Driver) session(name, user string, timed bool) session {
	s := session{name: name, user: user, ours: drivers.Ours(name)}
	if began, known := drivers.RunTime(name); known && s.ours && !d.knownEnded(name) {
		// The clock of the other machine may be ahead.
		s.age = max(time.Since(began), 0)
		s.fresh = timed || s.age < atWork
	}
	return s
}

// knownEnded reports whether a session belongs to a run that has ended or to its revert, or was
// created by this driver to revert.
func (d *Driver) knownEnded(name string) bool {
	if name == d.undo {
		return true
	}
	after := name[min(len(name), len(drivers.Mark+undoTime)):]
	return slices.ContainsFunc(d.Ended, func(id string) bool {
		run := drivers.RunName(id, maxName-randomEnd)
		return runOf(name) == run || strings.HasPrefix(after, undoOf(run))
	})
}

func (s session) String() string {
	t := "configuration session " + s.name
	if s.user != "" {
		t += " of user " + s.user
	}
	return t
}

// errNotShown means that the switch does not show its configuration sessions.
var errNotShown = errors.New("configuration sessions are not shown")

// sessions reads the open sessions. The error wraps errNotShown if the switch refuses the
// command.
func (d *Driver) sessions(ctx context.Context) (*sessions, error) {
	raw, err := d.way.showJSON(ctx, "show configuration sessions")
	if refused(err) {
		return nil, fmt.Errorf("%w: %w", errNotShown, drivers.TransportError(err))
	}
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	shown, err := showjson.ParseSessions(raw)
	if errors.Is(err, showjson.ErrRefused) {
		return nil, fmt.Errorf("%w: %w", errNotShown, err)
	}
	if err != nil {
		return nil, fmt.Errorf("show configuration sessions: %w", err)
	}
	out := &sessions{}
	for _, name := range shown.Pending() {
		out.pending = append(out.pending, d.session(name, shown.Users[name], false))
	}
	if shown.Timer == "" {
		return out, nil
	}
	// The timer's expiry is given on the uptime clock (napalm-automation/napalm eos.py).
	v, err := d.version(ctx)
	if err != nil {
		return nil, err
	}
	out.timer = new(d.session(shown.Timer, shown.Users[shown.Timer], true))
	out.left = max(shown.Expires.V-v.Uptime.V, 0).Round(time.Second)
	return out, nil
}

// holds reports whether a session with this name is open.
func (s *sessions) holds(name string) bool {
	return slices.ContainsFunc(s.pending, func(p session) bool { return p.name == name })
}

// timed reports whether the commit timer of the session is running.
func (s *sessions) timed(name string) bool {
	return name != "" && s.timer != nil && s.timer.name == name
}

// obstacle returns the reason why nothing may be written now: a commit would overwrite changes
// that others are about to commit, or that a timer is about to restore.
func (s *sessions) obstacle() error {
	if t := s.timer; t != nil {
		todo := "wait until it is confirmed or reverted"
		switch {
		case t.fresh:
			todo = drivers.AtWork(t.age) + ": wait until it confirms, or until the switch reverts it by itself"
		case t.ours:
			todo = "confirm that run or roll it back, or wait until the switch reverts it by itself"
		}
		return fmt.Errorf("%w: the commit timer of %s runs for another %s; %s", drivers.ErrRejected, t, drivers.Spell(s.left), todo)
	}
	for _, p := range s.pending {
		switch {
		case p.fresh:
			return fmt.Errorf("%w: %s is open; %s: wait until it is done, or abort it if no run is active (configure session %s abort)", drivers.ErrRejected, p, drivers.AtWork(p.age), p.name)
		case !p.ours:
			return fmt.Errorf("%w: %s is open, and a commit of it would undo this one or be undone by it; commit it or abort it (configure session %s abort)", drivers.ErrRejected, p, p.name)
		}
	}
	return nil
}

// notes describes sessions that earlier runs and other users left open. aborts is set if an apply
// aborts those of earlier runs.
func (s *sessions) notes(aborts bool) []string {
	var out []string
	if t := s.timer; t != nil {
		switch {
		case t.fresh:
			out = append(out, fmt.Sprintf("%s; its change is in force and not confirmed (%s): the switch reverts it in %s unless it is confirmed; on the machine where that run began, an apply confirms it if it matches the intent", drivers.AtWork(t.age), t, drivers.Spell(s.left)))
		case t.ours:
			out = append(out, fmt.Sprintf("the change of an earlier run is in force and not confirmed (%s): the switch reverts it in %s unless it is confirmed; an apply confirms it if it matches the intent, and otherwise writes nothing", t, drivers.Spell(s.left)))
		default:
			out = append(out, fmt.Sprintf("the commit timer of %s runs for another %s; nothing can be applied before it ends", t, drivers.Spell(s.left)))
		}
	}
	for _, p := range s.pending {
		switch {
		case p.fresh:
			out = append(out, fmt.Sprintf("%s before its commit (%s): none of it is in force; an apply refuses to write meanwhile, except from where that run began", drivers.AtWork(p.age), p))
		case !p.ours:
			out = append(out, fmt.Sprintf("%s is open: an apply refuses to write before it is committed or aborted", p))
		case aborts:
			out = append(out, fmt.Sprintf("an earlier run was cut off before its commit (%s): none of it is in force, and an apply aborts the session", p))
		default:
			out = append(out, fmt.Sprintf("an earlier run was cut off before its commit (%s): none of it is in force; abort it on the switch (configure session %s abort)", p, p.name))
		}
	}
	return out
}

// clearLeftovers aborts the sessions that earlier runs left open.
func (d *Driver) clearLeftovers(ctx context.Context, s *sessions) error {
	for _, p := range s.pending {
		if p.ours && !p.fresh {
			if err := d.way.discard(ctx, p.name); err != nil && !refused(err) {
				return fmt.Errorf("abort %s: %w", p, drivers.TransportError(err))
			}
		}
	}
	return nil
}
