package gnmi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

func asciiVal(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: s}}
}

func TestSetCLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var seen *gpb.SetRequest
		d.set = func(ctx context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
			seen = r
			if dl, ok := ctx.Deadline(); !ok || time.Until(dl) < time.Minute {
				return nil, status.Error(codes.Internal, "the deadline is not that of a Set")
			}
			if strings.Contains(r.Update[0].Val.GetAsciiVal(), "mtv") {
				return nil, status.Error(codes.InvalidArgument, "% Invalid input (at token 0: 'mtv')")
			}
			return &gpb.SetResponse{}, nil
		}
		cfg := d.config()
		cfg.SetTimeout = 10 * time.Minute
		c := dial(t, cfg)
		const lines = "interface Ethernet1/1\n   mtu 9214\n!! caf\u00e9\tx\n"
		if err := c.SetCLI(t.Context(), lines); err != nil {
			t.Fatal(err)
		}
		wanted := &gpb.SetRequest{Update: []*gpb.Update{{Path: &gpb.Path{Origin: "cli"}, Val: asciiVal(lines)}}}
		if diff := cmp.Diff(wanted, seen, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if s := (SetRequest{CLI: lines}).Size(); s != proto.Size(seen) {
			t.Errorf("Size = %d, on the wire %d", s, proto.Size(seen))
		}

		err := c.SetCLI(t.Context(), "mtv 9214\n")
		var e *RPCError
		if !errors.As(err, &e) || e.Code != codes.InvalidArgument || !strings.Contains(err.Error(), "% Invalid input (at token 0: 'mtv')") {
			t.Errorf("refused line: %v", err)
		}

		seen = nil
		for name, bad := range map[string]SetRequest{
			"nothing":       {CLI: " \n"},
			"with a delete": {CLI: "x\n", Deletes: []Path{{"a"}}},
			"with a value":  {CLI: "x\n", Updates: []Update{{Path: Path{"a"}, JSON: []byte(`1`)}}},
			"with origin":   {CLI: "x\n", Origin: "openconfig"},
			"interrupt":     {CLI: "x\x03\n"},
			"return":        {CLI: "x\r\n"},
			"not UTF-8":     {CLI: "x\xff\n"},
		} {
			if err := c.Set(t.Context(), bad); !errors.Is(err, ErrConfig) || seen != nil {
				t.Errorf("%s: %v, sent %v", name, err, seen)
			}
		}
	})
}

func TestGetCLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var seen *gpb.GetRequest
		d.get = func(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
			seen = r
			v := map[string]*gpb.TypedValue{
				"show running-config": asciiVal("hostname leaf1\n"),
				"show nothing":        asciiVal(""),
				"show string":         {Value: &gpb.TypedValue_StringVal{StringVal: "text"}},
				"show version":        {Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(`{"version":"4.32.1F"}`)}},
				"show ietf":           jsonVal(`{}`),
				"show empty":          jsonVal(""),
				"show number":         {Value: &gpb.TypedValue_UintVal{UintVal: 1}},
			}[r.Path[0].Elem[0].Name]
			u := []*gpb.Update{{Path: r.Path[0], Val: v}}
			switch r.Path[0].Elem[0].Name {
			case "show two":
				u = append(u, u...)
			case "show none":
				u = nil
			}
			return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: u}}}, nil
		}
		c := dial(t, d.config())
		for _, tt := range []struct {
			command string
			asJSON  bool
			want    string
			bad     bool
		}{
			{"show running-config", false, "hostname leaf1\n", false},
			{"show nothing", false, "", false},
			{"show string", false, "text", false},
			{"show version", true, `{"version":"4.32.1F"}`, false},
			{"show ietf", true, `{}`, false},
			{"show running-config", true, "", true},
			{"show string", true, "", true},
			{"show version", false, "", true},
			{"show ietf", false, "", true},
			{"show empty", true, "", true},
			{"show number", true, "", true},
			{"show two", false, "", true},
			{"show none", false, "", true},
		} {
			got, err := c.GetCLI(t.Context(), tt.command, tt.asJSON)
			if tt.bad {
				want(t, err, ErrAnswer, d.addr)
				continue
			}
			if err != nil || string(got) != tt.want || got == nil {
				t.Errorf("%s, JSON %v: %q, %v", tt.command, tt.asJSON, got, err)
			}
			enc := gpb.Encoding_ASCII
			if tt.asJSON {
				enc = gpb.Encoding_JSON
			}
			wanted := &gpb.GetRequest{Encoding: enc, Path: []*gpb.Path{{Origin: "cli", Elem: []*gpb.PathElem{{Name: tt.command}}}}}
			if diff := cmp.Diff(wanted, seen, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		}
		seen = nil
		for _, bad := range []string{"", " ", "show version\nreload", "show \x1b", "show \xff"} {
			_, err := c.GetCLI(t.Context(), bad, false)
			if want(t, err, ErrConfig, d.addr); seen != nil {
				t.Errorf("%q was sent", bad)
			}
		}
	})
}
