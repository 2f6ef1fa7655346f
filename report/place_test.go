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

// A list of ports is cut only if it exceeds the limit.
func TestShortPlace(t *testing.T) {
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat("p,", n), ",") }
	for n, want := range map[int]string{1: "p", 120: list(120), 121: list(120) + " and 1 more", 200: list(120) + " and 80 more"} {
		if got := shortPlace(list(n)); got != want {
			t.Errorf("%d ports: %q, want %q", n, got, want)
		}
	}
}
