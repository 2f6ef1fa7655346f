package etcd

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
)

// Range selects the keys to read: one key, or those from Key up to but not including End.
type Range struct {
	Key, End            string
	Limit               int64 // maximum number of keys; 0 for no limit
	KeysOnly, CountOnly bool
}

// Prefix returns the range of all keys that begin with a text.
func Prefix(text string) Range { return Range{Key: text, End: EndOf(text)} }

// EndOf returns the End of the range of all keys that begin with a prefix.
func EndOf(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return "\x00" // the range includes all following keys
}

// KV is a key with its value.
type KV struct {
	Key, Value     []byte
	CreateRevision int64
}

// Found is the result of reading a Range.
type Found struct {
	KVs   []KV
	More  bool // there are more keys than the limit
	Count int64
}

// Put stores a value. With a lease, etcd removes the key when the lease ends.
type Put struct {
	Key, Value string
	Lease      int64 // 0 for no lease
}

// Delete removes one key, or those from Key up to but not including End.
type Delete struct{ Key, End string }

// Op is an operation of a transaction: a [Range], [Put] or [Delete].
type Op interface{ op() (n int, e *encoder) }

// Created is the condition that the keys of a range were created in the given revision; revision 0
// means that they do not exist.
type Created struct {
	Key, End string
	Revision int64
}

// Txn is a transaction. It runs Then if all conditions hold, and Else otherwise.
type Txn struct {
	If         []Created
	Then, Else []Op
}

// Done is the result of a transaction.
type Done struct {
	Revision  int64   // of the store after the transaction
	Succeeded bool    // all conditions held
	Found     []Found // one per operation; empty for operations that do not read
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

// Commit runs a transaction. It is not repeated, so after an error the transaction may still have
// taken effect.
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

// Grant creates a lease that lasts the given number of seconds.
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

// Revoke ends a lease and removes its keys.
func (c *Client) Revoke(ctx context.Context, id int64) error {
	_, err := c.call(ctx, true, c.unary("/etcdserverpb.Lease/LeaseRevoke", new(encoder).number(1, id)))
	return err
}

// KeepAlive renews a lease once.
func (c *Client) KeepAlive(ctx context.Context, id int64) error {
	answer, err := c.call(ctx, true, func(ctx context.Context) (answer []byte, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/etcdserverpb.Lease/LeaseKeepAlive")
		if err != nil {
			return nil, err
		}
		// If the stream is broken, RecvMsg returns the reason.
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
