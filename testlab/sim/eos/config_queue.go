package eos

import (
	"slices"
	"strconv"
	"strings"
)

// Ranks in a queue (aristanetworks/avd, ethernet-interface-tx-queues.j2).
const (
	rankPriority   = 10
	rankBandwidth  = 20
	rankQueueShape = 30
	rankECNCount   = 40
	rankECN        = 50
	rankWRED       = 60
)

// thresholds is what ECN and drop lines have in common. The range of numbers
// is that of the OpenConfig leaves (aristanetworks/yang,
// arista-qos-augments.yang).
const thresholds = "minimum-threshold <min=1-4294967294> <minunit=segments|bytes|kbytes|mbytes|milliseconds|microseconds> " +
	"maximum-threshold <max=1-4294967294> <maxunit=segments|bytes|kbytes|mbytes|milliseconds|microseconds>"

func (g grammar) queues() {
	ports := []string{modeEthernet, modeProfile}
	for _, kw := range []string{"tx-queue", "uc-tx-queue"} {
		g.set(ports, kw+" <q=0-7>", ofKeyword(kw, enterQueue(modeTxQueue, rankQueue)))
		g.neg(ports, kw+" <q=0-7>", ofKeyword(kw, dropQueue))
	}
	g.set(ports, "mc-tx-queue <q=0-3>", ofKeyword("uc-tx-queue", enterQueue(modeMcQueue, rankQueue+50)))
	g.neg(ports, "mc-tx-queue <q=0-3>", ofKeyword("uc-tx-queue", dropQueue))

	both, uc := []string{modeTxQueue, modeMcQueue}, []string{modeTxQueue}
	g.set(both, "priority strict", keep("priority", rankPriority, "priority strict"))
	g.neg(both, "priority [strict]", refuseIt("priority", rankPriority))
	g.set(both, "bandwidth percent <p=1-100>", keep("bandwidth percent", rankBandwidth))
	g.neg(both, "bandwidth percent [<p=1-100>]", clearKey("bandwidth percent"))
	g.set(both, "bandwidth guaranteed percent <p=1-100>", keep("bandwidth guaranteed", rankBandwidth+1))
	g.set(both, "bandwidth guaranteed <n="+maxRate+"> [<unit=kbps|pps>]", keep("bandwidth guaranteed", rankBandwidth+1))
	g.neg(both, "bandwidth guaranteed [<rest=text>]", clearKey("bandwidth guaranteed"))
	g.shape(both, rankQueueShape)

	g.set(uc, "random-detect ecn count", keep("ecn count", rankECNCount))
	g.neg(uc, "random-detect ecn count", clearKey("ecn count"))
	g.set(uc, "random-detect ecn "+thresholds+" [max-mark-probability <p=1-100>] [weight <w=0-15>]", func(x *exec) string {
		if out := x.thresholds(); out != "" {
			return out
		}
		plain := strings.Replace(x.line+" ", " max-mark-probability 100 ", " ", 1)
		plain = strings.TrimSpace(strings.Replace(plain, " weight 0 ", " ", 1))
		x.put("ecn", value{line: x.line, plain: plain, rank: rankECN})
		return ""
	})
	g.neg(uc, "random-detect ecn [minimum-threshold [<rest=text>]]", clearKey("ecn"))
	g.set(uc, "random-detect drop [drop-precedence <dp=0-2>] "+thresholds+" drop-probability <p=1-100> [weight <w=0-15>]", func(x *exec) string {
		if out := x.thresholds(); out != "" {
			return out
		}
		rank := rankWRED
		if dp := x.vals["dp"]; dp != "" {
			rank += 1 + int(dp[0]-'0')
		}
		x.put("drop"+x.vals["dp"], value{line: x.line, plain: x.line, rank: rank})
		return ""
	})
	g.neg(uc, "random-detect drop [drop-precedence <dp=0-2>] [minimum-threshold <rest=text>]", func(x *exec) string {
		x.drop("drop" + x.vals["dp"])
		return ""
	})
	g.neg(uc, "random-detect non-ect", func(*exec) string { return "" })

	// Jericho 3 AI marks by the delay, which is a property of the port.
	port := []string{modeEthernet}
	g.set(port, "random-detect ecn delay threshold <n=1-4294967294> milliseconds", sandOnly(keep("ecn delay", rankShape+5)))
	g.neg(port, "random-detect ecn delay threshold [<rest=text>]", sandOnly(clearKey("ecn delay")))
}

func sandOnly(run action) action {
	return func(x *exec) string {
		if !x.e.sand {
			return unavailable
		}
		return run(x)
	}
}

func strataOnly(run action) action {
	return func(x *exec) string {
		if x.e.sand {
			return unavailable
		}
		return run(x)
	}
}

// enterQueue opens a queue of the port or profile that the command is in.
func enterQueue(mode string, rank int) action {
	return func(x *exec) string {
		prompt := strings.Join([]string{x.stack[len(x.stack)-1].prompt, strings.Replace(strings.Fields(x.line)[0], "tx-queue", "txq", 1), x.vals["q"]}, "-")
		x.enter(frame{mode: mode, heads: []string{x.line}, rank: rank + int(x.vals["q"][0]-'0'), prompt: prompt})
		return ""
	}
}

