package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/nicctl"
)

// strictGbps is the rate limit for a strict priority that has none yet: the firmware requires a
// limit, and AMD's recipe uses this one for congestion notifications (ROCm documentation,
// "Configure QoS and PFC").
const strictGbps = 10

// ionicOps maps the fields that nicctl supports to their operations.
var ionicOps = map[string]op{
	nic.FieldDSCP: ionicOp(func(c *card) (Value, error) {
		p := c.port
		if !p.Trust.Set {
			return Value{}, missing(p, nicctl.PartClassification)
		}
		m := p.DSCP.V
		if !p.DSCP.Set {
			if p.Trust.V == qos.TrustDSCP {
				return Value{}, missing(p, nicctl.PartDSCP)
			}
			for d := range m {
				m[d] = qos.Unmanaged // not shown while trusting PCP, and not restored
			}
		}
		return Value{DSCP: &m, Trust: p.Trust.V}, nil
	}, writeIonicDSCP),
	nic.FieldPFC: ionicOp(func(c *card) (Value, error) {
		p := c.port
		if !p.Pause.Set || !p.PFC.Set {
			return Value{}, missing(p, nicctl.PartPause, nicctl.PartPFC)
		}
		return Value{PFC: &p.PFC.V, Pause: &Pause{Type: p.Pause.V.Type, RX: p.Pause.V.RX, TX: p.Pause.V.TX}}, nil
	}, writeIonicPFC),
	nic.FieldETS: ionicOp(func(c *card) (Value, error) {
		p := c.port
		if !p.Scheduling.Set {
			return Value{}, missing(p, nicctl.PartScheduling)
		}
		e, rates := c.ets(), [qos.NumPriorities]int{}
		for prio, s := range p.Scheduling.V {
			rates[prio] = s.Gbps
		}
		return Value{ETS: &e, Rates: &rates}, nil
	}, writeIonicETS),
	nic.FieldECN: ionicOp((*card).congestion, writeIonicDCQCN),
}

func ionicOp(read func(*card) (Value, error), write func(context.Context, *card, Value) error) op {
	return op{
		read: func(m *Machine, ctx context.Context, d *device) (Value, error) {
			c, err := m.card(ctx, d, nil)
			if err != nil {
				return Value{}, err
			}
			return read(c)
		},
		write: func(m *Machine, ctx context.Context, d *device, want, _ Value) error {
			c, err := m.card(ctx, d, nil)
			if err != nil {
				return err
			}
			return write(ctx, c, want)
		},
	}
}

func missing(p *nicctl.Port, parts ...string) error {
	why := ""
	for _, part := range parts {
		why = cmp.Or(why, p.Missing[part])
	}
	return fmt.Errorf("%w: %s", nicctl.ErrOutput, clip(why))
}

// writeIonicDSCP sets what differs, beginning with the classification.
func writeIonicDSCP(ctx context.Context, c *card, want Value) error {
	if want.Trust != "" && (!c.port.Trust.Set || c.port.Trust.V != want.Trust) {
		if err := c.tool.SetClassification(ctx, want.Trust); err != nil {
			return err
		}
	}
	todo := *want.DSCP
	left := false
	for d, prio := range todo {
		if c.port.DSCP.Set && c.port.DSCP.V[d] == prio {
			todo[d] = qos.Unmanaged
		}
		left = left || todo[d] >= 0
	}
	if !left {
		return nil
	}
	return c.tool.MapDSCP(ctx, c.port.ID, todo)
}

// writeIonicPFC sets the pause type to PFC before it sets the priorities.
func writeIonicPFC(ctx context.Context, c *card, want Value) error {
	if w := want.Pause; w != nil {
		p := nicctl.Pause{Type: w.Type, RX: w.RX, TX: w.TX}
		if !c.port.Pause.Set || c.port.Pause.V != p {
			if err := c.tool.SetPause(ctx, c.port.ID, p); err != nil {
				return err
			}
		}
	}
	have := c.port.PFC.V
	if err := c.tool.SetPFC(ctx, c.port.ID, have&^*want.PFC, false); err != nil {
		return err
	}
	return c.tool.SetPFC(ctx, c.port.ID, *want.PFC&^have, true)
}

