package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// TestFaults checks how the tool reacts to each fault of a host.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*host.Faults)
		check func(*testing.T, *box)
	}{
		{"writes that change nothing", func(f *host.Faults) { f.Ignore(true) }, func(t *testing.T, b *box) {
			h := open(t, b, remote.Options{})
			if err := apply(t, h); !errors.Is(err, local.ErrIgnored) || read(t, h).Ports[ens].PFC.V != 0 {
				t.Error(err)
			}
		}},
		{"a link that stays down", func(f *host.Faults) { f.LinkDead(true) }, func(t *testing.T, b *box) {
			if err := apply(t, open(t, b, remote.Options{})); !errors.Is(err, local.ErrCarrier) || !errors.Is(err, local.ErrPartial) {
				t.Error(err)
			}
		}},
		{"DCBX of the firmware", func(f *host.Faults) { f.FirmwareDCBX(true) }, func(t *testing.T, b *box) {
			h := open(t, b, remote.Options{})
			if got := read(t, h).Ports[ens].DCBX; got.V != nic.OwnerFirmware {
				t.Errorf("DCBX belongs to %s", got.V)
			}
			if err := apply(t, h); err == nil || !strings.Contains(err.Error(), "dcbx") {
				t.Error(err)
			}
			b.Faults().FirmwareDCBX(false)
			if err := apply(t, h); err != nil {
				t.Error(err)
			}
		}},
		{"no root", func(f *host.Faults) { f.NoRoot(true) }, func(t *testing.T, b *box) {
			if _, err := open(t, b, remote.Options{}).Read(t.Context(), nil); !errors.Is(err, remote.ErrSudo) {
				t.Error(err)
			}
			h := open(t, b, remote.Options{Sudo: remote.SudoNone})
			p := read(t, h).Ports[ens]
			if !p.PFC.Set || p.Missing[nic.FieldNV] == "" || p.Missing[nic.FieldCNPDSCP] == "" {
				t.Errorf("a user reads PFC %v, and misses %v", p.PFC, p.Missing)
			}
		}},
		{"an RDMA device that vanishes", func(f *host.Faults) { f.VanishRDMA(ens) }, func(t *testing.T, b *box) {
			h := open(t, b, remote.Options{})
			p := read(t, h).Ports[ens]
			if p == nil || !p.PFC.Set || p.ToS.Set || p.Missing[nic.FieldToS] == "" {
				t.Errorf("%+v", p)
			}
			b.RenewRDMA(ens)
			if p := read(t, h).Ports[ens]; !p.ToS.Set || p.ToS.V != 0 {
				t.Errorf("made anew: %+v", p.ToS)
			}
		}},
		{"no firmware tools", func(f *host.Faults) { f.NoTools(true) }, func(t *testing.T, b *box) {
			if p := read(t, open(t, b, remote.Options{})).Ports[ens]; p.NV != nil || !strings.Contains(p.Missing[nic.FieldNV], "no mlxconfig or mstconfig") {
				t.Errorf("%q", p.Missing[nic.FieldNV])
			}
		}},
		{"firmware tools that fail", func(f *host.Faults) { f.ClosedCards(true) }, func(t *testing.T, b *box) {
			if p := read(t, open(t, b, remote.Options{})).Ports[ens]; p.NV != nil || !strings.Contains(p.Missing[nic.FieldNV], "Failed to open the device") {
				t.Errorf("%q", p.Missing[nic.FieldNV])
			}
		}},
		{"a warning among the values", func(f *host.Faults) { f.CardsWarn(true) }, func(t *testing.T, _ *box) {
			// In the version without JSON, the warning is printed between the rows.
			b := start(t, func(o *host.Options) { o.Tools = mlxconfigtest.V421 })
			b.Faults().CardsWarn(true)
			if p := read(t, open(t, b, remote.Options{})).Ports[ens]; p.NV["CNP_DSCP_P1"].Next != "48" || len(p.NV) < 10 {
				t.Errorf("%v, %q", p.NV, p.Missing[nic.FieldNV])
			}
		}},
		{"cut before the request", func(f *host.Faults) { f.DropBefore(agent.VerbApply) }, func(t *testing.T, b *box) {
			if err := apply(t, open(t, b, remote.Options{})); !errors.Is(err, agent.ErrEnded) {
				t.Error(err)
			}
			if p := read(t, open(t, b, remote.Options{})).Ports[ens]; p.PFC.V != 0 || p.MTU.V != 1500 {
				t.Errorf("something was done: %+v", p)
			}
		}},
		{"cut after the request", func(f *host.Faults) { f.DropAfter(agent.VerbApply) }, func(t *testing.T, b *box) {
			if err := apply(t, open(t, b, remote.Options{})); !errors.Is(err, agent.ErrEnded) {
				t.Error(err)
			}
			if got := left(t, open(t, b, remote.Options{})); len(got) > 0 {
				t.Errorf("left to do: %v", got)
			}
		}},
		{"refused connections", func(f *host.Faults) { f.RefuseConnections(true) }, func(t *testing.T, b *box) {
			if _, err := remote.Open(t.Context(), b.config, remote.Options{Binary: own(t)}); err == nil {
				t.Error("it connects")
			}
			b.Faults().Clear()
			read(t, open(t, b, remote.Options{}))
		}},
		{"another host key", func(f *host.Faults) { f.WrongHostKey(true) }, func(t *testing.T, b *box) {
			if _, err := remote.Open(t.Context(), b.config, remote.Options{Binary: own(t)}); !errors.Is(err, ssh.ErrHostKeyChanged) || len(b.Programs()) > 0 {
				t.Error(err)
			}
		}},
		{"a delay", func(f *host.Faults) { f.Delay(time.Hour) }, func(t *testing.T, b *box) {
			// Nothing happens before the context ends.
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := remote.Open(ctx, b.config, remote.Options{Binary: own(t)}); err == nil {
				t.Error("it was not held")
			}
			b.Faults().Clear()
			read(t, open(t, b, remote.Options{}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, nil)
			c.fault(b.Faults())
			c.check(t, b)
		})
	}
}
