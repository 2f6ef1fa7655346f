package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func onLink(what string) checks.Finding {
	return checks.Finding{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", What: what,
		Ports: []string{"Ethernet0", "Ethernet8"}, Peers: []string{"spine1/Ethernet4", "spine2/Ethernet4"}}
}

// A finding about a link is cleared only in a round that read both of its ends.
func TestLinkNeedsBothEnds(t *testing.T) {
	s := state{}
	all := func(checks.Finding) bool { return true }
	s.update([]checks.Finding{onLink("differs")}, all)
	left, appeared, cleared := s.update(nil, bothEnds(func(d string) bool { return d != "spine1" }))
	want := []checks.Finding{{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", What: "differs", Ports: []string{"Ethernet8"}, Peers: []string{"spine2/Ethernet4"}}}
	if diff := cmp.Diff(want, cleared); diff != "" || appeared != nil {
		t.Errorf("cleared (-want +got):\n%s appeared: %v", diff, appeared)
	}
	want[0].Ports, want[0].Peers = []string{"Ethernet0"}, []string{"spine1/Ethernet4"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("what stands (-want +got):\n%s", diff)
	}
	if _, _, cleared = s.update(nil, all); len(cleared) != 1 || cleared[0].Ports[0] != "Ethernet0" {
		t.Errorf("at last %v is cleared", cleared)
	}
}

// A finding that the intent suppresses does not appear until the suppression expires.
func TestAccepted(t *testing.T) {
	s := state{}
	all := func(checks.Finding) bool { return true }
	f := onLink("differs")
	f.Suppressed = &checks.Suppressed{Reason: "known", Until: "2026-12-31"}
	found, appeared, _ := s.update([]checks.Finding{f}, all)
	if len(found) != 1 || appeared != nil || verdictOf(found) != OK {
		t.Errorf("accepted: %v appeared, verdict %s", appeared, verdictOf(found))
	}
	f.Suppressed = nil
	if found, appeared, _ = s.update([]checks.Finding{f}, all); len(appeared) != 1 || verdictOf(found) != Errors {
		t.Errorf("no longer accepted: %v appeared, verdict %s", appeared, verdictOf(found))
	}
}

func TestSameThing(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"queue 3 of lossless class rdma dropped 1 packet", "queue 3 of lossless class rdma dropped 250 packets", true},
		{"queue 3 of lossless class rdma dropped 9 packets", "queue 4 of lossless class rdma dropped 9 packets", false},
		{"the PFC watchdog found queue 3 stuck once", "the PFC watchdog found queue 3 stuck 14 times", true},
		{"priority 3 was paused 1.5 % of the time", "priority 3 was paused 12.0 % of the time", true},
	} {
		if got := numberless(c.a) == numberless(c.b); got != c.same {
			t.Errorf("%q and %q are the same: %v (%q, %q)", c.a, c.b, got, numberless(c.a), numberless(c.b))
		}
	}
}

func TestVerdict(t *testing.T) {
	at := func(id string, s checks.Severity) checks.Finding {
		return checks.Finding{ID: id, Severity: s, Device: "leaf1"}
	}
	for _, c := range []struct {
		fs   []checks.Finding
		want Verdict
	}{
		{nil, OK},
		{[]checks.Finding{at("NIC-06", checks.Info), at("READ", checks.Info)}, OK},
		{[]checks.Finding{{ID: "OPS-02", Severity: checks.Info, Device: "leaf1", Unchecked: "values in force"}}, Inconclusive},
		{[]checks.Finding{{ID: "OPS-02", Severity: checks.Info, Unchecked: "values in force", Suppressed: &checks.Suppressed{}}}, OK},
		{[]checks.Finding{{ID: "OPS-02", Severity: checks.Info, Unchecked: "values in force"}, at("WD-02", checks.Warning)}, Warnings},
		{[]checks.Finding{at("WD-02", checks.Warning)}, Warnings},
		{[]checks.Finding{at("READ", checks.Error), at("WD-02", checks.Warning)}, Unreadable},
		{[]checks.Finding{at("READ", checks.Error), at("PFC-01", checks.Error)}, Errors},
	} {
		if got := verdictOf(c.fs); got != c.want {
			t.Errorf("%v is %s, want %s", c.fs, got, c.want)
		}
	}
}

// The history stays small even if all devices of a fabric change at once.
func TestRecordIsBounded(t *testing.T) {
	r := &Round{N: 2, Verdict: Errors, Previous: OK}
	for i := range 30 {
		for device := range 20 {
			r.Appeared = append(r.Appeared, checks.Finding{ID: "DRIFT", Severity: checks.Severities[i%3], Device: fmt.Sprintf("leaf%c", 'a'+device), What: fmt.Sprintf("value %d", i)})
		}
	}
	got := r.Record()
	if len(got.Changes) != keptChanges || got.MoreChanges != 30-keptChanges || got.Changes[0].Severity != checks.Error {
		t.Errorf("%d changes, %d more: %+v", len(got.Changes), got.MoreChanges, got.Changes[0])
	}
	if c := got.Changes[0]; len(c.Places) > keptPlaces || len(c.Places)+c.More < 1 {
		t.Errorf("%d places, %d more", len(c.Places), c.More)
	}
}

// A history file has one line per round, is limited in size, and survives a crash in the middle
// of a line.
func TestHistoryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	r := Record{Format: Format, Fabric: "pod1", Verdict: OK, Time: time.Unix(1_800_000_000, 0).UTC()}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	most := int64(10*len(line) + 20)
	for n := range 25 {
		r.Round = n + 1
		if err := appendHistory(path, r, most); err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"for`); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var rounds []int
	for _, name := range []string{path + ".1", path} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) > most+10 {
			t.Errorf("%s has %d bytes, at most %d are wanted", name, len(b), most)
		}
		for l := range bytes.Lines(b) {
			var got Record
			if err := json.Unmarshal(l, &got); err == nil {
				rounds = append(rounds, got.Round)
			} else if string(l) != "{\"for\n" {
				t.Errorf("the line %q: %v", l, err)
			}
		}
	}
	for i := 1; i < len(rounds); i++ {
		if rounds[i] != rounds[i-1]+1 {
			t.Errorf("the rounds are %v", rounds)
		}
	}
	if len(rounds) < 12 || rounds[len(rounds)-1] != 25 {
		t.Errorf("the rounds are %v", rounds)
	}
	read, err := ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	var again []int
	for _, r := range read {
		again = append(again, r.Round)
	}
	if !slices.Equal(again, rounds) {
		t.Errorf("the rounds are read as %v, they are %v", again, rounds)
	}
	if _, err := ReadHistory(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there has a history")
	}
	dir := t.TempDir()
	if err := AppendHistory(dir, r); err == nil {
		t.Error("a folder is taken for a history file")
	}
}
