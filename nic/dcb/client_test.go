package dcb

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mdlayher/netlink"
	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// If no answer comes, the call ends with its context. A late answer is not taken for the answer to
// the next request.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, d, c := one(t, "mlx5")
		var late netlink.Message
		ctx, cancel := context.WithCancel(t.Context())
		k.answer = func(_, a netlink.Message) []netlink.Message {
			late = a
			cancel()
			return nil
		}
		if _, err := c.Get(ctx, "roce0"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		k.socks[0].push(late)
		k.answer = nil
		d.pfc[1] = 0x10
		if s, err := c.Get(t.Context(), "roce0"); err != nil || s.PFC.Enabled != qos.Priorities(4) {
			t.Errorf("after a late answer: %+v, %v", s, err)
		}
		// A write without an answer may have been carried out; here it was.
		ctx, cancel = context.WithCancel(t.Context())
		k.answer = func(req, a netlink.Message) []netlink.Message {
			if req.Header.Type == rtmSetDCB {
				cancel()
				return nil
			}
			return []netlink.Message{a}
		}
		if changed, err := c.SetPFC(ctx, "roce0", 8, 0); !changed || !errors.Is(err, context.Canceled) || d.flaps != 1 {
			t.Errorf("%v, %v, %d flaps", changed, err, d.flaps)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, c := one(t, "mlx5")
		asked := make(chan struct{})
		k.answer = func(_, _ netlink.Message) []netlink.Message { close(asked); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(ctx, "roce0"); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting for an answer: %v", err)
			}
		})
		<-asked
		// This call waits for its turn.
		short, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		if _, err := c.Get(short, "roce0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for its turn: %v", err)
		}
		cancel()
		wg.Wait()
		if _, err := c.Get(ctx, "roce0"); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestStrangeAnswers(t *testing.T) {
	for what, answer := range map[string]func(netlink.Message) []netlink.Message{
		"empty":         func(a netlink.Message) []netlink.Message { a.Data = nil; return []netlink.Message{a} },
		"other command": func(a netlink.Message) []netlink.Message { a.Data[1] = 26; return []netlink.Message{a} },
		"cut": func(a netlink.Message) []netlink.Message {
			a.Data = a.Data[:len(a.Data)-300]
			return []netlink.Message{a}
		},
		"two": func(a netlink.Message) []netlink.Message { return []netlink.Message{a, a} },
	} {
		k, _, c := one(t, "mlx5")
		k.answer = func(_, a netlink.Message) []netlink.Message { return answer(a) }
		if _, err := c.Get(t.Context(), "roce0"); !errors.Is(err, ErrAnswer) || !strings.HasPrefix(err.Error(), "get roce0: ") {
			t.Errorf("%s: %v", what, err)
		}
		k.answer = nil
		if _, err := c.Get(t.Context(), "roce0"); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
	// An answer to someone else's request is ignored.
	k, _, c := one(t, "mlx5")
	k.answer = func(_, a netlink.Message) []netlink.Message { a.Header.Sequence++; return []netlink.Message{a} }
	if s, err := c.Get(t.Context(), "roce0"); err == nil {
		t.Errorf("%+v", s)
	}
}

// Another process adds the entry between the read and the write.
func TestRace(t *testing.T) {
	k, d, c := one(t, "bnxt")
	k.answer = func(req, a netlink.Message) []netlink.Message {
		if req.Header.Type == rtmGetDCB && len(d.apps) == 0 {
			d.apps = append(d.apps, [4]byte{5, 3, 0, 0})
			ne16(d.apps[0][2:], 26)
		}
		return []netlink.Message{a}
	}
	if _, err := c.SetApps(t.Context(), "roce0", DSCP(26, 3)); err != nil {
		t.Errorf("EEXIST: %v", err)
	}
	k.answer = func(req, a netlink.Message) []netlink.Message {
		if req.Header.Type == rtmGetDCB {
			d.apps = nil
		}
		return []netlink.Message{a}
	}
	if _, err := c.DelApps(t.Context(), "roce0", DSCP(26, 3)); err != nil {
		t.Errorf("ENOENT: %v", err)
	}
	// ice answers 1 if there is nothing to do.
	k, d, c = one(t, "ice")
	d.dcbx = 0x08
	k.answer = func(req, a netlink.Message) []netlink.Message {
		if req.Header.Type == rtmGetDCB {
			d.dcbx = 0x09
		}
		return []netlink.Message{a}
	}
	if _, err := c.OwnDCBX(t.Context(), "roce0", true); err != nil || len(k.sets) != 1 {
		t.Errorf("%v after %d writes", err, len(k.sets))
	}
}

func TestConcurrent(t *testing.T) {
	k, d, c := one(t, "mlx5")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := c.SetPFC(t.Context(), "roce0", qos.Priorities(3), 0); err != nil {
				t.Error(err)
			}
			if _, err := c.MapDSCP(t.Context(), "roce0", only(i, 3)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// Each call reads and writes in one turn: the second call finds nothing left to do.
	if d.flaps != 1 || len(k.sets) != 9 {
		t.Errorf("%d flaps, %d writes", d.flaps, len(k.sets))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "roce0"); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}
