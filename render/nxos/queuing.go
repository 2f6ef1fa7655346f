package nxos

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// queues is the decoded form of an output queuing policy.
type queues = [qos.NumPriorities]qos.Queue

// readOutput reads a queuing policy. "", or a built-in policy that the text does not show, is
// the switch's default: the highest queue is strict, queue 0 has the whole rest (Nexus 9000
// NX-OS QoS Configuration Guide, Configuring Queuing and Scheduling).
func (v *view) readOutput(name string) *queues {
	if out := v.outputs[name]; out != nil {
		return out
	}
	out := &queues{}
	v.outputs[name] = out
	policy := v.policies[typeQueuing][name]
	top := v.m.top()
	for q := range out {
		out[q].ECN = qos.Of(qos.ECN{})
		switch {
		case q > top, policy == nil && q == top:
			// A queue that does not exist never waits behind another one.
			out[q].Scheduler = qos.Of(qos.Scheduler{Strict: true})
		case policy == nil && q == 0:
			out[q].Scheduler = qos.Of(qos.Scheduler{Weight: 100})
		case policy == nil || q > 0 && q < top:
			out[q].Scheduler = qos.Of(qos.Scheduler{})
		}
	}
	if policy == nil {
		return out
	}
	for _, l := range classes(policy) {
		typ, class, _ := classOf(l.Text)
		q, ok := v.queue(typeQueuing, class)
		if !ok || typ != typeQueuing {
			v.add(policy.Text, l, "not an output queue of this switch")
			continue
		}
		out[q] = v.readQueue(policy, l)
	}
	return out
}

func (v *view) readQueue(policy, class *Line) qos.Queue {
	var sched qos.Scheduler
	var ecn qos.ECN
	var other []string
	for _, l := range class.Sub {
		t := l.Text
		bandwidth, _ := cutWords(t, keyBandwidth)
		share, _ := cutWords(strings.TrimPrefix(bandwidth, "remaining "), "percent")
		if n, ok := lines.Number(share, 100); ok {
			sched.Weight = n
			continue
		}
		if rest, ok := cutWords(t, keyPriority); ok {
			level, _ := cutWords(rest, "level")
			if n, ok := lines.Number(level, 8); rest == "" || ok && n > 0 {
				sched.Strict = true
				continue
			}
		}
		if rest, ok := cutWords(t, keyShape); ok {
			if lo, hi, ok := shapeOf(rest); ok {
				sched.MinRate, sched.MaxRate = lo, hi
			} else {
				other = append(other, t)
			}
			continue
		}
		if _, ok := cutWords(t, keyNonECN); ok {
			v.add(policy.Text, l, whyNonECN)
			continue
		}
		if rest, ok := cutWords(t, keyWRED); ok {
			ecn = wredOf(rest)
			continue
		}
		if _, ok := cutWords(t, "afd"); ok {
			ecn = qos.ECN{Enabled: strings.HasSuffix(t, " ecn"), Other: t}
			continue
		}
		if _, ok := cutWords(t, keyLimit); ok {
			v.noteTrafficRelevant(policy.Text, l, whyLimit)
			continue
		}
		if !isComment(t) {
			v.add(policy.Text, l, "this tool cannot represent this line of %s", class.Text)
		}
	}
	if sched.Strict {
		sched.Weight = 0
	}
	sched.Other = strings.Join(other, ", ")
	return qos.Queue{Scheduler: qos.Of(sched), ECN: qos.Of(ecn)}
}

// rateUnits lists the shaper units that are rates, in bits per second.
var rateUnits = []struct {
	name string
	bits int64
}{{"gbps", 1e9}, {"mbps", 1e6}, {"kbps", 1e3}, {"bps", 1}}

// shapeOf parses "min 0 gbps max 100 gbps".
func shapeOf(s string) (lo, hi units.Rate, ok bool) {
	w := strings.Fields(s)
	for len(w) >= 3 && (w[0] == "min" || w[0] == "max") {
		n, isNumber := lines.Number(w[1], 1<<30)
		ok = false
		for _, u := range rateUnits {
			if isNumber && u.name == w[2] {
				ok = true
				if w[0] == "min" {
					lo = units.Rate(int64(n) * u.bits)
				} else {
					hi = units.Rate(int64(n) * u.bits)
				}
			}
		}
		if !ok {
			return 0, 0, false
		}
		w = w[3:]
	}
	return lo, hi, ok && len(w) == 0
}

// thresholdUnits maps the units of random-detect thresholds.
var thresholdUnits = map[string]qos.ThresholdUnit{
	"bytes": qos.UnitBytes, "kbytes": qos.UnitKBytes, "mbytes": qos.UnitMBytes, "packets": unitPackets,
}

const unitPackets qos.ThresholdUnit = "packets"

// wredOf parses the arguments of random-detect. Without "ecn" the queue drops packets.
func wredOf(s string) qos.ECN {
	var e qos.ECN
	var other []string
	var lower, upper qos.ThresholdUnit
	lo, hi, prob := false, false, false
	w := strings.Fields(s)
	for len(w) > 0 {
		n, isNumber := 0, false
		if len(w) > 1 {
			n, isNumber = lines.Number(w[1], maxThreshold)
		}
		var unit qos.ThresholdUnit
		known := false
		if len(w) > 2 {
			unit, known = thresholdUnits[w[2]]
		}
		switch {
		case w[0] == "minimum-threshold" && isNumber && known:
			e.Min, lower, lo, w = int64(n), unit, true, w[3:]
		case w[0] == "maximum-threshold" && isNumber && known:
			e.Max, upper, hi, w = int64(n), unit, true, w[3:]
		case w[0] == "drop-probability" && isNumber:
			e.Probability, prob, w = n, true, w[2:]
		case w[0] == "weight" && isNumber:
			e.Weight, w = n, w[2:]
		case w[0] == "ecn":
			e.Enabled, w = true, w[1:]
		default:
			other, w = append(other, w[0]), w[1:]
		}
	}
	if !e.Enabled {
		return qos.ECN{Drops: true}
	}
	if !lo || !hi || !prob {
		other = append(other, "default thresholds")
	}
	e.Unit = qos.Units(lower, upper)
	e.Other = strings.Join(other, " ")
	return e
}

// unitWord returns the word for a unit in a random-detect line.
func unitWord(u qos.ThresholdUnit) (string, bool) {
	for word, unit := range thresholdUnits {
		if unit == u {
			return word, true
		}
	}
	return "", false
}

// rateText writes a rate in the largest unit that gives a whole number.
func rateText(r units.Rate) string {
	for _, u := range rateUnits {
		if int64(r)%u.bits == 0 {
			return fmt.Sprintf("%d %s", int64(r)/u.bits, u.name)
		}
	}
	return ""
}

// hasRate reports whether a rate survives being written and read back.
func hasRate(r units.Rate) bool {
	_, hi, ok := shapeOf("max " + rateText(r))
	return r == 0 || ok && hi == r
}
