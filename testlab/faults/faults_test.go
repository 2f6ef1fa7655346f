package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

// fault is one entry of a table.
type fault struct {
	name string
	// at lists the devices to inject the fault into, separated by commas; "switches" means all
	// switches.
	at string
	do string // statements for [lab.Lab.Inject]
	// want lists the findings that must be reported, separated by ";", such as "error BUF-01 @".
	// With several ids, separated by "|", any of them will do, because the references leave it
	// open. A place is a device and its ports, separated by commas. It can also name ports of each
	// device in at: "@" means its lossless ports, "@down" and "@up" those towards hosts and
	// towards switches, and "@switch" the device without a port.
	want string
	// also lists ids of further findings that the fault causes, each with the reason, separated by
	// ";". No other finding above info is allowed.
	also string
	// open says why the tool does not yet report the fault as wanted; the test fails once it does.
	open string
}

// tables lists the faults by the fabric into which they are injected, see [bases].
var tables = map[string][]fault{
	"sonic": slices.Concat(sonicBuffers, sonicFaults), "dynamic": dynamicFaults,
	"eos": slices.Concat(eosFaults, eosField), "nxos": nxosFaults, "cumulus": cumulusFaults, "mixed": hostFaults,
}

// allFaults injects all faults, as nightly runs do.
var allFaults = flag.Bool("every", false, "inject all faults, not a sample")

// sample is the number of faults per fabric that are injected by default.
const sample = 3

// TestFaults injects faults one after the other into a running fabric and removes each again. The
// tool must report each with the right id, place and severity, and nothing else above info.
func TestFaults(t *testing.T) {
	seed := sharedtest.Seed(0)
	report := &tally{}
	for _, base := range natural.Keys(tables) {
		t.Run(base, func(t *testing.T) {
			known := readBroken(t, base)
			x := start(t, bases[base], lab.Options{NIC: host.MLX5OFED})
			x.apply(t)
			back, sound := x.keep(t), x.state()
			if fs := counts(x.validate(t, fleet.ValidateOptions{})); len(fs) > 0 {
				t.Fatalf("the fabric without a fault has findings:\n%s", strings.Join(fs, "\n"))
			}
			list := tables[base]
			if !*allFaults && !sharedtest.Nightly() {
				t.Logf("a sample of %d of %d faults, seed %d", sample, len(list), seed)
				list = slices.Clone(list)
				rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				list = list[:sample]
			}
			for _, f := range list {
				t.Run(f.name, func(t *testing.T) {
					defer func() {
						back()
						if now := x.state(); now != sound {
							t.Fatal("the fault was not taken back")
						}
					}()
					wrong, broken := x.checkFault(t, f)
					report.add(base, f, append(wrong, known.differs(f.name, broken)...), t)
				})
			}
			known.write(t, base)
			if fs := counts(x.validate(t, fleet.ValidateOptions{})); len(fs) > 0 {
				t.Errorf("after all faults were taken back the fabric has findings:\n%s", strings.Join(fs, "\n"))
			}
		})
	}
	report.print(t)
}

// checkFault injects a fault and returns the differences between the expected and the actual
// findings.
func (x *fabric) checkFault(t *testing.T, f fault) (wrong, broken []string) {
	t.Helper()
	devices := strings.Split(f.at, ",")
	if f.at == "switches" {
		devices = x.l.Names()
	}
	for _, d := range devices {
		if err := x.l.Inject(strings.TrimSpace(d), f.do); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
	}
	var o fleet.ValidateOptions
	if strings.Contains(f.do, "count ") {
		o.Window, x.at.Scale = 40*time.Millisecond, 1e-4 // the lab's counters are updated immediately
	}
	fs := x.validate(t, o)
	wants := x.wants(t, f, devices)
	for _, w := range wants {
		if left := w.missing(fs); left != "" {
			wrong = append(wrong, "not found: "+w.String()+left)
		}
	}
	may := map[string]bool{}
	for s := range strings.SplitSeq(f.also, ";") {
		id, why, _ := strings.Cut(strings.TrimSpace(s), " ")
		if id != "" && why == "" {
			t.Errorf("no reason why %s comes with it", id)
		}
		may[id] = true
	}
	for _, g := range fs {
		met := slices.ContainsFunc(wants, func(w wanted) bool { return w.met(g) })
		if g.Severity != checks.Info && g.Suppressed == nil && !met && !may[g.ID] {
			wrong = append(wrong, "found: "+said(g))
		}
	}
	return wrong, brokenBy(fs)
}

// wanted is an expected finding on a device. Several findings may report it together, if they name
// these ports and no others.
type wanted struct {
	severity checks.Severity
	ids      []string
	device   string
	ports    []string
}

func (w wanted) met(f checks.Finding) bool {
	return slices.ContainsFunc(w.ids, func(id string) bool { return f.About(id) && severityOf(f, id) == w.severity }) && f.Device == w.device && f.Suppressed == nil &&
		(len(f.Ports) == 0) == (len(w.ports) == 0) && !slices.ContainsFunc(f.Ports, func(p string) bool { return !slices.Contains(w.ports, p) })
}

