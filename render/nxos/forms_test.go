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

// A line that removes a block which the text opens before it is not understood: the block is read as
// if it were there.
func TestRemovalOfABlock(t *testing.T) {
	const text = "class-map type qos match-any R\n  match dscp 26\npolicy-map type qos P\n  class R\n    set qos-group 3\ninterface Ethernet1/1\n  mtu 9216\n  service-policy type qos input P\n"
	for line, want := range map[string]render.Fate{
		"no policy-map type qos P": render.Unknown, "default interface Ethernet1/1": render.Unknown, "policy-map type qos P\n  no class R": render.Unknown,
		"no policy-map type qos Q": "", "default interface Ethernet1/2": "", "no class-map type qos match-any S": "",
	} {
		_, _, account := reader(t).Read(text + line + "\n")
		last := strings.TrimSpace(line[strings.LastIndex(line, "\n")+1:])
		var got render.Fate
		for _, l := range account {
			if l.Text == last {
				got = l.Fate
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", last, got, want)
		}
	}
}
