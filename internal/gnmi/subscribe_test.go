package gnmi

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
)

func update(text string) *gpb.SubscribeResponse {
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{
		Update: []*gpb.Update{{Path: Path{"PORT"}.wire(), Val: jsonVal(text)}}}}}
}

var synced = &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}

// sends answers a subscription with messages and then ends with the given error; if that is nil,
// it waits for the client.
func sends(seen **gpb.SubscribeRequest, end error, msgs ...*gpb.SubscribeResponse) func(gpb.GNMI_SubscribeServer) error {
	return func(s gpb.GNMI_SubscribeServer) error {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		if seen != nil {
			*seen = r
		}
		for _, m := range msgs {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		if end == nil {
			<-s.Context().Done()
			return status.FromContextError(s.Context().Err()).Err()
		}
		return end
	}
}

// Values from before the subscription are skipped, each later change is notified,
// and the end of the context ends the subscription.
func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		c := dial(t, d.config())
		before := goleak.IgnoreCurrent()
		var seen *gpb.SubscribeRequest
		d.subscribe = sends(&seen, nil, update(`{"a":{}}`), update(`{"b":{}}`), synced, update(`{"a":{}}`), synced, update(`{"b":{}}`))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told []string
		err := c.OnChange(ctx, "CONFIG_DB", []Path{{"PORT"}, {"QUEUE"}}, func() { told = append(told, "ready") }, func() {
			if told = append(told, "changed"); len(told) == 3 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
			t.Errorf("the subscription ends with %v", err)
		}
		if diff := cmp.Diff([]string{"ready", "changed", "changed"}, told); diff != "" {
			t.Error(diff)
		}
		one := func(table string) *gpb.Subscription {
			return &gpb.Subscription{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: table}}}, Mode: gpb.SubscriptionMode_ON_CHANGE}
		}
		want := &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
			Prefix: &gpb.Path{Target: "CONFIG_DB"}, Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_JSON_IETF,
			Subscription: []*gpb.Subscription{one("PORT"), one("QUEUE")}}}}
		if diff := cmp.Diff(want, seen, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		goleak.VerifyNone(t, before)
	})
}

func TestOnChangeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		cfg := d.config()
		cfg.MaxMessage = 1 << 16
		c := dial(t, cfg)
		paths := []Path{{"PORT"}}
		for name, tt := range map[string]struct {
			serve func(gpb.GNMI_SubscribeServer) error
			kind  error
			code  codes.Code
			ready int
		}{
			"refused":           {sends(nil, status.Error(codes.Unimplemented, "method Subscribe not implemented")), nil, codes.Unimplemented, 0},
			"absent table":      {sends(nil, status.Error(codes.NotFound, "Failed to find CONFIG_DB PORT <nil> []")), ErrNotFound, codes.NotFound, 0},
			"login":             {sends(nil, status.Error(codes.PermissionDenied, "no")), ErrAuth, codes.PermissionDenied, 0},
			"ended":             {func(s gpb.GNMI_SubscribeServer) error { return s.Send(synced) }, ErrUnreachable, codes.OK, 1},
			"too large":         {sends(nil, nil, synced, update(`"`+string(bytes.Repeat([]byte("x"), 1<<17))+`"`)), ErrTooLarge, codes.ResourceExhausted, 1},
			"too large at once": {sends(nil, nil, update(`"`+string(bytes.Repeat([]byte("x"), 1<<17))+`"`)), ErrTooLarge, codes.ResourceExhausted, 0},
		} {
			d.subscribe = tt.serve
			ready, changed := 0, 0
			err := c.OnChange(t.Context(), "CONFIG_DB", paths, func() { ready++ }, func() { changed++ })
			if tt.kind != nil {
				want(t, err, tt.kind, d.addr)
			}
			var e *RPCError
			if !errors.As(err, &e) || e.Op != "subscribe" || e.Code != tt.code || ready != tt.ready || changed != 0 {
				t.Errorf("%s: %v, ready %d times, changed %d times", name, err, ready, changed)
			}
		}
		for _, bad := range []struct {
			target string
			paths  []Path
		}{{"", paths}, {"CONFIG_DB", nil}} {
			d.subscribe = func(gpb.GNMI_SubscribeServer) error { t.Error("it was sent"); return nil }
			want(t, c.OnChange(t.Context(), bad.target, bad.paths, func() {}, func() {}), ErrConfig, d.addr)
		}
	})
}

// A device that never completes the initial values is given up. A device that has completed them
// may stay silent for longer than the timeout.
func TestOnChangeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		c := dial(t, d.config())
		c.timeout = 200 * time.Millisecond
		d.subscribe = sends(nil, nil, update(`{}`))
		want(t, c.OnChange(t.Context(), "CONFIG_DB", []Path{{"PORT"}}, func() { t.Error("it is ready") }, func() {}), ErrTimeout, d.addr)

		c.timeout = 10 * time.Second
		d.subscribe = sends(nil, nil, synced)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := c.OnChange(ctx, "CONFIG_DB", []Path{{"PORT"}}, func() { cancel() }, func() {})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the subscription ends with %v", err)
		}
	})
}

// A subscription sends the credentials, as every call does, and reports a lost device.
func TestOnChangeLoginAndLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		cfg := d.config()
		c := dial(t, cfg)
		d.subscribe = sends(nil, nil, synced)
		ctx, cancel := context.WithCancel(t.Context())
		err := c.OnChange(ctx, "CONFIG_DB", []Path{{"PORT"}}, cancel, func() {})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		d.mu.Lock()
		last := d.logins[len(d.logins)-1]
		d.mu.Unlock()
		if len(d.logins) != 2 || len(last.Get("password")) != 1 {
			t.Errorf("%d logins, the last %v", len(d.logins), last)
		}
		*c.target.Config.Password = "wrong"
		want(t, c.OnChange(t.Context(), "CONFIG_DB", []Path{{"PORT"}}, func() {}, func() {}), ErrAuth, d.addr)
	})
}
