package lab_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var (
	valueSeed = flag.Uint64("values.seed", 0, "seed of the order in which keys are tried; 0 is 1, in nightly runs random")
	valueOnly = flag.String("values.only", "", "try alone what holds this text: a key, its place or its system")
)

// sampleValues is the number of keys, each on one system, that are tried with all their values
// outside nightly runs.
const sampleValues = 25

// cumulus is a system that is not in [kinds].
var cumulus = kind{name: "cumulus", os: "cumulus", model: "SN5600", release: "5.15", down: [2]string{"swp1", "swp2"}, up: [2]string{"swp33", "swp34"}}

// property is what the intent's JSON Schema says about a key.
type property struct {
	Type    any        `json:"type"`
	Enum    []any      `json:"enum"`
	Minimum *float64   `json:"minimum"`
	Maximum *float64   `json:"maximum"`
	Pattern string     `json:"pattern"`
	AnyOf   []property `json:"anyOf"`
	Items   *property  `json:"items"`
	Ref     string     `json:"$ref"`
}

// sample is a value for a key. wrong is set if the schema does not allow the value. Values with
// the same alike have the same meaning.
type sample struct {
	v     any
	wrong bool
	alike string
}

// spellings lists values for the quantities of the intent, by a part of their schema pattern.
// Values in the same inner list have the same meaning.
var spellings = []struct {
	unit   string // part of the pattern
	values [][]string
}{
	{" segments", [][]string{{"1B"}, {"150KB", "0.15MB", "150000B"}, {"150001B"}, {"1MiB", "1024KiB", "1048576B"}, {"1GB"}, {"0 segments"}, {"1 segments"}, {"100 segments"}, {"500 cells"}, {"100 packets"}, {"0%"}, {"7%"}, {"10%"}, {"101%"}, {"19ms"}, {"1ms"}, {"6us"}, {"9000us"}, {"0us"}}},
	{"KiB|MiB|GiB|KB|kB|MB|GB|B)$", [][]string{{"0B"}, {"1B"}, {"64B"}, {"256B", "0.25KiB"}, {"257B"}, {"1KB", "1000B", "0.001MB"}, {"1KiB", "1024B"}, {"2048B"}, {"9216B"}, {"9217B"}, {"1MiB", "1024KiB", "1048576B"}, {"100GB"}}},
	{"(G|M|T)$", [][]string{{"0G"}, {"1M"}, {"100M", "0.1G"}, {"1G", "1000M", "0.001T"}, {"10G"}, {"10.5G", "10500M"}, {"40G"}, {"100G", "0.1T", "100000M"}, {"100.001G"}, {"200G"}, {"400G", "0.4T"}, {"401G"}, {"800G"}, {"3.2T"}}},
	{"(km|m)$", [][]string{{"0m"}, {"0.1m"}, {"1m"}, {"5m", "0.005km"}, {"5.5m"}, {"40m"}, {"100m"}, {"300m", "0.3km"}, {"2km", "2000m"}, {"40km"}, {"1000km"}}},
	{"?%$", [][]string{{"0%"}, {"0.5%"}, {"1%"}, {"7%"}, {"15%", "15.0%"}, {"15.4%"}, {"29%"}, {"50%"}, {"99%"}, {"100%"}}},
	{"q|(", [][]string{{"1q"}, {"905q"}, {"99999q"}, {"500ns", "0.5us"}, {"2us", "2000ns"}, {"1ms"}, {"0ns"}}},
	{"(ns|us|µs|ms|s|m|h)", [][]string{{"0s"}, {"1ns"}, {"1ms"}, {"1.5ms"}, {"10ms"}, {"99ms"}, {"100ms", "0.1s", "100000us"}, {"150ms"}, {"200ms"}, {"200.4ms"}, {"300ms"}, {"400ms"}, {"600ms"}, {"1s", "1000ms"}, {"1.001s"}, {"2s"}, {"5s"}, {"1m", "60s"}, {"1h"}, {"25h"}}},
}

