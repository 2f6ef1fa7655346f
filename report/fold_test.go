package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
)

// A fleet of hosts of which nothing is configured is told on less than a screen and a
// half, with every check that it fails.
func TestUnsetFleetIsShort(t *testing.T) {
	f, err := intent.Load("../examples/rail-512/fabric.yaml", intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var fs []validate.Finding
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
	fs = validate.Sort(fs)
	text := write(t, FormText, Report{Command: "nic validate", Fabric: f.Name, Intent: f, Findings: fs, Devices: Looked(nil, f.Hosts, FromRunning, fs)})
	if n := strings.Count(text, "\n"); n >= 40 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"\nerror gpu[01-64] rail[0-7]: ", "\n      NIC-01: trust is pcp, ", "\n      NIC-03: ", "\n      PFC-02: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if c := validate.Count(fs); c.Error != 4*len(f.Hosts) {
		t.Errorf("%s", fmt.Sprint(c))
	}
}
