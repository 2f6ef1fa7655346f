package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// What a run sets under its mark, in an apply or a revert, is recorded until it is set without a
// mark. The mark of a process that is gone is ignored.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := localtest.New(t.TempDir())
		h.Add(localtest.Port{Name: "ens1", RDMA: "mlx5_0", PCI: "0000:30:00.0", Driver: nic.DriverMLX5, OFED: true})
		m := h.Machine()
		mtu := func(n int) []local.Step {
			return []local.Step{{Port: "ens1", Field: nic.FieldMTU, Want: local.Value{Number: &n}}}
		}
		want := func(when, run string, mtu int, holds bool) {
			t.Helper()
			all := m.Left()
			if run == "" && len(all) == 0 {
				return
			}
			if len(all) != 1 || all[0].Run.Run != run || all[0].Field != nic.FieldMTU || *all[0].Value.Number != mtu || m.Holds(t.Context(), all[0]) != holds {
				t.Errorf("%s: %+v", when, all)
			}
		}
		apply := func(n int) (u local.Undo) {
			t.Helper()
			u, err := m.Apply(t.Context(), mtu(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		apply(4000)
		want("without a mark", "", 0, false)
		held, err := h.Machine().Hold(t.Context(), mark.New("r7"))
		if err != nil || held.End == nil {
			t.Fatal(held, err)
		}
		u := apply(9000)
		want("after an apply", "r7", 9000, true)
		if err := m.Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		want("after a revert", "r7", 4000, true)
		apply(9000)
		held.End()
		want("after the end of the run", "r7", 9000, true)
		h.SetMTU("ens1", 1500)
		want("set by another program", "r7", 9000, false)
		index := m.Index("ens1")
		h.Reload("ens1")
		if again := m.Index("ens1"); index == "" || again == "" || again == index || m.Index("ens2") != "" {
			t.Errorf("index %s, then %s", index, again)
		}
		if err := os.WriteFile(filepath.Join(h.Roots.Run, mark.Name), []byte(mark.New("r8").Text()), 0o600); err != nil {
			t.Fatal(err)
		}
		apply(5000)
		want("under the mark of a process that is gone", "", 0, false)

		// The file may hold anything.
		file := filepath.Join(h.Roots.Run, mark.State)
		for _, text := range []string{"", "{", "null", `[{"port":"../x","field":"mtu"}]`, `[{"run":{"run":"` + strings.Repeat("x", 4096) + `"}}]`} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, l := range m.Left() {
				if m.Holds(t.Context(), l) || len(l.Run.String()) > 400 {
					t.Errorf("%.60q: %+v", text, l)
				}
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(h.Roots.Etc, "x"), file); err != nil {
			t.Fatal(err)
		}
		if l := m.Left(); l != nil {
			t.Errorf("through a link: %+v", l)
		}
	})
}

// A mark of a run that is about to end is waited for, and that of the host's agent for longer.
func TestHoldWaits(t *testing.T) {
	for owner, tt := range map[string]struct {
		held, took time.Duration
		other      bool
	}{
		"r7":       {held: time.Second / 2, took: time.Second / 2},
		"r8":       {held: time.Hour, took: time.Second, other: true},
		mark.Agent: {held: 2 * time.Minute, took: 2 * time.Minute},
	} {
		t.Run(owner, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := localtest.New(t.TempDir())
				first, err := h.Machine().Hold(t.Context(), mark.New(owner))
				if err != nil || first.End == nil {
					t.Fatal(first, err)
				}
				end := time.AfterFunc(tt.held, first.End)
				begun := time.Now()
				second, err := h.Machine().Hold(t.Context(), mark.New("r9"))
				if took := time.Since(begun); err != nil || (second.Other != nil) != tt.other || took < tt.took || took > tt.took+time.Second/10 {
					t.Errorf("%+v, %v after %s", second, err, took)
				}
				if second.End != nil {
					second.End()
				}
				if end.Stop() {
					first.End()
				}
			})
		})
	}
}
