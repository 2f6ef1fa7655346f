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
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// answer bounds the wait for an answer of etcd.
const answer = 10 * time.Second

var errNoAnswer = fmt.Errorf("no answer within %s", answer)

// etcd is a store in etcd. Under the fabric's part of the prefix are the keys "lock",
// which has a lease, "breaks/REVISION", "checkouts/HOST/INTENT", "journals/ID" and
// "records/ID/NUMBER.PART.PARTS". All that the holder writes is under the condition
// that the lock is the one that it took.
type etcd struct {
	c      *clientv3.Client
	at     EtcdConfig
	root   string
	reason atomic.Value // a string, why no call came through
}

// Etcd keeps the lock and the journals of a fabric in etcd. With a user it logs in,
// else it does not connect yet.
func Etcd(cfg EtcdConfig, fabric string) (Store, error) {
	if fabric == "" {
		return nil, errors.New("etcd needs the name of the fabric")
	}
	cfg.TTL = cmp.Or(cfg.TTL, TTL)
	names, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	scheme := "https://"
	if cfg.Plain {
		scheme = "http://"
	}
	var endpoints []string
	for _, e := range cfg.Endpoints {
		endpoints = append(endpoints, scheme+e)
	}
	e := &etcd{at: cfg, root: strings.TrimSuffix(cfg.Prefix, "/") + "/" + url.PathEscape(fabric) + "/"}
	e.c, err = clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: names, Username: cfg.User, Password: cfg.Password.Reveal(), DialTimeout: answer,
		// A member that went away without a word must not hold the lock's renewal up.
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		Logger:      zap.NewNop(), // it would write to standard error
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(e.remember)},
	})
	if err != nil {
		return nil, e.explain(err)
	}
	return e, nil
}

func (e *etcd) Close() error {
	if err := e.c.Close(); !errors.Is(err, context.Canceled) { // it was closed before
		return err
	}
	return nil
}

func (e *etcd) String() string { return e.at.String() + strings.TrimSuffix(e.root, "/") }

func (e *etcd) Place(id ID) string { return e.at.String() + e.root + "journals/" + id.String() }

// call bounds a call, and says of its error which etcd it is of.
func (e *etcd) call(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeoutCause(ctx, answer, errNoAnswer)
	defer cancel()
	err := do(bound)
	switch {
	case err == nil:
		return nil
	case bound.Err() != nil:
		err = context.Cause(bound)
	}
	return e.explain(err)
}

// explain says of an error which etcd it is of and, where time was up, what the client
// was waiting for.
func (e *etcd) explain(err error) error {
	if why, _ := e.reason.Load().(string); why != "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoAnswer)) {
		return fmt.Errorf("%v: %w: %s", e.at, err, why)
	}
	return fmt.Errorf("%v: %w", e.at, err)
}

// remember keeps the reason why the last call was not answered: the client hides it.
func (e *etcd) remember(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	why := ""
	if s := status.Convert(err); s.Code() == codes.DeadlineExceeded {
		why = s.Message()
	}
	e.reason.Store(why)
	return err
}

func (e *etcd) get(ctx context.Context, key string, opts ...clientv3.OpOption) (resp *clientv3.GetResponse, err error) {
	err = e.call(ctx, func(ctx context.Context) error {
		resp, err = e.c.Get(ctx, e.root+key, opts...)
		return err
	})
	return resp, err
}

// txn does something if the lock is the one that was made in a revision, 0 for none,
// and no key begins with fresh, "" for any. Else it gets both.
func (e *etcd) txn(ctx context.Context, rev int64, fresh string, then ...clientv3.Op) (resp *clientv3.TxnResponse, err error) {
	lock := e.root + "lock"
	cmps := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(lock), "=", rev)}
	other := []clientv3.Op{clientv3.OpGet(lock)}
	if fresh != "" {
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(fresh), "=", 0).WithPrefix())
		other = append(other, clientv3.OpGet(fresh, clientv3.WithPrefix(), clientv3.WithLimit(2)))
	}
	err = e.call(ctx, func(ctx context.Context) error {
		resp, err = e.c.Txn(ctx).If(cmps...).Then(then...).Else(other...).Commit()
		return err
	})
	return resp, err
}

