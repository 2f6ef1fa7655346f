package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			switch cmd {
			case "cat":
				_, _ = io.Copy(ch, ch)
				return 0
			case "ignore input":
				return 0
			}
			fmt.Fprint(ch, "out of "+cmd)
			fmt.Fprint(ch.Stderr(), "err")
			return 7
		}
		c := dial(t, d.config())
		r, err := c.Run(t.Context(), "show x", nil)
		if err != nil || string(r.Stdout) != "out of show x" || string(r.Stderr) != "err" || r.Status != 7 {
			t.Errorf("%+v %v", r, err)
		}
		big := bytes.Repeat([]byte("0123456789abcdef"), 400<<10/16*16)
		if r, err = c.Run(t.Context(), "cat", big); err != nil || !bytes.Equal(r.Stdout, big) || r.Status != 0 {
			t.Errorf("cat gives %d of %d bytes, %v", len(r.Stdout), len(big), err)
		}
		if r, err = c.Run(t.Context(), "ignore input", big); err != nil || r.Status != 0 {
			t.Errorf("unread input: %+v %v", r, err)
		}
	})
}

func TestChannelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var now, most atomic.Int32
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second) // until all channels are open
			fmt.Fprint(ch, cmd)
			return 0
		}
		cfg := d.config()
		cfg.MaxChannels = 3
		c := dial(t, cfg)
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				cmd := fmt.Sprint("command ", i)
				if r, err := c.Run(t.Context(), cmd, nil); err != nil || string(r.Stdout) != cmd {
					t.Errorf("%q %v", r.Stdout, err)
				}
			})
		}
		wg.Wait()
		if m := most.Load(); m != 3 {
			t.Errorf("%d commands at once", m)
		}
	})
}

func TestCancelMidCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			if cmd == "quick" {
				return 0
			}
			started <- struct{}{}
			// Run until the client closes the channel. The end of its input arrives at once and means
			// nothing.
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := ch.Write([]byte(".")); err != nil {
					break
				}
			}
			ended <- struct{}{}
			return 0
		}
		c := dial(t, d.config())
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		_, err := c.Run(ctx, "wait", nil)
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
			t.Errorf("error %v", err)
		}
		<-ended
		if _, err := c.Run(t.Context(), "quick", nil); err != nil {
			t.Errorf("the connection does not outlive a cancelled command: %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if _, err := c.Run(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		select {
		case <-started:
			t.Error("a command ran on a context that was over")
		default:
		}
	})
}

// TestCommandTimeout uses a device that grants no channel, and one that grants a channel but never
// ends the command.
func TestCommandTimeout(t *testing.T) {
	for name, frozen := range map[string]bool{"frozen": true, "mute": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{})
				d.frozen = frozen
				never := make(chan struct{})
				t.Cleanup(func() { close(never) })
				d.exec = func(string, xssh.Channel) uint32 { <-never; return 0 }
				d.shell = func(xssh.Channel) { <-never }
				cfg := d.config()
				cfg.CommandTimeout, cfg.MaxChannels = 10*time.Second, 2
				c := dial(t, cfg)
				for range 3 { // one more than the number of channels
					_, err := c.Run(t.Context(), "x", []byte("y"))
					if want(t, err, ErrTimeout, d.addr); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %v", err)
					}
				}
				_, err := c.shell(t.Context(), promptPattern)
				want(t, err, ErrTimeout, d.addr)
			})
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		stopped := make(chan struct{}, 4)
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			if cmd == "exact" {
				_, _ = ch.Write(make([]byte, 60<<10))
				_, _ = ch.Stderr().Write(make([]byte, 40<<10))
				return 0
			}
			w := io.Writer(ch)
			if cmd == "stderr" {
				w = ch.Stderr()
			}
			for {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					stopped <- struct{}{}
					return 0
				}
			}
		}
		cfg := d.config()
		cfg.MaxOutput = 100 << 10
		c := dial(t, cfg)
		for _, cmd := range []string{"stdout", "stderr"} {
			r, err := c.Run(t.Context(), cmd, nil)
			want(t, err, ErrTooLarge, d.addr)
			if n := len(r.Stdout) + len(r.Stderr); n != 100<<10 {
				t.Errorf("%s: kept %d bytes", cmd, n)
			}
			<-stopped
		}
		if r, err := c.Run(t.Context(), "exact", nil); err != nil || len(r.Stdout)+len(r.Stderr) != 100<<10 {
			t.Errorf("at the limit: %d bytes, %v", len(r.Stdout)+len(r.Stderr), err)
		}
	})
}

func TestPeerClosesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			fmt.Fprint(ch, "half")
			d.hangUp()
			_, _ = io.Copy(io.Discard, ch)
			return 0
		}
		for range 5 {
			c, err := Dial(t.Context(), d.config())
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Run(t.Context(), "x", nil)
			want(t, err, ErrLost, d.addr)
			_, err = c.Run(t.Context(), "x", nil)
			want(t, err, ErrLost, d.addr)
			if err := errors.Join(c.Close(), c.Close()); err != nil {
				t.Errorf("Close: %v", err)
			}
			_, err = c.Run(t.Context(), "x", nil)
			want(t, err, ErrLost, d.addr)
		}
	})
}

// unanswered is a connection whose channel requests get no answer.
type unanswered struct{ asked, release chan struct{} }

func (u unanswered) NewSession() (*xssh.Session, error) {
	close(u.asked)
	<-u.release
	return nil, io.EOF
}

// TestOpenEndsWithConnection checks that a channel request forgotten by golang.org/x/crypto/ssh
// does not block the caller.
func TestOpenEndsWithConnection(t *testing.T) {
	var over atomic.Bool
	u := unanswered{make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() { <-u.asked; close(ended) }()
	if s, err := open(u, &over, ended); s != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("a channel %v, error %v, of a connection that ended meanwhile", s, err)
	}
	close(u.release)
	// open makes no request on a connection that its peer has ended: a second request would panic
	// here.
	over.Store(true)
	if s, err := open(u, &over, make(chan struct{})); s != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("a channel %v, error %v, of a connection that is over", s, err)
	}
}

// TestWireKnowsItsEnd checks that the wire records a loss that one command detects, for the next
// one.
func TestWireKnowsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(_ string, ch xssh.Channel) uint32 {
			d.hangUp()
			_, _ = io.Copy(io.Discard, ch)
			return 0
		}
		c := dial(t, d.config())
		if c.last.over.Load() {
			t.Error("over before it was lost")
		}
		_, err := c.Run(t.Context(), "x", nil)
		want(t, err, ErrLost, d.addr)
		if !c.last.over.Load() {
			t.Error("not over after a command was told that it is lost")
		}
	})
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		c := dial(t, d.config())
		_, err := c.Run(t.Context(), "no exec here", nil)
		want(t, err, errRefused, d.addr)
		d.refuse = true
		_, err = c.Run(t.Context(), "no session here", nil)
		want(t, err, errRefused, d.addr)
	})
}

