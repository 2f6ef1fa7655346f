package intent

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// ECN is the marking curve of a class as the operator wrote it.
type ECN struct {
	Mode        Value[ECNMode]
	Min, Max    Value[qos.Threshold] // only for ECNFixed
	Probability Value[units.Percent] // at Max, whole percent; also for ECNAuto
	// BySpeed holds the curves of ports of certain speeds, by ascending speed, which replace this
	// one; see [ECN.At]. The settings of a port have none.
	BySpeed []SpeedECN
}

// ECNMode says where the ECN thresholds of a class come from.
type ECNMode int

// The ECN modes.
const (
	ECNOff   ECNMode = iota
	ECNFixed         // min and max are stated
	ECNAuto          // computed from speed and buffer
	ECNKeep          // the switch keeps its own curve, which is not compared
)

// SpeedECN is the marking curve of a class on ports of one speed.
type SpeedECN struct {
	Speed units.Rate
	ECN
}

// At returns the curve on ports of a speed.
func (e ECN) At(speed units.Rate) ECN {
	for _, s := range e.BySpeed {
		if s.Speed == speed {
			return s.ECN
		}
	}
	e.BySpeed = nil
	return e
}

// curve is the marking curve of a class as the layers state it.
type curve struct {
	mode        opt[ECNMode] // if not set, follows from lossless
	min, max    opt[qos.Threshold]
	probability opt[units.Percent]
	bySpeed     []speedCurve // by ascending speed; copied before a change, because layers share it
	pos         Pos          // position of the last ecn block
}

// speedCurve is the curve of the ports of one speed.
type speedCurve struct {
	speed       units.Rate
	pos         Pos
	min, max    opt[qos.Threshold]
	probability opt[units.Percent] // if not set, that of the curve
}

// at returns the curve for a speed, or nil if none is stated for it.
func (c *curve) at(speed units.Rate) *speedCurve {
	if i := slices.IndexFunc(c.bySpeed, func(s speedCurve) bool { return s.speed == speed }); i >= 0 {
		return &c.bySpeed[i]
	}
	return nil
}

// ecnWords holds the YAML words of the modes; [ECNFixed] is written as thresholds instead.
var ecnWords = [...]string{ECNOff: "off", ECNAuto: "auto", ECNKeep: "keep"}

// apply merges an ecn block over the outer one: a word or auto replaces the mode, min and max
// select [ECNFixed], and a probability alone keeps the mode. Each of them holds for all speeds, and
// so replaces what the outer block states for single ones.
func (c *curve) apply(raw *orWord[rawECN], r *resolver) {
	if !raw.Set {
		return
	}
	c.pos = raw.Pos
	if raw.Word != "" {
		*c = curve{mode: stated(ECNMode(slices.Index(ecnWords[:], raw.Word)), raw.Pos), pos: raw.Pos}
		return
	}
	b := &raw.Body
	fixed, speeds := b.Min.Set || b.Max.Set, len(b.BySpeed.Entries) > 0
	switch {
	case b.Auto.V:
		if fixed {
			r.problems.addf(raw.Pos, "", "ecn has both auto and min or max")
		}
		*c = curve{mode: stated(ECNAuto, b.Auto.Pos), probability: c.probability, pos: raw.Pos}
	case fixed:
		if c.mode.V != ECNFixed {
			c.min, c.max = opt[qos.Threshold]{}, opt[qos.Threshold]{}
		}
		c.mode, c.bySpeed = stated(ECNFixed, raw.Pos), nil
		over(&c.min, b.Min)
		over(&c.max, b.Max)
	case b.Auto.Set:
		r.problems.addf(b.Auto.Pos, "add min and max, or write ecn: off", "auto: false leaves the curve without min and max")
	case !b.Probability.Set && !speeds:
		r.problems.addf(raw.Pos, "write auto, off, keep, or {min: 150KB, max: 1500KB, probability: 5%}", "ecn states nothing")
	case !speeds && c.mode.Set && (c.mode.V == ECNOff || c.mode.V == ECNKeep):
		r.problems.addf(raw.Pos, "add min and max, or auto: true", "ecn states a probability for a class whose ecn is %s", ecnWords[c.mode.V])
	}
	over(&c.probability, b.Probability)
	c.applySpeeds(b, r)
}

