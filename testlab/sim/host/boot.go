package host

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// keepsFirmware lists the cards that a warm reboot does not reset (Azure/AzureLocal-Supportability,
// Troubleshoot-TOR-LLDP-DCBX-PFC-RoCEv2.md).
var keepsFirmware = map[string]bool{"ConnectX4LX": true}

// Reboot cuts all connections and reboots the machine: the state of drivers and the RDMA stack is
// lost, staged settings take effect on cards that a warm reboot resets, and a boot unit applies its
// settings. The returned error is that of the unit; the machine is up even if the unit failed.
func (h *Host) Reboot() error {
	return h.boot(func(c *mlxconfigtest.Card) bool { return !keepsFirmware[c.Type] })
}

// PowerCycle is like Reboot, but resets every card.
func (h *Host) PowerCycle() error { return h.boot(func(*mlxconfigtest.Card) bool { return true }) }

// unitTimeout limits the work of the boot unit.
const unitTimeout = time.Minute

func (h *Host) boot(resets func(*mlxconfigtest.Card) bool) error {
	h.DropConnections()
	h.kernel().Reboot()
	h.mu.Lock()
	cards := maps.Clone(h.cards)
	h.mu.Unlock()
	for _, c := range cards {
		c.Rebooted(resets(c))
	}
	h.firmware(cards)
	h.withoutRDMA()
	h.faults.sync()
	ctx, cancel := context.WithTimeout(h.Context(), unitTimeout)
	defer cancel()
	err := h.startUnit(ctx)
	h.mu.Lock()
	h.failed = err != nil
	h.mu.Unlock()
	return err
}

// starts reports whether systemd starts the boot unit for a device. A link to /dev/null in place of
// the template or the instance masks it (systemctl(1)).
func (h *Host) starts(device string) bool {
	r := h.kernel().Roots
	for _, dir := range []string{r.Etc, r.Run} {
		for _, instance := range []string{"", device} {
			to, err := os.Readlink(filepath.Join(dir, "systemd", "system", "roce-fabric-nic@"+instance+".service"))
			if err == nil && to == os.DevNull {
				return false
			}
		}
	}
	return true
}

// systemctl simulates systemctl for the services of the boot unit. "is-failed" prints the state of
// each unit, and exits with status 0 if one has failed (systemctl(1)).
func (h *Host) systemctl(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(args) == 0 {
		return runner.Result{}, nil
	}
	switch args[0] {
	case "reboot":
		h.restart()
	case "reset-failed", "stop":
		h.failed = false
	case "is-failed":
		out, state := runner.Result{Code: 1}, "inactive\n"
		if h.failed {
			out.Code, state = 0, "failed\n"
		}
		out.Stdout = []byte(strings.Repeat(state, len(args)-1))
		return out, nil
	}
	return runner.Result{}, nil
}

// restart reboots the machine in the background, so that the caller still gets an answer. If the
// boot unit fails, the machine stays up and reports the failure.
func (h *Host) restart() {
	h.Go(func() {
		if h.faults.on(&h.faults.staysDown) {
			h.faults.shared.RefuseConnections(true)
			return
		}
		_ = h.Reboot()
	})
}

// cardReset does to the machine what a reset of a card by mlxfwreset does: the driver is reloaded,
// and systemd starts the boot unit for the recreated devices.
func (h *Host) cardReset(name string, level int) {
	if level == 4 {
		h.restart()
		return
	}
	if h.faults.on(&h.faults.staysDown) {
		h.kernel().Remove(name)
		return
	}
	h.kernel().Reload(name)
	h.mu.Lock()
	cards := maps.Clone(h.cards)
	h.mu.Unlock()
	h.firmware(cards)
	h.withoutRDMA()
	h.faults.sync()
	ctx, cancel := context.WithTimeout(h.Context(), unitTimeout)
	defer cancel()
	err := h.startUnit(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = h.failed || err != nil
}

// startUnit does what systemd makes the boot unit do for each of its devices.
func (h *Host) startUnit(ctx context.Context) error {
	m := h.local(true)
	m.NoFirmware = true
	state, err := unit.Read(m.Roots, m.Interface)
	if err != nil || !state.Present {
		return err
	}
	if state.Stale != "" {
		return fmt.Errorf("%s: the boot unit: %s", h.o.Name, state.Stale)
	}
	s, err := unit.Load(m.Roots)
	if err != nil {
		return fmt.Errorf("%s: the boot unit: %w", h.o.Name, err)
	}
	m.Select(s.Host.Selectors())
	want := &nic.Host{Name: s.Host.Name, Ports: map[string]*nic.Port{}, Uppers: map[string]*nic.Upper{}}
	for name, u := range s.Host.Uppers {
		if h.starts(name) {
			want.Uppers[name] = u
		}
	}
	for key, p := range s.Host.Ports {
		name := key
		if p.Select.Set {
			name = m.Interface(name)
		}
		if h.starts(name) || p.RDMA != "" && h.starts(p.RDMA) {
			want.Ports[key] = p
		}
	}
	running, err := m.Read(ctx, natural.Keys(s.Host.Ports))
	if err != nil {
		return fmt.Errorf("%s: the boot unit: %w", h.o.Name, err)
	}
	if _, err := m.Apply(ctx, m.Plan(running, want, local.Options{CutOff: true}), nil); err != nil {
		return fmt.Errorf("%s: the boot unit: %w", h.o.Name, err)
	}
	return nil
}

// agentOf returns the machine that an agent running as the account works on.
func (h *Host) agentOf(a account) agent.Machine {
	m := h.local(a.root)
	if a.root {
		return agent.Local(m)
	}
	return users{agent.Local(m), m}
}

// users is the machine for accounts other than root. The files of the boot unit belong to root on a
// real host, but not in the simulation.
type users struct {
	agent.Machine
	m *local.Machine
}

// SkipFirmware makes every further Read leave out the firmware settings.
func (u users) SkipFirmware() { u.m.NoFirmware = true }

// Hold implements agent.Machine: only root can write to /run.
func (users) Hold(context.Context, mark.Mark) (local.Held, error) {
	return local.Held{Note: "no mark on the host: " + fs.ErrPermission.Error()}, nil
}

// InstallUnit implements agent.Machine.
func (users) InstallUnit(context.Context, *nic.Host, string) ([]string, error) {
	return nil, fmt.Errorf("install the boot unit: %w: %w", local.ErrPermission, fs.ErrPermission)
}

// RemoveUnit implements agent.Machine.
func (users) RemoveUnit(context.Context) ([]string, error) {
	return nil, fmt.Errorf("remove the boot unit: %w: %w", local.ErrPermission, fs.ErrPermission)
}
