package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	api "github.com/roce-fabric/roce-fabric/internal/etcd"
)

// answer is the timeout of a call to etcd.
const answer = 10 * time.Second

var errNoAnswer = fmt.Errorf("no answer within %s", answer)

// etcd is a store in etcd. Under PREFIX/FABRIC/ it has the keys "lock", which has a lease,
// "breaks/REVISION", "checkouts/HOST/INTENT", "journals/ID" and
// "records/ID/NUMBER.PART.PARTS". Each write by the holder is a transaction that succeeds
// only if the lock key is still the one it created.
type etcd struct {
	c            *api.Client
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
	names, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	c, err := api.New(api.Config{Endpoints: cfg.Endpoints, TLS: names, User: cfg.User, Password: cfg.Password.Reveal()})
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cfg, err)
	}
	e := &etcd{c: c, at: cfg, fabric: fabric, root: strings.TrimSuffix(cfg.Prefix, "/") + "/" + url.PathEscape(fabric) + "/"}
	if err := e.call(context.Background(), c.Login); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return e, nil
}

func (e *etcd) Close() error { return e.c.Close() }

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

// get reads a range of keys. The ends of the range are relative to e.root.
func (e *etcd) get(ctx context.Context, r api.Range) (found api.Found, err error) {
	r.Key = e.root + r.Key
	if r.End != "" {
		r.End = e.root + r.End
	}
	err = e.call(ctx, func(ctx context.Context) error {
		found, err = e.c.Get(ctx, r)
		return err
	})
	return found, err
}

// txn runs the operations then if three conditions hold: the lock key was created in
// revision rev (0: it does not exist), no key begins with fresh (ignored if ""), and the
// key last was created in its revision (ignored if zero). Otherwise it reads those keys.
func (e *etcd) txn(ctx context.Context, rev int64, fresh string, last api.Created, then ...api.Op) (done api.Done, err error) {
	lock := e.root + "lock"
	t := api.Txn{If: []api.Created{{Key: lock, Revision: rev}}, Then: then, Else: []api.Op{api.Range{Key: lock}}}
	if last.Key != "" {
		t.If = append(t.If, last)
		t.Else = append(t.Else, api.Range{Key: last.Key, KeysOnly: true})
	}
	if fresh != "" {
		of := api.Prefix(fresh)
		t.If = append(t.If, api.Created{Key: of.Key, End: of.End})
		of.Limit = 2
		t.Else = append(t.Else, of)
	}
	err = e.call(ctx, func(ctx context.Context) error {
		done, err = e.c.Commit(ctx, t)
		return err
	})
	return done, err
}

// put returns an operation that stores v as JSON under key, relative to e.root.
func (e *etcd) put(key string, v any) api.Put {
	b, _ := json.Marshal(v) // cannot fail: v is an Owner or a Break
	return api.Put{Key: e.root + key, Value: string(b)}
}

