package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// platform is a switch model that a design uses.
type platform struct {
	model, speed string
	step, ports  int
}

var platforms = []platform{
	{"DellEMC-Z9332f-O32", "400G", 8, 32},
	{"Arista-7260CX3-C64", "100G", 4, 64},
	{"Dell-Z9864f-O64", "800G", 8, 64},
	{"ACS-SN5600", "400G", 8, 64},
}

func (p platform) name(i int) string { return fmt.Sprintf("Ethernet%d", i*p.step) }

func (p platform) span(from, n int) string {
	if n == 1 {
		return p.name(from)
	}
	return fmt.Sprintf("Ethernet[%d-%d:%d]", from*p.step, (from+n-1)*p.step, p.step)
}

// design is an intent without faults by construction: one class map, ECN chosen by the tool,
// and cables that have rows on the platform.
type design struct {
	strings.Builder
	p platform
	// guessed is set if the class of congestion notifications is a guess.
	guessed bool
}

func (d *design) head(t *rapid.T) {
	d.WriteString("apiVersion: roce-fabric/v1\nkind: Fabric\nname: d\nclasses:\n")
	prio := rapid.IntRange(1, 5).Draw(t, "priority")
	fmt.Fprintf(d, "  rdma: {priority: %d, dscp: [%d], lossless: true, bandwidth: %d%%, ecn: auto}\n", prio, rapid.SampledFrom([]int{10, 24, 26, 34}).Draw(t, "dscp"), rapid.IntRange(20, 80).Draw(t, "share"))
	cnp := rapid.SampledFrom([]string{"  cnp: {priority: 6, dscp: [48], strict: true}\n", "  notifications: {priority: 6, dscp: [48], strict: true}\n",
		"", "  control: {priority: 7, dscp: [48, 56], bandwidth: 5%}\n", "  notify: {priority: 6, dscp: [4], bandwidth: 15%}\n"}).Draw(t, "cnp")
	d.WriteString(cnp)
	d.guessed = !strings.Contains(cnp, "strict")
	fmt.Fprintf(d, "  default: {priority: 0, dscp: rest}\npfc: {watchdog: {detect: %dms, restore: %[1]dms}}\n", rapid.SampledFrom([]int{200, 400, 800}).Draw(t, "detect"))
	d.p = rapid.SampledFrom(platforms).Draw(t, "platform")
}

func (d *design) switches(role string, n int) {
	if n == 1 {
		fmt.Fprintf(d, "  %s1: {os: sonic, role: %[1]s, model: %s}\n", role, d.p.model)
		return
	}
	fmt.Fprintf(d, "  \"%s[1-%d]\": {os: sonic, role: %[1]s, model: %[3]s}\n", role, n, d.p.model)
}

func span(name string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s%d", name, from)
	}
	return fmt.Sprintf("%s[%d-%d]", name, from, to)
}

func (d *design) link(a, b, pattern, cable string) {
	fmt.Fprintf(d, "  - {a: \"%s\", b: \"%s\", pattern: %s, cable: %s, speed: %s}\n", a, b, pattern, cable, d.p.speed)
}

// clos adds leaves below spines, with hosts of one NIC.
func (d *design) clos(t *rapid.T) {
	leaves, spines, hosts := rapid.IntRange(2, 8).Draw(t, "leaves"), rapid.IntRange(1, 8).Draw(t, "spines"), rapid.IntRange(1, 8).Draw(t, "hosts")
	d.WriteString("switches:\n")
	d.switches("leaf", leaves)
	d.switches("spine", spines)
	fmt.Fprintf(d, "hosts:\n  \"gpu[1-%d]\": {nics: {eth0: {rdma: mlx5_0}}}\nlinks:\n", leaves*hosts)
	for i := range leaves {
		d.link(fmt.Sprintf("leaf%d/%s", i+1, d.p.span(0, hosts)), span("gpu", i*hosts+1, (i+1)*hosts)+"/eth0", "pairs", "5m")
	}
	d.link(span("leaf", 1, leaves)+"/"+d.p.span(16, spines), span("spine", 1, spines)+"/"+d.p.span(0, leaves), "mesh", "40m")
}

