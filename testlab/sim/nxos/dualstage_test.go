package nxos

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stageOf opens a dual-stage session and enters lines.
func stageOf(t *testing.T, n *NXOS, lines ...string) *configurer {
	t.Helper()
	c, refused := n.openDualStage("admin")
	if refused {
		t.Fatal("refused")
	}
	for _, l := range lines {
		if out := c.line(l); out != "" {
			t.Fatalf("%s: %s", l, out)
		}
	}
	return c
}

const committedText = `Verification Succeeded.

Proceeding to apply configuration. This might take a while depending on amount of configuration in buffer.
Please avoid other configuration changes during this time.
Configuration committed by user 'admin' using Commit ID : 1000000001`

func TestDualStage(t *testing.T) {
	n := newBox(t, Options{Config: small})
	before := bodyOf(t, n)
	c := stageOf(t, n, "policy-map type network-qos P", " class type network-qos c-8q-nq3", "pause pfc-cos 3", "class type network-qos c-8q-nq4", "mtu 9216", "interface Ethernet1/1-2", "no shutdown")
	if p := c.prompt(); p != "(config-dual-stage-if-range)" {
		t.Error(p)
	}
	if bodyOf(t, n) != before || n.Writes() != 0 {
		t.Error("the buffer changed the running configuration")
	}
	const buffer = "! Cached configuration\npolicy-map type network-qos P\n class type network-qos c-8q-nq3\n  pause pfc-cos 3\n class type network-qos c-8q-nq4\n  mtu 9216\ninterface Ethernet1/1-2\n no shutdown\n"
	if got := c.buffer(); got != buffer {
		t.Errorf("buffer:\n%s", got)
	}
	if out := c.line("mtu 9"); !strings.HasSuffix(out, outOf("576-9216")) || c.buffer() != buffer {
		t.Errorf("a line that does not parse: %s", out)
	}
	// Changes made by others in the meantime are kept.
	feed(t, n, "feature bgp")
	if out := c.commit(0); out != committedText {
		t.Errorf("commit:\n%s", out)
	}
	for _, want := range []string{"feature bgp\n", "    pause pfc-cos 3\n  class type network-qos c-8q-nq4\n    mtu 9216\n", "interface Ethernet1/1\n  no switchport\n  no shutdown\n"} {
		if !strings.Contains(n.Running(), want) {
			t.Errorf("running lacks %q", want)
		}
	}
	if out := c.commit(0); out != "No configuration changes to commit." || n.Writes() != 3 {
		t.Errorf("empty commit: %s, %d writes", out, n.Writes())
	}
}

// Lines that parse but cannot be applied make the whole commit fail.
func TestVerification(t *testing.T) {
	n := newBox(t, Options{Config: readFile(t, "double.cfg")})
	before := bodyOf(t, n)
	c := stageOf(t, n, "feature bgp", "no policy-map type qos QOS_CLASSIFICATION", "interface Ethernet1/1", "service-policy type qos input NONE")
	out := c.commit(60)
	if want := "Failed. err=policy-map QOS_CLASSIFICATION is in use by interface Ethernet1/1 (no policy-map type qos QOS_CLASSIFICATION)\ncommit verification failed"; out != want || !failed(out) {
		t.Errorf("commit: %s", out)
	}
	if bodyOf(t, n) != before || n.ExpireTimer() || n.Writes() != 1 {
		t.Error("a refused commit changed something")
	}
	// The buffer may detach the policy first.
	c = stageOf(t, n, "interface Ethernet1/1", "no service-policy type qos input QOS_CLASSIFICATION", "no policy-map type qos QOS_CLASSIFICATION")
	if out := c.commit(0); out != committedText || strings.Contains(n.Running(), "QOS_CLASSIFICATION") {
		t.Error(out)
	}
}

func TestCommitConfirmed(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(n *NXOS, c *configurer) bool
		kept bool
	}{
		{"confirmed", func(_ *NXOS, c *configurer) bool { return !failed(c.commit(0)) }, true},
		{"confirmed elsewhere", func(n *NXOS, _ *configurer) bool {
			d, _ := n.openDualStage("other")
			return !failed(d.commit(0))
		}, true},
		{"aborted", func(_ *NXOS, c *configurer) bool { return c.abort() == "" }, false},
		{"expired", func(n *NXOS, _ *configurer) bool { return n.ExpireTimer() }, false},
		{"restarted", func(n *NXOS, _ *configurer) bool { return n.Restart() == nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newBox(t, Options{Config: small})
			before := bodyOf(t, n)
			d := stageOf(t, n, "interface Ethernet1/1", "mtu 9216")
			if out := d.commit(3600); out != committedText || d.notice() != "" {
				t.Fatal(out)
			}
			after := bodyOf(t, n)
			if out := stageOf(t, n, "feature bgp").commit(0); !failed(out) || bodyOf(t, n) != after {
				t.Errorf("another commit while the timer runs: %s", out)
			}
			if !c.end(n, d) {
				t.Error("refused")
			}
			want := before
			if c.kept {
				want = after
			}
			if got := bodyOf(t, n); got != want || before == after {
				t.Errorf("running:\n%s", got)
			}
			if n.ExpireTimer() {
				t.Error("a timer still runs")
			}
			if said := strings.HasPrefix(d.notice(), "Confirm commit Timer expired, triggering rollback commit\nRollback in progress\nConfiguration committed by rollback using Commit ID : 1000000002"); said != (c.name == "expired" || c.name == "aborted") {
				t.Errorf("notice: %v", said)
			}
		})
	}
}

// A commit that Close overtakes starts no timer, as Close would have to wait for it.
func TestCommitAfterClose(t *testing.T) {
	n := newBox(t, Options{Config: small})
	c := stageOf(t, n, "feature bgp")
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if out := c.commit(3600); failed(out) {
		t.Fatal(out)
	}
	if n.Timer != nil {
		t.Error("a timer runs")
	}
}

// The confirmation timer uses the clock.
func TestTimerRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newBox(t, Options{Config: small})
		before := bodyOf(t, n)
		c := stageOf(t, n, "feature bgp")
		if out := c.commit(60); failed(out) {
			t.Fatal(out)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := bodyOf(t, n); got != before {
			t.Errorf("after the timer:\n%s", got)
		}
	})
}

func TestDualStageOptions(t *testing.T) {
	if _, refused := newBox(t, Options{NoDualStage: true}).openDualStage("admin"); !refused {
		t.Error("a release without it opens it")
	}
	n := newBox(t, Options{Config: small, DualStageNoQoS: true})
	c := stageOf(t, n, "interface Ethernet1/1", "mtu 9216")
	for _, l := range []string{"class-map A", "policy-map type network-qos P", "system qos", "priority-flow-control mode on", "no service-policy type qos input A"} {
		if out := c.line(l); lastLine(out) != badCommand {
			t.Errorf("%s: %s", l, out)
		}
	}
	if out := c.commit(0); failed(out) {
		t.Error(out)
	}
	c.abort()
	if out := c.line("feature bgp"); !failed(out) || !failed(c.commit(0)) {
		t.Errorf("after abort: %q", out)
	}
}
