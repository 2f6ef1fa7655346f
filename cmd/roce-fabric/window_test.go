package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// teller calls then when a certain text is written to it.
type teller struct {
	bytes.Buffer
	text string
	then func()
}

func (w *teller) Write(p []byte) (int, error) {
	if w.then != nil && bytes.Contains(p, []byte(w.text)) {
		w.then()
		w.then = nil
	}
	return w.Buffer.Write(p)
}

// TestWindow checks the counters of all systems, with changes between the first and the second
// reading of the window.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		p := startProof(t, "mixed", lab.Options{Listen: network.Listen})
		p.dial = network.Client(nil).Dial
		p.must("apply", "--yes", "--allow", "traffic-loss", "--gate", "off", "--state", p.state())
		tally := func(name string) *sim.Tally { return p.Switches[name].(interface{ Counters() *sim.Tally }).Counters() }
		for _, name := range []string{"leaf1", "leaf2"} {
			tally(name).Flow("Ethernet8", 3, sim.TxPkts, 1000) // traffic on both switches, because a case may make one unreadable
		}
		for name, tt := range map[string]struct {
			then   func()
			undo   func()
			status int
			want   []string
		}{
			"nothing happens": {func() {}, nil, exitOK, nil},
			"loss and storms on all systems": {func() {
				tally("leaf1").Set("Ethernet0", 3, sim.GroupDrops, 1)
				tally("spine1").Set("Ethernet1/1", 3, sim.DropPkts, 2)
				tally("pod2-leaf1").Set("Ethernet1/1", 3, sim.WDStuck, 3)
			}, func() { tally("pod2-leaf1").Set("Ethernet1/1", 3, sim.WDRecovery, 3) }, exitDiffers, []string{"gate:lossless-drop leaf1 Ethernet0", "gate:lossless-drop spine1 Ethernet1/1", "gate:watchdog pod2-leaf1 Ethernet1/1"}},
			"a switch is gone": {func() { p.Switches["leaf2"].(*sonic.Switch).Faults().RefuseConnections(true) },
				func() { p.Switches["leaf2"].(*sonic.Switch).Faults().Clear() }, exitFailed, []string{"READ leaf2"}},
			"a host is gone": {func() { p.Servers["gpu1"].Faults().RefuseConnections(true) },
				func() { p.Servers["gpu1"].Faults().Clear() }, exitFailed, []string{"READ gpu1"}},
			"counters are cleared": {func() { tally("leaf1").Reset() }, nil, exitFailed, []string{"gate:counter-reset leaf1 Ethernet0,Ethernet8"}},
		} {
			tally("leaf1").Set("Ethernet0", 3, sim.TxPkts, 9000)
			// So many that the counter cannot reach the value again after it was cleared.
			tally("leaf1").Set("Ethernet8", 3, sim.TxPkts, 1e9)
			var out bytes.Buffer
			said := &teller{text: "read again in", then: tt.then}
			a := &app{Console: report.Console{In: strings.NewReader(""), Out: &out, Err: said, Getenv: func(string) string { return "" }}, dial: p.dial}
			file := filepath.Join(t.TempDir(), "report.json")
			status := a.run(context.Background(), []string{"validate", "--window", "2m", "--report", "json=" + file, "-f", p.file, "--lab", lab.Path(filepath.Dir(p.CA))})
			if tt.undo != nil {
				tt.undo()
			}
			var r struct{ Findings []checks.Finding }
			readJSON(t, file, &r)
			got := map[string]bool{}
			for _, f := range r.Findings {
				if f.Severity != checks.Info && f.ID != "NIC-05" {
					got[f.ID+" "+f.Place()] = true
				}
			}
			if d := cmp.Diff(slices.Sorted(slices.Values(tt.want)), slices.Sorted(maps.Keys(got))); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if status != tt.status {
				t.Errorf("%s: status %d, want %d\n%s%s", name, status, tt.status, out.String(), said)
			}
		}
	})
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
