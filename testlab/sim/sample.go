package sim

import (
	"errors"
	"io"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Sampled serves a sampling subscription: it sends the current values and the sync response. If
// the list is a stream, it then sends the values again at the shortest requested interval, until
// the client is gone. An interval of zero means usual, the system's default.
func Sampled(stream gnmi.GNMI_SubscribeServer, list *gnmi.SubscriptionList, usual time.Duration, read func() ([]*gnmi.Notification, error)) error {
	send := func() error {
		ns, err := read()
		if err != nil {
			return err
		}
		for _, n := range ns {
			if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := send(); err != nil {
		return err
	}
	if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil || list.GetMode() == gnmi.SubscriptionList_ONCE {
		return err
	}
	each := time.Duration(0)
	for _, s := range list.GetSubscription() {
		d := time.Duration(s.GetSampleInterval())
		if d == 0 {
			d = usual
		}
		if each == 0 || d < each {
			each = d
		}
	}
	ticks := time.NewTicker(each)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if err := send(); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// Subscription receives the list of subscriptions from a client.
func Subscription(stream gnmi.GNMI_SubscribeServer) (*gnmi.SubscriptionList, error) {
	first, err := stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return nil, status.Error(codes.Aborted, "stream EOF received before init")
	case err != nil:
		return nil, err
	case first.GetSubscribe() == nil:
		return nil, status.Error(codes.InvalidArgument, "first message must be SubscriptionList")
	case len(first.GetSubscribe().GetSubscription()) == 0:
		return nil, status.Error(codes.InvalidArgument, "a subscription without a path")
	}
	return first.GetSubscribe(), nil
}
