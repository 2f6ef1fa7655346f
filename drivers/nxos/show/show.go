// Package show decodes the output of NX-OS show commands: the version, ports, LLDP neighbors,
// PFC, and the counters of queues and of the PFC watchdog.
//
// The JSON of NX-OS consists of nested tables: TABLE_x contains ROW_x, which is one object or a
// list of objects; all values may be strings. Each decoder names the public source of its keys,
// and leaves a value unset if its key is missing or has another form. Text that is not a JSON
// object is an error.
//
// Do not use it for configuration: render/nxos reads that as text.
package show

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// row is one object of the output.
type row struct{ tree.Object }

// parse parses output that is a JSON object.
func parse(b []byte) (row, error) {
	o, _, err := tree.Parse(b)
	return row{o}, err
}

// table returns the rows of a table; nil if it does not exist.
func (r row) table(name string) []row { return rows(r.At("TABLE_"+name), "ROW_"+name) }

func rows(o tree.Object, name string) []row {
	var out []row
	for _, e := range o.List(name) {
		out = append(out, row{e})
	}
	return out
}

// each calls f with each row of a table that describes a port. The table is in each module of the
// switch, or at the top if there are no modules.
func each(b []byte, table, key string, f func(port string, r row)) error {
	r, err := parse(b)
	out := r.table(table)
	for _, m := range r.table("module") {
		out = append(out, m.table(table)...)
	}
	for _, i := range out[:min(len(out), tree.MaxEntries)] {
		if name, ok := i.port(key); ok {
			f(name, i)
		}
	}
	return err
}

var portName = lazyre.New(`^(Ethernet|Eth|port-channel|Po)(\d{1,4}(?:/\d{1,4}){0,2})$`)

var longNames = map[string]string{
	"Ethernet": "Ethernet", "Eth": "Ethernet", "port-channel": "port-channel", "Po": "port-channel",
}

// LongName expands a port name that NX-OS may abbreviate: "Eth1/1" becomes "Ethernet1/1"; ok is
// false for anything other than a port or port-channel.
func LongName(name string) (long string, ok bool) {
	m := portName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return longNames[m[1]] + m[2], true
}

// port returns the port that a row describes. Other text may follow the name: "Ethernet1/1
// Interface PFC watchdog: [Enabled]" (paregupt, nexus_traffic_monitor).
func (r row) port(key string) (string, bool) {
	name, _, _ := strings.Cut(r.Text(key), " ")
	return LongName(name)
}

// group returns the number at the beginning of a text, 0 to 7: "3", "3 [Active]". Other groups
// are for the switch's own traffic and for mirroring.
func group(s string) (int, bool) {
	word, _, _ := strings.Cut(s, " ")
	if len(word) != 1 || word[0] < '0' || word[0] > '7' {
		return 0, false
	}
	return int(word[0] - '0'), true
}
