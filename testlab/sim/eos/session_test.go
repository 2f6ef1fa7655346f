package eos

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// open enters a session and types lines in it.
func open(t *testing.T, e *EOS, name string, lines ...string) *session {
	t.Helper()
	s, err := e.openSession(name, "admin")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if out := s.line(l); out != "" {
			t.Fatalf("%s: %s", l, out)
		}
	}
	return s
}

func wantSessions(t *testing.T, e *EOS, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, e.Sessions()); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
}

func TestSessionCommit(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	before := e.Running()
	s := open(t, e, "one", "interface Ethernet1/1", "mtu 9214")
	if e.Running() != before {
		t.Error("a pending session changed the running configuration")
	}
	want := `--- system:/running-config
+++ session:/one-session-config
@@ -1,6 +1,7 @@
 hostname leaf1
 !
 interface Ethernet1/1
+   mtu 9214
    no switchport
 !
 interface Ethernet2/1
`
	if d := cmp.Diff(want, s.diffs()); d != "" {
		t.Errorf("diffs (-want +got):\n%s", d)
	}
	again := open(t, e, "one", "interface Ethernet2/1", "mtu 9000")
	if again.text() != s.text() || !strings.Contains(s.text(), "   mtu 9000\n") {
		t.Error("a session that is entered twice is not one")
	}
	// The changes of another user in between are overwritten.
	feed(t, e, "qos rewrite dscp")
	if out := e.commit("one", 0); out != "" {
		t.Fatal(out)
	}
	if r := e.Running(); strings.Contains(r, "qos rewrite") || !strings.Contains(r, "mtu 9214") {
		t.Errorf("after the commit:\n%s", r)
	}
	wantSessions(t, e, map[string]string{"one": stateCompleted})
	if out := s.line("mtu 1500"); !strings.HasPrefix(out, "%") {
		t.Errorf("a line after the commit: %q", out)
	}
	if out := e.commit("one", 0); !strings.HasPrefix(out, "% Cannot commit") {
		t.Errorf("second commit: %q", out)
	}
	if _, err := e.openSession("one", "admin"); err == nil {
		t.Error("a completed session opens again")
	}
	if n := e.Writes(); n != 2 {
		t.Errorf("%d commits, want 2", n)
	}
	if open(t, e, "two").diffs() != "" {
		t.Error("a session without changes has a diff")
	}
}

func TestRefusedLineLeavesSession(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	s := open(t, e, "one", "interface Ethernet1/1")
	if out := s.line("mtu 9"); !strings.HasPrefix(out, "%") {
		t.Fatalf("mtu 9: %q", out)
	}
	if out := s.line("mtu 9000") + e.commit("one", 0); out != "" {
		t.Fatal(out)
	}
	if got := inside(t, e, "interface Ethernet1/1"); got != "   mtu 9000\n   no switchport\n" {
		t.Error(got)
	}
}

func TestSessionLimit(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	for i := range 5 {
		open(t, e, fmt.Sprint("s", i))
	}
	const want = "% Maximum number of pending sessions has been reached"
	if _, err := e.openSession("s5", "admin"); err == nil || err.Error() != want {
		t.Errorf("sixth session: %v", err)
	}
	open(t, e, "s3") // one of the five
	if out := e.abort("s0"); out != "" {
		t.Fatal(out)
	}
	open(t, e, "s5")
	if _, err := e.openSession("a b", "admin"); err == nil {
		t.Error("a name with a space")
	}
	for _, out := range []string{e.abort("none"), e.commit("none", 0)} {
		if !strings.HasPrefix(out, "%") {
			t.Errorf("unknown session: %q", out)
		}
	}
}

func TestCommitTimer(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(e *EOS) string
		kept  bool
		state map[string]string
	}{
		{"confirmed", func(e *EOS) string { return e.commit("one", 0) }, true, map[string]string{"one": stateCompleted}},
		{"aborted", func(e *EOS) string { return e.abort("one") }, false, map[string]string{}},
		{"expired", func(e *EOS) string { return fmt.Sprint(e.ExpireTimer()) }, false, map[string]string{}},
		{"restarted", func(e *EOS) string { return fmt.Sprint(e.Restart()) }, false, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEOS(t, Options{Config: small})
			before := e.Running()
			open(t, e, "one", "qos rewrite dscp")
			if out := e.commit("one", time.Hour); out != "" {
				t.Fatal(out)
			}
			wantSessions(t, e, map[string]string{"one": stateTimer})
			after := e.Running()
			if after == before {
				t.Fatal("the commit changed nothing")
			}
			open(t, e, "two", "ip routing")
			if out := e.commit("two", time.Hour); !strings.HasPrefix(out, "% Cannot commit") {
				t.Errorf("a second timer: %q", out)
			}
			if out := e.commit("one", 2*time.Hour); out != "" {
				t.Errorf("timer started anew: %q", out)
			}
			if out := e.abort("two"); out != "" {
				t.Fatal(out)
			}
			feed(t, e, "ip routing") // lost in a rollback
			if out := c.end(e); strings.HasPrefix(out, "%") {
				t.Fatal(out)
			}
			wantSessions(t, e, c.state)
			if c.kept != (e.Running() != before) {
				t.Errorf("running:\n%s", e.Running())
			}
			if e.ExpireTimer() {
				t.Error("a timer still runs")
			}
		})
	}
}

