package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// record writes a journal, with an "end" record unless cut is true.
func record(t *testing.T, dir, id string, cut bool, first entry, rs ...entry) {
	t.Helper()
	j, err := begin(store.Dir(dir), id, first)
	if err != nil {
		t.Fatal(err)
	}
	if !cut {
		rs = append(rs, entry{Event: "end"})
	}
	for _, r := range rs {
		if err := j.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func wrote(device string, state State) []entry {
	rs := []entry{
		{Device: device, Event: "start", Base: "base of " + device},
		{Device: device, Event: "undo", Undo: &drivers.Token{Device: device, Native: json.RawMessage(`"` + device + `"`)}},
	}
	if state != "" {
		rs = append(rs, entry{Device: device, Event: string(state)})
	}
	return rs
}

func TestFindRunToRollBack(t *testing.T) {
	dir := t.TempDir()
	newest := func(id string) (string, []string, error) {
		u, err := find(store.Dir(dir), id, nil)
		if err != nil {
			return "", nil, err
		}
		var names []string
		for _, d := range u.Devices {
			names = append(names, d.Name)
		}
		return u.ID, names, nil
	}
	expect := func(id, run string, devices ...string) {
		t.Helper()
		got, names, err := newest(id)
		if err != nil || got != run || !slices.Equal(names, devices) {
			t.Errorf("find %q: run %q %v, %v; want %q %v", id, got, names, err, run, devices)
		}
	}
	if _, _, err := newest(""); !errors.Is(err, ErrNothing) {
		t.Errorf("an empty folder: %v", err)
	}
	record(t, dir, "run1", false, entry{}, slices.Concat(wrote("leaf1", Applied), wrote("leaf2", Reverted), wrote("leaf3", Partial))...)
	expect("", "run1", "leaf1", "leaf3")
	record(t, dir, "run2", false, entry{}, entry{Device: "leaf9", Event: string(Unchanged)})
	expect("", "run1", "leaf1", "leaf3")
	record(t, dir, "run3", true, entry{}, wrote("leaf3", "")...)
	expect("", "run3", "leaf3")
	if _, _, err := newest("run1"); err == nil || !strings.Contains(err.Error(), "run run3 changed leaf3 later") {
		t.Errorf("an older run: %v", err)
	}
	// Only runs on the devices asked for count, also as later runs that block a rollback.
	if u, err := find(store.Dir(dir), "", func(n string) bool { return n == "leaf1" }); err != nil || u.ID != "run1" || len(u.Devices) != 1 || u.Devices[0].Name != "leaf1" {
		t.Errorf("of leaf1: %+v %v", u, err)
	}
	if p, err := find(store.Dir(dir), "run1", func(n string) bool { return n == "leaf1" }); err != nil || p.ID != "run1" {
		t.Errorf("run1 of leaf1: %v", err)
	}
	record(t, dir, "run4", false, entry{Of: "run3"}, entry{Device: "leaf3", Event: string(Restored)})
	expect("run1", "run1", "leaf1", "leaf3")
	record(t, dir, "run5", false, entry{Of: "run1"}, entry{Device: "leaf3", Event: string(Restored)}, entry{Device: "leaf1", Event: string(Failed)})
	expect("", "run1", "leaf1")
	if _, _, err := newest("run5"); err == nil {
		t.Error("a rollback can be rolled back")
	}
}

func TestCutOffRuns(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "run1", true, entry{}, wrote("old", "")...)
	record(t, dir, "run2", false, entry{}, wrote("leaf0", Applied)...)
	record(t, dir, "run3", true, entry{}, slices.Concat(wrote("leaf1", Applied), wrote("leaf2", ""))...)
	record(t, dir, "run4", true, entry{}, wrote("leaf3", "")...)
	cut := cutOff(t, dir)
	if got := slices.Sorted(maps.Keys(cut)); !slices.Equal(got, []string{"leaf2", "leaf3", "old"}) {
		t.Errorf("cut off: %v", got)
	}
	if d, _ := cut["leaf2"].device("leaf2"); d.base != "base of leaf2" || !d.touched || d.State != "" {
		t.Errorf("leaf2: %+v", d)
	}
	// A run that wrote nothing to a device does not settle what is left on it.
	record(t, dir, "run5", false, entry{}, slices.Concat(wrote("leaf2", Applied), []entry{{Device: "leaf3", Event: string(Refused)}})...)
	if cut := cutOff(t, dir); cut["leaf2"] != nil || cut["leaf3"] == nil {
		t.Errorf("after a later run: %v", cut)
	}
}

func cutOff(t *testing.T, dir string) map[string]*Past {
	t.Helper()
	h, busy, err := OpenHistory(store.Dir(dir))
	if err != nil || busy != nil {
		t.Fatal(busy, err)
	}
	out := map[string]*Past{}
	for _, name := range []string{"leaf0", "leaf1", "leaf2", "leaf3", "old"} {
		if p := h.left(name).CutOff; p != nil {
			out[name] = p
		}
	}
	return out
}

func ports(device, event string, names ...string) entry {
	return entry{Device: device, Event: event, Ports: names}
}

// The ports left down are those that went down and did not come up again, over all runs since
// the device was last settled.
func TestPortsThatRunsLeftDown(t *testing.T) {
	dir := t.TempDir()
	expect := func(when string, want map[string]string) {
		t.Helper()
		h, _, err := OpenHistory(store.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := h.left("leaf1").Down; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	expect("no runs", map[string]string{})
	record(t, dir, "run1", true, entry{}, append(wrote("leaf1", ""), ports("leaf1", "down", "E0", "E8"), ports("leaf1", "up", "E0", "E8"), ports("leaf1", "down", "E16", "E24"))...)
	expect("cut off in the second group", map[string]string{"E16": "run1", "E24": "run1"})
	record(t, dir, "run2", false, entry{}, slices.Concat(wrote("leaf9", Applied), []entry{{Device: "leaf1", Event: string(Failed)}})...)
	expect("a run of other devices", map[string]string{"E16": "run1", "E24": "run1"})
	record(t, dir, "run3", true, entry{}, append(wrote("leaf1", ""), ports("leaf1", "up", "E16"), ports("leaf1", "down", "E0"))...)
	expect("cut off again", map[string]string{"E0": "run3", "E24": "run1"})
	record(t, dir, "run4", true, entry{Of: "run3"}, entry{Device: "leaf1", Event: "start"}, ports("leaf1", "up", "E0"))
	expect("cut off in a rollback", map[string]string{"E24": "run1"})
	record(t, dir, "run5", false, entry{}, wrote("leaf1", Partial)...)
	expect("not reverted", map[string]string{"E24": "run1"})
	record(t, dir, "run6", false, entry{}, wrote("leaf1", Unchanged)...)
	expect("as intended", map[string]string{})
}

// A run whose process holds the lock is in progress, not cut off.
func TestRunHoldingTheLockIsInProgress(t *testing.T) {
	dir := t.TempDir()
	if id, busy, err := AtWork(store.Dir(filepath.Join(dir, "none"))); id != "" || busy != nil || err != nil {
		t.Errorf("no folder: %q %v %v", id, busy, err)
	}
	j, err := begin(store.Dir(dir), "run1", entry{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(wrote("leaf1", ""), ports("leaf1", "down", "E0")) {
		if err := j.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	h, busy, err := OpenHistory(store.Dir(dir))
	if left := h.left("leaf1"); err != nil || !errors.Is(busy, store.ErrHeld) || h.busy != "run1" || !left.Busy || left.CutOff != nil || len(left.Down) > 0 {
		t.Errorf("at work: %q, %+v, %v, %v", h.busy, left, busy, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	h, busy, err = OpenHistory(store.Dir(dir))
	if left := h.left("leaf1"); err != nil || busy != nil || left.Busy || left.CutOff == nil || left.Down["E0"] != "run1" {
		t.Errorf("cut off: %+v, %v, %v", left, busy, err)
	}
}

// A journal may be incomplete after a crash, and someone may have edited it.
func TestBadJournals(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "run1", true, entry{}, wrote("leaf1", "")...)
	path := filepath.Join(dir, "n000000000001.run1.journal")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"event":"applied","device":"lea`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := find(store.Dir(dir), "", nil); err != nil || p.ID != "run1" {
		t.Errorf("a record that was cut off in the writing: %v", err)
	}
	if err := os.WriteFile(path, append(whole, "rubbish\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := find(store.Dir(dir), "", nil); err == nil || !strings.Contains(err.Error(), "is not a journal record: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("rubbish: %v", err)
	}
	if cut := cutOff(t, dir); len(cut) > 0 {
		t.Errorf("rubbish says %v", cut)
	}
	// A damaged journal is still listed, and so are the others.
	record(t, dir, "run2", false, entry{})
	var runs []string
	for p, err := range Runs(store.Dir(dir)) {
		runs = append(runs, fmt.Sprintf("%s %d %t", p.ID, len(p.Devices), err != nil))
	}
	if !slices.Equal(runs, []string{"run2 0 false", "run1 1 true"}) {
		t.Errorf("the runs are %q", runs)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"event":"begin","intent":"x"}` + "\n" + `{"device":"a","event":"undo","undo":{"device":"a","native":1}}` + "\n"))
	for _, undo := range []string{
		`{"session":"x commit\nreload now","undo":[{"key":"username eve","line":"username eve privilege 15 nopassword"}]}`,
		`{"checkpoint":"x ; reload","undo":[{"section":"interface mgmt0","key":"shutdown","line":"shutdown","at":-1}]}`,
		`{"rows":{"DEVICE_METADATA":{"localhost":{"hwsku":"x"}}},"fields":[{"table":"PORT","key":"Ethernet0|x","field":"admin_status","value":"down"}],"checkpoint":"../x"}`,
		`{"undo":{"steps":[{"port":"../lo","field":"nv","old":{"nv":{"SRIOV_EN":"0"}}}]}}`,
	} {
		f.Add([]byte(`{"event":"begin"}` + "\n" + `{"device":"a","event":"undo","undo":{"device":"a","native":` + undo + "}}\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.journal")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := readPast(store.Dir(dir), store.ID{Run: "x"})
		if err != nil {
			return
		}
		for _, d := range p.Devices {
			if tok, err := p.Token(d); d.touched && (err != nil || tok == nil) {
				t.Errorf("%s: no undo record: %v", d.Name, err)
			}
			if place := p.place(d); !strings.HasPrefix(place, path+":") {
				t.Errorf("%s is at %s", d.Name, place)
			}
		}
	})
}

// storeOf opens a folder as the store of the given fabric.
func storeOf(t *testing.T, dir, fabric string) store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, fabric)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Fabrics that share a folder ignore each other's runs.
func TestRunsOfAnotherFabric(t *testing.T) {
	dir := t.TempDir()
	b := storeOf(t, dir, "b")
	record(t, dir, "run1", false, entry{Fabric: "b", Devices: []string{"leaf1"}}, wrote("leaf1", Applied)...)
	record(t, dir, "run2", true, entry{Fabric: "a", Devices: []string{"leaf1", "leaf2"}}, wrote("leaf1", "")...)
	if u, err := find(b, "", nil); err != nil || u.ID != "run1" || len(u.Devices) != 1 {
		t.Errorf("the newest run is %+v, %v", u, err)
	}
	if _, err := Find(t.Context(), nil, FindOptions{Store: b, Run: "run2"}); !errors.Is(err, errForeign) {
		t.Errorf("run2: %v", err)
	}
	if _, _, err := Unfinished(b, ""); err == nil || !strings.Contains(err.Error(), "run1 reached all") {
		t.Errorf("resume: %v", err)
	}
	h, _, err := OpenHistory(b)
	if err != nil {
		t.Fatal(err)
	}
	if l := h.left("leaf1"); l.CutOff != nil || len(h.Unread()) > 0 {
		t.Errorf("it left %+v, %v", l, h.Unread())
	}
	j, err := begin(b, "run3", entry{Fabric: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := j.others(); err != nil || !slices.Equal(runs, []string{"run1"}) {
		t.Errorf("marks are inherited of %v, %v", runs, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if h, _, err := OpenHistory(storeOf(t, dir, "a")); err != nil || h.left("leaf1").CutOff == nil {
		t.Errorf("fabric a: %v", err)
	}
}

// A journal copied to another number, an empty one, and one without its beginning are rejected.
func TestMovedAndCutJournals(t *testing.T) {
	for name, spoil := range map[string]func(at string) error{
		"is a copy of the journal n000000000001.run1": func(at string) error {
			b, err := os.ReadFile(at)
			return errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(at), "n000000000007.run1.journal"), b, 0o600))
		},
		"cut off": func(at string) error { return os.Truncate(at, 0) },
		"no first record": func(at string) error {
			b, err := os.ReadFile(at)
			_, rest, _ := strings.Cut(string(b), "\n")
			return errors.Join(err, os.WriteFile(at, []byte(rest), 0o600))
		},
	} {
		dir := t.TempDir()
		record(t, dir, "run1", false, entry{}, wrote("leaf1", Applied)...)
		if err := spoil(filepath.Join(dir, "n000000000001.run1.journal")); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "run1"} {
			if _, err := find(store.Dir(dir), id, nil); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("find %q: %v, want %q", id, err, name)
			}
		}
		h, _, err := OpenHistory(store.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if h.left("leaf1"); len(h.Unread()) != 1 {
			t.Errorf("%s: unread %v", name, h.Unread())
		}
	}
}

// A journal that someone changes is detected at the end of the run at the latest.
func TestJournalIsReadBack(t *testing.T) {
	dir := t.TempDir()
	j, err := begin(store.Dir(dir), "run1", entry{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Write(entry{Device: "leaf1", Event: "start"}), j.verify()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(j.Path())
	if err := errors.Join(err, os.WriteFile(j.Path(), []byte(strings.Replace(string(b), "leaf1", "leaf2", 1)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := j.verify(); !errors.Is(err, store.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// An undo record applies only to the unit that it was made on. If another unit answers at the
// address, nothing counts as left on it. A device that does not report its unit is accepted.
func TestRecordsBelongToTheirDevice(t *testing.T) {
	for _, c := range []struct {
		then, now string
		want      State
	}{{"SN1", "SN1", Restored}, {"SN1", "SN2", Refused}, {"SN1", "", Restored}, {"", "SN2", Restored}} {
		dir := t.TempDir()
		rs := wrote("leaf1", "")
		rs[0].Unit = drivers.UnitOf(c.then, "")
		record(t, dir, "run1", true, entry{}, append(rs, entry{Device: "leaf1", Event: "down", Ports: []string{"E0"}})...)
		b := &enginetest.Box{Mask: qos.Priorities(3), Unit: c.now}
		devices := []Device{{Name: "leaf1", Desired: func() drivers.Desired { return enginetest.Holding(0) }, Open: func(context.Context) (drivers.Driver, error) { return b, nil }}}
		h, _, err := OpenHistory(store.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if left := h.left("leaf1").onUnit("leaf1", drivers.Facts{Unit: drivers.UnitOf(c.now, "")}); (left.CutOff == nil) != (c.want == Refused) || (len(left.Down) == 0) != (c.want == Refused) {
			t.Errorf("%q, now %q: left %+v", c.then, c.now, left)
		}
		u, err := Find(t.Context(), devices, FindOptions{Store: store.Dir(dir)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := rollBack(t.Context(), devices, u, store.Dir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if o := res.Outcomes[0]; o.State != c.want || c.want == Refused && (o.Error.Kind != KindMistaken || slices.Contains(b.Calls, "revert")) {
			t.Errorf("%q, now %q: %s %v, calls %v", c.then, c.now, o.State, o.Error, b.Calls)
		}
	}
}

// CutOff names the devices of which the journal has no record.
func TestCutOffNamesDevicesWithoutARecord(t *testing.T) {
	p := &Past{planned: []string{"leaf1", "leaf2", "leaf3"}, Devices: []PastDevice{{Name: "leaf1"}}}
	if got := p.CutOff(); !strings.HasSuffix(got, "with no record of leaf[2-3]") && !strings.HasSuffix(got, "with no record of leaf2,leaf3") {
		t.Errorf("%q", got)
	}
	p.Ended = true
	if got := p.CutOff(); got != "" {
		t.Errorf("ended: %q", got)
	}
}
