package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// The report for a large fabric of unconfigured hosts fits into one and a half screens and names
// every failed check.
func TestUnsetFleetIsShort(t *testing.T) {
	f, err := intent.Load("../examples/rail-512/fabric.yaml", intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var fs []checks.Finding
	for _, h := range f.Hosts {
		desired, _ := nic.Desired(f, h)
		running := &nic.Host{Name: h.Name, Ports: map[string]*nic.Port{}}
		for name, want := range desired.Ports {
			p := *want
			p.PFC, p.Trust, p.ToS = qos.Of(qos.PrioritySet(0)), qos.Of(qos.TrustPCP), qos.Of(0)
			p.LinkPause, p.Carrier, p.ActiveMTU = qos.Of(true), qos.Of(true), qos.Of(1024)
			p.StallPrevention = qos.Of("default")
			running.Ports[name] = &p
		}
		fs = append(fs, validate.Host(f, h, running, desired, validate.NewRun(f).End)...)
	}
	fs = checks.Sort(fs)
	text := write(t, FormText, Report{Command: "nic validate", Fabric: f.Name, Intent: f, Findings: fs, Devices: DevicesFrom(nil, f.Hosts, FromRunning, fs)})
	if n := strings.Count(text, "\n"); n >= 40 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"\nerror gpu[01-64] rail[0-7]: ", "\n      NIC-01: trust is pcp, ", "\n      NIC-03: ", "\n      PFC-02: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if c := checks.Count(fs); c.Error != 4*len(f.Hosts) {
		t.Errorf("%s", fmt.Sprint(c))
	}
}

// In every form for people, a finding that covers another check shows both IDs.
func TestCoveredChecksAreNamed(t *testing.T) {
	for covers, want := range map[string]bool{"": false, "PFC-04": true} {
		f := loadFabric(t, fabricFile)
		r := Report{Fabric: f.Name, Command: "validate", Devices: []Device{{Name: "leaf1", Kind: SwitchDevice, Source: FromRunning}},
			Findings: []checks.Finding{{ID: "PFC-02", Severity: checks.Error, Device: "leaf1", Ports: []string{"Ethernet0"}, What: "PFC is off", Covers: strings.Fields(covers)}}}
		for _, form := range []Form{FormText, FormMarkdown, FormJUnit} {
			if got := strings.Contains(strings.ReplaceAll(write(t, form, r), `\`, ""), "also PFC-04"); got != want {
				t.Errorf("%v, covers %q: named %v", form, covers, got)
			}
		}
		if got := strings.Contains(strings.Join(strings.Fields(write(t, FormSARIF, r)), ""), `"taxa":[{"id":"PFC-04"`); got != want {
			t.Errorf("SARIF, covers %q: named %v", covers, got)
		}
	}
}
