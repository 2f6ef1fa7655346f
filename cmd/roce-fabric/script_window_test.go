package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// labcount DEVICE PORT INDEX COUNTER N sets a counter; with a sign, it grows by
// N, or falls, each time that it was read.
func labCount(ts *testscript.TestScript, _ bool, a []string) {
	if len(a) != 5 {
		ts.Fatalf("usage: labcount DEVICE PORT INDEX COUNTER N")
	}
	box, ok := switchOf(ts, a[0]).(interface{ Counters() *sim.Tally })
	if !ok {
		ts.Fatalf("%s counts nothing", a[0])
	}
	index, err := strconv.Atoi(a[2])
	ts.Check(err)
	n, err := strconv.ParseInt(a[4], 10, 64)
	ts.Check(err)
	if a[4][0] == '+' || a[4][0] == '-' {
		box.Counters().Flow(a[1], index, a[3], n)
		return
	}
	box.Counters().Flow(a[1], index, a[3], 0)
	box.Counters().Set(a[1], index, a[3], uint64(n))
}

// meanwhile N WHEN 'labcount ...' COMMAND does something to the lab in the middle of a
// command.
func meanwhile(ts *testscript.TestScript, neg bool, a []string) {
	did := strings.Fields(a[2])
	does := map[string]func(*testscript.TestScript, bool, []string){"labcount": labCount, "labunplug": labUnplug}[did[0]]
	signalled(ts, neg, slices.Concat(a[:2], a[3:]), disturbance{act: func() { does(ts, false, did[1:]) }})
}

// labpoll DEVICE MILLISECONDS has a SONiC switch renew its counters that often.
func labPoll(ts *testscript.TestScript, _ bool, a []string) {
	box := boxOf(ts, a[0])
	for group := range box.Config()["FLEX_COUNTER_TABLE"] {
		box.SetDBRow("CONFIG_DB", "FLEX_COUNTER_TABLE", group, map[string]string{"POLL_INTERVAL": a[1]})
	}
}
