package nxos

import (
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Limits and default of sample intervals (Cisco Nexus 9000 Programmability Guide 10.4(x), gNMI).
const (
	usualInterval = 10 * time.Second
	leastInterval = time.Second
	mostInterval  = 604800 * time.Second
)

// Subscribe sends samples of paths in the native model; it does not implement other modes.
func (g *gnmiServer) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	if err := g.f.Enter(stream.Context()); err != nil {
		return err
	}
	list, err := sim.Subscription(stream)
	if err != nil {
		return err
	}
	switch {
	case g.f.faults.IsNoModel():
		return status.Error(codes.InvalidArgument, "the model is not supported")
	case list.GetEncoding() != gnmi.Encoding_JSON:
		return status.Errorf(codes.Unimplemented, "encoding %s is not supported by this simulator", list.GetEncoding())
	case list.GetMode() == gnmi.SubscriptionList_POLL:
		return status.Error(codes.Unimplemented, "polls are not part of this simulator")
	case len(list.GetSubscription()) > maxPaths:
		return status.Errorf(codes.InvalidArgument, "a subscription to more than %d paths", maxPaths)
	}
	for _, s := range list.GetSubscription() {
		if m := s.GetMode(); list.GetMode() == gnmi.SubscriptionList_STREAM && m != gnmi.SubscriptionMode_SAMPLE {
			return status.Errorf(codes.Unimplemented, "subscriptions that are %s are not part of this simulator", m)
		}
		if d := time.Duration(s.GetSampleInterval()); d != 0 && (d < leastInterval || d > mostInterval) {
			return status.Errorf(codes.InvalidArgument, "a sample interval of %s is not between %s and %s", d, leastInterval, mostInterval)
		}
	}
	return sim.Sampled(stream, list, usualInterval, func() (out []*gnmi.Notification, err error) {
		root := map[string]any{"System": g.f.system()}
		for _, s := range list.GetSubscription() {
			v, err := readNative(root, list.GetPrefix(), s.GetPath())
			if err != nil {
				return nil, err
			}
			out = append(out, &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: list.GetPrefix(), Update: []*gnmi.Update{{Path: s.GetPath(), Val: v}}})
		}
		return out, nil
	})
}
