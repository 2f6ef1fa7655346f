package gnmi

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

const origin = "sonic-db"

func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var seen atomic.Pointer[gpb.GetRequest]
		reply := echo(func(s string) string {
			return map[string]string{"a": `{"x":"1"}`, "b": `"3,4"`, "Ethernet0|10.0.0.0/31": `{}`, "q]=\\[": `"q"`}[s]
		})
		d.get = func(ctx context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
			seen.Store(r)
			return reply(ctx, r)
		}
		c := dial(t, d.config())
		got, err := c.Get(t.Context(), origin, Path{"T", "b"}, Path{"T", "absent"}, Path{"T", "a"}, Path{"I", "Ethernet0|10.0.0.0/31"}, Path{"q]=\\["})
		if err != nil {
			t.Fatal(err)
		}
		if s := string(bytes.Join(got, []byte(" "))); s != `"3,4"  {"x":"1"} {} "q"` || got[1] != nil {
			t.Errorf("values %q", got)
		}
		r := seen.Load()
		if r.Prefix.Origin != origin || r.Type != gpb.GetRequest_ALL || r.Encoding != gpb.Encoding_JSON_IETF {
			t.Errorf("request %v", r)
		}
		if es := r.Path[3].Elem; len(es) != 2 || es[1].Name != "Ethernet0|10.0.0.0/31" {
			t.Errorf("path %v", es)
		}
		if _, err := c.GetOne(t.Context(), origin, Path{"T", "absent"}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "/T/absent") {
			t.Errorf("GetOne of an absent path: %v", err)
		}
		if _, err := c.GetTarget(t.Context(), "COUNTERS_DB", Path{"COUNTERS", "a"}); err != nil {
			t.Error(err)
		}
		if r := seen.Load(); r.Prefix.Target != "COUNTERS_DB" || r.Prefix.Origin != "" {
			t.Errorf("legacy prefix %v", r.Prefix)
		}
		if got, err := c.Get(t.Context(), origin); got != nil || err != nil {
			t.Errorf("no paths: %v %v", got, err)
		}
	})
}

func TestGetPresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		values := echo(func(s string) string { return `"` + s + `"` })
		d.get = func(ctx context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
			for _, p := range r.Path {
				switch p.Elem[0].Name {
				case "absent":
					return nil, status.Error(codes.NotFound, "Failed to find CONFIG_DB QUEUE <nil> []")
				case "broken":
					return nil, status.Error(codes.NotFound, "rpc error: code = Unimplemented desc = Invalid elem length")
				}
			}
			return values(ctx, r)
		}
		c := dial(t, d.config())
		if _, err := c.Get(t.Context(), origin, Path{"a"}, Path{"absent"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		got, err := c.GetPresent(t.Context(), origin, Path{"a"}, Path{"absent"}, Path{"b"})
		if err != nil || string(got[0]) != `"a"` || got[1] != nil || string(got[2]) != `"b"` {
			t.Errorf("values %q, %v", got, err)
		}
		if got, err := c.GetPresent(t.Context(), origin, Path{"absent"}); err != nil || len(got) != 1 || got[0] != nil {
			t.Errorf("one absent path: %q, %v", got, err)
		}
		// A NotFound that wraps another code does not mean that the path is absent.
		_, err = c.GetPresent(t.Context(), origin, Path{"a"}, Path{"absent"}, Path{"broken"})
		var e *RPCError
		if !errors.As(err, &e) || errors.Is(err, ErrNotFound) || e.Code != codes.NotFound {
			t.Errorf("broken path: %v", err)
		}
	})
}

