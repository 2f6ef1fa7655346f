package ssh

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// lock is a lock that ends once its Err has been called a given number of times.
type lock struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int32
}

func (l *lock) Err() error {
	if l.left.Add(-1) < 0 {
		l.end()
		return context.Canceled
	}
	return nil
}

// After a lock has ended, no new command starts and a started command gets no input, even if the
// context has not ended yet.
func TestNoCommandWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan string, 9)
		d := newDevice(t, deviceOptions{})
		d.exec = func(cmd string, ch xssh.Channel) uint32 {
			b, _ := io.ReadAll(ch)
			ran <- cmd + string(b)
			return 0
		}
		c := dial(t, d.config())
		run := func(asked int32) error {
			under, end := context.WithCancel(t.Context())
			l := &lock{Context: under, end: end}
			l.left.Store(9)
			ctx, cancel := fence.With(t.Context(), l)
			defer cancel()
			l.left.Store(asked)
			_, err := c.Run(ctx, "config load ", []byte("rows"))
			return err
		}
		if err := run(9); err != nil {
			t.Fatal(err)
		}
		if got := <-ran; got != "config load rows" {
			t.Errorf("with the lock: %q", got)
		}
		for asked := range int32(2) { // once before the channel is opened, once before the command is sent
			if err := run(asked); err == nil || len(ran) > 0 {
				t.Errorf("asked %d times: %d commands, %v", asked, len(ran), err)
			}
		}
		if err := run(2); err == nil {
			t.Error("a command without its input has ended well")
		}
		if got := <-ran; got != "config load " {
			t.Errorf("lost before the input: %q", got)
		}
	})
}
