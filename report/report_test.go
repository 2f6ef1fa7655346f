package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// hostile is text with control characters, which a device may send but which must not reach a
// terminal.
const hostile = "evil\x1b[2J\x1b]0;title\x07\rname\u202e\nsecond"

func device(name string, groups ...fleet.Group) *fleet.DevicePlan {
	return &fleet.DevicePlan{Name: name, OS: "sonic", Changes: groups, Facts: drivers.Facts{OS: "sonic", Release: "202511", Model: "M", Caps: drivers.Caps{Undo: "by hand"}}}
}

func change(field qos.Attr, old, now string, i qos.Impact, ports ...string) fleet.Group {
	return fleet.Group{Ports: ports, Change: qos.Change{Field: field, Old: old, New: now, Impact: i, Reason: "fabric.yaml:1:2"}}
}

func TestPlanText(t *testing.T) {
	pfc := change(qos.KindPFC.Attr(), "{3,4}", "{3}", qos.ImpactPortFlap, "Ethernet0", "Ethernet8", "Ethernet16")
	long := change(qos.KindMap.Table(qos.DSCPToTC), strings.Repeat("1", 40), strings.Repeat("2", 40), qos.ImpactNone, "Ethernet0")
	blocked := change(qos.KindWatchdog.Attr(), "off", "drop", qos.ImpactNone, "Ethernet0")
	blocked.Blocked = "refused; configure ssh"
	odd := device("odd", blocked, long)
	odd.Notes = []string{"a note"}
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		odd.Unknown = append(odd.Unknown, drivers.Unknown{Where: "T|" + k, Why: "odd"})
	}
	var b bytes.Buffer
	txt := Text{W: &b}
	var sum PlanSummary
	for _, d := range []*fleet.DevicePlan{
		device("leaf1", change(qos.KindWatchdogPoll.Attr(), "-", "200ms", qos.ImpactNone), pfc), device("leaf2", change(qos.KindWatchdogPoll.Attr(), "-", "200ms", qos.ImpactNone), pfc),
		odd, device("spine1"), {Name: "spine2", Error: &fleet.Error{Device: "spine2", Text: "unreachable: x"}},
	} {
		txt.Plan(d)
		sum.Add(d)
	}
	txt.Between(nil)
	txt.Summary(sum)
	want := `leaf1, leaf2  4 changes, impact port-flap, 0 requests (M, sonic 202511)
  Ethernet[0-16:8]
    ~ PFC priorities  {3,4} -> {3}  port-flap  fabric.yaml:1:2
  the device
    ~ PFC watchdog poll interval  - -> 200ms  none  fabric.yaml:1:2
odd  2 changes, impact none, 0 requests (M, sonic 202511)
  Ethernet0
    ! PFC watchdog           off -> drop  none  fabric.yaml:1:2
      blocked: refused; configure ssh
    ~ DSCP -> traffic class               none  fabric.yaml:1:2
         1111111111111111111111111111111111111111
      -> 2222222222222222222222222222222222222222
  left alone: T|a: odd
  left alone: T|b: odd
  left alone: T|c: odd
  left alone: 2 more rows are not understood either
spine1  no changes (M, sonic 202511)
spine2  failed: unreachable: x
note for odd: a note
undo: by hand
10 changes on 3 of 5 devices, impact port-flap, 1 device with blocked changes, 1 of 5 devices could not be planned
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

// Text from a device is printed on one line, without control characters.
func TestForeignTextIsCleaned(t *testing.T) {
	var b bytes.Buffer
	txt := Text{W: &b, Steps: true}
	g := change(qos.KindPFC.Attr(), hostile, hostile, qos.ImpactNone, "Ethernet0")
	g.Blocked = hostile
	d := device("leaf1", g)
	d.Facts.Model, d.Notes, d.Unknown = hostile, []string{hostile}, []drivers.Unknown{{Where: hostile, Why: hostile}}
	d.Facts.Caps.Undo, d.Steps = hostile, []drivers.Step{{Via: hostile, What: hostile}}
	var sum PlanSummary
	for _, x := range []*fleet.DevicePlan{d, {Name: "leaf2", Error: &fleet.Error{Text: hostile}}} {
		txt.Plan(x)
		sum.Add(x)
	}
	txt.Summary(sum)
	txt.Outcomes([]fleet.Outcome{{Device: "leaf1", State: fleet.Failed, Error: &fleet.Error{Text: hostile}}})
	if s := b.String(); term.Clean(s) != s || strings.Contains(s, "\nsecond") {
		t.Errorf("not clean: %q", s)
	}
}

func TestColourAddsNothingElse(t *testing.T) {
	write := func(on bool) string {
		var b bytes.Buffer
		txt := Text{W: &b, S: term.NewStyler(on)}
		d := device("leaf1", change(qos.KindPFC.Attr(), "{3,4}", "{3}", qos.ImpactPortFlap, "Ethernet0"), change(qos.KindECN.At(3), "off", "on", qos.ImpactNone, "Ethernet0"))
		txt.Plan(d)
		txt.Summary(PlanSummary{Devices: 1, Changed: 1, Changes: 2})
		txt.Outcomes([]fleet.Outcome{{Device: "leaf1", State: fleet.Applied, Steps: 1}, {Device: "leaf2", State: fleet.Skipped}})
		return b.String()
	}
	plain, coloured := write(false), write(true)
	if plain == coloured || term.Clean(coloured) != plain {
		t.Errorf("plain:\n%q\ncoloured:\n%q", plain, coloured)
	}
}

func TestJSONListIsOneDocument(t *testing.T) {
	for n := range 3 {
		var b bytes.Buffer
		l := NewJSONList(&b, "devices", Field{"fabric", `a "b"`})
		for range n {
			l.Add(device("leaf1"))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Format  int
			Fabric  string
			Devices []fleet.DevicePlan
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Format != Format || doc.Fabric != `a "b"` || len(doc.Devices) != n {
			t.Errorf("%d devices: %v: %s", n, err, b.String())
		}
	}
}
