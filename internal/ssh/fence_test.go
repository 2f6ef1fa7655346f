package ssh

import (
	"context"
	"testing"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// lock is one whose end is known before its context ends.
type lock struct {
	context.Context
	over bool
}

func (l *lock) Err() error {
	if l.over {
		return context.Canceled
	}
	return l.Context.Err()
}

// No command is sent when a lock has ended, even where the context has not yet.
func TestNoCommandWithoutTheLock(t *testing.T) {
	ran := make(chan string, 9)
	d := newDevice(t, deviceOptions{})
	d.exec = func(cmd string, _ xssh.Channel) uint32 { ran <- cmd; return 0 }
	c := dial(t, d.config())
	l := &lock{Context: t.Context()}
	ctx, cancel := fence.With(t.Context(), l)
	defer cancel()
	if _, err := c.Run(ctx, "show x", nil); err != nil || len(ran) != 1 {
		t.Errorf("%d commands, %v", len(ran), err)
	}
	l.over = true
	if _, err := c.Run(ctx, "config save", nil); err == nil || len(ran) != 1 {
		t.Errorf("%d commands, %v", len(ran), err)
	}
}
