package lab_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

var (
	keySeed = flag.Uint64("keys.seed", 0, "seed of the order in which keys are tried; 0 is 1, in nightly runs random")
	keyOnly = flag.String("keys.only", "", "try alone what holds this text: a key, its place or its system")
)

// sampleKeys is the number of keys, each on one system, that are tried outside nightly runs.
const sampleKeys = 8

// kind is a system in the lab, together with one kind of NIC.
type kind struct {
	name                       string
	os, model, release, buffer string // buffer is the buffer model
	down, up                   [2]string
	nic                        host.Kind
}

// kinds lists the systems in the lab. Each key is tried on each of them.
var kinds = []kind{
	{name: "sonic table", os: "sonic", model: "DellEMC-Z9332f-O32", release: "202511", down: [2]string{"Ethernet0", "Ethernet8"}, up: [2]string{"Ethernet240", "Ethernet248"}},
	{name: "sonic dynamic", os: "sonic", model: "ACS-MSN4700", release: "202511", down: [2]string{"Ethernet0", "Ethernet8"}, up: [2]string{"Ethernet240", "Ethernet248"}, nic: host.BNXT},
	{name: "sonic 202311", os: "sonic", model: "DellEMC-Z9332f-O32", release: "202311", down: [2]string{"Ethernet0", "Ethernet8"}, up: [2]string{"Ethernet240", "Ethernet248"}, nic: host.ICE},
	{name: "eos", os: "eos", model: "DCS-7060DX5-64S", release: "4.34.2F", down: [2]string{"Ethernet1/1", "Ethernet2/1"}, up: [2]string{"Ethernet33/1", "Ethernet34/1"}, nic: host.MLX5OFED},
	{name: "nxos", os: "nxos", model: "N9K-C9332D-GX2B", release: "10.4(3)", down: [2]string{"Ethernet1/1", "Ethernet1/2"}, up: [2]string{"Ethernet1/29", "Ethernet1/30"}},
}

// fabric returns the valid intent to which a key is added: two leaves, each with a host, below a
// spine. All switches are of the kind.
func (k kind) fabric() map[string]any {
	sw := func(role, address string) map[string]any {
		m := map[string]any{"os": k.os, "model": k.model, "release": k.release, "role": role, "address": address, "ports": map[string]any{}}
		if k.buffer != "" {
			m["bufferModel"] = k.buffer
		}
		return m
	}
	queue := 6
	if k.os == "nxos" { // only the topmost queues can be strict on NX-OS
		queue = 7
	}
	link := func(a, b, cable string) any {
		return map[string]any{"a": a, "b": b, "cable": cable, "speed": "400G"}
	}
	return map[string]any{
		"apiVersion": "roce-fabric/v1", "kind": "Fabric", "name": "keys",
		"classes": map[string]any{
			"rdma":    map[string]any{"priority": 3, "dscp": []any{26}, "lossless": true, "bandwidth": "50%", "ecn": map[string]any{"min": "150KB", "max": "1500KB", "probability": "10%"}},
			"bulk":    map[string]any{"priority": 1, "dscp": []any{10}, "bandwidth": "20%"},
			"cnp":     map[string]any{"priority": queue, "dscp": []any{48}, "strict": true},
			"default": map[string]any{"priority": 0, "dscp": "rest", "bandwidth": "30%"},
		},
		"pfc":      map[string]any{"watchdog": map[string]any{"detect": "400ms", "restore": "1s", "poll": "100ms"}},
		"mtu":      map[string]any{"fabric": 9100, "host": 9000, "rdma": 4096},
		"roles":    map[string]any{"leaf": map[string]any{}},
		"switches": map[string]any{"leaf1": sw("leaf", "192.0.2.11"), "leaf2": sw("leaf", "192.0.2.12"), "spine1": sw("spine", "192.0.2.21")},
		"hosts": map[string]any{
			"gpu1": map[string]any{"address": "192.0.2.101", "nics": map[string]any{"eth0": map[string]any{"rdma": "mlx5_0"}}},
			"gpu2": map[string]any{"address": "192.0.2.102", "nics": map[string]any{"eth0": map[string]any{"rdma": "mlx5_0"}}},
		},
		"links": []any{
			link("leaf1/"+k.down[0], "gpu1/eth0", "5m"), link("leaf2/"+k.down[0], "gpu2/eth0", "5m"),
			link("leaf1/"+k.up[0], "spine1/"+k.down[0], "40m"), link("leaf2/"+k.up[0], "spine1/"+k.down[1], "40m"),
		},
		"credentials": map[string]any{
			"switches": map[string]any{"username": "admin", "ssh": map[string]any{}},
			"hosts":    map[string]any{"username": "admin"},
		},
	}
}

// keep is the value of an edit that changes nothing; drop removes the key.
type (
	keep struct{}
	drop struct{}
)

