package nxos

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Decode is the inverse of Encode for every generated device.
func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := device(t, 4)
		if r := Refusals(want); len(r) > 0 {
			t.Fatalf("the device is refused: %v", r)
		}
		text := Encode(want, EightQueue).String()
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if again := c.String(); again != text {
			t.Fatalf("%s\nis read as\n%s", text, again)
		}
		for _, name := range named(c) {
			if i := strings.LastIndexByte(name, ' '); len(name)-i-1 > 40 {
				t.Fatalf("%s is longer than a name may be", name)
			}
		}
		got, unknown := Decode(c, EightQueue)
		if len(unknown) > 0 {
			t.Fatalf("not understood: %v", unknown)
		}
		if left := qos.Diff(got, want); len(left) > 0 {
			t.Fatalf("%d values differ after a round trip: %v in\n%s", len(left), left, text)
		}
		if again := Encode(want, EightQueue).String(); again != text {
			t.Fatal("two encodings of one device differ")
		}
	})
}

func TestChangeReachesDesiredAndUndoComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.IntRange(1, 4).Draw(t, "ports")
		old, want := have(t, ports), device(t, ports)
		if rapid.Bool().Draw(t, "not all") {
			delete(want.Ports, "Ethernet1/1")
			Fit(want)
		}
		if len(Refusals(want)) > 0 {
			t.Skip("refused")
		}
		before := old.String()
		edit := Change(old, want, EightQueue)
		managed := func(port string) bool { return want.Ports[port] != nil }
		if err := Lines.Check(edit, managed); err != nil {
			t.Fatal(err)
		}
		undo := edit.Undo(old)
		if err := errors.Join(Lines.Check(undo, managed), edit.CheckUndo(undo)); err != nil {
			t.Fatalf("%v\nwhat undoes a change of\n%s", err, before)
		}
		now := edit.Apply(old)
		running, _ := Decode(now, EightQueue)
		if left := qos.Diff(running, want); len(left) > 0 {
			t.Fatalf("%v is left after\n%v\non\n%s\ngives\n%s", left, edit.Commands(old), before, now)
		}
		if more := Change(now, want, EightQueue); len(more) > 0 {
			t.Fatalf("a second change is %v", more)
		}
		if old.String() != before {
			t.Fatal("Change or Apply changed what it was given")
		}
		if err := foreign(old, now); err != "" {
			t.Fatal(err)
		}
		was, _ := Decode(old, EightQueue)
		for name, p := range running.Ports {
			before := was.Ports[name]
			groups, had := newView(now, EightQueue).input(name).table, newView(old, EightQueue).input(name).table
			if want.Ports[name] == nil && (p.Queues != before.Queues || groups != had) {
				t.Fatalf("the queues or groups of %s, which is not in the intent, are others", name)
			}
		}
		if was, is := Digest(old, want, EightQueue), Digest(now, want, EightQueue); (was == is) != (len(edit) == 0) {
			t.Fatalf("digests %s and %s for %d settings", was, is, len(edit))
		}

		undo = throughJSON(t, edit.Undo(old))
		if back := undo.Apply(now).String(); back != before {
			t.Fatalf("undone\n%s\nwas\n%s\nafter\n%v", back, before, edit)
		}
		if none := undo.Commands(old); len(none) > 0 {
			t.Fatalf("what holds already is typed: %v", none)
		}
	})
}

