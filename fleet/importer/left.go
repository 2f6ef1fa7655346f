package importer

import (
	"fmt"
	"maps"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// left holds the keys in the intent given with -f that differ from the imported intent: keys
// that are gone, and keys that have another value.
type left struct{ gone, other map[string]bool }

func newLeft() left { return left{map[string]bool{}, map[string]bool{}} }

// settingsNotImported lists the settings of the fabric and of the imported switches that are in the
// intent given with -f but not in the imported one, because no switch reports them. Devices,
// links and class names are taken from the intent given with -f and are not listed.
func settingsNotImported(known, made *intent.Fabric) []derive.Note {
	r := known.Routing
	whole := newLeft()
	whole.settings(known.Settings, made.Settings)
	settings := whole.keys() // reported once for the fabric, not for each switch
	maps.Copy(whole.gone, map[string]bool{
		"rollout":  known.Rollout.PortGroup.V != made.Rollout.PortGroup.V || len(known.Rollout.Windows) > 0 || known.Rollout.Approval != nil,
		"routing":  !r.Model.IsDefault() || !r.Tiers.IsDefault() || len(r.Exceptions) > 0 || len(r.Tunnels) > 0,
		"vxlan":    known.VXLAN != nil,
		"traffic":  len(known.Traffic) > 0,
		"islands":  len(known.Islands) > 0,
		"baseline": len(known.Baselines) > 0,
		"suppress": len(known.Suppressions) > 0,

		"simulation": known.Simulation.NoPause.V != "" || known.Simulation.NoLoss.V != "" || known.Simulation.P99.V != 0,
	})
	out := whole.notes("the fabric")
	var order []string // the distinct notes, in order
	devices, lost := map[string][]string{}, map[string]left{}
	for _, sw := range made.Switches {
		was := known.Switch(sw.Name)
		if was == nil {
			continue
		}
		l := leftOfSwitch(was, sw)
		for _, key := range settings {
			delete(l.gone, key)
			delete(l.other, key)
		}
		k := fmt.Sprint(l.notes(""))
		if devices[k] == nil {
			order = append(order, k)
		}
		devices[k], lost[k] = append(devices[k], sw.Name), l
	}
	for _, k := range order {
		out = append(out, lost[k].notes(natural.Fold(devices[k]))...)
	}
	return out
}

// notes returns notes about the settings that are left out; where says of what. It returns
// nil if there are none.
func (l left) notes(where string) []derive.Note {
	var out []derive.Note
	add := func(keys []string, one, many string) {
		if len(keys) == 0 {
			return
		}
		text, them := one, "it"
		if len(keys) > 1 {
			text, them = many, "them"
		}
		out = append(out, derive.Note{Where: where, What: text + " " + strings.Join(keys, ", ") + ", as no switch reports " + them})
	}
	const only = "only the intent of -f sets"
	add(keysWhere(l.gone), only, only)
	add(keysWhere(l.other), "the intent of -f has another value of", "the intent of -f has other values of")
	return out
}

// keys lists all keys, those that are gone first.
func (l left) keys() []string { return append(keysWhere(l.gone), keysWhere(l.other)...) }

// leftOfSwitch returns the settings of a switch and its ports that are stated in was but not
// in is.
func leftOfSwitch(was, is *intent.Switch) left {
	out := newLeft()
	out.settings(was.Settings, is.Settings)
	out.alphas(was.Settings, is.Settings)
	out.gone["trimming"], out.gone["loadBalancing"] = was.Trimming != nil, was.LoadBalancing != nil
	var ports []string
	for _, p := range was.Ports {
		now := is.Port(p.Name)
		if now == nil {
			if p.Link == nil { // a port with a link is missing because the link was not selected
				ports = append(ports, p.Name)
			}
			continue
		}
		out.settings(p.Settings, now.Settings)
		out.alphas(p.Settings, now.Settings)
		for _, key := range p.Lost(now.PortLine) {
			out.gone[key] = true
		}
	}
	if len(ports) > 0 {
		out.gone["ports "+natural.Fold(ports)] = true
	}
	return out
}

// settings adds the settings that no switch holds and that differ: they apply to hosts or
// to checks.
func (l left) settings(was, is *intent.Settings) {
	noteDifference(l, "mtu.host", was.MTU.Host, is.MTU.Host)
	noteDifference(l, "mtu.rdma", was.MTU.RDMA, is.MTU.RDMA)
	b, c := &was.Buffers, &is.Buffers
	noteDifference(l, "buffers.minLosslessPacket", b.MinLosslessPacket, c.MinLosslessPacket)
	noteDifference(l, "buffers.overSubscription", b.OverSubscription, c.OverSubscription)
	noteDifference(l, "buffers.fanIn", b.FanIn, c.FanIn)
	noteDifference(l, "buffers.fanOut", b.FanOut, c.FanOut)
	noteDifference(l, "buffers.pauseResponse", b.PauseResponse, c.PauseResponse)
	noteDifference(l, "buffers.headroom", b.Headroom, c.Headroom)
	for _, k := range was.Classes {
		if now := is.Class(k.Name); now != nil {
			noteDifference(l, "classes."+k.Name+".hostDSCP", k.HostDSCP, now.HostDSCP)
		}
	}
}

// alphas adds the alphas of lossless classes that a switch does not report. An import states none where
// a switch that reports it has 0, the default.
func (l left) alphas(was, is *intent.Settings) {
	for _, k := range was.Classes {
		now := is.Class(k.Name)
		if a := k.Alpha.V; a == nil || now == nil || now.Alpha.V == nil && *a == 0 || now.Alpha.V != nil && *now.Alpha.V == *a {
			continue
		}
		if was.OwnAlpha(k) {
			l.gone["classes."+k.Name+".alpha"] = true
		} else {
			l.gone["buffers.alpha"] = true
		}
	}
}

// noteDifference adds a setting that was stated and now differs.
func noteDifference[T comparable](l left, key string, was, is intent.Value[T]) {
	switch {
	case was.IsDefault() || was.V == is.V:
	case is.IsDefault():
		l.gone[key] = true
	default:
		l.other[key] = true
	}
}

// keysWhere lists the keys whose value is true, in natural order.
func keysWhere(of map[string]bool) []string {
	var out []string
	for _, key := range natural.Keys(of) {
		if of[key] {
			out = append(out, key)
		}
	}
	return out
}
