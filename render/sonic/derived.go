package sonic

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// derives reports whether buffermgrd derives an attribute, so that no row of this tool sets it.
func (p *planner) derives(field qos.Attr) bool {
	return !p.desired.Platform.DynamicBuffers && field.Kind.Of() == qos.OfGroup && field.Kind != qos.KindGroupBuffer
}

// lacksHeadroom reports whether a change concerns a desired lossless group that buffermgrd has not
// created yet, or that it derived for another speed or cable length.
func (p *planner) lacksHeadroom(c qos.Change) bool {
	port, kind := p.desired.Ports[c.Port], c.Field.Kind
	return port != nil && p.derives(c.Field) && (kind == qos.KindLossless || kind == qos.KindDerivedFrom) && port.Groups[c.Field.Index].Lossless.V
}

// needsHeadroom reports whether a port should have lossless groups, which buffermgrd derives.
func (p *planner) needsHeadroom(port string) bool {
	want := p.desired.Ports[port]
	return want != nil && !p.desired.Platform.DynamicBuffers && slices.ContainsFunc(want.Groups[:], func(g qos.Group) bool { return g.Lossless.V })
}

// blockUnderived blocks changes to lossless groups that the switch cannot create, and to cable
// lengths for which it has no headroom. No write, and no number of port flaps, would bring them
// about.
func (p *planner) blockUnderived() {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Blocked == "" && (p.lacksHeadroom(*c) || c.Field.Kind == qos.KindCable && p.needsHeadroom(c.Port)) {
			_, c.Blocked = p.headroom(c.Port)
		}
	}
}

// headroom reports whether the switch is known to derive headroom for the lossless groups of a
// port; if it cannot, why says so, followed by "; " and a hint. If neither is known, it returns
// false and "".
func (p *planner) headroom(port string) (known bool, why string) {
	return p.running.derivable(port, p.cableOf(port), p.Headroom, p.HeadroomOf)
}

// derivable reports whether the switch derives headroom for the lossless groups of a port with a
// cable, as [planner.headroom] does. rows are the rows of its table, of names the table. buffermgrd
// makes a profile for the speed and cable length of the port from a row of its table and the pool
// (sonic-swss cfgmgr/buffermgr.cpp, doSpeedUpdateTask).
func (c Config) derivable(port, cable string, rows []qos.HeadroomRow, of string) (known bool, why string) {
	speed := c.Row(TPort, port)["speed"]
	switch {
	case bufferModel(c) == "dynamic":
		return false, ""
	case cable == "":
		return false, "the switch derives the headroom of lossless groups from speed and cable length, and has no length for this port; state cable in the intent"
	case cable == "0m":
		return false, "the switch makes no headroom for a cable of 0m; state its length in the intent"
	case c.Row(TProfile, derivedPrefix+speed+"_"+cable+"_profile") != nil:
		return true, ""
	case c.Row(TPool, catalog.IngressPool) == nil:
		return false, fmt.Sprintf("the switch has no %s|%s, which gives lossless groups their headroom; restore the platform's buffer template with 'config qos reload', then plan again", TPool, catalog.IngressPool)
	case len(rows) == 0:
		return false, ""
	}
	var lengths []units.Length
	for _, r := range rows {
		if strconv.FormatInt(r.Speed.Mbps(), 10) != speed {
			continue
		}
		if r.Cable.String() == cable {
			return true, ""
		}
		lengths = append(lengths, r.Cable)
	}
	return false, fmt.Sprintf("%s has no row for %s Mb/s over %s, so the switch gives lossless groups no headroom; %s", of, speed, cable, otherLength(lengths))
}

// otherLength suggests the cable lengths for which there are rows.
func otherLength(lengths []units.Length) string {
	if len(lengths) == 0 {
		return "use another speed, or add a row on the switch"
	}
	return fmt.Sprintf("state a cable that it has: %v", lengths)
}

// cableOf returns the cable length of a port after the plan.
func (p *planner) cableOf(port string) string {
	if length := p.target.Row(TCable, cableName)[port]; length != "" && length != Absent {
		return length
	}
	return p.running.cable(port)
}

// cable returns the cable length of a port, "" if there is none.
func (c Config) cable(port string) string {
	for _, row := range c[TCable] {
		if length := row[port]; length != "" && length != noCable {
			return length
		}
	}
	return ""
}
