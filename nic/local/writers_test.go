package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// place creates a file of the machine below the parent of its roots.
func place(t *testing.T, h *localtest.Host, name, text string) {
	t.Helper()
	file := filepath.Join(filepath.Dir(h.Roots.Etc), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A writer is found in each searched place, and reported with its path on the machine.
func TestReadFindsWriters(t *testing.T) {
	h := newHost(t, mlx5(true))
	const sets, script = "ip link set " + ens0 + " mtu 1500\n", "#!/bin/sh\nethtool -A " + ens0 + " rx on\n"
	h.Process(9, "nic-configurati", "/nic-configuration-daemon")
	h.Process(10, "bash", "bash", "-c", "while :; do mlnx_qos -i "+ens0+" --pfc 0,0,0,0,0,0,0,0; sleep 1; done")
	h.Process(11, "sh", "/bin/sh", "/opt/loop.sh")
	h.Process(12, "NetworkManager", "/usr/sbin/NetworkManager")
	place(t, h, "/opt/loop.sh", script)
	place(t, h, "/etc/netplan/50.yaml", "network: {ethernets: {"+ens0+": {mtu: 1500}}}\n")
	place(t, h, "/run/NetworkManager/system-connections/netplan-"+ens0+".nmconnection", "[connection]\ntype=ethernet\ninterface-name="+ens0+"\n[ethernet]\nmtu=1500\n")
	place(t, h, "/etc/NetworkManager/system-connections/rail", "[connection]\ntype=ethernet\ninterface-name="+ens0+"\n[ethernet]\nmtu=1500\n")
	place(t, h, "/run/systemd/network/10.network", "[Match]\nName="+ens0+"\n[Link]\nMTUBytes=1500\n")
	place(t, h, "/etc/network/interfaces", "iface "+ens0+" inet manual\n mtu 1500\n")
	place(t, h, "/etc/sysconfig/network-scripts/ifcfg-"+ens0, "MTU=1500\n")
	place(t, h, "/etc/udev/rules.d/70.rules", "KERNEL==\""+ens0+"\", ATTR{mtu}=\"1500\"\n")
	for _, f := range []string{"/etc/crontab", "/etc/cron.d/roce", "/var/spool/cron/crontabs/root", "/etc/rc.local", "/etc/cron.hourly/roce",
		"/etc/NetworkManager/dispatcher.d/50-roce", "/etc/networkd-dispatcher/routable.d/50-roce", "/etc/network/if-up.d/roce"} {
		place(t, h, f, sets)
	}
	place(t, h, "/etc/systemd/system/off.service", "[Service]\nExecStart=/sbin/"+sets)
	place(t, h, "/etc/systemd/system/on@.service", "[Service]\nExecStart=/sbin/"+sets)
	place(t, h, "/etc/systemd/system/multi-user.target.wants/on@x.service", "")
	place(t, h, "/etc/systemd/system/ssh.service.d/x.conf", "[Service]\nExecStartPost=/sbin/"+sets)
	masked := filepath.Join(h.Roots.Etc, "systemd", "system", "masked.service")
	if err := os.Symlink("/dev/null", masked); err != nil {
		t.Fatal(err)
	}
	// A pipe does not block the search.
	if err := syscall.Mkfifo(filepath.Join(h.Roots.Etc, "cron.d", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(t, h.Machine(), ens0)
	var said []string
	for _, w := range got.Writers {
		s := w.String() + " " + w.Field
		if w.Idle != "" {
			s += ", " + w.Idle
		}
		said = append(said, s)
	}
	want := []string{
		"nic-configuration-daemon of NVIDIA's NIC configuration operator (process 9) ",
		"netplan (/etc/netplan/50.yaml:1) mtu",
		"NetworkManager (/etc/NetworkManager/system-connections/rail:5) mtu",
		"systemd-networkd (/run/systemd/network/10.network:4) mtu, systemd-networkd does not run",
		"ifupdown (/etc/network/interfaces:2) mtu",
		"network-scripts (/etc/sysconfig/network-scripts/ifcfg-" + ens0 + ":1) mtu",
		"ip (/etc/systemd/system/off.service:2) mtu, the unit is not enabled",
		"ip (/etc/systemd/system/on@.service:2) mtu",
		"ip (/etc/systemd/system/ssh.service.d/x.conf:2) mtu, the unit is not enabled",
		"udev (/etc/udev/rules.d/70.rules:1) mtu",
		"ip (/etc/crontab:1) mtu", "ip (/etc/cron.d/roce:1) mtu", "ip (/var/spool/cron/crontabs/root:1) mtu", "ip (/etc/rc.local:1) mtu", "ip (/etc/cron.hourly/roce:1) mtu",
		"ip (/etc/NetworkManager/dispatcher.d/50-roce:1) mtu", "ip (/etc/network/if-up.d/roce:1) mtu", "ip (/etc/networkd-dispatcher/routable.d/50-roce:1) mtu",
		"mlnx_qos (process 10) pfc", "ethtool (/opt/loop.sh:2, run by process 11) link_pause",
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q\nnot\n%q", said, want)
	}
	if why := got.Missing[nic.FieldWriters]; why != "" {
		t.Errorf("missing: %s", why)
	}
}

// A setting of a VLAN, or the MTU of a bond, is attributed to the ports below it.
func TestReadFindsWritersOfUppers(t *testing.T) {
	h := newHost(t, mlx5(true))
	h.AddBond("bond0", ens0)
	h.AddVLAN("bond0.100", "bond0", 100)
	place(t, h, "/etc/rc.local", "ip link set bond0.100 type vlan egress-qos-map 2:5\nip link set bond0 mtu 1500\nip link set bond0.100 mtu 1500\n")
	var said []string
	for _, w := range read(t, h.Machine(), ens0).Writers {
		said = append(said, fmt.Sprintln(w, w.Ports, w.Field))
	}
	if want := []string{"ip (/etc/rc.local:1) [" + ens0 + "] egress_qos_map\n", "ip (/etc/rc.local:2) [" + ens0 + "] mtu\n"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// If there are more files than are searched, this is reported.
func TestWritersAreBounded(t *testing.T) {
	h := newHost(t, mlx5(true))
	for i := range 1100 {
		place(t, h, fmt.Sprintf("/etc/cron.d/%d", i), "")
	}
	if why := read(t, h.Machine(), ens0).Missing[nic.FieldWriters]; !strings.Contains(why, "too many files or writers to search") {
		t.Errorf("missing: %q", why)
	}
}
