package eos

import (
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func TestUnexpectedUndoRecordsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d := b.Open()
		drivertest.Forged{
			Driver: d, Token: b.Apply(d), Managed: b.Desired.Manages,
			State: func() string { return b.State() },
			Settings: []string{
				`{"key":"username eve","line":"username eve privilege 15 nopassword"}`,
				`{"section":"interface Management1","key":"shutdown","line":"shutdown"}`,
				`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000\nreload now"}`,
				`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000 | bash"}`,
				`{"section":"interface Ethernet1/1","key":"shutdown","line":"shutdown"}`,
				`{"key":" "}`,
			},
			Key:   "session",
			Names: []string{"x commit\nreload", "rf-x commit", "rf-x;y", "rf-x|y", "theirs"},
		}.Run(t)
	})
}
