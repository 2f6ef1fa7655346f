package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// cliBox is a switch with a command line.
type cliBox interface {
	sim.Switch
	Running() string
	Startup() string
	ExpireTimer() bool
}

func cliOf(ts *testscript.TestScript, name string) cliBox {
	b, ok := switchOf(ts, name).(cliBox)
	if !ok {
		ts.Fatalf("%s has no command line", name)
	}
	return b
}

// labconf DEVICE LINE... enters configuration lines, like another user.
func labConf(ts *testscript.TestScript, _ bool, a []string) {
	ts.Check(cliOf(ts, a[0]).Configure(strings.Join(a[1:], "\n")))
}

// labshows DEVICE running|startup REGEXP checks a configuration; with !, it must not match.
func labShows(ts *testscript.TestScript, neg bool, a []string) {
	b := cliOf(ts, a[0])
	text := b.Running()
	if a[1] == "startup" {
		text = b.Startup()
	}
	if regexp.MustCompile("(?m)"+a[2]).MatchString(text) == neg {
		ts.Fatalf("the %s configuration of %s is\n%s", a[1], a[0], text)
	}
}

// labexpire DEVICE lets the commit timer expire.
func labExpire(ts *testscript.TestScript, neg bool, a []string) {
	if cliOf(ts, a[0]).ExpireTimer() == neg {
		ts.Fatalf("the commit timer of %s: running %v", a[0], neg)
	}
}

// cliFaults are the faults supported by every switch with a command line.
type cliFaults interface {
	Clear()
	RefuseConnections(bool)
	TruncateAnswers(bool)
	ReadOnly(bool)
	WrongCertificate(bool)
	StuckPager(bool)
	RejectNext()
	RefuseLine(*regexp.Regexp)
}

func cliFault(ts *testscript.TestScript, f cliFaults, a []string) {
	switch a[0] {
	case "clear":
		f.Clear()
	case "refuse":
		f.RefuseConnections(true)
	case "truncate":
		f.TruncateAnswers(true)
	case "readonly":
		f.ReadOnly(true)
	case "badcert":
		f.WrongCertificate(true)
	case "pager":
		f.StuckPager(true)
	case "reject":
		f.RejectNext()
	case "refuseline":
		f.RefuseLine(regexp.MustCompile(a[1]))
	default:
		ts.Fatalf("unknown fault %q", a[0])
	}
}

// killed DEVICE before|after COMMAND runs a command and kills it, either just before its commit
// takes effect, or just after, when the commit timer is running and the answer has not arrived.
func killed(ts *testscript.TestScript, neg bool, a []string) {
	if neg || len(a) < 3 {
		ts.Fatalf("usage: killed DEVICE before|after command...")
	}
	b, ok := switchOf(ts, a[0]).(*eos.EOS)
	if !ok {
		ts.Fatalf("%s is no EOS switch", a[0])
	}
	var out syncBuffer
	cmd := exec.Command(a[2], a[3:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &out, &out
	cmd.Env = scriptEnv(ts)
	dead := make(chan struct{})
	var once sync.Once
	kill := func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // returns the error of the killed process
			close(dead)
		})
	}
	b.Faults().BeforeWrite(func() {
		if a[1] == "before" {
			kill()
			return
		}
		// Delay all further answers, so that the kill comes first.
		b.Faults().Delay(time.Hour)
	})
	ts.Check(cmd.Start())
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for alive := true; alive; {
		select {
		case <-dead:
			alive = false
		case <-limit.C:
			kill()
			ts.Fatalf("the moment did not come\n%s", out.String())
		case <-tick.C:
			for _, state := range b.Sessions() {
				if a[1] == "after" && strings.Contains(state, "Timer") {
					kill()
				}
			}
		}
	}
	b.Faults().BeforeWrite(nil)
	b.Faults().Clear()
}

// scriptEnv returns the environment for a command of a script.
func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, v := range []string{"PATH", "HOME", "XDG_STATE_HOME", "ROCE_FABRIC_LAB", "ROCE_FABRIC_PROGRAMS", "TMPDIR"} {
		env = append(env, v+"="+ts.Getenv(v))
	}
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "TESTSCRIPT_") || strings.HasPrefix(kv, "GOCOVERDIR") {
			env = append(env, kv)
		}
	}
	return env
}
