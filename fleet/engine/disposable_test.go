package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// A journal is disposable once there are enough newer ones and a later run has settled what it
// left on devices. No journal is disposable while the newest run is an unfinished rollback.
func TestDisposable(t *testing.T) {
	dir := t.TempDir()
	expect := func(keep int, want ...string) {
		t.Helper()
		ids, err := Disposable(store.Dir(dir), keep)
		var got []string
		for _, id := range ids {
			got = append(got, id.Run)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("keep %d: %v, %v; want %v", keep, got, err, want)
		}
	}
	expect(0)
	record(t, dir, "run1", false, entry{}, wrote("leaf1", Applied)...)
	record(t, dir, "run2", true, entry{}, slices.Concat(wrote("leaf1", Applied), wrote("leaf2", ""))...)
	record(t, dir, "run3", false, entry{}, slices.Concat(wrote("leaf3", Partial), []entry{{Device: "leaf4", Event: string(Refused)}})...)
	record(t, dir, "run4", false, entry{}, entry{Device: "leaf5", Event: "down", Ports: []string{"Ethernet0"}}, entry{Device: "leaf5", Event: string(Failed)})
	record(t, dir, "run5", false, entry{}, wrote("leaf1", Applied)...)
	expect(5)
	expect(4, "run1")
	expect(1, "run1") // the others record what is left on leaf2, leaf3 and leaf5
	record(t, dir, "run6", true, entry{Of: "run5"}, wrote("leaf2", Restored)...)
	expect(1)
	record(t, dir, "run7", false, entry{}, slices.Concat(wrote("leaf3", Applied), wrote("leaf5", Reverted))...)
	expect(2, "run1", "run2", "run3", "run4", "run5")
	expect(1, "run1", "run2", "run3", "run4", "run5", "run6")
	for n := range maxRuns {
		record(t, dir, fmt.Sprintf("more%d", n), false, entry{}, wrote("leaf1", Applied)...)
	}
	if ids, err := Disposable(store.Dir(dir), 20); err != nil || len(ids) != maxRuns+7-20 {
		t.Errorf("%d of %d, %v", len(ids), maxRuns+7, err)
	}
}
