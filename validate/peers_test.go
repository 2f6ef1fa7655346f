package validate

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// beyondPeers leaves out the information that the peers of an intent are not known.
func beyondPeers(fs []checks.Finding) []checks.Finding {
	return slices.DeleteFunc(fs, func(f checks.Finding) bool { return f.ID == "BUF-16" && f.Severity == checks.Info })
}

// TestUnknownPeers checks that peers of which nobody says how soon they obey a pause are named once
// for the fabric, and only those.
func TestUnknownPeers(t *testing.T) {
	late := strings.NewReplacer(`leaf2: {os: sonic, address: "192.0.2.2:8080", model: Arista-7260CX3-C64}`, `leaf2: {os: sonic, address: "192.0.2.2:8080", model: Cisco-8102-C64}`).Replace(bases["th2"])
	for name, c := range map[string]struct{ text, says string }{
		"clos":              {closBase, "state pauseResponse of gpu[1-3] and buffers.pauseResponse of leaf[1-3],spine1,spine2 where"},
		"of switches known": {bases["fan out"], "state pauseResponse of gpu[1-3] where"},
		"all stated":        {strings.NewReplacer("buffers: {fanOut: 2, pause", "buffers: {pause", "gpu1: {", "gpu1: {pauseResponse: 1us, ", "gpu2: {", "gpu2: {pauseResponse: 1us, ", "gpu3: {", "gpu3: {pauseResponse: 1us, ").Replace(bases["fan out"]), ""},
		"known to be late":  {late, "state buffers.pauseResponse of leaf1 where"},
		"measured":          {bases["measured"], ""},
		"lossy":             {bases["lossy"], ""},
		"no standard":       {strings.ReplaceAll(base, "400G", "1600G"), ""},
	} {
		fs := slices.DeleteFunc(static(t, c.text), func(f checks.Finding) bool {
			return f.ID != "BUF-16" || f.Severity != checks.Info || f.Inconclusive()
		})
		switch {
		case c.says == "" && len(fs) == 0:
		case c.says == "" || len(fs) != 1 || fs[0].Device != "" || !strings.Contains(fs[0].Fix, c.says):
			t.Errorf("%s: %v, want %q", name, fs, c.says)
		}
	}
}
