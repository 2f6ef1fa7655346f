package gnmi

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
)

func parsed(t testing.TB, text string) *gpb.Path {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGetTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var seen *gpb.GetRequest
		var answer *gpb.GetResponse
		d.get = func(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
			seen = r
			if answer == nil {
				return nil, status.Error(codes.NotFound, "no such path")
			}
			return answer, nil
		}
		c := dial(t, d.config())
		const ask = "/interfaces/interface[name=*]/state"

		// One notification has leaves under a prefix, another a subtree.
		answer = &gpb.GetResponse{Notification: []*gpb.Notification{
			{
				Prefix: &gpb.Path{Origin: "openconfig", Elem: parsed(t, "/interfaces/interface[name=Ethernet1/1]").Elem},
				Update: []*gpb.Update{
					{Path: Path{"state", "mtu"}.wire(), Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 9214}}},
					{Path: Path{"state", "name"}.wire(), Val: &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "Ethernet1"}}},
				},
			},
			{Update: []*gpb.Update{{Path: parsed(t, "/interfaces/interface[name=Ethernet2/1]/state"), Val: jsonVal(`{"mtu":1500}`)}}},
			{},
		}}
		got, err := c.GetTree(t.Context(), "openconfig", DataState, ask)
		if err != nil {
			t.Fatal(err)
		}
		wanted := []Value{
			{parsed(t, "/interfaces/interface[name=Ethernet1/1]/state/mtu"), []byte("9214")},
			{parsed(t, "/interfaces/interface[name=Ethernet1/1]/state/name"), []byte(`"Ethernet1"`)},
			{parsed(t, "/interfaces/interface[name=Ethernet2/1]/state"), []byte(`{"mtu":1500}`)},
		}
		if diff := cmp.Diff(wanted, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if seen.Type != gpb.GetRequest_STATE || seen.Prefix.Origin != "openconfig" || seen.Encoding != gpb.Encoding_JSON_IETF || seen.Path[0].Elem[1].Key["name"] != "*" {
			t.Errorf("request %v", seen)
		}

		answer = &gpb.GetResponse{}
		if got, err := c.GetTree(t.Context(), "", DataConfig, ask); got != nil || err != nil || seen.Type != gpb.GetRequest_CONFIG {
			t.Errorf("empty answer: %v, %v, type %v", got, err, seen.Type)
		}
		answer = nil
		_, err = c.GetTree(t.Context(), "", DataAll, ask)
		want(t, err, ErrNotFound, d.addr)
		seen = nil
		if got, err := c.GetTree(t.Context(), "", DataAll); got != nil || err != nil || seen != nil {
			t.Errorf("no paths: %v, %v, sent %v", got, err, seen)
		}
		_, err = c.GetTree(t.Context(), "", DataType(9), ask)
		if want(t, err, ErrConfig, d.addr); seen != nil {
			t.Error("a request of no type was sent")
		}
		_, err = c.GetTree(t.Context(), "", DataAll, "/interfaces/interface[name")
		if want(t, err, ErrConfig, d.addr); seen != nil {
			t.Error("a request for no path was sent")
		}
	})
}

func TestGetTreeBounds(t *testing.T) {
	one := func(u *gpb.Update, prefix *gpb.Path) *gpb.GetResponse {
		return &gpb.GetResponse{Notification: []*gpb.Notification{{Prefix: prefix, Update: []*gpb.Update{u}}}}
	}
	deep := func(n int) *gpb.Path {
		p := &gpb.Path{}
		for range n {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: "a"})
		}
		return p
	}
	keys := func(n int) *gpb.Path {
		e := &gpb.PathElem{Name: "a", Key: map[string]string{}}
		for i := range n {
			e.Key[fmt.Sprint(i)] = "v"
		}
		return &gpb.Path{Elem: []*gpb.PathElem{e}}
	}
	many := func(n int) *gpb.GetResponse {
		us := make([]*gpb.Update, n)
		for i := range us {
			us[i] = &gpb.Update{Val: jsonVal("1")}
		}
		return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: us[:n/2]}, {Update: us[n/2:]}}}
	}
	for _, tt := range []struct {
		name   string
		answer *gpb.GetResponse
		values int // number of values; -1 for ErrAnswer
	}{
		{"deepest", one(&gpb.Update{Path: deep(maxElems / 2), Val: jsonVal("1")}, deep(maxElems/2)), 1},
		{"too deep", one(&gpb.Update{Path: deep(maxElems / 2), Val: jsonVal("1")}, deep(maxElems/2+1)), -1},
		{"most keys", one(&gpb.Update{Path: keys(maxKeys), Val: jsonVal("1")}, nil), 1},
		{"too many keys", one(&gpb.Update{Path: keys(maxKeys + 1), Val: jsonVal("1")}, nil), -1},
		{"most values", many(maxValues), maxValues},
		{"too many values", many(maxValues + 1), -1},
		{"no value", one(&gpb.Update{Path: deep(1)}, nil), -1},
		{"value of no type", one(&gpb.Update{Path: deep(1), Val: &gpb.TypedValue{}}, nil), 0},
		{"empty value", one(&gpb.Update{Path: deep(1), Val: jsonVal("")}, nil), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{})
				d.get = func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error) { return tt.answer, nil }
				got, err := dial(t, d.config()).GetTree(t.Context(), "", DataAll, "/a")
				if tt.values < 0 {
					want(t, err, ErrAnswer, d.addr)
				} else if err != nil || len(got) != tt.values {
					t.Errorf("%d values, %v", len(got), err)
				}
			})
		})
	}
}
