package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

const fabricHead = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma:    {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
`

// smallFabric has two links between leaf1 and spine1, and one link between each other pair.
const smallFabric = fabricHead + `switches:
  leaf[1-2]:  {os: sonic, role: leaf, model: DellEMC-Z9332f-O32, ports: {"Ethernet[16-32:8]": {speed: 400G}}}
  spine[1-2]: {os: eos, role: spine}
hosts:
  gpu[1-4]: {nics: {eth0: {}}}
links:
  - {a: "leaf1/Ethernet[0,8]", b: "gpu[1-2]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf2/Ethernet[0,8]", b: "gpu[3-4]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf[1-2]/Ethernet[240,248]", b: "spine[1-2]/Ethernet[1-2]/1", pattern: mesh, cable: 40m, speed: 400G}
  - {a: leaf1/Ethernet224, b: spine1/Ethernet3/1, cable: 40m, speed: 400G}
`

// largeFabric has 20 pods of 32 leaves and 10 spines, 160 cores in ten planes, 64 ports per
// switch, 10,240 hosts and 19,840 links.
func largeFabric() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format, a...) }
	b.WriteString(fabricHead + "switches:\n")
	const ports = `ports: {"Ethernet[0-504:8]": {speed: 400G}}`
	for pod := 1; pod <= 20; pod++ {
		p("  p%dleaf[1-32]: {os: sonic, role: leaf, %s}\n  p%dspine[1-10]: {os: sonic, role: spine, %s}\n", pod, ports, pod, ports)
	}
	p("  core[1-160]: {os: sonic, role: core, %s}\nhosts:\n", ports)
	for pod := 1; pod <= 20; pod++ {
		p("  p%dgpu[1-512]: {nics: {eth0: {}}}\n", pod)
	}
	b.WriteString("links:\n")
	for pod := 1; pod <= 20; pod++ {
		for leaf := 1; leaf <= 32; leaf++ {
			p("  - {a: \"p%dleaf%d/Ethernet[0-120:8]\", b: \"p%dgpu[%d-%d]/eth0\", cable: 5m, speed: 400G}\n", pod, leaf, pod, leaf*16-15, leaf*16)
		}
		p("  - {pattern: mesh, a: \"p%dleaf[1-32]/Ethernet[256-328:8]\", b: \"p%dspine[1-10]/Ethernet[0-248:8]\", cable: 40m, speed: 400G}\n", pod, pod)
		for plane := 1; plane <= 10; plane++ {
			p("  - {pattern: mesh, a: \"p%dspine%d/Ethernet[256-376:8]\", b: \"core[%d-%d]/Ethernet%d\", cable: 100m, speed: 400G}\n", pod, plane, plane*16-15, plane*16, pod*8-8)
		}
	}
	return b.String()
}

func loadText(t *testing.T, text string) *intent.Fabric {
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

// reportOf returns a report for a fabric whose devices were all read.
func reportOf(f *intent.Fabric, fs ...checks.Finding) Report {
	r := Report{Command: "validate", Version: "1.2.3", Fabric: f.Name, Time: time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC), Intent: f, Links: len(f.Links), Findings: checks.Sort(fs)}
	for _, s := range f.Switches {
		r.Devices = append(r.Devices, Device{Name: s.Name, Kind: SwitchDevice, OS: s.OS, Source: FromRunning})
	}
	for _, h := range f.Hosts {
		r.Devices = append(r.Devices, Device{Name: h.Name, Kind: HostDevice, Source: FromRunning})
	}
	return r
}

// smallFindings returns one finding of each kind.
func smallFindings() []checks.Finding {
	return []checks.Finding{
		{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", Ports: []string{"Ethernet240"}, Peers: []string{"spine1/Ethernet1/1"},
			What: "PFC is on for {3}, spine1 has {4}", Fix: "apply the intent", Where: "fabric.yaml:5:14"},
		{ID: "ECN-01", Severity: checks.Warning, Device: "leaf2", Ports: []string{"Ethernet0", "Ethernet8"}, What: "ECN is off", Fix: "turn it on", Where: "fabric.yaml:6:2"},
		{ID: "ECN-01", Severity: checks.Warning, Device: "spine2", What: "ECN is off", Fix: "turn it on", Where: "fabric.yaml:9:2"},
		{ID: "READ", Severity: checks.Info, Device: "gpu4", Ports: []string{"eth0"}, What: "the firmware is not shown"},
		{ID: "WD-01", Severity: checks.Error, Device: "spine1", What: "the watchdog is off",
			Suppressed: &checks.Suppressed{Reason: "agreed with the owner", Until: "2026-12-31", Where: "fabric.yaml:30:5"}},
		{ID: "SUPPRESS", Severity: checks.Info, What: "something about the fabric"},
	}
}

func pageText(t *testing.T, r Report, counters ...PortCounters) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeHTML(&b, r, counters...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// dataOf decodes the data of a page.
func dataOf(t *testing.T, html string) page {
	t.Helper()
	m := dataBlock.FindStringSubmatch(html)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var p page
	if err := json.Unmarshal([]byte(m[1]), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// pageOfText returns the page of an intent without findings.
func pageOfText(t *testing.T, text string) page {
	t.Helper()
	return pageOf(Report{Intent: loadText(t, text)}, nil)
}

func TestTopology(t *testing.T) {
	p := pageOfText(t, smallFabric)
	tiers := map[string]int{}
	for _, g := range p.Groups {
		for _, d := range g.Devices {
			tiers[p.Devices[d].Name] = g.Tier
		}
	}
	if tiers["spine1"] != 1 || tiers["leaf2"] != 0 || tiers["gpu3"] != hostTier || len(tiers) != 8 || len(p.Devices) != 8 {
		t.Errorf("tiers: %v", tiers)
	}
	if len(p.Links) != 9*linkLength {
		t.Errorf("%d links", len(p.Links)/linkLength)
	}
	used := map[[2]int]bool{}
	for l := range slices.Chunk(p.Links, linkLength) {
		for _, e := range [][2]int{{l[0], l[1]}, {l[2], l[3]}} {
			ports := p.Ports[p.Devices[e[0]].Ports]
			if used[e] || p.Labels[ports.Speeds[e[1]]] != "400G" || p.Labels[l[4]] != "400G" {
				t.Errorf("link %v: %s %s", l, p.Devices[e[0]].Name, ports.Names[e[1]])
			}
			used[e] = true
		}
	}
	if got := groupsOf(p); !slices.Equal(got, []string{"gpu[1-4]", "leaf1,leaf2", "spine1,spine2"}) {
		t.Errorf("groups: %q", got)
	}
	if empty := pageOf(Report{}, nil); len(empty.Devices)+len(empty.Groups)+len(empty.Links) > 0 {
		t.Errorf("no fabric: %+v", empty)
	}
}

func groupsOf(p page) []string {
	var names []string
	for _, g := range p.Groups {
		names = append(names, g.Name)
	}
	return names
}

// The switches that remain connected without the highest tier form a pod.
func TestPods(t *testing.T) {
	p := pageOfText(t, largeFabric())
	if len(p.Groups) != 61 || len(p.Devices) != 11240 || len(p.Links) != 19840*linkLength {
		t.Fatalf("%d groups, %d devices, %d links", len(p.Groups), len(p.Devices), len(p.Links)/linkLength)
	}
	pods := map[string]int{}
	for _, g := range p.Groups {
		pods[g.Name] = g.Pod
	}
	if pods["core[1-160]"] != -1 || pods["p3leaf[1-32]"] < 0 || pods["p3leaf[1-32]"] != pods["p3spine[1-10]"] || pods["p3leaf[1-32]"] != pods["p3gpu[1-512]"] || pods["p3leaf[1-32]"] == pods["p4leaf[1-32]"] {
		t.Errorf("pods: %v", pods)
	}
}

func TestPageFoldsCauses(t *testing.T) {
	p := dataOf(t, pageText(t, reportOf(loadText(t, smallFabric), smallFindings()...)))
	var ecn []pageCause
	for _, c := range p.Causes {
		if c.ID == "ECN-01" {
			ecn = append(ecn, c)
		}
	}
	if len(p.Causes) != 5 || len(ecn) != 1 || len(ecn[0].Places) != 2 {
		t.Fatalf("causes: %+v", p.Causes)
	}
	first := p.Causes[0]
	device := p.Devices[first.Places[0][0][0]]
	if first.ID != "PFC-01" || device.Name != "leaf1" || p.Ports[device.Ports].Names[first.Places[0][1][0]] != "Ethernet240" {
		t.Errorf("the worst cause is %+v on %+v", first, device)
	}
	if peer := first.Places[0][2]; p.Devices[peer[0]].Name != "spine1" || p.Ports[p.Devices[peer[0]].Ports].Names[peer[1]] != "Ethernet1/1" {
		t.Errorf("its other end is %v", peer)
	}
}

// Devices without an intent, and devices named only by findings, are drawn.
func TestPageOfStrangers(t *testing.T) {
	r := Report{Fabric: "x", Command: "validate", Devices: []Device{{Name: "leaf1", Kind: SwitchDevice, Source: FromNowhere, Error: "no route", Hint: "ask"}, {Name: "gpu1", Kind: HostDevice, Source: FromRunning}},
		Findings: []checks.Finding{{ID: "X", Severity: checks.Error, Device: "leaf9", Ports: []string{"Ethernet0"}, What: "odd"}}}
	p := dataOf(t, pageText(t, r))
	drawn := map[string]int{}
	for _, g := range p.Groups {
		for _, d := range g.Devices {
			drawn[p.Devices[d].Name] = g.Tier
		}
	}
	if len(drawn) != 3 || drawn["gpu1"] != hostTier || drawn["leaf9"] != 0 {
		t.Errorf("drawn: %v", drawn)
	}
	if d := p.Devices[0]; d.Error != "no route" || d.Hint != "ask" || d.Source != FromNowhere {
		t.Errorf("%+v", d)
	}
}

func TestPageCounters(t *testing.T) {
	f := loadText(t, smallFabric)
	p := dataOf(t, pageText(t, reportOf(f),
		PortCounters{"leaf1", "Ethernet0", map[string]uint64{"pfc rx 3": 7, "octets": 1<<63 + 1}},
		PortCounters{"leaf1", "Ethernet16", map[string]uint64{"pfc rx 3": 0}},
		PortCounters{"gpu1", "eth0", map[string]uint64{"pfc rx 3": 0}}))
	got, err := json.Marshal(p.Counters)
	if err != nil {
		t.Fatal(err)
	}
	// JavaScript would round the large number, so it is a string; null differs from zero.
	want := `[{"n":"octets","v":{"0":["9223372036854775809"]}},{"n":"pfc rx 3","v":{"0":[7,null,0],"4":0}}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// hostileMarkup contains the end of every context that it could appear in.
const hostileMarkup = `</script></style></title>--><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'"` + "`" + `${window.pwned=1}{{.Fabric}}<!--` + "\u2028\x00\x1b[2J"

func hostileReport(t *testing.T) (Report, []PortCounters) {
	f := loadText(t, smallFabric)
	r := reportOf(f, checks.Finding{ID: hostileMarkup, Severity: checks.Error, Device: "leaf1", Ports: []string{"Ethernet0", hostileMarkup},
		What: hostileMarkup, Fix: hostileMarkup, Where: hostileMarkup, Peers: []string{hostileMarkup + "/" + hostileMarkup}},
		checks.Finding{ID: "X", Severity: checks.Severity(hostileMarkup), Device: hostileMarkup, What: "a", Suppressed: &checks.Suppressed{Reason: hostileMarkup, Until: hostileMarkup, Where: hostileMarkup}})
	r.Fabric, r.Command, r.Version = hostileMarkup, hostileMarkup, hostileMarkup
	r.Devices = append(r.Devices, Device{Name: hostileMarkup, Kind: HostDevice, Source: Source(hostileMarkup), OS: hostileMarkup, Error: hostileMarkup, Hint: hostileMarkup, File: hostileMarkup})
	return r, []PortCounters{{"leaf1", hostileMarkup, map[string]uint64{hostileMarkup: 3}}}
}

func TestHostileTextStaysText(t *testing.T) {
	r, counters := hostileReport(t)
	html := pageText(t, r, counters...)
	if n := strings.Count(html, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", "\x1b", "\x00", "\u2028", "ZgotmplZ"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if p := dataOf(t, html); p.Causes[0].What != clean(hostileMarkup) {
		t.Errorf("what is %q", p.Causes[0].What)
	}
}

func TestPageIsBounded(t *testing.T) {
	f := loadText(t, smallFabric)
	long := strings.Repeat("é", 1<<20)
	fs := make([]checks.Finding, maxCauses+7)
	for i := range fs {
		fs[i] = checks.Finding{ID: "X", Severity: checks.Info, Device: "leaf1", What: fmt.Sprintf("cause %d", i)}
	}
	fs[0].Severity, fs[0].What = checks.Error, long
	p := dataOf(t, pageText(t, reportOf(f, fs...)))
	if len(p.Causes) != maxCauses || p.LeftOut != 7 || p.Causes[0].Severity != checks.Error {
		t.Errorf("%d causes, %d left out, first %s", len(p.Causes), p.LeftOut, p.Causes[0].Severity)
	}
	if n := len([]rune(p.Causes[0].What)); n > maxText+4 {
		t.Errorf("a text of %d characters", n)
	}
}

// largeReport returns a report for 1,000 switches of 64 ports, with two counters per port and a
// finding on every seventh switch.
func largeReport(t *testing.T) (Report, []PortCounters) {
	f := loadText(t, largeFabric())
	var fs []checks.Finding
	var counters []PortCounters
	for i, s := range f.Switches {
		if i%7 == 3 {
			fs = append(fs, checks.Finding{ID: "PFC-01", Severity: checks.Severities[i%3], Device: s.Name, Ports: []string{s.Ports[i%10].Name, s.Ports[32+i%8].Name},
				What: fmt.Sprintf("pfc is {%d}, the intent says {3}", i%3), Fix: "apply the intent", Where: "fabric.yaml:12:4"})
		}
		for j, p := range s.Ports {
			counters = append(counters, PortCounters{s.Name, p.Name, map[string]uint64{"pfc rx 3": uint64(i * j * j % 100000), "drops 3": 0}})
		}
	}
	return reportOf(f, fs...), counters
}

func TestLargePageFits(t *testing.T) {
	r, counters := largeReport(t)
	html := pageText(t, r, counters...)
	t.Logf("1,000 switches of 64 ports: %.1f MB", float64(len(html))/1e6)
	if len(html) > 3_000_000 {
		t.Errorf("%d bytes", len(html))
	}
}
