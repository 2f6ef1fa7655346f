package main

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// notTaken says what the intent of -f states of the fabric and of the switches that
// are imported, and the intent that is made does not: what no switch tells. Devices,
// links and names of classes are taken over.
func notTaken(known, made *intent.Fabric) []derive.Note {
	r := known.Routing
	whole := keysWhere(map[string]bool{
		"rollout":  known.Rollout.PortGroup.V != made.Rollout.PortGroup.V,
		"routing":  !r.Model.IsDefault() || !r.Tiers.IsDefault() || len(r.Exceptions) > 0 || len(r.Tunnels) > 0,
		"traffic":  len(known.Traffic) > 0,
		"islands":  len(known.Islands) > 0,
		"suppress": len(known.Suppressions) > 0,
	})
	settings := lostSettings(known.Settings, made.Settings)
	var out []derive.Note
	if whole = append(whole, settings...); len(whole) > 0 {
		out = append(out, notTakenAt("the fabric", whole))
	}
	var order []string // what is left out, each once
	devices, keys := map[string][]string{}, map[string][]string{}
	for _, sw := range made.Switches {
		was := known.Switch(sw.Name)
		if was == nil {
			continue
		}
		lost := slices.DeleteFunc(lostOfSwitch(was, sw), func(key string) bool { return slices.Contains(settings, key) })
		if len(lost) == 0 {
			continue
		}
		k := strings.Join(lost, " ")
		if devices[k] == nil {
			order = append(order, k)
		}
		devices[k], keys[k] = append(devices[k], sw.Name), lost
	}
	for _, k := range order {
		out = append(out, notTakenAt(natural.Fold(devices[k]), keys[k]))
	}
	return out
}

func notTakenAt(where string, keys []string) derive.Note {
	return derive.Note{Where: where, What: "the intent of -f states " + strings.Join(keys, ", ") + ", and this one does not: no switch tells"}
}

// lostOfSwitch lists what is stated of a switch or any of its ports, and is not
// any more.
func lostOfSwitch(was, is *intent.Switch) []string {
	lost := map[string]bool{}
	settings := func(was, is *intent.Settings) {
		for _, key := range lostSettings(was, is) {
			lost[key] = true
		}
	}
	settings(was.Settings, is.Settings)
	var ports []string
	for _, p := range was.Ports {
		now := is.Port(p.Name)
		if now == nil {
			if p.Link == nil { // else its link was not asked for
				ports = append(ports, p.Name)
			}
			continue
		}
		settings(p.Settings, now.Settings)
		for _, key := range keysWhere(map[string]bool{
			"fec":   p.FEC.V != now.FEC.V,
			"admin": p.AdminUp.V != nil && now.AdminUp.V == nil,
			"cable": p.Cable.V > 0 && now.Cable.V == 0,
		}) {
			lost[key] = true
		}
	}
	if len(ports) > 0 {
		lost["ports "+natural.Fold(ports)] = true
	}
	return natural.Keys(lost)
}

// lostSettings lists the settings that stand on no switch, where they are others
// now: they are of hosts, or guide checks.
func lostSettings(was, is *intent.Settings) []string {
	b, c := &was.Buffers, &is.Buffers
	return keysWhere(map[string]bool{
		"mtu.host": was.MTU.Host.V != is.MTU.Host.V, "mtu.rdma": was.MTU.RDMA.V != is.MTU.RDMA.V,
		"buffers.minLosslessPacket": b.MinLosslessPacket.V != c.MinLosslessPacket.V,
		"buffers.overSubscription":  b.OverSubscription.V != c.OverSubscription.V,
		"buffers.fanIn":             b.FanIn.V != c.FanIn.V,
		"buffers.fanOut":            b.FanOut.V != c.FanOut.V,
		"buffers.pauseResponse":     b.PauseResponse.V != c.PauseResponse.V,
		"buffers.headroom":          b.Headroom.V != c.Headroom.V,
	})
}

// keysWhere lists the keys that hold, in order.
func keysWhere(of map[string]bool) []string {
	var out []string
	for _, key := range natural.Keys(of) {
		if of[key] {
			out = append(out, key)
		}
	}
	return out
}
