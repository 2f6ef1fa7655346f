package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	sim "github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

const (
	ens, other = "ens1f0np0", "ens2f0np0"
	password   = "not-a-secret"
)

// not lists the cases that do not apply to hosts, with the reason.
var not = map[string]string{
	"plan is empty after apply and a restart":               "what is set is lost at a reboot, and the boot unit sets it again",
	"a rejected step leaves nothing half applied":           "a kernel that refuses a value does so for all steps; nic/local's tests have each refusal",
	"a connection lost after the write":                     "an answer that never came is reverted: nothing tells whether a link was lost with the connection",
	"an answer that fails after applying":                   "each setting is read after it is written, by the host itself",
	"a failure half way is partial and is reverted":         "the unit of a host is one setting, which has no half",
	"a failure half way of any step is reverted":            "the same",
	"work that outlasts the deadline":                       "a step has its own deadline on the host, and the driver waits for that",
	"a server that gives up while the work goes on":         "an agent whose client is gone stops between two steps",
	"revert waits for work that goes on":                    "the same",
	"a restart in the middle":                               "a host that restarts holds nothing of what was set",
	"what the model does not know is reported and kept":     "settings that package nic does not have are not read",
	"a device without the model that is needed":             "a host without RoCE settings is one whose settings are missing, which a plan shows",
	"a truncated answer":                                    "nic/agent's tests cut each answer",
	"a read-only device":                                    "nic/local's tests have a user who may not write",
	"counters are what the device counts":                   "validate reads the counters of NICs through the agent",
	"counters start again after a reset":                    "the same",
	"counters stand still while the device polls none":      "the same",
	"counters of a device that does not answer, or by half": "the same",
	"what is not saved is named":                            "a host keeps no configuration apart from what runs but the boot unit, which a plan shows",
}

// fixture returns a simulated host that is reached over SSH or, with inside, from a program that
// runs on it.
func fixture(inside bool) drivertest.Fixture {
	skip := map[string]string{}
	for name, why := range not {
		skip[name] = why
	}
	if !inside {
		skip["cancel between steps"] = "over a connection the step that is at work goes to its end; inside it is tried"
	}
	return drivertest.Fixture{Not: skip, New: func(t *testing.T, o drivertest.Options) *drivertest.Device {
		return newHost(t, o, inside)
	}}
}

func desired() *nic.Host {
	p := &nic.Port{Name: ens, DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), ToS: qos.Of(106), MTU: qos.Of(9000)}
	return &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens: p}}
}

// conn is a connection to a machine in this process.
type conn struct{ agent.Machine }

func (conn) Close() error { return nil }

