package showjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

type iface struct {
	MTU        count `json:"mtu"`
	Forwarding text  `json:"forwardingModel"`
	Line       text  `json:"lineProtocolStatus"`
	Status     text  `json:"interfaceStatus"`
	Bandwidth  count `json:"bandwidth"` // bit/s
}

// Interfaces adds what "show interfaces" says of links: administrative and
// operational state, speed, and, of routed ports, the MTU in bytes. A bridged
// port reports an MTU that is not the limit it forwards with, so that of
// others is left unset (aristanetworks/anta, VerifyL2MTU and VerifyL3MTU;
// napalm-automation/napalm eos.py for the states).
func Interfaces(b []byte, o *drivers.Observation) error {
	var out struct {
		Interfaces map[string]iface `json:"interfaces"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	const mostMTU, mostRate = 1 << 16, 1 << 53
	return each(o, out.Interfaces, func(p *drivers.PortState, i iface) {
		if i.Status != "" {
			// A port that an error took down is "errdisabled", not "disabled".
			p.AdminUp = qos.Of(i.Status != "disabled")
		}
		if i.Line != "" && i.Line != "unknown" {
			p.OperUp = qos.Of(i.Line == "up")
		}
		if i.Forwarding == "routed" && i.MTU.V > 0 && i.MTU.V < mostMTU {
			p.MTU = qos.Of(int(i.MTU.V))
		}
		if i.Bandwidth.V > 0 && i.Bandwidth.V < mostRate {
			p.Speed = qos.Of(units.Rate(i.Bandwidth.V))
		}
	})
}

// maxNeighbors bounds the neighbours of all ports together.
const maxNeighbors = 4 * maxPorts

// LLDPNeighbors sets the neighbours of the ports that "show lldp neighbors" or
// "show lldp neighbors detail" lists, in the device's order
// (amd/node-scraper, scale_out_arista; aristanetworks/anta,
// VerifyLLDPNeighbors).
func LLDPNeighbors(b []byte, o *drivers.Observation) error {
	var out struct {
		Neighbors json.RawMessage `json:"lldpNeighbors"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	byPort := map[string][]qos.Neighbor{}
	var err error
	if bytes.HasPrefix(out.Neighbors, []byte("{")) {
		err = detailed(out.Neighbors, byPort)
	} else {
		err = listed(out.Neighbors, byPort)
	}
	var shape *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &shape) {
		return fmt.Errorf("LLDP neighbors: %w", err)
	}
	n := 0
	for _, l := range byPort {
		n += len(l)
	}
	if n > maxNeighbors {
		return fmt.Errorf("output has %d LLDP neighbors, more than %d", n, maxNeighbors)
	}
	return each(o, byPort, func(p *drivers.PortState, l []qos.Neighbor) { p.Neighbors = l })
}

// listed reads the plain form: one list of all neighbours.
func listed(b []byte, byPort map[string][]qos.Neighbor) error {
	var list []struct {
		Port   text `json:"port"`
		Device text `json:"neighborDevice"`
		Its    text `json:"neighborPort"`
	}
	if len(b) == 0 {
		return nil
	}
	err := json.Unmarshal(b, &list)
	for _, n := range list {
		port := LongName(string(n.Port))
		byPort[port] = append(byPort[port], qos.Neighbor{Device: string(n.Device), Port: string(n.Its)})
	}
	return err
}

// detailed reads the form with a list for each port.
func detailed(b []byte, byPort map[string][]qos.Neighbor) error {
	var ports map[string]struct {
		Info []struct {
			System  text `json:"systemName"`
			Chassis text `json:"chassisId"`
			Port    struct {
				ID   text `json:"interfaceId"`
				ID2  text `json:"interfaceId_v2"`
				Desc text `json:"interfaceDescription"`
			} `json:"neighborInterfaceInfo"`
		} `json:"lldpNeighborInfo"`
	}
	err := json.Unmarshal(b, &ports)
	for port, p := range inOrder(ports) {
		port = LongName(port)
		for _, n := range p.Info {
			// The older key has the name in quotes of its own.
			id := term.CleanLine(strings.Trim(string(n.Port.ID), `"`))
			byPort[port] = append(byPort[port], qos.Neighbor{
				Device: string(cmp.Or(n.System, n.Chassis)),
				Port:   cmp.Or(string(n.Port.ID2), id, string(n.Port.Desc)),
			})
		}
	}
	return err
}
