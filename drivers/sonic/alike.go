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

// question is all that the plan of a switch depends on.
type question struct {
	site    native.Site // without Check, which is that of models
	models  *yang.Models
	running native.Config
	desired *qos.Device
	sum     uint64 // of running
	size    int    // of running, in bytes
}

// ask puts the question of a switch without what tells it from others like it.
func ask(site native.Site, models *yang.Models, running native.Config, desired *qos.Device) question {
	running = running.Impersonal()
	sum, size := running.Sum()
	return question{site, models, running, desired.Impersonal(), sum, size}
}

func (q question) equal(other question) bool {
	return q.sum == other.sum && q.models == other.models && reflect.DeepEqual(q.site, other.site) &&
		q.desired.Equal(other.desired) && q.running.Equal(other.running)
}

// answer is what the steps of a question are, worked out once.
type answer struct {
	question
	steps func() (*drivers.Steps, error)
}

// answers keeps the last answers, the one used last at the end. The switches of a fabric
// are of few kinds, and those of one kind often hold the same, as the factory or the last
// run left them: a question that is equal in every value is not worked out again.
type answers struct {
	mu   sync.Mutex
	kept []*answer
}

// Bounds on what is kept, as configurations are foreign. A switch of 64 ports takes 90 kB.
const (
	maxAnswers = 8
	maxKept    = 2 << 20 // bytes of one configuration
)

var planned answers

// of returns the answer to a question, made by work where none is kept. It is shared, and
// nobody may change it.
func (a *answers) of(q question, work func(question) (*drivers.Steps, error)) (*drivers.Steps, error) {
	if q.size > maxKept {
		return work(q)
	}
	return a.find(q, work).steps()
}

func (a *answers) find(q question, work func(question) (*drivers.Steps, error)) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := &answer{question: q, steps: sync.OnceValues(func() (*drivers.Steps, error) { return work(q) })}
	if i := slices.IndexFunc(a.kept, func(k *answer) bool { return k.equal(q) }); i >= 0 {
		found = a.kept[i]
		a.kept = slices.Delete(a.kept, i, i+1)
	} else if len(a.kept) == maxAnswers {
		a.kept = slices.Delete(a.kept, 0, 1)
	}
	a.kept = append(a.kept, found)
	return found
}
