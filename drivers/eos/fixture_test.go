package eos

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

const testPassword = "s3cr3t-of-the-lab"

// identity is shared by all switches of the tests: keys take time to make.
var identity = sync.OnceValue(func() (id struct {
	tls *tls.Config
	ca  []byte
	key xssh.Signer
}) {
	var err error
	if id.tls, id.ca, err = sim.NewTLS(); err != nil {
		panic(err)
	}
	if id.key, err = sim.NewHostKey(); err != nil {
		panic(err)
	}
	return id
})

// quick are the times of a switch that does not wait.
var quick = lines.Pace{Poll: 3 * time.Millisecond, Settled: 500 * time.Millisecond, Work: time.Second, Read: 20 * time.Second, Timer: 5 * time.Minute}

// The models of the tests: one of each family, and one that is not known.
const (
	strata  = "DCS-7060DX5-64S"
	sand    = "DCS-7280CR3-32P4"
	unknown = "DCS-9999X"
)

// box is one simulated switch with the intent that it is to carry out.
type box struct {
	*simeos.EOS
	t       testing.TB
	target  drivers.Target
	desired *qos.Device
	ports   []string
	policy  drivers.Policy
}

type boxOptions struct {
	test drivertest.Options
	simeos.Options
	gnmi bool
	// setup is configured before the driver comes.
	setup string
	// intent replaces lines of the text of fabric.
	intent []string // old, new, old, new
	// password is that of the login; "" is the right one.
	password string
}

var ports = []string{"Ethernet1/1", "Ethernet2/1", "Ethernet3/1", "Ethernet4/1", "Ethernet5/1", "Ethernet6/1", "Ethernet7/1", "Ethernet8/1"}

// fabric is an intent of one switch with two hosts and two uplinks; the other
// switch is there for the links.
func fabric(replace ...string) string {
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: test
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  sw[1-2]: {os: eos, role: leaf, address: "192.0.2.[1-2]:6030"}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: sw1/Ethernet1/1, b: gpu1/eth0, cable: 5m, speed: 400G}
  - {a: sw1/Ethernet2/1, b: gpu2/eth0, cable: 5m, speed: 400G}
  - {a: sw1/Ethernet3/1, b: sw2/Ethernet3/1, cable: 40m, speed: 400G}
  - {a: sw1/Ethernet4/1, b: sw2/Ethernet4/1, cable: 40m, speed: 400G}
`
	return strings.NewReplacer(replace...).Replace(text)
}

func compile(t testing.TB, text string) *qos.Device {
	t.Helper()
	return drivertest.Compile(t, text, render.Fits{"eos": native.Fit})
}

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	id := identity()
	so := o.Options
	so.Username, so.Password = "admin", testPassword
	if so.Hostname == "" {
		so.Hostname = "sw1"
	}
	so.TLS, so.HostKey, so.NoSSH, so.NoGNMI = id.tls, id.key, o.gnmi, !o.gnmi
	if so.Config == "" && so.Interfaces == nil {
		so.Interfaces, so.Routed = ports, true
	}
	if o.test.Slow {
		so.TimeScale = 0.6
	}
	s, err := simeos.New(so)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &box{EOS: s, t: t, desired: compile(t, fabric(o.intent...)), ports: ports[:4]}
	if o.setup != "" {
		b.configure(o.setup)
	}
	b.policy = drivers.Policy{PortGroup: 2, Uplinks: b.ports[2:]}
	b.target = drivers.Target{Name: "sw1", OS: "eos"}
	password := secret.Secret(testPassword)
	if o.password != "" {
		password = secret.Secret(o.password)
	}
	if o.gnmi {
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, id.ca, 0o600); err != nil {
			t.Fatal(err)
		}
		b.target.GNMI = gnmi.Config{Address: s.GNMIAddr(), Username: "admin", Password: password, Timeout: o.test.Patience(), TLS: gnmi.TLS{CAFile: ca}}
		if o.test.Slow {
			b.target.GNMI.SetTimeout = 200 * time.Millisecond
		}
		return b
	}
	hosts := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(hosts, []byte(s.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.target.SSH = &ssh.Config{Address: s.SSHAddr(), User: "admin", Password: password, KnownHosts: hosts, Timeout: o.test.Patience(), CommandTimeout: o.test.Patience()}
	if o.test.Slow {
		b.target.SSH.CommandTimeout = 400 * time.Millisecond
	}
	return b
}

// open makes a driver of the box, with quick times.
func (b *box) open() *Driver { return b.openAs(b.target) }

func (b *box) openAs(target drivers.Target) *Driver {
	b.t.Helper()
	d := drivertest.Open[*Driver](b.t, Open, target)
	d.Pace = quick
	return d
}

func (b *box) configure(lines string) {
	b.t.Helper()
	if err := b.Configure(lines); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) state() []byte { return drivertest.WithoutComments(b.Running()) }

func (b *box) plan(d *Driver) (*drivers.Snapshot, *drivers.Steps) {
	b.t.Helper()
	return drivertest.Plan(b.t, d, b.desired, b.policy)
}

// try plans and applies.
func (b *box) try(d *Driver) (*drivers.Token, error) {
	b.t.Helper()
	snap, st := b.plan(d)
	return d.Apply(context.Background(), snap, st, drivers.ApplyOptions{ID: "test"})
}

func (b *box) apply(d *Driver) *drivers.Token {
	b.t.Helper()
	tok, err := b.try(d)
	if err != nil {
		b.t.Fatal(err)
	}
	return tok
}

// settled fails the test where a new plan has something to do.
func (b *box) settled(d *Driver) {
	b.t.Helper()
	_, st := b.plan(d)
	drivertest.Settled(b.t, st)
}

// foreign are lines of other owners, of kinds that this tool writes as well.
const foreign = `qos profile STORAGE
   qos trust cos
   priority-flow-control on
   priority-flow-control priority 4 no-drop
