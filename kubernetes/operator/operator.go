package operator

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// Options tune the operator.
type Options struct {
	// Version is named in plans.
	Version string
	// Dir is a folder, in memory where possible, for intents and credentials that are in
	// use; "" is that of the system.
	Dir string
	// Parallel is how many devices of a fabric are worked on at a time; 0 is 16.
	Parallel int
	// Fabrics is how many fabrics are worked on at a time; 0 is 4.
	Fabrics int
	// GitTransports are those that an intent may come over, separated by colons; "" is
	// https:ssh.
	GitTransports string
	// LockTTL is how long the lock of a fabric outlives a replica that died; 0 is 30 s.
	LockTTL time.Duration
	// Access says how devices are reached; nil goes where the intent says.
	Access func() *fleet.Access
	// Webhook serves the admission webhook as well.
	Webhook bool
}

func (o Options) withDefaults() *Options {
	o.Parallel, o.Fabrics = cmp.Or(o.Parallel, 16), cmp.Or(o.Fabrics, 4)
	o.GitTransports = cmp.Or(o.GitTransports, "https:ssh")
	if o.Access == nil {
		o.Access = func() *fleet.Access { return &fleet.Access{} }
	}
	return &o
}

// access says how the devices of a call are reached.
func (o *Options) access() *fleet.Access {
	a := o.Access()
	a.Workers = o.Parallel
	return a
}

// deps are what the reconcilers share.
type deps struct {
	client.Client
	// direct asks the API server itself: no Secret is kept in memory.
	direct client.Client
	events events.EventRecorder
	o      *Options
	stores *stores
}

// stores are those of the fabrics: each has to see for how long a lock is not renewed.
type stores struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*journal.Secrets
}

// store is where the runs over a fabric are kept.
func (d *deps) store(f *v1alpha1.Fabric) (*journal.Secrets, error) {
	d.stores.mu.Lock()
	defer d.stores.mu.Unlock()
	key := client.ObjectKeyFromObject(f)
	if s := d.stores.all[key]; s != nil {
		return s, nil
	}
	s, err := journal.Open(d.direct, f.Namespace, f.Name, d.o.LockTTL)
	if err == nil {
		d.stores.all[key] = s
	}
	return s, err
}

// Add adds the controllers, and the webhook, to a manager.
func Add(m ctrl.Manager, opts Options) error {
	o := opts.withDefaults()
	direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), HTTPClient: m.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	d := deps{m.GetClient(), direct, m.GetEventRecorder("roce-fabric"), o, &stores{all: map[types.NamespacedName]*journal.Secrets{}}}
	fabrics, plans := &fabricReconciler{d}, &planReconciler{d}
	err = ctrl.NewControllerManagedBy(m).Named("fabric").
		For(&v1alpha1.Fabric{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1alpha1.FabricPlan{}, builder.WithPredicates(ended)).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Fabrics}).
		Complete(fabrics)
	if err != nil {
		return fmt.Errorf("controller of fabrics: %w", err)
	}
	err = ctrl.NewControllerManagedBy(m).Named("fabricplan").
		For(&v1alpha1.FabricPlan{}).
		Watches(&v1alpha1.FabricPlanApproval{}, handler.EnqueueRequestsFromMapFunc(planOf)).
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
