// Package showjson decodes the JSON of Arista EOS's show commands: links, LLDP
// neighbours, PFC, ECN, queue and watchdog counters, the version and the
// configuration sessions.
//
// EOS documents none of these forms. Each decoder names the public source that
// shows its keys, takes what it finds, and leaves a value unset where the key
// is missing, "-" (EOS's word for not counted) or of another type; text that
// is no JSON object, or that reports a refused command, is an error.
//
// Do not use it for configuration: the running configuration is validated as
// text. There is no public sample of the JSON of show priority-flow-control,
// show qos interfaces, show qos maps and show qos profile, so there is no
// decoder for them.
package showjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Bounds of what is taken from a device.
const (
	// MaxInput is the largest output that is decoded, in bytes.
	MaxInput = 64 << 20
	// maxPorts is far above the ports, VLANs and loopbacks of a chassis.
	maxPorts = 1 << 14
	maxText  = 255 // bytes; what an LLDP name has at most (IEEE 802.1AB)
)

// ErrRefused says that the device answered with an error of its own instead of
// the command's output.
var ErrRefused = errors.New("the device refuses the command")

// decode reads a JSON object into dst, a pointer to a struct. Members of
// another type than dst's are passed over.
func decode(b []byte, dst any) error {
	if len(b) > MaxInput {
		return fmt.Errorf("output of %d bytes, more than %d", len(b), MaxInput)
	}
	if b = bytes.TrimSpace(b); !bytes.HasPrefix(b, []byte("{")) {
		return fmt.Errorf("output is no JSON object: %q", term.CleanLine(string(b[:min(len(b), 60)])))
	}
	var refusal struct {
		Errors []text `json:"errors"`
	}
	for _, v := range []any{&refusal, dst} {
		var shape *json.UnmarshalTypeError
		if err := json.Unmarshal(b, v); err != nil && !errors.As(err, &shape) {
			return fmt.Errorf("output is not JSON: %w", err)
		}
	}
	if len(refusal.Errors) > 0 {
		return fmt.Errorf("%w: %s", ErrRefused, refusal.Errors[0])
	}
	return nil
}

// count is a counter: a number or a string of digits.
type count qos.Opt[uint64]

// UnmarshalJSON leaves the counter unset where there is none.
func (c *count) UnmarshalJSON(b []byte) error {
	*c = count{}
	if n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64); err == nil {
		*c = count{V: n, Set: true}
	}
	return nil
}

// put keeps what is known where the output has no value.
func put(dst *qos.Opt[uint64], c count) {
	if c.Set {
		*dst = qos.Opt[uint64](c)
	}
}

// text is a string, cleaned; "" where it is too long or no string.
type text string

// UnmarshalJSON takes a string.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	var s string
	if json.Unmarshal(b, &s) == nil && len(s) <= maxText {
		*t = text(term.CleanLine(s))
	}
	return nil
}

// seconds is a time in seconds, with a fraction.
type seconds qos.Opt[time.Duration]

// UnmarshalJSON takes a number that is more than zero and less than a century.
func (s *seconds) UnmarshalJSON(b []byte) error {
	*s = seconds{}
	const century = 100 * 366 * 24 * time.Hour
	if f, err := strconv.ParseFloat(string(b), 64); err == nil && f > 0 && f < century.Seconds() {
		*s = seconds{V: time.Duration(math.Round(f * float64(time.Second))), Set: true}
	}
	return nil
}

// queueKey matches a key that stands for one unicast queue or one priority.
var queueKey = regexp.MustCompile(`^(?:UC|TC)?([0-7])$`)

// index returns what a key stands for; ok is false for a range of classes and
// for multicast queues.
func index(key string) (n int, ok bool) {
	m := queueKey.FindStringSubmatch(key)
	if m == nil {
		return 0, false
	}
	return int(m[1][0] - '0'), true
}

// short has EOS's abbreviations of interface types.
var short = map[string]string{
	"Et": "Ethernet", "Ma": "Management", "Po": "Port-Channel", "Lo": "Loopback", "Vl": "Vlan", "Vx": "Vxlan", "Tu": "Tunnel",
}

// LongName returns the full name of an interface that EOS may have
// abbreviated: "Et1/1" is "Ethernet1/1" (amd/node-scraper, scale_out_arista).
// Any other name is returned as it is.
func LongName(name string) string {
	if len(name) > 2 && name[2] >= '0' && name[2] <= '9' {
		if long, ok := short[name[:2]]; ok {
			return long + name[2:]
		}
	}
	return name
}

// portName returns the name of a port for an observation.
func portName(key string) (string, bool) {
	return LongName(key), key != "" && len(key) <= maxText && term.CleanLine(key) == key
}

// inOrder goes through a map in the order of its keys, so that of two keys
// that stand for one thing always the same counts.
func inOrder[T any](m map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// each calls f for every port that the device names.
func each[T any](o *drivers.Observation, ports map[string]T, f func(*drivers.PortState, T)) error {
	if len(ports) > maxPorts {
		return fmt.Errorf("output has %d interfaces, more than %d", len(ports), maxPorts)
	}
	for key, p := range inOrder(ports) {
		if name, ok := portName(key); ok {
			f(o.Port(name), p)
		}
	}
	return nil
}
