// Package show reads what show commands of NX-OS print: the version, ports,
// LLDP neighbours, PFC, the counters of queues and of the PFC watchdog.
//
// The JSON of NX-OS is tables in tables, TABLE_x with ROW_x in it, which is one
// object or a list of them; all values may be strings. Each reader names the public
// source that shows its keys, takes what it finds, and leaves a value unset where its
// key is missing or has another form. Text that is no JSON object is an error.
//
// Do not use it for configuration: that is read as text, by render/nxos.
package show

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// row is one object of the output.
type row struct{ tree.Object }

// parse reads the object that an output is.
func parse(b []byte) (row, error) {
	o, _, err := tree.Parse(b)
	return row{o}, err
}

// table returns the rows of a table; nil where there is none.
func (r row) table(name string) []row { return rows(r.At("TABLE_"+name), "ROW_"+name) }

func rows(o tree.Object, name string) []row {
	var out []row
	for _, e := range o.List(name) {
		out = append(out, row{e})
	}
	return out
}

// each calls f with the rows of a table that are about a port: those in each
// module of the box, or at the top where there are no modules.
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

// LongName returns the full name of a port that NX-OS may have abbreviated:
// "Eth1/1" is "Ethernet1/1"; ok is false for what is no port or port-channel.
func LongName(name string) (long string, ok bool) {
	m := portName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return longNames[m[1]] + m[2], true
}

// port returns the port that a row is about. Behind the name there may be more:
// "Ethernet1/1 Interface PFC watchdog: [Enabled]" (paregupt,
// nexus_traffic_monitor).
func (r row) port(key string) (string, bool) {
	name, _, _ := strings.Cut(r.Text(key), " ")
	return LongName(name)
}

// group returns the number that a text begins with, 0 to 7: "3", "3 [Active]".
// The switch counts further groups for its own traffic and for mirrors.
func group(s string) (int, bool) {
	word, _, _ := strings.Cut(s, " ")
	if len(word) != 1 || word[0] < '0' || word[0] > '7' {
		return 0, false
	}
	return int(word[0] - '0'), true
}
