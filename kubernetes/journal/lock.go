package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// Annotations of the Lease. The Lease of a fabric remains when its lock is released.
const (
	noteOwner     = "roce-fabric.io/owner"
	noteBreaks    = "roce-fabric.io/breaks"
	noteCheckouts = "roce-fabric.io/checkouts"
)

// kept is the largest number of breaks and checkouts kept in the Lease.
const kept = 100

// sightings records since when this process has seen a Lease unchanged. It uses only this
// process's clock, because the clocks of two machines differ.
type sightings struct {
	mu      sync.Mutex
	version string
	since   time.Time
}

// age returns how long a Lease has been seen in the given version.
func (s *sightings) age(version string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		s.version, s.since = version, time.Now()
	}
	return time.Since(s.since)
}

func (s *Secrets) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	l := &coordinationv1.Lease{}
	err := call(ctx, func(ctx context.Context) error { return s.c.Get(ctx, s.key(s.name), l) })
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock of fabric %s: %w", s.fabric, err)
	}
	return l, nil
}

// holder returns the holder of a Lease; nil if the lock is free or has expired.
func (s *Secrets) holder(l *coordinationv1.Lease) *store.Owner {
	if l == nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
		return nil
	}
	// The holder states how long the lock lasts.
	ttl := s.ttl
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		ttl = max(ttl, time.Duration(*d)*time.Second)
	}
	if s.seen.age(l.ResourceVersion) > ttl {
		return nil
	}
	var o store.Owner
	if json.Unmarshal([]byte(l.Annotations[noteOwner]), &o) != nil {
		o = store.Owner{Run: *l.Spec.HolderIdentity}
	}
	return &o
}

// Holder implements [store.Store].
func (s *Secrets) Holder(ctx context.Context) (*store.Owner, error) {
	l, err := s.lease(ctx)
	return s.holder(l), err
}

// Lock implements [store.Store]. The lock of a dead holder becomes free once this process has
// seen it unchanged for the lock's duration.
func (s *Secrets) Lock(ctx context.Context, o store.Owner) (store.Lock, error) {
	for {
		begun := time.Now()
		l, err := s.lease(ctx)
		if err != nil {
			return nil, err
		}
		if held := s.holder(l); held != nil {
			return nil, &store.HeldError{Owner: *held}
		}
		taken, err := s.take(ctx, l, o)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // another process was faster: find out which
		}
		if err != nil {
			return nil, fmt.Errorf("take the lock of fabric %s: %w", s.fabric, err)
		}
		out := &lock{s: s, owner: o, lease: taken, note: taken.Annotations[noteOwner]}
		out.Lease = store.Keep(begun, s.ttl, out.beat)
		return out, nil
	}
}

// take writes the Lease for a new holder, replacing a free one; it creates a new Lease if l is
// nil.
func (s *Secrets) take(ctx context.Context, l *coordinationv1.Lease, o store.Owner) (*coordinationv1.Lease, error) {
	fresh := l == nil
	if fresh {
		l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: map[string]string{labelFabric: hashedName(s.fabric)}}}
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{noteFabric: s.fabric}
	}
	note, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	l.Annotations[noteOwner] = string(note)
	if o.Intent != "" {
		var all []store.Owner
		for _, p := range list[store.Owner](l, noteCheckouts) {
			if p.Host != o.Host || p.Intent != o.Intent {
				all = append(all, p)
			}
		}
		if err := keep(l, noteCheckouts, append(all, o)); err != nil {
			return nil, err
		}
	}
	now, seconds, who := metav1.NowMicro(), int32((s.ttl+time.Second-1)/time.Second), fmt.Sprintf("%s on %s", o.Run, o.Host)
	changes := int32(1)
	if l.Spec.LeaseTransitions != nil {
		changes += *l.Spec.LeaseTransitions
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now, LeaseTransitions: &changes}
	err = call(ctx, func(ctx context.Context) error {
		if fresh {
			return s.c.Create(ctx, l)
		}
		return s.c.Update(ctx, l)
	})
	return l, err
}

func list[T any](l *coordinationv1.Lease, note string) (out []T) {
	if l != nil {
		_ = json.Unmarshal([]byte(l.Annotations[note]), &out) // ignore annotations that another program has written
	}
	return out
}

