package hostvm_test

import (
	"os"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// TestFragments makes Debian's systemd-networkd configure the NICs and a VLAN of a VM with a real
// kernel from the operator's files and the fragments that complete them. The MTUs and the map are
// those of the intent, and an apply has nothing to change.
func TestFragments(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts a virtual machine; make nightly runs it")
	}
	t.Parallel()
	boot := bootVM(t, hostvm.Missing())
	const networkd = "/usr/lib/systemd/systemd-networkd"
	if _, err := os.Stat(networkd); err != nil {
		t.Skip("skipped: the test needs " + networkd)
	}
	res := boot(`
sed -i 's/roce1: {}}}/roce1: {}}, vlans: {rail100: {on: roce1, id: 100}}}/' /fabric.yaml
for n in roce0 roce1 rail100; do
	printf "[Match]\nName=$n\n[Network]\nLinkLocalAddressing=no\n" >/etc/systemd/network/$n.network
done
echo VLAN=rail100 >>/etc/systemd/network/roce1.network
printf '[NetDev]\nName=rail100\nKind=vlan\n[VLAN]\nId=100\n' >/etc/systemd/network/rail100.netdev
roce-fabric nic fragments -f /fabric.yaml --for networkd --out /fragments
cp -r /fragments/vm/etc/. /etc/

echo 'systemd-network:x:998:998::/:/bin/false' >>/etc/passwd
echo 'systemd-network:x:998:' >>/etc/group
mkdir -p /run/systemd/netif
chown 998:998 /run/systemd/netif
# As in a container, which has no udev: there /sys is read only.
echo other >/run/systemd/container
unshare -m sh -c 'mount -o remount,bind,ro /sys && exec systemd-networkd' >/networkd.out 2>&1 &
settled() { grep -qx 9000 /sys/class/net/roce0/mtu && ip -d link show rail100 | tr '\n' ' ' | grep -q 'mtu 9000.*egress-qos-map.* 3:3'; }
for try in $(seq 300); do settled && break; sleep 0.1; done
cat /networkd.out
ip -d link show rail100
settled
rf nic plan >/plan
! grep -E '~ (mtu|egress_qos_map)' /plan
grep '~ pfc' /plan
`, hostvm.Options{
		Programs: []string{networkd, "/usr/bin/unshare"},
		Tree:     map[string]hostvm.File{"/etc/systemd/network/.keep": {Mode: 0o644}},
	})
	said(t, res, "egress-qos-map", "~ pfc")
}
