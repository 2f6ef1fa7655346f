package nic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Explanation is what the intent means for one NIC.
type Explanation struct {
	Host     string      `json:"host"`
	Port     string      `json:"port"`
	RDMA     string      `json:"rdma,omitempty"`
	Owner    string      `json:"owner,omitempty"`  // side of the card that owns the port
	Select   string      `json:"select,omitempty"` // selector that chooses the interface on the host
	Peer     string      `json:"peer,omitempty"`
	Values   []Explained `json:"values"`
	Classes  []ClassPath `json:"classes"`
	Advice   []string    `json:"advice,omitempty"` // recommendations for settings that the tool does not make
	Problems []Problem   `json:"problems,omitempty"`

	kind string // driver, if the name of the RDMA device reveals it
}

// Explained is a value with its origin, its meaning and the place where it is stored.
type Explained struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	How      string `json:"how,omitempty"` // meaning, or how it was calculated
	From     string `json:"from"`          // line of the intent, or a rule
	Layer    Layer  `json:"layer,omitempty"`
	Stored   string `json:"stored,omitempty"`   // where the host keeps the value
	Lifetime string `json:"lifetime,omitempty"` // how long the value lasts
}

// ClassPath describes how a traffic class passes through the NIC.
type ClassPath struct {
	Name     string `json:"name"`
	DSCP     string `json:"dscp"`
	ToS      string `json:"tos"` // ToS values of its first DSCP: "104 or 106"
	Priority int    `json:"priority"`
	TC       int    `json:"traffic_class"`
	Lossless bool   `json:"lossless"`
	Share    string `json:"share"`
	From     string `json:"from"`
}

var lifetimes = map[Layer]string{
	LayerFirmware: "survives reboots; in force after a reset of the card",
	LayerDriver:   "lost at a reboot and when the driver is loaded again",
	LayerRDMA:     "lost with the RDMA device, and so at a reboot",
}

// Explain explains the settings of one NIC of a host. It returns an error if the NIC is not in the
// intent or has neither an RDMA device nor a link.
func Explain(f *intent.Fabric, h *intent.Host, name string) (*Explanation, error) {
	n := h.NIC(name)
	if n == nil {
		return nil, fmt.Errorf("the intent has no NIC %q of %s", name, h.Name)
	}
	desired, problems := Desired(f, h)
	p := desired.Ports[name]
	if p == nil {
		return nil, fmt.Errorf("NIC %s of %s has neither an RDMA device nor a link", name, h.Name)
	}
	e := &Explanation{Host: h.Name, Port: name, RDMA: p.RDMA, Select: p.Select.V.String(), Owner: p.Owner, kind: driverOf(p.RDMA)}
	if peer, ok := Peer(n); ok {
		e.Peer = peer.String()
	}
	e.Problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Port != name })
	e.driver(p)
	e.uppers(desired.Above(name))
	e.rdma(p)
	e.firmware(p)
	e.classes(settingsOf(f, n), p)
	return e, nil
}

func (e *Explanation) add(p *Port, field, name, value, how, stored string) {
	l := LayerOf(field)
	v := Explained{Name: name, Value: value, How: how, From: p.From[origin(field)], Layer: l, Stored: stored, Lifetime: lifetimes[l]}
	if e.kind != "" && e.kind != DriverMLX5 && (l == LayerFirmware || slices.Contains(mlx5Alone, field)) {
		return
	}
	if o, ok := elsewhere[e.kind][field]; ok {
		if o.stored == "" {
			return
		}
		v.Stored = strings.ReplaceAll(o.stored, "DEVICE", p.RDMA)
		v.How = o.how
		if o.lifetime != "" {
			v.Lifetime = o.lifetime
		}
	}
	e.Values = append(e.Values, v)
}

// show adds a value if the intent sets it.
func show[T any](e *Explanation, p *Port, field, name string, v qos.Opt[T], text func(T) string, how, stored string) {
	if v.Set {
		e.add(p, field, name, text(v.V), how, stored)
	}
}

