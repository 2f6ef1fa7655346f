package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// models.md must list the catalogue.
func TestModels(t *testing.T) {
	generated(t, "models.md", "models", models())
}

func models() string {
	type kind struct{ vendor, asic, tested, headroom, thresholds string }
	var b strings.Builder
	for _, system := range intent.Systems() {
		of := map[kind][]string{}
		for _, name := range catalog.ModelsOf(system) {
			m, _ := catalog.ModelOf(system, name)
			tested, _ := m.SelfTest()
			k := kind{m.Vendor, m.ASICID, string(tested), headroomOf(m), thresholdsOf(m)}
			of[k] = append(of[k], m.Name)
		}
		if len(of) == 0 {
			continue
		}
		var kinds []kind
		for k := range of {
			kinds = append(kinds, k)
		}
		slices.SortFunc(kinds, func(a, b kind) int {
			return cmp.Or(cmp.Compare(a.vendor, b.vendor), cmp.Compare(a.asic, b.asic), -cmp.Compare(a.tested, b.tested), cmp.Compare(a.headroom, b.headroom), cmp.Compare(a.thresholds, b.thresholds))
		})
		fmt.Fprintf(&b, "\n## %s: %d models\n\n| vendor | ASIC | tested | headroom | thresholds | models |\n|---|---|---|---|---|---|\n", system, len(catalog.ModelsOf(system)))
		for _, k := range kinds {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", k.vendor, k.asic, k.tested, k.headroom, k.thresholds, strings.Join(of[k], ", "))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// headroomOf says what the headroom of a model rests on.
func headroomOf(m *catalog.Model) string {
	switch {
	case m.ASIC().DynamicBuffers && len(m.Pools) > 0:
		return "formula"
	case len(m.Headroom) > 0:
		return "table"
	}
	return "-"
}

// thresholdsOf says what the pause thresholds of a model rest on.
func thresholdsOf(m *catalog.Model) string {
	if _, ok := m.Pool(catalog.IngressPool); !ok {
		return "-"
	}
	return cmp.Or(string(m.ASIC().Thresholds), "assumed")
}
