package ssh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	"go.uber.org/goleak"
	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

const testUser, testPass = "admin", "YourPaSsWoRd-42"

// leaky is set for the subprocess of a test whose device blocks x/crypto/ssh forever.
const leaky = "ROCE_FABRIC_SSH_TEST_LEAKS"

func TestMain(m *testing.M) {
	if os.Getenv(leaky) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// device is an SSH server whose commands the test provides.
type device struct {
	network *memnet.Network
	addr    string
	hosts   string // known_hosts file with all its keys
	keys    []xssh.Signer

	exec    func(cmd string, ch xssh.Channel) uint32 // returns the exit status
	shell   func(ch xssh.Channel)
	refuse  bool // reject sessions
	forward bool // allow direct-tcpip
	frozen  bool // answer nothing after the login
	ignores bool // do not answer global requests

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

type deviceOptions struct {
	keys      []xssh.Signer
	authKey   xssh.PublicKey
	question  bool // keyboard-interactive instead of password
	echoed    bool // the question is echoed
	forward   bool
	version   string              // version string of the server; "" uses Go's
	ignores   bool                // do not answer global requests
	beforeSSH func(net.Conn) bool // returns false to end the connection
	network   *memnet.Network     // nil creates one
	address   string              // where it listens; "" picks a free port
}

func ed25519Key(t testing.TB) (xssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := xssh.NewSignerFromKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return s, k
}

func ecdsaKey(t testing.TB) xssh.Signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := xssh.NewSignerFromKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hostsFile writes a known_hosts file with the keys for addr.
func hostsFile(t testing.TB, addr string, keys ...xssh.Signer) string {
	t.Helper()
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(knownhosts.Line([]string{addr}, k.PublicKey()) + "\n")
	}
	p := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(p, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// joined concatenates files into one.
func joined(t testing.TB, files ...string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "known_hosts")
	var lines []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b...)
	}
	if err := os.WriteFile(p, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// newDevice starts a server on an in-memory network. It stops at the end of the test.
func newDevice(t testing.TB, o deviceOptions) *device {
	t.Helper()
	if len(o.keys) == 0 {
		k, _ := ed25519Key(t)
		o.keys = []xssh.Signer{k}
	}
	cfg := &xssh.ServerConfig{ServerVersion: o.version}
	check := func(user, pw string) (*xssh.Permissions, error) {
		if user != testUser || pw != testPass {
			return nil, errors.New("wrong")
		}
		return nil, nil
	}
	switch {
	case o.authKey != nil:
		cfg.PublicKeyCallback = func(_ xssh.ConnMetadata, k xssh.PublicKey) (*xssh.Permissions, error) {
			if !bytes.Equal(k.Marshal(), o.authKey.Marshal()) {
				return nil, errors.New("wrong")
			}
			return nil, nil
		}
	case o.question:
		cfg.KeyboardInteractiveCallback = func(m xssh.ConnMetadata, ask xssh.KeyboardInteractiveChallenge) (*xssh.Permissions, error) {
			a, err := ask("", "", []string{"Password: "}, []bool{o.echoed})
			if err != nil || len(a) != 1 {
				return nil, errors.New("no answer")
			}
			// PAM sends a final request without questions.
			if _, err := ask("", "", nil, nil); err != nil {
				return nil, err
			}
			return check(m.User(), a[0])
		}
	default:
		cfg.PasswordCallback = func(m xssh.ConnMetadata, pw []byte) (*xssh.Permissions, error) { return check(m.User(), string(pw)) }
	}
	for _, k := range o.keys {
		cfg.AddHostKey(k)
	}
	if o.network == nil {
		o.network = memnet.New(1)
	}
	l, err := o.network.Listen(cmp.Or(o.address, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	d := &device{network: o.network, addr: l.Addr().String(), keys: o.keys, forward: o.forward, ignores: o.ignores}
	d.hosts = hostsFile(t, d.addr, o.keys...)
	d.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.conns = append(d.conns, c)
			d.mu.Unlock()
			d.wg.Go(func() {
				defer c.Close()
				if o.beforeSSH == nil || o.beforeSSH(c) {
					d.serve(c, cfg)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); d.hangUp(); d.wg.Wait() })
	return d
}

// hangUp closes every connection from the device's side.
func (d *device) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.Close()
	}
}

func (d *device) serve(c net.Conn, cfg *xssh.ServerConfig) {
	conn, chans, reqs, err := xssh.NewServerConn(c, cfg)
	if err != nil {
		return
	}
	defer conn.Close()
	d.wg.Go(func() {
		for r := range reqs {
			if r.WantReply && !d.ignores {
				_ = r.Reply(false, nil)
			}
		}
	})
	if d.frozen {
		_ = conn.Wait()
	}
	for nc := range chans {
		switch {
		case nc.ChannelType() == "direct-tcpip" && d.forward:
			d.wg.Go(func() { d.tunnel(nc) })
		case nc.ChannelType() != "session" || d.refuse:
			_ = nc.Reject(xssh.Prohibited, "no")
		default:
			ch, reqs, err := nc.Accept()
			if err == nil {
				d.wg.Go(func() { d.session(ch, reqs) })
			}
		}
	}
}

func (d *device) session(ch xssh.Channel, reqs <-chan *xssh.Request) {
	for r := range reqs {
		switch r.Type {
		case "pty-req":
			_ = r.Reply(true, nil)
		case "exec":
			var m struct{ Command string }
			ok := d.exec != nil && xssh.Unmarshal(r.Payload, &m) == nil
			_ = r.Reply(ok, nil)
			if !ok {
				continue
			}
			d.wg.Go(func() {
				status := d.exec(m.Command, ch)
				_, _ = ch.SendRequest("exit-status", false, xssh.Marshal(struct{ S uint32 }{status}))
				ch.Close()
			})
		case "shell":
			_ = r.Reply(d.shell != nil, nil)
			if d.shell == nil {
				continue
			}
			d.wg.Go(func() { d.shell(ch); ch.Close() })
		default:
			_ = r.Reply(false, nil)
		}
	}
}

func (d *device) tunnel(nc xssh.NewChannel) {
	var m struct {
		Host  string
		Port  uint32
		From  string
		FPort uint32
	}
	if err := xssh.Unmarshal(nc.ExtraData(), &m); err != nil {
		_ = nc.Reject(xssh.ConnectionFailed, "")
		return
	}
	out, err := d.dial(context.Background(), net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port))))
	if err != nil {
		_ = nc.Reject(xssh.ConnectionFailed, "connect failed")
		return
	}
	ch, reqs, err := nc.Accept()
	if err != nil {
		out.Close()
		return
	}
	d.wg.Go(func() {
		for r := range reqs {
			if r.WantReply && !d.ignores {
				_ = r.Reply(false, nil)
			}
		}
	})
	d.wg.Go(func() { _, _ = io.Copy(ch, out); ch.Close(); out.Close() })
	_, _ = io.Copy(out, ch)
	ch.Close()
	out.Close()
}

// dial connects to an address in the device's network.
func (d *device) dial(ctx context.Context, addr string) (net.Conn, error) {
	return d.network.Client(nil).Dial(ctx, "tcp", addr)
}

// config returns a Config that connects to the device with correct credentials.
func (d *device) config() Config {
	return Config{Address: d.addr, User: testUser, Password: testPass, KnownHosts: d.hosts, Timeout: 10 * time.Second, Dial: d.network.Client(nil).Dial}
}

func dial(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

var kinds = []error{ErrUnreachable, ErrHostKeyUnknown, ErrHostKeyChanged, ErrAuth, ErrTimeout, errConfig, ErrLost, ErrTooLarge, errRefused}

// want fails unless err is of this kind and no other, contains the address, and does not contain
// the password.
func want(t *testing.T, err, kind error, addr string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no Error", err, err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) != (k == kind) {
			t.Errorf("error %q: is %q: %v", err, k, errors.Is(err, k))
		}
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name %s", err, addr)
	}
	if strings.Contains(err.Error()+e.Hint(), testPass) || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("error %q", err)
	}
	return e
}
