package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Source describes a gNMI tree in which a switch shows its state.
type Source struct {
	Name   string // for users
	Origin string
	Type   gnmi.DataType
	// Paths are requested one per call, so that a path that one release refuses does not affect
	// the others.
	Paths []string
	// Refusals are the status codes with which the device refuses an unknown path.
	Refusals []codes.Code
	Decode   func([]gnmi.Value) (*drivers.Observation, error)
}

// Observe reads the state of all ports. A value whose path the device lacks is not set. An error
// means that a call failed for another reason, that the device refused every path, or that a
// response is not JSON or absurdly large.
func (s Source) Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	taken := time.Now()
	var all []gnmi.Value
	var refused []error
	for _, p := range s.Paths {
		vs, err := c.GetTree(ctx, s.Origin, s.Type, p)
		var rpc *gnmi.RPCError
		switch {
		case err == nil:
			all = append(all, vs...)
		case errors.Is(err, gnmi.ErrNotFound), errors.As(err, &rpc) && slices.Contains(s.Refusals, rpc.Code):
			refused = append(refused, err)
		default:
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
	}
	if len(refused) == len(s.Paths) {
		return nil, fmt.Errorf("the device has no %s state: %w", s.Name, refused[0])
	}
	o, err := s.Decode(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Addr(), err)
	}
	o.Taken = taken
	return o, nil
}

// Each calls f with a tree, rooted at the top, for each value: a leaf, a list entry, or a
// subtree. An error means that a value is not JSON, or contains a list with absurdly many
// entries.
func Each(vs []gnmi.Value, f func(Object)) error {
	for _, v := range vs {
		node, err := v.Decode()
		if err == nil {
			err = bounded(node)
		}
		if err != nil {
			where, _ := ygot.PathToString(v.Path) // "" if an element has an empty name
			return fmt.Errorf("%s: %w", term.CleanLine(where), err)
		}
		for _, e := range slices.Backward(v.Path.GetElem()) {
			name := Local(e.GetName())
			node = map[string]any{name: entry(name, e.GetKey(), node)}
		}
		top, _ := node.(map[string]any)
		f(top)
	}
	return nil
}

func bounded(node any) error {
	var below []any
	switch v := node.(type) {
	case []any:
		if below = v; len(v) > MaxEntries {
			return fmt.Errorf("a list has %d entries, more than %d", len(v), MaxEntries)
		}
	case map[string]any:
		below = slices.Collect(maps.Values(v))
	}
	for _, b := range below {
		if err := bounded(b); err != nil {
			return err
		}
	}
	return nil
}

// entry adds the keys in its path to a list entry. A server may also answer a wildcard with the
// list itself, bare or under its name.
func entry(name string, keys map[string]string, node any) any {
	m, ok := single(node)
	if !ok || len(keys) == 0 {
		return node
	}
	if l, ok := m.Get(name).([]any); ok && len(m) == 1 {
		return l
	}
	for k, v := range keys {
		if v != "*" {
			m[Local(k)] = v
		}
	}
	return map[string]any(m)
}

// Neighbors holds LLDP neighbors by port and by the device's key.
type Neighbors map[string]map[string]*[4]string

// See adds what LLDP sees: the system name and chassis ID, and the port ID and description.
func (n Neighbors) See(port, key string, what [4]string) {
	if n[port] == nil {
		n[port] = map[string]*[4]string{}
	}
	if key == "" {
		return
	}
	if n[port][key] == nil {
		n[port][key] = &[4]string{}
	}
	for i, w := range what {
		n[port][key][i] = cmp.Or(w, n[port][key][i])
	}
}

// Put sets the neighbors of the ports in an observation. A port that LLDP shows without a
// neighbor gets an empty list.
func (n Neighbors) Put(o *drivers.Observation) {
	for port, seen := range n {
		p := o.Port(port)
		p.Neighbors = []qos.Neighbor{}
		for _, key := range ordered.Sorted(maps.Keys(seen), Order) {
			a := seen[key]
			if n := (qos.Neighbor{Device: cmp.Or(a[0], a[1]), Port: cmp.Or(a[2], a[3])}); n != (qos.Neighbor{}) {
				p.Neighbors = append(p.Neighbors, n)
			}
		}
	}
}

// Order compares keys in natural order; it is a total order.
func Order(a, b string) int { return cmp.Or(natural.Compare(a, b), cmp.Compare(a, b)) }
