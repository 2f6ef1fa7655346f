package eos

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start makes a switch "leaf1" with four routed ports and opens its servers.
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

type sshOptions struct {
	password string
	banner   *string
}

func dialSSH(t testing.TB, e *EOS, o sshOptions) (*ssh.Client, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(e.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check, err := knownhosts.New(file)
	if err != nil {
		t.Fatal(err)
	}
	conf := &ssh.ClientConfig{User: "admin", Auth: []ssh.AuthMethod{ssh.Password(o.password)}, HostKeyCallback: check, Timeout: 10 * time.Second}
	if o.banner != nil {
		conf.BannerCallback = func(m string) error { *o.banner = m; return nil }
	}
	c, err := ssh.Dial("tcp", e.SSHAddr(), conf)
	if err == nil {
		// What a test waits for longer than this does not come.
		stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
		timer := time.AfterFunc(30*time.Second, func() { _ = c.Close() })
		t.Cleanup(func() { stop(); timer.Stop(); _ = c.Close() })
	}
	return c, err
}

func login(t testing.TB, e *EOS) *ssh.Client {
	t.Helper()
	c, err := dialSSH(t, e, sshOptions{password: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// once runs one command in a channel of its own.
func once(t testing.TB, c *ssh.Client, cmd string) string {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Output(cmd)
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// console is an interactive shell.
type console struct {
	t    testing.TB
	s    *ssh.Session
	in   io.Writer
	out  io.Reader
	seen bytes.Buffer
}

func openShell(t testing.TB, c *ssh.Client, width, height int) *console {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := &console{t: t, s: s}
	if k.in, err = s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if k.out, err = s.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("vt100", height, width, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	return k
}

// shellOf is a shell at its first prompt with the pager off.
func shellOf(t testing.TB, e *EOS) *console {
	t.Helper()
	k := openShell(t, login(t, e), 200, 24)
	k.until(`leaf1[>#]$`)
	k.do("terminal length 0")
	return k
}

func (k *console) send(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, text); err != nil {
		k.t.Fatal(err)
	}
}

// until reads up to where the regular expression matches the end and returns
// what was read since the last call.
func (k *console) until(expr string) string {
	k.t.Helper()
	re := regexp.MustCompile(`(?:` + expr + `)`)
	k.seen.Reset()
	buf := make([]byte, 4096)
	for !re.Match(k.seen.Bytes()) {
		n, err := k.out.Read(buf)
		k.seen.Write(buf[:n])
		if err != nil {
			k.t.Fatalf("waiting for %s after %q: %v", expr, k.seen.String(), err)
		}
	}
	return k.seen.String()
}

const promptExpr = `(?:^|\n)leaf1(\([^)]*\))?[>#]$`

// ask sends a line and returns the output and the next prompt.
func (k *console) ask(line string) (out, prompt string) {
	k.t.Helper()
	k.send(line + "\n")
	all := k.until(promptExpr)
	body, ok := strings.CutPrefix(all, line+"\r\n")
	if !ok {
		k.t.Fatalf("%q is not echoed in %q", line, all)
	}
	i := strings.LastIndexByte(body, '\n') + 1
	return strings.ReplaceAll(body[:i], "\r\n", "\n"), body[i:]
}

func (k *console) do(line string) string {
	k.t.Helper()
	out, _ := k.ask(line)
	return out
}

// talk sends lines and checks output and prompt of each.
func (k *console) talk(lines ...[3]string) {
	k.t.Helper()
	for _, l := range lines {
		out, prompt := k.ask(l[0])
		if out != l[1] || prompt != l[2] {
			k.t.Errorf("%s: got %q and %q, want %q and %q", l[0], out, prompt, l[1], l[2])
		}
	}
}

func TestLogin(t *testing.T) {
	e := start(t, Options{Banner: "authorised users only", MOTD: "welcome to leaf1"})
	if _, err := dialSSH(t, e, sshOptions{password: "wrong"}); err == nil {
		t.Error("logged in with a wrong password")
	}
	var banner string
	c, err := dialSSH(t, e, sshOptions{password: "admin", banner: &banner})
	if err != nil {
		t.Fatal(err)
	}
	if banner != "authorised users only\n" {
		t.Errorf("banner %q", banner)
	}
	k := openShell(t, c, 80, 24)
	if got := k.until(`#$`); got != "welcome to leaf1\r\nleaf1#" {
		t.Errorf("after the login: %q", got)
	}
	k.send("exit\n")
	k.until("exit\r\n")
	if err := k.s.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if got := once(t, c, "show version"); !strings.HasPrefix(got, "Arista DCS-7060DX5-64S\n") {
		t.Errorf("one command: %q", got)
	}
}

func TestEchoAndLineEnds(t *testing.T) {
	k := shellOf(t, start(t, Options{}))
	for _, c := range "disable" { // each byte comes back before the next is sent
		k.send(string(c))
		if got := k.until(`.$`); got != string(c) {
			t.Fatalf("echo %q of %q", got, c)
		}
	}
	k.send("\r\n")
	if got := k.until(`>$`); got != "\r\nleaf1>" {
		t.Errorf("CR LF is not one end of line: %q", got)
	}
	k.send("enablx\x7fe\r")
	if got := k.until(`#$`); got != "enablx\b \be\r\nleaf1#" {
		t.Errorf("line editing: %q", got)
	}
	k.send("show nonsense\x03")
	if got := k.until(`#$`); got != "show nonsense^C\r\nleaf1#" {
		t.Errorf("Ctrl-C: %q", got)
	}
	k.send("terminal width 20\n")
	k.until(`columns.\r\nleaf1#$`)
	k.send("show running-config all\n")
	if got := k.until(`\n`); !strings.HasPrefix(got, "show running-c \ronfig all\r\n") {
		t.Errorf("a line beyond the width is echoed as %q", got)
	}
}

func TestEnable(t *testing.T) {
	e := start(t, Options{Unprivileged: true, EnablePassword: "s3cret"})
	k := shellOf(t, e)
	k.talk(
		[3]string{"show running-config", "% Invalid input (privileged mode required)\n", "leaf1>"},
		[3]string{"configure session x", "% Invalid input (privileged mode required)\n", "leaf1>"},
		[3]string{"write memory", "% Invalid input (privileged mode required)\n", "leaf1>"},
	)
	k.send("enable\n")
	k.until(`Password: $`)
	k.send("wrong\n")
	if got := k.until(`[>#]$`); got != "\r\n% Bad secret\r\nleaf1>" {
		t.Errorf("after a wrong password: %q", got)
	}
	k.send("enable\n")
	k.until(`Password: $`)
	k.send("s3cret\n")
	if got := k.until(`[>#]$`); got != "\r\nleaf1#" {
		t.Errorf("after the password: %q", got)
	}
	k.talk([3]string{"disable", "", "leaf1>"})

	c := login(t, e)
	if got := once(t, c, "show running-config"); got != "% Invalid input (privileged mode required)\n" {
		t.Errorf("one unprivileged command: %q", got)
	}
	plain := start(t, Options{Unprivileged: true})
	shellOf(t, plain).talk([3]string{"enable", "", "leaf1#"})
}

func TestModesAndSessions(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	k.talk(
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
	k.talk(
		[3]string{"configure session rf-abcdef", "", "leaf1(config-s-rf-abc)#"},
		[3]string{"interface Ethernet1/1", "", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"mtu 9214", "", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"abort", "% Invalid input (at token 0: 'abort')\n", "leaf1(config-s-rf-abc-if-Et1/1)#"},
		[3]string{"end", "", "leaf1#"},
	)
	if e.Sessions()["rf-abcdef"] != statePending || strings.Contains(e.Running(), "mtu 9214") {
		t.Errorf("end did not leave the session pending: %v", e.Sessions())
	}
	// Another terminal goes on with it.
	k = shellOf(t, e)
	k.do("configure session rf-abcdef")
	if d := k.do("show session-config diffs"); !strings.HasPrefix(d, "--- system:/running-config\n+++ session:/rf-abcdef-session-config\n") || !strings.Contains(d, "\n+   mtu 9214\n") {
		t.Errorf("diffs: %q", d)
	}
	if d := k.do("show session-config named rf-abcdef diffs"); !strings.Contains(d, "mtu 9214") {
		t.Errorf("diffs by name: %q", d)
	}
	if c := k.do("show session-config"); !strings.Contains(c, "   mtu 9214\n") {
		t.Errorf("session-config: %q", c)
	}
	k.talk(
		[3]string{"commit now", "% Invalid input (at token 1: 'now')\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer", "% Incomplete command\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer 5", "% Invalid input (at token 2: '5')\n", "leaf1(config-s-rf-abc)#"},
		[3]string{"commit timer 00:05:00", "", "leaf1#"},
	)
	if !strings.Contains(e.Running(), "mtu 9214") || e.Running() == e.Startup() {
		t.Error("the commit did not change the running configuration alone")
	}
	if j := k.do("show configuration sessions | json"); !strings.Contains(j, `"commitTimerSessionName": "rf-abcdef"`) {
		t.Errorf("sessions: %s", j)
	}
	k.talk([3]string{"configure session rf-abcdef commit", "", "leaf1#"})
	if e.ExpireTimer() {
		t.Error("the timer runs after the confirmation")
	}
	if out := k.do("write memory"); out != "Copy completed successfully.\n" || !strings.Contains(e.Startup(), "mtu 9214") {
		t.Errorf("write memory: %q", out)
	}

	k.do("configure session two")
	k.do("interface Ethernet1/1")
	k.do("mtu 1600")
	k.talk(
		[3]string{"exit", "", "leaf1(config-s-two)#"},
		[3]string{"abort", "", "leaf1#"},
	)
	if _, there := e.Sessions()["two"]; there || strings.Contains(e.Running(), "1600") {
		t.Error("abort did not end the session")
	}
	// A commit from a sub-mode, and the one-shot forms.
	k.do("configure session three")
	k.do("interface Ethernet2/1")
	k.do("mtu 4000")
	k.talk([3]string{"commit timer 00:10:00", "", "leaf1#"})
	k.talk([3]string{"configure session three abort", "", "leaf1#"})
	if strings.Contains(e.Running(), "4000") {
		t.Error("abort did not roll the running timer back")
	}
	if out := k.do("configure session nobody commit"); !strings.HasPrefix(out, "% ") {
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
		if got := k.do(cmd); got != want {
			t.Errorf("%s: %q, want %q", cmd, got, want)
		}
	}
	k.do("configure session one")
	k.do("end")
	if got, prompt := k.ask("configure session other"); got != "% Maximum number of pending sessions has been reached\n" || prompt != "leaf1#" {
		t.Errorf("a session too many: %q, %q", got, prompt)
	}
}

func TestPager(t *testing.T) {
	e := start(t, Options{})
	k := openShell(t, login(t, e), 80, 10)
	k.until(`#$`)
	want := strings.ReplaceAll(e.Running(), "\n", "\r\n")
	lines := strings.SplitAfter(want, "\r\n")

	k.send("show running-config\n")
	erase := "\r        \r"
	if got := k.until(`--More--`); got != "show running-config\r\n"+strings.Join(lines[:9], "")+"--More--" {
		t.Fatalf("first page: %q", got)
	}
	k.send("\n") // one line
	if got := k.until(`--More--`); got != erase+lines[9]+"--More--" {
		t.Fatalf("one line more: %q", got)
	}
	k.send(" ") // a page
	if got := k.until(`--More--`); got != erase+strings.Join(lines[10:19], "")+"--More--" {
		t.Fatalf("one page more: %q", got)
	}
	k.send("q")
	if got := k.until(`#$`); got != erase+"leaf1#" {
		t.Fatalf("quit: %q", got)
	}
	for _, off := range []string{"show running-config | no-more", "terminal length 0\nshow running-config"} {
		k.send(off + "\n")
		if got := k.until(`end\r\nleaf1#$`); !strings.Contains(got, want) || strings.Contains(got, more) {
			t.Errorf("%s: %q", off, got)
		}
	}
	e.Faults().StuckPager(true)
	k = openShell(t, login(t, e), 80, 10)
	k.until(`#$`)
	k.send("terminal length 0\nshow running-config\n")
	k.until(`--More--`)
}

func TestFlash(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	configure(t, e, "interface Ethernet1/1\nmtu 9000")
	k.talk(
		[3]string{"copy startup-config flash:before", "Copy completed successfully.\n", "leaf1#"},
		[3]string{"copy running-config flash:now", "Copy completed successfully.\n", "leaf1#"},
		[3]string{"more flash:none", "% Error displaying flash:none (No such file or directory)\n", "leaf1#"},
	)
	if k.do("more flash:before") != e.Startup() || k.do("more flash:now") != e.Running() || e.Startup() == e.Running() {
		t.Error("files in flash differ from what was copied")
	}
	k.do("copy running-config startup-config")
	if !strings.Contains(e.Startup(), "mtu 9000") {
		t.Error("copy running-config startup-config did not save")
	}
}
