package nxos

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

const (
	badCommand = "% Invalid command at '^' marker."
	badNumber  = "% Invalid number, range is (%) at '^' marker."
	tooShort   = "% Incomplete command at '^' marker."
)

func outOf(span string) string { return strings.ReplaceAll(badNumber, "(%)", "("+span+")") }

// A refused line gets the answer of a real switch and changes neither the configuration nor the
// mode.
func TestRefusedLines(t *testing.T) {
	const port, sys = "interface Ethernet1/1", "system qos"
	const que = "policy-map type queuing P\nclass type queuing c-out-8q-q3"
	const in = "policy-map type queuing P\nclass type queuing c-in-q3"
	const nq = "policy-map type network-qos P\nclass type network-qos c-8q-nq3"
	const qos = "class-map A\npolicy-map P\nclass A"
	const forty = "a234567890123456789012345678901234567890"
	four := Options{FourQueue: true}
	for _, c := range []struct {
		mode, line, want string
		o                Options
	}{
		// These lines are not NX-OS, although they have been published.
		{"", "feature qos", badCommand, Options{}},
		{"", "feature dcbx", badCommand, Options{}},
		{"", "hardware qos pfc-watchdog on", badCommand, Options{}},
		{"", "hardware qos dcbx default", badCommand, Options{}},
		{"", "mls qos map cos-dscp 0 8", badCommand, Options{}},
		{port, "priority-flow-control priority 3 no-drop", badCommand, Options{}},
		{port, "priority-flow-control receive on", badCommand, Options{}},
		{port, "priority-flow-control send on", badCommand, Options{}},
		{port, "priority-flow-control watch-dog", tooShort, Options{}},
		{que, "ecn enable", badCommand, Options{}},
		{que, "ecn", badCommand, Options{}},
		{que, "random-detect ecn", badCommand, Options{}},
		{que, "pause no-drop", badCommand, Options{}},
		{"policy-map type network-qos P", "class type network-qos c-out-8q-q3", badCommand, Options{}},
		{"policy-map type queuing P", "class type queuing class-default", badCommand, Options{}},
		// Class names of the other class model.
		{"policy-map type network-qos P", "class type network-qos c-nq3", badCommand, Options{}},
		{"policy-map type network-qos P", "class type network-qos c-8q-nq3", badCommand, four},
		{"policy-map type queuing P", "class type queuing c-out-q3", badCommand, Options{}},
		{"policy-map type queuing P", "class type queuing c-out-8q-q3", badCommand, four},
		{"policy-map type queuing P", "class type queuing c-out-8q-q8", badCommand, Options{}},
		{"policy-map type queuing P", "class type qos c-out-8q-q3", badCommand, Options{}},
		{nq, "pause no-drop", badCommand, Options{}},
		{qos, "set qos-group 4", badCommand, four},
		// Ranges and syntax.
		{qos, "set qos-group 8", outOf("0-7"), Options{}},
		{nq, "mtu 9217", outOf("576-9216"), Options{}},
		{nq, "pause pfc-cos 8", badCommand, Options{}},
		{que, "bandwidth percent 101", outOf("0-100"), Options{}},
		{que, "bandwidth remaining", tooShort, Options{}},
		{que, "priority level 9", outOf("1-8"), Options{}},
		{que, "random-detect minimum-threshold 150 kbytes", tooShort, Options{}},
		{que, "random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 16 ecn", outOf("0-15"), Options{}},
		{que, "random-detect minimum-threshold 1 miles maximum-threshold 2 miles drop-probability 7 weight 0 ecn", badCommand, Options{}},
		{que, "random-detect minimum-threshold 3 kbytes maximum-threshold 2 kbytes drop-probability 7 weight 0 ecn", "ERROR: minimum-threshold is above maximum-threshold", Options{}},
		{que, "random-detect minimum-threshold 3 bytes maximum-threshold 4 kbytes drop-probability 7 weight 0 ecn", "ERROR: thresholds in different units", Options{}},
		{que, "pause buffer-size 30000 pause-threshold 20000 resume-threshold 20000", badCommand, Options{}},
		{in, "pause buffer-size 27455 pause-threshold 12480 resume-threshold 12480", "ERROR: buffer size below 27456 or threshold below 12480 bytes", Options{Model: "N9K-C93180YC-EX"}},
		{in + "\npause buffer-size 30000 pause-threshold 20000 resume-threshold 20000\nclass type queuing c-in-q2", "bandwidth percent 5", "ERROR: bandwidth together with pause buffer-size in policy-map P", Options{}},
		{in + "\nbandwidth percent 5", "pause buffer-size 30000 pause-threshold 20000 resume-threshold 20000", "ERROR: pause buffer-size together with bandwidth or priority in policy-map P", Options{}},
		{"class-map A", "match dscp 64", badCommand, Options{}},
		{"class-map A", "match dscp", tooShort, Options{}},
		{"", "class-map type qos match-any " + forty + "1", badCommand, Options{}},
		{"", "policy-map " + forty + "1", badCommand, Options{}},
		{"", "class-map type queuing match-any c-out-8q-q3", badCommand, Options{}},
		{port, "mtu 9217", outOf("576-9216"), Options{}},
		{port, "priority-flow-control mode", tooShort, Options{}},
		{port, "priority-flow-control mode off send-tlv", badCommand, Options{}},
		{"interface Ethernet1/2", "mtu 9000", "ERROR: Ethernet1/2: MTU on L2 interfaces can only be set to default or system-jumboMTU", Options{}},
		{"interface mgmt0", "priority-flow-control mode on", badCommand, Options{}},
		{"", "interface Ethernet1/99", badCommand, Options{}},
		{"", "no interface Ethernet1/1", badCommand, Options{}},
		{"", "interface Ethernet1/1, po1", badCommand, Options{}},
		{"", "priority-flow-control watch-dog interval 99", outOf("100-1000"), Options{}},
		{"", "priority-flow-control watch-dog interval 200", badCommand, Options{NoWatchdogTimers: true}},
		{"", "priority-flow-control auto-restore multiplier 5", badCommand, Options{NoWatchdogTimers: true}},
		{"", "no", tooShort, Options{}},
		{"", "feature", tooShort, Options{}},
		{"", "f", "% Ambiguous command at '^' marker.", Options{}},
		{port, "description secret", badCommand, Options{Refuse: []string{`^description`}}},
		// Objects that exist or do not exist.
		{"policy-map P", "class NONE", "ERROR: class-map NONE does not exist", Options{}},
		{"policy-map P", "no class NONE", "ERROR: class NONE is not in the policy-map", Options{}},
		{"class-map match-any A", "class-map match-all A", "ERROR: class-map A exists with another match type", Options{}},
		{"class-map match-any A", "no class-map type qos A", badCommand, Options{}},
		{"class-map match-any A", "no class-map type qos match-all A", "ERROR: class-map A of this type does not exist", Options{}},
		{"", "no policy-map type qos NONE", "ERROR: policy-map NONE of this type does not exist", Options{}},
		{"", "policy-map type queuing default-8q-out-policy", "ERROR: policy-map default-8q-out-policy is system-defined", Options{}},
		{sys, "service-policy type network-qos NONE", "ERROR: policy-map NONE of type network-qos does not exist", Options{}},
		{sys, "no service-policy type queuing output NONE", "ERROR: policy-map NONE is not attached", Options{}},
		{"policy-map P\n" + sys, "service-policy type queuing output P", "ERROR: policy-map P of type queuing does not exist", Options{}},
		{in + "\n" + sys, "service-policy type queuing output P", "ERROR: policy-map P has class c-in-q3, which is none of output", Options{}},
		{"policy-map type queuing P\n" + sys + "\nservice-policy type queuing output P\npolicy-map type queuing P", "class type queuing c-in-q3", "ERROR: policy-map P is in use for output by system qos", Options{}},
		{in, "class type queuing c-out-8q-q3", "ERROR: policy-map P has classes of the other direction", Options{}},
		{"policy-map P\npolicy-map Q\n" + port + "\nservice-policy type qos input P", "service-policy type qos input Q", "ERROR: policy-map P is attached already", Options{}},
		// Objects in use.
		{qos, "no class-map type qos match-all A", "ERROR: class-map A is in use by policy-map P", Options{}},
		{"policy-map P\n" + port + "\nservice-policy type qos input P", "no policy-map type qos P", "ERROR: policy-map P is in use by interface Ethernet1/1", Options{}},
		{nq + "\n" + sys + "\nservice-policy type network-qos P", "no policy-map type network-qos P", "ERROR: policy-map P is in use by system qos", Options{}},
		{nq + "\n" + sys + "\nservice-policy type network-qos P", "policy-map type network-qos P", "ERROR: policy-map P is attached and cannot be modified", Options{NQLocked: true}},
		// Bandwidth shares.
		{que + "\nbandwidth remaining percent 60\nclass type queuing c-out-8q-q4", "bandwidth remaining percent 41", "ERROR: sum of bandwidth remaining percent in policy-map P is 101, above 100", Options{}},
		{que + "\nbandwidth percent 10", "bandwidth remaining percent 10", "ERROR: 'bandwidth remaining percent 10' cannot be configured together with 'bandwidth percent 10'", Options{}},
		{que + "\npriority level 1", "bandwidth percent 10", "ERROR: 'bandwidth percent 10' cannot be configured together with 'priority level 1'", Options{}},
		{"ip access-list L\n10 permit ip any any", "10 deny ip any any", "ERROR: sequence number 10 is in use", Options{}},
	} {
		t.Run(c.line, func(t *testing.T) {
			c.o.Config = small
			n := newBox(t, c.o)
			term := n.openTerminal("admin")
			for _, l := range cli.SplitLines(c.mode) {
				if out := term.line(l); out != "" {
					t.Fatalf("%s: %s", l, out)
				}
			}
			before, prompt := bodyOf(t, n), term.prompt()
			if out := term.line(c.line + " "); lastLine(out) != c.want {
				t.Errorf("answer %q, want %q", out, c.want)
			}
			if bodyOf(t, n) != before || term.prompt() != prompt {
				t.Errorf("the line changed something: %s", term.prompt())
			}
		})
	}
}

