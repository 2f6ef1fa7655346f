package mlxconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

const pci = "0000:3b:00.0"

// versions are the tool generations that the tests run with.
var versions = map[string]mlxconfigtest.Version{"4.21": mlxconfigtest.V421, "4.31": mlxconfigtest.V431, "4.36": mlxconfigtest.V436}

func eachVersion(t *testing.T, f func(t *testing.T, card *mlxconfigtest.Card, tool *Tool)) {
	for name, v := range versions {
		t.Run(name, func(t *testing.T) {
			card := mlxconfigtest.New("mstconfig", pci)
			card.Version = v
			tool, err := Find(t.Context(), card)
			if err != nil {
				t.Fatal(err)
			}
			f(t, card, tool)
		})
	}
}

func TestFind(t *testing.T) {
	tests := []struct {
		name     string
		programs map[string]runnertest.Program
		want     string // name, or part of the error
	}{
		{"both", map[string]runnertest.Program{
			"mlxconfig": runnertest.Prints("mlxconfig, mft 4.26.1-3, built on Nov 27 2023\n", "", 0),
			"mstconfig": runnertest.Prints("mstconfig, mstflint 4.21.0\n", "", 0),
		}, "mlxconfig"},
		{"the open one", map[string]runnertest.Program{
			"mstconfig": runnertest.Prints("\nmstconfig, mstflint 4.21.0, Git SHA Hash: N/A\n", "", 0),
		}, "mstconfig"},
		{"one that does not start", map[string]runnertest.Program{
			"mlxconfig": runnertest.Prints("", "mlxconfig: error while loading shared libraries: libx\n", 127),
			"mstconfig": runnertest.Prints("mstconfig, mstflint 4.21.0\n", "", 0),
		}, "mstconfig"},
		{"none that starts", map[string]runnertest.Program{
			"mlxconfig": runnertest.Prints("", "mlxconfig: error while loading shared libraries: libx\n", 127),
		}, "shared libraries: libx"},
		{"none", nil, ErrNoTool.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := &runnertest.Fake{Programs: tt.programs}
			tool, err := Find(t.Context(), fake)
			if err != nil {
				if !errors.Is(err, ErrNoTool) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			if got := tool.Name; got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
			if calls := fake.Calls(); calls[len(calls)-1] != tool.Name+" -v" {
				t.Errorf("ran %q: more than was needed", calls)
			}
		})
	}
}

