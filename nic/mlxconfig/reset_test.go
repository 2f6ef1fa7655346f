package mlxconfig

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
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

func TestResetStatus(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		st, err := tool.ResetStatus(t.Context(), "3b:00.0")
		if err != nil {
			t.Fatal(err)
		}
		levels := []ResetOption{
			{0, `Driver, PCI link, network link will remain up ("live-Patch")`, false, false},
			{3, "Driver restart and PCI reset", true, true}, {4, "Warm Reboot", true, false},
		}
		types := []ResetOption{{0, "Full chip reset", true, true}, {1, "Phy-less reset (keep network port active during reset)", false, false}}
		if d := cmp.Diff([][]ResetOption{levels, types}, [][]ResetOption{st.Levels, st.Types}); d != "" {
			t.Error(d)
		}
		if newest := card.Version == mlxconfigtest.V436; st.Known != newest || st.Needed || (len(st.Notes) == 0) != newest || newest && st.RunningFirmware != "28.40.1000" {
			t.Errorf("nothing pending: %+v", st)
		}
		card.Change("LLDP_NB_RX_MODE_P1", func(p *mlxconfigtest.Param) { p.Next = 0 })
		if st, err = tool.ResetStatus(t.Context(), pci); err != nil {
			t.Fatal(err)
		}
		if st.Known {
			want := []Pending{{"LLDP_NB_RX_MODE_P1", ParseValue("ALL(2)"), ParseValue("ALL(2)"), ParseValue("OFF(0)")}}
			if d := cmp.Diff(want, st.Pending); d != "" || !st.Needed || st.PendingFirmware != "" || st.Action == "" || !strings.Contains(st.Command, "--level 3") || len(st.Reasons) != 1 {
				t.Errorf("%+v\n%s", st, d)
			}
		}
		card.SetFaults(mlxconfigtest.Faults{Closed: true})
		if _, err := tool.ResetStatus(t.Context(), pci); !errors.Is(err, ErrAccess) || !strings.Contains(err.Error(), "mstfwreset query: exit status 1: Failed to Identify Device") {
			t.Errorf("a closed card: %v", err)
		}
		if _, err := tool.ResetStatus(t.Context(), "/dev/fwctl/fwctl0"); !errors.Is(err, ErrUnsupported) {
			t.Errorf("by fwctl: %v", err)
		}
		for _, call := range card.Calls() {
			if strings.Contains(call, " reset") {
				t.Errorf("ran %q", call)
			}
		}
	})
}

func TestResetStatusOfStrangeTools(t *testing.T) {
	level := "Reset-levels:\n3: Driver restart and PCI reset                                  -Supported     (default)\n"
	tests := map[string]struct {
		query, status runnertest.Program
		want          string
	}{
		"no levels":      {runnertest.Prints("hello\n", "", 0), nil, "no reset levels"},
		"no JSON":        {runnertest.Prints(level, "", 0), runnertest.Prints("hello\n", "", 0), "no JSON"},
		"half a JSON":    {runnertest.Prints(level, "", 0), runnertest.Prints(`{"reset_needed": true, }`, "", 0), ErrOutput.Error()},
		"says nothing":   {runnertest.Prints(level, "", 0), runnertest.Prints(`{}`, "", 0), "does not say"},
		"a strange list": {runnertest.Prints(level, "", 0), runnertest.Prints(`{"reset_needed": true, "pending_nvconfig_parameters": 7}`, "", 0), "pending settings"},
		"a strange name": {runnertest.Prints(level, "", 0), runnertest.Prints(`{"reset_needed": true, "pending_nvconfig_parameters": [{"name": "a b"}]}`, "", 0), `named "a b"`},
	}
	for name, tt := range tests {
		fake := &runnertest.Fake{Programs: map[string]runnertest.Program{}}
		fake.Programs["mlxfwreset"] = answer(tt.query, tt.status)
		tool := &Tool{Name: "mlxconfig", run: fake}
		if st, err := tool.ResetStatus(t.Context(), pci); !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	none := &Tool{Name: "mlxconfig", run: &runnertest.Fake{}}
	if _, err := none.ResetStatus(t.Context(), pci); !errors.Is(err, ErrUnsupported) || !errors.Is(err, runner.ErrNotFound) {
		t.Errorf("no reset tool: %v", err)
	}
}

// FuzzResetStatus holds that no answer brings the parsers down, and that one
// that is taken is whole.
func FuzzResetStatus(f *testing.F) {
	f.Add([]byte("Reset-levels:\n0: x -Not Supported\n3: y -Supported (default)\n\nReset-types (a):\n0: z -Supported\n"))
	f.Add([]byte(`-W- x {"reset_needed":true,"pending_nvconfig_parameters":[{"name":"A","default":"1","current":"True(1)","next_boot":"N/A"}],"reasons":["x"]}`))
	f.Add([]byte(`{"reset_needed":false,"pending_nvconfig_parameters":"N/A (none)","pending_fw_version":"N/A (FW is up to date)"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		levels, types := parseResetQuery(b)
		for _, o := range append(levels, types...) {
			if o.Number < 0 || o.Number > 99 || strings.ContainsAny(o.Text, "\n\x1b") {
				t.Fatalf("an option %+v", o)
			}
		}
		st := &ResetStatus{}
		if err := st.parse(b); (err == nil) != st.Known {
			t.Fatalf("%v, known %v", err, st.Known)
		}
	})
}

// answer is a reset tool of two commands.
func answer(query, status runnertest.Program) runnertest.Program {
	return func(ctx context.Context, args []string) (runner.Result, error) {
		if args[len(args)-1] == "status" {
			return status(ctx, args)
		}
		return query(ctx, args)
	}
}
