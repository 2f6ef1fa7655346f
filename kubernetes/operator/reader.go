package operator

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/shard"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// readers reads this replica's share of the devices of all fabrics, each device once per period,
// and writes the results to their statuses.
type readers struct {
	deps
	fabrics cache.Cache
	group   *shard.Group
}

// NeedLeaderElection implements the manager's runnable; it returns false because every replica
// reads devices.
func (r *readers) NeedLeaderElection() bool { return false }

// Start reads until ctx ends.
func (r *readers) Start(ctx context.Context) error {
	inf, err := r.fabrics.GetInformer(ctx, &v1alpha1.Fabric{})
	if err != nil {
		return fmt.Errorf("watch Fabrics: %w", err)
	}
	changed := make(chan struct{}, 1)
	wake := func(any) { nudge(changed) }
	handler, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(any, now any) { wake(now) }, DeleteFunc: wake})
	if err != nil {
		return fmt.Errorf("watch Fabrics: %w", err)
	}
	defer func() { _ = inf.RemoveEventHandler(handler) }()

	var wg sync.WaitGroup
	defer wg.Wait()
	all := map[types.NamespacedName]*reader{}
	for {
		var l v1alpha1.FabricList
		if err := r.List(ctx, &l); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "list Fabrics")
		} else {
			there := map[types.NamespacedName]bool{}
			for i := range l.Items {
				key := client.ObjectKeyFromObject(&l.Items[i])
				there[key] = true
				if all[key] == nil {
					one := &reader{readers: r, key: key, wake: make(chan struct{}, 1), ended: make(chan visit), visits: map[string]visit{}}
					ctx, cancel := context.WithCancel(ctx)
					one.stop, all[key] = cancel, one
					wg.Go(func() { one.run(ctx) })
				}
				nudge(all[key].wake)
			}
			for key, one := range all {
				if !there[key] {
					one.stop()
					delete(all, key)
				}
			}
			if err := r.intents.forget(there); err != nil {
				log.FromContext(ctx).Error(err, "remove the files of an intent")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-r.group.Changed():
		}
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reader reads the devices of one fabric.
type reader struct {
	*readers
	key    types.NamespacedName
	stop   context.CancelFunc
	wake   chan struct{}
	ended  chan visit
	busy   int
	visits map[string]visit // by device name
}

// visit records when a device was read.
type visit struct {
	device  string
	reading bool
	last    time.Time // zero if unknown to this replica
	intent  string
	after   time.Time // earliest time of the next visit
}

func (r *reader) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, err := r.begin(ctx, &wg)
		if err != nil && ctx.Err() == nil {
			// The elected replica writes the reason to the Fabric's status.
			log.FromContext(ctx).Info("cannot read devices", "fabric", r.key, "why", err.Error())
			next = time.Now().Add(retry)
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			go func() { // drain the running reads, which end by themselves
				for range r.ended {
				}
			}()
			wg.Wait()
			close(r.ended)
			return
		case v := <-r.ended:
			r.busy--
			r.visits[v.device] = v
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// begin starts the reads that are due, as far as workers are free, and returns when to check
// again.
func (r *reader) begin(ctx context.Context, wg *sync.WaitGroup) (next time.Time, err error) {
	f, now := &v1alpha1.Fabric{}, time.Now()
	next = now.Add(time.Hour)
	if err := r.Get(ctx, r.key, f); err != nil || f.Spec.Suspend || !f.DeletionTimestamp.IsZero() {
		return next, client.IgnoreNotFound(err)
	}
	var due []visit
	in, err := r.intents.get(ctx, f)
	if err != nil {
		return next, err
	}
	defer func() {
		if e := in.release(); e != nil {
			err = e
		}
	}()
	digest := in.Fabric.Fabric().Hash
	for name := range deviceNames(in.Fabric) {
		v := r.visits[name]
		v.device = name
		switch at := r.due(f, digest, v); {
		case v.reading:
		case !r.group.Mine(r.shardKey(name)):
			delete(r.visits, name) // the replica that reads it now knows more
		case at.After(now):
			next = earlier(next, at)
		default:
			due = append(due, v)
		}
	}
	// If there are too many, start with those waiting longest, so that none is left out forever.
	slices.SortStableFunc(due, func(a, b visit) int { return a.last.Compare(b.last) })
	for _, v := range due[:min(len(due), max(0, r.o.Parallel-r.busy))] {
		r.busy++
		v.reading, v.after = true, time.Time{}
		r.visits[v.device] = v
		use := in.use()
		wg.Go(func() {
			v, err := r.visit(ctx, f, use, v)
			if e := use.release(); err == nil {
				err = e
			}
			if err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "read a device", "fabric", r.key, "device", v.device)
				v.after = time.Now().Add(retry)
			}
			v.reading = false
			r.ended <- v
		})
	}
	return next, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// deviceNames returns the switches and then the hosts of an intent, and whether each is a host.
func deviceNames(f *fleet.Fabric) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for _, sw := range f.Switches {
			if !yield(sw.Name, false) {
				return
			}
		}
		for _, h := range f.Hosts {
			if !yield(h.Name, true) {
				return
			}
		}
	}
}

func (r *reader) shardKey(device string) string { return r.key.String() + "/" + device }