const dcbnl = "driver, by dcbnl netlink"

func (e *Explanation) driver(p *Port) {
	show(e, p, FieldDCBX, "DCBX owner", p.DCBX, func(o Owner) string { return string(o) }, "the firmware changes nothing by itself", dcbnl)
	show(e, p, FieldLinkPause, "link pause", p.LinkPause, onOff, "it would pause all priorities", "driver, by ethtool")
	show(e, p, FieldRings, "rings", p.Rings, Rings.String, "at most what the device takes (ethtool -g); a change takes the link down for a moment", "driver, by ethtool")
	show(e, p, FieldETS, "ETS", p.ETSFor(&Port{Driver: e.kind}), ETS.String, "priority n is in traffic class n", dcbnl+"; mlx5 forgets it whenever it is loaded")
	show(e, p, FieldWilling, "willing", p.Willing, onOff, "a DCBX peer does not overwrite the settings", dcbnl+" (ETS)")
	show(e, p, FieldBuffers, "receive buffers", p.BufferSpeed, func(speed units.Rate) string {
		return fmt.Sprintf("at least %d B for each lossless one", LosslessBuffer(speed, p.Cable.V, p.MTU.V))
	}, fmt.Sprintf("at %s over %s with packets of %d B; divided by hand until the driver is loaded again", p.BufferSpeed.V, p.Cable.V, p.MTU.V), dcbnl+", mlx5 alone")
	show(e, p, FieldStallPrevention, "stall prevention", p.StallPrevention, clean, "100ms", "driver, settings/pfc_stall_prevention of NVIDIA's own driver alone")
	show(e, p, FieldMaxReadRequest, "max read request", p.MaxReadRequest, func(n int) string { return fmt.Sprintf("%d B", n) }, "on PCIe", "configuration space of the card, by setpci")
	show(e, p, FieldCable, "cable length", p.Cable, units.Length.String, "in whole metres, rounded up", dcbnl+" (PFC delay), mlx5 alone")
	show(e, p, FieldPFC, "PFC mask", p.PFC, maskText, "a change takes the link down for a moment", dcbnl+"; no firmware setting keeps it")
	show(e, p, FieldTrust, "trust", p.Trust, func(t qos.Trust) string { return string(t) }, "mlx5 trusts DSCP as long as its APP table lists one", dcbnl+" (APP table)")
	show(e, p, FieldDSCP, "DSCP to priority", p.DSCP, managedDSCP, "", dcbnl+" (APP table); no firmware setting keeps it")
	if p.RoCEApp.Set && e.kind == DriverBNXT {
		e.add(p, FieldRoCEApp, "RoCE v2", appText(p.RoCEApp.V), fmt.Sprintf("of UDP port %d", RoCEPort), dcbnl+" (APP table)")
	}
	show(e, p, FieldVFs, "VFs", p.VFs, strconv.Itoa, "created if there are none", "sriov_numvfs of the PCI device")
	show(e, p, FieldSFs, "SFs", p.SFs, strconv.Itoa, "created if there are none", "ports of the card's switch, by devlink")
	show(e, p, FieldVFTrust, "trust of VFs", p.VFTrust, clean, "", "driver, by rtnetlink")
	show(e, p, FieldVFTag, "tag of VFs", p.VFTag, Tag.String, "added by the card to all frames of a VF", "driver, by rtnetlink")
	show(e, p, FieldRepresentors, "representors of VFs", p.Representors, onOff, "compared alone", "mode of the switch of the card, by devlink")
	if p.MTU.Set {
		how := ""
		if p.ActiveMTU.Set {
			how = fmt.Sprintf("RDMA payloads of %d B need %d", p.ActiveMTU.V, p.ActiveMTU.V+intent.RDMAOverhead)
		}
		e.add(p, FieldMTU, "MTU", fmt.Sprintf("%d B", p.MTU.V), how, "network interface")
	}
	show(e, p, FieldECN, "congestion control", p.ECN, maskText, "reaction and notification point; further priorities are left on", "driver, ecn/roce_rp and ecn/roce_np of NVIDIA's own driver; with the kernel's only the firmware setting")
}

