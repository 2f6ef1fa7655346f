package sonic

import (
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func subscriptionTo(mode gnmi.SubscriptionList_Mode, target string, tables ...string) *gnmi.SubscriptionList {
	l := &gnmi.SubscriptionList{Prefix: &gnmi.Path{Target: target}, Mode: mode, Encoding: gnmi.Encoding_JSON_IETF}
	for _, table := range tables {
		l.Subscription = append(l.Subscription, &gnmi.Subscription{Path: gpath("", table), Mode: gnmi.SubscriptionMode_ON_CHANGE})
	}
	return l
}

func (c *client) subscribe(l *gnmi.SubscriptionList) gnmi.GNMI_SubscribeClient {
	c.t.Helper()
	st, err := c.Subscribe(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := st.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: l}}); err != nil && !errors.Is(err, io.EOF) { // already rejected
		c.t.Fatal(err)
	}
	return st
}

// The tables come first, then the sync response, then rows as they change; rows of other tables are
// not sent.
func TestSubscribe(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	st := c.subscribe(subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB", "PORT", "DEVICE_METADATA"))
	rows := func() (table string, doc map[string]map[string]any) {
		t.Helper()
		r, err := st.Recv()
		if err != nil {
			t.Fatal(err)
		}
		u := r.GetUpdate().GetUpdate()
		if len(u) == 0 {
			return "", nil
		}
		if err := json.Unmarshal(u[0].GetVal().GetJsonIetfVal(), &doc); err != nil {
			t.Fatal(err)
		}
		if got := r.GetUpdate().GetPrefix().GetTarget(); got != "CONFIG_DB" {
			t.Errorf("the target is %q", got)
		}
		return u[0].GetPath().GetElem()[0].GetName(), doc
	}
	if table, doc := rows(); table != "DEVICE_METADATA" || doc["localhost"] == nil {
		t.Errorf("first %s %v", table, doc)
	}
	if table, doc := rows(); table != "PORT" || len(doc) != 4 {
		t.Errorf("then %s with %d rows", table, len(doc))
	}
	if table, _ := rows(); table != "" {
		t.Errorf("%s before the mark that all was sent", table)
	}
	if n := s.Subscriptions(); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	s.SetRow("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "x"})
	s.SetDBRow("CONFIG_DB", "PORT", "Ethernet8", map[string]string{"mtu": "1500"})
	s.SetDBRow("CONFIG_DB", "PORT", "Ethernet8", map[string]string{"mtu": "1500"}) // no change
	s.DelRow("PORT", "Ethernet16")
	if table, doc := rows(); table != "PORT" || len(doc) != 1 || doc["Ethernet8"]["mtu"] != "1500" {
		t.Errorf("the change reads %s %v", table, doc)
	}
	if table, doc := rows(); table != "PORT" || len(doc) != 1 || doc["Ethernet16"] == nil || len(doc["Ethernet16"]) != 0 {
		t.Errorf("the removal reads %s %v", table, doc)
	}
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err == nil {
		t.Error("a subscription goes on after its client has left")
	}
	if n := s.Subscriptions(); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// sampled returns a subscription to one path of COUNTERS_DB.
func sampled(each time.Duration, path ...string) *gnmi.SubscriptionList {
	return &gnmi.SubscriptionList{Prefix: &gnmi.Path{Target: "COUNTERS_DB"}, Encoding: gnmi.Encoding_JSON_IETF,
		Subscription: []*gnmi.Subscription{{Path: gpath("", path...), Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: uint64(each)}}}
}

func TestSubscribeRefused(t *testing.T) {
	s := start(t, Options{Release: "202605"})
	c := dial(t, s)
	sample := subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB", "PORT")
	sample.Subscription[0].Mode = gnmi.SubscriptionMode_TARGET_DEFINED
	for name, tt := range map[string]struct {
		list *gnmi.SubscriptionList
		code codes.Code
	}{
		"no target":               {subscriptionTo(gnmi.SubscriptionList_STREAM, "", "PORT"), codes.Unimplemented},
		"once":                    {subscriptionTo(gnmi.SubscriptionList_ONCE, "CONFIG_DB", "PORT"), codes.Unimplemented},
		"poll":                    {subscriptionTo(gnmi.SubscriptionList_POLL, "CONFIG_DB", "PORT"), codes.Unimplemented},
		"target defined":          {sample, codes.InvalidArgument},
		"nothing":                 {subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB"), codes.NotFound},
		"counters once":           {subscriptionTo(gnmi.SubscriptionList_ONCE, "COUNTERS_DB", "COUNTERS"), codes.Unimplemented},
		"counters as they change": {subscriptionTo(gnmi.SubscriptionList_STREAM, "COUNTERS_DB", "COUNTERS"), codes.InvalidArgument},
		"samples too often":       {sampled(time.Millisecond, "COUNTERS", "Ethernet0"), codes.InvalidArgument},
		"an absent port":          {sampled(time.Second, "COUNTERS", "Ethernet999"), codes.NotFound},
		"absent table":            {subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB", "PORT", "NO_SUCH_TABLE"), codes.NotFound},
	} {
		if _, err := c.subscribe(tt.list).Recv(); status.Code(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Faults().NoSubscribe(true)
	if _, err := c.subscribe(subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB", "PORT")).Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("without Subscribe: %v", err)
	}
	s.Faults().NoSubscribe(false)
	locked := start(t, Options{Username: "admin", Password: "secret"})
	if _, err := dial(t, locked).subscribe(subscriptionTo(gnmi.SubscriptionList_STREAM, "CONFIG_DB", "PORT")).Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a login: %v", err)
	}
}
