package eos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Ranks of the lines of a queue (aristanetworks/avd, ethernet-interface-tx-queues.j2).
const (
	rankPriority   = 10
	rankBandwidth  = 20
	rankQueueShape = 30
	rankECNCount   = 40
	rankECN        = 50
	rankWRED       = 60
)

// thresholds is the common part of ECN and drop lines. The range of the numbers is that of the
// OpenConfig leaves (aristanetworks/yang, arista-qos-augments.yang).
const thresholds = "minimum-threshold <min=1-4294967294> <minunit=segments|bytes|kbytes|mbytes|milliseconds|microseconds> " +
	"maximum-threshold <max=1-4294967294> <maxunit=segments|bytes|kbytes|mbytes|milliseconds|microseconds>"

func (g grammar) queues() {
	ports := []string{modeEthernet, modeProfile}
	for _, kw := range []string{"tx-queue", "uc-tx-queue"} {
		g.Set(ports, kw+" <q=0-7>", ofKeyword(kw, enterQueue(modeTxQueue, rankQueue)))
		g.Neg(ports, kw+" <q=0-7>", ofKeyword(kw, dropQueue))
	}
	g.Set(ports, "mc-tx-queue <q=0-3>", ofKeyword("uc-tx-queue", enterQueue(modeMcQueue, rankQueue+50)))
	g.Neg(ports, "mc-tx-queue <q=0-3>", ofKeyword("uc-tx-queue", dropQueue))

	both, uc := []string{modeTxQueue, modeMcQueue}, []string{modeTxQueue}
	g.Set(both, "priority strict", setLine("priority", rankPriority, "priority strict"))
	g.Neg(both, "priority [strict]", setNegated("priority", rankPriority))
	g.Set(both, "bandwidth percent <p=1-100>", setLine("bandwidth percent", rankBandwidth))
	g.Neg(both, "bandwidth percent [<p=1-100>]", cli.ClearKey[*exec]("bandwidth percent"))
	g.Set(both, "bandwidth guaranteed percent <p=1-100>", setLine("bandwidth guaranteed", rankBandwidth+1))
	g.Set(both, "bandwidth guaranteed <n="+maxRate+"> [<unit=kbps|pps>]", setLine("bandwidth guaranteed", rankBandwidth+1))
	g.Neg(both, "bandwidth guaranteed [<rest=text>]", cli.ClearKey[*exec]("bandwidth guaranteed"))
	g.shape(both, rankQueueShape)

	g.Set(uc, "random-detect ecn count", setLine("ecn count", rankECNCount))
	g.Neg(uc, "random-detect ecn count", cli.ClearKey[*exec]("ecn count"))
	g.Set(uc, "random-detect ecn "+thresholds+" [max-mark-probability <p=1-100>] [weight <w=0-15>]", func(x *exec) string {
		if out := x.thresholds(); out != "" {
			return out
		}
		plain := strings.Replace(x.Line+" ", " max-mark-probability 100 ", " ", 1)
		plain = strings.TrimSpace(strings.Replace(plain, " weight 0 ", " ", 1))
		x.Put("ecn", value{Line: x.Line, Plain: plain, Rank: rankECN})
		return ""
	})
	g.Neg(uc, "random-detect ecn [minimum-threshold [<rest=text>]]", cli.ClearKey[*exec]("ecn"))
	g.Set(uc, "random-detect drop [drop-precedence <dp=0-2>] "+thresholds+" drop-probability <p=1-100> [weight <w=0-15>]", func(x *exec) string {
		if out := x.thresholds(); out != "" {
			return out
		}
		rank := rankWRED
		if dp := x.Vals["dp"]; dp != "" {
			rank += 1 + int(dp[0]-'0')
		}
		x.Put("drop"+x.Vals["dp"], value{Line: x.Line, Plain: x.Line, Rank: rank})
		return ""
	})
	g.Neg(uc, "random-detect drop [drop-precedence <dp=0-2>] [minimum-threshold <rest=text>]", func(x *exec) string {
		x.Drop("drop" + x.Vals["dp"])
		return ""
	})
	g.line(uc, rankWRED+5, 2, "random-detect non-ect <rest=text>")
	g.Neg(uc, "random-detect non-ect", func(*exec) string { return "" })

	// Jericho 3 AI marks by delay, which is set per port.
	port := []string{modeEthernet}
	g.Set(port, "random-detect ecn delay threshold <n=1-4294967294> milliseconds", sandOnly(setLine("ecn delay", rankShape+5)))
	g.Neg(port, "random-detect ecn delay threshold [<rest=text>]", sandOnly(cli.ClearKey[*exec]("ecn delay")))
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

// enterQueue opens a queue of the current port or profile.
func enterQueue(mode string, rank int) action {
	return func(x *exec) string {
		prompt := strings.Join([]string{x.Stack[len(x.Stack)-1].Prompt, strings.Replace(strings.Fields(x.Line)[0], "tx-queue", "txq", 1), x.Vals["q"]}, "-")
		x.Enter(cli.Frame{Mode: mode, Places: []cli.Place{cli.At(x.Line, rank+int(x.Vals["q"][0]-'0'))}, Prompt: prompt})
		return ""
	}
}

func dropQueue(x *exec) string {
	if !x.e.o.QueueRemoval {
		return "% Invalid input (at token 0: '" + x.Verb + "')"
	}
	return cli.DropBlock(x)
}

// unitSizes compares thresholds in different units. Segments and times can only be compared with
// the same unit.
var unitSizes = map[string]int{"bytes": 1, "kbytes": 1000, "mbytes": 1000_000}

// thresholds checks the units and the order of the thresholds in a line.
func (x *exec) thresholds() string {
	minUnit, maxUnit := x.Vals["minunit"], x.Vals["maxunit"]
	known := []string{"segments", "bytes", "kbytes", "mbytes"}
	if x.e.sand {
		known = []string{"bytes", "kbytes", "mbytes", "milliseconds", "microseconds"}
	}
	if !slices.Contains(known, minUnit) || !slices.Contains(known, maxUnit) {
		return unavailable
	}
	lo, err := strconv.Atoi(x.Vals["min"])
	hi, err2 := strconv.Atoi(x.Vals["max"])
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

// watchdog adds the PFC watchdog, globally and per port, and the global switch for PFC.
func (g grammar) watchdog() {
	at := []string{modeGlobal}
	g.Set(at, "priority-flow-control all off", setLine("pfc all", rankPFC))
	g.Neg(at, "priority-flow-control all [off]", cli.ClearKey[*exec]("pfc all"))
	for i, t := range []struct{ word, typ string }{{"timeout", "timeout"}, {"recovery-time", "timeout"}, {"polling-interval", "polling"}} {
		key, rank := "wd "+t.word, rankPFC+1+i
		g.Set(at, wd+" default "+t.word+" <s="+t.typ+">", func(x *exec) string {
			x.Put(key, value{Line: x.Line, Plain: x.Line, Rank: rank})
			return x.polling()
		})
		g.Neg(at, wd+" default "+t.word+" [<s="+t.typ+">]", cli.ClearKey[*exec](key))
	}
	g.Set(at, wd+" action drop", setLine("wd action", rankPFC+4))
	g.Neg(at, wd+" action [drop]", cli.ClearKey[*exec]("wd action"))
	g.Set(at, wd+" override action drop", setLine("wd override", rankPFC+5))
	g.Neg(at, wd+" override action [drop]", cli.ClearKey[*exec]("wd override"))

	port := []string{modeEthernet, modeProfile}
	g.Set(port, wd, setLine(wd, pfcFrom+20, wd))
	g.Neg(port, wd, setNegated(wd, pfcFrom+20))
	g.Set(port, wd+" port action <a=drop|notify-only>", setLine("wd action", pfcFrom+21))
	g.Neg(port, wd+" port action [<a=drop|notify-only>]", cli.ClearKey[*exec]("wd action"))
	timer := wd + " port timer timeout <t=timeout> polling-interval <p=%> recovery-time <r=timeout> [forced]"
	for _, typ := range []string{"auto", "polling"} {
		g.Set(port, strings.Replace(timer, "%", typ, 1), portTimer)
	}
	g.Neg(port, wd+" port timer [<rest=text>]", cli.ClearKey[*exec]("wd timer"))
}

// pollingWarning is the answer if the polling interval is more than half of the shorter of timeout
// and recovery time. EOS then uses its own interval (EOS User Manual, PFC watchdog).
const pollingWarning = "! Polling interval is more than half of the timeout or of the recovery time, auto is used"

func tooSlow(polling, timeout, recovery string) bool {
	p, ok := millis(polling)
	t, ok2 := millis(timeout)
	r, ok3 := millis(recovery)
	return ok && ok2 && ok3 && 2*p > min(t, r)
}

func (x *exec) polling() string {
	get := func(word string) string {
		return strings.TrimPrefix(x.cfg.root.Get("wd "+word), wd+" default "+word+" ")
	}
	if tooSlow(get("polling-interval"), get("timeout"), get("recovery-time")) {
		x.Drop("wd polling-interval")
		return pollingWarning
	}
	return ""
}

func portTimer(x *exec) string {
	v, out := value{Line: x.Line, Plain: x.Line, Rank: pfcFrom + 22}, ""
	if tooSlow(x.Vals["p"], x.Vals["t"], x.Vals["r"]) {
		v.Line = strings.Replace(x.Line, "polling-interval "+x.Vals["p"], "polling-interval auto", 1)
		v.Plain, out = v.Line, pollingWarning
	}
	x.Put("wd timer", v)
	return out
}
