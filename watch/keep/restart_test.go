package keep

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// metricsOf returns the text of /metrics.
func metricsOf(t *testing.T, k *Keeper) string {
	t.Helper()
	rec := httptest.NewRecorder()
	k.Handler("v1").ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

// runOf simulates a run from another machine that changes the host while holding its mark.
func (r *rig) runOf(t *testing.T, name string, change func(*nic.Host)) {
	t.Helper()
	m := r.Machine()
	held, err := m.Hold(t.Context(), mark.New(name))
	if err != nil || held.End == nil {
		t.Fatal(held, err)
	}
	defer held.End()
	to := wanted()
	change(to)
	running, err := m.Read(t.Context(), natural.Keys(to.Ports))
	if err != nil {
		t.Fatal(err)
	}
	m.NoFirmware = true
	steps := slices.DeleteFunc(m.Plan(running, to, allOptions), func(s local.Step) bool { return s.Field == nic.FieldNV })
	if _, err := m.Apply(t.Context(), steps, nil); err != nil {
		t.Fatal(err)
	}
}

// again ends a Keeper and starts another one on the same host, like a restart of the agent.
func (r *rig) again(t *testing.T, end func()) (endAgain func()) {
	t.Helper()
	end()
	r.happened()
	cfg := r.cfg
	r.clock = newClock()
	cfg.Clock, cfg.Machine = r.clock, r.Machine()
	r.Keeper = New(cfg)
	return r.start(t)
}

func withoutPFC(h *nic.Host) { h.Ports[ens0].PFC = qos.Of(qos.PrioritySet(0)) }

// While a run from another machine holds the host's mark, the agent writes nothing.
func TestRunOfAnother(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.start(t)
	other := r.Machine()
	held, err := other.Hold(t.Context(), mark.New("r7"))
	if err != nil || held.End == nil {
		t.Fatal(held, err)
	}
	r.noPFC(ens0)
	r.wake(ens0)
	lines := r.happened()
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "left: the repair waits for run r7 of ") || r.Keeper.State().Differences[0].Reason != WhyBusy {
		t.Errorf("%v, %+v", lines, r.Keeper.State())
	}
	r.clock.pass(2 * time.Minute)
	r.want(t)
	held.End()
	r.clock.pass(busyWait)
	r.want(t, setPFC) // the run did not change PFC
}

// A setting that a run wrote after the wanted state was written is left alone as long as it
// keeps the run's value, even if the agent restarts or repairs other settings. A new wanted
// state or SIGHUP ends that.
func TestSettingsOfARunAreLeft(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	end := r.start(t)
	r.runOf(t, "r7", withoutPFC)
	r.Writes()
	r.wake(ens0)
	left := func(when string) {
		t.Helper()
		lines := r.happened()
		if len(lines) != 2 || !strings.HasPrefix(lines[1], "left: 1 difference is not repaired: run r7 of ") {
			t.Errorf("%s: %v", when, lines)
		}
		if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Reason != WhyRun || !strings.HasPrefix(s.Differences[0].Run, "run r7 of") {
			t.Errorf("%s: %+v", when, s.Differences)
		}
		if w := r.Writes(); len(w) != 0 {
			t.Errorf("%s: written: %v", when, w)
		}
	}
	left("after the run")
	r.SetCM("mlx5_0", "default_roce_tos", "0") // not written by the run
	r.clock.pass(time.Hour)
	if lines := r.happened(); len(lines) != 2 || !strings.HasPrefix(lines[1], "repaired: tos") {
		t.Errorf("%v", lines)
	}
	r.Writes()
	end = r.again(t, end)
	left("after a restart of the agent")
	// SIGHUP enforces the wanted state, whatever the run wrote.
	r.clock.after(r.Keeper.Reload)
	if s := r.Keeper.State(); len(s.Differences) > 0 {
		t.Errorf("after SIGHUP: %+v", s.Differences)
	}
	r.again(t, end)
	if s := r.Keeper.State(); len(s.Differences) > 0 {
		t.Errorf("after SIGHUP and a restart: %+v", s.Differences)
	}
	// A wanted state written after the run takes precedence.
	r.runOf(t, "r8", withoutPFC)
	r.source.set(wanted(), time.Now().Add(time.Second), nil)
	r.clock.pass(time.Minute)
	if s := r.Keeper.State(); len(s.Differences) > 0 {
		t.Errorf("after a new wanted state: %+v", s.Differences)
	}
}

