package sonic

import (
	"reflect"
	"slices"
	"sync"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// planInput is everything that the plan for a switch depends on.
type planInput struct {
	site    native.Site // without Check, which follows from models
	models  *yang.Models
	running native.Config
	desired *qos.Device
	sum     uint64 // of running
	size    int    // of running, in bytes
}

// inputOf leaves out the fields that differ between identical switches.
func inputOf(site native.Site, models *yang.Models, running native.Config, desired *qos.Device) planInput {
	running = running.Impersonal()
	sum, size := running.Sum()
	return planInput{site, models, running, desired.Impersonal(), sum, size}
}

func (in planInput) equal(other planInput) bool {
	return in.sum == other.sum && in.models == other.models && reflect.DeepEqual(in.site, other.site) &&
		in.desired.Equal(other.desired) && in.running.Equal(other.running)
}

// cachedPlan is an input with its steps, which are worked out once.
type cachedPlan struct {
	planInput
	steps func() (*drivers.Steps, error)
}

// planCache keeps the most recent plans, the last used one at the end. A fabric has few kinds of
// switches, and switches of one kind often have the same configuration, from the factory or the
// last run. Equal inputs share one plan.
type planCache struct {
	mu   sync.Mutex
	kept []*cachedPlan
}

// Limits for the cache, because configurations come from outside. A switch of 64 ports takes 90 kB.
const (
	maxPlans = 8
	maxKept  = 2 << 20 // bytes of one configuration
)

var plans planCache

// steps returns the cached steps for an input, or calls plan. The steps are shared and must not be
// modified.
func (c *planCache) steps(in planInput, plan func(planInput) (*drivers.Steps, error)) (*drivers.Steps, error) {
	if in.size > maxKept {
		return plan(in)
	}
	return c.find(in, plan).steps()
}

func (c *planCache) find(in planInput, plan func(planInput) (*drivers.Steps, error)) *cachedPlan {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := &cachedPlan{planInput: in, steps: sync.OnceValues(func() (*drivers.Steps, error) { return plan(in) })}
	if i := slices.IndexFunc(c.kept, func(k *cachedPlan) bool { return k.equal(in) }); i >= 0 {
		found = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else if len(c.kept) == maxPlans {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, found)
	return found
}
