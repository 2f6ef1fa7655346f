package render_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

const buffersHead = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}
  default: {priority: 0, dscp: rest}
`

// clos is a fabric of two leaves with three hosts each, and two spines.
const clos = `switches:
  leaf[1-2]: {os: sonic, role: leaf, model: DellEMC-Z9332f-O32LEAF}
  spine[1-2]: {os: sonic, role: spine, model: ACS-MSN4700SPINE}
hosts: {"gpu[1-6]": {nics: {eth0: {}}HOST}}
links:
  - {a: "leaf1/Ethernet[0-16:8]", b: "gpu[1-3]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf2/Ethernet[0-16:8]", b: "gpu[4-6]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf[1-2]/Ethernet[240,248]", b: "spine[1-2]/Ethernet[0,8]", pattern: mesh, cable: 40m, speed: 400G}
`

func fill(leaf, spine, host string) string {
	return strings.NewReplacer("LEAF", leaf, "SPINE", spine, "HOST", host).Replace(clos)
}

func compiled(t *testing.T, text string) *render.Compiler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(buffersHead+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return compiler(t, file)
}

func port(t *testing.T, c *render.Compiler, sw, name string) (*render.Device, *intent.Port, *intent.Class) {
	t.Helper()
	s := c.Fabric().Switch(sw)
	p := s.Port(name)
	if p == nil {
		t.Fatalf("no port %s %s", sw, name)
	}
	return c.Device(s), p, p.Settings.Class("rdma")
}

func TestFanOf(t *testing.T) {
	for name, c := range map[string]struct {
		text, sw, port string
		in, out        int
		from           string
	}{
		"host port":         {fill("", "", ""), "leaf1", "Ethernet0", 4, 4, "topology: 4 other lossless ports"},
		"uplink":            {fill("", "", ""), "leaf1", "Ethernet240", 3, 4, "topology: 3 lossless ports towards hosts"},
		"spine":             {fill("", "", ""), "spine1", "Ethernet0", 1, 1, "topology: 1 other lossless port"},
		"declared":          {fill(", buffers: {fanIn: 16, fanOut: 8}", "", ""), "leaf1", "Ethernet0", 16, 8, "fabric.yaml:8:"},
		"port that is down": {fill(", ports: {Ethernet8: {admin: down}}", "", ""), "leaf1", "Ethernet0", 3, 3, "topology: 3 other lossless ports"},
		"lossy port":        {fill(", ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}", "", ""), "leaf1", "Ethernet240", 2, 3, "topology: 2 lossless ports towards hosts"},
		// Only uplinks send to the one host port, and they send nowhere else.
		"one host": {fill(", ports: {\"Ethernet[8,16]\": {admin: down}}", "", ""), "leaf1", "Ethernet0", 2, 1, "topology: 2 other lossless ports"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, k := port(t, compiled(t, c.text), c.sw, c.port)
			f := render.FanOf(p, k)
			if f.In.V != c.in || f.Out.V != c.out || !strings.Contains(f.In.From.String(), c.from) {
				t.Errorf("%+v; want %d and %d from %q", f, c.in, c.out, c.from)
			}
		})
	}
}

func TestSharing(t *testing.T) {
	d, p, k := port(t, compiled(t, fill(", buffers: {fanIn: 16, fanOut: 8, alpha: 0}", "", "")), "leaf1", "Ethernet0")
	s := d.Memory(nil).Sharing(p, k)
	const pool = 38462204 / 2 // the template's egress pool, which excludes the reservations of all ports, in two slices
	if s.Pool == nil || s.Pool.Bytes != pool || s.Pool.Alpha.String() != "1" || len(s.Limits) != 3 {
		t.Fatalf("%+v", s)
	}
	for name, want := range map[string]int64{
		headroom.CaseIncast: pool * 16 / 17, headroom.CaseOneToMany: pool / 8 / 9, headroom.CaseWorst: pool / 32 / 2,
	} {
		if l, ok := s.Limit(name); !ok || l.Queue != want {
			t.Errorf("%s: %+v, want %d", name, l, want)
		}
	}
	if s = (&render.Device{Switch: d.Switch, Desired: d.Desired}).Memory(nil).Sharing(p, k); s.Pool != nil || s.Missing == "" || len(s.Limits) != 0 {
		t.Errorf("without a model: %+v", s)
	}
}

// TestAlphaOfClasses checks that the thresholds of each lossless class follow its own alpha, or else
// that of all, and what a switch with one alpha for all of them is given.
func TestAlphaOfClasses(t *testing.T) {
	base := strings.NewReplacer("  default:", "  store: {priority: 4, dscp: [34], lossless: true, bandwidth: 1%, ecn: auto, alpha: -3}\n  default:", "DellEMC-Z9332f-O32", "ACS-SN5600").
		Replace(buffersHead + fill(", buffers: {fanOut: 20, alpha: -1}", "", ""))
	for _, c := range []struct{ edit, rdma, store, mixed string }{
		{"", "1/2", "1/2", ""},
		{", alpha: -1", "1/2", "1/2", ""},
		{", alpha: -3", "1/2", "1/8", "2^-1 for class rdma on Ethernet0, 2^-3 for class store on Ethernet0"},
	} {
		file := filepath.Join(t.TempDir(), "fabric.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(base, ", alpha: -3", c.edit, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		d, p, rdma := port(t, compiler(t, file), "leaf1", "Ethernet0")
		store := p.Settings.Class("store")
		for k, want := range map[*intent.Class]string{rdma: c.rdma, store: c.store} {
			if pool, err := d.Memory(nil).Pool(p, k); err != nil || pool.Alpha.String() != want {
				t.Errorf("%s with%s: alpha %s, want %s, %v", k.Name, c.edit, pool.Alpha, want, err)
			}
		}
		if a, b := render.ECN(p, rdma, d.Model).Auto.Limit.Queue, render.ECN(p, store, d.Model).Auto.Limit.Queue; (a == b) != (c.rdma == c.store) {
			t.Errorf("with%s, the curves are limited to %d and %d", c.edit, a, b)
		}
		if h := d.Desired.HeadroomModel; h.V.Alpha != -1 || h.V.Mixed != c.mixed {
			t.Errorf("with%s, the headroom model is %+v, want %q", c.edit, h, c.mixed)
		}
	}
}

// Computed thresholds follow the declared fan-out, or the worst case of the DCQCN paper over the
// topology if none is declared.
func TestAutoFollowsTheFanOut(t *testing.T) {
	_, p, k := port(t, compiled(t, fill("", "", "")), "leaf1", "Ethernet0")
	d, q, _ := port(t, compiled(t, fill(", buffers: {fanOut: 20}", "", "")), "leaf1", "Ethernet0")
	wide, narrow := render.ECN(p, k, d.Model), render.ECN(q, k, d.Model)
	if l := wide.Auto.Limit; l.Name != headroom.CaseWorst || l.FanOut != 4 || l.Active != 1 {
		t.Errorf("not declared: %+v", l)
	}
	l := narrow.Auto.Limit
	if l.Name != headroom.CaseOneToMany || l.FanOut != 20 || l.Active != 20 || narrow.Curve.Max >= wide.Curve.Max {
		t.Errorf("declared: %+v, max %d; not declared %d", l, narrow.Curve.Max, wide.Curve.Max)
	}
	// alpha is 1/4 here: 38462204 / 2 / 20 / (4 + 20).
	if l.Queue != 40064 || narrow.Auto.Order != headroom.PausesFirst {
		t.Errorf("limit %d, %s", l.Queue, narrow.Auto.Order)
	}
	if narrow.Why != narrow.Auto.String() || !strings.Contains(narrow.Why, "k=20") {
		t.Errorf("why: %s", narrow.Why)
	}
}

// The headroom of a port includes the response time of its peer.
func TestHeadroomFollowsThePeer(t *testing.T) {
	response := func(c *render.Compiler, sw, name string) (bytes float64, source string) {
		d, p, _ := port(t, c, sw, name)
		h := d.Headroom(p)
		if h.Reference == nil {
			t.Fatal(h.NoReference)
		}
		for _, x := range h.Reference.Terms {
			if x.Name == "peer response" {
				return x.Bytes, x.Source
			}
		}
		t.Fatal("no peer response")
		return 0, ""
	}
	c := compiled(t, fill(", buffers: {pauseResponse: 1us}", ", buffers: {pauseResponse: 1000q}", ", pauseResponse: 3us"))
	for _, x := range []struct {
		sw, port string
		want     float64
	}{{"leaf1", "Ethernet0", 150_000}, {"leaf1", "Ethernet240", 64_000}, {"spine1", "Ethernet0", 50_000}} {
		if n, source := response(c, x.sw, x.port); n != x.want || !strings.Contains(source, "fabric.yaml:") {
			t.Errorf("%s %s: %g from %q, want %g", x.sw, x.port, n, source, x.want)
		}
	}
	c = compiled(t, fill("", "", ""))
	if n, source := response(c, "leaf1", "Ethernet0"); n != 57_920 || !strings.Contains(source, "802.3") {
		t.Errorf("standard: %g from %q", n, source)
	}
}

func TestHeadroom(t *testing.T) {
	// The headroom comes from a table row; 1024-byte packets fill cells of 254 bytes.
	d, p, _ := port(t, compiled(t, fill("", "", "")), "leaf1", "Ethernet240")
	h := d.Headroom(p)
	if x, ok := h.XOFF(); !ok || h.Row == nil || h.Computed != nil || x != 201930 {
		t.Errorf("%+v", h)
	}
	wide := h.Reference.XOFF
	d, p, _ = port(t, compiled(t, fill(", buffers: {minLosslessPacket: 4096B}", "", "")), "leaf1", "Ethernet240")
	if h = d.Headroom(p); h.Reference.XOFF >= wide || h.Floor != 20203+2*4192 {
		t.Errorf("larger packets: %d, %d before; floor %d", h.Reference.XOFF, wide, h.Floor)
	}
	u := d.Memory(nil).HeadroomUse()
	// Three ports with 5 m cables and two with 40 m, one lossless group each.
	if want := int64(3*178562 + 2*201930); u.Groups != 5 || u.Sum != want || u.Pool != 27200352 {
		t.Errorf("%+v, want a sum of %d", u, want)
	}
	if _, err := d.Memory(nil).Admission(p); err == nil {
		t.Error("a switch that looks headroom up has no admission test")
	}
	// The reference model can be the one that the switch itself uses.
	d, p, _ = port(t, compiled(t, fill("", ", buffers: {headroom: sonic-dyn}", "")), "spine1", "Ethernet0")
	if h = d.Headroom(p); h.Computed == nil || h.Reference.Model != headroom.ModelSONiCDyn || h.Reference.XOFF != h.Computed.XOFF {
		t.Errorf("%+v", h)
	}
	if a, err := d.Memory(nil).Admission(p); err != nil || !a.Admitted || a.Total <= h.Computed.Size {
		t.Errorf("%+v, %v", a, err)
	}
	if r, ok := d.Memory(nil).HeadroomUse().Ratio(); ok {
		t.Errorf("a pool that the switch sizes has the ratio %g", r)
	}
	d, p, _ = port(t, compiled(t, fill(", buffers: {headroom: sonic-dyn}", "", "")), "leaf1", "Ethernet0")
	if h = d.Headroom(p); h.Reference != nil || h.NoReference == "" {
		t.Errorf("a chip without that model: %+v", h)
	}
}

func TestPoolSizes(t *testing.T) {
	d, p, _ := port(t, compiled(t, fill("", "", "")), "spine1", "Ethernet0")
	r, err := d.PoolSizes()
	if err != nil {
		t.Fatal(err)
	}
	// Two ports of 8 lanes. Each has a lossless group, a lossy group and a management group of
	// 37 KiB, a lossy egress profile of 9216 bytes, and 10 KiB for mirroring.
	size := d.Headroom(p).Computed.Size
	want := 2*(size+2*37*1024+9216+10*1024) + 256*1024
	if r.Occupied != want || r.Size != (60817392-want)/2 || r.SharedHeadroom != 0 {
		t.Errorf("%+v, want %d", r, want)
	}
	// A declared ratio of 2 makes the pool half the headroom of the two groups, each less 10 KiB
	// for its port.
	d, p, _ = port(t, compiled(t, fill("", ", buffers: {overSubscription: 2}", "")), "spine1", "Ethernet0")
	h := d.Headroom(p).Computed
	if r, err = d.PoolSizes(); err != nil || h.Size != h.XON || r.SharedHeadroom != h.XOFF-10*1024 {
		t.Errorf("%+v, %v; headroom %+v", r, err, h)
	}
	d, _, _ = port(t, compiled(t, fill("", "", "")), "leaf1", "Ethernet0")
	if _, err := d.PoolSizes(); err == nil {
		t.Error("a switch that does not compute has sizes")
	}
}

// The intent and package headroom use the same names for the headroom models.
func TestModelNames(t *testing.T) {
	if intent.HeadroomIEEE != headroom.ModelIEEE || intent.HeadroomSONiC != headroom.ModelSONiCDyn {
		t.Error("two names for one model")
	}
}

// Explain returns the numbers that are rendered, and the JSON holds each of them.
func TestExplainBuffers(t *testing.T) {
	c := compiled(t, fill(", buffers: {fanOut: 6, overSubscription: 2}", "", ""))
	d, p, k := port(t, c, "leaf1", "Ethernet0")
	e := render.Explain(d, p)
	if len(e.Buffers) != 1 || e.Pause == nil || e.Use == nil || e.Use.Declared != 2 {
		t.Fatalf("%+v", e)
	}
	b := e.Buffers[0]
	if b.Class != "rdma" || b.FanOut != 6 || b.FanIn != 4 || len(b.Levels) != 2 || len(b.Cases) != 3 {
		t.Errorf("%+v", b)
	}
	for _, l := range b.Levels {
		if l.Pause != b.Pool.Threshold(l.Active) || l.Resume != l.Pause-2540 {
			t.Errorf("%+v", l)
		}
	}
	curve := render.ECN(p, k, d.Model).Curve
	for _, l := range b.Cases {
		if l.Order != l.Judge(curve.Min, curve.Max) || l.Information != (l.Name != headroom.CaseOneToMany) {
			t.Errorf("%+v", l)
		}
	}
	out, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"alpha":"1/4"`, `"fan_out":6`, `"order":"`, `"steps":[{`, `"margin":`, `"frames_a_second_to_hold":`, fmt.Sprintf(`"sum":%d`, 3*178562+2*201930)} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	// A port on which the intent makes the class lossy has no buffer, pause or headroom entries.
	d, p, _ = port(t, compiled(t, fill(", ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}", "", "")), "leaf1", "Ethernet8")
	if e := render.Explain(d, p); e.Buffers != nil || e.Pause != nil || e.Headroom != nil {
		t.Errorf("lossy port: %+v", e)
	}
}

