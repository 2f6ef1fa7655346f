package eos

import (
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// A subscription samples the state: all values, the sync response, and all values again. Other
// modes and origins are rejected.
func TestSubscribe(t *testing.T) {
	r := dialGNMI(t, start(t, Options{}), "admin")
	state := &gnmi.Path{Elem: []*gnmi.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "Ethernet1/1"}}, {Name: "state"}}}
	ask := func(p *gnmi.Path, mode gnmi.SubscriptionMode) gnmi.GNMI_SubscribeClient {
		t.Helper()
		s, err := r.Subscribe(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		list := &gnmi.SubscriptionList{Encoding: gnmi.Encoding_JSON, Subscription: []*gnmi.Subscription{{Path: p, Mode: mode, SampleInterval: uint64(time.Millisecond)}}}
		if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := ask(state, gnmi.SubscriptionMode_SAMPLE)
	for i, sync := range []bool{false, true, false, false} {
		got, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got.GetSyncResponse() != sync || !sync && len(got.GetUpdate().GetUpdate()) != 1 {
			t.Errorf("message %d is %v", i, got)
		}
	}
	_, err := ask(state, gnmi.SubscriptionMode_ON_CHANGE).Recv()
	wantCode(t, "changes", err, codes.Unimplemented, "ON_CHANGE")
	_, err = ask(&gnmi.Path{Origin: "cli", Elem: []*gnmi.PathElem{{Name: "show version"}}}, gnmi.SubscriptionMode_SAMPLE).Recv()
	wantCode(t, "a command", err, codes.Unimplemented, "cli")
}
