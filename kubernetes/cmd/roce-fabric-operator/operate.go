package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/metrics"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
	"github.com/roce-fabric/roce-fabric/kubernetes/shard"
)

// ownNamespace is the environment variable with the namespace of the Pod.
const ownNamespace = "POD_NAMESPACE"

// settings holds the settings from the command line.
type settings struct {
	own, namespaces, metrics, health, pprof, webhook, certs, lab string
	lease, grace                                                 time.Duration
	log                                                          zap.Options
	o                                                            operator.Options
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("roce-fabric-operator", flag.ContinueOnError)
	f.Usage = usageOf(f, "Validate, plan and change fabrics from Kubernetes. For the agent of a Node, see\n'roce-fabric-operator node --help'.")
	f.StringVar(&s.own, "namespace", os.Getenv(ownNamespace), "the `namespace` of the operator, for the Leases of the replicas (default: $"+ownNamespace+")")
	f.StringVar(&s.namespaces, "watch-namespaces", "", "the `namespaces` with Fabrics, separated by commas (default: that of --namespace)")
	f.StringVar(&s.metrics, "metrics-address", ":8080", "serve Prometheus metrics at this `address`; 0 is off")
	f.StringVar(&s.health, "health-address", ":8081", "serve /healthz and /readyz at this `address`; 0 is off")
	f.StringVar(&s.pprof, "pprof-address", "", "serve pprof at this `address`: 127.0.0.1:6060 (default: off)")
	f.StringVar(&s.webhook, "webhook-address", ":9443", "serve the admission webhook at this `address`")
	f.StringVar(&s.certs, "webhook-certs", "", "the `folder` with tls.crt and tls.key of the webhook, which is read again when it changes (default: no webhook)")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "how long the Lease of an elected replica that died keeps another one from taking over")
	f.DurationVar(&s.o.ReplicaTTL, "takeover", 30*time.Second, "how long it takes until other replicas read the devices of one that died")
	f.DurationVar(&s.grace, "grace", 2*time.Minute, "how long running work may take to finish: a device that is being changed is reverted")
	f.IntVar(&s.o.Parallel, "parallel", 16, "the devices of a fabric that are worked on at a time")
	f.IntVar(&s.o.Fabrics, "fabrics", 4, "the fabrics that are compared and planned at a time; runs are not limited")
	f.DurationVar(&s.o.LockTTL, "lock", 30*time.Second, "how long the lock of a fabric outlives a replica that died")
	f.StringVar(&s.o.NICDevices, "nic-devices", "", "the `namespace` of NVIDIA's NIC configuration operator, whose NicDevices are compared with the intent (default: none)")
	f.StringVar(&s.o.Dir, "work-dir", "", "a `folder`, in memory where possible, for intents and credentials that are in use (default: that of the system)")
	f.StringVar(&s.lab, "lab", "", "the `file` of a lab (roce-fabric lab up): its devices answer in place of those of the intents, for a trial")
	show := f.Bool("version", false, "print the version")
	config.RegisterFlags(f)
	s.log.BindFlags(f)
	if err := parseFlags(f, args); err != nil {
		return nil, err
	}
	if *show {
		fmt.Println("roce-fabric-operator", version)
		return nil, flag.ErrHelp
	}
	return s, s.check()
}

func usageOf(f *flag.FlagSet, about string) func() {
	return func() {
		fmt.Fprintf(f.Output(), "%s\n\nFlags:\n", about)
		f.PrintDefaults()
	}
}

func parseFlags(f *flag.FlagSet, args []string) error {
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return &usageError{err.Error()}
	case f.NArg() > 0:
		return wrong("unknown argument %q", f.Arg(0))
	}
	return nil
}

