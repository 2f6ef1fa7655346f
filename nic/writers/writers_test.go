package writers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

func finder() *Finder {
	return &Finder{NICs: []NIC{
		{Name: "ens1", RDMA: "mlx5_0", PCI: "0000:3b:00.0", MAC: "b8:ce:f6:00:00:01", Driver: nic.DriverMLX5, Bond: "bond0"},
		{Name: "ens2", VLANs: []string{"rail.100"}, RDMA: "mlx5_1", PCI: "0000:5e:00.0", MAC: "b8:ce:f6:00:00:02", Driver: nic.DriverMLX5},
	}}
}

// said returns what was found: place, ports, field, value.
func said(f *Finder) (out []string) {
	for _, w := range f.Found {
		value := "?"
		if w.Egress != nil {
			value = fmt.Sprint(*w.Egress)
		}
		if p := w.Sets; p != nil {
			var set map[string]struct{ V json.RawMessage }
			b, err := json.Marshal(p)
			b = bytes.Replace(b, []byte(`"name":"",`), nil, 1)
			if err == nil {
				err = json.Unmarshal(b, &set)
			}
			if err != nil {
				panic(err)
			}
			switch {
			case p.PFC.Set:
				value = p.PFC.V.String()
			case p.DSCP.Set:
				value = ""
				for d, prio := range p.DSCP.V {
					if prio != qos.Unmanaged {
						value += fmt.Sprintf("%d:%d ", d, prio)
					}
				}
			default:
				for _, v := range set {
					value = string(v.V)
				}
			}
		}
		ports := strings.Join(w.Ports, "+")
		if w.Ports == nil {
			ports = "any"
		}
		s := fmt.Sprintf("%s %s %s %s=%s", w.Who, w.Place, ports, w.Field, strings.TrimSpace(value))
		if w.Idle != "" {
			s += " (" + w.Idle + ")"
		}
		out = append(out, s)
	}
	return out
}

