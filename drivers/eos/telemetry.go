package eos

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
)

// subscriptions lists state paths from aristanetworks/yang EOS-4.36.1F, pathreport.csv. Package
// openconfig reads the same paths.
var subscriptions = telemetry.Source{Encoding: "json", Streams: func(d *render.Device) []telemetry.Stream {
	ports := telemetry.Ports(d)
	pfc := telemetry.Stream{Name: "pfc", Comments: []string{"in-frames and out-frames of a lossless priority; EOS 4.23.2"}}
	watchdog := telemetry.Stream{Name: "watchdog", Comments: []string{"stuck-count and recovery-count of each queue; EOS 4.23.2"}}
	for _, p := range ports {
		for _, prio := range telemetry.Pauses(d, p) {
			pfc.Paths = append(pfc.Paths, fmt.Sprintf("/interfaces/interface[name=%s]/ethernet/pfc/priorities/priority[index=%d]/state", p, prio))
		}
		if telemetry.Watched(d, p) {
			watchdog.Paths = append(watchdog.Paths, fmt.Sprintf("/interfaces/interface[name=%s]/ethernet/pfc/watchdog/tx-queues", p))
		}
	}
	return []telemetry.Stream{pfc, {
		Name: "queues",
		Paths: telemetry.Each(ports, func(p string) string {
			return fmt.Sprintf("/qos/interfaces/interface[interface-id=%s]/output/queues", p)
		}),
		Comments: []string{"packets, octets and drops of each queue; ecn-marked-pkts (EOS 4.24.1) where the queue counts them",
			"('random-detect ecn count'). EOS has no watermark in OpenConfig: max-queue-len is not supported"},
	}, watchdog}
}}
