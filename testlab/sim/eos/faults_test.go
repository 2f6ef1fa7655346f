package eos

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/internal/secret"
	client "github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

// pendingShell opens a session "s" that sets an MTU, leaves it pending, and returns its shell.
func pendingShell(t testing.TB, e *EOS) *clitest.Console {
	t.Helper()
	k := shellOf(t, e)
	for _, l := range []string{"configure session s", "interface Ethernet1/1", "mtu 9214"} {
		if out := k.Do(l); out != "" {
			t.Fatalf("%s: %s", l, out)
		}
	}
	return k
}

func written(e *EOS) bool { return strings.Contains(e.Running(), "mtu 9214") }

// Tests each fault of the next write, in a shell and over gNMI.
func TestWriteFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		set     func(*Faults)
		output  string // of the shell; "" if the connection ends
		code    codes.Code
		written bool
		pending bool // the session is pending after the shell's commit
	}{
		"reject":            {func(f *Faults) { f.RejectNext() }, commitError, codes.Aborted, false, true},
		"drop before":       {func(f *Faults) { f.DropBeforeCommit() }, "", codes.Unavailable, false, true},
		"drop after":        {func(f *Faults) { f.DropAfterCommit() }, "", codes.Unavailable, true, false},
		"fail after commit": {func(f *Faults) { f.FailAfterCommit() }, commitError, codes.Internal, true, false},
		"restart":           {func(f *Faults) { f.RestartAtCommit() }, "", codes.Unavailable, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := start(t, Options{})
			k := pendingShell(t, e)
			tc.set(e.Faults())
			if tc.output == "" {
				k.Send("commit\n")
				k.Ends()
			} else {
				prompt := "leaf1#"
				if tc.pending {
					prompt = "leaf1(config-s-s-if-Et1/1)#"
				}
				k.Talk([3]string{"commit", tc.output + "\n", prompt})
			}
			if written(e) != tc.written || (e.Sessions()["s"] == statePending) != tc.pending || e.Writes() != 1 {
				t.Errorf("written %v, sessions %v, commits %d", written(e), e.Sessions(), e.Writes())
			}

			e = start(t, Options{})
			c := dialGNMI(t, e, "admin")
			tc.set(e.Faults())
			wantCode(t, "Set", c.set("interface Ethernet1/1\nmtu 9214"), tc.code, "")
			if written(e) != tc.written || e.Writes() != 1 {
				t.Errorf("Set: written %v, commits %d", written(e), e.Writes())
			}
			// The fault applied to only one write.
			if err := dialGNMI(t, e, "admin").set("interface Ethernet1/1\nmtu 9214"); err != nil || !written(e) {
				t.Errorf("the next Set: %v", err)
			}
		})
	}
}

