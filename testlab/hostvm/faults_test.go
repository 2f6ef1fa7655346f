package hostvm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// kernelFault is a fault that the script causes in a VM with the kernel's own tools.
type kernelFault struct {
	name, do string
	// want is the finding: "error PFC-02 roce0". It may list alternative IDs, separated by "|".
	want string
	// also lists further IDs that the fault causes. No other new finding above info is allowed.
	also string
	// undo restores what an apply does not.
	undo string
}

const (
	tosOf = "/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos"
	here  = "ip addr add 10.0.0.1/24 dev roce0"
)

var kernelFaults = []kernelFault{
	{"a NIC pauses nothing", "dcb pfc set dev roce0 prio-pfc all:off", "error PFC-02 roce0", "", ""},
	{"a NIC pauses another priority", "dcb pfc set dev roce0 prio-pfc all:off 4:on", "error PFC-02 roce0", "", ""},
	{"a NIC pauses one more", "dcb pfc set dev roce0 prio-pfc 4:on", "error PFC-02 roce0", "", ""},
	{"another NIC pauses nothing", "dcb pfc set dev roce1 prio-pfc all:off", "error PFC-02 roce1", "", ""},
	{"a NIC classifies by PCP", "dcb app flush dev roce0 dscp-prio", "error NIC-01 roce0", "", ""},
	{"a NIC has RDMA in another priority", "dcb app replace dev roce0 dscp-prio 26:0", "error NIC-02 roce0", "", ""},
	{"a NIC has other traffic in the priority of RDMA", "dcb app replace dev roce0 dscp-prio 10:3", "warning NIC-02 roce0", "", ""},
	{"a NIC has notifications in another priority", "dcb app replace dev roce0 dscp-prio 48:0", "error NIC-02 roce0", "", ""},
	{"another NIC has RDMA in another priority", "dcb app replace dev roce1 dscp-prio 26:1", "error NIC-02 roce1", "", ""},
	{"a NIC gives RDMA a tenth", "dcb ets set dev roce0 tc-bw 0:90 3:10", "warning SCH-04 roce0", "", ""},
	{"a NIC serves other traffic first", "dcb ets set dev roce0 tc-tsa 0:strict tc-bw 0:0 3:100", "warning SCH-04 roce0", "", ""},
	{"RDMA is in the traffic class of the rest", "dcb ets set dev roce0 prio-tc 3:0", "error CLS-05 roce0", "", ""},
	{"a NIC is willing", "dcb ets set dev roce0 willing on", "info DCB-01 roce0", "", "dcb ets set dev roce0 willing off"},
	{"802.3x on a NIC", "ethtool -A roce0 rx on tx on", "error PFC-05 roce0", "", ""},
	{"RDMA-CM marks nothing", "echo 0 >" + tosOf, "error NIC-03 roce0", "", ""},
	{"RDMA-CM marks another DSCP", "echo 98 >" + tosOf, "error NIC-03 roce0", "", ""},
	{"a NIC has a small MTU", "ip link set roce0 mtu 1500", "warning MTU-04|DRIFT roce0", "MTU-04 DRIFT", ""},
	{"another NIC has a small MTU", "ip link set roce1 mtu 4000", "warning DRIFT roce1", "", ""},
	{"a NIC is shut", "ip link set roce0 down", "error NIC-11 roce0", "NIC-13", "ip link set roce0 up; " + here + " || :"},
	{"there is no RDMA device", "rdma link delete rxe0", "error NIC-13 roce0", "NIC-10 NIC-03 DRIFT", "rdma link add rxe0 type rxe netdev roce0"},
	{"the RDMA device has another name", "rdma dev set rxe0 name other0", "error DRIFT roce0", "", "rdma dev set other0 name rxe0"},
	{"a NIC has no IP address", "ip addr flush dev roce0 scope global", "warning NIC-14 roce0", "", here},
	{"the interface has another name", "ip link set roce0 down; ip link set roce0 name eth9; ip link set eth9 up", "error NIC-04 roce0", "",
		"ip link set eth9 down; ip link set eth9 name roce0; ip link set roce0 up; " + here + " || :"},
	{"a container has the interface", "ip netns add c; ip link set roce1 netns c", "error NIC-04 roce1", "",
		"ip -n c link set roce1 netns 1; ip netns del c; ip link set roce1 up"},
	{"an agent negotiates DCBX", "sh -c 'echo lldpad >/proc/$$/comm; while :; do sleep 1; done' & agent=$!", "warning DCB-02 ", "", "kill $agent"},
	{"cron writes PFC", "mkdir -p /etc/cron.d; echo '* * * * * root mlnx_qos -i roce0 --pfc 0,0,0,0,0,0,0,0' >/etc/cron.d/roce", "warning NIC-12 roce0", "", "rm /etc/cron.d/roce"},
	{"udev writes the MTU", `mkdir -p /etc/udev/rules.d; echo 'KERNEL=="roce0", ATTR{mtu}="1500"' >/etc/udev/rules.d/70-mtu.rules`, "warning NIC-12 roce0", "", "rm /etc/udev/rules.d/70-mtu.rules"},
	{"rc.local turns 802.3x on", "echo 'ethtool -A roce1 rx on tx on' >/etc/rc.local", "warning NIC-12 roce1", "", "rm /etc/rc.local"},
	{"a unit writes the ToS", "mkdir -p /etc/systemd/system/multi-user.target.wants; printf '[Service]\\nExecStart=/usr/sbin/cma_roce_tos -d rxe0 -t 0\\n' >/etc/systemd/system/tos.service; ln -s ../tos.service /etc/systemd/system/multi-user.target.wants/",
		"warning NIC-12 roce0", "", "rm /etc/systemd/system/tos.service /etc/systemd/system/multi-user.target.wants/tos.service"},
	{"a loop writes PFC", "sh -c 'while :; do mlnx_qos -i roce1 --pfc 0,0,0,0,0,0,0,0 2>/dev/null; sleep 60; done' & agent=$!", "warning NIC-12 roce1", "", "kill $agent"},
}

