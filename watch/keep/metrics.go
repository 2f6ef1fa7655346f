package keep

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/roce-fabric/roce-fabric/nic"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("roce_fabric_"+name, help, labels, nil)
}

// The metrics. The ports and fields in labels come from the wanted state.
var (
	buildInfo    = desc("build_info", "The version of the program; always 1.", "version")
	agentInfo    = desc("agent_info", "The host and its policy; always 1.", "host", "policy")
	interval     = desc("agent_interval_seconds", "The time between checks of the host.")
	looks        = desc("agent_looks_total", "Checks of the host, by cause.", "cause")
	lookFailures = desc("agent_look_failures_total", "Checks that could not read the host.")
	looked       = desc("agent_last_look_timestamp_seconds", "When the host was last read.")
	lookTime     = desc("agent_look_duration_seconds", "How long the last check took.")
	loaded       = desc("agent_wanted_timestamp_seconds", "When the wanted state was read.")
	loadOK       = desc("agent_wanted_ok", "Whether the newest wanted state could be read.")
	loadFailures = desc("agent_wanted_failures_total", "Reads of the wanted state that failed.")
	missing      = desc("agent_missing", "1 while the host has no interface for a wanted NIC, bond or VLAN; its settings have no agent_differs then.", "port")
	differs      = desc("agent_differs", "1 while a setting is not as wanted; 0 once it is again.", "port", "field")
	differences  = desc("agent_differences", "Settings that are not as wanted, by the reason why they were not repaired.", "reason")
	repairs      = desc("agent_repairs_total", "Repairs of a setting, by result.", "port", "field", "result")
	changedBack  = desc("agent_changed_back_total", "How often something else changed a setting after a repair.", "port", "field")
	busy         = desc("agent_busy_total", "Repairs put off because another run was at work.")
)

var all = []*prometheus.Desc{buildInfo, agentInfo, interval, looks, lookFailures, looked, lookTime, loaded, loadOK, loadFailures, missing, differs, differences, repairs, changedBack, busy}

// exporter exports a Keeper to Prometheus.
type exporter struct {
	*Keeper
	version string
}

// metrics serves the metrics, together with those of the Go runtime and the process.
func (k *Keeper) metrics(version string) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(exporter{k, version}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Describe implements [prometheus.Collector].
func (exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (e exporter) Collect(ch chan<- prometheus.Metric) {
	value := func(kind prometheus.ValueType) func(*prometheus.Desc, float64, ...string) {
		return func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
		}
	}
	gauge, counter := value(prometheus.GaugeValue), value(prometheus.CounterValue)
	s := e.State()
	gauge(buildInfo, 1, e.version)
	gauge(agentInfo, 1, s.Host, string(s.Policy))
	gauge(interval, e.cfg.Interval.Seconds())
	gauge(lookTime, s.Took.Seconds())
	gauge(loaded, seconds(s.Loaded))
	gauge(loadOK, truth(s.LoadError == ""))
	if !s.Looked.IsZero() {
		gauge(looked, seconds(s.Looked))
	}
	now, why := map[setting]bool{}, map[Reason]float64{"": 0}
	for _, r := range reasons {
		why[r] = 0
	}
	gone := map[string]bool{}
	for _, d := range s.Differences {
		now[settingOf(d.Change)] = true
		gone[d.Port] = gone[d.Port] || d.Kind == nic.KindMissing
		why[d.Reason]++
	}
	for r, n := range why {
		if r == "" {
			r = "none"
		}
		gauge(differences, n, string(r))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wanted.Host != nil && !s.Looked.IsZero() {
		for _, port := range e.wanted.Host.Devices() {
			gauge(missing, truth(gone[port]), port)
		}
	}
	n := &e.count
	for cause, v := range n.looks {
		counter(looks, v, cause)
	}
	counter(lookFailures, n.lookFailures)
	counter(loadFailures, n.loadFailures)
	counter(busy, n.busy)
	for at := range n.differed {
		if !gone[at.port] {
			gauge(differs, truth(now[at]), at.port, at.field)
		}
	}
	for of, v := range n.repairs {
		counter(repairs, v, of.port, of.field, string(of.result))
	}
	for at, v := range n.changedBack {
		counter(changedBack, v, at.port, at.field)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
