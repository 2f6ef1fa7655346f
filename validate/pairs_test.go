package validate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/known"
)

// pair is a fabric that triggers a check, and its healthy twin: the base without the change.
// The change replaces one token in the intent or, if config names a switch, in that switch's
// saved configuration.
type pair struct {
	id       string
	severity checks.Severity
	base     string // a name in bases; "" is "clos"
	config   string
	old, new string
	// edit changes one value of the running state of config, instead of old and new.
	edit  func(*qos.Device, *checks.State)
	place string
	says  string   // part of the finding's text
	fix   string   // part of the fix
	also  []string // checks that the same change triggers for another reason
}

// bases are healthy fabrics.
var bases = map[string]string{
	"pair": base,
	// The switch decides how queues share a port.
	"kept shares": strings.Replace(closBase, "trust: dscp\n", "trust: dscp\nkeep: {bandwidth: true}\n", 1),
	"clos":        closBase,
	"trimmed": strings.NewReplacer("trust: dscp\n", "trust: dscp\ntrimming: {classes: [bulk], size: 256B, dscp: 12}\nloadBalancing: {mode: flowlet, queuePair: true}\n",
		"bandwidth: 40%}", "bandwidth: 20%}\n  bulk: {priority: 1, dscp: [10], bandwidth: 20%}",
		"leaf3: {os: sonic,", "leaf3: {os: sonic, trimming: {classes: [bulk], dscp: 12, size: 256B}, loadBalancing: {mode: flowlet},").Replace(closBase),
	"spray": strings.Replace(closBase, "trust: dscp\n", "trust: dscp\nloadBalancing: {mode: packet, queuePair: false}\n", 1),
	// These shares leave some bandwidth for the class of notifications.
	"shares 30": strings.Replace(closBase, "bandwidth: 40%", "bandwidth: 30%", 1),
	"shares 35": strings.Replace(closBase, "bandwidth: 40%", "bandwidth: 35%", 1),
	// No class is named for notifications, and any of the strict classes may be for them.
	"no cnp": strings.NewReplacer("  cnp: {priority: 6, dscp: [48], strict: true}\n", "  notif: {priority: 2, dscp: [48], strict: true, maxRate: 10G}\n  video: {priority: 4, dscp: [34], strict: true, maxRate: 10G}\n  voice: {priority: 5, dscp: [46], strict: true, maxRate: 10G}\n",
		"bandwidth: 40%", "bandwidth: 35%").Replace(closBase),
	"listed":     strings.Replace(closBase, "dscp: rest", "dscp: [0-25, 27-47, 49-63]", 1),
	"notif":      strings.NewReplacer("cnp:", "notif:", "bandwidth: 40%", "bandwidth: 35%").Replace(closBase),
	"limited":    strings.Replace(closBase, "  default:", "  voice: {priority: 5, dscp: [46], strict: true, maxRate: 10G}\n  default:", 1),
	"stricts":    strings.NewReplacer("cnp:", "notif:", "  default:", "  voice: {priority: 5, dscp: [46], strict: true, maxRate: 10G}\n  default:").Replace(closBase),
	"three":      strings.NewReplacer("bandwidth: 60%, ", "bandwidth: 20%, ", "  default:", "  b: {priority: 4, dscp: [34], lossless: true, bandwidth: 20%, ecn: auto}\n  c: {priority: 5, dscp: [35], lossless: false, bandwidth: 20%, ecn: auto}\n  default:", "rdma: {lossless: true}", "rdma: {}").Replace(closBase),
	"rails":      strings.NewReplacer("eth0: {rdma: mlx5_0}", "eth0: {rdma: mlx5_0}, eth1: {rdma: mlx5_1}", "gpu2/eth0", "gpu1/eth1").Replace(closBase),
	"slow":       strings.NewReplacer("detect: 400ms, ", "detect: 900ms, ", ", watchdog: {detect: 400ms}", "").Replace(closBase),
	"spine port": strings.Replace(closBase, "address: \"192.0.2.21:8080\",", "address: \"192.0.2.21:8080\", ports: {Ethernet0: {trust: dscp, classes: {rdma: {lossless: true}}}},", 1),
	"spare":      strings.Replace(closBase, "address: \"192.0.2.11:8080\",", "address: \"192.0.2.11:8080\", ports: {Ethernet16: {classes: {rdma: {lossless: false}}}},", 1),
	"spare 3":    strings.Replace(closBase, "address: \"192.0.2.11:8080\",", "address: \"192.0.2.11:8080\", ports: {Ethernet16: {speed: 400G, cable: 5m}},", 1),
	"fec":        strings.Replace(closBase, "address: \"192.0.2.11:8080\",", "address: \"192.0.2.11:8080\", ports: {Ethernet240: {fec: rs}},", 1),
	"traffic":    closBase + "traffic:\n  nccl: {dscp: [26], kind: gpu}\n  nvme: {dscp: [26], kind: gpu}\n",
	"accepted":   closBase + "suppress:\n  - {check: ECN-06, reason: tested, until: 2026-12-31}\n",
	// Spectrum-4 computes its own headroom.
	"spc4": strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-SN5600", "40m, speed: 400G", "40m, speed: 800G", "  default:", "  store: {priority: 4, dscp: [34], lossless: true, bandwidth: 1%, ecn: auto}\n  default:", "bandwidth: 40%", "bandwidth: 39%", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto",
		"mtu: {fabric: 9100, host", "buffers: {alpha: 0, minLosslessPacket: 1024B, overSubscription: 2}\nmtu: {fabric: 9100, host", "mtu: {fabric: 9100}", "mtu: {fabric: 9100}, buffers: {alpha: 0}").Replace(closBase),
	"spc4 slow": strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-SN5600", "40m, speed: 400G", "40m, speed: 800G", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto",
		"trust: dscp, mtu: {fabric: 9100}", "trust: dscp, mtu: {fabric: 9100}, buffers: {pauseResponse: 905q}").Replace(closBase),
	"spc4 alone": strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-SN5600", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base),
	"spc3":       strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-MSN4700", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", "cable: 40m", "cable: 2000m").Replace(base),
	"spc2":       strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-MSN3700", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", "[0,8]", "[0,4]", "400G", "100G", "cable: 40m", "cable: 2000m").Replace(base),
	"spc1": strings.NewReplacer("DellEMC-Z9332f-O32", "ACS-MSN2700", "400G", "100G", "[240,248]", "[100,104]", "[0,8,16]", "[0,4,8]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto",
		"mtu: {fabric: 9100, host: 9000, rdma: 4096}", "buffers: {alpha: -7, fanIn: 4}\nmtu: {fabric: 9100, host: 9000, rdma: 1024}").Replace(closBase),
	"th":          strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7060CX-32S-C32", "400G", "100G", "[0,8]", "[0,4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", "links:", "buffers: {fanIn: 4}\nlinks:").Replace(base),
	"th many":     strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7060CX-32S-C32", "400G", "100G", "[0,8]", "[0-48:4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base),
	"th declared": strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7060CX-32S-C32", "400G", "100G", "[0,8]", "[0-32:4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", "links:", "buffers: {overSubscription: 1.1}\nlinks:").Replace(base),
	"th nine":     strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7060CX-32S-C32", "400G", "100G", "[0,8]", "[0-32:4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base),
	"th2":         strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7260CX3-C64", "400G", "100G", "[0,8]", "[0-32:4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base),
	"th sixteen":  strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7060CX-32S-C32", "400G", "100G", "[0,8]", "[0-60:4]", "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base),
	"measured":    base + "measured:\n  - {model: DellEMC-Z9332f-O32, speed: 400G, cable: 40m, headroom: 150000B, pause: 3800000B, date: 2026-11-01, source: probe of leaf1}\n",
	// Its lossless queues have a separate egress pool and a dynamic threshold.
	"tofino":           strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7170-64C", "1500KB", "600KB", "[0,8]", "[0,4]", "400G", "100G", "links:", "buffers: {alpha: 0}\nlinks:").Replace(base),
	"alpha":            strings.Replace(closBase, "mtu: {fabric: 9100, host", "buffers: {alpha: 0}\nmtu: {fabric: 9100, host", 1),
	"alpha of a class": strings.NewReplacer("60%, ", "60%, alpha: 0, ", "192.0.2.22:8080\", model: DellEMC-Z9332f-O32}", "192.0.2.22:8080\", model: DellEMC-Z9332f-O32, classes: {rdma: {alpha: 0}}}").Replace(closBase),
	"fan out":          strings.Replace(closBase, "mtu: {fabric: 9100, host", "buffers: {fanOut: 2, pauseResponse: 900q}\nmtu: {fabric: 9100, host", 1),
	"table":            strings.NewReplacer("DellEMC-Z9332f-O32", "DS3000", "400G", "100G", "[0,8]", "[0,4]", "1500KB", "400KB").Replace(base),
	"row":              strings.NewReplacer("DellEMC-Z9332f-O32", "DS3000", "400G", "100G", "[0,8]", "[0,4]", "cable: 40m", "cable: 300m", "1500KB", "400KB", "links:", "buffers: {alpha: 0}\nlinks:").Replace(base),
	"shared":           strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7050CX3-32S-C32", "Ethernet[0,8]", "Ethernet[0-124:4]", "400G", "100G", "links:", "buffers: {overSubscription: 4}\nlinks:").Replace(base),
	"curve":            strings.Replace(closBase, "rdma: {lossless: true}", "rdma: {lossless: true, ecn: {min: 150KB, max: 1500KB, probability: 10%}}", 1),
	// The second spine states the settings of the fabric again.
	"spine":    strings.Replace(closBase, "192.0.2.22:8080\", model: DellEMC-Z9332f-O32}", "192.0.2.22:8080\", model: DellEMC-Z9332f-O32, classes: {rdma: {ecn: {min: 150KB, max: 1500KB, probability: 10%}}}, pfc: {watchdog: {restore: 400ms}}}", 1),
	"long":     strings.Replace(closBase, "pattern: mesh, cable: 40m", "pattern: mesh, cable: 120m", 1),
	"shares":   strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7050CX3-32S-C32", "Ethernet[0,8]", "Ethernet[0-124:4]", "400G", "100G", "links:", "buffers: {overSubscription: 6}\nlinks:").Replace(base),
	"dual tor": dualToR,
	"marked":   strings.NewReplacer("bandwidth: 40%", "bandwidth: 30%", "  default:", "  tcp: {priority: 2, dscp: [18], bandwidth: 10%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}\n  default:").Replace(closBase),
	// Two classes of hosts, and two that carry them between switches after a remap.
	"bounces": strings.NewReplacer("bandwidth: 60%, ", "bandwidth: 30%, ", "  default:", "  b: {priority: 4, dscp: [34], lossless: true, bandwidth: 20%, ecn: auto}\n  x: {priority: 2, dscp: [18], lossless: true, bandwidth: 5%, ecn: auto}\n  y: {priority: 5, dscp: [42], lossless: true, bandwidth: 4%, ecn: auto}\n  z: {priority: 1, dscp: [10], lossless: false, bandwidth: 1%, ecn: auto}\n  default:",
		"address: \"192.0.2.11:8080\"", bouncing("192.0.2.11"), "address: \"192.0.2.12:8080\"", bouncing("192.0.2.12"), "address: \"192.0.2.13:8080\"", bouncing("192.0.2.13")).Replace(closBase),
	// Packets of hosts just fit into tunnels.
	"vxlan": strings.Replace(closBase, "host: 9000", "host: 9050", 1) + "vxlan: {ends: [\"leaf[1-3]\"], underlay: ipv4, innerTag: false}\n",
	"tiers": threeTiers,
	"chain": strings.Replace(closBase, "  - {a: \"leaf[1-3]/Ethernet[240,248]\", b: \"spine[1-2]/Ethernet[0,8,16]\", pattern: mesh, cable: 40m, speed: 400G}\n",
		"  - {a: \"leaf[1-2]/Ethernet240\", b: \"spine1/Ethernet[0,8]\", cable: 40m, speed: 400G}\n  - {a: leaf2/Ethernet248, b: spine2/Ethernet8, cable: 40m, speed: 400G}\n  - {a: leaf3/Ethernet240, b: spine1/Ethernet16, cable: 40m, speed: 400G}\n", 1),
	"islands": strings.NewReplacer("  gpu3: {address: 192.0.2.103, nics: {eth0: {rdma: mlx5_0}}}\n", "  gpu3: {address: 192.0.2.103, nics: {eth0: {rdma: mlx5_0}}}\n  gpu4: {address: 192.0.2.104, nics: {eth0: {rdma: mlx5_0}}}\n",
		"  - {a: \"leaf[1-3]", "  - {a: leaf3/Ethernet8, b: gpu4/eth0, cable: 5m, speed: 400G}\n  - {a: \"leaf[1-3]").Replace(closBase) + "islands:\n  a: {hosts: [gpu1, gpu2], switches: [leaf1, leaf2, spine1, spine2]}\n  b: {hosts: [gpu3, gpu4]}\n",
	"small":    strings.NewReplacer("host: 9000", "host: 4200", "spine1: {os: sonic,", "spine1: {os: sonic, mtu: {fabric: 4200, host: 4000, rdma: 2048},").Replace(closBase),
	"lag":      strings.Replace(closBase, "model: DellEMC-Z9332f-O32}\n  leaf2", "model: DellEMC-Z9332f-O32, ports: {Ethernet240: {lag: PortChannel1}, Ethernet248: {lag: PortChannel1, mtu: {fabric: 9100}}}}\n  leaf2", 1),
	"lossy":    strings.NewReplacer("lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}", "bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}, mode: lossy", ", classes: {rdma: {lossless: true}}", "").Replace(closBase),
	"lossless": strings.Replace(closBase, ", classes: {rdma: {lossless: true}}", "", 1),
	"auto":     strings.Replace(closBase, "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", 1),
}

