package report

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Jenkins rejects a whole report if it has a single attribute that its schema lacks.
func TestJenkinsAcceptsJUnit(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("skipped: needs xmllint (Debian: libxml2-utils)")
	}
	accepts := func(text string) (string, bool) {
		cmd := exec.Command(xmllint, "--noout", "--nonet", "--schema", "testdata/jenkins-junit.xsd", "-")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	full := rich(t)
	clean := full
	clean.Findings, clean.Devices = nil, DevicesFrom(full.Intent.Switches, full.Intent.Hosts, FromRunning, nil)
	open := clean
	open.Findings = []checks.Finding{
		{ID: gate.WindowTooShort, Severity: checks.Warning, Device: "leaf1", What: "2 s"},
		{ID: "CAT-01", Severity: checks.Info, Device: "leaf2", Unchecked: "headroom", NotMade: []string{"PFC-02", "TOP-09"}},
	}
	nics := clean
	nics.Command = "nic validate"
	for name, r := range map[string]Report{
		"everything": full, "clean": clean, "inconclusive": open, "nic validate": nics, "without devices": {Command: "check", Fabric: "pod1"},
		"without an intent": {Command: "check", Alone: true, Fabric: "leaf1", Devices: []Device{{Name: "leaf1", Kind: SwitchDevice, OS: "sonic", Source: FromSaved, File: "leaf1.json"}}},
		"hostile":           {Command: "check", Fabric: hostile, Devices: []Device{{Name: hostile, Source: FromNowhere, Error: hostile}}, Findings: []checks.Finding{{ID: hostile, Severity: checks.Error, Device: hostile, What: "\x00\xff\ufffe" + hostile, Where: hostile}}},
	} {
		if out, ok := accepts(write(t, FormJUnit, r)); !ok {
			t.Errorf("%s: %s", name, out)
		}
	}
	for _, refused := range []string{`<testsuites skipped="1"/>`, `<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="b" file="c"/></testsuite></testsuites>`} {
		if out, ok := accepts(refused); ok {
			t.Errorf("accepted: %s: %s", refused, out)
		}
	}
}
