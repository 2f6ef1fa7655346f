package eos

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// start starts a switch "leaf1", with four routed ports by default.
func start(t testing.TB, o Options) *EOS {
	t.Helper()
	if o.Hostname == "" {
		o.Hostname = "leaf1"
	}
	if o.Interfaces == nil {
		o.Interfaces, o.Routed = []string{"Ethernet1/1", "Ethernet2/1", "Ethernet3/1", "Ethernet4/1"}, true
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func configure(t testing.TB, e *EOS, lines string) {
	t.Helper()
	if err := e.Configure(lines); err != nil {
		t.Fatal(err)
	}
}

const promptExpr = `leaf1(\([^)]*\))?[>#]`

// shellOf opens a shell, reads its first prompt and turns off the pager.
func shellOf(t testing.TB, e *EOS) *clitest.Console {
	t.Helper()
	k := clitest.Shell(t, clitest.Login(t, e), promptExpr, 200, 24)
	k.Until(`leaf1[>#]$`)
	k.Do("terminal length 0")
	return k
}

func TestLogin(t *testing.T) {
	e := start(t, Options{Banner: "authorised users only", MOTD: "welcome to leaf1"})
	if _, err := clitest.Dial(t, e, clitest.Account{Password: "wrong"}); err == nil {
		t.Error("logged in with a wrong password")
	}
	var banner string
	c, err := clitest.Dial(t, e, clitest.Account{Password: "admin", Banner: &banner})
	if err != nil {
		t.Fatal(err)
	}
	if banner != "authorised users only\n" {
		t.Errorf("banner %q", banner)
	}
	k := clitest.Shell(t, c, promptExpr, 80, 24)
	if got := k.Until(`#$`); got != "welcome to leaf1\r\nleaf1#" {
		t.Errorf("after the login: %q", got)
	}
	k.Send("exit\n")
	k.Until("exit\r\n")
	if err := k.Session.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if got := clitest.Once(t, c, "show version"); !strings.HasPrefix(got, "Arista DCS-7060DX5-64S\n") {
		t.Errorf("one command: %q", got)
	}
}

func TestEchoAndLineEnds(t *testing.T) {
	k := shellOf(t, start(t, Options{}))
	for _, c := range "disable" { // each byte is echoed before the next one is sent
		k.Send(string(c))
		if got := k.Until(`.$`); got != string(c) {
			t.Fatalf("echo %q of %q", got, c)
		}
	}
	k.Send("\r\n")
	if got := k.Until(`>$`); got != "\r\nleaf1>" {
		t.Errorf("CR LF is not one end of line: %q", got)
	}
	k.Send("enablx\x7fe\r")
	if got := k.Until(`#$`); got != "enablx\b \be\r\nleaf1#" {
		t.Errorf("line editing: %q", got)
	}
	k.Send("show nonsense\x03")
	if got := k.Until(`#$`); got != "show nonsense^C\r\nleaf1#" {
		t.Errorf("Ctrl-C: %q", got)
	}
	k.Send("terminal width 20\n")
	k.Until(`columns.\r\nleaf1#$`)
	k.Send("show running-config all\n")
	if got := k.Until(`\n`); !strings.HasPrefix(got, "show running-c \ronfig all\r\n") {
		t.Errorf("a line beyond the width is echoed as %q", got)
	}
}

func TestEnable(t *testing.T) {
	e := start(t, Options{Unprivileged: true, EnablePassword: "s3cret"})
	k := shellOf(t, e)
	k.Talk(
		[3]string{"show running-config", "% Invalid input (privileged mode required)\n", "leaf1>"},
		[3]string{"configure session x", "% Invalid input (privileged mode required)\n", "leaf1>"},
		[3]string{"write memory", "% Invalid input (privileged mode required)\n", "leaf1>"},
	)
	k.Send("enable\n")
	k.Until(`Password: $`)
	k.Send("wrong\n")
	if got := k.Until(`[>#]$`); got != "\r\n% Bad secret\r\nleaf1>" {
		t.Errorf("after a wrong password: %q", got)
	}
	k.Send("enable\n")
	k.Until(`Password: $`)
	k.Send("s3cret\n")
	if got := k.Until(`[>#]$`); got != "\r\nleaf1#" {
		t.Errorf("after the password: %q", got)
	}
	k.Talk([3]string{"disable", "", "leaf1>"})

	c := clitest.Login(t, e)
	if got := clitest.Once(t, c, "show running-config"); got != "% Invalid input (privileged mode required)\n" {
		t.Errorf("one unprivileged command: %q", got)
	}
	plain := start(t, Options{Unprivileged: true})
	shellOf(t, plain).Talk([3]string{"enable", "", "leaf1#"})
}

func TestModesAndSessions(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	k.Talk(
		[3]string{"configure", "", "leaf1(config)#"},
		[3]string{"interface Ethernet1/1", "", "leaf1(config-if-Et1/1)#"},
		[3]string{"description now", "", "leaf1(config-if-Et1/1)#"},
		[3]string{"commit", "% Invalid input (at token 0: 'commit')\n", "leaf1(config-if-Et1/1)#"},
		[3]string{"exit", "", "leaf1(config)#"},
		[3]string{"exit", "", "leaf1#"},
	)
	if !strings.Contains(e.Running(), "description now") {
		t.Error("a line of configure terminal did not take effect")
	}
	k.Talk(
		[3]string{"configure session rf-abcdef", "", "leaf1(config-s-rf-abc)#"},
		[3]string{"interface Ethernet1/1", "", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"mtu 9214", "", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"abort", "% Invalid input (at token 0: 'abort')\n", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"end", "", "leaf1#"},
	)
	if e.Sessions()["rf-abcdef"] != statePending || strings.Contains(e.Running(), "mtu 9214") {
		t.Errorf("end did not leave the session pending: %v", e.Sessions())
	}
	// Another terminal continues the session.
	k = shellOf(t, e)
	k.Do("configure session rf-abcdef")
	if d := k.Do("show session-config diffs"); !strings.HasPrefix(d, "--- system:/running-config\n+++ session:/rf-abcdef-session-config\n") || !strings.Contains(d, "\n+   mtu 9214\n") {
		t.Errorf("diffs: %q", d)
	}
	if d := k.Do("show session-config named rf-abcdef diffs"); !strings.Contains(d, "mtu 9214") {
		t.Errorf("diffs by name: %q", d)
	}
	if c := k.Do("show session-config"); !strings.Contains(c, "   mtu 9214\n") {
		t.Errorf("session-config: %q", c)
	}
	k.Talk(
		[3]string{"commit now", "% Invalid input (at token 1: 'now')\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer", "% Incomplete command\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer 5", "% Invalid input (at token 2: '5')\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer 00:05:00", "", "leaf1#"},
	)
	if !strings.Contains(e.Running(), "mtu 9214") || e.Running() == e.Startup() {
		t.Error("the commit did not change the running configuration alone")
	}
	if j := k.Do("show configuration sessions | json"); !strings.Contains(j, `"commitTimerSessionName": "rf-abcdef"`) {
		t.Errorf("sessions: %s", j)
	}
	k.Talk([3]string{"configure session rf-abcdef commit", "", "leaf1#"})
	if e.ExpireTimer() {
		t.Error("the timer runs after the confirmation")
	}
	if out := k.Do("write memory"); out != "Copy completed successfully.\n" || !strings.Contains(e.Startup(), "mtu 9214") {
		t.Errorf("write memory: %q", out)
	}

	k.Do("configure session two")
	k.Do("interface Ethernet1/1")
	k.Do("mtu 1600")
	k.Talk(
		[3]string{"exit", "", "leaf1(config-s-two)#"},
		[3]string{"abort", "", "leaf1#"},
	)
	if _, there := e.Sessions()["two"]; there || strings.Contains(e.Running(), "1600") {
		t.Error("abort did not end the session")
	}
	// A commit from a sub-mode, and the commands that act on a session by name.
	k.Do("configure session three")
	k.Do("interface Ethernet2/1")
	k.Do("mtu 4000")
	k.Talk([3]string{"commit timer 00:10:00", "", "leaf1#"})
	k.Talk([3]string{"configure session three abort", "", "leaf1#"})
	if strings.Contains(e.Running(), "4000") {
		t.Error("abort did not roll the running timer back")
	}
	if out := k.Do("configure session nobody commit"); !strings.HasPrefix(out, "% ") {
		t.Errorf("commit of no session: %q", out)
	}
}

func TestRefusals(t *testing.T) {
	k := shellOf(t, start(t, Options{MaxSessions: 1}))
	for cmd, want := range map[string]string{
		"nonsense":                               "% Invalid input (at token 0: 'nonsense')\n",
		"show nonsense":                          "% Invalid input (at token 1: 'nonsense')\n",
		"show":                                   "% Incomplete command\n",
		"configure session":                      "% Incomplete command\n",
		"configure session a b":                  "% Invalid input (at token 3: 'b')\n",
		"configure session a commit timer soon":  "% Invalid input (at token 5: 'soon')\n",
		"terminal length many":                   "% Invalid input (at token 2: 'many')\n",
		"commit":                                 "% Invalid input (at token 0: 'commit')\n",
		"show interfaces Ethernet9/9":            "% Invalid input (at token 2: 'Ethernet9/9')\n",
		"show version | nonsense":                "% Invalid input (at token 3: 'nonsense')\n",
		"show version | include [":               "% Invalid regular expression: '['\n",
		"show version | include":                 "% Incomplete command\n",
		"show running-config | json":             unconverted + "\n",
		"show priority-flow-control | json":      unconverted + "\n",
		"show session-config diffs":              "% Invalid input (at token 1: 'session-config')\n",
		"copy running-config http://192.0.2.1/x": "% Invalid input (at token 2: 'http://192.0.2.1/x')\n",
		"! a comment":                            "",
	} {
		if got := k.Do(cmd); got != want {
			t.Errorf("%s: %q, want %q", cmd, got, want)
		}
	}
	k.Do("configure session one")
	k.Do("end")
	if got, prompt := k.Ask("configure session other"); got != "% Maximum number of pending sessions has been reached\n" || prompt != "leaf1#" {
		t.Errorf("a session too many: %q, %q", got, prompt)
	}
}

func TestPager(t *testing.T) {
	e := start(t, Options{})
	k := clitest.Shell(t, clitest.Login(t, e), promptExpr, 80, 10)
	k.Until(`#$`)
	want := strings.ReplaceAll(e.Running(), "\n", "\r\n")
	lines := strings.SplitAfter(want, "\r\n")

	k.Send("show running-config\n")
	erase := "\r        \r"
	if got := k.Until(`--More--`); got != "show running-config\r\n"+strings.Join(lines[:9], "")+"--More--" {
		t.Fatalf("first page: %q", got)
	}
	k.Send("\n") // one line
	if got := k.Until(`--More--`); got != erase+lines[9]+"--More--" {
		t.Fatalf("one line more: %q", got)
	}
	k.Send(" ") // a page
	if got := k.Until(`--More--`); got != erase+strings.Join(lines[10:19], "")+"--More--" {
		t.Fatalf("one page more: %q", got)
	}
	k.Send("q")
	if got := k.Until(`#$`); got != erase+"leaf1#" {
		t.Fatalf("quit: %q", got)
	}
	for _, off := range []string{"show running-config | no-more", "terminal length 0\nshow running-config"} {
		k.Send(off + "\n")
		if got := k.Until(`end\r\nleaf1#$`); !strings.Contains(got, want) || strings.Contains(got, cli.More) {
			t.Errorf("%s: %q", off, got)
		}
	}
	e.Faults().StuckPager(true)
	k = clitest.Shell(t, clitest.Login(t, e), promptExpr, 80, 10)
	k.Until(`#$`)
	k.Send("terminal length 0\nshow running-config\n")
	k.Until(`--More--`)
}

func TestFlash(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	configure(t, e, "interface Ethernet1/1\nmtu 9000")
	k.Talk(
		[3]string{"copy startup-config flash:before", "Copy completed successfully.\n", "leaf1#"},
		[3]string{"copy running-config flash:now", "Copy completed successfully.\n", "leaf1#"},
		[3]string{"more flash:none", "% Error displaying flash:none (No such file or directory)\n", "leaf1#"},
	)
	if k.Do("more flash:before") != e.Startup() || k.Do("more flash:now") != e.Running() || e.Startup() == e.Running() {
		t.Error("files in flash differ from what was copied")
	}
	k.Do("copy running-config startup-config")
	if !strings.Contains(e.Startup(), "mtu 9000") {
		t.Error("copy running-config startup-config did not save")
	}
}
