package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// nicDevices is the resource of cards in NVIDIA's NIC configuration operator: its
// spec.configuration is what the NicConfigurationTemplate matching the card requests, its status
// has the Node and the ports (github.com/Mellanox/nic-configuration-operator, api/v1alpha1, as
// of v1.3.1 and of August 2026). A NicClusterPolicy of the network operator installs that
// operator and the driver, but sets none of this itself.
var nicDevices = schema.GroupVersionKind{Group: "configuration.net.nvidia.com", Version: "v1alpha1", Kind: "NicDeviceList"}

// nicDevice has the fields that are compared.
type nicDevice struct {
	Metadata struct{ Name string }
	Spec     struct {
		Configuration struct {
			ResetToDefault bool
			Template       *nicTemplate
		}
	}
	Status struct {
		Node  string
		Ports []struct{ NetworkInterface string }
	}
}

type nicTemplate struct {
	LinkType      string
	RoceOptimized struct {
		Enabled  bool
		RoceMode int
		Qos      *nicQoS
	}
	RawNvConfig []struct{ Name, Value string }
}

type nicQoS struct {
	Trust, Pfc    string
	Tos, CableLen int
	Ecn           *struct {
		Enabled  bool
		Priority int
	}
	PauseFrames *struct{ Enabled bool }
}

// The values set by roceOptimized if the template has no qos (pkg/configuration).
const (
	nvidiaTrust = "dscp"
	nvidiaPFC   = "0,0,0,1,0,0,0,0"
)

// nvidiaFirmware lists the firmware settings that roceOptimized writes, with their values and
// without the port number. It also enables congestion control for all priorities
// (ROCE_CC_PRIO_MASK 255), which includes those of any intent.
var nvidiaFirmware = []struct {
	name string
	is   int
	want func(*nic.Port) int
}{
	{"CNP_DSCP", 4, func(p *nic.Port) int { return p.Wanted.V.CNPDSCP }},
	{"CNP_802P_PRIO", 6, func(p *nic.Port) int { return p.Wanted.V.CNPPriority }},
}

const priorityMask = "ROCE_CC_PRIO_MASK"

// rivals compares the settings of NVIDIA's NIC configuration operator with the intent. Each host
// of the intent is the Node with the same name.
func (d *deps) rivals(ctx context.Context, f *intent.Fabric) []checks.Finding {
	if d.o.NICDevices == "" || len(f.Hosts) == 0 {
		return nil
	}
	unknown := func(why string) []checks.Finding {
		return []checks.Finding{{ID: fleet.Unread, Severity: checks.Info, Unchecked: "the settings of NVIDIA's NIC configuration operator", Because: "its NicDevices cannot be read",
			What: fmt.Sprintf("cannot read the NicDevices in namespace %s: %s", d.o.NICDevices, why), Fix: "allow the operator to list nicdevices there: operator.nicDevices of the chart does"}}
	}
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(nicDevices)
	switch err := d.direct.List(ctx, &all, client.InNamespace(d.o.NICDevices)); {
	case meta.IsNoMatchError(err):
		return nil // NVIDIA's operator is not installed
	case err != nil:
		return unknown(err.Error())
	}
	var out []checks.Finding
	for i := range all.Items {
		card := nicDevice{}
		b, err := all.Items[i].MarshalJSON()
		if err == nil {
			err = json.Unmarshal(b, &card)
		}
		if err != nil {
			out = append(out, unknown(all.Items[i].GetName()+": "+err.Error())...)
			continue
		}
		if h := f.Host(card.Status.Node); h != nil {
			desired, _ := nic.Desired(f, h)
			out = append(out, card.against(h, desired)...)
		}
	}
	return out
}

// against returns the settings of a card that contradict the intent, merging ports with the same
// contradiction.
func (d *nicDevice) against(h *intent.Host, desired *nic.Host) (out []checks.Finding) {
	type contradiction struct{ where, text string }
	var all ordered.Groups[contradiction, string]
	for i, port := range d.Status.Ports {
		want := desired.Ports[port.NetworkInterface]
		if want == nil {
			continue
		}
		for _, c := range d.contradictions(i+1, want) {
			where := want.From[c.field]
			if where == "" {
				where = h.Pos.String()
			}
			all.Add(contradiction{where, c.text}, want.Name)
		}
	}
	for c, ports := range all.All() {
		out = append(out, checks.Finding{
			ID: "NIC-12", Severity: checks.Warning, Device: h.Name, Ports: ports, Where: c.where,
			What: fmt.Sprintf("NVIDIA's NIC configuration operator (NicDevice %s) %s", d.Metadata.Name, c.text),
			Fix:  "change its NicConfigurationTemplate to what the intent says, or let only one of the two set these cards",
		})
	}
	return out
}

