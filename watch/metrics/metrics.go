// Package metrics exports a watched fabric to Prometheus.
//
// All names begin with roce_fabric_. The intent and the catalogue of checks limit the label
// values: devices and ports come from the intent, and only a few of a device's buffer pool names
// are exported. A port exports the priorities, queues and priority groups of its lossless
// classes, and others only if PFC or its watchdog was active on them. Beyond [maxPortSeries]
// series, the counters of further ports are left out, and a metric reports how many.
//
// Port counters are the device's own counters, which may restart at zero, as Prometheus expects.
// A device that could not be read exports none.
package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
)

// maxPortSeries limits the number of port counter series per scrape.
const maxPortSeries = 200_000

// prefix starts every metric name.
const prefix = "roce_fabric_"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

// Metrics of the watch loop and of the devices.
var (
	buildInfo     = desc("build_info", "The version of the program; always 1.", "version")
	fabricInfo    = desc("fabric_info", "The name of the watched fabric; always 1.", "fabric")
	interval      = desc("watch_interval_seconds", "The interval between rounds.")
	rounds        = desc("watch_rounds_total", "Completed rounds.")
	roundTime     = desc("watch_round_duration_seconds", "How long the last round took.")
	roundEnd      = desc("watch_last_round_timestamp_seconds", "When the last round ended.")
	verdict       = desc("verdict", "1 for the verdict of the last round, 0 for the others.", "verdict")
	findings      = desc("findings", "Findings that the intent does not accept, by severity and check; 0 once they are gone.", "severity", "check")
	accepted      = desc("findings_accepted", "Findings that the intent accepts.")
	inFlight      = desc("watch_reads_in_flight", "Devices being read now.")
	subscriptions = desc("watch_subscriptions", "Switches that report their changes themselves (gNMI Subscribe).")
	up            = desc("device_up", "Whether the last read of the device succeeded.", "device", "kind")
	lastRead      = desc("device_last_success_timestamp_seconds", "When the device was last read.", "device", "kind")
	readTime      = desc("device_read_duration_seconds", "How long the last read of the device took.", "device", "kind")
	readFailures  = desc("device_read_failures_total", "Reads of the device that failed.", "device", "kind")
	webhooks      = desc("webhook_messages_total", "Messages to the webhook, by result.", "result")
	poolPeak      = desc("device_pool_peak_bytes", "The highest fill level of a buffer pool.", "device", "pool")
	portLeftOut   = desc("port_series_left_out", "Series of ports left out because there are too many.")
	pauseSource   = desc("pause_source_stopped_ports", "Ports stopped by pauses that begin at this NIC or switch port, by class and kind of source.", "device", "port", "class", "kind")
	counterPolled = desc("device_counters_timestamp_seconds", "When the counters of the device were read.", "device", "kind")
)

// Exporter exports one [watch.Watcher]. It is safe for concurrent use.
type Exporter struct {
	w       *watch.Watcher
	fabric  string
	version string
	limit   int // maxPortSeries, except in tests

	mu    sync.Mutex
	seen  map[check]bool // checks that ever had findings; their series stay at 0
	hooks map[string]float64
}

type check struct{ severity, id string }

// New returns an Exporter. version is the version of the program.
func New(w *watch.Watcher, fabric, version string) *Exporter {
	return &Exporter{w: w, fabric: fabric, version: version, limit: maxPortSeries, seen: map[check]bool{}, hooks: map[string]float64{"delivered": 0, "failed": 0}}
}

// Webhook records that a message was delivered or, if err is set, dropped.
func (e *Exporter) Webhook(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.hooks["failed"]++
	} else {
		e.hooks["delivered"]++
	}
}

// Handler serves the metrics, together with those of the Go runtime and the process.
func (e *Exporter) Handler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Describe implements [prometheus.Collector].
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, fabricInfo, interval, rounds, roundTime, roundEnd, verdict, findings, accepted, inFlight, subscriptions,
		up, lastRead, readTime, readFailures, webhooks, poolPeak, portLeftOut, counterPolled, pauseSource} {
		ch <- d
	}
	for i := range series {
		ch <- series[i].desc
	}
}

// Collect implements [prometheus.Collector].
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	c := collector{ch: ch, left: e.limit}
	c.gauge(buildInfo, 1, e.version)
	c.gauge(fabricInfo, 1, e.fabric)
	c.gauge(interval, e.w.Interval().Seconds())
	e.round(&c, e.w.Last())
	devices, reads := e.w.Devices()
	c.gauge(inFlight, float64(reads))
	c.gauge(subscriptions, float64(e.w.Subscriptions()))
	for i := range devices {
		c.device(&devices[i])
	}
	c.gauge(portLeftOut, float64(c.leftOut))
	e.mu.Lock()
	defer e.mu.Unlock()
	for result, n := range e.hooks {
		c.counter(webhooks, n, result)
	}
}

// round exports the last round; r is nil before the first round has ended.
func (e *Exporter) round(c *collector, r *watch.Round) {
	if r == nil {
		c.counter(rounds, 0)
		return
	}
	c.counter(rounds, float64(r.N))
	c.gauge(roundTime, r.Took.Seconds())
	c.gauge(roundEnd, float64(r.Start.Add(r.Took).UnixMilli())/1e3)
	for _, v := range watch.Verdicts {
		c.gauge(verdict, truth(v == r.Verdict), string(v))
	}
	n := map[check]int{}
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			n[check{string(f.Severity), idOf(f)}]++
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range n {
		e.seen[k] = true
	}
	for k := range e.seen {
		c.gauge(findings, float64(n[k]), k.severity, k.id)
	}
	c.gauge(accepted, float64(r.Counts().Suppressed))
	for _, s := range r.Pauses {
		c.gauge(pauseSource, float64(len(s.Paused)), s.Device, s.Port, s.Class, string(s.Kind))
	}
}

// idOf returns the check of a finding as the catalogue spells it.
func idOf(f checks.Finding) string {
	if c := validate.Lookup(f.ID); c != nil {
		return c.ID
	}
	return f.ID
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type collector struct {
	ch            chan<- prometheus.Metric
	left, leftOut int // port counter series still allowed, and left out
}

func (c *collector) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c *collector) counter(d *prometheus.Desc, v float64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}