func TestGiveUp(t *testing.T) {
	e := start(t, Options{})
	c := dialGNMI(t, e, "admin")
	release := make(chan struct{})
	e.Faults().GiveUp(release)
	wantCode(t, "Set", c.set("interface Ethernet1/1\nmtu 9214"), codes.DeadlineExceeded, "")
	if written(e) {
		t.Error("written before the release")
	}
	close(release)
	clitest.Eventually(t, "the Set is carried out", func() bool { return written(e) })

	e = start(t, Options{})
	k := pendingShell(t, e)
	release = make(chan struct{})
	e.Faults().GiveUp(release)
	k.Send("commit\n")
	clitest.Eventually(t, "the commit is with the switch", e.Faults().GaveUp)
	if err := k.Session.Close(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if written(e) {
		t.Error("committed before the release")
	}
	close(release)
	clitest.Eventually(t, "the commit is carried out", func() bool { return written(e) })

	// Close does not wait for the release.
	e = start(t, Options{})
	k = pendingShell(t, e)
	e.Faults().GiveUp(make(chan struct{}))
	k.Send("commit\n")
	clitest.Eventually(t, "the commit is with the switch", e.Faults().GaveUp)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A commit that is overtaken by Close starts no timer, because Close would wait for it.
func TestCloseInCommit(t *testing.T) {
	e := start(t, Options{})
	k := pendingShell(t, e)
	committing := make(chan struct{})
	e.Faults().BeforeWrite(func() { close(committing); <-e.front.Context().Done() })
	k.Send("commit timer 01:00:00\n")
	<-committing
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestBeforeWrite(t *testing.T) {
	e := start(t, Options{})
	k := pendingShell(t, e)
	other := func() { configure(t, e, "interface Ethernet2/1\ndescription other") }
	e.Faults().BeforeWrite(other)
	k.Do("commit")
	if !written(e) || strings.Contains(e.Running(), "other") {
		t.Error("the commit of a session did not undo what was changed since it was opened")
	}
	// A Set opens its session after BeforeWrite.
	if err := dialGNMI(t, e, "admin").set("hostname leaf2"); err != nil || !strings.Contains(e.Running(), "other") {
		t.Errorf("Set: %v", err)
	}
	e.Faults().BeforeWrite(nil)
}

func TestRefuseLineAndReadOnly(t *testing.T) {
	e := start(t, Options{})
	running := e.Running()
	c := dialGNMI(t, e, "admin")
	k := shellOf(t, e)
	e.Faults().RefuseLine(regexp.MustCompile(`^mtu 9`))
	e.Faults().RefuseLine(regexp.MustCompile(`count$`))
	k.Do("configure session s")
	k.Do("interface Ethernet1/1")
	if out := k.Do("  mtu 9214"); out != "% Invalid input (at token 0: 'mtu')\n" {
		t.Errorf("refused line: %q", out)
	}
	if out := k.Do("mtu 1600"); out != "" {
		t.Errorf("another line: %q", out)
	}
	wantCode(t, "Set", c.set("interface Ethernet1/1\nmtu 9214"), codes.InvalidArgument, "% Invalid input (at token 0: 'mtu')")

	e.Faults().Clear()
	e.Faults().ReadOnly(true)
	for cmd, want := range map[string]string{
		"mtu 9214": "% Authorization denied for command 'mtu'\n",
		"commit":   "% Authorization denied for command 'commit'\n",
	} {
		if out := k.Do(cmd); out != want {
			t.Errorf("%s: %q", cmd, out)
		}
	}
	k.Do("end")
	if out := k.Do("write memory"); out != "% Authorization denied for command 'write'\n" {
		t.Errorf("write memory: %q", out)
	}
	if out := k.Do("show running-config"); out != running {
		t.Errorf("reading: %q", out)
	}
	wantCode(t, "Set", c.set("interface Ethernet1/1\nmtu 9214"), codes.PermissionDenied, "% Authorization denied")
	e.Faults().Clear()
	if err := c.set("interface Ethernet1/1\nmtu 9214"); err != nil || !written(e) {
		t.Errorf("after Clear: %v", err)
	}
}

func TestDelay(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	c := dialGNMI(t, e, "admin")
	e.Faults().Delay(time.Hour)
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	defer cancel()
	_, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{})
	wantCode(t, "Capabilities", err, codes.DeadlineExceeded, "")
	k.Send("show clock\n")
	k.Until("show clock\r\n") // the echo arrives, but no answer
	e.Faults().Clear()
	k.Until(`UTC\r\nClock source: local\r\nleaf1#$`)
	// Close ends a delay as well.
	e.Faults().Delay(time.Hour)
	k.Send("show clock\n")
	k.Until("show clock\r\n")
}

func TestConnectionFaults(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	c := dialGNMI(t, e, "admin")
	e.Faults().RefuseConnections(true)
	k.Ends()
	if _, err := clitest.Dial(t, e, clitest.Account{Password: "admin"}); err == nil {
		t.Error("SSH connected")
	}
	wantCode(t, "Set", c.set("hostname x"), codes.Unavailable, "")
	e.Faults().Clear()

	e.Faults().WrongCertificate(true)
	if _, err := clitest.Dial(t, e, clitest.Account{Password: "admin"}); err == nil || !strings.Contains(err.Error(), "key mismatch") {
		t.Errorf("another host key: %v", err)
	}
	wantCode(t, "another certificate", dialGNMI(t, e, "admin").set("hostname x"), codes.Unavailable, "certificate signed by unknown authority")
	e.Faults().WrongCertificate(false)
	clitest.Login(t, e)
}

func TestNoModel(t *testing.T) {
	e := start(t, Options{})
	e.Faults().NoModel(true)
	c := dialGNMI(t, e, "admin")
	r, err := c.Capabilities(c.ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.GetSupportedModels() {
		if strings.HasPrefix(m.GetName(), "openconfig") || strings.HasPrefix(m.GetName(), "arista") {
			t.Errorf("model %s", m.GetName())
		}
	}
	wantCode(t, "Set", c.set("hostname x"), codes.Unimplemented, "")
	_, err = c.cli("show version", gnmi.Encoding_JSON)
	wantCode(t, "Get", err, codes.Unimplemented, "")
	if v := at(shown(t, shellOf(t, e), "show version"), "mfgName"); v == "Arista" || v == nil {
		t.Errorf("maker %v", v)
	}
	if out := clitest.Once(t, clitest.Login(t, e), "show version"); strings.Contains(out, "Arista") {
		t.Errorf("show version: %q", out)
	}
}

func TestTruncateAnswers(t *testing.T) {
	e := start(t, Options{})
	e.Faults().TruncateAnswers(true)
	want := e.Running()[:len(e.Running())/2]
	if out := clitest.Once(t, clitest.Login(t, e), "show running-config"); strings.TrimRight(out, "\n") != strings.TrimRight(want, "\n") {
		t.Errorf("shell: %q", out)
	}
	v, err := dialGNMI(t, e, "admin").cli("show running-config", gnmi.Encoding_ASCII)
	if err != nil || v.GetAsciiVal() != want {
		t.Errorf("gNMI: %v %q", err, v.GetAsciiVal())
	}
}

func TestEchoFaults(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	e.Faults().SlowEcho(true)
	k.Talk([3]string{"show version | include Architecture", "Architecture: x86_64\n", "leaf1#"})
	e.Faults().Clear()
	e.Faults().DoubleEcho(true)
	k.Talk([3]string{"show version | include Architecture", "show version | include Architecture\nArchitecture: x86_64\n", "leaf1#"})
}

// TestTypeAhead types while a command is running.
func TestTypeAhead(t *testing.T) {
	const next = "show version | include Hardware"
	ahead := func(typed string, flush bool) *clitest.Console {
		e := start(t, Options{})
		k := pendingShell(t, e)
		release := make(chan struct{})
		e.Faults().EchoAhead(true)
		e.Faults().FlushInput(flush)
		e.Faults().BeforeWrite(func() { <-release })
		k.Send("commit\n")
		k.Until("commit\r\n$")
		k.Send(typed)
		k.Until(regexp.QuoteMeta(strings.ReplaceAll(typed, "\n", "\r\n")) + "$")
		close(release)
		return k
	}
	ahead(next+"\n", false).Until("^leaf1#" + regexp.QuoteMeta(next) + "\r\nHardware MAC address: .*\r\nleaf1#$")
	// Input that is flushed, or does not fit into the terminal's buffer, is lost.
	k := ahead(next+"\n", true)
	k.Until("^leaf1#$")
	k.Talk([3]string{"show version | include Architecture", "Architecture: x86_64\n", "leaf1#"})
	k = ahead(strings.Repeat("!", 2*cli.InputBuffer), false)
	out := k.Until(`leaf1#[! \r]+$`)
	k.Send("\n")
	if n := strings.Count(out+k.Until("\r\nleaf1#$"), "!"); n != cli.InputBuffer {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestLogs(t *testing.T) {
	e := start(t, Options{})
	k := shellOf(t, e)
	e.Faults().Logs(true)
	const show, log = "show version | include Architecture", `2026 Nov 25 11:22:33 sw1 %ETHPORT-5-IF_UP: Interface Ethernet9 is up\r\n`
	k.Do("")
	k.Send(show + "\n")
	k.Until("^" + regexp.QuoteMeta(show) + "\r\n" + log + "Architecture: x86_64\r\nleaf1#\r\n" + log + "$")
	k.Send(show + "\n")
	k.Until("^" + regexp.QuoteMeta(show) + "\r\nArchitecture: x86_64\r\nleaf1#$")
}

// The product's own SSH client works, with the commands of its shells and its single commands.
func TestProductClient(t *testing.T) {
	e := start(t, Options{MOTD: "maintenance on Sunday"})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Address: e.SSHAddr(), User: "admin", Password: secret.Secret("admin"), KnownHosts: clitest.HostsFile(t, e)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Run(ctx, "show running-config", nil)
	if err != nil || r.Status != 0 || string(r.Stdout) != e.Running() {
		t.Errorf("run: %v %d %q", err, r.Status, r.Stdout)
	}
	sh, err := c.Network(ctx, &client.Platform{Home: "exec", Failed: []string{"% "}, Levels: []client.Level{
		{Name: "exec", Prompt: `leaf1[>#]`}, {Name: "config", Prompt: `leaf1\(config[^)]*\)#`},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	for _, l := range [][2]string{{"terminal width 32767", "Width set to 32767 columns."}, {"terminal length 0", "Pagination disabled."},
		{"configure session rf-1", ""}, {"interface Ethernet1/1", ""}, {"mtu 9214", ""}, {"mtu nonsense", "% Invalid input (at token 1: 'nonsense')"}, {"commit", ""}} {
		out, err := sh.Type(ctx, l[0])
		if refused := (*client.LineError)(nil); errors.As(err, &refused) {
			out, err = refused.Words, nil
		}
		if err != nil || out != l[1] {
			t.Fatalf("%s: %v %q", l[0], err, out)
		}
	}
	if !written(e) {
		t.Error("the session was not committed")
	}
}
