package eos

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// foreign is configuration on the switch that does not belong to this tool.
const foreign = `! Command: show running-config
! device: leaf1 (DCS-7060DX5-64S, EOS-4.34.2F)
!
hostname leaf1
!
qos profile OPS-VOICE
   qos trust cos
   !
   uc-tx-queue 5
      bandwidth guaranteed percent 10
!
interface Ethernet99/1
   description 100% mine ! do not touch
   mtu 4000
   service-profile OPS-VOICE
!
interface Port-Channel7
   mtu 9000
   service-profile OPS-VOICE
!
interface Management1
   vrf MGMT
   ip address 192.0.2.11/24
!
ip access-list GNMI
   10 permit tcp any any eq 6030
   20 deny ip any any
!
router bgp 65011
   router-id 10.255.0.11
   !
   vrf BLUE
      neighbor 10.0.0.0 remote-as 65001
!
banner login
  % no entry
!
end
EOF
!
management ssh
   idle-timeout 60
!
end
`

// foreignOf returns the foreign sections of a text.
func foreignOf(text string) string {
	var out []string
	own := false
	for _, block := range strings.Split(text, "\n!\n") {
		first, _, _ := strings.Cut(block, "\n")
		switch {
		case strings.HasPrefix(first, "interface Ethernet") && first != "interface Ethernet99/1", strings.HasPrefix(first, "qos profile "+profileName), first == "qos profile OPS",
			strings.HasPrefix(first, "qos map"), strings.HasPrefix(first, "qos rewrite"), strings.HasPrefix(first, "priority-flow-control"):
			own = true
			continue
		case own && strings.HasPrefix(first, " "):
			continue
		}
		own = false
		out = append(out, block)
	}
	return strings.Join(out, "\n!\n")
}

// drawHave draws the configuration of a switch: made by this tool or by hand, for ports in want
// and for others, with lines on the interfaces.
func drawHave(t *rapid.T, want *qos.Device, kw Keyword) *Config {
	have := mustParse(t, foreign)
	other := device(t)
	switch rapid.IntRange(0, 3).Draw(t, "start") {
	case 0: // never configured
		other.Ports = map[string]*qos.Port{}
	case 1: // configured by this tool, then changed
		other = want
	}
	have = Change(have, other, kw).Apply(have)
	var e Edit
	if rapid.Bool().Draw(t, "everything") { // also write defaults
		for _, n := range natural.Keys(other.Ports) {
			header, port := sectionInterface+n, other.Ports[n]
			e = append(e, lines.Setting{Section: header, Key: keyMTU, Line: keyMTU + " " + itoa(port.MTU.V)},
				lines.Setting{Section: header, Key: keyShutdown, Line: adminLine(port.AdminUp.V)})
		}
		have, e = e.Apply(have), nil
	}
	ports := append(natural.Keys(want.Ports), "Ethernet99/1")
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		s := rapid.SampledFrom(handLines).Draw(t, "line")
		s.Section = sectionInterface + rapid.SampledFrom(ports).Draw(t, "port")
		if _, ok := match(s.Line, inProfile); (ok || s.Block != "") && rapid.IntRange(0, 3).Draw(t, "in profile") == 0 {
			s.Section = sectionProfile + rapid.SampledFrom([]string{profileName, profileName + "-2", "OPS"}).Draw(t, "profile")
		}
		if rapid.Bool().Draw(t, "keyword of others") {
			s.Block = strings.Replace(s.Block, "uc-tx", "tx", 1)
		}
		e = append(e, s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "global lines") {
		e = append(e, rapid.SampledFrom(globalLines).Draw(t, "global line"))
	}
	return mustParse(t, e.Apply(have).String())
}

