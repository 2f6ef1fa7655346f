package nxos

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	sharedtest.Default(sharedtest.Parallel, "8")
	sharedtest.Default("rapid.checks", "25") // each check is a switch with a few logins
	sharedtest.VerifyMain(m)
}

// anySwitch draws a random configuration that others may have left on a switch.
func anySwitch(t *rapid.T) string {
	var out []string
	some := func(lines ...string) {
		if n := rapid.IntRange(0, 2*len(lines)).Draw(t, lines[0]); n < len(lines) {
			out = append(out, lines[n])
		}
	}
	out = append(out, "class-map type qos match-any MINE\n  match dscp 26\nclass-map type qos match-any ROCE-FABRIC-X\n  match cos 3")
	for _, p := range []string{"ROCE-FABRIC-IN", "MY-IN"} {
		out = append(out, "policy-map type qos "+p, "class "+rapid.SampledFrom([]string{"MINE", "ROCE-FABRIC-X"}).Draw(t, p))
		some("set qos-group 3", "set qos-group 4")
	}
	for _, p := range []string{"ROCE-FABRIC-OUT", "MY-OUT"} {
		out = append(out, "policy-map type queuing "+p, "class type queuing c-out-8q-q3")
		some("bandwidth remaining percent 50", "bandwidth percent 20")
		some("random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn", "random-detect threshold burst-optimized ecn")
		out = append(out, "class type queuing c-out-8q-q7")
		some("priority level 1")
	}
	for _, p := range []string{"ROCE-FABRIC-NQ", "MY-NQ"} {
		out = append(out, "policy-map type network-qos "+p, "class type network-qos c-8q-nq3")
		some("mtu 9216", "mtu 2240")
		some("pause pfc-cos 3", "pause pfc-cos 4")
		out = append(out, "class type network-qos c-8q-nq-default")
		some("mtu 9216")
	}
	out = append(out, "system qos")
	some("service-policy type network-qos ROCE-FABRIC-NQ", "service-policy type network-qos MY-NQ")
	some("service-policy type qos input MY-IN", "service-policy type qos input ROCE-FABRIC-IN")
	some("service-policy type queuing output MY-OUT", "service-policy type queuing output ROCE-FABRIC-OUT")
	for _, p := range ports[:6] {
		out = append(out, "interface "+p)
		some("mtu 9100", "mtu 9216")
		some("priority-flow-control mode on", "priority-flow-control mode off", "priority-flow-control mode on send-tlv")
		some("priority-flow-control watch-dog-interval on")
		some("service-policy type qos input ROCE-FABRIC-IN", "service-policy type qos input MY-IN no-stats")
		some("service-policy type queuing output ROCE-FABRIC-OUT", "service-policy type queuing output MY-OUT")
		some("shutdown")
		out = append(out, "description # of someone, 50%")
	}
	some("priority-flow-control watch-dog-interval on")
	some("priority-flow-control watch-dog interval 300")
	some("priority-flow-control auto-restore multiplier 5")
	return strings.Join(out, "\n") + "\n"
}

// blocks returns the blocks of a configuration by their first line, because a removed and
// re-created block comes after the others of its kind.
func blocks(text string) map[string][]string {
	out, head := map[string][]string{}, ""
	for _, l := range strings.Split(text, "\n") {
		if !strings.HasPrefix(l, " ") {
			head = l
		}
		out[head] = append(out[head], l)
	}
	delete(out, "") // blank lines
	return out
}

// TestAnySwitch applies an intent to a randomly configured switch and reverts it.
func TestAnySwitch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		intents := [][]string{
			nil,
			{"  watchdog: {detect: 400ms, restore: 400ms, action: drop}", "  watchdog: off"},
			{"dscp: [26]", "dscp: [26, 30]", "min: 150KB", "min: 200KB"},
			{"  cnp: {priority: 7, dscp: [48], strict: true}\n", ""},
		}
		drivertest.Check(t, func(rt *rapid.T) {
			o := boxOptions{intent: rapid.SampledFrom(intents).Draw(rt, "intent"), setup: anySwitch(rt)}
			some := func(name string) bool { return rapid.Bool().Draw(rt, name) }
			o.Options = simnxos.Options{NoDualStage: some("plain"), OldOrder: some("old order"), EmptyClassDefault: some("class-default"), NQLocked: some("locked"), ReplacePolicy: some("replace")}
			b := newBox(t, o)
			drivertest.Reverts(rt, b.LineBox, func(was, is string) string { return cmp.Diff(blocks(was), blocks(is)) })
		})
	})
}
