package ssh

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/proxy"
)

// A device that sends nothing any more ends its connection, however far away the deadline of
// the command is; a device that only has nothing to print does not.
func TestSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		o      deviceOptions
		silent bool // nothing passes any more once the command runs
		wait   time.Duration
		lost   bool
	}{
		"OpenSSH falls silent":                     {deviceOptions{version: "SSH-2.0-OpenSSH_9.2"}, true, 20 * time.Second, true},
		"OpenSSH works and prints nothing":         {deviceOptions{version: "SSH-2.0-OpenSSH_9.2"}, false, 3 * time.Second, false},
		"another server works and prints nothing":  {deviceOptions{}, false, 3 * time.Second, false},
		"a server that ignores requests for signs": {deviceOptions{ignores: true}, false, 3 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, tt.o)
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			var silent atomic.Bool
			d.exec = func(string, xssh.Channel) uint32 { silent.Store(tt.silent); <-never; return 0 }
			p, err := proxy.Open(d.addr, func(c proxy.Chunk) (int, bool) {
				if silent.Load() {
					return 0, false
				}
				return len(c.Data), false
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			cfg := d.config()
			cfg.Address, cfg.KnownHosts = p.Addr(), hostsFile(t, p.Addr(), d.keys...)
			cfg.Silence = 150 * time.Millisecond
			if !tt.lost {
				cfg.Silence = 2 * time.Second // much, for slow machines
			}
			c, err := Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.wait)
			defer cancel()
			_, err = c.Run(ctx, "x", nil)
			if lost := err != nil && strings.Contains(err.Error(), "has sent nothing for"); !errors.Is(err, ErrTimeout) || lost != tt.lost {
				t.Errorf("error %v; silence noticed %t, want %t", err, lost, tt.lost)
			}
			_ = c.Close() // a silent device takes no goodbye
		})
	}
}