// throughJSON encodes an edit as JSON and decodes it, as the journal does.
func throughJSON(t *rapid.T, e Edit) Edit {
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var out Edit
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// foreign describes a block of others that the edit changed; "" if there is none.
func foreign(old, now *Config) string {
	text := func(c *Config) map[string]string {
		out := map[string]string{}
		for _, l := range c.Lines {
			h, ok := headOf(l.Text)
			switch {
			case strings.HasPrefix(h.name, prefix), h.at == inSystem && ok, strings.HasPrefix(l.Text, "priority-flow-control"):
			case h.at == inInterface && ok && h.name != "Ethernet1/99" && isPort(h.name):
			case h.at == inPolicy && (h.typ == typeQueuing || h.typ == typeQoS), h.at == inClassMap && h.typ == typeQoS:
				out[l.Text] = "" // may be edited, see TestOutputPolicyIsEditedInPlace
			default:
				one := Lines.New()
				one.Lines = []*Line{l}
				out[l.Text] = one.String()
			}
		}
		return out
	}
	before, after := text(old), text(now)
	for k, v := range before {
		if after[k] != v {
			return "a block of others changed:\n" + v + "is\n" + after[k]
		}
	}
	for k := range after {
		if _, ok := before[k]; !ok {
			return "a block of others is new: " + k
		}
	}
	return ""
}

// An output policy that only changed ports use is edited only where it differs, under its own
// name and in its own syntax. If another port uses it too, it is not edited.
func TestOutputPolicyIsEditedInPlace(t *testing.T) {
	text := strings.NewReplacer("bandwidth remaining percent", "bandwidth percent", "    random-detect", "    queue-limit dynamic 8\n    random-detect").Replace(worked)
	have := parse(t, text)
	running, _ := Decode(have, EightQueue)
	want := func(ports ...string) *qos.Device {
		d := &qos.Device{Ports: map[string]*qos.Port{}}
		for _, name := range ports {
			p := &qos.Port{}
			for q := range p.Queues {
				p.Queues[q] = qos.Queue{Scheduler: running.Ports[name].Queues[q].Scheduler, ECN: running.Ports[name].Queues[q].ECN}
			}
			p.Queues[3].ECN.V.Min = 200
			d.Ports[name] = p
		}
		return d
	}
	edit := Change(have, want("Ethernet1/1", "Ethernet1/25"), EightQueue)
	commands := strings.Join(edit.Commands(have), "\n")
	const only = "policy-map type queuing QOS_EGRESS_PORT\nclass type queuing c-out-8q-q3\nrandom-detect minimum-threshold 200 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\nexit\nexit"
	if commands != only {
		t.Errorf("typed is\n%s", commands)
	}
	// Only one of two ports changes: the shared policy stays, and the port gets its own.
	one := want("Ethernet1/1")
	now := Change(have, one, EightQueue).Apply(have)
	after, _ := Decode(now, EightQueue)
	if len(qos.Diff(after, one)) > 0 || after.Ports["Ethernet1/25"].Queues != running.Ports["Ethernet1/25"].Queues || !strings.Contains(now.String(), "service-policy type queuing output "+prefix) {
		t.Errorf("now\n%s", now)
	}
	// With "globals: own", ports outside the intent do not count.
	one.OwnsGlobals = true
	if c := strings.Join(Change(have, one, EightQueue).Commands(have), "\n"); c != only {
		t.Errorf("with globals: own typed is\n%s", c)
	}
	// Bandwidth shares in the same proportion are not a difference, whatever else changes.
	all := want("Ethernet1/1", "Ethernet1/25")
	for _, p := range all.Ports {
		p.Queues[0].Scheduler.V.Weight, p.Queues[3].Scheduler.V.Weight = 20, 20
	}
	if c := strings.Join(Change(have, all, EightQueue).Commands(have), "\n"); c != only {
		t.Errorf("with shares in another scale typed is\n%s", c)
	}
	// A new bandwidth share uses the syntax of the policy.
	for _, p := range all.Ports {
		p.Queues[0].Scheduler.V.Weight, p.Queues[3].Scheduler.V.Weight = 20, 80
	}
	if c := strings.Join(Change(have, all, EightQueue).Commands(have), "\n"); !strings.Contains(c, "bandwidth percent 80") || strings.Contains(c, "remaining") || strings.Contains(c, prefix) {
		t.Errorf("typed is\n%s", c)
	}
}

// An input policy with a foreign name is edited in place if the model represents all of it.
func TestInputPolicyIsEditedInPlace(t *testing.T) {
	const roce = "class-map type qos match-any ROCE\n  match dscp 26\n"
	for name, c := range map[string]struct {
		old, new string // replacement in the text
		inPlace  bool
		ports    []string
	}{
		"plain":                  {"", "", true, []string{"Ethernet1/1", "Ethernet1/25"}},
		"one of two ports":       {"", "", false, []string{"Ethernet1/1"}},
		"an access list":         {"  match dscp 48\n", "  match dscp 48\n  match access-group name X\n", false, []string{"Ethernet1/1", "Ethernet1/25"}},
		"a policer":              {"    set qos-group 7\n", "    set qos-group 7\n    police cir 10 gbps\n", false, []string{"Ethernet1/1", "Ethernet1/25"}},
		"an unmanaged CoS":       {"  match dscp 48\n", "  match dscp 48\n  match cos 6\n", false, []string{"Ethernet1/1", "Ethernet1/25"}},
		"a class-map of another": {roce, roce + "policy-map type qos ELSEWHERE\n  class ROCE\n    set qos-group 1\n", false, []string{"Ethernet1/1", "Ethernet1/25"}},
	} {
		text := worked
		if c.old != "" {
			if text = strings.Replace(worked, c.old, c.new, 1); text == worked {
				t.Fatalf("%s: nothing is replaced", name)
			}
		}
		have := parse(t, text)
		running, _ := Decode(have, EightQueue)
		want := &qos.Device{Ports: map[string]*qos.Port{}}
		for _, port := range c.ports {
			m := *running.Ports[port].Maps.V
			m.Unmanage(qos.PCPToTC, qos.TCToQueue, qos.PFCToQueue)
			m.DSCPToTC[27] = 3
			want.Ports[port] = &qos.Port{Maps: qos.Of(&m)}
		}
		edit := Change(have, want, EightQueue)
		now := edit.Apply(have)
		after, _ := Decode(now, EightQueue)
		if left := qos.Diff(after, want); len(left) > 0 {
			t.Errorf("%s: left is %v", name, left)
		}
		if in := strings.Contains(now.String(), prefix); in == c.inPlace {
			t.Errorf("%s: in place is %v:\n%s", name, c.inPlace, strings.Join(edit.Commands(have), "\n"))
		}
		if len(c.ports) == 1 && after.Ports["Ethernet1/25"].Maps.V.DSCPToTC != running.Ports["Ethernet1/25"].Maps.V.DSCPToTC {
			t.Errorf("%s: the other port classifies otherwise", name)
		}
		if back := edit.Undo(have).Apply(now).String(); back != have.String() {
			t.Errorf("%s: undone\n%s", name, back)
		}
	}
}

func TestUndoKeepsWhatOthersDidSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, want := have(t, 2), device(t, 2)
		edit := Change(old, want, EightQueue)
		since := func(c *Config) *Config {
			text := strings.Replace(c.String(), "interface Ethernet1/2\n", "interface Ethernet1/2\n  ip address 192.0.2.1/31\n", 1)
			text = strings.Replace(text, "hostname leaf1\n", "hostname leaf2\nfeature bgp\n", 1)
			out, err := Parse([]byte(text + "interface Ethernet1/98\n  mtu 2000\n"))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		back := edit.Undo(old).Apply(since(edit.Apply(old)))
		a, b := sorted(back), sorted(since(old))
		if !slices.Equal(a, b) {
			t.Fatalf("undone\n%s\nwant\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	})
}

// sorted returns the lines of a configuration, each behind its headers, in sorted order.
func sorted(c *Config) []string {
	var out []string
	var walk func(ls []*Line, above string)
	walk = func(ls []*Line, above string) {
		for _, l := range ls {
			out = append(out, above+l.Text)
			walk(l.Sub, above+l.Text+" / ")
		}
	}
	walk(c.Lines, "")
	slices.Sort(out)
	return out
}

// Undo keeps a policy of ours that someone has attached elsewhere in the meantime.
func TestUndoLeavesWhatIsInUse(t *testing.T) {
	want := roce()
	old := parse(t, "interface Ethernet1/1\n\ninterface Ethernet1/2\n")
	edit := Change(old, want, EightQueue)
	text := strings.Replace(edit.Apply(old).String(), "interface Ethernet1/2\n", "interface Ethernet1/2\n  service-policy type qos input ROCE-FABRIC-IN\n", 1)
	now := parse(t, text)
	back := edit.Undo(old).Apply(now).String()
	for _, kept := range []string{"policy-map type qos ROCE-FABRIC-IN", "class-map type qos match-any ROCE-FABRIC-ROCE", "service-policy type qos input ROCE-FABRIC-IN"} {
		if strings.Count(back, kept) != 1 {
			t.Errorf("%q in\n%s", kept, back)
		}
	}
	if strings.Contains(back, "OUT") || strings.Contains(back, "NQ") {
		t.Errorf("what nobody uses stays:\n%s", back)
	}
	if cmds := strings.Join(edit.Undo(old).Commands(now), "\n"); strings.Contains(cmds, "no policy-map type qos ") || !strings.Contains(cmds, "no policy-map type queuing ROCE-FABRIC-OUT") {
		t.Errorf("typed\n%s", cmds)
	}
}

// roce returns a leaf with one lossless class and a class for CNPs.
func roce() *qos.Device {
	m := qos.UnmappedMaps()
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = 0
	}
	m.DSCPToTC[26], m.DSCPToTC[48] = 3, 6
	for i := range qos.NumPriorities {
		m.TCToQueue[i], m.PFCToQueue[i] = int8(i), int8(i)
	}
	p := &qos.Port{MTU: qos.Of(9000), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(m), PFC: qos.Of(qos.Priorities(3)), Watchdog: qos.Of(qos.Watchdog{})}
	p.Queues[0].Scheduler = qos.Of(qos.Scheduler{Weight: 40})
	p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 60}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 150e3, Max: 3e6, Probability: 7})}
	p.Queues[6].Scheduler = qos.Of(qos.Scheduler{Strict: true})
	d := &qos.Device{
		Classes: []qos.Class{{Name: "default"}, {Name: "roce", Priority: 3, Queue: 3, Lossless: true}, {Name: "cnp", Priority: 6, Queue: 6, Strict: true}},
		Ports:   map[string]*qos.Port{"Ethernet1/1": p},
	}
	Fit(d)
	return d
}

