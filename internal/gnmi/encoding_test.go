package gnmi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// oldJSON returns a value in the encoding JSON.
func oldJSON(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(s)}}
}

// unknownType returns a value of a type that the protocol does not define.
func unknownType() *gpb.TypedValue {
	v := &gpb.TypedValue{}
	v.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 100, protowire.VarintType), 7))
	return v
}

// Requests to a device use an encoding that the device lists.
func TestEncoding(t *testing.T) {
	const ietf, plain, proto, ascii = gpb.Encoding_JSON_IETF, gpb.Encoding_JSON, gpb.Encoding_PROTO, gpb.Encoding_ASCII
	for _, tt := range []struct {
		named []gpb.Encoding
		want  gpb.Encoding
	}{
		{nil, ietf},
		{[]gpb.Encoding{plain, ietf, proto}, ietf},
		{[]gpb.Encoding{ietf}, ietf},
		{[]gpb.Encoding{plain, proto}, plain}, // NX-OS
		{[]gpb.Encoding{proto, ascii}, plain}, // the specification requires JSON of every server
	} {
		t.Run(fmt.Sprint(tt.named), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{})
				d.encodings = tt.named
				d.get = func(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
					if r.Encoding != tt.want {
						return nil, status.Errorf(codes.Unimplemented, "get in %v", r.Encoding)
					}
					return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: []*gpb.Update{{Path: r.Path[0], Val: typedJSON(tt.want, []byte(`{"a":1}`))}}}}}, nil
				}
				d.set = func(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
					for _, u := range append(r.Replace, r.Update...) {
						text := u.Val.GetJsonVal()
						if tt.want == ietf {
							text = u.Val.GetJsonIetfVal()
						}
						if string(text) != `"v"` {
							return nil, status.Errorf(codes.InvalidArgument, "set of %v", u.Val)
						}
					}
					return &gpb.SetResponse{}, nil
				}
				c := dial(t, d.config())
				if v, err := c.GetOne(t.Context(), "", Path{"a"}); err != nil || string(v) != `{"a":1}` {
					t.Errorf("Get: %s %v", v, err)
				}
				if vs, err := c.GetTree(t.Context(), "", DataAll, "/a"); err != nil || len(vs) != 1 {
					t.Errorf("GetTree: %v %v", vs, err)
				}
				u := []Update{{Path: Path{"a"}, JSON: []byte(`"v"`)}}
				if err := c.Set(t.Context(), SetRequest{Replaces: u, Updates: u}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// All readers treat an object that NX-OS does not have as absent.
func TestAbsentAsEmptyValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		d.encodings = []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_PROTO}
		d.get = func(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
			resp := &gpb.GetResponse{}
			for _, p := range r.Path {
				v := &gpb.TypedValue{}
				if p.Elem[0].Name == "here" {
					v = oldJSON("1")
				}
				resp.Notification = append(resp.Notification, &gpb.Notification{Update: []*gpb.Update{{Path: p, Val: v}}})
			}
			return resp, nil
		}
		c := dial(t, d.config())
		if _, err := c.GetOne(t.Context(), "", Path{"gone"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("GetOne: %v", err)
		}
		if vs, err := c.GetPresent(t.Context(), "", Path{"gone"}, Path{"here"}); err != nil || vs[0] != nil || string(vs[1]) != "1" {
			t.Errorf("GetPresent: %q %v", vs, err)
		}
		vs, err := c.GetTree(t.Context(), "", DataAll, "/gone", "/here")
		if err != nil || len(vs) != 1 || vs[0].Path.Elem[0].Name != "here" {
			t.Errorf("GetTree: %v %v", vs, err)
		}
	})
}