// rails adds one leaf per rail, below spines.
func (d *design) rails(t *rapid.T) {
	rails, spines, hosts := rapid.IntRange(2, 8).Draw(t, "rails"), rapid.IntRange(1, 4).Draw(t, "spines"), rapid.IntRange(2, 12).Draw(t, "hosts")
	d.WriteString("switches:\n")
	d.switches("leaf", rails)
	d.switches("spine", spines)
	fmt.Fprintf(d, "hosts:\n  \"gpu[1-%d]\": {nics: {\"eth[0-%d]\": {rdma: \"mlx5_[0-%[2]d]\"}}}\nlinks:\n", hosts, rails-1)
	d.link(span("leaf", 1, rails)+"/"+d.p.span(0, hosts), span("gpu", 1, hosts)+"/"+span("eth", 0, rails-1), "rail", "5m")
	d.link(span("leaf", 1, rails)+"/"+d.p.span(16, spines), span("spine", 1, spines)+"/"+d.p.span(0, rails), "mesh", "40m")
}

// tiers adds pods of leaves and spines below superspines.
func (d *design) tiers(t *rapid.T) {
	pods, leaves, spines, tops := rapid.IntRange(2, 4).Draw(t, "pods"), rapid.IntRange(1, 4).Draw(t, "leaves"), rapid.IntRange(1, 3).Draw(t, "spines"), rapid.IntRange(1, 3).Draw(t, "superspines")
	d.WriteString("switches:\n")
	d.switches("leaf", pods*leaves)
	d.switches("spine", pods*spines)
	d.switches("superspine", tops)
	fmt.Fprintf(d, "hosts:\n  \"gpu[1-%d]\": {nics: {eth0: {rdma: mlx5_0}}}\nlinks:\n", pods*leaves)
	for i := range pods * leaves {
		d.link(fmt.Sprintf("leaf%d/%s", i+1, d.p.name(0)), fmt.Sprintf("gpu%d/eth0", i+1), "pairs", "5m")
	}
	for i := range pods {
		d.link(span("leaf", i*leaves+1, (i+1)*leaves)+"/"+d.p.span(16, spines), span("spine", i*spines+1, (i+1)*spines)+"/"+d.p.span(0, leaves), "mesh", "40m")
	}
	d.link(span("spine", 1, pods*spines)+"/"+d.p.span(16, tops), span("superspine", 1, tops)+"/"+d.p.span(0, pods*spines), "mesh", "40m")
}

// TestKnownGoodDesigns checks that designs known to be good have no findings above info.
func TestKnownGoodDesigns(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		d := &design{}
		d.head(rt)
		[]func(*rapid.T){d.clos, d.rails, d.tiers}[rapid.IntRange(0, 2).Draw(rt, "design")](rt)
		file := filepath.Join(dir, "fabric.yaml")
		if err := os.WriteFile(file, []byte(d.String()), 0o600); err != nil {
			rt.Fatal(err)
		}
		f, err := intent.Load(file, intent.Options{})
		if err != nil {
			rt.Fatalf("%v\n%s", err, d)
		}
		c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
		if err != nil {
			rt.Fatalf("%v\n%s", err, d)
		}
		fs, err := Intent(t.Context(), c, today, nil)
		if err != nil {
			rt.Fatal(err)
		}
		for _, x := range fs {
			// A guessed class of notifications is a warning.
			if x.Severity != checks.Info && !(d.guessed && x.ID == "CLS-09" && x.Severity == checks.Warning) {
				rt.Errorf("%s %s at %s: %s", x.Severity, x.ID, x.Place(), x.What)
			}
		}
		if rt.Failed() {
			rt.Logf("%s", d)
		}
	})
}
