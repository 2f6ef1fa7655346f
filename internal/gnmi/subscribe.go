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

// OnChange keeps a subscription to paths of SONiC's older telemetry interface
// (see [Client.GetTarget]) until ctx ends or the device ends it, and always
// returns an error that says which: the context's is wrapped in the first case.
//
// The device first sends what there is, of which nothing is said; ready is called
// once when that is complete, for which the device has [Config.Timeout], and
// changed for each message of a change after it. Both are called on the
// goroutine of OnChange and must not block. The changed values are not handed on:
// read them. A message beyond [Config.MaxMessage] ends the subscription with
// [ErrTooLarge].
//
// A device that is gone silently is noticed by the keepalive of TCP. gRPC's
// own is not used: a server that allows none hangs up on it
// (google.golang.org/grpc/keepalive EnforcementPolicy, five minutes by default).
func (c *Client) OnChange(ctx context.Context, target string, paths []Path, ready, changed func()) error {
	if target == "" || len(paths) == 0 {
		return &RPCError{Op: "subscribe", Addr: c.addr, Msg: "a target and a path are needed", kind: ErrConfig}
	}
	// The stream holds a goroutine until its context ends.
	stream, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLate := &RPCError{Op: "subscribe", Addr: c.addr, Msg: fmt.Sprintf("not all was sent in %s", c.timeout), kind: ErrTimeout, cause: context.DeadlineExceeded}
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
	// A send that fails with io.EOF says why when it is received from.
	if err := s.Send(onChange(target, paths, c.encoding)); err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	for synced := false; ; {
		resp, err := s.Recv()
		if err != nil {
			return fail(err)
		}
		c.verifier.worked()
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

// onChange is the request for a subscription.
func onChange(target string, paths []Path, enc gpb.Encoding) *gpb.SubscribeRequest {
	list := &gpb.SubscriptionList{Prefix: &gpb.Path{Target: target}, Mode: gpb.SubscriptionList_STREAM, Encoding: enc}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gpb.Subscription{Path: p.wire(), Mode: gpb.SubscriptionMode_ON_CHANGE})
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
}

// login adds the account to a call that the library does not make: its own
// Subscribe leaves a goroutine behind for each call.
func (c *Client) login(ctx context.Context) context.Context {
	for key, value := range map[string]*string{"username": c.target.Config.Username, "password": c.target.Config.Password} {
		if value != nil && *value != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, key, *value)
		}
	}
	return ctx
}
