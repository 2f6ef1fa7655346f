package nxos

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/internal/secret"
	client "github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

// threeLines are configuration lines; linesThere reports which of them are in the configuration.
var threeLines = []string{"interface Ethernet1/1", "description one", "mtu 9216"}

func linesThere(n *NXOS) (there [2]bool) {
	r := n.Running()
	return [2]bool{strings.Contains(r, "description one"), strings.Contains(r, "mtu 9216")}
}

// typeLines types threeLines and leaves configuration mode. It returns the output of the switch.
func typeLines(k *clitest.Console) string {
	k.Do("configure terminal")
	var out strings.Builder
	for _, l := range append(threeLines, "end") {
		out.WriteString(k.Do(l))
	}
	return out.String()
}

func TestLineFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		set   func(*Faults)
		words string // output of the shell; "" if the connection ends
		there [2]bool
	}{
		"reject":               {func(f *Faults) { f.RejectNext() }, internalError, [2]bool{}},
		"drop at the first":    {func(f *Faults) { f.DropAt(1) }, "", [2]bool{}},
		"drop at the third":    {func(f *Faults) { f.DropAt(3) }, "", [2]bool{true, false}},
		"drop after the write": {func(f *Faults) { f.DropAfterWrite() }, "", [2]bool{true, true}},
		"fail after":           {func(f *Faults) { f.FailAfterCommit() }, internalError, [2]bool{true, true}},
		"restart":              {func(f *Faults) { f.RestartAt(3) }, "", [2]bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, Options{})
			tc.set(n.Faults())
			k := shellOf(t, n)
			if tc.words == "" {
				k.Do("configure terminal")
				k.Send(strings.Join(append(threeLines, "end"), "\n") + "\n")
				k.Ends()
			} else if out := typeLines(k); !strings.Contains(out, tc.words) {
				t.Errorf("%q without %q", out, tc.words)
			}
			if got := linesThere(n); got != tc.there {
				t.Errorf("lines there: %v, want %v", got, tc.there)
			}
			// The fault applied to one write only.
			if out := typeLines(shellOf(t, n)); out != "" || linesThere(n) != [2]bool{true, true} {
				t.Errorf("the next write: %q, %v", out, linesThere(n))
			}
		})
	}
}

// A fault at a line that the next write does not reach is not kept for later writes.
func TestLineFaultIsForOneWrite(t *testing.T) {
	n := serve(t, Options{})
	n.Faults().DropAt(9)
	k := shellOf(t, n)
	for range 4 {
		k.Talk([3]string{"conf t", entered, "leaf1(config)# "}, [3]string{"interface Ethernet1/1", "", "leaf1(config-if)# "},
			[3]string{"mtu 9216", "", "leaf1(config-if)# "}, [3]string{"description one", "", "leaf1(config-if)# "}, [3]string{"end", "", "leaf1# "})
	}
	if n.Writes() != 4 {
		t.Errorf("%d writes", n.Writes())
	}
}

func TestRollbackFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		set        func(*Faults)
		words      string // output of the shell; "" if the connection ends
		rolledBack bool
	}{
		"fails":       {func(f *Faults) { f.RollbackFails(true) }, "Rollback failed.", false},
		"reject":      {func(f *Faults) { f.RejectNext() }, "Rollback failed.", false},
		"fails after": {func(f *Faults) { f.FailAfterCommit() }, "Rollback failed.", true},
		"drop in it":  {func(f *Faults) { f.DropInRollback() }, "", true},
		"drop after":  {func(f *Faults) { f.DropAfterWrite() }, "", true},
		"read only":   {func(f *Faults) { f.ReadOnly(true) }, denied, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, Options{})
			k := shellOf(t, n)
			k.Do("checkpoint before")
			write(t, n, strings.Join(threeLines, "\n"))
			writes := n.Writes()
			tc.set(n.Faults())
			if tc.words == "" {
				k.Send("rollback running-config checkpoint before atomic\n")
				k.Ends()
			} else if out := k.Do("rollback running-config checkpoint before atomic"); !strings.Contains(out, tc.words) {
				t.Errorf("%q", out)
			}
			if tc.rolledBack {
				clitest.Eventually(t, "the rollback is carried out", func() bool { return linesThere(n) == [2]bool{} })
			} else if linesThere(n) != [2]bool{true, true} {
				t.Error("rolled back")
			}
			if n.Writes() != writes+1 {
				t.Errorf("%d writes more", n.Writes()-writes)
			}
		})
	}
}

func TestDualStageFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		set   func(*Faults)
		words string
		there [2]bool
	}{
		"none":        {func(*Faults) {}, "Verification Succeeded.", [2]bool{true, true}},
		"reject":      {func(f *Faults) { f.RejectNext() }, internalError, [2]bool{}},
		"fails after": {func(f *Faults) { f.FailAfterCommit() }, "commit verification failed", [2]bool{true, true}},
		"drop after":  {func(f *Faults) { f.DropAfterWrite() }, "", [2]bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, Options{})
			tc.set(n.Faults())
			k := shellOf(t, n)
			if _, prompt := k.Ask("configure dual-stage"); prompt != "leaf1(config-dual-stage)# " {
				t.Fatalf("prompt %q", prompt)
			}
			var out strings.Builder
			for _, l := range threeLines {
				out.WriteString(k.Do(l))
			}
			if linesThere(n) != [2]bool{} {
				t.Error("in force before the commit")
			}
			if tc.words == "" {
				k.Send("commit\n")
				k.Ends()
			} else {
				out.WriteString(k.Do("commit"))
				if !strings.Contains(out.String(), tc.words) {
					t.Errorf("%q", out.String())
				}
			}
			if got := linesThere(n); got != tc.there {
				t.Errorf("lines there: %v, want %v", got, tc.there)
			}
		})
	}
}

func TestGiveUp(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Talk([3]string{"conf t", entered, "leaf1(config)# "})
	release := make(chan struct{})
	n.Faults().GiveUp(release)
	k.Send("hostname other\n")
	clitest.Eventually(t, "the line is with the switch", n.Faults().GaveUp)
	if err := k.Session.Close(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if strings.Contains(n.Running(), "other") {
		t.Error("written before the release")
	}
	close(release)
	clitest.Eventually(t, "the line is carried out", func() bool { return strings.Contains(n.Running(), "hostname other") })

	// If a single line has several commands, the remaining ones run as well.
	n = serve(t, Options{})
	release = make(chan struct{})
	n.Faults().GiveUp(release)
	s, err := clitest.Login(t, n).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start("conf t ; " + strings.Join(threeLines, " ; ") + " ; end"); err != nil {
		t.Fatal(err)
	}
	close(release)
	clitest.Eventually(t, "the lines are carried out", func() bool { return linesThere(n) == [2]bool{true, true} })

	// Close does not wait for the release.
	n = serve(t, Options{})
	k = shellOf(t, n)
	k.Do("checkpoint before")
	n.Faults().GiveUp(make(chan struct{}))
	k.Send("rollback running-config checkpoint before\n")
	clitest.Eventually(t, "the rollback is with the switch", n.Faults().GaveUp)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestBeforeWrite(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Do("checkpoint before")
	calls := 0
	n.Faults().BeforeWrite(func() { calls++; write(t, n, "interface Ethernet1/2\ndescription other") })
	for _, l := range []string{"conf t", "interface Ethernet1/1", "description one"} {
		k.Do(l)
	}
	if calls != 1 || !strings.Contains(n.Running(), "description other") {
		t.Errorf("%d calls before the lines", calls)
	}
	k.Do("end")
	k.Do("rollback running-config checkpoint before")
	if calls != 2 || strings.Contains(n.Running(), "description") {
		t.Errorf("%d calls, running %s", calls, n.Running())
	}
	n.Faults().BeforeWrite(nil)
	k.Do("conf t")
	k.Do("mac address-table aging-time 100")
	if calls != 2 {
		t.Error("called after its end")
	}
}

func TestRefuseLineAndReadOnly(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	n.Faults().RefuseLine(regexp.MustCompile(`^mtu 9`))
	k.Do("conf t")
	k.Do("interface Ethernet1/1")
	k.Talk([3]string{"  mtu 9216", invalidAt("leaf1(config-if)# ", ""), "leaf1(config-if)# "},
		[3]string{"mtu 1600", "", "leaf1(config-if)# "}, [3]string{"end", "", "leaf1# "})
	n.Faults().Clear()
	n.Faults().ReadOnly(true)
	running := withoutHeader(n.Running())
	for _, cmd := range []string{"configure terminal", "configure dual-stage", "checkpoint x", "no checkpoint x", "copy running-config startup-config", "copy running-config bootflash:x"} {
		k.Talk([3]string{cmd, denied + "\n", "leaf1# "})
	}
	if out, status := single(t, n, "conf t"); out != denied+"\n" || status != statusDenied {
		t.Errorf("single command: %d %q", status, out)
	}
	if withoutHeader(n.Running()) != running || !strings.Contains(k.Do("show running-config"), "mtu 1600") {
		t.Error("reading does not work, or something was written")
	}
}

// withoutHeader removes the header, whose "!Time: ..." line changes every second.
func withoutHeader(running string) string {
	return running[strings.Index(running, "\nversion "):]
}

func TestErrorAmongNormal(t *testing.T) {
	n := serve(t, Options{})
	n.Faults().ErrorAmongNormal(true)
	k := shellOf(t, n)
	k.Do("conf t")
	if out := k.Do("interface Ethernet1/1") + k.Do("description one"); strings.Count(out, "\nERROR: ") != 2 {
		t.Errorf("%q", out)
	}
	if !linesThere(n)[0] {
		t.Error("the line had no effect")
	}
}

func TestDelay(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	c, ctx := clitest.GNMI(t, n, "admin")
	n.Faults().Delay(time.Hour)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := c.Capabilities(short, &gnmi.CapabilityRequest{}); err == nil {
		t.Error("Capabilities was answered")
	}
	k.Send("show hostname\n")
	k.Until("show hostname\r\n") // the echo arrives, the answer does not
	n.Faults().Clear()
	k.Until(`leaf1\r\nleaf1# $`)
	// Close also ends a delay.
	n.Faults().Delay(time.Hour)
	k.Send("show hostname\n")
	k.Until("show hostname\r\n")
}

func TestConnectionFaults(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	c, ctx := clitest.GNMI(t, n, "admin")
	n.Faults().RefuseConnections(true)
	k.Ends()
	if _, err := clitest.Dial(t, n, clitest.Account{Password: "admin"}); err == nil {
		t.Error("SSH connected")
	}
	if _, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{}); err == nil {
		t.Error("gNMI connected")
	}
	n.Faults().Clear()
	n.Faults().WrongCertificate(true)
	if _, err := clitest.Dial(t, n, clitest.Account{Password: "admin"}); err == nil || !strings.Contains(err.Error(), "key mismatch") {
		t.Errorf("another host key: %v", err)
	}
	c, ctx = clitest.GNMI(t, n, "admin")
	if _, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{}); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("another certificate: %v", err)
	}
	n.Faults().WrongCertificate(false)
	clitest.Login(t, n)
}