// bouncing returns a leaf whose classes x, y and z are lossless only to spines.
func bouncing(address string) string {
	return fmt.Sprintf("address: \"%s:8080\", ports: {Ethernet0: {classes: {x: {lossless: false}, y: {lossless: false}, z: {lossless: false}}}}", address)
}

const closBase = `apiVersion: roce-fabric/v1
kind: Fabric
name: clos
trust: dscp
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {asymmetric: false, watchdog: {detect: 400ms, restore: 400ms, poll: 200ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  leaf1: {os: sonic, role: leaf, release: 202511, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32}
  leaf2: {os: sonic, role: leaf, release: 202511, address: "192.0.2.12:8080", model: DellEMC-Z9332f-O32}
  leaf3: {os: sonic, role: leaf, release: 202511, address: "192.0.2.13:8080", model: DellEMC-Z9332f-O32, trust: dscp, mtu: {fabric: 9100}, classes: {rdma: {lossless: true}}, pfc: {asymmetric: false, watchdog: {detect: 400ms}}}
  spine1: {os: sonic, role: spine, release: 202511, address: "192.0.2.21:8080", model: DellEMC-Z9332f-O32}
  spine2: {os: sonic, role: spine, release: 202511, address: "192.0.2.22:8080", model: DellEMC-Z9332f-O32}
hosts:
  gpu1: {address: 192.0.2.101, nics: {eth0: {rdma: mlx5_0}}}
  gpu2: {address: 192.0.2.102, nics: {eth0: {rdma: mlx5_0}}}
  gpu3: {address: 192.0.2.103, nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: leaf1/Ethernet0, b: gpu1/eth0, cable: 5m, speed: 400G}
  - {a: leaf2/Ethernet0, b: gpu2/eth0, cable: 5m, speed: 400G}
  - {a: leaf3/Ethernet0, b: gpu3/eth0, cable: 5m, speed: 400G}
  - {a: "leaf[1-3]/Ethernet[240,248]", b: "spine[1-2]/Ethernet[0,8,16]", pattern: mesh, cable: 40m, speed: 400G}
`