// set sets the value at a path of keys and list indexes, such as "switches|leaf1|trust". It
// creates missing maps on the way. PORT and UPLINK stand for ports of a leaf.
func (k kind) set(doc map[string]any, path string, v any) {
	path = k.ports(path)
	keys := strings.Split(path, "|")
	var at any = doc
	for i, key := range keys {
		last := i == len(keys)-1
		switch m := at.(type) {
		case map[string]any:
			if _, gone := v.(drop); gone && last {
				delete(m, key)
				return
			}
			if last {
				m[key] = k.fill(v)
				return
			}
			if m[key] == nil {
				m[key] = map[string]any{}
			}
			at = m[key]
		case []any:
			n := int(key[0] - '0')
			if last {
				m[n] = k.fill(v)
				return
			}
			at = m[n]
		default:
			panic("no place for " + path)
		}
	}
}

func (k kind) ports(s string) string {
	return strings.NewReplacer("PORT", k.down[0], "UPLINK", k.up[0], "SPARE", k.down[1]).Replace(s)
}

// fill replaces PORT and UPLINK in a value.
func (k kind) fill(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal([]byte(k.ports(string(b))), &out); err != nil {
		panic(err)
	}
	return out
}

// with returns the intent with one of the values of a key.
func (k kind) with(c keyCase, value int) []byte {
	doc := k.fabric()
	for _, e := range c.with {
		k.set(doc, e.at, e.v)
	}
	if _, as := c.values[value].(keep); !as {
		k.set(doc, c.at, c.values[value])
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return b
}

// schemaKeys returns the keys of the intent, such as "Class.maxRate". Keys of the file itself have
// the form "File.name".
func schemaKeys(t *testing.T) []string {
	type object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]object          `json:"$defs"`
	}
	var s object
	if err := json.Unmarshal(intent.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var out []string
	s.Defs["File"] = s
	for name, d := range s.Defs {
		for key := range d.Properties {
			out = append(out, name+"."+key)
		}
	}
	return natural.Sorted(out)
}

// Every key of the intent has values to try, or a reason why it does not affect a device.
func TestEveryKeyIsTried(t *testing.T) {
	all := schemaKeys(t)
	tried := map[string]bool{}
	for _, c := range keyCases {
		tried[c.key] = true
		if !slices.Contains(all, c.key) {
			t.Errorf("%s is no key of the intent", c.key)
		}
		for on := range c.refused {
			if !slices.ContainsFunc(kinds, func(k kind) bool { return k.is(on) }) {
				t.Errorf("%s is refused on %q, which is no system", c.key, on)
			}
		}
	}
	for key := range notOfDevices {
		if tried[key] || !slices.Contains(all, key) {
			t.Errorf("%s is tried on devices, or no key of the intent", key)
		}
	}
	for _, key := range all {
		if !tried[key] && notOfDevices[key] == "" {
			t.Errorf("no values are tried for %s: add them to keyCases", key)
		}
	}
}

// is reports whether on names the kind: its name, its system, or "all".
func (k kind) is(on string) bool { return on == k.name || on == k.os || on == "all" }

func lookup[T any](k kind, m map[string]T) (v T, ok bool) {
	for _, on := range []string{k.name, k.os, "all"} {
		if v, ok = m[on]; ok {
			return v, ok
		}
	}
	return v, false
}

// Each key of the intent is applied on each system with two values: the first on a device in
// factory state, the second over the first. A second plan must be empty and validation must find
// nothing. Otherwise the value must be rejected before anything is written, for a reason listed
// here. Outside nightly runs only some keys, chosen by the seed, are tried.
func TestKeysAreAppliedOrRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	seed := sharedtest.Seed(*keySeed)
	t.Logf("seed %d: repeat with -args -keys.seed=%[1]d", seed)
	type trial struct {
		keyCase
		kind
	}
	var trials []trial
	for _, c := range keyCases {
		for _, k := range kinds {
			if strings.Contains(c.trialName(k), *keyOnly) && (!c.once || k.name == kinds[0].name) {
				trials = append(trials, trial{c, k})
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 15))
	r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	began, done := time.Now(), 0
	for _, x := range trials {
		if !sharedtest.Nightly() && *keyOnly == "" && done >= sampleKeys {
			break
		}
		done++
		t.Run(x.trialName(x.kind), func(t *testing.T) {
			if sharedtest.Nightly() {
				t.Parallel()
			}
			x.kind.try(t, x.keyCase)
		})
	}
	t.Logf("%d of %d trials in %s", done, len(trials), time.Since(began).Round(time.Second))
}

// trialName returns the name of a trial.
func (c keyCase) trialName(k kind) string {
	return strings.ReplaceAll(c.key+" at "+c.at+" on "+k.name, "|", ".")
}