func dropQueue(x *exec) string {
	if !x.e.o.QueueRemoval {
		return "% Invalid input (at token 0: '" + x.verb + "')"
	}
	return dropBlock(x)
}

// dropBlock removes the block that the line would open.
func dropBlock(x *exec) string {
	for _, b := range x.blocks() {
		delete(b.subs, x.line)
	}
	return ""
}

// unitSizes order thresholds of different units. Segments and times compare
// among themselves only.
var unitSizes = map[string]int{"bytes": 1, "kbytes": 1000, "mbytes": 1000_000}

// thresholds checks the units and the order of a line's thresholds.
func (x *exec) thresholds() string {
	minUnit, maxUnit := x.vals["minunit"], x.vals["maxunit"]
	known := []string{"segments", "bytes", "kbytes", "mbytes"}
	if x.e.sand {
		known = []string{"bytes", "kbytes", "mbytes", "milliseconds", "microseconds"}
	}
	if !slices.Contains(known, minUnit) || !slices.Contains(known, maxUnit) {
		return unavailable
	}
	lo, err := strconv.Atoi(x.vals["min"])
	hi, err2 := strconv.Atoi(x.vals["max"])
	if err != nil || err2 != nil {
		return "% Invalid input"
	}
	a, b := unitSizes[minUnit], unitSizes[maxUnit]
	switch {
	case (a == 0 || b == 0) && minUnit != maxUnit:
		return "% Error: thresholds of different kinds"
	case minUnit == maxUnit:
		a, b = 1, 1
	}
	if lo*a > hi*b {
		return "% Error: minimum-threshold is above maximum-threshold"
	}
	return ""
}

const wd = "priority-flow-control pause watchdog"

// watchdog adds the PFC watchdog, of the box and of ports, and the switch for
// all PFC.
func (g grammar) watchdog() {
	at := []string{modeGlobal}
	g.set(at, "priority-flow-control all off", keep("pfc all", rankPFC))
	g.neg(at, "priority-flow-control all [off]", clearKey("pfc all"))
	for i, t := range []struct{ word, typ string }{{"timeout", "timeout"}, {"recovery-time", "timeout"}, {"polling-interval", "polling"}} {
		key, rank := "wd "+t.word, rankPFC+1+i
		g.set(at, wd+" default "+t.word+" <s="+t.typ+">", func(x *exec) string {
			x.put(key, value{line: x.line, plain: x.line, rank: rank})
			return x.polling()
		})
		g.neg(at, wd+" default "+t.word+" [<s="+t.typ+">]", clearKey(key))
	}
	g.set(at, wd+" action drop", keep("wd action", rankPFC+4))
	g.neg(at, wd+" action [drop]", clearKey("wd action"))
	g.set(at, wd+" override action drop", keep("wd override", rankPFC+5))
	g.neg(at, wd+" override action [drop]", clearKey("wd override"))

	port := []string{modeEthernet, modeProfile}
	g.set(port, wd, keep(wd, pfcFrom+20, wd))
	g.neg(port, wd, refuseIt(wd, pfcFrom+20))
	g.set(port, wd+" port action <a=drop|notify-only>", keep("wd action", pfcFrom+21))
	g.neg(port, wd+" port action [<a=drop|notify-only>]", clearKey("wd action"))
	timer := wd + " port timer timeout <t=timeout> polling-interval <p=%> recovery-time <r=timeout> [forced]"
	for _, typ := range []string{"auto", "polling"} {
		g.set(port, strings.Replace(timer, "%", typ, 1), portTimer)
	}
	g.neg(port, wd+" port timer [<rest=text>]", clearKey("wd timer"))
}

// A polling interval is at most half of the shorter of timeout and recovery
// time; EOS takes its own in place of a longer one (EOS User Manual, PFC
// watchdog).
const pollingWarning = "! Polling interval is more than half of the timeout or of the recovery time, auto is used"

func tooSlow(polling, timeout, recovery string) bool {
	p, ok := millis(polling)
	t, ok2 := millis(timeout)
	r, ok3 := millis(recovery)
	return ok && ok2 && ok3 && 2*p > min(t, r)
}

func (x *exec) polling() string {
	get := func(word string) string {
		return strings.TrimPrefix(x.cfg.root.get("wd "+word), wd+" default "+word+" ")
	}
	if tooSlow(get("polling-interval"), get("timeout"), get("recovery-time")) {
		x.drop("wd polling-interval")
		return pollingWarning
	}
	return ""
}

func portTimer(x *exec) string {
	v, out := value{line: x.line, plain: x.line, rank: pfcFrom + 22}, ""
	if tooSlow(x.vals["p"], x.vals["t"], x.vals["r"]) {
		v.line = strings.Replace(x.line, "polling-interval "+x.vals["p"], "polling-interval auto", 1)
		v.plain, out = v.line, pollingWarning
	}
	x.put("wd timer", v)
	return out
}
