package cumulus

import (
	"slices"
	"strings"
	"testing"

	sim "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

// values holds a valid value of each known place whose value is a keyword or has a minimum above 3.
var values = map[string]string{
	"qos roce state": "enabled", "qos roce enable": "on", "qos roce mode": "lossless", "qos mapping x trust": "l3",
	"qos pfc x tx": "enable", "qos pfc x rx": "enable", "qos link-pause x tx": "enable", "qos link-pause x rx": "enable",
	"qos congestion-control x traffic-class 3 ecn": "enable", "qos congestion-control x traffic-class 3 red": "enable",
	"qos congestion-control x traffic-class 3 mode": "absolute", "qos egress-scheduler x traffic-class 3 mode": "strict",
	"qos pfc-watchdog polling-interval": "100", "interface swp1 link mtu": "9216", "interface swp1 qos pfc-watchdog state": "enable",
}

// earlier lists known places that only earlier releases have; the simulator checks the newest.
var earlier = []string{"qos roce enable", "interface swp1 qos pfc-watchdog enable"}

// The simulator, which has its own table from NVIDIA's reference, accepts each value that this
// package reads.
func TestSimulatorHasThePlaces(t *testing.T) {
	n := 0
	var walk func(p *place, at Path)
	walk = func(p *place, at Path) {
		path := at.String()
		if p.leaf && p.known && !slices.Contains(earlier, path) {
			n++
			value := values[path]
			if value == "" {
				value = "3"
			}
			if refused := sim.Refuses("SN5600", []byte("nv set "+path+" "+value+"\n")); len(refused) > 0 {
				t.Errorf("%s: %s", path, strings.Join(refused, "; "))
			}
		}
		for name, s := range p.sub {
			walk(s, append(at[:len(at):len(at)], name))
		}
		if p.each != nil {
			key := "3"
			switch {
			case p.most >= 0:
			case len(at) == 1 && at[0] == "interface":
				key = "swp1"
			case at.String() == "qos traffic-pool":
				key = "default-lossy"
			default:
				key = "x"
			}
			walk(p.each, append(at[:len(at):len(at)], key))
		}
	}
	walk(root, nil)
	if n < 30 {
		t.Errorf("only %d places", n)
	}
}
