package nic

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

const base = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 50%, ecn: auto}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 50%}
switches:
  leaf1: {os: sonic, address: "192.0.2.1:8080"}
hosts:
  gpu1: {address: 192.0.2.101, nics: {ens1f0np0: {rdma: mlx5_0}, ens2f0np0: {rdma: mlx5_1}, eno1: {}}}
links:
  - {a: leaf1/Ethernet0, b: gpu1/ens1f0np0, cable: 10m, speed: 400G}
`

func load(t testing.TB, text string) *intent.Fabric {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// edit replaces parts of base and fails the test if a part does not occur.
func edit(t testing.TB, oldnew ...string) string {
	t.Helper()
	text := base
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("nothing to replace: %s", oldnew[i])
		}
		text = strings.Replace(text, oldnew[i], oldnew[i+1], 1)
	}
	return text
}

var update = flag.Bool("update", false, "rewrite the golden files")

var testdata, _ = filepath.Abs("testdata")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(testdata, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; refresh with -update and review:\n%s", name, diff.Diff("want", want, "got", []byte(got)))
	}
}

func desired(t testing.TB, text string) (*Host, []Problem) {
	f := load(t, text)
	return Desired(f, f.Host("gpu1"))
}

// The expected values are those that NVIDIA's own commands would set for DSCP 26 on priority 3,
// notifications with DSCP 48 on priority 6, MTU 9000 and 10 m of cable.
func TestDesired(t *testing.T) {
	h, problems := desired(t, base)
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	if len(h.Ports) != 2 || h.Ports["eno1"] != nil {
		t.Fatalf("ports %v: a NIC without an RDMA device and a link is not ours", h.Ports)
	}
	p := h.Ports["ens1f0np0"]
	if p.RDMA != "mlx5_0" || p.PFC != qos.Of(qos.PrioritySet(0x08)) || p.Trust != qos.Of(qos.TrustDSCP) || p.DCBX != qos.Of(OwnerHost) ||
		p.Cable != qos.Of(units.Length(10)) || p.LinkPause != qos.Of(false) || p.MTU != qos.Of(9000) || p.ActiveMTU != qos.Of(4096) {
		t.Errorf("port %+v", p)
	}
	if p.ToS != qos.Of(106) || p.TrafficClass != qos.Of(106) || p.Mode != qos.Of("RoCE v2") {
		t.Errorf("tos %v, traffic class %v, mode %v", p.ToS, p.TrafficClass, p.Mode)
	}
	if p.ECN != qos.Of(qos.Priorities(3)) || p.CNPDSCP != qos.Of(48) || p.CNPPriority != qos.Of(6) {
		t.Errorf("ecn %v, cnp dscp %v, priority %v", p.ECN, p.CNPDSCP, p.CNPPriority)
	}
	if m := p.DSCP.V; m[26] != 3 || m[48] != 6 || m[0] != 0 || m[24] != 0 || slices.Contains(m[:], qos.Unmanaged) {
		t.Errorf("dscp %v", m)
	}
	want := ETS{
		TSA:          [8]TSA{"ets", "ets", "ets", "ets", "ets", "ets", "strict", "ets"},
		Bandwidth:    [8]int{50, 0, 0, 50},
		PriorityToTC: [8]int8{0, 1, 2, 3, 4, 5, 6, 7},
	}
	if p.ETS != qos.Of(want) {
		t.Errorf("ets %v", p.ETS.V)
	}
	nv, err := p.WantedNV(&Port{Driver: DriverMLX5, CardPort: 2, NV: map[string]NV{}})
	if err != nil || len(nv) != 6 || nv["ROCE_CC_PRIO_MASK_P2"] != "8" || nv["CNP_DSCP_P2"] != "48" || nv["CNP_802P_PRIO_P2"] != "6" ||
		nv["LLDP_NB_DCBX_P2"] != "0" || nv["LLDP_NB_RX_MODE_P2"] != "0" || nv["LLDP_NB_TX_MODE_P2"] != "0" {
		t.Errorf("firmware %v, %v", nv, err)
	}
	if got := p.From[FieldPFC]; !strings.HasSuffix(got, "fabric.yaml:5:45") {
		t.Errorf("pfc is from %s", got)
	}
}

// A NIC gets the settings of the switch port at the other end of its link; without a link it gets
// those of the fabric.
func TestDesiredFollowsTheOtherEnd(t *testing.T) {
	h, _ := desired(t, edit(t, `leaf1: {os: sonic,`, `leaf1: {os: sonic, mtu: {host: 4500}, classes: {rdma: {lossless: false, bandwidth: 20%}},`))
	far, alone := h.Ports["ens1f0np0"], h.Ports["ens2f0np0"]
	if far.PFC != qos.Of(qos.PrioritySet(0)) || far.MTU.V != 4500 || far.ETS.V.Bandwidth[3] != 29 || far.ETS.V.Bandwidth[0] != 71 || far.LinkPause.Set || far.Cable.Set {
		t.Errorf("linked: pfc %v mtu %v ets %v", far.PFC, far.MTU, far.ETS.V)
	}
	if alone.PFC.V != qos.Priorities(3) || alone.MTU.V != 9000 || alone.Cable.Set {
		t.Errorf("without a link: pfc %v mtu %v cable %v", alone.PFC, alone.MTU, alone.Cable)
	}
}

// TestHostDSCP checks that NICs mark a class with the DSCP that the intent states for their part of the
// fabric, that all of them have all DSCPs in the class, and where each value is from.
func TestHostDSCP(t *testing.T) {
	text := edit(t, "dscp: [26]", "dscp: [24, 26]", "dscp: [48], strict: true", "dscp: [46, 48, 56], strict: true",
		"leaf1: {os: sonic,", "leaf2: {os: sonic, address: \"192.0.2.2:8080\"}\n  leaf1: {os: sonic, classes: {rdma: {hostDSCP: 26}, cnp: {hostDSCP: 56}},",
		"links:", "links:\n  - {a: leaf2/Ethernet0, b: gpu1/ens2f0np0, cable: 10m, speed: 400G}")
	f := load(t, text)
	h, problems := Desired(f, f.Host("gpu1"))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	for name, want := range map[string]struct{ dscp, cnp, line int }{"ens1f0np0": {26, 56, 10}, "ens2f0np0": {24, 48, 5}} {
		p := h.Ports[name]
		if p.ToS.V != toSOf(want.dscp) || p.TrafficClass.V != toSOf(want.dscp) || p.CNPDSCP.V != want.cnp || p.Wanted.V.CNPDSCP != want.cnp {
			t.Errorf("%s: ToS %d, traffic class %d, CNP DSCP %d and %d", name, p.ToS.V, p.TrafficClass.V, p.CNPDSCP.V, p.Wanted.V.CNPDSCP)
		}
		if p.DSCP.V[24] != 3 || p.DSCP.V[26] != 3 {
			t.Errorf("%s has DSCP 24 in %d and 26 in %d", name, p.DSCP.V[24], p.DSCP.V[26])
		}
		if from := fmt.Sprintf(":%d:", want.line); !strings.Contains(p.From[FieldToS], from) {
			t.Errorf("%s: ToS is from %s", name, p.From[FieldToS])
		}
	}
	marks, err := MarksOf(f, f.Hosts, "", "", "rdma")
	if err != nil || len(marks) != 2 || marks[0].DSCP != 26 || marks[1].DSCP != 24 {
		t.Errorf("marks %+v, %v", marks, err)
	}
	// Traffic of the intent that has several DSCPs is marked with that of the hosts.
	f = load(t, strings.Replace(text, "hosts:", "traffic: {nccl: {dscp: [24, 26], kind: gpu}}\nhosts:", 1))
	if marks, err = MarksOf(f, f.Hosts, "nccl", "", ""); err != nil || len(marks) != 2 || marks[0].DSCP != 26 || marks[1].DSCP != 24 {
		t.Errorf("marks of traffic %+v, %v", marks, err)
	}
}

// A link may name the host first, and may lead to another host.
func TestDesiredOfALinkTheOtherWayRound(t *testing.T) {
	text := edit(t, "a: leaf1/Ethernet0, b: gpu1/ens1f0np0", "a: gpu1/ens1f0np0, b: leaf1/Ethernet0", "leaf1: {os: sonic,", "leaf1: {os: sonic, mtu: {host: 4500},",
		"links:", "links:\n  - {a: gpu1/eno1, b: gpu2/eno1, cable: 1m, speed: 100G}", "eno1: {}}}", "eno1: {}}}\n  gpu2: {nics: {eno1: {}}}")
	h, _ := desired(t, text)
	if p := h.Ports["ens1f0np0"]; p.MTU.V != 4500 {
		t.Errorf("mtu %v", p.MTU)
	}
	if p := h.Ports["eno1"]; p == nil || p.MTU.V != 9000 || p.Cable.V != 1 {
		t.Errorf("a link between hosts: %+v", p)
	}
}

func TestDesiredWithPCP(t *testing.T) {
	h, _ := desired(t, edit(t, "classes:", "trust: pcp\nclasses:"))
	if p := h.Ports["ens1f0np0"]; p.Trust != qos.Of(qos.TrustPCP) || p.DSCP.Set {
		t.Errorf("trust %v, dscp %v", p.Trust, p.DSCP)
	}
}

// If the intent leaves a value open, this is reported and the setting is left alone.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		says  string // "" for no problem
		check func(*Port) bool
	}{
		"half a metre": {edit(t, "cable: 10m", "cable: 2.5m"), "", func(p *Port) bool { return p.Cable == qos.Of(units.Length(3)) }},
		"too long":     {edit(t, "cable: 10m", "cable: 2km"), "a cable of at most 999m, this one has 2000m", func(p *Port) bool { return !p.Cable.Set }},
		"no cnp": {edit(t, "  cnp: {priority: 6, dscp: [48], strict: true}\n", ""), "no class is strict and lossy", func(p *Port) bool {
			nv, err := p.WantedNV(&Port{Driver: DriverMLX5, CardPort: 1, NV: map[string]NV{"CNP_RES_PRIO_MODE_P1": {Next: "1"}}})
			return err == nil && !p.CNPDSCP.Set && !p.CNPPriority.Set && len(nv) == 4 && nv["CNP_DSCP_P1"] == ""
		}},
		"two strict":                       {edit(t, "  cnp:", "  control: {priority: 7, dscp: [56], strict: true}\n  notify:"), "classes notify, control are strict and lossy", func(p *Port) bool { return !p.CNPDSCP.Set && p.ECN.Set }},
		"two strict, one by name":          {edit(t, "  cnp:", "  control: {priority: 7, dscp: [56], strict: true}\n  CNP:"), "", func(p *Port) bool { return p.CNPPriority.V == 6 }},
		"cnp by name, weighted":            {edit(t, "dscp: [48], strict: true", "dscp: [47, 49], bandwidth: 10%", "bandwidth: 50%", "bandwidth: 40%"), "", func(p *Port) bool { return p.CNPPriority.V == 6 && p.CNPDSCP.V == 47 }},
		"cnp by name next to a strict one": {edit(t, "dscp: [48], strict: true", "dscp: [48], bandwidth: 10%", "bandwidth: 50%", "bandwidth: 40%", "  cnp:", "  control: {priority: 7, dscp: [56], strict: true}\n  cnp:"), "", func(p *Port) bool { return p.CNPPriority.V == 6 }},
		"strict RDMA without PFC":          {edit(t, "lossless: true, bandwidth: 50%", "strict: true", "  cnp:", "  notify:"), "", func(p *Port) bool { return p.CNPPriority.V == 6 && p.ToS.V == 106 }},
		"the cards' own DSCP":              {edit(t, "dscp: [48]", "dscp: [46, 48]"), "", func(p *Port) bool { return p.CNPDSCP.V == 48 }},
		"two lossless": {edit(t, "  cnp:", "  storage: {priority: 4, dscp: [34], lossless: true, bandwidth: 10%, ecn: auto}\n  cnp:", "bandwidth: 50%", "bandwidth: 40%"), "is sent in class rdma (DSCP 26), not in storage", func(p *Port) bool {
			return p.ToS.V == 106 && p.PFC.V == qos.Priorities(3, 4) && p.ECN.V == qos.Priorities(3, 4)
		}},
		"no ecn": {edit(t, "ecn: auto", "ecn: off"), "", func(p *Port) bool { return !p.ECN.Set && !p.CNPDSCP.Set && p.Wanted.Set && p.ToS.V == 106 }},
		"lossy": {edit(t, "lossless: true", "lossless: false"), "", func(p *Port) bool {
			return p.PFC == qos.Of(qos.PrioritySet(0)) && p.ECN.V == qos.Priorities(3) && p.ToS.V == 106
		}},
		"no RDMA": {edit(t, "lossless: true, bandwidth: 50%, ecn: auto", "bandwidth: 50%"), "", func(p *Port) bool { return !p.ToS.Set && !p.Wanted.Set && p.PFC.Set }},
		"strict": {edit(t, "bandwidth: 50%, ecn: auto", "strict: true, ecn: auto", "dscp: rest, bandwidth: 50%", "dscp: rest, strict: true", "  cnp: {priority: 6, dscp: [48], strict: true}\n", ""), "", func(p *Port) bool {
			return p.ETS.V.Bandwidth == [8]int{} && !slices.Contains(p.ETS.V.TSA[:], TSAETS) && p.CNPPriority.V == 0
		}},
	} {
		h, problems := desired(t, c.text)
		var mine []string
		for _, p := range problems {
			if p.Port == "ens1f0np0" {
				mine = append(mine, p.What)
			}
		}
		switch {
		case c.says == "" && len(mine) > 0, c.says != "" && (len(mine) != 1 || !strings.Contains(mine[0], c.says)):
			t.Errorf("%s: problems %q", name, mine)
		}
		if p := h.Ports["ens1f0np0"]; !c.check(p) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestSharesAddUp(t *testing.T) {
	for _, in := range [][]units.Percent{{100}, {60, 40}, {33.3, 33.3, 33.4}, {50, 49.5, 0.2, 0.3}, {10, 10}, {0.1, 0.1, 0.1}, {1, 1, 1, 1, 1, 1, 1, 93}, {99.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, {0, 0, 0}} {
		var ks []*intent.Class
		for _, b := range in {
			ks = append(ks, &intent.Class{Bandwidth: intent.Value[units.Percent]{V: b}})
		}
		sum, out := 0, percents(ks)
		for i, v := range out {
			sum += v
			if v < 1 {
				t.Errorf("%v: share %d of %v", in, v, out)
			}
			if in[i] == 60 && v != 60 {
				t.Errorf("%v: %v", in, out)
			}
		}
		if sum != 100 {
			t.Errorf("%v: %v add up to %d", in, out, sum)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := func(text string) string {
		h, _ := desired(t, text)
		return h.Unit.Digest
	}
	want := digest(base)
	if len(want) != 64 || digest("# a comment\n"+base) != want {
		t.Errorf("a comment changes the digest %s", want)
	}
	if digest(edit(t, "dscp: [26]", "dscp: [27]")) == want {
		t.Error("another DSCP has the same digest")
	}
	h, _ := desired(t, base)
	if Digest(h) != want {
		t.Error("the digest depends on the unit that holds it")
	}
}

func TestExplainListsProblems(t *testing.T) {
	f := load(t, edit(t, "  cnp: {priority: 6, dscp: [48], strict: true}\n", ""))
	e, err := Explain(f, f.Host("gpu1"), "ens1f0np0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(e.Lines(), "\n")
	if len(e.Problems) != 1 || !strings.Contains(text, "no class is strict and lossy") || !strings.Contains(text, "add a class cnp") || strings.Contains(text, "CNP DSCP") {
		t.Errorf("%s", text)
	}
}

func TestExplain(t *testing.T) {
	// A short file name keeps the lines of the golden file independent of the directory.
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fabric.yaml", []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("fabric.yaml", intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Explain(f, f.Host("gpu1"), "ens1f0np0")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain.txt", strings.Join(e.Lines(), "\n")+"\n")
	e, err = Explain(f, f.Host("gpu1"), "ens2f0np0")
	if err != nil || e.Peer != "" || strings.Contains(strings.Join(e.Lines(), "\n"), "leaf1") {
		t.Errorf("without a link: %+v, %v", e, err)
	}
	for _, name := range []string{"eno1", "ens9"} {
		if _, err := Explain(f, f.Host("gpu1"), name); err == nil {
			t.Errorf("%s is explained", name)
		}
	}
}

// Lossy RDMA has no PFC, but its marking and congestion control are the same.
func TestDesiredOfLossyRDMA(t *testing.T) {
	h, problems := desired(t, edit(t, "lossless: true", "mode: lossy"))
	p := h.Ports["ens1f0np0"]
	if len(problems) > 0 || p.PFC != qos.Of(qos.PrioritySet(0)) || p.ToS != qos.Of(106) || p.ECN != qos.Of(qos.Priorities(3)) || p.RoCEApp != qos.Of(3) || p.CNPDSCP != qos.Of(48) || p.Cable.Set {
		t.Errorf("problems %v, port %+v", problems, p)
	}
}

func TestRDMAMTU(t *testing.T) {
	for mtu, want := range map[int]int{0: 0, 351: 0, 352: 256, 1500: 1024, 4191: 2048, 4192: 4096, 9000: 4096} {
		if got := RDMAMTU(mtu); got != want {
			t.Errorf("MTU %d: %d, want %d", mtu, got, want)
		}
	}
}

// The kernel's table ip_tos2prio has 16 entries, indexed by the four TOS bits (RFC 1349).
func TestSocketPriority(t *testing.T) {
	table := [16]int{0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4}
	for tos := range 256 {
		if got, want := SocketPriority(tos), table[tos&0x1e>>1]; got != want {
			t.Errorf("ToS %d: %d, want %d", tos, got, want)
		}
	}
}

// stacked returns an intent with a VLAN over a bond of both NICs, and a VLAN over an unmanaged NIC.
func stacked(t *testing.T, edits ...string) string {
	t.Helper()
	return edit(t, append([]string{"nics:", "bonds: {bond0: {members: [ens1f0np0, ens2f0np0]}}, vlans: {bond0.100: {on: bond0, id: 100}, eno1.7: {on: eno1, id: 7}}, nics:"}, edits...)...)
}

func TestDesiredUppers(t *testing.T) {
	const no = qos.Unmanaged
	h, problems := desired(t, stacked(t))
	bond, vlan := h.Uppers["bond0"], h.Uppers["bond0.100"]
	if len(problems) > 0 || len(h.Uppers) != 2 || bond.Kind != UpperBond || !slices.Equal(bond.On, []string{"ens1f0np0", "ens2f0np0"}) || bond.MTU.V != 9000 || bond.Egress.Set {
		t.Fatalf("%v, %+v", problems, h.Uppers)
	}
	// ToS 106 has kernel priority 2, and RDMA is in class 3.
	if vlan.MTU.V != 9000 || vlan.VLAN != qos.Of(100) || vlan.Egress != qos.Of(PCPs{0, no, 3, 3, no, no, 6, no}) {
		t.Errorf("%+v", vlan)
	}
	if !h.Manages("bond0") || h.Manages("eno1.7") {
		t.Error("managed devices")
	}
	plain, _ := desired(t, base)
	if h.Unit.Digest == plain.Unit.Digest {
		t.Error("the digest leaves bonds out")
	}
	for name := range h.Uppers {
		h.Uppers[name].From = nil
	}
	if Digest(h) != h.Unit.Digest {
		t.Error("the digest has lines of the intent")
	}
	// A bond and its members have one MTU: the smallest that the other ends accept.
	h, _ = desired(t, stacked(t, "leaf1: {os: sonic,", "leaf1: {os: sonic, mtu: {host: 4500},"))
	if h.Uppers["bond0"].MTU.V != 4500 || h.Uppers["bond0.100"].MTU.V != 4500 || h.Ports["ens2f0np0"].MTU.V != 4500 {
		t.Errorf("%+v %+v", h.Uppers["bond0"], h.Ports["ens2f0np0"].MTU)
	}
}

// RDMA does not take over the PCP of another class whose priority equals the kernel's priority for
// the RDMA ToS, which is 0 for DSCP 24.
func TestTagsOfAnotherPriority(t *testing.T) {
	for trust, want := range map[string]int{"dscp": 0, "pcp": 1} {
		h, problems := desired(t, stacked(t, "dscp: [26]", "dscp: [24]", "classes:", "trust: "+trust+"\nclasses:"))
		if e := h.Uppers["bond0.100"].Egress.V; e[0] != 0 || e[3] != 3 {
			t.Errorf("%s: %v", trust, e)
		}
		problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Port != "bond0.100" })
		if len(problems) != want || want == 1 && !strings.Contains(problems[0].What, "is sent with PCP 0: ToS 98 has kernel priority 0") {
			t.Errorf("%s: %+v", trust, problems)
		}
	}
}

func TestDiffOfUppers(t *testing.T) {
	want, _ := desired(t, stacked(t))
	running := func() *Host {
		h := &Host{Ports: want.Ports, Unit: want.Unit, Uppers: map[string]*Upper{}}
		for name, u := range want.Uppers {
			c := *u
			c.From, c.Missing = nil, map[string]string{}
			h.Uppers[name] = &c
		}
		h.Uppers["bond0.100"].Egress.V = PCPs{2: 3, 3: 3, 6: 6} // all other entries are 0
		return h
	}
	for name, tt := range map[string]struct {
		edit func(bond, vlan *Upper)
		want string // path, kind, old, new, whether blocked
	}{
		"same":         {func(_, _ *Upper) {}, ""},
		"MTU":          {func(b, _ *Upper) { b.MTU.V = 1500 }, "ports[bond0].mtu drift 1500 9000 false"},
		"MTU unknown":  {func(b, _ *Upper) { b.MTU.Set, b.Missing[FieldMTU] = false, "why" }, "ports[bond0].mtu unknown - 9000 true"},
		"map":          {func(_, v *Upper) { v.Egress.V[2] = 0 }, "ports[bond0.100].egress_qos_map drift 0,2:0 3:3 6:6 0:0 2-3:3 6:6 false"},
		"left alone":   {func(_, v *Upper) { v.Egress.V[5] = 7 }, ""},
		"id":           {func(_, v *Upper) { v.VLAN.V = 5 }, "ports[bond0.100].vlan_id drift 5 100 true"},
		"members":      {func(b, _ *Upper) { b.On = b.On[:1] }, "ports[bond0].on drift ens1f0np0 ens1f0np0, ens2f0np0 true"},
		"another kind": {func(b, _ *Upper) { b.Kind = UpperBridge }, "ports[bond0].port drift a bridge a bond true"},
	} {
		h := running()
		tt.edit(h.Uppers["bond0"], h.Uppers["bond0.100"])
		var got []string
		for _, c := range Diff(h, want) {
			if strings.Contains(c.Path(), "bond0") {
				got = append(got, fmt.Sprint(c.Path(), " ", c.Kind, " ", c.Old, " ", c.New, " ", c.Blocked != ""))
				if !strings.Contains(c.Reason, "fabric.yaml:") && c.Field != FieldMTU {
					t.Errorf("%s: the reason is %q", name, c.Reason)
				}
			}
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s: %q", name, s)
		}
	}
	h := running()
	delete(h.Uppers, "bond0")
	if cs := Diff(h, want); len(cs) == 0 || cs[len(cs)-1].Path() != "ports[bond0].port" || cs[len(cs)-1].Old != qos.Absent || cs[len(cs)-1].Writable() {
		t.Errorf("a bond that is not there: %+v", cs)
	}
}

func TestExplainUppers(t *testing.T) {
	f := load(t, stacked(t))
	e, err := Explain(f, f.Host("gpu1"), "ens2f0np0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(e.Lines(), "\n")
	for _, want := range []string{
		"  MTU of bond0: 9000 B (RDMA by its addresses has payloads of at most 4096 B)",
		"  priority to PCP of bond0.100: 0:0 2-3:3 6:6 (of the kernel's priorities; RDMA-CM has that of its ToS)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
