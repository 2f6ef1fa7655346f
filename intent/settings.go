package intent

import (
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Defaults of settings that no file states.
const (
	DefaultMTUFabric = 9100 // bytes of an IP packet; also SONiC's port default
	DefaultMTUHost   = 9000
	defaultMTURDMA   = 4096
	DefaultDetect    = 400 * time.Millisecond
	DefaultRestore   = 400 * time.Millisecond
	DefaultPoll      = 200 * time.Millisecond
	// DefaultECNProbability is the marking probability at max in SONiC's default profile
	// AZURE_LOSSLESS (sonic-buildimage qos_config.j2).
	DefaultECNProbability = units.Percent(5)
	// DefaultMinLosslessPacket is the lossless packet size in SONiC's default traffic pattern
	// (LOSSLESS_TRAFFIC_PATTERN mtu, sonic-buildimage buffers_config.j2).
	DefaultMinLosslessPacket = units.Bytes(1024)
	defaultPortGroup         = 4
)

// RDMAOverhead is the maximum size in bytes of the headers around an RDMA payload in an IP
// packet: IPv6 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4. Linux subtracts the same sum to
// choose the path MTU (include/rdma/ib_addr.h, iboe_get_mtu).
const RDMAOverhead = 96

var byDefault = Origin{Rule: "default"}

// from converts an option to a Value, with a default if it is not set.
func from[T any](o opt[T], def T) Value[T] {
	if !o.Set {
		return Value[T]{V: def, From: byDefault}
	}
	return Value[T]{V: o.V, From: Origin{Pos: o.Pos}}
}

// fromOptional is like from for settings without a default; V is nil if the option is not set.
func fromOptional[T any](o opt[T]) Value[*T] {
	if !o.Set {
		return Value[*T]{From: byDefault}
	}
	return Value[*T]{V: &o.V, From: Origin{Pos: o.Pos}}
}

// wordOr is like from for a word with its own string type.
func wordOr[T ~string](o opt[string], def T) Value[T] {
	return from(opt[T]{V: T(o.V), Pos: o.Pos, Set: o.Set}, def)
}

// isWord is like fromOptional for a choice of two words: V points to whether the word is yes.
func isWord(o opt[string], yes string) Value[*bool] {
	return fromOptional(opt[bool]{V: o.V == yes, Pos: o.Pos, Set: o.Set})
}

// finish fills in the defaults of a layer and checks that its values are consistent.
func (r *resolver) finish(l *layer) *Settings {
	s := &Settings{
		PFCAsymmetric: from(l.pfc.Asymmetric, false),
		LinkPause:     wordOr(l.pfc.LinkPause, LinkPauseOff),
		Trust:         wordOr(l.trust, qos.TrustDSCP),
		Classes:       make([]*Class, 0, len(l.tuning)),
	}
	for i := range l.tuning {
		c := r.classes[i] // copies the fabric-wide part
		r.tune(&c, &l.tuning[i])
		c.Alpha = Value[*int]{From: byDefault}
		if alpha := l.buffers.Alpha; c.Lossless.V {
			over(&alpha, l.tuning[i].Alpha)
			c.Alpha = fromOptional(alpha)
		}
		s.Classes = append(s.Classes, &c)
	}
	r.shareBandwidth(s)
	r.checkQueues(s)
	ordered.Sort(s.Classes, func(a, b *Class) int { return a.Priority.V - b.Priority.V })
	s.Watchdog = r.watchdog(l, s)
	s.MTU = r.mtu(&l.mtu)
	s.Buffers = r.buffers(&l.buffers)
	s.Keep = Keep{from(l.keep.Bandwidth, false), from(l.keep.Buffers, false), from(l.keep.Queues, false), from(l.keep.Watchdog, false), from(l.keep.CodePoints, false)}
	return s
}

func (r *resolver) tune(c *Class, t *tuning) {
	c.Queue = from(t.Queue, c.Priority.V)
	r.hostDSCP(c, t.HostDSCP)
	c.Lossless, c.Mode = from(t.lossless(), false), from(t.Mode, "")
	c.Strict = from(t.Strict, false)
	c.Bandwidth = from(t.Bandwidth, 0)
	if c.Strict.V {
		c.Bandwidth = Value[units.Percent]{From: byDefault}
	} else if t.Bandwidth.Set && t.Bandwidth.V == 0 {
		r.problems.addf(t.Bandwidth.Pos, "", "bandwidth: 0%% would starve the class")
	}
	r.whole("bandwidth", t.Bandwidth)
	c.MaxRate = from(t.MaxRate, 0)
	if t.MaxRate.Set && t.MaxRate.V == 0 {
		r.problems.addf(t.MaxRate.Pos, "", "maxRate: 0 would stop the class")
	}
	c.ECN = r.ecn(c, &t.curve)
}

// hostDSCP sets the DSCP with which hosts mark a class.
func (r *resolver) hostDSCP(c *Class, o opt[int]) {
	lowest := -1
	if len(c.DSCP.V) > 0 {
		lowest = c.DSCP.V[0]
	}
	c.HostDSCP = from(o, lowest)
	if o.Set && !slices.Contains(c.DSCP.V, o.V) {
		has := "has none"
		if lowest >= 0 {
			has = "has " + strings.ReplaceAll(qos.FoldInts(c.DSCP.V), ",", ", ")
		}
		r.problems.addf(o.Pos, "add it to dscp of the class, so that all switches have it in the class", "hostDSCP %d is no DSCP of class %q, which %s", o.V, c.Name, has)
	}
}

// whole reports a percentage that is not a whole number.
func (r *resolver) whole(key string, p opt[units.Percent]) {
	if p.Set && float64(p.V) != float64(int(p.V)) {
		r.problems.addf(p.Pos, "switches accept only whole percent", "%s: %s is not a whole percentage", key, p.V)
	}
}

// shareBandwidth divides the remaining bandwidth equally among the weighted classes without a
// stated share.
func (r *resolver) shareBandwidth(s *Settings) {
	var open []*Class
	var sum units.Percent
	var names []string
	var last Pos
	for _, c := range s.Classes {
		switch {
		case c.Strict.V:
		case c.Bandwidth.IsDefault():
			open = append(open, c)
		default:
			sum += c.Bandwidth.V
			names = append(names, c.Name)
			last = r.later(last, c.Bandwidth.From.Pos)
		}
	}
	const rounding = 1e-6 // tolerance for decimal fractions
	if sum > 100+rounding {
		r.problems.addf(last, "", "the bandwidths of %s add up to %s, more than 100%%", listed(names, "and"), sum)
		return
	}
	if len(open) == 0 {
		return
	}
	left := (100 - sum) / units.Percent(len(open))
	if left < rounding {
		r.problems.addf(open[0].Pos, "state smaller shares, or make the class strict", "no bandwidth is left for class %q after %s", open[0].Name, listed(names, "and"))
		return
	}
	for _, c := range open {
		c.Bandwidth = Value[units.Percent]{V: left, From: Origin{Rule: "equal part of what other classes leave"}}
	}
}

func (r *resolver) checkQueues(s *Settings) {
	var owner [qos.NumPriorities]*Class
	for _, c := range s.Classes {
		o := owner[c.Queue.V]
		owner[c.Queue.V] = c
		if o == nil || o.Priority.V == c.Priority.V { // report only one of the two
			continue
		}
		at := func(c *Class) Pos {
			if c.Queue.IsDefault() {
				return c.Priority.From.Pos
			}
			return c.Queue.From.Pos
		}
		first, second := o, c
		if c.Queue.IsDefault() && !o.Queue.IsDefault() {
			first, second = c, o
		}
		r.problems.addf(at(second), "", "class %q has queue %d, already used by class %q at %s", second.Name, c.Queue.V, first.Name, at(first))
	}
}

func (r *resolver) watchdog(l *layer, s *Settings) Watchdog {
	w := Watchdog{
		Enabled: from(l.enabled, s.Lossless() != 0),
		Detect:  from(l.watchdog.Detect, DefaultDetect),
		Restore: from(l.watchdog.Restore, DefaultRestore),
		Action:  wordOr(l.watchdog.Action, qos.ActionDrop),
	}
	w.Poll = from(l.watchdog.Poll, min(DefaultPoll, w.Detect.V, w.Restore.V))
	for _, v := range []struct {
		key string
		v   Value[time.Duration]
	}{{"detect", w.Detect}, {"restore", w.Restore}, {"poll", w.Poll}} {
		switch {
		case v.v.IsDefault():
		case v.v.V <= 0:
			r.problems.addf(v.v.From.Pos, "", "%s must be above 0", v.key)
		case v.v.V%time.Millisecond != 0:
			r.problems.addf(v.v.From.Pos, "", "%s: %s is not a whole number of milliseconds", v.key, v.v.V)
		case v.key != "poll" && !w.Poll.IsDefault() && v.v.V < w.Poll.V:
			r.problems.addf(v.v.From.Pos, "", "%s %s is below poll %s", v.key, v.v.V, w.Poll.V)
		}
	}
	if !w.Poll.IsDefault() && w.Poll.V > DefaultDetect && (w.Detect.IsDefault() || w.Restore.IsDefault()) {
		r.problems.addf(w.Poll.From.Pos, "state detect and restore, too", "poll %s is above the default of detect and restore, %s", w.Poll.V, DefaultDetect)
	}
	return w
}

func (r *resolver) mtu(l *rawMTU) MTU {
	m := MTU{Fabric: from(l.Fabric, DefaultMTUFabric), Host: from(l.Host, DefaultMTUHost), RDMA: from(l.RDMA, defaultMTURDMA)}
	if m.Host.V > m.Fabric.V {
		r.problems.addf(r.later(l.Fabric.Pos, l.Host.Pos), "", "host MTU %d is above fabric MTU %d", m.Host.V, m.Fabric.V)
	}
	if m.RDMA.V+RDMAOverhead > m.Host.V {
		r.problems.addf(r.later(l.RDMA.Pos, l.Host.Pos), "", "an RDMA payload of %d bytes and %d of headers do not fit a host MTU of %d", m.RDMA.V, RDMAOverhead, m.Host.V)
	}
	return m
}

func (r *resolver) buffers(l *rawBuffers) Buffers {
	b := Buffers{
		Alpha:             fromOptional(l.Alpha),
		MinLosslessPacket: from(l.MinLosslessPacket, DefaultMinLosslessPacket),
		OverSubscription:  from(l.OverSubscription, 0),
		FanIn:             from(l.FanIn, 0),
		FanOut:            from(l.FanOut, 0),
		PauseResponse:     from(l.PauseResponse, Response{}),
		Headroom:          from(l.Headroom, HeadroomIEEE),
	}
	if v := b.MinLosslessPacket; v.V < 64 || v.V > 9216 {
		r.problems.addf(v.From.Pos, "", "minLosslessPacket must be 64B to 9216B, not %s", v.V)
	}
	return b
}

// later returns the position that comes later in the files; of two conflicting values, the later
// one is reported.
func (r *resolver) later(a, b Pos) Pos {
	if a.Line == 0 || b.Line > 0 && r.problems.compare(a, b) <= 0 {
		return b
	}
	return a
}