interface Ethernet8/1
   description to the printer, 50% full
   service-profile STORAGE
interface Ethernet1/1
   description to gpu1
vlan 77
   name storage
`

func (b *box) hasForeign() bool {
	text := b.Running()
	for l := range strings.Lines(foreign) {
		if !strings.Contains(text, strings.TrimRight(l, "\n")) {
			b.t.Logf("%q is gone", l)
			return false
		}
	}
	return true
}

// down lists the Ethernet ports that are shut down.
func (b *box) down() []string {
	return slices.DeleteFunc(b.Down(), func(p string) bool { return !strings.HasPrefix(p, "Ethernet") })
}

func (b *box) device() *drivertest.Device {
	f := b.Faults()
	return &drivertest.Device{
		Desired: b.desired, Policy: b.policy,
		Count: b.count, ResetCounters: b.Counters().Reset, HoldCounters: b.Counters().Hold,
		Open: func() drivers.Driver { return b.open() },
		OpenWrongPassword: func() drivers.Driver {
			t := b.target
			if t.SSH != nil {
				c := *t.SSH
				c.Password, t.SSH = "wrong", &c
			}
			t.GNMI.Password = "wrong"
			return b.openAs(t)
		},
		State:       b.state,
		Startup:     func() []byte { return drivertest.WithoutComments(b.Startup()) },
		Requests:    b.Writes,
		Flaps:       b.Flaps,
		BeforeWrite: f.BeforeWrite,
		Down:        b.down,
		Restart:     b.Restart,
		AddForeign:  func() { b.configure(foreign) },
		HasForeign:  b.hasForeign,
		AddUnknown: func() {
			b.configure("class-map type qos match-any C\n   match dscp 26\npolicy-map type quality-of-service P\n   class C\n      set traffic-class 3\ninterface " + b.ports[1] + "\n   service-policy type qos input P\n")
		},
		ChangeManaged: func() { b.configure("interface " + b.ports[0] + "\n   mtu 4000\n") },
		ChangeForeign: func() { b.configure(foreign) },
		Faults: drivertest.Faults{
			Reject: f.RejectNext, DropBefore: f.DropBeforeCommit, DropAfter: f.DropAfterCommit, FailAfterApply: f.FailAfterCommit,
			RestartInside: f.RestartAtCommit,
			GiveUp: func() {
				release := make(chan struct{})
				f.GiveUp(release)
				time.AfterFunc(50*time.Millisecond, func() { close(release) })
			},
			Delay: f.Delay, ReadOnly: f.ReadOnly, TruncateAnswers: f.TruncateAnswers, WrongCertificate: f.WrongCertificate,
			Unreachable: f.RefuseConnections, NoModel: f.NoModel, Clear: f.Clear,
		},
	}
}

func describe(o boxOptions) string {
	way := "ssh"
	if o.gnmi {
		way = "gnmi"
	}
	return fmt.Sprintf("%s %s defaults=%v old-json=%v", way, o.Model, o.PrintDefaults, o.OldSessionJSON)
}

var applyOptions = drivers.ApplyOptions{ID: "test"}

// says fails the test unless err is of a kind, not of the other, and has all
// the texts.
func says(t testing.TB, err, is, not error, texts ...string) {
	t.Helper()
	drivertest.Says(t, testPassword, err, is, not, texts...)
}
