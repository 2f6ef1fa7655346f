package nxos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

func TestDefaultsAreListed(t *testing.T) {
	bare, _ := Decode(parse(t, "interface Ethernet1/1\ninterface Ethernet1/2\n  no switchport\n"), EightQueue)
	formstest.Defaults(t, Defaults, bare)
}
