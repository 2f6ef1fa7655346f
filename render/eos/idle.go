package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// unused is a line without which the configuration means the same.
type unused struct {
	a    *accountant
	s    *section
	h    *held
	port portState // of the first port that the line concerns
	on   *section  // that port; nil for a line of the top level
}

// unless returns the claim of a line that something missing makes useless, unless a line that is
// not understood, in the sections that the line depends on, may be what is missing.
func (u *unused) unless(c forms.Claim, more ...*section) forms.Claim {
	for _, s := range append(more, u.s, u.on, u.a.r.profile(u.on.profileName())) {
		if s == nil {
			continue
		}
		blocks := s.nodes
		if s == u.a.r.global {
			blocks = []*Line{{Sub: u.a.r.top}}
		}
		if d := u.a.Doubt(u.a.strange, func(l *Line) bool { return concerns(l.Text) }, blocks...); d != nil {
			return forms.Undecided(d)
		}
	}
	return c
}

// without is the claim of a line that states what holds without it.
var without = forms.Claim{Fate: render.Default}

// idle returns the claim of a line that changes nothing: the reason, and the check that the line
// therefore fails.
func (a *accountant) idle(s *section, h *held, concerned []*group) forms.Claim {
	u := unused{a: a, s: s, h: h}
	claims := portClaims
	switch {
	case s == a.r.global:
		claims = globalClaims
	case s.at == inProfile && len(concerned) == 0:
		return forms.Inert("%s", a.unnamed(strings.TrimPrefix(s.name, sectionProfile)))
	case len(concerned) == 0:
		return forms.Inert("no port uses it")
	case s != concerned[0].first && concerned[0].first.get(h.queue, h.spot.key) != nil:
		return forms.Inert("a line of the interface overrides it")
	default:
		u.on = concerned[0].first
		u.port = a.r.effective(u.on)
	}
	if claim := claims[h.Key]; claim != nil {
		return claim(&u)
	}
	return without
}

// portClaims holds the claim function of each form of an interface, a profile or a queue whose
// lines may have no effect, by key.
var portClaims = map[string]func(*unused) forms.Claim{
	keyMTU:              (*unused).mtu,
	keyL2MTU:            (*unused).l2mtu,
	keyProfile:          (*unused).profile,
	keyBandwidth:        (*unused).bandwidth,
	keyPFC:              (*unused).pfc,
	keyNoDrop + "<0-7>": (*unused).noDrop,
	keyDog:              (*unused).watchdog,
	keyDogTimer:         (*unused).watchdog,
	keyDogAction:        (*unused).watchdogAction,
}

func (u *unused) mtu() forms.Claim {
	switch {
	case u.port.lag != "" && isEthernet(u.s.port()):
		return forms.Inert("a member has the MTU of %s", u.port.lag)
	case !u.port.routed:
		return u.unless(forms.Inert("the port is switched, and has the MTU of l2 mtu").Failing("CFG-02"))
	}
	return without
}

func (u *unused) l2mtu() forms.Claim {
	if u.port.routed {
		return u.unless(forms.Inert("the port is routed, and has the MTU of mtu").Failing("CFG-02"))
	}
	return without
}

func (u *unused) profile() forms.Claim {
	if p := u.a.r.profile(u.s.profileName()); p != nil && len(p.held) == 0 {
		return forms.Inert("the profile is empty")
	}
	return without
}

func (u *unused) bandwidth() forms.Claim {
	if !u.port.queues[u.h.queue[len(u.h.queue)-1]-'0'].weighted {
		return u.unless(forms.Inert("the queue is strict, for it has no line \"no priority\"").Failing("CFG-02"))
	}
	return without
}

func (u *unused) pfc() forms.Claim {
	if u.port.noDrop == 0 {
		return u.unless(forms.Inert("no priority is no-drop").Failing("PFC-07"))
	}
	return u.allOff()
}

func (u *unused) noDrop() forms.Claim {
	if strings.HasSuffix(u.h.Text, " no-drop") && !u.port.pfc {
		return u.unless(forms.Inert("the port has no line \"priority-flow-control on\"").Failing("PFC-07"))
	}
	return u.allOff()
}

