package eos

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// Models used in the tests: one of each family, and an unknown one.
const (
	strata  = "DCS-7060DX5-64S"
	sand    = "DCS-7280CR3-32P4"
	unknown = "DCS-9999X"
)

// box is one simulated switch and its intent.
type box struct {
	*simeos.EOS
	*drivertest.LineBox[*Driver]
}

type boxOptions struct {
	shared bool // sets globals: shared, as if others used the shared settings
	test   drivertest.Options
	simeos.Options
	gnmi bool
	// setup is configured before the driver connects.
	setup string
	// intent lists replacements in the text of fabric.
	intent []string // old, new, old, new
	// password is the login password; "" is the right one.
	password string
}

var ports = []string{"Ethernet1/1", "Ethernet2/1", "Ethernet3/1", "Ethernet4/1", "Ethernet5/1", "Ethernet6/1", "Ethernet7/1", "Ethernet8/1"}

func fabric(replace ...string) string { return drivertest.Fabric("eos", "6", ports, replace...) }

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	id := drivertest.Identity()
	o.test = o.test.Networked()
	so := o.Options
	so.Username, so.Password = "admin", drivertest.Password
	if so.Hostname == "" {
		so.Hostname = "sw1"
	}
	so.TLS, so.HostKey, so.Listen, so.NoSSH, so.NoGNMI = id.TLS, id.Key, o.test.Listen, o.gnmi, !o.gnmi
	if so.Config == "" && so.Interfaces == nil {
		so.Interfaces, so.Routed = ports, true
	}
	if o.test.Slow {
		so.TimeScale = 150 // slower than a command, or a gNMI Set, may be
		if o.gnmi {
			so.TimeScale = 40
		}
	}
	s, err := simeos.New(so)
	if err != nil {
		t.Fatal(err)
	}
	b := &box{s, drivertest.NewLineBox(t, s, drivertest.LineOptions[*Driver]{
		Options: o.test, System: "eos", Fit: native.Fit, Intent: fabric(o.intent...), Ports: ports, Setup: o.setup, Password: o.password,
		Open: open,
	})}
	b.Desired.OwnsGlobals = !o.shared
	if o.gnmi {
		password := b.Target.SSH.Password
		b.Target.SSH, b.Target.GNMI = nil, b.GNMI(s.GNMIAddr())
		b.Target.GNMI.Password = password
	}
	return b
}

// open creates a driver.
func open(t testing.TB, target drivers.Target) *Driver {
	t.Helper()
	return drivertest.Open[*Driver](t, Open, target)
}

func (b *box) colleague() *ssh.Network { return b.Colleague(platform) }

// foreign holds lines of other owners, of kinds that this tool also writes.
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

func (b *box) device() *drivertest.Device {
	f := b.Faults()
	d := b.Device(&f.Faults, foreign)
	d.AddUnknown = func() {
		b.Set("class-map type qos match-any C\n   match ip access-group RDMA\npolicy-map type quality-of-service P\n   class C\n      set traffic-class 3\ninterface " + ports[1] + "\n   service-policy type qos input P\n")
	}
	d.ChangeManaged = func() { b.Set("interface " + ports[0] + "\n   mtu 4000\n") }
	d.Faults.DropBefore, d.Faults.DropAfter, d.Faults.RestartInside, d.Faults.Clear = f.DropBeforeCommit, f.DropAfterCommit, f.RestartAtCommit, f.Clear
	d.Faults.GiveUp = func() { drivertest.GiveUp(&f.Faults) }
	if b.Target.SSH != nil && b.Target.GNMI.Address == "" {
		d.Marked = func() bool {
			for _, state := range b.Sessions() {
				if state != "completed" {
					return true
				}
			}
			return false
		}
	}
	return d
}

func describe(o boxOptions) string {
	way := "ssh"
	if o.gnmi {
		way = "gnmi"
	}
	return fmt.Sprintf("%s %s defaults=%v old-json=%v", way, o.Model, o.PrintDefaults, o.OldSessionJSON)
}

var applyOptions = drivers.ApplyOptions{ID: "test"}

// says fails the test unless err wraps is, does not wrap not, and contains all the texts.
func says(t testing.TB, err, is, not error, texts ...string) {
	t.Helper()
	drivertest.Says(t, drivertest.Password, err, is, not, texts...)
}