// samples returns values of each kind allowed for a key, values at and beyond its bounds, and
// values of other kinds.
func (p property) samples() (out []sample) {
	wrong := func(all ...any) {
		for _, v := range all {
			out = append(out, sample{v: v, wrong: true})
		}
	}
	switch {
	case p.AnyOf != nil:
		for _, q := range p.AnyOf {
			out = append(out, slices.DeleteFunc(q.samples(), func(s sample) bool { return s.wrong })...)
		}
		wrong("parsec", []any{[]any{}}, 1.5)
	case p.Ref != "":
		wrong("parsec", 1, true, []any{m{"a": 1}})
	case p.Items != nil:
		for _, s := range p.Items.samples() {
			out = append(out, sample{v: []any{s.v}, wrong: s.wrong})
		}
		wrong("parsec", m{"a": 1}, true)
	case p.Enum != nil:
		for _, v := range p.Enum {
			out = append(out, sample{v: v})
		}
		wrong("parsec", 1.5, []any{"x"}, m{"a": 1})
	case p.Type == "boolean":
		out = append(out, sample{v: true}, sample{v: false})
		wrong("yes", 1, []any{true}, m{"a": 1})
	case p.Type == "integer" || p.Type == "number":
		lo, hi := *p.Minimum, *p.Maximum
		for _, v := range []float64{lo, lo + 1, float64(int(lo+hi) / 2), hi - 1, hi} {
			out = append(out, sample{v: v})
		}
		wrong(lo-1, hi+1, "parsec", strconv.Itoa(int(lo)), true, []any{lo}, m{"a": lo})
		if p.Type == "integer" {
			wrong(lo + 0.5)
		} else {
			out = append(out, sample{v: lo + 0.5})
		}
	case p.Pattern != "":
		out = p.texts()
		wrong(true, []any{"x"}, m{"a": 1}, "\x00")
	}
	return out
}

// texts returns quantities in all units, and invalid texts.
func (p property) texts() (out []sample) {
	rule := regexp.MustCompile(p.Pattern)
	for _, of := range spellings {
		if !strings.Contains(p.Pattern, of.unit) {
			continue
		}
		for _, alike := range of.values {
			for _, v := range alike {
				out = append(out, sample{v: v, wrong: !rule.MatchString(v), alike: alike[0]})
			}
		}
		out = append(out, sample{v: 150, wrong: true}, sample{v: "150", wrong: true}, sample{v: "1 parsec", wrong: true}, sample{v: "-1" + strings.TrimLeft(of.values[1][0], "0123456789."), wrong: true})
		break
	}
	return out
}

// properties returns the keys of the intent, named as in [schemaKeys].
func properties(t *testing.T) map[string]property {
	type object struct {
		Properties map[string]property `json:"properties"`
		Defs       map[string]object   `json:"$defs"`
	}
	var s object
	if err := json.Unmarshal(intent.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	s.Defs["File"] = s
	out := map[string]property{}
	for name, d := range s.Defs {
		for key, p := range d.Properties {
			out[name+"."+key] = p
		}
	}
	return out
}

// within returns the path of a key in a value, and false if the value does not contain it.
func within(v any, key string) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[key]; ok {
			return key, true
		}
		for name, inner := range v {
			if at, ok := within(inner, key); ok {
				return name + "|" + at, true
			}
		}
	case []any:
		for i, inner := range v {
			if at, ok := within(inner, key); ok {
				return fmt.Sprintf("%d|%s", i, at), true
			}
		}
	}
	return "", false
}

// place returns the path of a case's key. For some cases the key is inside the values.
func (c keyCase) place() string {
	_, key, _ := strings.Cut(c.key, ".")
	if c.at == key || strings.HasSuffix(c.at, "|"+key) {
		return c.at
	}
	for _, v := range c.values {
		if at, ok := within(v, key); ok {
			return c.at + "|" + at
		}
	}
	return c.at + "|" + key
}

// sound returns [kind.fabric] with a watchdog that the system supports.
func (k kind) sound() map[string]any {
	doc := k.fabric()
	if k.os == "cumulus" {
		doc["pfc"] = m{"watchdog": m{"detect": "300ms", "restore": "100ms"}}
	}
	return doc
}

