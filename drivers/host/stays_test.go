package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// rivalled is a machine on which something else acts after a run has written.
type rivalled struct {
	agent.Machine
	act func()
}

func (rivalled) Close() error { return nil }

func (r rivalled) Watch(ctx context.Context, desired *nic.Host, steps []local.Step) ([]nic.Change, error) {
	r.act()
	return r.Machine.Watch(ctx, desired, steps)
}

// If one of six other programs sets a value back, the plan after the apply names it, has no step
// for the value, and says that the host is not as intended.
func TestRivalsAreNamed(t *testing.T) {
	pfc := func(k *localtest.Host) { k.Corrupt(ens, func(s *dcb.State) { s.PFC.Enabled = 0 }) }
	mtu := func(k *localtest.Host) { k.Put("class/net/"+ens+"/mtu", "1500\n") }
	tos := func(k *localtest.Host) { k.SetCM("mlx5_0", "default_roce_tos", "0") }
	const script = "#!/bin/sh\nwhile sleep 1; do\n  cma_roce_tos -d mlx5_0 -t 0\ndone\n"
	for name, c := range map[string]struct {
		act   func(*localtest.Host)
		files map[string]string
		run   func(*localtest.Host)
		says  string
	}{
		"lldpad": {pfc, nil, func(k *localtest.Host) { k.Process(7, "lldpad") }, "pfc of ens1f0np0 was set to 0x08 {3}, and something else has set it to 0x00 {} since: suspected: lldpad"},
		"mlnx_qos in cron": {pfc, map[string]string{"etc/cron.d/roce": "* * * * * root mlnx_qos -i ens1f0np0 --pfc 0,0,0,0,0,0,0,0\n"}, nil,
			"since: suspected: mlnx_qos (/etc/cron.d/roce:1)"},
		"a loop": {pfc, nil, func(k *localtest.Host) {
			k.Process(8, "bash", "bash", "-c", "while sleep 1; do dcb pfc set dev ens1f0np0 prio-pfc all:off; done")
		}, "since: suspected: dcb (process 8)"},
		"NetworkManager": {mtu, map[string]string{"etc/NetworkManager/system-connections/rail": "[connection]\ntype=ethernet\ninterface-name=ens1f0np0\n[ethernet]\nmtu=1500\n"},
			func(k *localtest.Host) { k.Process(9, "NetworkManager") }, "mtu of ens1f0np0 was set to 9000, and something else has set it to 1500 since: suspected: NetworkManager (/etc/NetworkManager/system-connections/rail:5)"},
		"systemd-networkd": {mtu, map[string]string{"run/systemd/network/10.network": "[Match]\nName=ens*\n[Link]\nMTUBytes=1500\n"},
			func(k *localtest.Host) { k.Process(9, "systemd-network") }, "since: suspected: systemd-networkd (/run/systemd/network/10.network:4)"},
		"a service": {tos, map[string]string{"run/systemd/system/roce.service": "[Service]\nExecStart=/opt/roce.sh\n", "opt/roce.sh": script}, nil,
			"tos of ens1f0np0 was set to 106 (DSCP 26), and something else has set it to 0 (DSCP 0) since: suspected: cma_roce_tos (/opt/roce.sh:3, run by /run/systemd/system/roce.service:2)"},
		"nobody that is found": {pfc, map[string]string{"etc/cron.d/roce": "* * * * * root mlnx_qos -i ens1f0np0 --trust pcp\n"}, nil, "no other writer was found"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, cfg := machine(t)
				for file, text := range c.files {
					at := filepath.Join(filepath.Dir(k.Roots.Etc), file)
					if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if c.run != nil {
					c.run(k)
				}
				cfg.Connect = func(context.Context) (host.Conn, error) {
					return rivalled{agent.Local(k.Machine()), func() { c.act(k) }}, nil
				}
				d := host.New(cfg)
				snap, st := planned(t, d, cfg.Desired)
				if st.Unfit != "" {
					t.Errorf("before the apply: %s", st.Unfit)
				}
				if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "r1"}); err != nil {
					t.Fatal(err)
				}
				_, st = planned(t, d, cfg.Desired)
				if !strings.Contains(st.Unfit, c.says) || len(st.Items) > 0 || len(st.Blocked()) > 0 {
					t.Errorf("unfit %q, not %q; %d steps", st.Unfit, c.says, len(st.Items))
				}
			})
		})
	}
}
