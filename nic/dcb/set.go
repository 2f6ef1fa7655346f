package dcb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// wish is a wanted value of one setting.
type wish struct {
	// fault says why no device can have the value; "" if a device may.
	fault string
	// what names the setting; has reports whether the driver supports it.
	what string
	has  func(*State) bool
	// diff describes how a state differs from the wanted value; "" if it does not.
	diff func(*State) string
	// encode builds the write, given the state before it.
	encode func(before *State) (netlink.Message, error)
	cmd    uint8
	// vague means that a rejection is not an error if the setting has the wanted value.
	vague bool
}

// set reads the state, writes if it differs from the wish, and reads again.
func (c *Client) set(ctx context.Context, op, ifname string, w wish) (changed bool, err error) {
	p, err := c.begin(ctx, op, ifname)
	if err != nil {
		return false, err
	}
	defer p.end()
	if w.fault != "" {
		return false, p.fail(ErrInvalid, w.fault)
	}
	before, err := p.get()
	if err != nil {
		return false, err
	}
	if !w.has(before) {
		return false, p.unsupported(w.what)
	}
	if w.diff(before) == "" {
		return false, nil
	}
	req, err := w.encode(before)
	if err != nil {
		return false, err
	}
	no, untouched, err := p.write(req, w.cmd)
	if err != nil {
		return !untouched, err
	}
	var refusal error
	if no != 0 {
		refusal = p.refusal(w.cmd, no)
	}
	after, err := p.get()
	if err != nil {
		return true, errors.Join(refusal, err)
	}
	changed = !after.sameSettings(before)
	if !w.has(after) {
		return changed, errors.Join(refusal, p.unsupported(w.what))
	}
	switch diff := w.diff(after); {
	case refusal != nil && (diff != "" || !w.vague):
		return changed, refusal
	case diff == "":
		return changed, nil
	case changed:
		return true, p.fail(ErrDiffers, diff)
	default:
		return false, p.fail(ErrIgnored, diff)
	}
}

// write sends a write and returns the driver's status.
func (p *port) write(req netlink.Message, cmd uint8) (no Errno, untouched bool, err error) {
	data, untouched, err := p.exchange(req)
	if err != nil {
		return 0, untouched, err
	}
	no, err = decodeStatus(data, cmd)
	if err != nil {
		return 0, false, p.wrap(err)
	}
	return no, false, nil
}

// refusal returns the error for a nonzero status.
func (p *port) refusal(cmd uint8, no Errno) *Error {
	if cmd == cmdSetDCBX {
		// The status is 1 for every reason.
		e := p.fail(ErrRefused, "")
		e.hint = "the firmware keeps DCBX: turn its LLDP and DCBX agents off in the firmware settings"
		return e
	}
	return p.refused(no, "")
}

// SetPFC makes exactly the given priorities lossless and sets the delay allowance, see [PFC.Delay];
// delay 0 keeps the current one. A change of the mask takes the link down for a moment on mlx5, and
// closes and reopens the device on ice. On bnxt, ETS must be set first.
func (c *Client) SetPFC(ctx context.Context, ifname string, enabled qos.PrioritySet, delay uint16) (changed bool, err error) {
	return c.set(ctx, "set pfc", ifname, wish{
		what: "pfc",
		has:  func(s *State) bool { return s.PFC != nil },
		diff: func(s *State) string {
			switch {
			case s.PFC.Enabled != enabled:
				return fmt.Sprintf("pfc is on for %s, not %s", s.PFC.Enabled, enabled)
			case delay != 0 && s.PFC.Delay != delay:
				return fmt.Sprintf("the delay is %d, not %d", s.PFC.Delay, delay)
			}
			return ""
		},
		cmd: cmdIEEESet,
		encode: func(s *State) (netlink.Message, error) {
			w := PFC{Cap: s.PFC.Cap, Enabled: enabled, MACsecBypass: s.PFC.MACsecBypass, Delay: cmp.Or(delay, s.PFC.Delay)}
			return encodeIEEE(cmdIEEESet, ifname, ieeePFC, bytesOf(w))
		},
	})
}

