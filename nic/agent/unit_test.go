package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// withSystemd makes a host look as if systemd had started it.
func withSystemd(t *testing.T, h *localtest.Host) {
	t.Helper()
	for _, d := range []string{filepath.Join(h.Roots.Run, "systemd", "system"), h.Roots.Etc} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.Programs["systemctl"], h.Programs["udevadm"] = systemctl(""), runnertest.Prints("", "", 0)
}

// systemctl returns a program that reports one service as failed.
func systemctl(failed string) runnertest.Program {
	return func(_ context.Context, args []string) (runner.Result, error) {
		var out runner.Result
		if args[0] != "is-failed" {
			return out, nil
		}
		out.Code = 1
		for _, a := range args[1:] {
			if a == failed {
				out.Code = 0
				out.Stdout = append(out.Stdout, "failed\n"...)
				continue
			}
			out.Stdout = append(out.Stdout, "inactive\n"...)
		}
		return out, nil
	}
}

// A failed or masked service is reported with the unit; if systemd cannot be queried, the unit is
// unknown.
func TestUnitThatDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		withSystemd(t, h)
		m := clientOf(agent.Local(h.Machine()))
		ctx := t.Context()
		want := desired()
		want.Uppers = map[string]*nic.Upper{"bond0": {Name: "bond0", Kind: nic.UpperBond, On: []string{ens}}}
		if _, err := m.InstallUnit(ctx, want, ""); err != nil {
			t.Fatal(err)
		}
		read := func() *nic.Host {
			t.Helper()
			r, err := m.Read(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		service := "roce-fabric-nic@" + ens + ".service"
		h.Programs["systemctl"] = systemctl(service)
		if got := read().Unit; got.Failed != service || got.Masked != "" || got.Digest == "" {
			t.Errorf("failed: %+v", got)
		}
		h.Programs["systemctl"] = runnertest.Prints("", "Failed to connect to bus", 1)
		if why := read().Missing[nic.FieldUnit]; !strings.Contains(why, "systemctl is-failed: exit status 1: Failed to connect to bus") {
			t.Errorf("systemd that does not answer: %q", why)
		}
		delete(h.Programs, "systemctl")
		if r := read(); r.Unit.Failed != "" || len(r.Missing) > 0 {
			t.Errorf("without systemctl: %+v, missing %q", r.Unit, r.Missing)
		}
		for _, dir := range []string{h.Roots.Etc + "/systemd/system/", h.Roots.Run + "/systemd/system/"} {
			for _, service := range []string{service, "roce-fabric-nic@bond0.service"} {
				if err := os.Symlink("/dev/null", dir+service); err != nil {
					t.Fatal(err)
				}
				if got := read().Unit; got.Masked != dir+service {
					t.Errorf("masked: %+v", got)
				}
				if err := os.Remove(dir + service); err != nil {
					t.Fatal(err)
				}
			}
		}
		template := h.Roots.Etc + "/systemd/system/roce-fabric-nic@.service"
		if err := os.Remove(template); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/null", template); err != nil {
			t.Fatal(err)
		}
		if got := read().Unit; got.Masked != template || !got.Present || got.Stale != "" {
			t.Errorf("masked: %+v", got)
		}
	})
}

