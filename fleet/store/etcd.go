package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// answer is the timeout of a call to etcd.
const answer = 10 * time.Second

var errNoAnswer = fmt.Errorf("no answer within %s", answer)

// etcd is a store in etcd. Under PREFIX/FABRIC/ it has the keys "lock", which has a lease,
// "breaks/REVISION", "checkouts/HOST/INTENT", "journals/ID" and
// "records/ID/NUMBER.PART.PARTS". Each write by the holder is a transaction that succeeds
// only if the lock key is still the one it created.
type etcd struct {
	c            *clientv3.Client
	at           EtcdConfig
	fabric, root string
}

// Etcd returns a store that keeps the lock and the journals of a fabric in etcd. It logs
// in if cfg has a user; otherwise it does not connect yet.
func Etcd(cfg EtcdConfig, fabric string) (Store, error) {
	if fabric == "" {
		return nil, errors.New("etcd needs the name of the fabric")
	}
	cfg.TTL = cmp.Or(cfg.TTL, TTL)
	c, user, err := cfg.client()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cfg, err)
	}
	e := &etcd{c: c, at: cfg, fabric: fabric, root: strings.TrimSuffix(cfg.Prefix, "/") + "/" + url.PathEscape(fabric) + "/"}
	if err := e.call(context.Background(), func(ctx context.Context) error { return user.login(ctx, c) }); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close closes the connection. It may be called more than once.
