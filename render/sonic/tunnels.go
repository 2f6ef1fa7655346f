package sonic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// tunnels reads the tunnels that the switch terminates. Tunnels of TUNNEL have one DSCP mode for
// both directions, and both ECN modes at the exit copy marks to the inner header
// (sonic-yang-models:sonic-tunnel.yang, sonic-swss:orchagent/muxorch.cpp; SAI saitunnel.h).
// Community releases leave the modes of VXLAN to SAI and do not show them
// (sonic-swss:orchagent/vxlanorch.cpp); Enterprise SONiC configures them.
func (d *decoder) tunnels() {
	n := len(d.cfg[TTunnel]) + len(d.cfg[TVXLAN])
	if n == 0 {
		return
	}
	d.dev.Tunnels = make(map[string]qos.Tunnel, n)
	for name, row := range d.cfg[TTunnel] {
		t := qos.Tunnel{Kind: qos.TunnelIP}
		t.Encap = d.dscpMode(TTunnel, name, "dscp_mode", row)
		t.Decap = t.Encap
		if row["encap_tc_to_dscp_map"] != "" {
			t.Encap = qos.Opt[qos.DSCPMode]{} // the map sets the outer DSCP
		}
		switch v := row["ecn_mode"]; v {
		case "standard", "copy_from_outer":
			t.ECNDecap = qos.Of(true)
		case "":
		default:
			d.note(TTunnel, name, "ecn_mode", v, "not a mode that this tool knows")
		}
		if row["encap_ecn_mode"] == "standard" {
			t.ECNEncap = qos.Of(true)
		}
		d.dev.Tunnels[TTunnel+"|"+name] = t
	}
	for name, row := range d.cfg[TVXLAN] {
		t := qos.Tunnel{Kind: qos.TunnelVXLAN}
		t.Encap = d.dscpMode(TVXLAN, name, "qos-mode", row)
		t.Decap = t.Encap
		if v, ok := d.number(TVXLAN, name, "dscp", row); ok && t.Encap.V == qos.DSCPPipe && v >= 0 && v < qos.NumDSCP {
			t.OuterDSCP = qos.Of(int(v))
		}
		d.dev.Tunnels[TVXLAN+"|"+name] = t
	}
}

func (d *decoder) dscpMode(table, key, field string, row Row) (mode qos.Opt[qos.DSCPMode]) {
	switch v := row[field]; v {
	case string(qos.DSCPUniform), string(qos.DSCPPipe):
		mode = qos.Of(qos.DSCPMode(v))
	case "":
	default:
		d.note(table, key, field, v, "not a mode that this tool knows")
	}
	return mode
}
