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

// planInput is all that the plan of a switch depends on.
type planInput struct {
	site    native.Site // without Check, which is that of models
	models  *yang.Models
	running native.Config
	desired *qos.Device
	sum     uint64 // of running
	size    int    // of running, in bytes
}

// inputOf leaves out what tells the switch from others like it.
func inputOf(site native.Site, models *yang.Models, running native.Config, desired *qos.Device) planInput {
	running = running.Impersonal()
	sum, size := running.Sum()
	return planInput{site, models, running, desired.Impersonal(), sum, size}
}

func (in planInput) equal(other planInput) bool {
	return in.sum == other.sum && in.models == other.models && reflect.DeepEqual(in.site, other.site) &&
		in.desired.Equal(other.desired) && in.running.Equal(other.running)
}

// cachedPlan is an input with its steps, worked out once.
type cachedPlan struct {
	planInput
	steps func() (*drivers.Steps, error)
}

// planCache keeps the last plans, the one used last at the end. The switches of a fabric
// are of few kinds, and those of one kind often hold the same, as the factory or the last
// run left them: for an input that is equal in every value nothing is worked out again.
type planCache struct {
	mu   sync.Mutex
	kept []*cachedPlan
}

// Bounds on what is kept, as configurations are foreign. A switch of 64 ports takes 90 kB.
const (
	maxPlans = 8
	maxKept  = 2 << 20 // bytes of one configuration
)

var plans planCache

// steps returns the steps for an input, made by plan where none are kept. They are shared,
// and nobody may change them.
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
