// Package metrics exports the operator's fabrics, plans and runs to Prometheus. It reads them
// from the API server, so that a replica that has just started also reports earlier work.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// readTime limits how long a scrape may read from the cache.
const readTime = 5 * time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("roce_fabric_operator_"+name, help, labels, nil)
}

var (
	buildInfo    = desc("build_info", "The version of the program; always 1.", "version")
	elected      = desc("elected", "Whether this replica is the elected one, which judges fabrics, plans and applies.")
	member       = desc("member", "Whether this replica has its Lease, and reads its share of the devices.")
	replicas     = desc("replicas", "Replicas that are alive, as this one sees it.")
	verdict      = desc("fabric_verdict", "1 for the verdict of the last validation, 0 for the others.", "namespace", "fabric", "verdict")
	findings     = desc("fabric_findings", "Findings that count, by severity.", "namespace", "fabric", "severity")
	accepted     = desc("fabric_findings_accepted", "Findings that the intent accepts.", "namespace", "fabric")
	inconclusive = desc("fabric_findings_inconclusive", "Findings about what could not be checked.", "namespace", "fabric")
	devices      = desc("fabric_devices", "Devices of the intent.", "namespace", "fabric")
	reachable    = desc("fabric_devices_reachable", "Devices that answered at the last validation.", "namespace", "fabric")
	drifted      = desc("fabric_devices_drifted", "Devices that differ from the intent.", "namespace", "fabric")
	validated    = desc("fabric_last_validation_timestamp_seconds", "When the last validation ended.", "namespace", "fabric")
	condition    = desc("fabric_condition", "1 where the condition is True, 0 where it is False or Unknown.", "namespace", "fabric", "type")
	lastRun      = desc("fabric_last_run_timestamp_seconds", "When the last run that changed devices ended, with its outcome.", "namespace", "fabric", "phase")
	plans        = desc("plans", "Plans that are kept, by phase.", "namespace", "fabric", "phase")
	waiting      = desc("plan_waiting_timestamp_seconds", "Since when a plan waits for its approval.", "namespace", "fabric", "plan")
)

// all lists all metrics.
var all = []*prometheus.Desc{buildInfo, elected, member, replicas, verdict, findings, accepted, inconclusive, devices, reachable, drifted, validated, condition, lastRun, plans, waiting}

var verdicts = []v1alpha1.Verdict{v1alpha1.OK, v1alpha1.Warnings, v1alpha1.Errors, v1alpha1.Inconclusive, v1alpha1.Unreachable, v1alpha1.Unknown}

var phases = []v1alpha1.PlanPhase{v1alpha1.Pending, v1alpha1.Applying, v1alpha1.Applied, v1alpha1.Refused, v1alpha1.Reverted, v1alpha1.Failed, v1alpha1.Partial, v1alpha1.Superseded}

// Group is the group of the replicas.
type Group interface {
	Name() string // Lease of this replica; "" if it has none
	Members() []string
}

type exporter struct {
	client.Reader
	group   Group
	since   <-chan struct{}
	version string
}

// New returns the collector. It reads objects through r. Only the elected replica exports
// fabrics and plans, from the time when since is closed.
func New(r client.Reader, since <-chan struct{}, g Group, version string) prometheus.Collector {
	return &exporter{r, g, since, version}
}

// Describe implements [prometheus.Collector].
func (*exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(buildInfo, 1, e.version)
	gauge(member, truth(e.group.Name() != ""))
	gauge(replicas, float64(len(e.group.Members())))
	select {
	case <-e.since:
		gauge(elected, 1)
	default:
		gauge(elected, 0)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	var fs v1alpha1.FabricList
	if err := e.List(ctx, &fs); err != nil {
		ch <- prometheus.NewInvalidMetric(devices, err)
		return
	}
	var ps v1alpha1.FabricPlanList
	if err := e.List(ctx, &ps); err != nil {
		ch <- prometheus.NewInvalidMetric(plans, err)
		return
	}
	for i := range fs.Items {
		fabric(gauge, &fs.Items[i], ps.Items)
	}
}

// fabric exports one fabric and its plans.
func fabric(gauge func(*prometheus.Desc, float64, ...string), f *v1alpha1.Fabric, all []v1alpha1.FabricPlan) {
	ns, name, s := f.Namespace, f.Name, f.Status
	is := s.Verdict
	if is == "" {
		is = v1alpha1.Unknown
	}
	for _, v := range verdicts {
		gauge(verdict, truth(v == is), ns, name, string(v))
	}
	gauge(findings, float64(s.Findings.Errors), ns, name, "error")
	gauge(findings, float64(s.Findings.Warnings), ns, name, "warning")
	gauge(findings, float64(s.Findings.Infos), ns, name, "info")
	gauge(accepted, float64(s.Findings.Suppressed), ns, name)
	gauge(inconclusive, float64(s.Findings.Inconclusive), ns, name)
	gauge(devices, float64(s.Devices), ns, name)
	gauge(reachable, float64(s.Reachable), ns, name)
	gauge(drifted, float64(s.Drifted), ns, name)
	if s.LastValidation != nil {
		gauge(validated, float64(s.LastValidation.Unix()), ns, name)
	}
	for _, c := range s.Conditions {
		gauge(condition, truth(meta.IsStatusConditionTrue(s.Conditions, c.Type)), ns, name, c.Type)
	}
	if r := s.LastRun; r != nil && r.Ended != nil {
		gauge(lastRun, float64(r.Ended.Unix()), ns, name, string(r.Phase))
	}
	count := map[v1alpha1.PlanPhase]int{}
	for i := range all {
		p := &all[i]
		if !metav1.IsControlledBy(p, f) {
			continue
		}
		count[p.Status.Phase]++
		if p.Status.Phase == v1alpha1.Pending {
			gauge(waiting, float64(p.CreationTimestamp.Unix()), ns, name, p.Name)
		}
	}
	for _, phase := range phases {
		gauge(plans, float64(count[phase]), ns, name, string(phase))
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
