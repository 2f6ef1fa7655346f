package sonic

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

func TestDefaultsAreListed(t *testing.T) {
	bare, _ := Decode(Config{TPort: {"Ethernet0": {}}})
	mapped, _ := Decode(Config{TPort: {"Ethernet0": {}}, TPortQoS: {"Ethernet0": {"dscp_to_tc_map": "AZURE"}}, TDSCPToTC: {"AZURE": {"26": "3"}}})
	mapped.Ports["Ethernet0"].Trust.Set = false // the row states it
	formstest.Defaults(t, Defaults, bare, mapped)
}
