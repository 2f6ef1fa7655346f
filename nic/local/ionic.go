package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/nicctl"
)

// AMD's cards: their tool has what other drivers have in dcbnl and ethtool.

// cards are the AMD cards of a host, read once for all of its ports.
type cards struct {
	state *nicctl.State
	err   error
}

// card is one port of a card with its RDMA device.
type card struct {
	tool *nicctl.Tool
	port *nicctl.Port
	dev  *nicctl.Device
}

// card reads the card of a port. A state that was read before saves a run of the tool.
func (m *Machine) card(ctx context.Context, d *device, known *cards) (*card, error) {
	if d.rdma == "" {
		return nil, fmt.Errorf("nicctl names ports by their RDMA device: %w", errNoRDMA)
	}
	if m.Tools == nil {
		return nil, nicctl.ErrNoTool
	}
	tool := nicctl.New(m.Tools)
	if known == nil {
		known = &cards{}
	}
	if known.state == nil && known.err == nil {
		known.state, known.err = tool.Read(ctx)
	}
	if known.err != nil {
		return nil, known.err
	}
	mac, _ := m.text(m.sysNet(d.name, "address"))
	port, dev, err := known.state.Find(d.rdma, mac)
	return &card{tool, port, dev}, err
}

// ionic reads what dcbnl and ethtool tell of the other drivers.
func (r reader) ionic(known *cards) {
	r.misses(nic.NotInDriver, nic.FieldDCBX, nic.FieldCable, nic.FieldBuffers, nic.FieldWilling, nic.FieldCNPPriority)
	told := []string{nic.FieldLinkPause, nic.FieldTrust, nic.FieldDSCP, nic.FieldPFC, nic.FieldETS, nic.FieldECN, nic.FieldCNPDSCP, nic.FieldDCQCN}
	if r.virtual {
		r.misses("nicctl sets the physical function", append(told, nic.FieldDCB)...)
		return
	}
	c, err := r.card(r.ctx, r.device, known)
	if err != nil {
		r.misses(r.hinted(err), append(told, nic.FieldDCB)...)
		return
	}
	p := c.port
	for _, m := range []struct {
		part   string
		fields []string
	}{
		{nicctl.PartPause, []string{nic.FieldLinkPause, nic.FieldPFC}}, {nicctl.PartPFC, []string{nic.FieldPFC}},
		{nicctl.PartClassification, []string{nic.FieldTrust}}, {nicctl.PartDSCP, []string{nic.FieldDSCP}}, {nicctl.PartScheduling, []string{nic.FieldETS}},
	} {
		if why := p.Missing[m.part]; why != "" {
			r.misses(clip(why), m.fields...)
		}
	}
	if p.Pause.Set {
		r.p.LinkPause = qos.Of(p.Pause.V.Link())
	}
	r.p.Trust, r.p.DSCP = p.Trust, p.DSCP
	if p.Pause.Set && p.PFC.Set {
		// No-drop priorities pause nothing while the port does not pause by priority.
		mask := p.PFC.V
		if !p.Pause.V.PFC() {
			mask = 0
		}
		r.p.PFC = qos.Of(mask)
	}
	if p.Scheduling.Set {
		r.p.ETS = qos.Of(c.ets())
	}
	r.dcqcnOf(c)
}

// hinted is why with the hint of an error.
func (m *Machine) hinted(err error) string {
	why := m.why(err)
	if advice := hint.Of(err); advice != "" {
		why += " (" + clip(advice) + ")"
	}
	return why
}

// ets is the schedule as traffic classes, of which priority n has number n. A
// priority without a DSCP carries nothing, whatever its share is; one that is alone
// has the whole link, also where a new card shows no share.
func (c *card) ets() nic.ETS {
	var e nic.ETS
	var used []int
	shares := false
	for prio, s := range c.port.Scheduling.V {
		e.TSA[prio], e.PriorityToTC[prio] = nic.TSAETS, int8(prio)
		if c.port.DSCP.Set && !slices.Contains(c.port.DSCP.V[:], int8(prio)) {
			continue
		}
		used = append(used, prio)
		e.Bandwidth[prio] = s.Percent
		if s.Strict {
			e.TSA[prio] = nic.TSAStrict
		}
		shares = shares || s.Strict || s.Percent > 0
	}
	if len(used) == 1 && !shares {
		e.Bandwidth[used[0]] = 100
	}
	return e
}

// dcqcnOf takes what all profiles of the device agree in: which of them a queue
// pair uses is the application's choice.
func (r reader) dcqcnOf(c *card) {
	v, err := c.congestion()
	if err != nil {
		r.misses(r.why(err), nic.FieldECN, nic.FieldCNPDSCP, nic.FieldDCQCN)
		return
	}
	r.p.ECN = qos.Of(v.ECN.NP)
	if v.Number != nil {
		r.p.CNPDSCP = qos.Of(*v.Number)
	} else {
		r.misses("nicctl does not show one DSCP of congestion notifications for all profiles, or DCQCN is off", nic.FieldCNPDSCP)
	}
	if len(c.dev.Profiles) == 1 && len(c.dev.Profiles[0].Params) > 0 {
		r.p.DCQCN = maps.Clone(c.dev.Profiles[0].Params)
	} else {
		r.misses("nicctl shows none, or several profiles", nic.FieldDCQCN)
	}
}

// everyPriority stands for what a card has for all priorities or none.
const everyPriority qos.PrioritySet = 0xff

// congestion is whether all DCQCN profiles are on, and the DSCP of their
// notifications where that is one.
func (c *card) congestion() (Value, error) {
	if len(c.dev.Profiles) == 0 {
		return Value{}, fmt.Errorf("nicctl shows no DCQCN profile of %s: %w", c.dev.Name, ErrUnsupported)
	}
	v := Value{ECN: &ECN{NP: everyPriority, RP: everyPriority, Exactly: true}}
	first := c.dev.Profiles[0].CNPDSCP
	one := first.Set
	for _, p := range c.dev.Profiles {
		if !p.Enabled.Set {
			return v, fmt.Errorf("nicctl does not show whether DCQCN profile %d of %s is on: %w", p.ID, c.dev.Name, nicctl.ErrOutput)
		}
		if !p.Enabled.V {
			v.ECN.NP, v.ECN.RP = 0, 0
		}
		one = one && p.CNPDSCP == first
	}
	if one {
		v.Number = &first.V
	}
	return v, nil
}
