package eos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// profileName is the name of the first profile that this tool makes; others
// are numbered from 2. Profiles of other names belong to others.
const profileName = "ROCE-FABRIC"

// Encode returns the desired text as a whole, in the order in which EOS prints
// it: profiles, interfaces that carry them, and the top level. Code points at
// their default have no line. Values that [Refusals] names are left out.
//
// Whether a port is routed is not known here: the MTU is written as that of a
// routed port.
func Encode(d *qos.Device, kw Keyword) *Config {
	p := newPlanner(Lines.New(), writable(d), kw)
	p.all = true
	return p.plan().Apply(Lines.New())
}

// shape is what the profile of a port says; "" for lines that must not be there.
type shape struct {
	settings Edit
	text     string // identifies it
}

// shapedBy is what of a port its shape follows from.
type shapedBy struct {
	trust    qos.Opt[qos.Trust]
	queues   [qos.NumPriorities]qos.Queue
	pfc      qos.Opt[qos.PrioritySet]
	watchdog qos.Opt[qos.Watchdog]
	kept     string
}

// shapeOf returns the shape of a port under globals, with lines that it keeps.
func shapeOf(p *qos.Port, g *globals, kw Keyword, poll time.Duration, kept Edit) shape {
	var e Edit
	put := func(queue, key, line string) { e = append(e, lines.Setting{Block: queue, Key: key, Line: line}) }
	if p.Trust.Set {
		put("", keyTrust, trustLine(p.Trust.V))
	}
	for i := range p.Queues {
		shapeQueue(&p.Queues[i], string(kw)+" "+itoa(i), put)
	}
	if p.PFC.Set {
		put("", keyPFC, lineIf(p.PFC.V != 0, keyPFC+" on"))
		for n := range qos.NumPriorities {
			key := keyNoDrop + itoa(n)
			put("", key, lineIf(p.PFC.V.Has(n), key+" no-drop"))
		}
	}
	if p.Watchdog.Set {
		shapeWatchdog(p, g, poll, put)
	}
	e = append(e, kept...)
	return shape{e, shapeText(e)}
}

func shapeText(e Edit) string {
	var b strings.Builder
	for _, s := range e {
		b.WriteString(s.Block + "\x00" + s.Key + "\x00" + s.Line + "\n")
	}
	return b.String()
}

// lineIf is a line, or "" for the default.
func lineIf(on bool, line string) string {
	if !on {
		return ""
	}
	return line
}

func trustLine(t qos.Trust) string {
	switch t {
	case qos.TrustDSCP:
		return "qos trust dscp"
	case qos.TrustPCP:
		return "qos trust cos"
	case qos.TrustNone:
		return "no qos trust"
	}
	return ""
}

func shapeQueue(q *qos.Queue, name string, put func(queue, key, line string)) {
	if s := q.Scheduler; s.Set {
		if s.V.Strict {
			put(name, keyPriority, "priority strict")
			put(name, keyBandwidth, "")
		} else {
			put(name, keyPriority, "no priority")
			put(name, keyBandwidth, "bandwidth percent "+itoa(s.V.Weight))
		}
		rate := func(key string, r units.Rate) {
			put(name, key, lineIf(r > 0, key+" "+strconv.FormatInt(int64(r)/1000, 10)+" kbps"))
		}
		rate(keyGuaranteed, s.V.MinRate)
		rate(keyShape, s.V.MaxRate)
	}
	if e := q.ECN; e.Set {
		put(name, keyECN, lineIf(e.V.Enabled, ecnLine(e.V)))
		put(name, keyDrop, "")
		for i := range 3 {
			put(name, keyDrop+" drop-precedence "+itoa(i), "")
		}
	}
}

func unitWord(u qos.ThresholdUnit) string {
	if u == qos.UnitBytes {
		return "bytes"
	}
	return string(u)
}

func ecnLine(e qos.ECN) string {
	lower, upper := e.Unit.Split()
	line := "random-detect ecn minimum-threshold " + strconv.FormatInt(e.Min, 10) + " " + unitWord(lower) +
		" maximum-threshold " + strconv.FormatInt(e.Max, 10) + " " + unitWord(upper) +
		" max-mark-probability " + itoa(e.Probability)
	if e.Weight != 0 {
		line += " weight " + itoa(e.Weight)
	}
	return line
}

func shapeWatchdog(p *qos.Port, g *globals, poll time.Duration, put func(queue, key, line string)) {
	w := p.Watchdog.V
	if !w.Enabled {
		if p.PFC.Set && p.PFC.V == 0 {
			// Without a lossless priority there is nothing to watch.
			return
		}
		if g.timeout == 0 {
			// The watchdog of the switch is off.
			put("", keyDogTimer, "")
			return
		}
		put("", keyDog, "no "+keyDog)
		return
	}
	timer, action := "", ""
	if w.Detect != g.timeout || w.Restore != g.recovery {
		interval := "auto"
		if poll > 0 {
			interval = secondsText(min(poll, halfOf(w)))
		}
		timer = keyDogTimer + " timeout " + secondsText(w.Detect) + " polling-interval " + interval + " recovery-time " + secondsText(w.Restore)
	}
	if w.Action != g.action && (w.Action != qos.ActionDrop || !g.override) {
		action = keyDogAction + " " + actionWord(w.Action)
	}
	put("", keyDog, "")
	put("", keyDogAction, action)
	put("", keyDogTimer, timer)
}

func actionWord(a qos.WatchdogAction) string {
	for _, w := range []string{"drop", "notify-only"} {
		if actions[w] == a {
			return w
		}
	}
	return ""
}

// secondsText prints the shortest decimals: "0.2".
func secondsText(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// isOwn reports whether a profile name is one that this tool gives.
func isOwn(name string) bool {
	if name == profileName {
		return true
	}
	n, ok := strings.CutPrefix(name, profileName+"-")
	i, err := strconv.Atoi(n)
	return ok && err == nil && i >= 2 && itoa(i) == n
}

// sortedShapes are the shapes of ports, in natural order of their first port.
func sortedShapes(of map[string]shape) []shape {
	var out []shape
	seen := map[string]bool{}
	for _, n := range natural.Keys(of) {
		if !seen[of[n].text] {
			seen[of[n].text] = true
			out = append(out, of[n])
		}
	}
	return slices.Clip(out)
}
