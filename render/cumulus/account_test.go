package cumulus

import (
	"fmt"
	"strings"
	"testing"
)

// wide is a switch of many ports, each with lines of its own, as "nv config show" prints
// it where no range folds them.
func wide(ports int) string {
	var b strings.Builder
	b.WriteString("- set:\n    interface:\n")
	for i := range ports {
		fmt.Fprintf(&b, "      swp%ds%d:\n        type: swp\n        link: {mtu: 9216, state: {up: {}}}\n        qos:\n          pfc: {profile: p}\n          mapping: {profile: m}\n          pfc-watchdog: {state: enable}\n", 1+i/8, i%8)
	}
	b.WriteString("    qos:\n      pfc: {p: {switch-priority: {'3': {}}, cable-length: 30}}\n      mapping:\n        m:\n          trust: l3\n          dscp:\n")
	for i := range 64 {
		fmt.Fprintf(&b, "            '%d': {switch-priority: %d}\n", i, i%8)
	}
	return b.String()
}

// Each line of a large switch is in its account.
func TestAccountOfManyPorts(t *testing.T) {
	if n := len(Account(parse(t, wide(512)))); n != 4*512+2+1+64 {
		t.Errorf("%d lines", n)
	}
}

// An account of a large switch takes some ten times what reading it does.
func BenchmarkAccount(b *testing.B) {
	text := []byte(wide(512))
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
			Account(c)
		}
	})
	b.Run("decode", func(b *testing.B) {
		c, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			Decode(c)
		}
	})
}
