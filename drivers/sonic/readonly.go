package sonic

import (
	"maps"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// readOnly are the fields that this tool never writes on SONiC, and what to do
// instead.
var readOnly = map[string]string{
	qos.PortField: "the switch has no such port: correct the name in the intent, or break the port out on the switch first",
	"speed":       "this tool does not change the speed of a port: set it with 'config interface speed' or a breakout on the switch, or correct the link in the intent",
	"lag":         "this tool does not change port channels: set it with 'config portchannel member' on the switch, or correct the port in the intent",
}

// blockReadOnly marks the changes that this tool never makes, and those that
// no switch of the release takes, and takes them out of the target: one bad
// value would have the whole request refused.
func (p *planner) blockReadOnly() {
	type value struct{ port, field string }
	blocked := map[value]string{}
	for _, r := range native.Refusals(p.desired, p.rel) {
		blocked[value{r.Port, r.Field}] = r.Why + "; change the value in the intent"
	}
	for _, c := range p.changes {
		if why, ok := readOnly[c.Field]; ok {
			blocked[value{c.Port, c.Field}] = why
		}
	}
	if len(blocked) == 0 {
		return
	}
	reduced := *p.desired
	reduced.Ports = maps.Clone(p.desired.Ports)
	for v := range blocked {
		leaveOut(&reduced, v.port, v.field)
	}
	p.target = native.Target(&reduced)
	for i := range p.changes {
		c := &p.changes[i]
		c.Blocked = blocked[value{c.Port, c.Field}]
	}
}

// leaveOut makes one value of a device unmanaged. The device owns its map of
// ports, not the ports.
func leaveOut(d *qos.Device, port, field string) {
	if port == "" {
		d.WatchdogPoll = qos.Opt[time.Duration]{}
		return
	}
	if field == qos.PortField {
		delete(d.Ports, port)
	}
	if d.Ports[port] == nil {
		return
	}
	p := *d.Ports[port]
	d.Ports[port] = &p
	i, _ := queueOf(field)
	switch {
	case field == "watchdog":
		p.Watchdog = qos.Opt[qos.Watchdog]{}
	case field == "mtu":
		p.MTU = qos.Opt[int]{}
	case field == "speed":
		p.Speed = qos.Opt[units.Rate]{}
	case strings.HasSuffix(field, ".scheduler"):
		p.Queues[i].Scheduler = qos.Opt[qos.Scheduler]{}
	case strings.HasSuffix(field, ".ecn"):
		p.Queues[i].ECN = qos.Opt[qos.ECN]{}
	}
}