// dualToR is a fabric in which a leaf tunnels packets that it cannot deliver to the other leaf,
// in a separate class that is lossless only between switches.
var dualToR = closHead + `switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[11-12]:8080", model: DellEMC-Z9332f-O32, ports: {Ethernet0: {classes: {bounce: {lossless: false}}}}}
  leaf3: {os: sonic, role: leaf, address: "192.0.2.13:8080", model: DellEMC-Z9332f-O32, classes: {bounce: {lossless: false}}, ports: {Ethernet0: {classes: {bounce: {lossless: false}}}}}
  spine[1-2]: {os: sonic, role: spine, address: "192.0.2.[21-22]:8080", model: DellEMC-Z9332f-O32, ports: {Ethernet16: {classes: {bounce: {lossless: false}}}}}
hosts:
  gpu[1-3]: {address: "192.0.2.[101-103]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: "leaf[1-3]/Ethernet0", b: "gpu[1-3]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf[1-3]/Ethernet[240,248]", b: "spine[1-2]/Ethernet[0,8,16]", pattern: mesh, cable: 40m, speed: 400G}
routing:
  tunnels: [{from: "leaf[1,2]", to: "leaf[2,1]", remap: [{class: rdma, as: bounce}]}]
`

const closHead = `apiVersion: roce-fabric/v1
kind: Fabric
name: clos
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 50%, ecn: auto}
  bounce: {priority: 2, dscp: [27], lossless: true, bandwidth: 10%, ecn: auto}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
`