var handLines = []lines.Setting{
	{Key: keyTrust, Line: "qos trust cos"}, {Key: keyTrust, Line: "no qos trust"}, {Key: keyTrust, Line: "qos trust dscp"},
	{Key: keyPFC, Line: "priority-flow-control on"}, {Key: keyNoDrop + "3", Line: "priority-flow-control priority 3 no-drop"},
	{Key: keyNoDrop + "5", Line: "priority-flow-control priority 5 no-drop"}, {Key: keyNoDrop + "3", Line: "priority-flow-control priority 3 drop"},
	{Key: keyDog, Line: "no " + keyDog}, {Key: keyDog, Line: keyDog}, {Key: keyDogAction, Line: keyDogAction + " notify-only"},
	{Key: keyDogTimer, Line: keyDogTimer + " timeout 1.25 polling-interval auto recovery-time 2 forced"},
	{Key: keyProfile, Line: "service-profile OPS"}, {Key: keyProfile, Line: "service-profile OPS-VOICE"}, {Key: keyProfile, Line: "service-profile GONE"},
	{Key: keyProfile, Line: "service-profile ROCE-FABRIC"}, {Key: keyProfile, Line: "service-profile ROCE-FABRIC-2"},
	{Key: keySwitchport, Line: "no switchport"}, {Key: keyMTU, Line: "mtu 9000"}, {Key: keyShutdown, Line: "shutdown"},
	{Block: "uc-tx-queue 3", Key: keyPriority, Line: "no priority"}, {Block: "uc-tx-queue 3", Key: keyBandwidth, Line: "bandwidth percent 7"},
	{Block: "uc-tx-queue 6", Key: keyPriority, Line: "priority strict"}, {Block: "uc-tx-queue 3", Key: keyShape, Line: "shape rate 40 percent"},
	{Block: "uc-tx-queue 3", Key: "random-detect ecn count", Line: "random-detect ecn count"},
	{Block: "uc-tx-queue 3", Key: keyECN, Line: "random-detect ecn minimum-threshold 10 kbytes maximum-threshold 2 mbytes"},
	{Block: "uc-tx-queue 4", Key: keyDrop, Line: "random-detect drop minimum-threshold 1 kbytes maximum-threshold 2 kbytes drop-probability 5"},
}

var globalLines = []lines.Setting{
	{Key: keyAllOff, Line: keyAllOff}, {Key: keyOverride, Line: keyOverride + " drop"}, {Key: keyAction, Line: keyAction + " errdisable"},
	{Key: keyTimeout, Line: keyTimeout + " 0.5"}, {Key: keyPoll, Line: keyPoll + " 0.005"}, {Key: "qos rewrite dscp", Line: "qos rewrite dscp"},
	{Key: "qos map dscp 26", Line: "qos map dscp 26 to traffic-class 3"}, {Key: "qos map dscp 5", Line: "qos map dscp 5 to traffic-class 6"},
	{Key: "qos map traffic-class 2 to tx-queue", Line: "qos map traffic-class 2 to tx-queue 4"},
	{Key: "qos map traffic-class 2 to uc-tx-queue", Line: "qos map traffic-class 2 to uc-tx-queue 1"},
}

// From any starting configuration a change reaches the desired state and a second change is
// empty. Foreign configuration stays, and the change can be reverted.
func TestChangeReachesDesiredAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, kw := device(t), drawKeyword(t)
		have := drawHave(t, want, kw)
		before := have.String()
		e := Change(have, want, kw)
		after := e.Apply(have)
		if have.String() != before {
			t.Fatal("the configuration was changed in place")
		}
		text := after.String()
		got, _ := Decode(mustParse(t, text))
		noDiff(t, text, got, want)
		if again := Change(after, want, kw); len(again) > 0 {
			t.Fatalf("a second change wants %v", again)
		}
		if a, b := foreignOf(before), foreignOf(text); a != b {
			t.Fatalf("foreign lines changed from\n%s\nto\n%s", a, b)
		}
		if back := e.Undo(have).Apply(after).String(); back != before {
			t.Fatalf("after the revert of %v\n%s", e, cmp.Diff(strings.Split(before, "\n"), strings.Split(back, "\n")))
		}
	})
}

// A port that already has the desired state is left alone, whoever configured it, and so is a
// port outside the intent.
func TestChangeLeavesOthersAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, kw := device(t), drawKeyword(t)
		have := drawHave(t, want, kw)
		was, _ := Decode(have)
		e := Change(have, want, kw)
		now, _ := Decode(e.Apply(have))
		for n, p := range was.Ports {
			if want.Ports[n] != nil {
				continue
			}
			// The watchdog timers and the line that turns PFC off are switch-wide.
			a, b := *p, *now.Ports[n]
			a.Watchdog, b.Watchdog = qos.Opt[qos.Watchdog]{}, qos.Opt[qos.Watchdog]{}
			if strings.Contains(have.String(), keyAllOff) {
				a.PFC, b.PFC = qos.Opt[qos.PrioritySet]{}, qos.Opt[qos.PrioritySet]{}
			}
			if a != b {
				t.Fatalf("%s, which nobody asked about, changed from %+v to %+v", n, a, b)
			}
		}
		if same := len(qos.Diff(was, want)) == 0; same != (len(e) == 0) {
			t.Fatalf("already as wanted: %v, edit: %v", same, e)
		}
	})
}

