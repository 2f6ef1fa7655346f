package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/prove"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func proved() *prove.Certificate {
	stage := prove.Stage{Pattern: prove.Across, Test: "bandwidth", Classes: []string{"rdma"}, Size: 65536, Rounds: 1, Of: 2, Seconds: 15, Measure: 10, Pairs: 2, OfPairs: 4, Most: 1}
	unit := checks.Finding{ID: "NIC-05", Severity: checks.Warning, What: "no boot unit"}
	one, two := unit, unit
	one.Device, two.Device = "gpu1", "gpu2"
	return &prove.Certificate{Tool: "v1", Fabric: "pod1", Intent: "aa", Plan: "bb", Run: "r1", Started: time.Unix(1e9, 0), Ended: time.Unix(1e9+60, 0), Verdict: prove.Failed, Why: []string{"1 flow too slow"}, Hosts: []string{"gpu1", "gpu2"}, NICs: 2,
		Results: []prove.Result{{Stage: stage, Class: "rdma", Flows: 2, Below: 1, Least: 41, Median: 200, Most: 390, Measures: []prove.Measure{
			{From: "gpu1/eth2", To: "gpu2/eth2", Class: "rdma", Gbps: 41, Floor: 368, Slow: true, Cause: "NIC-15 gpu2 eth2: 4 of 16 lanes"}, {From: "gpu2/eth2", To: "gpu1/eth2", Class: "rdma", Gbps: 390, Floor: 368}}}},
		Findings: []checks.Finding{one, two}, NotTested: []string{"collectives"}}
}

// The text and Markdown of a certificate name what failed with its cause, and devices with the same
// finding together; a flow that is good is not listed.
func TestCertificate(t *testing.T) {
	var b bytes.Buffer
	text := &Text{W: &b}
	text.Certificate(proved())
	md := CertificateMarkdown(&prove.Signed{Certificate: proved(), Digest: "cc", SignedBy: "key 11"})
	for form, got := range map[string]string{"text": strings.Join(strings.Fields(b.String()), " "), "markdown": strings.Join(strings.Fields(md), " ")} {
		for _, want := range []string{"failed", "1 flow too slow", "gpu1/eth2 > gpu2/eth2 (pairs across leaves, rdma): 41.0 Gb/s of at least 368.0: NIC-15 gpu2 eth2: 4 of 16 lanes", "warning NIC-05 gpu1,gpu2: no boot unit", "collectives"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", form, want, got)
			}
		}
		if strings.Contains(got, "gpu2/eth2 > gpu1/eth2") {
			t.Errorf("%s lists a good flow", form)
		}
	}
	for line := range strings.Lines(b.String()) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wide line: %s", line)
		}
	}
}

func TestCertificateSchema(t *testing.T) {
	valid, doc := schemaAnd(t, CertificateSchema(), proved())
	if err := valid.Validate(doc); err != nil {
		t.Error(err)
	}
	doc["verdict"] = "fine"
	if err := valid.Validate(doc); err == nil {
		t.Error("any verdict is valid")
	}
}
