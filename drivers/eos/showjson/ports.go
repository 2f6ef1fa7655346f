package showjson

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Interfaces adds the link data from "show interfaces": administrative and operational state,
// speed, and the MTU of routed ports in bytes. A bridged port reports an MTU other than its
// forwarding limit, so only routed ports get one (aristanetworks/anta, VerifyL2MTU and
// VerifyL3MTU; napalm-automation/napalm eos.py for the states and the error counters).
func Interfaces(b []byte, o *drivers.Observation) error {
	const mostMTU, mostRate = 1 << 16, 1 << 53
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		if s := i.String("interfaceStatus"); s != "" {
			// A port that was shut because of an error is "errdisabled", not "disabled".
			p.AdminUp = qos.Of(s != "disabled")
		}
		if s := i.String("lineProtocolStatus"); s != "" && s != "unknown" {
			p.OperUp = qos.Of(s == "up")
		}
		if n := i.Count("mtu"); i.String("forwardingModel") == "routed" && n.V > 0 && n.V < mostMTU {
			p.MTU = qos.Of(int(n.V))
		}
		if n := i.Count("bandwidth"); n.V > 0 && n.V < mostRate { // bit/s
			p.Speed = qos.Of(units.Rate(n.V))
		}
		c := i.At("interfaceCounters")
		p.Counters.Put(drivers.ErrorsRx.Of(0), c.Count("totalInErrors"))
		p.Counters.Put(drivers.ErrorsTx.Of(0), c.Count("totalOutErrors"))
		p.Counters.Put(drivers.SymbolErrors.Of(0), c.At("inputErrorsDetail").Count("symbolErrors"))
	}, "interfaces")
}

// FEC adds the active FEC from "show interfaces error-correction": reedSolomon, fireCode or
// disabled (a public controller for EOS 4.26). It is not set for a port that is down.
func FEC(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		if p.OperUp.V {
			p.FEC = drivers.FECOf(i.String("errCorrEncodingStatus"))
		}
	}, "interfaceErrCorrStatuses")
}

// maxNeighbors limits the number of neighbors of all ports together.
const maxNeighbors = 4 * maxPorts

// LLDPNeighbors sets the neighbors from "show lldp neighbors", with or without "detail", in the
// device's order (amd/node-scraper, scale_out_arista; aristanetworks/anta, VerifyLLDPNeighbors).
func LLDPNeighbors(b []byte, o *drivers.Observation) error {
	out, err := decode(b)
	if err != nil {
		return err
	}
	byPort, n := map[string][]qos.Neighbor{}, 0
	add := func(port, device, its string) {
		byPort[longName(port)] = append(byPort[longName(port)], qos.Neighbor{Device: device, Port: its})
		n++
	}
	// The plain form is one list of neighbors, the detailed form one list per port.
	all, _ := out["lldpNeighbors"].([]any)
	for _, e := range all {
		l, _ := e.(map[string]any)
		add(tree.Object(l).Name("port"), tree.Object(l).String("neighborDevice"), tree.Object(l).String("neighborPort"))
	}
	ports, _ := out["lldpNeighbors"].(map[string]any)
	for port := range inOrder(ports) {
		for _, l := range tree.Object(ports).At(port).List("lldpNeighborInfo") {
			i := l.At("neighborInterfaceInfo")
			// The older key has additional quotes around the name.
			id := strings.TrimSpace(strings.Trim(i.String("interfaceId"), `"`))
			add(port, cmp.Or(l.String("systemName"), l.String("chassisId")), cmp.Or(i.String("interfaceId_v2"), id, i.String("interfaceDescription")))
		}
	}
	if n > maxNeighbors {
		return fmt.Errorf("output has %d LLDP neighbors, more than %d", n, maxNeighbors)
	}
	for port, l := range byPort {
		if tree.IsName(port) {
			o.Port(port).Neighbors = l
		}
	}
	return nil
}
