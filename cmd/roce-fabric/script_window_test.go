package main

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// labcount DEVICE PORT INDEX COUNTER N sets a counter; if N has a sign, the counter grows or
// falls by N after each read. For a host, PORT is the RDMA device.
func labCount(ts *testscript.TestScript, _ bool, a []string) {
	if len(a) != 5 {
		ts.Fatalf("usage: labcount DEVICE PORT INDEX COUNTER N")
	}
	if h := labOf(ts).Servers[a[0]]; h != nil {
		countNIC(ts, h, a)
		return
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

func countNIC(ts *testscript.TestScript, h *host.Host, a []string) {
	file := "hw_counters/" + a[3]
	by, err := strconv.Atoi(a[4])
	ts.Check(err)
	put := func(n int) {
		h.Kernel().Put(path.Join("class/infiniband", a[1], "ports/1", file), strconv.Itoa(n)+"\n")
	}
	put(by)
	h.Kernel().OnRead(file, func() {}) // stops earlier growth
	var grow func(n int)
	grow = func(n int) {
		h.Kernel().OnRead(file, func() { put(n); grow(n + by) })
	}
	if a[4][0] == '+' {
		grow(by)
	}
}

// meanwhile N WHEN 'labcount ...' COMMAND changes the lab while a command runs, or runs another
// command that must fail.
func meanwhile(ts *testscript.TestScript, neg bool, a []string) {
	did := strings.Fields(a[2])
	does := map[string]func(*testscript.TestScript, bool, []string){"labcount": labCount, "labunplug": labUnplug, "roce-fabric": fails}[did[0]]
	signalled(ts, neg, slices.Concat(a[:2], a[3:]), disturbance{act: func() { does(ts, false, did[1:]) }})
}

// fails runs a command that must fail.
func fails(ts *testscript.TestScript, _ bool, a []string) {
	if ts.Exec("roce-fabric", a...) == nil {
		ts.Fatalf("%v: status 0", a)
	}
}

// labpoll DEVICE MILLISECONDS sets how often a SONiC switch updates its counters.
func labPoll(ts *testscript.TestScript, _ bool, a []string) {
	box := boxOf(ts, a[0])
	for group := range box.Config()["FLEX_COUNTER_TABLE"] {
		box.SetDBRow("CONFIG_DB", "FLEX_COUNTER_TABLE", group, map[string]string{"POLL_INTERVAL": a[1]})
	}
}
