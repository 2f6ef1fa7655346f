package gnmi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// A Set ends if the device stops answering altogether, however long the Set may take. If the
// device is only busy with the Set, the client waits.
func TestSetEndsWithADeadDevice(t *testing.T) {
	for name, dead := range map[string]bool{"dead": true, "busy": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New(1)
				d := newDevice(t, deviceOptions{network: network})
				working := make(chan struct{})
				d.set = func(ctx context.Context, _ *gpb.SetRequest) (*gpb.SetResponse, error) {
					close(working)
					wait := time.NewTimer(10 * time.Minute)
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
					default: // the request of Dial
					}
				}
				cfg := d.config()
				cfg.SetTimeout, cfg.Dial = time.Hour, network.Client(nil).Dial
				began := time.Now()
				c, err := Dial(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				err = c.Set(t.Context(), SetRequest{Origin: "sonic-db", Deletes: []Path{{}}})
				if lost := err != nil && strings.Contains(err.Error(), "no answer from the device for"); lost != dead || dead && !errors.Is(err, ErrTimeout) || !dead && err != nil {
					t.Errorf("error %v", err)
				}
				if took := time.Since(began); dead && took > 2*DefaultSilence || !dead && took < 10*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A device that does not answer the TLS handshake gives a timeout, not an error about
// certificates.
func TestSilenceInTheHandshake(t *testing.T) {
	e := &RPCError{}
	(&Client{}).unavailable(e, `connection error: desc = "transport: authentication handshake failed: context deadline exceeded"`)
	if !errors.Is(e, ErrTimeout) || errors.Is(e, ErrTLS) {
		t.Errorf("error %v", e)
	}
}