// A change that another user makes elsewhere after an edit survives the revert.
func TestUndoKeepsWhatOthersChangedSince(t *testing.T) {
	have := mustParse(t, foreign)
	p := &qos.Port{Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9100)}
	want := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1/1": p, "Ethernet99/1": p}}
	e := Change(have, want, UCTxQueue)
	since := Edit{
		{Section: "interface Ethernet99/1", Key: keyShutdown, Line: "shutdown"},
		{Section: "qos profile OPS-VOICE", Key: keyTrust, Line: "qos trust dscp"},
		{Key: "qos map dscp 40", Line: "qos map dscp 40 to traffic-class 0"},
	}
	got := e.Undo(have).Apply(since.Apply(e.Apply(have))).String()
	if wanted := since.Apply(have).String(); got != wanted {
		t.Errorf("reverted to\n%s\nwant\n%s", got, wanted)
	}
	// A profile of this tool that someone has attached stays while it is attached.
	attached := Edit{{Section: "interface Port-Channel7", Key: keyProfile, Line: "service-profile ROCE-FABRIC"}}.Apply(e.Apply(have))
	undo := e.Undo(have)
	if !strings.Contains(undo.Apply(attached).String(), "\nqos profile ROCE-FABRIC\n") || slices.Contains(undo.Commands(attached), "no qos profile ROCE-FABRIC") {
		t.Error("a profile that an interface carries was removed")
	}
}

// A profile keeps its name and the lines that others added, and changes in place.
func TestProfilesAreEditedInPlace(t *testing.T) {
	shape := func(weight int) *qos.Port {
		p := &qos.Port{Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(qos.Priorities(3))}
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: weight}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 150000, Max: 1500000, Probability: 10})}
		return p
	}
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": shape(60), "Ethernet2": shape(60), "Ethernet3": shape(40)}}
	have := Edit{{Section: "qos profile ROCE-FABRIC", Block: "uc-tx-queue 3", Key: "random-detect ecn count", Line: "random-detect ecn count"}}.Apply(Encode(d, UCTxQueue))
	d.Ports["Ethernet1"], d.Ports["Ethernet2"] = shape(61), shape(61)
	got := Change(have, d, UCTxQueue).Commands(have)
	want := []string{"qos profile ROCE-FABRIC", "uc-tx-queue 3", "bandwidth percent 61", "exit", "exit"}
	if !slices.Equal(got, want) {
		t.Errorf("typed %q", got)
	}
	// With all ports alike the second profile is removed.
	for n := range d.Ports {
		d.Ports[n] = shape(60)
	}
	got = Change(have, d, UCTxQueue).Commands(have)
	want = []string{"interface Ethernet3", "service-profile ROCE-FABRIC", "exit", "no qos profile ROCE-FABRIC-2"}
	if !slices.Equal(got, want) {
		t.Errorf("typed %q", got)
	}
}

// An operator's profile changes in place and keeps its name if no interface outside the intent
// uses it, or if the intent owns shared settings.
func TestAnOperatorsProfileChangesInPlace(t *testing.T) {
	const text = "qos profile GPU\n   qos trust dscp\n   shape rate 90 percent\n   !\n   uc-tx-queue 3\n      no priority\n      bandwidth percent 40\n   !\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n!\ninterface Ethernet1\n   service-profile GPU\n!\ninterface Ethernet2\n   service-profile GPU\n!\n"
	p := &qos.Port{Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(qos.Priorities(3))}
	p.Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: 60})
	in := []string{"qos profile GPU", "uc-tx-queue 3", "bandwidth percent 60", "exit", "exit"}
	for _, c := range []struct {
		name, more string
		owns       bool
		first      string
		lines      int
	}{
		{"all its ports are in the intent", "", false, in[0], len(in)},
		{"another port carries it", "interface Ethernet3\n   service-profile GPU\n!\n", false, "qos profile ROCE-FABRIC", 0},
		{"a port channel carries it", "interface Port-Channel1\n   service-profile GPU\n!\n", false, "qos profile ROCE-FABRIC", 0},
		{"another port does, and it is owned", "interface Ethernet3\n   service-profile GPU\n!\n", true, in[0], len(in)},
	} {
		have := mustParse(t, text+c.more+"end\n")
		d := &qos.Device{OwnsGlobals: c.owns, Ports: map[string]*qos.Port{"Ethernet1": p, "Ethernet2": p}}
		e := Change(have, d, UCTxQueue)
		got := e.Commands(have)
		if len(got) == 0 || got[0] != c.first || c.lines > 0 && !slices.Equal(got, in) {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, s := range e {
			if _, ok := known(s); !ok {
				t.Errorf("%s: %v is none of its own", c.name, s)
			}
		}
		if back := e.Undo(have).Apply(e.Apply(have)).String(); back != have.String() {
			t.Errorf("%s: reverted to\n%s", c.name, back)
		}
	}
}