func newHost(t *testing.T, o drivertest.Options, inside bool) *drivertest.Device {
	t.Helper()
	h, err := sim.New(sim.Options{
		Name: "gpu1", NICs: []sim.NIC{{Name: ens, RDMA: "mlx5_0"}, {Name: other, RDMA: "mlx5_1"}}, Dir: filepath.Join(t.TempDir(), "gpu1"),
		Username: "admin", Password: password, Tools: mlxconfigtest.V431, Listen: o.Listen,
		Processor: map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH],
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, []byte(h.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	prog, want := program(t), desired()
	open := func(pass string) drivers.Driver {
		return host.New(host.Config{Name: "gpu1", Desired: want, Options: local.Options{}, Connect: func(ctx context.Context) (host.Conn, error) {
			if inside {
				return conn{agent.Local(h.Kernel().Machine())}, nil
			}
			cfg := ssh.Config{Address: h.SSHAddr(), User: "admin", Password: secret.Secret(pass), KnownHosts: known, Dial: o.Dial}
			r, err := remote.Open(ctx, cfg, remote.Options{Binary: prog, Sudo: remote.SudoNoPassword})
			if err != nil {
				return nil, err
			}
			return r, nil
		}})
	}
	run := h.Kernel().Roots.Run
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	mask := func(port string) qos.PrioritySet { return h.Kernel().State(port).PFC.Enabled }
	writes, flaps := 0, h.Kernel().Flaps(ens)
	d := &drivertest.Device{
		Desired: want, Policy: drivers.Policy{PortGroup: 1},
		Open: func() drivers.Driver { return open(password) },
		Requests: func() int {
			writes += len(h.Kernel().Writes()) // Writes returns the writes since the last call
			return writes
		},
		Flaps: func() map[string]int {
			// Each flap counts twice: down and up.
			return map[string]int{ens: (h.Kernel().Flaps(ens) - flaps) / 2, other: (h.Kernel().Flaps(other) - flaps) / 2}
		},
		State: func() []byte {
			running, err := h.Kernel().Machine().Read(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range running.Ports {
				p.CarrierChanges = qos.Opt[uint64]{}
			}
			b, err := json.MarshalIndent(running, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		Marked: func() bool {
			_, err := os.Lstat(filepath.Join(run, mark.Name))
			return err == nil
		},
		ChangeManaged: func() { h.SetPFC(ens, qos.Priorities(4)) },
		ChangeForeign: func() { h.SetPFC(other, qos.Priorities(5)) },
		AddForeign:    func() { h.SetPFC(other, qos.Priorities(6)) },
		HasForeign:    func() bool { return mask(other) == qos.Priorities(6) },
		Faults:        drivertest.Faults{Clear: h.Faults().Clear},
	}
	if inside {
		return d
	}
	d.OpenWrongPassword = func() drivers.Driver { return open("wrong") }
	d.Faults.DropBefore = func() { h.Faults().DropBefore(agent.VerbApply) }
	d.Faults.Delay = h.Faults().Delay
	d.Faults.WrongCertificate = h.Faults().WrongHostKey
	d.Faults.Unreachable = h.Faults().RefuseConnections
	return d
}

// program creates a file that passes for a program for the host.
func program(t *testing.T) string {
	t.Helper()
	var b [64]byte
	copy(b[:], "\x7fELF\x02\x01\x01")
	b[16], b[18], b[20], b[52], b[54], b[58] = 2, map[string]byte{"amd64": 62, "arm64": 183}[runtime.GOARCH], 1, 64, 56, 64
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, b[:], 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConformance(t *testing.T) {
	for name, inside := range map[string]bool{"over ssh": false, "on the machine": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting
			drivertest.Run(t, fixture(inside))
		})
	}
}

// narrow is a host that allows one session at a time.
type narrow struct {
	agent.Machine
	held *bool
}

func (narrow) Close() error { return nil }

func (n narrow) Hold(ctx context.Context, k mark.Mark) (local.Held, error) {
	h, err := n.Machine.Hold(ctx, k)
	end := h.End
	*n.held = true
	h.End = func() { *n.held = false; end() }
	return h, err
}

func (n narrow) Before(ctx context.Context, steps []local.Step) (local.Undo, error) {
	if *n.held {
		return local.Undo{}, agent.ErrStart
	}
	return n.Machine.Before(ctx, steps)
}

func (n narrow) Revert(ctx context.Context, u local.Undo) error {
	if *n.held {
		return agent.ErrStart
	}
	return n.Machine.Revert(ctx, u)
}

// A host without a free session for the mark is written without a mark.
func TestOneSessionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, c := machine(t)
		c.Connect = func(context.Context) (host.Conn, error) { return narrow{agent.Local(k.Machine()), new(bool)}, nil }
		d := host.New(c)
		snap, st := planned(t, d, c.Desired)
		note := ""
		tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "r1", Note: func(s string) { note = s }})
		if tok == nil || err != nil || !strings.Contains(note, "one SSH session at a time") {
			t.Errorf("token %v, note %q, error %v", tok, note, err)
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
	})
}