func writeIonicETS(ctx context.Context, c *card, want Value) error {
	var s nicctl.Scheduling
	for prio := range s {
		if want.ETS.PriorityToTC[prio] != int8(prio) {
			return fmt.Errorf("priority %d in traffic class %d: %w", prio, want.ETS.PriorityToTC[prio], dcb.ErrInvalid)
		}
		s[prio] = nicctl.Share{Percent: want.ETS.Bandwidth[prio], Gbps: c.port.Scheduling.V[prio].Gbps}
		switch want.ETS.TSA[prio] {
		case nic.TSAETS:
			s[prio].Shown = s[prio].Percent > 0
			if !c.port.Scheduling.V[prio].Strict {
				break
			}
			s[prio].Gbps = 0 // the rate limit of the former strict class
		case nic.TSAStrict:
			s[prio].Shown, s[prio].Strict, s[prio].Percent = true, true, 0
			if s[prio].Gbps == 0 {
				s[prio].Gbps = strictGbps
			}
		default:
			return fmt.Errorf("priority %d %s: %w", prio, clip(string(want.ETS.TSA[prio])), dcb.ErrInvalid)
		}
		if want.Rates != nil {
			s[prio].Gbps = want.Rates[prio]
		}
	}
	return c.tool.SetScheduling(ctx, c.port.ID, s)
}

// writeIonicDCQCN turns all profiles on, with the given DSCP for notifications, or off.
func writeIonicDCQCN(ctx context.Context, c *card, want Value) error {
	for _, p := range c.dev.Profiles {
		var err error
		switch {
		case want.ECN.NP|want.ECN.RP == 0:
			if !p.Enabled.Set || p.Enabled.V {
				err = c.tool.DisableDCQCN(ctx, c.dev.Name, p.ID)
			}
		case want.Number == nil:
			err = fmt.Errorf("congestion control without a DSCP of its notifications: %w", ErrUnsupported)
		case p.Enabled != qos.Of(true) || p.CNPDSCP != qos.Of(*want.Number):
			err = c.tool.SetDCQCN(ctx, c.dev.Name, p.ID, *want.Number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wantedIonic returns the wanted value for an nicctl step.
func wantedIonic(field string, have, want *nic.Port) (v Value, ok bool) {
	switch field {
	case nic.FieldDSCP:
		m := want.DSCP.V
		if want.Trust.V != qos.TrustDSCP {
			for d := range m {
				m[d] = qos.Unmanaged
			}
		}
		return Value{DSCP: &m, Trust: want.Trust.V}, want.Trust.Set
	case nic.FieldPFC:
		v := Value{PFC: &want.PFC.V}
		if want.PFC.V != 0 {
			v.Pause = &Pause{Type: nicctl.PausePFC, RX: true, TX: true}
		}
		return v, want.PFC.Set
	case nic.FieldETS:
		ets := want.ETSFor(have)
		return Value{ETS: &ets.V}, ets.Set
	case nic.FieldECN:
		v := Value{ECN: &ECN{NP: want.ECN.V, RP: want.ECN.V}}
		if want.CNPDSCP.Set {
			v.Number = &want.CNPDSCP.V
		}
		return v, want.ECN.Set
	}
	return v, false
}

// onIonic returns the field of the step that also changes the given field.
func onIonic(field string) string {
	switch field {
	case nic.FieldLinkPause:
		return nic.FieldPFC
	case nic.FieldCNPDSCP:
		return nic.FieldECN
	}
	return field
}

// sameAMD compares the parts that only nicctl steps use.
func (v Value) sameAMD(have Value) bool {
	return (v.Trust == "" || v.Trust == have.Trust) && (v.PFC == nil || kept(v.Pause, have.Pause)) &&
		kept(v.Rates, have.Rates) && (v.ECN == nil || kept(v.Number, have.Number))
}

// kept reports whether a value equals the wanted one, or none is wanted.
func kept[T comparable](want, have *T) bool { return want == nil || have != nil && *want == *have }

// isAMD reports whether nicctl handles the field for ports of the driver.
func isAMD(driver, field string) bool {
	_, ok := ionicOps[field]
	return driver == nic.DriverIonic && ok
}

// opOf returns how a field of a port is read and written. ethtool's pause setting is not used for
// ionic, because ionic takes the PFC pause for link pause and turns PFC off when link pause is set
// (ionic_ethtool.c, ionic_set_pauseparam).
func opOf(d *device, field string) (op, bool) {
	if d.driver == nic.DriverIonic {
		if o, ok := ionicOps[field]; ok {
			return o, true
		}
		if !slices.Contains([]string{nic.FieldMode, nic.FieldToS, nic.FieldTrafficClass, nic.FieldMTU, nic.FieldRings, nic.FieldMaxReadRequest, nic.FieldVFs, nic.FieldVFTrust, nic.FieldVFTag}, field) {
			return op{}, false
		}
	}
	o, ok := ops[field]
	return o, ok
}
