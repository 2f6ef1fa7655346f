package sonic

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// TestYANGModelsMatchTheChecks: the models of an image accept exactly what its updater accepts.
func TestYANGModelsMatchTheChecks(t *testing.T) {
	for rel, name := range Releases {
		m, err := yang.LoadFiles(name, Models(name))
		if err != nil || len(m.Skipped()) > 0 || len(m.Unevaluated()) > 0 {
			t.Fatalf("%s: %v, %v, %v", name, err, m.Skipped(), m.Unevaluated())
		}
		for _, r := range rules {
			doc := map[string]map[string]map[string]string{}
			for table, body := range r.apply() {
				if modelsOf(rel)[table].loose {
					continue
				}
				doc[table] = map[string]map[string]string{}
				for key, entry := range body.(map[string]any) {
					doc[table][key] = map[string]string{}
					for field, v := range entry.(map[string]any) {
						doc[table][key][field] = v.(string)
					}
				}
			}
			if found := m.Check(doc); (len(found) == 0) != r.accepted(rel) {
				t.Errorf("%s: %v: %v", name, r, found)
			}
		}
	}
}
