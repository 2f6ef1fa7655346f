package nxos

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
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
	if f, ok := grammar.Find(inGlobal, keyFixed+" 3"); !ok || f.Why == "" || f.Args != "" {
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

// A line that the switch refuses changes neither what is in force nor the account of the accepted
// line of its key, whether it stands before or after that line.
func TestRefusedLinesHideNothing(t *testing.T) {
	tried := 0
	for file, text := range published(t) {
		rows := strings.Split(text, "\n")
		m, _ := ModelOf(text)
		whole := parse(t, text)
		want, accounted := deviceOf(whole, m), fates(whole, m, "")
		try := func(at place, block *Line) {
			for _, l := range block.Sub {
				f, ok := grammar.Find(at, l.Text)
				if !ok || f.Args == "" || f.Many || f.Negated || !f.Fits() || l.No == 0 {
					continue
				}
				row := rows[l.No-1]
				if strings.TrimSpace(strings.TrimRight(row, "\r")) != l.Text {
					continue // abbreviated, or one of several interfaces
				}
				refused := f.Key + " refused-here"
				if g, ok := grammar.Find(at, refused); !ok || g.Fits() {
					continue
				}
				tried++
				added := row[:strings.Index(row, l.Text)] + refused
				for _, i := range []int{l.No - 1, l.No} {
					c := parse(t, strings.Join(slices.Insert(slices.Clone(rows), i, added), "\n"))
					for _, change := range qos.Diff(deviceOf(c, m), want) {
						t.Errorf("%s, line %d (%s): %s is %s, was %s", file, i+1, added, change.Path(), change.Old, change.New)
					}
					got := fates(c, m, refused)
					// In a block without effect, every line is without effect.
					if got[refused] != render.Unknown && (got[refused] != render.Inert || !withoutEffect(accounted, l.Text)) {
						t.Errorf("%s, line %d (%s): the account has it as %q", file, i+1, added, got[refused])
					}
					for at, fate := range accounted {
						// What is concluded from a missing line is not, beside one that is not understood.
						if got[at] != fate && fate != render.Inert {
							t.Errorf("%s, line %d (%s): %s is %q in the account, was %q", file, i+1, added, at, got[at], fate)
						}
					}
				}
			}
		}
		for _, l := range whole.Lines {
			h, ok := headOf(l.Text)
			if !ok {
				continue
			}
			try(h.at, l)
			if h.at == inPolicy {
				for _, class := range classes(l) {
					try(classPlace(h.typ), class)
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// withoutEffect reports whether a line is without effect at some place.
func withoutEffect(fates map[string]render.Fate, text string) bool {
	for at, fate := range fates {
		if fate == render.Inert && strings.HasSuffix(at, ": "+text) {
			return true
		}
	}
	return false
}

// fates returns the fate of each line of an account, by place and text; that of refused by its text
// alone.
func fates(c *Config, m ClassModel, refused string) map[string]render.Fate {
	out := map[string]render.Fate{}
	for _, l := range Account(c, m) {
		if l.Text == refused {
			out[refused] = l.Fate
		} else {
			out[l.Where+": "+l.Text] = l.Fate
		}
	}
	return out
}
