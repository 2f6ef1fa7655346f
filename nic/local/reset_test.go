package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Both ports of a card go down in a reset. A reset that would cut off the machine is refused, even
// if neither port alone is the only path.
func TestResets(t *testing.T) {
	ports := []localtest.Port{
		{Name: ens0, RDMA: "mlx5_bond_0", PCI: pci0, Driver: nic.DriverMLX5, Bond: "bond0"},
		{Name: ens1, PCI: pci1, Driver: nic.DriverMLX5, Bond: "bond0"},
		{Name: "eth0", PCI: "0000:01:00.0", Driver: "igb"},
	}
	const by = "mstfwreset -d " + pci0 + " -y -l 3 -t 0 reset"
	for _, tt := range []struct {
		name, route string
		levels      []int
		o           local.Options
		does        string
		blocked     string
	}{
		{"managed over another port", "eth0", []int{3, 4}, local.Options{}, by, ""},
		{"managed over the bond of the card", "bond0", []int{3, 4}, local.Options{}, by, "it carries the machine's only path of the default route (by " + ens0 + ", " + ens1 + ")"},
		{"unless told", "bond0", []int{3, 4}, local.Options{CutOff: true}, by, ""},
		{"a reboot", "bond0", []int{4}, local.Options{}, "systemctl reboot", ""},
	} {
		h := newHost(t, ports...)
		h.Routes(routes(tt.route)...)
		card := mlxconfigtest.New("mstconfig", pci0)
		card.Levels = tt.levels
		h.SetCard(card)
		reboots := 0
		h.Programs["systemctl"] = func(_ context.Context, args []string) (runner.Result, error) {
			if slices.Equal(args, []string{"reboot"}) {
				reboots++
			}
			return runner.Result{}, nil
		}
		m := h.Machine()
		got, err := m.Resets(t.Context(), []string{ens0}, tt.o)
		if err != nil || len(got) != 1 || got[0].Card != "0000:3b:00" || !slices.Equal(got[0].Ports, []string{ens0, ens1}) || got[0].Does != tt.does || got[0].Blocked != tt.blocked {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
			continue
		}
		card.Change("CNP_DSCP_P1", func(p *mlxconfigtest.Param) { p.Next = 40 })
		err = m.Reset(t.Context(), got[0], tt.o)
		reset := card.Get("CNP_DSCP_P1").Current == 40
		switch {
		case tt.blocked != "" && (!errors.Is(err, local.ErrUnsupported) || !strings.Contains(err.Error(), tt.blocked) || reset),
			tt.blocked == "" && err != nil, tt.blocked == "" && reset == (reboots > 0):
			t.Errorf("%s: %v, card reset %v, %d reboots", tt.name, err, reset, reboots)
		}
		other := got[0]
		other.Way.Type = 2
		if err := m.Reset(t.Context(), other, tt.o); !errors.Is(err, mlxconfig.ErrStale) {
			t.Errorf("%s: another way: %v", tt.name, err)
		}
		if _, err := m.Resets(t.Context(), []string{"eth0"}, tt.o); !errors.Is(err, local.ErrUnsupported) {
			t.Errorf("%s: eth0: %v", tt.name, err)
		}
	}
}