// allOff returns the claim of a line about PFC that only another line can make useless.
func (u *unused) allOff() forms.Claim {
	if u.a.globals.allOff {
		return forms.Inert("priority-flow-control all off turns PFC off")
	}
	return without
}

func (u *unused) watchdogAction() forms.Claim {
	if u.a.globals.override {
		return forms.Inert("the switch overrides the action of its ports")
	}
	return u.watchdog()
}

func (u *unused) watchdog() forms.Claim {
	p := &u.port
	switch {
	case u.a.globals.allOff:
		return u.allOff()
	case !p.pfc || p.noDrop == 0:
		return forms.Inert("the port pauses no priority")
	case p.unwatched:
		return forms.Inert("the watchdog is off on the port")
	case u.a.globals.timeout == 0 && !p.timed:
		return u.unless(forms.Inert("the watchdog of the switch has no timeout, and is off").Failing("WD-01"), u.a.r.global)
	}
	return without
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

// globalClaims holds the claim function of each form of the top level whose lines may have no
// effect, by key.
var globalClaims = map[string]func(*unused) forms.Claim{
	keyRewrite:   func(*unused) forms.Claim { return forms.Inert("no traffic class is mapped to a DSCP") },
	keyListDSCP:  func(u *unused) forms.Claim { return u.moves("no port trusts DSCP") },
	keyListCOS:   func(u *unused) forms.Claim { return u.moves("no port trusts CoS") },
	keyToDSCP:    (*unused).toDSCP,
	keyToQueue:   (*unused).toQueue,
	keyToUCQueue: (*unused).toQueue,
	keyAllOff:    func(*unused) forms.Claim { return forms.Inert("no port has PFC") },
	keyTimeout:   (*unused).globalWatchdog,
	keyRecovery:  (*unused).globalWatchdog,
	keyPoll:      (*unused).globalWatchdog,
	keyAction:    (*unused).action,
	keyOverride:  (*unused).override,
}

// moves returns the claim of a map line that maps nothing that a port receives.
func (u *unused) moves(why string) forms.Claim {
	s, usual := state{global: defaultGlobals()}, defaultGlobals()
	for _, id := range u.h.Entries() {
		u.h.set(&s, args{w: u.h.Values, id: id})
	}
	if s.global != usual {
		return forms.Inert("%s", why)
	}
	return without
}

func (u *unused) toQueue() forms.Claim { return u.moves("no code point reaches the traffic class") }

func (u *unused) toDSCP() forms.Claim {
	g := &u.a.globals
	to := (args{w: u.h.Values}).num(2)
	switch {
	case g.rewrite:
		return u.toQueue()
	case !slices.Contains(u.h.Entries(), int(g.dscp[to])):
		return forms.Inert("it rewrites what leaves, with \"qos rewrite dscp\" only; it classifies nothing, and DSCP %d stays in traffic class %d", to, g.dscp[to]).Failing("CLS-17")
	}
	return forms.Inert("it rewrites what leaves, and there is no line \"qos rewrite dscp\"")
}

func (u *unused) globalWatchdog() forms.Claim {
	if u.h.Key == keyTimeout && u.a.globals.timeout == 0 {
		return without
	}
	paused := false
	for _, p := range u.a.whole.Ports {
		paused = paused || p.PFC.V != 0
	}
	switch {
	case !paused:
		return forms.Inert("no port pauses a priority")
	case !u.a.guarded():
		return u.unless(forms.Inert("the watchdog has no timeout, and is off").Failing("WD-01"))
	}
	return without
}

func (u *unused) action() forms.Claim {
	c := u.globalWatchdog()
	switch {
	case c.Fate == render.Inert:
		return c
	case u.a.globals.override:
		return alreadyDrops
	case u.h.Text != keyAction+" errdisable":
		return forms.Inert("every port has an action of its own")
	}
	return without
}

func (u *unused) override() forms.Claim {
	c := u.globalWatchdog()
	if c.Fate != render.Inert && u.a.globals.action == qos.ActionDrop {
		return alreadyDrops
	}
	return c
}

var alreadyDrops = forms.Inert("the action is drop without it")
