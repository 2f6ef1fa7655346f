package nxos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/render"
)

// wide returns the configuration of a switch with many ports and about ten lines per port.
func wide(ports int) string {
	var b strings.Builder
	b.WriteString(worked[:strings.Index(worked, "\ninterface ")])
	for i := range ports {
		fmt.Fprintf(&b, "\ninterface Ethernet%d/%d\n  description server %d\n  no switchport\n  mtu 9216\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  service-policy type qos input QOS_CLASSIFICATION\n  no shutdown\n", 1+i/64, 1+i%64, i)
	}
	return b.String()
}

// BenchmarkAccount shows that accounting for a large switch takes little longer than parsing its
// configuration.
func BenchmarkAccount(b *testing.B) {
	text := []byte(wide(1024))
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("account", func(b *testing.B) {
		c, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			Account(c, EightQueue)
		}
	})
}

// Every account line states its place, and its reason unless it is represented.
func TestAccountSaysWhy(t *testing.T) {
	lines := Account(parse(t, wide(3)+"hardware qos ing-pg-no-min\n\npolicy-map type network-qos SPARE\n  class type network-qos c-8q-nq5\n    pause pfc-cos 5\n"), EightQueue)
	if len(lines) < 40 {
		t.Fatalf("%d lines", len(lines))
	}
	last := 0
	for _, l := range lines {
		if l.No <= last {
			t.Errorf("line %d comes after line %d", l.No, last)
		}
		last = l.No
		if (l.Why == "") != (l.Fate == render.Represented) {
			t.Errorf("%+v", l)
		}
		if l.Fate == render.Represented && (len(l.Attrs) == 0 || len(l.Ports) != 3 && !strings.HasPrefix(l.Where, "interface")) {
			t.Errorf("it is not said what the line sets: %+v", l)
		}
	}
}
