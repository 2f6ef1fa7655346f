package nxos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Effects of replaced policies that the model does not represent are reported, once for all
// ports that had them.
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
interface Ethernet1/3
  no shutdown
`)
	want := roce()
	want.Ports["Ethernet1/2"] = want.Ports["Ethernet1/1"]
	var got []string
	for _, l := range Losses(Change(old, want, EightQueue), old, EightQueue) {
		got = append(got, fmt.Sprintf("%s %s: %s", l.Block, l.Ports, strings.Join(l.Lines, "; ")))
	}
	// The queue limit of queue 5 and the congestion control are in the new policies.
	const lost = `policy-map type qos SITE [Ethernet1/1 Ethernet1/2]: class VOICE police cir 10 mbps conform transmit violate drop; class VOICE match access-group name PHONES
policy-map type queuing SITE-OUT [Ethernet1/1 Ethernet1/2]: class type queuing c-out-8q-q3 queue-limit 200 kbytes`
	if text := strings.Join(got, "\n"); text != lost {
		t.Errorf("got\n%s\nwant\n%s", text, lost)
	}
}

// Lines that a switch may refuse because of the kind of port are reported beforehand.
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
		got := strings.Join(Doubts(Change(old, roce(), EightQueue), old), "\n")
		if (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// A member of a port-channel that prints no MTU has the port-channel's MTU.
func TestMembersHaveTheMTUOfTheirPortChannel(t *testing.T) {
	old := parse(t, "interface port-channel5\n  mtu 9000\ninterface Ethernet1/1\n  channel-group 5 mode active\n")
	if d, _ := Decode(old, EightQueue); d.Ports["Ethernet1/1"].MTU.V != 9000 {
		t.Errorf("mtu %d", d.Ports["Ethernet1/1"].MTU.V)
	}
	if text := Change(old, roce(), EightQueue).Apply(old).String(); strings.Count(text, "mtu 9000") != 1 {
		t.Errorf("written again:\n%s", text)
	}
}

// Large packets of a lossy class need a network-qos class for its group, in the first policy and
// also when the class is added later.
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

// A class of our attached policy whose MTU is too small shows up as a difference of the port's
// MTU, and a new policy fixes it.
func TestOwnNetworkPolicyKeepsRoom(t *testing.T) {
	want := roce()
	good := Encode(want, EightQueue).String()
	for name, c := range map[string]struct {
		from, to string
		mtu      int
	}{
		"no default class":   {"  class type network-qos c-8q-nq-default\n    mtu 9216\n", "", 1500},
		"no class of a DSCP": {"  class type network-qos c-8q-nq6\n    mtu 9216\n", "", 1500},
		"a small class":      {"c-8q-nq6\n    mtu 9216\n", "c-8q-nq6\n    mtu 2240\n", 2240},
		"a class without":    {"c-8q-nq6\n    mtu 9216\n", "c-8q-nq6\n", 1500},
		"a lossless class":   {"c-8q-nq3\n    mtu 9216\n", "c-8q-nq3\n    mtu 4200\n", 4200},
	} {
		old := parse(t, strings.Replace(good, c.from, c.to, 1))
		is, _ := Decode(old, EightQueue)
		if left := qos.Diff(is, want); len(left) != 1 || left[0].Field.Kind != qos.KindMTU || is.Ports["Ethernet1/1"].MTU.V != c.mtu {
			t.Errorf("%s: %v", name, left)
		}
		now := Change(old, want, EightQueue).Apply(old)
		d, _ := Decode(now, EightQueue)
		if left := qos.Diff(d, want); len(left) > 0 || !strings.Contains(now.String(), "network-qos ROCE-FABRIC-NQ-2\n") {
			t.Errorf("%s: left %v\n%s", name, left, now)
		}
	}
}

// largeBlocks returns configurations with n items in one kind of block of ours.
func largeBlocks(n int) map[string]string {
	var matches, classes, names strings.Builder
	for i := range n {
		fmt.Fprintf(&matches, "  match access-group name A%d\n", i)
		fmt.Fprintf(&classes, "  class C%d\n    set qos-group 1\n", i)
		fmt.Fprintf(&names, "class-map type qos match-any ROCE-FABRIC-%d\n  match dscp 1\n", i)
	}
	const port = "interface Ethernet1/1\n"
	return map[string]string{
		"a class-map":   "class-map type qos match-any ROCE-FABRIC-ROCE\n" + matches.String() + port,
		"a policy":      "policy-map type qos ROCE-FABRIC-IN\n" + classes.String() + port + "  service-policy type qos input ROCE-FABRIC-IN\n",
		"an old policy": "policy-map type qos ROCE-FABRIC-OLD\n" + classes.String() + port,
		"class-maps":    names.String() + port,
	}
}

func TestLargeBlocks(t *testing.T) {
	for name, text := range largeBlocks(500) {
		old := parse(t, text)
		edit := Change(old, roce(), EightQueue)
		if edit.Undo(old).Apply(edit.Apply(old)).String() != old.String() {
			t.Errorf("%s: not undone", name)
		}
	}
}

// BenchmarkLargeBlocks shows that the time grows linearly with the size of a block.
func BenchmarkLargeBlocks(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for name, text := range largeBlocks(n) {
			old := parse(b, text)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					edit := Change(old, roce(), EightQueue)
					edit.Commands(old)
					edit.Undo(old).Commands(edit.Apply(old))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
			})
		}
	}
}
