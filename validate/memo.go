package validate

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// memo keeps the arithmetic of the ports of one switch: most of them are alike.
type memo struct {
	headroom map[headroomKey]render.PortHeadroom
	sharing  map[sharingKey]render.Sharing
	curve    map[sharingKey]qos.ECN
	lossless map[*intent.Settings]qos.PrioritySet
	moves    map[movesKey]dscpMoves
	lines    map[int][]render.Line
}

// movesKey is a running map, the intended one, and the classes.
type movesKey struct {
	have, want *qos.Maps
	settings   *intent.Settings
}

type headroomKey struct {
	in       headroom.Input
	settings *intent.Settings
}

// sharingKey is what of a port the shared buffer of a class depends on.
type sharingKey struct {
	settings *intent.Settings
	class    *intent.Class
	speed    units.Rate
	uplink   bool
}

func cached[K comparable, V any](m *map[K]V, k K, compute func() V) V {
	if v, ok := (*m)[k]; ok {
		return v
	}
	if *m == nil {
		*m = map[K]V{}
	}
	v := compute()
	(*m)[k] = v
	return v
}

// headroomOf is [render.Device.Headroom].
func (r *deviceRun) headroomOf(p *intent.Port) render.PortHeadroom {
	return cached(&r.memo.headroom, headroomKey{r.d.HeadroomInput(p), p.Settings}, func() render.PortHeadroom { return r.d.Headroom(p) })
}

// sharingOf is [render.SharingOf].
func (r *deviceRun) sharingOf(p *intent.Port, k *intent.Class) render.Sharing {
	return cached(&r.memo.sharing, sharingKey{p.Settings, k, p.Speed.V, p.Uplink()}, func() render.Sharing { return render.SharingOf(p, k, r.d.Model) })
}

// curveOf is the curve that the intent gives a class, in bytes; it is off where the
// switch counts in a unit whose size is not known.
func (r *deviceRun) curveOf(p *intent.Port, k *intent.Class) qos.ECN {
	return cached(&r.memo.curve, sharingKey{p.Settings, k, p.Speed.V, p.Uplink()}, func() qos.ECN {
		e := render.ECN(p, k, r.d.Model).Curve
		c, ok := headroom.CurveOf(e)
		if !ok {
			return qos.ECN{}
		}
		e.Min, e.Max, e.Unit = c.Min, c.Max, qos.UnitBytes
		return e
	})
}

// lossless is [intent.Settings.Lossless].
func (r *deviceRun) lossless(s *intent.Settings) qos.PrioritySet {
	return cached(&r.memo.lossless, s, s.Lossless)
}
