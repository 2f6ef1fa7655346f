package mlxconfig

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Tables printed by mlxfwreset (Mellanox/mstflint cmd_reg_mfrl.py, query_text).
const (
	levelRows = "Reset-levels:\n" +
		"0: Driver, PCI link, network link will remain up (\"live-Patch\")  -Not Supported \n" +
		"1: Only ARM side will not remain up (\"Immediate reset\").          -Not Supported \n" +
		"3: Driver restart and PCI reset                                  -Supported     (default)\n" +
		"4: Warm Reboot                                                   -Supported     \n"
	typeRows = "\nReset-types (relevant only for reset-levels 1,3,4):\n" +
		"0: Full chip reset                                               -Supported     \n" +
		"1: Phy-less reset (keep network port active during reset)        -Not Supported \n" +
		"2: NIC only reset (for SoC devices)                              -Supported     (default)\n" +
		"\nReset-sync (relevant only for reset-level 3):\n" +
		"0: Tool is the owner                                             -Supported     (default)\n"
)

type resetter struct {
	out  string
	code int
	last []string
}

func (r *resetter) Run(_ context.Context, name string, args ...string) (runner.Result, error) {
	if name != "mstfwreset" {
		return runner.Result{}, runner.ErrNotFound
	}
	r.last = args
	return runner.Result{Stdout: []byte(r.out), Code: r.code}, nil
}

// A card is reset by the tool alone if possible, or else by the reboot that loads its settings.
func TestWay(t *testing.T) {
	t.Parallel()
	warm := strings.Replace(levelRows, "PCI reset                                  -Supported     (default)", "PCI reset                                  -Not Supported (default)", 1)
	none := strings.Replace(warm, "Warm Reboot                                                   -Supported", "Warm Reboot                                                   -Not Supported", 1)
	for _, tt := range []struct {
		name, card, out string
		code            int
		locked          bool
		want            string
		err             error
		says            string
	}{
		{name: "by itself", card: "ConnectX4LX", out: levelRows + typeRows, want: "mstfwreset -d 0000:3b:00.0 -y -l 3 -t 2 reset"},
		{name: "a warm reboot loads it", card: "ConnectX7", out: warm + typeRows, want: "systemctl reboot"},
		{name: "a warm reboot that the card is told of", card: "ConnectX4LX", out: warm + typeRows, want: "mstfwreset -d 0000:3b:00.0 -y -l 4 -t 2 reset"},
		{name: "neither", card: "ConnectX4LX", out: none + typeRows, err: ErrUnsupported, says: "a power cycle of the server loads them, a warm reboot is not enough"},
		{name: "no tool for the card, and a warm reboot", card: "ConnectX6DX", out: "-E- Device is not supported.\n", code: 1, want: "systemctl reboot"},
		{name: "no tool for the card", card: "ConnectX9", out: "-E- Device is not supported.\n", code: 1, err: ErrUnsupported, says: "Device is not supported"},
		{name: "locked down", card: "ConnectX7", out: levelRows + typeRows, locked: true, want: "systemctl reboot"},
		{name: "locked down without a warm reboot", card: "BlueField3", out: levelRows + typeRows, locked: true, err: ErrUnsupported, says: "locked down"},
		{name: "another output", card: "BlueField3", out: "Reset-levels:\n3: PCI reset\n", err: ErrOutput},
		{name: "no default type", card: "BlueField3", out: levelRows, err: ErrOutput},
	} {
		tool := &Tool{Name: "mstconfig", run: &resetter{out: tt.out, code: tt.code}}
		w, err := tool.Way(t.Context(), "0000:3b:00.0", &Config{Type: tt.card}, tt.locked)
		if !errors.Is(err, tt.err) || tt.err == nil && err != nil || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := tool.Command("0000:3b:00.0", w); err == nil && (got != tt.want || w.Reboots() != (tt.want != "mstfwreset -d 0000:3b:00.0 -y -l 3 -t 2 reset")) {
			t.Errorf("%s: %s, reboots %v", tt.name, got, w.Reboots())
		}
	}
}

// A reset runs the command that Command returns, and an error contains the tool's message.
func TestResetCard(t *testing.T) {
	t.Parallel()
	r := &resetter{}
	tool := &Tool{Name: "mstconfig", run: r}
	w := Way{Level: 3, Type: 2}
	if err := tool.Reset(t.Context(), "0000:3b:00.0", w); err != nil || "mstfwreset "+strings.Join(r.last, " ") != tool.Command("0000:3b:00.0", w) {
		t.Errorf("%v, %v", r.last, err)
	}
	r.out, r.code = "-E- Firmware reset failed, retry operation or reboot machine.\n", 1
	if err := tool.Reset(t.Context(), "0000:3b:00.0", w); err == nil || !strings.Contains(err.Error(), "Firmware reset failed") {
		t.Error(err)
	}
	r.last = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tool.Reset(ctx, "0000:3b:00.0", w); !errors.Is(err, context.Canceled) || r.last != nil {
		t.Errorf("%v, %v", r.last, err)
	}
}
