package starter_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/starter"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// options sets fields from pairs of name and value, as the flags do.
func options(t *testing.T, args ...string) *starter.Options {
	t.Helper()
	o := starter.New()
	for i := 0; i < len(args); i += 2 {
		found := false
		for _, f := range o.Fields() {
			if f.Name == args[i] {
				found = true
				if err := f.Set(args[i+1]); err != nil {
					t.Fatalf("%s: %v", f.Name, err)
				}
			}
		}
		if !found {
			t.Fatalf("nothing is called %s", args[i])
		}
	}
	return o
}

// load loads an intent as the check command does.
func load(t *testing.T, text []byte) *fleet.Fabric {
	t.Helper()
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: bytes.NewReader(text)})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// passes checks an intent and fails on every finding except missing published data.
func passes(t *testing.T, text []byte) *intent.Fabric {
	t.Helper()
	f := load(t, text)
	if laid, err := intent.Format(intent.File{Name: "fabric.yaml", Data: text}); err != nil || !bytes.Equal(laid, text) {
		t.Errorf("the intent is not as fmt writes it: %v\n%s", err, laid)
	}
	found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		// OPS-04 reports a model whose published port layout contradicts itself.
		if one.Severity != checks.Info && one.ID != "OPS-04" {
			t.Errorf("%s %s: %s", one.Severity, one.ID, one.What)
		}
	}
	return f.Fabric()
}

// reasons holds the accepted errors: no intent exists for the model, or for that size.
var reasons = []string{"are not known", "makes no lossless priority group", "has no row for cables", "a leaf needs"}

// made returns the intent, or nil if it fails for one of the accepted reasons.
func made(t *testing.T, o *starter.Options) []byte {
	t.Helper()
	text, err := o.Intent()
	if err != nil && !slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(err.Error(), r) }) {
		t.Fatal(err)
	}
	return text
}

// Every model of the catalogue gives an intent for each shape, except models without ports or
// without published lossless buffers. The intent passes the checks.
func TestEveryModelPasses(t *testing.T) {
	for _, os := range intent.Systems() {
		for _, shape := range starter.Shapes() {
			n, all := 0, catalog.ModelsOf(os)
			for _, model := range all {
				t.Run(os+"/"+model+"/"+shape, func(t *testing.T) {
					if text := made(t, options(t, "shape", shape, "os", os, "model", model, "hosts", "2", "rails", "2")); text != nil {
						n++
						passes(t, text)
					}
				})
			}
			if n < len(all)*3/4 {
				t.Errorf("%s: only %d of %d models of %s have an intent", shape, n, len(all), os)
			}
		}
	}
}

// Fabrics of random sizes have the number of links that their shape requires, also when spines
// run another OS than leaves.
func TestSizes(t *testing.T) {
	usual := map[string][]string{
		"sonic":   {"DellEMC-Z9332f-O32", "ACS-MSN4700", "Arista-7060CX-32S-C32", "ACS-SN5600"},
		"cumulus": {"SN5400", "MSN4700", "SN5600", "MSN3700C"},
		"eos":     {"DCS-7060DX5-64S", "DCS-7280DR3-24", "DCS-7280CR3-32D4", "DCS-7050SX3-48YC8"},
		"nxos":    {"N9K-C9332D-GX2B", "N9K-C9364D-GX2A", "N9K-C93600CD-GX", "N9K-C93180YC-FX3"},
	}
	good := 0
	rapid.Check(t, func(r *rapid.T) {
		shape := rapid.SampledFrom(starter.Shapes()).Draw(r, "shape")
		draw := func(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(r, what) }
		os, spineOS := rapid.SampledFrom(intent.Systems()).Draw(r, "os"), rapid.SampledFrom(intent.Systems()).Draw(r, "spine-os")
		leaves, spines, hosts, rails, links := draw("leaves", 1, 12), draw("spines", 1, 8), draw("hosts", 1, 40), draw("rails", 1, 8), draw("links", 1, 6)
		between := leaves * spines
		nics := hosts
		switch shape {
		case starter.Pair:
			between = links
		case starter.Rail:
			groups := draw("groups", 1, 3)
			leaves, hosts = rails*groups, hosts*groups
			between, nics = leaves*spines, hosts*rails
		}
		text := made(t, options(t, "shape", shape, "os", os, "model", rapid.SampledFrom(usual[os]).Draw(r, "model"),
			"spine-os", spineOS, "spine-model", rapid.SampledFrom(usual[spineOS]).Draw(r, "spine-model"),
			"leaves", strconv.Itoa(leaves), "spines", strconv.Itoa(spines), "hosts", strconv.Itoa(hosts), "rails", strconv.Itoa(rails), "links", strconv.Itoa(links)))
		if text == nil {
			return
		}
		good++
		if got := len(passes(t, text).Links); got != nics+between {
			r.Fatalf("%d links, want %d and %d\n%s", got, nics, between, text)
		}
	})
	// Many random sizes do not fit their models; TestEveryModelPasses covers all shapes.
	if good == 0 {
		t.Error("no fabric was made")
	}
}

// Impossible options give a one-line error.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"shape clos os eos model DCS-7060DX5-64S spines 0", "spines: a Clos fabric needs spines"},
		{"shape rail os eos model DCS-7060DX5-64S leaves 12", "leaves: 12 is not a multiple of the 8 rails"},
		{"shape rail os eos model DCS-7060DX5-64S leaves 16 spines 0", "spines: without them 2 groups"},
		{"shape rail os eos model DCS-7060DX5-64S leaves 16 hosts 9", "hosts: 9 servers cannot be shared evenly by 2 groups"},
		{"shape pair os eos model DCS-7060DX5-64S hosts 200", "a leaf needs 100 ports to hosts and 2 to switches; DCS-7060DX5-64S has 64 of 400G"},
		{"shape clos os eos model DCS-7060DX5-64S spine-model DCS-7260CX3-64", "a spine needs 2 ports of the speed of the leaf's; DCS-7260CX3-64 has 64 of 100G"},
		{"shape pair os sonic model SN5600", `the ports of sonic model "SN5600" are not known`},
		{"shape pair os sonic model DellEMC-Z9332f-O32 fabric-cable 10km", "has no row for cables of 5m to hosts and 10000m between switches"},
		{"shape pair os sonic model AC5XRD", "the buffer template of AC5XRD has no ingress_lossless_pool"},
		{"shape pair os eos model DCS-7060DX5-64S name a/b", `name: "a/b" is not a valid name for a fabric`},
	} {
		if text, err := options(t, strings.Fields(c.args)...).Intent(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.args, err, c.want, text)
		}
	}
}

// A rail fabric with one group needs no spines. A name that YAML would read as a number stays a
// name.
func TestWithoutSpines(t *testing.T) {
	text, err := options(t, "shape", "rail", "os", "nxos", "model", "N9K-C9332D-GX2B", "spines", "0", "rails", "1", "hosts", "1", "name", "1e3").Intent()
	if err != nil {
		t.Fatal(err)
	}
	if f := passes(t, text); f.Name != "1e3" || len(f.Switches) != 1 || len(f.Links) != 1 {
		t.Errorf("%s", text)
	}
}
