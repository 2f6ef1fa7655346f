package inventory

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/clabfile"
)

// clabKinds lists the kinds of containerlab nodes that this tool knows, with the port names for
// eth1, eth2, ... (containerlab.dev/manual/kinds).
var clabKinds = map[string]struct {
	os   string
	port func(n int) string
}{
	"sonic-vs":    {intent.SONiC.Name, everyFourth},
	"sonic-vm":    {intent.SONiC.Name, everyFourth},
	"arista_ceos": {intent.EOS.Name, single},
	"ceos":        {intent.EOS.Name, single},
	"arista_veos": {intent.EOS.Name, single},
	"vr-veos":     {intent.EOS.Name, single},
	"cisco_n9kv":  {intent.NXOS.Name, ofSlot},
	"vr-n9kv":     {intent.NXOS.Name, ofSlot},
}

func everyFourth(n int) string { return "Ethernet" + itoa(4*(n-1)) }
func single(n int) string      { return "Ethernet" + itoa(n) }
func ofSlot(n int) string      { return "Ethernet1/" + itoa(n) }

// addClab adds a containerlab topology: nodes become devices, links become cables.
func (r *Reader) addClab(name string, data []byte) error {
	t, err := clabfile.Parse(name, data)
	if err != nil {
		return err
	}
	at := func(line int) place { return place{file: name, line: line} }
	ports := map[string]func(int) string{}
	for _, n := range t.Nodes {
		kind, known := clabKinds[n.Kind]
		d := &device{id: "node " + n.Name, name: n.Name, place: at(n.Line), platform: ref{Name: n.Kind}}
		switch {
		case known:
			d.platform.Slug = kind.os
			ports[n.Name] = kind.port
		case n.Kind == "linux":
			d.role = ref{Slug: roleHost, Name: roleHost}
		}
		if n.Address != "" {
			d.addresses = []ref{{Address: n.Address}}
		}
		r.devices = append(r.devices, d)
		r.taken++
	}
	for _, l := range t.Links {
		end := func(e clabfile.End) []ref {
			name := e.Interface
			if port := ports[e.Node]; port != nil {
				name = clabPort(name, port)
			}
			return []ref{{Name: name, Kind: kindInterface, Device: &ref{ID: "node " + e.Node, Name: e.Node}}}
		}
		r.cables = append(r.cables, &cable{a: end(l.A), b: end(l.B), place: at(l.Line)})
		r.taken++
	}
	return nil
}

// clabPort returns the switch port for an interface of a node: eth1 is the first port; on systems
// with slots, eth1_1 is the first port of slot 1.
func clabPort(name string, port func(int) string) string {
	if m := clabName.FindStringSubmatch(name); m != nil {
		n := 0
		for _, c := range m[1] {
			n = n*10 + int(c-'0')
		}
		return port(n)
	}
	if rest, ok := strings.CutPrefix(name, "eth"); ok && strings.Contains(rest, "_") {
		return "Ethernet" + strings.ReplaceAll(rest, "_", "/")
	}
	return name
}