// The typed commands have the effect that Apply computes, for the edit and its undo, on a switch
// that processes them line by line.
func TestTypedCommandsMatchApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, kw := device(t), drawKeyword(t)
		have := drawHave(t, want, kw)
		e := Change(have, want, kw)
		b := &box{sections: map[string]*boxSection{}}
		b.open("")
		b.load(have.String())
		was, _ := Decode(have)
		loaded, _ := Decode(mustParse(t, b.text()))
		noDiff(t, "the box does not hold what it was given", loaded, was)

		lines := e.Commands(have)
		b.enter(t, lines)
		after := e.Apply(have)
		meant, _ := Decode(after)
		got, _ := Decode(mustParse(t, b.text()))
		noDiff(t, strings.Join(lines, "\n")+"\ngave\n"+b.text(), got, want)
		noDiff(t, "typed and computed", got, meant)
		noDiff(t, "computed and typed", meant, got)
		if left := e.Commands(after); len(left) > 0 {
			t.Fatalf("typed again: %q", left)
		}

		lines = e.Undo(have).Commands(after)
		b.enter(t, lines)
		got, _ = Decode(mustParse(t, b.text()))
		noDiff(t, strings.Join(lines, "\n")+"\ngave\n"+b.text(), withPortsOf(got, was), was)
		noDiff(t, "reverted", was, withPortsOf(got, was))
	})
}

// withPortsOf removes interfaces that exist only because their header was typed; a switch keeps
// them.
func withPortsOf(d, of *qos.Device) *qos.Device {
	for n := range d.Ports {
		if of.Ports[n] == nil {
			delete(d.Ports, n)
		}
	}
	return d
}

// A profile of this tool with a line that a user has added, even a comment, is kept.
func TestAProfileWithACommentStays(t *testing.T) {
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": {Trust: qos.Of(qos.TrustDSCP)}}}
	for line, goes := range map[string]bool{"": true, "   !! agreed with storage, ask first\n": false} {
		have := mustParse(t, "qos profile ROCE-FABRIC-2\n   qos trust cos\n"+line+"!\ninterface Ethernet1\n   qos trust cos\n!\nend\n")
		after := Change(have, d, UCTxQueue).Apply(have).String()
		if gone := !strings.Contains(after, "qos profile ROCE-FABRIC-2\n"); gone != goes {
			t.Errorf("with %q the profile goes: %v\n%s", line, gone, after)
		}
	}
}

// Settings that a port loses when it leaves another user's profile are reported.
func TestLosses(t *testing.T) {
	have := mustParse(t, `qos profile OPS
   qos trust cos
   qos cos 3
   shape rate 5000000 kbps
   service-policy type qos input P
   tomorrow's line
   !
   uc-tx-queue 3
      bandwidth percent 5
      random-detect ecn count
   !
   mc-tx-queue 1
      bandwidth percent 5
!
qos profile ROCE-FABRIC
   qos trust dscp
   qos cos 3
!
interface Ethernet1
   service-profile OPS
!
interface Ethernet2
   service-profile OPS
!
interface Ethernet3
   service-profile ROCE-FABRIC
!
interface Ethernet10
   service-profile OPS
!
end
`)
	p := &qos.Port{Trust: qos.Of(qos.TrustDSCP)}
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": p, "Ethernet3": p, "Ethernet10": p}}
	want := []lines.Loss{{Block: "qos profile OPS", Ports: []string{"Ethernet1", "Ethernet10"}, Lines: []string{
		"shape rate 5000000 kbps", "service-policy type qos input P", "tomorrow's line", "uc-tx-queue 3 random-detect ecn count", "mc-tx-queue 1 bandwidth percent 5"}}}
	if diff := cmp.Diff(want, Losses(Change(have, d, UCTxQueue), have)); diff != "" {
		t.Error(diff)
	}
}

