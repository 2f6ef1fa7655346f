package intent

import (
	"fmt"
	"testing"
)

// TestECNBySpeed checks which curve a port has when ecn states curves by speed: the innermost layer
// that states one for the speed of the port or for all speeds, and where its values are from.
func TestECNBySpeed(t *testing.T) {
	const text = header + `classes:
  rdma: {priority: 3, dscp: [26], lossless: true, ecn: {probability: 20%, bySpeed: {
    100G: {min: 100KB, max: 200KB},
    400G: {min: 400KB, max: 800KB, probability: 40%}}}}
  default: {priority: 0, dscp: rest}
roles:
  spine: {classes: {rdma: {ecn: {bySpeed: {100G: {min: 110KB, max: 210KB, probability: 1%}, 200G: {min: 200KB, max: 300KB}}}}}}
  core: {classes: {rdma: {ecn: {auto: true, probability: 7%}}}}
switches:
  leaf1:
    os: sonic
    ports:
      Ethernet100: {classes: {rdma: {ecn: {probability: 30%}}}}
      Ethernet104: {classes: {rdma: {ecn: {min: 1KB, max: 2KB}}}}
      Ethernet108: {classes: {rdma: {ecn: auto}}}
      Ethernet112: {classes: {rdma: {ecn: {min: 1KB, max: 2KB, bySpeed: {400G: {min: 3KB, max: 4KB}}}}}}
  spine1: {os: sonic, role: spine}
  core1: {os: sonic, role: core, ports: {Ethernet4: {classes: {rdma: {ecn: {bySpeed: {400G: {min: 3KB, max: 4KB}}}}}}}}
hosts: {h: {nics: {"n[0-9]": {}, "p[0-9]": {}, x: {rdma: none}}}}
links:
  - {a: "leaf1/Ethernet[0,4,100]", b: "h/n[0-2]", cable: 5m, speed: 100G}
  - {a: "leaf1/Ethernet[104,108,112]", b: "h/n[3-5]", cable: 5m, speed: 100G}
  - {a: leaf1/Ethernet116, b: h/x, cable: 5m, speed: 400G}
  - {a: leaf1/Ethernet120, b: h/p0, cable: 5m, speed: 400G}
  - {a: "spine1/Ethernet[0,4,8]", b: "h/p[1-3]", cable: 5m, speed: 100G}
  - {a: spine1/Ethernet100, b: h/p4, cable: 5m, speed: 200G}
  - {a: spine1/Ethernet104, b: h/p5, cable: 5m, speed: 400G}
  - {a: core1/Ethernet0, b: h/p6, cable: 5m, speed: 400G}
  - {a: core1/Ethernet4, b: h/p7, cable: 5m, speed: 400G}
`
	f := load(t, text)
	at := func(name string, port string) *Port {
		p := f.Switch(name).Port(port)
		if p == nil {
			t.Fatalf("no %s %s", name, port)
		}
		return p
	}
	for _, c := range []struct {
		name, port string
		want       string
		line       int
	}{
		{"leaf1", "Ethernet0", "fixed 100KB 200KB 20%", 6},
		{"leaf1", "Ethernet100", "fixed 100KB 200KB 30%", 6},
		{"leaf1", "Ethernet104", "fixed 1KB 2KB 20%", 17},
		{"leaf1", "Ethernet108", "auto 5%", 18},
		{"leaf1", "Ethernet112", "fixed 1KB 2KB 20%", 19},
		{"leaf1", "Ethernet116", "fixed 400KB 800KB 40%", 7},
		{"leaf1", "Ethernet120", "fixed 400KB 800KB 40%", 7},
		{"spine1", "Ethernet8", "fixed 110KB 210KB 1%", 10},
		{"spine1", "Ethernet100", "fixed 200KB 300KB 20%", 10},
		{"spine1", "Ethernet104", "fixed 400KB 800KB 40%", 7},
		{"core1", "Ethernet0", "auto 7%", 11},
		{"core1", "Ethernet4", "fixed 3KB 4KB 7%", 21},
	} {
		e := at(c.name, c.port).Settings.Class("rdma").ECN
		got := fmt.Sprintf("fixed %s %s %s", e.Min.V, e.Max.V, e.Probability.V)
		if e.Mode.V == ECNAuto {
			got = fmt.Sprintf("auto %s", e.Probability.V)
		}
		if got != c.want || e.Mode.From.Pos.Line != c.line {
			t.Errorf("%s %s: %s from line %d, want %s from line %d", c.name, c.port, got, e.Mode.From.Pos.Line, c.want, c.line)
		}
	}
	if at("leaf1", "Ethernet0").Settings != at("leaf1", "Ethernet4").Settings {
		t.Error("two ports that are alike do not share their settings")
	}
	if at("leaf1", "Ethernet116").Settings.Lossless() != 0 {
		t.Error("the port of a NIC without RDMA has a lossless class")
	}
}

// TestAlphaOfAClass checks that a lossless class has its own alpha, or else that of all, and a lossy
// class none.
func TestAlphaOfAClass(t *testing.T) {
	f := load(t, header+`buffers: {alpha: -1}
classes:
  a: {priority: 3, dscp: [26], lossless: true, alpha: -3}
  b: {priority: 4, dscp: [34], lossless: true}
  c: {priority: 0, dscp: rest}
switches:
  s1: {os: sonic}
  s2: {os: sonic, buffers: {alpha: 2}, classes: {b: {alpha: 1}}}
  s3: {os: sonic, classes: {a: {lossless: false}}}
`)
	for name, want := range map[string]string{"s1": "own -3, -1, none", "s2": "own -3, own 1, none", "s3": "none, -1, none"} {
		s := f.Switch(name).Settings
		got := ""
		for _, class := range []string{"a", "b", "c"} {
			switch k := s.Class(class); {
			case k.Alpha.V == nil:
				got += ", none"
			case s.OwnAlpha(k):
				got += fmt.Sprintf(", own %d", *k.Alpha.V)
			default:
				got += fmt.Sprintf(", %d", *k.Alpha.V)
			}
		}
		if got != ", "+want {
			t.Errorf("%s has %s, want %s", name, got[2:], want)
		}
	}
}
