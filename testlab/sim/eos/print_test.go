package eos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newEOS(t testing.TB, o Options) *EOS {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Complete configurations are printed in the order in which EOS prints them.
func TestPrintsWhatItReads(t *testing.T) {
	for _, c := range []struct{ file, model string }{
		{"strata.cfg", "DCS-7060DX5-64S"},
		{"sand.cfg", "DCS-7280CR3-32P4"},
	} {
		t.Run(c.file, func(t *testing.T) {
			want := readFile(t, c.file)
			e := newEOS(t, Options{Model: c.model, Config: want, PrintDefaults: true})
			if d := cmp.Diff(want, e.Running()); d != "" {
				t.Errorf("running-config (-want +got):\n%s", d)
			}
			// The output is the same when it is loaded again.
			again := newEOS(t, Options{Model: c.model, Config: e.Running(), PrintDefaults: true})
			if again.Running() != e.Running() {
				t.Error("the printed configuration is not a fixed point")
			}
		})
	}
}

const allOfPort = `interface Ethernet2/1
   no shutdown
   mtu 1500
   no dcbx mode
   no flowcontrol send
   no flowcontrol receive
   no l2 mtu
   no l2 mru
   switchport
   service-profile P
   default qos trust
   qos cos 0
   qos dscp 0
   no shape rate
   no priority-flow-control
   no priority-flow-control priority 0
   no priority-flow-control priority 1
   no priority-flow-control priority 2
   priority-flow-control priority 3 no-drop
   no priority-flow-control priority 4
   no priority-flow-control priority 5
   no priority-flow-control priority 6
   no priority-flow-control priority 7
   priority-flow-control pause watchdog
   no priority-flow-control pause watchdog port action
   no priority-flow-control pause watchdog port timer
   !
   uc-tx-queue 0
      priority strict
      no bandwidth percent
      no shape rate
      no bandwidth guaranteed
      no random-detect ecn minimum-threshold
      no random-detect drop
      no random-detect non-ect
      no random-detect ecn count
   !
   uc-tx-queue 1
      no priority
      bandwidth percent 5
      no bandwidth guaranteed
      no shape rate
      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes
      no random-detect drop
      no random-detect non-ect
      random-detect ecn count
`

func TestRunningConfigAll(t *testing.T) {
	e := newEOS(t, Options{Config: small + "qos profile P\ninterface Ethernet2/1\nservice-profile P\npriority-flow-control priority 3 no-drop\nuc-tx-queue 1\nno priority\n" +
		"bandwidth percent 5\nrandom-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes\nrandom-detect ecn count\n"})
	got := e.runningText(true, []string{"interfaces", "et2/1"})
	if d := cmp.Diff(allOfPort, got[:min(len(got), len(allOfPort))]); d != "" {
		t.Errorf("the port and its first queues (-want +got):\n%s", d)
	}
	if n := strings.Count(got, "uc-tx-queue "); n != 8 {
		t.Errorf("%d queues, want 8", n)
	}
	all := e.runningText(true, nil)
	for _, l := range []string{"! Command: show running-config all\n", "\nqos map dscp 0 1 2 3 4 5 6 7 to traffic-class 1\n", "\nqos map dscp 8 9 10 11 12 13 14 15 to traffic-class 0\n",
		"\nqos map dscp 24 25 26 27 28 29 30 31 to traffic-class 3\n", "\nqos map traffic-class 3 to uc-tx-queue 3\n", "\nno qos rewrite dscp\n"} {
		if !strings.Contains(all, l) {
			t.Errorf("running-config all lacks %q", l)
		}
	}
	if n := strings.Count(all, "uc-tx-queue 7\n      priority strict"); n != 2 {
		t.Errorf("%d ports with queue 7, want 2", n)
	}
}

func TestRunningConfigOfInterfaces(t *testing.T) {
	e := newEOS(t, Options{Config: small + "interface Ethernet1/1\nmtu 9000\n"})
	for name, want := range map[string]string{
		"Ethernet1/1":     "interface Ethernet1/1\n   mtu 9000\n   no switchport\n",
		"Ethernet1/1-2/1": "interface Ethernet1/1\n   mtu 9000\n   no switchport\ninterface Ethernet2/1\n",
		"Ethernet9/1":     "",
		"nothing":         "",
	} {
		if got := e.runningText(false, []string{"interfaces", name}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFactory(t *testing.T) {
	e := newEOS(t, Options{Hostname: "leaf1", Interfaces: []string{"Ethernet1/1", "Ethernet2/1"}, Routed: true})
	if got := e.Running(); !strings.HasPrefix(got, "! Command: show running-config\n! device: leaf1 (DCS-7060DX5-64S, EOS-4.34.2F)\n!\n") {
		t.Error(got)
	}
	routed := map[string]bool{}
	for _, p := range e.portStates() {
		routed[p.Name] = p.Routed && p.MTU == 1500
	}
	want := map[string]bool{"Ethernet1/1": true, "Ethernet2/1": true, "Management1": true}
	if d := cmp.Diff(want, routed); d != "" {
		t.Errorf("routed ports (-want +got):\n%s", d)
	}
}
