package cumulus

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// anyConfig draws a configuration of six ports, two of which may be in a bond, using everything
// that the grammar has.
func anyConfig(t *rapid.T) *Config {
	var b strings.Builder
	say := func(format string, a ...any) { fmt.Fprintf(&b, "nv set "+format+"\n", a...) }
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	number := func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(t, label) }
	say("interface swp1-6 type swp")
	if some("bond") {
		say("interface bond1 bond member swp5-6")
	}
	if some("preset") {
		say("qos roce %s", pick("state", "enable on", "state enabled", "state disabled", "enable off"))
		if some("mode") {
			say("qos roce mode %s", pick("mode", Lossless, Lossy, LosslessSinglePool, LossyMultiTC, "mode-of-tomorrow"))
		}
	}
	profiles := []string{global, "p", Prefix, Prefix + "-2"}
	for range number("lines", 0, 25) {
		name := pick("profile", profiles...)
		tc := number("queue", 0, 7)
		switch pick("what", "dscp", "pcp", "trust", "pfc", "tx", "cable", "ecn", "thresholds", "relative", "share", "strict", "shaper", "queues", "pool", "bind", "bind", "bind", "watchdog", "timers", "mtu", "pause", "state") {
		case "dscp":
			say("qos mapping %s dscp %d-%d switch-priority %d", name, tc*8, tc*8+number("to", 0, 7), number("priority", 0, 7))
		case "pcp":
			say("qos mapping %s pcp %d switch-priority %d", name, tc, number("priority", 0, 7))
		case "trust":
			say("qos mapping %s trust %s", name, pick("trust", "l2", "l3", "both", "port"))
		case "pfc":
			say("qos pfc %s switch-priority %d", name, tc)
		case "tx":
			say("qos pfc %s %s %s", name, pick("way", "tx", "rx"), pick("on", "enable", "disable"))
		case "cable":
			say("qos pfc %s %s %d", name, pick("of", "cable-length", "xoff-threshold"), number("metres", 1, 500))
		case "ecn":
			say("qos congestion-control %s traffic-class %d %s %s", name, tc, pick("of", "ecn", "red"), pick("on", "enable", "disable"))
		case "thresholds":
			say("qos congestion-control %s traffic-class %d %s %d", name, tc, pick("of", "min-threshold", "max-threshold"), number("bytes", 1, 2_000_000))
		case "relative":
			say("qos congestion-control %s traffic-class %d mode relative", name, tc)
			say("qos congestion-control %s traffic-class %d min-threshold-percent %d", name, tc, number("percent", 0, 100))
		case "share":
			say("qos egress-scheduler %s traffic-class %d mode dwrr", name, tc)
			say("qos egress-scheduler %s traffic-class %d bw-percent %d", name, tc, number("percent", 0, 13))
		case "strict":
			say("qos egress-scheduler %s traffic-class %d mode strict", name, tc)
		case "shaper":
			say("qos egress-shaper %s traffic-class %d %s %d", name, tc, pick("of", "min-rate", "max-rate"), number("kbps", 1, 1_000_000))
			if some("pps") {
				say("qos egress-shaper %s mode pps", name)
			}
		case "queues":
			say("qos egress-queue-mapping default-global switch-priority %d traffic-class %d", tc, number("to", 0, 7))
		case "pool":
			say("qos traffic-pool %s memory-percent %d", pick("pool", poolLossy, poolLossless, poolRoCELossless, "mc-lossy"), number("percent", 0, 25))
		case "bind":
			say("interface %s qos %s profile %s", pick("on", "swp1", "swp2", "swp3", "swp4", "bond1"), pick("family", families...), name)
		case "watchdog":
			say("interface swp%d qos pfc-watchdog state %s", number("port", 1, 6), pick("on", "enable", "enabled", "disable", "disabled"))
		case "timers":
			say("qos pfc-watchdog %s", pick("timer", "polling-interval 200", "robustness 2", "robustness 9"))
		case "mtu":
			say("interface swp%d link mtu %d", number("port", 1, 4), number("mtu", 552, 9216))
		case "pause":
			say("qos link-pause %s %s %s", name, pick("way", "tx", "rx"), pick("on", "enable", "disable"))
		case "state":
			say("interface swp%d link state %s", number("port", 1, 4), pick("is", "up", "down"))
		}
	}
	c, err := Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	c.Release = Release{number("release", oldest, newest)}
	if some("ports are known") {
		c.Ports = []string{"swp1", "swp2", "swp3", "swp4", "swp5", "swp6", "swp7"}
	}
	return c
}

