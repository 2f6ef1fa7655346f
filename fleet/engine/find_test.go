package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// tokensOf returns one line per device: its name, and the runs whose undo records are carried
// out on it, in order.
func tokensOf(t *testing.T, u *Undo) (out []string) {
	t.Helper()
	for _, d := range u.Devices {
		tokens, err := d.tokens()
		if err != nil {
			t.Fatal(err)
		}
		line := d.Name
		for _, token := range tokens {
			line += " " + strings.Trim(string(token.Native), `"`)
		}
		out = append(out, line)
	}
	return out
}

// historyEntries returns the records of a run for a device. The undo record contains the name of
// the run.
func historyEntries(run, device string, state State) []entry {
	rs := wrote(device, state)
	rs[1].Undo.Native = []byte(fmt.Sprintf("%q", run))
	return rs
}

// If a run finished what an earlier run left unfinished when it was cut off or stopped, both
// are rolled back together.
func TestContinuedRunsAreRolledBackTogether(t *testing.T) {
	all := []string{"a", "b", "c"}
	begun := entry{Intent: "v1", Devices: all}
	unchanged := func(device string) []entry { return []entry{{Device: device, Event: string(Unchanged)}} }
	type run struct {
		cut   bool
		first entry
		rs    [][]entry
	}
	for name, c := range map[string]struct {
		runs []run
		want []string // each device, with the runs whose undo records are carried out on it
		id   string
	}{
		"cut off in the second device": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run1", "b run2", "c run2"}, "run2"},
		"resumed": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, entry{Intent: "v1", Devices: []string{"b", "c"}}, [][]entry{historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run1", "b run2", "c run2"}, "run2"},
		"cut off in a device on which nothing is left to do": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", "")}},
			{false, entry{Intent: "v1", Devices: []string{"b", "c"}, idle: []string{"a"}}, [][]entry{historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run1", "b run2", "c run2"}, "run2"},
		"cut off twice": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{true, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Applied), historyEntries("run2", "c", "")}},
			{false, begun, [][]entry{unchanged("a"), unchanged("b"), historyEntries("run3", "c", Applied)}},
		}, []string{"a run1", "b run2", "c run3"}, "run3"},
		"another intent goes on": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, entry{Intent: "v2", Devices: all}, [][]entry{historyEntries("run2", "a", Applied), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run2 run1", "b run2", "c run2"}, "run2"},
		"stopped, and finished with the same intent": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Reverted), {{Device: "c", Event: string(Skipped)}}}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run1", "b run2", "c run2"}, "run2"},
		"stopped, and another intent": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Reverted), {{Device: "c", Event: string(Skipped)}}}},
			{false, entry{Intent: "v2", Devices: all}, [][]entry{historyEntries("run2", "a", Applied), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
		}, []string{"a run2", "b run2", "c run2"}, "run2"},
		"stopped twice": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Reverted)}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Partial)}},
		}, []string{"a run1", "b run2"}, "run2"},
		"a device that no run can write to": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Failed)}},
			{false, begun, [][]entry{historyEntries("run2", "a", Applied), historyEntries("run2", "b", Failed)}},
		}, []string{"a run2"}, "run2"},
		"cut off, and then nothing could be written": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, entry{Intent: "v1", Devices: []string{"b"}}, [][]entry{historyEntries("run2", "b", Failed)}},
		}, []string{"a run1", "b run1"}, "run1"},
		"it went through": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Applied), historyEntries("run1", "c", Applied)}},
			{false, begun, [][]entry{historyEntries("run2", "a", Applied), unchanged("b"), unchanged("c")}},
		}, []string{"a run2"}, "run2"},
		"only a part of it": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, entry{Intent: "v1", Devices: []string{"b"}}, [][]entry{historyEntries("run2", "b", Applied)}},
		}, []string{"b run2"}, "run2"},
		"a run that wrote nothing is in between": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, begun, [][]entry{{{Device: "a", Event: string(Failed)}}}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run3", "b", Applied), historyEntries("run3", "c", Applied)}},
		}, []string{"a run1", "b run3", "c run3"}, "run3"},
		"a rollback was cut off": {[]run{
			{false, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", Applied), historyEntries("run1", "c", Applied)}},
			{true, entry{Intent: "v1", Of: "run1"}, [][]entry{{{Device: "c", Event: "start"}, {Device: "c", Event: string(Restored)}}, {{Device: "b", Event: "start"}}}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run3", "b", Applied), historyEntries("run3", "c", Applied)}},
		}, []string{"a run1", "b run3", "c run3"}, "run3"},
		"the runs before it were rolled back": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
			{false, entry{Intent: "v1", Of: "run2"}, [][]entry{{{Device: "a", Event: string(Restored)}, {Device: "b", Event: string(Restored)}, {Device: "c", Event: string(Restored)}}}},
		}, nil, ""},
		"in part": {[]run{
			{true, begun, [][]entry{historyEntries("run1", "a", Applied), historyEntries("run1", "b", "")}},
			{false, begun, [][]entry{unchanged("a"), historyEntries("run2", "b", Applied), historyEntries("run2", "c", Applied)}},
			{false, entry{Intent: "v1", Of: "run2"}, [][]entry{{{Device: "a", Event: string(Failed)}, {Device: "b", Event: string(Restored)}, {Device: "c", Event: string(Restored)}}}},
		}, []string{"a run1"}, "run1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, r := range c.runs {
				record(t, dir, fmt.Sprintf("run%d", i+1), r.cut, r.first, slices.Concat(r.rs...)...)
			}
			u, err := find(store.Dir(dir), "", nil)
			if c.id == "" {
				if err == nil {
					t.Fatalf("run %s is rolled back: %v", u.ID, tokensOf(t, u))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := tokensOf(t, u)
			slices.Sort(got)
			if u.ID != c.id || !slices.Equal(got, c.want) {
				t.Errorf("run %s: %q, want run %s: %q", u.ID, got, c.id, c.want)
			}
		})
	}
}

