package etcd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// The generated code of etcd decodes our requests, with no unknown fields.
func TestRequests(t *testing.T) {
	all := Range{Key: "a", End: "b", Limit: 2, KeysOnly: true, CountOnly: true}
	wantAll := &etcdserverpb.RangeRequest{Key: []byte("a"), RangeEnd: []byte("b"), Limit: 2, KeysOnly: true, CountOnly: true}
	_, encoded := all.op()
	txn := Txn{
		If:   []Created{{Key: "lock", Revision: 7}, {Key: "x", End: "y"}},
		Then: []Op{Put{"k", strings.Repeat("v", 300), 1 << 62}, Delete{"d", "e"}, Put{Key: "k"}},
		Else: []Op{all, Range{Key: "z"}},
	}
	created := func(key, end string, rev int64) *etcdserverpb.Compare {
		return &etcdserverpb.Compare{
			Result: etcdserverpb.Compare_EQUAL, Target: etcdserverpb.Compare_CREATE, Key: []byte(key), RangeEnd: []byte(end),
			TargetUnion: &etcdserverpb.Compare_CreateRevision{CreateRevision: rev},
		}
	}
	put := func(p *etcdserverpb.PutRequest) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: p}}
	}
	read := func(r *etcdserverpb.RangeRequest) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: r}}
	}
	for _, c := range []struct {
		sent      *encoder
		got, want proto.Message
	}{
		{encoded, &etcdserverpb.RangeRequest{}, wantAll},
		{new(encoder).text(1, "ann").text(2, "pa55"), &etcdserverpb.AuthenticateRequest{}, &etcdserverpb.AuthenticateRequest{Name: "ann", Password: "pa55"}},
		{new(encoder).number(1, 5), &etcdserverpb.LeaseGrantRequest{}, &etcdserverpb.LeaseGrantRequest{TTL: 5}},
		{new(encoder).number(1, 6), &etcdserverpb.LeaseRevokeRequest{}, &etcdserverpb.LeaseRevokeRequest{ID: 6}},
		{new(encoder).number(1, 7), &etcdserverpb.LeaseKeepAliveRequest{}, &etcdserverpb.LeaseKeepAliveRequest{ID: 7}},
		{txn.encode(), &etcdserverpb.TxnRequest{}, &etcdserverpb.TxnRequest{
			Compare: []*etcdserverpb.Compare{created("lock", "", 7), created("x", "y", 0)},
			Success: []*etcdserverpb.RequestOp{
				put(&etcdserverpb.PutRequest{Key: []byte("k"), Value: []byte(strings.Repeat("v", 300)), Lease: 1 << 62}),
				{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte("d"), RangeEnd: []byte("e")}}},
				put(&etcdserverpb.PutRequest{Key: []byte("k")}),
			},
			Failure: []*etcdserverpb.RequestOp{read(wantAll), read(&etcdserverpb.RangeRequest{Key: []byte("z")})},
		}},
	} {
		if err := proto.Unmarshal(c.sent.b, c.got); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(c.want, c.got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); d != "" || len(c.got.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("%T: %s", c.want, d)
		}
	}
}

// Answers encoded by the generated code are decoded. Truncated answers give an error or a partial
// result, but no panic.
func TestAnswers(t *testing.T) {
	header := &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: 1 << 40, RaftTerm: 4}
	kvs := []*mvccpb.KeyValue{
		{Key: []byte("a"), Value: []byte("one"), CreateRevision: 5, ModRevision: 6, Version: 7, Lease: 8},
		{Key: []byte("b")},
	}
	ranged := &etcdserverpb.RangeResponse{Header: header, Kvs: kvs, More: true, Count: 9}
	want := Found{KVs: []KV{{Key: []byte("a"), Value: []byte("one"), CreateRevision: 5}, {Key: []byte("b")}}, More: true, Count: 9}
	b := marshal(t, ranged)
	if got, err := decodeFound(b); err != nil || cmp.Diff(want, got) != "" {
		t.Error(err, cmp.Diff(want, got))
	}
	b = marshal(t, &etcdserverpb.TxnResponse{Header: header, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{
		{Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{Header: header}}},
		{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: ranged}},
	}})
	done := Done{Revision: 1 << 40, Succeeded: true, Found: []Found{{}, want}}
	got, err := decodeDone(b)
	if err != nil || cmp.Diff(done, got) != "" {
		t.Error(err, cmp.Diff(done, got))
	}
	for n := range b {
		if got, err := decodeDone(b[:n]); err == nil && cmp.Diff(done, got) == "" {
			t.Errorf("%d of %d bytes are all", n, len(b))
		}
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEndOf(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a/": "a0", "a\xff": "b", "\xff": "\x00", "": "\x00"} {
		if got := EndOf(prefix); got != want {
			t.Errorf("%q ends at %q, want %q", prefix, got, want)
		}
	}
}
