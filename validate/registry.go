package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/buffers"
	"github.com/roce-fabric/roce-fabric/validate/checks/cabling"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
	"github.com/roce-fabric/roce-fabric/validate/checks/counters"
	"github.com/roce-fabric/roce-fabric/validate/checks/ecn"
	"github.com/roce-fabric/roce-fabric/validate/checks/forwarding"
	"github.com/roce-fabric/roce-fabric/validate/checks/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
	"github.com/roce-fabric/roce-fabric/validate/checks/known"
	"github.com/roce-fabric/roce-fabric/validate/checks/mtu"
	nics "github.com/roce-fabric/roce-fabric/validate/checks/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks/operations"
	"github.com/roce-fabric/roce-fabric/validate/checks/paths"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/checks/ports"
)

// registry holds all checks, sorted by ID.
var registry = assemble(class.Checks, pfc.Checks, buffers.Checks, headroom.Checks, ecn.Checks, mtu.Checks, nics.Checks,
	paths.Checks, forwarding.Checks, ports.Checks, cabling.Checks, identity.Checks, operations.Checks, counters.Checks, known.Checks)

func assemble(families ...[]checks.Check) []*checks.Check {
	var all []*checks.Check
	for _, f := range families {
		for i := range f {
			all = append(all, &f[i])
		}
	}
	ordered.Sort(all, func(a, b *checks.Check) int { return natural.Compare(a.ID, b.ID) })
	for i, c := range all {
		if i > 0 && all[i-1].ID == c.ID {
			panic(fmt.Sprintf("two checks are called %s", c.ID))
		}
		c.Fix = intent.Fix(c.ID, c.Fix)
	}
	return all
}

// Checks returns all checks, sorted by ID.
func Checks() []*checks.Check { return slices.Clone(registry) }

// Lookup returns the check with an ID, ignoring case; nil if there is none.
func Lookup(id string) *checks.Check {
	for _, c := range registry {
		if strings.EqualFold(c.ID, id) {
			return c
		}
	}
	return nil
}
