package derive

import (
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// speeds holds the curves of a class by the speed of the port.
type speeds map[units.Rate]curve

func (s *speeds) node(override bool) *node {
	n := mapping()
	for _, speed := range slices.Sorted(maps.Keys(*s)) {
		n.put(speed.String(), (*s)[speed].node(override))
	}
	return mapping().put("bySpeed", n)
}

// foldSpeeds offers curves by speed to the ports that have the most common curve of their speed. f has
// the speeds.
func (d *deriver) foldSpeeds(f *intent.Fabric) {
	for _, c := range d.classes {
		i := c.priority
		s := d.speedsOf(f, i)
		if s == nil {
			continue
		}
		for _, b := range d.switches {
			for _, p := range f.Switch(b.Name).Ports {
				if q := b.ports[p.Name]; q.own[i].on && q.own[i] == (*s)[p.Speed.V] {
					q.want.curve[i] = append(q.want.curve[i], curve{on: true, bySpeed: s})
				}
			}
		}
	}
}

// speedsOf returns the most common curve of a priority on the ports of each speed; nil if a speed has
// none, because every port that states no other curve needs one, or if they do not differ.
func (d *deriver) speedsOf(f *intent.Fabric, priority int) *speeds {
	count := map[units.Rate]*ordered.Map[curve, int]{}
	for _, b := range d.switches {
		for _, p := range f.Switch(b.Name).Ports {
			if count[p.Speed.V] == nil {
				count[p.Speed.V] = &ordered.Map[curve, int]{}
			}
			if q := b.ports[p.Name]; q == nil {
				return nil
			} else if k := q.own[priority]; k.on && !k.auto && !k.keep {
				*count[p.Speed.V].At(k)++
			}
		}
	}
	out, differ := speeds{}, map[curve]bool{}
	for speed, curves := range count {
		k := most(curves)
		if k == nil || speed == 0 {
			return nil
		}
		out[speed], differ[*k] = *k, true
	}
	if len(differ) < 2 {
		return nil
	}
	return &out
}