// A switch that divides its memory by shares gives lossless groups that of the lossless pools, less
// their headroom; without the share, nothing is known of the pool.
func TestSharedMemory(t *testing.T) {
	d, p, k := port(t, compiled(t, `switches: {leaf1: {os: cumulus, role: leaf, model: SN5600}}
hosts: {"gpu[1-2]": {nics: {eth0: {}}}}
links: [{a: "leaf1/swp[1-2]", b: "gpu[1-2]/eth0", cable: 5m, speed: 400G}]
`), "leaf1", "swp1")
	group := qos.Group{Lossless: qos.Of(true), Headroom: qos.Of(qos.Headroom{Size: 40_000, XON: 20_000, XOFF: 100_000})}
	have := &qos.Device{Platform: qos.Platform{OS: "cumulus"}, Ports: map[string]*qos.Port{"swp1": {}, "swp2": {}},
		Shares: map[string]qos.Share{"roce-lossless": {Percent: 50, Lossless: true}, "default-lossy": {Percent: 50}}}
	have.Ports["swp1"].Groups[3], have.Ports["swp2"].Groups[3] = group, group
	pool, err := d.Memory(have).Pool(p, k)
	const memory = 158229504
	if err != nil || pool.Bytes != memory/100*50-2*100_000 || pool.Slices != 1 || !strings.Contains(pool.How, "50 % of the packet memory of NVIDIA Spectrum-4") {
		t.Errorf("%+v, %v", pool, err)
	}
	// The alpha that the switch configures counts, with and without a group that the switch shows.
	have.Shares["roce-lossless"] = qos.Share{Percent: 50, Lossless: true, Alpha: qos.Of(int64(-6))}
	for _, g := range []qos.Group{group, {}} {
		have.Ports["swp1"].Groups[3] = g
		if pool, err := d.Memory(have).Pool(p, k); err != nil || pool.Alpha.String() != "1/64" {
			t.Errorf("with alpha 1/64: %+v, %v", pool, err)
		}
	}
	have.Shares = nil
	if pool, err := d.Memory(have).Pool(p, k); err == nil {
		t.Errorf("without shares: %+v", pool)
	}
}
