package sonic

import (
	"errors"
	"io"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// subscription is an active subscription. The switch's mu guards it.
type subscription struct {
	paths   map[string]*gnmi.Path // by table
	changes []rowChange
	wake    chan struct{} // has a buffer of one; notified of each change
}

type rowChange struct {
	table, key string
	doc        map[string]any
}

// Subscriptions returns the number of active subscriptions, that is, of clients that stay
// connected.
func (s *Switch) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)
}

// tell passes a changed row to the subscribers of its table; a removed row is empty. The caller
// holds mu.
func (s *Switch) tell(table, key string, r row) {
	for sub := range s.subs {
		if sub.paths[table] == nil {
			continue
		}
		sub.changes = append(sub.changes, rowChange{table, key, r.doc()})
		select {
		case sub.wake <- struct{}{}:
		default:
		}
	}
}

// Subscribe streams changes of CONFIG_DB tables in the older addressing: first each table as it is,
// then a sync response, then each row that changes. It rejects the same requests as sonic-gnmi
// gnmi_server/client_subscribe.go and sonic_data_client/db_client.go, in the same way. Of other
// databases it supports only COUNTERS_DB, and of CONFIG_DB neither rows, fields nor samples.
func (g *gnmiServer) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	if err := g.enter(stream.Context()); err != nil {
		return err
	}
	if g.s.faults.on(&g.s.faults.noSubscribe) {
		return status.Error(codes.Unimplemented, "method Subscribe not implemented")
	}
	first, err := stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return status.Error(codes.Aborted, "stream EOF received before init")
	case err != nil:
		return err
	}
	list := first.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "first message must be SubscriptionList")
	}
	if list.GetPrefix().GetTarget() == countersDB {
		return g.s.sample(stream, list)
	}
	sub, err := g.s.subscribe(list)
	if err != nil {
		return err
	}
	defer g.s.unsubscribe(sub)
	gone := make(chan struct{})
	g.s.wg.Go(func() { // ends with the stream
		defer close(gone)
		_, _ = stream.Recv() // the client sends nothing more; an error means that it is gone
	})
	for {
		for _, r := range g.s.news(sub, list.GetPrefix()) {
			if err := stream.Send(r); err != nil {
				return err
			}
		}
		select {
		case <-sub.wake:
		case <-gone:
			return status.Error(codes.InvalidArgument, "queue: disposed")
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// countersDB is the database whose counters are sampled.
const countersDB = "COUNTERS_DB"

// leastInterval is the minimum interval between two samples (sonic-gnmi
// sonic_data_client/db_client.go MinSampleInterval).
const leastInterval = time.Second

// sample serves paths of COUNTERS_DB at intervals. A path that does not exist ends the subscription
// from 202605 on; before, nothing is sent for it.
func (s *Switch) sample(stream gnmi.GNMI_SubscribeServer, list *gnmi.SubscriptionList) error {
	if m := list.GetMode(); m != gnmi.SubscriptionList_STREAM {
		return status.Errorf(codes.Unimplemented, "the simulator has no subscriptions of %s that are %s", countersDB, m)
	}
	if len(list.GetSubscription()) == 0 {
		return status.Error(codes.NotFound, "Invalid subscription path: No Subscription")
	}
	r := &gnmi.GetRequest{Prefix: list.GetPrefix(), Encoding: list.GetEncoding()}
	for _, one := range list.GetSubscription() {
		if m := one.GetMode(); m != gnmi.SubscriptionMode_SAMPLE {
			return status.Errorf(codes.InvalidArgument, "unsupported subscription mode, %s", m)
		}
		if d := time.Duration(one.GetSampleInterval()); d < leastInterval {
			return status.Errorf(codes.InvalidArgument, "invalid interval: %s. It cannot be less than %s", d, leastInterval)
		}
		r.Path = append(r.Path, one.GetPath())
	}
	return sim.Sampled(stream, list, leastInterval, func() (out []*gnmi.Notification, err error) {
		resp, err := s.legacyGet(r)
		for _, n := range resp.GetNotification() {
			if len(n.GetUpdate()) > 0 {
				out = append(out, n)
			}
		}
		return out, err
	})
}

// subscribe adds a subscription.
func (s *Switch) subscribe(list *gnmi.SubscriptionList) (*subscription, error) {
	target := list.GetPrefix().GetTarget()
	switch {
	case list.GetPrefix() == nil:
		return nil, status.Error(codes.Unimplemented, "No target specified in prefix")
	case target == "":
		return nil, status.Error(codes.Unimplemented, "Empty target data not supported")
	case len(list.GetSubscription()) == 0:
		return nil, status.Error(codes.NotFound, "Invalid subscription path: No Subscription")
	case target != "CONFIG_DB":
		return nil, status.Errorf(codes.Unimplemented, "the simulator has no subscriptions to %s", target)
	case list.GetMode() != gnmi.SubscriptionList_STREAM:
		return nil, status.Errorf(codes.Unimplemented, "SubscriptionList_%s is not implemented for SONiC gRPC/gNMI yet", list.GetMode())
	}
	sub := &subscription{paths: map[string]*gnmi.Path{}, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list.GetSubscription() {
		if m := one.GetMode(); m != gnmi.SubscriptionMode_ON_CHANGE {
			return nil, status.Errorf(codes.InvalidArgument, "unsupported subscription mode, %s", m)
		}
		e := readNames(elems(list.GetPrefix(), one.GetPath()))
		if len(e) != 1 {
			return nil, status.Errorf(codes.Unimplemented, "the simulator has subscriptions to tables only, not to %v", e)
		}
		if len(s.cfg[e[0]]) == 0 {
			return nil, status.Errorf(codes.NotFound, "Failed to find %s %s <nil> []", target, e[0])
		}
		sub.paths[e[0]] = one.GetPath()
	}
	for _, table := range sortedKeys(sub.paths) {
		sub.changes = append(sub.changes, rowChange{table: table, doc: tableDoc(s.cfg[table])})
	}
	sub.changes = append(sub.changes, rowChange{})
	if s.subs == nil {
		s.subs = map[*subscription]bool{}
	}
	s.subs[sub] = true
	return sub, nil
}

func (s *Switch) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subs, sub)
}

// news returns the changes that were not sent yet. A change without a table marks the end of the
// initial state; a change without a key is a whole table.
func (s *Switch) news(sub *subscription, prefix *gnmi.Path) (out []*gnmi.SubscribeResponse) {
	s.mu.Lock()
	changes := sub.changes
	sub.changes = nil
	s.mu.Unlock()
	for _, c := range changes {
		if c.table == "" {
			out = append(out, &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}})
			continue
		}
		doc := c.doc
		if c.key != "" {
			doc = map[string]any{c.key: c.doc}
		}
		out = append(out, &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: &gnmi.Notification{
			Timestamp: time.Now().UnixNano(), Prefix: prefix,
			Update: []*gnmi.Update{{Path: sub.paths[c.table], Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: encode(doc)}}}},
		}}})
	}
	return out
}
