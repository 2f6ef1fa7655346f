package hostvm_test

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// TestAgent makes 'nic agent' supervise a VM with a real kernel, as root with the one capability
// that docs/agent.md names. Changes by other tools are repaired, immediately if the kernel reports
// them, and a run that has marked the VM is left alone.
func TestAgent(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts a virtual machine; make nightly runs it")
	}
	t.Parallel()
	res := bootVM(t, hostvm.Missing())(`
sed -i 's/roce1: {}}}/roce1: {}}, vlans: {rail100: {on: roce1, id: 100}}}/' /fabric.yaml
`+vmLinks+`
ip link add link roce1 name rail100 type vlan id 100
rf nic apply --yes --allow traffic-loss
agent() {
	setpriv --bounding-set=-all,+net_admin --inh-caps=-all roce-fabric nic agent -f /fabric.yaml --host vm --listen 127.0.0.1:9601 --policy repair --allow traffic-loss "$@" >/agent.out 2>&1 &
	await grep -q "comparing this host" /agent.out
	grep CapEff /proc/$!/status
}
ends() { kill -TERM $!; wait $!; cat /agent.out; }
on='"prio_pfc":\[false,false,false,true,'

agent --interval 24h
await dcb pfc set dev roce0 prio-pfc all:off
await sh -c "dcb -j pfc show dev roce0 | grep '$on'"
await dcb app replace dev roce1 dscp-prio 26:5
ip link set rail100 mtu 1500
ip link set roce1 mtu 1500
ip link set rail100 type vlan egress-qos-map 3:1
await sh -c "dcb -j app show dev roce1 | grep '\[26,3\]'"
await grep -qx 9000 /sys/class/net/roce1/mtu
await sh -c "ip -d link show rail100 | tr '\n' ' ' | grep 'mtu 9000.*egress-qos-map.* 3:3'"
ends
test ! -e /run/roce-fabric.run

echo by the interval
agent --interval 10s
echo 0 >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
await grep -qx 106 /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
ends
rf nic plan | grep '^vm  no changes'
`, hostvm.Options{Programs: []string{"/usr/bin/setpriv"}})
	said(t, res, "CapEff:\t0000000000001000", "pfc of roce0 was 0x00 {} and is set to 0x08 {3}", "dscp of roce1 was 26:5 and is set to 26:3",
		"egress_qos_map of rail100 was 0:0 2:3 3:1 6:6 and is set to 0:0 2-3:3 6:6", "by the interval", "tos of roce0 was 0 (DSCP 0) and is set to 106 (DSCP 26)")
}
