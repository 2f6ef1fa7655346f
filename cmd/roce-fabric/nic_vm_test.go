package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

const vmIntent = `apiVersion: roce-fabric/v1
kind: Fabric
name: vm
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  leaf1: {os: sonic, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32, release: 202511}
hosts:
  vm: {nics: {roce0: {rdma: rxe0}, roce1: {}}}
links:
  - {a: "leaf1/Ethernet[0,8]", b: "vm/roce[0,1]", cable: 5m, speed: 100G}
`

// vmSetUp makes the machine one with two NICs and an RDMA device, and with as
// much of systemd as installing a unit asks for.
const vmSetUp = `
ip link set roce0 up
ip link set roce1 up
rdma link add rxe0 type rxe netdev roce0
mkdir -p /run/systemd/system
rf() { /usr/local/bin/roce-fabric "$@" --host vm --local -f /fabric.yaml; }
status() { want=$1; shift; got=0; "$@" || got=$?; test $got = $want || { echo "status $got, not $want: $*"; exit 1; }; }
`

// TestNICInAKernel sets the NICs of a machine with a real kernel: applied, read
// back by the kernel's own tool, applied again without a bounce, corrupted,
// found, and put right after a reboot by what the boot unit runs.
func TestNICInAKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short; a machine takes ten seconds to boot")
	}
	if lack := hostvm.Missing(); lack != "" {
		t.Skip("skipped: " + lack)
	}
	img, err := hostvm.Build(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "roce-fabric")
	if err := hostvm.GoBuild(t.Context(), ".", bin); err != nil {
		t.Fatal(err)
	}
	boot := func(script string, tree map[string]hostvm.File) *hostvm.Result {
		t.Helper()
		files := map[string]hostvm.File{
			"/fabric.yaml":             {Mode: 0o644, Data: []byte(vmIntent)},
			"/usr/local/bin/systemctl": {Mode: 0o755, Data: []byte("#!/bin/sh\necho systemctl \"$@\"\n")},
			"/usr/local/bin/udevadm":   {Mode: 0o755, Data: []byte("#!/bin/sh\necho udevadm \"$@\"\n")},
		}
		for n, f := range tree {
			files[n] = f
		}
		res, err := hostvm.Boot(t.Context(), img, hostvm.Options{
			Files: map[string]string{"/usr/local/bin/roce-fabric": bin}, Tree: files, Keep: []string{"/etc"},
			Script: vmSetUp + script,
		})
		if err != nil || res.Status != 0 {
			t.Fatalf("%v, status %d\n%s\n%s", err, res.Status, res.Output, res.Console)
		}
		return res
	}
	first := boot(`
status 3 rf nic plan --exit-code
status 1 rf nic apply --yes
rf nic apply --yes --allow port-flap
dcb -j pfc show dev roce0
dcb -j app show dev roce0
dcb -j ets show dev roce0
cat /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
ip link show roce1
before=$(cat /sys/class/net/roce*/carrier_changes)
rf nic apply --yes --allow port-flap
test "$before" = "$(cat /sys/class/net/roce*/carrier_changes)"
echo corrupt
dcb pfc set dev roce0 prio-pfc all:off
status 3 rf nic validate
echo mended
rf nic apply --yes --allow port-flap
rf nic unit install
rf nic unit install
rf nic validate
`, nil)
	out := string(first.Output)
	for _, say := range []string{
		`"prio_pfc":[false,false,false,true,false,false,false,false]`, `[26,3]`, `[48,6]`, "\n106\n", "mtu 9000",
		"vm  unchanged", "the unit is up to date",
	} {
		if !strings.Contains(out, say) {
			t.Errorf("not said: %s", say)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	corrupt := out[strings.Index(out, "corrupt"):strings.Index(out, "mended")]
	if !strings.Contains(corrupt, "error PFC-02 vm roce0: the NIC pauses {}, the intent says {3} for both ends (layer driver)") || strings.Count(corrupt, "error ") != 1 {
		t.Errorf("what was corrupted is not what is found:\n%s", corrupt)
	}
	second := boot(`
status 3 rf nic validate
/usr/local/bin/roce-fabric nic boot roce0
/usr/local/bin/roce-fabric nic boot roce1
rf nic validate
dcb -j pfc show dev roce1
/usr/local/bin/roce-fabric nic unit remove
test ! -e /etc/systemd/system/roce-fabric@.service
`, first.Kept)
	if !strings.Contains(string(second.Output), `"prio_pfc":[false,false,false,true,false,false,false,false]`) {
		t.Errorf("not restored:\n%s", second.Output)
	}
}
