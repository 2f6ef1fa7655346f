package report

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

func TestWhereLabel(t *testing.T) {
	with := Report{Intent: &intent.Fabric{Files: []string{"fabric.yaml"}}}
	for _, tt := range []struct {
		r      Report
		wheres []string
		want   string
	}{
		{with, []string{"fabric.yaml:1:2"}, "intent"},
		{with, []string{"other.yaml:1:2"}, "from"},
		{with, []string{"fabric.yaml:1:2", "other.yaml:1:2"}, "from"},
		{with, []string{"a rule"}, "from"},
		{with, []string{"fabric.yaml:0:2"}, "from"},
		{with, []string{"fabric.yaml:1:0"}, "from"},
		{Report{}, []string{"other.yaml:1:2"}, "intent"},
		{Report{}, []string{"a rule"}, "from"},
	} {
		if got := tt.r.whereLabel(tt.wheres...); got != tt.want {
			t.Errorf("%q is %q, not %q", tt.wheres, got, tt.want)
		}
	}
}

// A list of ports is cut where it passes the bound, and not before.
func TestShortPlace(t *testing.T) {
	port := strings.Repeat("p", 59) // four of them and their commas are 240
	for n, want := range map[int]string{
		1: port, 4: strings.Repeat(port+",", 3) + port, 5: strings.Repeat(port+",", 3) + port + " and 1 more", 9: strings.Repeat(port+",", 3) + port + " and 5 more",
	} {
		if got := shortPlace(strings.TrimSuffix(strings.Repeat(port+",", n), ",")); got != want {
			t.Errorf("%d ports: %q, want %q", n, got, want)
		}
	}
}
