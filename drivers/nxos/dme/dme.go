// Package dme reads the state of a Nexus switch's ports over gNMI in the native
// model of NX-OS, Cisco-NX-OS-device: links, LLDP neighbours, queues, ECN marks
// and PFC frames.
//
// The tree is read as it comes, without the model: NX-OS wraps one entry of a
// list in an array, and releases differ in what is a string and what a number.
// What fits is taken, the rest is passed over.
//
// Do not use it for configuration, and not for the PFC watchdog: some releases
// show 0 for its counters (paregupt/nexus_traffic_monitor). OpenConfig on NX-OS
// has neither ECN marks nor PFC.
package dme

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Model is the module of the native tree. A server that does not name it has no
// such tree.
const Model = "Cisco-NX-OS-device"

// paths are what Observe asks for, each in a call of its own: what one release
// refuses must not cost the rest. They are containers, not lists, which is how
// public clients read whole lists (ironcore-dev/network-operator).
var paths = []gnmi.Path{
	{"System", "intf-items", "phys-items"},
	{"System", "intf-items", "aggr-items"},
	{"System", "lldp-items", "inst-items", "if-items"},
	{"System", "ipqos-items", "queuing-items", "policy-items", "out-items", "intf-items"},
	{"System", "ipqos-items", "nw-items"},
}

// Observe reads the state of all ports and port-channels of the device. What
// the release does not have is not set; where there is nothing at all, the
// observation has no ports. Neighbors of a port that LLDP is shown for, and
// sees nobody on, is empty and not nil. An error means that a call failed for
// another reason, that the device refused every path, or that an answer is no
// JSON or absurdly large.
func Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	taken := time.Now()
	var all []gnmi.Value
	var refused []error
	for _, p := range paths {
		vs, err := c.GetTree(ctx, "", gnmi.DataAll, p.Elems())
		switch {
		case err == nil:
			all = append(all, vs...)
		case absent(err):
			refused = append(refused, err)
		default:
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
	}
	if len(refused) == len(paths) {
		return nil, fmt.Errorf("the device shows no state in %s: %w", Model, refused[0])
	}
	o, err := Decode(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Addr(), err)
	}
	o.Taken = taken
	return o, nil
}

// refusals are the codes of a device that answers and does not have a path.
// NX-OS answers with an empty value where an object is missing; its codes for
// what a release or a feature that is off does not know are not documented.
var refusals = []codes.Code{codes.InvalidArgument, codes.Unimplemented, codes.FailedPrecondition, codes.Internal, codes.Unknown}

func absent(err error) bool {
	var e *gnmi.RPCError
	return errors.Is(err, gnmi.ErrNotFound) || errors.As(err, &e) && slices.Contains(refusals, e.Code)
}

func pathText(p []gnmi.Elem) string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString("/" + e.Name)
	}
	return b.String()
}
