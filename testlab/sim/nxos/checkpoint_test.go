package nxos

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheckpoints(t *testing.T) {
	n := newBox(t, Options{Config: small, MaxCheckpoints: 3})
	for _, c := range []struct{ name, want string }{
		{"one", "Done"},
		{"one", "ERROR: checkpoint one already exists"},
		{"", "Done"},
		{"a b", "% Invalid command"},
		{strings.Repeat("x", 81), "% Invalid command"},
		{strings.Repeat("x", 80), "Done"},
		{"four", "ERROR: maximum number of checkpoints (3) reached"},
	} {
		if out := n.addCheckpoint(c.name); out != c.want {
			t.Errorf("checkpoint %s: %q, want %q", c.name, out, c.want)
		}
	}
	if d := cmp.Diff([]string{"one", "user-checkpoint-1", strings.Repeat("x", 80)}, n.Checkpoints()); d != "" {
		t.Error(d)
	}
	if out := n.removeCheckpoint("one") + n.addCheckpoint("four"); out != "Done" {
		t.Error(out)
	}
	const missing = "ERROR: checkpoint one does not exist"
	if a, b, c := n.removeCheckpoint("one"), n.rollback("one", ""), n.diffCheckpoint("one"); a != missing || b != missing || c != missing {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	if s := n.checkpointSummary(); len(s) != 3 || s[0].Name != "user-checkpoint-1" || s[0].Size != len(bodyOf(t, n)) || s[0].User != "admin" {
		t.Errorf("summary: %+v", s)
	}
}

// Rollbacks between configurations that share, rename, reorder and use each other's objects
// restore the checkpoint.
func TestRollbackBetween(t *testing.T) {
	single, double := readFile(t, "single.cfg"), readFile(t, "double.cfg")
	renamed := strings.NewReplacer("ROCE_GPU", "GPU", "QOS_EGRESS_PORT", "OUT", "QOS_NETWORK", "NET", "percent 30", "percent 45", "percent 20", "percent 5").Replace(double)
	swapped := "class-map type qos match-any B\n  match cos 2\nclass-map type qos match-all A\n  match cos 1\npolicy-map type qos QOS_CLASSIFICATION\n  class B\n  class A\n    set qos-group 1\ninterface Ethernet1/1\n  service-policy type qos input QOS_CLASSIFICATION\n" +
		"interface port-channel7\n  priority-flow-control mode on\nbanner motd #a\nb#\n"
	other := "class-map type qos match-any A\n  match cos 1\nclass-map type qos match-any B\n  match cos 2\npolicy-map type qos QOS_CLASSIFICATION\n  class A\n    set qos-group 1\n  class B\n  class class-default\n    set qos-group 2\ninterface Ethernet1/1\n  service-policy type qos input QOS_CLASSIFICATION\n" +
		"ip access-list L\n  10 permit ip any any\nno lldp tlv-select dcbxp\nrouter bgp 1\n  neighbor 10.0.0.1\n    remote-as 2\nfeature bgp\nsystem jumbomtu 9000\n"
	shut := strings.ReplaceAll(double, "  mtu 9216\n  service", "  shutdown\n  service")
	configs := []string{single, double, renamed, swapped, other, shut, "hostname x\n"}
	for i, from := range configs {
		for j, to := range configs {
			t.Run(fmt.Sprint(i, "-", j), func(t *testing.T) {
				ports := "hostname leaf1\ninterface Ethernet1/1\ninterface Ethernet1/25\n"
				n := newBox(t, Options{Config: ports + to})
				want := n.running.Clone()
				if out := n.addCheckpoint("c"); out != "Done" {
					t.Fatal(out)
				}
				n.running = newBox(t, Options{Config: ports + from}).running
				diff := n.diffCheckpoint("c")
				if empty := strings.Contains(diff, patchEmpty); empty != (i == j) {
					t.Errorf("diff:\n%s", diff)
				}
				out := n.rollback("c", "")
				if !strings.HasSuffix(out, "\n"+rollbackDone) {
					t.Fatalf("rollback:\n%s", out)
				}
				if !same(n.running, want) {
					t.Errorf("running after the rollback (-want +got):\n%s", cmp.Diff(n.body(want), bodyOf(t, n)))
				}
				if out := n.diffCheckpoint("c"); !strings.HasSuffix(out, patchEmpty) {
					t.Errorf("diff after the rollback:\n%s", out)
				}
				if s := n.rollbackStatus(); !strings.Contains(s, "Operation Status: Success") {
					t.Error(s)
				}
			})
		}
	}
}

func TestRollbackPatch(t *testing.T) {
	n := newBox(t, Options{Config: readFile(t, "double.cfg")})
	n.addCheckpoint("c")
	feed(t, n, "feature bgp\npolicy-map type network-qos NEW\nclass type network-qos c-8q-nq3\npause pfc-cos 3\nsystem qos\nservice-policy type network-qos NEW\ninterface Ethernet1/1\nno priority-flow-control mode on\nmtu 1500")
	want := `Collecting Running-Config
#Generating Rollback Patch
!!
system qos
no service-policy type network-qos QOS_NETWORK
interface Ethernet1/1
no priority-flow-control mode on
no mtu 9216
feature bgp
policy-map type network-qos NEW
class type network-qos c-8q-nq3
pause pfc-cos 3
system qos
service-policy type network-qos NEW`
	if d := cmp.Diff(want, n.diffCheckpoint("c")); d != "" {
		t.Errorf("patch (-want +got):\n%s", d)
	}
	if out := n.rollback("c", "atomic"); !strings.Contains(out, patchHead) || !strings.Contains(out, "Verification is Successful.") {
		t.Error(out)
	}
	if w := n.Writes(); w != 2 {
		t.Errorf("%d writes, want 2", w)
	}
}

// If a line of the patch is refused, atomic leaves everything unchanged, best-effort runs all
// other lines, and stop-at-first-failure keeps the effect of the lines before it.
func TestRollbackFails(t *testing.T) {
	for mode, want := range map[string][]string{
		"atomic":                {"on", "3000", "bgp"},
		"":                      {"on", "3000", "bgp"},
		"best-effort":           {"off", "3000", ""},
		"stop-at-first-failure": {"off", "3000", "bgp"},
	} {
		t.Run(mode, func(t *testing.T) {
			nq := "policy-map type network-qos P\nclass type network-qos c-8q-nq3\npause pfc-cos 3\n"
			n := newBox(t, Options{Config: small + "policy-map Q\n" + nq + "system qos\nservice-policy type network-qos P\n", NQLocked: true})
			n.addCheckpoint("c")
			// The attached policy cannot be edited. It is changed while detached, and the
			// rollback would have to change it while attached.
			feed(t, n, "interface Ethernet1/1\nservice-policy type qos input Q\nsystem qos\nno service-policy type network-qos P\n"+nq+"mtu 3000\nsystem qos\nservice-policy type network-qos P\nfeature bgp")
			out := n.rollback("c", mode)
			if !strings.HasSuffix(out, rollbackFailed) || strings.Contains(out, rollbackDone) || !strings.Contains(out, "ERROR: policy-map P is attached and cannot be modified") {
				t.Fatalf("rollback:\n%s", out)
			}
			if s := n.rollbackStatus(); !strings.Contains(s, "Operation Status: Failed") {
				t.Error(s)
			}
			r := n.Running()
			got := []string{"off", "", ""}
			if strings.Contains(r, "service-policy type qos input Q") {
				got[0] = "on"
			}
			if strings.Contains(r, "mtu 3000") {
				got[1] = "3000"
			}
			if strings.Contains(r, "feature bgp") {
				got[2] = "bgp"
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("left (-want +got):\n%s\n%s", d, out)
			}
		})
	}
}

// A rollback that takes time ends when the switch is closed.
func TestCloseDuringRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newBox(t, Options{Config: small, TimeScale: 3600})
		n.addCheckpoint("c")
		out := make(chan string)
		go func() { out <- n.rollback("c", "") }()
		began := time.Now()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if s := <-out; !strings.HasSuffix(s, rollbackFailed) || time.Since(began) > time.Minute {
			t.Errorf("answer %q after %s", s, time.Since(began))
		}
	})
}