// uppers adds the bonds and VLANs over the NIC that the intent lists.
func (e *Explanation) uppers(over []*Upper) {
	for _, u := range over {
		add := func(field, name, value, how, stored string) {
			e.Values = append(e.Values, Explained{Name: name + " of " + u.Name, Value: value, How: how, From: u.From[field], Layer: LayerDriver, Stored: stored, Lifetime: lifetimes[LayerDriver]})
		}
		add(FieldMTU, "MTU", fmt.Sprintf("%d B", u.MTU.V), fmt.Sprintf("RDMA by its addresses has payloads of at most %d B", RDMAMTU(u.MTU.V)), "network interface")
		if u.Egress.Set {
			add(FieldEgress, "priority to PCP", u.Egress.V.textOf(u.Egress.V), "of the kernel's priorities; RDMA-CM has that of its ToS", "VLAN, egress-qos-map")
		}
	}
}

func (e *Explanation) rdma(p *Port) {
	dev := cmp.Or(p.RDMA, "DEVICE")
	show(e, p, FieldMode, "RDMA-CM mode", p.Mode, func(m string) string { return m }, "", "RDMA stack, rdma_cm/"+dev+"/ports/1/default_roce_mode in configfs")
	if p.ToS.Set {
		dscp := p.ToS.V >> 2
		how := fmt.Sprintf("DSCP %d is ToS %s: the two low bits are ECN's; of connections that set none", dscp, tosPair(dscp))
		e.add(p, FieldToS, "RDMA-CM ToS", tosText(p.ToS.V), how, "RDMA stack, rdma_cm/"+dev+"/ports/1/default_roce_tos in configfs")
		e.Advice = append(e.Advice, fmt.Sprintf("applications that open queue pairs without RDMA-CM state the class themselves: NCCL_IB_TC=%d, UCX_IB_TRAFFIC_CLASS=%d; 'roce-fabric advise' has the line for each library", p.ToS.V, p.ToS.V))
	}
	show(e, p, FieldTrafficClass, "traffic class", p.TrafficClass, tosText, "of all queue pairs", "RDMA stack, tc/1/traffic_class of "+dev+", NVIDIA's own driver alone")
}

// tosPair names the two ToS values that stand for a DSCP.
func tosPair(dscp int) string { return fmt.Sprintf("%d or %d", dscp<<2, toSOf(dscp)) }

func (e *Explanation) firmware(p *Port) {
	if p.CNPDSCP.Set {
		e.add(p, FieldCNPDSCP, "CNP DSCP", fmt.Sprint(p.CNPDSCP.V), "ToS "+fmt.Sprint(p.CNPDSCP.V<<2), "driver, ecn/roce_np/cnp_dscp or mlx5's debugfs")
		e.add(p, nvField("CNP_DSCP_Pn"), "CNP DSCP", fmt.Sprint(p.CNPDSCP.V), "", "firmware, CNP_DSCP_Pn")
	}
	show(e, p, FieldCNPPriority, "CNP priority", p.CNPPriority, strconv.Itoa, "", "driver, ecn/roce_np/cnp_802p_prio or mlx5's debugfs")
	show(e, p, nvField("CNP_802P_PRIO_Pn"), "CNP priority", p.CNPPriority, strconv.Itoa, "", "firmware, CNP_802P_PRIO_Pn")
	for _, name := range slices.Sorted(maps.Keys(p.DCQCN)) {
		if DCQCNLimit(cmp.Or(e.kind, DriverMLX5), name) == "" {
			e.add(p, FieldDCQCN, "DCQCN "+name, strconv.FormatUint(p.DCQCN[name], 10), "", "driver, ecn/roce_rp and ecn/roce_np of NVIDIA's own driver or mlx5's debugfs")
		}
	}
	show(e, p, FieldRelaxedOrdering, "relaxed ordering", p.RelaxedOrdering, onOff, "writes on PCIe may overtake each other", "firmware, PCI_WR_ORDERING, which ADVANCED_PCI_SETTINGS opens")
	if p.Wanted.Set {
		e.add(p, FieldNV, "congestion control", maskText(p.Wanted.V.CCPriorities), "at least; 255 is all priorities and the cards' default", "firmware, ROCE_CC_PRIO_MASK_Pn")
		if p.Wanted.V.FirmwareLLDPOff {
			e.add(p, FieldNV, "firmware LLDP and DCBX", "off", "the host decides", "firmware, LLDP_NB_DCBX_Pn, LLDP_NB_RX_MODE_Pn, LLDP_NB_TX_MODE_Pn")
		}
	}
}

