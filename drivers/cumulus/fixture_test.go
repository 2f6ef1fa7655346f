package cumulus

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simcumulus "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

var ports = []string{"swp1", "swp2", "swp3", "swp4", "swp5", "swp6", "swp7", "swp8"}

type boxOptions struct {
	simcumulus.Options
	test drivertest.Options
	// setup is configured and saved before the driver connects.
	setup  string
	intent []string // old, new, old, new
	shared bool     // globals: shared
	shell  bool     // with SSH
}

// box is one simulated switch and its intent.
type box struct {
	*simcumulus.Switch
	t       testing.TB
	target  drivers.Target
	desired *qos.Device
	policy  drivers.Policy
}

func fabric(replace ...string) string {
	return drivertest.Fabric("cumulus", "6", ports, replace...)
}

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	id := drivertest.Identity()
	o.test = o.test.Networked()
	so := o.Options
	so.Hostname, so.Username, so.Password, so.TLS, so.HostKey, so.Listen, so.Interfaces = "sw1", "cumulus", drivertest.Password, id.TLS, id.Key, o.test.Listen, ports
	so.Version, so.Model = cmp.Or(so.Version, "5.15.0"), cmp.Or(so.Model, "SN5600")
	if o.test.Slow {
		so.TimeScale = 40 // slower than a response may be
	}
	s, err := simcumulus.New(so)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &box{Switch: s, t: t, policy: drivers.Policy{PortGroup: 2, Uplinks: ports[2:4]},
		desired: drivertest.Compile(t, fabric(o.intent...), render.Fits{"cumulus": native.Fit})}
	b.desired.OwnsGlobals = !o.shared
	b.target = drivers.Target{Name: "sw1", OS: "cumulus", GNMI: gnmi.Config{Address: s.GNMIAddr(), Username: "cumulus", Password: secret.Secret(drivertest.Password),
		TLS: gnmi.TLS{CAFile: b.file("ca.pem", s.CAPEM())}, Dial: o.test.Dial}}
	if o.shell {
		b.target.SSH = &ssh.Config{Address: s.SSHAddr(), User: "cumulus", Password: secret.Secret(drivertest.Password), KnownHosts: b.file("known_hosts", []byte(s.HostKeyLine()+"\n")), Dial: o.test.Dial}
	}
	if o.setup != "" {
		b.set(o.setup)
		b.Save()
	}
	return b
}

func (b *box) file(name string, content []byte) string {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

func (b *box) set(commands string) {
	b.t.Helper()
	if err := b.Configure(commands); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) open() *Driver {
	b.t.Helper()
	return drivertest.Open[*Driver](b.t, Open, b.target)
}

func (b *box) plan(d *Driver) (*drivers.Snapshot, *drivers.Steps) {
	b.t.Helper()
	ctx := b.t.Context()
	f, err := d.Probe(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := d.Read(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	st, err := d.Plan(f, s, b.desired, b.policy)
	if err != nil {
		b.t.Fatal(err)
	}
	return s, st
}

func (b *box) try(d *Driver, o drivers.ApplyOptions) (*drivers.Token, error) {
	b.t.Helper()
	s, st := b.plan(d)
	o.ID = cmp.Or(o.ID, "test")
	return d.Apply(b.t.Context(), s, st, o)
}

func (b *box) apply(d *Driver) *drivers.Token {
	b.t.Helper()
	tok, err := b.try(d, drivers.ApplyOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return tok
}

// settled fails the test if a new plan has something to do.
func (b *box) settled(d *Driver) {
	b.t.Helper()
	_, st := b.plan(d)
	for _, c := range st.Changes {
		if c.Blocked == "" {
			b.t.Errorf("still to change: %s: %s -> %s", c.Path(), c.Old, c.New)
		}
	}
	for _, s := range st.Items {
		b.t.Errorf("still a step: %s", strings.Join(s.Lines, "; "))
	}
}

// foreign holds settings of other owners, of kinds that this tool also writes.
const foreign = `nv set qos pfc STORAGE switch-priority 4
nv set qos pfc STORAGE cable-length 10
nv set qos mapping STORAGE trust l2
nv set interface swp8 qos pfc profile STORAGE
nv set interface swp8 qos mapping profile STORAGE
nv set interface swp8 description printer
nv set interface swp1 description gpu1
nv set vrf BLUE table auto`

func (b *box) hasForeign() bool {
	return !strings.Contains(b.Running(), "\x00") && b.Configure("") == nil && strings.Contains(b.Running(), `"printer"`) && strings.Contains(b.Running(), `"gpu1"`) &&
		strings.Count(b.Running(), `"STORAGE"`) == 4 && strings.Contains(b.Running(), `"BLUE"`)
}

// tallied maps the driver's metrics to the simulator's counters.
var tallied = map[drivers.Metric]string{
	drivers.PFCRx: sim.PFCRx, drivers.PFCTx: sim.PFCTx, drivers.QueuePackets: sim.TxPkts, drivers.QueueBytes: sim.TxOctets, drivers.QueueDrops: sim.DropPkts,
	drivers.StormsDetected: sim.WDStuck, drivers.GroupDrops: sim.GroupDrops, drivers.ErrorsRx: sim.RxErrors, drivers.ErrorsTx: sim.TxErrors, drivers.LinkPauseRx: sim.LinkPauseRx,
}

func (b *box) device() *drivertest.Device {
	f := b.Faults()
	return &drivertest.Device{
		Desired: b.desired, Policy: b.policy,
		Open: func() drivers.Driver { return b.open() },
		OpenWrongPassword: func() drivers.Driver {
			d := newDriver(b.target)
			d.t.GNMI.Password = "wrong"
			return d
		},
		State:       func() []byte { return []byte(b.Running()) },
		Startup:     func() []byte { return []byte(b.Switch.Startup()) },
		Requests:    b.Writes,
		Flaps:       b.Switch.Flaps,
		BeforeWrite: f.BeforeWrite,
		Down:        b.Switch.Down,
		Marked:      b.Waits,
		Restart:     b.Switch.Restart,
		AddForeign:  func() { b.set(foreign) },
		HasForeign:  b.hasForeign,
		AddUnknown: func() {
			b.set("nv set qos advance-buffer-config default-global ingress-lossy-buffer priority-group 1 memory-percent 10")
		},
		ChangeManaged: func() { b.set("nv set interface swp1 link mtu 4000") },
		ChangeForeign: func() { b.set(foreign) },
		Count: func(port string, index int, m drivers.Metric, n uint64) bool {
			name, ok := tallied[m]
			if ok {
				b.Counters().Set(port, index, name, n)
			}
			return ok
		},
		ResetCounters: b.Counters().Reset, HoldCounters: b.Counters().Hold,
		Faults: drivertest.Faults{
			Reject: f.RejectNext, DropBefore: f.DropBefore, DropAfter: f.DropAfter, FailAfterApply: f.FailAfterApply, RestartInside: f.RestartInside,
			FailHalfWay: f.FailApply, Delay: f.Delay, ReadOnly: f.ReadOnly, TruncateAnswers: f.TruncateAnswers, WrongCertificate: f.WrongCertificate,
			Unreachable: f.RefuseConnections, NoModel: f.NoModel, Clear: f.Clear,
			GiveUp: func() {
				release := make(chan struct{})
				f.GiveUp(release)
				time.AfterFunc(5*time.Second, func() { close(release) })
			},
		},
	}
}

// says fails the test unless err wraps is, does not wrap not, and contains all the texts.
func says(t testing.TB, err, is, not error, texts ...string) {
	t.Helper()
	drivertest.Says(t, drivertest.Password, err, is, not, texts...)
}