func (e *etcd) Close() error {
	if err := e.c.Close(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (e *etcd) Fabric() string { return e.fabric }

func (e *etcd) String() string { return e.at.String() + strings.TrimSuffix(e.root, "/") }

func (e *etcd) Place(id ID) string { return e.at.String() + e.root + "journals/" + id.String() }

// call runs do with a timeout, and adds the address of etcd to its error.
func (e *etcd) call(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeoutCause(ctx, answer, errNoAnswer)
	defer cancel()
	if err := do(bound); err != nil {
		return fmt.Errorf("%v: %w", e.at, err)
	}
	return nil
}

// get reads a key, or those that the options select. The key is relative to e.root, the end of a
// range is not.
func (e *etcd) get(ctx context.Context, key string, o ...clientv3.OpOption) (found *clientv3.GetResponse, err error) {
	err = e.call(ctx, func(ctx context.Context) error {
		found, err = e.c.Get(ctx, e.root+key, o...)
		return err
	})
	return found, err
}

// created is a key and the revision in which it was created; the zero value names no key.
type created struct {
	key string
	rev int64
}

// txn runs an operation if three conditions hold: the lock key was created in revision rev (0: it
// does not exist), no key begins with fresh (ignored if ""), and the key last was created in its
// revision (ignored if zero). Otherwise it reads those keys.
func (e *etcd) txn(ctx context.Context, rev int64, fresh string, last created, then ...clientv3.Op) (done *clientv3.TxnResponse, err error) {
	is := func(key string, rev int64) clientv3.Cmp {
		return clientv3.Compare(clientv3.CreateRevision(key), "=", rev)
	}
	lock := e.root + "lock"
	conditions, otherwise := []clientv3.Cmp{is(lock, rev)}, []clientv3.Op{clientv3.OpGet(lock)}
	if last.key != "" {
		conditions = append(conditions, is(last.key, last.rev))
		otherwise = append(otherwise, clientv3.OpGet(last.key, clientv3.WithKeysOnly()))
	}
	if fresh != "" {
		conditions = append(conditions, is(fresh, 0).WithPrefix())
		otherwise = append(otherwise, clientv3.OpGet(fresh, clientv3.WithPrefix(), clientv3.WithLimit(2)))
	}
	err = e.call(ctx, func(ctx context.Context) error {
		done, err = e.c.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
		return err
	})
	return done, err
}

// put returns an operation that stores v as JSON under key, relative to e.root.
func (e *etcd) put(key string, v any, o ...clientv3.OpOption) clientv3.Op {
	b, _ := json.Marshal(v) // cannot fail: v is an Owner or a Break
	return clientv3.OpPut(e.root+key, string(b), o...)
}

func (e *etcd) Lock(ctx context.Context, o Owner) (_ Lock, err error) {
	l, begun := &etcdLock{e: e, owner: o}, time.Now()
	err = e.call(ctx, func(ctx context.Context) error {
		lease, err := e.c.Grant(ctx, int64((e.at.TTL+time.Second-1)/time.Second))
		if err == nil {
			l.id = lease.ID
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ops := []clientv3.Op{e.put("lock", o, clientv3.WithLease(l.id))}
	if o.Intent != "" {
		ops = append(ops, e.put("checkouts/"+url.PathEscape(o.Host)+"/"+url.PathEscape(o.Intent), o))
	}
	done, err := e.txn(ctx, 0, "", created{}, ops...)
	if err == nil && !done.Succeeded {
		err = &HeldError{ownerOf(done.Responses[0].GetResponseRange().Kvs)}
	}
	if err != nil {
		// Revoking the lease also removes the lock, in case it was taken but the response
		// was lost. If etcd does not answer this call either, the lease expires by itself.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = l.revoke(short)
		return nil, err
	}
	l.rev = done.Header.Revision
	l.Lease = Keep(begun, e.at.TTL, l.beat)
	return l, nil
}

// ownerOf decodes the owner from the value of the lock key. If the value cannot be
// decoded, it returns an empty owner: the lock is held all the same.
func ownerOf(lock []*mvccpb.KeyValue) (o Owner) {
	if len(lock) > 0 {
		_ = json.Unmarshal(lock[0].Value, &o)
	}
	return o
}

func (e *etcd) Holder(ctx context.Context) (*Owner, error) {
	lock, err := e.get(ctx, "lock")
	if err != nil || len(lock.Kvs) == 0 {
		return nil, err
	}
	o := ownerOf(lock.Kvs)
	return &o, nil
}

func (e *etcd) Break(ctx context.Context, held, by Owner) error {
	lock, err := e.get(ctx, "lock")
	if err != nil {
		return err
	}
	var now *Owner
	var rev int64
	if len(lock.Kvs) > 0 {
		o := ownerOf(lock.Kvs)
		now, rev = &o, lock.Kvs[0].CreateRevision
	}
	if err := CheckBreak(now, held); err != nil {
		return err
	}
	done, err := e.txn(ctx, rev, "", created{}, clientv3.OpDelete(e.root+"lock"), e.put(fmt.Sprintf("breaks/%020d", rev), Break{held, by}))
	if err == nil && !done.Succeeded {
		err = errors.New("the lock has changed hands")
	}
	return err
}

func (e *etcd) Breaks(ctx context.Context) ([]Break, error) {
	return values[Break](ctx, e, "breaks/")
}

func (e *etcd) Checkouts(ctx context.Context) ([]Owner, error) {
	return values[Owner](ctx, e, "checkouts/")
}

// values returns the decoded values under a prefix, and skips values that cannot be
// decoded.
func values[T any](ctx context.Context, e *etcd, prefix string) (out []T, _ error) {
	found, err := e.get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	for _, kv := range found.Kvs {
		var v T
		if json.Unmarshal(kv.Value, &v) == nil {
			out = append(out, v)
		}
	}
	return out, nil
}

// etcdLock is a lock in etcd.
type etcdLock struct {
	*Lease
	e       *etcd
	owner   Owner
	id      clientv3.LeaseID
	rev     int64 // revision in which the lock key was created
	release sync.Once
}

func (l *etcdLock) beat(ctx context.Context) error {
	_, err := l.e.c.KeepAliveOnce(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return l.lose()
	}
	if err != nil {
		return err
	}
	lock, err := l.e.c.Get(ctx, l.e.root+"lock", clientv3.WithKeysOnly())
	if err == nil && (len(lock.Kvs) == 0 || lock.Kvs[0].CreateRevision != l.rev) {
		return l.lose()
	}
	return err
}

// lose ends the lease because someone else, or nobody, has the lock. It returns the error.
func (l *etcdLock) lose() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := LostTo(ctx, l.e, l.owner)
	l.Lose(err)
	return err
}

// commit runs op if this process holds the lock, under the conditions fresh and last of
// txn. fresh protects a record from an earlier attempt at it that reaches etcd late. commit
// retries while etcd is unreachable or elects a leader, as long as the lock lasts. It
// returns the revision of the write, or 0 if the revision is unknown.
func (l *etcdLock) commit(ctx context.Context, fresh string, last created, op clientv3.Op) (int64, error) {
	ctx, cancel := l.Guard(ctx)
	defer cancel()
	for {
		if err := errors.Join(l.Err(), ctx.Err()); err != nil {
			return 0, err
		}
		done, err := l.e.txn(ctx, l.rev, fresh, last, op)
		switch {
		case err == nil && done.Succeeded:
			return done.Header.Revision, nil
		case err == nil:
			return 0, l.rejection(done.Responses, fresh, last, op)
		case ctx.Err() != nil || !isTemporary(err):
			return 0, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// errThere means that a key exists that should not: an earlier attempt arrived late.
var errThere = errors.New("already there")

// rejection returns why a transaction was rejected, given the keys that it found. It returns
// nil if an earlier attempt made the write and only its response was lost.
func (l *etcdLock) rejection(found []*etcdserverpb.ResponseOp, fresh string, last created, op clientv3.Op) error {
	keys := func(i int) []*mvccpb.KeyValue { return found[i].GetResponseRange().Kvs }
	lock := keys(0)
	if len(lock) == 0 || lock[0].CreateRevision != l.rev {
		return l.lose()
	}
	if last.key != "" {
		if kept := keys(1); len(kept) == 0 || kept[0].CreateRevision != last.rev {
			return fmt.Errorf("%v: %s: %w", l.e.at, last.key, ErrChanged)
		}
	}
	if there := keys(len(found) - 1); !op.IsPut() || len(there) != 1 || !bytes.Equal(there[0].Key, op.KeyBytes()) || !bytes.Equal(there[0].Value, op.ValueBytes()) {
		return fmt.Errorf("%v: %s is %w", l.e.at, fresh, errThere)
	}
	return nil
}

// isTemporary reports whether an error from etcd is temporary: no member was reachable, or the
// cluster had no leader.
func isTemporary(err error) bool {
	var refused rpctypes.EtcdError
	return errors.As(err, &refused) && refused.Code() == codes.Unavailable ||
		status.Code(err) == codes.Unavailable || errors.Is(err, errNoAnswer)
}

func (l *etcdLock) revoke(ctx context.Context) error {
	return l.e.call(ctx, func(ctx context.Context) error {
		if _, err := l.e.c.Revoke(ctx, l.id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
		return nil
	})
}

func (l *etcdLock) Release() (err error) {
	l.release.Do(func() {
		l.Stop()
		err = l.revoke(context.Background())
	})
	return err
}
