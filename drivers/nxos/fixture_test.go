package nxos

import (
	"context"
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
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

const testPassword = "s3cr3t-of-the-lab"

// hostKey is shared by all switches of the tests: keys take time to make.
var hostKey = sync.OnceValue(func() xssh.Signer {
	key, err := sim.NewHostKey()
	if err != nil {
		panic(err)
	}
	return key
})

// quick are the times of a switch that does not wait.
var quick = lines.Pace{Poll: 3 * time.Millisecond, Settled: 300 * time.Millisecond, Work: 4 * time.Second, Read: 20 * time.Second, Timer: 5 * time.Minute}

// box is one simulated switch with the intent that it is to carry out.
type box struct {
	*simnxos.NXOS
	t       testing.TB
	target  drivers.Target
	desired *qos.Device
	policy  drivers.Policy
	plain   bool // no dual-stage that takes the lines
}

type boxOptions struct {
	test drivertest.Options
	simnxos.Options

	gnmi bool // has a gNMI server, and the target names it
	// setup is configured before the driver comes.
	setup string
	// intent replaces parts of the text of fabric: old, new, old, new.
	intent []string
}

var ports = []string{"Ethernet1/1", "Ethernet1/2", "Ethernet1/3", "Ethernet1/4", "Ethernet1/5", "Ethernet1/6", "Ethernet1/7", "Ethernet1/8"}

// fabric is an intent of one switch with two hosts and two uplinks; the other
// switch is there for the links.
func fabric(replace ...string) string {
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: test
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 7, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  sw[1-2]: {os: nxos, role: leaf, address: "192.0.2.[1-2]:50051"}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: sw1/Ethernet1/1, b: gpu1/eth0, cable: 5m, speed: 400G}
  - {a: sw1/Ethernet1/2, b: gpu2/eth0, cable: 5m, speed: 400G}
  - {a: sw1/Ethernet1/3, b: sw2/Ethernet1/3, cable: 40m, speed: 400G}
  - {a: sw1/Ethernet1/4, b: sw2/Ethernet1/4, cable: 40m, speed: 400G}
`
	return strings.NewReplacer(replace...).Replace(text)
}

// fourQueues is the intent for a box with queues 0 to 3.
var fourQueues = []string{"priority: 7", "priority: 3", "priority: 3, dscp: [26]", "priority: 2, dscp: [26]"}

func compile(t testing.TB, text string) *qos.Device {
	t.Helper()
	return drivertest.Compile(t, text, render.Fits{"nxos": native.Fit})
}

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	so := o.Options
	so.Username, so.Password = "admin", testPassword
	if so.Hostname == "" {
		so.Hostname = "sw1"
	}
	so.HostKey, so.NoGNMI = hostKey(), !o.gnmi
	if so.Config == "" && so.Interfaces == nil {
		so.Interfaces, so.Routed = ports, true
	}
	if o.test.Slow {
		so.TimeScale = 1.5
	}
	s, err := simnxos.New(so)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if so.FourQueue {
		o.intent = slices.Concat(o.intent, fourQueues)
	}
	b := &box{NXOS: s, t: t, desired: compile(t, fabric(o.intent...)), plain: so.NoDualStage || so.DualStageNoQoS}
	if o.setup != "" {
		b.configure(o.setup)
	}
	b.policy = drivers.Policy{PortGroup: 2, Uplinks: ports[2:4]}
	hosts := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(hosts, []byte(s.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.target = drivers.Target{Name: "sw1", OS: "nxos", SSH: &ssh.Config{Address: s.SSHAddr(), User: "admin", Password: secret.Secret(testPassword), KnownHosts: hosts, Timeout: o.test.Patience(), CommandTimeout: o.test.Patience()}}
	if o.gnmi {
		b.target.GNMI = b.server(s.GNMIAddr())
	}
	if o.test.Slow {
		b.target.SSH.CommandTimeout = time.Second
	}
	return b
}

// open makes a driver of the box, with quick times.
func (b *box) open() *Driver { return b.openAs(b.target) }

func (b *box) openAs(target drivers.Target) *Driver {
	b.t.Helper()
	d := drivertest.Open[*Driver](b.t, Open, target)
	d.Pace, d.dial = quick, 5*time.Second
	return d
}

func (b *box) configure(lines string) {
	b.t.Helper()
	if err := b.Configure(lines); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) state() string   { return string(drivertest.WithoutComments(b.Running())) }
func (b *box) startup() string { return string(drivertest.WithoutComments(b.Startup())) }

func (b *box) plan(d *Driver) (*drivers.Snapshot, *drivers.Steps) {
	b.t.Helper()
	return drivertest.Plan(b.t, d, b.desired, b.policy)
}

var applyOptions = drivers.ApplyOptions{ID: "test"}

// try plans and applies.
func (b *box) try(d *Driver) (*drivers.Token, error) {
	b.t.Helper()
	snap, st := b.plan(d)
	return d.Apply(context.Background(), snap, st, applyOptions)
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
const foreign = `class-map type qos match-any STORAGE
  match dscp 10
policy-map type qos STORAGE-IN
  class STORAGE
    set qos-group 4
policy-map type queuing THEIR-OUT
  class type queuing %s
    bandwidth remaining percent 10
interface Ethernet1/8
  description to the printer, 50%% full
  service-policy type qos input STORAGE-IN
  service-policy type queuing output THEIR-OUT
interface Ethernet1/1
  description to gpu1
`

func (b *box) foreign() string {
	class := "c-out-8q-q4"
	text := foreign
	if strings.Contains(b.four(), "c-nq") {
		class, text = "c-out-q1", strings.Replace(text, "set qos-group 4", "set qos-group 1", 1)
	}
	return fmt.Sprintf(text, class)
}

// four is what a box with four queues says of its classes.
func (b *box) four() string {
	if slices.ContainsFunc(b.desired.Classes, func(c qos.Class) bool { return c.Queue > 3 }) {
		return ""
	}
	return "c-nq"
}

func (b *box) hasForeign() bool {
	text := b.Running()
	for l := range strings.Lines(b.foreign()) {
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
	dev := &drivertest.Device{
		Desired: b.desired, Policy: b.policy,
		Count: b.count, ResetCounters: b.Counters().Reset, HoldCounters: b.Counters().Hold,
		Open: func() drivers.Driver { return b.open() },
		OpenWrongPassword: func() drivers.Driver {
			t := b.target
			c := *t.SSH
			c.Password, t.SSH = "wrong", &c
			return b.openAs(t)
		},
		State:       func() []byte { return []byte(b.state()) },
		Startup:     func() []byte { return []byte(b.startup()) },
		Requests:    b.Writes,
		Flaps:       b.Flaps,
		BeforeWrite: f.BeforeWrite,
		Down:        b.down,
		Restart:     b.Restart,
		AddForeign:  func() { b.configure(b.foreign()) },
		HasForeign:  b.hasForeign,
		AddUnknown: func() {
			b.configure("policy-map type queuing THEIR-IN\n  class type queuing c-in-q3\n    pause buffer-size 30000 pause-threshold 20000 resume-threshold 20000\nsystem qos\n  service-policy type queuing input THEIR-IN\n")
		},
		ChangeManaged: func() { b.configure("interface Ethernet1/1\n  mtu 4000\n") },
		ChangeForeign: func() { b.configure(b.foreign()) },
		Faults: drivertest.Faults{
			Reject: f.RejectNext, DropBefore: func() { f.DropAt(1) }, DropAfter: f.DropAfterWrite, FailAfterApply: f.FailAfterCommit,
			RestartInside: func() { f.RestartAt(9) },
			Delay:         f.Delay, ReadOnly: f.ReadOnly, TruncateAnswers: f.TruncateAnswers, WrongCertificate: f.WrongCertificate,
			Unreachable: f.RefuseConnections, NoModel: f.NoModel, Clear: f.Clear,
		},
	}
	if b.plain {
		// A line that is carried out after its answer was given up has no others
		// behind it: there is no such work.
		dev.Faults.FailHalfWay = func() { f.DropAt(9) }
	} else {
		dev.Faults.GiveUp = func() {
			release := make(chan struct{})
			f.GiveUp(release)
			time.AfterFunc(50*time.Millisecond, func() { close(release) })
		}
	}
	return dev
}

// says fails the test unless err is of a kind, not of the other, and has all
// the texts.
func says(t testing.TB, err, is, not error, texts ...string) {
	t.Helper()
	drivertest.Says(t, testPassword, err, is, not, texts...)
}
