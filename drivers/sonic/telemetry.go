package sonic

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
)

// subscriptions are the virtual paths of COUNTERS_DB (sonic-gnmi sonic_data_client/virtual_db.go),
// one per port: for a wildcard, the switch answers with aliases.
var subscriptions = telemetry.Source{Encoding: "json_ietf", Streams: func(d *render.Device) []telemetry.Stream {
	ports := telemetry.Ports(d)
	pfc := telemetry.Stream{Name: "pfc", Database: "COUNTERS_DB", Comments: []string{"frames that pause a lossless priority, received and sent"}}
	watchdog := telemetry.Stream{Name: "watchdog", Database: "COUNTERS_DB", Comments: []string{
		"the server finds queues through MAP_PFC_PRIORITY_TO_QUEUE|AZURE and the first PORT_QOS_MAP row: with",
		"another map, or priorities that differ between ports, it counts for the wrong queue"}}
	for _, p := range ports {
		for _, prio := range telemetry.Pauses(d, p) {
			for _, dir := range []string{"RX", "TX"} {
				pfc.Paths = append(pfc.Paths, fmt.Sprintf("COUNTERS/%s/SAI_PORT_STAT_PFC_%d_%s_PKTS", p, prio, dir))
			}
		}
		if telemetry.Watched(d, p) {
			watchdog.Paths = append(watchdog.Paths, "COUNTERS/"+p+"/Pfcwd")
		}
	}
	return []telemetry.Stream{pfc, {
		Name: "queues", Database: "COUNTERS_DB",
		Paths: telemetry.Each(ports, func(p string) string { return "COUNTERS/" + p + "/Queues" }),
		Comments: []string{
			"packets, bytes and drops of each queue, by the alias of its port; watermarks and ECN marks where the switch polls them",
			"(counterpoll show, counterpoll wredqueue enable). By port, of releases 202411 and from",
			"202511 on, not verified on a switch: PERIODIC_WATERMARKS/PORT/PriorityGroups"},
	}, watchdog}
}}
