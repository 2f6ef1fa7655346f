package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// TestCloseOfStuckConnection sends a malformed exit status, which ends the goroutine that reads
// the channel's requests. The requests after it then block the connection for good, which is why
// the test runs in a process of its own: no bubble ends while goroutines remain in it.
func TestCloseOfStuckConnection(t *testing.T) {
	if os.Getenv(leaky) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), leaky+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			if cmd == "probe" {
				return 0
			}
			_, _ = ch.SendRequest("exit-status", false, []byte{0})
			for range 100 {
				_, _ = ch.SendRequest("x", false, nil)
			}
			_, _ = io.Copy(io.Discard, ch)
			return 0
		}
		c, err := Dial(t.Context(), d.config())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			if _, err := c.Run(ctx, "x", nil); err == nil {
				t.Error("Run succeeds")
			}
		})
		time.Sleep(time.Second) // until all requests have arrived
		probe, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := c.Run(probe, "probe", nil); !errors.Is(err, ErrTimeout) {
			t.Errorf("the connection is not stuck: %v", err)
		}
		cancel()
		work.Wait()
		begun := time.Now()
		if err := c.Close(); !errors.Is(err, ErrTimeout) || time.Since(begun) > 2*closeGrace {
			t.Errorf("Close of a stuck connection: %v after %s", err, time.Since(begun))
		}
		if t.Failed() {
			os.Exit(1)
		}
		os.Exit(0)
	})
}

// haltingConn reports the first write after it is halted.
type haltingConn struct {
	net.Conn
	addr    net.Addr // peer's address
	halted  atomic.Bool
	waiting chan struct{}
	once    sync.Once
}

func (h *haltingConn) RemoteAddr() net.Addr { return h.addr }

func (h *haltingConn) Write(b []byte) (int, error) {
	if h.halted.Load() {
		h.once.Do(func() { close(h.waiting) })
	}
	return h.Conn.Write(b)
}

// TestCloseBehindHaltedJump covers a jump host that accepts no more data. A pending write to it
// blocks the packet that closes the connection behind it. The second write waits for a mutex, which
// would stop the clock of a bubble, so the time is real.
func TestCloseBehindHaltedJump(t *testing.T) {
	network := memnet.New(1)
	jump, d := newDevice(t, deviceOptions{forward: true, network: network}), newDevice(t, deviceOptions{network: network})
	cfg := d.config()
	cfg.Jump, cfg.KnownHosts = testUser+"@"+jump.addr, joined(t, d.hosts, jump.hosts)
	hops, err := cfg.hops()
	if err == nil {
		err = cfg.check()
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLogin(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	near, far := net.Pipe()
	tcp, err := jump.dial(t.Context(), jump.addr)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	defer work.Wait()
	defer tcp.Close()
	work.Go(func() { _, _ = io.Copy(far, tcp) })
	work.Go(func() { _, _ = io.Copy(tcp, far) })

	base := &haltingConn{Conn: near, addr: tcp.RemoteAddr(), waiting: make(chan struct{})}
	first, err := handshake(base, hops[0], l, cfg.Hosts)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := first.DialContext(t.Context(), "tcp", hops[1].addr)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Conn: behind}
	second, err := handshake(w, hops[1], l, cfg.Hosts)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(&cfg, base)
	c.last, c.conns = w, []*xssh.Client{first, second}
	c.watchEnd()

	base.halted.Store(true)
	if err := far.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	work.Go(func() {
		if _, err := c.Run(ctx, "x", nil); err == nil {
			t.Error("Run succeeds")
		}
	})
	<-base.waiting
	cancel()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestSilentAgent uses an ssh-agent that asks its user, who does not answer. Its socket is a real
// one, so the time is real as well.
func TestSilentAgent(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key, _ := ed25519Key(t)
	d := newDevice(t, deviceOptions{authKey: key.PublicKey()})
	cfg := d.config()
	cfg.Agent, cfg.AgentSocket, cfg.Timeout = true, sock, 150*time.Millisecond
	_, err = Dial(t.Context(), cfg)
	want(t, err, ErrTimeout, d.addr)
}
