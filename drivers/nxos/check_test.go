package nxos

import (
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
)

func TestUnexpectedUndoRecordsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.Open()
		drivertest.Forged{
			Driver: d, Token: b.Apply(d), Managed: b.Desired.Manages, State: b.State,
			Settings: []string{
				`{"key":"username eve","line":"username eve password x role network-admin"}`,
				`{"key":"feature ssh"}`,
				`{"key":"hostname sw1"}`,
				`{"section":"interface mgmt0","key":"shutdown","line":"shutdown"}`,
				`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000 ; reload"}`,
				`{"section":"interface Ethernet1/1","key":"shutdown","line":"shutdown"}`,
				`{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000","at":-5}`,
				`{"section":"policy-map type qos ROCE-FABRIC-IN","key":"class A","line":"class A"}`,
			},
			Key:   "checkpoint",
			Names: []string{"x ; reload", "rf-x atomic", "rf-x\nreload", "theirs", ""},
		}.Run(t)
	})
}