// A port that gets another profile keeps the marking that desired does not manage, in any
// syntax, unless the port has its own marking lines.
func TestMarkingThatIsLeftAlone(t *testing.T) {
	const curve = "random-detect ecn minimum-threshold 320 segments maximum-threshold 3000 segments max-mark-probability 90 weight 4"
	const drop = "random-detect drop minimum-threshold 10 kbytes maximum-threshold 20 kbytes drop-probability 5"
	have := mustParse(t, `qos profile OPS
   qos trust cos
   !
   tx-queue 3
      bandwidth percent 5
      `+curve+`
      `+drop+`
      random-detect ecn count
   !
   tx-queue 4
      random-detect ecn minimum-threshold 1 mbytes maximum-threshold 2 mbytes
!
interface Ethernet1
   service-profile OPS
!
interface Ethernet2
   service-profile OPS
   tx-queue 3
      random-detect ecn minimum-threshold 7 segments maximum-threshold 8 segments
!
interface Port-Channel9
   service-profile OPS
!
end
`)
	port := func() *qos.Port {
		p := &qos.Port{Trust: qos.Of(qos.TrustDSCP)}
		p.Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: 60})
		p.Queues[4].ECN = qos.Of(qos.ECN{}) // managed, so the curve is removed
		return p
	}
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": port(), "Ethernet2": port()}}
	after := Change(have, d, TxQueue).Apply(have)
	was, _ := Decode(have)
	is, _ := Decode(mustParse(t, after.String()))
	for n := range d.Ports {
		a, b := was.Ports[n], is.Ports[n]
		if b.Trust.V != qos.TrustDSCP || b.Queues[3].Scheduler.V.Weight != 60 || b.Queues[4].ECN.V.Enabled {
			t.Errorf("%s is not as desired: %+v", n, b)
		}
		if !a.Queues[3].ECN.V.Enabled || a.Queues[3].ECN != b.Queues[3].ECN {
			t.Errorf("%s marks %s, and %s after the change\n%s", n, a.Queues[3].ECN.V, b.Queues[3].ECN.V, after)
		}
	}
	if again := Change(after, d, TxQueue); len(again) > 0 {
		t.Errorf("a second change wants %v", again)
	}
	if got := strings.Count(after.String(), "random-detect ecn count"); got != 3 {
		t.Errorf("%d queues count their marks, want 3\n%s", got, after)
	}
}

// A profile that is edited in place keeps lines that desired does not manage, and its ports keep
// using it.
func TestEditedInPlaceWithMarking(t *testing.T) {
	have := mustParse(t, "qos profile OPS\n   qos trust cos\n   !\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes\n!\ninterface Ethernet1\n   service-profile OPS\n!\ninterface Ethernet2\n   service-profile OPS\n   !\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 7 kbytes maximum-threshold 8 kbytes\n!\nend\n")
	p := &qos.Port{Trust: qos.Of(qos.TrustDSCP)}
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": p, "Ethernet2": p}}
	want := []string{"qos profile OPS", "qos trust dscp", "exit"}
	if got := Change(have, d, UCTxQueue).Commands(have); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// A third port, which marks nothing, gets a profile without marking.
	d.Ports["Ethernet3"] = p
	after := Change(have, d, UCTxQueue).Apply(have)
	if is, _ := Decode(after); is.Ports["Ethernet3"].Queues[3].ECN.V.Enabled || !is.Ports["Ethernet1"].Queues[3].ECN.V.Enabled {
		t.Errorf("%s", after)
	}
	// A port that shall match other ports joins their profile if desired manages everything in
	// it.
	have = mustParse(t, "qos profile OPS\n   qos trust dscp\n!\ninterface Ethernet1\n   service-profile OPS\n!\ninterface Ethernet2\n   no switchport\n   qos trust cos\n!\nend\n")
	delete(d.Ports, "Ethernet3")
	want = []string{"interface Ethernet2", "default qos trust", "service-profile OPS", "exit"}
	if got := Change(have, d, UCTxQueue).Commands(have); len(got) != len(want) || !slices.Contains(got, want[2]) {
		t.Errorf("%q", got)
	}
}

