package sonic

import (
	"strings"
	"testing"
)

// TestDeadOrchagent: CONFIG_DB accepts every write, changes that pass through APPL_DB wait there,
// and ASIC_DB stays as it is until orchagent starts again.
func TestDeadOrchagent(t *testing.T) {
	s, c := newBox(t, Options{Model: testModel(2)})
	consumers := func() string {
		out, _ := c.run("sonic-db-cli APPL_DB pubsub numsub BUFFER_PG_TABLE_CHANNEL@0", "")
		return strings.TrimSpace(out)
	}
	pfc := func() string {
		return s.DB("ASIC_DB")["ASIC_STATE"][asicKey("PORT", "Ethernet0")]["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"]
	}
	if got := consumers(); got != "BUFFER_PG_TABLE_CHANNEL@0\n1" {
		t.Errorf("consumers %q", got)
	}
	was := pfc()
	s.Kill(Orchagent)
	s.SetRow("PORT_QOS_MAP", "Ethernet0", map[string]string{"pfc_enable": "6"})
	s.SetRow("PORT", "Ethernet0", map[string]string{"admin_status": "down", "speed": "400000", "lanes": "1", "mtu": "9000"})
	if got := pfc(); got != was {
		t.Errorf("PFC %s in ASIC_DB, was %s", got, was)
	}
	appl := s.DB("APPL_DB")
	if got := appl["PORT_TABLE"]["Ethernet0"]["mtu"]; got != "9100" {
		t.Errorf("MTU %s in APPL_DB", got)
	}
	if got := appl["_PORT_TABLE"]["Ethernet0"]["mtu"]; got != "9000" || appl["_PORT_TABLE"]["Ethernet8"] != nil {
		t.Errorf("waiting: %v", appl["_PORT_TABLE"])
	}
	if got := consumers(); got != "BUFFER_PG_TABLE_CHANNEL@0\n0" {
		t.Errorf("consumers %q", got)
	}
	if out, _ := c.run("pgrep -l -x 'orchagent|buffermgrd'", ""); strings.Contains(out, Orchagent) || !strings.Contains(out, "buffermgrd") {
		t.Errorf("processes %q", out)
	}
	if out, _ := c.run("sonic-db-cli APPL_DB keys '*_KEY_SET'", ""); !strings.Contains(out, "PORT_TABLE_KEY_SET") {
		t.Errorf("keys %q", out)
	}
	s.RestartSwss()
	if got := pfc(); got != "64" {
		t.Errorf("after its restart PFC %s in ASIC_DB", got)
	}
	if got := s.DB("APPL_DB")["_PORT_TABLE"]; got != nil {
		t.Errorf("still waiting: %v", got)
	}
}
