// Package shard distributes keys, such as the devices of fabrics, over the replicas of the
// operator. Each replica has a Lease. Rendezvous hashing assigns each key to one of the living
// replicas, so that only the keys of a replica that joins or leaves move.
//
// Replicas learn at different times which others are alive, but a key still has at most one
// holder: each replica publishes in its Lease the members that it works with. A replica takes a
// key only after it has published members that assign the key to it, and has then seen, by
// asking the API server directly, no living replica that claims the key. A replica that must
// give up a key it holds claims the key until it has released it. A replica that cannot renew
// its Lease, or was stalled for longer than the Lease lasts, drops all its keys before another
// replica may consider it dead; see [store.Lease].
package shard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// TTL is the default time within which the keys of a dead replica are taken over.
const TTL = 30 * time.Second

const (
	label   = "roce-fabric.io/replicas" // label of the Leases of a group
	noteOwn = "roce-fabric.io/claims"
)

// Options configure a group.
type Options struct {
	Namespace string
	// Name is the name of the group and the prefix of its Leases' names.
	Name string
	// Identity identifies this process uniquely.
	Identity string
	// TTL is the time within which the keys of a dead replica are taken over; 0 means [TTL].
	TTL time.Duration
}

// claims is what a replica publishes in its Lease.
type claims struct {
	// Members are the Leases of the members that the replica works with. It claims the keys that
	// they assign to it.
	Members []string `json:"members"`
	// Still lists further keys that the replica still holds.
	Still []string `json:"still,omitempty"`
	// Valid is how long the claims hold without a renewal.
	Valid metav1.Duration `json:"valid"`
}

// member is the Lease of a replica as last seen.
type member struct {
	version string
	since   time.Time // by this process's clock, because the clocks of two machines differ
	claims  claims
}

// Group is this process as a member of a group.
type Group struct {
	c       client.Client // has no cache
	o       Options
	valid   time.Duration // how long a Lease is valid
	changed chan struct{}
	// released receives a value when a key is released.
	released chan struct{}

	mu      sync.Mutex
	lease   *store.Lease
	own     *coordinationv1.Lease
	working []string // members in use: published, and the other replicas checked since
	next    []string // members to use next
	others  map[string]claims
	held    map[string]bool
	seen    map[string]*member
}

// New returns a group that this process joins in [Group.Start]. c must not have a cache.
func New(c client.Client, o Options) *Group {
	o.TTL = cmp.Or(o.TTL, TTL)
	// Others see the last renewal up to a sixth of valid late, and its expiry another sixth
	// late.
	valid := o.TTL * 7 / 10
	return &Group{c: c, o: o, valid: valid, changed: make(chan struct{}, 1), released: make(chan struct{}, 1), held: map[string]bool{}, seen: map[string]*member{}}
}

// NeedLeaderElection implements the manager's runnable; it returns false because every replica
// is a member.
func (g *Group) NeedLeaderElection() bool { return false }

// Changed receives a value when the set of this member's keys may have changed.
func (g *Group) Changed() <-chan struct{} { return g.changed }

// Name returns the name of this member's Lease; "" if it has none.
func (g *Group) Name() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own == nil {
		return ""
	}
	return g.own.Name
}

// Members returns the Leases of the living replicas.
func (g *Group) Members() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.next)
}

// Start makes this process a member until ctx ends.
func (g *Group) Start(ctx context.Context) error {
	retry := time.NewTicker(g.valid / 6)
	defer retry.Stop()
	for ctx.Err() == nil {
		lease, err := g.join(ctx)
		if err == nil {
			over, stop := lease.Guard(ctx)
			<-over.Done()
			stop()
			err = g.leave(lease)
		}
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "this replica is not a member of its group", "group", g.o.Name)
		}
		select {
		case <-ctx.Done():
		case <-retry.C:
		}
	}
	return nil
}

