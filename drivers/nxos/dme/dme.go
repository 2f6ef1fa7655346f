// Package dme reads the state of a Nexus switch's ports over gNMI in NX-OS's native
// model, Cisco-NX-OS-device: links, LLDP neighbours, queues, ECN marks, PFC frames.
//
// Do not use it for configuration, and not for the PFC watchdog: some releases
// show 0 for its counters (paregupt/nexus_traffic_monitor). OpenConfig on NX-OS
// has neither ECN marks nor PFC.
package dme

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Model is the module of the native tree. A server that does not name it has no such
// tree.
const Model = "Cisco-NX-OS-device"

// source asks for containers, not for lists, which is how public clients read
// whole lists (ironcore-dev/network-operator). NX-OS answers with an empty value
// where an object is missing; its codes for what a release or a feature that is
// off does not know are not documented.
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

// Observe reads the state of all ports and port-channels of the device, see
// [tree.Source.Observe]. Where there is nothing at all, the observation has no ports.
// Where LLDP is shown for a port and sees nobody, its Neighbors is empty and not nil.
func Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	return source.Observe(ctx, c)
}
