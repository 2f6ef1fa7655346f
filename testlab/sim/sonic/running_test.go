package sonic

import (
	"slices"
	"strings"
	"testing"
)

const brownfield = "\xef\xbb\xbf" + `{
  "DEVICE_METADATA": {"localhost": {"hostname": "old1", "hwsku": "Force10-S6000", "platform": "x86_64-kvm_x86_64-r0", "mac": "52:54:00:12:34:56", "bgp_asn": null}},
  "PORT": {"Ethernet0": {"lanes": "29,30,31,32", "speed": "40000", "mtu": "9100", "admin_status": "up"}},
  "WRED_PROFILE": {"W": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "2000", "green_max_threshold": "1000"}},
  "SCHEDULER": {"s1": {"type": "DWRR", "weight": "10"}, "s2": {"type": "DWRR", "weight": "10", "quantum": "3"}},
  "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3, 4"}},
  "QUEUE": {"Ethernet0|3": {"scheduler": "[SCHEDULER|s1]", "wred_profile": "NONE"}}
}
admin@old1:~$ `

// A switch boots with a given configuration, and reports the parts that it rejects.
func TestRunning(t *testing.T) {
	s, err := New(Options{Running: []byte(brownfield), NoSSH: true, Plaintext: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.Config()
	if got := cfg["QUEUE"]["Ethernet0|3"]["scheduler"]; got != "s1" {
		t.Errorf("an old reference reads %q", got)
	}
	if cfg["DEVICE_METADATA"]["localhost"]["hostname"] != "old1" || s.o.Model == nil {
		t.Error("the switch is not that of the configuration")
	}
	got := Refuses("", []byte(brownfield))
	for _, want := range []string{"WRED_PROFILE|W: ", "SCHEDULER|s2: Unknown element \"quantum\"", "PORT_QOS_MAP|Ethernet0: ", "QUEUE|Ethernet0|3: Leafref", "ERR orchagent: :- convertFieldValuesToAttributes: Unknown field:quantum"} {
		if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("nothing refuses %s:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "SCHEDULER|s1") || strings.HasPrefix(l, "PORT|") }) {
		t.Errorf("sound rows are refused:\n%s", strings.Join(got, "\n"))
	}
	if got := Refuses("", []byte("no JSON")); len(got) != 1 {
		t.Errorf("text that is no configuration: %q", got)
	}
	spaces := `{"localhost": {"DEVICE_METADATA": {"localhost": {"hostname": "c1"}}}, "asic0": {"PORT": {"Ethernet0": {"lanes": "1", "speed": "40000"}}}}`
	if got := Refuses("", []byte(spaces)); len(got) != 0 {
		t.Errorf("a configuration of several namespaces: %q", got)
	}
}