// TestFaultsInAKernel causes faults on the NICs of a VM with a real kernel, one after the other,
// with the kernel's own tools and files. Each is found with the expected ID, place and severity,
// and there is no other finding above info.
func TestFaultsInAKernel(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts a virtual machine; make nightly runs it")
	}
	t.Parallel()
	boot := bootVM(t, hostvm.Missing())
	var script strings.Builder
	script.WriteString(vmLinks + here + `
echo 1 >/sys/module/fakedcb/parameters/bounce_ms
settle() { for n in roce0 roce1; do await sh -c "test \$(cat /sys/class/net/$n/carrier) = 1"; done; }
look() { echo "== $1"; rf nic validate -o json || test $? = 3; echo "== end"; }
heal() { rf nic apply --yes --allow traffic-loss >/heal 2>&1 || { cat /heal; exit 1; }; settle; }
heal
look sound
`)
	for i, f := range kernelFaults {
		wait := "settle"
		if strings.Contains(f.do, "down") || strings.Contains(f.do, "netns") {
			wait = ":"
		}
		fmt.Fprintf(&script, "%s\n%s\nlook %d\n%s\nheal\n", f.do, wait, i, f.undo)
	}
	script.WriteString("look 'sound again'\n")
	res := boot(script.String(), hostvm.Options{})
	seen := map[string][]string{}
	for part := range strings.SplitSeq(string(res.Output), "== end") {
		_, rest, ok := strings.Cut(part, "== ")
		if !ok {
			continue
		}
		name, text, _ := strings.Cut(rest, "\n")
		var out struct {
			Findings []struct {
				ID, Severity, Device string
				Ports                []string
			}
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		seen[name] = []string{}
		for _, f := range out.Findings {
			for _, p := range append(f.Ports, "")[:max(1, len(f.Ports))] {
				seen[name] = append(seen[name], f.Severity+" "+f.ID+" "+p)
			}
		}
	}
	sound := seen["sound"]
	if !slices.Equal(sound, seen["sound again"]) || sound == nil {
		t.Errorf("sound: %q, after all faults %q", sound, seen["sound again"])
	}
	t.Logf("without a fault: %q", sound)
	for i, f := range kernelFaults {
		got := slices.DeleteFunc(slices.Clone(seen[fmt.Sprint(i)]), func(s string) bool { return slices.Contains(sound, s) })
		w := strings.SplitN(f.want, " ", 3)
		found := false
		for _, s := range got {
			g := strings.SplitN(s, " ", 3)
			switch {
			case g[0] == w[0] && slices.Contains(strings.Split(w[1], "|"), g[1]) && g[2] == w[2]:
				found = true
			case g[0] != "info" && !slices.Contains(strings.Fields(f.also), g[1]):
				t.Errorf("%s: also %s", f.name, s)
			}
		}
		if !found {
			t.Errorf("%s: not %q in %q", f.name, f.want, got)
		}
	}
}
