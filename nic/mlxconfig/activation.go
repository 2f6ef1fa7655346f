package mlxconfig

import (
	"cmp"
	"strings"
)

const offloadEngine = "INTERNAL_CPU_OFFLOAD_ENGINE"

// dpu reports whether the CPU of a BlueField owns the NIC. In that mode,
// INTERNAL_CPU_OFFLOAD_ENGINE is ENABLED(0), QoS and ECN are configured on the card, and changes
// from the host fail; as a plain NIC, the setting is DISABLED(1). known is false for a BlueField
// that does not show the setting.
func (c *Config) dpu() (on, known bool) {
	if !strings.HasPrefix(c.Type, "BlueField") {
		return false, true
	}
	p := c.Params[offloadEngine]
	v := cmp.Or(p.Current, p.Next)
	on = v.Same(Value{Name: "ENABLED", Numbered: true})
	return on, on || v.Same(Value{Name: "DISABLED", Number: 1, Numbered: true})
}

// warmReboot says, by device type, whether a warm reboot loads the settings for the next boot
// (Azure/AzureLocal-Supportability, Troubleshoot-TOR-LLDP-DCBX-PFC-RoCEv2.md, for ConnectX-4 Lx, 5
// Ex, 6 Lx, 6 Dx and 7). For other types it is not published.
var warmReboot = map[string]bool{"ConnectX4LX": false, "ConnectX5": true, "ConnectX6LX": true, "ConnectX6DX": true, "ConnectX7": true}

// reset describes how the settings for the next boot are made current on such a card.
func (c *Config) reset() string {
	// sriov-network-operator pkg/vendors/mellanox/mellanox.go: a reboot of the host leaves the
	// firmware of a DPU running, unless its Arm cores are shut down before (NVIDIA BlueField Reset
	// and Reboot Procedures, system-level reset). mlxfwreset may fail there (Mellanox/mstflint issue
	// 830).
	const (
		cycle = "a power cycle of the server loads them"
		slr   = "shut down its Arm cores ('mlxfwreset -d DEVICE -l 1 -t 4 reset', or 'shutdown -h now' on them), then reboot the host warm, or cycle its power if it does not reset its slots when it reboots"
	)
	switch on, known := c.dpu(); {
	case on:
		return "a BlueField in DPU mode keeps its firmware running over a reboot of the host: " + slr
	case !known:
		return cycle + "; the card does not show whether it is in DPU mode, where a reboot of the host alone is not enough: there " + slr
	}
	switch warm, known := warmReboot[c.Type]; {
	case !known:
		return cycle + "; it is not published whether a warm reboot is enough for " + cmp.Or(c.Type, "this card")
	case warm:
		return "a warm reboot of the host loads them"
	}
	return cycle + ", a warm reboot is not enough"
}