func TestCommands(t *testing.T) {
	for line, want := range map[string][]string{
		"mlnx_qos -i ens1 --pfc 0,0,0,1,0,0,0,0":                                      {"mlnx_qos f:1 ens1 pfc={3}"},
		"sudo /usr/bin/mlnx_qos -i ens1 -f 0,0,0,0,0,0,0,0 > /dev/null":               {"mlnx_qos f:1 ens1 pfc={}"},
		"mlnx_qos -i ens1 --pfc=$MASK":                                                {"mlnx_qos f:1 ens1 pfc=?"},
		"mlnx_qos -i ens1":                                                            nil, // it only shows values
		"mlnx_qos -i eno9 --pfc 0,0,0,1,0,0,0,0":                                      nil, // not one of the host's ports
		"mlnx_qos -i ens1 --trust=pcp --dscp2prio set,26,0":                           {"mlnx_qos f:1 ens1 trust=\"pcp\"", "mlnx_qos f:1 ens1 dscp=26:0"},
		"mlnx_qos -i ens1 -d fw --cable_len=7":                                        {"mlnx_qos f:1 ens1 cable=7", "mlnx_qos f:1 ens1 dcbx=\"firmware\""},
		"mlnx_qos -i ens1 --buffer_size 1,2,3,4,5,6,7,8":                              {"mlnx_qos f:1 ens1 buffers=?"},
		"mlnx_qos -i ens1 -s ets,ets -t 50,50":                                        {"mlnx_qos f:1 ens1 ets=?"},
		"while true; do mlnx_qos -i $IF --trust dscp; sleep 1; done":                  {"mlnx_qos f:1 any trust=\"dscp\""},
		"for i in ens1 ens2; do\n mlnx_qos -i $i --trust dscp; done":                  {"mlnx_qos f:2 ens1+ens2 trust=\"dscp\""},
		"IF=ens2\nip link set \"$IF\" mtu 1500":                                       {"ip f:2 ens2 mtu=1500"},
		"cma_roce_tos -d mlx5_1 -t 106":                                               {"cma_roce_tos f:1 ens2 tos=106"},
		"cma_roce_tos -d mlx5_1":                                                      nil,
		"cma_roce_mode -d mlx5_0 -p 1 -m 1":                                           {"cma_roce_mode f:1 ens1 mode=\"IB/RoCE v1\""},
		"dcb pfc set dev ens1 prio-pfc all:off 4:on":                                  {"dcb f:1 ens1 pfc={4}"},
		"dcb pfc set dev ens1 prio-pfc 4:on delay 20":                                 {"dcb f:1 ens1 cable=20", "dcb f:1 ens1 pfc=?"},
		"dcb pfc show dev ens1":                                                       nil,
		"dcb app add dev ens1 dscp-prio 26:3 48:6":                                    {"dcb f:1 ens1 dscp=26:3 48:6"},
		"dcb app flush dev ens1":                                                      {"dcb f:1 ens1 dscp=?"},
		"dcb dcbx set dev ens1 lld-managed":                                           {"dcb f:1 ens1 dcbx=\"firmware\""},
		"lldptool -T -i ens1 -V PFC willing=no enabled=3,4":                           {"lldptool f:1 ens1 pfc={3,4}"},
		"lldptool -t -i ens1 -V PFC -c":                                               nil,
		"ethtool -A ens1 rx off tx off":                                               {"ethtool f:1 ens1 link_pause=false"},
		"ethtool --pause ens1 rx on":                                                  {"ethtool f:1 ens1 link_pause=true"},
		"ethtool -G ens1 rx 512":                                                      {"ethtool f:1 ens1 rings={\"rx\":512}"},
		"ethtool -S ens1":                                                             nil,
		"ethtool --set-priv-flags ens1 fw-lldp-agent on":                              {"ethtool f:1 ens1 dcbx=\"firmware\""},
		"ip l s dev ens1 up mtu 1500":                                                 {"ip f:1 ens1 mtu=1500"},
		"ip link set bond0 mtu 1500":                                                  {"ip f:1 ens1 mtu=1500"}, // the members of the bond follow
		"ip link add link ens1 name v100 type vlan id 100":                            nil,
		"ip link add link ens2 name rail.100 type vlan id 100 egress-qos-map 3:3 2:5": {"ip f:1 ens2 egress_qos_map=[-1 -1 5 3 -1 -1 -1 -1]"},
		"ip link set rail.100 type vlan egress-qos-map 2:3 ingress-qos-map 3:3":       {"ip f:1 ens2 egress_qos_map=[-1 -1 3 -1 -1 -1 -1 -1]"},
		"ip link set other.100 type vlan egress-qos-map 2:3":                          nil,
		"ip link show dev ens1":                                                       nil,
		"/sbin/ifconfig ens1 mtu 1500 up":                                             {"ifconfig f:1 ens1 mtu=1500"},
		"echo 96 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class":                   {"echo f:1 ens1 traffic_class=96"},
		"echo 0 | sudo tee /sys/class/net/ens1/ecn/roce_np/enable/3":                  {"echo f:1 ens1 ecn=?"},
		"echo 4 >/sys/class/net/ens1/ecn/roce_np/cnp_dscp":                            {"echo f:1 ens1 cnp_dscp=4"},
		"echo 96 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos": {
			"echo f:1 ens1 tos=96"},
		"echo \"RoCE v2\" > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode": {
			"echo f:1 ens1 mode=\"RoCE v2\""},
		"sh -c 'mlnx_qos -i ens1 --trust pcp'":                  {"mlnx_qos f:1 ens1 trust=\"pcp\""},
		"# mlnx_qos -i ens1 --trust pcp":                        nil,
		"logger \"mlnx_qos -i ens1 --trust pcp\"":               nil,
		"mlnx_qos -i ens1 \\\n  --trust pcp":                    {"mlnx_qos f:1 ens1 trust=\"pcp\""},
		"bnxt_setupcc.sh -i ens2 -m 3 -s 26 -p 48":              {"bnxt_setupcc.sh f:1 ens2 =?"},
		"nicctl update qos pfc --priority 3 --no-drop enable":   nil, // no AMD card
		"[ -x /usr/bin/mlnx_qos ] && ip link set ens1 mtu 1500": {"ip f:1 ens1 mtu=1500"},
	} {
		f := finder()
		f.Script("f", []byte(line), "")
		if got := said(f); !slices.Equal(got, want) {
			t.Errorf("%s\n  %q\n  not %q", line, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	script := "#!/bin/sh\nmlnx_qos -i $1 --trust pcp\n"
	for name, c := range map[string]struct {
		read func(f *Finder, text []byte)
		text string
		want []string
	}{
		"cron": {func(f *Finder, b []byte) { f.Cron("/etc/cron.d/roce", b) }, "MAILTO=root\n*/5 * * * * root ip link set ens1 mtu 1500\n@reboot root /opt/roce.sh ens1\n",
			[]string{"ip /etc/cron.d/roce:2 ens1 mtu=1500", "mlnx_qos /opt/roce.sh:2, run by /etc/cron.d/roce:3 any trust=\"pcp\""}},
		"unit": {func(f *Finder, b []byte) { f.Unit("/etc/systemd/system/roce.service", b, "the unit is not enabled") },
			"[Unit]\nDescription=ip link set ens1 mtu 1\n[Service]\nExecStart=-/opt/roce.sh %i\nExecStop=/sbin/ip link set ens1 mtu 1400\nExecStartPost=/sbin/ip link set ens1 \\\n mtu 1500\n",
			[]string{"mlnx_qos /opt/roce.sh:2, run by /etc/systemd/system/roce.service:4 any trust=\"pcp\" (the unit is not enabled)", "ip /etc/systemd/system/roce.service:6 ens1 mtu=1500 (the unit is not enabled)"}},
		"udev": {func(f *Finder, b []byte) { f.Udev("/etc/udev/rules.d/70-mtu.rules", b) },
			"# ATTR{mtu}=\"1\"\nACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"ens2*\", ATTR{mtu}=\"1500\", RUN+=\"/usr/sbin/ethtool -G $name rx 512 tx 512\"\nSUBSYSTEM==\"block\", RUN+=\"/sbin/ip link set ens1 mtu 1\"\nSUBSYSTEM==\"net\", KERNEL==\"eno*\", ATTR{mtu}=\"1400\"\nSUBSYSTEM==\"net\", DRIVERS==\"mlx5_core\", ATTR{mtu}=\"4200\"\n",
			[]string{"udev /etc/udev/rules.d/70-mtu.rules:2 ens2 mtu=1500", "ethtool /etc/udev/rules.d/70-mtu.rules:2 ens2 rings={\"rx\":512,\"tx\":512}", "udev /etc/udev/rules.d/70-mtu.rules:5 ens1+ens2 mtu=4200"}},
		"ifupdown": {func(f *Finder, b []byte) { f.Interfaces("/etc/network/interfaces", b) },
			"auto ens1\niface ens1 inet static\n  mtu 1500\n  post-up ethtool -A $IFACE rx on tx on\niface eno1 inet dhcp\n  mtu 1400\n",
			[]string{"ifupdown /etc/network/interfaces:3 ens1 mtu=1500", "ethtool /etc/network/interfaces:4 ens1 link_pause=true"}},
		"ifcfg": {func(f *Finder, b []byte) { f.IfCfg("/etc/sysconfig/network-scripts/ifcfg-ens1", b) },
			"MTU=\"1500\"\nDEVICE=ens2\nETHTOOL_OPTS=\"-A ${DEVICE} rx on\"\n",
			[]string{"network-scripts /etc/sysconfig/network-scripts/ifcfg-ens1:1 ens2 mtu=1500", "ethtool /etc/sysconfig/network-scripts/ifcfg-ens1:3 ens2 link_pause=true"}},
		"NetworkManager": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\nid=rail\ntype=ethernet\ninterface-name=ens1\n\n[ethernet]\nmtu=1500\n\n[ethtool]\nring-rx=512\npause-tx=true\n\n[dcb]\npriority-flow-control=0,0,0,0,1,0,0,0,\n",
			[]string{"NetworkManager /nm:7 ens1 mtu=1500", "NetworkManager /nm:10 ens1 rings={\"rx\":512}", "NetworkManager /nm:11 ens1 link_pause=true", "NetworkManager /nm:14 ens1 pfc={4}"}},
		"NetworkManager by MAC": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "NetworkManager does not run") },
			"[connection]\ntype=802-3-ethernet\n[802-3-ethernet]\nmac-address=B8:CE:F6:00:00:02\nmtu=1500\n",
			[]string{"NetworkManager /nm:5 ens2 mtu=1500 (NetworkManager does not run)"}},
		"NetworkManager bond": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\ntype=bond\ninterface-name=bond0\nautoconnect=false\n[ethernet]\nmtu=1500\n",
			[]string{"NetworkManager /nm:6 ens1 mtu=1500 (the profile does not connect by itself)"}},
		"NetworkManager, nothing set": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\ntype=ethernet\ninterface-name=ens1\n[ethernet]\nmtu=0\n", nil},
		"NetworkManager, another interface": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\ntype=ethernet\n[match]\ninterface-name=ens*;!ens1;\n[ethernet]\nmtu=1500\n", []string{"NetworkManager /nm:6 ens2 mtu=1500"}},
		"NetworkManager, any interface": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\ntype=ethernet\n[ethernet]\nmtu=1500\n", []string{"NetworkManager /nm:4 ens1+ens2 mtu=1500 (the profile names no interface, and another one may be in use)"}},
		"NetworkManager, a VLAN": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, "") },
			"[connection]\ntype=vlan\ninterface-name=rail.100\n[vlan]\nparent=ens2\negress-priority-map=2:3,3:3\n[ethernet]\nmtu=1500\n", []string{"NetworkManager /nm:6 ens2 egress_qos_map=[-1 -1 3 3 -1 -1 -1 -1]"}},
		"networkd, a VLAN": {func(f *Finder, b []byte) { f.Networkd([]File{{"/x.netdev", b}}, "") },
			"[NetDev]\nName=rail.100\nKind=vlan\n[VLAN]\nId=100\nEgressQOSMaps=2-3 9-1\n", []string{"systemd-networkd /x.netdev:6 ens2 egress_qos_map=[-1 -1 3 -1 -1 -1 -1 -1]"}},
		"a hostile profile": {func(f *Finder, b []byte) { f.NetworkManager(File{"/nm", b}, ""); f.Netplan([]File{{"/np", b}}) },
			"[[[\n=\n[ethernet\nmtu=\x00\n&a [*a, *a]\n" + strings.Repeat("[", 1000), nil},
	} {
		f := finder()
		f.Follow = func(name string) ([]byte, bool) { return []byte(script), name == "/opt/roce.sh" }
		c.read(f, []byte(c.text))
		if got := said(f); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n  %q\n  not %q", name, got, c.want)
		}
	}
}

