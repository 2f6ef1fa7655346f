package nxos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newBox returns a switch that is closed at the end of the test.
func newBox(t testing.TB, o Options) *NXOS {
	t.Helper()
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bodyOf returns the running configuration without its header.
func bodyOf(t testing.TB, n *NXOS) string {
	t.Helper()
	return afterHeader(t, n.Running())
}

func afterHeader(t testing.TB, text string) string {
	t.Helper()
	head, s, ok := strings.Cut(text, " Bios:version 01.11\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) != 5 || !strings.HasPrefix(lines[1], "!Running configuration last done at: ") || !strings.HasPrefix(lines[2], "!Time: ") || lines[3] != "" {
		t.Fatalf("header of\n%s", text)
	}
	return s
}

func feed(t testing.TB, n *NXOS, lines string) {
	t.Helper()
	if err := n.Configure(lines); err != nil {
		t.Fatal(err)
	}
}

// Complete configurations in the printing order of either release are printed as they were read.
func TestPrintsWhatItReads(t *testing.T) {
	for _, c := range []struct {
		file string
		old  bool
	}{{"single.cfg", true}, {"double.cfg", false}} {
		t.Run(c.file, func(t *testing.T) {
			want := readFile(t, c.file)
			n := newBox(t, Options{Config: want, OldOrder: c.old})
			if d := cmp.Diff(want, bodyOf(t, n)); d != "" {
				t.Errorf("running-config (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, afterHeader(t, n.Startup())); d != "" {
				t.Errorf("startup-config (-want +got):\n%s", d)
			}
			// The other printing order has the same meaning.
			other := newBox(t, Options{Config: want, OldOrder: !c.old})
			if bodyOf(t, other) == want {
				t.Error("both orders are one")
			}
			back := newBox(t, Options{Config: bodyOf(t, other), OldOrder: c.old})
			if d := cmp.Diff(want, bodyOf(t, back)); d != "" {
				t.Errorf("through the other order (-want +got):\n%s", d)
			}
		})
	}
}

const allOfPort = `
interface Ethernet1/2
  switchport
  priority-flow-control mode auto
  priority-flow-control watch-dog-interval off
  flowcontrol receive off
  flowcontrol send on
  mtu 1500
  no shutdown
`

func TestRunningConfigAll(t *testing.T) {
	n := newBox(t, Options{Config: "interface Ethernet1/2\nflowcontrol send on\n"})
	got := n.runningText(true, []string{"interface", "eth1/2"})
	if d := cmp.Diff(allOfPort, afterHeader(t, got)); d != "" {
		t.Errorf("the port (-want +got):\n%s", d)
	}
	all := n.runningText(true, nil)
	for _, want := range []string{
		"!Command: show running-config all\n",
		"\nclass-map type queuing match-any c-out-8q-q7\n  match qos-group 7\n",
		"\nclass-map type network-qos match-any c-8q-nq-default\n  match qos-group 0\n",
		"\npolicy-map type network-qos default-8q-nq-policy\n  class type network-qos c-8q-nq-default\n    mtu 1500\n",
		"  class type queuing c-out-8q-q7\n    priority level 1\n",
		"\nsystem qos\n  service-policy type queuing input default-in-policy\n  service-policy type queuing output default-8q-out-policy\n  service-policy type network-qos default-8q-nq-policy\n",
		"\npriority-flow-control watch-dog-interval off\npriority-flow-control watch-dog interval 100\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("running-config all lacks %q", want)
		}
	}
	if four := newBox(t, Options{FourQueue: true}).runningText(true, nil); strings.Contains(four, "8q") || !strings.Contains(four, "default-nq-policy\n  class type network-qos c-nq-default\n    mtu 1500\n") {
		t.Error("the 4-queue model has names of the other one, or none of its own")
	}
}

func TestRunningConfigSections(t *testing.T) {
	n := newBox(t, Options{Config: readFile(t, "single.cfg")})
	qos := n.runningText(false, []string{"ipqos"})
	for _, want := range []string{"!Command: show running-config ipqos\n", "\npriority-flow-control watch-dog-interval on\n", "\n    random-detect minimum", "\nsystem qos\n",
		"\ninterface Ethernet1/25\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  service-policy type qos input QOS_CLASSIFICATION\n"} {
		if !strings.Contains(qos, want) {
			t.Errorf("ipqos lacks %q", want)
		}
	}
	for _, not := range []string{"feature", "copp", "ip address", "vdc", "description"} {
		if strings.Contains(qos, not) {
			t.Errorf("ipqos has %q", not)
		}
	}
	sys, err := section(n.Running(), "system qos")
	if want := "system qos\n  service-policy type queuing output QOS_EGRESS_PORT\n  service-policy type network-qos QOS_NETWORK\n"; err != nil || sys != want {
		t.Errorf("section: %q, %v", sys, err)
	}
	if _, err := section("", "("); err == nil {
		t.Error("an expression that does not compile")
	}
	for name, heads := range map[string]int{"Ethernet1/1": 1, "e1/1,e1/25": 2, "Ethernet1/2": 0, "nothing": 0} {
		got := n.runningText(false, []string{"interface", name})
		if strings.Count(got, "\ninterface ") != heads || heads == 0 && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEmptyClassDefault(t *testing.T) {
	lines := "policy-map type qos A\nclass class-default\nset qos-group 1\npolicy-map B\npolicy-map type queuing C\n"
	n := newBox(t, Options{Config: lines, EmptyClassDefault: true})
	want := "policy-map type qos A\n  class class-default\n    set qos-group 1\npolicy-map type qos B\n  class class-default\npolicy-map type queuing C\n"
	if got := bodyOf(t, n); !strings.Contains(got, want) {
		t.Error(got)
	}
	if got := bodyOf(t, newBox(t, Options{Config: lines})); !strings.Contains(got, "policy-map type qos B\npolicy-map type queuing C\n") {
		t.Error(got)
	}
}

func TestFactory(t *testing.T) {
	n := newBox(t, Options{Hostname: "leaf1", Interfaces: []string{"Ethernet1/1", "Ethernet1/2"}, Routed: true})
	var names []string
	for _, p := range n.portStates() {
		names = append(names, p.Name)
		if !p.Routed || p.MTU != 1500 || p.Shutdown || p.PFC != "auto" || p.Watchdog {
			t.Errorf("%+v", p)
		}
	}
	if d := cmp.Diff([]string{"Ethernet1/1", "Ethernet1/2", "mgmt0"}, names); d != "" {
		t.Error(d)
	}
	if again := newBox(t, Options{Config: n.Running()}); bodyOf(t, again) != bodyOf(t, n) {
		t.Errorf("reads back as\n%s", again.Running())
	}
}
