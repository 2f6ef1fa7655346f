package mlxconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// settings prints a config in full.
func settings(c *Config) string {
	var b strings.Builder
	b.WriteString(c.Device + " " + c.Type + "\n")
	for _, name := range natural.Keys(c.Params) {
		p := c.Params[name]
		mark := ""
		if p.ReadOnly {
			mark = " RO"
		}
		b.WriteString(name + " " + p.Default.String() + " " + p.Current.String() + " " + p.Next.String() + mark + "\n")
	}
	for _, u := range c.Unread {
		b.WriteString("unread: " + u + "\n")
	}
	return b.String()
}

func TestParseText(t *testing.T) {
	tests := []struct{ file, device, want string }{
		{"query-4.21.txt", "0000:41:00.0", `0000:41:00.0 ConnectX6DX
CNP_DSCP_MODE_P1 DEVICE_DEFAULT(0) DEVICE_DEFAULT(0) FIXED_VALUE(1)
CNP_DSCP_P1 48 48 48
EXP_ROM_PXE_ENABLE True(1) True(1) True(1)
PCI_SWITCH_EMULATION_NUM_PORT N/A N/A 0
PHY_COUNT_LINK_UP_DELAY DELAY_DISABLE(0) DELAY_DISABLE(0) DELAY_ENABLE0(1)
ROCE_CC_PRIO_MASK_P1 255 0 255
`},
		{"query-4.31.txt", "0000:3b:00.1", `0000:3b:00.1 ConnectX7
CNP_802P_PRIO_P1 6 6 6
ESWITCH_HAIRPIN_DESCRIPTORS Array[0..7] Array[0..7] Array[0..7]
FW_KEY_BYTES 0102030405060708090a0b0c0d0e0f10 0102030405060708090a0b0c0d0e0f10 0102030405060708090a0b0c0d0e0f10
LINK_TYPE_P1 IB(1) ETH(2) ETH(2) RO
LLDP_NB_TX_MODE_P1 ALL(2) ALL(2) OFF(0)
unread: THIS_NAME_IS_AS_LONG_AS_ITS_COLUMN_AND_MORE_True(1) True(1) True(1)
unread: TWO_VALUES_P1 1 2
`},
		{"query-next-only.txt", "/dev/mst/mt4115_pciconf0", `/dev/mst/mt4115_pciconf0 ConnectX4
LINK_TYPE_P1 N/A N/A ETH(2)
SRIOV_EN N/A N/A False(0)
`},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			tool := &Tool{Name: "mlxconfig", run: &runnertest.Fake{Programs: map[string]runnertest.Program{"mlxconfig": runnertest.Prints(string(b), "", 0)}}}
			tool.noJSON.Store(true)
			c, err := tool.Query(t.Context(), tt.device)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, settings(c)); d != "" {
				t.Error(d)
			}
			if c.Partial != (len(c.Unread) > 0) {
				t.Errorf("partial is %v", c.Partial)
			}
		})
	}
}

func TestUnparsableText(t *testing.T) {
	for name, out := range map[string]string{
		"nothing":           "",
		"no table":          "\nDevice #1:\n----------\n\nDevice type:    ConnectX7\n",
		"no rows":           "\nDevice #1:\nConfigurations:   Default Current Next Boot\n",
		"rows of no device": "Configurations:   Next Boot\n         SRIOV_EN   1\n",
		"no next boot":      "\nDevice #1:\nConfigurations:   Default\n         SRIOV_EN   1\n",
		"a strange column":  "\nDevice #1:\nConfigurations:   Next Boot  Mood\n         SRIOV_EN   1  good\n",
		"two others":        "\nDevice #1:\nDevice: 0000:01:00.0\nConfigurations: Next Boot\n         SRIOV_EN   1\nDevice #2:\nDevice: 0000:02:00.0\n",
		"contradictions":    "\nDevice #1:\nConfigurations: Next Boot\n         SRIOV_EN   1\n         SRIOV_EN   0\n",
	} {
		tool := &Tool{Name: "mlxconfig", run: &runnertest.Fake{Programs: map[string]runnertest.Program{"mlxconfig": runnertest.Prints(out, "", 0)}}}
		tool.noJSON.Store(true)
		if c, err := tool.Query(t.Context(), pci); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// FuzzText checks that the parser accepts any text without a panic and never returns a setting with
// an invalid name or value.
func FuzzText(f *testing.F) {
	// The seeds are short because the fuzzer would spend its time on minimizing long ones.
	const head = "\nDevice #1:\nDevice type: ConnectX7\nName: N/A\nDevice: 0000:3b:00.0\n"
	f.Add([]byte(head + "Configurations:  Default Current Next Boot\n*        SRIOV_EN   True(1)  True(1)True(1)\n RO     A_P1  1 2  3\n-W- x\n"))
	f.Add([]byte(head + "Configurations:  Next Boot\n         A_P2   Array[0..7]\n         A_P2   x y\n\nDevice #2:\nConfigurations: Current Next boot\n         B  N/A  0x1(1)\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range parseText(b) {
			sound(t, c)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"Device #1":{"device_type":"ConnectX7","device":"0000:3b:00.0","tlv_configuration":{"SRIOV_EN":{"read_only":false,"modified":true,"default_value":"True(1)","current_value":7,"next_value":"N/A"}}}}`))
	f.Add([]byte(`{"Device #1":{"tlv_configuration":{"A":{"next_value":[1]},"b":{"next_value":1e3},"C":{"next_value":null},"D":{"next_value":-1},"E":{}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseJSON(b)
		if err != nil {
			return
		}
		for _, c := range found {
			sound(t, c)
		}
	})
}

// sound checks the invariants of a config, and that it can be used in a plan.
func sound(t *testing.T, c *Config) {
	t.Helper()
	want := map[string]string{}
	for name, p := range c.Params {
		if name != p.Name || !paramName.MatchString(name) {
			t.Fatalf("a setting named %q under %q", p.Name, name)
		}
		for _, v := range []Value{p.Default, p.Current, p.Next} {
			if strings.ContainsAny(v.Name, "\x1b\n\x00") || v.Known() && !ParseValue(v.String()).Same(v) {
				t.Fatalf("%s: a value %+v", name, v)
			}
		}
		want[name] = "1"
	}
	if len(c.Unread) > 0 && !c.Partial {
		t.Fatalf("unread and not partial: %q", c.Unread)
	}
	Plan(c, want)
}