// The mark is below the wrong word of the line as it was typed after the prompt.
func TestMark(t *testing.T) {
	n := newBox(t, Options{Config: small})
	c := n.openTerminal("admin")
	c.line("interface Ethernet1/1")
	typed := "leaf1(config-if)# " + "  priority-flow-control mode wrong"
	out := c.line("  priority-flow-control mode wrong")
	mark, _, _ := strings.Cut(out, "\n")
	if at := strings.Index(typed, "wrong"); mark != strings.Repeat(" ", at)+"^" {
		t.Errorf("\n%s\n%s", typed, out)
	}
	out = c.line("mtu")
	if mark, _, _ = strings.Cut(out, "\n"); len(mark) != len("leaf1(config-if)# mtu ")+1 {
		t.Errorf("incomplete:\n%s", out)
	}
}

// Objects can be deleted once they are detached, in the right order.
func TestRemoval(t *testing.T) {
	n := newBox(t, Options{Config: readFile(t, "double.cfg")})
	feed(t, n, `interface Ethernet1/1
no priority-flow-control mode on
no service-policy type qos input QOS_CLASSIFICATION
system qos
no service-policy type queuing output QOS_EGRESS_PORT
no service-policy type network-qos QOS_NETWORK
no policy-map type queuing QOS_EGRESS_PORT
no policy-map type network-qos QOS_NETWORK
no policy-map type qos QOS_CLASSIFICATION
no class-map type qos match-any ROCE_GPU
no class-map type qos match-any ROCE_STORAGE
no class-map type qos match-any CNP`)
	if got, want := bodyOf(t, n), "hostname leaf1\n\ninterface Ethernet1/1\n  mtu 9216\n"; got != want {
		t.Errorf("left over:\n%s", got)
	}
}

// Both class models accept names of the maximum length.
func TestLongestName(t *testing.T) {
	const forty = "a234567890123456789012345678901234567890"
	n := newBox(t, Options{Config: small})
	feed(t, n, "class-map type qos match-any "+forty+"\npolicy-map type qos "+forty+"\nclass "+forty)
	if got := inside(t, n, "policy-map type qos "+forty); got != "  class "+forty+"\n" {
		t.Error(got)
	}
}

func TestRefusedStartup(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Config: small + "feature qos\n"}, `config line 7: "feature qos": % Invalid command at '^' marker.`},
		{Options{Config: "banner motd #hi\n"}, "banner without its end"},
		{Options{Refuse: []string{"("}}, "refused lines"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