func TestAnswers(t *testing.T) {
	up := func(v *gpb.TypedValue, names ...string) *gpb.Update {
		return &gpb.Update{Path: Path(names).wire(), Val: v}
	}
	notes := func(us ...*gpb.Update) *gpb.GetResponse {
		return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: us}}}
	}
	str := func(s string) *gpb.TypedValue {
		return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
	}
	a, b := Path{"a"}, Path{"b", "c"}
	for _, c := range []struct {
		name string
		resp *gpb.GetResponse
		want []string // nil: ErrAnswer
	}{
		{"order turned round", notes(up(jsonVal("2"), "b", "c"), up(jsonVal("1"), "a")), []string{"1", "2"}},
		{"part of the path in the prefix", &gpb.GetResponse{Notification: []*gpb.Notification{
			{Prefix: Path{"b"}.wire(), Update: []*gpb.Update{up(jsonVal("2"), "c")}}, {Update: []*gpb.Update{up(jsonVal("1"), "a")}}}}, []string{"1", "2"}},
		{"paths spelled differently", notes(up(jsonVal("1"), "A"), up(jsonVal("2"), "B")), []string{"1", "2"}},
		{"strings", notes(up(str(`q"x`), "a"), up(&gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 7}}, "b", "c")), []string{`"q\"x"`, "7"}},
		{"leaf list", notes(up(&gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{str("x"), str("y")}}}}, "a")), []string{`["x","y"]`, ""}},
		{"nothing", &gpb.GetResponse{}, []string{"", ""}},
		{"more than asked", notes(up(jsonVal("1"), "a"), up(jsonVal("2"), "b", "c"), up(jsonVal("3"), "d")), nil},
		{"another path", notes(up(jsonVal("1"), "d")), nil},
		{"twice", notes(up(jsonVal("1"), "a"), up(jsonVal("2"), "a")), nil},
		{"no value", notes(up(nil, "a")), nil},
		{"empty value", notes(up(jsonVal(""), "a")), nil},
		{"value of no type", notes(up(&gpb.TypedValue{}, "a"), up(jsonVal("2"), "b", "c")), []string{"", "2"}},
		{"value of no type, paths spelled differently", notes(up(&gpb.TypedValue{}, "A"), up(jsonVal("2"), "B")), []string{"", "2"}},
		{"json_val without text", notes(up(oldJSON(""), "a"), up(oldJSON("2"), "b", "c")), []string{"", "2"}},
		{"value of a type to come", notes(up(unknownType(), "a")), nil},
		{"leaf list with an empty element", notes(up(&gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{{}}}}}, "a")), nil},
		{"protobuf value", notes(up(&gpb.TypedValue{Value: &gpb.TypedValue_ProtoBytes{ProtoBytes: []byte("x")}}, "a")), nil},
		{"nil everywhere", &gpb.GetResponse{Notification: []*gpb.Notification{{Update: []*gpb.Update{{}}}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{})
				d.get = func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error) { return c.resp, nil }
				got, err := dial(t, d.config()).Get(t.Context(), origin, a, b)
				if c.want == nil {
					want(t, err, ErrAnswer, d.addr)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range c.want {
					if string(got[i]) != w || (got[i] == nil) != (w == "") {
						t.Errorf("value %d is %q, want %q", i, got[i], w)
					}
				}
			})
		})
	}
}

func TestPathKey(t *testing.T) {
	paths := [][]*gpb.PathElem{
		{{Name: "a"}, {Name: "b"}}, {{Name: "ab"}}, {{Name: "a/b"}}, {{Name: "a\x00\x01b"}}, {{Name: "a\x00"}, {Name: "\x01b"}},
		{{Name: "a", Key: map[string]string{"k": "v"}}}, {{Name: "a"}, {Name: "[k"}, {Name: "=v"}, {Name: ""}}, {{Name: "a[k=v]"}},
		{{Name: "a", Key: map[string]string{"k": "v", "l": "w"}}}, {{Name: "a"}},
	}
	seen := map[string][]*gpb.PathElem{}
	for _, p := range paths {
		k := pathKey(nil, &gpb.Path{Elem: p})
		if o, ok := seen[k]; ok {
			t.Errorf("%q and %q have one key", o, p)
		}
		seen[k] = p
	}
}

