package eos

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
	return formstest.Published(t, "eos", 80)
}

// pasted lays configurations out as people paste them.
var pasted = formstest.System{
	Indent: 3, Raw: isRaw, InBlock: inBlock,
	Inner: func(l *Line) bool { return begins(l, blockHeads) },
}

// sections holds the beginnings of the headers of blocks in which EOS configures QoS, and blocks
// those of the blocks in them.
var (
	sectionHeads = []string{sectionInterface, sectionProfile, "class-map ", "policy-map ", mmuProfile}
	blockHeads   = []string{"tx-queue ", "uc-tx-queue ", "mc-tx-queue ", "class ", "ethernet"}
)

func begins(l *Line, heads []string) bool {
	return slices.ContainsFunc(heads, func(h string) bool { return strings.HasPrefix(l.Text, h) })
}

// inBlock reports whether the blocks above a line are ones that EOS configures QoS in.
func inBlock(path []*Line) bool {
	return len(path) == 1 || begins(path[0], sectionHeads) && (len(path) == 2 || len(path) == 3 && begins(path[1], blockHeads))
}

// Decode and Account do not depend on how the text of a configuration is laid out.
func TestLayoutsMeanTheSame(t *testing.T) {
	configs := map[string]*Config{}
	for name, text := range published(t) {
		configs[name] = mustParse(t, mustParse(t, text).String()) // without ranges of ports
	}
	pasted.MeanTheSame(t, configs, func(c *Config, laid string) (bool, int) { return compared(t, c, mustParse(t, laid)) })
}

// compared compares the devices of two configurations, and counts the account lines of the first
// that the second does not have.
func compared(t *testing.T, want, got *Config) (same bool, lost int) {
	have := map[string]int{}
	for _, l := range Account(got) {
		have[accounted(l)]++
	}
	for _, l := range Account(want) {
		if have[accounted(l)]--; have[accounted(l)] < 0 {
			lost++
			t.Logf("lost: %s", accounted(l))
		}
	}
	return reflect.DeepEqual(deviceOf(want), deviceOf(got)), lost
}

func deviceOf(c *Config) *qos.Device {
	d, _ := Decode(c)
	return d
}

// accounted returns an account line without its line number and the numbers in its reason. A line
// that nobody knows may be in the block before it or in the one around that.
func accounted(l render.Line) string {
	if l.Why == whyUnknown {
		l.Where = ""
	}
	why, _, _ := strings.Cut(l.Why, " by line ")
	return fmt.Sprintf("%s | %s | %s | %s | %s | %v | %v | %v", l.Where, l.Text, l.Fate, why, l.Check, l.Ports, l.Attrs, l.Keys)
}

// following returns the lines that follow another line of the same block in which the tool reads
// every line.
func following(c *Config) map[*Line]bool {
	out := map[*Line]bool{}
	for _, l := range c.Lines {
		for _, head := range sectionHeads {
			if !strings.HasPrefix(l.Text, head) {
				continue
			}
			for i, s := range l.Sub {
				out[s] = i > 0
				for j, q := range s.Sub {
					out[q] = j > 0
				}
			}
		}
	}
	return out
}

// A line about QoS that this tool does not know, between two lines of a block, is in the account
// and changes nothing else.
func TestUnknownLineBetweenTwoLines(t *testing.T) {
	const strange = "qos frobnicate 7"
	for _, indented := range []bool{true, false} {
		changed, missing, tried := 0, 0, 0
		for file, text := range published(t) {
			c := mustParse(t, text)
			want := deviceOf(c)
			for at, has := range following(c) {
				if !has {
					continue
				}
				tried++
				got := mustParse(t, pasted.Text(c, func(path []*Line) (int, string) {
					level := 0
					if indented {
						level = len(path) - 1
					}
					if path[len(path)-1] == at {
						return level, pasted.Spaces(level) + strange + "\n"
					}
					return level, ""
				}))
				if !reflect.DeepEqual(deviceOf(got), want) {
					changed++
					t.Logf("%s, line %d (%s), indented: %v: the device changes", file, at.No, at.Text, indented)
				}
				if !slices.ContainsFunc(Account(got), func(l render.Line) bool { return l.Text == strange }) {
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
		"interface Ethernet1/1", "interface Ethernet1/2", "interface Et1-3", "qos profile P", "qos profile Q", "uc-tx-queue 3", "uc-tx-queue 4", "tx-queue 3",
		"class-map type qos match-any A", "policy-map type quality-of-service P", "class A", "class B", "interface defaults", "ethernet", mmuProfile + "X",
		"hostname x", "frobnicate 7", "vlan 10", "!! comment", "", "!", "spanning-tree mode none",
		"mtu 9216", "l2 mtu 9000", "match dscp 26", "set traffic-class 3", "bandwidth percent 3", "no priority", "priority-flow-control on", "no shutdown", "shape rate 100",
		"ingress headroom cells 3", "qos trust dscp", "qos map dscp 26 to traffic-class 3", "description x", "service-policy type qos input P", "exit", "end", "router bgp 1", "banner motd", "EOF",
	}
	r := rand.New(rand.NewPCG(34, 0))
	for range sharedtest.Sized(1500, 40000) {
		var b strings.Builder
		for range 2 + r.IntN(14) {
			b.WriteString(strings.Repeat(" ", []int{0, 0, 3, 6}[r.IntN(4)]) + pool[r.IntN(len(pool))] + "\n")
		}
		b.WriteString("EOF\n") // ends a banner
		text := mustParse(t, b.String()).String()
		if again := mustParse(t, text).String(); again != text {
			t.Fatalf("read\n%s\nas\n%s\nand that as\n%s", b.String(), text, again)
		}
	}
}
