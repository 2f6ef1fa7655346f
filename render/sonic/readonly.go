package sonic

import (
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// readOnly are the fields that this tool never writes on SONiC, and what to do
// instead.
var readOnly = map[qos.Kind]string{
	qos.KindPort:  "the switch has no such port: correct the name in the intent, or break the port out on the switch first",
	qos.KindSpeed: "this tool does not change the speed of a port: set it with 'config interface speed' or a breakout on the switch, or correct the link in the intent",
	qos.KindLAG:   "this tool does not change port channels: set it with 'config portchannel member' on the switch, or correct the port in the intent",
}

// blockReadOnly marks the changes that this tool never makes, and those that
// no switch of the release takes, and takes them out of the target: one bad
// value would have the whole request refused.
func (p *planner) blockReadOnly() {
	blocked := map[qos.Place]string{}
	for _, r := range Refusals(p.desired, p.Release) {
		blocked[r.Place] = r.Why + "; change the value in the intent"
	}
	for _, c := range p.changes {
		if why, ok := readOnly[c.Field.Kind]; ok {
			blocked[c.Place()] = why
		}
	}
	if len(blocked) == 0 {
		return
	}
	p.target = Target(p.desired.Keeping(nil, slices.Collect(maps.Keys(blocked))))
	for i := range p.changes {
		c := &p.changes[i]
		c.Blocked = blocked[c.Place()]
	}
}