// threeTiers has two pods. Its top tier follows a default route out of the fabric.
var threeTiers = strings.Replace(closHead, "dscp: [27], lossless: true", "dscp: [27], lossless: false", 1) + `switches:
  leaf[1-4]: {os: sonic, role: leaf, address: "192.0.2.[11-14]:8080", model: DellEMC-Z9332f-O32}
  spine[1-4]: {os: sonic, role: spine, address: "192.0.2.[21-24]:8080", model: DellEMC-Z9332f-O32}
  core[1-2]: {os: sonic, role: superspine, address: "192.0.2.[31-32]:8080", model: DellEMC-Z9332f-O32}
hosts:
  gpu[1-4]: {address: "192.0.2.[101-104]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: "leaf[1-4]/Ethernet0", b: "gpu[1-4]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf[1-2]/Ethernet[240,248]", b: "spine[1-2]/Ethernet[0,8]", pattern: mesh, cable: 40m, speed: 400G}
  - {a: "leaf[3-4]/Ethernet[240,248]", b: "spine[3-4]/Ethernet[0,8]", pattern: mesh, cable: 40m, speed: 400G}
  - {a: "spine[1-4]/Ethernet[240,248]", b: "core[1-2]/Ethernet[0,8,16,24]", pattern: mesh, cable: 40m, speed: 400G}
routing:
  exceptions: [{kind: default-up, switches: [role:superspine]}]
`

