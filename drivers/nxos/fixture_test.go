package nxos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// box is one simulated switch and its intent.
type box struct {
	*simnxos.NXOS
	*drivertest.LineBox[*Driver]
	plain bool // no dual-stage mode that accepts the lines
}

type boxOptions struct {
	test drivertest.Options
	simnxos.Options

	gnmi bool // has a gNMI server, and the target names it
	// setup is configured before the driver connects.
	setup string
	// intent lists replacements in the text of fabric: old, new, old, new.
	intent []string
}

var ports = []string{"Ethernet1/1", "Ethernet1/2", "Ethernet1/3", "Ethernet1/4", "Ethernet1/5", "Ethernet1/6", "Ethernet1/7", "Ethernet1/8"}

func fabric(replace ...string) string { return drivertest.Fabric("nxos", "7", ports, replace...) }

// fourQueues lists the replacements for a switch with queues 0 to 3.
var fourQueues = []string{"priority: 7", "priority: 3", "priority: 3, dscp: [26]", "priority: 2, dscp: [26]"}

func compile(t testing.TB, text string) *qos.Device {
	t.Helper()
	return drivertest.Compile(t, text, render.Fits{"nxos": native.Fit})
}

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	o.test = o.test.Networked()
	so := o.Options
	so.Username, so.Password = "admin", drivertest.Password
	if so.Hostname == "" {
		so.Hostname = "sw1"
	}
	so.HostKey, so.Listen, so.NoGNMI = drivertest.Identity().Key, o.test.Listen, !o.gnmi
	if so.Config == "" && so.Interfaces == nil {
		so.Interfaces, so.Routed = ports, true
	}
	if o.test.Slow {
		so.TimeScale = 150 // slower than a command may be
	}
	s, err := simnxos.New(so)
	if err != nil {
		t.Fatal(err)
	}
	if so.FourQueue {
		o.intent = slices.Concat(o.intent, fourQueues)
	}
	b := &box{s, drivertest.NewLineBox(t, s, drivertest.LineOptions[*Driver]{
		Options: o.test, System: "nxos", Fit: native.Fit, Intent: fabric(o.intent...), Ports: ports, Setup: o.setup, Open: open,
	}), so.NoDualStage || so.DualStageNoQoS}
	if o.gnmi {
		b.Target.GNMI = b.GNMI(s.GNMIAddr())
	}
	return b
}

// open creates a driver.
func open(t testing.TB, target drivers.Target) *Driver {
	t.Helper()
	return drivertest.Open[*Driver](t, Open, target)
}

var applyOptions = drivers.ApplyOptions{ID: "test"}

func (b *box) colleague() *ssh.Network { return b.Colleague(platform) }

// foreign holds lines of other owners, of kinds that this tool also writes.
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

// four returns a text that shows the four-queue model; "" if the intent needs more queues.
func (b *box) four() string {
	if slices.ContainsFunc(b.Desired.Classes, func(c qos.Class) bool { return c.Queue > 3 }) {
		return ""
	}
	return "c-nq"
}

func (b *box) device() *drivertest.Device {
	f := b.Faults()
	d := b.Device(&f.Faults, b.foreign())
	d.AddUnknown = func() {
		b.Set("policy-map type queuing THEIR-IN\n  class type queuing c-in-q3\n    queue-limit dynamic 4\nsystem qos\n  service-policy type queuing input THEIR-IN\n")
	}
	d.Marked = func() bool { return len(b.Checkpoints()) > 0 }
	d.ChangeManaged = func() { b.Set("interface Ethernet1/1\n  mtu 4000\n") }
	d.Faults.DropBefore, d.Faults.DropAfter = func() { f.DropAt(1) }, f.DropAfterWrite
	d.Faults.RestartInside, d.Faults.Clear = func() { f.RestartAt(9) }, f.Clear
	if b.plain {
		// Line by line, no further lines follow one whose response was given up, so that case
		// does not exist.
		d.Faults.FailHalfWay = func() { f.DropAt(9) }
	} else {
		d.Faults.GiveUp = func() { drivertest.GiveUp(&f.Faults) }
	}
	return d
}

// says fails the test unless err wraps is, does not wrap not, and contains all the texts.
func says(t testing.TB, err, is, not error, texts ...string) {
	t.Helper()
	drivertest.Says(t, drivertest.Password, err, is, not, texts...)
}
