package nxos

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

// Without a line, only the attributes change that its form names.
func TestFormsNameWhatTheyChange(t *testing.T) {
	tried := 0
	for file, text := range published(t) {
		c := parse(t, text)
		m, _ := ModelOf(text)
		whole := deviceOf(c, m)
		without := func(at place, block *Line) {
			for i, l := range block.Sub {
				f, ok := grammar.Find(at, l.Text)
				if !ok {
					continue
				}
				tried++
				all := block.Sub
				block.Sub = slices.Delete(slices.Clone(all), i, i+1)
				for _, change := range qos.Diff(deviceOf(c, m), whole) {
					if !slices.Contains(f.Kinds, change.Field.Kind) {
						t.Errorf("%s, line %d (%s): %s", file, l.No, l.Text, change.Field)
					}
				}
				block.Sub = all
			}
		}
		for _, l := range c.Lines {
			h, ok := headOf(l.Text)
			if !ok {
				continue
			}
			without(h.at, l)
			if h.at == inPolicy {
				for _, class := range classes(l) {
					without(classPlace(h.typ), class)
				}
			}
		}
	}
	if tried < 3000 {
		t.Errorf("only %d lines were left out", tried)
	}
}

// A line whose key is known and whose arguments are not is in force, but not understood.
func TestFormsTakeTheirArguments(t *testing.T) {
	for text, fits := range map[string]bool{
		"mtu 9216": true, "mtu 9216 bytes": false, "mtu jumbo": false, "no mtu": true,
		keyPFC + " on": true, keyPFC + " auto send-tlv": true, keyPFC + " enabled": false,
		keyReceive + " on": true, keyReceive + " desired": false,
		keyInput + " P no-stats": true, keyInput + " P Q": false, keyInput: false,
	} {
		f, ok := grammar.Find(inInterface, text)
		if !ok || f.Fits() != fits {
			t.Errorf("%s: found %v, arguments understood: %v", text, ok, f.Fits())
		}
	}
	if f, ok := grammar.Find(inGlobal, keyFixed+" 3"); !ok || f.Why == "" || !f.Fits() {
		t.Errorf("the second form of a key is not found: %+v", f)
	}
	if _, ok := grammar.Find(inGlobal, "mtu 9216"); ok {
		t.Error("a line of an interface is found at the top level")
	}
	var held []string
	grammar.InForce(inInterface, &Line{Sub: []*Line{{Text: "mtu 9000"}, {Text: "mtu 9216"}, {Text: keyPFC + " on"}, {Text: "no " + keyPFC}, {Text: "shutdown"}}}, func(l *Line, _ forms.Found) {
		held = append(held, l.Text)
	})
	if !slices.Equal(held, []string{"mtu 9216", "shutdown"}) {
		t.Errorf("in force: %q", held)
	}
}

// A line whose arguments the switch refuses leaves the line before it in force, and is not
// understood.
func TestRefusedArgumentsLeaveTheLineBefore(t *testing.T) {
	const text = "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos P\n  class R\n    set qos-group 3\n" +
		"system qos\n  service-policy type network-qos N\ninterface Ethernet1/1\n  mtu 9216\n  mtu jumbo\n  priority-flow-control mode on\n  priority-flow-control mode maybe\n  service-policy type qos input P\n"
	c := parse(t, text)
	d, unknown := Decode(c, EightQueue)
	if p := d.Ports["Ethernet1/1"]; p.MTU.V != 9216 || p.PFC.V != qos.Priorities(3) {
		t.Errorf("MTU %d, PFC %s", p.MTU.V, p.PFC.V)
	}
	if len(unknown) != 2 || unknown[0].Text != "mtu jumbo" || unknown[1].Text != "priority-flow-control mode maybe" {
		t.Errorf("not understood: %+v", unknown)
	}
}

// reader says how this package reads.
func reader(t *testing.T) formstest.Reader {
	return formstest.Reader{Table: grammar, Opens: opens, Read: func(text string) (*Config, *qos.Device, []render.Line) {
		m, _ := ModelOf(text)
		c := parse(t, text)
		return c, deviceOf(c, m), Account(c, m)
	}}
}