// TestCloseEndsEverything closes the client while commands are running.
func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		begun := make(chan struct{}, 4)
		d.exec = func(_ string, ch xssh.Channel) uint32 {
			begun <- struct{}{}
			_, _ = io.Copy(io.Discard, ch)
			return 0
		}
		c := dial(t, d.config())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := c.Run(t.Context(), "x", []byte("y")); !errors.Is(err, ErrLost) && err != nil {
					t.Errorf("error %v", err)
				}
			})
		}
		for range 4 {
			<-begun
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// cli simulates the command line of a network device, which echoes every byte.
func cli(answer func(line string, ch xssh.Channel) bool) func(xssh.Channel) {
	return func(ch xssh.Channel) {
		fmt.Fprint(ch, "\r\nWelcome\r\nleaf1#")
		var line []byte
		b := make([]byte, 1)
		for {
			if _, err := ch.Read(b); err != nil {
				return
			}
			if b[0] != '\n' && b[0] != '\r' {
				_, _ = ch.Write(b)
				line = append(line, b[0])
				continue
			}
			fmt.Fprint(ch, "\r\n")
			if !answer(string(line), ch) {
				return
			}
			line = line[:0]
			fmt.Fprint(ch, "leaf1#")
		}
	}
}

func TestShell(t *testing.T) {
	// connected starts a device and connects to it; open opens a shell on the connection.
	connected := func(t *testing.T) (d *device, c *Client, open func() *shell, arrived chan struct{}) {
		d = newDevice(t, deviceOptions{})
		mode := "exec"
		arrived = make(chan struct{}, 1)
		d.shell = cli(func(line string, ch xssh.Channel) bool {
			switch line {
			case "configure":
				mode = "config"
			case "flood":
				for {
					if _, err := ch.Write(bytes.Repeat([]byte("x\r\n"), 1000)); err != nil {
						return false
					}
				}
			case "hang":
				arrived <- struct{}{}
				_, _ = io.Copy(io.Discard, ch)
				return false
			case "exit":
				return false
			case "big":
				fmt.Fprint(ch, strings.Repeat("line of text\r\n", 2000))
			default:
				fmt.Fprintf(ch, "%s: %s\r\n", mode, line)
			}
			return true
		})
		cfg := d.config()
		cfg.MaxOutput = 100 << 10
		c = dial(t, cfg)
		return d, c, func() *shell {
			t.Helper()
			s, err := c.shell(t.Context(), promptPattern)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		}, arrived
	}
	t.Run("keeps its state", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, _, open, _ := connected(t)
			s := open()
			if out, err := s.send(t.Context(), "configure"); err != nil || out != "" {
				t.Errorf("%q %v", out, err)
			}
			// The limit applies to each line, not to their sum.
			for range 5 {
				if out, err := s.send(t.Context(), "big"); err != nil || strings.Count(out, "line of text") != 2000 {
					t.Errorf("%d bytes %v", len(out), err)
				}
			}
			if out, err := s.send(t.Context(), "show version"); err != nil || out != "config: show version" {
				t.Errorf("%q %v", out, err)
			}
			if _, err := s.send(t.Context(), "two\nlines"); !errors.Is(err, errConfig) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, _, open, arrived := connected(t)
			s := open()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }()
			if _, err := s.send(ctx, "hang"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if _, err := s.send(t.Context(), "show"); !errors.Is(err, ErrLost) {
				t.Errorf("a shell goes on after a command that nobody waits for: %v", err)
			}
		})
	})
	t.Run("timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, open, arrived := connected(t)
			s := open()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := s.send(ctx, "hang")
			want(t, err, ErrTimeout, d.addr)
			<-arrived
		})
	})
	t.Run("device reads nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDevice(t, deviceOptions{})
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			d.shell = func(ch xssh.Channel) {
				fmt.Fprint(ch, "leaf1#")
				<-never
			}
			s, err := dial(t, d.config()).shell(t.Context(), promptPattern)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			_, err = s.send(ctx, strings.Repeat("x", 8<<20)) // more than the channel takes without a reader
			if want(t, err, ErrTimeout, d.addr); time.Since(begun) > 11*time.Second {
				t.Errorf("it ended after %s", time.Since(begun))
			}
			_ = s.Close()
		})
	})
	t.Run("flood", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, open, _ := connected(t)
			_, err := open().send(t.Context(), "flood")
			want(t, err, ErrTooLarge, d.addr)
		})
	})
	t.Run("device ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, open, _ := connected(t)
			_, err := open().send(t.Context(), "exit")
			want(t, err, ErrLost, d.addr)
		})
	})
	t.Run("no prompt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, c, open, _ := connected(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := c.shell(ctx, neverPattern)
			want(t, err, ErrTimeout, d.addr)
			open() // another shell on the connection
		})
	})
	t.Run("no shell", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			none := newDevice(t, deviceOptions{})
			none.refuse = true
			_, err := dial(t, none.config()).shell(t.Context(), promptPattern)
			want(t, err, errRefused, none.addr)
		})
	})
	t.Run("many on one connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, c, open, arrived := connected(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }()
			if _, err := open().send(ctx, "hang"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			for line, kind := range map[string]error{"flood": ErrTooLarge, "exit": ErrLost} {
				_, err := open().send(t.Context(), line)
				want(t, err, kind, d.addr)
			}
			s := open()
			d.exec = func(cmd string, ch xssh.Channel) uint32 { fmt.Fprint(ch, cmd); return 0 }
			if r, err := c.Run(t.Context(), "run", nil); err != nil || string(r.Stdout) != "run" {
				t.Errorf("%q %v", r.Stdout, err)
			}
			if _, err := s.send(t.Context(), "show"); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Close of the client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, _, _ := connected(t)
			c, err := Dial(t.Context(), d.config())
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.shell(t.Context(), promptPattern)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Close(), s.Close()); err != nil {
				t.Error(err)
			}
			if _, err := s.send(t.Context(), "show"); !errors.Is(err, ErrLost) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// send sends one line and returns the device's output up to the next prompt, without the echo and
// the prompt.
func (s *shell) send(ctx context.Context, line string) (string, error) {
	if err := s.oneLine(line); err != nil {
		return "", err
	}
	var out []byte
	from := -1
	err := s.do(ctx, func(ctx context.Context) (err error) {
		if err = s.driver.Channel.WriteAndReturn([]byte(line), false); err != nil {
			return err
		}
		out, err = s.until(ctx, nil, func(out []byte) bool {
			if from < 0 {
				from = echoed(out, line)
			}
			return from >= 0 && stopped(out[from:], []*regexp.Regexp{s.driver.Channel.PromptPattern})
		})
		return err
	})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out[from : len(out)-len(lastLine(out))])), nil
}