// The unit is read with the host, installed and removed, on the machine directly and through a
// client.
func TestUnit(t *testing.T) {
	for name, machine := range map[string]func(agent.Machine) agent.Machine{
		"here":  func(m agent.Machine) agent.Machine { return m },
		"there": func(m agent.Machine) agent.Machine { return clientOf(m) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				withSystemd(t, h)
				m := machine(agent.Local(h.Machine()))
				ctx := t.Context()
				d := desired()
				state := func(want nic.UnitState, stale, found string) {
					t.Helper()
					r, err := m.Read(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					got := r.Unit
					got.Stale = ""
					if got != want || !strings.Contains(r.Unit.Stale, stale) || (stale == "") != (r.Unit.Stale == "") || len(r.Missing) > 0 {
						t.Errorf("%+v, missing %q; want %+v, %q", r.Unit, r.Missing, want, stale)
					}
					d.Unit = nic.UnitState{Present: true, Digest: nic.Digest(d)}
					old := ""
					for _, c := range nic.Diff(r, d) {
						if c.Field == nic.FieldUnit && c.Kind == nic.KindNotPersistent {
							old = c.Old
						}
					}
					if !strings.Contains(old, found) || (found == "") != (old == "") {
						t.Errorf("the difference is %q, want %q", old, found)
					}
				}
				state(nic.UnitState{}, "", qos.Absent)
				good := nic.UnitState{Present: true, Digest: nic.Digest(d)}
				wrote, err := m.InstallUnit(ctx, d, "")
				if err != nil || len(wrote) != 4 {
					t.Fatalf("%q, %v", wrote, err)
				}
				state(good, "", "")
				if again, err := m.InstallUnit(ctx, d, ""); err != nil || len(again) > 0 {
					t.Errorf("again: %q, %v", again, err)
				}
				if err := os.Remove(wrote[0]); err != nil {
					t.Fatal(err)
				}
				state(nic.UnitState{Present: true}, "does not exist or is not a program", "does not exist or is not a program")
				gone, err := m.RemoveUnit(ctx)
				slices.Sort(gone)
				if d := cmp.Diff(slices.Sorted(slices.Values(wrote[1:])), gone); err != nil || d != "" {
					t.Errorf("%v; wrote (-), removed (+):\n%s", err, d)
				}
				state(nic.UnitState{}, "", qos.Absent)
			})
		})
	}
}

func TestUnitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		m := clientOf(agent.Local(h.Machine()))
		ctx := t.Context()
		if _, err := m.InstallUnit(ctx, desired(), ""); !errors.Is(err, unit.ErrNoSystemd) {
			t.Errorf("without systemd: %v", err)
		}
		withSystemd(t, h)
		if _, err := m.InstallUnit(ctx, desired(), "/no/such/program"); !errors.Is(err, unit.ErrProgram) {
			t.Errorf("a program that is not there: %v", err)
		}
		odd := desired()
		odd.Ports[`e"`] = &nic.Port{Name: `e"`}
		if _, err := m.InstallUnit(ctx, odd, ""); !errors.Is(err, unit.ErrName) {
			t.Errorf("a name that no unit can hold: %v", err)
		}
		h.Programs["systemctl"] = runnertest.Prints("", "Failed to connect to bus", 1)
		// Files that were written are reported in addition to the error.
		wrote, err := m.InstallUnit(ctx, desired(), "")
		if err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") || len(wrote) != 4 {
			t.Errorf("%q, %v", wrote, err)
		}
	})
}

// The undo record of Before reverts everything, even if the apply was cut off
// and its own Undo is lost.
func TestBefore(t *testing.T) {
	for _, driver := range []string{nic.DriverMLX5, nic.DriverICE} {
		t.Run(driver, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := localtest.New(t.TempDir())
				h.Add(localtest.Port{Name: ens, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: driver, OFED: driver == nic.DriverMLX5})
				here := agent.Local(h.Machine())
				m := clientOf(here)
				ctx := t.Context()
				want := desired()
				var dscp [qos.NumDSCP]int8
				dscp[26] = 3
				want.Ports[ens].DSCP, want.Ports[ens].Trust = qos.Of(dscp), qos.Of(qos.TrustDSCP)
				read := func() *nic.Host {
					t.Helper()
					out, err := m.Read(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					return out
				}
				before := read()
				steps, err := m.Plan(ctx, before, want, local.Options{})
				if err != nil || len(steps) < 4 {
					t.Fatalf("%v %v", steps, err)
				}
				u, err := m.Before(ctx, steps)
				if err != nil || len(u.Steps) < len(steps) || len(h.Writes()) > 0 {
					t.Fatalf("%d of %d settings, wrote %v, %v", len(u.Steps), len(steps), h.Writes(), err)
				}
				for cut := range len(steps) + 1 {
					cctx, cancel := context.WithCancel(ctx)
					_, err := here.Apply(cctx, steps, func(i, _ int, _ local.Step) {
						if i == cut {
							cancel()
						}
					})
					cancel()
					if cut < len(steps)-1 && err == nil {
						t.Errorf("step %d does not cut the apply off", cut)
					}
					if err := m.Revert(ctx, u); err != nil {
						t.Errorf("cut off at step %d: %v", cut, err)
					}
					if d := cmp.Diff(before, read(), same...); d != "" {
						t.Errorf("cut off at step %d; before (-), reverted (+):\n%s", cut, d)
					}
				}
			})
		})
	}
}
