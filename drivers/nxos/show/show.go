// Package show reads what show commands of NX-OS print: the version, ports,
// LLDP neighbours, PFC, the counters of queues and of the PFC watchdog.
//
// The JSON of NX-OS is tables in tables, TABLE_x with ROW_x in it, which is one
// object or a list of them; all values may be strings. Each reader names the
// public source that shows its keys, takes what it finds, and leaves a value
// unset where the key is missing or of another form. Text that is no JSON
// object is an error.
//
// Do not use it for configuration: that is read as text, by render/nxos.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Bounds of what is taken from a device.
const (
	// MaxInput is the largest output that is read, in bytes.
	MaxInput = 64 << 20
	// maxRows is far above the ports, subinterfaces and VLANs of a chassis.
	maxRows = 1 << 14
	maxText = 255 // bytes
)

// row is one object of the output.
type row map[string]any

// parse reads the object that an output is.
func parse(b []byte) (row, error) {
	if len(b) > MaxInput {
		return nil, fmt.Errorf("output of %d bytes, more than %d", len(b), MaxInput)
	}
	if b = bytes.TrimSpace(b); !bytes.HasPrefix(b, []byte("{")) {
		return nil, fmt.Errorf("output is no JSON object: %q", term.CleanLine(string(b[:min(len(b), 60)])))
	}
	var out row
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("output is not JSON: %w", err)
	}
	return out, nil
}

// table returns the rows of a table; nil where there is none.
func (r row) table(name string) []row {
	t, _ := r["TABLE_"+name].(map[string]any)
	return rows(t["ROW_"+name])
}

func rows(v any) []row {
	switch v := v.(type) {
	case map[string]any:
		return []row{v}
	case []any:
		var out []row
		for _, e := range v[:min(len(v), maxRows)] {
			if m, ok := e.(map[string]any); ok {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// modules returns the rows of a table in each module of the box, or those at
// the top where there are no modules.
func (r row) modules(name string) []row {
	out := r.table(name)
	for _, m := range r.table("module") {
		out = append(out, m.table(name)...)
	}
	return out[:min(len(out), maxRows)]
}

// text returns a string or a number, cleaned; "" where it is missing or long.
func (r row) text(key string) string {
	var s string
	switch v := r[key].(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	}
	if len(s) > maxText {
		return ""
	}
	return strings.TrimSpace(term.CleanLine(s))
}

// count returns a counter.
func (r row) count(key string) qos.Opt[uint64] {
	n, err := strconv.ParseUint(r.text(key), 10, 64)
	return qos.Opt[uint64]{V: n, Set: err == nil}
}

// put keeps what is known where the output has no value.
func put(dst *qos.Opt[uint64], c qos.Opt[uint64]) {
	if c.Set {
		*dst = c
	}
}

var portName = regexp.MustCompile(`^(?:Ethernet|Eth|port-channel|Po)\d{1,4}(?:/\d{1,4}){0,2}$`)

// LongName returns the full name of a port that NX-OS may have abbreviated:
// "Eth1/1" is "Ethernet1/1"; ok is false for what is no port or port-channel.
func LongName(name string) (long string, ok bool) {
	if !portName.MatchString(name) {
		return "", false
	}
	for _, n := range [][2]string{{"Ethernet", "Ethernet"}, {"Eth", "Ethernet"}, {"port-channel", "port-channel"}, {"Po", "port-channel"}} {
		if rest, ok := strings.CutPrefix(name, n[0]); ok {
			return n[1] + rest, true
		}
	}
	return "", false
}

// port returns the port that a row is about. Behind the name there may be more:
// "Ethernet1/1 Interface PFC watchdog: [Enabled]" (paregupt,
// nexus_traffic_monitor).
func (r row) port(key string) (string, bool) {
	name, _, _ := strings.Cut(r.text(key), " ")
	return LongName(name)
}

// group returns the number that a text begins with, 0 to 7: "3", "3 [Active]".
// What else a box counts is for itself and for mirrors.
func group(s string) (int, bool) {
	word, _, _ := strings.Cut(s, " ")
	if len(word) != 1 || word[0] < '0' || word[0] > '7' {
		return 0, false
	}
	return int(word[0] - '0'), true
}
