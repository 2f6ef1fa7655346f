package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// orient makes end a of a link the switch next to the hosts, and sets speed and cable length.
func (d *deriver) orient(l *link) {
	if x, y := d.byName[l.a.Device], d.byName[l.b.Device]; y != nil {
		if cmp.Or(cmp.Compare(tierOf(x.role), tierOf(y.role)), natural.Compare(x.Name, y.Name)) > 0 {
			l.a, l.b = l.b, l.a
		}
	}
	d.speedOf(l)
	d.cableOf(l)
}

// Values to assume if nothing is known: SONiC's defaults for the cable length to hosts and
// between leaf and spine (sonic-buildimage buffers_config.j2, ports2cable), and a speed, used if
// no link has a known one.
const (
	assumedHostCable   = units.Length(5)
	assumedSwitchCable = units.Length(40)
	assumedSpeed       = units.Rate(400e9)
)

// run returns the switch at an endpoint and the running state of its port; nil for a host.
func (d *deriver) run(e intent.Endpoint) (*box, *qos.Port) {
	if s := d.byName[e.Device]; s != nil {
		return s, s.Running.Ports[e.Port]
	}
	return nil, nil
}

func speedAt(p *qos.Port) units.Rate {
	if p == nil {
		return 0
	}
	if s := p.Speed.Or(0); s > 0 {
		return s
	}
	s, _ := lookedUp(p)
	return s
}

// lookedUp returns the speed and the cable length for which the switch has looked headroom up.
func lookedUp(p *qos.Port) (units.Rate, units.Length) {
	for _, g := range p.Groups {
		if s, c, ok := g.LookedUp(); ok {
			return s, c
		}
	}
	return 0, 0
}

func (d *deriver) speedOf(l *link) {
	if l.speed > 0 {
		return
	}
	_, a := d.run(l.a)
	_, b := d.run(l.b)
	x, y := speedAt(a), speedAt(b)
	switch {
	case x == 0:
		x = y
	case y > 0:
		x = min(x, y)
	}
	x = l.speedWithGuess(x, d)
	if intent.IsSpeed(x) {
		l.speed = x
	}
}

func (d *deriver) cableOf(l *link) {
	if l.cable > 0 {
		return
	}
	type end struct {
		s    *box
		have units.Length
	}
	var ends []end
	for _, e := range []intent.Endpoint{l.a, l.b} {
		s, p := d.run(e)
		if p == nil {
			continue
		}
		have := p.Cable.Or(0)
		if have <= 0 {
			_, have = lookedUp(p)
		}
		if have > 0 && have <= 100_000 {
			ends = append(ends, end{s, have})
		}
	}
	if len(ends) == 0 {
		return
	}
	// A switch that looks headroom up rounds the length up to the next in its table. Take the
	// shorter length if both configured lengths follow from it.
	ordered.Sort(ends, func(x, y end) int { return cmp.Compare(x.have, y.have) })
	l.cable = ends[len(ends)-1].have
	for _, e := range ends {
		if !slices.ContainsFunc(ends, func(o end) bool { return o.s.cableRow(l.speed, e.have) != o.have }) {
			l.cable = e.have
			return
		}
	}
}

// cableRow returns the length that the switch would configure for a cable in an intent.
func (s *box) cableRow(speed units.Rate, cable units.Length) units.Length {
	m, _ := catalog.ModelOf(s.OS, s.Model)
	return render.CableRow(m, s.Running.Platform.DynamicBuffers, speed, cable)
}

// complete fills in assumed values for links without a known speed or cable length.
func (d *deriver) complete() {
	count := map[units.Rate]int{}
	most := units.Rate(0)
	for _, l := range d.links {
		if l.speed > 0 {
			if count[l.speed]++; count[l.speed] > count[most] || count[l.speed] == count[most] && l.speed > most {
				most = l.speed
			}
		}
	}
	type kind struct{ speed, cable string }
	ports := map[kind][]string{}
	for _, l := range d.links {
		var k kind
		if l.speed == 0 {
			l.speed, l.assumed = cmp.Or(most, assumedSpeed), "speed"
			k.speed = "speed " + l.speed.String()
		}
		if l.cable == 0 {
			l.cable = assumedHostCable
			if d.byName[l.b.Device] != nil {
				l.cable = assumedSwitchCable
			}
			k.cable = "cable " + l.cable.String()
			l.assumed = strings.TrimPrefix(l.assumed+" and cable", " and ")
		}
		if k != (kind{}) {
			ports[k] = append(ports[k], l.a.Device+" "+l.a.Port)
		}
	}
	var notes []Note
	for k, at := range ports {
		what := strings.TrimPrefix(strings.TrimSuffix(k.speed+" and "+k.cable, " and "), " and ")
		notes = append(notes, Note{shown(at), fmt.Sprintf("%s of %s: no device reports it", what, words.Count(len(at), "link"))})
	}
	ordered.Sort(notes, func(a, b Note) int { return cmp.Or(natural.Compare(a.Where, b.Where), cmp.Compare(a.What, b.What)) })
	d.assumed = append(d.assumed, notes...)
}

// sameLinks reports whether an intent has exactly the derived links.
func (d *deriver) sameLinks(f *intent.Fabric) bool {
	have := map[link]bool{}
	for _, l := range f.Links {
		have[link{a: l.A, b: l.B, attrs: attrs{cable: l.Cable.V, speed: l.Speed.V}}] = true
	}
	for _, l := range d.links {
		if !have[link{a: l.a, b: l.b, attrs: attrs{cable: l.cable, speed: l.speed}}] {
			return false
		}
	}
	return len(have) == len(d.links)
}
