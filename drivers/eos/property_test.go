package eos

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	sharedtest.Default(sharedtest.Parallel, "8")
	sharedtest.Default("rapid.checks", "40") // each check is a switch with a few logins
	sharedtest.VerifyMain(m)
}

// anyPolicy draws random lines of a qos profile or of an interface.
func anyPolicy(t *rapid.T, kw string) (out []string) {
	some := func(lines ...string) {
		if n := rapid.IntRange(0, 2*len(lines)).Draw(t, lines[0]); n < len(lines) {
			out = append(out, lines[n])
		}
	}
	some("qos trust dscp", "qos trust cos", "no qos trust")
	some("priority-flow-control on")
	some("priority-flow-control priority 3 no-drop", "priority-flow-control priority 4 no-drop")
	some("no priority-flow-control pause watchdog", "priority-flow-control pause watchdog port action notify-only",
		"priority-flow-control pause watchdog port timer timeout 0.5 polling-interval auto recovery-time 0.5")
	for _, q := range []int{0, 3, 5, 6} {
		if rapid.IntRange(0, 2).Draw(t, "queue") != 0 {
			continue
		}
		out = append(out, fmt.Sprintf("%s %d", kw, q))
		some("no priority\nbandwidth percent 30", "no priority", "priority strict")
		some("random-detect ecn minimum-threshold 100 kbytes maximum-threshold 2 mbytes max-mark-probability 20",
			"random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes max-mark-probability 10 weight 3")
		some("random-detect ecn count")
		some("shape rate 1000000 kbps")
		out = append(out, "exit")
	}
	return out
}

// anySwitch draws a random configuration that others may have left on a switch.
func anySwitch(t *rapid.T, kw string) string {
	var out []string
	profiles := []string{"ROCE-FABRIC", "ROCE-FABRIC-2", "MINE"}
	var made []string
	for _, p := range profiles {
		if rapid.Bool().Draw(t, p) {
			made = append(made, p)
			out = append(append(append(out, "qos profile "+p), anyPolicy(t, kw)...), "exit")
		}
	}
	some := func(lines ...string) {
		if n := rapid.IntRange(0, 2*len(lines)).Draw(t, lines[0]); n < len(lines) {
			out = append(out, lines[n])
		}
	}
	some("switchport default mode routed")
	some("interface defaults\nmtu 9100\nexit", "interface defaults\nmtu 9000\nethernet\nshutdown\nexit\nexit", "interface defaults\nethernet\nshutdown\nexit\nexit")
	for _, p := range ports[:6] {
		out = append(out, "interface "+p)
		some("default switchport")
		if rapid.IntRange(0, 3).Draw(t, "switched") == 0 {
			out = append(out, "switchport")
			if rapid.Bool().Draw(t, "l2 mtu") {
				out = append(out, "l2 mtu 9000")
			}
		} else if rapid.Bool().Draw(t, "mtu") {
			some("mtu 9100", "mtu 1500")
		}
		some("shutdown", "no shutdown", "default shutdown")
		if len(made) > 0 && rapid.Bool().Draw(t, "attached") {
			out = append(out, "service-profile "+rapid.SampledFrom(made).Draw(t, "profile"))
		}
		if rapid.Bool().Draw(t, "direct") {
			out = append(out, anyPolicy(t, kw)...)
		}
		out = append(out, "description # of someone, 50%", "exit")
	}
	for _, l := range []string{
		"qos map dscp 26 to traffic-class 5", "qos map dscp 8 10 12 to traffic-class 2", "qos map cos 3 to traffic-class 4", "qos map traffic-class 3 to " + kw + " 4",
		"qos rewrite dscp", "priority-flow-control pause watchdog default timeout 0.4", "priority-flow-control pause watchdog default recovery-time 1.5",
		"priority-flow-control pause watchdog default polling-interval 0.1", "priority-flow-control pause watchdog action drop", "priority-flow-control all off",
	} {
		if rapid.IntRange(0, 2).Draw(t, l) == 0 {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// TestAnySwitch applies an intent to a randomly configured switch and reverts it.
func TestAnySwitch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		intents := [][]string{
			nil,
			{"action: drop", "action: alert"},
			{"  watchdog: {detect: 400ms, restore: 400ms, action: drop}", "  watchdog: off"},
			{"trust", "trust", "dscp: [26]", "dscp: [26, 30]", "min: 150KB", "min: 200KB"},
			{"  cnp: {priority: 6, dscp: [48], strict: true}\n", ""},
		}
		drivertest.Check(t, func(rt *rapid.T) {
			o := boxOptions{gnmi: rapid.Bool().Draw(rt, "gnmi"), intent: rapid.SampledFrom(intents).Draw(rt, "intent")}
			o.Options = simeos.Options{Model: rapid.SampledFrom([]string{strata, sand}).Draw(rt, "model"), PrintDefaults: rapid.Bool().Draw(rt, "defaults"), Persist: true}
			kw := "uc-tx-queue"
			if o.Model == sand {
				kw = "tx-queue"
			}
			o.setup = anySwitch(rt, kw)
			b := newBox(t, o)
			if rapid.Bool().Draw(rt, "admin") {
				p := *b.Desired.Ports[ports[0]]
				p.AdminUp = qos.Of(rapid.Bool().Draw(rt, "up"))
				b.Desired.Ports[ports[0]] = &p
			}
			drivertest.Reverts(rt, b.LineBox, func(was, is string) string {
				if was != is {
					return "not byte for byte"
				}
				return ""
			})
		})
	})
}
