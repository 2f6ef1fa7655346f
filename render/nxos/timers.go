package nxos

import (
	"fmt"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Defaults of the watchdog timers (Nexus 9000 NX-OS QoS Configuration Guide, Configuring
// Priority Flow Control).
const (
	defaultInterval   = 100 // milliseconds
	defaultMultiplier = 1
	defaultRestore    = 10
)

// wordPortMultiplier precedes the multiplier of a port in the line of its watchdog. It replaces the
// multiplier of the switch (Nexus 9000 NX-OS QoS Configuration Guide, Configuring Priority Flow
// Control). The range is the one of 9.3(2); later releases take more (interfaceMutiplier,
// Cisco-NX-OS-device.yang).
const (
	wordPortMultiplier = "interface-multiplier"
	maxPortMultiplier  = 11
)

// guards reports whether the watchdog of a switch, with a multiplier of the port if needed, does what
// a port wants.
func (c *common) guards(w qos.Watchdog) bool {
	w.Priorities = 0
	if w == c.watchdog {
		return true
	}
	if !c.ok {
		return false
	}
	n := w.Detect / c.timers.interval
	asMost := w
	asMost.Detect = c.watchdog.Detect
	return asMost == c.watchdog && w.Detect%c.timers.interval == 0 && n >= 1 && n <= maxPortMultiplier
}

// timers holds the watchdog timers, which apply to the whole switch.
type timers struct {
	on                  bool
	interval            time.Duration
	multiplier, restore int
}

func (v *view) readTimers() timers {
	number := func(key string, usual int) int {
		rest, l, ok := last(v.global, key)
		if !ok {
			return usual
		}
		if n, ok := lines.Number(rest, 1e6); ok {
			return n
		}
		v.add("", l, "not a number that this tool knows; the default is assumed")
		return usual
	}
	rest, _, ok := last(v.global, keyWatchdog)
	return timers{
		on:         ok && rest == "on",
		interval:   time.Duration(number(keyInterval, defaultInterval)) * time.Millisecond,
		multiplier: number(keyMultiplier, defaultMultiplier),
		restore:    number(keyRestore, defaultRestore),
	}
}

// watchdogOn returns what follows the key of the watchdog on a port. A port that detects a storm
// later or sooner than the switch has a multiplier of its own.
func (p *planner) watchdogOn(w qos.Watchdog) string {
	t := p.all.timers
	if !p.all.ok || w.Detect == t.interval*time.Duration(t.multiplier) {
		return "on"
	}
	return fmt.Sprintf("on %s %d", wordPortMultiplier, w.Detect/t.interval)
}

// global adds the switch-wide settings.
func (p *planner) global() {
	parts := part(0)
	paused := false
	for _, name := range p.ports {
		parts |= p.need.ports[name]
		paused = paused || p.need.ports[name]&partPFC != 0 && p.want.Ports[name].PFC.V != 0
	}
	if paused && p.v.overridden() {
		p.set("", "", keyOverride, "")
	}
	have := p.v.readTimers()
	line := func(key string, n int) { p.set("", "", key, key+" "+strconv.Itoa(n)) }
	if p.all.ok && (p.need.timers || parts&partWatchdog != 0) {
		if !have.on {
			p.set("", "", keyWatchdog, keyWatchdog+" on")
		}
		t := p.all.timers
		if have.interval != t.interval {
			line(keyInterval, int(t.interval.Milliseconds()))
		}
		if have.multiplier != t.multiplier {
			line(keyMultiplier, t.multiplier)
		}
		if have.restore != t.restore {
			line(keyRestore, t.restore)
		}
	} else if poll := p.want.WatchdogPoll; p.need.timers && poll.Set && poll.V != have.interval {
		line(keyInterval, int(poll.V.Milliseconds()))
	}
}
