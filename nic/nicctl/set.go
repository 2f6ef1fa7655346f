package nicctl

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

var portID = lazyre.New(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`)

func onOff(on bool) string {
	if on {
		return "enable"
	}
	return "disable"
}

// SetPause sets how a port pauses. Type is PausePFC or a type returned by [Tool.Read].
func (t *Tool) SetPause(ctx context.Context, port string, p Pause) error {
	if !portID.MatchString(port) || !typeText.MatchString(p.Type) {
		return fmt.Errorf("%w: pause %q of port %q", ErrInvalid, word(p.Type), word(port))
	}
	return t.write(ctx, 2, "update", "port", "-p", port, "--pause-type", p.Type, "--rx-pause", onOff(p.RX), "--tx-pause", onOff(p.TX))
}

// SetClassification sets how frames are classified, on all cards of the host: the tool has no such
// setting per port.
func (t *Tool) SetClassification(ctx context.Context, trust qos.Trust) error {
	if trust != qos.TrustDSCP && trust != qos.TrustPCP {
		return fmt.Errorf("%w: classification %q", ErrInvalid, word(string(trust)))
	}
	return t.write(ctx, 2, "update", "qos", "--classification-type", string(trust))
}

// MapDSCP assigns priorities, 0..7, to DSCPs; entries below 0 are left alone. It makes one call per
// priority: if one is rejected, the earlier ones remain in effect.
func (t *Tool) MapDSCP(ctx context.Context, port string, want [qos.NumDSCP]int8) error {
	if !portID.MatchString(port) {
		return fmt.Errorf("%w: port %q", ErrInvalid, word(port))
	}
	var lists [qos.NumPriorities][]int
	for d, prio := range want {
		if prio >= qos.NumPriorities {
			return fmt.Errorf("%w: priority %d of DSCP %d", ErrInvalid, prio, d)
		}
		if prio >= 0 {
			lists[prio] = append(lists[prio], d)
		}
	}
	for prio, l := range lists {
		if len(l) == 0 {
			continue
		}
		if err := t.write(ctx, 3, "update", "qos", "dscp-to-priority", "-p", port, "--dscp", qos.FoldInts(l), "--priority", strconv.Itoa(prio)); err != nil {
			return err
		}
	}
	return nil
}

// SetPFC makes priorities no-drop, or drop if on is false, with one call for each.
func (t *Tool) SetPFC(ctx context.Context, port string, priorities qos.PrioritySet, on bool) error {
	if !portID.MatchString(port) {
		return fmt.Errorf("%w: port %q", ErrInvalid, word(port))
	}
	for _, prio := range priorities.List() {
		if err := t.write(ctx, 3, "update", "qos", "pfc", "-p", port, "--priority", strconv.Itoa(prio), "--no-drop", onOff(on)); err != nil {
			return err
		}
	}
	return nil
}

// SetScheduling sets the shares of the priorities that are Shown, all in one call. The firmware
// rejects a priority without a DSCP, and a strict one without a rate limit (ROCm/mori
// tools/env_setup.sh).
func (t *Tool) SetScheduling(ctx context.Context, port string, want Scheduling) error {
	if !portID.MatchString(port) {
		return fmt.Errorf("%w: port %q", ErrInvalid, word(port))
	}
	var prios, shares, rates []string
	for prio, s := range want {
		switch {
		case !s.Shown:
			continue
		case s.Percent < 0 || s.Percent > 100 || s.Gbps < 0:
			return fmt.Errorf("%w: priority %d with %d%% and %d Gb/s", ErrInvalid, prio, s.Percent, s.Gbps)
		case s.Strict:
			s.Percent = 0
		}
		prios = append(prios, strconv.Itoa(prio))
		shares = append(shares, strconv.Itoa(s.Percent))
		rates = append(rates, strconv.Itoa(s.Gbps))
	}
	if len(prios) == 0 {
		return fmt.Errorf("%w: no priority has a share", ErrInvalid)
	}
	return t.write(ctx, 3, "update", "qos", "scheduling", "-p", port,
		"--priority", strings.Join(prios, ","), "--dwrr", strings.Join(shares, ","), "--rate-limit", strings.Join(rates, ","))
}

// SetDCQCN sets the DSCP, 0..63, of congestion notifications in a profile of an RDMA device, which
// also turns the profile on.
func (t *Tool) SetDCQCN(ctx context.Context, device string, profile, cnpDSCP int) error {
	if !rdmaText.MatchString(device) || profile < 1 || profile > maxProfiles || cnpDSCP < 0 || cnpDSCP >= qos.NumDSCP {
		return fmt.Errorf("%w: DSCP %d in profile %d of %q", ErrInvalid, cnpDSCP, profile, word(device))
	}
	return t.dcqcn(ctx, device, profile, "--cnp-dscp", strconv.Itoa(cnpDSCP))
}

// DisableDCQCN turns a profile of an RDMA device off.
func (t *Tool) DisableDCQCN(ctx context.Context, device string, profile int) error {
	if !rdmaText.MatchString(device) || profile < 1 || profile > maxProfiles {
		return fmt.Errorf("%w: profile %d of %q", ErrInvalid, profile, word(device))
	}
	return t.dcqcn(ctx, device, profile, "--disable")
}

func (t *Tool) dcqcn(ctx context.Context, device string, profile int, args ...string) error {
	return t.write(ctx, 2, slices.Concat([]string{"update", "dcqcn", "-r", device, "-i", strconv.Itoa(profile)}, args)...)
}
