package remote_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	"go.uber.org/goleak"
	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// Environment variables of the agent on the simulated host.
const (
	socketVar = "ROCE_FABRIC_TEST_SOCKET"
	modeVar   = "ROCE_FABRIC_TEST_MODE" // path of a file
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "nic" && os.Args[2] == "serve" {
		os.Exit(beAgent())
	}
	goleak.VerifyTestMain(m)
}

// beAgent is the program on the host: it connects its input and output to the simulated machine,
// which lives in the test process and serves them like any agent.
func beAgent() int {
	mode, err := os.ReadFile(os.Getenv(modeVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch string(mode) {
	case "crash":
		fmt.Fprint(os.Stderr, strings.Repeat("noise ", 100000), "panic: \x1b[31mout of luck\n")
		return 2
	case "crash late":
		fmt.Println(`{"roce_fabric_agent":1}`)
		fmt.Fprintln(os.Stderr, "killed")
		return 137
	case "garbage":
		_, _ = io.Copy(os.Stdout, io.LimitReader(rand.Reader, 1<<20))
		return 0
	}
	conn, err := net.Dial("unix", os.Getenv(socketVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

// lab is a host: OpenSSH's server on loopback, a home directory, the few programs of the host, and
// a simulated machine.
type lab struct {
	*localtest.Host
	config  ssh.Config
	home    string
	bin     string
	mode    string // path of a file
	hostKey xssh.PublicKey

	mu   sync.Mutex
	hold func() // called for a read, which is then not answered before its context ends
}

const ens = "ens1f0np0"

func newLab(t *testing.T) *lab {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("no " + sshd)
	}
	dir := t.TempDir()
	l := &lab{Host: localtest.New(filepath.Join(dir, "machine")), home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), mode: filepath.Join(dir, "mode")}
	l.Add(localtest.Port{Name: ens, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, OFED: true})
	for _, d := range []string{l.home, l.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "uname", "sha256sum", "cat", "mkdir", "chmod", "mv", "rm"} {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(p, filepath.Join(l.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	l.put(t, l.mode, "")
	l.serve(t, l.socket(t))
	l.listen(t, sshd, dir, l.socket(t))
	return l
}

func (l *lab) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) socket(t *testing.T) string { return filepath.Join(filepath.Dir(l.home), "socket") }

// serve is the test's side of beAgent.
func (l *lab) serve(t *testing.T, socket string) {
	t.Helper()
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				l.mu.Lock()
				hold := l.hold
				l.mu.Unlock()
				m := agent.Local(l.Machine())
				if hold != nil {
					m = held{m, hold}
				}
				// A client that left is no failure of the agent.
				_ = agent.Serve(context.Background(), c, c, m)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
}

// held does not answer a read before its context ends.
type held struct {
	agent.Machine
	asked func()
}

func (h held) Read(ctx context.Context, _ []string) (*nic.Host, error) {
	h.asked()
	<-ctx.Done()
	return nil, ctx.Err()
}

func newKey(t *testing.T, file string) xssh.PublicKey {
	t.Helper()
	pub, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := xssh.MarshalPrivateKey(k, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := xssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// listen starts the SSH server.
func (l *lab) listen(t *testing.T, sshd, dir, socket string) {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		// The server requires the directory for its privilege separation.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip("cannot make /run/sshd: " + err.Error())
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	l.hostKey = newKey(t, file("host"))
	login := newKey(t, file("id"))
	l.put(t, file("authorized"), string(xssh.MarshalAuthorizedKey(login)))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	_, port, _ := net.SplitHostPort(addr)
	l.put(t, file("known"), knownhosts.Line([]string{addr}, l.hostKey)+"\n")
	l.put(t, file("config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nSetEnv HOME=%s PATH=%s %s=%s %s=%s\n",
		port, file("host"), file("authorized"), l.home, l.bin, socketVar, socket, modeVar, l.mode))
	cmd := exec.Command(sshd, "-D", "-e", "-f", file("config"))
	log := &buffer{ready: make(chan struct{})}
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second // sessions that outlive the server hold its standard error open
	if err := cmd.Start(); err != nil {
		t.Skip("cannot start sshd: " + err.Error())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	select {
	case <-log.ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("sshd ended at once: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("sshd does not listen")
	}
	l.config = ssh.Config{Address: addr, User: me.Username, KeyFile: file("id"), KnownHosts: file("known"), Timeout: 20 * time.Second}
}

// buffer stores a log and signals when the server listens.
type buffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	once  sync.Once
	ready chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p)
	if bytes.Contains(b.b.Bytes(), []byte("Server listening")) {
		b.once.Do(func() { close(b.ready) })
	}
	return len(p), nil
}

func (b *buffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// program returns the path of the running program on the host.
func (l *lab) program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(l.home, ".cache", "roce-fabric", digestOf(t, self))
}

func digestOf(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cached returns the files that the tool keeps on the host.
func (l *lab) cached(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.home, ".cache", "roce-fabric"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
