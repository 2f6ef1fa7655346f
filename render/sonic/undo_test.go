package sonic

import (
	"maps"
	"strings"
	"testing"
)

// A run that made the row of cable lengths removes its own ports from it: others
// may have added theirs since.
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

func TestLongestName(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true, 512: true, 513: false} {
		if got := isName(strings.Repeat("a", n)); got != want {
			t.Errorf("a name of %d characters: %v, want %v", n, got, want)
		}
	}
}
