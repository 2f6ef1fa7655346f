package render_test

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

// A switch without a port in the intent gets no desired state on any OS: its switch-wide
// settings may serve other users. With one port in the intent it gets them.
func TestNoPortsMeanNoDesiredState(t *testing.T) {
	const head = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes: {rdma: {priority: 3, dscp: [26], lossless: true}, default: {priority: 0, dscp: rest}}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
switches:
  s1: {os: sonic, address: "192.0.2.1:8080", model: ACS-MSN4700, bufferModel: dynamic, buffers: {alpha: 1}SONIC}
  e1: {os: eos, address: "192.0.2.2:6030"EOS}
  n1: {os: nxos, address: "192.0.2.3:50051"NXOS}
`
	native := func(name string, d *qos.Device, doc sonic.Config) string {
		switch name {
		case "e1":
			return string(eos.Encode(d, eos.UCTxQueue).Append(nil))
		case "n1":
			return string(nxos.Encode(d, nxos.EightQueue).Append(nil))
		}
		if len(doc) == 0 {
			return ""
		}
		return string(doc.AppendJSON(nil))
	}
	for name, d := range devices(t, strings.NewReplacer("SONIC", "", "EOS", "", "NXOS", "").Replace(head)) {
		want := d.Desired
		if want.GlobalMaps.Set || want.WatchdogPoll.Set || want.HeadroomModel.Set {
			t.Errorf("%s without a port: %+v", name, want)
		}
		if text := native(name, want, sonic.Document(want, d.Model)); text != "" {
			t.Errorf("%s without a port: %s", name, text)
		}
	}
	for name, d := range devices(t, strings.NewReplacer("SONIC", ", ports: {Ethernet0: {}}", "EOS", ", ports: {Ethernet1/1: {}}", "NXOS", ", ports: {Ethernet1/1: {}}").Replace(head)) {
		want := d.Desired
		if want.GlobalMaps.Set == (name == "n1") || want.WatchdogPoll.Set == (name == "e1") || want.HeadroomModel.Set != (name == "s1") {
			t.Errorf("%s with a port: %+v", name, want)
		}
	}
}
