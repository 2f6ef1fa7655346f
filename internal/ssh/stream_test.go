package ssh

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"
)

// notes records writes for a reader that reads them afterwards.
type notes struct{ lines chan string }

func (n notes) Write(p []byte) (int, error) {
	select {
	case n.lines <- string(p):
	default:
	}
	return len(p), nil
}

func TestStreamTalks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			_, _ = io.WriteString(ch, "hello from "+cmd+"\n")
			_, _ = io.WriteString(ch.Stderr(), "aside")
			r := bufio.NewReader(ch)
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return 7 // end of input
				}
				_, _ = io.WriteString(ch, strings.ToUpper(line))
			}
		}
		c := dial(t, d.config())
		aside := notes{make(chan string, 8)}
		// The context limits only the start.
		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.Stream(ctx, "shouter", aside)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		r := bufio.NewReader(s)
		if l, err := r.ReadString('\n'); l != "hello from shouter\n" || err != nil {
			t.Errorf("%q %v", l, err)
		}
		for _, word := range []string{"one\n", "two\n"} {
			if n, err := io.WriteString(s, word); n != len(word) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			if l, err := r.ReadString('\n'); l != strings.ToUpper(word) || err != nil {
				t.Errorf("%q %v", l, err)
			}
		}
		short, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if _, err := s.Wait(short); !errors.Is(err, ErrTimeout) {
			t.Errorf("wait for a command that runs: %v", err)
		}
		if err := s.CloseWrite(); err != nil {
			t.Error(err)
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("%q %v", rest, err)
		}
		if status, err := s.Wait(t.Context()); status != 7 || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
		if a := <-aside.lines; a != "aside" {
			t.Errorf("standard error %q", a)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// TestStreamQuick reads the output of a command that ended at once.
func TestStreamQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.exec = func(_ string, ch xssh.Channel) uint32 {
			_, _ = io.WriteString(ch, strings.Repeat("x", 100000))
			return 0
		}
		c := dial(t, d.config())
		for range 20 {
			s, err := c.Stream(t.Context(), "quick", io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(s); len(b) != 100000 || err != nil {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			if status, err := s.Wait(t.Context()); status != 0 || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
			// More streams than the connection has channels: each channel is released.
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestStreamClose ends a command that does not read or end, and one that prints forever.
func TestStreamClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		gone, hold := make(chan bool, 1), make(chan bool)
		defer close(hold)
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			if cmd != "print" {
				<-hold
				return 0
			}
			for {
				if _, err := ch.Write(make([]byte, 1000)); err != nil {
					gone <- true
					return 0
				}
			}
		}
		c := dial(t, d.config())
		for name, use := range map[string]func(*Stream) error{
			"read":  func(s *Stream) error { _, err := s.Read(make([]byte, 1)); return err },
			"write": func(s *Stream) error { _, err := s.Write(make([]byte, 16<<20)); return err },
			"wait":  func(s *Stream) error { _, err := s.Wait(context.Background()); return err },
		} {
			s, err := c.Stream(t.Context(), name, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- use(s) }()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err == nil {
				t.Errorf("%s: no error", name)
			}
			if _, err := s.Write([]byte("x")); !errors.Is(err, ErrLost) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: write after Close: %v", name, err)
			}
		}
		s, err := c.Stream(t.Context(), "print", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-gone
	})
}

func TestStreamDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		c := dial(t, d.config())
		_, err := c.Stream(t.Context(), "x", io.Discard)
		want(t, err, errRefused, d.addr)

		frozen := newDevice(t, deviceOptions{})
		frozen.frozen = true
		c = dial(t, frozen.config())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = c.Stream(ctx, "x", io.Discard)
		want(t, err, ErrTimeout, frozen.addr)

		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = c.Stream(t.Context(), "x", io.Discard)
		want(t, err, ErrLost, frozen.addr)
	})
}

// TestStreamLosesItsConnection expects ErrLost, because it is not known whether the command was
// executed.
func TestStreamLosesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		running := make(chan bool, 1)
		d.exec = func(_ string, ch xssh.Channel) uint32 {
			running <- true
			_, _ = io.Copy(io.Discard, ch)
			return 0
		}
		c := dial(t, d.config())
		s, err := c.Stream(t.Context(), "x", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		<-running
		d.hangUp()
		_, err = s.Wait(t.Context())
		want(t, err, ErrLost, d.addr)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
