package drivertest

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Password is the password of the test accounts.
const Password = "s3cr3t-of-the-lab"

// Identity is shared by all test switches, because creating keys takes time.
var Identity = sync.OnceValue(func() (id struct {
	TLS *tls.Config
	CA  []byte
	Key xssh.Signer
}) {
	var err error
	if id.TLS, id.CA, err = sim.NewTLS(); err != nil {
		panic(err)
	}
	if id.Key, err = sim.NewHostKey(); err != nil {
		panic(err)
	}
	return id
})

// Fabric returns an intent with switch sw1, two hosts and two uplinks to another switch. cnp is
// the priority of that class. replace lists replacements in the text: old, new, old, new.
func Fabric(system, cnp string, ports []string, replace ...string) string {
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: test
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: ` + cnp + `, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  sw[1-2]: {os: ` + system + `, role: leaf, address: "192.0.2.[1-2]:6030"}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: sw1/PORT0, b: gpu1/eth0, cable: 5m, speed: 400G}
  - {a: sw1/PORT1, b: gpu2/eth0, cable: 5m, speed: 400G}
  - {a: sw1/PORT2, b: sw2/PORT2, cable: 40m, speed: 400G}
  - {a: sw1/PORT3, b: sw2/PORT3, cable: 40m, speed: 400G}
