package eos

import (
	"slices"
	"strings"
	"testing"
)

// A box that starts with another box's configuration reports the lines that it rejects, and the
// lines below a rejected header are not applied elsewhere.
func TestRefuses(t *testing.T) {
	const text = "! device: leaf9 (DCS-7060DX5-64S, EOS-4.31.1F)\r\nhostname leaf9\n!\nqos profile P\n   qos trust dscp\n   tx-queue 3\n      no priority\n   !\n   uc-tx-queue 3\n      bandwidth percent 40\n   priority-flow-control on\n!\ninterface Ethernet1/1\n   service-profile P\n   priority-flow-control mode on\n!\nunknown thing\n   mtu 9000\nqos map traffic-class 3 to tx-queue 3\n"
	for model, want := range map[string][]string{
		"DCS-7060DX5-64S":  {"line 6: tx-queue 3: " + unavailable + otherQueues, "line 15: priority-flow-control mode on: % Invalid input (at token 1: 'mode')", "line 17: unknown thing: % Invalid input (at token 0: 'unknown')", "line 19: qos map traffic-class 3 to tx-queue 3: " + unavailable + otherQueues},
		"DCS-7280CR3-32P4": {"line 9: uc-tx-queue 3: " + unavailable + otherQueues, "line 15: priority-flow-control mode on: % Invalid input (at token 1: 'mode')", "line 17: unknown thing: % Invalid input (at token 0: 'unknown')"},
		"":                 {"line 9: uc-tx-queue 3: " + unavailable + otherQueues, "line 15: priority-flow-control mode on: % Invalid input (at token 1: 'mode')", "line 17: unknown thing: % Invalid input (at token 0: 'unknown')"},
		"DCS-7260CX-64":    {"line 9: uc-tx-queue 3: " + unavailable + otherQueues, "line 15: priority-flow-control mode on: % Invalid input (at token 1: 'mode')", "line 17: unknown thing: % Invalid input (at token 0: 'unknown')"},
	} {
		if got := Refuses(model, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", model, got)
		}
	}
	e := start(t, Options{Model: "DCS-7060DX5-64S", Running: []byte(text)})
	if got := e.Refused(); len(got) != 4 {
		t.Errorf("%q", got)
	}
	for _, want := range []string{"hostname leaf9", "qos profile P\n   qos trust dscp\n   !\n   uc-tx-queue 3\n      bandwidth percent 40\n   !\n   priority-flow-control on\n", "interface Ethernet1/1\n   service-profile P\n!"} {
		if !strings.Contains(e.Running(), want) {
			t.Errorf("no %q in\n%s", want, e.Running())
		}
	}
	if got := Refuses("", []byte("banner login\nhello\n")); len(got) != 1 || !strings.Contains(got[0], "EOF") {
		t.Errorf("%q", got)
	}
}
