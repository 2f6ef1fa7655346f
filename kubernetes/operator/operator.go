package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
	"github.com/roce-fabric/roce-fabric/kubernetes/shard"
)

// Options configure the operator.
type Options struct {
	// Version is recorded in plans.
	Version string
	// Dir is the folder for intents and credentials in use, in memory if possible; "" means the
	// system's temporary folder.
	Dir string
	// Parallel is the number of devices of a fabric to work on in parallel; 0 means 16.
	Parallel int
	// Fabrics is the number of fabrics to compare and plan in parallel; 0 means 4. Runs are not
	// limited: each fabric may have one.
	Fabrics int
	// LockTTL is how long the lock of a fabric outlives a replica that died; 0 means 30 s.
	LockTTL time.Duration
	// Access returns how devices are reached; nil means as the intent says.
	Access func() *fleet.Access
	// Webhook also serves the admission webhook.
	Webhook bool
	// Namespace is the operator's namespace, which contains the Leases of the replicas.
	Namespace string
	// ReplicaTTL is the time within which other replicas take over the devices of a replica that
	// died; 0 means 30 s.
	ReplicaTTL time.Duration
	// NICDevices is the namespace of NVIDIA's NIC configuration operator, whose NicDevices are
	// compared with the intent; "" disables that.
	NICDevices string
	// Joined is called with the group of the replicas, which starts with the manager; it may be
	// nil.
	Joined func(*shard.Group)
}

func (o Options) withDefaults() *Options {
	o.Parallel, o.Fabrics = cmp.Or(o.Parallel, 16), cmp.Or(o.Fabrics, 4)
	if o.Access == nil {
		o.Access = func() *fleet.Access { return &fleet.Access{} }
	}
	return &o
}

// access returns how the devices of an intent are reached.
func (o *Options) access(l *loaded) *fleet.Access {
	a := o.Access()
	a.Workers, a.Policy, a.AcceptIdentity = o.Parallel, l.policy, l.accepts
	return a
}

// deps are the dependencies shared by the reconcilers.
type deps struct {
	client.Client
	// direct bypasses the cache, so that no Secret is kept in memory.
	direct  client.Client
	events  events.EventRecorder
	o       *Options
	stores  *stores
	intents *intents
	runs    *runner
}

// briefly records events and shortens their text, because the API server rejects long texts.
type briefly struct{ events.EventRecorder }

// maxNote is the largest length of an event's note, in bytes.
const maxNote = 1024

// Eventf implements [events.EventRecorder].
func (b briefly) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	text := fmt.Sprintf(note, args...)
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote-3], "") + "..."
	}
	b.EventRecorder.Eventf(about, related, kind, reason, action, "%s", text)
}

// stores caches the stores of fabrics and of device locks, because each store must observe for
// how long a lock has not been renewed.
type stores struct {
	direct client.Client
	ttl    time.Duration
	mu     sync.Mutex
	all    map[types.NamespacedName]*journal.Secrets
}

// open returns the store with a name and opens it only once.
func (s *stores) open(namespace, name string, open func(c client.Client, namespace, name string, ttl time.Duration) (*journal.Secrets, error)) (*journal.Secrets, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if one := s.all[key]; one != nil {
		return one, nil
	}
	one, err := open(s.direct, namespace, name, s.ttl)
	if err == nil {
		s.all[key] = one
	}
	return one, err
}

// store returns the store of a fabric's runs.
func (d *deps) store(f *v1alpha1.Fabric) (*journal.Secrets, error) {
	return d.stores.open(f.Namespace, f.Name, journal.Open)
}

// Add adds the controllers, and the webhook if enabled, to a manager.
func Add(m ctrl.Manager, opts Options) error {
	o := opts.withDefaults()
	direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), HTTPClient: m.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	group, err := replicas(direct, o)
	if err != nil {
		return err
	}
	if o.Joined != nil {
		o.Joined(group)
	}
	d := deps{m.GetClient(), direct, briefly{m.GetEventRecorder("roce-fabric")}, o, &stores{direct: direct, ttl: o.LockTTL, all: map[types.NamespacedName]*journal.Secrets{}}, nil, newRunner()}
	d.intents = &intents{d: &d, all: map[types.NamespacedName]*intentSlot{}}
	if err := errors.Join(m.Add(group), m.Add(&readers{deps: d, fabrics: m.GetCache(), group: group})); err != nil {
		return fmt.Errorf("readers of devices: %w", err)
	}
	fabrics := &fabricReconciler{deps: d, pace: pace{next: map[types.NamespacedName]time.Time{}}, planned: map[types.NamespacedName]string{}}
	plans := &planReconciler{d}
	d.runs.run, d.runs.interrupted = plans.run, plans.interrupted
	err = ctrl.NewControllerManagedBy(m).Named("fabric").
		For(&v1alpha1.Fabric{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1alpha1.FabricPlan{}, builder.WithPredicates(planEnded)).
		Owns(&v1alpha1.SwitchStatus{}, builder.WithPredicates(readingChanged)).
		Owns(&v1alpha1.HostStatus{}, builder.WithPredicates(readingChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Fabrics}).
		Complete(fabrics)
	if err != nil {
		return fmt.Errorf("controller of fabrics: %w", err)
	}
	err = errors.Join(m.Add(d.runs), m.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.FabricPlanApproval{}, approvalsByPlan, planNamed))
	if err != nil {
		return fmt.Errorf("runs of plans: %w", err)
	}
	err = ctrl.NewControllerManagedBy(m).Named("fabricplan").
		For(&v1alpha1.FabricPlan{}, builder.WithPredicates(phaseChanged)).
		Watches(&v1alpha1.FabricPlanApproval{}, handler.EnqueueRequestsFromMapFunc(planOf)).
		Watches(&v1alpha1.Fabric{}, handler.EnqueueRequestsFromMapFunc(plans.plansToStop), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Channel(d.runs.ended, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Fabrics}).
		Complete(plans)
	if err != nil {
		return fmt.Errorf("controller of plans: %w", err)
	}
	if o.Webhook {
		m.GetWebhookServer().Register(WebhookPath, &webhook.Admission{Handler: NewValidator(m.GetScheme())})
	}
	return nil
}

// replicas returns the group of the operator's replicas, with this process as a member.
func replicas(direct client.Client, o *Options) (*shard.Group, error) {
	if o.Namespace == "" {
		return nil, errors.New("the namespace of the operator is not known")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this replica: %w", err)
	}
	return shard.New(direct, shard.Options{Namespace: o.Namespace, Name: "roce-fabric-replica", Identity: host + "_" + rand.Text(), TTL: o.ReplicaTTL}), nil
}