const roceText = `policy-map type network-qos ROCE-FABRIC-NQ
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq6
    mtu 9216
  class type network-qos c-8q-nq-default
    mtu 9216
class-map type qos match-any ROCE-FABRIC-ROCE
  match dscp 26
class-map type qos match-any ROCE-FABRIC-CNP
  match dscp 48
policy-map type qos ROCE-FABRIC-IN
  class ROCE-FABRIC-ROCE
    set qos-group 3
  class ROCE-FABRIC-CNP
    set qos-group 6
  class class-default
    set qos-group 0
policy-map type queuing ROCE-FABRIC-OUT
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q6
    priority level 2
  class type queuing c-out-8q-q5
    bandwidth remaining percent 0
  class type queuing c-out-8q-q4
    bandwidth remaining percent 0
  class type queuing c-out-8q-q3
    bandwidth remaining percent 60
    random-detect minimum-threshold 150000 bytes maximum-threshold 3000000 bytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q2
    bandwidth remaining percent 0
  class type queuing c-out-8q-q1
    bandwidth remaining percent 0
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 40
system qos
  service-policy type network-qos ROCE-FABRIC-NQ

interface Ethernet1/1
  mtu 9000
  priority-flow-control mode on
  service-policy type qos input ROCE-FABRIC-IN
  service-policy type queuing output ROCE-FABRIC-OUT
`

