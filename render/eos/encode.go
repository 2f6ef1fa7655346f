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

// profileName is the name of the first profile that this tool creates; further ones are numbered
// from 2. Profiles with other names are not the tool's.
const profileName = "ROCE-FABRIC"

// Encode returns the complete desired text in the order in which EOS prints it: profiles, the
// interfaces that use them, and the top level. Code points at their default have no line. Values
// that [Refusals] names are left out. Interfaces that are alike share their lines.
//
// It is not known whether a port is routed; the MTU is written as for a routed port.
func Encode(d *qos.Device, kw Keyword) *Config {
	c := Lines.New()
	p := newPlanner(c, writable(d), kw)
	running := p.r.decode()
	c.Lines = sub(p.globals(running, true))
	g := read(c).globals()
	profiles, interfaces := p.sections(&g)
	c.Lines = slices.Concat(profiles, interfaces, p.mapLines(running), c.Lines)
	return c
}

// sections returns the profiles and interfaces of a switch that has none yet.
func (p *planner) sections(g *globals) (profiles, interfaces []*Line) {
	type alike struct {
		shapedBy
		mtu       qos.Opt[int]
		up, pause qos.Opt[bool]
	}
	known := map[alike][]*Line{} // lines of an interface
	names := map[string]string{} // profile names, by the text of their shape
	var last alike
	var own []*Line
	ports := natural.Keys(p.d.Ports)
	headers := make([]Line, len(ports))
	for i, n := range ports {
		port := p.d.Ports[n]
		by := alike{shapedBy{port.Trust, port.Queues, port.PFC, port.Watchdog, ""}, port.MTU, port.AdminUp, port.LinkPause}
		if i == 0 || by != last { // most ports are like the previous one
			var ok bool
			if own, ok = known[by]; !ok {
				s := shapeOf(port, g, p.kw, p.d.WatchdogPoll.Or(g.poll), nil)
				if names[s.text] == "" && len(s.settings) > 0 {
					name := profileName
					if n := len(profiles); n > 0 {
						name += "-" + itoa(n+1)
					}
					names[s.text] = name
					profiles = append(profiles, &Line{Text: sectionProfile + name, Sub: sub(s.settings)})
				}
				own = interfaceLines(port, names[s.text])
				known[by] = own
			}
			last = by
		}
		headers[i] = Line{Text: sectionInterface + n, Sub: own}
		interfaces = append(interfaces, &headers[i])
	}
	return profiles, interfaces
}

// mapLines returns the map lines that differ, one line for all entries with the same value.
func (p *planner) mapLines(running *qos.Device) (out []*Line) {
	for _, t := range p.tables(running) {
		for tc := range qos.NumPriorities {
			var ids []int
			for i, w := range t.want {
				if int(w) == tc && t.moves(i) {
					ids = append(ids, i)
				}
			}
			if len(ids) > 0 {
				out = append(out, &Line{Text: t.head + listText(ids) + t.to + itoa(tc)})
			}
		}
	}
	return out
}

// sub returns the lines of the settings of one section. The settings are in the order in which
// EOS prints them.
func sub(e Edit) []*Line {
	var out []*Line
	for _, s := range e {
		l := &Line{Text: s.Line}
		switch {
		case s.Line == "":
		case s.Block == "":
			out = append(out, l)
		default:
			if len(out) == 0 || out[len(out)-1].Text != s.Block {
				out = append(out, &Line{Text: s.Block})
			}
			queue := out[len(out)-1]
			queue.Sub = append(queue.Sub, l)
		}
	}
	return out
}

// interfaceLines returns the lines of an interface, in the order in which EOS prints them.
// profile is "" for none.
func interfaceLines(p *qos.Port, profile string) (out []*Line) {
	put := func(line string) { out = append(out, &Line{Text: line}) }
	if p.AdminUp.Set {
		put(adminLine(p.AdminUp.V))
	}
	if p.MTU.Set {
		put(keyMTU + " " + itoa(p.MTU.V))
	}
	if p.LinkPause.V {
		put(keySend + " on")
		put(keyReceive + " on")
	}
	if profile != "" {
		put(keyProfile + " " + profile)
	}
	return out
}

// adminLine returns the line for an admin state. Without a line, "interface defaults" decides.
func adminLine(up bool) string {
	if up {
		return "no " + keyShutdown
	}
	return keyShutdown
}

// shape holds the settings of a port's profile. An empty line means that there must be no such
// line.
type shape struct {
	settings Edit
	text     string // identifies it
}

// shapedBy holds the values of a port that determine its shape.
type shapedBy struct {
	trust    qos.Opt[qos.Trust]
	queues   [qos.NumPriorities]qos.Queue
	pfc      qos.Opt[qos.PrioritySet]
	watchdog qos.Opt[qos.Watchdog]
	kept     string
}

// shapeOf returns the shape of a port under the switch-wide settings g, including the lines kept
// for it.
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
		for _, part := range []string{s.Block, "\x00", s.Key, "\x00", s.Line, "\n"} {
			b.WriteString(part)
		}
	}
	return b.String()
}

// lineIf returns the line, or "" (the default) if on is false.
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
			// The switch-wide watchdog is off.
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

// secondsText prints seconds with as few decimals as possible: "0.2".
func secondsText(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// isOwn reports whether a profile name is one that this tool creates.
func isOwn(name string) bool {
	if name == profileName {
		return true
	}
	n, ok := strings.CutPrefix(name, profileName+"-")
	i, err := strconv.Atoi(n)
	return ok && err == nil && i >= 2 && itoa(i) == n
}

// sortedShapes returns the distinct shapes, in natural order of their first port.
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
