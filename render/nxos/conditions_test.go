package nxos

import (
	"slices"
	"strings"
	"testing"
)

// Breaking one condition of working PFC reports exactly that condition, and its fix repairs it.
func TestConditions(t *testing.T) {
	want := roce()
	want.Ports["Ethernet1/1"].Maps.V.DSCPToTC[48] = 7
	if cs := Conditions(parse(t, worked), want, EightQueue); len(cs) > 0 {
		t.Fatalf("broken: %v", cs)
	}
	for name, c := range map[string]struct{ from, to, broken string }{
		"no pause":        {"    pause pfc-cos 3\n", "", "does not pause priority 3"},
		"wrong priority":  {"    pause pfc-cos 3\n", "    pause pfc-cos 4\n", "does not pause priority 3"},
		"not attached":    {"  service-policy type network-qos QOS_NETWORK\n", "", "QOS_NETWORK, which pauses priority 3, is not attached under system qos; the switch's own policy is in force"},
		"other attached":  {"network-qos QOS_NETWORK\ncopp", "network-qos default-8q-nq-policy\ncopp", "not attached"},
		"mode auto":       {"  priority-flow-control mode on\n", "", "the PFC mode is auto"},
		"mode off":        {"mode on\n", "mode off\n", "the PFC mode is off"},
		"overridden":      {"feature lldp\n", "priority-flow-control override-interface mode off\n", "PFC is off on all ports"},
		"no input policy": {"  service-policy type qos input QOS_CLASSIFICATION\n", "", "DSCP 26 goes to qos-group 0, not 3"},
		"wrong DSCP":      {"match dscp 26", "match dscp 24", "DSCP 26 goes to qos-group 0, not 3"},
		"wrong group":     {"set qos-group 3", "set qos-group 4", "DSCP 26 goes to qos-group 4, not 3"},
	} {
		text := strings.Replace(worked, c.from, c.to, 1)
		cs := Conditions(parse(t, text), want, EightQueue)
		if len(cs) != 1 || cs[0].Port != "Ethernet1/1" || cs[0].Priority != 3 || !strings.Contains(cs[0].Broken, c.broken) {
			t.Errorf("%s: %+v", name, cs)
			continue
		}
		b := newBox(text)
		fix := strings.Split(cs[0].Fix, " / ")
		for range fix[1:] {
			fix = append(fix, "exit")
		}
		if strings.HasPrefix(fix[0], "policy-map type network-qos ") {
			// A switch that refuses edits of an attached policy needs it detached first.
			fix = slices.Concat([]string{"system qos", "no service-policy type network-qos QOS_NETWORK", "exit"}, fix, []string{"system qos", "service-policy type network-qos QOS_NETWORK", "exit"})
		}
		if name == "overridden" {
			b.lines[""] = slices.DeleteFunc(b.lines[""], func(l string) bool { return "no "+l == cs[0].Fix })
		} else if err := b.run(fix); err != nil {
			t.Errorf("%s: %q: %v", name, cs[0].Fix, err)
		}
		if cs := Conditions(parse(t, b.text()), want, EightQueue); len(cs) > 0 {
			t.Errorf("%s: mended with %q, and still %+v", name, fix, cs)
		}
	}
}

// A fix for a match-all class-map must not repeat a match that it already has.
func TestConditionOfAMatchAll(t *testing.T) {
	text := strings.Replace(worked, "match-any ROCE\n  match dscp 26\n", "match-all ROCE\n  match dscp 26\n  match cos 3\n", 1)
	want := "class-map type qos match-any ROCE-2 / match dscp 26 / policy-map type qos QOS_CLASSIFICATION / class ROCE-2 / set qos-group 3 / "
	if cs := Conditions(parse(t, text), roce(), EightQueue); len(cs) != 1 || !strings.HasPrefix(cs[0].Fix, want) {
		t.Errorf("%+v", cs)
	}
}

// A digest covers the managed settings, but neither their printing order nor any other line.
func TestDigest(t *testing.T) {
	want := roce()
	base := Digest(parse(t, worked), want, EightQueue)
	if d := Digest(parse(t, otherRelease(t, worked)), want, EightQueue); d != base {
		t.Error("another printing order is another digest")
	}
	for from, to := range map[string]string{"hostname leaf1": "hostname leaf2", "description gpu": "description old", "interface Ethernet1/25\n": "interface Ethernet1/25\n  shutdown\n  mtu 2000\n"} {
		if d := Digest(parse(t, strings.Replace(worked, from, to, 1)), want, EightQueue); d != base {
			t.Errorf("%q counts", from)
		}
	}
	for from, to := range map[string]string{
		"mtu 9216\n  service": "mtu 9000\n  service", "match dscp 26": "match dscp 27", "pfc-cos 3": "pfc-cos 4", "percent 50": "percent 51", "watch-dog-interval on\n\n": "watch-dog-interval off\n\n",
		"mode on": "mode off", "feature lldp": "class-map type qos match-any ROCE-FABRIC-X", "input QOS_CLASSIFICATION": "input OTHER", "no shutdown": "shutdown",
	} {
		text := strings.Replace(worked, from, to, 1)
		if text == worked || Digest(parse(t, text), want, EightQueue) == base {
			t.Errorf("%q does not count", from)
		}
	}
}
