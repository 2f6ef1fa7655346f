package intent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The fast check of a rule accepts only texts that its regular expression matches, and it does
// accept typical names of a large fabric.
func TestPlainTextsFollowTheirRules(t *testing.T) {
	common := map[string]string{"port": "Ethernet1/1", "endpoint": "pod2-leaf1.example/Ethernet1/1"}
	for name, r := range textRules {
		if r.plain == nil {
			if common[name] != "" {
				t.Errorf("%s takes the long way", name)
			}
			continue
		}
		if !r.plain(common[name]) {
			t.Errorf("%s: %q takes the long way", name, common[name])
		}
		for _, s := range []string{"", "/", "a/", "/a", "a//b", "-a/b", "a/-b", "a\n", "a/b\n", "é", strings.Repeat("a", 63), strings.Repeat("a", 64), "a/" + strings.Repeat("b", 64)} {
			if r.plain(s) && !r.re.MatchString(s) {
				t.Errorf("%s accepts %q", name, s)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09_.-/:@[],é \n")), 0, 12, -1).Draw(t, "text")
			if r.plain(s) && !r.re.MatchString(s) {
				t.Fatalf("%s accepts %q", name, s)
			}
		})
	}
}