// The timer fires by itself.
func TestTimerRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEOS(t, Options{Config: small})
		before := e.Running()
		open(t, e, "one", "qos rewrite dscp")
		if out := e.commit("one", time.Minute); out != "" {
			t.Fatal(out)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if e.Running() != before || len(e.Sessions()) > 0 {
			t.Errorf("after the timer: sessions %v\n%s", e.Sessions(), e.Running())
		}
	})
}

func TestSessionsJSON(t *testing.T) {
	type answer struct {
		Sessions map[string]struct {
			State         string
			CompletedTime float64
			CommitUser    string
			CommitBy      float64
		}
		CommitTimerSessionName string
		CommitTimerExpireTime  float64
	}
	for _, old := range []bool{false, true} {
		e := newEOS(t, Options{Config: small, OldSessionJSON: old})
		open(t, e, "p")
		open(t, e, "one", "qos rewrite dscp")
		if out := e.commit("one", time.Hour); out != "" {
			t.Fatal(out)
		}
		raw, err := json.Marshal(e.sessionsJSON())
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if s := got.Sessions["p"].State; s != "pending" {
			t.Errorf("old %v: state %q", old, s)
		}
		name, by := got.CommitTimerSessionName, got.CommitTimerExpireTime
		if old {
			if name != "" || !strings.Contains(got.Sessions["one"].State, "pendingCommitTimer") {
				t.Errorf("old form: %s", raw)
			}
			name, by = "one", got.Sessions["one"].CommitBy
		}
		if left := by - e.Uptime().Seconds(); name != "one" || left > 3600 || left < 3500 {
			t.Errorf("old %v: %s runs out in %v s", old, name, left)
		}
	}
}

func TestCleanConfig(t *testing.T) {
	e := newEOS(t, Options{Config: small + "interface Loopback0\nqos profile P\n"})
	s := open(t, e, "one", "rollback clean-config")
	for _, l := range cli.SplitLines(small) {
		if out := s.line(l); out != "" {
			t.Fatalf("%s: %s", l, out)
		}
	}
	if d := s.diffs(); !strings.Contains(d, "-qos profile P\n") || !strings.Contains(d, "-interface Loopback0\n") || strings.Contains(d, "\n-   no switchport") {
		t.Errorf("diffs:\n%s", d)
	}
	if out := e.openTerminal("admin").line("rollback clean-config"); !strings.HasPrefix(out, "% Unavailable") {
		t.Errorf("at a terminal: %q", out)
	}
}

func TestRestart(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	feed(t, e, "qos rewrite dscp")
	e.save()
	feed(t, e, "ip routing")
	s := open(t, e, "one", "interface Ethernet1/1")
	if err := e.Restart(); err != nil {
		t.Fatal(err)
	}
	if r := e.Running(); !strings.Contains(r, "qos rewrite") || strings.Contains(r, "ip routing") {
		t.Errorf("after the restart:\n%s", r)
	}
	if out := s.line("mtu 9000"); !strings.HasPrefix(out, "%") || s.diffs() != "" || s.text() != "" {
		t.Errorf("the session outlived the restart: %q", out)
	}
	wantSessions(t, e, map[string]string{})
}

func TestFlaps(t *testing.T) {
	e := newEOS(t, Options{Config: small + "interface Ethernet2/1\nshutdown\n"})
	if d := cmp.Diff([]string{"Ethernet2/1"}, e.Down()); d != "" {
		t.Error(d)
	}
	feed(t, e, "interface Ethernet1/1\nshutdown\nmtu 9000\nno shutdown")
	open(t, e, "one", "interface Ethernet2/1", "shutdown", "no shutdown")
	if out := e.commit("one", 0); out != "" {
		t.Fatal(out)
	}
	if d := cmp.Diff(map[string]int{"Ethernet1/1": 1, "Ethernet2/1": 1}, e.Flaps()); d != "" {
		t.Error(d)
	}
	if d := e.Down(); len(d) != 0 {
		t.Errorf("down: %v", d)
	}
}

// A slow commit ends when the switch is closed.
func TestCloseDuringCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEOS(t, Options{Config: small, TimeScale: 3600})
		open(t, e, "one")
		out := make(chan string)
		go func() { out <- e.commit("one", 0) }()
		began := time.Now()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if s := <-out; !strings.HasPrefix(s, "%") || time.Since(began) > time.Minute {
			t.Errorf("answer %q after %s", s, time.Since(began))
		}
	})
}