// join takes a free Lease or creates one.
func (g *Group) join(ctx context.Context) (*store.Lease, error) {
	begun := time.Now()
	own, err := g.take(ctx)
	for apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		begun = time.Now()
		own, err = g.take(ctx) // another replica was faster
	}
	if err != nil {
		return nil, fmt.Errorf("take a Lease of the group %s: %w", g.o.Name, err)
	}
	g.mu.Lock()
	g.own = own
	g.mu.Unlock()
	if err := g.beat(ctx); err != nil {
		g.forget()
		return nil, err
	}
	lease := store.Keep(begun, g.valid, g.beat)
	g.mu.Lock()
	g.lease = lease
	g.mu.Unlock()
	return lease, nil
}

// forget clears the membership, so that this replica owns no keys.
func (g *Group) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.own, g.lease, g.working, g.next, g.others = nil, nil, nil, nil, nil
}

func (g *Group) take(ctx context.Context) (*coordinationv1.Lease, error) {
	all, err := g.list(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range all {
		l := &all[i]
		if holder := l.Spec.HolderIdentity; holder == nil || *holder == "" || *holder == g.o.Identity {
			return l, g.write(ctx, l, claims{})
		}
		names[l.Name] = true
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: g.o.Namespace, Labels: map[string]string{label: g.o.Name}}}
	for n := 0; l.Name == "" || names[l.Name]; n++ {
		l.Name = fmt.Sprintf("%s-%d", g.o.Name, n)
	}
	return l, g.write(ctx, l, claims{})
}

// write creates or renews the Lease of this replica, with its claims.
func (g *Group) write(ctx context.Context, l *coordinationv1.Lease, c claims) error {
	c.Valid = metav1.Duration{Duration: g.valid}
	note, err := json.Marshal(c)
	if err != nil {
		return err
	}
	now, seconds := metav1.NowMicro(), int32((g.valid+time.Second-1)/time.Second)
	s := &l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity != g.o.Identity {
		s.HolderIdentity, s.AcquireTime = &g.o.Identity, &now
	}
	s.RenewTime, s.LeaseDurationSeconds = &now, &seconds
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, noteOwn, string(note))
	if l.ResourceVersion == "" {
		return g.c.Create(ctx, l)
	}
	return g.c.Update(ctx, l)
}

func (g *Group) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	var l coordinationv1.LeaseList
	if err := g.c.List(ctx, &l, client.InNamespace(g.o.Namespace), client.MatchingLabels{label: g.o.Name}); err != nil {
		return nil, fmt.Errorf("list the Leases of the group %s: %w", g.o.Name, err)
	}
	return l.Items, nil
}

// beat publishes this replica's claims and reads those of the others, until the members that it
// has published are those alive.
func (g *Group) beat(ctx context.Context) error {
	for {
		g.mu.Lock()
		own, members := g.own.DeepCopy(), g.next
		c := claims{Members: members}
		for key := range g.held {
			if Owner(members, key) != own.Name {
				c.Still = append(c.Still, key)
			}
		}
		g.mu.Unlock()
		slices.Sort(c.Still)
		wrong := g.write(ctx, own, c)
		if wrong != nil && !apierrors.IsConflict(wrong) && !apierrors.IsNotFound(wrong) {
			return wrong
		}
		all, err := g.list(ctx)
		if err != nil {
			return err
		}
		now := find(all, own.Name)
		if now == nil || now.Spec.HolderIdentity == nil || *now.Spec.HolderIdentity != g.o.Identity {
			return fmt.Errorf("%w: another replica has the Lease %s", store.ErrLost, own.Name)
		}
		if wrong != nil { // a write whose response was lost
			own = now
		}
		if settled := g.look(own, members, all, wrong == nil); settled {
			return g.free(ctx, all)
		}
	}
}

