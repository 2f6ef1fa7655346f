package intent

import (
	"reflect"
	"slices"
)

// layer holds the settings that the files state for a fabric, role, device or port, merged with
// all outer layers. Defaults are not filled in yet, because they depend on values that an inner
// layer may still change.
type layer struct {
	tuning   []tuning // in the order of resolver.classes
	trust    opt[string]
	pfc      rawPFC // without the watchdog
	enabled  opt[bool]
	watchdog rawWatchdog
	mtu      rawMTU
	buffers  rawBuffers
	keep     rawKeep
	settings *Settings // this layer with defaults filled in
}

type tuning struct {
	rawTuning // without ECN
	curve     curve
}

// over replaces dst with src if src is set.
func over[T any](dst *opt[T], src opt[T]) {
	if src.Set {
		*dst = src
	}
}

func (o *opt[T]) over(src any) { over(o, *src.(*opt[T])) }

// overlay replaces each scalar of dst that src states; a nil src changes nothing.
func overlay[T any](dst, src *T) {
	if src == nil {
		return
	}
	overlayFields(reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem())
}

func overlayFields(dst, src reflect.Value) {
	for i := range src.NumField() {
		d, s := dst.Field(i), src.Field(i)
		if src.Type().Field(i).Anonymous {
			overlayFields(d, s)
		} else if o, ok := d.Addr().Interface().(interface{ over(any) }); ok {
			o.over(s.Addr().Interface())
		}
	}
}

func stated[T any](v T, pos Pos) opt[T] { return opt[T]{V: v, Pos: pos, Stated: true, Set: true} }

func (l *layer) applyCommon(c *rawCommon) {
	over(&l.trust, c.Trust)
	if c.PFC != nil {
		overlay(&l.pfc, c.PFC)
		if w := &c.PFC.Watchdog; w.Stated {
			l.enabled = stated(w.Word == "", w.Pos)
			overlay(&l.watchdog, &w.Body)
		}
	}
	overlay(&l.mtu, c.MTU)
	overlay(&l.buffers, c.Buffers)
	overlay(&l.keep, c.Keep)
}

func (t *tuning) apply(raw *rawTuning, r *resolver) {
	switch {
	case raw.Lossless.Set && raw.Mode.Set:
		r.problems.addf(raw.Mode.Pos, "remove one of the two", "mode and lossless say the same thing")
	case raw.Lossless.Set: // the inner layer's key replaces the outer layer's
		t.Mode = opt[string]{}
	case raw.Mode.Set:
		t.Lossless = opt[bool]{}
	}
	overlay(&t.rawTuning, raw)
	t.curve.apply(&raw.ECN, r)
	if raw.Alpha.Set && !t.lossless().V {
		r.problems.addf(raw.Alpha.Pos, "state it where the class is lossless", "alpha is that of a lossless group, and the class is lossy")
	}
	if raw.Strict.Set && raw.Strict.V && raw.Bandwidth.Set {
		r.problems.addf(raw.Bandwidth.Pos, "remove bandwidth or strict; maxRate limits a strict class", "a strict class has no share of the bandwidth")
	}
}

// lossless returns whether PFC is on, as stated by lossless or mode.
func (t *tuning) lossless() opt[bool] {
	if t.Mode.Set {
		return stated(t.Mode.V == ModeLossless, t.Mode.Pos)
	}
	return t.Lossless
}

func (r *resolver) derive(base *layer, classes *rawMap[rawOverride], common *rawCommon) *layer {
	if len(classes.Entries) == 0 && *common == (rawCommon{}) {
		return base
	}
	l := *base
	l.tuning = slices.Clone(base.tuning)
	for _, e := range classes.Entries {
		i, ok := r.classIndex[e.Key]
		if !ok {
			r.problems.addf(e.Pos, didYouMean(e.Key, r.classNames()), "no class %q in the fabric", e.Key)
			continue
		}
		l.tuning[i].apply(&e.V.rawTuning, r)
	}
	if k := common.Keep; k != nil && k.CodePoints.Set {
		r.problems.addf(k.CodePoints.Pos, "state it at the top level", "the classes have the same code points in the whole fabric: codePoints is no setting of a part of it")
	}
	l.applyCommon(common)
	r.settle(&l)
	return &l
}

// settle fills in the defaults of a layer.
func (r *resolver) settle(l *layer) {
	l.settings = r.finish(l)
	r.layers[l.settings] = l
}

// plainKey is a use of withoutRDMA.
type plainKey struct {
	settings *Settings
	pos      Pos
}

// withoutRDMA returns the settings without classes for RDMA, for the port of a NIC that sends none, as
// stated at pos.
func (r *resolver) withoutRDMA(s *Settings, pos Pos) *Settings {
	from := r.layers[s]
	if from == nil || !slices.ContainsFunc(s.Classes, (*Class).RDMA) {
		return s
	}
	at := plainKey{s, pos}
	if r.plain[at] == nil {
		l := *from
		l.tuning = slices.Clone(from.tuning)
		for i := range l.tuning {
			if t := &l.tuning[i]; t.lossless().V || t.Mode.Set {
				t.Lossless, t.Mode = stated(false, pos), opt[string]{}
			}
		}
		r.plain[at] = r.finish(&l)
	}
	return r.plain[at]
}
