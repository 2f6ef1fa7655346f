package sonic

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// restartWatchdogs makes ops remove and add the watchdog row of a port whose
// action or queues they change: the daemon ignores such a change of a row that
// it already has (sonic-swss:orchagent/pfcwdorch.cpp; sonic-swss issue 842).
func restartWatchdogs(ops []op, running native.Config) []op {
	touched := map[string]bool{} // ports
	for _, o := range ops {
		if o.Table == native.TWatchdog || o.Table == native.TPortQoS {
			touched[o.Key] = true
		}
	}
	then := after(running, ops)
	restart := map[string]bool{}
	queues := func(c native.Config, port string) string {
		v, ok := c.Row(native.TPortQoS, port)["pfcwd_sw_enable"]
		return effective(native.TPortQoS, "pfcwd_sw_enable", v, ok)
	}
	for port := range touched {
		have, want := running.Row(native.TWatchdog, port), then.Row(native.TWatchdog, port)
		if port != "GLOBAL" && have != nil && want != nil && (have["action"] != want["action"] || queues(running, port) != queues(then, port)) {
			restart[port] = true
		}
	}
	out := slices.DeleteFunc(slices.Clone(ops), func(o op) bool { return o.Table == native.TWatchdog && restart[o.Key] })
	for _, port := range natural.Keys(restart) {
		out = append(out,
			op{Table: native.TWatchdog, Key: port, Del: true},
			op{Table: native.TWatchdog, Key: port, Row: then.Row(native.TWatchdog, port)})
	}
	return out
}
