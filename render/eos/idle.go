package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// idle returns the reason why a line changes nothing, and the check that it therefore fails.
func (a *accountant) idle(s *section, queue string, h hit, concerned []*group) (fate render.Fate, why, check string) {
	switch {
	case s.at == inProfile && len(concerned) == 0:
		return render.Inert, a.unnamed(strings.TrimPrefix(s.name, sectionProfile)), ""
	case s == a.r.global:
		return a.idleGlobal(h)
	case len(concerned) == 0:
		return render.Inert, "no port uses it", ""
	}
	g := concerned[0]
	p := a.r.effective(g.first)
	switch {
	case s != g.first && g.first.get(queue, h.keyText(0)) != nil:
		return render.Inert, "a line of the interface overrides it", ""
	case h.Key == keyMTU && p.lag != "" && isEthernet(s.port()):
		return render.Inert, "a member has the MTU of " + p.lag, ""
	case h.Key == keyMTU && !p.routed:
		return render.Inert, "the port is switched, and has the MTU of l2 mtu", ""
	case h.Key == keyL2MTU && p.routed:
		return render.Inert, "the port is routed, and has the MTU of mtu", ""
	case h.Key == keyProfile && a.r.profile(s.profileName()) != nil && len(a.r.profile(s.profileName()).held) == 0:
		return render.Inert, "the profile is empty", ""
	case h.Key == keyDogAction && a.globals.override:
		return render.Inert, "the switch overrides the action of its ports", ""
	case h.Key == keyBandwidth && !p.queues[queue[len(queue)-1]-'0'].weighted:
		return render.Inert, "the queue is strict, for it has no line \"no priority\"", ""
	case h.Key == keyPFC && p.noDrop == 0:
		return render.Inert, "no priority is no-drop", "PFC-07"
	case strings.HasPrefix(h.Key, keyNoDrop) && strings.HasSuffix(h.Text, " no-drop") && !p.pfc:
		return render.Inert, "the port has no line \"priority-flow-control on\"", "PFC-07"
	case strings.HasPrefix(h.Key, keyPFC) && a.globals.allOff:
		return render.Inert, "priority-flow-control all off turns PFC off", ""
	case strings.HasPrefix(h.Key, keyDog) && (!p.pfc || p.noDrop == 0):
		return render.Inert, "the port pauses no priority", ""
	case strings.HasPrefix(h.Key, keyDog) && p.unwatched:
		return render.Inert, "the watchdog is off on the port", ""
	case strings.HasPrefix(h.Key, keyDog) && a.globals.timeout == 0 && !p.timed:
		return render.Inert, "the watchdog of the switch has no timeout, and is off", "WD-01"
	}
	return render.Default, "", ""
}

// unnamed says that no interface uses a profile, or only one that is not an Ethernet port.
func (a *accountant) unnamed(profile string) string {
	for _, s := range a.r.order {
		if s.at == inInterface && s.profileName() == profile {
			return "only " + s.port() + " names the profile; whether the members of a port channel get it is not documented"
		}
	}
	return "no interface names the profile"
}

func (a *accountant) idleGlobal(h hit) (fate render.Fate, why, check string) {
	paused := false
	for _, p := range a.whole.Ports {
		paused = paused || p.PFC.V != 0
	}
	g := &a.globals
	switch {
	case strings.Contains(h.Text, " to dscp ") && !g.rewrite:
		if to := (args{w: h.Values}).num(2); !slices.Contains(h.Entries(), int(g.dscp[to])) {
			return render.Inert, "it rewrites what leaves, with \"qos rewrite dscp\" only; it classifies nothing, and DSCP " + itoa(to) + " stays in traffic class " + itoa(int(g.dscp[to])), "CLS-17"
		}
		return render.Inert, "it rewrites what leaves, and there is no line \"qos rewrite dscp\"", ""
	case h.Key == "qos rewrite dscp":
		return render.Inert, "no traffic class is mapped to a DSCP", ""
	case strings.HasPrefix(h.Key, keyMapDSCP) && h.changes():
		return render.Inert, "no port trusts DSCP", ""
	case strings.HasPrefix(h.Key, keyMapCOS) && h.changes():
		return render.Inert, "no port trusts CoS", ""
	case strings.HasPrefix(h.Key, keyMapTC) && h.changes():
		return render.Inert, "no code point reaches the traffic class", ""
	case h.Key == keyAllOff:
		return render.Inert, "no port has PFC", ""
	case strings.HasPrefix(h.Key, keyDog) && !paused:
		return render.Inert, "no port pauses a priority", ""
	case strings.HasPrefix(h.Key, keyDog) && !a.guarded():
		return render.Inert, "the watchdog has no timeout, and is off", "WD-01"
	case h.Key == keyAction && h.Text != keyAction+" errdisable" && !g.override:
		return render.Inert, "every port has an action of its own", ""
	case h.Key == keyAction && g.override, h.Key == keyOverride && g.action == qos.ActionDrop:
		return render.Inert, "the action is drop without it", ""
	}
	return render.Default, "", ""
}

// changes reports whether a map line differs from the default map.
func (h hit) changes() bool {
	s, usual := state{global: defaultGlobals()}, defaultGlobals()
	for _, id := range h.Entries() {
		h.set(&s, args{w: h.Values, id: id})
	}
	return s.global != usual
}