func keep[T any](l *coordinationv1.Lease, note string, all []T) error {
	b, err := json.Marshal(all[max(0, len(all)-kept):])
	l.Annotations[note] = string(b)
	return err
}

// Break implements [store.Store].
func (s *Secrets) Break(ctx context.Context, held, by store.Owner) error {
	for {
		l, err := s.lease(ctx)
		if err != nil {
			return err
		}
		if err := store.CheckBreak(s.holder(l), held); err != nil {
			return err
		}
		if err := keep(l, noteBreaks, append(list[store.Break](l, noteBreaks), store.Break{Held: held, By: by})); err != nil {
			return err
		}
		l.Spec.HolderIdentity = nil
		delete(l.Annotations, noteOwner)
		err = call(ctx, func(ctx context.Context) error { return s.c.Update(ctx, l) })
		if !apierrors.IsConflict(err) { // the Lease has been renewed, or taken by another holder
			return err
		}
	}
}

// Breaks implements [store.Store].
func (s *Secrets) Breaks(ctx context.Context) ([]store.Break, error) {
	l, err := s.lease(ctx)
	return list[store.Break](l, noteBreaks), err
}

// Checkouts implements [store.Store].
func (s *Secrets) Checkouts(ctx context.Context) ([]store.Owner, error) {
	l, err := s.lease(ctx)
	return list[store.Owner](l, noteCheckouts), err
}

// lock is a lock held through a Lease.
type lock struct {
	*store.Lease
	s       *Secrets
	owner   store.Owner
	note    string
	mu      sync.Mutex
	lease   *coordinationv1.Lease // as last seen
	release sync.Once
}

// holds reports whether a Lease belongs to this holder.
func (l *lock) holds(now *coordinationv1.Lease) bool {
	return now != nil && now.UID == l.lease.UID && now.Annotations[noteOwner] == l.note && now.Spec.HolderIdentity != nil
}

// check returns an error if the lock cannot be confirmed; the error is [store.ErrLost] if the
// lock is free or has another holder.
func (l *lock) check(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	now, err := l.s.lease(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(now) {
		err := store.LostTo(context.WithoutCancel(ctx), l.s, l.owner)
		l.Lose(err)
		return err
	}
	l.lease = now
	return nil
}

func (l *lock) beat(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	return l.write(ctx, func(lease *coordinationv1.Lease) { now := metav1.NowMicro(); lease.Spec.RenewTime = &now })
}

// write changes the Lease as last seen, and fails if the Lease has changed since.
func (l *lock) write(ctx context.Context, change func(*coordinationv1.Lease)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.lease.DeepCopy()
	change(next)
	if err := call(ctx, func(ctx context.Context) error { return l.s.c.Update(ctx, next) }); err != nil {
		return err
	}
	l.lease = next
	return nil
}

// Release implements [store.Lock].
func (l *lock) Release() (err error) {
	l.release.Do(func() {
		lost := errors.Is(l.Err(), store.ErrLost)
		l.Stop()
		if lost {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), answer)
		defer cancel()
		now, e := l.s.lease(ctx)
		if err = e; e != nil || !l.holds(now) {
			return
		}
		l.mu.Lock()
		l.lease = now
		l.mu.Unlock()
		if l.s.passing {
			// Delete the Lease only as last seen, because it may have a new holder.
			err = call(ctx, func(ctx context.Context) error {
				return l.s.c.Delete(ctx, now, client.Preconditions{UID: &now.UID, ResourceVersion: &now.ResourceVersion})
			})
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				err = nil
			}
			return
		}
		err = l.write(ctx, func(lease *coordinationv1.Lease) {
			lease.Spec.HolderIdentity = nil
			delete(lease.Annotations, noteOwner)
		})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			err = nil // the Lease has a new holder
		}
	})
	return err
}

// sameBytes reports whether an object has the content to be written; then an earlier write
// succeeded and only its response was lost.
func sameBytes(have, want map[string][]byte) bool {
	if len(have) != len(want) {
		return false
	}
	for k, v := range want {
		if !bytes.Equal(have[k], v) {
			return false
		}
	}
	return true
}