// Settings that are lost after the last run ended are set again, whether this agent or an
// earlier one saw the run, because the run left them as wanted.
func TestLostSettingsAreSetAgainAfterARestart(t *testing.T) {
	for name, lose := range map[string]func(*rig){
		"driver loaded again": func(r *rig) { r.Host.Reload(ens0); r.Host.Reload(ens1) },
		"host restarted": func(r *rig) {
			r.Reboot()
			for _, e := range []string{mark.Name, mark.State} { // /run is empty after a reboot
				_ = os.Remove(filepath.Join(r.Roots.Run, e))
			}
		},
		"MTU by hand": func(r *rig) { r.SetMTU(ens0, 1500) },
	} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, run seen %v", name, seen), func(t *testing.T) {
				r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
				end := func() {}
				if seen {
					end = r.start(t)
				}
				r.noPFC(ens0)
				r.noPFC(ens1)
				r.runOf(t, "r7", func(*nic.Host) {})
				if seen {
					r.wake(ens0)
				}
				r.happened()
				end()
				lose(r)
				r.again(t, func() {})
				if s := r.Keeper.State(); len(s.Differences) > 0 {
					t.Errorf("%+v", s.Differences)
				}
				for _, line := range r.happened() {
					if !strings.HasPrefix(line, "differs: ") && !strings.HasPrefix(line, "repaired: ") {
						t.Error(line)
					}
				}
			})
		}
	}
}

// A killed run has also ended: only what it wrote is left alone.
func TestKilledRun(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.runOf(t, "r7", withoutPFC)
	if err := os.WriteFile(filepath.Join(r.Roots.Run, mark.Name), []byte(mark.New("r7").Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	r.SetCM("mlx5_0", "default_roce_tos", "0")
	r.start(t)
	if s := r.Keeper.State(); len(s.Differences) != 1 || s.Differences[0].Field != nic.FieldPFC || s.Differences[0].Reason != WhyRun {
		t.Errorf("%+v", s.Differences)
	}
}

// A vanished NIC is missing: events, metrics and state do not report its settings as wanted.
// When it returns with default settings, no other program is blamed.
func TestMissingNIC(t *testing.T) {
	for _, policy := range []Policy{Report, Repair} {
		t.Run(string(policy), func(t *testing.T) {
			r := newRig(t, Config{Policy: policy, Allow: qos.ImpactLoss})
			r.start(t)
			r.SetCM("mlx5_0", "default_roce_tos", "0")
			r.noPFC(ens0)
			r.SetMTU(ens0, 1500)
			r.wake(ens0) // one repair or three differences
			r.happened()
			port := r.Remove(ens0)
			r.wake(ens0)
			const gone = "missing: ens1f0np0 is missing: the host has no interface of that name: correct it in the intent, or look for the card"
			r.want(t, gone)
			s := r.Keeper.State()
			if len(s.Differences) != 1 || s.Differences[0].Kind != nic.KindMissing || s.Differences[0].Reason != WhyMissing {
				t.Errorf("%+v", s.Differences)
			}
			text := metricsOf(t, r.Keeper)
			if !strings.Contains(text, `roce_fabric_agent_missing{port="ens1f0np0"} 1`) || !strings.Contains(text, `roce_fabric_agent_missing{port="ens2f0np0"} 0`) ||
				!strings.Contains(text, `roce_fabric_agent_differences{reason="missing"} 1`) || strings.Contains(text, `roce_fabric_agent_differs{field="pfc",port="ens1f0np0"}`) {
				t.Error(text)
			}
			r.Add(port)
			r.wake(ens0)
			lines := r.happened()
			if len(lines) == 0 || lines[0] != "created: the interface of ens1f0np0 was created: its driver has set it to defaults" {
				t.Error(strings.Join(lines, "\n"))
			}
			for _, line := range lines[1:] {
				if !strings.HasPrefix(line, "differs: ") && !strings.HasPrefix(line, "repaired: ") || strings.Contains(line, "suspect") || strings.Contains(line, "writer") {
					t.Error(line)
				}
			}
			if text := metricsOf(t, r.Keeper); !strings.Contains(text, `roce_fabric_agent_missing{port="ens1f0np0"} 0`) {
				t.Error(text)
			}
			if s := r.Keeper.State(); policy == Repair && len(s.Differences) > 0 {
				t.Errorf("%+v", s.Differences)
			}
		})
	}
}

// An interface that was recreated between two checks is not blamed on another program.
func TestCreatedAgain(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactLoss})
	r.start(t)
	r.noPFC(ens0)
	r.wake(ens0)
	r.happened()
	r.Host.Reload(ens0)
	r.wake(ens0)
	lines := r.happened()
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "created: the interface of ens1f0np0 was created") || strings.Contains(strings.Join(lines, "\n"), "changed-back") || strings.Contains(strings.Join(lines, "\n"), "writer") {
		t.Error(strings.Join(lines, "\n"))
	}
	if s := r.Keeper.State(); len(s.Differences) > 0 || len(r.count.changedBack) > 0 {
		t.Errorf("%+v, %v", s.Differences, r.count.changedBack)
	}
	// The same default set by another program is noticed.
	r.clock.pass(time.Minute)
	r.happened()
	r.noPFC(ens0)
	r.wake(ens0)
	if lines := r.happened(); len(lines) == 0 || !strings.HasPrefix(lines[0], "changed-back: ") {
		t.Errorf("%v", lines)
	}
}