func TestReadingFaults(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	n.Faults().NoModel(true)
	if out := k.Do("show version"); strings.Contains(out, "Cisco") || strings.Contains(out, "NX-OS") {
		t.Errorf("version %q", out)
	}
	if out := k.Do("show version | json"); strings.Contains(out, "nxos_ver_str") {
		t.Errorf("version %q", out)
	}
	c, ctx := clitest.GNMI(t, n, "admin")
	r, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.GetSupportedModels() {
		if strings.Contains(m.GetName(), "Cisco") || strings.HasPrefix(m.GetName(), "openconfig") {
			t.Errorf("model %s", m.GetName())
		}
	}
	if _, err := c.Get(ctx, getRequest("System")); err == nil {
		t.Error("Get was answered")
	}
	n.Faults().Clear()
	n.Faults().TruncateAnswers(true)
	full := n.Startup()
	if out := k.Do("show startup-config"); strings.TrimRight(out, "\n") != strings.TrimRight(full[:len(full)/2], "\n") {
		t.Errorf("cut answer: %q", out)
	}
}

func TestLineEndsAndEcho(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	n.Faults().DoubleReturn(true)
	k.Send("show hostname\n")
	if got := k.Until(`# $`); got != "show hostname\r\r\nleaf1\r\r\nleaf1# " {
		t.Errorf("line ends: %q", got)
	}
	n.Faults().Clear()
	n.Faults().DoubleEcho(true)
	k.Talk([3]string{"show hostname", "show hostname\nleaf1\n", "leaf1# "})
}

// TestProductClient uses the product's own SSH client, with shells and single commands.
func TestProductClient(t *testing.T) {
	n := serve(t, Options{MOTD: "maintenance on Sunday"})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Address: n.SSHAddr(), User: "admin", Password: secret.Secret("admin"), KnownHosts: clitest.HostsFile(t, n)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Run(ctx, "show startup-config", nil)
	stamps := regexp.MustCompile(`(?m)^!Time: .*$`) // the clock may have advanced by a second
	if err != nil || r.Status != 0 || stamps.ReplaceAllString(string(r.Stdout), "") != stamps.ReplaceAllString(n.Startup(), "") {
		t.Errorf("run: %v %d %q", err, r.Status, r.Stdout)
	}
	n.Faults().DoubleReturn(true)
	sh, err := c.Network(ctx, &client.Platform{Home: "exec", Failed: []string{"% "}, Levels: []client.Level{
		{Name: "exec", Prompt: `leaf1#`}, {Name: "config", Prompt: `leaf1\(config[^)]*\)#`},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	for _, l := range [][2]string{{"terminal width 511", ""}, {"terminal length 0", ""}, {"conf t", "Enter configuration commands"},
		{"interface Ethernet1/1", ""}, {"description one", ""}, {"mtu nonsense", "% Invalid command at '^' marker."}, {"system qos", ""}, {"end", ""}} {
		out, err := sh.Type(ctx, l[0])
		if refused := (*client.LineError)(nil); errors.As(err, &refused) {
			out, err = refused.Words, nil
		}
		if err != nil || !strings.Contains(out, l[1]) || l[1] == "" && out != "" {
			t.Fatalf("%s: %v %q", l[0], err, out)
		}
	}
	if !linesThere(n)[0] {
		t.Error("the line was not written")
	}
}