// put is an operation that stores a value as JSON.
func (e *etcd) put(key string, v any, opts ...clientv3.OpOption) clientv3.Op {
	b, _ := json.Marshal(v) // an owner or a break, which have no value that JSON has not
	return clientv3.OpPut(e.root+key, string(b), opts...)
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
	resp, err := e.txn(ctx, 0, "", ops...)
	if err == nil && !resp.Succeeded {
		err = &HeldError{ownerOf((*clientv3.GetResponse)(resp.Responses[0].GetResponseRange()))}
	}
	if err != nil {
		// The lock goes with its lease, even if it was taken and the answer was lost. If
		// etcd does not answer now either, the lease runs out by itself.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = l.revoke(short)
		return nil, err
	}
	l.rev = resp.Header.Revision
	l.Lease = Keep(begun, e.at.TTL, l.beat)
	return l, nil
}

// ownerOf reads a lock. A value that cannot be read is of an owner all the same.
func ownerOf(resp *clientv3.GetResponse) (o Owner) {
	if len(resp.Kvs) > 0 {
		_ = json.Unmarshal(resp.Kvs[0].Value, &o)
	}
	return o
}

func (e *etcd) Holder(ctx context.Context) (*Owner, error) {
	resp, err := e.get(ctx, "lock")
	if err != nil || len(resp.Kvs) == 0 {
		return nil, err
	}
	o := ownerOf(resp)
	return &o, nil
}

func (e *etcd) Break(ctx context.Context, held, by Owner) error {
	resp, err := e.get(ctx, "lock")
	if err != nil {
		return err
	}
	var now *Owner
	var rev int64
	if len(resp.Kvs) > 0 {
		o := ownerOf(resp)
		now, rev = &o, resp.Kvs[0].CreateRevision
	}
	if err := CheckBreak(now, held); err != nil {
		return err
	}
	done, err := e.txn(ctx, rev, "", clientv3.OpDelete(e.root+"lock"), e.put(fmt.Sprintf("breaks/%020d", rev), Break{held, by}))
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

// values reads the values under a prefix that can be read.
func values[T any](ctx context.Context, e *etcd, prefix string) (out []T, _ error) {
	resp, err := e.get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	for _, kv := range resp.Kvs {
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
	rev     int64 // in which the lock was made
	release sync.Once
}

func (l *etcdLock) beat(ctx context.Context) error {
	_, err := l.e.c.KeepAliveOnce(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return l.gone()
	}
	if err != nil {
		return err
	}
	resp, err := l.e.c.Get(ctx, l.e.root+"lock", clientv3.WithKeysOnly())
	if err == nil && (len(resp.Kvs) == 0 || resp.Kvs[0].CreateRevision != l.rev) {
		return l.gone()
	}
	return err
}

// gone ends the lease of a lock that is someone else's or nobody's.
func (l *etcdLock) gone() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := LostTo(ctx, l.e, l.owner)
	l.Lose(err)
	return err
}

// commit writes while the lock is this one's, and with fresh only if no key begins with
// that yet: an earlier try that nobody waits for any more may come late, and must not
// spoil a record that was written since. It tries again where etcd is not to be reached
// or changes its leader, for as long as the lock lasts.
func (l *etcdLock) commit(ctx context.Context, fresh string, op clientv3.Op) error {
	ctx, cancel := l.Guard(ctx)
	defer cancel()
	for {
		if err := errors.Join(l.Over(), ctx.Err()); err != nil {
			return err
		}
		resp, err := l.e.txn(ctx, l.rev, fresh, op)
		switch {
		case err == nil && resp.Succeeded:
			return nil
		case err == nil:
			return l.refused(resp, fresh, op)
		case ctx.Err() != nil || !passing(err):
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// errThere says that a key is there that should not be: an earlier try came late.
var errThere = errors.New("already there")

// refused is why a write was not made; nil where it was, and only its answer was lost.
func (l *etcdLock) refused(resp *clientv3.TxnResponse, fresh string, op clientv3.Op) error {
	lock := resp.Responses[0].GetResponseRange().Kvs
	if len(lock) == 0 || lock[0].CreateRevision != l.rev {
		return l.gone()
	}
	there := resp.Responses[1].GetResponseRange().Kvs
	if len(there) != 1 || !bytes.Equal(there[0].Key, op.KeyBytes()) || !bytes.Equal(there[0].Value, op.ValueBytes()) {
		return fmt.Errorf("%v: %s is %w", l.e.at, fresh, errThere)
	}
	return nil
}

// passing reports whether an error of etcd may pass by itself.
func passing(err error) bool {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code() == codes.Unavailable
	}
	return status.Code(err) == codes.Unavailable || errors.Is(err, errNoAnswer)
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
