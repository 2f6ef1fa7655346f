package shard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/shard"
)

func TestMain(m *testing.M) { os.Exit(rig.Stop(m.Run())) }

const patience = 2 * time.Minute

// A key moves to another member only if its member is gone, and each member has a share of the
// keys.
func TestOwner(t *testing.T) {
	var members []string
	for i := range 20 {
		members = append(members, fmt.Sprintf("replica-%d", i))
	}
	share, moved := map[string]int{}, 0
	const keys = 10000
	for i := range keys {
		key := fmt.Sprintf("default/pod1/leaf%d", i)
		was := shard.Owner(members, key)
		share[was]++
		now := shard.Owner(members[:19], key)
		if was != now {
			moved++
			if was != members[19] {
				t.Fatalf("%s goes from %s to %s, and %s is gone", key, was, now, members[19])
			}
		}
	}
	for _, m := range members {
		if n := share[m]; n < keys/20*8/10 || n > keys/20*12/10 {
			t.Errorf("%s has %d of %d keys", m, n, keys)
		}
	}
	if moved != share[members[19]] || shard.Owner(nil, "a") != "" {
		t.Errorf("%d moved", moved)
	}
}

// cut is the client of a process that may die.
type cut struct {
	client.Client
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (c *cut) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if c.dead.Load() {
		return errDead
	}
	return c.Client.Update(ctx, o, opts...)
}

func (c *cut) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	if c.dead.Load() {
		return errDead
	}
	return c.Client.List(ctx, l, opts...)
}

// crowd holds the members of a group that take keys again and again.
type crowd struct {
	*testing.T
	c    client.Client
	ns   string
	ttl  time.Duration
	keys []string
	mu   sync.Mutex
	who  map[string]string // current holder of each key
	last map[string]string // last holder of each key
	wg   sync.WaitGroup
}

// join adds a member, which leaves when stop is called. A member that is cut off from the API
// server cannot leave properly.
func (c *crowd) join(name string) (conn *cut, g *shard.Group, stop func()) {
	conn = &cut{Client: c.c}
	g = shard.New(conn, shard.Options{Namespace: c.ns, Name: "replica", Identity: name, TTL: c.ttl})
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan struct{})
	c.wg.Go(func() {
		defer close(done)
		if err := g.Start(ctx); err != nil {
			c.Error(err)
		}
	})
	c.wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, key := range c.keys {
				if held, release, ok := g.Hold(ctx, key); ok {
					c.hold(name, key)
					if _, _, twice := g.Hold(ctx, key); twice {
						c.Errorf("%s holds %s twice", name, key)
					}
					select { // some keys are held for longer
					case <-held.Done():
					case <-time.After(time.Duration(len(key)%3) * 20 * time.Millisecond):
					}
					c.let(name, key)
					release()
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return conn, g, func() { cancel(); <-done }
}

func (c *crowd) hold(name, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.who[key]; other != "" {
		c.Errorf("%s holds %s, which %s holds", name, key, other)
	}
	c.who[key], c.last[key] = name, name
}

func (c *crowd) let(_, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.who[key] = ""
}

// until waits until one of the names has held each key.
func (c *crowd) until(what string, names ...string) time.Duration {
	c.Helper()
	begun := time.Now()
	c.mu.Lock()
	clear(c.last)
	c.mu.Unlock()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		c.mu.Lock()
		all, each := true, map[string]bool{}
		for _, key := range c.keys {
			all = all && slices.Contains(names, c.last[key])
			each[c.last[key]] = true
		}
		c.mu.Unlock()
		if all && len(each) == len(names) {
			return time.Since(begun)
		}
		if time.Since(begun) > patience {
			c.Fatalf("not within %s: %s: %v", patience, what, c.last)
		}
	}
	return 0
}

// Members join, leave and die; no key ever has two holders, and no key stays without a holder.
func TestGroup(t *testing.T) {
	r := rig.Start(t)
	c := &crowd{T: t, c: r.Client, ns: r.Namespace(t), ttl: 6 * time.Second, who: map[string]string{}, last: map[string]string{}}
	for i := range 40 {
		c.keys = append(c.keys, "pod1/leaf"+strings.Repeat("x", i))
	}
	defer c.wg.Wait()
	conn, a, stopA := c.join("a")
	defer stopA()
	c.until("a is alone", "a")
	_, b, stopB := c.join("b")
	defer stopB()
	c.until("b has its share", "a", "b")
	_, _, stopC := c.join("c")
	c.until("c has its share", "a", "b", "c")
	stopC()
	if took := c.until("c has left", "a", "b"); took > c.ttl/2 {
		t.Errorf("the share of one that left was taken over after %s", took)
	}
	n := 0
	for _, key := range c.keys {
		if a.Mine(key) {
			n++
		}
		if a.Mine(key) == b.Mine(key) {
			t.Errorf("%s: of a %v, of b %v", key, a.Mine(key), b.Mine(key))
		}
	}
	if n == 0 || n == len(c.keys) {
		t.Errorf("a has %d of %d", n, len(c.keys))
	}
	conn.dead.Store(true)
	took := c.until("a is dead", "b")
	t.Logf("taken over after %s of %s", took.Round(time.Millisecond), c.ttl)
	conn.dead.Store(false)
	c.until("a is back", "a", "b")

	// The Leases of members that are gone are reused.
	_, d, stopD := c.join("d")
	defer stopD()
	c.until("d has its share", "a", "b", "d")
	var leases coordinationv1.LeaseList
	if err := r.Client.List(t.Context(), &leases, client.InNamespace(c.ns)); err != nil || len(leases.Items) != 3 {
		t.Errorf("%d Leases, %v", len(leases.Items), err)
	}
	if got := d.Members(); len(got) != 3 || d.Name() == "" || !slices.Contains(got, d.Name()) {
		t.Errorf("%s sees %v", d.Name(), got)
	}
}
