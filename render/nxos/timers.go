package nxos

import (
	"time"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Defaults of the watchdog timers (Nexus 9000 NX-OS QoS Configuration Guide, Configuring
// Priority Flow Control).
const (
	defaultInterval   = 100 // milliseconds
	defaultMultiplier = 1
	defaultRestore    = 10
)

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