type nicContradiction struct{ field, text string }

// contradictions returns the contradictions of one port, the nth of the card.
func (d *nicDevice) contradictions(nth int, want *nic.Port) (out []nicContradiction) {
	t := d.Spec.Configuration.Template
	switch {
	case d.Spec.Configuration.ResetToDefault:
		return []nicContradiction{{nic.FieldPort, "resets the card to its firmware defaults (resetToDefault)"}}
	case t == nil:
		return nil
	case t.LinkType == "Infiniband":
		return []nicContradiction{{nic.FieldPort, "sets the link type to InfiniBand, the intent needs Ethernet"}}
	}
	if t.RoceOptimized.Enabled {
		for _, w := range t.driver() {
			w.Ports = []string{want.Name}
			if rival, c := w.Against(want.Name, want, want); rival == nic.OtherRival {
				out = append(out, nicContradiction{w.Field, fmt.Sprintf("sets %s to %s, the intent says %s", w.Field, c.Old, c.New)})
			}
		}
		q := t.qos()
		if q.Trust == "pfc" && want.Trust.Set && want.Trust.V == qos.TrustDSCP {
			out = append(out, nicContradiction{nic.FieldTrust, "sets trust to pfc, the intent says dscp"})
		}
		if e := q.Ecn; e != nil && !e.Enabled && want.ECN.V.Has(e.Priority) {
			out = append(out, nicContradiction{nic.FieldECN, fmt.Sprintf("turns congestion control off for priority %d, which the intent has on", e.Priority)})
		}
	}
	if !want.Wanted.Set {
		return out
	}
	raw := func(name string) (is int, ok bool) {
		for _, v := range t.RawNvConfig {
			if v.Name == name {
				n, err := strconv.ParseInt(v.Value, 0, 32)
				return int(n), err == nil
			}
		}
		return 0, false
	}
	for _, s := range nvidiaFirmware {
		name := fmt.Sprintf("%s_P%d", s.name, nth)
		is, ok := raw(name)
		if !ok && t.RoceOptimized.Enabled {
			is, ok = s.is, true
		}
		if say := s.want(want); ok && is != say {
			out = append(out, nicContradiction{nic.FieldNV, fmt.Sprintf("sets %s to %d, the intent says %d", name, is, say)})
		}
	}
	name, must := fmt.Sprintf("%s_P%d", priorityMask, nth), want.Wanted.V.CCPriorities
	if is, ok := raw(name); ok && qos.PrioritySet(is)&must != must {
		out = append(out, nicContradiction{nic.FieldNV, fmt.Sprintf("sets %s to %d, which leaves out priorities %s of the intent", name, is, must&^qos.PrioritySet(is))})
	}
	return out
}

// qos returns the qos settings of roceOptimized.
func (t *nicTemplate) qos() *nicQoS {
	if q := t.RoceOptimized.Qos; q != nil {
		return q
	}
	return &nicQoS{Trust: nvidiaTrust, Pfc: nvidiaPFC}
}

// driver returns the settings that roceOptimized makes in the driver, one per field. The other
// value of trust is "pfc", which does not mean DSCP; NVIDIA does not document it.
func (t *nicTemplate) driver() (out []nic.Writer) {
	set := func(field string, p nic.Port) { out = append(out, nic.Writer{Field: field, Sets: &p}) }
	q := t.qos()
	if mask, ok := priorities(q.Pfc); ok {
		set(nic.FieldPFC, nic.Port{PFC: qos.Of(mask)})
	}
	if strings.TrimPrefix(q.Trust, "trust-") == nvidiaTrust {
		set(nic.FieldTrust, nic.Port{Trust: qos.Of(qos.TrustDSCP)})
	}
	if q.Tos != 0 {
		set(nic.FieldToS, nic.Port{ToS: qos.Of(q.Tos)})
	}
	if q.CableLen != 0 {
		set(nic.FieldCable, nic.Port{Cable: qos.Of(units.Length(q.CableLen))})
	}
	if q.PauseFrames != nil {
		set(nic.FieldLinkPause, nic.Port{LinkPause: qos.Of(q.PauseFrames.Enabled)})
	}
	if t.RoceOptimized.RoceMode == 1 {
		set(nic.FieldMode, nic.Port{Mode: qos.Of("IB/RoCE v1")})
	}
	return out
}

// priorities parses "0,0,0,1,0,0,0,0".
func priorities(text string) (out qos.PrioritySet, ok bool) {
	flags := strings.Split(text, ",")
	if len(flags) != 8 {
		return 0, false
	}
	for i, f := range flags {
		switch f {
		case "1":
			out |= 1 << i
		case "0":
		default:
			return 0, false
		}
	}
	return out, true
}
