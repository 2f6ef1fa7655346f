package gnmi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A Set ends if the device answers nothing at all any more, however long it may take; a device
// that only works on it for long is waited for.
func TestSetEndsWithADeadDevice(t *testing.T) {
	for name, dead := range map[string]bool{"dead": true, "busy": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Only a dead device reaches its time; the other one has much of it, for slow machines.
			silence := map[bool]time.Duration{true: 150 * time.Millisecond, false: 2 * time.Second}[dead]
			d := newDevice(t, deviceOptions{})
			working := make(chan struct{})
			d.set = func(ctx context.Context, _ *gpb.SetRequest) (*gpb.SetResponse, error) {
				close(working)
				wait := time.NewTimer(3 * time.Second)
				defer wait.Stop()
				select {
				case <-ctx.Done():
				case <-map[bool]<-chan time.Time{false: wait.C}[dead]:
				}
				return &gpb.SetResponse{}, nil
			}
			d.hold = func(ctx context.Context) {
				select {
				case <-working:
					if dead {
						<-ctx.Done()
					}
				default: // Dial
				}
			}
			cfg := d.config()
			cfg.SetTimeout, cfg.Silence = 20*time.Second, silence
			c, err := Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = c.Set(t.Context(), SetRequest{Origin: "sonic-db", Deletes: []Path{{}}})
			if lost := err != nil && strings.Contains(err.Error(), "has answered nothing for"); lost != dead || dead && !errors.Is(err, ErrTimeout) || !dead && err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}