// An apply continues the runs that were cut off on a device. If a rollback was cut off there,
// the apply continues the runs that the rollback was undoing on the device.
func TestInherits(t *testing.T) {
	all := []string{"a", "b"}
	begun := entry{Intent: "v1", Devices: all}
	start := func(device string) []entry { return []entry{{Device: device, Event: "start"}} }
	for name, c := range map[string]struct {
		runs []func(t *testing.T, dir string)
		want []string
	}{
		"nothing": {nil, nil},
		"cut off": {[]func(*testing.T, string){
			func(t *testing.T, dir string) {
				record(t, dir, "run1", true, begun, historyEntries("run1", "a", "")...)
			},
		}, []string{"run1"}},
		"cut off, and finished": {[]func(*testing.T, string){
			func(t *testing.T, dir string) {
				record(t, dir, "run1", true, begun, historyEntries("run1", "a", "")...)
			},
			func(t *testing.T, dir string) {
				record(t, dir, "run2", false, begun, historyEntries("run2", "a", Applied)...)
			},
		}, nil},
		"cut off, and then nothing was written": {[]func(*testing.T, string){
			func(t *testing.T, dir string) {
				record(t, dir, "run1", true, begun, historyEntries("run1", "a", "")...)
			},
			func(t *testing.T, dir string) {
				record(t, dir, "run2", false, begun, entry{Device: "a", Event: string(Failed)})
			},
		}, []string{"run1"}},
		"the rollback of a run that continued another": {[]func(*testing.T, string){
			func(t *testing.T, dir string) {
				record(t, dir, "run1", true, begun, slices.Concat(historyEntries("run1", "a", Applied), historyEntries("run1", "b", ""))...)
			},
			func(t *testing.T, dir string) {
				record(t, dir, "run2", false, begun, historyEntries("run2", "b", Applied)...)
			},
			func(t *testing.T, dir string) {
				record(t, dir, "run3", true, entry{Intent: "v1", Of: "run2"}, start("a")...)
			},
		}, []string{"run1"}},
		"the rollback of a run that is gone": {[]func(*testing.T, string){
			func(t *testing.T, dir string) {
				record(t, dir, "run1", true, begun, entry{Device: "a", Event: "start"})
			},
			func(t *testing.T, dir string) {
				record(t, dir, "run2", true, entry{Intent: "v1", Of: "run1"}, start("a")...)
			},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, r := range c.runs {
				r(t, dir)
			}
			h, _, err := OpenHistory(store.Dir(dir))
			if err != nil {
				t.Fatal(err)
			}
			tokens, err := h.inherits("a", drivers.Facts{})
			var got []string
			for _, token := range tokens {
				got = append(got, strings.Trim(string(token.Native), `"`))
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
