package mlxconfig

import (
	"strings"
	"testing"
)

func TestReset(t *testing.T) {
	twoPorts := map[string]Param{"CNP_DSCP_P1": {}, "CNP_DSCP_P2": {}}
	mode := func(v string) map[string]Param {
		return map[string]Param{"INTERNAL_CPU_OFFLOAD_ENGINE": {Current: ParseValue(v), Next: ParseValue("DISABLED(1)")}}
	}
	tests := []struct {
		cfg          Config
		warm, level3 Answer
		words        string
		command      string
	}{
		{Config{Type: "ConnectX7", Tool: "mstconfig", Device: pci, Params: twoPorts}, Yes, Yes,
			"a warm reboot of the host loads them; mstfwreset -d 0000:3b:00.0 -y reset -l 3 does it without one, and takes all 2 ports of the card down",
			"mstfwreset -d 0000:3b:00.0 -y reset -l 3"},
		{Config{Type: "ConnectX4LX", Tool: "mlxconfig", Device: pci}, No, Yes,
			"a power cycle of the server loads them, a warm reboot does not; mlxfwreset -d 0000:3b:00.0 -y reset -l 3 does it without one, and takes the whole card down",
			"mlxfwreset -d 0000:3b:00.0 -y reset -l 3"},
		{Config{Type: "ConnectX6DX", Tool: "mlxconfig", Device: "/dev/fwctl/fwctl0"}, Yes, Yes, "a warm reboot of the host loads them", ""},
		{Config{Type: "ConnectX9", Tool: "mlxconfig", Device: pci}, Unknown, Unknown,
			"a power cycle of the server loads them; whether a warm reboot does is not published for ConnectX9; mlxfwreset -d 0000:3b:00.0 -y reset -l 3 may do it without one, and takes the whole card down",
			"mlxfwreset -d 0000:3b:00.0 -y reset -l 3"},
		{Config{Type: "BlueField3", Tool: "mlxconfig", Device: pci, Params: mode("ENABLED(0)")}, No, Unknown, "a BlueField in DPU mode keeps its firmware", "mlxfwreset -d 0000:3b:00.0 -y reset -l 3"},
		{Config{Type: "BlueField2", Tool: "mlxconfig", Device: pci}, Unknown, Unknown, "is not shown", "mlxfwreset -d 0000:3b:00.0 -y reset -l 3"},
		{Config{Type: "BlueField3", Tool: "mlxconfig", Device: pci, Params: mode("1")}, Unknown, Unknown, "not published for BlueField3", "mlxfwreset -d 0000:3b:00.0 -y reset -l 3"},
	}
	for _, tt := range tests {
		r := tt.cfg.Reset()
		if r.WarmReboot != tt.warm || r.Level3 != tt.level3 || !strings.Contains(r.Words, tt.words) || r.Command != tt.command || !r.WholeCard {
			t.Errorf("%s by %s: %+v", tt.cfg.Type, tt.cfg.Device, r)
		}
	}
	dpu := Config{Type: "BlueField3", Params: mode("ENABLED(0)")}
	if got := Plan(&dpu, map[string]string{"CNP_DSCP_P1": "48"}); len(got) != 1 || got[0].Kind != Unsupported || !strings.Contains(got[0].Why, "DPU mode") {
		t.Errorf("a DPU that hides its settings: %+v", got)
	}
}
