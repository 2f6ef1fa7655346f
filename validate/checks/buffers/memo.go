package buffers

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// bufferMemo keeps the shared buffer of ports, most of which are alike.
type bufferMemo struct {
	sharing  map[sharingKey]render.Sharing
	plain    map[sharingKey]render.Sharing
	pressure map[pressureKey]pressure
	curve    map[sharingKey]qos.ECN
	usual    map[string]qos.Pool
}

// sharingKey holds everything about a port that the shared buffer of a class depends on.
type sharingKey struct {
	settings *intent.Settings
	class    *intent.Class
	speed    units.Rate
	cabled   bool
	uplink   bool
	// group, speeds and cable are the running values of the port; unset for the intent.
	group  qos.Group
	speeds qos.Opt[units.Rate]
	cable  qos.Opt[units.Length]
}

// keyOf returns the key for a class on a port.
func keyOf(r *checks.Switch, p *intent.Port, k *intent.Class) sharingKey {
	key := plainKey(p, k)
	if q := r.Config.Ports[p.Name]; q != nil && r.Source != checks.Intended {
		key.group, key.speeds, key.cable = q.Groups[k.Priority.V], q.Speed, q.Cable
	}
	return key
}

func plainKey(p *intent.Port, k *intent.Class) sharingKey {
	return sharingKey{settings: p.Settings, class: k, speed: p.Speed.V, cabled: p.Cable.V != 0, uplink: p.Uplink()}
}

// sharingOf returns [render.Memory.Sharing] of the checked configuration, plainSharing that of
// the intent and the catalogue.
func sharingOf(r *checks.Switch, p *intent.Port, k *intent.Class) render.Sharing {
	return checks.Cached(&checks.Kept[bufferMemo](&r.Memo).sharing, keyOf(r, p, k), func() render.Sharing { return r.Memory.Sharing(p, k) })
}

func plainSharing(r *checks.Switch, p *intent.Port, k *intent.Class) render.Sharing {
	return checks.Cached(&checks.Kept[bufferMemo](&r.Memo).plain, plainKey(p, k), func() render.Sharing { return r.Device.Memory(nil).Sharing(p, k) })
}

// curveOf returns the curve of a class in bytes: the queue's, or the intent's if the switch
// does not show one. It returns a curve that is off if the unit's size is not known.
func curveOf(r *checks.Switch, p *intent.Port, k *intent.Class) qos.ECN {
	if q := r.Config.Ports[p.Name]; q != nil && r.Source != checks.Intended && q.Queues[k.Queue.V].ECN.Set {
		return inBytes(q.Queues[k.Queue.V].ECN.V)
	}
	return checks.Cached(&checks.Kept[bufferMemo](&r.Memo).curve, plainKey(p, k), func() qos.ECN { return inBytes(render.ECN(p, k, r.Device.Model).Curve) })
}

func inBytes(e qos.ECN) qos.ECN {
	c, ok := headroom.CurveOf(e)
	if !ok {
		return qos.ECN{}
	}
	e.Min, e.Max, e.Unit = c.Min, c.Max, qos.UnitBytes
	return e
}
