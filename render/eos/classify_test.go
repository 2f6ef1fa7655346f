package eos

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// A policy overrides the map on a port that trusts DSCP, the first class that matches counts,
// and parts that cannot be read are reported.
func TestPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		maps, body, port string
		class            map[int]int8 // by DSCP
		marked           bool         // whether DSCP 26 leaves as 10
		open             bool
	}{
		"moves":         {"class-map type qos match-any A\n   match dscp 24-26\n", "   class A\n      set traffic-class 0\n", "", map[int]int8{24: 0, 26: 0, 27: 3}, false, false},
		"by name":       {"class-map type qos match-any A\n   match dscp af31 cs6\n", "   class A\n      set traffic-class 5\n", "", map[int]int8{26: 5, 48: 5, 27: 3}, false, false},
		"first":         {"class-map type qos match-any A\n   match dscp 26\n!\nclass-map type qos match-any B\n   match dscp 26 27\n", "   class A\n      set traffic-class 4\n   !\n   class B\n      set traffic-class 5\n", "", map[int]int8{26: 4, 27: 5}, false, false},
		"the rest":      {"class-map type qos match-any A\n   match dscp 26\n", "   class A\n   !\n   class class-default\n      set traffic-class 1\n", "", map[int]int8{26: 3, 27: 1, 0: 1}, false, false},
		"marks":         {"class-map type qos match-any A\n   match dscp 26\n", "   class A\n      set traffic-class 4\n      set dscp 10\n   !\n   class class-default\n      set traffic-class 1\n", "", map[int]int8{26: 4}, true, false},
		"marks some":    {"class-map type qos match-any A\n   match dscp 26\n", "   class A\n      set dscp 10\n", "", map[int]int8{26: 3}, false, true},
		"polices":       {"class-map type qos match-any A\n   match dscp 26\n", "   class A\n      set traffic-class 4\n      police rate 1 gbps burst-size 1 mbytes\n", "", map[int]int8{26: 4}, false, true},
		"a list first":  {"class-map type qos match-any A\n   match ip access-group L\n!\nclass-map type qos match-any B\n   match dscp 26\n", "   class A\n      set traffic-class 1\n   !\n   class B\n      set traffic-class 4\n", "", map[int]int8{26: 3}, false, true},
		"trust of CoS":  {"class-map type qos match-any A\n   match dscp 26\n", "   class A\n      set traffic-class 4\n", "   qos trust cos\n", map[int]int8{26: 3}, false, true},
		"in no profile": {"", "", "   no service-profile\n", map[int]int8{26: 3}, false, false},
	} {
		for _, place := range []string{"profile", "interface"} {
			profile, own := "", "   service-policy type qos input P\n"
			if place == "profile" {
				profile, own = own, "   service-profile Q\n"
			}
			if c.body == "" {
				own = ""
			}
			d, unknown := Decode(mustParse(t, "! Command: show running-config\n!\nqos profile Q\n   qos trust dscp\n"+profile+"!\ninterface Ethernet1\n   no switchport\n"+own+c.port+"!\n"+c.maps+"!\npolicy-map type quality-of-service P\n"+c.body+"!\nend\n"))
			m := d.ClassifiedBy("Ethernet1")
			for dscp, tc := range c.class {
				if m.DSCPToTC[dscp] != tc {
					t.Errorf("%s in %s: DSCP %d is in traffic class %d, want %d", name, place, dscp, m.DSCPToTC[dscp], tc)
				}
			}
			if leaves := m.TCToDSCP[m.DSCPToTC[26]]; leaves != qos.Unmapped != c.marked {
				t.Errorf("%s in %s: DSCP 26 leaves with %d", name, place, leaves)
			}
			open := false
			for _, u := range unknown {
				open = open || u.Open && strings.HasPrefix(u.Text, "service-policy")
			}
			if open != c.open {
				t.Errorf("%s in %s: left open: %v, want %v (%v)", name, place, open, c.open, unknown)
			}
		}
	}
}