// SetETS sets how the traffic classes share the link and keeps the rest of ETS. Bandwidths of
// classes that are not ETS are sent unchanged and never compared. A change closes and reopens the
// device on ice. ErrInvalid means a traffic class above 7 or a share above 100. The driver checks
// the sum; mlx5 requires 100.
func (c *Client) SetETS(ctx context.Context, ifname string, want Scheduling) (changed bool, err error) {
	return c.set(ctx, "set ets", ifname, wish{
		fault: want.fault(),
		what:  "ets",
		has:   func(s *State) bool { return s.ETS != nil },
		diff:  func(s *State) string { return want.diff(s.ETS.Scheduling, s.ETS.Cap) },
		cmd:   cmdIEEESet,
		encode: func(s *State) (netlink.Message, error) {
			w := *s.ETS
			w.Scheduling = want
			return encodeIEEE(cmdIEEESet, ifname, ieeeETS, bytesOf(w.wire()))
		},
	})
}

// SetWilling sets whether a DCBX peer may overwrite the settings, and keeps the rest of ETS. A
// change closes and reopens the device on ice.
func (c *Client) SetWilling(ctx context.Context, ifname string, willing bool) (changed bool, err error) {
	return c.set(ctx, "set willing", ifname, wish{
		what: "ets",
		has:  func(s *State) bool { return s.ETS != nil },
		diff: func(s *State) string {
			if s.ETS.Willing == willing {
				return ""
			}
			return fmt.Sprintf("willing is %t, not %t", s.ETS.Willing, willing)
		},
		cmd: cmdIEEESet,
		encode: func(s *State) (netlink.Message, error) {
			w := *s.ETS
			w.Willing = willing
			return encodeIEEE(cmdIEEESet, ifname, ieeeETS, bytesOf(w.wire()))
		},
	})
}

// SetBuffer divides the receive buffer. Sizes that differ by less than a cell count as equal, see
// [Headroom.Size]. ErrInvalid means a buffer number above 7.
func (c *Client) SetBuffer(ctx context.Context, ifname string, want Headroom) (changed bool, err error) {
	return c.set(ctx, "set buffer", ifname, wish{
		fault: want.fault(),
		what:  "buffers",
		has:   func(s *State) bool { return s.Buffer != nil },
		diff:  func(s *State) string { return want.diff(s.Buffer.Headroom) },
		cmd:   cmdIEEESet,
		encode: func(s *State) (netlink.Message, error) {
			w := Buffer{Headroom: want, Total: s.Buffer.Total}
			return encodeIEEE(cmdIEEESet, ifname, ieeeBuffer, bytesOf(w))
		},
	})
}

// OwnDCBX makes the host the owner of DCBX and keeps the other bits, or hands DCBX to the firmware.
// For the latter mlx5 accepts only mode 0 (en_dcbnl.c) and keeps its other bits. Call OwnDCBX
// before all other writes: on mlx5, the others do not take the port from the firmware.
func (c *Client) OwnDCBX(ctx context.Context, ifname string, host bool) (changed bool, err error) {
	want := func(have DCBX) DCBX {
		if host {
			return have | DCBXHost
		}
		return 0
	}
	return c.set(ctx, "set dcbx", ifname, wish{
		what: "dcbx",
		has:  func(s *State) bool { return s.DCBX != nil },
		diff: func(s *State) string {
			if (*s.DCBX&DCBXHost != 0) == host {
				return ""
			}
			return fmt.Sprintf("dcbx is %s, not %s", *s.DCBX, want(*s.DCBX))
		},
		cmd:    cmdSetDCBX,
		vague:  true, // ice also answers 1 if there is nothing to do
		encode: func(s *State) (netlink.Message, error) { return encodeDCBX(ifname, want(*s.DCBX)) },
	})
}
