package gnmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/metadata"
)

// OnChange keeps a subscription to paths of SONiC's older telemetry interface (see
// [Client.GetTarget]) until ctx ends or the device ends it. It always returns an error; if ctx
// ended, that wraps the error of ctx.
//
// The device first sends the current values, which are not reported. When they are complete, for
// which the device has [Config.Timeout], ready is called once; after that, changed is called for
// each message. Both are called on the goroutine of OnChange and must not block. The changed
// values are not passed on; the caller must read them. A message larger than [Config.MaxMessage]
// ends the subscription with [ErrTooLarge].
//
// TCP keepalive detects a device that disappears silently. gRPC's own keepalive is not used,
// because servers that do not allow it close the connection (google.golang.org/grpc/keepalive
// EnforcementPolicy, five minutes by default).
func (c *Client) OnChange(ctx context.Context, target string, paths []Path, ready, changed func()) error {
	if target == "" || len(paths) == 0 {
		return &RPCError{Op: "subscribe", Addr: c.addr, Msg: "a target and a path are needed", kind: ErrConfig}
	}
	// The stream keeps a goroutine until its context ends.
	stream, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLate := &RPCError{Op: "subscribe", Addr: c.addr, Msg: fmt.Sprintf("the device did not send all values within %s", c.timeout), kind: ErrTimeout, cause: context.DeadlineExceeded}
	limit := time.AfterFunc(c.timeout, func() { cancel(tooLate) })
	defer limit.Stop()
	fail := func(err error) error {
		switch {
		case ctx.Err() == nil && errors.Is(context.Cause(stream), tooLate):
			return tooLate
		case errors.Is(err, io.EOF):
			return &RPCError{Op: "subscribe", Addr: c.addr, Msg: "the device ended the subscription", kind: ErrUnreachable, cause: err}
		}
		return c.rpcError(ctx, "subscribe", err)
	}
	s, err := c.target.Client.Subscribe(c.login(stream))
	if err != nil {
		return fail(err)
	}
	// If Send fails with io.EOF, Recv returns the reason.
	if err := s.Send(onChange(target, paths, c.encoding)); err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	for synced := false; ; {
		resp, err := s.Recv()
		if err != nil {
			return fail(err)
		}
		c.verifier.markAnswered()
		switch resp.GetResponse().(type) {
		case *gpb.SubscribeResponse_SyncResponse:
			if !synced && limit.Stop() {
				synced = true
				ready()
			}
		case *gpb.SubscribeResponse_Update:
			if synced {
				changed()
			}
		}
	}
}

// onChange returns the request for a subscription.
func onChange(target string, paths []Path, enc gpb.Encoding) *gpb.SubscribeRequest {
	list := &gpb.SubscriptionList{Prefix: &gpb.Path{Target: target}, Mode: gpb.SubscriptionList_STREAM, Encoding: enc}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gpb.Subscription{Path: p.wire(), Mode: gpb.SubscriptionMode_ON_CHANGE})
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
}

// login adds the credentials to a call that bypasses the library, whose own Subscribe leaves a
// goroutine behind for each call.
func (c *Client) login(ctx context.Context) context.Context {
	for key, value := range map[string]*string{"username": c.target.Config.Username, "password": c.target.Config.Password} {
		if value != nil && *value != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, key, *value)
		}
	}
	return ctx
}