var pairs = slices.Concat(classPairs, pfcPairs, bufferPairs, memoryPairs, ecnPairs, schedulerPairs, mtuPairs, watchdogPairs, topologyPairs, portPairs, operationPairs, forwardingPairs, runningPairs)

// today is the date that all tests use.
var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// found runs all checks on the base or, with trip, on the fabric with the change.
func (p pair) found(t *testing.T, trip bool) []checks.Finding {
	t.Helper()
	return p.foundBy(t, trip, func(_ *intent.Fabric, r *Result) *Result { return r })
}

// foundBy passes the result of each switch through hand before results are compared.
func (p pair) foundBy(t *testing.T, trip bool, hand func(*intent.Fabric, *Result) *Result) []checks.Finding {
	t.Helper()
	old, new := p.old, p.new
	if !trip {
		old, new = "", ""
	}
	text := bases["clos"]
	if p.base != "" {
		text = bases[p.base]
	}
	if p.config == "" {
		c := compile(t, replaced(t, text, old, new))
		fs, err := Intent(t.Context(), c, today, nil)
		if err != nil {
			t.Fatal(err)
		}
		return fs
	}
	c := compile(t, text)
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		cfg, st := saved(d), checks.State{Ports: portsUp(d)}
		if sw.Name == p.config {
			cfg = replaced(t, cfg, old, new)
		}
		have := decoded(t, cfg)
		for _, q := range have.Ports {
			q.AdminUp = qos.Of(true)
		}
		if sw.Name == p.config && p.edit != nil && trip {
			p.edit(have, &st)
		}
		run.Add(hand(c.Fabric(), Switch(d, have, checks.Running, &st)))
	}
	if err := run.Deadlocks(context.Background()); err != nil {
		t.Fatal(err)
	}
	return run.Findings(today)
}

