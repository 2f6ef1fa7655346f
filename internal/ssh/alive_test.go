package ssh

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// A device that falls silent loses its connection, even if the command's deadline is far away. A
// device that merely has nothing to print keeps it.
func TestSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		o      deviceOptions
		silent bool // nothing arrives any more once the command runs
		lost   bool
	}{
		"OpenSSH falls silent":                     {deviceOptions{version: "SSH-2.0-OpenSSH_9.2"}, true, true},
		"another server falls silent":              {deviceOptions{}, true, true},
		"OpenSSH works and prints nothing":         {deviceOptions{version: "SSH-2.0-OpenSSH_9.2"}, false, false},
		"another server works and prints nothing":  {deviceOptions{}, false, false},
		"a server that ignores requests for signs": {deviceOptions{ignores: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.o.network = memnet.New(1)
				d := newDevice(t, tt.o)
				never := make(chan struct{})
				t.Cleanup(func() { close(never) })
				var silent atomic.Bool
				d.exec = func(string, xssh.Channel) uint32 { silent.Store(tt.silent); <-never; return 0 }
				cfg := d.config()
				cfg.Dial = tt.o.network.Client(func(p memnet.Piece) memnet.Fate {
					return memnet.Fate{Pass: len(p.Data), Silent: silent.Load()}
				}).Dial
				c, err := Dial(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				_, err = c.Run(ctx, "x", nil)
				lost := err != nil && strings.Contains(err.Error(), "has sent nothing for")
				if took := time.Since(began); !errors.Is(err, ErrTimeout) || lost != tt.lost || lost && took > DefaultSilence+DefaultSilence/3 {
					t.Errorf("error %v after %s; silence noticed %t, want %t", err, took, lost, tt.lost)
				}
				_ = c.Close() // a silent device does not answer the close
			})
		})
	}
}
