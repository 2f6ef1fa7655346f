package eos

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/eos"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// A journal is a file: an undo record that Apply does not make types nothing.
func TestOnlyWhatIsMeantIsReverted(t *testing.T) {
	b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
	d := b.open()
	tok := b.apply(d)
	managed := drivers.Managed(b.desired)
	if err := d.CheckUndo(tok, managed); err != nil {
		t.Fatal(err)
	}
	was := string(b.state())
	refused := func(raw string) {
		t.Helper()
		bad := &drivers.Token{Device: "sw1", Native: []byte(raw)}
		for _, err := range []error{d.CheckUndo(bad, managed), d.Revert(t.Context(), bad), d.Confirm(t.Context(), bad)} {
			if err == nil || !strings.HasPrefix(err.Error(), "sw1: undo record: ") {
				t.Errorf("%s: %v", raw, err)
			}
		}
		if string(b.state()) != was {
			t.Fatalf("%s was carried out", raw)
		}
	}
	for _, setting := range []string{
		`{"key":"username eve","line":"username eve privilege 15 nopassword"}`,
		`{"section":"interface Management1","key":"shutdown","line":"shutdown"}`,
		`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000\nreload now"}`,
		`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000 | bash"}`,
		`{"section":"interface Ethernet1/1","key":"shutdown","line":"shutdown"}`,
		`{"key":" "}`,
	} {
		refused(strings.Replace(string(tok.Native), `"undo":[`, `"undo":[`+setting+`,`, 1))
		refused(strings.Replace(string(tok.Native), `"edit":[`, `"edit":[{"key":"hostname","line":"hostname x"},`, 1))
	}
	var back wayBack
	if err := json.Unmarshal(tok.Native, &back); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"x commit\nreload",
		"rf-x commit",
		"rf-x;y",
		"rf-x|y",
		"theirs",
	} {
		back.Session = name
		raw, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		refused(string(raw))
	}
	none := func(string) bool { return false }
	if err := d.CheckUndo(tok, none); err == nil || !strings.Contains(err.Error(), "is not in the intent") {
		t.Errorf("ports outside of the intent: %v", err)
	}
	if err := d.Revert(t.Context(), tok); err != nil {
		t.Error(err)
	}
}

// What is taken of an undo record is typed line by line, and no line is more
// than one command.
func FuzzUndo(f *testing.F) {
	for _, s := range []string{
		`{"session":"rf-x","edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9100"}],"undo":[{"section":"interface Ethernet1/1","key":"mtu"}]}`,
		`{"session":"rf-x","edit":[{"key":" "}],"undo":[{"key":" ","line":"x"}]}`,
		`{"session":"rf-x","edit":[{"key":"username eve"}],"undo":[{"key":"username eve","line":"username eve"}]}`,
		`{"session":"rf-x;y\n","edit":[{"section":"interface Ethernet1/1"}],"undo":[{"section":"interface Ethernet1/1","key":"shutdown","line":"shutdown ; reload","at":-1}]}`,
	} {
		f.Add([]byte(s))
	}
	have, err := native.Parse([]byte("hostname x\ninterface Ethernet1/1\n  description a\n"))
	if err != nil {
		f.Fatal(err)
	}
	d := &Driver{t: drivers.Target{Name: "sw1"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok := &drivers.Token{Device: "sw1", Native: raw}
		b, err := d.back(tok)
		if err != nil {
			return
		}
		for _, e := range []native.Edit{b.Undo, b.Edit} {
			for _, l := range e.Commands(have) {
				if strings.ContainsAny(l, ";|<>\n\r?") {
					t.Errorf("%q is typed", l)
				}
			}
		}
	})
}
