package hostvm_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// vmIntent is the intent of the VM. SECOND stands for the name of its second NIC.
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
  vm: {address: "127.0.0.1:22", nics: {roce0: {rdma: rxe0}, SECOND: {}}}
links:
  - {a: leaf1/Ethernet0, b: vm/roce0, cable: 5m, speed: 100G}
  - {a: leaf1/Ethernet8, b: vm/SECOND, cable: 5m, speed: 100G}
credentials:
  hosts: {username: root, ssh: {key: /root/id, knownHosts: /root/known_hosts}}
`

// vmSetUp sets up a VM with two NICs and an RDMA device. rf works on it locally, ssh over SSH.
const vmSetUp = `
# The gate takes minutes.
export ROCE_FABRIC_GATE=off ROCE_FABRIC_SECRETS=key:/root/id
rf() { roce-fabric "$@" --host vm --local -f /fabric.yaml; }
ssh() { roce-fabric "$@" --host vm -f /fabric.yaml; }
status() { want=$1; shift; got=0; "$@" || got=$?; test $got = $want || { echo "status $got, not $want: $*"; exit 1; }; }
await() { for try in $(seq 600); do if "$@" >/dev/null 2>&1; then return 0; fi; sleep 0.1; done; echo "never: $*"; exit 1; }
# dcb may fail by itself: see tool in internal/inside.
dcb() {
	for try in 1 2 3; do
		code=0
		out=$(command dcb "$@" 2>&1) || code=$?
		case $out in *"Protocol error") ;; *) break ;; esac
	done
	[ -z "$out" ] || echo "$out"
	return $code
}
`

const vmLinks = `
ip link set roce0 up
ip link set roce1 up
rdma link add rxe0 type rxe netdev roce0
`

// bootVM returns a function that boots VMs with the program and the intent, all with one kernel.
// The program is also copied to further paths, in which DIGEST stands for its digest.
func bootVM(t *testing.T, lack string) func(script string, o hostvm.Options, copies ...string) *hostvm.Result {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short; a machine takes ten seconds to boot")
	}
	if lack != "" {
		t.Skip("skipped: " + lack)
	}
	img, err := hostvm.Build(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "roce-fabric")
	if err := hostvm.GoBuild(t.Context(), "github.com/roce-fabric/roce-fabric/cmd/roce-fabric", bin); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(b))
	return func(script string, o hostvm.Options, copies ...string) *hostvm.Result {
		t.Helper()
		files := map[string]string{"/usr/local/bin/roce-fabric": bin}
		for _, to := range copies {
			files[strings.ReplaceAll(to, "DIGEST", digest)] = bin
		}
		tree := map[string]hostvm.File{"/fabric.yaml": {Mode: 0o644, Data: []byte(strings.ReplaceAll(vmIntent, "SECOND", "roce1"))}}
		for to, f := range o.Tree {
			tree[to] = f
		}
		o.Files, o.Tree, o.Script = files, tree, vmSetUp+script
		res, err := hostvm.Boot(t.Context(), img, o)
		if err != nil || res.Status != 0 {
			t.Fatalf("%v, status %d\n%s\n%s", err, res.Status, res.Output, res.Console)
		}
		return res
	}
}

// said fails the test for each text that is missing in the VM's output.
func said(t *testing.T, res *hostvm.Result, what ...string) {
	t.Helper()
	for _, s := range what {
		if !strings.Contains(string(res.Output), s) {
			t.Errorf("not said: %s", s)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", res.Output, res.Console)
	}
}

const nicScript = vmLinks + `
dcb -j pfc show dev roce0 >/before
status 1 rf nic rollback --yes --allow traffic-loss
status 3 rf nic plan --exit-code
status 1 rf nic apply --yes
rf nic apply --yes --allow traffic-loss
dcb -j pfc show dev roce0
dcb -j app show dev roce0
dcb -j ets show dev roce0
cat /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
ip link show roce1
before=$(cat /sys/class/net/roce*/carrier_changes)
rf nic apply --yes --allow traffic-loss
test "$before" = "$(cat /sys/class/net/roce*/carrier_changes)"
echo corrupt
changes=$(cat /sys/class/net/roce0/carrier_changes)
dcb pfc set dev roce0 prio-pfc all:off
await sh -c "test \$(cat /sys/class/net/roce0/carrier_changes) -ge $((changes + 2))" # its link is back
status 3 rf nic validate
echo mended
rf nic apply --yes --allow traffic-loss
status 1 rf nic unit install --yes
echo rollback
rf nic rollback --list
rf nic rollback --yes --allow traffic-loss # of the mending: off again
dcb -j pfc show dev roce0 | cmp - /before
rf nic rollback --yes --allow traffic-loss # of the first apply
status 1 rf nic rollback --yes --allow traffic-loss
ip link show roce1
cat /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
`

// nicNightScript continues nicScript in nightly runs.
const nicNightScript = `
rf nic apply --yes --allow traffic-loss
dcb -j pfc show dev roce1

echo unloaded
rmdir /sys/kernel/config/rdma_cm/rxe0
modprobe -r rdma_ucm rdma_cm
status 3 rf nic plan --exit-code
test ! -e /sys/kernel/config/rdma_cm
rf nic apply --yes
grep -x 106 /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
rf nic rollback --yes --allow traffic-loss # of these two alone

echo cut off
# The process is killed while it waits for a link: the journal has no end, and
# what was there all the same.
rf nic rollback --yes --allow traffic-loss
echo 600000 >/sys/module/fakedcb/parameters/bounce_ms
rf nic apply --yes --allow traffic-loss &
await sh -c 'dcb -j pfc show dev roce0 | grep "false,false,false,true"'
kill -9 $(pidof roce-fabric)
wait $! || :
echo 200 >/sys/module/fakedcb/parameters/bounce_ms
status 3 rf nic plan --exit-code
rf nic rollback --list
rf nic rollback --yes --allow traffic-loss
status 1 rf nic rollback --yes --allow traffic-loss
dcb -j pfc show dev roce0 | cmp - /before
`

// TestNICInAKernel configures the NICs of a VM with a real kernel: the settings are applied, read
// back with the kernel's own tool, applied again without taking the link down, corrupted, found,
// repaired, and rolled back. At night, modules are also unloaded, and an apply is killed.
func TestNICInAKernel(t *testing.T) {
	t.Parallel()
	script, want := nicScript, []string{
		`"prio_pfc":[false,false,false,true,false,false,false,false]`, `[26,3]`, `[48,6]`, "\n106\n", "mtu 9000",
		"vm  unchanged", "no systemd on this machine", "root@hostvm  applied vm", "vm  restored", "mtu 1500",
	}
	if sharedtest.Nightly() {
		script, want = script+nicNightScript, append(want, "cut off on vm")
	}
	res := bootVM(t, hostvm.Missing())(script, hostvm.Options{})
	said(t, res, want...)
	out := string(res.Output)
	_, rest, _ := strings.Cut(out, "corrupt")
	corrupt, _, _ := strings.Cut(rest, "mended")
	words := strings.Join(strings.Fields(corrupt), " ")
	if !strings.Contains(words, "error PFC-02 vm roce0: the NIC pauses no priority, the intent says priority 3 for both ends (layer driver)") || !strings.Contains(words, "the NICs of vm: 1 error") {
		t.Errorf("what was corrupted is not what is found:\n%s", corrupt)
	}
}
