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

// This file supports AMD's cards: their tool, nicctl, provides what other drivers have in dcbnl and
// ethtool.

// cards is the state of a host's AMD cards, read once for all of its ports.
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

// card returns the card of a port. If known holds a state that was read before, the tool is not run
// again.
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

// ionic reads the settings that other drivers report through dcbnl and ethtool.
func (r reader) ionic(known *cards) {
	r.recordMissing(nic.NotInDriver, nic.FieldDCBX, nic.FieldCable, nic.FieldBuffers, nic.FieldWilling, nic.FieldCNPPriority)
	told := []string{nic.FieldLinkPause, nic.FieldTrust, nic.FieldDSCP, nic.FieldPFC, nic.FieldETS, nic.FieldECN, nic.FieldCNPDSCP, nic.FieldDCQCN}
	if r.virtual {
		r.recordMissing("nicctl sets the physical function", append(told, nic.FieldDCB)...)
		return
	}
	c, err := r.card(r.ctx, r.device, known)
	if err != nil {
		r.recordMissing(r.hinted(err), append(told, nic.FieldDCB)...)
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
			r.recordMissing(clip(why), m.fields...)
		}
	}
	if p.Pause.Set {
		r.p.LinkPause = qos.Of(p.Pause.V.Link())
	}
	r.p.Trust, r.p.DSCP = p.Trust, p.DSCP
	if p.Pause.Set && p.PFC.Set {
		// The port pauses no priority unless its pause type is PFC, even if priorities are set to
		// no-drop.
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

// hinted returns the reason and the hint of an error.
func (m *Machine) hinted(err error) string {
	why := m.explainError(err)
	if advice := hint.Of(err); advice != "" {
		why += " (" + clip(advice) + ")"
	}
	return why
}

// ets converts the schedule to an ETS in which traffic class n serves priority n. A priority
// without a DSCP carries no traffic, so its share is ignored. A priority that is the only one with
// a DSCP has the whole link, even if a new card shows no share.
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

// dcqcnOf stores what all DCQCN profiles of the device have in common, because applications choose
// the profile of a queue pair.
func (r reader) dcqcnOf(c *card) {
	v, err := c.congestion()
	if err != nil {
		r.recordMissing(r.explainError(err), nic.FieldECN, nic.FieldCNPDSCP, nic.FieldDCQCN)
		return
	}
	r.p.ECN = qos.Of(v.ECN.NP)
	if v.Number != nil {
		r.p.CNPDSCP = qos.Of(*v.Number)
	} else {
		r.recordMissing("nicctl does not show one DSCP of congestion notifications for all profiles, or DCQCN is off", nic.FieldCNPDSCP)
	}
	if len(c.dev.Profiles) == 1 && len(c.dev.Profiles[0].Params) > 0 {
		r.p.DCQCN = maps.Clone(c.dev.Profiles[0].Params)
	} else {
		r.recordMissing("nicctl shows no profile, or several", nic.FieldDCQCN)
	}
}

// everyPriority stands for a setting that a card has only for all priorities together.
const everyPriority qos.PrioritySet = 0xff

// congestion returns whether all DCQCN profiles are on, and the DSCP of their notifications if it
// is the same for all.
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