func (s *settings) check() error {
	if s.own == "" {
		return wrong("the namespace of the operator is not known: name it with --namespace, or in $%s", ownNamespace)
	}
	if s.namespaces == "" {
		s.namespaces = s.own
	}
	for _, ns := range append([]string{s.own}, strings.Split(s.namespaces, ",")...) {
		if why := validation.IsDNS1123Label(ns); len(why) > 0 {
			return wrong("%q is not a valid name of a namespace: %s", ns, why[0])
		}
	}
	for _, d := range []struct {
		name string
		is   time.Duration
	}{{"lease", s.lease}, {"lock", s.o.LockTTL}, {"takeover", s.o.ReplicaTTL}, {"grace", s.grace}} {
		if d.is < 3*time.Second || d.is > time.Hour {
			return wrong("--%s %s: use 3s to 1h", d.name, d.is)
		}
	}
	if s.o.Parallel < 1 || s.o.Fabrics < 1 {
		return wrong("--parallel and --fabrics are 1 or more")
	}
	return nil
}

// manager returns the manager with the operator's controllers.
func (s *settings) manager() (ctrl.Manager, error) {
	cfg, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	cfg.UserAgent = "roce-fabric-operator/" + version
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return nil, err
	}
	renew, retry := s.lease*2/3, s.lease/6
	o := ctrl.Options{
		Scheme: known, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{}},
		Metrics: metricsserver.Options{BindAddress: s.metrics}, HealthProbeBindAddress: s.health, PprofBindAddress: s.pprof,
		LeaderElection: true, LeaderElectionID: "roce-fabric-operator", LeaderElectionNamespace: s.own,
		// This is safe because the program ends right after the manager, so nothing continues
		// without the Lease.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &s.lease, RenewDeadline: &renew, RetryPeriod: &retry, GracefulShutdownTimeout: &s.grace,
	}
	for ns := range strings.SplitSeq(s.namespaces, ",") {
		o.Cache.DefaultNamespaces[ns] = cache.Config{}
	}
	if s.certs != "" {
		if o.WebhookServer, err = s.server(); err != nil {
			return nil, err
		}
	}
	m, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return nil, err
	}
	s.o.Version, s.o.Webhook, s.o.Namespace = version, s.certs != "", s.own
	if s.lab != "" {
		s.o.Access = func() *fleet.Access { return inLab(s.lab) }
	}
	var group metrics.Group
	s.o.Joined = func(g *shard.Group) { group = g }
	if err := operator.Add(m, s.o); err != nil {
		return nil, err
	}
	if err := ctrlmetrics.Registry.Register(metrics.New(m.GetClient(), m.Elected(), group, version)); err != nil {
		return nil, err
	}
	return m, errors.Join(m.AddHealthzCheck("ping", healthz.Ping), s.addReady(m))
}

// server returns the server of the webhook.
func (s *settings) server() (webhook.Server, error) {
	host, text, err := net.SplitHostPort(s.webhook)
	if err != nil {
		return nil, wrong("--webhook-address: %s", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return nil, wrong("--webhook-address %s: %q is not a port", s.webhook, text)
	}
	// The API server does not need HTTP/2, which has enabled denial-of-service attacks by stream
	// resets.
	http1 := func(c *tls.Config) { c.NextProtos, c.MinVersion = []string{"http/1.1"}, tls.VersionTLS12 }
	return webhook.NewServer(webhook.Options{Host: host, Port: int(port), CertDir: s.certs, TLSOpts: []func(*tls.Config){http1}}), nil
}

// addReady adds the readiness checks: objects are cached and, if there is one, the webhook
// serves. A replica that waits to be elected is ready too.
func (s *settings) addReady(m ctrl.Manager) error {
	err := m.AddReadyzCheck("cache", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not synced yet")
		}
		return nil
	})
	if s.certs == "" || err != nil {
		return err
	}
	return m.AddReadyzCheck("webhook", m.GetWebhookServer().StartedChecker())
}

// operate runs the operator until ctx ends.
func operate(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&s.log)))
	m, err := s.manager()
	if err != nil {
		return err
	}
	return m.Start(ctx)
}
