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

// The lock of a fabric lets one run write to its devices. That of a device, which a run
// holds only while it writes to that one, keeps runs over other Fabrics with the same device
// away as well, and readers.

// deviceStore has the lock of a device, which is known by its address.
func (d *deps) deviceStore(f *v1alpha1.Fabric, l *loaded, device string) (*journal.Secrets, error) {
	in, address := l.Fabric.Fabric(), ""
	if sw := in.Switch(device); sw != nil {
		address = sw.Address.V
	} else if h := in.Host(device); h != nil {
		address = h.Address.V
	}
	return d.stores.open(f.Namespace, "device "+cmp.Or(address, f.Name+"/"+device), journal.OpenDevice)
}

// writer is who writes to a device; nil for nobody.
func (d *deps) writer(ctx context.Context, f *v1alpha1.Fabric, l *loaded, device string) (*store.Owner, error) {
	s, err := d.deviceStore(f, l, device)
	if err != nil {
		return nil, err
	}
	return s.Holder(ctx)
}

// lockDevice takes the lock of a device for a run that has the lock of its fabric. Another
// one is waited for.
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
		// A run of this fabric that was cut off lost the lock of the fabric, too.
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