func (k kind) try(t *testing.T, c keyCase) {
	why, refused := lookup(k, c.refused)
	var box *bench
	for i, v := range c.values {
		if _, skip := v.(keep); skip {
			continue
		}
		text := k.with(c, i)
		f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: strings.NewReader(string(text)), Take: fleet.TakeAll})
		if err != nil {
			t.Fatalf("%v: %v\n%s", v, err, text)
		}
		if box == nil || c.reinstalls {
			box = start(t, f, k)
		}
		reasons := box.refusals(f)
		switch {
		case len(reasons) > 0 && refused:
			if !slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(r, why) }) {
				t.Errorf("%v is refused for %q, not because %q", v, reasons, why)
			}
			continue
		case len(reasons) > 0:
			t.Errorf("%v is refused: %q", v, reasons)
			continue
		case refused && !c.some:
			t.Errorf("%v is not refused, as the list says: %s", v, why)
			continue
		}
		n := box.apply(f)
		if inert := c.inert || slices.ContainsFunc(c.inertOn, k.is); n == 0 && i > 0 && !inert {
			t.Errorf("%v changes nothing on the devices", v)
		}
		box.clean(f, v, c.finds)
	}
}

// bench is a lab in which a key is tried.
type bench struct {
	t  *testing.T
	at *fleet.Access
	o  fleet.RunOptions
}

func start(t *testing.T, f *fleet.Fabric, k kind) *bench {
	t.Helper()
	dir := t.TempDir()
	l, err := lab.Start(f.Fabric(), dir, lab.Options{NIC: k.nic})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{t, &fleet.Access{At: l.At, Scale: 0.001}, fleet.RunOptions{Store: store.Dir(filepath.Join(dir, "state")), Workers: 4, Writers: 4}}
}

// refusals returns the reasons for which check or plan rejects the intent.
func (b *bench) refusals(f *fleet.Fabric) []string {
	out := map[string]bool{}
	found, err := fleet.Check(b.t.Context(), f, fleet.CheckOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, x := range found {
		if x.ID == "OPS-04" || x.ID == "WD-04" {
			out[x.What] = true
		}
	}
	p := b.plan(f)
	for d, err := range p.Devices() {
		if err != nil {
			b.t.Fatal(err)
		}
		if d.Error != nil {
			out[d.Name+": "+d.Error.Text] = true
			continue
		}
		for _, c := range d.Changes {
			if c.Blocked != "" && !c.Open {
				out[c.Blocked] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

func (b *bench) plan(f *fleet.Fabric) *fleet.PlanFile {
	b.t.Helper()
	devices, _ := f.Devices(b.at)
	p, err := fleet.Prepare(b.t.Context(), devices, fleet.PlanOptions{Fabric: f.Fabric(), Workers: 4})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = p.Close() })
	return p
}

// apply applies the intent in as many runs as necessary, and returns the number of changes. A plan
// after that must be empty.
func (b *bench) apply(f *fleet.Fabric) (changes int) {
	b.t.Helper()
	devices, _ := f.Devices(b.at)
	for more := true; ; {
		p, left := b.plan(f), []string{}
		for d, err := range p.Devices() {
			if err = errors.Join(err, fault(d)); err != nil {
				b.t.Fatal(err)
			}
			for _, g := range d.Changes {
				if !g.Open {
					left = append(left, fmt.Sprintf("%s %s: %s -> %s", d.Name, g.Title(), g.Old, g.New))
				}
			}
			for _, s := range d.Steps {
				left = append(left, fmt.Sprintf("%s: step %+v", d.Name, s))
			}
		}
		if len(left) == 0 {
			return changes
		}
		if !more {
			b.t.Fatalf("after the apply a plan is not empty: %s", strings.Join(left, "\n"))
		}
		more = p.Rollout != nil && p.Rollout.Interim != nil
		changes += len(left)
		o := b.o
		o.Fabric = f.Fabric()
		r, err := fleet.Apply(b.t.Context(), devices, p, fleet.ApplyOptions{RunOptions: o, Allow: qos.ImpactReload})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, x := range r.Outcomes {
			if x.Error != nil {
				b.t.Fatalf("%s found out by the device: %v", x.Device, x.Error)
			}
		}
	}
}

func fault(d *fleet.DevicePlan) error {
	if d == nil || d.Error == nil {
		return nil
	}
	return d.Error
}

// clean fails the test if validation reports anything above info, except the checks in trips.
func (b *bench) clean(f *fleet.Fabric, v any, trips string) {
	b.t.Helper()
	got, err := fleet.Validate(b.t.Context(), f, b.at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{Workers: 4}})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, x := range got.Findings {
		// A lab installs no boot unit and resets no card.
		if x.Severity != checks.Info && x.ID != "NIC-05" && !strings.Contains(x.What, "reset pending") && x.Suppressed == nil && !slices.Contains(strings.Fields(trips), x.ID) {
			b.t.Errorf("%v: %s %s %s", v, x.Severity, x.ID, x.Told())
		}
	}
}
