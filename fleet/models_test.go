package fleet_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var (
	modelSeed = flag.Uint64("models.seed", 0, "seed of the models that TestEveryModel picks; 0 is 1, in nightly runs random")
	modelOnly = flag.String("models.only", "", "the models that TestEveryModel takes: a regular expression")
)

// releases holds the release that the models of each system run.
var releases = map[string]string{intent.SONiC.Name: "202511", intent.EOS.Name: "4.34.2F", intent.NXOS.Name: "10.4(3)", intent.Cumulus.Name: "5.15"}

// sampleModels is the number of models tested outside the nightly run.
const sampleModels = 6

// Each model of the catalogue goes through check, plan, apply and validate in a lab, without
// findings above info. The nightly run tests all models; other runs test a sample picked by
// the seed.
func TestEveryModel(t *testing.T) {
	only, err := regexp.Compile(*modelOnly)
	if err != nil {
		t.Fatal(err)
	}
	var models []*catalog.Model
	for _, system := range intent.Systems() {
		for _, name := range catalog.ModelsOf(system) {
			m, ok := catalog.ModelOf(system, name)
			if !ok {
				t.Fatal(name)
			}
			if only.MatchString(name) {
				models = append(models, m)
			}
		}
	}
	seed := sharedtest.Seed(*modelSeed)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(models), func(i, j int) { models[i], models[j] = models[j], models[i] })
	t.Logf("-models.seed %d", seed)
	done, lossless := 0, 0
	for _, m := range models {
		if !sharedtest.Nightly() && (done >= sampleModels || testing.Short() && done > 0) {
			break
		}
		if tested, _ := m.SelfTest(); tested == catalog.TestedForm {
			continue // the ports are of several ASICs, or have no speed
		} else if tested == catalog.TestedLossless {
			lossless++
		}
		done++
		t.Run(m.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				selfTest(t, m)
			})
		})
	}
	t.Logf("%d models, %d of them with a lossless class", done, lossless)
}

// selfTest configures a lossless class on two factory-new switches of a model with two links
// between them. If the model supports no lossless priority group, check must say why, and
// selfTest configures a lossy class instead.
func selfTest(t *testing.T, m *catalog.Model) {
	tested, speed := m.SelfTest()
	lossless := tested == catalog.TestedLossless
	var ports []string
	for _, p := range m.Ports {
		if p.Speed == speed && len(ports) < 2 {
			ports = append(ports, p.Name)
		}
	}
	cable := units.Length(5)
	if known := m.Cables(speed); len(known) > 0 {
		cable = known[0]
	}
	cnp := 6
	if m.System == intent.NXOS.Name {
		cnp = 7 // on NX-OS queue 7 is always strict
	}
	text := func(class string) string {
		return fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: selftest
classes:
  rdma: {priority: 3, dscp: [26], bandwidth: 60%%, %[1]s}
  cnp: {priority: %[9]d, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  leaf1: {os: %[7]s, role: leaf, address: 192.0.2.1, model: %[2]s, release: "%[8]s"}
  spine1: {os: %[7]s, role: spine, address: 192.0.2.2, model: %[2]s, release: "%[8]s"}
credentials: {switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {knownHosts: ~/.ssh/known_hosts}}}
links:
  - {a: leaf1/%[3]s, b: spine1/%[3]s, cable: %[5]s, speed: %[6]s}
  - {a: leaf1/%[4]s, b: spine1/%[4]s, cable: %[5]s, speed: %[6]s}
`, class, m.Name, ports[0], ports[1], cable, speed, m.System, releases[m.System], cnp)
	}
	f := load(t, text("lossless: true, ecn: auto"))
	found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, pool := m.Pool(catalog.IngressPool)
	rows := len(m.Cables(speed)) > 0 || m.ASIC().DynamicBuffers
	refused := func(f checks.Finding) bool { return f.ID == "BUF-03" && f.Severity == checks.Error }
	switch {
	case m.Template != "" && !pool, len(m.Headroom) > 0 && !rows:
		if !slices.ContainsFunc(found, refused) {
			t.Errorf("check does not say that there is no lossless pool or row: %v", found)
		}
	case (!lossless || len(m.Headroom) == 0) && !slices.ContainsFunc(found, checks.Finding.Inconclusive):
		t.Errorf("check does not say that headroom or pools are unknown: %v", found)
	}
	if m.SharedLane() != "" {
		said := slices.IndexFunc(found, func(f checks.Finding) bool { return f.ID == "OPS-04" && strings.HasPrefix(f.What, m.SharedLane()) })
		rel, _ := sonic.ReleaseOf(releases[m.System])
		takes := sonic.TakesSharedLanes(m.Platform, rel)
		switch {
		case takes && said >= 0:
			t.Errorf("check warns of what the switch takes: %v", found[said])
		case !takes && said < 0:
			t.Errorf("check does not say that %s: %v", m.SharedLane(), found)
		}
		if !takes {
			return
		}
	}
	if lossless {
		above(t, "check", found)
	}
	if !lossless {
		f = load(t, text("mode: lossy, ecn: auto"))
	}
	_, at := startLab(t, f.Fabric(), lab.Options{})
	devices, _ := f.Devices(at)
	plan := prepare(t, f, devices, fleet.GateOff)
	o := fleet.ApplyOptions{RunOptions: fleet.RunOptions{Fabric: f.Fabric(), Store: store.Dir(t.TempDir()), Writers: 2}, Allow: qos.ImpactLoss}
	res, err := fleet.Apply(t.Context(), devices, plan, o)
	if err != nil || res.Failed() {
		t.Fatalf("apply: %v %v", err, failures(plan, res))
	}
	for d, err := range prepare(t, f, devices, fleet.GateOff).Devices() {
		if err != nil || d.Error != nil || len(d.Changes) > 0 {
			t.Errorf("a second plan: %v %v %v", err, d.Error, d.Changes)
		}
	}
	v, err := fleet.Validate(t.Context(), f, at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{Workers: 2}})
	if err != nil {
		t.Fatal(err)
	}
	above(t, "validate", v.Findings)
}

// failures returns the errors of a plan and of its run.
func failures(plan *fleet.PlanFile, res *fleet.Result) (err error) {
	for d, e := range plan.Devices() {
		if d != nil && d.Error != nil {
			err = errors.Join(err, fmt.Errorf("plan of %s: %w", d.Name, d.Error))
		}
		err = errors.Join(err, e)
	}
	if res != nil {
		for _, o := range res.Outcomes {
			err = errors.Join(err, fmt.Errorf("%s: %s: %v", o.Device, o.State, o.Error))
		}
	}
	return err
}

// shipped holds the IDs of warnings that the vendor's own numbers cause.
var shipped = map[string]bool{
	"BUF-06": true, // the rows of a published table decrease where they should increase
}

// above fails the test for each finding above info, except the warnings in shipped.
func above(t *testing.T, command string, found []checks.Finding) {
	t.Helper()
	for _, f := range found {
		switch {
		case f.Severity == checks.Info:
		case f.Severity == checks.Warning && shipped[f.ID]:
			t.Logf("%s: %s %s: %s", command, f.ID, f.Place(), f.What)
		default:
			t.Errorf("%s: %s %s %s: %s", command, f.Severity, f.ID, f.Place(), f.What)
		}
	}
}
