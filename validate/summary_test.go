package validate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// TestSummary checks that the findings from summaries are identical to those from the results
// themselves.
func TestSummary(t *testing.T) {
	n := 0
	for _, p := range pairs {
		if p.config == "" {
			continue
		}
		n++
		var run *Run // from the summaries alone
		want := p.foundBy(t, true, func(f *intent.Fabric, r *Result) *Result {
			b, err := r.Summary()
			if err != nil {
				t.Fatal(err)
			}
			back, err := ReadSummary(f, b)
			if err != nil {
				t.Fatal(err)
			}
			if run == nil {
				run = NewRun(f)
			}
			run.Add(back)
			return r
		})
		if err := run.Deadlocks(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := asJSON(t, run.Findings(today)), asJSON(t, want); got != want {
			t.Errorf("%s %s: by summaries\n%s\nwant\n%s", p.id, p.place, got, want)
		}
	}
	if n < 50 {
		t.Errorf("%d cases", n)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSummaryIsWhole checks that each field is in the summary or set by [Run.Add].
func TestSummaryIsWhole(t *testing.T) {
	e := checks.End{PFC: 1, MTU: 2, Trust: "dscp", Asymmetric: qos.Of(true), Known: true, Intended: true, PFCSaid: "pfc", MTUSaid: true, PFCRead: true, NotKnown: 2, Bare: true, HashSeed: "7",
		Wire: checks.Wire{Known: true, Up: true, Autoneg: true, Speed: 4, FEC: "rs", AdminFEC: "auto", Said: true}}
	if back := summarize(e).end(); back != e {
		t.Errorf("%+v is read back as %+v", e, back)
	}
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Source", "Assumed":
		default:
			if v.Field(i).IsZero() {
				t.Errorf("End.%s is not in the summary", name)
			}
		}
	}
	for of, want := range map[reflect.Type]int{reflect.TypeFor[Result](): 8, reflect.TypeFor[checks.Outcome](): 6, reflect.TypeFor[checks.Trait](): 8, reflect.TypeFor[identity.Names](): 7} {
		if n := of.NumField(); n != want {
			t.Errorf("%v has %d fields: %d are in the summary, or left out on purpose", of, n, want)
		}
	}
}

func TestSummaryOfUnknownVersionOrSwitch(t *testing.T) {
	c := compile(t, closBase)
	for text, want := range map[string]string{
		`{"Version":1}`:                  "the summary has the version 1, this release reads 6",
		`{"Version":6,"Switch":"leaf9"}`: `the summary is for "leaf9", which is not a switch of the intent`,
		`{"Version":6,"Switch":"leaf1","Traits":[{"Check":"ECN-99"}]}`:                `names check "ECN-99"`,
		`{"Version":6,"Switch":"leaf1","Names":{"Ports":["Ethernet0"],"Aliases":[]}}`: "1 ports and 0 aliases",
		`{`: "unexpected end",
	} {
		if _, err := ReadSummary(c.Fabric(), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