// machine returns a host with one port, and the configuration of its driver.
func machine(t *testing.T) (*localtest.Host, host.Config) {
	k := localtest.New(t.TempDir())
	k.Add(localtest.Port{Name: ens, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	return k, host.Config{Name: "gpu1", Desired: desired(), Options: local.Options{}, Connect: func(context.Context) (host.Conn, error) {
		return conn{agent.Local(k.Machine())}, nil
	}}
}

// planned returns the state that a driver reads, and its plan for it.
func planned(t *testing.T, d *host.Driver, want drivers.Desired) (*drivers.Snapshot, *drivers.Steps) {
	t.Helper()
	snap, err := d.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st, err := d.Plan(drivers.Facts{}, snap, want, drivers.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return snap, st
}

// oldRecord is an undo record from the journal of version 1 of nic apply.
const oldRecord = `{"steps":[{"port":"ens1f0np0","field":"pfc","layer":"driver","driver":"mlx5_core","what":"set pfc of ens1f0np0 to 0x08 {3}",
"changes":[{"port":"ens1f0np0","field":"pfc","layer":"driver","kind":"drift","old":"0x10 {4}","new":"0x08 {3}","reason":"fabric.yaml:5:45","impact":"port-flap"}],
"impact":"port-flap","want":{"pfc":8}}],"undo":{"steps":[{"port":"ens1f0np0","field":"pfc","driver":"mlx5_core","old":{"pfc":16}}]}}`

// An undo record from before this driver can be reverted.
func TestOldRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, c := machine(t)
		d, tok := host.New(c), &drivers.Token{Device: "gpu1", Native: json.RawMessage(oldRecord)}
		if _, err := d.CheckUndo(tok, c.Desired.Manages); err != nil {
			t.Fatal(err)
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if got := k.State(ens).PFC.Enabled; got != qos.Priorities(4) {
			t.Errorf("PFC is %s", got)
		}
		other := &drivers.Token{Device: "gpu2", Native: tok.Native}
		if err := d.Revert(t.Context(), other); err == nil {
			t.Error("the record of another host is taken")
		}
	})
}

// The driver of a host accepts only the desired state it was created with.
func TestOtherDesired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := machine(t)
		d := host.New(c)
		snap, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []drivers.Desired{&qos.Device{}, desired()} {
			if _, err := d.Plan(drivers.Facts{}, snap, want, drivers.Policy{}); !errors.Is(err, drivers.ErrUnsupported) {
				t.Errorf("%T: %v", want, err)
			}
			if got := d.Digest(snap, want); got != "" {
				t.Errorf("%T: digest %s", want, got)
			}
		}
	})
}

// A step that would cut the only path to the machine is blocked, and with it the plan, unless the
// operator allows it.
func TestCutOffBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, c := machine(t)
		k.Routes(ens + "\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0")
		for _, cutOff := range []bool{false, true} {
			c.Options.CutOff = cutOff
			d := host.New(c)
			_, steps := planned(t, d, c.Desired)
			blocked := steps.Blocked()
			if cutOff != (len(blocked) == 0) || !cutOff && !strings.Contains(blocked[0].Blocked, "only path") {
				t.Errorf("cut off %v: blocked %+v", cutOff, blocked)
			}
			for _, s := range steps.Items {
				if !cutOff && len(s.Down) > 0 {
					t.Errorf("%s is planned", s.What)
				}
			}
		}
	})
}

// The mark of an interrupted run ends with its connection, a run that has ended blocks no other,
// and a host that cannot be marked is reported.
func TestMarkOfADeadRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, c := machine(t)
		file := filepath.Join(k.Roots.Run, mark.Name)
		apply := func(d *host.Driver, id string, texts ...string) error {
			t.Helper()
			k.Corrupt(ens, func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(4) })
			snap, st := planned(t, d, c.Desired)
			var notes []string
			tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: id, Note: func(s string) { notes = append(notes, s) }})
			if (tok == nil) != (err != nil) {
				t.Errorf("token %v, error %v", tok, err)
			}
			for _, text := range texts {
				if !strings.Contains(strings.Join(notes, "\n"), text) {
					t.Errorf("notes %q do not say %q", notes, text)
				}
			}
			return err
		}
		// The process of this mark is gone: the file is not locked.
		if err := os.WriteFile(file, []byte(`{"run":"r0\u001b[2J","by":"ann@ci1","since":"2026-11-24T22:00:05Z"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		first, second := host.New(c), host.New(c)
		if err := apply(first, "r1", "took over the mark of run r0 of ann@ci1, since 2026-11-24T22:00:05Z, whose process is gone"); err != nil {
			t.Error(err)
		}
		err := apply(second, "r2")
		if !errors.Is(err, drivers.ErrBusy) || !strings.Contains(err.Error(), "run r1 of ") || !strings.Contains(err.Error(), "rm /run/"+mark.Name) {
			t.Errorf("error %v", err)
		}
		second.Inherit([]string{"r1"})
		if err := apply(second, "r2", "run r1 of ", "which has ended"); err != nil {
			t.Error(err)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the mark after its run: %v", err)
		}
		if err := os.RemoveAll(k.Roots.Run); err != nil {
			t.Fatal(err)
		}
		if err := apply(host.New(c), "r3", "cannot mark the host"); err != nil {
			t.Error(err)
		}
	})
}
