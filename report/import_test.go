package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

func importedOf(accounts ...fleet.Account) *fleet.Imported {
	return &fleet.Imported{Result: &derive.Result{Fabric: &intent.Fabric{Settings: &intent.Settings{}}}, Accounts: accounts}
}

// Lines that differ only in numbers are shown as one, as are lines that switches share; lines
// that need a decision are also separated by their text.
func TestImportFoldsLines(t *testing.T) {
	var voq []render.Line
	for i := range 945 {
		voq = append(voq, render.Line{Where: fmt.Sprintf("QUEUE|leaf1|asic0|Ethernet%d|%d", i/8*8, i%8), Text: "scheduler: scheduler.1", Fate: render.Unknown, Why: "a queue of another switch"})
	}
	two := func(device string) fleet.Account {
		return fleet.Account{Device: device, System: "eos", Lines: []render.Line{
			{No: 7, Where: "interface Ethernet1", Text: "qos foo", Fate: render.Unknown, Why: "not known"},
			{No: 9, Where: "interface Ethernet2", Text: "qos foo", Fate: render.Unknown, Why: "not known"},
			{No: 10, Where: "interface Ethernet2", Text: "qos bar", Fate: render.Unknown, Why: "not known"},
			{No: 12, Where: "qos profile A", Text: "qos trust cos", Fate: render.Inert, Why: "a later line overrides it: line 13"},
			{No: 14, Where: "qos profile B", Text: "qos trust cos", Fate: render.Inert, Why: "a later line overrides it: line 15", Check: "CLS-17"},
			{No: 20, Text: "qos x", Fate: render.Represented},
		}}
	}
	r := importedOf(fleet.Account{Device: "leaf1", System: "sonic", Recognised: "read as sonic", Lines: voq}, two("spine1"), two("spine2"))
	for fate, want := range map[render.Fate][]string{
		render.Unknown: {
			"leaf1 QUEUE|leaf1|asic0|Ethernet[0-936:8]|[0-7],QUEUE|leaf1|asic0|Ethernet944|0 [scheduler: scheduler.1] (945): a queue of another switch",
			"spine[1-2] interface Ethernet1,interface Ethernet2, 2 lines between 7 and 9 [qos foo]: not known",
			"spine[1-2] interface Ethernet2, line 10 [qos bar]: not known",
		},
		render.Inert: {
			"spine[1-2] qos profile A,qos profile B, 2 lines between 12 and 14 [qos trust cos]: a later line overrides it: line ...",
		},
		render.Default: nil,
	} {
		got := strings.ReplaceAll(strings.Join(foldLines(r.Accounts, fate), "\n"), "spine1,spine2", "spine[1-2]")
		if got != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", fate, got, strings.Join(want, "\n"))
		}
	}
	var b bytes.Buffer
	if err := WriteCoverage(&b, r); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 20 || !strings.Contains(b.String(), "\nleaf1: read as sonic\n") {
		t.Errorf("%d lines:\n%s", lines, b.String())
	}
}

// The three totals come first, an intent with lines that are not understood is not called
// complete, and long lists are cut unless all is set.
func TestImportSaysWhatNeedsADecision(t *testing.T) {
	a := fleet.Account{Device: "leaf1", Lines: []render.Line{{Fate: render.Represented}, {Fate: render.Default}, {Fate: render.Inert}}}
	said := ImportText(importedOf(a), "", false)
	want := "adopted:          2 lines (1 represented, 1 as by default)\nleft alone:       1 line (1 without effect)\nneeds a decision: 0 lines\n"
	text := strings.Join(said.Lines, "\n")
	if !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "\nthis intent changes nothing on the switches") || said.Warning == "" {
		t.Errorf("said\n%s\n%s", text, said.Warning)
	}
	for i := range 40 {
		a.Lines = append(a.Lines, render.Line{No: i + 1, Text: "qos " + strings.Repeat("x", i), Fate: render.Unknown})
	}
	text = strings.Join(ImportText(importedOf(a), "", false).Lines, "\n")
	if strings.Contains(text, "this intent changes nothing on the switches") || strings.Count(text, "not understood: leaf1") != mostLines || !strings.Contains(text, "not understood: 28 more; --coverage lists them") {
		t.Errorf("said\n%s", text)
	}
	if text = strings.Join(ImportText(importedOf(a), "", true).Lines, "\n"); strings.Count(text, "not understood: leaf1") != 40 {
		t.Errorf("said\n%s", text)
	}
	a.Lines = a.Lines[:3]
	r := importedOf(a)
	r.Differs = []fleet.Difference{{Device: "leaf1"}}
	r.Differs[0].Changes = append(r.Differs[0].Changes, qos.Change{Port: "Ethernet1", Field: qos.KindMTU.Attr(), Old: "9214", New: "1500"})
	if text = strings.Join(ImportText(r, "", false).Lines, "\n"); strings.Contains(text, "this intent changes nothing on the switches") || !strings.Contains(text, "needs a decision: 0 lines, 1 change in a plan\na plan would change: leaf1 ") {
		t.Errorf("said\n%s", text)
	}
}