`
	text = strings.NewReplacer("PORT0", ports[0], "PORT1", ports[1], "PORT2", ports[2], "PORT3", ports[3]).Replace(text)
	return strings.NewReplacer(replace...).Replace(text)
}

// lineSwitch is a simulated switch that is configured by command lines.
type lineSwitch interface {
	Start() error
	Close() error
	Restart() error
	SSHAddr() string
	GNMIAddr() string
	HostKeyLine() string
	CAPEM() []byte
	Running() string
	Startup() string
	Configure(lines string) error
	Down() []string
	Flaps() map[string]int
	Writes() int
	Counters() *sim.Tally
}

// LineBox is one simulated switch and its intent.
type LineBox[D drivers.Driver] struct {
	T       testing.TB
	Target  drivers.Target
	Desired *qos.Device
	Policy  drivers.Policy

	sim  lineSwitch
	open func(drivers.Target) D
	dial netx.Dialer
}

// LineOptions configures a [LineBox].
type LineOptions[D drivers.Driver] struct {
	Options
	System string
	Fit    func(*qos.Device)
	Intent string
	Ports  []string
	Setup  string // configured before the driver connects
	// Password is the login password; "" is the right one.
	Password string
	Open     func(testing.TB, drivers.Target) D
}

// NewLineBox starts a switch that is reachable over SSH.
func NewLineBox[D drivers.Driver](t testing.TB, s lineSwitch, o LineOptions[D]) *LineBox[D] {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &LineBox[D]{T: t, sim: s, dial: o.Dial, open: func(target drivers.Target) D { return o.Open(t, target) },
		Desired: Compile(t, o.Intent, render.Fits{o.System: o.Fit}), Policy: drivers.Policy{PortGroup: 2, Uplinks: o.Ports[2:4]}}
	if o.Setup != "" {
		b.Set(o.Setup)
	}
	password := secret.Secret(Password)
	if o.Password != "" {
		password = secret.Secret(o.Password)
	}
	b.Target = drivers.Target{Name: "sw1", OS: o.System, SSH: &ssh.Config{Address: s.SSHAddr(), User: "admin", Password: password,
		KnownHosts: b.File("known_hosts", []byte(s.HostKeyLine()+"\n")), Dial: o.Dial}}
	return b
}

// File writes a file that is removed after the test.
func (b *LineBox[D]) File(name string, content []byte) string {
	b.T.Helper()
	file := filepath.Join(b.T.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		b.T.Fatal(err)
	}
	return file
}

// GNMI returns the settings for connecting to the gNMI server at an address.
func (b *LineBox[D]) GNMI(addr string) gnmi.Config {
	b.T.Helper()
	return gnmi.Config{Address: addr, Username: "admin", Password: secret.Secret(Password), TLS: gnmi.TLS{CAFile: b.File("ca.pem", b.sim.CAPEM())}, Dial: b.dial}
}

// Open creates a driver of the switch.
func (b *LineBox[D]) Open() D { return b.OpenAs(b.Target) }

// OpenAs creates a driver of a target.
func (b *LineBox[D]) OpenAs(target drivers.Target) D {
	b.T.Helper()
	return b.open(target)
}

// Set configures the switch as another user.
func (b *LineBox[D]) Set(lines string) {
	b.T.Helper()
	if err := b.sim.Configure(lines); err != nil {
		b.T.Fatal(err)
	}
}

// State returns the running configuration.
func (b *LineBox[D]) State() string { return string(withoutComments(b.sim.Running())) }

// Saved returns the startup configuration.
func (b *LineBox[D]) Saved() string { return string(withoutComments(b.sim.Startup())) }

// PortsDown lists the Ethernet ports that are shut down.
func (b *LineBox[D]) PortsDown() []string {
	return slices.DeleteFunc(b.sim.Down(), func(p string) bool { return !strings.HasPrefix(p, "Ethernet") })
}

// Plan reads the switch and makes a plan.
func (b *LineBox[D]) Plan(d D) (*drivers.Snapshot, *drivers.Steps) {
	b.T.Helper()
	return planOf(b.T, d, b.Desired, b.Policy)
}

// Try makes a plan and applies it.
func (b *LineBox[D]) Try(d D) (*drivers.Token, error) {
	b.T.Helper()
	snap, st := b.Plan(d)
	return d.Apply(context.Background(), snap, st, drivers.ApplyOptions{ID: "test"})
}

// Apply makes a plan and applies it, and fails the test if that fails.
func (b *LineBox[D]) Apply(d D) *drivers.Token {
	b.T.Helper()
	tok, err := b.Try(d)
	if err != nil {
		b.T.Fatal(err)
	}
	return tok
}

// Settled fails the test if a new plan has something to do.
func (b *LineBox[D]) Settled(d D) {
	b.T.Helper()
	_, st := b.Plan(d)
	settled(b.T, st)
}

// Colleague returns another user's shell on the switch.
func (b *LineBox[D]) Colleague(p *ssh.Platform) *ssh.Network {
	b.T.Helper()
	c, err := ssh.Dial(b.T.Context(), *b.Target.SSH)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = c.Close() })
	n, err := c.Network(b.T.Context(), p, b.Target.SSH.Password)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = n.Close() })
	return n
}

// Find returns the change at a path of a plan; nil if there is none.
func Find(st *drivers.Steps, path string) *qos.Change {
	for i, c := range st.Changes {
		if c.Path() == path {
			return &st.Changes[i]
		}
	}
	return nil
}

// HasLines reports whether the switch has all lines of a text.
func (b *LineBox[D]) HasLines(text string) bool {
	have := b.sim.Running()
	for l := range strings.Lines(text) {
		if !strings.Contains(have, strings.TrimRight(l, "\n")) {
			b.T.Logf("%q is gone", l)
			return false
		}
	}
	return true
}

// tallied maps the driver's metrics to the simulator's counters.
var tallied = map[drivers.Metric]string{
	drivers.PFCRx: sim.PFCRx, drivers.PFCTx: sim.PFCTx, drivers.QueuePackets: sim.TxPkts, drivers.QueueBytes: sim.TxOctets, drivers.QueueDrops: sim.DropPkts,
	drivers.StormsDetected: sim.WDStuck, drivers.StormsRestored: sim.WDRecovery,
}

// GiveUp leaves the next write unanswered; the switch executes it a moment later.
func GiveUp(f *cli.Faults) {
	release := make(chan struct{})
	f.GiveUp(release)
	time.AfterFunc(5*time.Second, func() { close(release) })
}

// Device describes the switch to the suite, with the faults common to all switches; foreign holds
// lines of other owners.
func (b *LineBox[D]) Device(f *cli.Faults, foreign string) *Device {
	return &Device{
		Desired: b.Desired, Policy: b.Policy,
		Count: func(port string, index int, m drivers.Metric, n uint64) bool {
			name, ok := tallied[m]
			if ok {
				b.sim.Counters().Set(port, index, name, n)
			}
			return ok
		},
		ResetCounters: b.sim.Counters().Reset, HoldCounters: b.sim.Counters().Hold,
		Open: func() drivers.Driver { return b.Open() },
		OpenWrongPassword: func() drivers.Driver {
			t := b.Target
			if t.SSH != nil {
				c := *t.SSH
				c.Password, t.SSH = "wrong", &c
			}
			t.GNMI.Password = "wrong"
			return b.OpenAs(t)
		},
		State:       func() []byte { return []byte(b.State()) },
		Startup:     func() []byte { return []byte(b.Saved()) },
		Requests:    b.sim.Writes,
		Flaps:       b.sim.Flaps,
		BeforeWrite: f.BeforeWrite,
		Down:        b.PortsDown,
		Restart:     b.sim.Restart,
		AddForeign:  func() { b.Set(foreign) },
		HasForeign:  func() bool { return b.HasLines(foreign) },

		ChangeForeign: func() { b.Set(foreign) },
		Faults: Faults{
			Reject: f.RejectNext, FailAfterApply: f.FailAfterCommit, Delay: f.Delay, ReadOnly: f.ReadOnly, TruncateAnswers: f.TruncateAnswers,
			WrongCertificate: f.WrongCertificate, Unreachable: f.RefuseConnections, NoModel: f.NoModel,
		},
	}
}

// saver is a driver that keeps changes and reports unsaved ones.
type saver interface {
	drivers.Driver
	drivers.Keeper
	drivers.Saver
}

// KeepSaves checks that a run saves changes that an earlier run confirmed but did not save. It
// must not save changes of other users, except on ports of the intent, or the state of a port
// that was shut by hand. confirm stops the timer of an apply. keep calls Keep on a new driver.
func KeepSaves[D saver](b *LineBox[D], confirm func(d D, tok *drivers.Token) error, theirs, managed string) (keep func() (bool, error)) {
	b.T.Helper()
	d := b.Open()
	if err := confirm(d, b.Apply(d)); err != nil {
		b.T.Fatal(err)
	}
	if b.Saved() == b.State() {
		b.T.Fatal("it is saved already")
	}
	keep = func() (bool, error) {
		b.T.Helper()
		other := b.Open()
		snap, _ := b.Plan(other)
		other.Digest(snap, b.Desired)
		return other.Keep(context.Background())
	}
	if kept, err := keep(); !kept || err != nil || b.Saved() != b.State() {
		b.T.Errorf("kept %v, %v", kept, err)
	}
	if kept, err := keep(); kept || err != nil {
		b.T.Errorf("the second time: kept %v, %v", kept, err)
	}
	was := b.Saved()
	b.Set(theirs)
	if kept, err := keep(); kept || err != nil || b.Saved() != was {
		b.T.Errorf("what others have not saved: kept %v, %v", kept, err)
	}
	b.Set(managed)
	return keep
}

// NamesUnsaved checks that Unsaved names the unsaved sections without their content.
func NamesUnsaved[D saver](b *LineBox[D], d D, lines string, want ...string) {
	b.T.Helper()
	if list, err := d.Unsaved(context.Background()); err != nil || list != nil {
		b.T.Errorf("%q, %v", list, err)
	}
	b.Set(lines)
	if list, err := d.Unsaved(context.Background()); err != nil || !slices.Equal(list, want) {
		b.T.Errorf("%q, %v; want %q", list, err, want)
	}
}

// Reverts applies to any switch, confirms at random, and reverts. After the apply, only blocked
// changes may be left; after the revert, same compares the state with the original one.
func Reverts[D drivers.Driver](rt *rapid.T, b *LineBox[D], same func(was, is string) string) {
	was, ctx := b.State(), context.Background()
	fail := func(format string, args ...any) {
		rt.Helper()
		rt.Fatalf(format+"\nfrom\n%s\nis\n%s", append(args, was, b.State())...)
	}
	d := b.Open()
	defer d.Close()
	defer b.sim.Close()
	snap, st := b.Plan(d)
	tok, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: "test"})
	if err != nil {
		fail("apply: %v", err)
	}
	if err := Trusted(d, b.Desired, st, tok); err != nil {
		fail("%v", err)
	}
	_, again := b.Plan(d)
	for _, c := range again.Changes {
		if was := Find(st, c.Path()); c.Blocked == "" || was == nil || was.Blocked == "" {
			fail("still to change: %v", c)
		}
	}
	if len(again.Items) > 0 {
		fail("still a step: %s", again.Items[0].Native)
	}
	if rapid.Bool().Draw(rt, "confirmed") {
		if err := d.Confirm(ctx, tok); err != nil {
			fail("confirm: %v", err)
		}
	}
	if err := d.Revert(ctx, tok); err != nil {
		fail("revert: %v", err)
	}
	if diff := same(was, b.State()); diff != "" {
		fail("not as before: %s", diff)
	}
}

// Far returns options with a network of the given round-trip time.
func Far(roundTrip time.Duration) Options {
	network := memnet.New(1)
	far := network.Client(func(p memnet.Piece) memnet.Fate { return memnet.Fate{Pass: len(p.Data), Wait: roundTrip / 2} })
	return Options{Listen: network.Listen, Dial: far.Dial}
}

// ApplyFar checks that an apply of many lines to a distant switch takes at most the given number
// of round trips, once the driver is logged in.
func ApplyFar[D drivers.Driver](t *testing.T, box func(testing.TB, Options) *LineBox[D], lines, trips int) {
	synctest.Test(t, func(t *testing.T) {
		const roundTrip = time.Second
		b := box(t, Far(roundTrip))
		d := b.Open()
		snap, st := b.Plan(d)
		began := time.Now()
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "test"}); err != nil {
			t.Fatal(err)
		}
		if n, took := len(st.Items[0].Lines), int(time.Since(began)/roundTrip); n < lines || took > trips {
			t.Errorf("%d lines take %d round trips; want at least %d lines, at most %d", n, took, lines, trips)
		}
		b.Settled(d)
	})
}

// BenchmarkFar measures the duration of such an apply.
func BenchmarkFar[D drivers.Driver](b *testing.B, box func(testing.TB, Options) *LineBox[D]) {
	for _, roundTrip := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(roundTrip.String(), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				box := box(b, Far(roundTrip))
				d := box.Open()
				snap, st := box.Plan(d)
				b.StartTimer()
				if _, err := d.Apply(b.Context(), snap, st, drivers.ApplyOptions{ID: "test"}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
		})
	}
}
