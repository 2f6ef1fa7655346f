package hostvm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// vmRename makes udev rename the second device, as it does with the NICs of a server: the intent
// contains the final name.
const vmRename = "[Match]\nOriginalName=roce1\n\n[Link]\nName=ens1f0np0\n"

// TestBootUnit installs the boot unit over SSH on a VM with systemd, and reboots the VM. It then
// creates a VLAN, renames a NIC, reloads its driver and adds its RDMA device again: each time the
// settings are restored without the test's help. The agent service from the examples keeps them in
// place. Then the unit is removed, and nothing of it remains.
func TestBootUnit(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: it starts a machine with systemd twice, which takes a minute and a half of processor time; .ci/run boot and make nightly run it")
	}
	t.Parallel()
	boot := bootVM(t, hostvm.MissingSystemd())
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("skipped: the test needs " + sshd + " (Debian: apt-get install openssh-server)")
	}
	tree := map[string]hostvm.File{
		"/etc/systemd/network/10-roce1.link": {Mode: 0o644, Data: []byte(vmRename)},
		"/fabric.yaml":                       {Mode: 0o644, Data: []byte(strings.NewReplacer("SECOND: {}}", "ens1f0np0: {}}, vlans: {rail100: {on: ens1f0np0, id: 100}}", "SECOND", "ens1f0np0").Replace(vmIntent))},
	}
	keys := t.TempDir()
	for _, name := range []string{"host", "id"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	for to, from := range map[string]string{"/root/id": "id", "/root/authorized": "id.pub", "/root/host": "host", "/root/host.pub": "host.pub"} {
		b, err := os.ReadFile(filepath.Join(keys, from))
		if err != nil {
			t.Fatal(err)
		}
		tree[to] = hostvm.File{Mode: 0o600, Data: b}
	}
	first := boot(`
mkdir -p /run/sshd
echo 'sshd:x:100:65534::/run/sshd:/bin/false' >>/etc/passwd
echo "127.0.0.1 $(cat /root/host.pub)" >/root/known_hosts
/usr/bin/sshd -f /dev/null -h /root/host -o AuthorizedKeysFile=/root/authorized -o StrictModes=no -o UsePAM=no
await test -e /sys/class/net/ens1f0np0
ip link set roce0 up
ip link set ens1f0np0 up
rdma link add rxe0 type rxe netdev roce0
ip link add link ens1f0np0 name rail100 type vlan id 100
ip link set rail100 up

ssh nic apply --yes --allow traffic-loss
ssh nic unit install --yes
rf nic unit install --yes
ssh nic validate
cmp /usr/local/bin/roce-fabric /usr/local/sbin/roce-fabric-nic
stat -c '%n %a %u %g' /usr/local/sbin/roce-fabric-nic
systemctl cat roce-fabric-nic@roce0.service | grep ExecStart
`, hostvm.Options{
		Systemd: true, Tree: tree, Programs: []string{sshd},
		Keep: []string{"/etc/roce-fabric", "/etc/systemd", "/etc/udev"},
	}, "/root/.cache/roce-fabric/DIGEST") // an earlier copy, because encrypting the transfer would take a minute
	said(t, first, "unit  - -> installed  none  not-persistent", "vm  applied, 13 requests",
		"vm: wrote /etc/udev/rules.d/99-roce-fabric-nic.rules", "vm: wrote /usr/local/sbin/roce-fabric-nic", "vm: the unit is up to date",
		"/usr/local/sbin/roce-fabric-nic 755 0 0", "ExecStart=/usr/local/sbin/roce-fabric-nic nic boot")
	if _, after, _ := strings.Cut(string(first.Output), "the unit is up to date"); strings.Contains(after, "NIC-05") {
		t.Errorf("validate misses the unit that is there:\n%s", first.Output)
	}

	for name, f := range first.Kept {
		tree[name] = f
	}
	agent, err := os.ReadFile("../../examples/monitoring/roce-fabric-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	repairs := strings.NewReplacer("--policy report", "--policy repair --allow traffic-loss").Replace(string(agent))
	tree["/etc/systemd/system/roce-fabric-agent.service"] = hostvm.File{Mode: 0o644, Data: []byte(repairs)}
	second := boot(`
on='"prio_pfc":\[false,false,false,true,'
set_() { dcb -j pfc show dev "$1" | grep -q "$on"; }
idle() { udevadm settle && test -z "$(systemctl list-jobs --no-legend 'roce-fabric*')" && test -z "$(systemctl list-units --no-legend --state=activating 'roce-fabric*')"; }
# Nobody has called the tool in this life of the machine.
await set_ roce0
await set_ ens1f0np0
await idle
ip link show ens1f0np0 | grep -q 'mtu 9000'
dcb -j app show dev roce0 | grep -q '\[26,3\]'
echo restored at boot
/usr/local/sbin/roce-fabric-nic nic boot roce0 # whose RDMA device is still to come

ip link set roce0 up
ip link set ens1f0np0 up
rdma link add rxe0 type rxe netdev roce0
await grep -qx 106 /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
vlan() { ip -d link show rail100 | tr '\n' ' ' | grep -q 'mtu 9000.*egress-qos-map { .*:3 '; }
ip link add link ens1f0np0 name rail100 type vlan id 100
ip link set rail100 up
await vlan
await idle
rf nic validate
echo restored with the VLAN

ip link set ens1f0np0 down
ip link set ens1f0np0 name away
dcb pfc set dev away prio-pfc all:off
set_ away && exit 1
ip link set away name ens1f0np0
await set_ ens1f0np0
await idle
echo restored with the name
rdma link delete rxe0
await test ! -e /sys/class/infiniband/rxe0
rdma link add rxe0 type rxe netdev roce0
await grep -qx 106 /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
await idle
echo restored with the RDMA device

modprobe -r fakedcb
test ! -e /sys/class/net/roce0
modprobe fakedcb
await set_ roce0
await set_ ens1f0np0
ip link add link ens1f0np0 name rail100 type vlan id 100
await vlan
await idle
echo restored with the driver
systemctl list-units --all --failed --no-legend --no-pager
test -z "$(systemctl list-units --failed --no-legend)"

systemctl start roce-fabric-agent
await dcb pfc set dev ens1f0np0 prio-pfc all:off
await set_ ens1f0np0
systemctl reload roce-fabric-agent
grep CapEff "/proc/$(systemctl show -P MainPID roce-fabric-agent)/status"
systemctl stop roce-fabric-agent
systemctl show -p Result -p ExecMainStatus roce-fabric-agent
rm /etc/systemd/system/roce-fabric-agent*
echo kept by the agent

rf nic unit remove --yes
rf nic unit remove --yes
find / -xdev -name '*roce-fabric*' ! -path /usr/local/bin/roce-fabric
modprobe -r fakedcb
modprobe fakedcb
await test -e /sys/class/net/ens1f0np0
await idle
set_ roce0 && exit 1
set_ ens1f0np0 && exit 1
test -z "$(systemctl list-units --all --no-legend 'roce-fabric*')"
test -z "$(pidof roce-fabric-nic)"
echo nothing left
`, hostvm.Options{Systemd: true, Tree: tree}, "/usr/local/sbin/roce-fabric-nic")
	said(t, second, "restored at boot", "left: rdma of roce0: - -> rxe0, drift: ", "restored with the RDMA device", "restored with the VLAN", "restored with the name", "restored with the driver",
		"CapEff:\t0000000000001000", "Result=success\nExecMainStatus=0\nkept by the agent",
		"removed /usr/local/sbin/roce-fabric-nic", "removed /etc/roce-fabric/host.json", "there is no unit", "nothing left")
	_, after, _ := strings.Cut(string(second.Output), "there is no unit\n")
	if left, _, _ := strings.Cut(after, "nothing left"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}
