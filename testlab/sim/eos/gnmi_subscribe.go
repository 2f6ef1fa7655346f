package eos

import (
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// usualInterval is the sample interval if the client states none. EOS's own default is not
// documented.
const usualInterval = 10 * time.Second

// Subscribe samples OpenConfig state. Other modes are not supported.
func (g *gnmiServer) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	if err := g.f.Enter(stream.Context()); err != nil {
		return err
	}
	list, err := sim.Subscription(stream)
	if err != nil {
		return err
	}
	r := &gnmi.GetRequest{Prefix: list.GetPrefix(), Encoding: list.GetEncoding()}
	for _, s := range list.GetSubscription() {
		if m := s.GetMode(); list.GetMode() == gnmi.SubscriptionList_STREAM && m != gnmi.SubscriptionMode_SAMPLE {
			return status.Errorf(codes.Unimplemented, "subscriptions that are %s are not part of this simulator", m)
		}
		r.Path = append(r.Path, s.GetPath())
	}
	org, err := origin(r.GetPrefix(), r.GetPath())
	switch {
	case err != nil:
		return err
	case org != "" || g.noModel():
		return status.Errorf(codes.Unimplemented, "origin %q is not supported", org)
	case len(r.Path) > maxPaths:
		return status.Errorf(codes.InvalidArgument, "a subscription to more than %d paths", maxPaths)
	case list.GetMode() == gnmi.SubscriptionList_POLL:
		return status.Error(codes.Unimplemented, "polls are not part of this simulator")
	}
	return sim.Sampled(stream, list, usualInterval, func() (out []*gnmi.Notification, err error) {
		tree := g.f.tree()
		for _, p := range r.Path {
			ns, err := getOpenConfig(r, p, tree)
			if err != nil {
				return nil, err
			}
			out = append(out, ns...)
		}
		return out, nil
	})
}
