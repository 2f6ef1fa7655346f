package intent

import (
	"slices"
	"strings"
)

// Owner returns the NIC that owns the port of n: the interface on the DPU's own system if the
// card is a DPU. ok is false if n owns its port itself.
func (f *Fabric) Owner(n *NIC) (owner *NIC, ok bool) {
	if n.DPU.V == (Endpoint{}) {
		return nil, false
	}
	if h := f.Host(n.DPU.V.Device); h != nil {
		owner = h.NIC(n.DPU.V.Port)
	}
	return owner, owner != nil
}

// side is the other side of the NICs on one line. The part before the slash runs in step with the
// hosts, the part after it with the NICs.
type side struct {
	pos     Pos
	devices opt[string]
	port    string
}

// sides resolves the other side for each NIC name of a line; nil if none is stated.
func (r *resolver) sides(o opt[string], names []string) []side {
	if !o.Set {
		return nil
	}
	device, port, _ := strings.Cut(o.V, "/")
	devices, ports := o, o
	devices.V, ports.V = device, port
	of := r.inStep(ports, len(names), "the port of dpu", true)
	if of == nil {
		return nil
	}
	out := make([]side, len(names))
	for i := range out {
		out[i] = side{o.Pos, devices, of[i]}
	}
	return out
}

// dpus sets the other side of each NIC of one entry's hosts. hosts holds nil for a host that
// could not be declared.
func (r *resolver) dpus(hosts []*Host) {
	i := slices.IndexFunc(hosts, func(h *Host) bool { return h != nil })
	if i < 0 {
		return
	}
	for k, n := range hosts[i].NICs {
		if n.side.port == "" {
			continue
		}
		devices := r.inStep(n.side.devices, len(hosts), "the device of dpu", true)
		for i, h := range hosts {
			if h != nil && devices != nil {
				h.NICs[k].DPU = Value[Endpoint]{V: Endpoint{devices[i], n.side.port}, From: Origin{Pos: n.side.pos}}
			}
		}
	}
}

// checkDPUs checks the two sides of each DPU once all hosts and links are known.
func (r *resolver) checkDPUs() {
	first := map[Endpoint]owner{}
	for _, h := range r.out.Hosts {
		for _, n := range h.NICs {
			e, pos := n.DPU.V, n.DPU.From.Pos
			if e == (Endpoint{}) {
				continue
			}
			name := h.Name + "/" + n.Name
			other, known := r.out.Owner(n)
			o, taken := first[e]
			switch {
			case !known && r.incomplete: // it may be in an invalid part
			case !known:
				r.problems.addf(pos, "list the system of the card as a host, with its port in nics", "NIC %q names %s in dpu, but no host of the intent has such a NIC", name, e)
			case other.Host == h:
				r.problems.addf(pos, "", "NIC %q names a NIC of the same host in dpu", name)
			case other.DPU.V != (Endpoint{}):
				r.problems.addf(pos, "", "NIC %q names %s in dpu, but that NIC does not own its port either", name, e)
			case n.Link != nil:
				r.problems.addf(n.Link.Pos, "write "+e.String()+" there", "the link ends at NIC %q, and its port belongs to %s", name, e)
			case taken:
				r.problems.addf(pos, "", "NIC %q names %s in dpu, but so does NIC %q at %s", name, e, o.name, o.pos)
			}
			first[e] = owner{name, pos}
		}
	}
}

// reportOwnerOnlySettings reports settings of a NIC that belong to the side that owns the port.
func (r *resolver) reportOwnerOnlySettings(v *rawNIC) {
	for _, k := range []struct {
		key string
		pos Pos
		set bool
	}{
		{"buffers", v.Buffers.Pos, v.Buffers.Set}, {"willing", v.Willing.Pos, v.Willing.Set}, {"stallPrevention", v.StallPrevention.Pos, v.StallPrevention.Set},
		{"dcqcn", v.DCQCN.Pos, v.DCQCN.V != nil}, {"dcbx", v.DCBX.Pos, v.DCBX.Set}, {"relaxedOrdering", v.RelaxedOrdering.Pos, v.RelaxedOrdering.Set},
		{"sfs", v.SFs.count().Pos, v.SFs.count().Set},
	} {
		if k.set {
			r.problems.addf(k.pos, "", "%s must be set on %s, the NIC that owns the port", k.key, brief(v.DPU.V))
		}
	}
}
