package eos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

func TestDefaultsAreListed(t *testing.T) {
	switched, _ := Decode(mustParse(t, "interface Ethernet1\nend\n"))
	routed, _ := Decode(mustParse(t, "interface Ethernet1\n   no switchport\nend\n"))
	formstest.Defaults(t, Defaults, switched, routed)
}
