package sonic

import (
	"maps"
	"strings"
	"testing"
)

// A run that created the row of cable lengths removes only its own ports from it: others may have
// added theirs since.
func TestRevertLeavesTheCablesOfOthers(t *testing.T) {
	made := Op{Table: TCable, Key: "AZURE", Row: Row{"Ethernet0": "40m", "Ethernet8": "5m"}}
	was := Config{TPort: {"Ethernet0": {}, "Ethernet8": {}, "Ethernet16": {}}}
	u := Remember(was, []Step{{Ops: []Op{made}}}, Policy{})
	now := was.After([]Op{made})
	if got := now.After(u.Written(now)); got[TCable] != nil {
		t.Errorf("left: %v", got[TCable])
	}
	now = now.After([]Op{{Table: TCable, Key: "AZURE", Field: "Ethernet16", Value: "300m"}})
	if got := now.After(u.Written(now)).Row(TCable, "AZURE"); !maps.Equal(got, Row{"Ethernet16": "300m"}) {
		t.Errorf("left: %v", got)
	}
}

// A run counts as undone if the switch is back in its old state: the rows and fields that it wrote,
// or the derived groups if the run changed nothing else.
func TestUndone(t *testing.T) {
	down, up := admin("Ethernet0", "down"), admin("Ethernet0", "up")
	was := Config{TPort: {"Ethernet0": {"admin_status": "up"}}, TCable: {"AZURE": {"Ethernet0": "5m"}},
		TGroup: {"Ethernet0|3": {"profile": "pg_lossless_400000_5m_profile"}, "Ethernet0|3-4": {"profile": "pg_lossless_400000_40m_profile"}}}
	for name, c := range map[string]struct {
		ops  []Op
		lost bool
	}{
		"a field":                           {[]Op{{Table: TCable, Key: "AZURE", Field: "Ethernet0", Value: "40m"}}, true},
		"a derived group goes":              {[]Op{down, {Table: TGroup, Key: "Ethernet0|3-4", Del: true}, up}, true},
		"a port that was down for a moment": {[]Op{down, up}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := Remember(was, []Step{{Ops: c.ops, Down: []string{"Ethernet0"}}}, Policy{})
			if u.Undone(was.After(c.ops)) {
				t.Error("what stands is called lost")
			}
			if got := u.Undone(was); got != c.lost {
				t.Errorf("with all as it was before: lost %v, want %v", got, c.lost)
			}
		})
	}
}

func TestLongestName(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true, 512: true, 513: false} {
		if got := isName(strings.Repeat("a", n)); got != want {
			t.Errorf("a name of %d characters: %v, want %v", n, got, want)
		}
	}
}