// portsUp returns the state of a switch's ports with all links up and cabled as intended.
func portsUp(d *render.Device) map[string]*drivers.PortState {
	out := map[string]*drivers.PortState{}
	for name := range d.Desired.Ports {
		out[name] = &drivers.PortState{OperUp: qos.Of(true), FEC: qos.Of("rs"), AdminFEC: qos.Of("rs")}
		if p := d.Switch.Port(name); p.Link != nil {
			peer, _ := p.Peer()
			out[name].Neighbors = []qos.Neighbor{{Device: peer.Device, Port: peer.Port}}
		}
	}
	return out
}

// saved returns the configuration that a switch saves after an apply, with the lossless groups
// that the switch creates itself.
func saved(d *render.Device) string {
	doc := sonic.Document(d.Desired, d.Model)
	doc.Put(sonic.TMetadata, "localhost", sonic.Row{"type": map[string]string{"leaf": "ToRRouter", "spine": "LeafRouter", "superspine": "SpineRouter"}[d.Switch.Role], "buffer_model": map[bool]string{true: "dynamic", false: "traditional"}[d.Desired.Platform.DynamicBuffers]})
	if d.Fabric.VXLAN.EndsAt(d.Switch) {
		doc.Put(sonic.TVXLAN, "vtep", sonic.Row{"src_ip": "10.0.0.1", "qos-mode": "uniform"})
	}
	for name, p := range d.Desired.Ports {
		for i, g := range p.Groups {
			if !g.DerivedFrom.Set {
				continue
			}
			speed, cable, _ := strings.Cut(g.DerivedFrom.V, " ")
			profile := "pg_lossless_" + strings.TrimSuffix(speed, "G") + "000_" + cable + "_profile"
			doc.Put("BUFFER_PG", name+"|"+strconv.Itoa(i), sonic.Row{"profile": profile})
			doc.Put("BUFFER_PROFILE", profile, sonic.Row{"pool": "ingress_lossless_pool", "size": "1270", "xon": "0", "xon_offset": "2540", "xoff": "300000", "dynamic_th": "0"})
		}
	}
	return string(doc.AppendJSON(nil))
}

func decoded(t *testing.T, text string) *qos.Device {
	t.Helper()
	cfg, err := sonic.Parse([]byte(text), sonic.WantTable)
	if err != nil {
		t.Fatal(err)
	}
	have, _ := sonic.Decode(cfg)
	have.Platform.Release = "202511"
	return have
}

func replaced(t *testing.T, text, old, new string) string {
	t.Helper()
	if old == new {
		return text
	}
	i := strings.Index(text, old)
	if i < 0 {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	return text[:i] + new + text[i+len(old):]
}

// TestPairs checks that each check has a fabric that triggers it, and a twin that differs in
// one token and does not.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of fabrics")
	}
	for _, p := range pairs {
		t.Run(p.id+" "+p.says, func(t *testing.T) {
			t.Parallel()
			if n := tokensApart(p.old, p.new); n > 1 {
				t.Errorf("%q and %q are %d tokens apart", p.old, p.new, n)
			}
			if fs := p.found(t, false); slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.Severity != checks.Info }) {
				t.Errorf("the sound twin has findings: %v", fs)
			}
			hit := false
			var near []string
			for _, f := range p.found(t, true) {
				if f.About(p.id) {
					near = append(near, fmt.Sprintf("%s at %s: %s; fix: %s", f.Severity, f.Place(), f.What, f.Fix))
				}
				switch {
				case f.About(p.id) && severityOf(f, p.id) == p.severity && f.Place() == p.place && strings.Contains(f.What, p.says) && strings.Contains(f.Fix, p.fix):
					hit = true
				case f.About(p.id) || f.Severity == checks.Info || slices.Contains(p.also, f.ID): // the same cause elsewhere
				default:
					t.Errorf("found: %s %s at %s: %s; fix: %s; peers %v; intent %s", f.Severity, f.ID, f.Place(), f.What, f.Fix, f.Peers, f.Where)
				}
			}
			if !hit {
				t.Errorf("%s %s at %s, %q, is not found, but %q", p.severity, p.id, p.place, p.says, near)
			}
		})
	}
}

// severityOf returns the severity that a finding gives to a check.
func severityOf(f checks.Finding, id string) checks.Severity {
	if i := slices.IndexFunc(f.Covered, func(c checks.Covered) bool { return c.ID == id }); i >= 0 {
		return f.Covered[i].Severity
	}
	return f.Severity
}