// valued returns the intent with a sample as the value of a key.
func (k kind) valued(c keyCase, v any) []byte {
	doc := k.sound()
	for _, e := range c.with {
		k.set(doc, e.at, e.v)
	}
	at := c.place()
	if at != c.at {
		for _, around := range c.values {
			if _, ok := around.(map[string]any); ok || strings.Contains(at[len(c.at):], "|0|") {
				k.set(doc, c.at, around)
				break
			}
		}
	}
	k.set(doc, at, v)
	if text, ok := v.(string); ok && (c.key == "ECN.min" || c.key == "ECN.max") {
		k.set(doc, strings.TrimSuffix(strings.TrimSuffix(at, "min"), "max")+map[string]string{"ECN.min": "max", "ECN.max": "min"}[c.key], other(c.key, text))
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return b
}

// other returns a value for the opposite end of an ECN curve, in the same unit.
func other(key, text string) string {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzBKMG% ")
	unit := text[len(number):]
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return text
	case key == "ECN.min":
		n *= 10
	default:
		n /= 10
	}
	if !strings.HasSuffix(unit, "B") {
		n = max(1, float64(int(n)))
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + unit
}

// verdict is the outcome for a value.
type verdict struct {
	refused string            // why it was rejected, with the position
	text    map[string]string // the rendered configuration, by device
	said    string            // the findings of check
}

var position = regexp.MustCompile(`:[0-9]+:[0-9]+`)

// judge passes an intent through check and the renderers.
func (k kind) judge(t *testing.T, text []byte, before map[string]bool) (v verdict) {
	t.Helper()
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: strings.NewReader(string(text)), Take: fleet.TakeAll})
	if err != nil {
		if !position.MatchString(err.Error()) {
			t.Errorf("it is refused without a place: %v", err)
		}
		v.refused = err.Error()
		return v
	}
	found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range found {
		if before[finding(x)] {
			continue
		}
		v.said += fmt.Sprintf("%s %s %s (%s)\n", x.Severity, x.ID, x.What, x.Where)
		if x.Severity == checks.Error {
			v.refused += x.Where + ": " + x.What + "\n"
		}
	}
	if v.refused != "" {
		if !position.MatchString(v.refused) {
			t.Errorf("check refuses it without a place: %s", v.refused)
		}
		return v
	}
	v.text = map[string]string{}
	for _, sw := range f.Fabric().Switches {
		d := f.Device(sw)
		system := fleet.SystemOf(d)
		_, native := system.Encode(d)
		v.text[sw.Name] = string(native)
		saved, err := system.Saved(running(d, native), drivers.Target{Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V})
		if err != nil {
			t.Errorf("%s: what was rendered cannot be read: %v", sw.Name, err)
			continue
		}
		got, unknown := saved.Decode(saved.Snapshot)
		for _, u := range unknown {
			t.Errorf("%s: what was rendered is not understood: %+v", sw.Name, u)
		}
		for _, c := range qos.DiffSaved(got, d.Desired) {
			t.Errorf("%s: %s is wanted %s, and what was rendered means %s", sw.Name, c.Path(), c.New, c.Old)
		}
	}
	for _, h := range f.Hosts {
		want, _ := nic.Desired(f.Fabric(), h)
		for _, p := range want.Ports {
			p.From = nil
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		v.text[h.Name] = string(b)
	}
	return v
}

// running returns the configuration that a switch runs after it took a rendered configuration: the
// switch keeps its own buffer model.
func running(d *render.Device, native []byte) []byte {
	var rows map[string]map[string]map[string]any
	if d.Switch.OS != "sonic" || !d.Desired.Platform.DynamicBuffers || json.Unmarshal(native, &rows) != nil {
		return native
	}
	const metadata = "DEVICE_METADATA"
	if rows[metadata] == nil {
		rows[metadata] = map[string]map[string]any{"localhost": {}}
	}
	rows[metadata]["localhost"]["buffer_model"] = "dynamic"
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return b
}

