package intent

import (
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// layer holds what the files state for a fabric, role, device or port, all
// outer layers included. Defaults are not filled in yet, so that an inner
// layer can still change what they follow from.
type layer struct {
	tuning     []tuning // in the order of resolver.classes
	trust      opt[string]
	asymmetric opt[bool]
	linkPause  opt[string]
	watchdog   watchdogLayer
	mtu        rawMTU
	buffers    rawBuffers
	settings   *Settings // the layer with defaults
}

type tuning struct {
	queue            opt[int]
	lossless, strict opt[bool]
	bandwidth        opt[units.Percent]
	maxRate          opt[units.Rate]
	curve            curve
}

type curve struct {
	mode        opt[ECNMode] // unset follows from lossless
	min, max    opt[units.Bytes]
	probability opt[units.Percent]
	pos         Pos // of the last ecn block
}

type watchdogLayer struct {
	enabled               opt[bool]
	detect, restore, poll opt[time.Duration]
	action                opt[string]
}

// over lets a stated value replace an outer one.
func over[T any](dst *opt[T], src opt[T]) {
	if src.Set {
		*dst = src
	}
}

func stated[T any](v T, pos Pos) opt[T] { return opt[T]{V: v, Pos: pos, Stated: true, Set: true} }

func (l *layer) applyCommon(c *rawCommon) {
	over(&l.trust, c.Trust)
	if c.PFC != nil {
		over(&l.asymmetric, c.PFC.Asymmetric)
		over(&l.linkPause, c.PFC.LinkPause)
		l.watchdog.apply(&c.PFC.Watchdog)
	}
	if c.MTU != nil {
		over(&l.mtu.Fabric, c.MTU.Fabric)
		over(&l.mtu.Host, c.MTU.Host)
		over(&l.mtu.RDMA, c.MTU.RDMA)
	}
	if c.Buffers != nil {
		over(&l.buffers.Alpha, c.Buffers.Alpha)
		over(&l.buffers.MinLosslessPacket, c.Buffers.MinLosslessPacket)
		over(&l.buffers.OverSubscription, c.Buffers.OverSubscription)
		over(&l.buffers.FanIn, c.Buffers.FanIn)
		over(&l.buffers.FanOut, c.Buffers.FanOut)
		over(&l.buffers.PauseResponse, c.Buffers.PauseResponse)
		over(&l.buffers.Headroom, c.Buffers.Headroom)
	}
}

func (w *watchdogLayer) apply(raw *orWord[rawWatchdog]) {
	if !raw.Stated {
		return
	}
	if raw.Word != "" {
		w.enabled = stated(false, raw.Pos)
		return
	}
	w.enabled = stated(true, raw.Pos)
	over(&w.detect, raw.Body.Detect)
	over(&w.restore, raw.Body.Restore)
	over(&w.poll, raw.Body.Poll)
	over(&w.action, raw.Body.Action)
}

func (t *tuning) apply(raw *rawTuning, p *problems) {
	over(&t.queue, raw.Queue)
	over(&t.lossless, raw.Lossless)
	over(&t.strict, raw.Strict)
	over(&t.bandwidth, raw.Bandwidth)
	over(&t.maxRate, raw.MaxRate)
	t.curve.apply(&raw.ECN, p)
	if raw.Strict.Set && raw.Strict.V && raw.Bandwidth.Set {
		p.addf(raw.Bandwidth.Pos, "take bandwidth or strict away; maxRate limits a strict class", "a strict class has no share of the bandwidth")
	}
}

// apply takes an ecn block over an outer one: a word or auto replaces the
// mode, min and max make it fixed, a probability alone keeps it.
func (c *curve) apply(raw *orWord[rawECN], p *problems) {
	if !raw.Set {
		return
	}
	c.pos = raw.Pos
	switch raw.Word {
	case "off":
		*c = curve{mode: stated(ECNOff, raw.Pos), pos: raw.Pos}
		return
	case "auto":
		*c = curve{mode: stated(ECNAuto, raw.Pos), pos: raw.Pos}
		return
	case "keep":
		*c = curve{mode: stated(ECNKeep, raw.Pos), pos: raw.Pos}
		return
	}
	b := &raw.Body
	fixed := b.Min.Set || b.Max.Set
	switch {
	case b.Auto.V:
		if fixed {
			p.addf(raw.Pos, "", "ecn has both auto and min or max")
		}
		*c = curve{mode: stated(ECNAuto, b.Auto.Pos), probability: c.probability, pos: raw.Pos}
	case fixed:
		if c.mode.V != ECNFixed {
			c.min, c.max = opt[units.Bytes]{}, opt[units.Bytes]{}
		}
		c.mode = stated(ECNFixed, raw.Pos)
		over(&c.min, b.Min)
		over(&c.max, b.Max)
	case !b.Probability.Set:
		p.addf(raw.Pos, "write auto, off, keep, or {min: 150KB, max: 1500KB, probability: 5%}", "ecn states nothing")
	case c.mode.Set && c.mode.V == ECNOff:
		p.addf(raw.Pos, "add min and max, or auto: true", "ecn states a probability for a class whose ecn is off")
	case c.mode.Set && c.mode.V == ECNKeep:
		p.addf(raw.Pos, "add min and max, or auto: true", "ecn states a probability for a class whose ecn is keep")
	}
	over(&c.probability, b.Probability)
}

func (r *resolver) derive(base *layer, classes *rawMap[rawOverride], common *rawCommon) *layer {
	if len(classes.Entries) == 0 && *common == (rawCommon{}) {
		return base
	}
	l := *base
	l.tuning = append([]tuning(nil), base.tuning...)
	for _, e := range classes.Entries {
		i, ok := r.classIndex[e.Key]
		if !ok {
			r.problems.addf(e.Pos, didYouMean(e.Key, r.classNames()), "no class %q in the fabric", e.Key)
			continue
		}
		l.tuning[i].apply(&e.V.rawTuning, r.problems)
	}
	l.applyCommon(common)
	l.settings = r.finish(&l)
	return &l
}
