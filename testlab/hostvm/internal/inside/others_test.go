package inside

import (
	"testing"
)

func TestRulesOfBnxt(t *testing.T) {
	begin(t, "rules=bnxt")
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on")
	equal(t, "pfc before ets", show(t, "pfc").on(), []int{})
	dcbSet(t, "ets", "set", "dev", "roce0", "tc-tsa", "all:strict", "0:ets", "1:ets", "tc-bw", "all:0", "0:50", "1:50", "prio-tc", "all:0", "3:1")
	bounced(t, 0, func() { dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on") })
	equal(t, "pfc after ets", show(t, "pfc").on(), []int{3})
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "all:on")
	equal(t, "pfc after too many", show(t, "pfc").on(), []int{3})

	must(t, "dcb", "app", "add", "dev", "roce0", "dgram-port-prio", "4791:3", "dscp-prio", "26:3")
	refused(t, "File exists", "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:3")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:4")
	equal(t, "the table", show(t, "app").apps(), "26:3 26:4")

	turn(t, "dcbx", "8")
	refused(t, "Invalid argument", "dcb", "app", "add", "dev", "roce0", "dscp-prio", "48:6")
}

func TestRulesOfIce(t *testing.T) {
	begin(t, "rules=ice")
	bounced(t, 1, func() { dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on") })
	bounced(t, 0, func() { dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on") })
	bounced(t, 1, func() {
		dcbSet(t, "ets", "set", "dev", "roce0", "tc-tsa", "all:strict", "0:ets", "1:ets", "tc-bw", "all:0", "0:50", "1:50", "prio-tc", "all:0", "3:1")
	})
	equal(t, "bandwidth", show(t, "ets").TCBw, []int{50, 50, 0, 0, 0, 0, 0, 0})

	bounced(t, 1, func() { must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:3") })
	equal(t, "bandwidth after the first dscp", show(t, "ets").TCBw, []int{100, 0, 0, 0, 0, 0, 0, 0})
	refused(t, "Invalid argument", "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:4")
	must(t, "dcb", "app", "del", "dev", "roce0", "dscp-prio", "26:3")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:4")
	equal(t, "the table", show(t, "app").apps(), "26:4")
	refused(t, "Unknown error -1", "dcb", "dcbx", "set", "dev", "roce0", "host", "ieee")
}