// applySpeeds adds the curves of an ecn block for single speeds, and replaces those of the outer block
// for the same speeds. A probability for all speeds replaces those of the outer block.
func (c *curve) applySpeeds(b *rawECN, r *resolver) {
	c.bySpeed = slices.Clone(c.bySpeed)
	for i := range c.bySpeed {
		if b.Probability.Set {
			c.bySpeed[i].probability = opt[units.Percent]{}
		}
	}
	stated := map[units.Rate]Pos{}
	for _, e := range b.BySpeed.Entries {
		speed, err := units.ParseRate(e.Key)
		r.checkSpeed(opt[units.Rate]{V: speed, Pos: e.Pos, Set: err == nil})
		if first, twice := stated[speed]; twice {
			r.problems.addf(e.Pos, "", "%s is the same speed as at %s", e.Key, first)
		}
		stated[speed] = e.Pos
		r.checkCurve(e.V.Min, e.V.Max)
		r.whole("probability", e.V.Probability)
		s := speedCurve{speed, e.Pos, e.V.Min, e.V.Max, e.V.Probability}
		if old := c.at(speed); old != nil {
			*old = s
		} else {
			c.bySpeed = append(c.bySpeed, s)
		}
		if r.atSpeed == nil {
			r.atSpeed = map[speedKey]*Settings{}
		}
	}
	slices.SortFunc(c.bySpeed, func(a, b speedCurve) int { return cmp.Compare(a.speed, b.speed) })
}

// checkCurve checks the ends of a curve that are both stated.
func (r *resolver) checkCurve(lower, upper opt[qos.Threshold]) {
	switch {
	case lower.V.N == 0:
		r.problems.addf(lower.Pos, "", "min: 0 would mark every packet")
	case lower.V.Above(upper.V):
		r.problems.addf(lower.Pos, "", "min %s is above max %s", lower.V, upper.V)
	}
}

// ecn returns the marking of a class.
func (r *resolver) ecn(c *Class, k *curve) ECN {
	mode := ECNOff
	switch {
	case len(k.bySpeed) > 0: // a port of another speed is reported
		mode = ECNFixed
	case c.RDMA():
		mode = ECNAuto
	}
	e := ECN{Mode: from(k.mode, mode), Min: from(k.min, qos.Threshold{}), Max: from(k.max, qos.Threshold{}), Probability: from(k.probability, DefaultECNProbability)}
	for _, s := range k.bySpeed {
		probability := k.probability
		over(&probability, s.probability)
		e.BySpeed = append(e.BySpeed, SpeedECN{s.speed, ECN{
			Mode: Value[ECNMode]{V: ECNFixed, From: Origin{Pos: s.pos}},
			Min:  from(s.min, qos.Threshold{}), Max: from(s.max, qos.Threshold{}), Probability: from(probability, DefaultECNProbability),
		}})
	}
	r.whole("probability", k.probability)
	switch {
	case e.Mode.V == ECNOff:
		if !k.mode.Set && k.probability.Set {
			r.problems.addf(k.pos, "add min and max, or auto: true", "ecn states a probability, but neither min and max nor auto")
		}
		e.Probability = Value[units.Percent]{From: byDefault}
	case e.Mode.V == ECNKeep:
		e.Probability = Value[units.Percent]{From: byDefault}
	case !k.mode.Set && mode == ECNFixed:
		e.Mode.From = Origin{Pos: k.pos}
	case e.Mode.V != ECNFixed:
	case !k.min.Set:
		r.problems.addf(k.pos, "", "ecn has max but no min")
	case !k.max.Set:
		r.problems.addf(k.pos, "", "ecn has min but no max")
	default:
		r.checkCurve(k.min, k.max)
	}
	return e
}

// speedKey identifies the settings of ports of one speed.
type speedKey struct {
	settings *Settings
	speed    units.Rate
}

// applySpeed gives a port the curves of its speed. Ports that are alike share the result.
func (r *resolver) applySpeed(p *Port) {
	if r.atSpeed == nil || !slices.ContainsFunc(p.Settings.Classes, func(k *Class) bool { return k.ECN.BySpeed != nil }) {
		return
	}
	at := speedKey{p.Settings, p.Speed.V}
	if r.atSpeed[at] == nil {
		s := *p.Settings
		s.Classes = slices.Clone(s.Classes)
		for i := range s.Classes {
			k := *s.Classes[i]
			r.checkSpeedOf(p, &k)
			k.ECN = k.ECN.At(p.Speed.V)
			s.Classes[i] = &k
		}
		r.atSpeed[at] = &s
	}
	p.Settings = r.atSpeed[at]
}

// checkSpeedOf reports that a class has no curve at the speed of a port.
func (r *resolver) checkSpeedOf(p *Port, k *Class) {
	speed, e := p.Speed.V, k.ECN.At(p.Speed.V)
	name := Endpoint{p.Switch.Name, p.Name}
	switch {
	case e.Mode.V != ECNFixed || !e.Min.IsDefault():
	case IsSpeed(speed):
		r.problems.addf(e.Mode.From.Pos, "add "+speed.String()+" to bySpeed, or state min and max, or auto: true, beside it for all other speeds",
			"ecn of class %q has no curve for %s, the speed of %s", k.Name, speed, name)
	case speed == 0 && p.Link == nil: // for a link, the missing speed is reported
		r.problems.addf(p.Pos, "state its speed", "%s has no speed, by which class %q has its curve", name, k.Name)
	}
}

// OwnAlpha reports whether a class states its own alpha.
func (s *Settings) OwnAlpha(k *Class) bool {
	return k.Alpha.V != nil && k.Alpha.From != s.Buffers.Alpha.From
}
