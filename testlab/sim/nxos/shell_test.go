package nxos

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts the servers of a switch "leaf1" with four routed ports.
func serve(t testing.TB, o Options) *NXOS {
	t.Helper()
	if o.Hostname == "" {
		o.Hostname = "leaf1"
	}
	if o.Interfaces == nil {
		o.Interfaces, o.Routed = []string{"Ethernet1/1", "Ethernet1/2", "Ethernet1/3", "Ethernet1/4"}, true
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func write(t testing.TB, n *NXOS, lines string) {
	t.Helper()
	if err := n.Configure(lines); err != nil {
		t.Fatal(err)
	}
}

const promptExpr = `leaf1(\([^)]*\))?# `

// shellOf returns a shell at its first prompt, with the pager turned off.
func shellOf(t testing.TB, n *NXOS) *clitest.Console {
	t.Helper()
	k := clitest.Shell(t, clitest.Login(t, n), promptExpr, 200, 24)
	k.Until(`leaf1# $`)
	k.Do("terminal length 0")
	return k
}

// single runs a line of commands in a separate channel and returns the output and the exit
// status.
func single(t testing.TB, n *NXOS, line string) (string, int) {
	t.Helper()
	s, err := clitest.Login(t, n).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Output(line)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		return string(out), exit.ExitStatus()
	case err != nil:
		t.Fatalf("%s: %v", line, err)
	}
	return string(out), 0
}

const entered = "Enter configuration commands, one per line. End with CNTL/Z.\n"

// invalidAt returns the refusal of a line typed after a prompt; before is the text before the
// wrong word.
func invalidAt(prompt, before string) string {
	return strings.Repeat(" ", len(prompt)+len(before)) + "^\n% Invalid command at '^' marker.\n"
}

func TestLogin(t *testing.T) {
	n := serve(t, Options{Banner: "authorised users only", MOTD: "welcome to leaf1"})
	if _, err := clitest.Dial(t, n, clitest.Account{Password: "wrong"}); err == nil {
		t.Error("logged in with a wrong password")
	}
	var banner string
	c, err := clitest.Dial(t, n, clitest.Account{Password: "admin", Banner: &banner})
	if err != nil {
		t.Fatal(err)
	}
	if banner != "authorised users only\n" {
		t.Errorf("banner %q", banner)
	}
	k := clitest.Shell(t, c, promptExpr, 80, 24)
	if got := k.Until(`# $`); got != "welcome to leaf1\r\nleaf1# " {
		t.Errorf("after the login: %q", got)
	}
	k.Send("exit\n")
	k.Until("exit\r\n")
	if err := k.Session.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

func TestModes(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Talk(
		[3]string{"configure terminal", entered, "leaf1(config)# "},
		[3]string{"policy-map type network-qos NQ", "", "leaf1(config-pmap-nqos)# "},
		[3]string{"class type network-qos c-8q-nq3", "", "leaf1(config-pmap-nqos-c)# "},
		[3]string{"pause pfc-cos 3", "", "leaf1(config-pmap-nqos-c)# "},
		[3]string{"exit", "", "leaf1(config-pmap-nqos)# "},
		[3]string{"interface ethernet 1/1", "", "leaf1(config-if)# "},
		[3]string{"description one", "", "leaf1(config-if)# "},
		[3]string{"mtu 99", invalidRange("leaf1(config-if)# ", "mtu "), "leaf1(config-if)# "},
		[3]string{"commit", invalidAt("leaf1(config-if)# ", ""), "leaf1(config-if)# "},
		[3]string{"show hostname", "leaf1\n", "leaf1(config-if)# "},
		[3]string{"copy running-config startup-config", "[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete.\n", "leaf1(config-if)# "},
		[3]string{"system qos", "", "leaf1(config-sys-qos)# "},
		[3]string{"end", "", "leaf1# "},
		[3]string{"copy running-config startup-config", "[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete.\n", "leaf1# "},
		[3]string{"conf t", entered, "leaf1(config)# "},
		[3]string{"exit", "", "leaf1# "},
		[3]string{"nonsense", invalidAt("leaf1# ", ""), "leaf1# "},
		[3]string{"show nonsense", invalidAt("leaf1# ", "show "), "leaf1# "},
		[3]string{"show", strings.Repeat(" ", len("leaf1# show")+1) + "^\n% Incomplete command at '^' marker.\n", "leaf1# "},
		[3]string{"show configuration sessions", invalidAt("leaf1# ", "show "), "leaf1# "},
		[3]string{"show version | nonsense", invalidAt("leaf1# ", "show version | "), "leaf1# "},
		[3]string{"show version | include [", invalidAt("leaf1# ", "show version | include "), "leaf1# "},
		[3]string{"terminal length 600", invalidAt("leaf1# ", "terminal length "), "leaf1# "},
		[3]string{"rollback running-config checkpoint x quickly", invalidAt("leaf1# ", "rollback running-config checkpoint x "), "leaf1# "},
		[3]string{"! a comment", "", "leaf1# "},
	)
	if n.Startup() == "" || !strings.Contains(n.Startup(), "description one") || n.Writes() != 1 {
		t.Errorf("%d writes, startup %s", n.Writes(), n.Startup())
	}
}

// The lines of a banner are not executed as commands.
func TestBanner(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Talk(
		[3]string{"conf t", entered, "leaf1(config)# "},
		[3]string{"banner motd @hello", "", "leaf1(config)# "},
		[3]string{"! show version ; end", "", "leaf1(config)# "},
		[3]string{"show version", "", "leaf1(config)# "},
		[3]string{"bye@", "", "leaf1(config)# "},
		[3]string{"end", "", "leaf1# "},
	)
	if !strings.Contains(n.Running(), "banner motd @hello\n! show version ; end\nshow version\nbye@\n") {
		t.Errorf("%s", n.Running())
	}
}

func invalidRange(prompt, before string) string {
	return strings.Repeat(" ", len(prompt)+len(before)) + "^\n% Invalid number, range is (576-9216) at '^' marker.\n"
}

func TestSingleLine(t *testing.T) {
	n := serve(t, Options{})
	out, status := single(t, n, "conf ; interface Ethernet1/1 ; description one ; mtu 9216 ; end ; show running-config interface Ethernet1/1 | section ^interface")
	if status != 0 || !strings.HasPrefix(out, entered+"interface Ethernet1/1\n") || !strings.Contains(out, "\n  mtu 9216\n") {
		t.Errorf("status %d: %q", status, out)
	}
	for _, tc := range []struct {
		line, want string
		status     int
	}{
		{"nonsense", "Syntax error while parsing 'nonsense'\n", statusSyntax},
		{"conf ; nonsense", entered + "Syntax error while parsing 'nonsense'\n", statusSyntax},
		{"conf ; interface Ethernet1/1 ; mtu 99999 ; description two", entered + "Syntax error while parsing 'mtu 99999'\n", 0},
	} {
		if out, status := single(t, n, tc.line); out != tc.want || status != tc.status {
			t.Errorf("%s: %d %q", tc.line, status, out)
		}
	}
	if !strings.Contains(n.Running(), "description two") {
		t.Error("the commands behind the one that was refused were not carried out")
	}
	// A shell also accepts several commands on a line.
	if out := shellOf(t, n).Do("show hostname ; show hostname"); out != "leaf1\nleaf1\n" {
		t.Errorf("two commands: %q", out)
	}
}

func TestPager(t *testing.T) {
	n := serve(t, Options{})
	k := clitest.Shell(t, clitest.Login(t, n), promptExpr, 80, 10)
	k.Until(`# $`)
	lines := strings.SplitAfter(strings.ReplaceAll(n.Startup(), "\n", "\r\n"), "\r\n")
	k.Send("show startup-config\n")
	if got := k.Until(`--More--`); got != "show startup-config\r\n"+strings.Join(lines[:9], "")+"--More--" {
		t.Fatalf("first page: %q", got)
	}
	k.Send("q")
	k.Until(`leaf1# $`)
	for _, off := range []string{"show startup-config | no-more", "terminal length 0 ; show startup-config"} {
		k.Send(off + "\n")
		if got := k.Until(`leaf1# $`); !strings.HasSuffix(got, lines[len(lines)-2]+"leaf1# ") || strings.Contains(got, cli.More) {
			t.Errorf("%s: %q", off, got)
		}
	}
	n.Faults().StuckPager(true)
	k = clitest.Shell(t, clitest.Login(t, n), promptExpr, 80, 10)
	k.Until(`# $`)
	k.Send("terminal length 0 ; show startup-config\n")
	k.Until(`--More--`)
}

func TestBootflash(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	const done = "Copy complete, now saving to disk (please wait)...\nCopy complete.\n"
	k.Talk(
		[3]string{"copy running-config bootflash:before", done, "leaf1# "},
		[3]string{"show file bootflash:none", "ERROR: bootflash:none: No such file or directory\n", "leaf1# "},
		[3]string{"copy running-config http://192.0.2.1/x", invalidAt("leaf1# ", "copy running-config "), "leaf1# "},
	)
	before := k.Do("show file bootflash:before")
	write(t, n, "hostname leaf1\ninterface Ethernet1/1\ndescription later")
	// The switch asks before it overwrites a file, unless that is turned off.
	k.Send("copy running-config bootflash:before\n")
	k.Until(`\(y/n\)\?\[n\] $`)
	k.Send("n\n")
	k.Until(`Copy aborted.\r\nleaf1# $`)
	if k.Do("show file bootflash:before") != before {
		t.Error("the file was written over")
	}
	k.Do("terminal dont-ask")
	k.Talk([3]string{"copy running-config bootflash:before", done, "leaf1# "})
	if got := k.Do("show file bootflash:before"); !strings.Contains(got, "description later") || strings.Contains(before, "later") {
		t.Errorf("after the second copy: %s", got)
	}
}
