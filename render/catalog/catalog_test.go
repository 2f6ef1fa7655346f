package catalog

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

const g = units.Rate(1e9)

func mustLookup(t *testing.T, name string) *Model {
	t.Helper()
	m, ok := Lookup(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	return m
}

// Every file must parse and be consistent: the profiles that it binds exist, and no name occurs
// twice. A lane that the published layout uses twice is noted.
func TestModelsAreConsistent(t *testing.T) {
	if n := len(Models()); n < 470 {
		t.Fatalf("%d models", n)
	}
	rows := 0
	for _, name := range Models() {
		m, ok := Lookup(name)
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if m.Vendor == "cisco" && m.Platform == "" {
			continue // TestBoxes checks it
		}
		if m.ASIC() == nil || m.Platform == "" || m.ASICFrom == "" || len(m.Sources) == 0 || len(m.Headroom)+len(m.Ports) == 0 {
			t.Errorf("%s: incomplete", name)
		}
		for _, s := range m.Sources {
			if !sourceForm.MatchString(s) {
				t.Errorf("%s: source %q without commit", name, s)
			}
		}
		lanes, indexes := map[string]string{}, 0
		for _, p := range m.Ports {
			if p.Speed != 0 && p.Speed < g && p.Speed != g/100 && p.Speed != g/10 || p.Alias == "" || p.Index < 0 {
				t.Errorf("%s %s: %+v", name, p.Name, p)
			}
			indexes += p.Index
			for l := range strings.SplitSeq(p.Lanes, ",") {
				if other, dup := lanes[l]; dup && !strings.Contains(m.Note, "twice") {
					t.Errorf("%s: lane %s is in %s and %s", name, l, other, p.Name)
				}
				lanes[l] = p.Name
			}
		}
		if (m.Template == "") != (len(m.Pools) == 0) || len(m.Pools) == 0 && len(m.Profiles) > 0 {
			t.Errorf("%s: template %q, %d pools, %d profiles", name, m.Template, len(m.Pools), len(m.Profiles))
		}
		for _, p := range m.Pools {
			if p.Type != "ingress" && p.Type != "egress" && p.Type != "both" || p.Mode != "static" && p.Mode != "dynamic" || p.Size < 0 || p.XOFF < 0 {
				t.Errorf("%s: %+v", name, p)
			}
		}
		for _, p := range m.Profiles {
			if _, ok := m.Pool(p.Pool); !ok {
				t.Errorf("%s: profile %s: no pool %s", name, p.Name, p.Pool)
			}
			if (p.StaticTh == nil) == (p.DynamicTh == nil) {
				t.Errorf("%s: profile %s: not exactly one threshold", name, p.Name)
			}
		}
		b := m.Bindings
		for _, p := range slices.Concat([]string{b.LossyGroup, b.LossyQueue, b.LosslessQueue, b.LosslessGroup}, b.IngressList, b.EgressList) {
			if _, ok := m.Profile(p); p != "" && !ok {
				t.Errorf("%s: binds %s, which the template does not define", name, p)
			}
		}
		if (m.GCU == "") != (m.GCUSince == "") {
			t.Errorf("%s: gcu %q since %q", name, m.GCU, m.GCUSince)
		}
		if !slices.IsSortedFunc(m.Headroom, func(a, b HeadroomRow) int {
			return cmp.Or(cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Cable, b.Cable))
		}) {
			t.Errorf("%s: rows are not sorted", name)
		}
		for _, r := range m.Headroom {
			if !strings.Contains(r.Source, rowFile) || r.XOFF <= 0 || r.Size < 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if len(m.Headroom) > 0 {
			rows++
		}
	}
	if rows < 238 {
		t.Errorf("%d models have headroom rows", rows)
	}
}

var sourceForm = regexp.MustCompile(`^sonic-net/sonic-buildimage@[0-9a-f]{12}:device/`)

// The embedded archive holds the committed files and nothing else.
func TestArchive(t *testing.T) {
	files, err := filepath.Glob("data/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	embedded, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if len(embedded) != len(files) {
		t.Errorf("%d models are embedded, and there are %d files; go generate ./render/catalog", len(embedded), len(files))
	}
	for name, text := range embedded {
		want, err := os.ReadFile(filepath.Join("data", name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		if have, err := text(); err != nil || have != string(want) {
			t.Errorf("%s is not what is embedded; go generate ./render/catalog: %v", name, err)
		}
	}
}

// An archive that is cut off anywhere gives an error, not a panic.
func TestArchiveCutOff(t *testing.T) {
	for n := 0; n < len(packed); n += 997 {
		files, err := unpack(packed[:n])
		if err == nil {
			t.Errorf("%d of %d bytes are read as %d files", n, len(packed), len(files))
		}
	}
}

// The rows of models that were once read by hand equal the published rows, with none missing and
// none added.
func TestRowsMatchPublished(t *testing.T) {
	f, err := os.Open(sharedtest.Dir(t, "data", "sonic_pg_profiles.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for _, r := range recs[1:] {
		// The part after a slash names one ASIC of a switch with several.
		sku, _, _ := strings.Cut(r[2], "/")
		mbps, err := strconv.ParseInt(r[4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want[sku] = append(want[sku], fmt.Sprint(units.Rate(mbps*1e6), " ", r[5], " ", r[6], " ", r[7], " ", r[8], " ", r[9], " ", r[10], " ", r[11]))
	}
	for sku, rows := range want {
		m, ok := Lookup(sku)
		if !ok {
			t.Errorf("no model %s", sku)
			continue
		}
		var got []string
		for _, r := range m.Headroom {
			off := ""
			if r.XONOffset != nil {
				off = strconv.FormatInt(*r.XONOffset, 10)
			}
			got = append(got, fmt.Sprint(r.Speed, " ", r.Cable, " ", r.Size, " ", r.XON, " ", r.XOFF, " ", r.Threshold, " ", off, " ", r.Source))
		}
		slices.Sort(rows)
		slices.Sort(got)
		if d := diff.Diff(rows, got); d != "" {
			t.Errorf("%s (-published +embedded):\n%s", sku, d)
		}
	}
}

func TestPublishedFacts(t *testing.T) {
	m := mustLookup(t, "DellEMC-Z9332f-O32")
	r, ok := m.HeadroomRow(400*g, 40)
	if !ok || r.Size != 2540 || r.XON != 2540 || r.XOFF != 201930 || r.Threshold != -2 || r.XONOffset == nil || *r.XONOffset != 2540 {
		t.Errorf("Z9332f 400G/40m: %+v", r)
	}
	wantPools := []Pool{
		{Name: "ingress_lossless_pool", Type: "ingress", Mode: "dynamic", Size: 66394076, XOFF: 27200352},
		{Name: "egress_lossless_pool", Type: "egress", Mode: "static", Size: 38462204},
	}
	if d := diff.Diff(wantPools, m.Pools); d != "" {
		t.Errorf("Z9332f pools: %s", d)
	}
	if p, _ := m.Port("Ethernet8"); p != (Port{"Ethernet8", "etp2", 2, "41,42,43,44,45,46,47,48", 400 * g}) {
		t.Errorf("Z9332f Ethernet8: %+v", p)
	}
	if a := m.ASIC(); a.ID != "th3" || a.CellBytes != 254 || a.DynamicBuffers || a.PFCToGroupMap {
		t.Errorf("Z9332f ASIC: %+v", a)
	}
	if m.GCU != "" {
		t.Errorf("Z9332f is in no list of the updater, got %q", m.GCU)
	}

	m = mustLookup(t, "ACS-MSN4700")
	if b := m.Bindings; b.LossyQueue != "q_lossy_profile" || b.LosslessQueue != "egress_lossless_profile" ||
		strings.Join(b.IngressList, ",") != "ingress_lossless_profile,ingress_lossy_profile" ||
		strings.Join(b.EgressList, ",") != "egress_lossless_profile,egress_lossy_profile" {
		t.Errorf("MSN4700 bindings: %+v", b)
	}
	if p, _ := m.Pool("egress_lossless_pool"); p.Size != 60817392 || p.Computed {
		t.Errorf("MSN4700: %+v", p)
	}
	if p, _ := m.Pool("ingress_lossless_pool"); p.Size != 20627456 || !p.Computed {
		t.Errorf("MSN4700: %+v", p)
	}
	if p, _ := m.Port("Ethernet248"); p.Speed != 400*g || p.Index != 32 {
		t.Errorf("MSN4700 Ethernet248: %+v", p)
	}
	if m.GCU != "spc3" || !m.ASIC().DynamicBuffers || !m.ASIC().PFCToGroupMap {
		t.Errorf("MSN4700: gcu %q, %+v", m.GCU, m.ASIC())
	}

	m = mustLookup(t, "Force10-S6000")
	if len(m.Ports) != 32 {
		t.Fatalf("S6000 has %d ports", len(m.Ports))
	}
	for i, p := range m.Ports {
		if p.Name != fmt.Sprintf("Ethernet%d", 4*i) || p.Speed != 40*g {
			t.Errorf("S6000 port %d: %+v", i, p)
		}
	}
	if r, ok := m.HeadroomRow(40*g, 300); !ok || r.XOFF != 55120 || r.Size != 56368 {
		t.Errorf("S6000 40G/300m: %+v", r)
	}

	m = mustLookup(t, "Arista-7060X6-64PE-O128S2")
	if m.GCU != "th5" || m.GCUSince != "202411" {
		t.Errorf("7060X6: gcu %q since %q", m.GCU, m.GCUSince)
	}
	if n := m.Whole(); n != 167546528 {
		t.Errorf("7060X6: the template assumes a memory of %d", n)
	}
}

func TestLookup(t *testing.T) {
	m := mustLookup(t, "force10-s6000")
	if m != mustLookup(t, "Force10-S6000") {
		t.Error("two values for one model")
	}
	for _, name := range []string{"", "Force10", "Force10-S6000 ", "../asics", "data/models/ACS-SN5600"} {
		if _, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) found something", name)
		}
	}
	if _, ok := ASICByID("th5"); !ok {
		t.Error("no th5")
	}
	if _, ok := ASICByID("TH5"); ok {
		t.Error("ids are exact")
	}
}

func TestSuggest(t *testing.T) {
	for in, want := range map[string]string{
		"ACS-MSN470":               "ACS-MSN4700",
		"Force10-S600":             "Force10-S6000",
		"dellemc-z9664f-064":       "DellEMC-Z9664f-O64",
		"SN5600":                   "ACS-SN5600",
		"Edgecore-DCS204":          "",
		"":                         "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := Suggest(intent.SONiC.Name, in); got != want {
			t.Errorf("Suggest(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func TestCables(t *testing.T) {
	m := mustLookup(t, "DellEMC-Z9332f-O32")
	if got := m.Cables(400 * g); !slices.Equal(got, []units.Length{5, 40, 300, 1000, 2000}) {
		t.Fatalf("cables %v", got)
	}
	for length, want := range map[units.Length]units.Length{0.5: 5, 5: 5, 5.5: 40, 40: 40, 41: 300, 301: 1000, 2000: 2000} {
		if c, ok := m.NextCable(400*g, length); !ok || c != want {
			t.Errorf("NextCable(%v) = %v, %v; want %v", length, c, ok, want)
		}
	}
	if _, ok := m.NextCable(400*g, 2001); ok {
		t.Error("a row longer than any listed")
	}
	if _, ok := m.NextCable(800*g, 5); ok || m.Cables(800*g) != nil {
		t.Error("rows at a speed without any")
	}
	if _, ok := m.HeadroomRow(400*g, 50); ok {
		t.Error("a row for 50m, which is not listed")
	}
}

func TestParseModelRefuses(t *testing.T) {
	const ok = `{"name":"x","asic":"th3","ports":["Ethernet0 e 1 1-4,9 100G"],"from":"r@c:d","files":["pg_profile_lookup.ini"],"headroom":["100G 5m 1 2 3 -4 5"]}`
	m, err := parseModel(ok)
	if err != nil || m.Ports[0].Lanes != "1,2,3,4,9" || m.Headroom[0].Threshold != -4 || *m.Headroom[0].XONOffset != 5 {
		t.Fatalf("%+v %v", m, err)
	}
	for from, to := range map[string]string{
		`"th3"`:         `"th33"`,
		`"files"`:       `"fles"`,
		`1-4,9`:         `4-1`,
		`Ethernet0 e 1`: `Ethernet0 1`,
		`100G"]`:        `100"]`,
		`100G 5m`:       `100G 5`,
		`3 -4 5`:        `3`,
		`2 3 -4`:        `2 x -4`,
		`["100G 5m`:     `["100G 5m 9 9 9 9","100G 5m`,
		`["Ethernet0`:   `["Ethernet0 f 2 5 100G","Ethernet0`,
	} {
		bad := strings.Replace(ok, from, to, 1)
		if bad == ok {
			t.Fatalf("%s is not in the file", from)
		}
		if _, err := parseModel(bad); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}
