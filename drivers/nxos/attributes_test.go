package nxos

import (
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestEveryAttribute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drivertest.Attributes(t, drivertest.Fixture{New: func(t *testing.T, _ drivertest.Options) *drivertest.Device {
			return newBox(t, boxOptions{}).device()
		}},
			// This tool writes no NX-OS line for these attributes.
			qos.KindGlobalMap.All(), qos.KindTrust.All(),
			qos.KindHeadroomModel.All(), qos.KindSpeed.All(), qos.KindBreakout.All(), qos.KindFEC.All(), qos.KindCable.All(), qos.KindQueueBuffer.All(),
			qos.KindGroupBuffer.All(), qos.KindDerivedFrom.All(), qos.KindHeadroom.All(), qos.KindLossless.All(), qos.KindIngressProfiles.All(), qos.KindEgressProfiles.All())
	})
}
