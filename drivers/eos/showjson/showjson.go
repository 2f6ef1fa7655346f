// Package showjson decodes the JSON of Arista EOS's show commands: links, LLDP neighbors, PFC,
// ECN, queue and watchdog counters, the version and the configuration sessions.
//
// EOS documents none of these forms. Each decoder names the public source of its keys, and leaves
// a value unset if the key is missing, "-" (not counted) or has another type. Text that is not a
// JSON object, or that reports a refused command, is an error.
//
// Do not use it for configuration: the running configuration is validated as text. There is no
// decoder for commands without a public sample of their JSON: show priority-flow-control, show
// qos interfaces, show qos maps, show qos profile.
package showjson

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// maxPorts is far more than the ports, VLANs and loopbacks of a chassis.
const maxPorts = tree.MaxEntries

// ErrRefused means that the device returned an error instead of the command's output.
var ErrRefused = errors.New("the device refuses the command")

// decode decodes the JSON object that a command prints.
func decode(b []byte) (tree.Object, error) {
	o, more, err := tree.Parse(b)
	if err == nil && more {
		err = errors.New("output is not JSON: there is text after it")
	}
	if err != nil {
		return nil, err
	}
	if l, _ := o["errors"].([]any); len(l) > 0 {
		text, _ := l[0].(string)
		return nil, fmt.Errorf("%w: %s", ErrRefused, term.CleanLine(text[:min(len(text), tree.MaxText)]))
	}
	return o, nil
}

// queueKey matches a key that denotes one unicast queue or one priority.
var queueKey = lazyre.New(`^(?:UC|TC)?([0-7])$`)

// short maps EOS's abbreviations of interface types to the full names.
var short = map[string]string{
	"Et": "Ethernet", "Ma": "Management", "Po": "Port-Channel", "Lo": "Loopback", "Vl": "Vlan", "Vx": "Vxlan", "Tu": "Tunnel",
}

// longName expands an interface name that EOS may abbreviate: "Et1/1" becomes "Ethernet1/1"
// (amd/node-scraper, scale_out_arista). Other names are returned unchanged.
func longName(name string) string {
	if len(name) > 2 && name[2] >= '0' && name[2] <= '9' {
		if long, ok := short[name[:2]]; ok {
			return long + name[2:]
		}
	}
	return name
}

// inOrder iterates over the members of an object in name order, so that of two names for the same
// thing the same one always wins.
func inOrder(o tree.Object) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(o)))
}

// numbered iterates over the members that denote one unicast queue or one priority.
func numbered(o tree.Object) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for key := range inOrder(o) {
			if m := queueKey.FindStringSubmatch(key); m != nil && !yield(int(m[1][0]-'0'), key) {
				return
			}
		}
	}
}

// each calls f for every port in the object at a path.
func each(b []byte, o *drivers.Observation, f func(*drivers.PortState, tree.Object), path ...string) error {
	out, err := decode(b)
	if err != nil {
		return err
	}
	ports := out.At(path...)
	if len(ports) > maxPorts {
		return fmt.Errorf("output has %d interfaces, more than %d", len(ports), maxPorts)
	}
	for key := range inOrder(ports) {
		if tree.IsName(key) {
			f(o.Port(longName(key)), ports.At(key))
		}
	}
	return nil
}