func TestDevice(t *testing.T) {
	for name, want := range map[string]string{
		"3B:00.0": pci, "0000:3b:00.0": pci, "10000:01:00.1": "10000:01:00.1",
		"/dev/mst/mt4129_pciconf0.1": "/dev/mst/mt4129_pciconf0.1", "/dev/fwctl/fwctl12": "/dev/fwctl/fwctl12",
		"": "", "mlx5_0": "", "ens1f0np0": "", "-d": "", "3b:00.8": "", "/dev/mst/../mem": "", "/dev/fwctl/fwctl": "",
		"/dev/sda": "", "3b:00.0\n": "", "/dev/mst/a b": "",
	} {
		got, err := Device(name)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, ErrDevice) {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestFwctl(t *testing.T) {
	sys := t.TempDir()
	if got, err := Fwctl(sys, pci); got != "" || err != nil {
		t.Errorf("a kernel without fwctl: %q, %v", got, err)
	}
	link := func(name, below string) {
		t.Helper()
		dir := filepath.Join(sys, "devices", "pci0000:3a", below, "mlx5_core.fwctl.0", "fwctl", name)
		class := filepath.Join(sys, "class", "fwctl")
		for _, d := range []string{dir, class} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(dir, filepath.Join(class, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("fwctl0", "0000:3b:00.1")
	link("fwctl10", "0000:3b:00.0")
	if got, err := Fwctl(sys, "3b:00.0"); got != "/dev/fwctl/fwctl10" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Fwctl(sys, "3c:00.0"); got != "" || err != nil {
		t.Errorf("a card without: %q, %v", got, err)
	}
	if _, err := Fwctl(sys, "mlx5_0"); !errors.Is(err, ErrDevice) {
		t.Errorf("no address: %v", err)
	}
}

func TestQueryOfACard(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		card.Change("CNP_DSCP_P2", func(p *mlxconfigtest.Param) { p.Next = 4 })
		card.Change("LINK_TYPE_P1", func(p *mlxconfigtest.Param) { p.Current = 1 })
		c, err := tool.Query(t.Context(), "3b:00.0")
		if err != nil {
			t.Fatal(err)
		}
		if c.Device != pci || c.Type != "ConnectX7" || c.Partial || len(c.Unread) > 0 {
			t.Errorf("head %+v", c)
		}
		for _, p := range card.Params {
			got, listed := c.Params[p.Name]
			if listed == p.Hidden {
				t.Errorf("%s: listed %v", p.Name, listed)
			}
			if listed && p.Array == 0 && (got.Default.Number != uint64(p.Default) || got.Current.Number != uint64(p.Current) || got.Next.Number != uint64(p.Next)) {
				t.Errorf("%s: %+v of %+v", p.Name, got, *p)
			}
		}
		if got := c.Params["LINK_TYPE_P1"].Current.String(); got != "IB(1)" {
			t.Errorf("LINK_TYPE_P1 is %s", got)
		}
		if ro := c.Params["FW_VERSION_STAMP"].ReadOnly; ro != (card.Version != mlxconfigtest.V421) {
			t.Errorf("read-only: %v", ro)
		}
		if c.Ports() != 2 {
			t.Errorf("%d ports", c.Ports())
		}
		for _, call := range card.Calls() {
			if !strings.HasSuffix(call, "query") {
				t.Errorf("ran %q: a query by name, or no query", call)
			}
		}
	})
}

// TestJSONAndTextAgree reads one card in both formats: if the JSON is invalid, the table is used.
func TestJSONAndTextAgree(t *testing.T) {
	card := mlxconfigtest.New("mlxconfig", pci)
	card.Version = mlxconfigtest.V436
	card.Change("CNP_DSCP_P1", func(p *mlxconfigtest.Param) { p.Next, p.Unreadable = 4, []string{"default"} })
	tool, err := Find(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	byJSON, err := tool.Query(t.Context(), pci)
	if err != nil || !strings.Contains(card.Calls()[0], " -j ") || len(card.Calls()) != 1 {
		t.Fatalf("%v, ran %q", err, card.Calls())
	}
	if p := byJSON.Params["CNP_DSCP_P1"]; p.Default.Known() || p.Next != numberOf(4) || !byJSON.Partial {
		t.Errorf("by JSON %+v", p)
	}
	for _, bad := range []string{"{}{", `{"Device #1": []}`, " "} {
		card.SetFaults(mlxconfigtest.Faults{BadJSON: bad})
		byText, err := tool.Query(t.Context(), pci)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(byJSON, byText); d != "" {
			t.Errorf("with %q in place of JSON:\n%s", bad, d)
		}
	}
	card.Version = mlxconfigtest.V421
	n := len(card.Calls())
	for range 2 {
		if _, err := tool.Query(t.Context(), pci); err != nil {
			t.Fatal(err)
		}
	}
	if got := card.Calls()[n:]; len(got) != 3 {
		t.Errorf("a tool without JSON is asked for it again: %q", got)
	}
}

func TestQueryFaults(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		ctx := t.Context()
		if _, err := tool.Query(ctx, "ens1f0np0"); !errors.Is(err, ErrDevice) || len(card.Calls()) != 0 {
			t.Errorf("an interface: %v, ran %q", err, card.Calls())
		}
		_, err := tool.Query(ctx, "5e:00.0")
		var f *runner.Failure
		if !errors.Is(err, ErrAccess) || !errors.As(err, &f) || f.Code != 3 || !strings.Contains(err.Error(), "0000:5e:00.0: mstconfig query: exit status 3: Failed to open the device") || f.Hint() == "" {
			t.Errorf("another card: %v", err)
		}

		card.SetFaults(mlxconfigtest.Faults{Says: []string{"-W- Missing \"UUID\" in the database", "[warn] MST is not loaded", "     -E- pcilib: cannot read", ""}})
		c, err := tool.Query(ctx, pci)
		if err != nil || c.Partial || len(c.Params) != len(card.Params)-2 { // two settings are hidden
			t.Errorf("words between the rows: %v, %+v", err, c)
		}

		card.SetFaults(mlxconfigtest.Faults{NoColumns: true})
		c, err = tool.Query(ctx, pci)
		if err != nil || c.Params["CNP_DSCP_P1"] != (Param{Name: "CNP_DSCP_P1", Next: numberOf(48)}) {
			t.Errorf("a firmware without the columns: %v, %+v", err, c)
		}
		got := Plan(c, map[string]string{"CNP_DSCP_P1": "48", "CNP_DSCP_P2": "47"})
		if len(got) != 2 || got[0].Kind != unconfirmed || got[1].Kind != Program {
			t.Errorf("its plan: %+v", got)
		}

		card.SetFaults(mlxconfigtest.Faults{})
		card.Change("CNP_DSCP_P1", func(p *mlxconfigtest.Param) { p.Unreadable = []string{"next"} })
		c, err = tool.Query(ctx, pci)
		if err != nil || !c.Partial || c.Params["CNP_802P_PRIO_P1"].Next != numberOf(6) {
			t.Errorf("a group that cannot be read: %v, %+v", err, c)
		}
		got = Plan(c, map[string]string{"CNP_DSCP_P1": "48", "NOT_THERE": "1"})
		if len(got) != 2 || got[0].Kind != Unreadable || got[1].Kind != Unreadable {
			t.Errorf("its plan: %+v", got)
		}

		done, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := tool.Query(done, pci); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestValues(t *testing.T) {
	for s, want := range map[string]Value{
		"48": numberOf(48), "0x30": numberOf(48), "010": numberOf(10), "ETH(2)": {"ETH", 2, true}, "True(1)": {"True", 1, true},
		"true": {"True", 1, true}, "False": {"False", 0, true}, "N/A": {}, "": {}, "Array[0..7]": {Name: "Array[0..7]"},
		"0x12(18)": {"0x12", 18, true}, "a(b)(3)": {"a(b)", 3, true}, "ETH(x)": {Name: "ETH(x)"}, "-1": {Name: "-1"}, ")": {Name: ")"}, "1_0": {Name: "1_0"},
	} {
		if got := ParseValue(s); got != want {
			t.Errorf("%q is %+v, want %+v", s, got, want)
		}
	}
	same := func(a, b string) bool { return ParseValue(a).Same(ParseValue(b)) }
	for _, pair := range [][2]string{{"True(1)", "1"}, {"True(1)", "True"}, {"true", "1"}, {"ETH(2)", "eth"}, {"0x30", "48"}, {"TRUST_DSCP(6)", "TRUST_DSCP(2)"}} {
		if !same(pair[0], pair[1]) || !same(pair[1], pair[0]) {
			t.Errorf("%s and %s are the same", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"True(1)", "0"}, {"ETH", "2"}, {"ETH(2)", "IB"}, {"N/A", "N/A"}, {"", "0"}} {
		if same(pair[0], pair[1]) || same(pair[1], pair[0]) {
			t.Errorf("%s and %s are not known to be the same", pair[0], pair[1])
		}
	}
}

func TestWanted(t *testing.T) {
	card := mlxconfigtest.New("mlxconfig", pci)
	tool, err := Find(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := tool.Query(t.Context(), pci)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Port: 2, CCPriorities: qos.Priorities(3), CNPDSCP: 46, CNPPriority: 5}
	want := map[string]string{"ROCE_CC_PRIO_MASK_P2": "8", "CNP_DSCP_P2": "46", "CNP_802P_PRIO_P2": "5"}
	got, err := Wanted(cfg, s)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	s.FirmwareLLDPOff = true
	want["LLDP_NB_DCBX_P2"], want["LLDP_NB_RX_MODE_P2"], want["LLDP_NB_TX_MODE_P2"] = "0", "0", "0"
	cfg.Params["CNP_RES_PRIO_MODE_P2"] = Param{}
	cfg.Params["CNP_DSCP_MODE_P2"] = Param{Next: ParseValue("RX_PACKET(2)")}
	cfg.Params["CNP_DSCP_MODE_P1"] = Param{Next: ParseValue("RX_PACKET(2)")}
	want["CNP_RES_PRIO_MODE_P2"], want["CNP_DSCP_MODE_P2"] = "0", "FIXED_VALUE(1)"
	got, err = Wanted(cfg, s)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	cfg.Params["CNP_DSCP_MODE_P2"] = Param{Next: ParseValue("DEVICE_DEFAULT(0)")}
	delete(want, "CNP_DSCP_MODE_P2")
	got, err = Wanted(cfg, s)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for _, bad := range []Settings{{}, {Port: 17}, {Port: -1}, {Port: 1, CNPDSCP: 64}, {Port: 1, CNPDSCP: -1}, {Port: 1, CNPPriority: 8}} {
		if got, err := Wanted(nil, bad); err == nil {
			t.Errorf("%+v: %v", bad, got)
		}
	}
}

// table prints changes as "name kind want".
func table(changes []Change) string {
	var b strings.Builder
	for _, ch := range changes {
		fmt.Fprintf(&b, "%s %s %s %s->%s\n", ch.Name, ch.Kind, ch.Want, ch.Current, ch.Next)
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		card.Change("CNP_DSCP_P1", func(p *mlxconfigtest.Param) { p.Next = 46 })
		card.Change("SRIOV_EN", func(p *mlxconfigtest.Param) { p.Next = 0 })
		cfg, err := tool.Query(t.Context(), pci)
		if err != nil {
			t.Fatal(err)
		}
		got := Plan(cfg, map[string]string{
			"ROCE_CC_PRIO_MASK_P1": "8", "ROCE_CC_PRIO_MASK_P2": "0xff", "CNP_DSCP_P1": "46", "CNP_DSCP_P2": "48",
			"LLDP_NB_DCBX_P1": "True", "LLDP_NB_DCBX_P2": "0", "LLDP_NB_RX_MODE_P1": "all", "LLDP_NB_TX_MODE_P1": "OFF",
			"FW_VERSION_STAMP": "8", "CNP_DSCP_P3": "1", "MAX_ACC_OUT_READ": "1", "NOT_THERE": "1", "not a name": "1", "LINK_TYPE_P1": "",
			"ESWITCH_HAIRPIN_DESCRIPTORS": "1", "ESWITCH_HAIRPIN_DESCRIPTORS[2]": "1", "ADVANCED_PCI_SETTINGS": "maybe", "CNP_802P_PRIO_P1": "six",
		})
		stamp := "FW_VERSION_STAMP read-only 8 7->7"
		if card.Version == mlxconfigtest.V421 {
			stamp = "FW_VERSION_STAMP program 8 7->7" // this version does not show that it is read-only
		}
		want := `ADVANCED_PCI_SETTINGS program maybe False(0)->False(0)
CNP_802P_PRIO_P1 unreadable six 6->6
CNP_DSCP_P1 reset-pending 46 48->46
CNP_DSCP_P3 unsupported 1 N/A->N/A
ESWITCH_HAIRPIN_DESCRIPTORS unreadable 1 Array[0..7]->Array[0..7]
ESWITCH_HAIRPIN_DESCRIPTORS[2] unreadable 1 N/A->N/A
` + stamp + `
LINK_TYPE_P1 unsupported N/A ETH(2)->ETH(2)
LLDP_NB_DCBX_P2 program 0 True(1)->True(1)
LLDP_NB_TX_MODE_P1 program OFF ALL(2)->ALL(2)
MAX_ACC_OUT_READ unsupported 1 N/A->N/A
NOT_THERE unsupported 1 N/A->N/A
ROCE_CC_PRIO_MASK_P1 program 8 255->255
not a name unsupported 1 N/A->N/A
`
		if d := cmp.Diff(want, table(got)); d != "" {
			t.Error(d)
		}
		for _, ch := range got {
			if (ch.Reset != "") != (ch.Kind == Program || ch.Kind == ResetPending) || (ch.Why == "") != (ch.Reset != "") {
				t.Errorf("%s: reset %q, why %q", ch.Name, ch.Reset, ch.Why)
			}
		}
		if why := got[10].Why; !strings.Contains(why, "ADVANCED_PCI_SETTINGS") {
			t.Errorf("%s: %q", got[10].Name, why)
		}
		if why := got[3].Why; !strings.Contains(why, "no such port") {
			t.Errorf("%s: %q", got[3].Name, why)
		}
	})
}
