package mlxconfig

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// realTool returns mstconfig from the Debian package mstflint.
func realTool(t *testing.T) *Tool {
	t.Helper()
	if _, err := exec.LookPath("mstconfig"); err != nil {
		t.Skip("skipped: needs mstconfig (Debian package mstflint)")
	}
	tool := &Tool{Name: "mstconfig", run: runner.Local{Path: os.Getenv("PATH")}}
	if res, err := tool.call(t.Context(), helpTimeout, tool.Name, "-v"); err != nil || res.Code != 0 {
		t.Fatalf("mstconfig -v: %+v, %v", res, err)
	}
	return tool
}

// nowhere is a PCI address without a card.
const nowhere = "ffff:ff:1f.7"

// TestRealToolWithoutACard checks that the simulated card uses the real tool's exit status and
// messages.
func TestRealToolWithoutACard(t *testing.T) {
	tool := realTool(t)
	_, err := tool.Query(t.Context(), nowhere)
	var f *runner.Failure
	if !errors.Is(err, ErrAccess) || !errors.As(err, &f) || f.Code != 3 || len(f.Words) != 1 || f.Words[0] != "Failed to open the device" {
		t.Errorf("query: %v", err)
	}
	res, err := tool.call(t.Context(), setTimeout, tool.Name, "-d", nowhere, "-y", "set", "CNP_DSCP_P1=48")
	if err != nil || res.Code != 3 || len(errorMessages(res)) != 1 || len(res.Stderr) != 0 {
		t.Errorf("set: %+v, %v", res, err)
	}
	out, err := tool.Set(t.Context(), nowhere, []Change{{Name: "CNP_DSCP_P1", Kind: Program, Want: numberOf(48)}})
	if !errors.Is(err, ErrAccess) || errors.Is(err, ErrPartial) || len(out) > 0 {
		t.Errorf("Set: %+v, %v", out, err)
	}
}

// TestRealNames looks up the settings of this package in the tool's own list and checks their
// groups, their values, and that they belong to a port.
func TestRealNames(t *testing.T) {
	tool := realTool(t)
	prog, err := exec.LookPath("mstconfig")
	if err != nil {
		t.Fatal(err)
	}
	if prog, err = filepath.EvalSymlinks(prog); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(filepath.Dir(prog), "..", "share", "mstflint", "mlxconfig_dbs", "mlxconfig_host.db")
	names, err := os.ReadFile(db)
	if err != nil {
		t.Skipf("skipped: needs the list of settings of mstflint: %v", err)
	}
	cfg := &Config{Params: map[string]Param{"CNP_RES_PRIO_MODE_P1": {}}}
	want, err := Wanted(cfg, Settings{Port: 1, CCPriorities: qos.Priorities(3), CNPDSCP: 48, CNPPriority: 6, FirmwareLLDPOff: true})
	if err != nil {
		t.Fatal(err)
	}
	want[offloadEngine] = ""
	for name := range want {
		if name = strings.TrimSuffix(name, "_P1"); !bytes.Contains(names, []byte(name)) {
			t.Errorf("the tool knows no %s", name)
		}
	}
	for _, numbers := range []string{"OFF=0x0,MANDATORY=0x1,ALL=0x2", "ENABLED=0x0,DISABLED=0x1"} {
		if !bytes.Contains(names, []byte(numbers)) {
			t.Errorf("the tool knows no %s", numbers)
		}
	}

	dir := t.TempDir()
	list, chosen, xml := filepath.Join(dir, "list"), filepath.Join(dir, "chosen"), filepath.Join(dir, "xml")
	offline := func(args ...string) {
		t.Helper()
		args = append([]string{"-b", db, "-t", "hca"}, args...)
		if res, err := tool.call(t.Context(), helpTimeout, tool.Name, args...); err != nil || res.Code != 0 {
			t.Fatalf("%q: %+v, %v", args, res, err)
		}
	}
	offline("gen_tlvs_file", list)
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"nv_roce_cc", "nv_roce_cc_ecn", "nv_lldp_nb_conf", "nv_internal_cpu_conf"} {
		line := regexp.MustCompile(`(?m)^(` + group + ` +)0$`)
		if !line.Match(b) {
			t.Fatalf("the tool knows no group %s", group)
		}
		b = line.ReplaceAll(b, []byte("${1}1"))
	}
	if err := os.WriteFile(chosen, b, 0o600); err != nil {
		t.Fatal(err)
	}
	offline("gen_xml_template", chosen, xml)
	if b, err = os.ReadFile(xml); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`<nv_roce_cc port='all'>`, `<nv_roce_cc_ecn port='all'>`, `<nv_lldp_nb_conf port='all'>`, `<nv_internal_cpu_conf>`,
		"<cnp_dscp>", "<cnp_802p_prio>", "<lldp_nb_dcbx>", "<lldp_nb_rx_mode>", "<lldp_nb_tx_mode>", "Legal Values:ALL|MANDATORY|OFF", "Legal Values:DISABLED|ENABLED",
	} {
		if !bytes.Contains(b, []byte(part)) {
			t.Errorf("the tool's template has no %s", part)
		}
	}
}