// Of two files with the same name the first applies; otherwise the first file that matches a port
// applies.
func TestNetworkd(t *testing.T) {
	f := finder()
	f.Networkd([]File{
		{"/etc/systemd/network/20-all.network", []byte("[Match]\nName=ens* !ens2\n\n[Link]\nMTUBytes=1500\n")},
		{"/etc/systemd/network/30-two.network", []byte("[Match]\nName=*\n[Link]\nMTUBytes=9K\n")},
		{"/etc/systemd/network/50-x.link", []byte("[Match]\nPath=pci-0000:3b:00.0\n[Link]\nRxBufferSize=512\nRxFlowControl=yes\nMTUBytes=4200\n")},
		{"/run/systemd/network/20-all.network", []byte("[Match]\nName=*\n[Link]\nMTUBytes=1400\n")},
	}, "systemd-networkd does not run")
	want := []string{
		"systemd-networkd /etc/systemd/network/20-all.network:5 ens1 mtu=1500 (systemd-networkd does not run)",
		"systemd-networkd /etc/systemd/network/30-two.network:4 ens2 mtu=9216 (systemd-networkd does not run)",
		"udev /etc/systemd/network/50-x.link:4 ens1 rings={\"rx\":512}",
		"udev /etc/systemd/network/50-x.link:5 ens1 link_pause=true",
		"udev /etc/systemd/network/50-x.link:6 ens1 mtu=4200",
	}
	if got := said(f); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The writer is netplan's own file, not the generated one, and the last file applies.
func TestNetplan(t *testing.T) {
	f := finder()
	have := f.Netplan([]File{
		{"/etc/netplan/90-late.yaml", []byte("network:\n  ethernets:\n    ens1: {mtu: 1400}\n")},
		{"/etc/netplan/50-cloud-init.yaml", []byte("network:\n  version: 2\n  ethernets:\n    ens1:\n      mtu: 1500\n    rail:\n      match: {macaddress: \"b8:ce:f6:00:00:02\"}\n      set-name: ens2\n      mtu: 9000\n    eno1: {mtu: 1300}\n  bonds:\n    bond0: {interfaces: [ens1], mtu: 1280}\n")},
	})
	f.Networkd([]File{{"/run/systemd/network/10-netplan-ens1.network", []byte("[Match]\nName=ens1\n[Link]\nMTUBytes=1400\n")}}, "")
	f.Without(have)
	want := []string{
		"netplan /etc/netplan/50-cloud-init.yaml:12 ens1 mtu=1280",
		"netplan /etc/netplan/90-late.yaml:3 ens1 mtu=1400",
		"netplan /etc/netplan/50-cloud-init.yaml:9 ens2 mtu=9000",
	}
	if got := said(f); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	f = finder()
	f.Networkd([]File{{"/run/systemd/network/10-netplan-ens1.network", []byte("[Match]\nName=ens1\n[Link]\nMTUBytes=1400\n")}}, "")
	f.Without(nil)
	if got := said(f); len(got) != 1 {
		t.Errorf("without its source: %q", got)
	}
}

// Scripts that run each other, or are endless, are read once and only in part.
func TestBounds(t *testing.T) {
	f := finder()
	reads := 0
	f.Follow = func(string) ([]byte, bool) { reads++; return []byte("#!/bin/sh\n/a\n/b\nsh /a\n"), true }
	f.Script("f", []byte("/a\n/b\nbash /a\n"), "")
	if reads != 2 {
		t.Errorf("%d scripts were read", reads)
	}
	var b strings.Builder
	for range 2 * maxLines {
		b.WriteString("ip link set ens1 mtu 1500\n")
	}
	f.Script("f", []byte(b.String()), "")
	if len(f.Found) != most || !f.More {
		t.Errorf("%d found, more %v", len(f.Found), f.More)
	}
	f = finder()
	f.Process("process 7", []string{"bash", "-c", "while :; do dcb pfc set dev ens1 prio-pfc all:off; sleep 1; done"})
	if got := said(f); !slices.Equal(got, []string{"dcb process 7 ens1 pfc={}"}) {
		t.Errorf("%q", got)
	}
}

func FuzzFiles(f *testing.F) {
	for _, s := range []string{
		"IF=ens1\nfor i in $IF; do mlnx_qos -i $i -f 0,0,0,1,0,0,0,0; done\n", "[Match]\nName=*\n[Link]\nMTUBytes=9K\n",
		"SUBSYSTEM==\"net\", KERNEL==\"ens*\", ATTR{mtu}=\"1\", RUN+=\"/sbin/ip link set $name mtu 1\"\n", "[connection]\ntype=ethernet\n[ethernet]\nmtu=1\n",
		"network: {ethernets: {ens1: {mtu: 1}}}\n", "iface ens1 inet dhcp\n mtu 1\n up echo 1 > /sys/class/net/ens1/mtu\n", "echo a > /sys/kernel/config/rdma_cm/x/ports/1/default_roce_mode",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := finder()
		d.Follow = func(string) ([]byte, bool) { return b, true }
		d.Script("f", b, "")
		d.Cron("f", b)
		d.Unit("f", b, "")
		d.Udev("f", b)
		d.Interfaces("f", b)
		d.IfCfg("f", b)
		d.NetworkManager(File{"f", b}, "")
		d.Networkd([]File{{"f.network", b}, {"g.link", b}}, "")
		d.Without(d.Netplan([]File{{"f", b}}))
		for _, w := range d.Found {
			if strings.ContainsFunc(w.Who+w.Place+w.Idle, func(r rune) bool { return r < ' ' }) {
				t.Errorf("%+v", w)
			}
			w.Against("ens1", &nic.Port{}, &nic.Port{MTU: qos.Of(1), PFC: qos.Of(qos.Priorities(3))})
		}
	})
}