// severityOf returns the severity that a finding gives to a check.
func severityOf(f checks.Finding, id string) checks.Severity {
	if i := slices.IndexFunc(f.Covered, func(c checks.Covered) bool { return c.ID == id }); i >= 0 {
		return f.Covered[i].Severity
	}
	return f.Severity
}

// missing describes where no finding reports w; "" if findings cover all of it.
func (w wanted) missing(fs []checks.Finding) string {
	found, ports := false, slices.Clone(w.ports)
	for _, f := range fs {
		if w.met(f) {
			found = true
			ports = slices.DeleteFunc(ports, func(p string) bool { return slices.Contains(f.Ports, p) })
		}
	}
	switch {
	case !found:
		return " at all"
	case len(ports) > 0:
		return " at " + natural.Fold(ports)
	}
	return ""
}

// String implements fmt.Stringer.
func (w wanted) String() string {
	return fmt.Sprintf("%s %s %s", w.severity, strings.Join(w.ids, "|"), strings.TrimSpace(w.device+" "+natural.Fold(w.ports)))
}

func (x *fabric) wants(t *testing.T, f fault, devices []string) (out []wanted) {
	t.Helper()
	for s := range strings.SplitSeq(f.want, ";") {
		words := strings.SplitN(strings.TrimSpace(s), " ", 3)
		if len(words) < 3 {
			t.Fatalf("%q is not a severity, an id and a place", s)
		}
		for _, id := range strings.Split(words[1], "|") {
			if validate.Lookup(id) == nil && !strings.HasPrefix(id, "gate:") {
				t.Fatalf("there is no check %s", id)
			}
		}
		w := wanted{severity: checks.Severity(words[0]), ids: strings.Split(words[1], "|")}
		if !strings.HasPrefix(words[2], "@") {
			var ports string
			w.device, ports, _ = strings.Cut(words[2], " ")
			w.ports = named(ports)
			out = append(out, w)
			continue
		}
		for _, d := range devices {
			w.device = strings.TrimSpace(d)
			w.ports = x.portsOf(w.device, words[2])
			out = append(out, w)
		}
	}
	return out
}

// named splits a comma-separated list of ports.
func named(folded string) (out []string) {
	if folded == "" {
		return nil
	}
	for p := range strings.SplitSeq(folded, ",") {
		out = append(out, p)
	}
	return out
}

// portsOf returns the ports of a device that "@", "@down", "@up" or "@switch" stands for.
func (x *fabric) portsOf(device, which string) (ports []string) {
	fab := x.f.Fabric()
	switch h := fab.Host(device); {
	case which == "@switch":
		return nil
	case h != nil:
		return []string{h.NICs[0].Name}
	}
	for _, p := range fab.Switch(device).Ports {
		if p.Link == nil {
			continue
		}
		toHost := fab.Switch(otherEnd(p, device).Device) == nil
		if which == "@" || which == "@down" && toHost || which == "@up" && !toHost {
			ports = append(ports, p.Name)
		}
	}
	return ports
}

func otherEnd(p *intent.Port, device string) intent.Endpoint {
	if p.Link.A.Device == device {
		return p.Link.B
	}
	return p.Link.A
}

// state returns the complete configuration shown by all devices of the lab.
func (x *fabric) state() string {
	var b strings.Builder
	for _, n := range x.l.Names() {
		for line := range strings.Lines(x.running(n)) {
			if !strings.HasPrefix(line, "!") { // skip the time stamp on NX-OS
				b.WriteString(line)
			}
		}
	}
	for _, n := range x.l.HostNames() {
		if err := json.NewEncoder(&b).Encode(x.l.Servers[n].Kernel().State("eth0")); err != nil {
			panic(err) // cannot fail: only numbers
		}
	}
	return b.String()
}

// tally counts the results.
type tally struct {
	found, faulty int
	open          []string
}

func (r *tally) add(base string, f fault, wrong []string, t *testing.T) {
	r.faulty++
	switch {
	case len(wrong) == 0 && f.open != "":
		t.Errorf("this fault is open (%s), and found as wanted: take the mark out", f.open)
	case len(wrong) == 0:
		r.found++
	case f.open != "":
		r.open = append(r.open, fmt.Sprintf("%s: %s: %s\n\t%s", base, f.name, f.open, strings.Join(wrong, "\n\t")))
	default:
		t.Errorf("%s on %s: %s\n%s", f.name, f.at, f.do, strings.Join(wrong, "\n"))
	}
}

func (r *tally) print(t *testing.T) {
	text := fmt.Sprintf("%d faults, %d found by id, place and severity, %d open\n%s\n", r.faulty, r.found, len(r.open), strings.Join(r.open, "\n"))
	t.Log(text)
	if dir := os.Getenv("ROCE_FABRIC_ARTIFACTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "running-faults.txt"), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}
