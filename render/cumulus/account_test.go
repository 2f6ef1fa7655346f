package cumulus

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
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

// An unset of something that the switch does not have is not understood, and removes nothing.
func TestUnsetOfAnUnknownPath(t *testing.T) {
	const set = "nv set qos pfc P switch-priority 3\nnv set qos pfc P cable-length 30\nnv set interface swp1 qos pfc profile P\n"
	for line, want := range map[string]render.Fate{
		"nv unset qos pfc P cable-length":                 render.Inert,
		"nv unset qos pfc P cable-length refused-here":    render.Unknown,
		"nv unset qos pfc Q cable-length":                 render.Inert,
		"nv unset qos pfc P refused-here":                 render.Unknown,
		"nv unset interface swp1 qos refused-here":        render.Unknown,
		"nv unset interface swp1 qos pfc 2>/dev/null":     render.Inert,
		"nv unset interface swp9 qos pfc || true":         render.Inert,
		"nv unset interface swp1-2 qos pfc profile other": render.Unknown,
	} {
		account := Account(parse(t, set+line+"\n"))
		if last := account[len(account)-1]; !strings.HasPrefix(line, last.Text) || last.Fate != want {
			t.Errorf("%s: %q is %s, want %s", line, last.Text, last.Fate, want)
		}
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

// An unset takes away what stands before it below its path, and nothing that comes after it. A
// reference to what it took away is like one to what never was.
func TestUnsetOfABlock(t *testing.T) {
	const profile = "nv set qos pfc P switch-priority 3\nnv set qos pfc P port-buffer 100000\n"
	const port = "nv set interface swp1 link mtu 9216\nnv set interface swp1 qos pfc profile P\n"
	for name, c := range map[string]struct{ text, same string }{
		"before":       {"nv unset qos pfc P\n" + profile + port, profile + port},
		"after":        {profile + port + "nv unset qos pfc P\n", port},
		"between":      {profile + "nv unset qos pfc P\nnv set qos pfc P switch-priority 4\n" + port, "nv set qos pfc P switch-priority 4\n" + port},
		"all profiles": {profile + port + "nv unset qos pfc\n", port},
		"interface":    {profile + port + "nv unset interface swp1 qos\n", profile + "nv set interface swp1 link mtu 9216\n"},
		"several":      {profile + port + strings.ReplaceAll(port, "swp1", "swp2") + "nv unset interface swp1-2\n", profile},
		"another":      {profile + port + "nv unset qos pfc Q\n", profile + port},
	} {
		got, err1 := Parse([]byte(c.text))
		want, err2 := Parse([]byte(c.same))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(name, err)
		}
		a, _ := Decode(got)
		b, _ := Decode(want)
		if left := qos.Diff(a, b); len(left) > 0 || len(a.Ports) != len(b.Ports) {
			t.Errorf("%s: %v", name, left)
		}
	}
}
