package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Packet buffer lines of Strata switches that limit the headroom of lossless groups
// (aristanetworks/avd, eos_cli_config_gen platform schema; a number without a unit is in bytes).
const (
	mmuProfile  = "platform trident mmu queue profile "
	mmuApply    = " apply"
	mmuPool     = "platform trident mmu headroom-pool limit "
	mmuHeadroom = "ingress headroom "
)

// headroomLimits returns the headroom limits of the applied profile and of the headroom pool. A
// profile that is not applied has no effect.
func headroomLimits(c *Config) (out []qos.HeadroomLimit) {
	applied, profiles, pool := "", map[string]qos.HeadroomLimit{}, qos.HeadroomLimit{}
	for _, l := range c.Lines {
		text := canonical(l.Text)
		if n, ok := strings.CutPrefix(text, mmuPool); ok {
			pool, _ = limitOf(text, n)
		}
		name, ok := strings.CutPrefix(text, mmuProfile)
		if !ok {
			continue
		}
		if name, ok := strings.CutSuffix(name, mmuApply); ok {
			applied = name
			continue
		}
		for _, s := range l.Sub {
			if n, ok := strings.CutPrefix(canonical(s.Text), mmuHeadroom); ok {
				if limit, ok := limitOf("profile "+name+", "+canonical(s.Text), n); ok {
					profiles[name] = limit
				}
			}
		}
	}
	if limit, ok := profiles[applied]; ok {
		out = append(out, limit)
	}
	if pool.What != "" {
		out = append(out, pool)
	}
	return out
}

const mostCells = 1 << 30 // far more than any packet buffer has

func limitOf(what, size string) (qos.HeadroomLimit, bool) {
	unit, n, two := strings.Cut(size, " ")
	if !two {
		unit, n = "bytes", size
	}
	v, ok := lines.Number(n, mostCells)
	if !ok || unit != "bytes" && unit != "cells" {
		return qos.HeadroomLimit{}, false
	}
	return qos.HeadroomLimit{What: what, N: int64(v), Cells: unit == "cells"}, true
}
