package keep

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Health, metrics and state reflect the Keeper's work, and the manual lists each metric with its
// labels.
func TestServed(t *testing.T) {
	r := newRig(t, Config{Policy: Repair, Allow: qos.ImpactCounters})
	h := r.Handler("v1")
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		return rec.Code, rec.Body.String()
	}
	want := func(path string, status int, parts ...string) {
		t.Helper()
		code, body := get(path)
		for _, p := range parts {
			if !strings.Contains(body, p) {
				t.Errorf("%s has no %q:\n%s", path, p, body)
			}
		}
		if code != status {
			t.Errorf("%s: %d, want %d", path, code, status)
		}
	}
	want("/healthz", 503, "the agent is stuck")
	want("/readyz", 503, "the host has not been read")
	end := r.start(t)
	want("/healthz", 200)
	want("/readyz", 200)
	want("/", 200, "/state.json")
	want("/state.json", 200, `"host":"gpu1"`, `"differences":[]`)
	r.noPFC(ens0)
	r.SetCM("mlx5_1", "default_roce_tos", "0")
	r.wake(ens0)
	want("/state.json", 200, `"reason":"impact"`, `"field":"pfc"`)
	want("/metrics", 200, `roce_fabric_agent_info{host="gpu1",policy="repair"} 1`,
		`roce_fabric_agent_differs{field="pfc",port="ens1f0np0"} 1`, `roce_fabric_agent_differences{reason="impact"} 1`,
		`roce_fabric_agent_repairs_total{field="tos",port="ens2f0np0",result="done"} 1`, `roce_fabric_agent_looks_total{cause="event"} 1`,
		`roce_fabric_agent_wanted_ok 1`, `roce_fabric_build_info{version="v1"} 1`, "go_goroutines")
	r.Corrupt(ens0, withPFC)
	r.clock.pass(time.Minute)
	want("/metrics", 200, `roce_fabric_agent_differs{field="pfc",port="ens1f0np0"} 0`, `roce_fabric_agent_differences{reason="impact"} 0`)

	manual, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range reasons {
		if !strings.Contains(string(manual), "| `"+string(why)+"` |") {
			t.Errorf("docs/agent.md does not explain the reason %s", why)
		}
	}
	// The state is valid JSON for programs.
	_, body := get("/state.json")
	var s State
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Format != Format || s.Digest == "" {
		t.Errorf("%v: %s", err, body)
	}
	end()
	want("/healthz", 503)
}

// systemd accepts the example unit, except that its program is not installed here.
func TestServiceOfTheExamples(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("skipped: no systemd-analyze (Debian: apt-get install systemd)")
	}
	out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", "../../examples/monitoring/roce-fabric-agent.service").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "roce-fabric-agent") && !strings.Contains(line, "is not executable: No such file or directory") && !strings.Contains(line, "Unit roce-fabric-agent.service has a bad unit file setting") {
			t.Errorf("%v: %s", err, line)
		}
	}
}
