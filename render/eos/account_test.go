package eos

import (
	"fmt"
	"strings"
	"testing"
)

// large returns the configuration of a switch with 1,024 ports and more than 10,000 lines, on
// which no two ports have the same lines.
func large() string {
	var b strings.Builder
	b.WriteString("qos profile P\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n")
	for q := range 8 {
		fmt.Fprintf(&b, "   uc-tx-queue %d\n      no priority\n      bandwidth percent %d\n", q, 5+q)
	}
	for i := range 1024 {
		fmt.Fprintf(&b, "interface Ethernet%d\n   mtu %d\n   no switchport\n   service-profile P\n   flowcontrol send off\n   priority-flow-control pause watchdog port timer timeout 1 polling-interval auto recovery-time 2\n   uc-tx-queue 3\n      bandwidth percent %d\n      random-detect ecn minimum-threshold %d kbytes maximum-threshold 4000 kbytes\n", i+1, 9000+i%200, 1+i%90, i+1)
	}
	for i := range 64 {
		fmt.Fprintf(&b, "qos map dscp %d to traffic-class %d\n", i, i%8)
	}
	b.WriteString("end\n")
	return b.String()
}

// BenchmarkReadLarge gives the time for parsing, with which BenchmarkAccount is compared.
func BenchmarkReadLarge(b *testing.B) {
	text := []byte(large())
	for b.Loop() {
		if c, err := Parse(text); err != nil || len(c.Lines) == 0 {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccount(b *testing.B) {
	c, err := Parse([]byte(large()))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if len(Account(c)) < 5000 {
			b.Fatal("lines are missing")
		}
	}
}