// due returns when to read a device: once per period, or at once if its last reading is out of
// date.
func (r *reader) due(f *v1alpha1.Fabric, digest string, v visit) time.Time {
	at := v.last
	if upToDate(f, digest, v.last, v.intent) {
		at = period(r.shardKey(v.device), interval(f), v.last).Add(interval(f))
	}
	if v.after.After(at) {
		return v.after
	}
	return at
}

// upToDate reports whether a reading is current: it was compared with the fabric's current
// intent, and no run has ended since.
func upToDate(f *v1alpha1.Fabric, digest string, read time.Time, intent string) bool {
	run := f.Status.LastRun
	return intent == digest && (run == nil || run.Ended == nil || run.Ended.Time.Before(read))
}

// period returns the start of the device's period that contains at. The periods of all devices
// are spread over the interval, at whole seconds.
func period(key string, interval time.Duration, at time.Time) time.Time {
	h := fnv.New32a()
	_, _ = io.WriteString(h, key) // writing to a hash cannot fail
	seconds := max(1, int64((interval+time.Second-1)/time.Second))
	into := (at.Unix() - int64(h.Sum32())) % seconds
	return time.Unix(at.Unix()-(into+seconds)%seconds, 0)
}

// visit reads a device if this replica may and if, according to the device's status, it is due.
func (r *reader) visit(ctx context.Context, f *v1alpha1.Fabric, in *inUse, v visit) (visit, error) {
	digest := in.Fabric.Fabric().Hash
	held, release, ok := r.group.Hold(ctx, r.shardKey(v.device))
	if !ok {
		v.after = time.Now().Add(time.Second) // another replica has not released the device yet
		return v, nil
	}
	defer release()
	host := in.Fabric.Fabric().Host(v.device)
	o, err := r.statusOf(held, f, v.device, host != nil)
	if err != nil {
		return v, err
	}
	// Ignore a time from a clock that is far ahead; otherwise the device would not be read for
	// that long.
	if t := o.status.LastTry; t != nil && time.Until(t.Time) < skew {
		v.last, v.intent = t.Time, o.status.Intent
		if r.due(f, digest, v).After(time.Now()) {
			return v, nil // the previous replica has read it
		}
	}
	ends, known, err := r.ends(held, f, in, host)
	if err != nil {
		return v, err
	}
	if !known && time.Since(in.at) < interval(f) {
		v.after = time.Now().Add(time.Second)
		return v, nil
	}
	// Do not read a device while it is being written to.
	if by, err := r.writer(held, f, in.loaded, v.device); err != nil || by != nil {
		v.after = time.Now().Add(retry)
		return v, err
	}
	v.after = time.Time{}
	begun := time.Now().Truncate(time.Second)
	got, lacks := r.read(held, in, v.device, host, ends)
	if held.Err() != nil {
		return v, nil // the read was cancelled, so discard it
	}
	v.last, v.intent = begun, digest
	was := o.status.Drift
	if err := r.tellStatus(held, in, o, begun, &got, lacks); err != nil {
		return v, err
	}
	if now := o.status.Drift; was == 0 && now > 0 {
		// Attach the event to the device: events of other devices on the same object would only
		// be counted.
		r.events.Eventf(o.Object, f, corev1.EventTypeWarning, "Drifted", "Validate", "%s differs from the intent in %s", v.device, words.Count(int(now), "setting"))
	}
	return v, nil
}

// read reads a device. lacks names a setting that the intent lacks for a host, which is then not
// read.
func (r *reader) read(ctx context.Context, in *inUse, device string, host *intent.Host, ends fleet.Ends) (got fleet.Reading, lacks string) {
	a := r.o.access(in.loaded)
	if host != nil {
		if lacks = a.Lacks(host); lacks != "" {
			return fleet.Reading{Device: device, Where: host.Pos.String(), Findings: []checks.Finding{{ID: fleet.Unread, Severity: checks.Info, Device: device, Where: host.Pos.String(), Unchecked: "NICs", Because: "no " + lacks + " is stated",
				What: "the host has no " + lacks + " and was not read", Fix: "state its " + lacks + " in the intent"}}}, lacks
		}
	}
	one := fleet.Reader{Fabric: in.Fabric, Access: a, History: in.past, Once: true}
	return one.Read(ctx, device, ends), ""
}

// ends returns the link ends at a host's switches, which other replicas may have read. known
// reports whether all of them were compared with this intent.
func (r *reader) ends(ctx context.Context, f *v1alpha1.Fabric, in *inUse, host *intent.Host) (_ fleet.Ends, known bool, _ error) {
	results := map[string]*validate.Result{}
	if host == nil {
		return endsOf(results), true, nil
	}
	known = true
	fabric := in.Fabric.Fabric()
	for _, n := range host.NICs {
		peer, _ := nic.Peer(n)
		name := peer.Device
		if _, ok := results[name]; ok || fabric.Switch(name) == nil {
			continue
		}
		o := newDeviceObject(false)
		err := r.direct.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: deviceName(f.Name, name)}, o.Object)
		if client.IgnoreNotFound(err) != nil {
			return nil, false, err
		}
		if err != nil || o.status.Intent != fabric.Hash {
			known = false
			continue
		}
		k, err := readSummary(fabric, o.status.Summary)
		if err != nil {
			return nil, false, fmt.Errorf("status of %s: %w", name, err)
		}
		results[name] = k.result
	}
	return endsOf(results), known, nil
}
