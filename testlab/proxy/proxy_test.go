package proxy_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// echo starts a server that sends back what it receives, until it is closed.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return ln.Addr().String()
}

func TestProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		up   bool // direction to cut
		pass int
		cut  bool
		want string
		err  error
	}{
		"passes":             {true, 5, false, "hello", nil},
		"cuts a request":     {true, 2, true, "", syscall.ECONNRESET},
		"cuts an answer":     {false, 2, true, "he", syscall.ECONNRESET},
		"passes a part on":   {false, 3, false, "hel", nil},
		"swallows an answer": {false, 0, true, "", syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := proxy.Open(echo(t), func(c proxy.Chunk) (int, bool) {
				if c.Up == tt.up {
					return tt.pass, tt.cut
				}
				if tt.up && tt.cut {
					return 0, false // the answer may arrive before the cut
				}
				return len(c.Data), false
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", p.Addr())
			if err == nil {
				_, err = c.Write([]byte("hello"))
			}
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(tt.want))
			n, err := io.ReadFull(c, got)
			if err == nil && tt.err != nil {
				_, err = c.Read(make([]byte, 1))
			}
			if string(got[:n]) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v", got[:n], err)
			}
			_ = c.Close()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFar(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	p, err := proxy.Far(echo(t), roundTrip)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	read := make([]byte, 1)
	for range 3 {
		// Two pieces sent at once are in flight together.
		for range 2 {
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := io.ReadFull(c, read); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The second of two bytes may be a piece of its own.
	if n := p.Trips(); n < 3 || n > 5 {
		t.Errorf("%d round trips, not 3", n)
	}
	if took := time.Since(began); took < 3*roundTrip {
		t.Errorf("3 round trips take %s", took)
	}
	_ = c.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
