package nxos

import (
	"strings"
	"testing"
)

const brought = `!Command: show running-config
version 9.3(8) Bios:version 05.42
hostname tor1
feature lldp
policy-map type qos IN
  class ROCE
    set qos-group 3
class-map type qos match-any ROCE
  match dscp 26
policy-map type network-qos NQ
  class type network-qos c-8q-nq3
    pause pfc-cos 9
    pause pfc-cos 3
  class type network-qos c-nq1
    mtu 9216
    pause pfc-cos 1
system qos
  service-policy type network-qos NQ
mls qos
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input IN
`

// A switch can start with the running configuration of another one. It leaves out the lines that
// it refuses and reports them, except those below a refused header.
func TestRunningOfAnotherSwitch(t *testing.T) {
	got := strings.Join(Refuses("N9K-C9336C-FX2", []byte(brought)), "\n")
	for _, want := range []string{"line 12: pause pfc-cos 9: % Invalid", "line 14: class type network-qos c-nq1: % Invalid", "line 19: mls qos: % Invalid"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 3 {
		t.Errorf("%d lines are refused, want 3:\n%s", n, got)
	}
	n, err := New(Options{Model: "N9K-C9336C-FX2", Running: []byte(brought), NoSSH: true, NoGNMI: true})
	if err != nil {
		t.Fatal(err)
	}
	running := n.Running()
	for _, want := range []string{"hostname tor1", "  pause pfc-cos 3\n", "  service-policy type qos input IN\n"} {
		if !strings.Contains(running, want) {
			t.Errorf("%q is not running:\n%s", want, running)
		}
	}
	if strings.Contains(running, "c-nq1") || strings.Contains(running, "mls") {
		t.Errorf("a refused line is running:\n%s", running)
	}
}

// Only a switch with four queues accepts the class names of the 4-queue model. Without a model, the
// configuration shows what it was.
func TestRunningOfFourQueues(t *testing.T) {
	const four = "policy-map type network-qos NQ\n  class type network-qos c-nq3\n    pause pfc-cos 3\npolicy-map type queuing OUT\n  class type queuing c-out-q3\n    priority level 1\n"
	for model, takes := range map[string]bool{"N3K-C3232C": true, "N9K-C9372PX": true, "N9K-C93180YC-FX3": false, "N9K-C9364D-GX2A": false, "": true} {
		if got := Refuses(model, []byte(four)); (len(got) == 0) != takes {
			t.Errorf("%q refuses %q", model, got)
		}
	}
}

// A port uses the settings of an enabled port-profile unless it has its own.
func TestPortProfile(t *testing.T) {
	const text = "port-profile type ethernet ROCE\n  no switchport\n  mtu 9216\n  priority-flow-control mode on\n  state enabled\nport-profile type ethernet LATER\n  priority-flow-control mode on\n" +
		"interface Ethernet1/1\n  inherit port-profile ROCE\n  mtu 4200\ninterface Ethernet1/2\n  inherit port-profile LATER\ninterface Ethernet1/3\n  inherit port-profile GONE\n"
	if got := Refuses("", []byte(text)); len(got) != 1 || !strings.Contains(got[0], "port-profile GONE does not exist") {
		t.Errorf("refused: %q", got)
	}
	n, err := New(Options{Running: []byte(text), NoSSH: true, NoGNMI: true})
	if err != nil {
		t.Fatal(err)
	}
	got := n.portStates()
	if len(got) != 3 || got[0].PFC != "on" || got[0].MTU != 4200 || !got[0].Routed || got[1].PFC != "auto" || got[2].PFC != "auto" {
		t.Errorf("%+v", got)
	}
}