func (e *etcd) Lock(ctx context.Context, o Owner) (_ Lock, err error) {
	l, begun := &etcdLock{e: e, owner: o}, time.Now()
	err = e.call(ctx, func(ctx context.Context) error {
		l.id, err = e.c.Grant(ctx, int64((e.at.TTL+time.Second-1)/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	lock := e.put("lock", o)
	lock.Lease = l.id
	ops := []api.Op{lock}
	if o.Intent != "" {
		ops = append(ops, e.put("checkouts/"+url.PathEscape(o.Host)+"/"+url.PathEscape(o.Intent), o))
	}
	done, err := e.txn(ctx, 0, "", api.Created{}, ops...)
	if err == nil && !done.Succeeded {
		err = &HeldError{ownerOf(done.Found[0])}
	}
	if err != nil {
		// Revoking the lease also removes the lock, in case it was taken but the response
		// was lost. If etcd does not answer this call either, the lease expires by itself.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = l.revoke(short)
		return nil, err
	}
	l.rev = done.Revision
	l.Lease = Keep(begun, e.at.TTL, l.beat)
	return l, nil
}

// ownerOf decodes the owner from the value of the lock key. If the value cannot be
// decoded, it returns an empty owner: the lock is held all the same.
func ownerOf(f api.Found) (o Owner) {
	if len(f.KVs) > 0 {
		_ = json.Unmarshal(f.KVs[0].Value, &o)
	}
	return o
}

func (e *etcd) Holder(ctx context.Context) (*Owner, error) {
	lock, err := e.get(ctx, api.Range{Key: "lock"})
	if err != nil || len(lock.KVs) == 0 {
		return nil, err
	}
	o := ownerOf(lock)
	return &o, nil
}

func (e *etcd) Break(ctx context.Context, held, by Owner) error {
	lock, err := e.get(ctx, api.Range{Key: "lock"})
	if err != nil {
		return err
	}
	var now *Owner
	var rev int64
	if len(lock.KVs) > 0 {
		o := ownerOf(lock)
		now, rev = &o, lock.KVs[0].CreateRevision
	}
	if err := CheckBreak(now, held); err != nil {
		return err
	}
	done, err := e.txn(ctx, rev, "", api.Created{}, api.Delete{Key: e.root + "lock"}, e.put(fmt.Sprintf("breaks/%020d", rev), Break{held, by}))
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
	found, err := e.get(ctx, api.Prefix(prefix))
	if err != nil {
		return nil, err
	}
	for _, kv := range found.KVs {
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
	id      int64 // ID of the lease
	rev     int64 // revision in which the lock key was created
	release sync.Once
}

func (l *etcdLock) beat(ctx context.Context) error {
	err := l.e.c.KeepAlive(ctx, l.id)
	if errors.Is(err, api.ErrLeaseNotFound) {
		return l.gone()
	}
	if err != nil {
		return err
	}
	lock, err := l.e.c.Get(ctx, api.Range{Key: l.e.root + "lock", KeysOnly: true})
	if err == nil && (len(lock.KVs) == 0 || lock.KVs[0].CreateRevision != l.rev) {
		return l.gone()
	}
	return err
}

// gone ends the lease because someone else, or nobody, has the lock. It returns the error.
func (l *etcdLock) gone() error {
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
func (l *etcdLock) commit(ctx context.Context, fresh string, last api.Created, op api.Op) (int64, error) {
	ctx, cancel := l.Guard(ctx)
	defer cancel()
	for {
		if err := errors.Join(l.Over(), ctx.Err()); err != nil {
			return 0, err
		}
		done, err := l.e.txn(ctx, l.rev, fresh, last, op)
		switch {
		case err == nil && done.Succeeded:
			return done.Revision, nil
		case err == nil:
			return 0, l.refused(done.Found, fresh, last, op)
		case ctx.Err() != nil || !passing(err):
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

// refused returns why a transaction was rejected, given the keys that it found. It returns
// nil if an earlier attempt made the write and only its response was lost.
func (l *etcdLock) refused(found []api.Found, fresh string, last api.Created, op api.Op) error {
	lock := found[0].KVs
	if len(lock) == 0 || lock[0].CreateRevision != l.rev {
		return l.gone()
	}
	if last.Key != "" {
		if kept := found[1].KVs; len(kept) == 0 || kept[0].CreateRevision != last.Revision {
			return fmt.Errorf("%v: %s: %w", l.e.at, last.Key, ErrChanged)
		}
	}
	there := found[len(found)-1].KVs
	if put, ok := op.(api.Put); !ok || len(there) != 1 || string(there[0].Key) != put.Key || string(there[0].Value) != put.Value {
		return fmt.Errorf("%v: %s is %w", l.e.at, fresh, errThere)
	}
	return nil
}

// passing reports whether an error from etcd is temporary.
func passing(err error) bool { return api.Unavailable(err) || errors.Is(err, errNoAnswer) }

func (l *etcdLock) revoke(ctx context.Context) error {
	return l.e.call(ctx, func(ctx context.Context) error {
		if err := l.e.c.Revoke(ctx, l.id); !errors.Is(err, api.ErrLeaseNotFound) {
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
