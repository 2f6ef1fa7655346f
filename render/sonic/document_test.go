package sonic

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// TestBreakouts: every cage of every model can be broken out into two, four and eight ports. Each
// child gets its share of the lanes, no lane has two ports, and the models of SONiC accept the
// document.
func TestBreakouts(t *testing.T) {
	models, err := yang.Load(sharedtest.YANG(t, "202511"))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range catalog.Models() {
		m, _ := catalog.Lookup(name)
		if m.SharedLane() != "" {
			continue // the layout itself uses a lane twice
		}
		for _, ways := range []int{2, 4, 8} {
			d, want := brokenOut(m, ways)
			if len(d.Ports) == 0 {
				continue
			}
			tried++
			cfg := Document(d, m)
			used := map[string]string{}
			for port, lanes := range want {
				row := cfg.Row(TPort, port)
				if row["lanes"] != lanes {
					t.Errorf("%s %d ways: %s has lanes %q, want %q", name, ways, port, row["lanes"], lanes)
				}
				for lane := range strings.SplitSeq(row["lanes"], ",") {
					if other := used[lane]; other != "" {
						t.Errorf("%s %d ways: lane %s of %s and %s", name, ways, lane, other, port)
					}
					used[lane] = port
				}
			}
			for _, v := range models.Check(cfg.Plain()) {
				t.Errorf("%s %d ways: %v", name, ways, v)
				break
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d breakouts were tried, there are more", tried)
	}
}

// brokenOut returns a switch whose cages are all broken out, as far as their lanes and the names of
// neighboring ports allow, and the lanes that each port should get.
func brokenOut(m *catalog.Model, ways int) (*qos.Device, map[string]string) {
	d, want := &qos.Device{Ports: map[string]*qos.Port{}}, map[string]string{}
	taken := func(name string) bool {
		return slices.ContainsFunc(m.Ports, func(p catalog.Port) bool { return p.Name == name })
	}
	for _, p := range m.Ports {
		lanes := strings.Split(p.Lanes, ",")
		number, err := strconv.Atoi(strings.TrimPrefix(p.Name, "Ethernet"))
		if err != nil || len(lanes) < ways || len(lanes)%ways != 0 || p.Speed == 0 {
			continue
		}
		width, fits := len(lanes)/ways, true
		for i := 1; i < len(lanes); i++ {
			fits = fits && !taken("Ethernet"+strconv.Itoa(number+i))
		}
		for i := 0; fits && i < ways; i++ {
			child := "Ethernet" + strconv.Itoa(number+i*width)
			d.Ports[child] = &qos.Port{Speed: qos.Of(units.Rate(int64(p.Speed) / int64(ways))), MTU: qos.Of(9100)}
			want[child] = strings.Join(lanes[i*width:(i+1)*width], ",")
		}
	}
	return d, want
}
