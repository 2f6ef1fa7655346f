package cumulus

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

func TestDefaultsAreListed(t *testing.T) {
	bare, _ := Decode(parse(t, "nv set interface swp1 type swp\n"))
	formstest.Defaults(t, Defaults, bare)
}
