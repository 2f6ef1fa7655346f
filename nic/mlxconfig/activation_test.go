package mlxconfig

import (
	"strings"
	"testing"
)

func TestReset(t *testing.T) {
	mode := func(v string) map[string]Param {
		return map[string]Param{"INTERNAL_CPU_OFFLOAD_ENGINE": {Current: ParseValue(v), Next: ParseValue("DISABLED(1)")}}
	}
	const cycle = "a power cycle of the server loads them"
	const slr = "shut down its Arm cores ('mlxfwreset -d DEVICE -l 1 -t 4 reset', or 'shutdown -h now' on them), then reboot the host warm, or cycle its power if it does not reset its slots when it reboots"
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Type: "ConnectX7"}, "a warm reboot of the host loads them"},
		{Config{Type: "ConnectX4LX"}, cycle + ", a warm reboot is not enough"},
		{Config{Type: "ConnectX7", Params: mode("ENABLED(0)")}, "a warm reboot of the host loads them"},
		{Config{Type: "ConnectX9"}, cycle + "; it is not published whether a warm reboot is enough for ConnectX9"},
		{Config{}, cycle + "; it is not published whether a warm reboot is enough for this card"},
		{Config{Type: "BlueField3", Params: mode("ENABLED(0)")}, "a BlueField in DPU mode keeps its firmware running over a reboot of the host: " + slr},
		{Config{Type: "BlueField2"}, cycle + "; the card does not show whether it is in DPU mode, where a reboot of the host alone is not enough: there " + slr},
		{Config{Type: "BlueField3", Params: mode("1")}, cycle + "; it is not published whether a warm reboot is enough for BlueField3"},
		{Config{Type: "BlueField3", Params: mode("")}, cycle + "; it is not published whether a warm reboot is enough for BlueField3"}, // only the next boot's value is known
	} {
		if got := tt.cfg.reset(); got != tt.want {
			t.Errorf("%s: %q", tt.cfg.Type, got)
		}
	}
	dpu := Config{Type: "BlueField3", Params: mode("ENABLED(0)")}
	if got := Plan(&dpu, map[string]string{"CNP_DSCP_P1": "48"}); len(got) != 1 || got[0].Kind != Unsupported || !strings.Contains(got[0].Why, "DPU mode") {
		t.Errorf("a DPU that hides its settings: %+v", got)
	}
}
