package inventory

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// addAVD adds a structured configuration of arista.avd, the file of one switch below
// intended/structured_configs. Its interfaces name their peers (avd eos_cli_config_gen,
// ethernet_interfaces).
func (r *Reader) addAVD(name string, root *yaml.Node) error {
	at := func(n *yaml.Node) place { return place{file: name, line: n.Line} }
	host := value(root, "hostname")
	if host == "" {
		return faultf(at(root), "", "a structured configuration without a hostname")
	}
	d := &device{id: "avd " + host, name: host, place: at(root), platform: ref{Name: intent.EOS.Name, Slug: intent.EOS.Name}}
	for _, m := range items(root.Get("management_interfaces")) {
		d.addresses = append(d.addresses, ref{Address: value(m, "ip_address")})
	}
	r.devices = append(r.devices, d)
	r.taken++
	for _, e := range items(root.Get("ethernet_interfaces")) {
		port, m := value(e, "name"), e
		if e.Get("peer") == nil && e.Get("metadata") != nil {
			m = e.Get("metadata")
		}
		peer, far := value(m, "peer"), value(m, "peer_interface")
		if port == "" || peer == "" || far == "" || strings.Contains(port, ".") {
			continue
		}
		if r.taken++; r.taken > maxObjects {
			return faultf(at(e), "", "all files together hold more than %d objects", maxObjects)
		}
		end := func(device, port string) []ref {
			return []ref{{Name: port, Kind: kindInterface, Device: &ref{ID: "avd " + device, Name: device}}}
		}
		r.cables = append(r.cables, &cable{a: end(host, port), b: end(peer, far), place: at(e)})
		kind := strings.ReplaceAll(value(m, "peer_type"), "_", "-")
		if r.peers.At(peer).name == "" {
			*r.peers.At(peer) = device{id: "avd " + peer, name: peer, place: at(e), role: ref{Name: kind, Slug: kind}}
		}
	}
	return nil
}

// addPeers adds the devices that structured configurations name but that have no file of their own.
func (r *Reader) addPeers() {
	have := map[string]bool{}
	for _, d := range r.devices {
		have[strings.ToLower(d.name)] = true
	}
	for name, d := range r.peers.All() {
		if !have[strings.ToLower(name)] {
			r.devices = append(r.devices, &d)
		}
	}
}

func value(n *yaml.Node, key string) string {
	if n == nil || n.Kind != yaml.Map || n.Get(key) == nil {
		return ""
	}
	return n.Get(key).Value
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Items
}
