package operator_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// A device that another run writes to is neither written to nor read until its lock is released.
func TestDeviceLock(t *testing.T) {
	b := newBench(t)
	f := b.fabric(b.start(1), v1alpha1.Plan)
	o := options()
	o.LockTTL = time.Minute
	b.operate(o)
	p := b.plan(f)

	device, err := journal.Open(b.r.Client, b.ns, "device "+b.lab.Devices["leaf1"].GNMI, o.LockTTL)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := device.Lock(t.Context(), store.Self("another run", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	b.approve("yes", p.Name, p.Spec.Digest)
	leaf, spine := &v1alpha1.SwitchStatus{ObjectMeta: b.meta("pod1.leaf1")}, &v1alpha1.SwitchStatus{ObjectMeta: b.meta("pod1.spine1")}
	b.until(p, "it is carried out", func() bool { return p.Status.Phase == v1alpha1.Applying })
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(leaf), leaf); err != nil {
		t.Fatal(err)
	}
	before := leaf.Status.LastTry
	interval := f.Spec.Interval.Duration
	b.until(spine, "spine1 is read in two more periods", func() bool { return spine.Status.LastTry.Sub(before.Time) > 2*interval })
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(leaf), leaf); err != nil {
		t.Fatal(err)
	}
	if age := spine.Status.LastTry.Sub(leaf.Status.LastTry.Time); age < interval {
		t.Errorf("leaf1 was read at %s, while another run writes to it", leaf.Status.LastTry)
	}
	if all := b.writes("leaf1"); len(all) > 0 {
		t.Errorf("leaf1 was written to: %v", all)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	b.ends(p, v1alpha1.Applied)
	b.apart("writers", b.sets, b.commands)
	if held, err := device.Holder(t.Context()); err != nil || held != nil {
		t.Errorf("the lock of leaf1 is that of %v, %v", held, err)
	}
}