func find(all []coordinationv1.Lease, name string) *coordinationv1.Lease {
	if i := slices.IndexFunc(all, func(l coordinationv1.Lease) bool { return l.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// look processes the Leases. members are the members that this replica has published, if
// published is set.
func (g *Group) look(own *coordinationv1.Lease, members []string, all []coordinationv1.Lease, published bool) (settled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.own = own
	alive, others := []string{own.Name}, map[string]claims{}
	for i := range all {
		l := &all[i]
		m := g.seen[l.Name]
		if m == nil || m.version != l.ResourceVersion {
			m = &member{version: l.ResourceVersion, since: time.Now()}
			_ = json.Unmarshal([]byte(l.Annotations[noteOwn]), &m.claims) // invalid annotations claim nothing
			g.seen[l.Name] = m
		}
		if l.Name == own.Name || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" || g.dead(l) {
			continue
		}
		alive, others[l.Name] = append(alive, l.Name), m.claims
	}
	slices.Sort(alive)
	if published {
		g.working, g.others = members, others
	}
	settled = published && slices.Equal(alive, members)
	g.next = alive
	select {
	case g.changed <- struct{}{}:
	default:
	}
	return settled
}

// dead reports whether a Lease has not been renewed for as long as it is valid.
func (g *Group) dead(l *coordinationv1.Lease) bool {
	m := g.seen[l.Name]
	return m != nil && m.version == l.ResourceVersion && time.Since(m.since) > max(g.valid, m.claims.Valid.Duration)
}

// free releases the Leases of dead replicas, so that their number does not grow. Only the first
// living member does this.
func (g *Group) free(ctx context.Context, all []coordinationv1.Lease) error {
	g.mu.Lock()
	var dead []*coordinationv1.Lease
	for i := range all {
		if l := &all[i]; l.Name != g.own.Name && g.next[0] == g.own.Name && l.Spec.HolderIdentity != nil && g.dead(l) {
			dead = append(dead, l)
		}
	}
	g.mu.Unlock()
	for _, l := range dead {
		l.Spec.HolderIdentity = nil
		if err := g.c.Update(ctx, l); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// leave ends a membership: it waits until no key is held, and releases the Lease, so that others
// need not wait for its expiry.
func (g *Group) leave(lease *store.Lease) error {
	g.mu.Lock()
	g.lease = nil // take no more keys
	g.mu.Unlock()
	limit := time.NewTimer(g.valid)
	defer limit.Stop()
	over, stop := lease.Guard(context.Background())
	defer stop()
	for idle := false; !idle && over.Err() == nil; {
		g.mu.Lock()
		idle = len(g.held) == 0
		g.mu.Unlock()
		if !idle {
			select {
			case <-g.released:
			case <-limit.C:
				stop()
			case <-over.Done():
			}
		}
	}
	reason := cmp.Or(lease.Err(), over.Err())
	lease.Stop()
	g.mu.Lock()
	own := g.own
	g.mu.Unlock()
	g.forget()
	if reason != nil {
		return reason
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.valid)
	defer cancel()
	own.Spec.HolderIdentity = nil
	return client.IgnoreNotFound(g.c.Update(ctx, own))
}

// Mine reports whether a key belongs to this member. The member may still have to wait until
// another one has released the key.
func (g *Group) Mine(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own != nil && Owner(g.next, key) == g.own.Name
}

// Hold takes a key if this member may take it now. Like the context of [fence.With], held ends
// when the member must give up the key; the caller must call release once its work on the key
// has ended.
func (g *Group) Hold(ctx context.Context, key string) (held context.Context, release func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease == nil || g.lease.Err() != nil || g.held[key] || Owner(g.working, key) != g.own.Name || Owner(g.next, key) != g.own.Name {
		return nil, nil, false
	}
	for name, c := range g.others {
		if slices.Contains(c.Still, key) || !slices.Equal(c.Members, g.working) && Owner(c.Members, key) == name {
			return nil, nil, false
		}
	}
	g.held[key] = true
	held, stop := g.lease.Guard(ctx)
	return held, func() {
		stop()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.held, key)
		select {
		case g.released <- struct{}{}:
		default:
		}
	}, true
}

// Owner returns the member that a key belongs to; "" if there are no members.
func Owner(members []string, key string) (owner string) {
	var most uint64
	for _, m := range members {
		if w := weight(m, key); owner == "" || w > most || w == most && m < owner {
			owner, most = m, w
		}
	}
	return owner
}

// weight returns a pseudo-random number for a member and a key.
func weight(member, key string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, member+"\x00"+key) // writing to a hash cannot fail
	// FNV alone gives similar names similar weights.
	x := h.Sum64()
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
