package operator

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// The lock of a fabric ensures that only one run writes to its devices. A run also holds the
// lock of a device while it writes to that device, because other Fabrics may contain the same
// device, and to keep readers away.

// deviceStore returns the store for the lock of a device, which is identified by its address.
func (d *deps) deviceStore(f *v1alpha1.Fabric, l *loaded, device string) (*journal.Secrets, error) {
	in, address := l.Fabric.Fabric(), ""
	if sw := in.Switch(device); sw != nil {
		address = sw.Address.V
	} else if h := in.Host(device); h != nil {
		address = h.Address.V
	}
	return d.stores.open(f.Namespace, "device "+cmp.Or(address, f.Name+"/"+device), journal.OpenDevice)
}

// writer returns who is writing to a device; nil if nobody is.
func (d *deps) writer(ctx context.Context, f *v1alpha1.Fabric, l *loaded, device string) (*store.Owner, error) {
	s, err := d.deviceStore(f, l, device)
	if err != nil {
		return nil, err
	}
	return s.Holder(ctx)
}

// lockDevice takes the lock of a device for a run that holds the lock of its fabric. It waits if
// another run holds the device's lock.
func (d *deps) lockDevice(ctx context.Context, f *v1alpha1.Fabric, l *loaded, device, plan string) (store.Lock, error) {
	s, err := d.deviceStore(f, l, device)
	if err != nil {
		return nil, err
	}
	ttl := cmp.Or(d.o.LockTTL, store.TTL)
	limit := time.NewTimer(2 * ttl)
	defer limit.Stop()
	tick := time.NewTicker(ttl / 6)
	defer tick.Stop()
	ours := "Fabric " + f.Name + ", "
	me := store.Self(ours+"plan "+plan, "")
	for {
		lock, err := s.Lock(ctx, me)
		held := (*store.HeldError)(nil)
		if !errors.As(err, &held) {
			return lock, err
		}
		// An interrupted run of this fabric has also lost the fabric's lock, so break its lock.
		if strings.HasPrefix(held.Owner.Run, ours) && s.Break(ctx, held.Owner, me) == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit.C:
			return nil, err
		case <-tick.C:
		}
	}
}