// findings returns the findings for the intent without the key. They are unrelated to the key's
// value.
func (k kind) findings(t *testing.T) map[string]bool {
	t.Helper()
	text, err := json.Marshal(k.sound())
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: bytes.NewReader(text), Take: fleet.TakeAll})
	if err != nil {
		t.Fatal(err)
	}
	found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, x := range found {
		out[finding(x)] = true
	}
	return out
}

// finding identifies a finding across two intents.
func finding(f checks.Finding) string { return f.ID + f.Device + strings.Join(f.Ports, ",") + f.What }

// Each key of the intent is tried with values of every kind, in every unit and at its bounds. On
// each system the value must be rendered so that reading the result gives the value again, or it
// must be rejected with its position. A quantity must mean the same in every unit, and two
// different values must not render alike unless check reports it.
func TestEveryValueIsRenderedOrRefused(t *testing.T) {
	seed := sharedtest.Seed(*valueSeed)
	t.Logf("seed %d: repeat with -args -values.seed=%[1]d", seed)
	all := properties(t)
	type trial struct {
		keyCase
		kind
	}
	var trials []trial
	for _, c := range keyCases {
		for _, k := range append(slices.Clone(kinds), cumulus) {
			if strings.Contains(c.trialName(k), *valueOnly) && (!c.once || k.name == kinds[0].name) {
				trials = append(trials, trial{c, k})
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 16))
	r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	if !sharedtest.Nightly() && *valueOnly == "" {
		trials = trials[:sampleValues]
	}
	refused, rendered := 0, 0
	for _, x := range trials {
		t.Run(x.trialName(x.kind), func(t *testing.T) {
			a, b := x.kind.values(t, x.keyCase, all[x.key])
			refused, rendered = refused+a, rendered+b
		})
	}
	t.Logf("%d keys on a system: %d values refused, %d rendered", len(trials), refused, rendered)
}

// rendersAlike reports whether a value may be rendered like another one: because the key
// configures nothing there, because check reports it, or because the key is only a bound.
func (c keyCase) rendersAlike(k kind, v verdict, value any) bool {
	switch {
	case c.inert, slices.ContainsFunc(c.inertOn, k.is):
		return true
	case strings.Contains(v.said, "OPS-04"), strings.Contains(v.said, "WD-04"):
		return true
	case value == "keep": // renders nothing, as other keywords may
		return true
	}
	switch c.key {
	case "Link.cable", "Port.cable": // switches have headroom for some lengths and use the next longer one
		return true
	case "Link.speed", "Port.speed": // is compared but not set
		return k.os == "cumulus"
	case "Switch.bufferModel": // applies only to SONiC
		return k.os != "sonic"
	}
	return false
}

// values tries all values of a key on one system.
func (k kind) values(t *testing.T, c keyCase, p property) (refused, rendered int) {
	before := k.findings(t)
	meaning := map[string]verdict{}
	same := map[string]string{}
	for _, s := range p.samples() {
		t.Run(fmt.Sprintf("%.60q", fmt.Sprint(s.v)), func(t *testing.T) {
			v := k.judge(t, k.valued(c, s.v), before)
			switch {
			case s.wrong && v.refused == "":
				t.Errorf("the schema refuses it, and check does not")
			case v.refused != "":
				refused++
			default:
				rendered++
			}
			if means := cmp.Or(s.alike, fmt.Sprint(s.v)); v.refused == "" && !c.rendersAlike(k, v, s.v) {
				all := fmt.Sprint(v.text)
				if other, ok := same[all]; ok && other != means {
					t.Errorf("it renders what %s renders, and check does not say so: %s", other, v.said)
				}
				same[all] = means
			}
			if s.alike == "" {
				return
			}
			was, ok := meaning[s.alike]
			if !ok {
				meaning[s.alike] = v
				return
			}
			if (was.refused == "") != (v.refused == "") {
				t.Errorf("refused for %q, and %q for %s", v.refused, was.refused, s.alike)
			}
			for name, text := range v.text {
				if text != was.text[name] {
					t.Errorf("%s is not what %s renders:\n%s\nand not\n%s", name, s.alike, text, was.text[name])
				}
			}
		})
	}
	return refused, rendered
}
