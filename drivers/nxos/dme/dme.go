// Package dme reads the port state of a Nexus switch over gNMI in NX-OS's native model,
// Cisco-NX-OS-device: links, LLDP neighbors, queues, ECN marks, PFC frames.
//
// Do not use it for configuration, or for the PFC watchdog: some releases show 0 for its counters
// (paregupt/nexus_traffic_monitor). OpenConfig on NX-OS has neither ECN marks nor PFC.
package dme

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Model is the module of the native tree. A server that does not list it does not have the tree.
const Model = "Cisco-NX-OS-device"

// source requests containers rather than lists, as public clients do to read whole lists
// (ironcore-dev/network-operator). NX-OS returns an empty value for a missing object; its codes
// for paths unknown to a release, or to a feature that is off, are not documented.
var source = tree.Source{
	Name: Model,
	Paths: []string{
		"/System/intf-items/phys-items",
		"/System/intf-items/aggr-items",
		"/System/lldp-items/inst-items/if-items",
		"/System/ipqos-items/queuing-items/policy-items/out-items/intf-items",
		"/System/ipqos-items/nw-items",
	},
	Refusals: []codes.Code{codes.InvalidArgument, codes.Unimplemented, codes.FailedPrecondition, codes.Internal, codes.Unknown},
	Decode:   decode,
}

// Observe reads the state of all ports and port-channels, see [tree.Source.Observe]. If there is
// nothing to read, the observation has no ports. If LLDP data of a port shows no neighbor, its
// Neighbors is empty but not nil.
func Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	return source.Observe(ctx, c)
}
