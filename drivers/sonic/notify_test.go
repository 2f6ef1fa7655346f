package sonic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// The switch reports changed rows in the tables that it has, and the subscription ends with its
// context.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511"})
		n := b.open()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		row := b.Config()["PORT"][b.ports[0]]
		ready, changed := 0, 0
		err := n.Notify(ctx, func() {
			ready++
			row["mtu"] = "1500"
			b.SetRow("PORT", b.ports[0], row)
		}, func() {
			if changed++; changed == 2 {
				cancel()
				return
			}
			b.DelRow("PORT", b.ports[0])
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, drivers.ErrUnsupported) || ready != 1 || changed != 2 {
			t.Errorf("%v; ready %d times, changed %d times", err, ready, changed)
		}
	})
}

func TestNotifyFails(t *testing.T) {
	for name, tc := range map[string]struct {
		arm   func(b *box)
		ready func(b *box)
		want  error
	}{
		"no Subscribe":    {arm: func(b *box) { b.Faults().NoSubscribe(true) }, want: drivers.ErrUnsupported},
		"not this system": {arm: func(b *box) { b.Faults().NoSonicDB(true) }, want: drivers.ErrUnsupported},
		"does not answer": {arm: func(b *box) { b.Faults().RefuseConnections(true) }, want: drivers.ErrUnreachable},
		"wrong password":  {arm: func(b *box) { b.target.GNMI.Password = "wrong" }, want: drivers.ErrAuth},
		"gone meanwhile":  {ready: func(b *box) { b.Faults().RefuseConnections(true) }, want: drivers.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: td2, release: "202511"})
				if tc.arm != nil {
					tc.arm(b)
				}
				err := b.open().Notify(t.Context(), func() {
					if tc.ready == nil {
						t.Error("it is ready")
						return
					}
					tc.ready(b)
				}, func() {})
				for _, is := range []error{drivers.ErrUnsupported, drivers.ErrUnreachable, drivers.ErrAuth} {
					if errors.Is(err, is) != (is == tc.want) {
						t.Errorf("%v is %q: %v", err, is, errors.Is(err, is))
					}
				}
			})
		})
	}
}