var tokenRE = regexp.MustCompile(`\{[^{}]*\}|[\w.%*+-]+`)

// TestFolded checks that no finding covers its own check, or one that has a finding at the same
// place, and that the checks into which others are folded are made and no cycle.
func TestFolded(t *testing.T) {
	covered := map[string]bool{}
	for _, p := range pairs {
		fs := p.found(t, true)
		for _, f := range fs {
			for _, id := range f.Covers {
				covered[id] = true
				if c := Lookup(id); c == nil || id == f.ID {
					t.Errorf("%s covers %s", f.ID, id)
				}
			}
		}
	}
	if len(covered) < 15 {
		t.Errorf("only %d checks are covered by findings of others", len(covered))
	}
	for _, c := range Checks() {
		for _, id := range c.FoldedIn {
			if in := Lookup(id); in == nil || !in.Made() || foldDepth(id) >= foldDepth(c.ID) {
				t.Errorf("%s is folded into %s", c.ID, id)
			}
		}
	}
}

// tokensApart counts the differing tokens of the longer of two texts that differ in one place.
// A flow map without nested maps counts as one token, and so does a key that is added or
// removed with its value.
func tokensApart(a, b string) int {
	x, y := tokenRE.FindAllString(a, -1), tokenRE.FindAllString(b, -1)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	n := max(len(x), len(y))
	if min(len(x), len(y)) == 0 {
		n = (n + 1) / 2
	}
	return n
}

// TestEveryCheckHasAPair fails for a check that no fabric triggers. Checks of hosts have their
// faults in TestHost.
func TestEveryCheckHasAPair(t *testing.T) {
	has := map[string]bool{}
	for _, p := range pairs {
		has[p.id] = true
	}
	for _, c := range hostCases() {
		has[c.id] = true
	}
	for _, c := range gateCases {
		has[c.id] = true
	}
	for _, id := range []string{"ECN-12", "NIC-08", "NIC-25", "TUN-03"} { // ECN-12, NIC-08: TestHosts; NIC-25: TestRoutesOfRails; TUN-03: TestTunnelsOfTwoKinds
		has[id] = true
	}
	for _, id := range []string{"OPS-04", "WD-04", "READ", "YANG", "TOP-09"} { // checks that commands make; TestRefusedIsOneFindingACause, TestNoLinks
		has[id] = true
	}
	for _, id := range []string{"CFG-01", "CFG-02", "CLS-19", "PFC-15", "PRT-07", "WD-06"} { // TestAloneNamesFaults, TestBrokenConfigurationsAreNamed in package fleet
		has[id] = true
	}
	for i := range known.Checks { // TestKnownFaults, TestKnownFaultsOfHosts
		has[known.Checks[i].ID] = true
	}
	for _, c := range Checks() {
		if c.Made() && !has[c.ID] {
			t.Errorf("no fabric trips %s", c.ID)
		}
		if !c.Made() && has[c.ID] {
			t.Errorf("%s is found and said not to be made", c.ID)
		}
	}
}

// TestChecksDescribeThemselves checks that each check has the texts that lists, help and
// reports need.
func TestChecksDescribeThemselves(t *testing.T) {
	for _, c := range Checks() {
		if c.Title == "" || c.Why == "" || c.Fix == "" || len(c.Rules) == 0 || c.Scope == "" || c.Reads == 0 {
			t.Errorf("%s says too little: %+v", c.ID, c)
		}
		for i, r := range c.Rules {
			if r.Severity.Rank() < 0 || i > 0 && r.Severity.Rank() <= c.Rules[i-1].Severity.Rank() || len(c.Rules) > 1 && i < len(c.Rules)-1 && r.When == "" {
				t.Errorf("%s: rule %d is %+v", c.ID, i, r)
			}
		}
	}
	if c := Lookup("cls-01"); c == nil || c.ID != "CLS-01" || Lookup("CLS-99") != nil {
		t.Errorf("CLS-01 is looked up as %v", c)
	}
}

func ExampleCheck_Rule() {
	fmt.Println(Lookup("BUF-01").Rule())
	// Output: error below what is in flight in the cable, or below what was measured, warning below the model of the standard, info where the platform ships no more, the headroom is not known, or the chip may lose packets before it is full
}
