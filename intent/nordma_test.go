package intent

import "testing"

// TestNICWithoutRDMA checks that rdma: none makes the classes for RDMA lossy on the NIC's switch port
// and on no other, whether a line of the port, the role or the fabric states them.
func TestNICWithoutRDMA(t *testing.T) {
	f := load(t, `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, ecn: {min: 150KB, max: 1500KB}}
  storage: {priority: 4, dscp: [34], mode: lossless}
  best: {priority: 0, dscp: rest}
switches:
  leaf1: {os: sonic, address: "192.0.2.1:8080", ports: {Ethernet8: {classes: {best: {maxRate: 10G}}}}}
hosts:
  "gpu[1-2]": {nics: {eth0: {rdma: none}, eth1: {rdma: mlx5_0}}}
links:
  - {a: "leaf1/Ethernet[0,4]", b: "gpu[1-2]/eth1", cable: 5m, speed: 100G}
  - {a: "leaf1/Ethernet[8,12]", b: "gpu[1-2]/eth0", cable: 5m, speed: 100G}
`)
	sw := f.Switch("leaf1")
	for port, want := range map[string]string{"Ethernet0": "{3,4}", "Ethernet4": "{3,4}", "Ethernet8": "{}", "Ethernet12": "{}"} {
		s := sw.Port(port).Settings
		if got := s.Lossless().String(); got != want {
			t.Errorf("%s: lossless are %s, want %s", port, got, want)
		}
		if got := s.Watchdog.Enabled.V; got != (want != "{}") {
			t.Errorf("%s: the watchdog is %t", port, got)
		}
	}
	rdma := func(port string) *Class { return sw.Port(port).Settings.Classes[1] }
	if k := rdma("Ethernet8"); k.Lossless.From.Pos.Line != 11 || k.RDMA() {
		t.Errorf("%s is lossy by line %v", k.Name, k.Lossless.From)
	}
	if s := sw.Port("Ethernet8").Settings; s.Classes[0].MaxRate.V == 0 {
		t.Error("the port lost its own settings")
	}
	if n := f.Host("gpu1").NIC("eth0"); n.RDMA.V != "" || !n.NoRDMA.V {
		t.Errorf("eth0 has the device %q", n.RDMA.V)
	}
}
