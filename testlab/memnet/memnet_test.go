package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"
)

func pair(t *testing.T, seed uint64, fate func(Piece) Fate) (client, server net.Conn, c *Client) {
	t.Helper()
	n := New(seed)
	l, err := n.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = n.Client(fate)
	if client, err = c.Dial(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = client.Close(), server.Close(), l.Close() })
	return client, server, c
}

func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		c, s, _ := pair(t, 1, nil)
		return c, s, func() { _, _ = c.Close(), s.Close() }, nil
	})
}

// A cut lets part of a piece pass. The client then sees a reset, the server the end of the data.
func TestCut(t *testing.T) {
	for _, up := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			client, server, _ := pair(t, 1, func(p Piece) Fate {
				return Fate{Pass: min(3, len(p.Data)), Cut: p.N == 1 && p.Up == up}
			})
			from, to := client, server
			if !up {
				from, to = server, client
			}
			for _, text := range []string{"one", "two and more"} {
				if _, err := io.WriteString(from, text); err != nil {
					t.Fatal(err)
				}
			}
			got := make([]byte, 6)
			if _, err := io.ReadFull(to, got); err != nil || string(got) != "onetwo" {
				t.Fatalf("read %q, %v", got, err)
			}
			if _, err := client.Read(got); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the client reads %v, want a reset", err)
			}
			if _, err := server.Read(got); err != io.EOF {
				t.Errorf("the server reads %v, want the end of the data", err)
			}
		})
	}
}

// Virtual time advances only while pieces travel, and the same seed gives the same times.
func TestVirtualTime(t *testing.T) {
	var first time.Duration
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			client, server, _ := pair(t, 7, func(p Piece) Fate { return Fate{Pass: len(p.Data), Wait: time.Hour} })
			began := time.Now()
			for range 10 {
				if _, err := client.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if _, err := server.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			took := time.Since(began)
			if first == 0 {
				first = took
			}
			if took != first || took < 10*time.Hour || took > 10*time.Hour+2*time.Millisecond {
				t.Errorf("it took %v, and %v before", took, first)
			}
		})
	}
}

// The connections of a killed client end for the server. Later calls of the client reach nobody.
func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, c := pair(t, 1, nil)
		c.Kill()
		if n, err := client.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("a write returns %d, %v", n, err)
		}
		if got, err := io.ReadAll(server); err != nil || len(got) > 0 {
			t.Errorf("the server reads %q, %v", got, err)
		}
		_ = client.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the client reads: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := c.Dial(ctx, "tcp", server.LocalAddr().String()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the client dials: %v", err)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	n := New(1)
	if _, err := n.Client(nil).Dial(t.Context(), "tcp", "127.0.0.1:9"); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "127.0.0.1:9") {
		t.Errorf("dial: %v", err)
	}
	l, err := n.Listen("127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen("127.0.0.1:9"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second listener: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
	if _, err := n.Client(nil).Dial(t.Context(), "tcp", "127.0.0.1:9"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v", err)
	}
}

// A silent connection accepts writes but delivers nothing, not even its end, and a silent dial is
// never answered. A fate can also refuse a dial.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dial Fate
		client, server, c := pair(t, 1, func(p Piece) Fate {
			if p.Dial {
				return dial
			}
			return Fate{Pass: 1, Silent: true}
		})
		for _, end := range []net.Conn{client, server} {
			if n, err := io.WriteString(end, "text"); n != 4 || err != nil {
				t.Errorf("a write returns %d, %v", n, err)
			}
		}
		if n, err := server.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Errorf("the server reads %d, %v", n, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		_ = server.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := server.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the server reads: %v", err)
		}
		for _, f := range []struct {
			fate Fate
			want error
		}{{Fate{Silent: true}, os.ErrDeadlineExceeded}, {Fate{Cut: true}, syscall.ECONNREFUSED}} {
			dial = f.fate
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if _, err := c.Dial(ctx, "tcp", server.LocalAddr().String()); !errors.Is(err, f.want) {
				t.Errorf("dial: %v, want %v", err, f.want)
			}
			cancel()
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := pair(t, 1, func(p Piece) Fate { return Fate{Pass: len(p.Data), Pace: time.Second} })
		began := time.Now()
		for _, text := range []string{"slow", "ly"} {
			if _, err := io.WriteString(client, text); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 6 {
			if n, err := server.Read(make([]byte, 9)); n != 1 || err != nil {
				t.Fatalf("byte %d: read %d, %v", i, n, err)
			}
		}
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("six bytes took %v", took)
		}
	})
}

// A write to a closed peer is answered with a reset, which overtakes slow data.
func TestWriteToClosedPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := pair(t, 1, func(p Piece) Fate { return Fate{Pass: len(p.Data), Pace: time.Hour} })
		if _, err := io.WriteString(server, "slow"); err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, "x"); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the client writes: %v", err)
		}
		began := time.Now()
		if _, err := io.ReadAll(client); !errors.Is(err, syscall.ECONNRESET) || time.Since(began) > time.Second {
			t.Errorf("the client reads %v after %v", err, time.Since(began))
		}
	})
}
