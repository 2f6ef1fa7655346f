package sonic

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Files are accepted in the forms that people keep: with a terminal session around them, or with
// several namespaces, of which only one has ports.
func TestSavedForms(t *testing.T) {
	const plain = `{"DEVICE_METADATA": {"localhost": {"hostname": "sw7", "hwsku": "ACME"}}, "PORT": {"Ethernet0": {"mtu": "9100"}}}`
	for name, text := range map[string]string{
		"plain":         plain,
		"session":       "admin@sw7:~$ show runningconfiguration all\n" + plain + "\nadmin@sw7:~$ exit\n",
		"one namespace": `{"localhost": {"DEVICE_METADATA": {}}, "asic0": ` + plain + `}`,
	} {
		s, err := saved([]byte(text), drivers.Target{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d, _ := s.Decode(s.Snapshot); d.Name != "sw7" || d.Ports["Ethernet0"] == nil {
			t.Errorf("%s: %+v", name, d)
		}
		if lines := s.Account(s.Snapshot); len(lines) != 1 {
			t.Errorf("%s: account %v", name, lines)
		}
		if id := identify([]byte(text)); id.Hostname != "sw7" || id.Model != "ACME" {
			t.Errorf("%s: %+v", name, id)
		}
	}
	for text, want := range map[string]string{
		`{"asic0": ` + plain + `, "asic1": ` + plain + `}`: "2 namespaces (asic0, asic1)",
		plain + ` {"PORT": {}}`:                            "text after the end",
		`{"PORT": {`:                                       "unexpected EOF",
	} {
		if _, err := saved([]byte(text), drivers.Target{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
