package gnmi

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// lock is a lock whose Err reports the end before its context ends.
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

// Nothing is sent after a lock has ended, even if the context has not ended yet.
func TestNothingIsSentWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		d := newDevice(t, deviceOptions{})
		d.get = func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error) {
			sent.Add(1)
			return &gpb.GetResponse{}, nil
		}
		d.set = func(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error) {
			sent.Add(1)
			return &gpb.SetResponse{}, nil
		}
		d.subscribe = func(s gpb.GNMI_SubscribeServer) error { sent.Add(1); return s.Send(synced) }
		c := dial(t, d.config())
		_, cfg := overHTTPS(t, func(http.ResponseWriter, *http.Request) { sent.Add(1) })
		h, err := NewHTTP(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l := &lock{Context: t.Context()}
		ctx, cancel := fence.With(t.Context(), l)
		defer cancel()
		for name, call := range map[string]func() error{
			"get": func() error { _, err := c.Get(ctx, "", Path{"PORT"}); return err },
			"set": func() error { return c.Set(ctx, SetRequest{Deletes: []Path{{"PORT"}}}) },
			"subscribe": func() error {
				return c.OnChange(ctx, "CONFIG_DB", []Path{{"PORT"}}, func() {}, func() {})
			},
			"https": func() error { _, _, err := h.Do(ctx, "GET", "/", nil); return err },
		} {
			l.over = false
			sent.Store(0)
			if _ = call(); sent.Load() != 1 {
				t.Errorf("%s: %d requests with the lock", name, sent.Load())
			}
			l.over = true
			sent.Store(0)
			if err := call(); err == nil || sent.Load() > 0 {
				t.Errorf("%s: %d requests without the lock, %v", name, sent.Load(), err)
			}
		}
	})
}
