package drivers

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// tree parses an indented text.
func tree(text string) []*lines.Line {
	var out []*lines.Line
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		line := &lines.Line{Text: strings.TrimSpace(l)}
		if strings.HasPrefix(l, " ") {
			out[len(out)-1].Sub = append(out[len(out)-1].Sub, line)
			continue
		}
		out = append(out, line)
	}
	return out
}

func TestUnsavedLines(t *testing.T) {
	const saved = "! saved at noon\nusername admin secret sha512 old\nqos map dscp 26 to traffic-class 3\nqos map dscp 27 to traffic-class 3\ninterface Ethernet1\n mtu 9000\n no shutdown\ninterface Ethernet2\n mtu 9000\nend\n"
	for name, tt := range map[string]struct {
		running string
		want    []string
	}{
		"the same":           {saved, nil},
		"another order":      {"interface Ethernet2\n mtu 9000\nqos map dscp 27 to traffic-class 3\ninterface Ethernet1\n no shutdown\n ! a comment\n mtu 9000\nusername admin secret sha512 old\nqos map dscp 26 to traffic-class 3\n! now\n", nil},
		"a secret":           {strings.Replace(saved, "old", "s3cr3t", 1), []string{"username admin"}},
		"a line of a block":  {strings.Replace(saved, "no shutdown", "shutdown", 1), []string{"interface Ethernet1"}},
		"a block is gone":    {strings.Replace(saved, "interface Ethernet2\n mtu 9000\n", "", 1), []string{"interface Ethernet2"}},
		"one of two is gone": {strings.Replace(saved, "qos map dscp 27 to traffic-class 3\n", "", 1), []string{"qos map"}},
		"a block is new":     {saved + "interface Ethernet10\n mtu 1500\ninterface Ethernet9\n mtu 1500\n", []string{"interface Ethernet9", "interface Ethernet10"}},
	} {
		if got := UnsavedLines(tree(tt.running), tree(saved)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestCounterNames(t *testing.T) {
	seen := map[string]bool{}
	for m := range numMetrics {
		name := m.String()
		if name == "" || seen[name] {
			t.Errorf("metric %d is called %q", m, name)
		}
		seen[name] = true
	}
	for id, want := range map[CounterID]string{QueueDrops.Of(3): "queue-drops[3]", ErrorsRx.Of(0): "errors-rx", PriorityDiscards.Of(3): "priority-discards[3]", CNPSent.Of(0): "cnp-sent", {Metric: 250}: "metric 250"} {
		if b, err := id.MarshalText(); string(b) != want || err != nil {
			t.Errorf("%q, %v; want %q", b, err, want)
		}
	}
}