func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		var seen *gpb.SetRequest
		d.set = func(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
			seen = r
			return &gpb.SetResponse{}, nil
		}
		c := dial(t, d.config())
		req := SetRequest{
			Origin:   origin,
			Deletes:  []Path{{"CONFIG_DB", "localhost", "QUEUE", "Ethernet0|3"}},
			Replaces: []Update{{Path: Path{"CONFIG_DB", "localhost", "SCHEDULER", "s"}, JSON: []byte(`{"type":"DWRR"}`)}},
			Updates:  []Update{{Path: Path{"CONFIG_DB", "localhost", "PORT", "e", "mtu"}, JSON: []byte(`"1"`)}},
		}
		if err := c.Set(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		wanted := &gpb.SetRequest{
			Prefix: &gpb.Path{Origin: origin},
			Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "CONFIG_DB"}, {Name: "localhost"}, {Name: "QUEUE"}, {Name: "Ethernet0|3"}}}},
			Replace: []*gpb.Update{{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "CONFIG_DB"}, {Name: "localhost"}, {Name: "SCHEDULER"}, {Name: "s"}}},
				Val: jsonVal(`{"type":"DWRR"}`)}},
			Update: []*gpb.Update{{Path: Path{"CONFIG_DB", "localhost", "PORT", "e", "mtu"}.wire(), Val: jsonVal(`"1"`)}},
		}
		if diff := cmp.Diff(wanted, seen, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if req.Size() != proto.Size(seen) || req.Size() == 0 {
			t.Errorf("Size = %d, on the wire %d", req.Size(), proto.Size(seen))
		}

		seen = nil
		for name, bad := range map[string]SetRequest{
			"empty":    {Origin: origin},
			"no JSON":  {Origin: origin, Updates: []Update{{Path: Path{"a"}, JSON: []byte(`{"a":`)}}},
			"no value": {Origin: origin, Replaces: []Update{{Path: Path{"a"}}}},
		} {
			if err := c.Set(t.Context(), bad); !errors.Is(err, ErrConfig) || seen != nil {
				t.Errorf("%s: %v, sent %v", name, err, seen)
			}
		}
	})
}

func TestStatusIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		long := "Error: Failed to apply patch\x1b[2J\non the following scopes: " + strings.Repeat("x", 2*maxMsg)
		var sets atomic.Int32
		d.set = func(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error) {
			sets.Add(1)
			return nil, status.Error(codes.Unknown, long)
		}
		d.get = func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error) {
			return nil, status.Error(codes.Unavailable, "try again")
		}
		c := dial(t, d.config())
		err := c.Set(t.Context(), SetRequest{Origin: origin, Deletes: []Path{{"a"}}})
		var e *RPCError
		if !errors.As(err, &e) || e.Code != codes.Unknown || e.Op != "set" || e.Addr != d.addr {
			t.Fatalf("error %+v", e)
		}
		if !strings.HasPrefix(e.Msg, "Error: Failed to apply patch\non the") || len(e.Msg) > maxMsg {
			t.Errorf("message of %d bytes: %.60q", len(e.Msg), e.Msg)
		}
		for _, k := range kinds {
			if errors.Is(err, k) {
				t.Errorf("error is %q", k)
			}
		}
		if _, err := c.GetOne(t.Context(), origin, Path{"a"}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("unavailable: %v", err)
		}
		if n := sets.Load(); n != 1 {
			t.Errorf("the Set was sent %d times", n)
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		block := func(ctx context.Context) error { <-ctx.Done(); return status.FromContextError(ctx.Err()).Err() }
		d.get = func(ctx context.Context, _ *gpb.GetRequest) (*gpb.GetResponse, error) { return nil, block(ctx) }
		d.set = func(ctx context.Context, _ *gpb.SetRequest) (*gpb.SetResponse, error) {
			dl, ok := ctx.Deadline()
			if left := time.Until(dl); !ok || left < time.Minute {
				return nil, status.Errorf(codes.Internal, "Set has %v left", left)
			}
			return &gpb.SetResponse{}, nil
		}
		cfg := d.config()
		c := dial(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.GetOne(ctx, origin, Path{"a"})
		if want(t, err, ErrTimeout, d.addr); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}

		// The configured timeout limits a call whose context has none. Set has its own timeout.
		cfg.SetTimeout = 10 * time.Minute
		c = dial(t, cfg)
		c.timeout = 500 * time.Millisecond
		begun := time.Now()
		_, err = c.GetOne(t.Context(), origin, Path{"a"})
		if want(t, err, ErrTimeout, d.addr); time.Since(begun) > 2*c.timeout {
			t.Errorf("Get ended after %s", time.Since(begun))
		}
		if err := c.Set(t.Context(), SetRequest{Origin: origin, Deletes: []Path{{"a"}}}); err != nil {
			t.Error(err)
		}

		d.hold = func(ctx context.Context) { <-ctx.Done() }
		cfg.Timeout = 200 * time.Millisecond
		_, err = Dial(t.Context(), cfg)
		want(t, err, ErrTimeout, d.addr)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		arrived, left := make(chan struct{}), make(chan struct{})
		d.set = func(ctx context.Context, _ *gpb.SetRequest) (*gpb.SetResponse, error) {
			close(arrived)
			<-ctx.Done()
			close(left)
			return nil, ctx.Err()
		}
		d.get = echo(func(string) string { return `"v"` })
		c := dial(t, d.config())
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		err := c.Set(ctx, SetRequest{Origin: origin, Deletes: []Path{{"a"}}})
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrUnreachable) {
			t.Errorf("error %v", err)
		}
		<-left
		if _, err := c.GetOne(t.Context(), origin, Path{"a"}); err != nil {
			t.Errorf("the connection does not outlive a cancelled call: %v", err)
		}
	})
}

func TestSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{maxRecv: MaxServerMessage})
		big := `"` + strings.Repeat("x", 5<<20) + `"`
		d.get = echo(func(string) string { return big })
		d.set = func(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error) { return &gpb.SetResponse{}, nil }
		c := dial(t, d.config())
		if v, err := c.GetOne(t.Context(), origin, Path{"a"}); err != nil || len(v) != len(big) {
			t.Errorf("an answer of 5 MiB: %d bytes, %v", len(v), err)
		}
		err := c.Set(t.Context(), SetRequest{Origin: origin, Updates: []Update{{Path: Path{"a"}, JSON: []byte(big)}}})
		if e := want(t, err, ErrTooLarge, d.addr); e.Code != codes.ResourceExhausted {
			t.Errorf("code %v", e.Code)
		}
		// A request whose Size is within the limit is accepted.
		req := SetRequest{Origin: origin, Updates: []Update{{Path: Path{"a"}, JSON: []byte(big[:2] + strings.Repeat("y", MaxServerMessage-100) + `"`)}}}
		if s := req.Size(); s > MaxServerMessage || s < MaxServerMessage-100 {
			t.Fatalf("Size %d", s)
		}
		if err := c.Set(t.Context(), req); err != nil {
			t.Error(err)
		}

		cfg := d.config()
		cfg.MaxMessage = 1 << 20
		_, err = dial(t, cfg).GetOne(t.Context(), origin, Path{"a"})
		want(t, err, ErrTooLarge, d.addr)
	})
}

func TestIdleClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{idle: 100 * time.Millisecond})
		var sets atomic.Int32
		d.get = echo(func(string) string { return `"v"` })
		d.set = func(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error) {
			sets.Add(1)
			return &gpb.SetResponse{}, nil
		}
		c := dial(t, d.config())
		d.waitOpen(t, 0)
		if _, err := c.GetOne(t.Context(), origin, Path{"a"}); err != nil {
			t.Fatal(err)
		}
		d.waitOpen(t, 0)
		if err := c.Set(t.Context(), SetRequest{Origin: origin, Deletes: []Path{{"a"}}}); err != nil {
			t.Fatal(err)
		}
		if begun, _ := d.connections(); begun != 3 || sets.Load() != 1 {
			t.Errorf("%d connections, %d sets", begun, sets.Load())
		}
	})
}

// TestReconnectVerifies changes the device's key between two connections.
func TestReconnectVerifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		good, other := newDevice(t, deviceOptions{network: network, idle: 100 * time.Millisecond}), newDevice(t, deviceOptions{network: network})
		var relay atomic.Pointer[string]
		relay.Store(&good.addr)
		addr := forward(t, network, &relay)
		cfg := good.config()
		cfg.Address, cfg.TLS = addr, TLS{Pin: pinOf(good.cert)}
		c := dial(t, cfg)
		good.waitOpen(t, 0)
		relay.Store(&other.addr)
		_, err := c.GetOne(t.Context(), origin, Path{"a"})
		want(t, err, ErrTLS, addr)
		if !strings.Contains(err.Error(), pinOf(other.cert)) {
			t.Errorf("error %q does not name the new key", err)
		}
		other.mu.Lock()
		defer other.mu.Unlock()
		if len(other.logins) != 0 {
			t.Error("the password went to another key")
		}
	})
}

func TestCloseFreesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		for range 5 {
			c, err := Dial(t.Context(), d.config())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Close(), c.Close()); err != nil {
				t.Error(err)
			}
			if err := c.Set(t.Context(), SetRequest{Deletes: []Path{{"a"}}}); err == nil {
				t.Error("Set after Close works")
			}
		}
		d.waitOpen(t, 0)
	})
}
