package show

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Interfaces adds the link data from "show interface": administrative and operational state, MTU
// in bytes, speed (napalm-automation/napalm nxos.py; ansible-collections/cisco.nxos
// facts/legacy/base.py).
func Interfaces(b []byte, o *drivers.Observation) error {
	const mostMTU, mostKbit = 1 << 16, 1 << 40
	return each(b, "interface", "interface", func(name string, i row) {
		p := o.Port(name)
		if s := i.Text("admin_state"); s != "" {
			p.AdminUp = qos.Of(s == "up")
		}
		if s := i.Text("state"); s != "" {
			p.OperUp = qos.Of(s == "up" || s == "connected")
		}
		if n := i.Count("eth_mtu"); n.V > 0 && n.V < mostMTU {
			p.MTU = qos.Of(int(n.V))
		}
		if n := i.Count("eth_bw"); n.V > 0 && n.V < mostKbit {
			p.Speed = qos.Of(units.Rate(n.V * 1000))
		}
	})
}

// Neighbors sets the LLDP neighbors from "show lldp neighbors", with or without "detail"
// (netapp/harvest with, ansible-collections/cisco.nxos facts/legacy/base.py without).
func Neighbors(b []byte, o *drivers.Observation) error {
	r, err := parse(b)
	if err != nil {
		return err
	}
	list := r.table("nbor_detail")
	if len(list) == 0 {
		list = r.table("nbor")
	}
	by := map[string][]qos.Neighbor{}
	for _, n := range list {
		if name, ok := n.port("l_port_id"); ok {
			by[name] = append(by[name], qos.Neighbor{Device: cmp.Or(n.Text("sys_name"), n.Text("chassis_id")), Port: n.Text("port_id")})
		}
	}
	for name, ns := range by {
		o.Port(name).Neighbors = ns
	}
	return nil
}

// PFC is the PFC state of one port.
type PFC struct {
	Mode string // "On", "Auto", "Off"
	On   bool   // PFC is operational
	// Bitmap is the bitmap of lossless priorities as printed by the switch; "" for none.
	Bitmap string
}

// Shows reports whether the bitmap equals the given priorities, and whether it can be parsed at
// all. No public document says whether the number is hexadecimal or decimal, so a match in either
// base counts.
func (p PFC) Shows(want qos.PrioritySet) (same, known bool) {
	digits := strings.TrimPrefix(strings.Trim(p.Bitmap, "()"), "0x")
	for _, base := range []int{16, 10} {
		if n, err := strconv.ParseUint(digits, base, 16); err == nil && n < 1<<qos.NumPriorities {
			known, same = true, same || qos.PrioritySet(n) == want
		}
	}
	return same, known
}

// ParsePFC decodes the JSON of "show interface priority-flow-control" by port, as in a public
// counter collector; the key of the bitmap is not documented.
func ParsePFC(b []byte) (map[string]PFC, error) {
	out := map[string]PFC{}
	err := each(b, "pfc_interface", "if_name_str", func(name string, i row) {
		out[name] = PFC{Mode: i.Text("admin"), On: strings.EqualFold(i.Text("oper"), "on"), Bitmap: cmp.Or(i.Text("vl-bmp"), i.Text("vl_bmp"))}
	})
	return out, err
}

// pfcLine matches a line of the text table (open-telemetry/opentelemetry-collector-contrib,
// ciscoos receiver). Some releases print letters in the brackets.
var pfcLine = lazyre.New(`(?m)^(\S{1,40})[ \t]+(Auto|On|Off)[ \t]+(On|Off)[ \t]*(?:\(([^)\n]{0,20})\))?[ \t]+\d+[ \t]+\d+\s*$`)

// ParsePFCText parses the text of "show interface priority-flow-control" by port.
func ParsePFCText(text string) map[string]PFC {
	out := map[string]PFC{}
	for _, m := range pfcLine.FindAllStringSubmatch(text[:min(len(text), tree.MaxInput)], tree.MaxEntries) {
		if name, ok := LongName(m[1]); ok {
			out[name] = PFC{Mode: m[2], On: m[3] == "On", Bitmap: strings.TrimSpace(m[4])}
		}
	}
	return out
}