// Check accepts every edit that this package makes, and rejects other settings that a plan file
// might contain.
func TestCheckKnowsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, kw := device(t), drawKeyword(t)
		have := drawHave(t, want, kw)
		managed := func(port string) bool { return want.Ports[port] != nil }
		edit := Change(have, want, kw)
		if err := Lines.Check(edit, managed); err != nil {
			t.Fatal(err)
		}
		undo := edit.Undo(have)
		if err := errors.Join(Lines.Check(undo, managed), edit.CheckUndo(undo)); err != nil {
			t.Fatalf("%v\nwhat undoes a change of\n%s", err, have)
		}
	})
	for _, s := range []lines.Setting{
		{Key: keyAllOff, Line: "username eve privilege 15 nopassword"},
		{Key: keyMTU, Line: "mtu 9000"},
		{Section: "interface Ethernet1", Key: keyMTU, Line: "mtu 9000\nreload now"},
		{Section: "interface Ethernet1", Key: keyMTU, Line: "l2 mtu 9000"},
		{Section: "interface Ethernet1", Key: "description", Line: "description x"},
		{Section: "interface Management1", Key: keyShutdown, Line: "shutdown"},
		{Section: "qos profile OPS"},
		{Section: "qos profile OPS", Line: lines.Present},
		{Section: "qos profile OPS", Key: keyPolicy, Line: keyPolicy + " IN"},
		{Section: "qos profile A|bash", Key: keyTrust, Line: "qos trust dscp"},
		{Section: "qos profile ROCE-FABRIC", Line: "aaa root"},
		{Section: "qos profile ROCE-FABRIC", Block: "class C", Key: keyPriority, Line: "no priority"},
		{Section: "router bgp 1"},
		{Key: "qos map dscp 26", Line: "qos map dscp 26 27 to traffic-class 3"},
		{Key: "qos map dscp x|y"},
		{Key: keyPortMode, Line: keyPortMode + " access"},
		{Key: "qos rewrite dscp", Line: "qos rewrite dscp"},
		{Key: "dcbx application", Line: "dcbx application iscsi"},
		{Key: " "},
		{Section: "interface Ethernet1", Key: keySwitchport, Line: "switchport"},
		{Section: "interface Ethernet1", Key: "channel-group", Line: "channel-group 5 mode on"},
		{Section: "interface Ethernet1", Key: keyProfile, Line: keyProfile + " A|bash"},
		{Section: "interface Ethernet1", Key: keyProfile, Line: keyProfile + " A;bash"},
		{Section: "interface Ethernet1 ", Key: keyMTU, Line: "mtu 9000"},
		{Section: "interface Port-Channel1", Key: keyMTU, Line: "mtu 9000"},
		{},
	} {
		if Lines.Check(Edit{s}, nil) == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	outside := Edit{{Section: "interface Ethernet1", Key: keyMTU, Line: "mtu 9000"}, {Section: "interface Ethernet2", Key: keyShutdown, Line: keyShutdown}}
	if err := Lines.Check(outside, nil); err != nil {
		t.Error(err)
	}
	err := Lines.Check(outside, func(port string) bool { return port == "Ethernet1" })
	if err == nil || !strings.Contains(err.Error(), "setting 2: interface Ethernet2 is not in the intent") {
		t.Errorf("a port outside of the intent: %v", err)
	}
}

// BenchmarkChange shows that the time per line does not depend on the number of lines.
func BenchmarkChange(b *testing.B) {
	p := &qos.Port{Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9100)}
	for name, line := range map[string]func(i int) string{
		"ports":    func(i int) string { return fmt.Sprintf("interface Ethernet%d\n   no switchport\n", i+1) },
		"routes":   func(i int) string { return fmt.Sprintf("ip route 10.%d.%d.0/24 Null0\n", i>>8, i&255) },
		"profiles": func(i int) string { return fmt.Sprintf("qos profile ROCE-FABRIC-%d\n   qos trust dscp\n", i+2) },
		"queues":   func(int) string { return "   uc-tx-queue 3\n      bandwidth percent 3\n" },
	} {
		for _, n := range []int{5_000, 50_000} {
			var text strings.Builder
			text.WriteString("interface Ethernet1\n")
			lines := 1
			for i := 0; lines < n; i++ {
				l := line(i)
				lines += strings.Count(l, "\n")
				text.WriteString(l)
			}
			have := mustParse(b, text.String()+"end\n")
			want := &qos.Device{Ports: map[string]*qos.Port{}}
			for i := range 64 {
				want.Ports[fmt.Sprintf("Ethernet%d", i+1)] = p
			}
			b.Run(fmt.Sprintf("%s/%dlines", name, n), func(b *testing.B) {
				for b.Loop() {
					Change(have, want, UCTxQueue).Commands(have)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
			})
		}
	}
}
