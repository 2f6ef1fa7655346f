package cumulus

import (
	"fmt"
	"strings"
	"testing"
)

// wide returns the configuration of a switch with many ports, each with its own lines, as "nv
// config show" prints it if nothing can be folded into ranges.
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

// The account of a large switch has an entry for every line.
func TestAccountOfManyPorts(t *testing.T) {
	if n := len(Account(parse(t, wide(512)))); n != 4*512+2+1+64 {
		t.Errorf("%d lines", n)
	}
}

// BenchmarkAccount compares the account with parsing; it takes about ten times as long.
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
