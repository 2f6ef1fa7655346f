// Package clitest drives simulated switches in tests with real clients: single SSH commands,
// shells, and a gNMI connection. Only tests import it.
package clitest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// limit is the maximum time that a test waits for anything.
const limit = 30 * time.Second

// Box is a simulated switch.
type Box interface {
	SSHAddr() string
	HostKeyLine() string
	GNMIAddr() string
	CAPEM() []byte
}

// Account holds the credentials for a login; the user is admin.
type Account struct {
	Password string
	Banner   *string // receives the banner; may be nil
}

// HostsFile returns the path of a known_hosts file for a switch.
func HostsFile(t testing.TB, b Box) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(b.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Dial opens an SSH connection that is closed at the end of the test.
func Dial(t testing.TB, b Box, a Account) (*ssh.Client, error) {
	t.Helper()
	check, err := knownhosts.New(HostsFile(t, b))
	if err != nil {
		t.Fatal(err)
	}
	conf := &ssh.ClientConfig{User: "admin", Auth: []ssh.AuthMethod{ssh.Password(a.Password)}, HostKeyCallback: check, Timeout: 10 * time.Second}
	if a.Banner != nil {
		conf.BannerCallback = func(m string) error { *a.Banner = m; return nil }
	}
	c, err := ssh.Dial("tcp", b.SSHAddr(), conf)
	if err == nil {
		// Close the connection after limit, so that no test waits forever.
		stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
		timer := time.AfterFunc(limit, func() { _ = c.Close() })
		t.Cleanup(func() { stop(); timer.Stop(); _ = c.Close() })
	}
	return c, err
}

// Login is Dial with the right password.
func Login(t testing.TB, b Box) *ssh.Client {
	t.Helper()
	c, err := Dial(t, b, Account{Password: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Once runs one command in its own channel and returns its output. The command must exit with
// status 0.
func Once(t testing.TB, c *ssh.Client, cmd string) string {
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

// Console is an interactive shell.
type Console struct {
	Session *ssh.Session

	t      testing.TB
	prompt string // regular expression for a prompt, without the anchor at the end
	in     io.Writer
	out    io.Reader
	seen   bytes.Buffer
}

// Shell opens a shell. prompt is a regular expression that matches its prompts, which are at the
// start of a line. The first prompt has not been read yet.
func Shell(t testing.TB, c *ssh.Client, prompt string, width, height int) *Console {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := &Console{t: t, Session: s, prompt: prompt}
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

// Send types text.
func (k *Console) Send(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, text); err != nil {
		k.t.Fatal(err)
	}
}

// Until reads until the regular expression matches and returns everything read since the last
// call.
func (k *Console) Until(expr string) string {
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

// Ends reads the output of a shell to its end.
func (k *Console) Ends() {
	k.t.Helper()
	if _, err := io.Copy(io.Discard, k.out); err != nil {
		k.t.Error(err)
	}
}

// Ask sends a line and returns the output and the next prompt.
func (k *Console) Ask(line string) (out, prompt string) {
	k.t.Helper()
	k.Send(line + "\n")
	all := k.Until(`(?:^|\n)` + k.prompt + `$`)
	body, ok := strings.CutPrefix(all, line+"\r\n")
	if !ok {
		k.t.Fatalf("%q is not echoed in %q", line, all)
	}
	i := strings.LastIndexByte(body, '\n') + 1
	return strings.ReplaceAll(body[:i], "\r\n", "\n"), body[i:]
}

// Do sends a line and returns the output.
func (k *Console) Do(line string) string {
	k.t.Helper()
	out, _ := k.Ask(line)
	return out
}

// Talk sends lines and checks output and prompt of each.
func (k *Console) Talk(lines ...[3]string) {
	k.t.Helper()
	for _, l := range lines {
		out, prompt := k.Ask(l[0])
		if out != l[1] || prompt != l[2] {
			k.t.Errorf("%s: got %q and %q, want %q and %q", l[0], out, prompt, l[1], l[2])
		}
	}
}

// Eventually waits until a condition that depends on another goroutine becomes true.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("never: " + what)
		}
	}
}

// GNMI returns a gNMI client and a context with admin's credentials.
func GNMI(t testing.TB, b Box, password string) (gnmi.GNMIClient, context.Context) {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b.CAPEM()) {
		t.Fatal("no CA")
	}
	conn, err := grpc.NewClient(b.GNMIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(func() { cancel(); _ = conn.Close() })
	return gnmi.NewGNMIClient(conn), metadata.AppendToOutgoingContext(ctx, "username", "admin", "password", password)
}
