package mlxconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Settings are the RoCE settings that the firmware keeps for one port.
type Settings struct {
	// Port is the physical port of the card, from 1, not the PCI function.
	Port int `json:"port"`
	// CCPriorities are the priorities with congestion control (ECN, DCQCN); the empty set turns it
	// off.
	CCPriorities qos.PrioritySet `json:"cc_priorities"`
	// CNPDSCP (0..63) and CNPPriority (0..7) mark the congestion
	// notifications that the port sends.
	CNPDSCP     int `json:"cnp_dscp"`
	CNPPriority int `json:"cnp_priority"`
	// FirmwareLLDPOff turns off the firmware's LLDP and DCBX agents, so that the host decides. If
	// false, they are left as they are.
	FirmwareLLDPOff bool `json:"firmware_lldp_off"`
}

// Settings of the whole card: whether PCIe writes may overtake each other, and whether the card
// shows that setting (mlxconfig_host.db).
const (
	RelaxedOrdering = "PCI_WR_ORDERING"
	AdvancedPCI     = "ADVANCED_PCI_SETTINGS"
)

// Values of CNP_DSCP_MODE.
const (
	deviceDefault = "DEVICE_DEFAULT(0)"
	fixedValue    = "FIXED_VALUE(1)"
)

// Wanted returns the parameters of a port for [Plan].
//
// With a non-nil cfg, it adds settings that only some cards have and that would otherwise override
// the values: if CNP_RES_PRIO_MODE is on, a card takes the priority of a notification from the
// received packet, and CNP_DSCP_MODE offers such a choice for the DSCP (mlxconfig_host.db).
// DEVICE_DEFAULT of CNP_DSCP_MODE is left alone, because its meaning is not published.
//
// Wanted returns an error if a port, DSCP or priority is out of range.
func Wanted(cfg *Config, s Settings) (map[string]string, error) {
	for _, r := range []struct {
		what         string
		v, low, high int
	}{{"port", s.Port, 1, maxPorts}, {"CNP DSCP", s.CNPDSCP, 0, qos.NumDSCP - 1}, {"CNP priority", s.CNPPriority, 0, qos.NumPriorities - 1}} {
		if r.v < r.low || r.v > r.high {
			return nil, fmt.Errorf("%s %d is not in %d..%d", r.what, r.v, r.low, r.high)
		}
	}
	suffix := "_P" + strconv.Itoa(s.Port)
	want := map[string]string{
		"ROCE_CC_PRIO_MASK" + suffix: strconv.Itoa(int(s.CCPriorities)),
		"CNP_DSCP" + suffix:          strconv.Itoa(s.CNPDSCP),
		"CNP_802P_PRIO" + suffix:     strconv.Itoa(s.CNPPriority),
	}
	if s.FirmwareLLDPOff {
		want["LLDP_NB_DCBX"+suffix] = "0"
		want["LLDP_NB_RX_MODE"+suffix] = "0"
		want["LLDP_NB_TX_MODE"+suffix] = "0"
	}
	if cfg != nil {
		if _, has := cfg.Params["CNP_RES_PRIO_MODE"+suffix]; has {
			want["CNP_RES_PRIO_MODE"+suffix] = "0"
		}
		if p, has := cfg.Params["CNP_DSCP_MODE"+suffix]; has && p.Next.Known() && !p.Next.Same(ParseValue(deviceDefault)) {
			want["CNP_DSCP_MODE"+suffix] = fixedValue
		}
	}
	return want, nil
}

// written lists the names that [Wanted] uses, without the port number.
var written = []string{
	"ROCE_CC_PRIO_MASK", "CNP_DSCP", "CNP_802P_PRIO", "LLDP_NB_DCBX", "LLDP_NB_RX_MODE", "LLDP_NB_TX_MODE", "CNP_RES_PRIO_MODE", "CNP_DSCP_MODE",
}

// Writes reports whether a parameter is one that [Wanted] uses for a port, or is [RelaxedOrdering]
// or [AdvancedPCI].
func Writes(name string) bool {
	if name == RelaxedOrdering || name == AdvancedPCI {
		return true
	}
	i := strings.LastIndex(name, "_P")
	if i < 0 || !slices.Contains(written, name[:i]) {
		return false
	}
	n, err := strconv.Atoi(name[i+2:])
	return err == nil && n >= 1 && n <= maxPorts && strconv.Itoa(n) == name[i+2:]
}