// A line that the switch refuses changes neither what is in force nor the account of the accepted
// line of its key.
func TestRefusedLinesHideNothing(t *testing.T) {
	if tried := reader(t).RefusedLinesHideNothing(t, published(t), sharedtest.Sized(8, 1)); tried < 250 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// A line that the switch takes as the negation of an earlier one undoes it.
func TestNegationsUndoTheirLine(t *testing.T) {
	if tried := reader(t).NegationsUndoTheirLine(t, published(t), sharedtest.Sized(8, 1)); tried < 250 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// A line that removes a block takes it away as the switch does: what stands before it is gone, what
// comes after it counts, and the account says which line removed which. The switch refuses to remove
// what other lines use; such a line is not understood.
func TestRemovalOfABlock(t *testing.T) {
	const classes = "class-map type qos match-any R\n  match dscp 26\n"
	const policy = classes + "policy-map type qos P\n  class R\n    set qos-group 3\n"
	const used = policy + "interface Ethernet1/1\n  mtu 9216\n  service-policy type qos input P\n"
	const again = "interface Ethernet1/1\n  service-policy type qos input P\n"
	for name, c := range map[string]struct {
		text, line string // line is the one that removes
		want       render.Fate
		same       string // an equal configuration; "" for the text without the line
	}{
		"before its definition": {"no policy-map type qos P\n" + used, "no policy-map type qos P", "", used},
		"unused policy":         {policy + "no policy-map type qos P\n", "no policy-map type qos P", render.Default, classes},
		"and its reference":     {policy + "no policy-map type qos P\n" + again, "no policy-map type qos P", render.Default, classes + again},
		"defined anew":          {policy + "no policy-map type qos P\npolicy-map type qos P\n  class R\n    set qos-group 4\n" + again, "no policy-map type qos P", render.Default, classes + "policy-map type qos P\n  class R\n    set qos-group 4\n" + again},
		"unused class-map":      {classes + "no class-map type qos match-any R\n", "no class-map type qos match-any R", render.Default, ""},
		"another match type":    {classes + "no class-map type qos match-all R\n", "no class-map type qos match-all R", render.Unknown, classes},
		"policy in use":         {used + "no policy-map type qos P\n", "no policy-map type qos P", render.Unknown, used},
		"class-map in use":      {used + "no class-map type qos match-any R\n", "no class-map type qos match-any R", render.Unknown, used},
		"detached before":       {used + "interface Ethernet1/1\n  no service-policy type qos input P\nno policy-map type qos P\n", "no policy-map type qos P", render.Default, classes + "interface Ethernet1/1\n  mtu 9216\n"},
		"class of a policy":     {used + "policy-map type qos P\n  no class R\n  class class-default\n    set qos-group 1\n", "no class R", render.Default, classes + "policy-map type qos P\n  class class-default\n    set qos-group 1\n" + again + "  mtu 9216\n"},
		"interface":             {used + "default interface Ethernet1/1\ninterface Ethernet1/1\n  mtu 1500\n", "default interface Ethernet1/1", render.Default, policy + "interface Ethernet1/1\n  mtu 1500\n"},
		"flat":                  {strings.ReplaceAll(policy, "  ", "") + "no policy-map type qos P\ninterface Ethernet1/1\nmtu 9216\n", "no policy-map type qos P", render.Default, classes + "interface Ethernet1/1\n  mtu 9216\n"},
		"another policy":        {used + "no policy-map type qos Q\n", "no policy-map type qos Q", "", used},
		"another interface":     {used + "default interface Ethernet1/2\n", "default interface Ethernet1/2", "", used},
		"port of a range":       {strings.ReplaceAll(used, "1/1", "1/1-3") + "default interface Ethernet1/2\n", "default interface Ethernet1/2", render.Unknown, ""},
		"range of ports":        {used + "default interface Ethernet1/1-3\n", "default interface Ethernet1/1-3", render.Unknown, ""},
		"also of a range":       {used + "interface Ethernet1/1-2\n  mtu 9000\ndefault interface Ethernet1/1\n", "default interface Ethernet1/1", render.Unknown, ""},
		"no interface":          {used + "no interface Ethernet1/1\n", "no interface Ethernet1/1", render.Unknown, used},
		"made by the switch":    {"policy-map type queuing default-8q-out-policy\n  class type queuing c-out-8q-q3\n    bandwidth remaining percent 50\nno policy-map type queuing default-8q-out-policy\n", "no policy-map type queuing default-8q-out-policy", render.Unknown, ""},
	} {
		formstest.Removal(t, reader(t), name, c.text, c.line, c.same, c.want)
	}
}
