package nxos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// What a port's old policies do and the model does not hold is named, once for
// all ports that had them.
func TestLosses(t *testing.T) {
	old := parse(t, `class-map type qos match-any VOICE
  description the phones
  match dscp 46
  match access-group name PHONES
policy-map type qos SITE
  class VOICE
    set qos-group 5
    police cir 10 mbps conform transmit violate drop
policy-map type queuing SITE-OUT
  class type queuing c-out-8q-q3
    bandwidth remaining percent 20
    queue-limit 200 kbytes
  class type queuing c-out-8q-q5
    bandwidth remaining percent 0
    queue-limit 100 kbytes
policy-map type network-qos SITE-NQ
  class type network-qos c-8q-nq2
    mtu 2240
    congestion-control tail-drop
system qos
  service-policy type queuing output SITE-OUT
  service-policy type network-qos SITE-NQ
interface Ethernet1/1
  service-policy type qos input SITE
interface Ethernet1/2
  service-policy type qos input SITE no-stats
`)
	want := roce()
	want.Ports["Ethernet1/2"] = want.Ports["Ethernet1/1"]
	var got []string
	for _, l := range Change(old, want, EightQueue).Losses(old, EightQueue) {
		got = append(got, fmt.Sprintf("%s %s: %s", l.Policy, l.Ports, strings.Join(l.Lines, "; ")))
	}
	// The limit of queue 5 and the congestion control are in the new policies.
	const lost = `policy-map type qos SITE [Ethernet1/1 Ethernet1/2]: class VOICE police cir 10 mbps conform transmit violate drop; class VOICE match access-group name PHONES
policy-map type queuing SITE-OUT [Ethernet1/1 Ethernet1/2]: class type queuing c-out-8q-q3 queue-limit 200 kbytes`
	if text := strings.Join(got, "\n"); text != lost {
		t.Errorf("got\n%s\nwant\n%s", text, lost)
	}
}

// What a switch may refuse for what its ports are is said beforehand.
func TestDoubts(t *testing.T) {
	for text, says := range map[string]string{
		"interface Ethernet1/1\n":                                               `Ethernet1/1: a port without "no switchport"`,
		"interface Ethernet1/1\n  no switchport\n":                              "",
		"system jumbomtu 9000\ninterface Ethernet1/1\n":                         "",
		"interface Ethernet1/1\n  no switchport\n  channel-group 5\n":           "Ethernet1/1: a member of a port-channel",
		"interface Ethernet1/1\n  mtu 9000\ninterface port-channel5\n":          "",
		"interface port-channel5\n  mtu 9000\ninterface Ethernet1/1\n  mtu 1\n": "without",
	} {
		old := parse(t, text)
		got := strings.Join(Change(old, roce(), EightQueue).Doubts(old), "\n")
		if (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// A member of a port-channel that prints no MTU has that of the port-channel.
func TestMembersHaveTheMTUOfTheirPortChannel(t *testing.T) {
	old := parse(t, "interface port-channel5\n  mtu 9000\ninterface Ethernet1/1\n  channel-group 5 mode active\n")
	if d, _ := Decode(old, EightQueue); d.Ports["Ethernet1/1"].MTU.V != 9000 {
		t.Errorf("mtu %d", d.Ports["Ethernet1/1"].MTU.V)
	}
	if text := Change(old, roce(), EightQueue).Apply(old).String(); strings.Count(text, "mtu 9000") != 1 {
		t.Errorf("written again:\n%s", text)
	}
}

// Large packets of a lossy class need a class of its group, from the first
// policy on and when the class comes later.
func TestLossyClassesHaveRoom(t *testing.T) {
	lossy := roce()
	m := *lossy.Ports["Ethernet1/1"].Maps.V
	m.DSCPToTC[10] = 4
	lossy.Ports["Ethernet1/1"].Maps = qos.Of(&m)
	empty := parse(t, "interface Ethernet1/1\n")
	for name, old := range map[string]*Config{"at once": empty, "later": Change(empty, roce(), EightQueue).Apply(empty)} {
		now := Change(old, lossy, EightQueue).Apply(old)
		n := newView(now, EightQueue).network
		if n.class[4] == nil || n.class[4].mtu < 9000 {
			t.Errorf("%s: group 4 has no room for 9000 bytes:\n%s", name, now)
		}
		if again := Change(now, lossy, EightQueue); len(again) > 0 {
			t.Errorf("%s: a second change is %v", name, again)
		}
	}
}

// A block of ours that holds very much is worked through in a time that grows
// with its size, not with the square of it.
func TestLargeBlocks(t *testing.T) {
	const n = 10000
	var matches, classes, names strings.Builder
	for i := range n {
		fmt.Fprintf(&matches, "  match access-group name A%d\n", i)
		fmt.Fprintf(&classes, "  class C%d\n    set qos-group 1\n", i)
		fmt.Fprintf(&names, "class-map type qos match-any ROCE-FABRIC-%d\n  match dscp 1\n", i)
	}
	for name, text := range map[string]string{
		"a class-map":   "class-map type qos match-any ROCE-FABRIC-ROCE\n" + matches.String(),
		"a policy":      "policy-map type qos ROCE-FABRIC-IN\n" + classes.String(),
		"an old policy": "policy-map type qos ROCE-FABRIC-OLD\n" + classes.String(),
		"class-maps":    names.String(),
	} {
		attached := ""
		if name == "a policy" {
			attached = "  service-policy type qos input ROCE-FABRIC-IN\n"
		}
		old := parse(t, text+"interface Ethernet1/1\n"+attached)
		start := time.Now()
		edit := Change(old, roce(), EightQueue)
		edit.Commands(old)
		now, undo := edit.Apply(old), edit.Undo(old)
		undo.Commands(now)
		if undo.Apply(now).String() != old.String() {
			t.Errorf("%s: not undone", name)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}
