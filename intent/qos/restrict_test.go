package qos_test

import (
	"reflect"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Restrict removes every attribute that is not listed, from the device, its ports, queues, groups
// and maps, and leaves what is not an attribute.
func TestRestrict(t *testing.T) {
	full := func() *qos.Device {
		p := &qos.Port{
			AdminUp: qos.Of(true), FEC: qos.Of("rs"), MTU: qos.Of(9100), LAG: qos.Of("PortChannel1"), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(&qos.Maps{}),
			PFC: qos.Of(qos.Priorities(3)), LinkPause: qos.Of(false), Neighbor: qos.Of(qos.Neighbor{Device: "gpu1", Port: "eth0"}),
		}
		p.Queues[3].ECN, p.Groups[7].Lossless = qos.Of(qos.ECN{Enabled: true}), qos.Of(true)
		return &qos.Device{Ports: map[string]*qos.Port{"p": p}, GlobalMaps: qos.Of(&qos.Maps{})}
	}
	d := full()
	d.Restrict()
	if want := (&qos.Device{Ports: map[string]*qos.Port{"p": {Neighbor: qos.Of(qos.Neighbor{Device: "gpu1", Port: "eth0"})}}}); !reflect.DeepEqual(d, want) {
		t.Errorf("%+v", d.Ports["p"])
	}
	d = full()
	d.Restrict(qos.KindMTU, qos.KindECN, qos.KindMap)
	p := d.Ports["p"]
	if p.MTU.V != 9100 || !p.Queues[3].ECN.Set || !p.Maps.Set || p.FEC.Set || p.Groups[7].Lossless.Set || d.GlobalMaps.Set {
		t.Errorf("%+v", p)
	}
}
