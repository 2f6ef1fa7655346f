package nxos

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

// published returns the configurations of the import corpus, by name.
func published(t testing.TB) map[string]string {
	t.Helper()
	return formstest.Published(t, "nxos", 90)
}

// pasted lays configurations out as people paste them.
var pasted = formstest.System{
	Indent: 2, Raw: func(text string) bool { _, raw := bannerOf(text); return raw }, InBlock: inBlock,
	Inner: func(l *Line) bool { return strings.HasPrefix(l.Text, "class ") },
}

// inBlock reports whether the blocks above a line are ones that NX-OS configures QoS in.
func inBlock(path []*Line) bool {
	section := ""
	for _, l := range path[:len(path)-1] {
		if _, _, ok := opens(section, l.Text); !ok {
			return false
		}
		section = l.Text
	}
	return true
}

// Decode and Account do not depend on how the text of a configuration is laid out.
func TestLayoutsMeanTheSame(t *testing.T) {
	configs := map[string]*Config{}
	for name, text := range published(t) {
		configs[name] = parse(t, parse(t, text).String()) // without headers that open a block again
	}
	pasted.MeanTheSame(t, configs, func(c *Config, laid string) (bool, int) { return compared(c, parse(t, laid)) })
}

// compared compares the devices of two configurations, and counts the account lines of the first
// that the second does not have.
func compared(want, got *Config) (same bool, lost int) {
	m, _ := ModelOf(want.String())
	have := map[string]int{}
	for _, l := range Account(got, m) {
		have[accounted(l)]++
	}
	for _, l := range Account(want, m) {
		if have[accounted(l)]--; have[accounted(l)] < 0 {
			lost++
		}
	}
	return reflect.DeepEqual(deviceOf(want, m), deviceOf(got, m)), lost
}

func deviceOf(c *Config, m ClassModel) *qos.Device {
	d, _ := Decode(c, m)
	return d
}

// accounted returns an account line without its line number and the numbers in its reason. A line
// that nobody knows may be in the block before it or in the one around that.
func accounted(l render.Line) string {
	if l.Fate == render.Unknown {
		l.Where, l.Why = "", ""
	}
	why, _, _ := strings.Cut(l.Why, ": line ")
	return fmt.Sprintf("%s | %s | %s | %s | %s | %v | %v", l.Where, l.Text, l.Fate, why, l.Check, l.Ports, l.Attrs)
}

// between returns the lines that follow another line of the same block, and whether an account
// lists all lines of that block.
func between(c *Config) map[*Line]bool {
	out := map[*Line]bool{}
	add := func(ls []*Line, listed bool) {
		for _, l := range ls[min(1, len(ls)):] {
			out[l] = listed
		}
	}
	for _, l := range c.Lines {
		h, ok := headOf(l.Text)
		switch {
		case !ok || h.at == inProfile:
		case h.at == inInterface:
			add(l.Sub, false)
		case h.at == inSystem:
			add(l.Sub, true)
		case slices.Contains(types, h.typ):
			add(l.Sub, true)
			for _, class := range classes(l) {
				add(class.Sub, true)
			}
		}
	}
	return out
}

// A line that this tool does not know, between two lines of a block, is in the account and
// changes nothing else.
func TestUnknownLineBetweenTwoLines(t *testing.T) {
	const strange = "frobnicate 7"
	for _, indented := range []bool{true, false} {
		changed, missing, tried := 0, 0, 0
		for file, text := range published(t) {
			c := parse(t, text)
			m, _ := ModelOf(text)
			want := deviceOf(c, m)
			for at, listed := range between(c) {
				tried++
				got := parse(t, pasted.Text(c, func(path []*Line) (int, string) {
					level := 0
					if indented {
						level = len(path) - 1
					}
					if path[len(path)-1] == at {
						return level, pasted.Spaces(level) + strange + "\n"
					}
					return level, ""
				}))
				if !reflect.DeepEqual(deviceOf(got, m), want) {
					changed++
					t.Logf("%s, line %d (%s), indented: %v: the device changes", file, at.No, at.Text, indented)
				}
				if listed && !slices.ContainsFunc(Account(got, m), func(l render.Line) bool { return l.Text == strange }) {
					missing++
					t.Logf("%s, line %d (%s), indented: %v: the strange line is not in the account", file, at.No, at.Text, indented)
				}
			}
		}
		if changed+missing > 0 {
			t.Errorf("indented: %v: of %d strange lines %d change the device and %d are not in the account", indented, tried, changed, missing)
		}
	}
}

// What was read from any text, and printed, is read as the same.
func TestPrintedIsReadAsTheSame(t *testing.T) {
	pool := []string{
		"interface Ethernet1/1", "interface Ethernet1/2", "class-map type qos match-any A", "policy-map type qos P", "class A", "class B", "class class-default",
		"policy-map type queuing Q", "class type queuing c-out-8q-q3", "system qos", "hostname x", "frobnicate 7", "vlan 10", "! comment", "",
		"mtu 9216", "match dscp 26", "set qos-group 3", "bandwidth percent 3", "priority-flow-control mode on", keyWatchdog + " on", "no shutdown",
		"description x", "service-policy type qos input P", "exit", "end", "configure terminal", "router bgp 1", "banner motd #", "#",
	}
	r := rand.New(rand.NewPCG(34, 0))
	for range sharedtest.Sized(1500, 40000) {
		var b strings.Builder
		for range 2 + r.IntN(14) {
			b.WriteString(strings.Repeat(" ", []int{0, 0, 2, 4}[r.IntN(4)]) + pool[r.IntN(len(pool))] + "\n")
		}
		b.WriteString("#\n") // ends a banner
		text := parse(t, b.String()).String()
		if again := parse(t, text).String(); again != text {
			t.Fatalf("read\n%s\nas\n%s\nand that as\n%s", b.String(), text, again)
		}
	}
}