func (e *Explanation) classes(s *intent.Settings, p *Port) {
	for _, k := range s.Classes {
		c := ClassPath{Name: k.Name, DSCP: qos.FoldInts(k.DSCP.V), Priority: k.Priority.V, TC: k.Priority.V, Lossless: k.Lossless.V, From: k.Pos.String(), ToS: qos.Absent, Share: qos.Absent}
		if k.HostDSCP.V >= 0 {
			c.ToS = tosPair(k.HostDSCP.V)
		}
		if k.Rest {
			c.DSCP = strings.TrimSpace(c.DSCP + " (the rest)")
		}
		if ets := p.ETSFor(&Port{Driver: e.kind}); ets.Set {
			c.TC = int(ets.V.PriorityToTC[c.Priority])
			c.Share = string(ets.V.TSA[c.TC])
			if ets.V.TSA[c.TC] == TSAETS {
				c.Share = fmt.Sprintf("ets %d%%", ets.V.Bandwidth[c.TC])
			}
		}
		e.Classes = append(e.Classes, c)
	}
}

// Lines returns the explanation as lines of plain text without colour.
func (e *Explanation) Lines() []string {
	head := e.Host + " " + e.Port
	if e.RDMA != "" {
		head += " (" + e.RDMA + ")"
	}
	if e.Owner != "" {
		head += ", on the port of " + e.Owner
	}
	if e.Select != "" {
		head += ", chosen by " + e.Select
	}
	if e.Peer != "" {
		head += " to " + e.Peer
	}
	out := []string{head, "", "classes"}
	for _, c := range e.Classes {
		kind := "lossy"
		if c.Lossless {
			kind = "lossless"
		}
		out = append(out, fmt.Sprintf("  %s: DSCP %s (ToS %s) -> priority %d -> traffic class %d, %s, %s  [%s]", c.Name, c.DSCP, c.ToS, c.Priority, c.TC, c.Share, kind, c.From))
	}
	for _, l := range []Layer{LayerDriver, LayerRDMA, LayerFirmware} {
		values := slices.DeleteFunc(slices.Clone(e.Values), func(v Explained) bool { return v.Layer != l })
		if len(values) == 0 {
			continue
		}
		out = append(out, "", fmt.Sprintf("%s: %s", l, lifetimes[l]))
		for _, v := range values {
			line := "  " + v.Name + ": " + v.Value
			if v.How != "" {
				line += " (" + v.How + ")"
			}
			where := "    in: " + v.Stored
			if v.Lifetime != lifetimes[l] {
				where += "; " + v.Lifetime
			}
			out = append(out, line+"  ["+v.From+"]", where)
		}
	}
	if len(e.Advice)+len(e.Problems) > 0 {
		out = append(out, "", "to know")
	}
	for _, a := range e.Advice {
		out = append(out, "  "+a)
	}
	for _, p := range e.Problems {
		line := "  " + p.What
		if p.Hint != "" {
			line += ": " + p.Hint
		}
		out = append(out, line+"  ["+p.Where+"]")
	}
	return out
}