// anyDesired draws a desired state for some of the ports.
func anyDesired(t *rapid.T) *qos.Device {
	number := func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(t, label) }
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	d := plain("swp1", "swp2", "swp3", "swp4")
	d.OwnsGlobals = some("own")
	for _, name := range []string{"swp2", "swp4"} {
		if some("without " + name) {
			delete(d.Ports, name)
		}
	}
	one := d.Ports["swp1"]
	if some("lossy") {
		for _, p := range d.Ports {
			p.PFC, p.Watchdog, p.Cable = qos.Of(qos.PrioritySet(0)), qos.Of(qos.Watchdog{}), qos.Opt[units.Length]{}
			p.Groups = [qos.NumPriorities]qos.Group{}
		}
	}
	if some("cable") && one.PFC.V != 0 {
		one.Cable = qos.Of(units.Length(number("metres", 1, 300)))
	}
	if some("marks") {
		one.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Drops: some("drops"), Min: int64(number("min", 1, 1000)), Max: int64(number("max", 1000, 9999)), Unit: rapid.SampledFrom([]qos.ThresholdUnit{qos.UnitBytes, qos.UnitKBytes}).Draw(t, "unit"), Probability: number("probability", 1, 100)})
	}
	if some("rate") {
		one.Queues[3].Scheduler.V.MaxRate = units.Rate(number("kbps", 1, 1_000_000) * 1000)
	}
	if some("weights") {
		// Rounded percentages may add up to 101.
		w := number("weight", 1, 98)
		one.Queues[0].Scheduler.V.Weight, one.Queues[3].Scheduler.V.Weight = w, number("rest", 99-w, 101-w)
	}
	if some("kept") {
		one.Queues[0].ECN, one.Queues[6].Scheduler = qos.Opt[qos.ECN]{}, qos.Opt[qos.Scheduler]{}
		m := *one.Maps.V
		for i := range 20 {
			m.DSCPToTC[i] = qos.Unmanaged
		}
		one.Maps.V = &m
	}
	if some("timers") && one.PFC.V != 0 {
		poll := time.Duration(number("poll", 100, 900)) * time.Millisecond
		d.WatchdogPoll = qos.Of(poll)
		detect := poll * time.Duration(number("robustness", 1, 9))
		for _, p := range d.Ports {
			p.Watchdog.V.Restore, p.Watchdog.V.Detect = poll, detect
		}
	}
	if some("state") {
		one.AdminUp = qos.Of(some("up"))
	}
	Fit(d)
	return d
}

// From any configuration a change reaches the desired state, a second change is empty, and the
// undo restores every value.
func TestAnyChangeSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have, want := anyConfig(t), anyDesired(t)
		if len(Refusals(want, have.Release)) > 0 {
			t.Skip()
		}
		before, _ := Decode(have)
		e := Change(have, want)
		after := e.Apply(have)
		running, _ := Decode(after)
		for _, c := range qos.Diff(running, want) {
			// A single port cannot escape link pause that default-global turns on.
			if c.Field.Kind == qos.KindLinkPause {
				continue
			}
			t.Errorf("%s: %s after the change, want %s", c.Path(), c.Old, c.New)
		}
		if again := Change(after, want); len(again) > 0 {
			t.Errorf("a second change is not empty: %v", again)
		}
		undo := e.Undo(have)
		if got := undo.Within(after).Apply(after); !got.Tree.Equal(have.Tree) {
			t.Errorf("after the undo:\n%s\nbefore the change:\n%s\nedit: %v\nundo: %v", got.Tree.JSON(), have.Tree.JSON(), e, undo)
		}
		if err := e.Check(nil); err != nil {
			t.Error(err)
		}
		if err := e.CheckUndo(undo); err != nil {
			t.Error(err)
		}
		// The undo also reverts an edit that was interrupted at any point.
		cut := e[:rapid.IntRange(0, len(e)).Draw(t, "cut")].Apply(have)
		if got := undo.Within(cut).Apply(cut); !got.Tree.Equal(have.Tree) {
			t.Errorf("after the undo of an edit that was cut off:\n%s\nbefore the change:\n%s\nedit: %v\nundo: %v", got.Tree.JSON(), have.Tree.JSON(), e, undo)
		}
		if b, err := json.Marshal(undo); err != nil {
			t.Error(err)
		} else if back := (Edit{}); json.Unmarshal(b, &back) != nil || !back.Apply(after).Tree.Equal(undo.Apply(after).Tree) {
			t.Errorf("an undo record that was written and read is another one: %s", b)
		}
		if was, is := Digest(have, want), Digest(after, want); (was == is) != (len(e) == 0) {
			t.Errorf("the digest is %s and %s with %d settings", was, is, len(e))
		}
		// Without shared settings, no port outside the intent changes.
		if !want.OwnsGlobals {
			less := ChangeWithin(have, want, SharedQueues|SharedWatchdog|SharedPools).Apply(have)
			d, _ := Decode(less)
			if others := qos.Others(before, d, want); len(others) > 0 {
				t.Errorf("%v change with the ports of the intent", others)
			}
		}
	})
}

// The parser never panics, and everything that it reads can be accounted for, written and read
// again.
func FuzzParse(f *testing.F) {
	for _, file := range published(f) {
		f.Add(file.Data)
	}
	f.Add([]byte(`{"interface":{"swp1-4,swp6s0-3":{"link":{"state":{"up":{}}}}}}`))
	f.Add([]byte("nv set interface swp1-99999999 qos pfc profile 'a b'\nnv unset interface"))
	f.Add([]byte("nv set qos"))
	f.Add([]byte("- set:\n    qos: {roce: null, mapping: [a, b]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		d, unknown := Decode(c)
		Account(c)
		back, err := Parse(c.Tree.JSON())
		if c.Tree.At("set") != nil || c.Tree.At("header") != nil || c.Tree.At("unset") != nil {
			return // parts of the output of "nv config show" around the tree
		}
		if err != nil {
			if !known(c.Tree) {
				return
			}
			t.Fatalf("what was read cannot be read again: %v\n%s", err, c.Tree.JSON())
		}
		back.Release, back.Model, back.Hostname = c.Release, c.Model, c.Hostname
		again, also := Decode(back)
		if diffs := qos.Diff(again, d); len(diffs) > 0 || len(unknown) != len(also) {
			t.Errorf("%v, %d and %d unknown\n%s", diffs, len(unknown), len(also), c.Tree.JSON())
		}
	})
}

// known reports whether a tree has a top-level branch of NVUE.
func known(n *Node) bool {
	for _, top := range tops {
		if v := n.At(top); v != nil && v.Kind == Branch {
			return true
		}
	}
	return false
}
