package sonic

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestEveryAttribute(t *testing.T) {
	// This tool has no operation on SONiC for these.
	absent := []qos.Attr{
		qos.KindGlobalMap.Span(int(qos.PCPToTC), int(qos.TCToQueue)), qos.KindBreakout.All(), qos.KindTrust.All(),
		qos.KindLinkPause.All(), qos.KindGroupBuffer.All(), qos.KindHeadroom.All(),
	}
	for model, absent := range map[string][]qos.Attr{known: absent, dynamic: append(slices.Clip(absent), qos.KindDerivedFrom.All())} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				drivertest.Attributes(t, drivertest.Fixture{New: func(t *testing.T, _ drivertest.Options) *drivertest.Device {
					return newBox(t, boxOptions{model: model, release: "master", ssh: true}).device()
				}}, absent...)
			})
		})
	}
}
