package sonic

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// restartWatchdogs makes ops remove and add the watchdog row of a port whose
// action or queues they change: the daemon ignores such a change of a row that
// it already has (sonic-swss:orchagent/pfcwdorch.cpp; sonic-swss issue 842).
func restartWatchdogs(ops []Op, running Config) []Op {
	touched := map[string]bool{} // ports
	for _, o := range ops {
		if o.Table == TWatchdog || o.Table == TPortQoS {
			touched[o.Key] = true
		}
	}
	then := running.After(ops)
	restart := map[string]bool{}
	queues := func(c Config, port string) string {
		v, ok := c.Row(TPortQoS, port)["pfcwd_sw_enable"]
		return effective(TPortQoS, "pfcwd_sw_enable", v, ok)
	}
	for port := range touched {
		have, want := running.Row(TWatchdog, port), then.Row(TWatchdog, port)
		if port != "GLOBAL" && have != nil && want != nil && (have["action"] != want["action"] || queues(running, port) != queues(then, port)) {
			restart[port] = true
		}
	}
	out := slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.Table == TWatchdog && restart[o.Key] })
	for _, port := range natural.Keys(restart) {
		out = append(out,
			Op{Table: TWatchdog, Key: port, Del: true},
			Op{Table: TWatchdog, Key: port, Row: then.Row(TWatchdog, port)})
	}
	return out
}