func TestEncode(t *testing.T) {
	if got := Encode(roce(), EightQueue).String(); got != roceText {
		t.Errorf("got\n%s\nwant\n%s", got, roceText)
	}
}

// Removing a class from the intent removes its pause, class-map, class and bandwidth share.
func TestRemovingAClass(t *testing.T) {
	old := Encode(roce(), EightQueue)
	want := roce()
	want.Classes = want.Classes[:2]
	want.Classes[1].Lossless = false
	p := want.Ports["Ethernet1/1"]
	m := *p.Maps.V
	m.DSCPToTC[48] = 0
	m.Unmanage(qos.PFCToQueue)
	p.Maps, p.PFC = qos.Of(&m), qos.Of(qos.PrioritySet(0))
	p.Queues[6], p.Queues[7] = qos.Queue{}, qos.Queue{}
	edit := Change(old, want, EightQueue)
	got := strings.Join(edit.Commands(old), "\n")
	const typed = `policy-map type network-qos ROCE-FABRIC-NQ-2
class type network-qos c-8q-nq3
mtu 9216
exit
class type network-qos c-8q-nq6
mtu 9216
exit
class type network-qos c-8q-nq-default
mtu 9216
exit
exit
policy-map type qos ROCE-FABRIC-IN
no class ROCE-FABRIC-CNP
exit
system qos
service-policy type network-qos ROCE-FABRIC-NQ-2
exit
interface Ethernet1/1
no priority-flow-control mode on
exit
no policy-map type network-qos ROCE-FABRIC-NQ
no class-map type qos match-any ROCE-FABRIC-CNP`
	if got != typed {
		t.Errorf("typed\n%s\nwant\n%s", got, typed)
	}
	now := edit.Apply(old)
	d, _ := Decode(now, EightQueue)
	if left := qos.Diff(d, want); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A port that already behaves as desired, by other means, gets no change, and its policies are
// not edited for other ports.
func TestPortsThatAreRightAreLeftAlone(t *testing.T) {
	want := roce()
	want.Ports["Ethernet1/2"] = want.Ports["Ethernet1/1"]
	text := strings.ReplaceAll(roceText, prefix, "SITE-")
	old := parse(t, text+"\ninterface Ethernet1/2\n")
	edit := Change(old, want, EightQueue)
	for _, s := range edit {
		if s.Section == "interface Ethernet1/1" || strings.Contains(s.Section, "SITE-") || s.Section == systemHeader {
			t.Errorf("touched: %+v", s)
		}
	}
	d, _ := Decode(edit.Apply(old), EightQueue)
	if left := qos.Diff(d, want); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// An attached foreign network-qos policy is replaced, not edited. Its classes keep their MTU if
// it is large enough for the ports or they send nothing there. Unwanted pauses are dropped.
func TestForeignNetworkPolicyIsRepeated(t *testing.T) {
	for rest, want := range map[string]int{"  class type network-qos c-8q-nq-default\n    mtu 9100\n": 9100, "  class type network-qos c-8q-nq-default\n    mtu 4200\n": 9216, "": 9216} {
		old := parse(t, `policy-map type network-qos SITE
  class type network-qos c-8q-nq2
    mtu 2240
    pause pfc-cos 2
`+rest+`system qos
  service-policy type network-qos SITE
interface Ethernet1/1
`)
		now := Change(old, roce(), EightQueue).Apply(old)
		nq := fmt.Sprintf(`policy-map type network-qos ROCE-FABRIC-NQ
  class type network-qos c-8q-nq2
    mtu 2240
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq6
    mtu 9216
  class type network-qos c-8q-nq-default
    mtu %d
`, want)
		if text := now.String(); !strings.Contains(text, nq) || !strings.Contains(text, "  service-policy type network-qos ROCE-FABRIC-NQ\n") || !strings.Contains(text, "pause pfc-cos 2") {
			t.Errorf("with %q\n%s", rest, text)
		}
	}
}

// Objects of ours that others use are not changed; new ones are created.
func TestObjectsThatOthersUseAreNotEdited(t *testing.T) {
	want := roce()
	p := want.Ports["Ethernet1/1"]
	p.Maps.V.DSCPToTC[27] = 3
	p.Queues[3].Scheduler.V.Weight = 50
	for name, text := range map[string]string{
		"another port":   roceText + "\ninterface Ethernet1/2\n  service-policy type qos input ROCE-FABRIC-IN\n  service-policy type queuing output ROCE-FABRIC-OUT\n",
		"another policy": roceText + "policy-map type qos SITE\n  class ROCE-FABRIC-ROCE\n    set qos-group 2\n",
		"port-channel":   roceText + "\ninterface port-channel7\n  service-policy type qos input ROCE-FABRIC-IN\n",
		"system qos":     strings.Replace(roceText, "system qos\n", "system qos\n  service-policy type qos input ROCE-FABRIC-IN\n", 1) + "\ninterface Ethernet1/2\n",
	} {
		old := parse(t, text)
		now := Change(old, want, EightQueue).Apply(old)
		d, _ := Decode(now, EightQueue)
		if left := qos.Diff(d, want); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
		was, _ := Decode(old, EightQueue)
		delete(was.Ports, "Ethernet1/1")
		if touched := qos.Diff(d, was); len(touched) > 0 || !strings.Contains(now.String(), "class-map type qos match-any ROCE-FABRIC-ROCE\n  match dscp 26\n") {
			t.Errorf("%s: changed for others: %v\n%s", name, touched, now)
		}
	}
	// Objects that only these ports use are edited in place, and nothing is attached again.
	old := parse(t, roceText)
	for _, s := range Change(old, want, EightQueue) {
		if s.Line == lines.Present || s.Section == "interface Ethernet1/1" {
			t.Errorf("not in place: %+v", s)
		}
	}
}

func TestUnmanagedSettingsStay(t *testing.T) {
	want := roce()
	p := want.Ports["Ethernet1/1"]
	p.Queues[0] = qos.Queue{}
	for i := 8; i < 16; i++ {
		p.Maps.V.DSCPToTC[i] = qos.Unmanaged
	}
	old := parse(t, `class-map type qos match-any SITE
  match dscp 10-11
policy-map type qos SITE
  class SITE
    set qos-group 2
policy-map type queuing SITE
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q2
    bandwidth remaining percent 15
    queue-limit dynamic 3
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 85
interface Ethernet1/1
  service-policy type qos input SITE
  service-policy type queuing output SITE
`)
	now := Change(old, want, EightQueue).Apply(old)
	d, _ := Decode(now, EightQueue)
	got := d.Ports["Ethernet1/1"]
	if m := got.Maps.V; m.DSCPToTC[10] != 2 || m.DSCPToTC[12] != 0 || m.DSCPToTC[26] != 3 {
		t.Errorf("classified: %v", m.DSCPToTC)
	}
	// The classes use 85 percent and 60 are wanted; the remaining queue gets what is left.
	if w0, w2 := got.Queues[0].Scheduler.V.Weight, got.Queues[2].Scheduler.V.Weight; w2 != 15 || w0 != 25 {
		t.Errorf("queue 0 has %d percent, queue 2 %d", w0, w2)
	}
	if text := now.String(); strings.Count(text, "    bandwidth remaining percent 15\n    queue-limit dynamic 3\n") != 1 {
		t.Errorf("the queue limit is gone:\n%s", text)
	}
}

// A map that sends every code point to group 0 is written like any other.
func TestEveryCodePointInGroupZero(t *testing.T) {
	old, want := parse(t, roceText), roce()
	m := want.Ports["Ethernet1/1"].Maps.V
	m.DSCPToTC[26], m.DSCPToTC[48] = 0, 0
	now := Change(old, want, EightQueue).Apply(old)
	d, _ := Decode(now, EightQueue)
	if got := d.Ports["Ethernet1/1"].Maps.V; got.DSCPToTC != m.DSCPToTC {
		t.Errorf("classified: %v\n%s", got.DSCPToTC, now)
	}
}

// ECN marking that desired does not manage keeps its syntax in a new policy.
func TestMarkingThatIsLeftAlone(t *testing.T) {
	for _, line := range []string{
		"random-detect threshold burst-optimized ecn", "random-detect threshold mesh-optimized ecn", "random-detect ecn", "afd queue-desired 150 kbytes ecn",
		"random-detect minimum-threshold 100 packets maximum-threshold 200 packets drop-probability 0 weight 3 ecn",
	} {
		old := parse(t, `policy-map type queuing SITE
  class type queuing c-out-8q-q3
    bandwidth remaining percent 15
    `+line+`
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 85
interface Ethernet1/1
  service-policy type queuing output SITE
`)
		want := roce()
		want.Ports["Ethernet1/1"].Queues[3].ECN = qos.Opt[qos.ECN]{}
		was, _ := Decode(old, EightQueue)
		now := Change(old, want, EightQueue).Apply(old)
		is, _ := Decode(now, EightQueue)
		a, b := was.Ports["Ethernet1/1"].Queues[3], is.Ports["Ethernet1/1"].Queues[3]
		if a.ECN != b.ECN || a.Scheduler == b.Scheduler {
			t.Errorf("%s: %s with %s has become %s with %s\n%s", line, a.ECN.V, a.Scheduler.V, b.ECN.V, b.Scheduler.V, now)
		}
	}
}

func TestPFCIsNotOverridden(t *testing.T) {
	old := parse(t, "priority-flow-control override-interface mode off\n"+roceText)
	if got := strings.Join(Change(old, roce(), EightQueue).Commands(old), "\n"); got != "no priority-flow-control override-interface mode off" {
		t.Errorf("typed %q", got)
	}
}
