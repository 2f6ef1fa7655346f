package etcd

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
)

// Range reads keys: one, or those from Key to End, which is not of them.
type Range struct {
	Key, End            string
	Limit               int64 // 0 for none
	KeysOnly, CountOnly bool
}

// Prefix is the range of the keys that begin with a text.
func Prefix(text string) Range { return Range{Key: text, End: EndOf(text)} }

// EndOf is the end of the range of the keys that begin with a text.
func EndOf(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return "\x00" // of all keys
}

// KV is a key with its value.
type KV struct {
	Key, Value     []byte
	CreateRevision int64
}

// Found is what a Range finds.
type Found struct {
	KVs   []KV
	More  bool // than the limit
	Count int64
}

// Put stores a value; with a lease the key goes with that.
type Put struct {
	Key, Value string
	Lease      int64 // 0 for none
}

// Delete removes keys: one, or those from Key to End.
type Delete struct{ Key, End string }

// Op is a part of a transaction: a [Range], [Put] or [Delete].
type Op interface{ op() (n int, e *encoder) }

// Created is the condition that the keys of a range were made in a revision, 0 for not
// at all.
type Created struct {
	Key, End string
	Revision int64
}

// Txn does Then if all conditions hold, and Else if not.
type Txn struct {
	If         []Created
	Then, Else []Op
}

// Done is what a transaction did.
type Done struct {
	Revision  int64   // of the store afterwards
	Succeeded bool    // all conditions held
	Found     []Found // one for each operation, empty for those that read nothing
}

// Get reads keys.
func (c *Client) Get(ctx context.Context, r Range) (Found, error) {
	_, request := r.op()
	answer, err := c.call(ctx, true, c.unary("/etcdserverpb.KV/Range", request))
	if err != nil {
		return Found{}, err
	}
	return decodeFound(answer)
}

// Commit does a transaction. It is not repeated: when its answer is lost, it may have
// been done.
func (c *Client) Commit(ctx context.Context, t Txn) (Done, error) {
	answer, err := c.call(ctx, false, c.unary("/etcdserverpb.KV/Txn", t.encode()))
	if err != nil {
		return Done{}, err
	}
	d, err := decodeDone(answer)
	asked := t.Else
	if d.Succeeded {
		asked = t.Then
	}
	if err == nil && len(d.Found) != len(asked) {
		err = fmt.Errorf("%d answers to %d operations", len(d.Found), len(asked))
	}
	return d, err
}

// Grant makes a lease of so many seconds.
func (c *Client) Grant(ctx context.Context, seconds int64) (id int64, err error) {
	answer, err := c.call(ctx, true, c.unary("/etcdserverpb.Lease/LeaseGrant", new(encoder).number(1, seconds)))
	if err != nil {
		return 0, err
	}
	err = decode(answer, func(f field) error {
		if f.n == 2 {
			id = int64(f.number)
		}
		return nil
	})
	return id, err
}

// Revoke ends a lease, and removes its keys.
func (c *Client) Revoke(ctx context.Context, id int64) error {
	_, err := c.call(ctx, true, c.unary("/etcdserverpb.Lease/LeaseRevoke", new(encoder).number(1, id)))
	return err
}

// KeepAlive has a lease begin anew, once.
func (c *Client) KeepAlive(ctx context.Context, id int64) error {
	answer, err := c.call(ctx, true, func(ctx context.Context) (answer []byte, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/etcdserverpb.Lease/LeaseKeepAlive")
		if err != nil {
			return nil, err
		}
		// A stream that broke says why when it is read.
		_ = s.SendMsg(&new(encoder).number(1, id).b)
		err = s.RecvMsg(&answer)
		return answer, err
	})
	if err != nil {
		return err
	}
	var ttl int64
	err = decode(answer, func(f field) error {
		if f.n == 3 {
			ttl = int64(f.number)
		}
		return nil
	})
	if err == nil && ttl <= 0 {
		err = ErrLeaseNotFound
	}
	return err
}
